"""PostgreSQL, warehouses, and whatever else has a DB-API or ADBC connection."""

from __future__ import annotations

import json
import sys
import threading
import uuid
from contextlib import contextmanager
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fewlabels.engines.dialects import check_dialect, table_name, values, with_bound
from fewlabels.engines.table import RemoteTable, Step, stacked
from fewlabels.engines.trouble import sentence_of
from fewlabels.errors import Argument, FewlabelsError, InputError, StoreError, needs, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

_BLOCK = 10_000  # rows that are Python objects at the same time
_LONGEST = 200_000  # characters of limits in one query: ClickHouse takes 256 kB by default, others about 1 MB
_ROOMY = {"postgres": 20, "redshift": 20}  # those that take much more than that, and how many times
# Schemes of addresses that are not called as their dialect.
_SCHEMES = {"postgresql": "postgres", "clickhousedb": "clickhouse", "mssql": "tsql"}
_TRANSACTIONS = {"postgres", "redshift"}  # reading begins one, which has to be ended; drivers of others may refuse that
_UNESCAPING = {"google", "clickhouse_connect"}  # drivers that read "%%" as "%" even where no value is bound
# The packages of drivers, and the dialect of what they talk to.
_DRIVERS = {
    "psycopg": "postgres", "psycopg2": "postgres", "pg8000": "postgres", "snowflake": "snowflake",
    "google": "bigquery", "clickhouse_driver": "clickhouse", "clickhouse_connect": "clickhouse", "trino": "trino",
    "redshift_connector": "redshift", "databricks": "databricks",
    "pymssql": "tsql", "sqlite3": "sqlite", "pymysql": "mysql", "MySQLdb": "mysql",
}  # fmt: skip
_LOST = {"OperationalError", "InterfaceError"}
_CHECK = "Check that the server is running, and that host, port, user, password and database are right."


