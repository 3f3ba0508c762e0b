"""Assessments whose labels may be wrong: gold items, second votes, and every face of the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fewlabels as fl
from fewlabels import noise
from fewlabels.errors import FewlabelsError, SpecError
from fewlabels.findings.finding import find
from fewlabels.findings.labels import count_labels
from fewlabels.findings.reading import Reading
from fewlabels.labelling import voting
from fewlabels.labelling.drawn import GOLD
from fewlabels.planning import forecast
from fewlabels.plots.replay import replay
from fewlabels.web.views import dashboard, done

CLASSES = ["cat", "dog", "owl"]


def made(seed: int, items: int = 600) -> tuple[fl.Pool, dict[str, str]]:
    """A good classifier, right for about 92% of the items."""
    rng = np.random.default_rng(seed)
    sure = rng.beta(12, 1, items) * 0.66 + 0.34
    true = rng.integers(0, 3, items)
    predicted = np.where(rng.random(items) < sure, true, (true + 1) % 3)
    ids = [f"i{k}" for k in range(items)]
    rows = {"id": ids, "predicted": [CLASSES[k] for k in predicted], "confidence": sure, "text": ids}
    pool = fl.read_pool(rows, classes=CLASSES, content="text")
    return pool, {item: CLASSES[k] for item, k in zip(ids, true.tolist(), strict=True)}


class Person:
    """Somebody who is wrong now and then."""

    def __init__(self, name: str, wrong: float) -> None:
        self.name, self.wrong, self.rng = name, wrong, np.random.default_rng(len(name))

    def says(self, true: str) -> str:
        other = [name for name in CLASSES if name != true]
        return str(self.rng.choice(other)) if self.rng.random() < self.wrong else true


def label(audit: fl.Assessment, truth: dict[str, str], people: list[Person], rounds: int, n: int = 5) -> None:
    for turn in range(rounds):
        who = people[turn % len(people)]
        batch = audit.ask(n, annotator=who.name, slack=0.2)
        audit.tell({item: who.says(truth[item]) for item in batch.ids}, annotator=who.name)


def asked(audit: fl.Assessment) -> dict[str, int]:
    log = audit.log()
    steps = [step for kind, step in zip(log["kind"], log["step"], strict=True) if kind == "request"]
    return {"gold": steps.count(GOLD), "again": steps.count(0), "new": sum(step > 0 for step in steps)}


@pytest.fixture(scope="module")
def noisy() -> tuple[fl.Assessment, dict[str, str]]:
    pool, truth = made(1)
    gold = {item: truth[item] for item in list(truth)[:60]}
    audit = fl.create(None, "noisy", pool, gold=gold, gold_rate=0.15)
    label(audit, truth, [Person("ann", 0.02), Person("bobby", 0.25)], 30, 8)
    return audit, truth


@pytest.mark.slow
def test_gold_items_and_second_votes_are_mixed_in(noisy: tuple[fl.Assessment, dict[str, str]]) -> None:
    audit, _ = noisy
    found = asked(audit)
    assert sum(found.values()) >= 240  # those that are gold and were drawn later have two
    assert 15 <= found["gold"] <= 55  # 0.15 × 240 = 36, ± 3.5 standard deviations
    assert found["again"] > 5


def test_gold_items_say_nothing_about_the_classifier(noisy: tuple[fl.Assessment, dict[str, str]]) -> None:
    audit, _ = noisy
    log = audit.log()
    drawn = {item for item, step in zip(log["item"], log["step"], strict=True) if step > 0}
    assert set(audit.labels()) <= drawn
    assert len(audit.labels()) == asked(audit)["new"]
    assert audit.by_group()["adopted"] == [0, 0, 0]


def test_each_person_is_known_with_an_interval(noisy: tuple[fl.Assessment, dict[str, str]]) -> None:
    audit, truth = noisy
    people = {row["annotator"]: row for row in audit.annotators().people.rows()}
    assert people["ann"]["right"] > people["bobby"]["right"] + 0.05
    for name, wrong in (("ann", 0.02), ("bobby", 0.25)):
        assert people[name]["low"] - 0.03 <= 1 - wrong <= people[name]["high"] + 0.03
    overall = next(iter(audit.estimates(groups=fl.whole(audit.pool)).rows()))
    right = np.mean([truth[item] == audit.pool.classes[k] for item, k in zip(truth, audit.pool.predicted, strict=True)])
    # The sample itself is 2.2 standard errors worse than the pool, so the truth is at the end of the interval.
    assert overall["low"] - 0.01 <= right <= overall["high"] + 0.01
    assert overall["low"] < audit.annotators().majority < overall["high"]


@pytest.mark.slow
def test_every_face_says_how_far_labels_can_be_trusted(noisy: tuple[fl.Assessment, dict[str, str]]) -> None:
    audit, _ = noisy
    words = audit.annotators().words
    assert words.startswith("People are wrong in ")
    assert "with two votes or a known label" in words
    assert words in find(audit).basis
    assert words in count_labels(audit).sentences()
    shown = dashboard(audit)
    assert "right" in done(audit).people.columns
    assert shown.finding.basis == find(audit).basis
    assert forecast(audit).words


@pytest.mark.parametrize("metric", [fl.Precision("owl"), fl.Recall("cat"), fl.F1("dog"), fl.CalibrationError(bins=3)])
def test_any_metric_is_read_from_labels_that_may_be_wrong(
    noisy: tuple[fl.Assessment, dict[str, str]], metric: fl.Metric
) -> None:
    audit, _ = noisy
    table = audit.estimates(metric=metric, groups=fl.whole(audit.pool), draws=2_000)
    assert all(low <= mean <= high for low, mean, high in zip(table["low"], table["mean"], table["high"], strict=True))


def test_a_gold_item_looks_like_any_other() -> None:
    pool, truth = made(2)
    gold = dict(list(truth.items())[:100])
    audit = fl.create(None, "blind", pool, gold=gold, gold_rate=0.5)
    batch = audit.ask(40, annotator="ann")
    steps = audit.log()["step"]
    kinds = {step == GOLD: request for request, step in zip(batch, steps, strict=True)}
    assert len(kinds) == 2
    hidden, plain = kinds[True], kinds[False]
    assert [type(value) for value in vars_of(hidden)] == [type(value) for value in vars_of(plain)]
    assert hidden.why.split()[0] == plain.why.split()[0] == "step"
    assert set(audit.item(hidden.id)) == set(audit.item(plain.id))
    assert audit.held("ann").ids == batch.ids
    audit.tell({item: truth[item] for item in batch.ids}, annotator="ann", own=True)
    assert sorted(audit.answers("ann", 99)["id"]) == sorted(batch.ids)


def vars_of(request: Any) -> list[Any]:
    return [getattr(request, name) for name in ("id", "group", "why", "content", "annotator", "at")]


@pytest.mark.slow
def test_nobody_gets_the_same_gold_item_twice_and_it_counts_once_it_is_drawn() -> None:
    pool, truth = made(3, 60)
    gold = dict(list(truth.items())[:10])
    audit = fl.create(None, "few", pool, gold=gold, gold_rate=0.5, policy=fl.UniformItems())
    seen: list[str] = []
    while batch := audit.ask(15, annotator="ann").ids:
        seen += batch
        audit.tell({item: truth[item] for item in batch}, annotator="ann")
    assert len(seen) == len(set(seen)) == 60
    assert set(audit.labels()) == set(truth)  # all were drawn in the end, the gold ones among them
    assert not audit.pending()


@pytest.mark.slow
def test_an_owner_can_state_how_often_labels_are_right() -> None:
    pool, truth = made(4)
    means = []
    for right in (0.99, 0.9):
        audit = fl.create(None, f"stated {right}", pool, labels_right=right, policy=fl.UniformItems())
        label(audit, truth, [Person("solo", 0.1)], 5, 20)
        means.append(next(iter(audit.estimates(groups=fl.whole(pool)).rows()))["mean"])
        assert "as the owner has stated" in audit.annotators().words
    assert means[1] > means[0] + 0.01


@pytest.mark.slow
def test_gold_items_that_nobody_agrees_with_are_named() -> None:
    pool, truth = made(10, 200)
    gold = dict(list(truth.items())[:12])
    gold["i3"] = next(name for name in CLASSES if name != truth["i3"])
    audit = fl.create(None, "gold", pool, gold=gold, gold_rate=0.6)
    for name in ("ann", "bob"):
        for _ in range(3):
            audit.tell({item: truth[item] for item in audit.ask(20, annotator=name).ids}, annotator=name)
    found = audit.annotators()
    assert found.contradicted == ("i3",)
    assert found.alike == ()
    assert "1 gold item. Look at that class again: in Python, audit" in found.sentences()[-1]
    assert "i3" not in " ".join(found.sentences())  # which items are gold is not for everybody


@pytest.mark.slow
def test_two_spellings_of_a_name_are_noticed() -> None:
    pool, truth = made(11, 200)
    audit = fl.create(None, "names", pool, noisy=True)
    label(audit, truth, [Person("Ann", 0.05), Person("ann ", 0.05), Person("bob", 0.05)], 3, 10)
    assert audit.annotators().alike == (("Ann", "ann "),)
    assert "'Ann' and 'ann ' count as 2 people" in audit.annotators().sentences()[-1]


def test_one_answer_to_everything_is_noticed() -> None:
    """Where nothing can be compared, nothing else tells that somebody does not look."""
    pool, _ = made(16, 200)
    audit = fl.create(None, "same", pool, noisy=True)
    audit.tell(dict.fromkeys(audit.ask(30, annotator="eve").ids, CLASSES[0]), annotator="eve")
    found = audit.annotators()
    assert found.same == ("eve",)
    assert found.sentences()[-1].startswith("eve gave one class to every item")
    assert found.floor == pytest.approx(np.mean(found.each))


def test_right_labels_are_counted_by_the_majority() -> None:
    pool, _ = made(12, 60)
    audit = fl.create(None, "votes", pool, noisy=True)
    said = [pool.classes[k] for k in pool.predicted[:10]]
    for name in ("ann", "bob", "eve"):  # the last of three is always wrong
        shown = said if name != "eve" else [next(c for c in CLASSES if c != one) for one in said]
        audit.tell({f"i{i}": one for i, one in enumerate(shown)}, annotator=name, adopt=True)
    basis = find(audit, draws=200).basis
    assert "Based on 10 labels (10 right)." in basis
    assert "If the majority of votes were taken as true, 100% of the labelled predictions would look right." in basis


def test_items_in_dispute_count_and_what_was_skipped_waits() -> None:
    pool, _ = made(12, 60)
    audit = fl.create(None, "votes", pool, noisy=True, overlap=2)
    ids = audit.ask(10, annotator="ann").ids
    audit.tell(dict.fromkeys(ids[:9], "cat"), annotator="ann")
    audit.skip([ids[9]], annotator="ann")
    audit.ask(10, annotator="bob")
    audit.tell(dict.fromkeys(ids[:4], "dog") | dict.fromkeys(ids[4:9], "cat"), annotator="bob")
    audit.skip([ids[9]], annotator="bob")
    assert {dispute.id for dispute in audit.disputed()} == {*ids[:4], ids[9]}
    finding = find(audit, draws=200)
    assert (finding.labels.labelled, finding.labels.unresolved) == (9, 1)
    assert sum(row.labelled for row in finding.groups) == 9
    assert finding.basis.startswith("Based on 9 labels (")
    assert any(doubt.startswith("1 item was skipped or disputed") for doubt in finding.doubts)


def test_what_does_not_go_together_is_refused() -> None:
    pool, _ = made(5, 50)
    with pytest.raises(SpecError, match="guarantee needs labels that are true"):
        fl.create(None, "a", pool, noisy=True, stop=fl.Stop(width=0.2, guarantee="anytime"), policy=fl.UniformItems())
    with pytest.raises(SpecError, match=r"between 0\.5 and 1"):
        fl.create(None, "a", pool, labels_right=0.4)
    with pytest.raises(FewlabelsError, match="unknown class"):
        fl.create(None, "a", pool, gold={"i0": "bat"})
    with pytest.raises(SpecError, match="takes every label as true"):
        fl.create(None, "a", pool).annotators()


@pytest.mark.slow
def test_it_is_the_same_after_a_restart(tmp_path: Any) -> None:
    pool, truth = made(6, 200)
    file = tmp_path / "audit.db"
    audit = fl.create(file, "noisy", pool, gold=dict(list(truth.items())[:20]))
    label(audit, truth, [Person("ann", 0.05), Person("bob", 0.1)], 4, 15)
    again = fl.load(file, "noisy")
    assert again.estimates().columns == audit.estimates().columns
    assert again.annotators().words == audit.annotators().words
    audit.close()
    again.close()


@pytest.mark.slow
def test_a_report_draws_the_true_classes_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    pool, truth = made(7, 300)
    audit = fl.create(None, "once", pool, noisy=True, task=fl.Identify(fl.Accuracy(), lowest=1))
    label(audit, truth, [Person("ann", 0.05), Person("bob", 0.1)], 4, 15)
    rounds: list[int] = []
    real = noise.impute

    def counted(*args: Any, **how: Any) -> Any:
        rounds.append(how.get("kept", 32))
        return real(*args, **how)

    monkeypatch.setattr(voting, "impute", counted)
    audit.report(tmp_path / "report.html")
    assert rounds.count(32) == 1
    assert len(rounds) <= 8  # the others are points of the curve, in fewer rounds
    rounds.clear()
    audit.estimates()
    audit.report(tmp_path / "again.json")
    assert 32 not in rounds  # looking back has not thrown away the present


@pytest.mark.slow
def test_the_curve_ends_where_the_answer_is() -> None:
    pool, truth = made(8, 300)
    audit = fl.create(None, "curve", pool, noisy=True, task=fl.Identify(fl.Accuracy(), lowest=1))
    label(audit, truth, [Person("ann", 0.05), Person("bob", 0.1)], 6, 15)
    last = replay(Reading(audit, 0.95, 4_000))[-1]
    assert last.probability == pytest.approx(audit.answer(draws=4_000).probability, abs=0.05)  # 4,000 draws: ± 0.024


@pytest.mark.slow
def test_a_batch_is_whole_though_some_of_its_items_are_known() -> None:
    """A gold item that somebody has labelled is drawn later too: nobody is asked, and another item takes its place."""
    pool, truth = made(9, 300)
    audit = fl.create(None, "whole", pool, gold=dict(list(truth.items())[:60]), gold_rate=0.4)
    for name in ("ann", "bob", "cyd"):
        batch = audit.ask(50, annotator=name)
        assert len(batch.ids) == len(set(batch.ids)) == 50
        audit.tell({item: truth[item] for item in batch.ids}, annotator=name)
    notes = [note for note in audit.log()["note"] if note]
    assert any(note.startswith("known") for note in notes)  # else this test shows nothing


def test_nothing_breaks_before_the_first_label() -> None:
    pool = fl.read_pool({"id": [str(i) for i in range(40)], "predicted": ["a", "b"] * 20})
    audit = fl.create(None, "x", pool, noisy=True, stop=fl.Stop(overall=0.1))
    assert audit.annotators().people["annotator"] == []
    assert fl.forecast(audit, runs=3).sentence.endswith("Second votes come on top.")
    assert audit.check("accuracy >= 0.7").verdict == "open"


def test_reliability_prints_as_its_sentence_and_table() -> None:
    audit = fl.create(None, "pets", fl.read_pool({"predicted": ["cat", "dog"] * 20}), noisy=True)
    audit.tell(dict.fromkeys(audit.ask(4, annotator="ann").ids, "cat"), annotator="ann")
    found = audit.annotators()
    assert repr(found).startswith(found.words)
    assert "ann" in repr(found)
    assert "each=" not in repr(found)


def test_a_disputed_item_stays_with_the_owner_when_others_ask() -> None:
    rng = np.random.default_rng(0)
    pool = fl.read_pool(rng.dirichlet([1, 1, 1], 60), classes=["a", "b", "c"])
    audit = fl.create(None, "x", pool, noisy=True, overlap=2, groups=fl.whole(pool))
    for _ in range(20):
        for who in ("ann", "bob"):
            audit.tell({item: "abc"[rng.integers(3)] for item in audit.ask(1, annotator=who).ids}, annotator=who)
    disputed = [dispute.id for dispute in audit.disputed()]
    assert len(disputed) > 5
    for who in ("cat", "dan", "eve"):
        assert not set(audit.ask(2, annotator=who).ids) & set(disputed)
    assert [dispute.id for dispute in audit.disputed()] == disputed
