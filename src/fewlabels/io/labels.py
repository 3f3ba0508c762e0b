"""Reading labels from a file, frame or mapping, and finding those that a pool cannot take."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol
from unicodedata import normalize

from fewlabels.errors import MOST_NAMED, Argument, InputError, LabelError, Piece, Place, sentence
from fewlabels.io.pictures import FORMS
from fewlabels.io.spellings import as_typed, whole, written
from fewlabels.io.writing import without_apostrophe
from fewlabels.wording import counted, some_of

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Sequence

    from fewlabels.io.source import Source
    from fewlabels.pool import Pool


class Frame(Protocol):
    """A table of any library that gives an Arrow stream: pandas, Polars, PyArrow, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class Series(Protocol):
    """A pandas Series of labels, whose index has the ids."""

    def reset_index(self, *args: Any, **named: Any) -> Any: ...


if TYPE_CHECKING:
    Labels = Mapping[Any, Any] | str | os.PathLike[str] | Frame | Series | Source
    """What labels are taken from: id to class, a file, a frame with the columns id and label, or a Series."""

_MARK = " If nobody can tell, write (skip) or (skip: reason)."
_MOST_CLASSES = 30  # that a message names
_SOME = 4  # unknown ids that together show that it is the wrong file
_SKIP = re.compile(r"\(skip(?::(.*))?\)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class LabelRow:
    """The label of an item, and the row (from 1) of the source that it is in; no source if it came by itself."""

    item: str
    label: str
    source: Source | None = None
    row: int = 0


@dataclass(frozen=True)
class _Trouble:
    """One thing that is wrong with labels, and the rows in which it is wrong; all are of the same source."""

    kind: Literal["item", "class", "twice"]
    what: str
    rows: list[LabelRow]

    @property
    def place(self) -> Place | None:
        source = self.rows[0].source
        return None if source is None else source.at([row.row for row in self.rows])

    @property
    def named(self) -> str:
        """What is wrong, with the items where no place says which they are."""
        says_which = self.place is not None or self.kind != "class"
        return self.what if says_which else f"{some_of((row.item for row in self.rows), MOST_NAMED)}: {self.what}"

    def hint(self, pool: Pool) -> str:
        """What to do, as a clause; empty if there is no advice."""
        if self.kind == "class":
            return _meant(self.rows[0].label, pool.classes)
        return pool.meant(self.rows[0].item) if self.kind == "item" else "keep one of the two"


def read_labels(
    source: Labels,
    *,
    id: str = "id",  # noqa: A002
    label: str = "label",
    any_size: bool = False,
) -> dict[str, str]:
    """Read labels by item: ids to class names, both as text, in the order of the rows.

    A row with an empty label has not been labelled yet and is skipped. The same item twice is fine if
    both rows agree. Whether the ids and class names exist is checked where the labels are told.

    Parameters
    ----------
    source
        A path, frame or mapping of columns, as for `read_pool`; or a plain mapping of ids to labels, or a pandas
        Series of labels whose index has the ids.
    id, label
        The names of the two columns.
    any_size
        Lift the limits on what a file may unpack to, as in `read_pool`.

    Examples
    --------
    >>> import fewlabels as fl
    >>> fl.read_labels({"id": ["a", "b", "c"], "label": ["cat", None, "dog"]})
    {'a': 'cat', 'c': 'dog'}
    >>> fl.read_labels({"a": "cat", 7: 3})
    {'a': 'cat', '7': '3'}
    """
    from fewlabels.io.opening import open_source

    first: dict[str, LabelRow] = {}
    opened = open_source(source, any_size=any_size) if isinstance(source, (str, Path)) else source
    for row in labelled_rows(opened, id=id, label=label):
        before = first.setdefault(row.item, row)
        if before.label != row.label and row.source is not None:
            raise InputError(
                f"{row.item!r} is labelled {row.label!r}, but {before.label!r} in {row.source.at(before.row).inside}. "
                "Keep one of the two rows.",
                at=row.source.at(row.row, row.source.called(label)),
                items=[row.item],
            )
    return {item: row.label for item, row in first.items()}


def labelled_rows(source: object, *, id: str = "id", label: str = "label") -> list[LabelRow]:  # noqa: A002
    """Return the rows that have a label, in their order, from any source that `read_labels` takes."""
    if isinstance(source, Mapping) and not _has_columns(source, id, label):
        return [LabelRow(item, name) for item, name in _from_mapping(source).items()]
    if isinstance(source, (list, tuple, set)):
        raise InputError(
            f"labels need the id of each item. Got a {type(source).__name__}; "
            "pass {id: label, ...}, a file or a frame."
        )
    from fewlabels.io.opening import is_series, open_source

    if is_series(source):
        source = _from_series(source, id, label)
    return [row for row in label_rows(open_source(source), id=id, label=label) if row.label]


def label_rows(source: Source, *, id: str = "id", label: str = "label") -> list[LabelRow]:  # noqa: A002
    """Return all rows of a source; the label is empty if there is none yet.

    >>> from fewlabels.io.opening import open_source
    >>> [(row.item, row.label) for row in label_rows(open_source({"id": ["a", "b"], "label": ["cat", None]}))]
    [('a', 'cat'), ('b', '')]
    """
    from fewlabels.io.columns import as_text

    id, label = source.called(id), source.called(label)  # noqa: A001
    # If the name is the usual one, the caller probably did not give it.
    table = source.table([source.need(id, "id", usual=id == "id"), source.need(label, "label", usual=label == "label")])
    items = as_text(source, id, table[id]).to_pylist()
    names = as_text(source, label, table[label]).to_pylist()
    rows = []
    for row, (item, name) in enumerate(zip(items, names, strict=True), 1):
        if name and not item:
            raise InputError(f"the id is missing, but there is a label, {name!r}. Fill it in.", at=source.at(row, id))
        rows.append(LabelRow(str(item or ""), str(name or ""), source, row))
    return rows


def as_classes(classes: Sequence[str]) -> dict[str, str]:
    """The class that each way of writing means, if it can mean no other.

    >>> as_classes(["password_reset", "A", "a", "1.0"])
    {'password reset': 'password_reset', '1': '1.0'}
    """
    typed = {name: as_typed(whole(name)) for name in classes}
    alike = Counter(typed.values())
    return {short: name for name, short in typed.items() if alike[short] == 1}


def skip_reason(label: str, classes: Collection[str]) -> str | None:
    """Return the reason for a skip, if a label is the mark of a skip and not a class; otherwise None.

    >>> skip_reason("(skip)", ["cat"]), skip_reason("(Skip: too dark)", ["cat"]), skip_reason("cat", ["cat"])
    ('unclear', 'too dark', None)
    """
    mark = _SKIP.fullmatch(label.strip())
    return None if mark is None or label in classes else (mark[1] or "").strip() or "unclear"


def checked(rows: Sequence[LabelRow], pool: Pool, *, skips: bool = False) -> dict[str, str]:
    """Return labels by item if the pool can take all of them; otherwise raise one LabelError about all that is wrong.

    With `skips`, a label may also be the mark of a skip.
    """
    classes = set(pool.classes)
    if any(row.item.startswith("'") or row.label.startswith("'") for row in rows):
        rows = _without_apostrophes(rows, pool)
    rows = _in_the_pools_form(rows, pool)
    if any(row.label not in classes for row in rows):
        meant = as_classes(pool.choices)
        rows = [row if row.label in classes else _as_meant(row, meant) for row in rows]
    strangers = _strangers(rows, pool)
    if len(strangers) >= _SOME and len(strangers) == len({row.item for row in rows}):
        raise _other_file(rows, strangers, pool)
    why = "not in the pool" if pool.reserve is None else "nobody asked for it"
    labels: dict[str, str] = {}
    wrong: dict[tuple[int, str], _Trouble] = {}

    def note(kind: Literal["item", "class", "twice"], what: str, row: LabelRow) -> None:
        wrong.setdefault((id(row.source), what), _Trouble(kind, what, [])).rows.append(row)

    for row in rows:
        if row.item in strangers:
            note("item", f"unknown item {row.item!r}: {why}", row)
        if row.label not in classes and not (skips and skip_reason(row.label, classes)):
            note("class", f"unknown class {row.label!r}", row)
        elif (first := labels.setdefault(row.item, row.label)) != row.label:
            note("twice", f"{row.item!r} is labelled {row.label!r} here and {first!r} before", row)
    if wrong:
        raise _refusal(list(wrong.values()), pool, _MARK if skips else "")
    return labels


def _as_meant(row: LabelRow, meant: Mapping[str, str]) -> LabelRow:
    """The row with the class that it means, in whatever case and with whatever spaces it was typed."""
    return replace(row, label=meant.get(as_typed(whole(row.label)), row.label))


def _without_apostrophes(rows: Sequence[LabelRow], pool: Pool) -> list[LabelRow]:
    """The rows without the apostrophes that were put before ids and classes for a spreadsheet."""
    quoted_ones = {row.item for row in rows if row.item.startswith("'")}
    plain = {item: before for item in quoted_ones if (before := without_apostrophe(item)) is not None}
    known = set(plain) | set(plain.values())
    known -= _strangers([LabelRow(item, "") for item in known], pool)
    if both := [item for item, before in plain.items() if item in known and before in known]:
        raise LabelError(
            f"{both[0]!r} and {plain[both[0]]!r} are two items, and a spreadsheet shows them alike. "
            "Nothing was changed. Use a file that was not written for a spreadsheet.",
            items=both,
        )
    items = {item: before for item, before in plain.items() if before in known}
    names = {f"'{name}": name for name in pool.classes if f"'{name}" not in pool.classes}
    return [replace(row, item=items.get(row.item, row.item), label=names.get(row.label, row.label)) for row in rows]


def _in_the_pools_form(rows: Sequence[LabelRow], pool: Pool) -> Sequence[LabelRow]:
    """The rows with ids as the pool writes them: "é" is one character or two, and programs change that on the way."""
    strangers = [item for item in _strangers(rows, pool) if not item.isascii()] if _any_accents(rows) else []
    other: dict[str, str] = {}
    for form in FORMS:
        written = [normalize(form, item) for item in strangers]
        is_known = pool.has(written).tolist() if written else []
        other |= {item: its_form for item, its_form, known in zip(strangers, written, is_known, strict=True) if known}
    return [replace(row, item=other.get(row.item, row.item)) for row in rows] if other else rows


def _any_accents(rows: Sequence[LabelRow]) -> bool:
    return not all(row.item.isascii() for row in rows)


def _strangers(rows: Sequence[LabelRow], pool: Pool) -> set[str]:
    """The items that are not in the pool."""
    items = {row.item for row in rows}
    wanted = list(items)
    return {item for item, known in zip(wanted, pool.has(wanted).tolist(), strict=True) if not known}


def _other_file(rows: Sequence[LabelRow], strangers: set[str], pool: Pool) -> LabelError:
    """The error where not a single item is known: about the file, and not about each of its rows."""
    first, source = rows[0].item, rows[0].source
    is_one = source is not None and all(row.source is source for row in rows)
    whose = "is in this pool" if pool.reserve is None else "was asked for"
    return LabelError(
        f"none of the {len(strangers):,} ids {whose}, such as {first!r}. Nothing was changed. Is it another file, or "
        "are the ids in another column, to be named with ",
        Argument("id"),
        f"? {sentence(pool.meant(first))}".rstrip(),
        at=source.at() if is_one and source is not None else None,
        items=list(strangers),
    )


def _refusal(wrong: Sequence[_Trouble], pool: Pool, mark: str) -> LabelError:
    """Make the error that says what cannot be taken: the first ten troubles with their rows, how many more there are,
    and what to do.
    """
    items = list(dict.fromkeys(row.item for trouble in wrong for row in trouble.rows))
    known: list[Piece] = []
    if any(trouble.kind == "class" for trouble in wrong):
        names = some_of(pool.classes, _MOST_CLASSES)
        known = [
            f" The classes are {names}. A class that is never predicted must be named when the pool is read, with ",
            Argument("classes"),
            f".{mark}",
        ]
    if len(wrong) == 1:
        (trouble,) = wrong
        words = f"{trouble.named}. Nothing was changed. {sentence(trouble.hint(pool))}".rstrip()
        return LabelError(words, *known, at=trouble.place, items=items)
    parts = []
    named = None
    for trouble in wrong[:MOST_NAMED]:
        place, hint, where = trouble.place, trouble.hint(pool), ""
        if place is not None:  # one file need not be named ten times
            where, named = f"{place.inside if place.source == named else place}: ", place.source
        parts.append(f"{where}{trouble.named}" + (f" ({hint})" if hint else ""))
    if more := sum(len(trouble.rows) for trouble in wrong[MOST_NAMED:]):
        parts.append(f"and {more:,} more")
    count = len({(id(row.source), row.item, row.row) for trouble in wrong for row in trouble.rows})
    begin = f"{counted(count, 'label')} cannot be taken. Nothing was changed. {'; '.join(parts)}."
    return LabelError(begin, *known, items=items)


def _meant(label: str, classes: Sequence[str]) -> str:
    """What an unknown class name may have been meant to be, as a clause."""
    alike = [name for name in classes if as_typed(name) == as_typed(label)]
    if len(alike) > 1:
        return f"it could be {' or '.join(map(repr, alike))}: write it exactly like that"
    near = alike or difflib.get_close_matches(label.strip(), classes, 1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else ""


def _has_columns(source: Mapping[object, object], *names: str) -> bool:
    return all(
        name in source and hasattr(source[name], "__len__") and not isinstance(source[name], str) for name in names
    )


def _from_series(series: Any, id: str, label: str) -> Any:  # noqa: A002
    """The frame of a pandas Series of labels whose index has the ids."""
    index = getattr(series, "index", None)
    # A column taken from a frame has row numbers as its index if the ids are in another column.
    if index is None or type(index).__name__ == "RangeIndex":
        raise InputError(
            "labels need the id of each item, and this Series has none as its index. Pass the frame with both columns; "
            "or, with pandas, frame.set_index('id')['label']."
        )
    return series.rename(label).rename_axis(id).reset_index()


def _from_mapping(source: Mapping[object, object]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for item, name in source.items():
        if is_missing(name):
            continue
        if hasattr(name, "__len__") and not isinstance(name, str):
            raise InputError(
                f"labels of item {item!r}: {name!r} is not a class name. "
                'Pass {id: label, ...}, or {"id": [...], "label": [...]} with the names in ',
                Argument("id"),
                " and ",
                Argument("label"),
                ".",
                items=[str(item)],
            )
        id, label = written(item), written(name)  # noqa: A001
        if labels.setdefault(id, label) != label:
            raise InputError(
                f"{id!r} is labelled {label!r} and {labels[id]!r}, under ids that are the same as text. Keep one.",
                items=[id],
            )
    return labels


def is_missing(name: object) -> bool:
    """Whether there is no label yet: None, an empty text, NaN, or the NA of pandas, which equals nothing."""
    if name is None or hasattr(name, "__len__"):
        return name is None or (isinstance(name, str) and not name)
    return type(name).__name__ == "NAType" or bool(name != name)  # noqa: PLR0124
