"""Several annotators: who gets what, which label counts, and what can be seen of it."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import fewlabels as fl
from fewlabels.errors import InputError, LabelError, SpecError
from tests.support.annotators import KNOWN, new_audit
from tests.support.pools import CLASSES

if TYPE_CHECKING:
    from pathlib import Path

# --- who is asked


@pytest.mark.parametrize("overlap", [1, 2, 3])
def test_each_item_is_asked_of_k_people_and_nobody_twice(overlap: int) -> None:
    """Four people take turns with batches of different sizes until there is nothing left."""
    audit, seen = new_audit(overlap), {who: list[str]() for who in "abcd"}
    for turn in range(200):
        who = "abcd"[turn % 4]
        batch = audit.ask(1 + turn % 3, annotator=who)
        seen[who] += batch.ids
        audit.tell(KNOWN.labels(batch.ids), annotator=who)
    count = Counter(item for items in seen.values() for item in items)
    assert dict(count) == dict.fromkeys(KNOWN.truth, overlap)
    assert all(len(set(items)) == len(items) for items in seen.values())
    assert audit.labels() == KNOWN.truth
    assert audit.disputed() == []
    assert audit.by_person()["labels"] == [len(seen[who]) for who in "abcd"]


def test_what_lacks_votes_comes_before_anything_new() -> None:
    audit = new_audit(2)
    first = audit.ask(3, annotator="ann").ids
    assert not set(audit.ask(2, annotator="ann").ids) & set(first), "a person is not asked twice"
    again = audit.ask(4, annotator="bob")
    assert again.ids[:3] == first
    assert [request.annotator for request in again] == ["bob"] * 4
    assert not set(audit.ask(1, annotator="cyd").ids) & set(first), "two have it already"


def test_overlap_needs_names_and_a_whole_number() -> None:
    audit = new_audit(2)
    for call in (
        lambda: audit.ask(1),
        lambda: audit.tell({"z00": "ant"}),
        lambda: audit.skip(["z00"]),
        lambda: audit.retract(["z00"]),
    ):
        with pytest.raises(InputError, match=r"2 different people are asked .* needs a name: .*annotator='ann'"):
            call()
    with pytest.raises(InputError, match="must be a name"):
        audit.ask(1, annotator=" ")
    assert len(audit.log()) == 0
    for wrong in (0, -1, True, 1.5, "2"):
        with pytest.raises(SpecError, match="'overlap' must be a whole number of at least 1"):
            new_audit(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("overlap", [1, 2])
def test_a_loaded_assessment_goes_on_exactly(tmp_path: Path, overlap: int) -> None:
    """With votes missing, a dispute, a lost request and one taken back, everybody's next requests are the same."""
    audit, twin = new_audit(overlap, tmp_path / "audit.db"), new_audit(overlap)
    for a in (audit, twin):
        ann, bob = a.ask(6, annotator="ann").ids, a.ask(4, annotator="bob").ids
        a.tell(KNOWN.labels(ann[:3]), annotator="ann")
        a.skip(bob[:1], annotator="bob")
        a.retract(ann[1:2], annotator="ann")
        a.expire(0, people=["bob"])
        a.withdraw(ann[2:3])
    audit.close()
    loaded = fl.load(tmp_path / "audit.db", "audit")
    assert loaded.spec.overlap == overlap
    assert [d.id for d in loaded.disputed()] == [d.id for d in twin.disputed()]
    for who in ("bob", "ann", "cyd", "bob"):
        assert list(loaded.held(who)) == list(twin.held(who))
        assert list(loaded.ask(3, annotator=who)) == list(twin.ask(3, annotator=who))
    loaded.close()


# --- which label counts


def _vote(audit: fl.Assessment, votes: dict[str, str]) -> str:
    """One item, asked of these people; what they say, "-" for a skip, "." for nothing yet."""
    (item,) = {audit.ask(1, annotator=who).ids[0] for who in votes}
    for who, label in votes.items():
        if label == "-":
            audit.skip([item], reason="not in the list", annotator=who)
        elif label != ".":
            audit.tell({item: label}, annotator=who)
    return item


