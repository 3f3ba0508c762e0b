"""Several columns as one content: a text with a line for each, which pages show as a card of the columns themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fewlabels.pool import Pool

_BETWEEN = "+"


def with_card(pool: Pool, names: Sequence[str]) -> Pool:
    """A pool whose content shows several of its columns."""
    columns = [pool.column(name).to_pylist() for name in names]
    cards = [text_of(dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]
    assert pool.columns is not None
    title = _BETWEEN.join(names)
    return replace(pool, columns=pool.columns.append_column(title, pa.array(cards)), content=title)


def text_of(row: Mapping[str, Any]) -> str:
    r"""A card as a text, for terminals, files and other programs.

    >>> text_of({"image": "a.png", "caption": None})
    'image: a.png\ncaption: '
    """
    return "\n".join(f"{name}: {'' if value is None else value}" for name, value in row.items())


def columns_of_card(pool: Pool) -> list[str]:
    """The columns that the content of a pool shows; empty if it is not a card, or its columns are not there.

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
    """The columns of one item's card, if its content is the card of just these; None if it is a text of its own.

    `row` has the columns of the card and the content. A column that is called "a+b" by chance shows its own text.
    """
    card = {name: value for name, value in row.items() if name != content}
    return card if content is not None and row.get(content) == text_of(card) else None
