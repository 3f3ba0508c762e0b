"""Opening a database by its address: connections, locks, and errors in plain words."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import QueuePool, StaticPool

from fewlabels.errors import StoreError, needs
from fewlabels.store import schema
from fewlabels.store.refusals import refusal, sqlite_code

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg
    from sqlalchemy.engine import URL, Connection, Engine

_WAIT = 60  # seconds to wait for a lock; a transaction takes milliseconds
_HELD = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_MIGRATION_LOCK = 0x66657721  # any number, the same in every process: the key of PostgreSQL's advisory lock


class NoFileError(StoreError):
    """A file that should exist does not."""


class Database:
    """Connections to one database, in which our tables exist from the start.

    `reading()` and `writing()` give a connection inside a transaction that ends with the `with` block:
    committed, or rolled back on an exception. On SQLite one writer at a time has the whole database;
    on PostgreSQL a writer locks what it needs, or everything by `lock_all`.
    """

    def __init__(self, address: str | os.PathLike[str] | None, *, existing: bool = False) -> None:
        url = _url(address)
        self.shown = _shown(url)
        self._in_memory = url.get_backend_name() == "sqlite" and url.database in {None, "", ":memory:"}
        if existing and not self._in_memory:
            _check_exists(url)
        self._engine = _engine(url, self._in_memory)
        self._is_sqlite = self._engine.dialect.name == "sqlite"
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._holder: int | None = None
        # Connections are closed with the last reference, so a forgotten close() leaves nothing behind.
        self._closing = weakref.finalize(self, _dispose, self._engine, self._pid)
        self._prepare()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to read with: each of its queries sees one state of the database, and it blocks nobody."""
        with self._plain_errors(), self._turn(self._in_memory), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A connection that may write; see the class for who has to wait."""
        with self._plain_errors(), self._turn(self._is_sqlite), self._engine.connect() as connection:
            connection.execution_options(fewlabels_begin="BEGIN IMMEDIATE")
            with connection.begin():
                yield connection

    def lock_all(self, connection: Connection) -> None:
        """Keep every other `lock_all` of this database waiting until the transaction ends."""
        if not self._is_sqlite:  # BEGIN IMMEDIATE has done it already
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))

    def close(self) -> None:
        """Close all connections. Closing twice is fine."""
        self._closing()

    @contextmanager
    def _turn(self, needed: bool) -> Iterator[None]:
        """Make the threads of this process take turns where needed: SQLite would poll, or has one connection."""
        if not self._closing.alive:
            raise StoreError(f"the database {self.shown} was closed. Load the assessment again.")
        if os.getpid() != self._pid:
            raise StoreError(
                f"the database {self.shown} was opened in another process, before a fork. "
                "Load the assessment in each process."
            )
        if not needed:
            yield
            return
        if self._holder == threading.get_ident():
            raise StoreError(f"this thread already has an open transaction on {self.shown}. End it first.")
        if not self._lock.acquire(timeout=_WAIT):
            raise StoreError(f"another thread has kept {self.shown} locked for {_WAIT} s. Try again.")
        self._holder = threading.get_ident()
        try:
            yield
        finally:
            self._holder = None
            self._lock.release()

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            raise StoreError(refusal(error, self.shown)) from error

    def _prepare(self) -> None:
        with self.reading() as connection:
            version = schema.version_of(connection)
        if version is None or version < schema.VERSION:
            with self.writing() as connection:
                self.lock_all(connection)  # another process may have been faster
                schema.bring_up_to_date(connection, self.shown)
                version = schema.version_of(connection)
        if version != schema.VERSION:
            raise StoreError(
                f"{self.shown} has tables of version {version}, but this fewlabels knows version "
                f"{schema.VERSION}. Upgrade fewlabels, or use another database."
            )


def _url(address: str | os.PathLike[str] | None) -> URL:
    """The address as a URL: None is memory, a path that ends in .db or .sqlite is that file."""
    text = "sqlite://" if address is None else os.fspath(address)
    if "://" not in text and Path(text).suffix.lower() in {".db", ".sqlite", ".sqlite3"}:
        return sa.URL.create("sqlite", database=text)
    try:
        url = sa.make_url(text)
    except (ArgumentError, ValueError):
        if "://" not in text and Path(text).is_file():
            raise StoreError(
                f"{text} is not a fewlabels database. The database comes first, and its name ends in .db, as in "
                "'audit.db'; a file of predictions comes after it."
            ) from None
        # Not shown and not chained: the address may contain a password.
        raise StoreError(f"the address of the database cannot be understood. {_ADDRESSES}") from None
    driver = {
        "sqlite": "sqlite",
        "sqlite+pysqlite": "sqlite",
        "postgres": "postgresql+psycopg",
        "postgresql": "postgresql+psycopg",
        "postgresql+psycopg": "postgresql+psycopg",
    }.get(url.drivername)
    if driver is None:
        raise StoreError(f"cannot use a database of kind {url.drivername!r}. {_ADDRESSES}")
    return url.set(drivername=driver)


_ADDRESSES = "Use a file name such as 'audit.db', 'sqlite:///audit.db', or 'postgresql://user@host/database'."


def shown(address: str) -> str:
    """An address without its passwords, as it can be printed and typed again.

    >>> shown("audit.db"), shown("postgresql://ann:secret@host/data")
    ('audit.db', 'postgresql://ann:***@host/data')
    """
    url = _url(address)
    return address if url.get_backend_name() == "sqlite" else _shown(url)


def _shown(url: URL) -> str:
    """The address for messages, without its passwords."""
    if url.get_backend_name() == "sqlite":
        return url.database or "memory"
    secret = {key: "***" for key in url.query if "password" in key}
    return url.set(drivername="postgresql").update_query_dict(secret).render_as_string(hide_password=True)


def _check_exists(url: URL) -> None:
    """Raise NoFileError if a file that should exist does not; a server is asked later."""
    path = url.database or ""
    if url.get_backend_name() == "sqlite" and "uri" not in url.query and not Path(path).exists():
        raise NoFileError(f"there is no file {path}. Check the path; create() makes a new one.")


def _engine(url: URL, in_memory: bool) -> Engine:
    """Make an engine. Time limits in the address itself (timeout, connect_timeout) take precedence."""
    if url.get_backend_name() != "sqlite":
        wait = {} if "connect_timeout" in url.query else {"connect_timeout": 10}
        try:
            engine = sa.create_engine(url, pool_pre_ping=True, pool_timeout=_WAIT, connect_args=wait)
        except ModuleNotFoundError as error:
            raise StoreError(needs("PostgreSQL", "the package psycopg", "postgres")) from error
        sa.event.listen(engine, "connect", _set_up_postgres)
        return engine
    folder = Path(url.database or ".").parent
    if not in_memory and "uri" not in url.query and not folder.is_dir():
        raise StoreError(f"cannot open {url.database}: there is no directory {str(folder)!r}. Make it first.")
    settings: dict[str, Any] = {"check_same_thread": False}
    if "timeout" not in url.query:
        settings["timeout"] = _WAIT
    engine = sa.create_engine(url, poolclass=StaticPool if in_memory else QueuePool, connect_args=settings)
    sa.event.listen(engine, "connect", _set_up_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_postgres(connection: psycopg.Connection[Any], _record: object) -> None:
    """Set time limits, so that a client that hangs or vanishes does not keep the others waiting for ever."""
    connection.execute(f"SET lock_timeout = '{_WAIT}s'")
    connection.execute("SET idle_in_transaction_session_timeout = '5min'")
    connection.commit()


def _set_up_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # Python's module begins no transactions of its own; see _begin_sqlite
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")  # on disk when commit returns
        if connection.execute("PRAGMA journal_mode").fetchone()[0] == "delete":
            _switch_to_wal(connection)
    except sqlite3.Error:
        connection.close()  # SQLAlchemy does not do it for a connection it has not got yet
        raise


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Switch a new file to write-ahead logging, so that readers do not wait for writers."""
    patience = time.monotonic() + _WAIT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if sqlite_code(error) == sqlite3.SQLITE_READONLY:
                return  # not needed for reading
            # SQLite gives up at once, whatever the timeout, when two processes switch the same file.
            if sqlite_code(error) not in _HELD or time.monotonic() > patience:
                raise
            time.sleep(0.01)
        else:
            return


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("fewlabels_begin", "BEGIN"))


def _dispose(engine: Engine, pid: int) -> None:
    if os.getpid() == pid:  # after a fork the connections are the parent's
        engine.dispose()
