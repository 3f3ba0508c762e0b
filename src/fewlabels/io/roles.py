"""Which column plays which part: id, scores, predicted, confidence, content, or a further column."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fewlabels.errors import InputError
from fewlabels.io.columns import can_keep, is_vector, looks_numeric
from fewlabels.io.guess import guess
from fewlabels.io.source import Source, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_SCORE_COLUMNS = 10_000
_GLOBS = ("p_*", "prob_*", "score_*")


@dataclass(frozen=True)
class Roles:
    """The columns by what they are for. `scores` is one column per class, or one column of vectors."""

    id: str | None
    scores: tuple[str, ...]
    vector: bool
    predicted: str | None
    confidence: str | None
    kept: tuple[str, ...]
    classes: tuple[str, ...] | None

    @property
    def whole(self) -> tuple[str, ...]:
        """The columns that are read whole; scores are read in blocks instead."""
        wanted = (self.id, self.predicted, self.confidence, *self.kept)
        return tuple(dict.fromkeys(name for name in wanted if name is not None))


def find_roles(
    source: Source,
    *,
    id: str | None,  # noqa: A002  (the word users know)
    scores: str | Sequence[str] | None,
    predicted: str | None,
    confidence: str | None,
    classes: Iterable[object] | None,
    columns: Sequence[str] | None,
    content: str | None,
) -> Roles:
    """The roles asked for, the rest by the names that columns usually have."""
    names = source.columns
    if scores is not None and confidence is not None:
        raise InputError("scores= already say how confident each prediction is. Leave out confidence=, or scores=.")
    if scores is None and predicted is None:
        scores, predicted = _usual(source, confidence)
    for role, name in (
        ("id", id),
        ("predicted", predicted),
        ("confidence", confidence),
        ("content", content),
    ):
        if name is not None:
            source.need(name, role)
    if id is None and source.called("id") in names:
        id = source.called("id")  # noqa: A001
    if scores is None and confidence is None and "confidence" in names and looks_numeric(source, "confidence"):
        confidence = "confidence"  # one in words (high, low) is a further column
    given = _class_names(classes) if classes is not None else source.classes
    if given is not None:
        _check_classes(source, given)
    found, known = ((), given) if scores is None else _score_columns(source, scores, given)
    if content is not None and content in (*found, predicted, confidence):
        raise InputError(
            f"content={content!r} is a column of predictions: an annotator who sees it is not blind. Name another."
        )
    used = {id, predicted, confidence, *found}
    vector = len(found) == 1
    return Roles(id, found, vector, predicted, confidence, _kept(source, used, columns, content), known)


def _usual(source: Source, confidence: str | None) -> tuple[str | None, str | None]:
    """Scores and predicted by their usual names."""
    names = source.columns
    predicted = "predicted" if "predicted" in names else None
    if "scores" in names and is_vector(source.schema.field("scores").type) and confidence is None:
        return "scores", predicted
    if predicted:
        return None, predicted
    for pattern in _GLOBS:
        if confidence is None and len(_matches(pattern, names)) >= 2:
            return pattern, None
    begin = f"{source.name} has the columns {listed(names)}, and which of them are predictions is not said. "
    found = guess(source, confidence=confidence)
    if found.scores is not None or found.predicted is not None:
        raise InputError(f"{begin}Going by their names, it would be {found.call}.")
    raise InputError(
        f'{begin}Say read_pool(..., scores="p_*") for one score column per class (a pattern or a list of columns), '
        'or read_pool(..., predicted="column", confidence="column"); the confidence may be left out.'
    )


def _score_columns(
    source: Source, scores: str | Sequence[str], given: tuple[str, ...] | None
) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """The score columns in the order of the classes, and the names of the classes if they are known yet."""
    if not isinstance(scores, str):
        columns = tuple(source.need(name, "scores") for name in scores)
        if len(set(columns)) < len(columns):
            raise InputError("scores= names a column twice. Every class has one column.")
        names = columns
    elif scores in source.columns and is_vector(source.schema.field(scores).type):
        return (scores,), given
    elif scores.count("*") == 1:
        found = _matches(scores, source.columns)
        columns, names = tuple(found.values()), tuple(found)
    else:
        source.need(scores, "scores")
        raise InputError(
            f"{source.at(column=scores)}: a column of single numbers cannot hold the scores of all classes. "
            'Use a pattern with one *, as in scores="p_*", a list of columns, or predicted= and confidence=.'
        )
    _check_number_of_columns(source, scores, columns)
    if given is None:
        return columns, names
    if set(names) == set(given):
        place = dict(zip(names, columns, strict=True))
        return tuple(place[name] for name in given), given
    return _renamed(source, scores, columns, names, given), given


def _matches(pattern: str, columns: Iterable[str]) -> dict[str, str]:
    """The part that the * stands for -> the column."""
    before, _, after = pattern.partition("*")
    least = len(before) + len(after) + 1
    matching = (c for c in columns if len(c) >= least and c.startswith(before) and c.endswith(after))
    return {c[len(before) : len(c) - len(after)]: c for c in matching}


def _check_number_of_columns(source: Source, scores: str | Sequence[str], columns: Sequence[str]) -> None:
    what = f"scores={scores!r}" if isinstance(scores, str) else "scores="
    if not columns:
        raise InputError(f"{source.name}: no column matches {what}. The columns are {listed(source.columns)}.")
    if len(columns) == 1:
        raise InputError(
            f"{source.name}: {what} gives one column only, {columns[0]!r}, and a classifier has two classes "
            "or more. Add a column for every other class (1 - p if there are two), or use predicted= "
            "and confidence=."
        )
    if len(columns) > MOST_SCORE_COLUMNS:
        raise InputError(
            f"{source.name}: {what} gives {len(columns):,} columns, from {columns[0]!r} to {columns[-1]!r}; "
            f"at most {MOST_SCORE_COLUMNS:,} can be used, as a classes × classes table is kept in memory. "
            "Make the pattern narrower, or use predicted= and confidence= instead of scores."
        )


def _renamed(
    source: Source,
    scores: str | Sequence[str],
    columns: Sequence[str],
    names: Sequence[str],
    given: tuple[str, ...],
) -> tuple[str, ...]:
    """Columns for class names that are not their own: a list goes by its order, p_0, p_1, ... by number."""
    if len(columns) != len(given):
        raise InputError(
            f"{source.name}: {len(columns):,} score columns, from {columns[0]!r} to {columns[-1]!r}, "
            f"but classes= has {len(given):,} names. Give one name for each column."
        )
    if not isinstance(scores, str):
        return tuple(columns)
    if all(name.isdecimal() for name in names):
        return tuple(sorted(columns, key=lambda column: int(names[columns.index(column)])))
    missing = [name for name in names if name not in given]
    raise InputError(
        f"{source.name}: the columns of scores={scores!r} name the class {missing[0]!r}, "
        "which is not in classes=. Use the same names in both, or pass scores= as a list of columns "
        "in the order of classes=."
    )


def _class_names(classes: Iterable[object]) -> tuple[str, ...]:
    if isinstance(classes, (str, bytes)):
        raise InputError(f"classes= must be a list of names. Got {classes!r} instead.")
    return tuple(str(name).strip() for name in classes)


def _check_classes(source: Source, classes: tuple[str, ...]) -> None:
    if len(classes) < 2:
        raise InputError(f"{source.name}: {len(classes)} class in the list of classes; two or more are needed.")
    twice = [name for name, count in Counter(classes).items() if count > 1]
    if twice:
        raise InputError(
            f"{source.name}: the class {twice[0]!r} is twice in the list of classes. Remove or rename one."
        )
    if "" in classes:
        raise InputError(f"{source.name}: class {classes.index('')} in the list of classes has no name. Give it one.")


def _kept(source: Source, used: set[str | None], columns: Sequence[str] | None, content: str | None) -> tuple[str, ...]:
    if isinstance(columns, str):
        raise InputError(f"columns= must be a list of names. Got {columns!r} instead; write columns=[{columns!r}].")
    if columns is None:
        names = [
            field.name
            for field in source.schema
            if field.name not in used and field.name.casefold() not in ("label", "labels") and can_keep(field.type)
        ]
    else:
        names = [source.need(name, "columns") for name in columns]
    if content is not None:
        names.append(content)
    for name in names:
        if not can_keep(source.schema.field(name).type):
            kind = source.schema.field(name).type
            raise InputError(f"{source.at(column=name)}: holds {kind}; a pool keeps text, numbers and dates only.")
    return tuple(dict.fromkeys(names))
