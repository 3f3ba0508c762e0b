"""Reading the pool in a file of predictions, with what somebody says about its columns, or else guesses."""

from __future__ import annotations

import dataclasses
import difflib
from typing import TYPE_CHECKING, Any

from fewlabels.errors import InputError
from fewlabels.io.source import listed
from fewlabels.understanding.words import (
    content_words,
    formats,
    left_over,
    never_line,
    unclear,
    understood_lines,
    unused_columns,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fewlabels.io.finder import Guess
    from fewlabels.io.source import Source
    from fewlabels.pool import Pool
    from fewlabels.understanding.words import Understood

NOTHING = "none"  # the word for "no such column, whatever it looks like"


def understood_in(
    source: Source | Mapping[str, Source],
    options: dict[str, Any],
    *,
    content: Sequence[str] | None = None,
    columns: list[str] | None = None,
) -> tuple[Pool, list[Understood]]:
    """Read the pool in a source, or in those of several models by name, with options or else guesses; and say how.

    `content` names the columns that annotators see: several become one text. An empty list means none.

    >>> from fewlabels.io.opening import open_source
    >>> source = open_source({"ticket": ["t1", "t2"], "pred": ["cat", "dog"]})
    >>> said = dict.fromkeys(("id_", "scores", "predicted", "confidence", "classes", "models", "positive", "evidence"))
    >>> said |= {"normalize": None, "logits": None, "unlisted": "refuse", "never_right": (), "verdict": None}
    >>> pool, lines = understood_in(source, said)
    >>> len(pool), lines[0].what, lines[0].text
    (2, 'id', "column 'ticket'")
    """
    from fewlabels.io.source import Source

    options = with_verdict(options)
    if isinstance(source, Source):
        return _one(source, options, content, columns)
    if options["confidence"] == NOTHING:
        options = options | {"confidence": None}
        source = {name: _without_confidence(one) for name, one in source.items()}
    return _several_sources(source, options, content, columns)


def _one(
    source: Source, options: dict[str, Any], content: Sequence[str] | None, columns: list[str] | None
) -> tuple[Pool, list[Understood]]:
    """Read one file, perhaps with the answers of several models."""
    from fewlabels.io import read_pool
    from fewlabels.io.cards import with_card
    from fewlabels.io.finder import guess
    from fewlabels.io.finder.models import has_several, split_by
    from fewlabels.io.finder.names import PREFERENCE, compared, judged, plain

    if options["confidence"] == NOTHING:
        options, source = options | {"confidence": None}, _without_confidence(source)
    groups, evidence = group_columns(options.get("groups") or "", source), split_names(options["evidence"]) or []
    if content is None and options.get("verdict"):
        content = judged([name for name in source.columns if name != options["predicted"]]) or None
    elif content is None and plain(options["predicted"] or PREFERENCE[0]) in PREFERENCE:
        content = compared(source.columns) or None
    single = content[0] if content and len(content) == 1 else None
    models = split_names(options["models"])
    guessed = guess(
        source,
        id=options["id_"],
        scores=score_names(options["scores"], source),
        predicted=options["predicted"],
        confidence=options["confidence"],
        content=single,
        not_content=groups,
        evidence=evidence,
    )
    if content is not None and single is None:
        guessed = dataclasses.replace(guessed, content=None)
    if models is not None and len(models) == 1 and guessed.predicted not in (None, models[0]):
        parts = split_by(source, models[0])  # a row for each item and model
        return _several_sources(parts, options, content, columns)
    if has_several(source, models) or guessed.models:
        models = models or (None if has_several(source, None) else guessed.models)
        return _wide(source, models, options, guessed, content, columns)
    positive = options["positive"] or guessed.positive
    if guessed.scores is None and guessed.predicted is None and positive is None:
        raise InputError(unclear(source, guessed))
    pool = read_pool(
        source,
        id=guessed.id,
        scores=guessed.scores,
        predicted=guessed.predicted,
        confidence=guessed.confidence,
        classes=class_list(options["classes"]),
        content=guessed.content,
        columns=columns,
        normalize=guessed.normalize if options["normalize"] is None and not options["logits"] else options["normalize"],
        logits=guessed.logits if options["logits"] is None and not options["normalize"] else options["logits"],
        unlisted=options["unlisted"],
        any_spelling=bool(options.get("any_spelling")),
        positive=positive,
        never_right=options["never_right"],
        evidence=evidence,
    )
    if content and single is None:
        pool = with_card(pool, content)
    if guessed.truth not in (None, guessed.predicted, *groups, *evidence):
        pool = _without(pool, guessed.truth)  # a pool never holds labels
    unused = unused_columns(source, guessed, [*groups, *evidence, *(content or ())])
    understood = understood_lines(dataclasses.replace(guessed, positive=positive), pool, options)
    return pool, [*formats([source]), *understood, *never_line(source, guessed, pool, options), *left_over(unused)]


def with_verdict(options: dict[str, Any]) -> dict[str, Any]:
    """The options with the first column of --verdict as the predictions, and the others as evidence."""
    from fewlabels.errors import SpecError
    from fewlabels.understanding.question import verdict_columns

    names, _ = verdict_columns(options)
    if not names:
        return options
    if options["predicted"] is not None or options["scores"] is not None or options["models"] is not None:
        raise SpecError("--verdict names the predictions itself. Leave out --predicted, --scores and --models.")
    evidence = ",".join([*names[1:], *(split_names(options["evidence"]) or [])])
    return options | {"predicted": names[0], "evidence": evidence or None}


def _several_sources(
    sources: Mapping[str, Source],
    options: dict[str, Any],
    content: Sequence[str] | None,
    columns: list[str] | None,
) -> tuple[Pool, list[Understood]]:
    """Read a source for each of several models."""
    from fewlabels.io.predictions import check_one_model
    from fewlabels.understanding.models import read_files

    check_one_model(split_names(options["evidence"]) or ())

    groups = columns_for_groups(options.get("groups") or "")
    single = content[0] if content and len(content) == 1 else None
    pool, lines, unused = read_files(
        sources,
        options,
        classes=class_list(options["classes"]),
        content=single,
        columns=columns,
        groups=groups,
    )
    return _shown(pool, [*formats(sources.values()), *lines], unused, content)


def _wide(
    source: Source,
    models: Sequence[str] | None,
    options: dict[str, Any],
    guessed: Guess,
    content: Sequence[str] | None,
    columns: list[str] | None,
) -> tuple[Pool, list[Understood]]:
    """Read one file with the answers of several models."""
    from fewlabels.io.predictions import check_one_model
    from fewlabels.understanding.models import read_wide

    check_one_model(split_names(options["evidence"]) or ())
    pool, lines, unused = read_wide(
        source,
        models,
        options,
        guessed,
        classes=class_list(options["classes"]),
        columns=columns,
        groups=columns_for_groups(options.get("groups") or ""),
    )
    return _shown(pool, [*formats([source]), *lines], unused, content)


def _shown(
    pool: Pool, lines: list[Understood], unused: Sequence[str], content: Sequence[str] | None
) -> tuple[Pool, list[Understood]]:
    """Show annotators what --content names."""
    from fewlabels.io.cards import with_card

    if content is not None and len(content) != 1:
        pool = with_card(pool, content) if content else dataclasses.replace(pool, content=None)
        shown = content_words(pool)
        lines = [dataclasses.replace(line, words=shown) if line.what == "content" else line for line in lines]
    return pool, [*lines, *left_over([name for name in unused if name not in (content or ())])]


def split_names(text: str | None) -> list[str] | None:
    """Names separated by commas; None if there are none."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def _without_confidence(source: Source) -> Source:
    """Remove every column that could be taken for a confidence from a source."""
    from fewlabels.io.finder import guess

    while (name := guess(source).confidence) is not None:
        source = dataclasses.replace(source, schema=source.schema.remove(source.schema.get_field_index(name)))
    return source


def score_names(text: str | None, source: Source) -> str | list[str] | None:
    """Split a text into names of columns, unless it is a pattern or one column."""
    if text is None or text in source.columns or "," not in text:
        return text
    return [part.strip() for part in text.split(",")]


def class_list(text: str | list[str] | None) -> list[str] | None:
    """Read names of classes, separated by commas or from the lines of a file; a list is one already."""
    from pathlib import Path

    if text is None or isinstance(text, list):
        return text
    if "," not in text and Path(text).is_file():
        try:
            lines = Path(text).read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"cannot read the classes in {text}: {error}. Save them as UTF-8, one on a line."
            ) from None
        return [line.strip() for line in lines if line.strip()]
    return [part.strip() for part in text.split(",")]


def _without(pool: Pool, name: str | None) -> Pool:
    """Remove one of the further columns from a pool."""
    if name is None or pool.columns is None or name not in pool.columns.column_names:
        return pool
    return dataclasses.replace(pool, columns=pool.columns.drop_columns([name]))


def group_columns(groups: str, source: Source) -> list[str]:
    """Return the columns of a file that `--groups` needs; an error if one is missing."""
    wanted = columns_for_groups(groups)
    for name in wanted:
        if name not in source.columns:
            near = difflib.get_close_matches(name, source.columns, 1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise InputError(
                f"--groups column:{name}: {source.name} has no column {name!r}. {hint}"
                f"The columns are {listed(source.columns)}."
            )
    return wanted


def columns_for_groups(groups: str) -> list[str]:
    """Return the columns that `--groups` names.

    >>> columns_for_groups("column:sex, column:race,predicted")
    ['sex', 'race']
    """
    wanted = (part.strip()[7:] for part in groups.split(",") if part.strip().startswith("column:"))
    return [name for name in wanted if name]
