"""Several columns as one content: a text with a line for each, which pages show as a card of the columns themselves."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fewlabels.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fewlabels.io.source import Source
    from fewlabels.pool import Pool

_BETWEEN = "+"


def with_card(pool: Pool, names: Sequence[str]) -> Pool:
    """A pool whose content shows several of its columns."""
    columns = [pool.column(name).to_pylist() for name in names]
    assert pool.columns is not None
    title = _BETWEEN.join(names)
    if title in pool.columns.column_names:
        raise InputError(f"together these columns would be called {title!r}, as another column is. Rename that one.")
    cards = [text_of(dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]
    return replace(pool, columns=pool.columns.append_column(title, pa.array(cards)), content=title)


def text_of(row: Mapping[str, Any]) -> str:
    r"""A card as a text, for terminals, files and other programs.

    >>> text_of({"image": "a.png", "caption": None})
    'image: a.png\ncaption: '
    """
    return "\n".join(f"{name}: {'' if value is None else value}" for name, value in row.items())


def columns_of_card(pool: Pool) -> list[str]:
    """The columns that the content of a pool shows; empty if it is not a card, or if the pool lacks its columns.

    >>> import fewlabels as fl
    >>> table = {"predicted": ["cat", "dog"], "image": ["a.png", "b.png"], "caption": ["Hm", "Oh"]}
    >>> pool = fl.read_pool(table, columns=["image", "caption"])
    >>> columns_of_card(pool), columns_of_card(with_card(pool, ["image", "caption"]))
    ([], ['image', 'caption'])
    """
    names = (pool.content or "").split(_BETWEEN)
    here = set(pool.columns.column_names) if pool.columns is not None else set()
    return names if len(names) > 1 and here.issuperset(names) and pool.content in here else []


def opened_card(content: str | None, row: Mapping[str, Any]) -> dict[str, Any] | None:
    """The columns of one item's card, if its content is made from exactly these; None if it is a text of its own.

    `row` has the columns of the card and the content. A column that is called "a+b" by chance shows its own text.
    """
    card = {name: value for name, value in row.items() if name != content}
    return card if content is not None and row.get(content) == text_of(card) else None


def with_texts(source: Source, names: Sequence[str]) -> Source:
    """A source in which the named columns are texts that people can read: objects and lists are written as JSON.

    Those with bytes in them, such as pictures, are left as they are.

    >>> from fewlabels.io.arrays import from_arrays
    >>> source = from_arrays("made", {"order": [{"paid": True, "sum": 12.5}], "n": [1]}, strict=True)
    >>> with_texts(source, ["order", "n"]).table(["order", "n"]).to_pylist()
    [{'order': '{"paid": true, "sum": 12.5}', 'n': 1}]
    """
    kinds = {name: source.schema.field(name).type for name in names if name in source.columns}
    nested = {name for name, kind in kinds.items() if pa.types.is_nested(kind) and not _has_bytes(kind)}
    if not nested:
        return source

    def batches(columns: list[str], numbers: bool) -> Iterable[pa.RecordBatch]:
        for batch in source.reader(columns, numbers):
            rows = {name: batch.column(name) for name in batch.schema.names}
            yield pa.RecordBatch.from_pydict(rows | {name: _as_json(rows[name]) for name in nested & rows.keys()})

    fields = [field.with_type(pa.string()) if field.name in nested else field for field in source.schema]
    return replace(source, schema=pa.schema(fields), reader=batches)


def _has_bytes(kind: pa.DataType) -> bool:
    inner = (kind.field(i).type for i in range(kind.num_fields))
    return "binary" in str(kind) if not kind.num_fields else any(map(_has_bytes, inner))


def _as_json(column: pa.Array[Any]) -> pa.Array[Any]:
    values = column.to_pylist()
    texts = [None if value is None else json.dumps(value, ensure_ascii=False, default=str) for value in values]
    return pa.array(texts, pa.string())
