"""Answers that come late, are taken back, or are sent twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import fewlabels as fl
from fewlabels.errors import InputError, LabelError
from fewlabels.labelling import allowed
from fewlabels.store import Event, Store
from tests.support.annotators import new_audit


def _long_ago(audit: fl.Assessment, ids: list[str], annotator: str | None = None) -> None:
    """Requests of an hour ago, as the log of a slow person would have them."""
    at = datetime.now(UTC) - timedelta(hours=1)
    with audit._journal.store.transaction("audit") as log:
        log.append([Event("request", item, step=1, annotator=annotator, at=at) for item in ids])


# --- leases


def test_a_person_who_comes_back_has_their_open_items(audit: fl.Assessment) -> None:
    before = datetime.now(UTC)
    batch = audit.ask(3, annotator="ann")
    audit.ask(2, annotator="bob")
    audit.tell({batch.ids[1]: "ant"}, annotator="ann")
    held = audit.held("ann")
    assert list(held) == [batch[0], batch[2]]
    assert all(before <= request.at <= datetime.now(UTC) for request in held)
    assert [request.content for request in held] == [f"animal number {int(item[1:])}" for item in held.ids]
    assert audit.held("nobody").ids == []
    assert len(audit.held()) == 4
    assert audit.by_person()["held"] == [2, 2]


def test_what_is_held_too_long_is_handed_to_the_next(audit: fl.Assessment) -> None:
    slow = ["z03", "z12"]
    _long_ago(audit, slow, "ann")
    fresh = audit.ask(1, annotator="ann").ids
    assert audit.expire(7200) == 0
    assert audit.expire(60, people=["bob"]) == 0
    assert audit.expire(60) == 2
    assert audit.expire(60) == 0
    assert audit.held("ann").ids == fresh
    rows = list(audit.log().rows())[-2:]
    assert [(row["kind"], row["item"], row["annotator"]) for row in rows] == [("expire", i, "ann") for i in slow]
    assert {row["note"] for row in rows} == {"lease ran out"}
    assert set(slow) <= set(audit.pending()), "chosen is chosen: what people put aside is not left out"
    assert [i for i in audit.ask(3, annotator="bob").ids if i in slow] == slow


def test_who_lost_an_item_may_get_it_again(audit: fl.Assessment) -> None:
    _long_ago(audit, ["z03"], "ann")
    audit.ask(1, annotator="ann")
    audit.expire(60)
    assert audit.ask(1, annotator="ann").ids == ["z03"]
    assert "z03" not in audit.ask(5, annotator="ann").ids


def test_a_late_answer_is_taken_whoever_has_the_item_now(audit: fl.Assessment) -> None:
    """Two people answer an item of which one lost the lease: nothing is lost, and both answers stand in the log."""
    _long_ago(audit, ["z03"], "ann")
    audit.expire(60)
    assert audit.ask(1, annotator="bob").ids == ["z03"]
    assert audit.tell({"z03": "cat"}, annotator="ann") == 1
    assert audit.tell({"z03": "cat"}, annotator="bob") == 1
    assert [row["annotator"] for row in audit.log().rows() if row["kind"] == "label"] == ["ann", "bob"]
    assert audit.labels() == {"z03": "cat"}
    assert audit.agreement().raw == 1


def test_requests_without_a_name_run_out_too() -> None:
    audit = new_audit(1)
    _long_ago(audit, ["z03"])
    assert audit.expire(60) == 1
    assert audit.ask(2).ids[0] == "z03"


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), 1e300, True, "9"])
def test_a_lease_is_a_time(audit: fl.Assessment, seconds: float) -> None:
    with pytest.raises(InputError, match="'seconds' of expire"):
        audit.expire(seconds)


# --- undo, and what is sent twice


@pytest.mark.parametrize("answer", ["tell", "skip"])
def test_an_answer_taken_back_is_theirs_to_give_again(audit: fl.Assessment, answer: str) -> None:
    item = audit.ask(1, annotator="ann").ids[0]
    audit.tell({item: "ant"}, annotator="ann") if answer == "tell" else audit.skip([item], annotator="ann")
    assert audit.retract([item], annotator="ann") == 1
    assert (audit.labels(), audit.pending(), audit.disputed()) == ({}, [item], [])
    assert audit.held("ann").ids == [item]
    assert len(audit.answers("ann")) == 0
    with pytest.raises(LabelError, match=f"cannot retract '{item}': ann has not answered it"):
        audit.retract([item], annotator="ann")
    with pytest.raises(LabelError, match="bob has not answered it"):
        audit.retract([item], annotator="bob")
    for who in ["ann", "bob", "cyd"][: audit.spec.overlap]:
        audit.tell({item: "bee"}, annotator=who)
    assert audit.labels() == {item: "bee"}


def test_the_last_answers_of_a_person_come_newest_first(audit: fl.Assessment) -> None:
    a, b, c = audit.ask(3, annotator="ann").ids
    audit.tell({a: "ant"}, annotator="ann", note="sure")
    audit.skip([b], reason="unclear", annotator="ann")
    audit.tell({c: "cow"}, annotator="ann")
    audit.tell({a: "bee"}, annotator="ann")
    table = audit.answers("ann", most=2)
    assert (table["id"], table["label"], table["note"]) == ([a, c], ["bee", "cow"], [None, None])
    assert audit.answers("ann")["id"] == [a, c, b]
    assert audit.answers("ann")["note"][2] == "unclear"
    assert audit.answers("ann")["at"] == sorted(audit.answers("ann")["at"], reverse=True)


def test_a_call_sent_again_with_its_key_is_taken_once(store_url: str) -> None:
    store = Store(store_url)
    audit = new_audit(2, store)
    a, b = audit.ask(2, annotator="ann").ids
    for _ in range(3):
        assert audit.tell({a: "ant", b: "bee"}, annotator="ann", key="k1") == 2
        assert audit.retract([a], annotator="ann", key="k2") == 1
        assert audit.skip([a], annotator="ann", key="k3") == 1
        assert audit.decide({b: "cow"}, annotator="owner", key="k4") == 1
        audit = fl.load(store, "audit")  # the server was restarted meanwhile
    assert audit.log()["kind"] == ["request"] * 2 + ["label"] * 2 + ["retract", "skip", "decide"]
    for call in (
        lambda: audit.tell({a: "bee", b: "bee"}, annotator="ann", key="k1"),
        lambda: audit.tell({a: "ant"}, annotator="ann", key="k1"),
        lambda: audit.tell({a: "ant", b: "bee"}, annotator="bob", key="k1"),
        lambda: audit.skip([a], annotator="ann", key="k1"),
        lambda: audit.retract([a], annotator="ann", key="k1"),
    ):
        with pytest.raises(LabelError, match=r"the key 'k1' was used for something else. Nothing was changed"):
            call()
    assert len(audit.log()) == 7
    audit.close()
    assert store.names() == ["audit"], "the store was handed over open, and stays open"
    store.close()


def test_who_gets_an_item_again_after_a_withdrawal_is_not_told_that_it_was_withdrawn(audit: fl.Assessment) -> None:
    (item,) = audit.ask(1, annotator="ann").ids
    audit.withdraw([item])
    with pytest.raises(LabelError, match="it was withdrawn"):
        audit.retract([item], annotator="ann")
    _long_ago(audit, [item], "ann")  # drawn and handed out again
    with pytest.raises(LabelError, match="ann has not answered it"):
        audit.retract([item], annotator="ann")


def test_one_person_can_leave_only_so_many_items_to_the_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowed, "_MOST_SKIPS", 2)
    audit = new_audit(1)
    ids = audit.ask(5, annotator="ann").ids
    audit.skip(ids[:2], annotator="ann", own=True)
    with pytest.raises(
        LabelError, match="ann has skipped 2 items that wait for the owner's decision, and at most 2 can"
    ):
        audit.skip([ids[2]], annotator="ann", own=True)
    assert audit.tell({ids[3]: "ant"}, annotator="ann", own=True) == 1, "labels are taken as before"
    bobs = audit.ask(1, annotator="bob").ids
    assert audit.skip(bobs, annotator="bob", own=True) == 1
    audit.decide({ids[0]: "ant"}, annotator="owner")
    assert audit.skip([ids[2]], annotator="ann", own=True) == 1, "a decided item waits no more"
    assert audit.skip([ids[4]], annotator="ann") == 1, "who has the database needs no limit"
