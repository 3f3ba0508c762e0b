"""Verdicts of a judge as people and programs write them: in any case, in several words, missing, or always the same.

Somebody who names a column with --verdict says that it holds verdicts. So "PASS", "Pass" and "pass" are one, and so are
the ways of writing true and false; an empty one is not a verdict; and where a judge passes everything, the word for
what it never said is known.
"""

from __future__ import annotations

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
    all_plain = all(found is not None for found in sides.values())
    alike: dict[str, list[str]] = {}
    for word in counts:
        alike.setdefault(str(sides[word]) if all_plain else word.casefold(), []).append(word)
    usual = {word: max(words, key=lambda one: counts[one]) for words in alike.values() for word in words}
    return {word: name for word, name in usual.items() if word != name}


def _lines(meant: Mapping[str, str]) -> list[Understood]:
    """A line for each verdict that others are read as."""
    by_name: dict[str, list[str]] = {}
    for word, name in meant.items():
        by_name.setdefault(name, []).append(repr(word))
    return [
        Understood("", f"{listed(words)} {'is' if len(words) == 1 else 'are'} read as {name!r}", "--classes")
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
            field, said = batch.schema.field(place), batch.column(place).to_pylist()
            words = [None if word is None else meant.get(word.strip(), word) for word in said]
            yield batch.set_column(place, field, pa.array(words, field.type))

    return replace(source, reader=batches)
