"""DuckDB: files of any size in this process, or a table of the user's own connection."""

from __future__ import annotations

import json
import re
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewlabels.engines import csvs
from fewlabels.engines.dialects import literal, table_name, with_bound
from fewlabels.engines.files import find_files, is_remote, may_be_listed
from fewlabels.engines.table import RemoteTable, Step
from fewlabels.engines.trouble import sentence_of
from fewlabels.errors import InputError, StoreError, needs

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    import duckdb
    import pyarrow as pa

_MEMORY = "600MB"  # beyond that DuckDB works on disk: the search for repeated ids is the one query that may need it
_EVERY = 0.2  # seconds between two looks at the progress


_RELATION = "fl_relation"


class DuckDBTable(RemoteTable):
    """A table that DuckDB reads: files by their address, or a table or view of a database or a connection.

    Parameters
    ----------
    address
        A file, a pattern, a folder, or an address in an object store; with `table`, the file of a database.
    connection
        The user's connection instead, with `table`; its settings are not changed, and it is not closed.
    table
        The name of the table or view.
    files
        The files that the address meant when it was first read; those that match it now, if not given.
    """

    dialect = "duckdb"
    most_bound = 10_000
    _texts_in: Sequence[str] = ()  # files on this machine whose rows are lines of text

    def __init__(
        self,
        address: str | None = None,
        *,
        connection: duckdb.DuckDBPyConnection | None = None,
        table: str | None = None,
        files: Sequence[str] = (),
    ) -> None:
        self._lock = threading.RLock()
        self._address, self._own = address, connection is None
        self._files: list[str] = []
        self._table = None
        if connection is not None and table is not None:
            self._connection, self.name = connection, f"the table {table}"
            self.source = table_name(table)
        elif address is None:
            raise InputError("a connection to DuckDB needs the name of a table or view. Give it with table=.")
        elif table is None:
            self._connection, self.name = _connect(), address
            self._find(address, files)
        else:
            self.name, self._table = f"{address}, table {table}", table
            with self._plain_errors():
                self._connection = _connect(address)
            self.source = table_name(table)

    def _find(self, address: str, files: Sequence[str]) -> None:
        """Find the files at an address, or take those that it meant when it was first read."""
        with self._plain_errors():
            read = find_files(address, self._matching)
            names = list(files or read.names) or (self._matching(read.pattern) if read.pattern else [])
        if read.pattern and may_be_listed(names):
            read, self._files = read.listed(names), names
        if read.untyped:
            self._texts_in = [] if is_remote(address) else names or [address]
            read = read.read_with(csvs.options_for(self._texts_in))
        self.source, self.untyped, self.left_out = read.source, read.untyped, read.left_out

    def describe(self) -> str:
        if self._address is None:
            return json.dumps({"engine": "duckdb", "table": self.source})
        # Made absolute, a file is found again from any folder.
        address = self._address if is_remote(self._address) else str(Path(self._address).absolute())
        about: dict[str, Any] = {"engine": "duckdb", "address": address}
        if self._table is not None:
            about["table"] = self._table
        if self._files:
            about["files"] = [str(Path(name).absolute()) for name in self._files]
        return json.dumps(about)

    def close(self) -> None:
        if self._own:
            self._connection.close()

    def _matching(self, pattern: str) -> list[str]:
        rows = self._connection.sql(f"SELECT file FROM glob({literal(pattern)}) ORDER BY file").fetchall()
        return [file for (file,) in rows]

    def _ask(self, step: str, text: str, bound: Sequence[str | int] = ()) -> pa.Table:
        text = with_bound(text, lambda place: f"${place + 1}")
        with self._lock, self._plain_errors(), self._told(step):
            return self._connection.sql(text, params=list(bound) or None).to_arrow_table()

    def _sent(self, limits: pa.Table) -> Generator[str]:
        with self._lock:
            self._connection.register("fl_limits", limits)
            try:
                yield "fl_limits"
            finally:
                self._connection.unregister("fl_limits")

    @contextmanager
    def _told(self, step: str) -> Iterator[None]:
        """Tell how far the query is while it runs."""
        if self.progress is None:
            yield
            return
        self.progress(Step(step))
        ended = threading.Event()
        teller = threading.Thread(target=self._tell, args=(step, self._rows, ended), daemon=True)
        teller.start()
        try:
            yield
        finally:
            ended.set()
            teller.join()

    def _tell(self, step: str, rows: int | None, ended: threading.Event) -> None:
        while not ended.wait(_EVERY):
            share = self._connection.query_progress() / 100
            if share > 0 and self.progress is not None:
                self.progress(Step(step, share, None if rows is None else int(share * rows)))

    @property
    def _rows(self) -> int | None:
        """How many rows there are, where that is known without reading them: Parquet says it in its metadata."""
        if "read_parquet" not in self.source:
            return None
        return int(self._connection.sql(f"SELECT COUNT(*) FROM {self.source}").fetchall()[0][0])

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        """Turn DuckDB's errors into ours."""
        import duckdb

        try:
            yield
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except duckdb.Error as error:
            raise self._plain(error) from error
        except RuntimeError as error:
            if not is_interruption(str(error)):
                raise
            raise KeyboardInterrupt from None

    def _plain(self, error: duckdb.Error) -> InputError | StoreError:
        """Our error for one of DuckDB's."""
        import duckdb

        if name := extension_in(str(error)):
            return StoreError(
                f"{self.name} can only be read with DuckDB's extension {name!r}, which could not be downloaded. Where "
                f"the network can be reached, do that once: python -c \"import duckdb; duckdb.sql('INSTALL {name}')\". "
                "Or write the table to Parquet files in a folder."
            )
        if isinstance(error, duckdb.HTTPException | duckdb.ConnectionException | duckdb.OutOfMemoryException):
            return StoreError(f"{self.name}: {sentence_of(error)} Try again.")
        if isinstance(error, duckdb.InvalidInputException):
            fault = csvs.fault_in(named_first(self._texts_in, str(error)))
            if fault is not None:
                return fault
        if missing := missing_in(str(error)):
            return InputError(f"no file matches {missing}. Check the pattern, and the folder that it begins in.")
        return InputError(f"{self.name} cannot be read: {sentence_of(error)}")


