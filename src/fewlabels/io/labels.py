"""Labels from a file, frame or mapping."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fewlabels.errors import InputError
from fewlabels.io.columns import as_text
from fewlabels.io.opening import open_source

if TYPE_CHECKING:
    from fewlabels.io.source import Source


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
    if isinstance(source, Mapping) and not _has_columns(source, id, label):
        return _from_mapping(source)
    if isinstance(source, (list, tuple, set)):
        raise InputError(
            f"labels must say which item each is of. Got a {type(source).__name__}; "
            "pass {id: label, ...}, a file or a frame."
        )
    opened = open_source(source)
    labels: dict[str, str] = {}
    row_of: dict[str, int] = {}
    for row, item, name in label_rows(opened, id=id, label=label):
        if not name:
            continue
        if labels.setdefault(item, name) != name:
            raise InputError(
                f"{opened.at(row, opened.called(label))}: {item!r} is labelled {name!r}, but {labels[item]!r} in row "
                f"{row_of[item]:,}. Keep one of the two rows."
            )
        row_of.setdefault(item, row)
    return labels


def label_rows(source: Source, *, id: str = "id", label: str = "label") -> list[tuple[int, str, str]]:  # noqa: A002
    """Row number (from 1), id and label of each row; the label is empty where there is none yet.

    >>> from fewlabels.io.opening import open_source
    >>> label_rows(open_source({"id": ["a", "b"], "label": ["cat", None]}))
    [(1, 'a', 'cat'), (2, 'b', '')]
    """
    id, label = source.called(id), source.called(label)  # noqa: A001
    table = source.table([source.need(id, "id"), source.need(label, "label")])
    items = as_text(source, id, table[id]).to_pylist()
    names = as_text(source, label, table[label]).to_pylist()
    rows = []
    for row, (item, name) in enumerate(zip(items, names, strict=True), 1):
        if name and not item:
            raise InputError(f"{source.at(row, id)}: the id is missing, but there is a label, {name!r}. Fill it in.")
        rows.append((row, str(item or ""), str(name or "")))
    return rows


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
