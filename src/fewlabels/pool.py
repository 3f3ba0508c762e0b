"""The pool: items with the predictions of one classifier or several, and never a label."""

from __future__ import annotations

import difflib
import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.errors import Argument, InputError, LabelError, sentence
from fewlabels.evidence import coded

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from numpy.typing import NDArray


NO_ANSWER = "(no answer)"
"""The name of the class that stands for a missing answer. It is never right, and nobody can choose it as a label."""


@dataclass(frozen=True, eq=False)
class Predictions:
    """What one model predicted for the items of a pool; the parameters are those of `Pool`."""

    predicted: NDArray[np.int32]
    confidence: NDArray[np.float64] | None = None
    score_sums: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Pool:
    """Items, the classifier's prediction for each, and whatever else is known about them.

    `read_pool` makes it and checks everything; this class only holds the result. The score matrix is not kept: the
    method needs only `predicted`, `confidence` and `score_sums`.

    A pool of several models has a prediction of each model for each item. `predicted`, `confidence` and `score_sums`
    are then those of the first model, `answers` and `confidences` those of all, and `of("new")` is the pool of one.

    Parameters
    ----------
    ids
        One text per item, all different; an Arrow string array of shape (items,).
    predicted
        Position in `classes` of the predicted class, shape (items,).
    classes
        The names of the classes.
    confidence
        The classifier's own probability that it is right, shape (items,), or None.
    score_sums
        Row k is the sum of the score vectors of the items predicted as class k,
        shape (classes, classes), or None if there were no score vectors.
    columns
        Further columns of the items, an Arrow table.
    content
        The name of the column that an annotator looks at (text, image path or address), or None.
    source
        The origin of the pool, for messages.
    models
        The names of the models; empty for a pool of one model without a name.
    rest
        The predictions of the second model and of those after it.
    unanswered
        Whether the last class is `NO_ANSWER`: some model gave no answer to some item. It is a prediction that is
        never right (with confidence 0), and no label can be it: labels are one of `choices`.
    evidence
        The names of further columns from which the learned prior may learn, such as the verdicts of judges.

    Examples
    --------
    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8]], classes=["cat", "dog"])
    >>> pool
    <Pool: 2 items, 2 classes, scores, from an array>
    >>> pool.predicted, pool.confidence
    (array([0, 1], dtype=int32), array([0.9, 0.8]))
    """

    ids: pa.Array[Any]
    predicted: NDArray[np.int32]
    classes: tuple[str, ...]
    confidence: NDArray[np.float64] | None = None
    score_sums: NDArray[np.float64] | None = None
    columns: pa.Table | None = None
    content: str | None = None
    source: str = "arrays"
    models: tuple[str, ...] = ()
    rest: tuple[Predictions, ...] = ()
    unanswered: bool = False
    evidence: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.predicted)

    def __repr__(self) -> str:
        has = (
            "scores" if self.score_sums is not None else "confidence" if self.confidence is not None else "predictions"
        )
        items, classes = f"{len(self):,} items", f"{len(self.choices):,} classes"
        models = f"{len(self.models):,} models, " if self.models else ""
        return f"<Pool: {items}, {models}{classes}, {has}, from {self.source}>"

    @property
    def choices(self) -> tuple[str, ...]:
        """The classes that a label can be: all but `NO_ANSWER`."""
        return self.classes[:-1] if self.unanswered else self.classes

    @cached_property
    def known(self) -> NDArray[np.float64] | None:
        """What the evidence columns say of each item, as numbers, shape (items, numbers); None without any.

        Examples
        --------
        >>> import fewlabels as fl
        >>> said = {"predicted": ["cat", "dog", "eel", "cat"], "judge": [True, True, False, True]}
        >>> fl.read_pool(said, evidence=["judge"]).known.ravel()
        array([ 0.5,  0.5, -1.5,  0.5])
        """
        values = coded({name: self.column(name) for name in self.evidence}, self.predicted, self.choices)
        return values if values.shape[1] else None

    @cached_property
    def answers(self) -> NDArray[np.int32]:
        """The answer of each model to each item, a position in `choices`, shape (items, models).

        A missing answer is -1: an answer of its own that is never right. Two models without an answer agree.

        Examples
        --------
        >>> import fewlabels as fl
        >>> old = {"id": ["a", "b"], "predicted": ["cat", "dog"]}
        >>> new = {"id": ["b", "c"], "predicted": ["cat", "cat"]}
        >>> pool = fl.read_pool({"old": old, "new": new})
        >>> pool.ids.to_pylist(), pool.choices
        (['a', 'b', 'c'], ('cat', 'dog'))
        >>> pool.answers
        array([[ 0, -1],
               [ 1,  0],
               [-1,  0]], dtype=int32)
        """
        answers = np.column_stack([self.predicted, *(one.predicted for one in self.rest)])
        answers[answers >= len(self.choices)] = -1
        return answers

    @cached_property
    def confidences(self) -> NDArray[np.float64] | None:
        """How sure each model is of its answer, shape (items, models); None if no model says so.

        NaN where it gave no answer, and for all items of a model without confidences.
        """
        known = [self.confidence, *(one.confidence for one in self.rest)]
        if all(one is None for one in known):
            return None
        columns = np.column_stack([np.full(len(self), np.nan) if one is None else one for one in known])
        columns[self.answers < 0] = np.nan
        return columns

    def of(self, model: str) -> Pool:
        """The pool of one of the models: the same items and classes with its predictions alone.

        Everything that works on a pool of one model works on it. An unknown name is an InputError.

        Examples
        --------
        >>> import fewlabels as fl
        >>> pool = fl.read_pool({"text": ["Hi", "Bye"], "a": ["yes", "no"], "b": ["no", "no"]}, models=["a", "b"])
        >>> pool.of("b").predicted
        array([0, 0], dtype=int32)
        """
        if model not in self._one:
            raise InputError(self._no_model(model))
        return self._one[model]

    @cached_property
    def _one(self) -> dict[str, Pool]:
        each = (Predictions(self.predicted, self.confidence, self.score_sums), *self.rest) if self.models else ()
        return {
            name: replace(
                self,
                predicted=its.predicted,
                confidence=its.confidence,
                score_sums=its.score_sums,
                source=f"{self.source}, model {name!r}",
                models=(),
                rest=(),
            )
            for name, its in zip(self.models, each, strict=True)
        }

    def _no_model(self, model: str) -> str:
        if not self.models:
            return (
                f"the pool (from {self.source}) has one model without a name, so there is no model {model!r}. "
                "Leave the name out, or read a pool of several models."
            )
        near = difflib.get_close_matches(str(model), self.models, 1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        return f"the pool (from {self.source}) has no model {model!r}. {hint}It has {_shortened(self.models)}."

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of ids, predictions, scores, columns and the names of evidence.

        Equal pools from different files have the same.
        """
        digest = hashlib.sha256(_framed(str(len(self.classes)).encode()))
        for name in self.classes:
            digest.update(_framed(name.encode()))
        for array in (self.predicted, self.confidence, self.score_sums):
            digest.update(_framed(b"" if array is None else np.ascontiguousarray(array).tobytes()))
        digest.update(_framed(_column_bytes(self.ids)))
        digest.update(_framed((self.content or "").encode()))
        for name in sorted(self.columns.column_names if self.columns is not None else []):
            digest.update(_framed(name.encode()) + _framed(_column_bytes(self.column(name))))
        if self.models or self.unanswered:  # a pool of one model has the fingerprint that it always had
            digest.update(_framed(b"models") + _framed(str(self.unanswered).encode()))
            for name in self.models:
                digest.update(_framed(name.encode()))
            for one in self.rest:
                for array in (one.predicted, one.confidence, one.score_sums):
                    digest.update(_framed(b"" if array is None else np.ascontiguousarray(array).tobytes()))
        if self.evidence:  # and one without evidence too
            digest.update(_framed(b"evidence") + b"".join(_framed(name.encode()) for name in self.evidence))
        return digest.hexdigest()

    @cached_property
    def profile(self) -> NDArray[np.float64] | None:
        """The shares of the true classes that the classifier expects, given its prediction.

        Row k is the mean score vector of the items predicted as k, scaled to sum to exactly 1 (scores may
        be rounded), shape (classes, classes). Where only
        a confidence s is known, the row has its mean s at k and the rest spread evenly. A class that is
        never predicted has an even row, and so has a missing answer, over all that a label can be. None if the pool
        has predicted classes only.
        """
        k, choices = len(self.classes), len(self.choices)
        count = np.bincount(self.predicted, minlength=k).astype(float)
        if self.score_sums is not None:
            sums = self.score_sums
        elif self.confidence is not None:
            right = np.bincount(self.predicted, self.confidence, minlength=k)
            sums = np.repeat(((count - right) / (choices - 1))[:, None], k, axis=1)
            np.fill_diagonal(sums, right)
        else:
            return None
        profile = np.where(np.arange(k) < choices, 1 / choices, np.zeros((k, 1)))
        if self.unanswered:
            sums, count = sums.copy(), np.where(np.arange(k) < choices, count, 0)
            sums[:, -1] = 0
        np.divide(sums, sums.sum(axis=1, keepdims=True), out=profile, where=count[:, None] > 0)
        return profile

    @cached_property
    def _position_of_id(self) -> dict[str, int]:
        return {str(item): i for i, item in enumerate(self.ids.to_pylist())}

    @cached_property
    def _position_of_class(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.choices)}

    def positions(self, ids: Iterable[object]) -> NDArray[np.int64]:
        """The positions of items in the pool, shape (ids,); an unknown id is a LabelError."""
        known = self._position_of_id
        wanted = [str(item) for item in ids]
        unknown = [item for item in wanted if item not in known]
        if unknown:
            raise LabelError(
                f"unknown {_listed('item', unknown)}: not in the pool (from {self.source}). Nothing was changed. "
                f"{sentence(self.meant(unknown[0]))}",
                items=unknown,
            )
        return np.array([known[item] for item in wanted], dtype=np.int64)

    def class_positions(self, names: Iterable[object]) -> NDArray[np.int32]:
        """The positions in `classes` of labels, shape (names,); a name that no label can be is a LabelError."""
        known = self._position_of_class
        wanted = [str(name) for name in names]
        unknown = [name for name in wanted if name not in known]
        if unknown:
            near = difflib.get_close_matches(unknown[0].strip(), self.choices, 1, cutoff=0.5)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            if self.unanswered and unknown[0] == NO_ANSWER:
                hint = "That a model gave no answer is known; a label says what the item is. "
            raise LabelError(
                f"unknown {_listed('class', unknown)}. Nothing was changed. {hint}The classes are "
                f"{_shortened(self.choices, 30)}. A class that is never predicted must be named when the pool is "
                "read, with ",
                Argument("classes"),
                ".",
            )
        return np.array([known[name] for name in wanted], dtype=np.int32)

    def meant(self, unknown: str) -> str:
        """A clause that helps with an unknown id: the id that was probably meant, or an example of the pool's ids."""
        wide = max((len(item) for item in self._position_of_id), default=0)
        for padded in (unknown.zfill(width) for width in range(len(unknown) + 1, wide + 1)):
            if unknown.isdecimal() and padded in self._position_of_id:
                return f"the pool has {padded!r}: did a spreadsheet drop the zeros?"
        if not len(self):
            return "the pool is empty: read one with items"
        return f"use the pool's own ids, such as {self.ids[0].as_py()!r}"

    def column(self, name: str) -> pa.ChunkedArray[Any]:
        """One of the further columns. An unknown name is an InputError that lists the columns."""
        names = self.columns.column_names if self.columns is not None else []
        if self.columns is None or name not in names:
            have = f"It has {_shortened(names)}" if names else "It has no further columns"
            raise InputError(f"the pool (from {self.source}) has no column {name!r}. {have}.")
        return self.columns[name]

    def differences(self, other: Pool) -> str:
        """The differences between another pool and this one, in words; empty if there are none.

        Examples
        --------
        >>> import fewlabels as fl
        >>> old = fl.read_pool([[0.9, 0.1], [0.2, 0.8]])
        >>> old.differences(fl.read_pool([[0.9, 0.1], [0.7, 0.3]]))
        '1 of 2 predictions changed; scores changed'
        """
        if self.fingerprint == other.fingerprint:
            return ""
        changes = []
        if self.models != other.models:
            before, now = (_shortened(pool.models) or "one without a name" for pool in (self, other))
            changes.append(f"the models were {before} and are {now}")
        if self.choices != other.choices:
            changes.append(
                f"{len(self.choices)} classes before, {len(other.choices)} now, or other names or another order"
            )
        if not self.ids.equals(other.ids):
            mine, theirs = self._position_of_id.keys(), other._position_of_id.keys()
            gone, new = len(mine - theirs), len(theirs - mine)
            changes.append(f"{gone:,} items gone and {new:,} new" if gone or new else "the same items in another order")
        else:
            changes.extend(self._changed_predictions(other))
        if self.evidence != other.evidence:
            before, now = (_shortened(pool.evidence) or "none" for pool in (self, other))
            changes.append(f"the evidence was {before} and is {now}")
        return "; ".join(changes) or "the further columns changed"

    def _changed_predictions(self, other: Pool) -> list[str]:
        """What changed in the predictions of the same items, for each model that both pools have."""
        shared = [name for name in self.models if name in other.models]
        if not shared and (self.models or other.models):
            return []
        pairs = [(f" of {name!r}", self.of(name), other.of(name)) for name in shared] or [("", self, other)]
        changes = []
        for whose, before, now in pairs:
            if changed := int(np.count_nonzero(before.answers != now.answers)):
                changes.append(f"{changed:,} of {len(self):,} predictions{whose} changed")
            if not _same(before.score_sums, now.score_sums):
                changes.append(f"scores{whose} changed")
            elif not _same(before.confidence, now.confidence):
                changes.append(f"confidences{whose} changed")
        return changes


def _same(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))


def _framed(data: bytes) -> bytes:
    """The data with its length in front, so that two neighbours cannot be confused with another pair."""
    return len(data).to_bytes(8, "little") + data


def _column_bytes(column: pa.Array[Any] | pa.ChunkedArray[Any]) -> bytes:
    """The values of a column as bytes that depend neither on chunks nor on the version of Arrow."""
    import pyarrow as pa

    from fewlabels.arrow import missing_in, numbers_of, texts_of

    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    missing = np.packbits(missing_in(column)).tobytes()
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        kind, values = str(column.type), numbers_of(column).tobytes()
    else:
        lengths, text = texts_of(column)
        kind, values = "text", lengths.tobytes() + text
    return _framed(kind.encode()) + _framed(missing) + values


def _listed(noun: str, names: list[str]) -> str:
    plural = {"item": "items", "class": "classes"}[noun]
    return f"{noun} {names[0]!r}" if len(names) == 1 else f"{plural} {_shortened(names)}"


def _shortened(names: Iterable[str], most: int = 8) -> str:
    names = list(names)
    text = ", ".join(repr(name) for name in names[:most])
    return text if len(names) <= most else f"{text} and {len(names) - most:,} more"
