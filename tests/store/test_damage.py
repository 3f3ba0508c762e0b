"""Damage to a database is said plainly: never a traceback, and never silently fewer labels."""

from __future__ import annotations

import random
import shutil
import sqlite3
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

import fewlabels as fl
from fewlabels.errors import FewlabelsError, StoreError
from fewlabels.store import DamagedError, Event, Store, chain
from fewlabels.store.guides import Guides
from fewlabels.store.people import People
from fewlabels.store.rows import BY_SEQ, read_events
from tests.support.annotators import KNOWN, new_audit
from tests.support.stores import append, sql, unprotect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PEOPLE = ("ann", "Zoë", None)


def labelled(address: str | Path | Store, rounds: int = 12) -> fl.Assessment:
    audit = new_audit(1, address)
    for i in range(rounds):
        who = PEOPLE[i % 3]
        ids = audit.ask(2, annotator=who).ids
        audit.tell(dict.fromkeys(ids, KNOWN.pool.classes[i % 3]), annotator=who, note="犬", key=f"k{i}")
    return audit


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """A store whose log of 48 events is no longer protected."""
    store = Store(store_url)
    labelled(store)
    unprotect(store)
    yield store
    store.close()


# --- rows that somebody, or something, changed

DAMAGE = {
    "one is gone": ("DELETE FROM events WHERE seq = 20", "event 20 is missing"),
    "many are gone": ("DELETE FROM events WHERE seq BETWEEN 7 AND 30", "events 7 to 30 are missing"),
    "the first are gone": ("DELETE FROM events WHERE seq <= 2", "events 1 to 2 are missing"),
    "the last are gone": ("DELETE FROM events WHERE seq > 40", "events 41 to 48 are missing"),
    "all are gone": ("DELETE FROM events", "events 1 to 48 are missing"),
    "another label": ("UPDATE events SET label = 'bee' WHERE seq = 3", "event 3 is not what was written"),
    "no label": ("UPDATE events SET label = NULL WHERE seq = 3", "event 3 is not what was written"),
    "another person": ("UPDATE events SET annotator = 'eve' WHERE seq = 4", "event 4 is not what was written"),
    "another time": ("UPDATE events SET at = '2026-01-01 00:00:00' WHERE seq = 9", "event 9 is not what was written"),
    "another item": ("UPDATE events SET item = item || ' ' WHERE seq = 48", "event 48 is not what was written"),
    "another key": ("UPDATE events SET key = NULL WHERE seq = 48", "event 48 is not what was written"),
    "another number": ("UPDATE events SET seq = 49 WHERE seq = 48", "event 48 is missing"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_changed_log_is_noticed_and_described(store: Store, what: str) -> None:
    statement, said = DAMAGE[what]
    sql(store, statement)
    with pytest.raises(DamagedError, match=rf"damaged: .*{said}.*backup"):
        fl.load(store, "audit").labels()
    with pytest.raises(DamagedError, match=said):
        store.log("audit")
    with pytest.raises(DamagedError, match=said):
        fl.load(store, "audit").ask(1)
    found = store.verify()
    assert not found.ok
    assert said in found.words
    assert f"{found.logs[0].events} events" in found.words
    assert found.logs[0].events < 48


def test_the_end_and_the_definition_are_checked_too(store: Store) -> None:
    head = store.head("audit")
    for statement, undo, said in (
        ("UPDATE heads SET seq = 47", "UPDATE heads SET seq = 48", "event 47 is not the last"),
        ("UPDATE heads SET seq = 50", "UPDATE heads SET seq = 48", "events 49 to 50 are missing"),
        (
            "UPDATE assessments SET spec = REPLACE(spec, '\"seed\": 5', '\"seed\": 6')",
            "UPDATE assessments SET spec = REPLACE(spec, '\"seed\": 6', '\"seed\": 5')",
            "the definition of 'audit' is not what was written",
        ),
    ):
        sql(store, statement)
        with pytest.raises(DamagedError, match=said):
            fl.load(store, "audit").labels()
        assert said in store.verify().words
        sql(store, undo)
    assert store.head("audit") == head
    assert [problem for problem in store.verify().problems if "triggers" in problem], "and the triggers are missing"
    assert not store.verify().logs[0].problems


def test_an_assessment_without_its_end_or_its_definition_is_not_forgotten(store: Store) -> None:
    if store.database.is_sqlite:
        sql(store, "PRAGMA foreign_keys = OFF")
    sql(store, "DELETE FROM heads")
    assert store.names() == ["audit"]
    with pytest.raises(DamagedError, match=r"not known where the log of 'audit' ends|definition"):
        fl.load(store, "audit").labels()
    assert "begins and ends is lost" in store.verify().words


def test_a_time_that_is_none_is_damage(tmp_path: Path) -> None:
    """SQLite takes any text as a time."""
    labelled(tmp_path / "audit.db").close()
    store = Store(tmp_path / "audit.db")
    unprotect(store)
    sql(store, "UPDATE events SET at = '2026-13-45' WHERE seq = 5")
    with pytest.raises(DamagedError, match=r"audit\.db is damaged: a stored value cannot be read"):
        store.events("audit")
    assert "event 5 cannot be read" in store.verify().words
    for column, value in (("item", "x'ff'"), ("hash", "'text'"), ("step", "'x'"), ("label", "7"), ("seq", "'x'")):
        sql(store, f"UPDATE events SET {column} = {value} WHERE seq = 6")
        with pytest.raises(DamagedError):
            store.events("audit")
        assert not store.verify().ok
    store.close()


def test_a_running_assessment_notices_at_its_next_look(store: Store) -> None:
    audit = fl.load(store, "audit")
    assert len(audit.labels()) == 24
    sql(store, "DELETE FROM events WHERE seq > 46", "UPDATE heads SET seq = 46")
    for call in (audit.labels, lambda: audit.ask(1), lambda: audit.tell({"z00": "ant"}, adopt=True)):
        with pytest.raises(StoreError, match=r"shorter than before, or a different one.*Load the assessment again"):
            call()


# --- what is left can be used


@pytest.mark.parametrize("what", ["many are gone", "another label", "the last are gone"])
def test_a_rescue_keeps_all_that_is_intact(store: Store, tmp_path: Path, what: str) -> None:
    before = {event.seq: event for event in store.events("audit")}
    sql(store, DAMAGE[what][0])
    with pytest.raises(DamagedError, match=DAMAGE[what][1]):
        store.copy(tmp_path / "copy.db")
    with pytest.raises(DamagedError):
        store.backup(tmp_path / "backup.db") if store.database.path else store.copy(tmp_path / "copy.db")
    assert list(tmp_path.glob("*copy*")) == list(tmp_path.glob("*backup*")) == []
    done = store.copy(tmp_path / "rescued.db", rescue=True)
    assert any(DAMAGE[what][1] in words for words in done.left_out)
    rescued = Store(tmp_path / "rescued.db", existing=True)
    kept = rescued.events("audit")
    lost = {"many are gone": range(7, 31), "another label": [3], "the last are gone": range(41, 49)}[what]
    wanted = [event for seq, event in before.items() if seq not in lost]
    assert [(e.kind, e.item, e.label, e.annotator, e.note, e.at, e.key) for e in kept] == [
        (e.kind, e.item, e.label, e.annotator, e.note, e.at, e.key) for e in wanted
    ]
    assert rescued.verify().ok
    assert len(fl.load(rescued, "audit").ask(1)) == 1
    rescued.close()


# --- a file whose bytes changed


def use(path: Path) -> dict[str, str]:
    """Everything that a reading command does."""
    store = Store(path, existing=True)
    try:
        assert "audit" in store.names()
        audit = fl.load(store, "audit")
        audit.by_person()
        audit.log()
        return audit.labels()
    finally:
        store.close()


def spoilt(good: bytes, luck: random.Random, how: str) -> bytes:
    bad = bytearray(good)
    if how == "bit":
        bad[luck.randrange(len(bad))] ^= 1 << luck.randrange(8)
    elif how == "header":  # of a page, where the number of its rows and the list of their places are
        page = luck.randrange(len(bad) // 4096) * 4096
        bad[page + (100 if page == 0 else 0) + luck.randrange(40)] ^= 1 << luck.randrange(8)
    elif how == "page":
        page = luck.randrange(1, len(bad) // 4096) * 4096
        bad[page : page + 4096] = bytes(4096)
    elif how == "swap":
        a, b = (luck.randrange(1, len(bad) // 4096) * 4096 for _ in range(2))
        bad[a : a + 4096], bad[b : b + 4096] = bad[b : b + 4096], bad[a : a + 4096]
    else:
        bad = bad[: luck.randrange(len(bad))]
    return bytes(bad)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, dict[str, str]]:
    path = tmp_path_factory.mktemp("good") / "audit.db"
    audit = labelled(path)
    for item in KNOWN.pool.ids.to_pylist():
        audit.tell({item: "ant"}, annotator="ann", adopt=True)
    wanted = audit.labels()
    audit.close()
    return path.read_bytes(), wanted


MANY = pytest.mark.slow


@pytest.mark.parametrize(
    ("how", "times"),
    [
        *(("bit", 40), ("header", 40), ("page", 15), ("swap", 15), ("truncated", 15)),
        *(pytest.param(how, times, marks=MANY) for how, times in (("bit", 300), ("header", 300), ("page", 60))),
    ],
)
def test_damaged_bytes_are_an_error_or_change_nothing(
    good: tuple[bytes, dict[str, str]], tmp_path: Path, how: str, times: int
) -> None:
    data, wanted = good
    path, luck, noticed = tmp_path / "audit.db", random.Random(f"{how} {times}"), 0
    for i in range(times):
        path.write_bytes(spoilt(data, luck, how))
        try:
            found = use(path)
        except FewlabelsError:
            noticed += 1
        else:
            assert found == wanted, f"{how} {i}: silently other labels"
        if i % 10 == 0:
            try:
                store = Store(path, existing=True)
            except StoreError:
                continue
            store.verify()
            store.close()
    assert noticed > (0 if how in {"bit", "swap"} else times // 20)


def test_bytes_that_changed_while_it_is_open(good: tuple[bytes, dict[str, str]], tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    path.write_bytes(good[0])
    store = Store(path)
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(bytes(path.stat().st_size - 4096))
    with pytest.raises(StoreError):
        fl.load(store, "audit").labels()
    store.close()


# --- the chain itself


def test_the_chain_is_the_one_that_was_written_down(store_url: str) -> None:
    """Somebody who may write can compute all hashes anew; a head that was written down elsewhere shows it."""
    store = Store(store_url)
    labelled(store)
    head = str(store.head("audit"))
    assert store.verify(head=head).ok
    assert store.verify(head=head.partition(":")[2]).ok
    append(store, Event("request", "z01"), name="audit")
    assert store.verify(head=head).ok, "it may have grown"
    unprotect(store)
    kept = store.events("audit")
    sql(store, "UPDATE events SET label = 'bee' WHERE seq = 3")
    with store.database.reading() as connection:
        mark = chain.Mark(0, store.ends(connection, "audit").first)
        rewritten = read_events(connection, BY_SEQ, "audit", first=0, last=2**31)
    for event in rewritten:
        mark = chain.Mark(event.seq, chain.linked(mark.hash, event))
        sql(store, f"UPDATE events SET hash = {_literal(store, mark.hash)} WHERE seq = {event.seq}")
    sql(store, f"UPDATE heads SET hash = {_literal(store, mark.hash)}")
    assert store.events("audit") != kept
    assert not store.verify().logs[0].problems, "the chain alone cannot know"
    assert "no log contains the event" in store.verify(head=head).words
    with pytest.raises(fl.InputError, match="is not a head"):
        store.verify(head="12:abc")
    beyond = store.verify(head=f"{10**30}:{head.partition(':')[2]}")  # no database has such a number
    assert "no log contains the event" in beyond.words
    assert beyond.logs[0].events == len(kept)
    store.close()


def _literal(store: Store, data: bytes) -> str:
    return f"x'{data.hex()}'" if store.database.is_sqlite else f"'\\x{data.hex()}'::bytea"


def test_copies_of_a_file_without_its_log(tmp_path: Path) -> None:
    """A plain copy during labelling soon has everything; one that is taken in the middle of a write says so."""
    audit = labelled(tmp_path / "audit.db", rounds=3)
    for _ in range(3):
        audit.ask(1)
        assert any(_copied(tmp_path) == audit.seq for _ in range(200)), "within a fifth of a second, or not at all"
    audit.close()
    with sqlite3.connect(tmp_path / "audit.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


def _copied(folder: Path) -> int:
    """How many events a plain copy of the file has a moment later; 0 if it is known to be no good."""
    time.sleep(0.1)
    shutil.copy(folder / "audit.db", folder / "copy.db")
    try:
        copy = Store(folder / "copy.db")
    except StoreError:
        return 0
    found = copy.head("audit").seq if copy.verify().ok and copy.names() else 0
    copy.close()
    return found


# What is wrong with the record of where a log ends, what `verify` says, and what a rescue says besides.
LOST = "where its log begins and ends is lost"
ENDS = {
    "seq = 'x'": (LOST, "perhaps the last events"),
    "seq = -1": (LOST, "perhaps the last events"),
    "first = x'00'": (LOST, "perhaps the last events"),
    "first = zeroblob(32)": ("event 1 is not what was written", ""),
    "hash = x'00'": (LOST, "perhaps the last events"),
    "seq = 20": ("event 20 is not the last that was written", "event 20 is not the last"),
    "seq = 4000000000": ("events 49 to 4,000,000,000 are missing", "are missing"),
    "place = 'x'": (LOST, "perhaps the last events"),
    "place = x'00'": (LOST, "perhaps the last events"),
    "place = 9223372036854775807": (LOST, "perhaps the last events"),
    "place = 3": ("the place at which it ends", ""),
    "place = NULL": ("the place at which it ends", ""),
}


@pytest.mark.parametrize("change", ENDS)
def test_a_damaged_end_of_a_log_is_noticed_and_costs_no_label(change: str, tmp_path: Path) -> None:
    """SQLite keeps whatever lies in a column. The place in the order of all logs is not in the chain."""
    labelled(tmp_path / "audit.db").close()
    store = Store(tmp_path / "audit.db")
    running = fl.load(store, "audit")
    labels, written = running.labels(), store.events("audit")
    assert store.verify().ok
    sql(store, f"UPDATE heads SET {change}")
    problems = store.verify().logs[0].problems
    assert any(ENDS[change][0] in problem for problem in problems), problems
    for call in (running.labels, lambda: running.ask(1)):
        with suppress(StoreError):  # a process that has read the log need not look at its end again
            call()
    with pytest.raises(StoreError):
        fl.load(store, "audit").ask(1)
    with pytest.raises(DamagedError):
        store.backup(tmp_path / "backup.db")
    done = store.copy(tmp_path / "rescued.db", rescue=True)
    assert ENDS[change][1] in " ".join(done.left_out)
    rescued = Store(tmp_path / "rescued.db")
    assert (rescued.events("audit")[: len(written)], rescued.verify().ok) == (written, True)
    assert fl.load(rescued, "audit").labels() == labels
    assert fl.load(rescued, "audit").ask(1).ids
    rescued.close()
    store.close()


def test_one_lost_row_does_not_keep_the_others_from_a_rescue(tmp_path: Path) -> None:
    """The end of one log, the definition of another, a person and a guide: everything else is kept."""
    labelled(tmp_path / "audit.db").close()
    store = Store(tmp_path / "audit.db")
    for name, pool in {"second": fl.read_pool([[0.9, 0.1], [0.2, 0.8]]), "third": KNOWN.pool}.items():
        audit = fl.create(store, name, pool)
        audit.tell(dict.fromkeys(audit.ask(2).ids, pool.classes[0]))
    People(store).invite("ann")
    Guides(store).write("audit", guidelines="Look closely.", by="boss")
    wanted = fl.load(store, "audit").labels(), fl.load(store, "third").labels()
    sql(
        store,
        "PRAGMA foreign_keys = OFF",
        "DELETE FROM heads WHERE assessment = 'audit'",
        "UPDATE assessments SET created_at = 'soon' WHERE name = 'second'",
        "UPDATE people SET invited_at = 'soon'",
        "UPDATE fewlabels_guides SET at = 'soon'",
    )
    with pytest.raises(DamagedError):
        store.copy(tmp_path / "copy.db")
    done = store.copy(tmp_path / "rescued.db", rescue=True)
    assert done.assessments == 2
    words_of_it = " ".join(done.left_out)
    for words in ("all of second", "second log", "perhaps the last events in audit", "people", "guides"):
        assert words in words_of_it
    with Store(tmp_path / "rescued.db") as rescued:
        assert rescued.verify().ok
        assert (fl.load(rescued, "audit").labels(), fl.load(rescued, "third").labels()) == wanted
    store.close()


@pytest.mark.parametrize("what", ["assessments SET spec = '{}'", "pool_parts SET data = x'00'"])
def test_no_backup_or_copy_is_called_good_that_cannot_be_opened(what: str, tmp_path: Path) -> None:
    labelled(tmp_path / "audit.db").close()
    store = Store(tmp_path / "audit.db")
    sql(store, f"UPDATE {what}")
    for call in (store.backup, store.copy):
        with pytest.raises(StoreError, match=r"not what was written|damaged"):
            call(tmp_path / "other.db")
    assert not (tmp_path / "other.db").exists()
    store.close()
