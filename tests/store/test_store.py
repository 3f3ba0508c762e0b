"""The store contract, on every kind of database."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

import fewlabels as fl
from fewlabels.errors import InputError, PoolChangedError, StoreError
from fewlabels.io import read_pool
from fewlabels.store import Event, GoneError, Store
from fewlabels.store import pools as pools_module
from fewlabels.store.chain import SIZE, Mark
from fewlabels.store.schema import pool_parts
from tests.support.stores import SPEC, append, pool_of, sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    store = Store(store_url)
    store.create("pets", SPEC, pool_of())
    yield store
    store.close()


# --- what is kept comes back


def test_definition_and_pool_come_back(store: Store) -> None:
    before = datetime.now(UTC)
    pool = pool_of(5)
    store.create("more", {}, pool)
    assert store.names() == ["pets", "more"]
    record = store.open("pets")
    assert (record.name, record.spec, record.fingerprint) == ("pets", SPEC, pool_of().fingerprint)
    assert store.pool(record.fingerprint).ids.to_pylist() == pool_of().ids.to_pylist()
    assert store.open("more").fingerprint == pool.fingerprint
    assert before <= store.open("more").created_at <= datetime.now(UTC)


def test_events_come_back_as_appended(store: Store) -> None:
    told = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    given = [
        Event("request", "item 1", step=2**40, annotator="Zoë"),
        Event("label", "item 1", label="犬 🐕", annotator="o'Neil; --", note="n" * 100_000, at=told, key="k 1"),
        Event("withdraw", "", note=""),
        *(Event(kind, "item 2", annotator="Zoë") for kind in ("skip", "retract", "expire")),
        Event("decide", "item 2", label="cat"),
    ]
    before = datetime.now(UTC)
    returned = append(store, *given)
    assert returned == store.events("pets")
    assert [event.seq for event in returned] == [1, 2, 3, 4, 5, 6, 7]
    for mine, theirs in zip(given, returned, strict=True):
        assert (mine.kind, mine.item, mine.step, mine.label) == (
            theirs.kind,
            theirs.item,
            theirs.step,
            theirs.label,
        )
        assert (mine.annotator, mine.note, mine.key) == (theirs.annotator, theirs.note, theirs.key)
        assert theirs.at is not None
        assert theirs.at.utcoffset() == timedelta(0) or theirs.at == told
    assert store.events("pets")[1].at == told
    first = store.events("pets")[0].at
    assert first is not None
    assert before <= first <= datetime.now(UTC)


def test_after_gives_what_is_new(store: Store) -> None:
    assert store.events("pets") == []
    append(store, *(Event("request", f"item {i}") for i in range(4)))
    assert [event.seq for event in store.events("pets", after=2)] == [3, 4]
    assert store.events("pets", after=4) == []
    seen = {event.seq: {"pets": Mark(event.seq, event.hash)} for event in store.events("pets")}
    with store.transaction("pets", seen[3]) as log:
        assert [event.seq for event in log.events] == [4]
        assert [event.seq for event in log.append([Event("request", "x")])] == [5]
        assert [event.seq for event in log.append([Event("request", "y")])] == [6]
        assert log.append([]) == []
    seen[6] = {"pets": Mark(6, store.events("pets")[-1].hash)}
    with store.transaction("pets", seen[6]) as log:
        assert log.events == []


def test_logs_of_assessments_are_apart(store: Store) -> None:
    store.create("other", {}, pool_of())
    append(store, Event("request", "item 0"))
    assert [event.seq for event in append(store, Event("request", "item 1"), name="other")] == [1]
    assert [event.item for event in store.events("other")] == ["item 1"]


def test_a_key_is_used_once_for_an_item(store: Store) -> None:
    store.create("other", {}, pool_of())
    first = append(store, Event("label", "a", key="k"), Event("label", "b", key="k"), Event("label", "a"))
    append(store, Event("label", "a", key="k"), name="other")
    with store.transaction("pets") as log:
        assert log.keyed("k") == first[:2]
        assert log.keyed("K") == []
    with pytest.raises(StoreError, match=r"refused.*(?i:unique)"):
        append(store, Event("label", "c", key="k"), Event("label", "b", key="k"))
    assert store.events("pets") == first


def test_a_thousand_events_at_once(store: Store) -> None:
    append(store, *(Event("request", f"item {i}", step=i) for i in range(1000)))
    assert [(event.seq, event.step) for event in store.events("pets")] == [(i + 1, i) for i in range(1000)]


# --- all or nothing


def test_an_exception_leaves_the_log_as_it_was(store: Store) -> None:
    append(store, Event("request", "item 0"))
    before = store.events("pets")

    def stumble() -> None:
        with store.transaction("pets") as log:
            log.append([Event("label", "item 0", label="cat")])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        stumble()
    assert store.events("pets") == before
    assert append(store, Event("label", "item 0", label="dog"))[0].seq == 2


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Event("label", "a", note="nul \0"), "a note cannot be stored"),
        (Event("label", "a", label="\ud83d"), "a label cannot be stored"),
        (Event("label", "a", at=datetime(2026, 1, 1)), "needs a time zone"),  # noqa: DTZ001
        (Event("guess", "a"), "refused.*constraint"),  # type: ignore[arg-type]
    ],
)
def test_an_event_that_cannot_be_kept_keeps_none(store: Store, event: Event, said: str) -> None:
    with pytest.raises((StoreError, InputError), match=said):
        append(store, Event("request", "a"), event)
    assert store.events("pets") == []


def test_a_failed_create_leaves_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="JSON"):
        store.create("nan", {"x": float("nan")}, pool_of(4))
    monkeypatch.setattr(pools_module, "pack_pool", lambda _pool: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        store.create("half", {}, pool_of(4))
    assert store.names() == ["pets"]
    with pytest.raises(StoreError, match="no pool"):
        store.pool(pool_of(4).fingerprint)


@pytest.mark.parametrize("verb", ["UPDATE events SET label = 'dog'", "DELETE FROM events"])
def test_the_log_cannot_be_changed(store: Store, verb: str) -> None:
    append(store, Event("label", "item 0", label="cat"))
    with pytest.raises(sa.exc.DBAPIError, match="append-only"):
        sql(store, verb)
    assert [event.label for event in store.events("pets")] == ["cat"]


# --- names


def test_a_name_is_used_once(store: Store) -> None:
    with pytest.raises(StoreError, match=r"already has an assessment 'pets'\. Load it, or choose another name"):
        store.create("pets", {}, pool_of(9))
    assert store.open("pets").spec == SPEC
    with pytest.raises(StoreError, match="no pool"):
        store.pool(pool_of(9).fingerprint)
    with pytest.raises(InputError, match="needs a name"):
        store.create("", {}, pool_of())


def test_an_assessment_is_removed_only_as_long_as_nothing_has_happened(store: Store) -> None:
    store.create("mistake", SPEC, pool_of(9))
    store.create("same pool", SPEC, pool_of())
    store.remove("mistake")
    store.remove("same pool")
    assert store.names() == ["pets"]
    assert store.pool(pool_of().fingerprint).rows == len(pool_of())
    with pytest.raises(StoreError, match="no pool"):
        store.pool(pool_of(9).fingerprint)
    store.create("mistake", SPEC, pool_of(9))  # the name can be used again
    append(store, Event("request", "item 0"))
    with pytest.raises(StoreError, match=r"'pets' cannot be removed: its log has 1 event, .* is never deleted"):
        store.remove("pets")
    assert len(store.events("pets")) == 1
    with pytest.raises(StoreError, match="no assessment 'gone'"):
        store.remove("gone")
    assert store.verify().ok


@pytest.mark.parametrize("same_pool", [False, True])
def test_who_still_has_a_removed_assessment_open_cannot_touch_the_next_one_of_its_name(
    store_url: str, same_pool: bool, tmp_path: Path
) -> None:
    old, new = (read_pool({"id": ["0", "1", kind], "predicted": ["cat", "dog", "cat"]}) for kind in ("old", "new"))
    with Store(store_url) as store:
        fl.create(store, "other", old).tell({"0": "cat"}, adopt=True)  # its pool has labels, and its own log has none
        stale = fl.create(store, "x", old)
        unread, still = fl.load(store, "x"), stale.snapshot()
        assert stale.labels() == {"0": "cat"}
        store.remove("x")
        for audit in (stale, unread):
            with pytest.raises(GoneError, match="no assessment 'x'"):
                audit.ask(1)
        again = fl.create(store, "x", old if same_pool else new, overlap=2)
        calls = [
            lambda a: a.ask(1),
            lambda a: a.tell({"1": "cat"}, adopt=True),
            lambda a: a.labels(),
            lambda a: a.log(),
        ]
        for audit in (stale, unread):
            for call in (*calls, lambda a: a.log(), lambda a: a.history()):
                with pytest.raises(GoneError, match=r"'x' was removed and begun again .* Nothing was changed. Load it"):
                    call(audit)
        with pytest.raises(GoneError, match="begun again"):
            still.history()
        assert store.head("x").seq == 0
        assert again.tell(dict.fromkeys(again.ask(1, annotator="ann").ids, "dog"), annotator="ann") == 1
        with pytest.raises(GoneError, match="begun again"):
            stale.ask(1)
        assert fl.load(store, "x").seq == 2
        assert store.verify().ok
        store.copy(tmp_path / "copy.db")
        with Store(store.backup(tmp_path / "backup.db")) as kept, Store(tmp_path / "copy.db") as copied:
            assert store.open("x").first == kept.open("x").first == copied.open("x").first
            assert fl.load(kept, "x").seq == fl.load(copied, "x").seq == 2


@pytest.mark.parametrize("call", [Store.open, Store.events, lambda s, n: s.transaction(n).__enter__()])
def test_an_unknown_name_lists_those_there_are(store: Store, call: Callable[[Store, str], object]) -> None:
    store.create("bird's", {}, pool_of())
    with pytest.raises(StoreError, match=r"no assessment 'cats' in .*There are 'pets', \"bird's\"\."):
        call(store, "cats")
    append(store, Event("request", "a"))  # and nothing stayed locked


def test_an_empty_store_says_so(store_url: str) -> None:
    store = Store(store_url)
    with pytest.raises(StoreError, match="none yet: create one"):
        store.open("pets")
    store.close()


# --- pools


def test_a_pool_in_parts_is_kept_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools_module, "_PART", 1000)
    pool = pool_of(2000)
    store.create("one", {}, pool)
    store.create("two", {}, pool)
    with store.database.reading() as connection:
        parts = connection.execute(sa.select(pool_parts.c.data).where(pool_parts.c.fingerprint == pool.fingerprint))
        sizes = [len(part) for part in parts.scalars()]
    assert len(sizes) > 10
    assert max(sizes) == 1000
    assert store.pool(pool.fingerprint).fingerprint == pool.fingerprint


@pytest.mark.parametrize("damage", [pool_parts.update().values(data=b"\0\1" * 500), pool_parts.delete()])
def test_a_damaged_pool_is_refused(store: Store, damage: sa.Executable) -> None:
    with store.database.writing() as connection:
        connection.execute(damage)
    with pytest.raises(PoolChangedError, match="damaged"):
        store.pool(pool_of().fingerprint)


def test_another_pool_in_its_place_is_refused(store: Store) -> None:
    wanted, other = pool_of().fingerprint, pool_of(4).fingerprint
    store.create("other", {}, pool_of(4))
    sql(
        store,
        f"DELETE FROM pool_parts WHERE fingerprint = '{wanted}'",
        f"UPDATE pool_parts SET fingerprint = '{wanted}' WHERE fingerprint = '{other}'",
    )
    with pytest.raises(PoolChangedError, match=f"not the one .*{other[:12]}.*{wanted[:12]}"):
        store.pool(wanted)


# --- several at once


def test_two_stores_see_each_other(shared_store_url: str) -> None:
    one, two = Store(shared_store_url), Store(shared_store_url)
    one.create("pets", SPEC, pool_of())
    append(two, Event("request", "item 0"))
    with one.transaction("pets") as log:
        assert [event.item for event in log.events] == ["item 0"]
        log.append([Event("label", "item 0", label="cat")])
        assert [event.seq for event in two.events("pets")] == [1]  # reading waits for nobody, and sees no half
    assert [event.seq for event in two.events("pets", after=1)] == [2]
    one.close()
    two.close()


@pytest.mark.slow
def test_eight_threads_leave_no_gap(store: Store) -> None:
    def work(thread: int) -> None:
        for i in range(50):
            with store.transaction("pets") as log:
                log.append([Event("label", f"{thread} {i}", annotator=str(thread))])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    events = store.events("pets")
    assert [event.seq for event in events] == list(range(1, 401))
    assert {event.item for event in events} == {f"{thread} {i}" for thread in range(8) for i in range(50)}


def test_a_transaction_excludes_others(store: Store) -> None:
    entered, order = threading.Event(), []

    def other() -> None:
        entered.set()
        append(store, Event("label", "second"))
        order.append("second")

    thread = threading.Thread(target=other)
    with store.transaction("pets") as log:
        thread.start()
        entered.wait()
        thread.join(0.2)
        order.append("first")
        log.append([Event("label", "first")])
    thread.join()
    assert order == ["first", "second"]
    assert [event.item for event in store.events("pets")] == ["first", "second"]


def test_who_has_little_patience_does_not_wait_for_another_thread(tmp_path: Path) -> None:
    store = Store(tmp_path / "audit.db")
    with store.database.writing(), ThreadPoolExecutor(1) as other:

        def write() -> None:
            with store.database.writing(patience=0.01):
                pass

        with pytest.raises(StoreError, match=r"another thread .* for 0\.01 s"):
            other.submit(write).result(timeout=10)
    store.close()


def test_on_postgres_assessments_of_other_pools_do_not_wait_for_each_other(postgres_url: str) -> None:
    store = Store(postgres_url)
    store.create("one", {}, pool_of())
    store.create("two", {}, read_pool({"id": ["b", "c"], "predicted": ["cat", "dog"]}))
    with store.transaction("one") as one, store.transaction("two") as two:
        one.append([Event("request", "a")])
        two.append([Event("request", "b")])
    assert [event.item for name in ("one", "two") for event in store.events(name)] == ["a", "b"]
    store.close()


def test_nested_transactions_of_a_thread_are_refused_not_lost(tmp_path: Path) -> None:
    for url in (None, str(tmp_path / "audit.db")):
        store = Store(url)
        store.create("pets", {}, pool_of())
        with store.transaction("pets") as log:
            log.append([Event("request", "a")])
            with pytest.raises(StoreError, match="already has an open transaction"):
                append(store, Event("request", "b"))
        assert [event.item for event in store.events("pets")] == ["a"]
        store.close()


def test_a_log_that_got_shorter_is_noticed(store: Store) -> None:
    append(store, Event("request", "a"))
    with (
        pytest.raises(StoreError, match=r"shorter .* Load the assessment again"),
        store.transaction("pets", {"pets": Mark(5, bytes(SIZE))}),
    ):
        pass


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    store.close()
    with pytest.raises(StoreError, match="was closed"):
        store.names()
