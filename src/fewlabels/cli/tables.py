"""Reading predictions from a table that stays where it is, with the options of the command line or with guesses."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fewlabels.engines.columns import Columns
    from fewlabels.engines.table import RemoteTable, Step
    from fewlabels.io.finder import Guess
    from fewlabels.io.source import Source
    from fewlabels.pool import Pool
    from fewlabels.understanding.options import ReadOptions
    from fewlabels.understanding.words import Understood

# What only a pool in memory has, by the name of its option.
_IN_MEMORY = {
    "models": "--models",
    "scores": "--scores",
    "normalize": "--normalize",
    "logits": "--logits",
    "never_right": "--never-right",
    "any_spelling": "--any-spelling",
    "in_sentences": "--in-sentences",
    "positive": "--positive",
    "verdict": "--verdict",
}


class _Read(NamedTuple):
    """How a table is read: what was guessed, the column that annotators see, the classes, and all columns needed."""

    guessed: Guess
    shown: str | None
    classes: tuple[str, ...] | None
    columns: Columns


def read_table_predictions(
    address: str, options: ReadOptions, *, content: Sequence[str] | None, to_ask: bool = True
) -> tuple[Pool, list[Understood]]:
    """Read the summary of a table, and the reserve if items will be asked for; report how columns were understood."""
    from fewlabels.engines.opening import open_table
    from fewlabels.io.table_roles import left_out, sample_of
    from fewlabels.io.tables import read_table
    from fewlabels.understanding.predictions import group_columns
    from fewlabels.understanding.words import Understood

    _refuse(options, content)
    table = open_table(address, table=options.table)
    if context := click.get_current_context(silent=True):
        context.call_on_close(table.close)
    sample = sample_of(table)
    groups, evidence = group_columns(options, sample), list(dict.fromkeys(options.evidence_columns))
    read = _how_to_read(sample, options, content, groups, evidence)
    with watched(table):
        pool = read_table(
            table,
            read.columns,
            classes=read.classes,
            content=None if read.shown == read.columns.id else read.shown,
            seed=options.seed,
            evidence=evidence,
            to_ask=to_ask,
            bins=options.columns_for_groups(sample.columns),
        )
    lines = _understood(sample, read.guessed, pool, read.columns.confidence, [*groups, *evidence])
    if words := left_out(table):
        lines.insert(1, Understood("files", words, "name a pattern"))
    return pool, lines


def _how_to_read(
    sample: Source, options: ReadOptions, content: Sequence[str] | None, groups: Sequence[str], evidence: Sequence[str]
) -> _Read:
    """What the options say about the columns, and what the first rows show where they say nothing."""
    from fewlabels.errors import InputError
    from fewlabels.io.finder import find_roles, guess
    from fewlabels.io.table_roles import columns_from
    from fewlabels.understanding.options import class_list
    from fewlabels.understanding.predictions import NOTHING
    from fewlabels.understanding.words import unclear

    without = options.confidence == NOTHING
    guessed = guess(
        sample,
        id=options.id,
        predicted=options.predicted,
        confidence=None if without else options.confidence,
        content=content[0] if content else None,
        not_content=groups,
        evidence=evidence,
    )
    if guessed.predicted is None:
        raise InputError(unclear(sample, guessed))
    shown = guessed.content if content is None or content else None
    roles = find_roles(
        sample,
        id=guessed.id,
        scores=None,
        predicted=guessed.predicted,
        confidence=None if without else guessed.confidence,
        classes=class_list(options.classes),
        columns=groups,
        content=shown,
    )
    columns = columns_from(sample, roles, groups)
    return _Read(guessed, shown, roles.classes, replace(columns, confidence=None) if without else columns)


def drawn(files: Sequence[str | Source], options: ReadOptions) -> list[Source]:
    """Items of tables, drawn at random, as sources in memory; of several tables the same items."""
    from fewlabels.io.source import Source
    from fewlabels.io.table_roles import sampled

    sources: list[Source] = []
    upto = None
    for file in files:
        if isinstance(file, Source):
            sources.append(file)
            continue
        assert options.sample is not None
        source, upto = sampled(file, options.table, options.sample, id=options.id, seed=options.seed, upto=upto)
        sources.append(source)
    return sources


def _refuse(options: ReadOptions, content: Sequence[str] | None) -> None:
    from fewlabels.errors import InputError

    for name, option in _IN_MEMORY.items():
        if getattr(options, name):
            raise InputError(
                f"a table that stays where it is cannot be read with {option}. Add --sample 100000 to read that many "
                "items, drawn at random, into memory; or make a view that has the predicted class and a confidence "
                "from 0 to 1, and name that."
            )
    if options.unlisted == "wrong":
        raise InputError(
            "--unlisted wrong works only for predictions read into memory. Add --sample 100000, or make a view with a "
            "class for the rest."
        )
    if content is not None and len(content) > 1:
        raise InputError(
            "--content takes one column of a table that stays where it is. To show several: fewlabels serve ... "
            f"--columns {','.join(content)}"
        )


@contextmanager
def watched(table: RemoteTable) -> Iterator[None]:
    """Show how far the engine has got, with the number of rows read if it is known."""
    from fewlabels.cli.common import progress

    with progress(f"reading {table.name}") as bar:
        lock, shown = threading.Lock(), [""]

        def show(step: Step) -> None:
            with lock:
                words = step.name if step.rows is None else f"{step.name}: {step.rows:,} rows read"
                if words != shown[0] and sys.stderr.isatty():
                    shown[0] = words
                    bar.say(words)
                if step.share is not None:
                    bar(round(step.share * 1000), 1000)

        table.progress = show
        try:
            yield
        finally:
            table.progress = None


def _understood(
    sample: Source, guessed: Guess, pool: Pool, confidence: str | None, groups: Sequence[str]
) -> list[Understood]:
    from fewlabels.understanding.words import Understood, class_pieces, content_words, left_over, likely_line
    from fewlabels.wording import some_pieces

    assert pool.reserve is not None
    count = len(pool.reserve.unit)
    named = "all are named" if count == len(pool) else f"{count:,} of them are named; the rest stay in the table"
    classes = class_pieces(pool)
    sure = f"column {confidence!r}" if confidence else "none: predicted classes only"
    lines = [
        Understood("items", named, ""),
        Understood("id", f"column {guessed.id!r}", "--id NAME"),
        Understood("predicted", f"column {guessed.predicted!r}", "--predicted NAME"),
        Understood("confidence", sure, "--confidence NAME"),
        *([] if confidence else likely_line(guessed)),
        *([Understood("evidence", "", "--evidence NAMES", tuple(some_pieces(pool.evidence)))] if pool.evidence else ()),
        Understood("classes", f"{len(pool.choices):,}: ", "--classes NAMES", classes),
        Understood("content", content_words(pool), "--content NAME"),
    ]
    if guessed.truth is not None and guessed.truth != guessed.predicted:
        lines.append(Understood("labels", f"column {guessed.truth!r} looks like labels: not used", "tell FILE --adopt"))
    used = {guessed.id, guessed.predicted, confidence, pool.content, guessed.truth, *groups}
    return [*lines, *left_over([name for name in sample.columns if name not in used])]
