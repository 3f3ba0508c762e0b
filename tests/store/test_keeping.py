"""Databases that may only be read or share a server, files that vanish, connections that break."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

import fewlabels as fl
from fewlabels.errors import StoreError
from fewlabels.store import Event, Store, UnsureError, refusals
from fewlabels.store import log as log_module
from tests.support.annotators import new_audit
from tests.support.stores import SPEC, append, as_anybody, filled, pool_of, sql

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_a_database_beside_another_in_one_server_is_checked_alone(postgres_url: str) -> None:
    """Two schemas of one database: the protection of one says nothing about the other."""
    first = filled(postgres_url)
    sql(first, "CREATE SCHEMA beside")
    other = Store(f"{postgres_url}{'&' if '?' in postgres_url else '?'}options=-csearch_path%3Dbeside")
    other.create("pets", SPEC, pool_of())
    assert first.verify().ok
    assert other.verify().ok
    sql(other, "DROP TRIGGER events_append_only ON events")
    assert first.verify().ok
    assert "triggers are missing" in other.verify().words
    other.close()
    first.close()


# --- databases that may only be read


@pytest.fixture
def locked_folder() -> Iterator[Path]:
    """A folder with a database that nobody may write to. It is not pytest's, which only its owner may enter."""
    folder = Path(tempfile.mkdtemp(prefix="fewlabels-locked-"))
    folder.chmod(0o755)
    yield folder
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755)
    shutil.rmtree(folder)


def lock(folder: Path) -> None:
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)


def test_a_read_only_folder_can_be_shown(locked_folder: Path) -> None:
    filled(locked_folder / "audit.db").close()
    lock(locked_folder)
    with as_anybody():
        store = Store(locked_folder / "audit.db", existing=True)
        audit = fl.load(store, "audit")
        assert len(audit.by_person()) == 2
        assert audit.estimates()["labelled"]
        assert store.verify().ok
        with pytest.raises(StoreError, match=r"readonly database.*writable"):
            audit.ask(1, annotator="ann")
        store.close()
    assert [path.name for path in locked_folder.iterdir()] == ["audit.db"]


def test_labels_beside_a_read_only_file_are_not_overlooked(locked_folder: Path) -> None:
    store = filled(locked_folder / "audit.db")
    shutil.copy(locked_folder / "audit.db-wal", locked_folder / "kept")
    store.close()
    (locked_folder / "kept").rename(locked_folder / "audit.db-wal")
    lock(locked_folder)
    with as_anybody(), pytest.raises(StoreError, match=r"some of its labels are in audit\.db-wal"):
        Store(locked_folder / "audit.db", existing=True)


# --- files that vanish


def test_an_answer_that_is_on_disk_is_acknowledged_though_no_thread_can_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Timer, "start", refuse)
    with Store(tmp_path / "a.db") as store:
        store.create("pets", SPEC, pool_of())
        for item in ("item 0", "item 1"):  # the second comes so soon that it would be flushed later
            append(store, Event("label", item, label="cat"))
    with Store(tmp_path / "a.db", existing=True) as again:
        assert [event.item for event in again.events("pets")] == ["item 0", "item 1"]


def test_nothing_is_acknowledged_once_the_file_is_gone(tmp_path: Path) -> None:
    audit = new_audit(1, tmp_path / "audit.db")
    a, b, c = audit.ask(3).ids
    audit.tell({a: "ant"})
    (tmp_path / "audit.db").rename(tmp_path / "away.db")
    with pytest.raises(StoreError, match=r"deleted, moved or replaced while it was in use"):
        audit.tell({b: "ant"})
    with pytest.raises(StoreError, match="deleted, moved or replaced"):
        audit.labels()
    (tmp_path / "away.db").rename(tmp_path / "audit.db")
    assert audit.tell({b: "ant"}) == 1, "it is back"
    shutil.copy(tmp_path / "audit.db", tmp_path / "restored.db")
    (tmp_path / "restored.db").replace(tmp_path / "audit.db")
    with pytest.raises(StoreError, match="deleted, moved or replaced"):
        audit.tell({c: "ant"})
    audit.close()


def test_a_file_that_goes_during_the_call(tmp_path: Path) -> None:
    audit = new_audit(1, tmp_path / "audit.db")
    item = audit.ask(1).ids[0]

    def tell() -> None:
        with audit._journal.store.transaction("audit") as log:
            log.append([Event("label", item, label="ant")])
            (tmp_path / "audit.db").unlink()

    with pytest.raises(StoreError, match="deleted, moved or replaced"):
        tell()
    audit.close()


def test_a_disk_that_fails_is_said_with_advice() -> None:
    for code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_IOERR | (3 << 8), sqlite3.SQLITE_FULL, sqlite3.SQLITE_PROTOCOL):
        cause = sqlite3.OperationalError("disk I/O error")
        cause.sqlite_errorcode = code
        said = str(refusals.refused(sa.exc.OperationalError("INSERT secret", {}, cause), "audit.db"))
        assert said.startswith("the database audit.db refused: disk I/O error. ")
        assert len(said.split("error. ")[1]) > 30
        assert "secret" not in said


