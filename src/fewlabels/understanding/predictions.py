"""Reading the pool in a file of predictions, with what somebody says about its columns, or else guesses."""

from __future__ import annotations

import difflib
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from fewlabels.errors import InputError
from fewlabels.understanding.options import ReadOptions, class_list, kept_content, score_names, single, split_names
from fewlabels.understanding.verdicts import as_verdicts, with_own_ids
from fewlabels.understanding.words import (
    content_words,
    decided_line,
    formats,
    left_over,
    never_line,
    sentence_lines,
    unclear,
    understood_lines,
    unused_columns,
)
from fewlabels.wording import some_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fewlabels.io.finder import Guess
    from fewlabels.io.source import Source
    from fewlabels.pool import Pool
    from fewlabels.understanding.words import Understood

NOTHING = "none"  # the word for "no such column, whatever it looks like"


def understood_in(
    source: Source | Mapping[str, Source],
    options: ReadOptions,
    *,
    content: Sequence[str] | None = None,
    columns: list[str] | None = None,
) -> tuple[Pool, list[Understood]]:
    """Read the pool in a source, or in those of several models by name, with options or else guesses; and say how.

    `content` names the columns that annotators see: several become one text. An empty list means none.

    >>> from fewlabels.io.opening import open_source
    >>> source = open_source({"ticket": ["t1", "t2"], "pred": ["cat", "dog"]})
    >>> pool, lines = understood_in(source, ReadOptions())
    >>> len(pool), lines[0].what, lines[0].text
    (2, 'id', "column 'ticket'")
    """
    from fewlabels.io.cards import with_texts
    from fewlabels.io.source import Source

    options = with_verdict(options)
    if options.confidence == NOTHING:
        options = replace(options, confidence=None)
        if isinstance(source, Source):
            source = _without_confidence(source, split_names(options.models))
        else:
            source = {name: _without_confidence(part) for name, part in source.items()}
    if isinstance(source, Source):
        return _one_source(source, options, content, columns)
    parts = {name: with_texts(part, content or ()) for name, part in source.items()}
    return _several_sources(parts, options, content, columns)


def with_verdict(options: ReadOptions) -> ReadOptions:
    """The options with the first column of --verdict as the predictions, and the others as evidence."""
    from fewlabels.errors import SpecError
    from fewlabels.understanding.question import verdict_columns

    names, _ = verdict_columns(options.verdict)
    if not names:
        return options
    if options.predicted is not None or options.scores is not None or options.models is not None:
        raise SpecError("--verdict names the predictions itself. Leave out --predicted, --scores and --models.")
    evidence = ",".join([*names[1:], *options.evidence_columns])
    return replace(options, predicted=names[0], evidence=evidence or None)


def _one_source(
    source: Source, options: ReadOptions, content: Sequence[str] | None, columns: list[str] | None
) -> tuple[Pool, list[Understood]]:
    """Read one file, perhaps with the answers of several models."""
    from fewlabels.io.cards import with_texts
    from fewlabels.io.finder.models import has_several, split_by

    groups = group_columns(options, source)
    respelt: list[Understood] = []
    if options.verdict:
        source, options, respelt = as_verdicts(source, options)
    if content is None:
        content = _usual_content(source, options)
    source = with_texts(source, content or ())
    guessed = _guessed(source, options, content, groups)
    own_ids: list[Understood] = []
    if options.verdict:
        source, own_ids = with_own_ids(source, options, guessed.id)
    models = split_names(options.models)
    if models is not None and len(models) == 1 and _says_which_model(source, models[0], options, guessed):
        return _several_sources(split_by(source, models[0]), options, content, columns)
    if has_several(source, models) or guessed.models:
        models = models or (None if has_several(source, None) else guessed.models)
        return _wide(source, models, options, guessed, content, columns)
    pool, lines = _one_model(source, options, guessed, content, columns)
    return pool, _after(_after(lines, "classes", respelt), "id", own_ids)


def _after(lines: list[Understood], what: str, more: Sequence[Understood]) -> list[Understood]:
    """The lines, with more of them behind the one about something."""
    place = next((i for i, line in enumerate(lines) if line.what == what), len(lines) - 1) + 1
    return [*lines[:place], *more, *lines[place:]]


def _usual_content(source: Source, options: ReadOptions) -> list[str] | None:
    """What annotators see of verdicts and of preferences, whose columns have usual names; None where it is guessed."""
    from fewlabels.io.finder.names import PREFERENCE, bare, compared, judged

    if options.verdict:
        return judged([name for name in source.columns if name != options.predicted]) or None
    if bare(options.predicted or PREFERENCE[0]) in PREFERENCE:
        return compared(source.columns) or None
    return None


def _guessed(source: Source, options: ReadOptions, content: Sequence[str] | None, groups: Sequence[str]) -> Guess:
    """What the columns are, where the options do not say it."""
    from fewlabels.io.finder import guess

    shown = single(content)
    guessed = guess(
        source,
        id=options.id,
        scores=score_names(options.scores, source),
        predicted=options.predicted,
        confidence=options.confidence,
        content=shown,
        not_content=groups,
        evidence=options.evidence_columns,
    )
    return guessed if content is None or shown is not None else replace(guessed, content=None)