def extension_in(words: str) -> str | None:
    """The extension that DuckDB could not get, if that is what it says.

    >>> extension_in("An error occurred while trying to automatically install the required extension 'delta'")
    'delta'
    >>> extension_in("IO Error: No files found that match the pattern")
    """
    match = re.search(r"install\w* the required extension '(\w+)", words)
    return match[1] if match else None


def missing_in(words: str) -> str | None:
    """The file or pattern that matches nothing, if DuckDB says so; its error is an `IOException`, as for much else.

    >>> missing_in('IO Error: No files found that match the pattern "p*.parquet"')
    'p*.parquet'
    """
    match = re.search(r'No files found that match the pattern "(.*)"', words)
    return match[1] if match else None


def named_first(files: Sequence[str], words: str) -> list[str]:
    """The files of a table, those that DuckDB names first.

    >>> named_first(["a.csv", "b.csv"], "Invalid Input Error: CSV Error on Line: 3 ... b.csv")
    ['b.csv', 'a.csv']
    """
    return sorted(files, key=lambda name: name not in words)


def is_interruption(words: str) -> bool:
    """Whether DuckDB says so. Interrupted while it hands over rows, it raises no error of its own.

    >>> is_interruption("Query interrupted")
    True
    """
    return "interrupted" in words


class RelationTable(DuckDBTable):
    """A relation of DuckDB: a query of the user's that is put into every one of ours.

    Parameters
    ----------
    relation
        The relation. It brings its connection along, which stays as it is.
    """

    def __init__(self, relation: duckdb.DuckDBPyRelation) -> None:
        self._lock = threading.RLock()
        self._address, self._own = None, False
        self._relation: Any = relation
        self._limits: pa.Table | None = None
        self.name, self.source = "the relation of DuckDB", _RELATION

    def _ask(self, step: str, text: str, bound: Sequence[str | int] = ()) -> pa.Table:
        values = [str(value) if isinstance(value, int) else literal(value) for value in bound]
        if self.progress is not None:
            self.progress(Step(step))
        with self._lock, self._plain_errors():
            fl_limits = self._limits  # DuckDB finds it here by its name
            rows: pa.Table = self._relation.query(_RELATION, with_bound(text, values.__getitem__)).to_arrow_table()
            del fl_limits
            return rows

    def _sent(self, limits: pa.Table) -> Generator[str]:
        with self._lock:
            self._limits = limits
            try:
                yield "fl_limits"
            finally:
                self._limits = None


def _connect(database: str | None = None) -> duckdb.DuckDBPyConnection:
    """A connection of our own: to a database that is only read, or to none."""
    try:
        import duckdb
    except ImportError:
        raise StoreError(needs("a large file, a pattern or a folder", "duckdb", "sql")) from None
    settings: dict[str, Any] = {
        "memory_limit": _MEMORY,
        "temp_directory": tempfile.gettempdir(),
        "preserve_insertion_order": False,  # keeping it costs memory, and nothing here depends on it
        "enable_progress_bar": True,
        "enable_progress_bar_print": False,
    }
    connection = duckdb.connect() if database is None else duckdb.connect(database, read_only=True)
    for name, value in settings.items():
        connection.execute(f"SET {name} = {literal(value) if isinstance(value, str) else str(value).lower()}")
    return connection
