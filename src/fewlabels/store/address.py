"""The address of a database: a file name or a URL, which file or server it means, and how it is shown."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError

from fewlabels.errors import StoreError, described

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

_ADDRESSES = "Use a file name such as 'audit.db', 'sqlite:///audit.db', or 'postgresql://user@host/database'."


class NoFileError(StoreError):
    """A file that should exist does not."""


def url_of(address: str | os.PathLike[str] | None) -> URL:
    """The address as a URL: None is memory, a path that ends in .db or .sqlite is that file."""
    if not isinstance(address, (str, os.PathLike, type(None))):
        raise StoreError(f"The address of a database comes first. {_ADDRESSES} Got {described(address)} instead.")
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
        if text and "://" not in text and Path(text).is_dir():  # an empty path is this folder
            raise StoreError(f"{text} is a folder. Name a file in it, as in '{Path(text) / 'audit.db'}'.") from None
        if text.strip() and not set(text) & set(":@=?"):
            raise StoreError(f"{text!r} is not the name of a database, which ends in .db. {_ADDRESSES}") from None
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


def file_of(address: str | os.PathLike[str]) -> Path | None:
    """The file of a SQLite database by its address; None for a server, and for a database in memory."""
    url = url_of(address)
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def shown(address: str) -> str:
    """An address without its passwords, as it can be printed and typed again.

    >>> shown("audit.db"), shown("postgresql://ann:secret@host/data")
    ('audit.db', 'postgresql://ann:***@host/data')
    """
    url = url_of(address)
    return address if url.get_backend_name() == "sqlite" else shown_url(url)


def shown_url(url: URL) -> str:
    """The address for messages, without its passwords."""
    if url.get_backend_name() == "sqlite":
        return url.database or "memory"
    secret = {key: "***" for key in url.query if "password" in key}
    return url.set(drivername="postgresql").update_query_dict(secret).render_as_string(hide_password=True)


def check_exists(url: URL) -> None:
    """Raise NoFileError if a file that should exist does not; a server is asked later."""
    path = url.database or ""
    if url.get_backend_name() != "sqlite" or "uri" in url.query:
        return
    try:
        is_there = Path(path).exists()
    except OSError as error:  # a name that is too long, or a folder without read permission
        raise StoreError(f"cannot open {path}: {error.strerror}. Check the path.") from None
    if not is_there:
        raise NoFileError(f"there is no file {path}. Check the path; create() makes a new one.")
