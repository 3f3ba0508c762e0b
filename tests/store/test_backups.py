"""Backups and copies of a database: whole, checked, and never over another file."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

import fewlabels as fl
from fewlabels.errors import StoreError
from fewlabels.store import Event, Store
from fewlabels.store.people import People
from tests.support.annotators import new_audit
from tests.support.stores import append, filled

if TYPE_CHECKING:
    from pathlib import Path


def everything(store: Store) -> object:
    """All that a database keeps, checkpoints aside."""
    return [
        (store.open(name), store.head(name), store.events(name), [event.hash for event in store.events(name)])
        for name in store.names()
    ] + [People(store).list()]


# --- backup


def test_a_backup_is_the_database(shared_store_url: str, tmp_path: Path) -> None:
    store = filled(shared_store_url)
    token = People(store).invite("cyd")
    seen: list[tuple[int, int]] = []
    path = store.backup(tmp_path / "monday.db", progress=lambda done, total: seen.append((done, total)))
    backup = Store(path, existing=True)
    assert everything(backup) == everything(store)
    assert backup.verify().ok
    assert People(backup).who(token).name == "cyd"
    assert seen[-1][0] == seen[-1][1]
    assert list(fl.load(backup, "audit").ask(3, annotator="cyd")) == list(
        fl.load(store, "audit").ask(3, annotator="cyd")
    )
    backup.close()
    store.close()


def test_what_a_killed_backup_left_behind_is_removed_and_nothing_else(tmp_path: Path) -> None:
    store = filled(tmp_path / "audit.db")
    dead = [tmp_path / ".audit.0123abcd.part.db", tmp_path / ".audit.0123abcd.part.db-journal"]
    others = [tmp_path / ".mine.part.db", tmp_path / "audit.0123abcd.part.db"]
    for path in (*dead, *others):
        path.write_text("half of something")
    meanwhile: list[list[str]] = []

    def look(_done: int, _total: int) -> None:
        if not meanwhile:
            meanwhile.append([])  # a second backup begins while the first one is at work
            store.copy(tmp_path / "second.db")
            meanwhile[0] += [path.name for path in tmp_path.glob(".audit*.part.db")] or ["gone"]

    Store(tmp_path / "audit.db", existing=True).backup(tmp_path / "audit-1.db", progress=look)
    assert meanwhile == [[name] for (name,) in meanwhile]
    assert meanwhile[0] != ["gone"], "the file of a backup at work must stay"
    assert not any(path.exists() for path in dead)
    assert all(path.exists() for path in others)
    assert sorted(path.name for path in tmp_path.glob(".*")) == [".mine.part.db"]
    assert Store(tmp_path / "audit-1.db", existing=True).verify().ok
    store.close()


def test_labels_are_counted_once_however_often_they_were_told(tmp_path: Path) -> None:
    store = Store(tmp_path / "audit.db")
    audit = new_audit(2, store)
    first, second, third = audit.ask(3, annotator="ann").ids
    for label in ("ant", "bee", "ant"):
        audit.tell({first: label, second: label}, annotator="ann")
    audit.tell(dict.fromkeys(audit.ask(3, annotator="bob").ids, "bee"), annotator="bob")
    assert store.verify().logs[0].labels == 3
    audit.retract([second], annotator="ann")
    audit.withdraw([first])
    assert store.verify().logs[0].labels == 2  # somebody else has answered the second
    audit.decide({third: "ant"}, annotator="owner")
    assert store.verify().logs[0].labels == 2
    store.close()


def test_a_copy_into_memory_is_refused(tmp_path: Path) -> None:
    with filled(tmp_path / "a.db") as store, pytest.raises(StoreError, match="would be gone in a moment"):
        store.copy("sqlite://")


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    store = filled(tmp_path / "audit.db")
    (tmp_path / "there.db").write_text("mine")
    for call in (store.backup, store.copy):
        with pytest.raises(StoreError, match=r"there\.db exists already"):
            call(tmp_path / "there.db")
        with pytest.raises(StoreError, match="no directory"):
            call(tmp_path / "absent" / "x.db")
    with pytest.raises(StoreError, match=r"ends in \.db"):
        store.backup(tmp_path / "audit.bak")
    assert (tmp_path / "there.db").read_text() == "mine"
    made = store.backup()
    assert made.parent == tmp_path
    assert made.name.startswith("audit-20")
    store.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["audit.db", "there.db", made.name])


def test_a_backup_while_others_write_is_one_moment(tmp_path: Path) -> None:
    store = filled(tmp_path / "audit.db")
    stop = threading.Event()

    def write() -> None:
        other = Store(tmp_path / "audit.db")
        while not stop.is_set():
            append(other, Event("request", "item 1"), Event("expire", "item 1"), name="other")
        other.close()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for i in range(5):
            before = store.head("other").seq
            backup = Store(store.backup(tmp_path / f"{i}.db"))
            found = backup.head("other").seq
            assert before <= found <= store.head("other").seq
            assert found % 2 == 0, "a transaction is in it whole or not at all"
            assert backup.verify().ok
            backup.close()
    finally:
        stop.set()
        thread.join()
    store.close()


# --- copy


def test_there_and_back_nothing_changes(tmp_path: Path, postgres_url: str) -> None:
    store = filled(tmp_path / "audit.db")
    done = store.copy(postgres_url)
    assert (done.assessments, done.events, done.left_out) == (2, 18, ())
    server = Store(postgres_url)
    assert everything(server) == everything(store)
    assert server.verify().ok
    with pytest.raises(StoreError, match=r"already has assessments\. Copy into an empty database"):
        store.copy(postgres_url)
    server.copy(f"sqlite:///{tmp_path}/back.db")
    back = Store(tmp_path / "back.db", existing=True)
    assert everything(back) == everything(store)
    assert back.verify(head=str(store.head("audit"))).ok
    assert fl.load(back, "audit").tell({"z00": "bee"}, annotator="ann", adopt=True) == 1
    for opened in (store, server, back):
        opened.close()


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled(tmp_path / "audit.db")

    def stumble(done: int, total: int) -> None:
        assert 0 < done <= total
        raise KeyboardInterrupt

    for to in (tmp_path / "copy.db", postgres_url):
        with pytest.raises(KeyboardInterrupt):
            store.copy(to, progress=stumble)
    assert [path.name for path in tmp_path.glob("*copy*")] == []
    server = Store(postgres_url)
    assert server.names() == []
    server.close()
    assert store.copy(postgres_url).events == 18
    store.close()