def _one_model(
    source: Source, options: ReadOptions, guessed: Guess, content: Sequence[str] | None, columns: list[str] | None
) -> tuple[Pool, list[Understood]]:
    """Read one file with the answers of one model."""
    from fewlabels.io import read_pool
    from fewlabels.io.cards import with_card

    groups, evidence = options.columns_for_groups(source.columns), options.evidence_columns
    positive = options.positive or guessed.positive
    if guessed.scores is None and guessed.predicted is None and positive is None:
        raise InputError(unclear(source, guessed))
    pool = read_pool(
        source,
        id=guessed.id,
        scores=guessed.scores,
        predicted=guessed.predicted,
        confidence=guessed.confidence,
        classes=class_list(options.classes),
        content=kept_content(guessed, content),
        columns=columns,
        normalize=guessed.normalize if options.normalize is None and not options.logits else bool(options.normalize),
        logits=guessed.logits if options.logits is None and not options.normalize else bool(options.logits),
        unlisted=options.unlisted,
        any_spelling=options.any_spelling,
        in_sentences=options.in_sentences,
        positive=positive,
        never_right=options.never_right,
        evidence=evidence,
    )
    if content and single(content) is None:
        pool = with_card(pool, content)
    if guessed.truth not in (None, guessed.predicted, *groups, *evidence):
        pool = _without(pool, guessed.truth)  # a pool never holds labels
    unused = unused_columns(source, guessed, [*groups, *evidence, *(content or ())])
    understood = understood_lines(replace(guessed, positive=positive), pool, options)
    answers = [(source, None if guessed.scores else guessed.predicted)]
    understood = _after(understood, "predicted", decided_line(source, replace(guessed, positive=positive), unused))
    understood = _after(understood, "classes", sentence_lines(answers, pool, options))
    return pool, [*formats([source]), *understood, *never_line(source, guessed, pool, options), *left_over(unused)]


def _several_sources(
    sources: Mapping[str, Source], options: ReadOptions, content: Sequence[str] | None, columns: list[str] | None
) -> tuple[Pool, list[Understood]]:
    """Read a source for each of several models."""
    from fewlabels.io.predictions import check_one_model
    from fewlabels.understanding.models import read_files

    check_one_model(options.evidence_columns)
    pool, lines, unused = read_files(sources, options, content=content, columns=columns)
    return _shown(pool, [*formats(sources.values()), *lines], unused, content)


def _wide(
    source: Source,
    models: Sequence[str] | None,
    options: ReadOptions,
    guessed: Guess,
    content: Sequence[str] | None,
    columns: list[str] | None,
) -> tuple[Pool, list[Understood]]:
    """Read one file with the answers of several models."""
    from fewlabels.io.predictions import check_one_model
    from fewlabels.understanding.models import read_wide

    check_one_model(options.evidence_columns)
    pool, lines, unused = read_wide(source, models, options, guessed, content=content, columns=columns)
    return _shown(pool, [*formats([source]), *lines], unused, content)


def _shown(
    pool: Pool, lines: list[Understood], unused: Sequence[str], content: Sequence[str] | None
) -> tuple[Pool, list[Understood]]:
    """Show annotators what --content names."""
    from fewlabels.io.cards import with_card

    if content is not None and len(content) != 1:
        pool = with_card(pool, content) if content else replace(pool, content=None)
        shown = content_words(pool)
        lines = [replace(line, words=shown) if line.what == "content" else line for line in lines]
    return pool, [*lines, *left_over([name for name in unused if name not in (content or ())])]


def _says_which_model(source: Source, column: str, options: ReadOptions, guessed: Guess) -> bool:
    """Whether there is a row for each item and model, and a column says which model it is.

    Then another column has the answers, or the ids that were named occur more than once.
    """
    if guessed.predicted is not None or column not in source.columns or options.id is None:
        return guessed.predicted not in (None, column)
    ids = source.table([options.id])[options.id]
    return len(ids.unique()) < len(ids)


def _without_confidence(source: Source, models: Sequence[str] | None = None) -> Source:
    """Remove every column that could be taken for a confidence from a source, or for that of one of several models."""
    from fewlabels.io.finder import guess
    from fewlabels.io.finder.models import stated_by

    for model in models or guess(source).models or ():
        if (stated := stated_by(source, model)) is not None:
            source = _without_column(source, stated)
    while (name := guess(source).confidence) is not None:
        source = _without_column(source, name)
    return source


def _without_column(source: Source, name: str) -> Source:
    return replace(source, schema=source.schema.remove(source.schema.get_field_index(name)))


def _without(pool: Pool, name: str | None) -> Pool:
    """Remove one of the further columns from a pool."""
    if name is None or pool.columns is None or name not in pool.columns.column_names:
        return pool
    return replace(pool, columns=pool.columns.drop_columns([name]))


def group_columns(options: ReadOptions, source: Source) -> list[str]:
    """Return the columns of a file that `--groups` needs; an error if one is missing."""
    names = list(options.columns_for_groups(source.columns))
    for name in names:
        if name not in source.columns:
            near = difflib.get_close_matches(name, source.columns, 1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            if len(crossed := re.split(r"\s+[x×*&]\s+(?:column:)?", name)) > 1:
                hint = f"To cross columns: --groups {','.join(f'column:{part}' for part in crossed)}. "
            raise InputError(
                f"--groups column:{name}: {source.name} has no column {name!r}. {hint}"
                f"The columns are {some_of(source.columns)}."
            )
    return names
