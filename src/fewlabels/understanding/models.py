"""Reading the predictions of several models, from a file for each or from one wide file, and saying how."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fewlabels.errors import InputError, quoted
from fewlabels.io.columns import as_text
from fewlabels.io.finder import Guess, guess, names
from fewlabels.io.finder.look import Look
from fewlabels.io.finder.models import roles_by_model, stated_by
from fewlabels.io.joining import join
from fewlabels.io.manner import Manner
from fewlabels.io.one_model import check_spelling, read_one
from fewlabels.io.predictions import read_models
from fewlabels.understanding.options import class_list, kept_content, score_names, single
from fewlabels.understanding.words import (
    MOST_NAMES,
    Understood,
    alike_line,
    class_pieces,
    content_words,
    sentence_lines,
)
from fewlabels.wording import counted, shortened, some_of, some_pieces

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fewlabels.io.finder import Roles
    from fewlabels.io.source import Source
    from fewlabels.pool import Pool
    from fewlabels.understanding.options import ReadOptions

_MOST_MODELS = 6  # models that are described one by one
_MOST_ANSWERS = 3  # answers that do not count as any class, which are shown
_FEW_CLASSES = 50  # of more classes, some are named by one model only, and that is nothing to mention


def model_names(files: Sequence[str], given: Sequence[str] | None) -> list[str]:
    """The names of the models of files: as given, or else the names of the files or of their folders.

    >>> model_names(["old.csv", "runs/new.csv"], None), model_names(["a/p.csv", "b/p.csv"], None)
    (['old', 'new'], ['a', 'b'])
    """
    if given is not None:
        if len(given) != len(files):
            raise InputError(
                f"--models has {counted(len(given), 'name')} for {counted(len(files), 'file')}. Give one for each file."
            )
        names = list(given)
    else:
        names = [Path(file).name.partition(".")[0] for file in files]
        if len(set(names)) < len(names):
            names = [Path(file).absolute().parent.name for file in files]
        if len(set(names)) < len(names):
            names = [str(file) for file in files]
    if len(set(names)) < len(names):
        raise InputError("two of the models have the same name. Give each file a name of its own, with --models a,b.")
    return names


def read_files(
    sources: Mapping[str, Source], options: ReadOptions, *, content: Sequence[str] | None, columns: Sequence[str] | None
) -> tuple[Pool, list[Understood], list[str]]:
    """Read a file for each model, each with guesses of its own where there are no options; join them by id.

    Also how they were understood, and the columns that are not used.
    """
    every = [column for source in sources.values() for column in source.columns]
    classes, groups = class_list(options.classes), list(options.columns_for_groups(every))
    asked, guesses = {}, {}
    for name, source in sources.items():
        own: dict[str, Any] = {role: _there(getattr(options, role), role, source, sources) for role in _ROLES}
        own["scores"] = score_names(own["scores"], source)
        if own["predicted"] is None and own["scores"] is None:
            own["predicted"] = _answer(name, source)
        guessed = guess(source, **own, content=_there(single(content), "content", source, sources), not_content=groups)
        if guessed.scores is None and guessed.predicted is None:
            raise InputError(_unclear(name, source, guessed))
        if guessed.truth is not None and guessed.truth not in (guessed.predicted, *groups):
            source = _without(source, guessed.truth)  # noqa: PLW2901  (a pool never holds labels)
        guesses[name] = guessed
        says = options if options.normalize or options.logits else guessed
        manner = _manner(options, normalize=bool(says.normalize), logits=bool(says.logits))
        own = {**_asked(guessed, classes, columns, source), "content": kept_content(guessed, content)}
        asked[name] = (source, own, manner)
    pool = read_models(asked)
    used = {name for guessed in guesses.values() for name in _used(guessed)}
    unused = dict.fromkeys(name for source in sources.values() for name in source.columns if name not in used)
    roles = [
        Understood("id", _by_model(guesses, "id", "none: joined by rows"), "--id NAME"),
        Understood("predicted", _by_model(guesses, "predicted", "the largest score"), "--predicted NAME"),
        Understood("confidence", _by_model(guesses, "confidence", "none"), "--confidence NAME"),
    ]
    named = {guessed.predicted for guessed in guesses.values()}
    truth = next((guessed.truth for guessed in guesses.values() if guessed.truth and guessed.truth not in named), None)
    answers = [
        _Column(source, own["id"], None if own["scores"] else own["predicted"]) for source, own, _ in asked.values()
    ]
    lines = _lines(pool, roles, truth, options, answers)
    return pool, lines, [name for name in unused if name not in groups]


class _Column(NamedTuple):
    """The column of a model's answers, if it has one, with the ids beside it."""

    source: Source
    id: str | None
    answers: str | None


