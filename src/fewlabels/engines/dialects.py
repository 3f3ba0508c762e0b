"""The dialects of SQL: which there are, how names and values are quoted in them, and the translation by sqlglot."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fewlabels.errors import InputError, StoreError, needs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

HEX = {
    "duckdb": "CAST('0x' || {} AS BIGINT)",
    "postgres": "CAST(CAST('x' || {} AS BIT(32)) AS BIGINT)",
    "redshift": "STRTOL({}, 16)",
    "spark": "CAST(CONV({}, 16, 10) AS BIGINT)",
    "databricks": "CAST(CONV({}, 16, 10) AS BIGINT)",
    "bigquery": "CAST('0x' || {} AS BIGINT)",
    "snowflake": "TO_NUMBER({}, 'XXXXXXXX')",
    "clickhouse": "reinterpretAsUInt32(reverse(unhex({})))",
    "trino": "FROM_BASE({}, 16)",
}
"""Eight hexadecimal digits as a whole number, which is the one thing that no two dialects share."""
DIALECTS = tuple(HEX)
"""The dialects in which the texts give the same items; tests compare them with stored ones."""
_REFUSED = {
    "tsql": "its MD5 gives bytes and its texts ignore case",
    "mysql": "its texts ignore case",
    "sqlite": "it has no MD5",
}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
_NAME = re.compile(r'"(?:[^"]|"")+"|`[^`]+`|[^."`]+')


def check_dialect(dialect: str) -> str:
    """Return the dialect if the texts exist in it; otherwise an InputError says why not.

    >>> check_dialect("tsql")
    Traceback (most recent call last):
    fewlabels.errors.InputError: tables in the dialect 'tsql' cannot be used: its MD5 gives bytes and its texts ignore
    case. Write the table to Parquet files and name those. The dialects are duckdb, postgres, redshift, ...
    """
    if dialect in DIALECTS:
        return dialect
    why = _REFUSED.get(dialect, "it was never tried, and the items must be the same on every engine")
    raise InputError(
        f"tables in the dialect {dialect!r} cannot be used: {why}. Write the table to Parquet files and name those. "
        f"The dialects are {', '.join(DIALECTS)}."
    )


def quoted(name: str) -> str:
    """A name of a column as an identifier, whatever is in it.

    >>> print(quoted('a"b'))
    "a""b"
    """
    if "\0" in name:
        raise InputError(f"{name!r} is not a name of a column: it has a character that no engine allows.")
    return '"' + name.replace('"', '""') + '"'


def literal(value: str) -> str:
    """A text as a value in a query.

    >>> print(literal("it's"))
    'it''s'
    """
    return "'" + value.replace("'", "''") + "'"


def table_name(name: str) -> str:
    """The name of a table with its schema and catalog, as an identifier; nothing else can come of it.

    A plain part stays without quotes, since engines differ in how they fold its case.

    >>> print(table_name("ml.predictions"), table_name('ml."My.Table"'), table_name("t; DROP TABLE x"))
    ml.predictions ml."My.Table" "t; DROP TABLE x"
    """
    parts = _NAME.findall(name)
    if not parts or ".".join(parts) != name:
        raise InputError(f"{name!r} is not the name of a table. Write it as table or schema.table.")
    bare = (part[1:-1].replace('""', '"') if part[0] in '"`' else part for part in parts)
    return ".".join(part if _PLAIN.fullmatch(part) else quoted(plain) for part, plain in zip(parts, bare, strict=True))


def values(rows: Iterable[Sequence[str | int]], names: Sequence[str]) -> str:
    """Rows as they stand after FROM, for engines to which nothing else can be sent.

    >>> print(values([("it's", 1)], ["fl_t0", "fl_low"]))
    (VALUES ('it''s', 1)) AS fl_limits(fl_t0, fl_low)
    """
    lines = (f"({', '.join(str(cell) if isinstance(cell, int) else literal(cell) for cell in row)})" for row in rows)
    return f"(VALUES {', '.join(lines)}) AS fl_limits({', '.join(names)})"


def with_bound(text: str, style: Callable[[int], str]) -> str:
    """A text with the marks of an engine where values are bound; `style` gives the mark of a place.

    >>> with_bound("SELECT x IN (fl_bound_0_, fl_bound_1_)", lambda place: f":{place + 1}")
    'SELECT x IN (:1, :2)'
    """
    return re.sub(r"\bfl_bound_(\d+)_", lambda match: style(int(match[1])), text)


def translated(text: str, dialect: str) -> str:
    """A text of DuckDB's dialect in another.

    >>> translated("SELECT MD5('a' || x) FROM t", "bigquery")
    "SELECT TO_HEX(MD5('a' || x)) FROM t"
    """
    if dialect == "duckdb":
        return text
    try:
        import sqlglot
    except ImportError:
        raise StoreError(needs("a table on an engine other than DuckDB", "sqlglot", "sql")) from None
    return sqlglot.transpile(text, read="duckdb", write=dialect, error_level=sqlglot.ErrorLevel.RAISE)[0]