@pytest.mark.parametrize(
    ("overlap", "said", "counts", "disputed"),
    [
        (1, ["ant"], "ant", False),
        (1, ["-"], None, True),
        (2, ["ant", "."], None, False),
        (2, ["ant", "ant"], "ant", False),
        (2, ["ant", "bee"], None, True),
        (2, ["ant", "-"], None, True),
        (3, ["ant", "ant", "."], "ant", False),
        (3, ["ant", "bee", "."], None, False),
        (3, ["ant", "bee", "ant"], "ant", False),
        (3, ["ant", "bee", "cat"], None, True),
        (3, ["ant", "-", "ant"], "ant", False),
        (3, ["ant", "-", "bee"], None, True),
    ],
)
def test_a_label_counts_once_it_is_settled(overlap: int, said: list[str], counts: str | None, disputed: bool) -> None:
    audit = new_audit(overlap)
    people = dict(zip(("ann", "bob", "cyd"), said, strict=False))
    item = _vote(audit, people)
    assert audit.labels() == ({item: counts} if counts else {})
    assert audit.pending() == ([] if counts else [item]), "never silently dropped"
    assert audit.belief().counts.sum() == (counts is not None)
    assert [d.id for d in audit.disputed()] == [item] * disputed
    assert sum(audit.by_group()["unresolved"]) == disputed
    if disputed:
        (waiting,) = audit.disputed()
        assert waiting.votes == {who: label for who, label in people.items() if label not in "-."}
        assert waiting.skips == {who: "not in the list" for who, label in people.items() if label == "-"}
        group = CLASSES[KNOWN.pool.predicted[int(item[1:])]]
        assert (waiting.content, waiting.group) == (f"animal number {int(item[1:])}", group)
        assert not set(audit.ask(30, annotator="new").ids) & {item}, "it waits for the owner and nobody else"


def test_the_owner_has_the_last_word(audit: fl.Assessment) -> None:
    k = audit.spec.overlap
    people = ["ann", "bob", "cyd"][:k]
    item = _vote(audit, dict(zip(people, ["ant", "bee", "-"], strict=False)))
    assert audit.decide({item: "cow"}, annotator="owner", note="seen the tail") == 1
    assert audit.labels() == {item: "cow"}
    assert audit.disputed() == []
    audit.tell({item: "ant"}, annotator="late")
    assert audit.labels() == {item: "cow"}, "votes do not change it"
    audit.decide({item: "eel"}, annotator="owner")
    assert audit.labels() == {item: "eel"}
    assert audit.by_person().where(annotator="owner")["decided"] == [1]
    free = next(i for i in KNOWN.truth if i != item)
    with pytest.raises(LabelError, match=f"cannot decide '{free}': it was never asked for"):
        audit.decide({free: "ant"})
    audit.decide({free: "ant"}, adopt=True)
    assert audit.labels()[free] == "ant"


def test_a_persons_second_answer_replaces_their_first(audit: fl.Assessment) -> None:
    people = ["ann", "bob", "cyd"][: audit.spec.overlap]
    item = _vote(audit, dict.fromkeys(people, "ant"))
    for who in people:
        audit.skip([item], annotator=who)
    assert audit.labels() == {}
    assert [list(d.skips) for d in audit.disputed()] == [people]
    for who in people:
        audit.tell({item: "bee"}, annotator=who)
    assert audit.labels() == {item: "bee"}
    assert audit.by_person()["labels"] == [1] * len(people)
    assert audit.by_person()["skips"] == [0] * len(people)
    assert audit.log()["kind"].count("label") == 2 * len(people), "the log keeps all"


def test_skips_are_of_items_that_were_asked_for_and_have_a_reason(audit: fl.Assessment) -> None:
    with pytest.raises(
        LabelError, match=r"cannot skip 'z00': it was never asked for. Nothing was changed. Ask first.$"
    ):
        audit.skip(["z00"], annotator="ann")
    item = audit.ask(1, annotator="ann").ids[0]
    with pytest.raises(InputError, match="needs a reason"):
        audit.skip([item], reason=" ", annotator="ann")
    with pytest.raises(InputError, match=r"'ids' of skip\(\) is a list"):
        audit.skip(item, annotator="ann")
    assert audit.skip([item, item], annotator="ann") == 1
    assert audit.log()["note"][-1] == "unclear"


