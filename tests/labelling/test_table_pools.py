"""Assessments of pools whose items stay in a table: asking, restocking, adopting, and several processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.engines.columns import Columns
from fewlabels.errors import LabelError, PoolChangedError, StoreError
from fewlabels.io.tables import read_table
from fewlabels.labelling.choosing import Chooser
from fewlabels.labelling.journal import Journal
from fewlabels.labelling.supply import Supply
from fewlabels.reserve import keys_of
from fewlabels.store import DamagedError, Store, UnsureError
from tests.support.memory_table import MemoryTable
from tests.support.table_rows import bugs, told

if TYPE_CHECKING:
    from pathlib import Path

    from fewlabels.assessment import Assessment

COLUMNS = Columns("id", "predicted", "confidence", keep=("place",))


def begin(named: int = 30, store: Any = None, **settings: Any) -> tuple[Assessment, MemoryTable]:
    table = MemoryTable(**bugs())
    pool = read_table(table, COLUMNS, content="text", named=named)
    made = {"whole": fl.whole, "column": lambda pool: fl.by_column(pool, "place")}.get(settings.pop("groups", ""))
    groups = None if made is None else made(pool)
    return fl.create(store, "bugs", pool, groups, **settings), table


def test_items_come_in_the_order_of_their_keys() -> None:
    audit, table = begin(policy=fl.UniformGroups())
    asked = [item for _ in range(6) for item in audit.ask(10).ids]
    data = bugs()
    place = dict(zip(data["id"], data["predicted"], strict=True))
    for name in ("ant", "bee", "cat"):
        mine = np.array([item for item in data["id"] if place[item] == name])
        queue = mine[np.argsort(keys_of(mine.tolist(), 0))].tolist()
        got = [item for item in asked if place[item] == name]
        assert got == queue[: len(got)]
    assert table.asked["reserve"] > 1, "the reserve of 30 was enlarged"


def test_every_item_can_be_asked_for_and_all_labels_end_all_doubt() -> None:
    audit, _ = begin(groups="whole", target="pool")
    assert audit.spec.strips
    while batch := audit.ask(40):
        told(audit, batch.ids)
    assert len(audit.labels()) == 300
    low, high = (audit.answer().table[end][0] for end in ("low", "high"))
    assert low == high == 1.0


def test_content_is_read_by_id() -> None:
    audit, table = begin()
    batch = audit.ask(5)
    assert [request.content for request in batch] == [f"text {item[1:]}" for item in batch.ids]
    assert audit.item(batch.ids[0]) == {"text": batch[0].content}
    assert table.asked["content"] == 1, "what comes next was read in the same query"


def test_two_processes_see_what_the_other_has_named(tmp_path: Path) -> None:
    file = tmp_path / "audit.db"
    first, table = begin(named=15, store=file)
    second = fl.load(file, "bugs", pool=read_table(table, COLUMNS, content="text", named=15))
    asked: list[str] = []
    for audit in (first, second, first, second):
        batch = audit.ask(30)
        told(audit, batch.ids)
        asked += batch.ids
    assert len(set(asked)) == 120
    assert first.labels() == second.labels()
    assert first.estimates()["mean"] == pytest.approx(second.estimates()["mean"])
    first.close()
    second.close()
    stored = Store(file)
    assert len(stored.labels("bugs")) == 120
    assert stored.verify().words.startswith("bugs: 240 events with 120 labels")
    stored.backup(tmp_path / "copy.db")
    stored.close()
    again = fl.load(tmp_path / "copy.db", "bugs")
    assert len(again.labels()) == 120
    again.close()


def test_a_process_takes_labels_of_items_that_another_has_named(tmp_path: Path) -> None:
    file = tmp_path / "audit.db"
    first, table = begin(named=15, store=file)
    second = fl.load(file, "bugs", pool=read_table(table, COLUMNS, content="text", named=15))
    second.ask(1)
    asked = first.ask(60, annotator="ann").ids
    assert not second.pool.has(asked).all(), "some are named in the first alone"
    assert second.item(asked[-1]) == {"text": f"text {asked[-1][1:]}"}
    table.rows = []  # the table is not needed for a label
    assert second.tell(dict.fromkeys(asked[:40], "ant"), annotator="ann") == 40
    assert second.skip(asked[40:], annotator="ann") == 20
    assert second.retract(asked[:1], annotator="ann") == 1
    assert len(first.labels()) == 39
    with pytest.raises(LabelError, match="unknown item 'nothing'"):
        second.tell({"nothing": "ant"})
    first.close()
    second.close()


def test_an_answer_about_an_item_that_another_process_has_named_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, table = begin(named=15, store=tmp_path / "audit.db")
    second = fl.load(tmp_path / "audit.db", "bugs", pool=read_table(table, COLUMNS, content="text", named=15))
    new, other, third = [item for item in bugs()["id"] if not first.pool.has([item])[0]][:3]
    first.tell({new: "ant"}, annotator="ann", adopt=True)
    assert second.tell({new: "bee"}, annotator="ann") == 1
    first.tell({other: "ant"}, annotator="ann", adopt=True)
    assert second.retract([other], annotator="ann") == 1
    (held,) = second.ask(1, annotator="bob").ids

    def late(journal: Journal) -> None:  # somebody names an item after the last look, and before the transaction
        caught_up(journal)
        if journal is second._journal and not first.pool.has([third])[0]:
            first.tell({third: "cat"}, annotator="ann", adopt=True)

    caught_up = Journal._catch_up
    monkeypatch.setattr(Journal, "_catch_up", late)
    assert second.tell({held: "cat"}, annotator="bob") == 1
    assert first.labels() == second.labels() == {new: "bee", third: "cat", held: "cat"}
    first.close()
    second.close()


def test_an_answer_is_taken_before_the_table_is_read() -> None:
    audit, table = begin(named=15)
    asked = audit.ask(2, annotator="ann").ids
    table.rows = table.rows[:250]
    taken, batch = audit.tell_and_ask({asked[0]: "ant"}, 200, annotator="ann", key="a")
    assert (taken, len(batch)) == (1, 0)
    assert "has changed since it was read: 300 items before, 250 now" in repr(batch)
    assert audit.labels() == {asked[0]: "ant"}
    table.rows = MemoryTable(**bugs()).rows
    taken, batch = audit.tell_and_ask({asked[0]: "ant"}, 200, annotator="ann", key="a")
    assert (taken, len(batch), batch.trouble) == (1, 200, "")
    assert batch.ids[0] == asked[1], "what the person holds comes first"


def test_nobody_waits_for_a_table_that_is_away_if_nothing_of_it_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = fl.create(tmp_path / "audit.db", "bugs", read_table(MemoryTable(**bugs()), COLUMNS, named=60))
    items = audit.ask(2, annotator="ann").ids
    other = fl.load(f"sqlite:///{tmp_path / 'audit.db'}?timeout=0.1", "bugs")
    again = fl.load(tmp_path / "audit.db", "bugs", pool=read_table(MemoryTable(**bugs()), COLUMNS, named=60))
    tries: list[int] = []

    def away(*_: object) -> None:
        tries.append(other.tell({items[len(tries)]: "ant"}, annotator="ann"))  # while somebody waits for the table
        raise StoreError("no connection")

    monkeypatch.setattr(MemoryTable, "lookup", away)
    assert [len(again.ask(1, annotator="bob")) for _ in range(3)] == [1, 1, 1]
    assert tries == [1], "nobody keeps the log for it, and it is not tried again and again"
    monkeypatch.undo()
    for each in (audit, other, again):
        each.close()


def test_what_the_pool_has_is_shown_without_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(None)
    audit = fl.create(store, "bugs", read_table(MemoryTable(**bugs()), COLUMNS, content="place", named=60))
    asked = {request.id: request.content for request in audit.ask(3, annotator="ann")}
    again = fl.load(store, "bugs")
    monkeypatch.setattr(Supply, "table", _away)
    assert {request.id: request.content for request in again.held("ann")} == asked
    assert len(again.ask(2, annotator="bob")) == 2


def _away(*_: object) -> None:
    raise StoreError("no connection")


@pytest.mark.parametrize("error", [DamagedError("x is damaged"), UnsureError("lost"), StoreError("x is locked")])
def test_what_is_wrong_with_the_database_is_no_trouble_of_the_table(
    error: StoreError, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit, _ = begin(named=15)
    (item,) = audit.ask(1, annotator="ann").ids
    monkeypatch.setattr(Supply, "table", _away)
    _, batch = audit.tell_and_ask({item: "ant"}, 100, annotator="ann")
    assert "no connection" in batch.trouble

    def wrong(*_: object) -> None:
        raise error

    monkeypatch.undo()
    monkeypatch.setattr(Chooser, "chosen", wrong)
    with pytest.raises(StoreError, match=str(error)):
        audit.tell_and_ask({item: "bee"}, 1, annotator="ann")
    assert audit.labels() == {item: "bee"}


def test_two_assessments_of_one_table_share_what_is_named() -> None:
    store = Store(None)
    first, table = begin(named=15, store=store)
    first.ask(60)
    pool = read_table(table, COLUMNS, content="text", named=120)
    second = fl.create(store, "more bugs", pool, policy=fl.UniformItems())
    assert second.pool.id_column.equals(first.pool.id_column)
    asked = second.ask(25)
    told(second, asked.ids)
    again = fl.load(store, "more bugs", pool=pool)
    assert again.labels() == second.labels()
    assert [request.content for request in asked] == [f"text {item[1:]}" for item in asked.ids]


def test_a_label_of_an_item_that_nobody_asked_for() -> None:
    audit, table = begin(named=15)
    named = {*audit.pool.ids.to_pylist()}
    stranger = next(item for item in bugs()["id"] if item not in named)
    with pytest.raises(LabelError, match=f"unknown item '{stranger}': nobody asked for it"):
        audit.tell({stranger: "ant"})
    audit.tell({stranger: "ant"}, adopt=True)
    assert audit.labels() == {stranger: "ant"}
    assert table.asked["lookup"] == 1
    with pytest.raises(LabelError, match="unknown item 'nothing'"):
        audit.tell({"nothing": "ant"}, adopt=True)
    # It is no random draw, and not the next in any queue.
    assert stranger not in audit.ask(10).ids
    assert sum(audit.by_group()["adopted"]) == 1


def test_a_table_that_changed_is_noticed_before_items_are_drawn_from_it() -> None:
    audit, table = begin(named=15)
    before = audit.ask(3).ids
    table.rows = table.rows[:250]
    with pytest.raises(PoolChangedError, match="has changed since it was read: 300 items before, 250 now"):
        audit.ask(200)
    told(audit, before)
    assert len(audit.labels()) == 3
    assert audit.answer().table["mean"][0] > 0


@pytest.mark.parametrize("content", ["text", None])
def test_items_with_other_predictions_are_noticed_before_they_are_handed_out(content: str | None) -> None:
    """The ids are row numbers, and the table was replaced in place: the same number of rows, and other items."""
    table = MemoryTable(**bugs())
    audit = fl.create(None, "bugs", read_table(table, COLUMNS, content=content, named=300))
    assert len(audit.ask(3)) == len(audit.ask(3)) == 3
    assert table.asked["lookup"] == 1, "those that come next were compared in the same query"
    told(audit, audit.ask(40).ids)
    audit = fl.create(None, "bugs", read_table(MemoryTable(**bugs()), COLUMNS, content=content, named=300))
    assert audit.pool.reserve is not None
    table = audit.pool.reserve.link
    table.rows = MemoryTable(**bugs(seed=1)).rows
    with pytest.raises(PoolChangedError, match=r"item 'i\d+' is gone, or has a different prediction, confidence or"):
        audit.ask(3)
    assert not audit.pending()


@pytest.mark.slow
def test_findings_plans_and_reports_of_such_a_pool(tmp_path: Path) -> None:
    from fewlabels.findings.finding import find
    from fewlabels.planning import plan

    audit, _ = begin(named=200, task=fl.Identify(fl.Accuracy(), lowest=1))
    batch = audit.ask(60)
    audit.tell(dict.fromkeys(batch.ids, "ant"))
    found = find(audit)
    assert found.items == 300
    assert sum(row.n for row in found.groups) == 300
    path = audit.report(tmp_path / "report.html")
    assert "text " in path.read_text(), "mistakes are shown with their content"
    assert audit.reliability()["n"] == fl.by_score(audit.pool, 10).sizes.tolist()
    made = plan(audit.pool, budgets=[20], runs=2)
    assert made.table["labels"] == [20]


def test_groups_by_a_column_that_was_not_kept_are_refused() -> None:
    audit, _ = begin()
    with pytest.raises(fl.InputError, match="no column 'text'"):
        fl.by_column(audit.pool, "text")


def test_the_table_of_classes_counts_items_and_not_rows() -> None:
    audit, _ = begin()
    told(audit, audit.ask(20).ids)
    data = bugs()
    memory = fl.create(None, "bugs", fl.read_pool({name: data[name] for name in ("id", "predicted", "confidence")}))
    memory.tell(audit.labels(), adopt=True)
    ours, theirs = audit.classes().classes, memory.classes().classes
    assert ours["n"] == theirs["n"] == [data["predicted"].count(name) for name in audit.pool.choices]
    np.testing.assert_allclose(ours["f1"], theirs["f1"], atol=0.1)


def test_the_table_of_fairness_counts_items_and_not_rows() -> None:
    audit, _ = begin(groups="column")
    told(audit, audit.ask(20).ids)
    data = bugs()
    for row in audit.fairness(positive="bee").groups.rows():
        here = [said for said, place in zip(data["predicted"], data["place"], strict=True) if place == row["group"]]
        if row["measure"] == "selection rate":
            assert row["value"] == pytest.approx(here.count("bee") / len(here))
        elif row["value"] is not None:
            assert 0 <= row["value_low"] <= row["value"] <= row["value_high"] <= 1


def test_a_table_is_no_model_beside_others() -> None:
    _, table = begin()
    pool = read_table(table, COLUMNS)
    with pytest.raises(fl.InputError, match=r"items of 'old' stay in their table.*sample=100000"):
        fl.read_pool({"old": pool, "new": {"id": ["i1", "i2"], "predicted": ["ant", "bee"]}})
