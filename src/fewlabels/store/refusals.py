"""Errors of a database in one line: which database, its message, and what to do according to the error code."""

from __future__ import annotations

import sqlite3
from typing import Any

from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as QueueTimeoutError

_HELD = "Another program has locked it: close that program, or try again."
_FULL = "Make room on the disk. Nothing was written."
_APPEND_ONLY = "Tell another label instead: it replaces the earlier one."
_CONNECT = "Check that the server runs and that host, port, user, password and database are right."

# SQLite's primary result codes: https://www.sqlite.org/rescode.html
_SQLITE = {
    sqlite3.SQLITE_NOTADB: "The file is not a database: choose another name.",
    sqlite3.SQLITE_CORRUPT: "The file is damaged: restore it from a backup.",
    sqlite3.SQLITE_CANTOPEN: "It must be a file that you may write, in a directory that you may write.",
    sqlite3.SQLITE_READONLY: "Make the file and its directory writable, or work on a copy.",
    sqlite3.SQLITE_BUSY: _HELD,
    sqlite3.SQLITE_LOCKED: _HELD,
    sqlite3.SQLITE_FULL: _FULL,
}
# PostgreSQL's SQLSTATE, whole or its class of two letters: https://www.postgresql.org/docs/current/errcodes-appendix.html
_POSTGRES = {
    "25006": "Connect to a server that takes writes.",
    "55P03": _HELD,
    "53100": _FULL,
    "P0001": _APPEND_ONLY,  # the only exception that our tables raise themselves
    "42501": "Ask its owner for the right to create and write tables.",
    "08": _CONNECT,
    "28": _CONNECT,
    "57": _CONNECT,
}


def refusal(error: SQLAlchemyError, shown: str) -> str:
    """The message for an error of a database. It never contains the statement or its parameters."""
    cause: Any = error.orig if isinstance(error, DBAPIError) else error
    words = " ".join(str(cause).split())
    stop = "" if words.endswith((".", "?", "!")) else "."
    return f"the database {shown} refused: {words}{stop} {_advice(error, cause)}".rstrip()


def sqlite_code(error: BaseException) -> int | None:
    """SQLite's primary result code; None if the error has none."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _advice(error: SQLAlchemyError, cause: Any) -> str:
    if isinstance(error, QueueTimeoutError):
        return "Too many calls at once: try again."
    if (code := sqlite_code(cause)) is not None:
        is_ours = cause.sqlite_errorcode == sqlite3.SQLITE_CONSTRAINT_TRIGGER
        return _APPEND_ONLY if is_ours else _SQLITE.get(code, "")
    state = getattr(cause, "sqlstate", None)
    if state is None:  # the server was not reached, or went away
        return _CONNECT if isinstance(error, OperationalError) else ""
    return _POSTGRES.get(state) or _POSTGRES.get(state[:2], "")
