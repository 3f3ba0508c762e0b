"""Labels from a file, frame or mapping, and which of them a pool cannot take."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fewlabels.errors import InputError, LabelError
from fewlabels.io.columns import as_text
from fewlabels.io.opening import open_source
from fewlabels.io.source import MOST_ROWS, listed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from fewlabels.io.source import Source
    from fewlabels.pool import Pool

_MARK = " If nobody can tell, write (skip) or (skip: reason)."
_MOST_CLASSES = 30  # that a message names
_SKIP = re.compile(r"\(skip(?::(.*))?\)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class LabelRow:
    """What was said about an item, and the row (from 1) where it stands; no source if it came by itself."""

    item: str
    label: str
    source: Source | None = None
    row: int = 0


def read_labels(source: object, *, id: str = "id", label: str = "label") -> dict[str, str]:  # noqa: A002
    """Labels by item: ids to class names, both as text, in the order of the rows.

    A row with an empty label has not been labelled yet and is skipped. The same item twice is fine if
    both rows agree. Whether the ids and class names exist is checked where the labels are told.

    Parameters
    ----------
    source
        A path, frame or mapping of columns, as for `read_pool`; or a plain mapping of ids to labels.
    id, label
        The names of the two columns.

    Examples
    --------
    >>> import fewlabels as fl
    >>> fl.read_labels({"id": ["a", "b", "c"], "label": ["cat", None, "dog"]})
    {'a': 'cat', 'c': 'dog'}
    >>> fl.read_labels({"a": "cat", 7: 3})
    {'a': 'cat', '7': '3'}
    """
    first: dict[str, LabelRow] = {}
    for row in said(source, id=id, label=label):
        before = first.setdefault(row.item, row)
        if before.label != row.label and row.source is not None:
            raise InputError(
                f"{row.source.at(row.row, row.source.called(label))}: {row.item!r} is labelled {row.label!r}, but "
                f"{before.label!r} in row {before.row:,}. Keep one of the two rows."
            )
    return {item: row.label for item, row in first.items()}


def said(source: object, *, id: str = "id", label: str = "label") -> list[LabelRow]:  # noqa: A002
    """The rows of a file, frame or mapping that have a label, in their order; `read_labels` says what it may be."""
    if isinstance(source, Mapping) and not _has_columns(source, id, label):
        return [LabelRow(item, name) for item, name in _from_mapping(source).items()]
    if isinstance(source, (list, tuple, set)):
        raise InputError(
            f"labels must say which item each is of. Got a {type(source).__name__}; "
            "pass {id: label, ...}, a file or a frame."
        )
    return [row for row in label_rows(open_source(source), id=id, label=label) if row.label]


def label_rows(source: Source, *, id: str = "id", label: str = "label") -> list[LabelRow]:  # noqa: A002
    """All rows of a source; the label is empty where there is none yet.

    >>> from fewlabels.io.opening import open_source
    >>> [(row.item, row.label) for row in label_rows(open_source({"id": ["a", "b"], "label": ["cat", None]}))]
    [('a', 'cat'), ('b', '')]
    """
    id, label = source.called(id), source.called(label)  # noqa: A001
    table = source.table([source.need(id, "id"), source.need(label, "label")])
    items = as_text(source, id, table[id]).to_pylist()
    names = as_text(source, label, table[label]).to_pylist()
    rows = []
    for row, (item, name) in enumerate(zip(items, names, strict=True), 1):
        if name and not item:
            raise InputError(f"{source.at(row, id)}: the id is missing, but there is a label, {name!r}. Fill it in.")
        rows.append(LabelRow(str(item or ""), str(name or ""), source, row))
    return rows


def plain(name: str) -> str:
    """A class name as somebody in a hurry types it: case and spaces do not count.

    >>> plain(" Wild  DOG")
    'wild dog'
    """
    return " ".join(name.split()).casefold()


def skip_reason(label: str, classes: Collection[str]) -> str | None:
    """Why somebody could not answer, if a label is no class but the mark of a skip.

    >>> skip_reason("(skip)", ["cat"]), skip_reason("(Skip: too dark)", ["cat"]), skip_reason("cat", ["cat"])
    ('unclear', 'too dark', None)
    """
    mark = _SKIP.fullmatch(label.strip())
    return None if mark is None or label in classes else (mark[1] or "").strip() or "unclear"


def checked(rows: Sequence[LabelRow], pool: Pool, *, skips: bool = False) -> dict[str, str]:
    """Labels by item, if the pool can take all of them; else one LabelError about all that is wrong.

    With `skips`, a label may also be the mark of a skip.
    """
    strangers, classes = _strangers(rows, pool), set(pool.classes)
    labels: dict[str, str] = {}
    wrong: dict[tuple[int, str], list[LabelRow]] = {}
    for row in rows:
        if row.item in strangers:
            what = f"unknown item {row.item!r}: not in the pool"
            wrong.setdefault((id(row.source), what), []).append(row)
        if row.label not in classes and not (skips and skip_reason(row.label, classes)):
            wrong.setdefault((id(row.source), f"unknown class {row.label!r}"), []).append(row)
        elif (first := labels.setdefault(row.item, row.label)) != row.label:
            what = f"{row.item!r} is labelled {row.label!r} here and {first!r} before"
            wrong.setdefault((id(row.source), what), []).append(row)
    if wrong:
        parts = [(what, rows) for (_, what), rows in wrong.items()]
        raise LabelError(_refusal(parts, strangers, pool, _MARK if skips else ""))
    return labels


def _strangers(rows: Sequence[LabelRow], pool: Pool) -> set[str]:
    """The items that are not in the pool. Nearly always none, and then its ids are not gone through."""
    items = {row.item for row in rows}
    try:
        pool.positions(items)
    except LabelError:
        return items.difference(map(str, pool.ids.to_pylist()))
    return set()


def _refusal(wrong: Sequence[tuple[str, list[LabelRow]]], strangers: set[str], pool: Pool, mark: str) -> str:
    """What cannot be taken: the first ten things with their rows, the number of the others, and what to do."""
    known = ""
    if any(what.startswith("unknown class") for what, _ in wrong):
        known = (
            f" The classes are {listed(pool.classes, _MOST_CLASSES)}. A class that is never predicted must be named "
            f"when the pool is read, with classes=.{mark}"
        )
    hints = [_hint(what, rows[0], strangers, pool) for what, rows in wrong[:MOST_ROWS]]
    if len(wrong) == 1:
        ((what, rows),) = wrong
        return f"{_place(rows)}: {what}. Nothing was changed.{f' {hints[0]}' * bool(hints[0])}{known}"
    parts, name = [], None
    for (what, rows), hint in zip(wrong, hints, strict=False):
        place = _place(rows)
        if rows[0].source is not None:
            place = place.removeprefix(f"{name}, ")  # one file need not be named ten times
            name = rows[0].source.name
        parts.append(f"{place}: {what}" + (f" ({hint[0].lower()}{hint[1:].removesuffix('.')})" if hint else ""))
    if more := sum(len(rows) for _, rows in wrong[MOST_ROWS:]):
        parts.append(f"and {more:,} more")
    count = len({(id(row.source), row.item, row.row) for _, rows in wrong for row in rows})
    return f"{count:,} labels cannot be taken. Nothing was changed. {'; '.join(parts)}.{known}"


def _hint(what: str, row: LabelRow, strangers: set[str], pool: Pool) -> str:
    if what.startswith("unknown class"):
        return _meant(row.label, pool.classes)
    return _who(row.item, pool) if row.item in strangers else "Keep one of the two."


def _place(rows: Sequence[LabelRow]) -> str:
    source = rows[0].source
    return listed((row.item for row in rows), MOST_ROWS) if source is None else source.at([row.row for row in rows])


def _meant(label: str, classes: Sequence[str]) -> str:
    """What a name that is no class may have been meant to be."""
    alike = [name for name in classes if plain(name) == plain(label)]
    if len(alike) > 1:
        return f"It could be {' or '.join(map(repr, alike))}: write it exactly so."
    near = alike or difflib.get_close_matches(label.strip(), classes, 1, cutoff=0.5)
    return f"Did you mean {near[0]!r}?" if near else ""


def _who(item: str, pool: Pool) -> str:
    """What the pool says about an id that it does not have."""
    try:
        pool.positions([item])
    except LabelError as error:
        return str(error).partition(" Nothing was changed. ")[2]
    return ""


def _has_columns(source: Mapping[object, object], *names: str) -> bool:
    return all(
        name in source and hasattr(source[name], "__len__") and not isinstance(source[name], str) for name in names
    )


def _from_mapping(source: Mapping[object, object]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for item, name in source.items():
        if name is None or name == "" or name != name:  # noqa: PLR0124  (NaN: not labelled yet)
            continue
        if hasattr(name, "__len__") and not isinstance(name, str):
            raise InputError(
                f"labels of item {item!r}: {name!r} is no class name. "
                'Pass {id: label, ...}, or {"id": [...], "label": [...]} with the names in id= and label=.'
            )
        labels[str(item)] = str(name)
    return labels
