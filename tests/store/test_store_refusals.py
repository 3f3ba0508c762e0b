"""What is on disk, and what is said when a database refuses."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from fewlabels.errors import StoreError
from fewlabels.store import Event, Store
from tests.support.stores import SPEC, append, pool_of, sql

if TYPE_CHECKING:
    from pathlib import Path

# --- what is on disk


def test_sqlite_is_set_up_to_keep_what_it_says(tmp_path: Path) -> None:
    store = Store(tmp_path / "audit.db")
    with store.database.reading() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 60_000}
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["audit.db"]  # no write-ahead log left behind


def test_a_forgotten_store_closes_its_files(tmp_path: Path) -> None:
    store = Store(tmp_path / "audit.db")
    store.create("pets", {}, pool_of())
    assert (tmp_path / "audit.db-wal").exists()
    del store
    assert not (tmp_path / "audit.db-wal").exists()


# --- what is said when a database refuses


def test_tables_of_a_newer_version(shared_store_url: str) -> None:
    store = Store(shared_store_url)
    sql(store, "UPDATE fewlabels_schema SET version = 5")
    store.close()
    with pytest.raises(StoreError, match=r"version 5, .* version 4\. Upgrade fewlabels"):
        Store(shared_store_url)


def test_tables_of_another_program(shared_store_url: str) -> None:
    url = shared_store_url.replace("postgresql://", "postgresql+psycopg://")
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE events (x integer)")
    with pytest.raises(StoreError, match="has a table 'events' of another program"):
        Store(shared_store_url)
    with engine.begin() as connection:
        assert sa.inspect(connection).get_table_names() == ["events"]
    engine.dispose()


def test_files_that_are_no_database(tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("dear diary " * 100)
    with pytest.raises(StoreError, match=r"notes\.db refused: file is not a database.*another name"):
        Store(tmp_path / "notes.db")
    assert (tmp_path / "notes.db").read_text() == "dear diary " * 100
    with pytest.raises(StoreError, match=r"no directory '.*absent'\. Make it first"):
        Store(f"sqlite:///{tmp_path}/absent/audit.db")
    (tmp_path / "folder.db").mkdir()
    with pytest.raises(StoreError, match="unable to open"):
        Store(tmp_path / "folder.db")


def test_a_read_only_file_can_be_read(tmp_path: Path) -> None:
    store = Store(tmp_path / "audit.db")
    store.create("pets", SPEC, pool_of())
    store.close()
    # Permissions do not bind the superuser, who may be running this; SQLite's own read-only mode does.
    store = Store(f"sqlite:///file:{tmp_path}/audit.db?mode=ro&uri=true")
    assert store.open("pets").spec == SPEC
    with pytest.raises(StoreError, match=r"readonly database.*writable"):
        append(store, Event("request", "a"))
    store.close()
    with sqlite3.connect(tmp_path / "empty.db") as empty:
        empty.execute("CREATE TABLE x (y)")
    empty.close()
    with pytest.raises(StoreError, match=r"readonly database.*writable"):
        Store(f"sqlite:///file:{tmp_path}/empty.db?mode=ro&uri=true")


def test_a_locked_file_and_afterwards(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path}/audit.db?timeout=0.05")
    store.create("pets", {}, pool_of())
    other = sqlite3.connect(tmp_path / "audit.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"locked.*try again"):
        append(store, Event("request", "a"))
    assert store.events("pets") == []
    other.execute("ROLLBACK")
    other.close()
    assert append(store, Event("request", "a"))[0].seq == 1
    store.close()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("audit", "'audit' is not the name of a database, which ends in .db"),
        ("u:hunter2", "cannot be understood"),
        ("postgresql://u:hunter2@host:port/x", "cannot be understood"),
        ("mysql://u:hunter2@host/x", "kind 'mysql'"),
        ("postgresql+asyncpg://u:hunter2@host/x", "kind 'postgresql\\+asyncpg'"),
        (
            "postgresql://u:hunter2@127.0.0.1:1/x",
            r"postgresql://u:\*\*\*@127\.0\.0\.1:1/x refused.*Check that",
        ),
        ("postgres://127.0.0.1:1/x?user=u&password=hunter2", r"password=%2A%2A%2A&user=u refused.*Check that"),
    ],
)
def test_addresses_that_lead_nowhere(address: str, said: str) -> None:
    with pytest.raises(StoreError, match=said) as caught:
        Store(address)
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_database_that_the_server_has_not(postgres_url: str) -> None:
    address = sa.make_url(postgres_url).set(database="absent").render_as_string(hide_password=False)
    with pytest.raises(StoreError, match=r'database "absent" does not exist.*Check that'):
        Store(address)


def test_postgres_without_its_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"folder: pip install '\.\[postgres\]'; or.*'fewlabels\[postgres\]'"):
        Store("postgresql://host/x")


def test_no_password_is_shown() -> None:
    from fewlabels.store.address import shown_url, url_of

    assert shown_url(url_of("postgresql://u:hunter2@host/x")) == "postgresql://u:***@host/x"
    assert repr(Store()) == "<Store: memory>"