_ROLES = ("id", "scores", "predicted", "confidence")


def _answer(model: str, source: Source) -> str | None:
    """The column of answers in a file that is known to be one model's, if it has an otherwise doubtful name."""
    look = Look(source)
    clear = look.predicted() or look.scores(without={look.confidence()})
    doubtful = [name for name in names.ANSWER if name not in names.TRUTH]
    return None if clear else look.named([names.bare(model), *doubtful])


def _there(wanted: str | None, role: str, source: Source, sources: Mapping[str, Source]) -> Any:
    """The column that an option names, for a source that has it; ids must be in all files."""
    if wanted is None or role == "id" or "*" in wanted or wanted in source.columns:
        return wanted
    if any(wanted in other.columns for other in sources.values()):
        return None
    return wanted


def _asked(guessed: Guess, classes: list[str] | None, columns: Sequence[str] | None, source: Source) -> dict[str, Any]:
    return {
        "id": guessed.id,
        "scores": guessed.scores,
        "predicted": guessed.predicted,
        "confidence": guessed.confidence,
        "classes": classes,
        "columns": None if columns is None else [name for name in columns if name in source.columns],
    }


def _manner(options: ReadOptions, *, normalize: bool, logits: bool) -> Manner:
    return Manner(
        normalize=normalize,
        logits=logits,
        unlisted=options.unlisted == "wrong",
        any_spelling=options.any_spelling,
        in_sentences=options.in_sentences,
        never=options.never_right,
    )


def _without(source: Source, name: str) -> Source:
    return dataclasses.replace(source, schema=source.schema.remove(source.schema.get_field_index(name)))


def _used(guessed: Guess) -> list[str | None]:
    scores = [guessed.scores] if isinstance(guessed.scores, str) else guessed.scores or []
    return [guessed.id, guessed.predicted, guessed.confidence, guessed.content, guessed.truth, guessed.verbal, *scores]


def _unclear(name: str, source: Source, guessed: Guess) -> str:
    words = f"{source.name} has the columns {some_of(source.columns)}, and none is clearly the answer of {name!r}. "
    if guessed.models:
        return f"{words}It seems to have the answers of several models itself: give that file alone."
    if guessed.truth is not None:
        words += f"{guessed.truth!r} looks like true labels; if it is the answer, add --predicted {guessed.truth!r}. "
    return f"{words}Use --predicted NAME; in files without that column, the answers are found by their usual names."


def _by_model(guesses: Mapping[str, Guess], role: str, nothing: str) -> str:
    """What was found for each model, in one text if it is the same for all."""
    columns = {}
    for model, guessed in guesses.items():
        column = getattr(guessed, role)
        if column is None and guessed.verbal and role == "confidence":
            columns[model] = f"column {guessed.verbal!r} is in words: kept for grouping"
        else:
            columns[model] = nothing if column is None else f"column {column!r}"
    if len(set(columns.values())) == 1:
        return next(iter(columns.values()))
    return "; ".join(f"{model}: {words}" for model, words in list(columns.items())[:_MOST_MODELS])


