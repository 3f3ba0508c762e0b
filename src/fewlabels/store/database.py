"""An open database: connections, locks, and errors in plain words."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
import weakref
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import QueuePool, StaticPool

from fewlabels.errors import FewlabelsError, StoreError, needs
from fewlabels.store import refusals, schema
from fewlabels.store.address import check_exists, shown_url, url_of
from fewlabels.store.chain import DamagedError
from fewlabels.store.file import DatabaseFile
from fewlabels.store.refusals import sqlite_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import psycopg
    from sqlalchemy.engine import URL, Connection, Engine

_FLUSH = 0.2  # seconds between two moves of the write-ahead log into the file
_WAIT = 60  # seconds to wait for a lock; a transaction takes milliseconds
_HELD = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_MIGRATION_LOCK = 0x66657721  # any number, the same in every process: the key of PostgreSQL's advisory lock


class Database:
    """Connections to one database, in which our tables exist from the start.

    `reading()` and `writing()` give a connection inside a transaction that ends with the `with` block:
    committed, or rolled back on an exception. On SQLite one writer at a time has the whole database;
    on PostgreSQL a writer locks what it needs, or everything by `lock_all`.
    """

    def __init__(self, address: str | os.PathLike[str] | None, *, existing: bool = False) -> None:
        url = url_of(address)
        self.shown = shown_url(url)
        self.in_memory = url.get_backend_name() == "sqlite" and url.database in {None, "", ":memory:"}
        if existing and not self.in_memory:
            check_exists(url)
        is_file = url.get_backend_name() == "sqlite" and not self.in_memory and "uri" not in url.query
        self.path = Path(str(url.database)) if is_file else None
        """The file of a SQLite database."""
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._holder: int | None = None
        self._flushed = 0.0
        self._late: threading.Timer | None = None
        self._flusher: threading.Thread | None = None
        self._file = None if self.path is None else DatabaseFile(self.path, self.shown)
        self._use(_engine(url, self.in_memory))
        self.is_sqlite = self._engine.dialect.name == "sqlite"
        self._prepare(url)
        if self._file is not None:
            self._file.watch()

    def _use(self, engine: Engine) -> None:
        # Connections are closed with the last reference, so a forgotten close() leaves nothing behind.
        self._engine = engine
        self._closing = weakref.finalize(self, _dispose, engine, self._pid, self._file)

    @contextmanager
    def reading(self, *, once: bool = False) -> Iterator[Connection]:
        """A connection to read with, which blocks nobody: each query sees one state of the database.

        With `once`, all of its queries see the same state; on SQLite they always do.
        """
        with (
            self._plain_errors(),
            self.decoding(),
            self._turn(self.in_memory),
            self._engine.connect() as connection,
        ):
            if once and not self.is_sqlite:
                connection.execution_options(isolation_level="REPEATABLE READ")
            transaction = connection.begin()
            try:
                yield connection
            finally:
                transaction.rollback()  # nothing was written, and a damaged file cannot even be committed

    @contextmanager
    def writing(self, patience: float | None = None) -> Iterator[Connection]:
        """A connection that may write; see the class for who has to wait, and `patience` for how long, in seconds."""
        with self._plain_errors(), self._turn(self.is_sqlite, patience), self._engine.connect() as connection:
            connection.execution_options(fewlabels_begin="BEGIN IMMEDIATE")
            with _patient(connection, patience), connection.begin():
                if patience is not None and not self.is_sqlite:
                    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {1000 * patience:.0f}")
                with self._counted(connection):
                    yield connection
            self._check()  # again: an answer that went into a deleted file must not be acknowledged
            self._flush(connection)

    @contextmanager
    def decoding(self) -> Iterator[None]:
        """Make a DamagedError of a stored value that is not what it should be."""
        try:
            yield
        except FewlabelsError:
            raise
        except (ValueError, TypeError, OverflowError, MemoryError) as error:
            raise self.damaged("a stored value cannot be read") from error

    def damaged(self, what: str) -> DamagedError:
        """The error for a database whose content is not what was written."""
        return DamagedError(f"{self.shown} is damaged: {what}. {refusals.RESTORE}")

    def _flush(self, connection: Connection) -> None:
        """Move what was committed from the write-ahead log into the file itself, a few times a second at most.

        So a plain copy of the file alone, while people label, lacks what was told in the last moment at most. The
        commit itself is on disk already, whatever happens here.
        """
        if self.path is None or self.in_memory:
            return
        if time.monotonic() - self._flushed > _FLUSH:
            self._flushed = time.monotonic()
            self._checkpoint(connection)
        elif self._late is None:
            late = threading.Timer(_FLUSH, _call, [weakref.WeakMethod(self._flush_late)])
            late.daemon = True
            with suppress(RuntimeError):  # no thread can be started, as when the process ends
                late.start()
                self._late = late

    def _flush_late(self) -> None:
        """Flush once more after a burst of writes, if the database is still open."""
        self._flusher, self._late = threading.current_thread(), None
        if self._closing.alive and os.getpid() == self._pid:
            with suppress(SQLAlchemyError, StoreError), self._engine.connect() as connection:
                self._check()
                self._checkpoint(connection)

    def _checkpoint(self, connection: Connection) -> None:
        with suppress(sqlite3.Error):
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            driver.execute("PRAGMA wal_checkpoint(PASSIVE)")
        if self._file is not None:
            self._file.look()

    def _check(self) -> None:
        if self._file is not None:
            self._file.check()

    @contextmanager
    def _counted(self, connection: Connection) -> Iterator[None]:
        """Count a transaction in the file, if it writes anything."""
        driver = connection.connection.driver_connection
        if self._file is None or not isinstance(driver, sqlite3.Connection):
            yield
            return
        before = driver.total_changes
        yield
        if driver.total_changes > before:
            self._file.count(connection)

    def lock_all(self, connection: Connection) -> None:
        """Keep every other `lock_all` of this database waiting until the transaction ends."""
        if not self.is_sqlite:  # BEGIN IMMEDIATE has done it already
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return not self._closing.alive

    def close(self) -> None:
        """Close all connections. Closing twice is fine."""
        if (late := self._late) is not None:
            late.cancel()
        for thread in (late, self._flusher):
            if thread is not None:
                thread.join(_WAIT)  # its connection would stay open otherwise
        self._closing()

    @contextmanager
    def _turn(self, needed: bool, patience: float | None = None) -> Iterator[None]:
        """Make the threads of this process take turns where needed: SQLite would poll, or has one connection.

        `patience` is how long to wait for the others, in seconds, if not as long as for any lock.
        """
        if self.is_closed:
            raise StoreError(f"the database {self.shown} was closed. Load the assessment again.")
        if os.getpid() != self._pid:
            raise StoreError(
                f"the database {self.shown} was opened in another process, before a fork. "
                "Load the assessment in each process."
            )
        self._check()
        if not needed:
            yield
            return
        if self._holder == threading.get_ident():
            raise StoreError(f"this thread already has an open transaction on {self.shown}. End it first.")
        seconds = _WAIT if patience is None else patience
        if not self._lock.acquire(timeout=seconds):
            raise StoreError(f"another thread has kept {self.shown} locked for {seconds:g} s. Try again.")
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
            raise refusals.refused(error, self.shown) from error

    def _prepare(self, url: URL) -> None:
        """Have our tables in the database, of this version."""
        version = self._first_look(url)
        if version is None or version < schema.VERSION:
            try:
                self._bring_up_to_date()
            except StoreError as error:
                if version is None or self.path is None or refusals.code_of(error) != sqlite3.SQLITE_READONLY:
                    raise
                self._use(_copy_in_memory(self._engine))  # of an older version, and it may only be read
                self.in_memory = True
                self._bring_up_to_date()
                with self.reading() as connection:
                    connection.exec_driver_sql("PRAGMA query_only = ON")
            with self.reading() as connection:
                version = schema.version_of(connection)
        if version != schema.VERSION:
            raise StoreError(
                f"{self.shown} has tables of version {version}, but this fewlabels knows version "
                f"{schema.VERSION}. Upgrade fewlabels, or use another database."
            )

    def _first_look(self, url: URL) -> int | None:
        """The version of the tables, also where SQLite may not write the files that it needs beside the database."""
        try:
            with self.reading() as connection:
                return schema.version_of(connection)
        except StoreError as error:
            cannot = refusals.code_of(error) in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
            if self.path is None or not self.path.is_file() or not cannot:
                raise
            if (beside := Path(f"{self.path}-wal")).exists():
                raise StoreError(
                    f"cannot open {self.shown}: its folder is read-only, and some of its labels are in "
                    f"{beside.name} beside it. Copy both files into a folder that you can write to, and use the copy."
                ) from error
        self._engine.dispose()
        # Nobody has it open, or there would be a write-ahead log: it can be read as it is.
        unchanging = f"file:{quote(str(self.path))}"
        self._use(_engine(url.set(database=unchanging, query={"mode": "ro", "immutable": "1", "uri": "true"}), False))
        with self.reading() as connection:
            return schema.version_of(connection)

    def _bring_up_to_date(self) -> None:
        with self.writing() as connection, self.decoding():
            self.lock_all(connection)  # another process may have been faster
            schema.bring_up_to_date(connection, self.shown)


def _call(method: weakref.WeakMethod[Callable[[], None]]) -> None:
    """Call a method if its object is still there."""
    if (call := method()) is not None:
        call()


@contextmanager
def _patient(connection: Connection, patience: float | None) -> Iterator[None]:
    """Let SQLite wait for a lock no longer than this many seconds."""
    driver = connection.connection.driver_connection
    if patience is None or not isinstance(driver, sqlite3.Connection):
        yield
        return
    (usual,) = driver.execute("PRAGMA busy_timeout").fetchone()
    driver.execute(f"PRAGMA busy_timeout = {1000 * patience:.0f}")
    try:
        yield
    finally:
        driver.execute(f"PRAGMA busy_timeout = {usual}")


def _copy_in_memory(engine: Engine) -> Engine:
    """A copy of a SQLite database in memory."""
    copy = sqlite3.connect(":memory:", check_same_thread=False)
    with engine.connect() as connection:
        source = connection.connection.driver_connection
        assert isinstance(source, sqlite3.Connection)
        source.backup(copy)
    engine.dispose()
    made = sa.create_engine("sqlite://", poolclass=StaticPool, creator=lambda: copy)
    sa.event.listen(made, "connect", _set_up_sqlite)
    sa.event.listen(made, "begin", _begin_sqlite)
    return made


def _engine(url: URL, in_memory: bool) -> Engine:
    """Make an engine. Time limits in the address itself (timeout, connect_timeout) take precedence."""
    if url.get_backend_name() != "sqlite":
        wait = {} if "connect_timeout" in url.query else {"connect_timeout": 10}
        try:
            engine = sa.create_engine(url, pool_pre_ping=True, pool_timeout=_WAIT, connect_args=wait)
        except ModuleNotFoundError as error:
            raise StoreError(needs("PostgreSQL", "the package psycopg", "postgres")) from error
        sa.event.listen(engine, "connect", _set_up_postgres)
        driver = logging.getLogger("psycopg")
        if driver.level in {logging.NOTSET, logging.WARNING}:  # the second is what psycopg itself sets
            driver.setLevel(logging.ERROR)  # when a connection is lost, it warns of the error that it raises as well
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


def _dispose(engine: Engine, pid: int, file: DatabaseFile | None) -> None:
    if os.getpid() == pid:  # after a fork the connections are the parent's
        engine.dispose()
        if file is not None:
            file.release()
