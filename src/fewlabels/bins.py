"""Bins of a column of numbers or dates: where they begin, which of them a value is in, and what they are called."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pyarrow as pa

from fewlabels.arrow import missing_in, numbers_of
from fewlabels.checks import is_count, number_of, several, whole_number
from fewlabels.errors import InputError, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Kind = Literal["whole", "number", "date"]

_DAY_ONE = date(1970, 1, 1)
_ISO = r"^\d{4}-\d{2}-\d{2}"
# A date as countries write it: which number is the day, only the owner knows.
_DATE = r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b"
_UNEVEN = 0.2  # by this share of a bin, the bins may be more uneven so that they begin at round numbers
_DIGITS = 15  # of a number, as many as a float keeps
_SEVERAL = 8  # values of a column that can well be groups by themselves
USUAL = 4
"""How many bins are proposed."""


@dataclass(frozen=True)
class Bins:
    """Bins of a column. Bin b holds the values x with e_b <= x < e_(b+1), where e_0 = −∞ and the last end is ∞.

    Parameters
    ----------
    column
        The column.
    edges
        Where the second bin begins, the third and so on, in increasing order; a date counts the days since 1970-01-01.
    kind
        Whether the column holds whole numbers, others, or dates: names depend on it.

    >>> Bins("age", (30, 45), "whole").names
    ('age under 30', 'age 30–44', 'age 45 or more')
    >>> Bins("amount", (9.5, 20), "number").names
    ('amount under 9.5', 'amount 9.5 to under 20', 'amount 20 or more')
    >>> Bins("sent", (19_723, 19_754), "date").names
    ('sent before 2024-01-01', 'sent 2024-01-01 to 2024-01-31', 'sent from 2024-02-01')
    """

    column: str
    edges: tuple[float, ...]
    kind: Kind

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the bins, with the column's."""
        if not self.edges:
            return (f"any {self.column}",)
        below, above = {"date": ("before {}", "from {}")}.get(self.kind, ("under {}", "{} or more"))
        inner = [self._between(*ends) for ends in zip(self.edges, self.edges[1:], strict=False)]
        texts = [below.format(self.written(self.edges[0])), *inner, above.format(self.written(self.edges[-1]))]
        return tuple(f"{self.column} {text}" for text in texts)

    def _between(self, low: float, high: float) -> str:
        if self.kind == "number":
            return f"{self.written(low)} to under {self.written(high)}"
        first, last = self.written(low), self.written(high - 1)
        return first if first == last else f"{first} to {last}" if self.kind == "date" else f"{first}–{last}"

    def written(self, edge: float) -> str:
        """An edge as people write it."""
        if self.kind == "date":
            return str(np.datetime64(int(edge), "D"))
        return str(edge) if self.kind == "whole" else f"{edge:.{_DIGITS}g}"

    def of(self, values: NDArray[np.float64]) -> NDArray[np.int32]:
        """The bin of each value, as the number of edges that are not above it; of the same shape."""
        return np.searchsorted(np.array(self.edges, dtype=float), values, side="right").astype(np.int32)

    def to_json(self) -> dict[str, Any]:
        """The bins as plain JSON values; the column is known where they are kept."""
        return {"edges": list(self.edges), "kind": self.kind}

    @classmethod
    def from_json(cls, column: str, written: Mapping[str, Any]) -> Self:
        """The bins that `to_json` wrote."""
        return cls(column, tuple(written["edges"]), written["kind"])


def bins_from(column: str, given: int | str | Iterable[object], values: NDArray[np.float64], kind: Kind) -> Bins:
    """The bins that a number of them or their edges describe; values without a number are NaN, shape (rows,).

    So many bins have about the same number of items each, and begin at round numbers where that leaves them even. In a
    text, "40" is so many bins and "40/" two that meet at 40.

    >>> ages = np.arange(18.0, 78.0)
    >>> bins_from("age", 3, ages, "whole").edges, bins_from("age", "40/65", ages, "whole").edges
    ((40, 60), (40, 65))
    >>> bins_from("age", "40/", ages, "whole").names
    ('age under 40', 'age 40 or more')
    """
    if (count := count_of(given)) is not None:
        return Bins(column, _even(np.sort(values[np.isfinite(values)]), count, kind), kind)
    parts = given.removesuffix("/").split("/") if isinstance(given, str) else given
    edges = tuple(_edge(edge, kind, column) for edge in several(parts, "The 'bins' of by_column()"))  # type: ignore[arg-type]
    if not edges or list(edges) != sorted(set(edges)):
        begin = list(map(str, edges))
        raise InputError(f"the bins of {column!r} begin at {begin}. Name where they begin, in increasing order.")
    return Bins(column, edges, "number" if any(edge % 1 for edge in edges) else kind)


