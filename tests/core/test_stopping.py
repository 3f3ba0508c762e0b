"""Stopping rules: what they refuse, what they say, and that they go by the numbers that are shown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.errors import SpecError
from fewlabels.planning import forecast
from fewlabels.spec import Spec
from fewlabels.stopping import Stop, is_reached
from fewlabels.tasks.backing import FEW
from tests.support.pools import zoo

if TYPE_CHECKING:
    from pathlib import Path

    from fewlabels.tasks import Task

ZOO = zoo()
LOWEST = fl.Identify(fl.Accuracy(), lowest=1)
COMPARE = fl.Compare(fl.Accuracy(), "ant", "bee")
ESTIMATE = fl.Estimate(fl.Accuracy())


def audit_of(task: Task, labels: int, stop: Stop | None = None, **settings: object) -> fl.Assessment:
    """An assessment of the zoo with some labels told."""
    audit = fl.create(None, "zoo", ZOO.pool, task=task, stop=stop, seed=1, **settings)  # type: ignore[arg-type]
    if labels:
        audit.tell(ZOO.labels(audit.ask(labels).ids))
    return audit


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"labels": 0}, "'labels' of Stop() must be a whole number of at least 1. Got 0"),
        ({"labels": 2.5}, "'labels' of Stop() must be a whole number of at least 1. Got 2.5"),
        ({"labels": True}, "Got True"),
        ({"probability": 1.0}, "'probability' of Stop() must lie between 0 and 1"),
        ({"probability": "high"}, "Got 'high'"),
        ({"width": 0}, "'width' of Stop() must be a number above 0"),
        ({"overall": float("inf")}, "'overall' of Stop() must be a number above 0"),
        ({"overall": float("nan")}, "Got nan"),
    ],
)
def test_a_rule_that_is_no_rule_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(SpecError, match=re.escape(said)):
        Stop(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("task", "stop", "said"),
    [
        (ESTIMATE, Stop(probability=0.95), "the task 'estimate' has no answer that is right or wrong"),
        (COMPARE, Stop(overall=0.1), "the task 'compare' asks in two groups only"),
        (LOWEST, Stop(width=5), "Stop(..., width=5) is too wide: the accuracy lies between 0 and 1"),
        (LOWEST, 0.95, "The 'stop' must be a Stop, such as Stop(labels=500). Got 0.95"),
    ],
)
def test_a_rule_that_does_not_go_with_the_task_is_refused(task: Task, stop: Stop, said: str) -> None:
    with pytest.raises(SpecError, match=re.escape(said)):
        fl.create(None, "zoo", ZOO.pool, task=task, stop=stop)


def test_a_cost_may_be_wider_than_one() -> None:
    prices = [[0 if i == j else 10 for j in range(6)] for i in range(6)]
    audit = audit_of(fl.Estimate(fl.Cost(prices)), 5, Stop(width=8.5, overall=3.0))
    assert {rule.wanted for rule in audit.standing().rules} == {8.5, 3.0}


@pytest.mark.parametrize("target", ["population", "pool"])
@pytest.mark.parametrize("task", [LOWEST, fl.Identify(fl.Accuracy(), highest=2), COMPARE], ids=repr)
def test_the_probability_is_that_of_the_answer(task: Task, target: str) -> None:
    audit = audit_of(task, 12, Stop(probability=0.9), target=target)
    (rule,) = audit.standing().rules
    assert rule.now == audit.answer().probability


@pytest.mark.parametrize("prior", [fl.Uniform(), fl.Learned()], ids=repr)
def test_the_widths_are_those_that_are_shown(prior: object) -> None:
    audit = audit_of(ESTIMATE, 12, Stop(width=0.5, overall=0.2), prior=prior)
    width, overall = audit.standing().rules
    shown, average = audit.estimates(), audit.answer().table
    ends = zip(shown["low"], shown["high"], strict=True)
    assert width.now == max(high - low for low, high in ends if low is not None)
    assert overall.now == average["high"][0] - average["low"][0]


def test_a_comparison_is_about_the_widths_of_its_two_groups() -> None:
    audit = audit_of(COMPARE, 12, Stop(width=0.5))
    shown = {row["group"]: row["high"] - row["low"] for row in audit.estimates().rows() if row["low"] is not None}
    assert audit.standing().rules[0].now == max(shown["ant"], shown["bee"]) < shown["cat"]


def test_the_first_rule_that_is_met_stops() -> None:
    stop = Stop(labels=10, probability=0.999)
    before, after = audit_of(LOWEST, 9, stop).standing(), audit_of(LOWEST, 10, stop).standing()
    assert (before.reached, after.reached) == (False, True)
    assert [rule.reached for rule in after.rules] == [True, False]
    assert after.is_spent
    assert re.fullmatch(
        r"The budget is used up: 10 of 10 labels\. "
        r"The goal is not reached: the answer is right with probability \d\d% \(wanted 99\.9%\)\.",
        after.words,
    )
    assert re.fullmatch(
        r"Not yet: 9 of 10 labels; the answer is right with probability \d\d% \(wanted 99\.9%\)\.", before.words
    )
    assert after.table["rule"] == ["labels", "probability"]
    assert after.to_json()["rules"][0] == {"rule": "labels", "now": 10, "wanted": 10, "reached": True}


def test_a_goal_that_is_reached_is_enough_whatever_the_budget() -> None:
    for stop in (Stop(labels=90, probability=0.01), Stop(labels=5, probability=0.01), Stop(labels=5)):
        standing = audit_of(LOWEST, 20, stop, target="pool").standing()
        assert standing.words.startswith("The budget is used up: " if stop == Stop(labels=5) else "Enough: ")
        assert standing.reached
        assert not standing.is_spent


def sure_pool(high: float = 1.0) -> fl.Pool:
    """300 items whose confidences leave next to no doubt."""
    scores = np.random.default_rng(3).uniform(high - 0.004, high, 300)
    return fl.read_pool({"predicted": ["a", "b", "c"] * 100, "confidence": scores}, classes=["a", "b", "c"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "stop", "said"),
    [
        (ESTIMATE, Stop(width=0.2), "3 of 3 groups have fewer than 5 labels of their own"),
        (ESTIMATE, Stop(overall=0.2), "fewer than 10 labels were drawn at random from all items"),
        (fl.Compare(fl.Accuracy(), "a", "b", rope=0.2), Stop(probability=0.9), "no answer without labels"),
    ],
)
def test_scores_alone_meet_no_rule(task: Task, stop: Stop, said: str) -> None:
    audit = fl.create(None, "sure", sure_pool(), task=task, stop=stop)
    standing = audit.standing()
    assert is_reached(standing.rules[0].rule, standing.rules[0].now, standing.rules[0].wanted or 0)
    assert not standing.reached
    assert said in standing.words
    assert forecast(audit, runs=9).more
    for _ in range(60):
        audit.tell({item: audit.pool.classes[audit.pool.predicted[int(item)]] for item in audit.ask(1).ids})
    assert audit.standing().reached


def test_the_standing_and_the_answer_agree_on_a_comparison() -> None:
    task = fl.Compare(fl.Accuracy(), "a", "b", rope=0.2)
    audit = fl.create(None, "sure", sure_pool(), task=task, stop=Stop(probability=0.95))
    for _ in range(40):
        audit.tell({item: audit.pool.classes[audit.pool.predicted[int(item)]] for item in audit.ask(1).ids})
        early = "too early" in audit.answer().headline
        assert audit.standing().reached is not early
        if not early:
            break
    backed = dict(zip(audit.by_group()["group"], audit.by_group()["labelled"], strict=True))
    assert min(backed["a"], backed["b"]) == FEW


@pytest.mark.slow
def test_a_plan_asks_for_the_labels_that_a_rule_needs() -> None:
    pool = sure_pool()
    stops = (Stop(overall=0.2), Stop(width=0.2))
    few, many = (fl.plan(pool, stop=stop, budgets=[30], runs=12).recommended or 0 for stop in stops)
    assert few >= 10
    assert many >= 3 * FEW


@pytest.mark.parametrize(("target", "reached"), [("pool", True), ("population", False)])
def test_a_small_group_is_known_if_the_question_is_about_these_items(target: str, reached: bool) -> None:
    pool = fl.read_pool({"predicted": ["a"] * 3 + ["b"] * 9, "confidence": [0.9999] * 12}, classes=["a", "b"])
    audit = fl.create(None, "small", pool, stop=Stop(width=0.9), target=target)  # type: ignore[arg-type]
    audit.tell({item: pool.classes[pool.predicted[int(item)]] for item in audit.ask(12).ids})
    standing = audit.standing()
    assert standing.reached is reached
    assert ("1 of 2 groups have fewer than 5 labels of their own; 1 of them" in standing.words) is not reached


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (LOWEST, "The answer rests on fewer than 5 labels in a group that it names"),  # it said how probable it is
        (ESTIMATE, "The widest interval of a group is"),
    ],
)
def test_without_a_rule_it_tells_where_things_are(task: Task, words: str) -> None:
    standing = audit_of(task, 4).standing()
    assert not standing.reached
    assert standing.words.startswith(f"No stopping rule is set. {words}")
    assert "4 labels" not in standing.words  # which is said beside it everywhere
    assert [rule.wanted for rule in standing.rules] == [None, None]


def test_without_a_rule_a_probability_that_labels_back_is_told() -> None:
    pool = fl.read_pool({"predicted": ["a", "b"] * 30})
    audit = fl.create(None, "x", pool, task=LOWEST)
    audit.tell({str(i): "a" for i in range(20)}, adopt=True)
    assert "The answer is right with probability over 99%" in audit.standing().words


def test_without_labels_there_is_no_answer_to_be_right() -> None:
    words = audit_of(LOWEST, 0, Stop(probability=0.9)).standing().words
    assert "there is no answer without labels (wanted 90%)" in words
    assert "right with" not in words


def test_it_says_so_when_nothing_is_left_to_ask() -> None:
    standing = audit_of(COMPARE, 16, Stop(probability=0.9999)).standing()
    assert standing.words.endswith("Every item that could be asked about has its label.")


def test_the_rule_is_kept_and_an_older_spec_has_none(tmp_path: Path) -> None:
    stop = Stop(labels=500, probability=0.95)
    fl.create(tmp_path / "audit.db", "zoo", ZOO.pool, task=LOWEST, stop=stop).close()
    audit = fl.load(tmp_path / "audit.db", "zoo")
    assert audit.spec.stop == stop
    written = audit.spec.to_json()
    audit.close()
    assert Spec.from_json(written).stop == stop
    del written["stop"]
    assert Spec.from_json(written).stop == Stop()


def test_a_notebook_shows_the_progress_in_words() -> None:
    pool = fl.read_pool([[0.9, 0.1]] * 30 + [[0.2, 0.8]] * 30, classes=["a<b", "b"])
    standing = fl.create(None, "x", pool, stop=fl.Stop(labels=20)).standing()
    assert str(standing) == standing.words
    assert standing._repr_html_().startswith(f"<p>{standing.words}</p><table>")


def test_asking_begins_with_the_groups_without_which_a_width_is_never_reached() -> None:
    digits = fl.load_digits()
    pool = fl.read_pool({"id": digits.ids, "scores": digits.scores}, classes=digits.classes)
    settings = {"task": ESTIMATE, "anchor": 0.0, "policy": fl.Greedy(), "seed": 3}
    rule, none = Stop(width=0.9), Stop(labels=500)
    audits = [fl.create(None, "digits", pool, stop=stop, **settings) for stop in (rule, none)]  # type: ignore[arg-type]
    for audit in audits:
        for _ in range(FEW):
            truth = dict(zip(digits.ids, digits.labels, strict=True))
            audit.tell({item: truth[item] for item in audit.ask(10).ids})
    counts = [audit.estimates()["labelled"] for audit in audits]
    assert counts[0] == [FEW] * 10
    assert min(counts[1]) < FEW  # steered by rewards alone
    assert audits[0].standing().reached
    assert audits[1].spec.asked_first(audits[1].cells, np.zeros(10)) is None