class DbapiTable(RemoteTable):
    """A table behind a DB-API connection (PEP 249), or an ADBC one.

    Parameters
    ----------
    table
        The name of the table or view, with its schema.
    connection
        The user's connection; it is not closed, and no transaction of it is ended.
    url
        An address for SQLAlchemy instead, such as postgresql://user@host/database. A connection is opened when it is
        needed, and again after it was lost. All that is read until `items` are looked up is read from one state of the
        table, where the engine can do that.
    dialect
        One of `DIALECTS`, if it cannot be told from the connection.
    """

    def __init__(
        self, table: str, *, connection: Any = None, url: str | None = None, dialect: str | None = None
    ) -> None:
        self._lock = threading.RLock()
        self._url, self._connection, self._own = url, connection, connection is None
        self._checked = False
        known = dialect or (_dialect_of_url(str(url)) if self._own else _dialect_of(connection))
        self.dialect = check_dialect(known)
        self.source = table_name(table)
        self.name = f"the table {table}" + (f" of {_shown(url)}" if url is not None else "")

    def describe(self) -> str:
        where = {} if self._url is None else {"url": _without_password(self._url)}
        return json.dumps({"engine": "dbapi", "table": self.source, "dialect": self.dialect, **where})

    def close(self) -> None:
        with self._lock:
            if self._own and self._connection is not None:
                self._connection.close()
                self._connection = None

    def _ask(self, step: str, text: str, bound: Sequence[str | int] = ()) -> pa.Table:
        if self.progress is not None:
            self.progress(Step(step))
        with self._lock, self._plain_errors():
            connection = self._opened()
            answer = self._answer(connection, text, bound)
            if self._own and self.dialect in _TRANSACTIONS and step in {"items", "columns"}:
                connection.rollback()  # labelling takes days: the server must not keep the old state that long
            return answer

    def _answer(self, connection: Any, text: str, bound: Sequence[str | int]) -> pa.Table:
        arguments: tuple[Any, ...] = ()
        if bound:
            text, arguments = _bound(text, bound, _style(connection))
        elif _package(connection) in _UNESCAPING:
            text = text.replace("%", "%%")
        cursor = connection.cursor()
        try:
            if hasattr(cursor, "stream"):  # psycopg: rows come one by one, and the server may use all its cores
                rows = cursor.stream(text, *arguments)
                if first := list(islice(rows, 1)):
                    return _in_blocks([column[0] for column in cursor.description], first, rows)
            cursor.execute(text, *arguments)
            if hasattr(cursor, "fetch_arrow_table"):  # ADBC
                return cursor.fetch_arrow_table()
            names = [column[0] for column in cursor.description]
            return _in_blocks(names, cursor.fetchmany(_BLOCK), _fetched(cursor))
        finally:
            cursor.close()

    def _sent(self, limits: pa.Table) -> Generator[str]:
        rows = list(zip(*(column.to_pylist() for column in limits.columns), strict=True))
        while rows:
            count = length = 0
            for row in rows:
                length += sum(len(str(cell)) + 8 for cell in row) + 30 * len(row) * (self.dialect == "bigquery")
                if length > _LONGEST * _ROOMY.get(self.dialect, 1) and count:
                    break
                count += 1
            yield values(rows[:count], limits.column_names)
            del rows[:count]

    def _opened(self) -> Any:
        if self._connection is None:
            self._connection, self._checked = _connect(str(self._url)), False
        if not self._checked and self.dialect == "postgres":
            self._check_postgres(self._connection)
        self._checked = True
        return self._connection

    def _check_postgres(self, connection: Any) -> None:
        """InputError where PostgreSQL would give other keys or other texts than all other engines."""
        names = ("server_encoding", "standard_conforming_strings", "DateStyle")
        asked = ", ".join(f"current_setting('{name}')" for name in names)
        encoding, strings, dates = (
            column[0].as_py() for column in self._answer(connection, f"SELECT {asked}", ()).columns
        )
        if encoding != "UTF8":
            raise InputError(f"{self.name}: the database is in {encoding}. Its texts have to be in UTF8.")
        if strings != "on" or not dates.startswith("ISO"):
            raise InputError(
                f"{self.name}: standard_conforming_strings is {strings} and DateStyle {dates}. Set them to on and ISO."
            )

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        """Turn the errors of drivers into ours. They share names, not classes."""
        try:
            yield
        except FewlabelsError:
            raise
        except Exception as error:
            kinds = {kind.__name__ for kind in type(error).__mro__}
            if kinds & _LOST or isinstance(error, (ConnectionError, TimeoutError)):
                if self._own:
                    self._connection = None  # the next call opens another
                raise StoreError(f"{self.name} cannot be reached: {sentence_of(error)} {_CHECK}") from error
            if "Error" in kinds and "DatabaseError" in kinds:
                raise InputError(f"{self.name} cannot be read: {sentence_of(error)}") from error
            raise


def _connect(url: str) -> Any:
    """A connection that only reads, from one state of the database."""
    import sqlalchemy as sa
    from sqlalchemy.exc import NoSuchModuleError
    from sqlalchemy.pool import NullPool

    address = sa.make_url(url)
    if _dialect_of_url(url) == "postgres":
        try:
            import psycopg
        except ImportError:
            raise StoreError(needs("a table in PostgreSQL", "psycopg", "postgres")) from None
        bare = address.set(drivername="postgresql").render_as_string(hide_password=False)
        connection = psycopg.connect(bare, client_encoding="UTF8", options="-c DateStyle=ISO")
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        return connection
    try:
        opened = sa.create_engine(address, poolclass=NullPool).raw_connection()
    except (NoSuchModuleError, ImportError) as error:
        raise StoreError(
            f"{_shown(url)} needs the package that connects SQLAlchemy to it: {one_line(error)}. Install that."
        ) from None
    other = opened.driver_connection
    opened.detach()  # otherwise SQLAlchemy closes the connection when nobody holds this any more
    return other


def _dialect_of_url(url: str) -> str:
    scheme = url.partition("://")[0].partition("+")[0].lower()
    return _SCHEMES.get(scheme, scheme)


def _dialect_of(connection: Any) -> str:
    """The dialect that a connection speaks, from the package of its driver or from what the driver says."""
    if hasattr(connection, "adbc_get_info"):
        vendor = str(connection.adbc_get_info().get("vendor_name", "")).lower()
        return {"postgresql": "postgres"}.get(vendor, vendor)
    package = _package(connection)
    if package not in _DRIVERS:
        raise InputError(
            f"the SQL dialect of a {package} connection is not known. Name it with ",
            Argument("dialect", "postgres"),
            ".",
        )
    return _DRIVERS[package]


