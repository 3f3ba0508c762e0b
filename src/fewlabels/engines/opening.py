"""Opening tables: by address, or with a connection or session that the user has."""

from __future__ import annotations

import glob
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fewlabels.engines.dbapi import DbapiTable
from fewlabels.engines.duckdb import DuckDBTable, RelationTable
from fewlabels.engines.files import is_database, is_remote
from fewlabels.engines.spark import SparkTable
from fewlabels.errors import Argument, InputError, StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from fewlabels.engines.table import RemoteTable


def open_table(
    source: object, *, table: str | None = None, dialect: str | None = None, files: Sequence[str] = ()
) -> RemoteTable:
    """Open a table that stays where it is.

    Parameters
    ----------
    source
        A file, a pattern of files, a folder, or an address in an object store (DuckDB reads them); the address of a
        database (postgresql://..., or what SQLAlchemy knows) or of a Spark Connect server (sc://...); a connection of
        DuckDB, of any DB-API driver or of ADBC; a relation of DuckDB; an engine of SQLAlchemy; a session of Spark.
    table
        The name of the table or view, for all but files and relations.
    dialect
        The dialect of a connection whose driver is not known.
    files
        The files that a pattern or folder meant when it was first read.
    """
    if isinstance(source, (str, Path)):
        return _by_address(str(source), table, dialect, files)
    package = type(source).__module__.partition(".")[0]
    if package in {"duckdb", "_duckdb"} and not hasattr(source, "register"):
        return RelationTable(cast("duckdb.DuckDBPyRelation", source))
    name = _needed(table, f"a connection of {package}")
    if package in {"duckdb", "_duckdb"}:
        return DuckDBTable(connection=cast("duckdb.DuckDBPyConnection", source), table=name)
    if package == "pyspark":
        return SparkTable(name, session=source)
    if package == "sqlalchemy":
        return _with_sqlalchemy(source, name, dialect)
    if hasattr(source, "cursor"):
        return DbapiTable(name, connection=source, dialect=dialect)
    raise InputError(
        f"{type(source).__name__} objects cannot be used as a connection. Pass an address, a connection or a session."
    )


def _by_address(address: str, table: str | None, dialect: str | None, files: Sequence[str]) -> RemoteTable:
    scheme = address.partition("://")[0].lower() if "://" in address else "file"
    if scheme == "file" or is_remote(address):
        return _in_files(address.removeprefix("file://"), table, files)
    name = _needed(table, f"{scheme}://...")
    return SparkTable(name, url=address) if scheme == "sc" else DbapiTable(name, url=address, dialect=dialect)


def _in_files(address: str, table: str | None, files: Sequence[str]) -> RemoteTable:
    """Files that DuckDB reads, or a table in a database of DuckDB."""
    if is_database(address):
        return DuckDBTable(address, table=_needed(table, f"{address} is a database of DuckDB, which"))
    if table is not None:
        if not is_remote(address) and not glob.has_magic(address) and not Path(address).exists():
            raise InputError(f"there is no file {address}. Check the path.")
        raise InputError(
            f"{address} is not a database of DuckDB, so it has no table {table!r}. If it has predictions, leave out ",
            Argument("table"),
            "; if they are in another database, give its address, such as postgresql://host/name.",
        )
    return DuckDBTable(address, files=files)


def open_again(described: str) -> RemoteTable:
    """Open the table that `RemoteTable.describe` described.

    Passwords are not kept: they come from where the driver looks for them (PGPASSWORD, ~/.pgpass).
    """
    about: dict[str, Any] = json.loads(described)
    if (address := about.get("address") or about.get("url")) is None:
        raise StoreError(
            f"the table {about['table']} was read through your own connection, which is needed again. Read the "
            "predictions with it, and load the assessment with that pool: load(..., pool=pool)."
        )
    return open_table(address, table=about.get("table"), dialect=about.get("dialect"), files=about.get("files", ()))


def _needed(table: str | None, what: str) -> str:
    if table is None:
        raise InputError(f"{what} needs the name of a table. Give it with ", Argument("table"), ".")
    return table


def _with_sqlalchemy(source: Any, table: str, dialect: str | None) -> RemoteTable:
    if not hasattr(source, "raw_connection"):
        raise InputError("pass the engine of SQLAlchemy, not one of its connections.")
    if dialect is None and source.dialect.name == "postgresql":
        dialect = "postgres"
    return DbapiTable(table, url=source.url.render_as_string(hide_password=False), dialect=dialect)
