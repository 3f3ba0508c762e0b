"""One number for each item, the probability of one of two classes: the commonest file of a binary classifier."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fewlabels.errors import Argument, InputError
from fewlabels.io.columns import as_numbers, as_text, looks_numeric
from fewlabels.io.finder.names import CONFIDENCE, bare, says_confidence
from fewlabels.io.scores import EDGE
from fewlabels.opposites import negative_of
from fewlabels.wording import some_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fewlabels.io.source import Source


def of_one_class(
    source: Source, asked: dict[str, Any], positive: str, *, percent: bool = False
) -> tuple[Source, dict[str, Any]]:
    """The source with a column of scores for each of two classes, made from the probability p of one: 1 − p and p.

    `asked` are the arguments of `find_roles`, and those that are returned fit the new source. The probability is in
    the column that `scores` or `confidence` names, or else in the one with a usual name, such as y_prob.
    """
    column = _column(source, asked)
    rows = source.table([column])[column]
    p = as_numbers(source, column, rows) / (100.0 if percent and column not in source.percent else 1.0)
    wrong = np.flatnonzero(~((p >= -EDGE) & (p <= 1 + EDGE)))
    if len(wrong):
        at = source.at((wrong + 1).tolist(), column)
        raise InputError(f"the probability of {positive!r} must be a number from 0 to 1.", at=at)
    classes = _two(source, asked, positive)
    scores = np.column_stack([1 - p, p] if classes[1] == positive else [p, 1 - p])
    names = _free(source, classes)
    return _with_columns(source, column, names, scores), asked | {
        "scores": names,
        "confidence": None,
        "classes": classes,
    }


def _column(source: Source, asked: dict[str, Any]) -> str:
    named = asked["scores"] if isinstance(asked["scores"], str) else None
    if named or asked["confidence"]:
        return source.need(named or asked["confidence"], "scores" if named else "confidence")
    called = [name for name in source.columns if bare(name) in CONFIDENCE or says_confidence(name)]
    usual = [name for name in called if looks_numeric(source, name)]
    if len(usual) != 1:
        many = f"{some_of(usual)} could all be it" if usual else "none has a name that suggests it"
        raise InputError(
            f"{source.name}: ",
            Argument("positive"),
            f" needs one column with the probability of that class, and {many}. Name it with ",
            Argument("scores"),
            f". The columns are {some_of(source.columns)}.",
        )
    return usual[0]


def _two(source: Source, asked: dict[str, Any], positive: str) -> tuple[str, str]:
    """The two classes: as they were named, as they are predicted, or the opposite of the positive one."""
    given: Iterable[Any] | None = asked["classes"] or source.classes
    if given is None and asked["predicted"] is not None:
        name = source.need(asked["predicted"], "predicted")
        given = sorted({str(value).strip() for value in as_text(source, name, source.table([name])[name]).to_pylist()})
    names = [str(name).strip() for name in given or (negative_of(positive), positive)]
    if len(names) == 1 and positive not in names:
        names.append(positive)
    elif len(names) == 1:
        names.insert(0, negative_of(positive))
    if len(names) != 2 or positive not in names:
        raise InputError(
            f"{source.name}: ",
            Argument("positive", positive),
            f" must be one of two classes, and the classes are {some_of(names)}.",
        )
    return names[0], names[1]


def _free(source: Source, classes: Sequence[str]) -> list[str]:
    """Names for the columns of scores that no column has yet."""
    names = [f"p({name})" for name in classes]
    while set(names) & set(source.columns):
        names = [f"{name}'" for name in names]
    return names


def _with_columns(source: Source, without: str, names: list[str], scores: np.ndarray[Any, Any]) -> Source:
    """The source with columns of numbers in place of one of its own."""
    left = [field for field in source.schema if field.name != without]
    keeper = left[0].name if left else without

    def batches(columns: list[str], numbers: bool) -> Iterable[pa.RecordBatch]:
        own = [name for name in columns if name not in names]
        start = 0
        for batch in source.reader(own or [keeper], numbers and bool(own)):
            end = start + batch.num_rows
            made = {name: pa.array(scores[start:end, names.index(name)]) for name in columns if name in names}
            held = {name: batch.column(name) for name in own}
            yield pa.RecordBatch.from_pydict({name: made[name] if name in made else held[name] for name in columns})
            start = end

    schema = pa.schema([*left, *(pa.field(name, pa.float64()) for name in names)])
    return replace(source, schema=schema, reader=batches)
