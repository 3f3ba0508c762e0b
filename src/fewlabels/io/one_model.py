"""Reading the predictions of one model from a source whose columns are known, into a checked Pool."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from fewlabels import pool as pools
from fewlabels.errors import Argument, InputError, Piece
from fewlabels.io.answers import classes_and_predicted
from fewlabels.io.columns import as_numbers, as_text, kept
from fewlabels.io.finder.probability_of import looks_like_one_class
from fewlabels.io.never_right import check_classes, merged
from fewlabels.io.scores import EDGE, summarise
from fewlabels.io.source import NO_ANSWER, Source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from fewlabels.io.finder import Roles
    from fewlabels.io.manner import Manner


def read_one(source: Source, roles: Roles, content: str | None, manner: Manner, *, gaps: bool = False) -> pools.Pool:
    """Read the predictions of one model. With `gaps`, as one of several models it may have left items unanswered."""
    normalize, logits = manner.normalize, manner.logits
    if not gaps and not roles.scores and (logits or (normalize and roles.confidence is None)):
        raise InputError(
            Argument("normalize"),
            " and ",
            Argument("logits"),
            " are about scores, and there are none here. Name them with ",
            Argument("scores"),
            ".",
        )
    if not gaps:
        check_spelling(manner, [roles])
    table = source.table(roles.whole) if roles.whole else None
    ids = _ids(source, roles.id, table)
    gaps = gaps and not roles.scores
    never = () if roles.scores else manner.never
    names, answers = classes_and_predicted(source, roles, table, replace(manner, never=never), gaps=gaps)
    certainty, sums = None, None
    if roles.scores:
        summary = summarise(source, roles, answers, normalize=normalize, logits=logits)
        answers, certainty, sums = summary.predicted, summary.confidence, summary.sums
        names, answers, certainty, sums = merged(names, answers, certainty, sums, manner.never)
        check_classes(names, manner.never)
    elif roles.confidence is not None and table is not None:
        shares = roles.confidence in source.percent  # read as shares already
        unit = 100.0 if normalize and not shares else 1.0
        assert answers is not None
        certainty = _confidence(source, roles.confidence, table, unit, answers >= 0, gaps=gaps)
        if len(names) == 2 and certainty is not None and not gaps:
            _check_of_answer(source, roles.confidence, certainty, [names[k] for k in answers if k >= 0])
    assert answers is not None
    if table is not None and table.num_rows != len(answers):
        raise InputError(f"{source.name} changed while it was being read. Read it again when it is complete.")
    if ids is None:
        ids = pa.array(np.arange(len(answers))).cast(pa.string())
    unanswered = bool((answers < 0).any())
    if unanswered:
        answers = np.where(answers < 0, len(names), answers).astype(np.int32)
        names = (*names, pools.NO_ANSWER)
    further = _further(source, roles, table)
    return pools.Pool(ids, answers, names, certainty, sums, further, content, source.name, unanswered=unanswered)


def check_spelling(manner: Manner, every: Iterable[Roles]) -> None:
    """Refuse to read answers in any spelling, or in sentences, where no model has a column of answers."""
    if manner.loose and all(roles.predicted is None for roles in every):
        raise InputError(
            Argument("in_sentences" if manner.in_sentences else "any_spelling", value=True),
            " is about a column of answers, and here the answer is the class with the largest score. Leave it out, or "
            "name the column with ",
            Argument("predicted"),
            ".",
        )


def _ids(source: Source, name: str | None, table: pa.Table | None) -> pa.Array[Any] | None:
    """Read the ids as text, and check that none is missing and no two are the same."""
    if name is None or table is None:
        return None
    ids = as_text(source, name, table[name]).combine_chunks()
    missing = _missing(ids)
    if missing:
        at = source.at(missing, name)
        advice = "Every item needs one: fill it in, or name another column with "
        raise InputError(f"the id is missing. {advice}", Argument("id"), ".", at=at)
    encoded = ids.dictionary_encode()
    if len(encoded.dictionary) < len(ids):
        code = encoded.indices.to_numpy()
        order = np.argsort(code, kind="stable")
        later = order[1:][code[order[1:]] == code[order[:-1]]].min()
        earlier = int(np.flatnonzero(code == code[later])[0])
        raise InputError(
            f"the id {ids[int(later)].as_py()!r} is already that of {source.at(earlier + 1).inside}. "
            "Every item needs an id of its own: change one, or leave one row out.",
            at=source.at(int(later) + 1, name),
        )
    return ids


def _confidence(
    source: Source, name: str, table: pa.Table, unit: float, answered: NDArray[np.bool_], *, gaps: bool
) -> NDArray[np.float64] | None:
    """Read the confidences as shares, shape (items,); `unit` is the value that means certain, 1 or 100.

    Where there is no answer, the confidence that it is right is 0, whatever the column says. With `gaps`, the model is
    one of several, and None if it has no confidences at all: an array of all models has a column for it anyway.
    """
    values = np.where(answered, as_numbers(source, name, table[name]) / unit, 0.0)
    if gaps and answered.any() and np.isnan(values[answered]).all():
        return None
    wrong = np.flatnonzero(~((values >= -EDGE) & (values <= 1 + EDGE)))
    if len(wrong):
        value = values[wrong[0]] * unit
        if np.isnan(value):
            at = source.at((np.flatnonzero(np.isnan(values)) + 1).tolist(), name)
            raise InputError(
                "the confidence is missing (empty or NaN). Fill it in, or read without that column, with ",
                Argument("confidence", "none"),
                "." if gaps else f". {NO_ANSWER}.",
                at=at,
            )
        fix: tuple[Piece, ...] = (
            f"{value:.6g}, but must be a probability from 0 to {unit:g}. Convert the column, or read without it, with ",
            Argument("confidence", "none"),
            ".",
        )
        if name in source.percent:
            fix = (f"{100 * value:.6g}%, but must be a probability from 0% to 100%. Correct it.",)
        elif unit == 1 < value <= 100:
            percent = Argument("normalize", value=True)
            fix = (f"{value:.6g}, not 0 to 1. If it is percent, ", percent, " divides it by 100.")
        raise InputError("the confidence is ", *fix, at=source.at(int(wrong[0]) + 1, name))
    return np.clip(values, 0, 1)


def _check_of_answer(source: Source, name: str, p: NDArray[np.float64], answers: list[str]) -> None:
    """Refuse the probability of one of two classes if the confidence of the answer is meant."""
    positive = looks_like_one_class(p, answers) if len(answers) == len(p) else None
    if positive is not None:
        raise InputError(
            f"with two classes, the confidence of the answer is at least 0.5. This is rather the probability of "
            f"{positive!r}, whatever the answer. If so, add ",
            Argument("positive", positive),
            "; otherwise read without that column, with ",
            Argument("confidence", "none"),
            ".",
            at=source.at(column=name),
        )


def _further(source: Source, roles: Roles, table: pa.Table | None) -> pa.Table | None:
    if not roles.kept or table is None:
        return None
    return pa.Table.from_arrays([kept(source, table[name]) for name in roles.kept], list(roles.kept))


def _missing(text: pa.Array[Any]) -> list[int]:
    """The rows, from 1, where a text is missing or empty."""
    empty = pc.equal(text, pa.scalar("")).fill_null(True)
    rows: list[int] = (np.flatnonzero(empty.to_numpy(zero_copy_only=False)) + 1).tolist()
    return rows
