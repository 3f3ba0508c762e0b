"""The pool: items with the predictions of one classifier or several, and never a label."""

from __future__ import annotations

import difflib
import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.errors import Argument, InputError, LabelError, sentence
from fewlabels.evidence import coded, middles
from fewlabels.hashing import column_bytes, framed
from fewlabels.index import Ids, Index
from fewlabels.wording import counted, plural, some_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from fewlabels.reserve import Reserve

NO_ANSWER = "(no answer)"
"""The name of the class that stands for a missing answer. It is never right, and nobody can choose it as a label."""
_MOST_ZEROS = 30  # that a spreadsheet may have dropped; ids can be whole texts


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
    id_column
        One text per item, all different; an Arrow string array of shape (items,). `ids` has them as texts.
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
    reserve
        Where the items stay in a table: the units that stand for them, which are the first rows of all arrays here
        (their id is missing), and the items that are named, which are the other rows. None where every row is an item.
    positive
        The class of two that was named as the positive one; None if none was.

    Examples
    --------
    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8]], classes=["cat", "dog"])
    >>> pool
    <Pool: 2 items, 2 classes, scores, from an array>
    >>> pool.predicted, pool.confidence
    (array([0, 1], dtype=int32), array([0.9, 0.8]))
    """

    id_column: pa.Array[Any]
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
    reserve: Reserve | None = None
    positive: str | None = None

    def __len__(self) -> int:
        return self.rows if self.reserve is None else int(self.reserve.size.sum())

    @cached_property
    def ids(self) -> Ids:
        """The ids of the items; a unit of a reserve has none, and None stands in its place.

        >>> import fewlabels as fl
        >>> pool = fl.read_pool({"predicted": ["cat", "dog"]})
        >>> dict(zip(pool.ids, ["cat", "cat"]))
        {'0': 'cat', '1': 'cat'}
        """
        return Ids(self.id_column)

    @property
    def rows(self) -> int:
        """The length of all arrays: the number of items, or of the units and named items of a reserve."""
        return len(self.predicted)

    @property
    def units(self) -> int:
        """How many of the rows, the first ones, stand for items without a name; 0 if every row is an item."""
        return 0 if self.reserve is None else self.reserve.units

    @property
    def count(self) -> NDArray[np.int64] | None:
        """How many items each row stands for, shape (rows,); None if every row is an item."""
        return None if self.reserve is None else self.reserve.count

    @property
    def mean_confidence(self) -> float | None:
        """The mean confidence of all items, or None."""
        return None if self.confidence is None else float(np.average(self.confidence, weights=self.count))

    def __repr__(self) -> str:
        scored = "confidence" if self.confidence is not None else "predictions"
        has = "scores" if self.score_sums is not None else scored
        items, classes = counted(len(self), "item"), counted(len(self.choices), "class")
        models = f"{counted(len(self.models), 'model')}, " if self.models else ""
        return f"<Pool: {items}, {models}{classes}, {has}, from {self.source}>"

    @property
    def choices(self) -> tuple[str, ...]:
        """The classes that a label can be: all but `NO_ANSWER`."""
        return self.classes[:-1] if self.unanswered else self.classes

    @cached_property
    def known(self) -> NDArray[np.float64] | None:
        """What the evidence columns say of each item, as numbers, shape (items, numbers); None without any.

        >>> import fewlabels as fl
        >>> said = {"predicted": ["cat", "dog", "eel", "cat"], "judge": [True, True, False, True]}
        >>> fl.read_pool(said, evidence=["judge"]).known.ravel()
        array([ 0.5,  0.5, -1.5,  0.5])
        """
        steps = {} if self.reserve is None else self.reserve.steps
        columns = {name: self.column(name) for name in self.evidence}
        columns |= {name: middles(columns[name], *steps[name]) for name in self.evidence if name in steps}
        values = coded(columns, self.predicted, self.choices, self.count)
        return values if values.shape[1] else None

    @cached_property
    def answers(self) -> NDArray[np.int32]:
        """The answer of each model to each item, a position in `choices`, shape (items, models).

        A missing answer is -1: an answer of its own that is never right. Two models without an answer agree.

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
        answers = np.column_stack([self.predicted, *(model.predicted for model in self.rest)])
        answers[answers >= len(self.choices)] = -1
        return answers

    @cached_property
    def confidences(self) -> NDArray[np.float64] | None:
        """How sure each model is of its answer, shape (items, models); None if no model says so.

        NaN where it gave no answer, and for all items of a model without confidences.
        """
        each = [self.confidence, *(model.confidence for model in self.rest)]
        if all(known is None for known in each):
            return None
        columns = np.column_stack([np.full(self.rows, np.nan) if known is None else known for known in each])
        columns[self.answers < 0] = np.nan
        return columns

    def with_rows(self, ids: pa.Array[Any], reserve: Reserve) -> Pool:
        """The pool with another reserve: every row has the prediction, mean confidence and columns of its unit."""
        from fewlabels.arrow import column_of

        units = reserve.of_row
        return replace(
            self,
            id_column=ids,
            predicted=self.predicted[units],
            confidence=None if self.confidence is None else self.confidence[units],
            columns=None if self.columns is None else self.columns.take(column_of(units)).combine_chunks(),
            reserve=reserve,
        )

    def of(self, model: str) -> Pool:
        """The pool of one of the models: the same items and classes with its predictions alone.

        Everything that works on a pool of one model works on it. An unknown name is an InputError.

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
            alone = f"the pool (from {self.source}) has one model without a name, so there is no model {model!r}."
            return f"{alone} Leave the name out, or read a pool of several models."
        near = difflib.get_close_matches(str(model), self.models, 1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        return f"the pool (from {self.source}) has no model {model!r}. {hint}It has {some_of(self.models)}."

    def confidence_of(self, item: int) -> float | None:
        """The confidence of one item, or None; in a reserve `confidence` has the mean of its unit."""
        if self.confidence is None:
            return None
        if self.reserve is None or self.reserve.said is None:
            return float(self.confidence[item])
        return float(self.reserve.said[item - self.units])

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of ids, predictions, scores, columns and the names of evidence.

        Equal pools from different files have the same. Of a table that stays where it is, it is made from the table's
        own, and does not change as items are named.
        """
        digest = hashlib.sha256()
        for part in self._parts():
            digest.update(part)
        return digest.hexdigest()

    def _parts(self) -> Iterator[bytes]:
        for text in (str(len(self.classes)), *self.classes):
            yield framed(text.encode())
        if self.reserve is not None:
            for text in ("reserve", self.reserve.fingerprint, str(self.reserve.seed), self.content or ""):
                yield framed(text.encode())
        else:
            yield from _arrays(self)
            yield framed(column_bytes(self.id_column)) + framed((self.content or "").encode())
            for name in sorted(self.columns.column_names if self.columns is not None else []):
                yield framed(name.encode()) + framed(column_bytes(self.column(name)))
        # The first versions did not have what follows, and a pool that has nothing of it has their fingerprint.
        if self.models or self.unanswered:
            for text in ("models", str(self.unanswered), *self.models):
                yield framed(text.encode())
            for model in self.rest:
                yield from _arrays(model)
        if self.evidence:
            yield framed(b"evidence") + b"".join(framed(name.encode()) for name in self.evidence)

    @cached_property
    def profile(self) -> NDArray[np.float64] | None:
        """The shares of the true classes that the classifier expects, given its prediction.

        Row k is the mean score vector of the items predicted as k, scaled to sum to exactly 1 (scores may be rounded),
        shape (classes, classes). Where only a confidence s is known, the row has its mean s at k and the rest spread
        evenly. A class that is never predicted and a missing answer have even rows. None without scores and confidence.
        """
        k, choices = len(self.classes), len(self.choices)
        count = np.bincount(self.predicted, self.count, minlength=k).astype(float)
        if self.score_sums is not None:
            sums = self.score_sums
        elif self.confidence is not None:
            weight = self.confidence if self.count is None else self.confidence * self.count
            right = np.bincount(self.predicted, weight, minlength=k)
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
    def _index(self) -> Index:
        return Index(self.id_column)

    @cached_property
    def _position_of_class(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.choices)}

    def positions(self, ids: Iterable[object]) -> NDArray[np.int64]:
        """The positions of items in the pool, shape (ids,); an unknown id is a LabelError."""
        wanted = [str(item) for item in ids]
        rows = self._index.find(wanted)
        if unknown := [wanted[i] for i in np.flatnonzero(rows < 0).tolist()]:
            raise LabelError(
                f"unknown {_listed('item', unknown)}: not in the pool (from {self.source}). Nothing was changed. "
                f"{sentence(self.meant(unknown[0]))}",
                items=unknown,
            )
        return rows

    def has(self, ids: Iterable[object]) -> NDArray[np.bool_]:
        """Whether each id is that of an item, or of a named one, shape (ids,)."""
        return self._index.find([str(item) for item in ids]) >= 0

    def class_positions(self, names: Iterable[object]) -> NDArray[np.int32]:
        """The positions in `classes` of labels, shape (names,); a name that no label can be is a LabelError."""
        known = self._position_of_class
        wanted = [str(name) for name in names]
        if unknown := [name for name in wanted if name not in known]:
            near = difflib.get_close_matches(unknown[0].strip(), self.choices, 1, cutoff=0.5)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            if self.unanswered and unknown[0] == NO_ANSWER:
                hint = "A label says what the item is, not that a model gave no answer. "
            raise LabelError(
                f"unknown {_listed('class', unknown)}. Nothing was changed. {hint}The classes are "
                f"{some_of(self.choices, 30)}. A class that is never predicted must be named when the pool is "
                "read, with ",
                Argument("classes"),
                ".",
            )
        return np.array([known[name] for name in wanted], dtype=np.int32)

    def meant(self, unknown: str) -> str:
        """A clause that helps with an unknown id: the id that was probably meant, or an example of the pool's ids."""
        if unknown.isdecimal():
            longest = min(self._index.longest, len(unknown) + _MOST_ZEROS)
            padded = [unknown.zfill(width) for width in range(len(unknown) + 1, longest + 1)]
            for i in np.flatnonzero(self.has(padded)).tolist():
                return f"the pool has {padded[i]!r}: did a spreadsheet drop the zeros? Batches in .xlsx keep them"
        if not len(self):
            return "the pool is empty: read one with items"
        return f"use the pool's own ids, such as {self.ids[self.units]!r}"

    def column(self, name: str) -> pa.ChunkedArray[Any]:
        """One of the further columns. An unknown name is an InputError that lists the columns."""
        names = self.columns.column_names if self.columns is not None else []
        if self.columns is None or name not in names:
            have = f"It has {some_of(names)}" if names else "It has no further columns"
            parts: tuple[str | Argument, ...] = (f"the pool (from {self.source}) has no column {name!r}. {have}.",)
            if self.reserve is not None:
                parts += (
                    " Columns of a table that define groups are named when it is read, with ",
                    Argument("columns"),
                    ".",
                )
            raise InputError(*parts)
        return self.columns[name]

    def differences(self, other: Pool) -> str:
        """The differences between another pool and this one, in words; empty if there are none.

        >>> import fewlabels as fl
        >>> old = fl.read_pool([[0.9, 0.1], [0.2, 0.8]])
        >>> old.differences(fl.read_pool([[0.9, 0.1], [0.7, 0.3]]))
        '1 of 2 predictions changed; scores changed'
        """
        from fewlabels.changes import changed

        return "" if self.fingerprint == other.fingerprint else changed(self, other)


def _arrays(of: Pool | Predictions) -> Iterator[bytes]:
    for array in (of.predicted, of.confidence, of.score_sums):
        yield framed(b"" if array is None else np.ascontiguousarray(array).tobytes())


def _listed(noun: str, names: list[str]) -> str:
    return f"{noun} {names[0]!r}" if len(names) == 1 else f"{plural(noun)} {some_of(names)}"