def read_wide(
    source: Source,
    models: Sequence[str] | None,
    options: ReadOptions,
    guessed: Guess,
    *,
    content: Sequence[str] | None,
    columns: Sequence[str] | None,
) -> tuple[Pool, list[Understood], list[str]]:
    """Read one file with the answers of several models; also how, and the columns that are not used."""
    classes, groups = class_list(options.classes), options.columns_for_groups(source.columns)
    if guessed.truth is not None and guessed.truth not in (*(models or ()), *groups):
        source = _without(source, guessed.truth)  # a pool never holds labels
    asked = {"id": guessed.id, "scores": None, "predicted": None, "confidence": None, "classes": classes}
    source, roles = roles_by_model(source, models, **asked, columns=columns, content=kept_content(guessed, content))
    look = Look(source)
    pools = {}
    for name, own in roles.items():
        percent = own.confidence is not None and look.unit(None, own.confidence) == "percent"
        manner = _manner(options, normalize=bool(options.normalize) or percent, logits=bool(options.logits))
        check_spelling(manner, roles.values())
        pools[name] = read_one(source, own, kept_content(guessed, content), manner, gaps=True)
    named = next(iter(roles.values())).classes is not None
    pool = join(pools, named=named, any_spelling=options.any_spelling)
    lines = [
        Understood(
            "id", f"column {guessed.id!r}" if guessed.id else "none: rows are numbered 0, 1, 2, ...", "--id NAME"
        ),
        Understood("predicted", _columns(roles, "predicted"), "--models NAMES"),
        Understood("confidence", _columns(roles, "confidence"), ""),
    ]
    stated = [stated_by(source, name) for name, own in roles.items() if own.confidence is None and not own.scores]
    if words := [name for name in stated if name is not None]:
        verb = "is" if len(words) == 1 else "are"
        lines.append(Understood("", f"{some_of(words, _MOST_MODELS)} {verb} in words: kept for grouping", ""))
    used = {guessed.id, guessed.content, guessed.truth, *words, *groups}
    for own in roles.values():
        used |= {own.predicted, own.confidence, *own.scores}
    answers = [_Column(source, guessed.id, None if own.scores else own.predicted) for own in roles.values()]
    lines = _lines(pool, lines, guessed.truth, options, answers)
    return pool, lines, [name for name in source.columns if name not in used]


def _columns(roles: Mapping[str, Roles], role: str) -> str:
    """The columns of all models for one role."""
    columns = [getattr(own, role) for own in roles.values() if getattr(own, role) is not None]
    if role == "predicted" and not columns:
        return "the class with the largest score"
    return some_of(columns, _MOST_MODELS) if columns else "none"


def _lines(
    pool: Pool, roles: list[Understood], truth: str | None, options: ReadOptions, columns: Sequence[_Column]
) -> list[Understood]:
    """How the models were understood: who they are, where they differ, what is missing, and what sentences name."""
    sentences = sentence_lines([(column.source, column.answers) for column in columns], pool, options)
    models = tuple(some_pieces(pool.models, MOST_NAMES))
    lines = [Understood("models", f"{len(pool.models):,}: ", "--models NAMES", models), *roles]
    differ = int((pool.answers != pool.answers[:, :1]).any(axis=1).sum())
    lines.append(Understood("answers", f"the models differ on {differ:,} of {counted(len(pool), 'item')}", ""))
    lines += [Understood("", words, "") for words in _twins(pool)]
    missing = (pool.answers < 0).sum(axis=0)
    for h in np.flatnonzero(missing)[:_MOST_MODELS].tolist():
        count = int(missing[h])
        counts = "it counts" if count == 1 else "these count"
        lacks = "no answer from the list" if options.unlisted == "wrong" else "no answer"
        words = f"{pool.models[h]!r} has {lacks} for {counted(count, 'item')}; {counts} as wrong"
        # "Yes." beside "yes" is hardly meant to be wrong.
        strict = options.unlisted == "wrong" and not (options.any_spelling or options.in_sentences or sentences)
        why = _why_missing(pool, h, columns[h])
        lines.append(Understood("", f"{words}: " if why else words, "--any-spelling" if strict else "", why))
    classes = class_pieces(pool)
    lines.append(Understood("classes", f"{len(pool.choices):,}: ", "--classes NAMES", classes))
    lines += [*alike_line(pool), *_alone_line(pool)] if class_list(options.classes) is None else []
    lines += sentences
    lines.append(Understood("content", content_words(pool), "--content NAME"))
    if pool.content and (blank := pool.column(pool.content).null_count):
        have = "has" if blank == 1 else "have"
        words = f"{counted(blank, 'item')} {have} no content: give it in each file, or people see the id only"
        lines.append(Understood("", words, ""))
    if truth is not None:
        lines.append(Understood("labels", f"column {truth!r} looks like labels: not used", "tell FILE --adopt"))
    return lines


