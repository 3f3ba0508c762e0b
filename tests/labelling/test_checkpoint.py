"""A ledger from a checkpoint and the rest of the log equals one from the whole log, at every event."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.labelling import checkpoint
from fewlabels.labelling.checkpoint import catch_up, packed
from fewlabels.labelling.ledger import Ledger
from fewlabels.labelling.progress import agreed, answers, by_group, by_person, disputes
from fewlabels.store import DamagedError, Event, GoneError, Kind, Mark, Store
from tests.support.annotators import KNOWN, new_audit
from tests.support.stores import sql, unprotect

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

NOW = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
PEOPLE = (None, "ann", "bob", "Zoë", "d")
KINDS: tuple[Kind, ...] = ("request", "label", "skip", "decide", "retract", "expire", "withdraw")
WEIGHTS = (8, 8, 3, 1, 2, 2, 1)
METRIC = fl.Accuracy()
GROUPS = fl.by_predicted(KNOWN.pool)
LOGS = ("", "own", "read", "unread")  # of which assessment an event is: items of "read" count, those of "unread" do not


def history(seed: int, length: int) -> list[Event]:
    """Any events at all, in any order: more than a well-behaved assessment would ever write."""
    luck = random.Random(seed)
    items = KNOWN.pool.ids.to_pylist()[:12]
    events = []
    for seq in range(1, length + 1):
        kind = luck.choices(KINDS, WEIGHTS)[0]
        label = luck.choice(KNOWN.pool.classes) if kind in ("label", "decide") else None
        note = luck.choice((None, "", "unclear", "犬"))
        at = NOW + timedelta(seconds=luck.randrange(-50, 50))
        step = seq if kind == "request" else 0
        who = luck.choice(PEOPLE)
        link, log = bytes([seq % 251]) * 32, luck.choice(LOGS)
        events.append(
            Event(kind, luck.choice(items), step, label, who, note, at, seq, hash=link, place=seq, assessment=log)
        )
    return events


def ledger_of(overlap: int, metric: fl.Metric = METRIC) -> Ledger:
    return Ledger(KNOWN.pool, metric, metric.cells(KNOWN.pool, GROUPS), overlap, "own", lambda name: name == "read")


def state(ledger: Ledger) -> dict[str, Any]:
    """Everything that a ledger knows, down to the order in which people's items come."""
    arrays = ("true", "pending", "asked", "strange", "withdrawn", "counts", "waiting", "room")
    votes = {
        item: (list(v.given.items()), list(v.held), v.handed, v.decided, v.asker, v.step, v.turn, v.queued)
        for item, v in ((item, ledger.votes[item]) for item in sorted(ledger.votes))
    }
    plain = {"seen": ledger.seen, "changes": ledger.changes, "queue": ledger.line.items}
    plain |= {"shared": ledger.shared, "lost": ledger.lost}
    plain |= {name: getattr(ledger.drawn, name) for name in ("step", "turn", "last", "elsewhere")}
    tables = [by_person(ledger), by_group(ledger, GROUPS), agreed(ledger).pairs]
    tables += [answers(ledger, KNOWN.pool, who, 99) for who in PEOPLE]
    return plain | {
        "arrays": {name: getattr(ledger, name).tolist() for name in arrays},
        "votes": votes,
        "held": [(who, list(items.items())) for who, items in ledger.held.items()],
        "answered": [(who, list(items)) for who, items in ledger.answered.items()],
        "disputed": list(ledger.disputed.items()),
        "disputes": disputes(ledger, KNOWN.pool, GROUPS),
        "late": ledger.held_outside(NOW, NOW + timedelta(seconds=9)),
        "lacking": [ledger.lacking(who, 99) for who in PEOPLE],
        "skips": {who: n for who, n in ledger.skips.items() if n},
        "decisions": {who: n for who, n in ledger.decisions.items() if n},
        "tables": [table.columns for table in tables],
    }