def _package(connection: Any) -> str:
    return type(connection).__module__.partition(".")[0]


def _style(connection: Any) -> str:
    """How values are bound: the paramstyle of the driver, the innermost package that has one."""
    if hasattr(connection, "adbc_get_info"):
        return "dollar" if _dialect_of(connection) == "postgres" else "qmark"
    parts = type(connection).__module__.split(".")
    for length in range(len(parts), 0, -1):
        module = sys.modules.get(".".join(parts[:length]))
        if (style := getattr(module, "paramstyle", None)) is not None:
            return str(style)
    return "qmark"


def _bound(text: str, bound: Sequence[str | int], style: str) -> tuple[str, tuple[Any, ...]]:
    """The text with the marks of a driver, and the arguments with the values.

    >>> _bound("SELECT x % 2 IN (fl_bound_0_)", ["a"], "pyformat")
    ('SELECT x %% 2 IN (%(b0)s)', ({'b0': 'a'},))
    >>> _bound("SELECT x IN (fl_bound_0_)", ["a"], "numeric")
    ('SELECT x IN (:1)', (['a'],))
    """
    marks: dict[str, Callable[[int], str]] = {
        "qmark": lambda _: "?",
        "numeric": lambda place: f":{place + 1}",
        "dollar": lambda place: f"${place + 1}",
        "format": lambda _: "%s",
        "named": lambda place: f":b{place}",
        "pyformat": lambda place: f"%(b{place})s",
    }
    if style in {"format", "pyformat"}:
        text = text.replace("%", "%%")
    by_name = style in {"named", "pyformat"}
    return with_bound(text, marks[style]), ({f"b{i}": v for i, v in enumerate(bound)} if by_name else list(bound),)


def _fetched(cursor: Any) -> Iterator[Any]:
    while rows := cursor.fetchmany(_BLOCK):
        yield from rows


def _in_blocks(names: Sequence[str], first: Sequence[Any], rest: Iterable[Any]) -> pa.Table:
    """Rows as an Arrow table, of which few at a time are Python objects."""
    rows, blocks = iter(rest), [_block(names, first)]
    while some := list(islice(rows, _BLOCK)):
        blocks.append(_block(names, some))
    return stacked(blocks)


def _block(names: Sequence[str], rows: Sequence[Any]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return pa.table([_column(list(column)) for column in columns], names=list(names))


def _column(cells: list[Any]) -> pa.Array[Any]:
    """Python's values as an Arrow array.

    >>> _column([Decimal(1), None]).type, _column([Decimal("0.5")]).type, _column([1, "a"]).type
    (DataType(int64), DataType(double), DataType(string))
    """
    some = [cell for cell in cells if cell is not None]
    if some and all(isinstance(cell, uuid.UUID) for cell in some):
        return pa.array([None if cell is None else cell.bytes for cell in cells], pa.binary(16)).cast(pa.uuid())
    if any(isinstance(cell, Decimal) for cell in some):
        # An engine that adds whole numbers may answer with decimals.
        whole = all(Decimal(cell) == int(cell) and Decimal(cell).as_tuple().exponent == 0 for cell in some)
        cells = [None if cell is None else int(cell) if whole else float(cell) for cell in cells]
    try:
        return pa.array(cells)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return pa.array([None if cell is None else str(cell) for cell in cells])


def _shown(url: str) -> str:
    """An address as messages show it."""
    import sqlalchemy as sa

    return sa.make_url(url).render_as_string(hide_password=True)


def _without_password(url: str) -> str:
    """An address that can be kept: without a password, wherever it stands.

    >>> _without_password("postgresql://me:secret@host/db?password=x&sslmode=require")
    'postgresql://me@host/db?sslmode=require'
    """
    import sqlalchemy as sa

    parsed = sa.make_url(url)
    secret = [name for name in parsed.query if any(word in name.lower() for word in ("pass", "token", "key", "secret"))]
    return parsed._replace(password=None).difference_update_query(secret).render_as_string(hide_password=False)