def test_a_mark_is_a_skip_unless_a_class_is_called_so() -> None:
    table = {"id": list("abc"), "predicted": ["x", "y", "x"]}
    for classes, disputed in ((["x", "y"], ["a", "b"]), (["x", "y", "(skip)"], ["b"])):
        audit = fl.create(None, "t", fl.read_pool(table, classes=classes))
        audit.ask(3, annotator="ann")
        frame = {"id": ["a", "b", "c"], "label": ["(skip)", "(Skip: too dark)", "x"]}
        assert audit.tell(frame, annotator="ann") == 3
        assert sorted(item.id for item in audit.disputed()) == disputed
        assert next(item.skips for item in audit.disputed() if item.id == "b") == {"ann": "too dark"}
        assert audit.labels() == {"c": "x"} | ({} if "a" in disputed else {"a": "(skip)"})
        with pytest.raises(LabelError, match=r"unknown class '\(skip too\)'.*If nobody can tell, write \(skip\)"):
            audit.tell({"a": "(skip too)"}, annotator="ann")


def test_a_withdrawal_takes_back_all_about_an_item(audit: fl.Assessment) -> None:
    people = ["ann", "bob", "cyd"][: audit.spec.overlap]
    item = _vote(audit, dict.fromkeys(people, "ant"))
    audit.decide({item: "bee"})
    before = audit.by_group()["labelled"]
    audit.withdraw([item])
    assert sum(before) - sum(audit.by_group()["labelled"]) == 1
    assert (audit.labels(), audit.pending(), audit.disputed()) == ({}, [], [])
    assert audit.by_person()["labels"] == [0] * len(people)
    asked = [i for _ in range(30) for i in audit.ask(1, annotator="ann").ids]
    assert item in asked, "it can be asked again, also of those who had it"


# --- what can be seen


def test_an_annotator_sees_the_content_and_nothing_that_gives_it_away() -> None:
    audit = fl.create(None, "audit", KNOWN.pool, fl.by_column(KNOWN.pool, "place"))
    assert audit.item("z03") == {"text": "animal number 3"}
    assert audit.item("z03", columns=[]) == {}
    with pytest.raises(InputError, match=r"'place' makes the groups: an annotator who sees it is not blind"):
        audit.item("z03", columns=["text", "place"])
    for hidden in ("predicted", "confidence", "scores"):
        with pytest.raises(InputError, match="has no column"):
            audit.item("z03", columns=[hidden])
    with pytest.raises(LabelError, match="unknown item 'z99'"):
        audit.item("z99")
    other = fl.create(None, "audit", KNOWN.pool, fl.by_predicted(KNOWN.pool))
    assert list(other.item("z03", columns=["place", "text"])) == ["place", "text"]
    bare = fl.create(None, "bare", fl.read_pool([[0.9, 0.1], [0.2, 0.8]]))
    assert bare.item("1") == {}


def test_progress_by_person_and_by_group(audit: fl.Assessment) -> None:
    k = audit.spec.overlap
    for who in ("ann", "bob", "cyd")[:k]:
        ids = audit.ask(5, annotator=who).ids
        audit.tell(KNOWN.labels(ids[:3]), annotator=who)
        audit.skip(ids[3:4], annotator=who)
    people, groups = audit.by_person(), audit.by_group()
    assert people["annotator"] == ["ann", "bob", "cyd"][:k]
    assert people["labels"] == [3] * k
    assert people["skips"] == people["held"] == [1] * k
    assert people["last"] == sorted(people["last"])
    assert groups["group"] == list(CLASSES)
    assert groups["n"] == audit.groups.sizes.tolist()
    assert [sum(groups[name]) for name in ("labelled", "pending", "unresolved")] == [3, 2, 1]
    assert audit.agreement().items == (3 if k > 1 else 0)
    assert audit.seq == len(audit.log())
    assert audit.log(after=audit.seq - 2)["seq"] == [audit.seq - 1, audit.seq]


# --- many at once