def restored(ledger: Ledger, overlap: int, metric: fl.Metric = METRIC) -> Ledger:
    other = ledger_of(overlap, metric)
    kept = checkpoint._opened(packed(ledger))
    assert kept is not None
    assert checkpoint._restored(other, kept)
    other.seen = dict(ledger.seen)
    return other


@pytest.mark.parametrize("overlap", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_a_checkpoint_and_the_rest_are_the_whole_log_at_every_event(overlap: int, seed: int) -> None:
    events = history(seed, 120)
    whole = ledger_of(overlap)
    whole.read(events)
    wanted = state(whole)
    before = ledger_of(overlap)
    for seq in range(len(events) + 1):
        again = restored(before, overlap)
        if seq % 10 == 0:
            straight = ledger_of(overlap)
            straight.read(events[:seq])
            assert state(restored(before, overlap)) == state(straight)
        again.read(events[seq:])
        assert state(again) == wanted, f"from a checkpoint at event {seq}"
        before.read(events[seq : seq + 1])  # it has frozen its votes, and goes on


@pytest.mark.parametrize("metric", [fl.Confusion(), fl.Recall("cat"), fl.CalibrationError(bins=3)])
def test_counts_are_those_of_any_metric(metric: fl.Metric) -> None:
    events = history(9, 200)
    whole, half = ledger_of(2, metric), ledger_of(2, metric)
    whole.read(events)
    half.read(events[:130])
    again = restored(half, 2, metric)
    again.read(events[130:])
    assert np.array_equal(again.counts, whole.counts)
    assert np.array_equal(again.waiting, whole.waiting)


def test_a_log_that_adds_up_in_another_way_needs_another_form() -> None:
    """If the rules of the ledger changed, raise the number in checkpoint._FORM, and take the new digest."""
    ledger = ledger_of(2)
    ledger.read(history(5, 150))
    found = state(ledger)
    found["votes"] = [(item, *rest[:2], sorted(map(str, rest[2])), *rest[3:]) for item, rest in found["votes"].items()]
    found["lost"] = sorted((str(who), sorted(items)) for who, items in found["lost"].items())
    found["shared"] = sorted(found["shared"])
    digest = sha256(repr(found).encode()).hexdigest()[:16]
    assert (checkpoint._FORM, digest) == ("fewlabels ledger 3", "576cda63039a9671")


# --- in a store


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint after every ten events."""
    monkeypatch.setattr(checkpoint, "_FEWEST", 10)
    monkeypatch.setattr(checkpoint, "_SHARE", 1_000)


def work(audit: fl.Assessment, rounds: int = 6) -> None:
    for i in range(rounds):
        ids = audit.ask(4, annotator="ann").ids
        audit.tell(dict.fromkeys(ids[:3], KNOWN.pool.classes[i % 3]), annotator="ann", key=str(i))


@pytest.mark.usefixtures("often")
def test_a_loaded_assessment_reads_only_what_is_new(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(store_url)
    audit = new_audit(1, store)
    work(audit)
    found = store.checkpoint("audit")
    assert found is not None
    assert 30 <= found[0].seq <= 42
    read: list[int] = []
    reading = Ledger.read

    def counting(ledger: Ledger, events: Sequence[Event]) -> None:
        read.append(len(events))
        reading(ledger, events)

    monkeypatch.setattr(Ledger, "read", counting)
    again = fl.load(store, "audit")
    assert again.labels() == audit.labels()
    assert sum(read) == 42 - found[0].seq
    assert list(again.ask(3, annotator="bob")) == list(audit.held("bob"))
    store.close()


SPOILT: dict[str, Callable[[Store], None]] = {
    "its bytes": lambda s: sql(s, "UPDATE checkpoints SET data = digest"),
    "its digest": lambda s: sql(s, "UPDATE checkpoints SET digest = hash"),
    "its place": lambda s: sql(s, "UPDATE checkpoints SET seq = seq - 1"),
    "its hash": lambda s: sql(s, "UPDATE checkpoints SET hash = digest"),
    "nothing": lambda s: sql(s, "DELETE FROM checkpoints"),
    "another log": lambda s: s.keep_checkpoint("audit", Mark(20, b"x" * 32), (s.checkpoint("audit") or (0, b""))[1]),
    "another form": lambda s: s.keep_checkpoint("audit", s.head("audit"), b"fewlabels ledger 0\n9\nwhatever"),
}


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("what", SPOILT)
def test_a_checkpoint_that_does_not_fit_is_thrown_away(store_url: str, what: str) -> None:
    store = Store(store_url)
    audit = new_audit(1, store)
    work(audit)
    wanted = audit.labels(), audit.pending(), audit.seq
    SPOILT[what](store)
    again = fl.load(store, "audit")
    assert (again.labels(), again.pending(), again.seq) == wanted
    assert store.checkpoint("audit") is not None, "and a new one is kept"
    store.close()


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("log", ["audit", "other"])
def test_events_that_are_missing_before_a_checkpoint_are_noticed(store_url: str, log: str) -> None:
    """Its labels are known all the same, but whoever reads them must hear that the log is damaged."""
    store = Store(store_url)
    fl.create(store, "other", KNOWN.pool).ask(9)
    work(new_audit(1, store))
    assert store.checkpoint("audit") is not None
    unprotect(store)
    sql(store, f"DELETE FROM events WHERE assessment = '{log}' AND seq BETWEEN 4 AND 6")
    with pytest.raises(DamagedError, match=f"events 4 to 6 are missing in the log of '{log}'"):
        fl.load(store, "audit").labels()
    with pytest.raises(DamagedError, match="events 4 to 6 are missing"):
        store.labels("audit")
    store.close()


@pytest.mark.usefixtures("often")
def test_the_checkpoint_of_another_assessment_of_the_same_name_is_not_read() -> None:
    store = Store(None)
    fl.create(store, "other", KNOWN.pool).ask(20)
    removed = new_audit(1, store)
    stale = fl.load(store, "audit")
    assert removed.events == 20
    kept = store.checkpoint("audit")
    assert kept is not None
    store.remove("audit")
    work(new_audit(2, store))
    with pytest.raises(GoneError, match="begun again"):
        stale.labels()  # it has read nothing yet, and the checkpoint is that of the next one
    store.keep_checkpoint("audit", *kept)  # by one who was slow to notice
    assert fl.load(store, "audit").seq == 42
    store.close()


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("value", ["'x'", "''", "x'ff'", "1.5", "99"])
def test_places_that_are_no_numbers_of_events_are_damage_and_no_crash(tmp_path: Path, value: str) -> None:
    """SQLite keeps whatever lies in a column: one damaged byte makes a text of a number."""
    store = Store(tmp_path / "audit.db")
    work(audit := new_audit(1, store))
    wanted = audit.labels()
    sql(store, f"UPDATE checkpoints SET seq = {value}")
    assert store.checkpoint("audit") is None
    assert fl.load(store, "audit").labels() == wanted
    sql(store, f"UPDATE heads SET seq = {value}")
    with pytest.raises(DamagedError):
        fl.load(store, "audit").labels()
    assert not store.verify().ok
    store.close()


@pytest.mark.usefixtures("often")
def test_labels_without_parts_come_from_it_too(store_url: str) -> None:
    store = Store(store_url)
    audit = new_audit(1, store)
    work(audit)
    ledger = ledger_of(1)
    catch_up(ledger, store, "audit")
    assert ledger.labelled == len(audit.labels()) == 18
    assert store.labels("audit") == audit.labels()
    store.close()


@pytest.mark.parametrize("seed", range(5))
def test_who_drew_items_is_read_from_columns_and_leaves_them_columns(seed: int) -> None:
    events = history(seed, 60)
    ledger, plain = ledger_of(2), ledger_of(2)
    ledger.read(events[:40])
    ledger.votes.freeze()
    ledger.read(events[40:])  # thaws some of them
    plain.read(events)
    items = np.array(sorted(plain.votes), dtype=np.intp)
    before = len(ledger.votes._row)
    votes = [plain.votes[item] for item in items.tolist()]
    names = sorted({about.asker for about in votes if about.asker is not None})
    askers, steps, turns = ledger.votes.drawn(items, names)
    assert 0 < before < len(items)
    assert len(ledger.votes._row) == before
    assert [None if k < 0 else names[k] for k in askers.tolist()] == [about.asker for about in votes]
    assert steps.tolist() == [about.step for about in votes]
    assert turns.tolist() == [about.turn for about in votes]


# --- the past


def then(ledger: Ledger, events: int, overlap: int = 1) -> Ledger:
    """The ledger as it was after some events, by its past."""
    return next(ledger.past.each(lambda: ledger_of(overlap), [events]))


def shown(ledger: Ledger) -> dict[str, Any]:
    """Everything that results are read from: labels, counts, and how the items were drawn."""
    taken = np.flatnonzero(ledger.pending | (ledger.true >= 0))
    names = ("true", "pending", "counts", "waiting", "room", "foreign")
    arrays = {name: getattr(ledger, name).tolist() for name in names}
    draws = [column.tolist() for column in ledger.votes.drawn(taken, ["own", "read", "unread"])]
    return arrays | {
        "draws": draws,
        "labelled": ledger.labelled,
        "askers": ledger.askers(),
        "elsewhere": ledger.drawn.elsewhere,
        "step": ledger.drawn.step,
    }


@pytest.mark.parametrize("overlap", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_past_is_what_reading_a_part_of_the_log_shows(overlap: int, seed: int) -> None:
    events = history(seed, 150)
    whole = ledger_of(overlap)
    whole.read(events[:60])
    again = restored(whole, overlap)  # a part of its past is compressed
    again.read(events[60:100])
    early = again.copy()
    again.read(events[100:])
    slow = ledger_of(overlap)
    for count in range(len(events) + 1):
        assert shown(then(again, count, overlap)) == shown(slow), count
        if count <= 100:
            assert shown(then(early, count, overlap)) == shown(slow), count
        slow.read(events[count : count + 1])


@pytest.mark.parametrize("seed", range(4))
def test_details_of_labels_are_those_of_the_log(seed: int) -> None:
    events = history(seed, 400)
    ledger = ledger_of(2)
    ledger.read(events)
    counting = ledger.true >= 0
    ids = set(np.array(KNOWN.pool.ids.to_pylist())[counting].tolist())
    told = [event for event in events if event.label is not None and event.item in ids]
    last: dict[tuple[str, str | None], str | None] = {}
    replaced = 0
    for event in told:
        if event.kind == "label":
            key = event.item, event.annotator
            replaced += last.get(key, event.label) != event.label
            last[key] = event.label
    decided = {event.item for event in told if event.kind == "decide"}
    people = {event.annotator for event in told if event.annotator}
    assert replaced > 0
    times = [event.at for event in told if event.at is not None]
    assert ledger.past.details(counting) == (replaced, len(decided), len(people), min(times), max(times))
    assert ledger_of(2).past.details(counting) == (0, 0, 0, None, None)


@pytest.mark.parametrize("parts", [1, 7, 31])
def test_parts_of_the_log_have_equally_many_labels(parts: int) -> None:
    events = history(3, 200)
    ledger = ledger_of(1)
    ledger.read(events)
    told = [i + 1 for i, event in enumerate(events) if event.label is not None]
    wanted = [0, *(told[len(told) * (i + 1) // parts - 1] for i in range(parts))]
    assert ledger.past.stops(parts) == [*wanted, *([200] if wanted[-1] < 200 else [])]
    assert ledger_of(1).past.stops(parts) == [0]


def test_a_copy_that_reads_on_leaves_the_other_alone() -> None:
    events = history(1, 60)
    first = ledger_of(1)
    first.read(events[:30])
    second = first.copy()
    second.read(events[30:])
    assert shown(then(second, 60)) == shown(second)
    assert shown(then(first, 60)) == shown(first)
