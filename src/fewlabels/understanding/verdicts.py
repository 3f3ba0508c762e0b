"""Verdicts of a judge as people and programs write them: in any case, in several words, missing, or always the same.

Somebody who names a column with --verdict says that it holds verdicts. So "PASS", "Pass" and "pass" are one, and so are
the ways of writing true and false; an empty one is not a verdict; and where a judge passes everything, the
word for what it never said is known. Of several systems, the answers to one question have one id in many files: each
gets one of its own.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from fewlabels.evidence import MOST_WORDS
from fewlabels.opposites import opposite, side
from fewlabels.understanding.words import Understood
from fewlabels.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fewlabels.io.source import Source
    from fewlabels.understanding.options import ReadOptions


# Columns that say whose answer a row is.
_SYSTEM = re.compile(r"(?i)(ai[ _-]?)?(system|model|variant|version|agent|assistant|candidate|run)([ _-]?(name|id))?")


def as_verdicts(source: Source, options: ReadOptions) -> tuple[Source, ReadOptions, list[Understood]]:
    """The source with verdicts in one spelling, the options that they need, and lines about what was changed.

    >>> from fewlabels.io.opening import open_source
    >>> from fewlabels.understanding.options import ReadOptions
    >>> source = open_source({"judge": ["PASS", "pass", "fail", "", "pass"]})
    >>> read, options, lines = as_verdicts(source, ReadOptions(verdict="judge", predicted="judge"))
    >>> read.table(["judge"]).column(0).to_pylist(), options.never_right, lines[0].text
    (['pass', 'pass', 'fail', '', 'pass'], ('',), "'PASS' is read as 'pass'")
    """
    name = options.predicted
    if name is None or name not in source.columns:
        return source, options, []
    column = source.table([name]).column(0)
    values = [None if value is None else str(value).strip() for value in column.to_pylist()]
    if any(not value for value in values) and "" not in options.never_right:
        options = replace(options, never_right=(*options.never_right, ""))
    counts = Counter(value for value in values if value)
    if options.classes is not None or not 0 < len(counts) <= MOST_WORDS:
        return source, options, []
    if len(counts) == 1 and (other := opposite(next(iter(counts)))) is not None:
        return source, replace(options, classes=[*counts, other]), []
    meant = one_spelling(counts)
    if not meant or not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return source, options, []
    return _respelt(source, name, meant), options, _lines(meant)


def with_own_ids(source: Source, options: ReadOptions, id_: str | None) -> tuple[Source, list[Understood]]:
    """The source with an id for each answer, where the ids of questions occur once for each system; and a line on that.

    >>> from fewlabels.io.opening import open_source
    >>> from fewlabels.understanding.options import ReadOptions
    >>> rows = {"id": ["q1", "q1", "q2", "q2"], "system": ["a", "b", "a", "b"], "judge": ["pass", "fail"] * 2}
    >>> read, lines = with_own_ids(open_source(rows), ReadOptions(verdict="judge"), "id")
    >>> read.table(["id"]).column(0).to_pylist(), lines[0].text
    (['q1/a', 'q1/b', 'q2/a', 'q2/b'], "once for each 'system': q1/a")
    """
    if id_ is None:
        return source, []
    ids = source.table([id_]).column(0)
    if len(ids.unique()) == len(ids):
        return source, []
    named = (
        list(options.columns_for_groups(source.columns))
        or [name for name in source.columns if _SYSTEM.fullmatch(name)][:1]
    )
    names = [name for name in named if name in source.columns and name != id_]
    if not names:
        return source, []
    every = _joined(source.table([id_, *names]))
    if None in every or len({*every}) < len(every):
        return source, []  # the reader says which row has the same id as another
    words = f"once for each {listed(list(map(repr, names)))}: {every[0]}"
    return _with_column(source, id_, every), [Understood("", words, "--id NAME")]


def _joined(table: pa.Table) -> list[str | None]:
    """The values of each row with / between them; None where one is missing."""
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return [None if None in row else "/".join(str(value).strip() for value in row) for row in rows]


def _with_column(source: Source, name: str, values: list[str | None]) -> Source:
    """The source, with other values in one of its columns."""

    def batches(columns: list[str], numbers: bool) -> Iterable[pa.RecordBatch]:
        start = 0
        for batch in source.reader(columns, numbers):
            rows, start = slice(start, start + batch.num_rows), start + batch.num_rows
            if name in batch.schema.names:
                place = batch.schema.get_field_index(name)
                yield batch.set_column(place, pa.field(name, pa.string()), pa.array(values[rows], pa.string()))
            else:
                yield batch

    place = source.schema.get_field_index(name)
    return replace(source, reader=batches, schema=source.schema.set(place, pa.field(name, pa.string())))


def one_spelling(counts: Mapping[str, int]) -> dict[str, str]:
    """How to write verdicts that are written otherwise: as the most frequent one that means the same.

    >>> one_spelling({"PASS": 3, "Pass": 1, "fail": 2})
    {'Pass': 'PASS'}
    >>> one_spelling({"pass": 3, "1": 1, "true": 1, "0": 2})
    {'1': 'pass', 'true': 'pass'}
    >>> one_spelling({"good": 3, "acceptable": 1, "bad": 2}), one_spelling({"yes": 3, "1": 1, "2": 2})
    ({}, {})
    """
    sides = {word: side(word) for word in counts}
    all_plain = all(its_side is not None for its_side in sides.values())
    alike: dict[str, list[str]] = {}
    for word in counts:
        alike.setdefault(str(sides[word]) if all_plain else word.casefold(), []).append(word)
    usual = {word: max(words, key=lambda spelling: counts[spelling]) for words in alike.values() for word in words}
    return {word: name for word, name in usual.items() if word != name}


def _lines(meant: Mapping[str, str]) -> list[Understood]:
    """A line for each verdict that others are read as."""
    by_name: dict[str, list[str]] = {}
    for word, name in meant.items():
        by_name.setdefault(name, []).append(repr(word))
    return [
        Understood("", f"{listed(words)} {'is' if len(words) == 1 else 'are'} read as {name!r}", "--classes NAMES")
        for name, words in by_name.items()
    ]


def _respelt(source: Source, name: str, meant: Mapping[str, str]) -> Source:
    """The source, with other words in one of its columns."""

    def batches(columns: list[str], numbers: bool) -> Iterable[pa.RecordBatch]:
        for batch in source.reader(columns, numbers):
            if name not in batch.schema.names:
                yield batch
                continue
            place = batch.schema.get_field_index(name)
            field, written = batch.schema.field(place), batch.column(place).to_pylist()
            words = [None if word is None else meant.get(word.strip(), word) for word in written]
            yield batch.set_column(place, field, pa.array(words, field.type))

    return replace(source, reader=batches)
