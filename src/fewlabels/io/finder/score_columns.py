"""The score columns of a source in the order of the classes, and the names of the classes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fewlabels.checks import is_count
from fewlabels.errors import Argument, InputError
from fewlabels.io.columns import is_vector
from fewlabels.io.finder.names import matching
from fewlabels.io.spellings import written
from fewlabels.wording import some_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fewlabels.io.source import Source

MOST_SCORE_COLUMNS = 10_000
_SCORES, _CLASSES = Argument("scores"), Argument("classes")
_INSTEAD = (Argument("predicted"), " and ", Argument("confidence"))


def score_columns(
    source: Source, scores: str | Sequence[str], given: tuple[str, ...] | None
) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """The score columns in the order of the classes, and the names of the classes if they are known yet."""
    if not isinstance(scores, str):
        columns = tuple(source.need(name, "scores") for name in scores)
        if len(set(columns)) < len(columns):
            raise InputError(_SCORES, " names a column twice. Every class has one column.")
        names = columns
    elif scores in source.columns and is_vector(source.schema.field(scores).type):
        return (scores,), given
    elif scores.count("*") == 1:
        by_class = matching(scores, source.columns)
        columns, names = tuple(by_class.values()), tuple(by_class)
    else:
        source.need(scores, "scores")
        raise InputError(
            "a column of single numbers cannot hold the scores of all classes. Use a pattern with one *, as in ",
            Argument("scores", "p_*"),
            ", a list of columns, or ",
            *_INSTEAD,
            ".",
            at=source.at(column=scores),
        )
    _check_number_of_columns(source, scores, columns)
    if given is None:
        return columns, names
    if set(names) == set(given):
        place = dict(zip(names, columns, strict=True))
        return tuple(place[name] for name in given), given
    return _renamed(source, scores, columns, names, given), given


def class_names(source: Source, classes: Iterable[object] | None) -> tuple[str, ...] | None:
    """The names of all classes as the caller or the source lists them, checked; None if neither does."""
    spell = str if source.untyped else written  # "1.0" in a file is a text
    given = source.classes if classes is None else tuple(spell(name).strip() for name in classes)
    if given is not None:
        _check_classes(source, given)
    return given


def _check_number_of_columns(source: Source, scores: str | Sequence[str], columns: Sequence[str]) -> None:
    what = Argument("scores", scores if isinstance(scores, str) else None)
    if not columns:
        raise InputError(f"{source.name}: no column matches ", what, f". The columns are {some_of(source.columns)}.")
    if len(columns) == 1:
        raise InputError(
            f"{source.name}: ",
            what,
            f" gives one column only, {columns[0]!r}, and a classifier has two classes or more. "
            "Add a column for every other class (1 - p if there are two), or use ",
            *_INSTEAD,
            ".",
        )
    if len(columns) > MOST_SCORE_COLUMNS:
        raise InputError(
            f"{source.name}: ",
            what,
            f" gives {len(columns):,} columns, from {columns[0]!r} to {columns[-1]!r}; at most "
            f"{MOST_SCORE_COLUMNS:,} can be used, as a classes × classes table is kept in memory. "
            "Make the pattern narrower, or use ",
            *_INSTEAD,
            " instead of scores.",
        )


def _renamed(
    source: Source, scores: str | Sequence[str], columns: Sequence[str], names: Sequence[str], given: tuple[str, ...]
) -> tuple[str, ...]:
    """Columns for class names that are not their own: a list goes by its order, p_0, p_1, ... by number."""
    bare = [name for name in given if name not in names]
    if len(bare) == len(given) - len(columns) > 0:  # all others are named by their columns
        raise InputError(
            f"{source.name}: no column has the scores of the class {bare[0]!r}, which is in ",
            _CLASSES,
            f". Add a column for it beside {some_of(columns)}, with 0 in every row if it is never predicted.",
        )
    if len(columns) != len(given):
        raise InputError(
            f"{source.name}: {len(columns):,} score columns, from {columns[0]!r} to {columns[-1]!r}, but ",
            _CLASSES,
            f" has {len(given):,} names. Give one name for each column.",
        )
    if not isinstance(scores, str):
        return tuple(columns)
    if all(map(is_count, names)):
        return tuple(column for _, column in sorted(zip(map(int, names), columns, strict=True)))
    missing = [name for name in names if name not in given]
    raise InputError(
        f"{source.name}: the columns of ",
        Argument("scores", scores),
        f" name the class {missing[0]!r}, which is not in ",
        _CLASSES,
        ". Use the same names in both, or pass ",
        _SCORES,
        " as a list of columns in the order of ",
        _CLASSES,
        ".",
    )


def _check_classes(source: Source, classes: tuple[str, ...]) -> None:
    if len(classes) < 2:
        raise InputError(f"{source.name}: {len(classes)} class in the list of classes; two or more are needed.")
    twice = [name for name, count in Counter(classes).items() if count > 1]
    if twice:
        raise InputError(
            f"{source.name}: the class {twice[0]!r} is in the list of classes twice. Remove or rename one."
        )
    if "" in classes:
        raise InputError(f"{source.name}: class {classes.index('')} in the list of classes has no name. Give it one.")