def count_of(given: object) -> int | None:
    """How many bins are asked for; None where it is said where they begin.

    >>> count_of(4), count_of("4"), count_of("30/60"), count_of([30, 60])
    (4, 4, None, None)
    """
    if isinstance(given, str) and is_count(given):
        given = int(given)
    return None if isinstance(given, Iterable) else whole_number(given, "The 'bins' of by_column()", least=2)


def _edge(given: object, kind: Kind, column: str) -> float:
    if kind == "date":
        try:
            day = given if isinstance(given, date) else date.fromisoformat(str(given).strip()[:10])
        except ValueError:
            raise InputError(
                f"{given!r} is not a date, which the bins of {column!r} need. Write it as 2024-12-31."
            ) from None
        return (date(day.year, day.month, day.day) - _DAY_ONE).days
    edge = number_of(str(given))
    if edge is None or not np.isfinite(edge):
        raise InputError(
            f"{quoted(given)} does not say which bins of {column!r} to make. Say how many, as in column:{column}:4, or "
            f"where they begin, as in column:{column}:30/45/60."
        )
    return int(edge) if edge.is_integer() else edge


def _even(ordered: NDArray[np.float64], count: int, kind: Kind) -> tuple[float, ...]:
    """Edges of bins with about the same number of values, which are sorted, shape (known,); round ones if they do.

    No bin is empty: values that are equal share one, so there may be fewer bins.
    """
    above = ordered[ordered > ordered[:1]]
    if not len(above):
        return ()
    count = min(count, len(ordered))  # more have no values of their own
    exact = np.unique(ordered[[len(ordered) * b // count for b in range(1, count)]])
    # Where nearly all have the lowest value, these are one bin and the rest the other.
    exact = exact[exact > ordered[0]] if exact[-1] > ordered[0] else above[:1]
    wanted = _shares(ordered, exact)
    least = float(np.diff(ordered[[len(ordered) // 4, 3 * len(ordered) // 4]])[0]) / 100
    for edges in _first_days(exact) if kind == "date" else _to_digits(exact, least):
        shares = _shares(ordered, edges)
        if (shares > 0).all() and np.abs(shares - wanted).max() <= _UNEVEN / count:
            return _plain(edges, kind)
    return _plain(exact, kind)


def _to_digits(edges: NDArray[np.float64], least: float) -> Iterator[NDArray[np.float64]]:
    """Edges with ever more digits: those that count, or those that a number of the size `least` has."""
    size = np.maximum(np.maximum(np.abs(edges), least), np.finfo(float).tiny)
    for digits in range(-1, _DIGITS + 1):
        places = digits - 1 - np.floor(np.log10(size)).astype(int)
        rounded = [round(edge, place) for edge, place in zip(edges.tolist(), places.tolist(), strict=True)]
        yield np.array(rounded) + 0.0  # −0 is 0


def _first_days(edges: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """Days as the nearest first day of a year, then of a month, and then as they are."""
    days = edges.astype("datetime64[D]")
    for unit in ("datetime64[Y]", "datetime64[M]"):
        first = days.astype(unit)
        before, after = first.astype(days.dtype), (first + 1).astype(days.dtype)
        yield np.where(after - days < days - before, after, before).astype(float)
    yield edges


def _shares(ordered: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of values in each bin, shape (bins,)."""
    ends = np.searchsorted(ordered, edges, side="left")
    return np.diff(np.concatenate([[0], ends, [len(ordered)]])) / len(ordered)


def _plain(edges: NDArray[np.float64], kind: Kind) -> tuple[float, ...]:
    return tuple(edge if kind == "number" and edge % 1 else int(edge) for edge in edges.tolist())


def values_of(column: str, held: pa.ChunkedArray[Any]) -> tuple[NDArray[np.float64], Kind]:
    """The numbers of a column, or the days of its dates, NaN where it has none, shape (rows,); and their kind.

    Texts may be numbers or begin with a date, as 2024-12-31 does. Anything else is an InputError. A time with a zone
    has the day of UTC, since tables do not all know another.

    >>> values_of("sent", pa.chunked_array([["1970-01-03", None]]))
    (array([ 2., nan]), 'date')
    """
    kinds = pa.types
    if kinds.is_string(held.type) or kinds.is_large_string(held.type) or kinds.is_string_view(held.type):
        held = _read(column, held.cast(pa.string()))
    if kinds.is_timestamp(held.type) and held.type.tz is not None:
        held = held.cast(pa.timestamp(held.type.unit, "UTC"))
    is_date = kinds.is_timestamp(held.type) or kinds.is_date(held.type)
    is_number = kinds.is_integer(held.type) or kinds.is_floating(held.type) or kinds.is_decimal(held.type)
    if not (is_date or is_number):
        raise _no_bins(column, f"{held.type}")
    numbers = held.cast(pa.date32()).cast(pa.int32()) if is_date else held.cast(pa.float64(), safe=False)
    values: NDArray[np.float64] = numbers_of(numbers).astype(float)
    values[missing_in(held)] = np.nan
    if is_date:
        return values, "date"
    return values, "whole" if (values[np.isfinite(values)] % 1 == 0).all() else "number"


def worth_bins(column: str, held: pa.ChunkedArray[Any]) -> bool:
    """Whether a column has many values, and can be put into bins.

    >>> worth_bins("n", pa.chunked_array([[*range(20)]])), worth_bins("n", pa.chunked_array([[1, 2] * 10]))
    (True, False)
    """
    try:
        return len(held.unique()) > _SEVERAL and bool(np.isfinite(values_of(column, held)[0]).any())
    except InputError:
        return False


def _read(column: str, held: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
    """Texts as dates if all begin with one, and otherwise as numbers; an empty one is missing."""
    import pyarrow.compute as pc  # which takes a tenth of a command that has no bins

    texts = pc.utf8_trim_whitespace(held)
    texts = pc.if_else(pc.equal(texts, pa.scalar("")), pa.scalar(None, pa.string()), texts)
    known = texts.drop_null()
    try:
        if len(known) and pc.all(pc.match_substring_regex(known, _ISO)).as_py():
            return pc.utf8_slice_codeunits(texts, 0, 10).cast(pa.date32())
        return texts.cast(pa.float64())
    except pa.ArrowInvalid:
        odd = next((text for text in known.to_pylist() if not _is_value(text)), None)
        written = " Write dates as 2024-12-31." if odd is not None and re.match(_DATE, odd) else ""
        raise _no_bins(column, "both numbers and dates" if odd is None else f"text such as {odd!r}", written) from None


def _is_value(text: str) -> bool:
    """Whether a text begins with a date or is a number, of which Python knows more spellings than others: 1_000."""
    try:
        date.fromisoformat(text[:10])
    except ValueError:
        return number_of(text) is not None and text.isascii() and "_" not in text
    return True


def _no_bins(column: str, what: str, written: str = "") -> InputError:
    return InputError(
        f"the column {column!r} holds {what}, and only numbers or dates can be put into bins.{written} Group by its "
        f"values: column:{column}."
    )


def column_and_bins(text: str, columns: Sequence[str]) -> tuple[str, str]:
    """Split "age:4" into a column and what is said of its bins, "" if nothing is; a column may be called so itself.

    >>> column_and_bins("age:4", ["age", "sex"]), column_and_bins("a:4", ["a:4"]), column_and_bins("sex", [])
    (('age', '4'), ('a:4', ''), ('sex', ''))
    """
    name, _, rest = text.rpartition(":")
    return (name, rest) if text not in columns and name in columns else (text, "")
