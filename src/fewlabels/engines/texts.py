"""The SQL texts, written once in DuckDB's dialect, and translated by sqlglot for the other engines.

Names of columns are quoted, and values are bound or quoted by the dialect's own rules. Our own names begin with `fl_`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fewlabels.engines.columns import STEPS
from fewlabels.engines.dialects import HEX, literal, quoted, translated
from fewlabels.reserve import FINE, WIDE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.engines.columns import Columns

# They have no ISNAN: NaN is their largest number, and equal to itself.
_OWN_TABLES = ("postgres", "redshift", "snowflake")
_WHOLE = 2**53
_UP_TO_ALL = "g"  # above every hexadecimal digit


@dataclass(frozen=True)
class Texts:
    """The queries about one table.

    Parameters
    ----------
    dialect
        One of `DIALECTS`.
    source
        The table as it stands after FROM, in DuckDB's dialect.
    columns
        Which columns hold what.
    schema
        Names and types of the table's columns.
    """

    dialect: str
    source: str
    columns: Columns
    schema: pa.Schema

    def written(self, text: str) -> str:
        """A text in the dialect of the table."""
        return translated(text, self.dialect)

    def summary(self) -> str:
        """Count, confidence and hash of every stratum and bin, and how many ids are missing: see `Columns.summary`."""
        strata = self._strata
        hashed = HEX[self.dialect].format("SUBSTR(MD5(CAST(fl_id AS VARCHAR)), 1, 8)")
        return self.written(
            f"SELECT {strata}, fl_bin, COUNT(*) AS fl_n, CAST(SUM(fl_m) AS BIGINT) AS fl_sum, "
            f"CAST(SUM(CASE WHEN MOD(fl_m, 4096) < 256 THEN {hashed} ELSE 0 END) AS BIGINT) AS fl_hash, "
            f"COUNT(*) - COUNT(fl_id) AS fl_no_id "
            f"FROM (SELECT fl_id, {strata}, {self._bin} AS fl_bin, {self._scaled} AS fl_m "
            f"FROM ({self._base}) AS fl_base) AS fl_rows GROUP BY {strata}, fl_bin"
        )

    def reserve(self, seed: int, limits: str, *, strips: bool) -> str:
        """The items whose key is below the limit of their stratum, or of a strip in it.

        `limits` stands after FROM and has the columns of `limit_names`.
        """
        on = [f"{self._coded(f'fl_s{i}', i)} = fl_t{i}" for i in range(len(self.columns.strata))]
        strip = f" AND {self._bin} >= fl_low AND {self._bin} <= fl_high" if strips else ""
        return self.written(
            f"SELECT fl_w, {self._items}, fl_key FROM (SELECT {self._items}, MD5({literal(f'{int(seed)}|')} || fl_id) "
            f"AS fl_key FROM ({self._base}) AS fl_base) AS fl_keyed "
            f"JOIN {limits} ON {' AND '.join(on)} WHERE fl_key < fl_upto{strip}"
        )

    def lookup(self, count: int) -> str:
        """The items with `count` ids, which are bound."""
        return self.written(f"SELECT {self._items} FROM ({self._base} WHERE {self._among(count)}) AS fl_base")

    def content(self, count: int, names: Sequence[str]) -> str:
        """Some columns of the items with `count` ids, which are bound."""
        columns = [f"{self._text(self.columns.id)} AS fl_id", *(f"{quoted(name)}" for name in names)]
        return self.written(f"SELECT {', '.join(columns)} FROM {self.source} WHERE {self._among(count)}")

    def repeated(self) -> str:
        """How many ids occur more than once, and the first of them."""
        return self.written(
            f"SELECT COUNT(*) AS fl_n, MIN(fl_id) AS fl_first FROM (SELECT fl_id FROM "
            f"(SELECT {self._text(self.columns.id)} AS fl_id FROM {self.source}) AS fl_base "
            f"GROUP BY fl_id HAVING COUNT(*) > 1) AS fl_repeated"
        )

    def counted(self) -> str:
        """How many rows there are, and how many of them have an id."""
        return self.written(f"SELECT COUNT(*) AS fl_n, COUNT({quoted(self.columns.id)}) AS fl_ids FROM {self.source}")

    def sample(self, seed: int, limit: str) -> str:
        """All columns of the rows whose key is below a limit, and the key as the last column."""
        key = f"MD5({literal(f'{int(seed)}|')} || {self._text(self.columns.id)})"
        return self.written(f"SELECT *, {key} AS fl_key FROM {self.source} WHERE {key} < {literal(limit)}")

    def values(self, name: str, seed: int, limit: str) -> str:
        """A column of the rows whose key is below a limit: numbers, times with a zone, and all else as text."""
        key = f"MD5({literal(f'{int(seed)}|')} || {self._text(self.columns.id)})"
        kind = self.schema.field(name).type
        value = quoted(name)
        if pa.types.is_integer(kind) or is_fraction(kind):
            value = self._number(name)
        elif not _has_zone(kind):
            value = _with_points(self._varchar(value), self.columns.spelt)
        return self.written(f"SELECT {value} AS fl_value FROM {self.source} WHERE {key} < {literal(limit)}")

    def spread(self, name: str) -> str:
        """Lowest, highest, mean and standard deviation of the numbers in a column."""
        number = self._number(name)
        named = (("MIN", "low"), ("MAX", "high"), ("AVG", "mean"), ("STDDEV_POP", "sd"))
        values = ", ".join(f"{function}({number}) AS fl_{what}" for function, what in named)
        return self.written(f"SELECT {values} FROM {self.source}")

    def different(self, name: str, most: int) -> str:
        """How many different values a column has, counted up to `most`; a missing one counts too."""
        values = f"SELECT {quoted(name)} AS fl_value FROM {self.source} GROUP BY {quoted(name)} LIMIT {int(most)}"
        return self.written(f"SELECT COUNT(*) AS fl_n FROM ({values}) AS fl_values")

    def example(self, trouble: str) -> str:
        """One item that has a trouble: "id", "predicted" or "confidence"."""
        wrong = {
            "id": "fl_id IS NULL",
            "predicted": "fl_s0 IS NULL",
            "confidence": f"{self._bin} = -1",
        }[trouble]
        return self.written(f"SELECT fl_id, fl_c FROM ({self._base}) AS fl_base WHERE {wrong} LIMIT 1")

    def broken(self, name: str) -> str:
        """How many numbers in a column of text are not whole, and one of them."""
        numbers = f"(SELECT {self._fraction(name)} AS fl_x FROM {self.source}) AS fl_base"
        return self.written(
            f"SELECT COUNT(*) AS fl_n, MIN(fl_x) AS fl_first FROM {numbers} "
            f"WHERE fl_x IS NOT NULL AND NOT (fl_x = FLOOR(fl_x) AND ABS(fl_x) < {_WHOLE})"
        )

    @staticmethod
    def head(dialect: str, source: str, rows: int) -> str:
        """Some rows with all columns."""
        return translated(f"SELECT * FROM {source} LIMIT {int(rows)}", dialect)

    def key_of_id(self, item: str) -> str | int | None:
        """The value to bind for an id, so that the engine can use its index; None if no row can have the id."""
        kind = self.schema.field(self.columns.id).type
        if not pa.types.is_integer(kind):
            return item
        low, high = (0, 2**64) if pa.types.is_unsigned_integer(kind) else (-(2**63), 2**63)
        return int(item) if re.fullmatch(r"0|-?[1-9][0-9]{0,19}", item) and low <= int(item) < high else None

    def _among(self, count: int) -> str:
        kind = self.schema.field(self.columns.id).type
        column = quoted(self.columns.id)
        raw = pa.types.is_integer(kind) or is_text(kind)
        bound = ", ".join(f"fl_bound_{i}_" for i in range(count))
        return f"{column if raw else self._text(self.columns.id)} IN ({bound})"

    @property
    def _base(self) -> str:
        """The columns that are used, under our names: fl_id, fl_s0, fl_s1, ... (strata), fl_c, fl_x0, ... (carried)."""
        columns = self.columns
        strata = [f"{self._text(name)} AS fl_s{i}" for i, name in enumerate((columns.predicted, *columns.keep))]
        carried = [f"{quoted(name)} AS fl_x{i}" for i, name in enumerate(columns.carried)]
        parts = [f"{self._text(columns.id)} AS fl_id", *strata, f"{self._confidence} AS fl_c", *carried]
        return f"SELECT {', '.join(parts)} FROM {self.source}"

    @property
    def _confidence(self) -> str:
        """The confidence as a number; NULL where it is none."""
        name = self.columns.confidence
        return "CAST(NULL AS DOUBLE)" if name is None else self._number(name)

    def _number(self, name: str) -> str:
        """A column as a number; NULL where it is none."""
        kind, column = self.schema.field(name).type, quoted(name)
        if is_text(kind):
            spelt = self.columns.spelt if name == self.columns.confidence else self.columns.spelt.replace("%", "")
            # Without TRIM, DuckDB moves the cast into its reader of CSV, which fails where it cannot be done.
            number = _of_text(f"NULLIF(TRIM({column}), '')", spelt)
        else:
            number = f"CAST({column} AS DOUBLE)"
        if self.dialect in _OWN_TABLES or not (is_text(kind) or pa.types.is_floating(kind)):
            return number
        # The statistics in a Parquet file leave NaN out, and engines that read such files (DuckDB: its issue 25521) may
        # believe from them that every value lies between 0 and 1. DuckDB 2.0 believes them for ISNAN and = too, where
        # nothing is missing. What a driver gives as floats may be decimals, of which ClickHouse has no ISNAN.
        same = f"{number} IS NOT DISTINCT FROM CAST('NaN' AS DOUBLE)"
        return f"CASE WHEN {same if self.dialect == 'duckdb' else f'ISNAN({number})'} THEN NULL ELSE {number} END"

    def _fraction(self, name: str) -> str:
        """A column of numbers that have to be whole. NaN is a missing one, as in memory, where engines can tell."""
        plain = self.dialect in _OWN_TABLES or not pa.types.is_floating(self.schema.field(name).type)
        return quoted(name) if plain else self._number(name)

    @property
    def _strata(self) -> str:
        return ", ".join(f"fl_s{i}" for i in range(len(self.columns.strata)))

    @property
    def _items(self) -> str:
        carried = [f"fl_x{i}" for i in range(len(self.columns.carried))]
        return ", ".join(["fl_id", self._strata, "fl_c", *carried])

    @property
    def _bin(self) -> str:
        """The bin of the confidence; -1 where it is wrong."""
        last = WIDE - 1
        return self._whole(
            f"CASE WHEN fl_c >= 0 AND fl_c * {WIDE} < {last} THEN FLOOR(fl_c * {WIDE}) "
            f"WHEN fl_c >= 0 AND fl_c < 1 THEN {last} + FLOOR((fl_c * {WIDE} - {last}) * {FINE}) "
            f"WHEN fl_c = 1 THEN {last + FINE - 1} END",
            "-1",
        )

    @property
    def _scaled(self) -> str:
        """The confidence as a whole number, floor(2³² s + ½); 0 where it is wrong."""
        return self._whole(f"CASE WHEN fl_c >= 0 AND fl_c <= 1 THEN FLOOR(fl_c * {2**32} + 0.5) END", "0")

    def _whole(self, number: str, otherwise: str) -> str:
        """A number of each item as a whole one. NULL is cast, and never NaN: engines cast before they choose."""
        if self.columns.confidence is None:
            return "0"
        whole = f"COALESCE({self._as_whole(number)}, {otherwise})"
        return f"CASE WHEN fl_s0 IS NULL THEN 0 ELSE {whole} END" if self.columns.gaps else whole

    def _as_whole(self, number: str) -> str:
        """A number as a whole one; NULL stays NULL. ClickHouse casts what is behind a NULL too, and fails at NaN."""
        exact = self.dialect == "clickhouse"
        return f"accurateCastOrNull({number}, 'Int64')" if exact else f"CAST({number} AS BIGINT)"

    def _coded(self, column: str, place: int) -> str:
        """A column of strata such that a missing value is equal to another: no engine joins by NULL."""
        return f"COALESCE('=' || {column}, '-')" if _may_miss(self.columns, place) else column

    def _text(self, name: str) -> str:
        """A column as text, in the same words as `read_pool`: 7.0 is "7", true is "True"."""
        kind, column = self.schema.field(name).type, quoted(name)
        if name in self.columns.bins:
            bins = self.columns.bins[name]
            return self._varchar(self._bin_of(name, bins["edges"], bins["kind"]))
        if name in self.columns.stepped:
            low, width = self.columns.stepped[name]
            number = self._number(name)
            place = f"LEAST({STEPS - 1}, GREATEST(0, FLOOR(({number} - ({low!r})) / {width!r})))"
            # Engines differ in what the larger one of 0 and NULL is.
            column, kind = self._as_whole(f"CASE WHEN {number} IS NULL THEN NULL ELSE {place} END"), pa.int64()
        if pa.types.is_boolean(kind):
            return f"CASE WHEN {column} THEN 'True' WHEN NOT {column} THEN 'False' END"
        if is_fraction(kind):
            column = self._as_whole(self._fraction(name))
        return self._varchar(column)

    def _varchar(self, value: str) -> str:
        # Without the collation, PostgreSQL compares by the rules of a language, which is slow, or ignores case.
        return f"CAST({value} AS VARCHAR)" + (' COLLATE "C"' if self.dialect == "postgres" else "")

    def _bin_of(self, name: str, edges: Sequence[float], kind: str) -> str:
        """The number of edges that are not above a value; NULL if that is not a number, or not a date.

        Dates are compared as text, which begins with the day; that of a time with a zone depends on the session.
        """
        column, field = quoted(name), self.schema.field(name).type
        days = [str(np.datetime64(int(edge), "D")) for edge in edges]
        value, ends, unless = self._number(name), [repr(edge) for edge in edges], ""
        if self.dialect in _OWN_TABLES:
            value = f"NULLIF({value}, CAST('NaN' AS DOUBLE))"
        if kind == "date" and _has_zone(field):
            value, ends = column, [self._midnight(day) for day in days]
        elif kind == "date":
            value = f"SUBSTR({self._varchar(f'TRIM({column})' if is_text(field) else column)}, 1, 10)"
            ends, unless = [literal(day) for day in days], f" OR NOT {value} LIKE '____-__-__'"
        below = " ".join(f"WHEN {value} < {end} THEN {place}" for place, end in enumerate(ends))
        return f"CASE WHEN {value} IS NULL{unless} THEN NULL {below} ELSE {len(edges)} END"

    def _midnight(self, day: str) -> str:
        """When a day begins in UTC."""
        if self.dialect == "clickhouse":
            return f"toDateTime64({literal(day)}, 0, 'UTC')"
        return f"CAST({literal(f'{day} 00:00:00+00:00')} AS TIMESTAMPTZ)"


def coded(columns: Columns, place: int, value: str | None) -> str:
    """A value of the column of strata at a place, as `Texts.reserve` compares it.

    >>> from fewlabels.engines.columns import Columns
    >>> columns = Columns("id", "predicted", keep=("region",))
    >>> coded(columns, 0, "cat"), coded(columns, 1, "north"), coded(columns, 1, None)
    ('cat', '=north', '-')
    """
    if not _may_miss(columns, place):
        return str(value)
    return "-" if value is None else f"={value}"


def limit_names(columns: Columns, *, strips: bool) -> list[str]:
    """The columns of limits: the number of the queue, its coded stratum, the limit of keys, and the bins of a strip.

    >>> from fewlabels.engines.columns import Columns
    >>> limit_names(Columns("id", "predicted", keep=("region",)), strips=True)
    ['fl_w', 'fl_t0', 'fl_t1', 'fl_upto', 'fl_low', 'fl_high']
    """
    coded = [f"fl_t{i}" for i in range(len(columns.strata))]
    return ["fl_w", *coded, "fl_upto", *(["fl_low", "fl_high"] if strips else [])]


def upto(share: float) -> str:
    """The limit of keys below which this share of all items lies, as 13 hexadecimal digits.

    >>> upto(0.5), upto(1.5)
    ('8000000000000', 'g')
    """
    return _UP_TO_ALL if share >= 1 else f"{int(share * 16**13):013x}"


def _of_text(text: str, spelt: str) -> str:
    """A text as a number; NULL where it is none, or lacks the percent sign that others have."""
    plain = f"TRIM(SUBSTR({text}, 1, LENGTH({text}) - 1))" if "%" in spelt else text
    number = f"TRY_CAST({_with_points(plain, spelt)} AS DOUBLE)"
    return f"CASE WHEN RIGHT({text}, 1) = '%' THEN {number} / 100 END" if "%" in spelt else number


def _with_points(text: str, spelt: str) -> str:
    return f"REPLACE({text}, ',', '.')" if "," in spelt else text


def _has_zone(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.TimestampType) and kind.tz is not None


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is text."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def is_fraction(kind: pa.DataType) -> bool:
    """Whether a type may hold numbers that are not whole."""
    return pa.types.is_floating(kind) or (isinstance(kind, pa.Decimal128Type) and kind.scale > 0)


def _may_miss(columns: Columns, place: int) -> bool:
    return place > 0 or columns.gaps