# --- connections that break


def test_a_commit_whose_answer_is_lost_is_looked_up(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server has written, and its word did not arrive: a second call must not write again."""
    store = Store(postgres_url)
    audit = new_audit(1, store)
    a, b = audit.ask(2).ids
    breaking = _broken_after_commit(store, monkeypatch)
    assert audit.tell({a: "ant"}) == 1, "it was found in the log"
    assert breaking == ["broken"]
    assert audit.log()["kind"] == ["request", "request", "label"]
    assert audit.labels() == {a: "ant"}

    monkeypatch.setattr(log_module, "_AGAIN", ())  # and now the server cannot be asked either
    _broken_after_commit(store, monkeypatch)
    with pytest.raises(UnsureError, match=r"they may or may not be saved\. Repeat the call"):
        audit.tell({b: "bee"})
    assert audit.tell({b: "bee"}) == 1
    assert audit.log()["kind"] == ["request", "request", "label", "label"]
    assert audit.tell({b: "bee"}) == 1, "told again on purpose, it is logged again"
    assert len(audit.log()) == 5
    store.close()


def test_a_commit_that_never_arrived_is_an_error(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(postgres_url)
    audit = new_audit(1, store)
    item = audit.ask(1).ids[0]
    _broken_after_commit(store, monkeypatch, before=True)
    with pytest.raises(StoreError, match="refused"):
        audit.tell({item: "ant"})
    assert audit.labels() == {}
    assert audit.tell({item: "ant"}) == 1
    assert audit.log()["kind"] == ["request", "label"]
    store.close()


def _broken_after_commit(store: Store, monkeypatch: pytest.MonkeyPatch, *, before: bool = False) -> list[str]:
    """Have the server end the connection of the next commit, right after it or before it."""
    dialect = store.database._engine.dialect
    done: list[str] = []
    commit = type(dialect).do_commit

    def breaking(connection: object) -> None:
        if not before:
            commit(dialect, connection)  # type: ignore[arg-type]
        if not done:
            done.append("broken")
            pid = connection.driver_connection.info.backend_pid  # type: ignore[attr-defined]
            with store.database._engine.connect() as other:
                other.exec_driver_sql(f"SELECT pg_terminate_backend({pid})")
                other.rollback()
            connection.driver_connection.execute("SELECT 1")  # type: ignore[attr-defined]
        elif before:
            commit(dialect, connection)  # type: ignore[arg-type]

    monkeypatch.setattr(dialect, "do_commit", breaking)
    return done


def test_a_wrong_clock_does_not_stop_leases(store_url: str) -> None:
    store = Store(store_url)
    audit = new_audit(1, store)
    now = datetime.now(UTC)
    times = {"z01": now + timedelta(days=365), "z02": now - timedelta(hours=1), "z03": now - timedelta(seconds=1)}
    append(store, *(Event("request", i, step=1, annotator="ann", at=at) for i, at in times.items()), name="audit")
    assert audit.expire(60) == 2
    assert audit.held("ann").ids == ["z03"]
    assert audit.ask(2, annotator="bob").ids == ["z01", "z02"]
    store.close()


def test_the_first_label_is_the_earliest_though_a_clock_was_set_back(store_url: str) -> None:
    store = Store(store_url)
    audit = new_audit(1, store)
    now = datetime(2026, 5, 1, tzinfo=UTC)
    times = {"z01": now + timedelta(days=365), "z02": now - timedelta(days=1), "z03": now}
    for item, at in times.items():
        append(store, Event("request", item, step=1, at=at), Event("label", item, label="cat", at=at), name="audit")
    details = audit.label_details()
    assert (details.first, details.last) == (times["z02"], times["z01"])
    store.close()


def test_what_is_kept_is_closed(tmp_path: Path) -> None:
    """A backup and a copy leave no file of their own behind, and no connection."""
    store = filled(tmp_path / "audit.db")
    store.backup(tmp_path / "b.db")
    store.copy(tmp_path / "c.db")
    store.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["audit.db", "b.db", "c.db"]


def test_a_lost_connection_is_one_error_and_no_other_words(postgres_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """psycopg writes lines of its own to the log, beside the error that it raises."""
    import psycopg

    store = Store(postgres_url)
    store.create("audit", SPEC, pool_of())
    new = [Event("request", "item 0"), Event("request", "item 1")]

    def cut() -> None:
        with store.transaction("audit") as log:
            pid = log._connection.scalar(sa.text("SELECT pg_backend_pid()"))
            log.append(new)
            with psycopg.connect(postgres_url, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s)", [pid])

    with pytest.raises(StoreError):
        cut()
    assert caplog.text == ""
    assert len(append(store, *new, name="audit")) == 2
    store.close()