def _why_missing(pool: Pool, h: int, column: _Column) -> tuple[str, ...]:
    """Pieces that say what a model's file has instead of its answers: no row, an empty cell, or what it says most."""
    if column.answers is None or column.id is None:
        return ()
    table = column.source.table([column.id, column.answers])
    ids = pc.utf8_trim_whitespace(as_text(column.source, column.id, table[column.id]).combine_chunks()).to_pylist()
    if not pool.has(ids).all():  # the 7.0 of one file are the 7 of another
        ids = [str(item).partition(".")[0] for item in ids]
    if not pool.has(ids).all():  # written in yet another way: better no reason than a wrong one
        return ()
    texts = pc.utf8_trim_whitespace(as_text(column.source, column.answers, table[column.answers]).combine_chunks())
    lost = pool.answers[pool.positions(ids), h] < 0
    counts = Counter(text or "" for text in texts.filter(pa.array(lost)).to_pylist())
    absent, empty = len(pool) - len(ids), counts.pop("", 0)
    kinds = [f"{absent:,} not in the file"] if absent else []
    kinds += [f"{empty:,} empty"] if empty else []
    kinds += [f"{shortened(answer, 32)!r} ({n:,}×)" for answer, n in counts.most_common(_MOST_ANSWERS)]
    rest = counts.total() - sum(n for _, n in counts.most_common(_MOST_ANSWERS))
    kinds += [f"{rest:,} with other answers"] if rest else []
    return tuple(f"{kind}," for kind in kinds[:-1]) + tuple(kinds[-1:])


def _twins(pool: Pool) -> list[str]:
    """Which models give the same answers to all items: perhaps a file was given twice."""
    alike: dict[bytes, list[str]] = {}
    for h, name in enumerate(pool.models):
        alike.setdefault(pool.answers[:, h].tobytes(), []).append(name)
    twins = [names for names in alike.values() if len(names) > 1]
    return [f"{some_of(names, _MOST_MODELS)} give the same answer to every item" for names in twins[:_MOST_MODELS]]


def _alone_line(pool: Pool) -> list[Understood]:
    """The line about answers that one model alone gives: what a language model says instead of a class, perhaps."""
    named = np.zeros((len(pool.choices), len(pool.models)), dtype=np.int64)
    for h in range(len(pool.models)):
        named[:, h] = np.bincount(pool.answers[pool.answers[:, h] >= 0, h], minlength=len(named))
    alone = np.flatnonzero((named > 0).sum(axis=1) == 1)
    if not len(alone) or len(named) - len(alone) not in range(1, _FEW_CLASSES + 1):
        return []
    often = int(alone[named[alone].sum(axis=1).argmax()])
    model, count = pool.models[int(named[often].argmax())], counted(int(named[often].sum()), "item")
    rest = len(alone) - 1
    more = f"; {counted(rest, 'more answer')} {'comes' if rest == 1 else 'come'} from one model only" if rest else ""
    words = f"only {model!r} says {quoted(pool.choices[often], 24)}: {count}{more}"
    return [Understood("", words, "--classes A,B --unlisted wrong")]
