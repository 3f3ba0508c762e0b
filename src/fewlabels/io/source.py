"""A source of rows: a file or frame as Arrow batches, which knows the place of each row for messages."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fewlabels.errors import MOST_NAMED, Argument, InputError, Place
from fewlabels.wording import some_of

Batches = Callable[[list[str], bool], Iterable[pa.RecordBatch]]
NO_ANSWER = (
    "If it is missing because the classifier gave no answer, make that a class of its own such as '(none)', which "
    "counts as an error. To find the worst classes, leave such rows out; otherwise it will be one of them"
)


@dataclass(frozen=True)
class Source:
    """Rows that can be read more than once, a few columns at a time.

    Parameters
    ----------
    name
        The file or kind of object, as messages call it.
    schema
        Names and types of the columns. In a file without types (CSV) every column is text.
    reader
        Opens the batches of some columns; the second argument asks for numbers instead of text.
    line
        The line of the file or the row of the sheet that a row (from 1) is on, or None.
    untyped
        Whether text may stand for numbers.
    classes
        The class names that the source itself brings along, if it does.
    models
        The names of the models whose answers are in the vectors of "predicted", if the source has them.
    comma
        Whether numbers that are text have a decimal comma.
    percent
        The columns whose numbers have a percent sign.
    told
        What the source says about itself: its format, if another program has one of its own, and how it was taken.
    sheet
        Whether it is a sheet of a workbook, whose rows have numbers that people see.
    index
        The column that was the index of a pandas frame, if that tells the rows apart.
    """

    name: str
    schema: pa.Schema
    reader: Batches
    line: Callable[[int], int | None] = lambda _: None
    untyped: bool = False
    classes: tuple[str, ...] | None = None
    comma: bool = False
    percent: frozenset[str] = frozenset()
    models: tuple[str, ...] | None = None
    told: str = ""
    sheet: bool = False
    index: str | None = None

    @property
    def columns(self) -> list[str]:
        return list(self.schema.names)

    def batches(self, columns: Sequence[str], rows: int, *, numbers: bool = False) -> Iterator[pa.RecordBatch]:
        """The named columns in batches of at most `rows` rows."""
        for batch in self.reader(list(columns), numbers):
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows).select(list(columns))

    def table(self, columns: Sequence[str]) -> pa.Table:
        """The named columns, whole."""
        schema = pa.schema([self.schema.field(name) for name in columns])
        batches = [batch.select(list(columns)) for batch in self.reader(list(columns), False)]
        if not any(batch.num_rows for batch in batches):  # whatever the file says about itself
            raise no_rows(self.name)
        read = pa.Table.from_batches(batches, batches[0].schema if batches else schema)
        return pa.table([_plain(column) for column in read.columns], names=read.column_names)

    def at(self, row: int | Sequence[int] = (), column: str | Sequence[str] = ()) -> Place:
        """The place of one or more rows (from 1) and columns, for an error. Lines are looked up for a few rows only."""
        rows = (row,) if isinstance(row, int) else tuple(row)
        lines = tuple(line for number in rows[:MOST_NAMED] if (line := self.line(number)))
        return Place(self.name, rows, lines, (column,) if isinstance(column, str) else tuple(column), self.sheet)

    def called(self, name: str) -> str:
        """The one column of that name, whatever its case ("ID" for "id"); otherwise the name itself."""
        alike = [column for column in self.columns if column.casefold() == name]
        return alike[0] if len(alike) == 1 and name not in self.columns else name

    def need_all(self, **columns: str | None) -> None:
        """Check that every column that is named, by role, exists."""
        for role, column in columns.items():
            if column is not None:
                self.need(column, role)

    def need(self, column: str, role: str, *, usual: bool = False) -> str:
        """Return the column's name if there is such a column; otherwise raise an InputError.

        `usual` says that the caller did not name it: it is the usual name of such a column.
        """
        if not isinstance(column, str):
            raise InputError(Argument(role), f" must be the name of a column. Got {column!r} instead.")
        if column not in self.schema.names:
            near = difflib.get_close_matches(column, self.columns, 1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            named = f". Name the column of {role}s with " if usual else ", named by "
            raise InputError(
                f"{self.name} has no column {column!r}{named}",
                Argument(role),
                f". {hint}The columns are {some_of(self.columns)}.",
            )
        return column


def table_source(
    name: str, table: pa.Table, classes: tuple[str, ...] | None = None, models: tuple[str, ...] | None = None
) -> Source:
    """Make a source from an Arrow table in memory."""
    check_names(name, table.column_names)

    def batches(columns: list[str], numbers: bool) -> Iterable[pa.RecordBatch]:
        return table.select(columns).to_batches()

    if table.num_rows == 0:
        raise no_rows(name)
    return Source(name, table.schema, batches, classes=classes, models=models)


def _plain(column: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
    """A column whose texts are of the type string: those of Polars are of one for which Arrow has few functions."""
    kind: Any = column.type
    if pa.types.is_string_view(kind):
        return column.cast(pa.string())
    if pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
        parts: list[Any] = column.chunks
        return pa.chunked_array([part.dictionary.cast(pa.string()).take(part.indices) for part in parts], pa.string())
    return column


def check_names(name: str, columns: Sequence[str]) -> None:
    """Refuse two columns of the same name."""
    seen: set[str] = set()
    for column in columns:
        if column in seen:
            raise InputError(f"{name} has two columns called {column!r}. Rename one of them.")
        seen.add(column)


def no_rows(name: str) -> InputError:
    return InputError(f"{name} has columns but no rows. Check how it was written.")