@pytest.mark.slow
def test_twenty_annotators_at_once_share_one_server(shared_store_url: str) -> None:
    """Twenty threads, as in a web server: each item twice, no vote lost or doubled, disputes to the owner.

    Every label is sent twice with its key, one person loses requests, and two objects serve the same database.
    """
    first = new_audit(2, shared_store_url)
    audits = [first, fl.load(shared_store_url, "audit")]

    def work(number: int) -> list[tuple[str, str]]:
        audit, who, mine = audits[number % 2], f"a{number:02d}", list[tuple[str, str]]()
        # The limit is never reached: it ends a thread that would be asked the same again and again.
        while len(mine) < 10 * len(KNOWN.truth) and (batch := audit.ask(1 + number % 2, annotator=who)):
            for item in batch.ids:
                wrong = int(item[1:]) % 5 == 0 and number < 10
                label = "fox" if wrong else KNOWN.truth[item]
                for _ in range(2):
                    audit.tell({item: label}, annotator=who, key=f"{who}-{item}")
                mine.append((item, who))
            audit.expire(0, people=["a03"])
        return mine

    with ThreadPoolExecutor(20) as threads:
        given = [vote for mine in threads.map(work, range(20), timeout=120) for vote in mine]
    log = list(first.log().rows())
    told = [(row["item"], row["annotator"]) for row in log if row["kind"] == "label"]
    assert sorted(told) == sorted(set(given)), "every answer once"
    assert [row["seq"] for row in log] == list(range(1, len(log) + 1))
    votes = Counter(item for item, _ in told)
    assert set(votes) == set(KNOWN.truth)
    late = {row["item"] for row in log if row["kind"] == "expire"}
    assert all(n == 2 or (n > 2 and item in late) for item, n in votes.items())
    waiting = {d.id for d in first.disputed()}
    assert waiting | set(first.labels()) == set(KNOWN.truth)
    assert not waiting & set(first.labels())
    first.decide(KNOWN.labels(waiting), annotator="owner")
    assert audits[1].pending() == []
    for audit in audits:
        audit.close()


def test_adopted_are_labels_that_count() -> None:
    """Not votes that have settled nothing, nor what was taken back: then the labels are still a random sample."""
    audit = fl.create(None, "audit", KNOWN.pool, policy=fl.UniformItems(), overlap=2)

    def adopted() -> int:
        with audit._journal.reading() as ledger:
            assert ledger.adopted == sum(audit.by_group()["adopted"])
            return ledger.adopted

    item = KNOWN.pool.ids[0]
    label = KNOWN.pool.classes[0]
    other = fl.by_score(KNOWN.pool, 3)
    before = audit.estimates(groups=other)
    audit.tell({item: label}, annotator="ann", adopt=True)
    assert adopted() == 0
    assert audit.estimates(groups=other).columns == before.columns
    audit.tell({item: label}, annotator="bob", adopt=True)
    assert adopted() == 1
    audit.retract([item], annotator="bob")
    assert adopted() == 0
    audit.tell({item: label}, annotator="bob")
    assert adopted() == 1, "still of an item that nobody asked for"
    audit.withdraw([item])
    assert adopted() == 0


@pytest.mark.parametrize("slack", [-1, "x", float("nan")])
def test_a_slack_is_a_number_that_is_not_negative(slack: Any) -> None:
    with pytest.raises(fl.InputError, match="The 'slack' of ask"):
        fl.create(None, "x", fl.read_pool({"predicted": ["a", "b"]})).ask(1, slack=slack)


def test_nobody_is_called_like_those_without_a_name() -> None:
    audit = fl.create(None, "x", fl.read_pool({"predicted": ["a", "b"]}))
    with pytest.raises(fl.InputError, match="stands for people without a name"):
        audit.ask(1, annotator="(no name)")


def test_answers_of_several_people_are_read_as_those_of_one() -> None:
    """`tell_each` takes what `tell` takes: other spellings, numbers, marks of skips, and empty labels."""
    pool = fl.read_pool({"id": [1.0, 2.0, 3.0, 4.0], "predicted": ["wild dog", "1", "1", "wild dog"]})
    audit = fl.create(None, "each", pool)
    audit.ask(4)
    told = audit.tell_each({"ann": {1.0: "Wild Dog", 2.0: 1.0, 4.0: None}, "bob": {3: "(skip: dark)"}})
    assert (told, audit.labels()) == (3, {"1": "wild dog", "2": "1"})


@pytest.mark.parametrize("kind", [tuple, np.array, pd.Series, iter], ids=["tuple", "array", "series", "iterator"])
def test_ids_are_taken_from_anything_that_has_some(kind: Any) -> None:
    audit = new_audit(1)
    items = list(audit.ask(4, annotator="ann").ids)
    assert audit.skip(kind(items[:1]), annotator="ann") == 1
    assert audit.retract(kind(items[:1]), annotator="ann") == 1
    assert audit.withdraw(kind(items[1:])) == 3
