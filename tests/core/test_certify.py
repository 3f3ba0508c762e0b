"""Certify: three answers, labels of its own for every claim, and a guarantee that holds for every truth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from scipy import stats

import fewlabels as fl
from fewlabels.belief import Belief
from fewlabels.findings.finding import find
from fewlabels.outcomes import Outcomes
from fewlabels.planning import forecast, plan
from fewlabels.tasks.backing import FEW
from fewlabels.tasks.surprise import surprise
from tests.support.reports import CLASSES, pool, told, told_exactly

GOOD = dict.fromkeys(CLASSES, (60, 2))


def verdict(counts: dict[str, tuple[int, int]], task: fl.Certify, **spec) -> fl.Answer:
    return told_exactly(counts, asked=True, task=task, **spec).answer(draws=4_000)


def groups_of(audit: fl.Assessment, n: int) -> list[str]:
    """The groups of the next n items."""
    return [audit.groups.names[g] for g in audit.groups.group[audit.pool.positions(audit.ask(n).ids)]]


def reached(**more) -> fl.Certify:
    return fl.Certify(fl.Accuracy(), at_least=0.8, **more)


@pytest.mark.slow
@pytest.mark.parametrize("guarantee", [None, "anytime"])
@pytest.mark.parametrize("target", ["population", "pool"])
def test_there_are_three_answers(guarantee, target) -> None:
    task = reached(guarantee=guarantee)
    one_bad = {**GOOD, "coat": (20, 30)}
    one_open = {**GOOD, "coat": (9, 2)}
    passed, failed, unsure = (verdict(counts, task, target=target) for counts in (GOOD, one_bad, one_open))
    assert [a.settings["verdict"] for a in (passed, failed, unsure)] == ["pass", "fail", "open"]
    assert passed.words.startswith("Pass: each of the 4 groups has an accuracy of at least 80%")
    assert failed.words.startswith("Fail: coat does not have an accuracy of at least 80%")
    assert failed.groups == ("coat",)
    assert unsure.words == "Not enough evidence: 1 group may or may not have an accuracy of at least 80%."
    assert 0.5 <= unsure.probability < 0.95


@pytest.mark.slow
def test_a_group_without_labels_of_its_own_never_passes_nor_fails() -> None:
    # The scores say 85 %, the other groups are nearly perfect, and the prior learns from them.
    few = {**GOOD, "coat": (FEW - 1, 0)}
    assert verdict(few, reached(sure=0.5), prior=fl.Learned()).settings["verdict"] == "open"
    enough = {**GOOD, "coat": (FEW, 0)}
    assert verdict(enough, reached(sure=0.5), prior=fl.Learned()).settings["verdict"] == "pass"
    bad = {**GOOD, "coat": (0, FEW - 1)}
    assert verdict(bad, reached(sure=0.6)).settings["verdict"] == "open"


def test_labels_that_were_not_asked_for_end_the_guarantee() -> None:
    task = reached(guarantee="anytime")
    words = told_exactly(GOOD, asked=False, task=task).answer().words
    assert words.startswith("Not enough evidence")
    assert "248 labels came from elsewhere" in words
    assert "guaranteed" not in words
    assert "guaranteed at 95%" in told_exactly(GOOD, asked=True, task=task).answer().words


@pytest.mark.parametrize("guarantee", [None, "anytime"])
def test_it_asks_where_bets_are_not_won(guarantee) -> None:
    counts = {**GOOD, "coat": (20, 2)}
    items, _ = pool()
    task = reached(guarantee=guarantee)
    cells = task.metric.cells(items, fl.by_predicted(items))
    shown = np.array([counts[name] for name in CLASSES], dtype=float)
    belief = fl.Uniform().on(cells, "population").belief(Outcomes(shown))
    assert (task.reward(belief, cells, belief.mean()) > 0).tolist() == [name == "coat" for name in CLASSES]
    # If a group misses the line, the one that will be found out soonest is worth most.
    theta = np.array([[share, 1 - share] for share in (0.5, 0.75, 0.9, 0.9)])
    belief = fl.Uniform().on(cells, "population").belief(Outcomes(np.full((4, 2), 3.0)))
    worth = task.reward(belief, cells, theta)
    assert worth.argmax() == 0
    assert (worth[2:] == 0).all()


def test_at_most_and_only() -> None:
    costly = fl.Certify(fl.Accuracy(), at_most=0.5, only=("coat",))
    counts = {**GOOD, "coat": (5, 45)}
    for guarantee in (None, "anytime"):
        assert verdict(counts, replace(costly, guarantee=guarantee)).settings["verdict"] == "pass"
    assert verdict(GOOD, costly).settings["verdict"] == "fail"
    table = verdict(counts, costly).table
    assert table.columns["group"] == ["coat"]


def test_it_asks_where_the_line_is_in_doubt() -> None:
    # coat is at the line, shirt far below, the others far above; all have labels.
    counts = {"shirt": (5, 45), "coat": (32, 8), "bag": (48, 1), "boot": (48, 1)}
    audit = told_exactly(counts, asked=False, task=reached(), policy=fl.Greedy())
    assert set(groups_of(audit, 10)) == {"coat"}


def test_groups_that_lack_labels_are_asked_about() -> None:
    audit = told_exactly({**GOOD, "coat": (0, 0)}, asked=False, task=reached(), policy=fl.Greedy())
    assert "coat" in groups_of(audit, 6)


@pytest.mark.slow
def test_a_false_pass_is_as_rare_as_promised_however_often_one_looks() -> None:
    """Three groups have passed and one lies just below the line: the probability that it ever passes, path by path."""
    items, _ = pool()
    task = fl.Certify(fl.Accuracy(), at_least=0.8, sure=0.9, guarantee="anytime")
    cells = task.metric.cells(items, fl.by_predicted(items))
    prior = fl.Uniform().on(cells, "population")

    def passes(right: int, wrong: int) -> bool:
        counts = np.array([[right, wrong], [60, 0], [60, 0], [60, 0]], dtype=float)
        return bool(task.guaranteed(prior.belief(Outcomes(counts)), cells)[0].all())

    theta, false = 0.799, 0.0
    alive = np.array([1.0])  # the probability of 0, 1, ... right labels so far, without a pass
    for labels in range(1, 61):
        alive = np.append(0.0, theta * alive) + np.append((1 - theta) * alive, 0.0)
        passed = np.array([passes(right, labels - right) for right in range(labels + 1)])
        false += alive[passed].sum()
        alive[passed] = 0.0
    assert 0.001 < false <= 1 - task.sure


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fl.Certify(fl.Accuracy()), "needs either at_least"),
        (lambda: fl.Certify(fl.Accuracy(), at_least=0.9, at_most=0.9), "needs either at_least"),
        (lambda: fl.Certify(fl.Accuracy(), at_least=float("nan")), "must be a number"),
        (lambda: fl.Certify(fl.Accuracy(), at_least=0.9, sure=1.0), "The 'sure' of Certify"),
        (lambda: fl.Certify(fl.Accuracy(), at_least=0.9, guarantee=cast("Any", "always")), "must be 'anytime' or None"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message: str) -> None:
    with pytest.raises(fl.SpecError, match=message):
        make()


def test_what_does_not_fit_the_groups_is_refused() -> None:
    items, _ = pool()
    for task, message in (
        (fl.Certify(fl.Accuracy(), at_least=90), "says nothing"),
        (fl.Certify(fl.Accuracy(), at_least=0.9, only=("sock",)), "there is no group 'sock' to certify"),
        (fl.Certify(fl.Confusion(), at_least=0.9), "one number for each group"),
        (fl.Certify(fl.CalibrationError(), at_most=0.1, guarantee="anytime"), "needs a metric that is a single share"),
    ):
        with pytest.raises(fl.SpecError, match=message):
            fl.create(None, "x", items, task=task)


@pytest.mark.slow
def test_it_is_planned_and_simulated() -> None:
    items, true = pool()
    table = fl.simulate(items, true, task=reached(), methods="learned+greedy", budgets=(40, 300), runs=3)
    assert [row["score"] for row in table.rows()] == ["right", "right"]
    assert fl.plan(items, task=reached(), budgets=(40,), runs=3).table.columns["right"]


@pytest.mark.parametrize("line", [0.05, 0.5, 0.9])
def test_the_surprise_of_a_groups_own_labels_is_that_of_the_exact_tests(line) -> None:
    rng = np.random.default_rng(4)
    size = rng.integers(1, 60, 200)
    right = rng.integers(0, size + 1)
    wrong = rng.integers(0, size - right + 1)
    labelled = right + wrong
    assert np.allclose(surprise(line, right, wrong), stats.binom.sf(right - 1, labelled, line))
    below = np.ceil(line * size - 1e-9) - 1
    tail = [stats.hypergeom.sf(r - 1, n, k, m) if k >= 0 else 0.0
            for r, n, k, m in zip(right, size, below, labelled, strict=True)]  # fmt: skip
    some = below >= 0  # a group below the line is possible
    assert np.allclose(surprise(line, right, wrong, size)[some], np.array(tail)[some])


@pytest.mark.slow
def test_looking_often_does_not_make_a_pass() -> None:
    """A group half a point below the line, looked at after every label: it ever passes in at most 5 % of runs."""
    runs, looks, line = 150, 80, 0.8
    task, (items, _) = fl.Certify(fl.Accuracy(), at_least=line, only=("coat",)), pool()
    cells = task.metric.cells(items, fl.by_predicted(items))
    right = np.cumsum(np.random.default_rng(9).random((runs, looks)) < line - 0.005, axis=1)
    wrong, coat, ever = np.arange(1, looks + 1) - right, CLASSES.index("coat"), np.zeros(runs, dtype=bool)
    tested = np.zeros(runs, dtype=bool)
    for run, look in np.ndindex(runs, looks):
        r, w = int(right[run, look]), int(wrong[run, look])
        tested[run] |= surprise(line, np.array([r]), np.array([w]))[0] <= 0.05
        if r < line * (r + w):  # no evidence for a pass
            continue
        shown = np.zeros((len(CLASSES), 2))
        shown[coat] = r, w
        belief = Belief(np.ones_like(shown), shown, cells.size, "population")
        # The posterior must agree too, so that a pass is rarer still.
        ever[run] |= task.own_labels(belief, cells)[0][coat]
    assert ever.mean() < 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
    assert tested.mean() > 0.1  # an exact test at every look would not do


@pytest.mark.slow
@pytest.mark.parametrize("target", ["population", "pool"])
def test_the_scores_and_the_other_groups_do_not_pass_the_odd_one_out(target) -> None:
    """Scores of 85 % and three good groups make the posterior sure; 8 of 13 right is not yet a pass at one half."""
    task, counts = fl.Certify(fl.Accuracy(), at_least=0.5), dict.fromkeys(CLASSES, (40, 6))
    odd = verdict({**counts, "coat": (8, 5)}, task, prior=fl.Learned(), target=target)
    assert odd.table["reaches"][0] > 0.98
    assert odd.settings["verdict"] == "open"
    assert verdict({**counts, "coat": (30, 7)}, task, prior=fl.Learned(), target=target).settings["verdict"] == "pass"
    # Nor do they fail it: must not be above one half, and 8 of 13 says little.
    low = verdict(
        {**counts, "coat": (8, 5)}, replace(task, at_least=None, at_most=0.5), prior=fl.Learned(), target=target
    )
    assert dict(zip(low.table["group"], low.table["verdict"], strict=True))["coat"] == "open"


def test_of_groups_that_surely_reach_the_line_the_nearest_comes_first() -> None:
    counts = {"shirt": (45, 15), "coat": (60, 0), "bag": (62, 0), "boot": (50, 5)}
    table = verdict(counts, fl.Certify(fl.Accuracy(), at_least=0.1)).table
    assert table["group"][:2] == ["shirt", "boot"]


def test_no_stop_is_met_where_there_is_no_verdict() -> None:
    # Four groups, one without labels: the posterior is sure, and nothing may stop by it.
    few = {**GOOD, "coat": (0, 0)}
    audit = told_exactly(few, asked=True, task=fl.Certify(fl.Accuracy(), at_least=0.3, sure=0.9), prior=fl.Learned(),
                         stop=fl.Stop(probability=0.6))  # fmt: skip
    standing = audit.standing()
    assert not standing.reached
    assert "there is no verdict yet (wanted 90%)" in standing.words
    assert forecast(audit, runs=3).goal == "there is a verdict, pass or fail, at 60%"


@pytest.mark.slow
def test_a_forecast_and_a_plan_wait_for_a_verdict() -> None:
    items, _ = pool()
    task = fl.Certify(fl.Accuracy(), at_least=0.6, sure=0.9, guarantee="anytime")
    made = plan(items, task=task, budgets=[40, 80], runs=3)
    assert made.stop == fl.Stop(probability=0.9, guarantee="anytime")
    assert "verdict" in made.words
    assert {"verdict", "right"} <= set(made.table.columns)
    audit = told_exactly({**GOOD, "coat": (9, 2)}, asked=True, task=task)
    ahead = forecast(audit, runs=3)
    assert ahead.stop == made.stop
    assert "until there is a verdict, pass or fail, at 90%" in ahead.words or "more labels" in ahead.words


@pytest.mark.parametrize(("told", "words"), [({CLASSES[0]: (9, 0)}, "That is"), ({}, "least likely to")])
def test_an_open_gate_names_a_group_that_is_open(told: dict[str, tuple[int, int]], words: str) -> None:
    """A group with few labels keeps the gate open, where the others pass or are open too."""
    counts = dict.fromkeys(CLASSES, (92, 8) if told else (9, 0)) | told
    audit = told_exactly(counts, asked=True, task=fl.Certify(fl.Accuracy(), at_least=0.8), prior=fl.Uniform())
    rows = {row["group"]: row["verdict"] for row in audit.answer().table.rows()}
    assert rows[CLASSES[0]] == "open"  # else this test shows nothing
    headline = find(audit, draws=2_000).headline
    named = headline.split(words)[1]
    assert any(f"{group} (" in named for group, verdict in rows.items() if verdict == "open")


def test_a_fail_allows_for_the_number_of_groups() -> None:
    # 40 groups at 0.92, a line of 0.9: a test of each alone finds a bad one in most runs, by chance.
    rng, falsely = np.random.default_rng(8), 0
    task = fl.Certify(fl.Accuracy(), at_least=0.9)
    items = fl.read_pool({"predicted": [f"g{g}" for g in range(40)] * 30})
    cells = task.cells(items, fl.by_predicted(items))
    for _ in range(100):
        right = rng.binomial(30, 0.92, 40).astype(float)
        belief = Belief(np.ones((40, 2)), np.stack([right, 30 - right], axis=1), cells.size)
        falsely += bool(task.own_labels(belief, cells)[1].any())
    assert falsely <= stats.binom.ppf(1 - 1e-6, 100, 0.05)


def test_asking_stays_with_a_group_until_its_fail_allows_for_the_number_of_groups() -> None:
    task = fl.Certify(fl.Accuracy(), at_least=0.9)
    items = fl.read_pool({"predicted": [f"g{g}" for g in range(40)] * 30})
    cells = task.cells(items, fl.by_predicted(items))
    counts = np.tile([6.0, 0.0], (40, 1))
    counts[0] = 3, 4  # alone it would fail, and its bets are won; one of forty needs more
    belief = Belief(np.ones((40, 2)), counts, cells.size)
    assert surprise(0.1, np.array([4]), np.array([3]), None, beyond=True)[0] < 0.05 / 10
    assert not task.own_labels(belief, cells)[1].any()
    shares = np.where(np.arange(40) == 0, 0.5, 0.97)
    assert task.reward(belief, cells, np.stack([shares, 1 - shares], axis=1)).nonzero()[0].tolist() == [0]


@pytest.mark.parametrize("target", ["population", "pool"])
@pytest.mark.parametrize("guarantee", [None, "anytime"])
@pytest.mark.parametrize(("side", "line"), [("at_least", 1.0), ("at_least", 0.0), ("at_most", 1.0), ("at_most", 0.0)])
def test_a_line_at_the_end_of_the_scale_is_a_line(side, line, guarantee, target) -> None:
    """A wrong label refutes 100%, and the wealth of bets on more than that is a number; warnings are errors here."""
    task = fl.Certify(fl.Accuracy(), guarantee=guarantee, **{side: line})
    audit = told(80, task=task, target=target, stop=fl.Stop(probability=0.95))
    standing, answer = audit.standing(), audit.answer()
    trivial = (side, line) in {("at_least", 0.0), ("at_most", 1.0)}
    assert trivial or "fail" in answer.table["verdict"]
    assert not trivial or "fail" not in answer.table["verdict"]
    assert all(0 <= rule.now <= 1 for rule in standing.rules)  # NaN is not
    assert "nan" not in f"{standing} {answer}"


def test_a_fail_is_as_sure_of_each_group_as_of_the_least_sure_one() -> None:
    """That some group misses the line is surer than that this one does."""
    from fewlabels.tasks.certify_words import answer
    from fewlabels.wording import probability

    task = fl.Certify(fl.Accuracy(), at_least=0.9)
    columns: dict[str, Any] = {
        "group": ["a", "b", "c"],
        "reaches": [0.001, 0.018, 0.6],
        "verdict": ["fail", "fail", "open"],
    }
    words = answer(task, "fail", 0.9999, ("a", "b"), columns | {"mean": [0.5] * 3})
    assert words.endswith("do not have an accuracy of at least 90%, each with probability 98% or more.")
    one = answer(task, "fail", 0.9999, ("b",), columns | {"mean": [0.5] * 3})
    assert one.endswith("with probability 98%.")
    failing = told_exactly({"shirt": (8, 17), "coat": (9, 16), "bag": (30, 0), "boot": (30, 0)}, asked=True, task=task)
    found = failing.answer()
    least = min(1 - row["reaches"] for row in found.table.rows() if row["verdict"] == "fail")
    assert probability(least) in found.words


def test_identify_without_a_number_is_about_the_worst_one() -> None:
    assert fl.Identify(fl.Accuracy()) == fl.Identify(fl.Accuracy(), lowest=1)
    assert fl.Identify(fl.CalibrationError()) == fl.Identify(fl.CalibrationError(), highest=1)
    with pytest.raises(fl.SpecError, match="either lowest=m or highest=m"):
        fl.Identify(fl.Accuracy(), lowest=1, highest=1)
