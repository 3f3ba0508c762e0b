"""Labels belong to the pool: several assessments of one pool share them, and nobody is asked twice."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import sqlalchemy as sa

import fewlabels as fl
from fewlabels.errors import SpecError
from fewlabels.findings.labels import count_labels
from fewlabels.labelling.ledger import Ledger
from fewlabels.store import Event
from tests.support.old_databases import write_old
from tests.support.pools import zoo

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KNOWN = zoo()


def made(rng: np.random.Generator, items: int = 400) -> tuple[fl.Pool, dict[str, str]]:
    """A pool with two columns to group by, and its truth: wrong more often at night."""
    classes = np.array(["cat", "dog", "owl"])
    predicted, night = rng.integers(0, 3, items), rng.random(items) < 0.3
    sure = rng.uniform(0.6, 0.99, items)
    right = rng.random(items) < sure - 0.3 * night
    true = np.where(right, predicted, (predicted + 1) % 3)
    ids = [f"i{i}" for i in range(items)]
    time = np.where(night, "night", "day").tolist()
    rows = {"id": ids, "predicted": classes[predicted], "confidence": sure, "time": time}
    pool = fl.read_pool(rows, classes=classes.tolist())
    return pool, dict(zip(ids, classes[true].tolist(), strict=True))


def label(audit: fl.Assessment, truth: dict[str, str], n: int, who: str | None = None) -> list[str]:
    return [item for _ in range(n // 4) for item in _four(audit, truth, who)]


def _four(audit: fl.Assessment, truth: dict[str, str], who: str | None) -> list[str]:
    batch = audit.ask(4, annotator=who)
    audit.tell({item: truth[item] for item in batch.ids}, annotator=who)
    return list(batch.ids)


@pytest.fixture
def store() -> Iterator[fl.Store]:
    opened = fl.Store(None)
    yield opened
    opened.close()


def test_a_new_question_begins_with_all_labels_and_nobody_is_asked_twice(store: fl.Store) -> None:
    pool, truth = made(np.random.default_rng(1))
    worst = fl.create(store, "worst", pool, task=fl.Identify(fl.Accuracy(), lowest=1))
    asked = label(worst, truth, 48, "ann")
    night = fl.create(store, "night", pool, fl.by_column(pool, "time"))
    assert night.labels() == worst.labels()
    assert night.others() == {"worst": 48}
    for _ in range(6):  # two people, two questions, at the same time
        one, two = worst.ask(4, annotator="ann"), night.ask(4, annotator="bob")
        asked += [*one.ids, *two.ids]
        night.tell({item: truth[item] for item in two.ids}, annotator="bob")
        worst.tell({item: truth[item] for item in one.ids}, annotator="ann")
    assert max(Counter(asked).values()) == 1
    assert night.labels() == worst.labels() == {item: truth[item] for item in asked}
    assert worst.others() == {"night": 24}
    assert "24 labels of these came from" in " ".join(count_labels(worst).sentences())


def test_the_same_quantity_is_the_same_number_in_every_question(store: fl.Store) -> None:
    pool, truth = made(np.random.default_rng(2))
    worst = fl.create(store, "worst", pool, task=fl.Identify(fl.Accuracy(), lowest=1))
    label(worst, truth, 60)
    by_time = fl.by_column(pool, "time")
    night = fl.create(store, "night", pool, by_time)
    for _ in range(2):
        assert night.estimates().columns == worst.estimates(groups=by_time).columns
        assert night.estimates(groups=fl.whole(pool)).columns == worst.estimates(groups=fl.whole(pool)).columns
        assert night.estimates(groups=worst.groups).columns == worst.estimates().columns
        label(night, truth, 20)


def test_reading_is_the_same_live_and_after_a_restart(tmp_path: Path) -> None:
    pool, truth = made(np.random.default_rng(3))
    file = tmp_path / "audit.db"
    audits = [fl.create(file, "b", pool), fl.create(file, "a", pool, fl.by_column(pool, "time"), prior=fl.Uniform())]
    rng = np.random.default_rng(4)
    for turn in range(30):
        audit = audits[int(rng.integers(2))]
        batch = audit.ask(3, annotator=("ann", "bob")[turn % 2], again=True)
        said = {item: truth[item] for item in batch.ids if rng.random() < 0.7}
        audit.tell(said, annotator=("ann", "bob")[turn % 2])
        if said and rng.random() < 0.3:
            audit.withdraw([next(iter(said))])
    for audit in audits:
        again = fl.load(file, audit.name)
        with audit._journal.reading() as live, again._journal.reading() as fresh:
            for name in ("true", "pending", "asked", "counts", "room"):
                assert np.array_equal(getattr(live, name), getattr(fresh, name)), name
            for name in ("seen", "held", "answered"):
                assert getattr(live, name) == getattr(fresh, name), name
            assert live.line.items == fresh.line.items
            for name in ("turn", "step", "elsewhere"):
                assert getattr(live.drawn, name) == getattr(fresh.drawn, name), name
        assert not set(again.ask(5).ids) & set(audit.ask(5).ids)
        again.close()
    (verdict,) = {log.problems for log in fl.Store(file).verify().logs}
    assert verdict == ()
    copy = fl.Store(file).copy(tmp_path / "copy.db")
    assert copy.left_out == ()
    assert fl.load(tmp_path / "copy.db", "b").labels() == audits[0].labels()
    for audit in audits:
        audit.close()


def test_what_another_question_has_drawn_counts_when_it_is_labelled_and_not_before(tmp_path: Path) -> None:
    pool, truth = made(np.random.default_rng(5))
    with fl.create(tmp_path / "audit.db", "worst", pool) as worst:
        label(worst, truth, 40)
        before = worst.estimates().columns
        with fl.create(tmp_path / "audit.db", "night", pool, fl.by_column(pool, "time")) as night:
            asked = night.ask(3).ids
            with fl.load(tmp_path / "audit.db", "worst") as again:
                assert worst.estimates().columns == again.estimates().columns == before
            night.tell({item: truth[item] for item in asked})
            with fl.load(tmp_path / "audit.db", "worst") as again:
                assert worst.estimates().columns == again.estimates().columns != before


def test_a_question_that_judges_groups_alone_counts_a_label_once_it_has_drawn_the_item(store: fl.Store) -> None:
    pool, truth = made(np.random.default_rng(5), 100)
    first = fl.create(store, "first", pool, task=fl.Identify(fl.Accuracy(), lowest=1))
    known = set(label(first, truth, 60, "ann"))
    alone = fl.create(store, "alone", pool, fl.by_column(pool, "time"), prior=fl.Uniform(), policy=fl.UniformItems())
    twin = fl.create(None, "alone", pool, fl.by_column(pool, "time"), prior=fl.Uniform(), policy=fl.UniformItems())
    assert alone.labels() == {}
    drawn = [item for _ in range(10) for item in _four(twin, truth, "bob")]
    while len(alone.labels()) < 40:
        (item,) = alone.ask(1, annotator="bob").ids
        assert item not in known
        alone.tell({item: truth[item]}, annotator="bob")
    # Its items are those that it would have drawn without the others: so what is promised of them still holds.
    mine = list(alone.labels())
    assert set(drawn[:36]) <= set(mine)
    assert set(mine) & known
    for row, other in zip(alone.estimates().rows(), twin.estimates().rows(), strict=True):
        assert abs(row["mean"] - other["mean"]) < 0.1


def test_a_guarantee_holds_beside_other_questions(store: fl.Store) -> None:
    pool, truth = made(np.random.default_rng(6))
    label(fl.create(store, "steered", pool, task=fl.Identify(fl.Accuracy(), lowest=1)), truth, 40)
    stop = fl.Stop(width=0.3, guarantee="anytime")
    settings: dict[str, Any] = {"policy": fl.UniformItems(), "stop": stop}
    sure, twin = (fl.create(where, "sure", pool, **settings) for where in (store, None))
    while len(sure.labels()) < 60:
        sure.tell({item: truth[item] for item in sure.ask(1).ids})
    while len(twin.labels()) < len(sure.labels()):  # the last step may have drawn an item that was known
        twin.tell({item: truth[item] for item in twin.ask(1).ids})
    assert set(sure.labels()) == set(twin.labels())
    assert sure.estimates(guarantee="anytime").columns == twin.estimates(guarantee="anytime").columns
    plain = fl.load(store, "steered")
    with pytest.raises(SpecError, match="items of other assessments of this pool count here"):
        plain.estimates(guarantee="anytime")


def test_a_second_vote_is_asked_for_only_where_it_is_wanted(store: fl.Store) -> None:
    pool, truth = made(np.random.default_rng(7))
    asked = label(fl.create(store, "one", pool), truth, 8, "ann")
    two = fl.create(store, "two", pool, overlap=2)
    assert two.labels() == {}
    assert not set(two.ask(8, annotator="ann").ids) & set(asked)
    assert set(two.ask(8, annotator="bob").ids) == set(asked)
    two.tell({item: truth[item] for item in asked}, annotator="bob")
    assert set(two.labels()) == set(asked)


def test_a_question_about_several_models_reads_its_own_draws(store: fl.Store) -> None:
    rng = np.random.default_rng(8)
    true = rng.integers(0, 3, 120)
    said = {m: np.where(rng.random(120) < p, true, rng.integers(0, 3, 120)) for m, p in (("old", 0.7), ("new", 0.9))}
    names = np.array(["cat", "dog", "owl"])
    rows = {"id": [str(i) for i in range(120)], **{m: names[s].tolist() for m, s in said.items()}}
    pool = fl.read_pool(rows, models=["old", "new"], classes=names.tolist())
    truth = dict(zip(rows["id"], names[true].tolist(), strict=True))
    which = fl.create(store, "which", pool, task=fl.Best(fl.Accuracy()))
    known = set(label(which, truth, 12, "ann"))
    old = fl.create(store, "old", pool, fl.whole(pool.of("old")), model="old")
    assert old.labels() == {}
    asked: list[str] = []
    while len(old.labels()) < 100:
        batch = old.ask(4, annotator="bob").ids
        old.tell({item: truth[item] for item in batch}, annotator="bob")
        asked += batch
    assert not known & set(asked)
    assert known & set(old.labels())


@pytest.mark.parametrize("who", ["", "other"])
def test_withdrawing_and_deciding_reach_every_question(store: fl.Store, who: str) -> None:
    pool, truth = made(np.random.default_rng(9))
    one, two = fl.create(store, "one", pool), fl.create(store, "two", pool)
    first, second, *_ = label(one, truth, 8)
    two.decide({first: "owl"}, annotator="owner")
    two.withdraw([second], annotator=who or None)
    for audit in (one, two):
        assert audit.labels()[first] == "owl"
        assert second not in audit.labels()


def test_databases_of_version_3_keep_every_label_and_share_them(shared_store_url: str) -> None:
    engine = sa.create_engine(shared_store_url.replace("postgresql://", "postgresql+psycopg://"))
    write_old(engine, 2)
    fl.Store(shared_store_url).close()  # its events have hashes now, and no places
    engine.dispose()
    with engine.begin() as connection:
        for table in ("events", "heads"):
            connection.exec_driver_sql(f"ALTER TABLE {table} DROP COLUMN place")
        connection.exec_driver_sql("UPDATE fewlabels_schema SET version = 3")
    store = fl.Store(shared_store_url)
    head = store.head("old")
    assert store.labels("old") == {"z00": "cat"}
    new = fl.create(store, "new", KNOWN.pool)
    assert new.labels() == {"z00": "cat"}
    new.tell(dict.fromkeys(new.ask(2).ids, "cow"))
    assert store.head("old") == head
    assert all(not log.problems for log in store.verify(head=str(head)).logs)
    assert [event.assessment for event in store.shared("old", {})] == ["old"] * head.seq + ["new"] * 4
    store.close()
    engine.dispose()


def test_an_unknown_part_leaves_its_items_to_be_drawn() -> None:
    """An assessment whose parts are not registered here cannot say how it drew its items."""
    ledger = Ledger(
        KNOWN.pool, fl.Accuracy(), fl.Accuracy().cells(KNOWN.pool, fl.whole(KNOWN.pool)), 1, "own", lambda _: False
    )
    item = KNOWN.pool.ids[0]
    events = [Event("request", item, 1, assessment="x"), Event("label", item, label="cat", assessment="x")]
    ledger.read(events)
    assert (ledger.labelled, ledger.is_free(0)) == (0, True)
    ledger.read([Event("request", item, 1, assessment="own")])
    assert (ledger.labelled, ledger.is_free(0)) == (1, False)


def test_a_withdrawn_item_that_another_question_draws_is_not_handed_out_here(store: fl.Store) -> None:
    pool = fl.read_pool({"predicted": ["a"] * 40}, classes=["a", "b"])
    settings: dict[str, Any] = {"prior": fl.Uniform(), "policy": fl.UniformItems(), "groups": "whole", "overlap": 2}
    own = fl.create(store, "own", pool, stop=fl.Stop(width=0.2, guarantee="anytime"), **settings)
    other = fl.create(store, "other", pool, seed=5, **settings)
    (item,) = own.ask(1, annotator="bob").ids
    own.withdraw([item])
    while item not in other.ask(1, annotator="bob").ids:
        assert len(other.pending()) < 40
    assert own.ask(1, annotator="ann").ids != [item]
    assert [row["step"] for row in own.log().rows() if row["kind"] == "request"] == [1, 2]


def test_the_labels_of_the_pool_are_exported_for_every_question() -> None:
    """A prior that judges by its own labels counts none of another question; people typed them all the same."""
    store, pool = fl.Store(None), fl.read_pool({"predicted": ["a", "b"] * 10})
    first, second = (fl.create(store, name, pool, prior=fl.Uniform()) for name in ("first", "second"))
    first.tell(dict.fromkeys(first.ask(7).ids, "a"))
    assert second.labels() == {}
    assert store.labels("second") == store.labels("first") == first.labels()


def test_reading_the_labels_of_the_pool_keeps_no_checkpoint_that_nobody_can_use() -> None:
    store, pool = fl.Store(None), fl.read_pool({"predicted": ["a", "b"] * 2_000})
    first, second = (fl.create(store, name, pool, prior=fl.Uniform(), policy=fl.UniformItems()) for name in "xy")
    first.tell(dict.fromkeys(first.ask(1_500).ids, "a"))
    assert len(store.labels("y")) == 1_500
    assert store.checkpoint("y") is None
    assert second.labels() == {}


def test_what_is_after_the_last_event_is_what_happens_next() -> None:
    """However much happens in other assessments of the pool."""
    store, pool = fl.Store(None), fl.read_pool({"predicted": ["a", "b"] * 10})
    first, second = (fl.create(store, name, pool) for name in ("first", "second"))
    second.tell(dict.fromkeys(second.ask(5).ids, "a"))
    seq, events = first.seq, first.events
    assert (seq, events) == (0, 10)
    first.tell(dict.fromkeys(first.ask(2).ids, "a"))
    assert len(first.log(after=seq)) == first.seq > 0
    assert first.events == events + first.seq


def test_a_snapshot_is_made_once_until_anything_happens_to_the_pool(store: fl.Store) -> None:
    pool, truth = made(np.random.default_rng(9))
    worst, overall = (fl.create(store, name, pool, prior=fl.Uniform()) for name in ("worst", "overall"))
    label(worst, truth, 4)
    label(overall, truth, 4)
    still = overall.snapshot()
    assert overall.snapshot() is still
    label(worst, truth, 4)
    assert overall.snapshot() is not still
