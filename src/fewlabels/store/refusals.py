"""Errors of a database in one line: which database, its message, and what to do according to the error code."""

from __future__ import annotations

import sqlite3
from typing import Any

from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as QueueTimeoutError

from fewlabels.errors import StoreError
from fewlabels.store.chain import DamagedError

_HELD = "Another program has locked it: close that program, or try again."
_FULL = "Make room on the disk. Nothing was written."
_APPEND_ONLY = "Tell another label instead: it replaces the earlier one."
RESTORE = (
    "Restore it from a backup. To see what is damaged: fewlabels verify; to keep what is not: fewlabels copy --rescue."
)
_CONNECT = "Check that the server is running and that host, port, user, password and database are right."

# SQLite's primary result codes: https://www.sqlite.org/rescode.html
_SQLITE = {
    sqlite3.SQLITE_NOTADB: "Choose another name; if it was a database of fewlabels, restore it from a backup.",
    sqlite3.SQLITE_CORRUPT: f"The file is damaged. {RESTORE}",
    sqlite3.SQLITE_IOERR: "The disk, or the network drive, failed to read or write. Treat nothing from this call as "
    "saved: check that the disk is connected, healthy and not full, and repeat the call. Then run: fewlabels verify",
    sqlite3.SQLITE_PERM: "Ask for permission to read and write the file.",
    sqlite3.SQLITE_PROTOCOL: "Several programs open it at once, or the drive does not support locks: try again, "
    "or move it to a local disk.",
    sqlite3.SQLITE_NOLFS: "The drive does not support large files: move it to another.",
    sqlite3.SQLITE_TOOBIG: "The text is too long for the database: shorten it.",
    sqlite3.SQLITE_CANTOPEN: "It must be a file that you can write to, in a directory that you can write to.",
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
    "53200": "The server has no memory left: try again.",
    "53300": "The server has too many connections: close some, or try again.",
    "XX": f"The server reports damage. {RESTORE}",
    "58": "The disk of the server failed. Treat nothing from this call as saved: have it checked, and repeat the call.",
    "42501": "Ask its owner for permission to create tables and write to them.",
    "08": _CONNECT,
    "28": _CONNECT,
    "57": _CONNECT,
}


def refused(error: SQLAlchemyError, shown: str) -> StoreError:
    """The StoreError for an error of a database. It never contains the statement or its parameters."""
    cause: Any = error.orig if isinstance(error, DBAPIError) else error
    words = " ".join(str(cause).split())
    stop = "" if words.endswith((".", "?", "!")) else "."
    kind = DamagedError if _is_damage(cause) else StoreError
    return kind(f"the database {shown} refused: {words}{stop} {_advice(error, cause)}".rstrip())


def code_of(error: StoreError) -> int | None:
    """SQLite's primary result code behind a StoreError; None if there is none."""
    return sqlite_code(getattr(error.__cause__, "orig", None) or error)


def _is_damage(cause: Any) -> bool:
    """Whether the database itself noticed that it is damaged: its file, or a text that is not one."""
    damaged = sqlite_code(cause) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
    return damaged or (isinstance(cause, sqlite3.Error) and "decode" in str(cause).lower())


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
    if _is_damage(cause):
        return _SQLITE[sqlite3.SQLITE_CORRUPT]
    state = getattr(cause, "sqlstate", None)
    if state is None:  # the server was not reached, or went away
        return _CONNECT if isinstance(error, OperationalError) else ""
    return _POSTGRES.get(state) or _POSTGRES.get(state[:2], "")
