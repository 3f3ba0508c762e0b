"""The tidy table in which results are returned."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from fewlabels.errors import InputError
from fewlabels.wording import NONE, counted, harmless

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pandas as pd
    import polars as pl
    import pyarrow as pa

_LEFT, _RIGHT = ' style="text-align:left"', ' style="text-align:right;white-space:nowrap"'
_NOTEBOOK = 40  # rows that a notebook shows
_WRITTEN = re.compile(r"(over |under )?[−+-]?\d[\d.,]*(%| points?)?")  # a number as text


class NoColumnError(InputError, KeyError):
    """A table has no column of that name."""


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Named columns of the same length, and the settings that made them.

    It prints as text and converts to pandas, Polars and Arrow. Any library that takes an Arrow stream can read it. A
    value that does not exist is None. Tables with the same columns and settings are equal.

    >>> table = Table({"group": ["cat", "dog"], "mean": [0.91, None]}, {"level": 0.95})
    >>> print(table)
    group   mean
    cat    0.910
    dog        –
    >>> table["mean"], len(table), "mean" in table
    ([0.91, None], 2, True)
    """

    columns: Mapping[str, Sequence[Any]]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, column in self.columns.items():
            if len(column) != len(self):
                first = next(iter(self.columns))
                raise InputError(
                    f"the column {name!r} has {counted(len(column), 'value')} and {first!r} has {len(self):,}. A table "
                    "needs as many in each."
                )

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        own, others = ([(name, list(column)) for name, column in table.columns.items()] for table in (self, other))
        return own == others and dict(self.settings) == dict(other.settings)

    __hash__ = None  # type: ignore[assignment]  # columns can be lists

    def __contains__(self, column: object) -> bool:
        """Whether there is a column of this name."""
        return column in self.columns

    def __getitem__(self, column: str) -> list[Any]:
        if isinstance(column, (int, slice)):
            raise InputError(
                f"a table gives its columns by name: {_some(self.columns)}. For rows, use table.head(n), "
                "table.take([0, 2]) or list(table.rows())."
            )
        if column not in self.columns:
            near = difflib.get_close_matches(str(column), self.columns, 1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise NoColumnError(f"the table has no column {column!r}. {hint}The columns are {_some(self.columns)}.")
        return list(self.columns[column])

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return self.text()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self.rows()

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows, each as a mapping from column to value; `for row in table` gives the same."""
        names = list(self.columns)
        for values in zip(*self.columns.values(), strict=True):
            yield dict(zip(names, values, strict=True))

    def where(self, **values: object) -> Table:
        """The rows in which the named columns have the given values.

        >>> Table({"group": ["cat", "dog"], "n": [3, 4]}).where(group="dog")["n"]
        [4]
        """
        wanted = [(self[name], value) for name, value in values.items()]
        return self.take([i for i in range(len(self)) if all(column[i] == value for column, value in wanted)])

    def take(self, rows: Iterable[int]) -> Table:
        """The rows at these positions, in this order.

        >>> Table({"group": ["cat", "dog", "eel"]}).take([2, 0])["group"]
        ['eel', 'cat']
        """
        kept = list(rows)
        if beyond := [i for i in kept if not -len(self) <= i < len(self)]:
            raise InputError(f"the table has {counted(len(self), 'row')}, and none at the position {beyond[0]}.")
        return Table({name: [column[i] for i in kept] for name, column in self.columns.items()}, self.settings)

    def head(self, n: int) -> Table:
        """The first n rows, or all if there are fewer."""
        return self.take(range(len(self))[:n])

    def sorted(self, by: str | Sequence[Any], *, reverse: bool = False) -> Table:
        """The rows in the order of a column, or of one key for each row. Rows without a value come last either way.

        >>> table = Table({"group": ["cat", "dog", "eel"], "mean": [0.9, None, 0.4]})
        >>> table.sorted("mean")["group"], table.sorted("mean", reverse=True)["group"]
        (['eel', 'cat', 'dog'], ['cat', 'eel', 'dog'])
        """
        keys = self[by] if isinstance(by, str) else by
        present = [i for i, key in enumerate(keys) if key is not None]
        missing = [i for i, key in enumerate(keys) if key is None]
        return self.take([*sorted(present, key=lambda i: keys[i], reverse=reverse), *missing])

    def with_column(self, name: str, values: Sequence[Any]) -> Table:
        """The table with one more column, or with a column replaced."""
        if len(values) != len(self):
            here, rows = counted(len(values), "value"), counted(len(self), "row")
            raise InputError(f"the column {name!r} has {here}, but the table has {rows}.")
        return Table({**self.columns, name: values}, self.settings)

    def with_settings(self, **settings: object) -> Table:
        """The table with more settings, or with settings replaced."""
        return Table(self.columns, {**self.settings, **settings})

    def text(self, most: int = 40) -> str:
        """The table as text, cut in the middle beyond `most` rows."""
        head, kept = self._kept(most)
        shown = [[name, *(_cell(column[i]) for i in kept)] for name, column in self.columns.items()]
        for column, is_left in zip(shown, self._lefts(), strict=True):
            width = max(len(text) for text in column)
            column[:] = [text.ljust(width) if is_left else text.rjust(width) for text in column]
        lines = ["  ".join(row).rstrip() for row in zip(*shown, strict=True)]
        if len(kept) < len(self):
            lines.insert(1 + head, f"... {counted(len(self) - most, 'more row')} ...")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The table that a notebook shows: the same cells as the text."""
        head, kept = self._kept(_NOTEBOOK)
        rows = zip(*([_cell(column[i]) for i in kept] for column in self.columns.values()), strict=True)
        # Notebooks differ in the side they choose: names and words are read from the left, numbers from the right.
        sides = [_LEFT if is_left else _RIGHT for is_left in self._lefts()]
        lines = ["".join(f"<td{s}>{escape(text)}</td>" for s, text in zip(sides, row, strict=True)) for row in rows]
        if len(kept) < len(self):
            lines.insert(
                head, f'<td colspan="{len(self.columns)}">... {counted(len(self) - _NOTEBOOK, "more row")} ...</td>'
            )
        top = "".join(f"<th{s}>{escape(name)}</th>" for s, name in zip(sides, self.columns, strict=True))
        return f"<table><thead><tr>{top}</tr></thead><tbody><tr>{'</tr><tr>'.join(lines)}</tr></tbody></table>"

    def _lefts(self) -> list[bool]:
        """Whether each column is written from the left; the first has names, which can be numbers as well."""
        columns = enumerate(self.columns.values())
        return [all(_is_word(value, is_name=not i) for value in column) for i, column in columns]

    def _kept(self, most: int) -> tuple[int, list[int]]:
        """How many rows stand before the cut, and the rows that are shown: all, or without the middle beyond `most`."""
        head, rows = most // 2, range(len(self))
        return head, [*rows] if len(self) <= most else [*rows[:head], *rows[len(self) - (most - head) :]]

    def to_arrow(self) -> pa.Table:
        """Convert to an Arrow table."""
        import pyarrow as pa

        return pa.table({name: pa.array(column) for name, column in self.columns.items()})

    def to_pandas(self) -> pd.DataFrame:
        """Convert to a pandas frame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Convert to a Polars frame."""
        import polars as pl

        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)
        return frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        stream: object = self.to_arrow().__arrow_c_stream__(requested_schema)  # type: ignore[no-untyped-call]
        return stream


def _some(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def _is_word(value: object, *, is_name: bool) -> bool:
    """Whether a value is written from the left: a name, or a text that is not a number with its unit."""
    return value is None or (isinstance(value, str) and (is_name or not _WRITTEN.fullmatch(value)))


def _cell(value: object) -> str:
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:z.3f}"  # a difference that is rounded to 0 has no sign
    return f"{value:,}" if isinstance(value, int) else harmless(str(value)).replace("\n", " ")
