"""How runs are scored: errors, ranks, intervals, decisions, against the obvious way to compute each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.outcomes import Outcomes
from fewlabels.simulation.methods import Method, method
from fewlabels.simulation.scorer import scorer_of
from fewlabels.simulation.significance import against_best, signed_rank_p
from fewlabels.simulation.study import labels_to_identify, simulate
from fewlabels.simulation.truth import truth
from fewlabels.tasks.snapshot import Snapshot

if TYPE_CHECKING:
    from fewlabels.belief import Target
from tests.support.studies import CLASSES, GROUPS, LABELS, POOL, TASKS, everything, truth_of


# Among many small groups the lowest are truly equal, and which of them comes first is chance.
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TASKS if name != "lowest-many"])
@pytest.mark.parametrize("how", ["informed+thompson+pool", "learned+items+pool"])
def test_with_all_labels_the_pool_has_no_secrets(name: str, how: str) -> None:
    task, groups = TASKS[name]
    table = simulate(POOL, LABELS, GROUPS[groups], task=task, methods=how, budgets=["100%"], runs=2)
    perfect = {"rmse": 0.0, "ece-error": 0.0, "mrr": 1.0, "success": 1.0}
    found = {row["score"]: row for row in table.rows() if row["score"] in perfect}
    assert found
    for score, row in found.items():
        assert row["mean"] == pytest.approx(perfect[score], abs=1e-9), score
        assert row["se"] == pytest.approx(0, abs=1e-9)


def test_rmse_is_weighted_by_the_share_and_in_percent() -> None:
    one = method("informed:5+items")
    case = truth_of("accuracy", one)
    items = np.arange(0, 160, 3)
    scores = scorer_of(case).verdict(one, items, np.array([0, len(items)]), np.random.default_rng(1)).scores["rmse"]
    right = np.array([label == CLASSES[k] for label, k in zip(LABELS, POOL.predicted, strict=True)])
    for n, found in zip((0, len(items)), scores, strict=True):
        total = 0.0
        for k in range(4):
            own, seen = POOL.predicted == k, POOL.predicted[items[:n]] == k
            guess = (5 * POOL.confidence[own].mean() + right[items[:n]][seen].sum()) / (5 + seen.sum())
            total += own.mean() * (guess - right[own].mean()) ** 2
        assert found == pytest.approx(100 * np.sqrt(total))


def test_the_number_over_all_items_and_how_often_intervals_hold() -> None:
    """Against the estimates and the answer of an assessment with the same labels."""
    one = method("uniform+items")
    case = truth_of("accuracy", one)
    items = np.random.default_rng(3).permutation(160)[:60]
    scores = scorer_of(case).verdict(one, items, np.array([60]), np.random.default_rng(1)).scores
    audit = fl.create(None, "same", POOL, task=fl.Estimate(fl.Accuracy()), prior=fl.Uniform(), policy=fl.UniformItems())
    audit.tell({POOL.ids[int(i)]: LABELS[i] for i in items}, adopt=True)
    rows, answer = list(audit.estimates().rows()), next(audit.answer(draws=50_000).table.rows())
    truth, shares = case.value, case.cells.partition.shares
    held = [row["low"] <= share <= row["high"] for row, share in zip(rows, truth, strict=True)]
    assert scores["coverage"][0] == pytest.approx(100 * np.mean(held))
    assert scores["overall-error"][0] == pytest.approx(100 * abs(answer["mean"] - shares @ truth), abs=0.01)
    assert scores["overall-coverage"][0] == 100.0 * (answer["low"] <= shares @ truth <= answer["high"])


@pytest.mark.parametrize("groups", ["predicted", "whole"])
def test_the_default_reads_all_items_as_an_assessment_does(groups: str) -> None:
    """Steered labels are held against anchors; where all items are one group, strips of confidence were asked in."""
    task, one = fl.Estimate(fl.Accuracy()), method("learned+default+pool", fl.Estimate(fl.Accuracy()))
    case = truth(POOL, LABELS, fl.by_predicted(POOL) if groups == "predicted" else fl.whole(POOL), task, [one])
    audit = fl.create(None, groups, POOL, groups=groups, task=task, target="pool", seed=4)
    for _ in range(6):
        audit.tell({item: LABELS[POOL.positions([item])[0]] for item in audit.ask(10).ids})
    assert case.asked_by(one).policy == audit.spec.policy
    items = POOL.positions([row["item"] for row in audit.log() if row["kind"] == "request"])
    anchor = np.isin(items, POOL.positions(audit.anchors()))
    assert 0 < anchor.sum() < len(items)
    found = scorer_of(case).verdict(one, items, np.array([60]), np.random.default_rng(1), anchor).scores
    row = next(audit.estimates(groups=fl.whole(POOL)).rows())
    true = case.right.mean()
    # Both means are of draws: 500 there and 10,000 here, of a number whose 95% interval has this width.
    tolerance = 4 * (row["high"] - row["low"]) / 3.92 / np.sqrt(500)
    assert found["overall-error"][0] == pytest.approx(100 * abs(row["mean"] - true), abs=100 * tolerance)
    assert found["overall-coverage"][0] == 100.0 * (row["low"] <= true <= row["high"])


def test_intervals_of_perfect_groups_hold() -> None:
    """All items are right, and no Beta reaches 1; a group that is wrong by one item of many is another matter."""
    pool = fl.read_pool({"predicted": ["a", "b"] * 40, "confidence": [0.9, 0.95] * 40})
    one = method("learned+items+pool")
    case = truth(pool, ["a", "b"] * 40, fl.by_predicted(pool), fl.Estimate(fl.Accuracy()), [one])
    shot = Snapshot(case.task, case.cells, scorer_of(case).belief(one, np.arange(30)), np.random.default_rng(1), 500)
    assert shot.honesty("width", np.array([1.0, 1.0])) == 1.0
    assert shot.honesty("width", np.array([1.0, 1.0]), counted=False) == 0.0
    low = float(shot.mean[1] - shot.widths[1])
    assert shot.honesty("width", np.array([1.0, low])) == 0.5


def test_ece_error_is_relative_to_the_ece_of_all_labels() -> None:
    one = method("uniform+items+pool")
    case = truth_of("bins", one)
    bins = GROUPS["bins"].group
    right = np.array([label == CLASSES[k] for label, k in zip(LABELS, POOL.predicted, strict=True)])

    def ece(accuracy):
        gaps = [(bins == b).mean() * abs(accuracy[b] - POOL.confidence[bins == b].mean()) for b in range(4)]
        return sum(gaps)

    exact = ece([right[bins == b].mean() for b in range(4)])
    scores = scorer_of(case).verdict(one, np.arange(0), np.array([0]), np.random.default_rng(1)).scores
    assert scores["ece-error"][0] == pytest.approx(100 * abs(ece([0.5] * 4) - exact) / exact)

    # A learned belief is judged by its median: by draws of its own here, within four standard errors of both medians.
    learned = method("learned+items+pool")
    asked = np.arange(6)
    found = scorer_of(case).verdict(learned, asked, np.array([6]), np.random.default_rng(2)).scores["ece-error"][0]
    draws = np.array(
        [ece(row) for row in scorer_of(case).belief(learned, asked).draws(np.random.default_rng(3), 4000)[..., 0]]
    )
    middle = np.median(draws)
    density = (np.abs(draws - middle) < 0.02).mean() / 0.04
    tolerance = 4 * np.sqrt(0.25 / 2000 + 0.25 / 4000) / density
    assert abs(middle - exact) > 2 * tolerance  # a distance that can be told from none
    assert found == pytest.approx(100 * abs(middle - exact) / exact, abs=100 * tolerance / exact)
    at_means = ece(scorer_of(case).belief(learned, asked).mean()[:, 0])
    assert abs(at_means - middle) > 2 * tolerance  # and from the value at the means


def test_confusion_errors_are_relative_to_the_informed_prior_without_labels() -> None:
    task, groups = TASKS["confusion"]
    table = simulate(
        POOL, LABELS, GROUPS[groups], task=task, methods="informed+items,uniform+items", budgets=[0], runs=2
    )
    means = dict(zip(table["method"], table["mean"], strict=True))
    assert means["informed+items"] == pytest.approx(1)
    case = truth_of("confusion", method("uniform+items"))

    def rmse(guess):
        return np.sqrt(GROUPS[groups].shares @ ((guess - case.value) ** 2).sum(axis=1))

    assert means["uniform+items"] == pytest.approx(rmse(np.full((4, 4), 0.25)) / rmse(POOL.profile))


@pytest.mark.parametrize("name", ["lowest", "lowest-2", "highest", "calibration", "calibrated", "cost"])
@pytest.mark.parametrize("how", ["informed+items", "uniform:4+items+pool"])
def test_the_compiled_mrr_is_the_obvious_one(name: str, how: str) -> None:
    one = method(how)
    case = truth_of(name, one)
    order = np.random.default_rng(2).permutation(160)
    verdict = scorer_of(case).verdict(one, order, np.array([0, 7, 160]), np.random.default_rng(1))
    assert isinstance(case.task, fl.Identify)
    sign = -1 if case.task.lowest else 1
    members = np.argsort(-sign * case.value, kind="stable")[: case.task.plays]
    np.testing.assert_array_equal(members, case.members)
    for n in (0, 1, 7, 50, 160):
        belief = one.prior.on(case.cells, one.target).belief(case.outcomes(order[:n]))
        value = sign * case.task.metric.value(belief.mean(), case.cells)
        rivals = [value[g] for g in range(4) if g not in members]
        total = 0.0
        for g in members:
            above, equal = sum(v > value[g] for v in rivals), sum(v == value[g] for v in rivals)
            total += np.mean([1 / (above + 1 + i) for i in range(equal + 1)])
        assert verdict.curve[n] == pytest.approx(total / len(members))
    np.testing.assert_array_equal(verdict.scores["mrr"], verdict.curve[[0, 7, 160]])


def test_labels_to_identify_is_where_the_mean_curve_crosses() -> None:
    curve = np.array([0.2, 0.6, 0.98, 0.985, 0.992, 1.0])
    assert labels_to_identify(curve, 1.0) == 4
    assert labels_to_identify(curve[:4], 1.0) is None
    assert labels_to_identify(curve[:4], 0.5) == 2  # 0.99 of the largest value, where that stays below 1


@pytest.mark.parametrize("target", ["population", "pool"])
def test_success_needs_the_region_and_its_probability(target: Target) -> None:
    one = Method("one", fl.Informed(), fl.UniformItems(), target)
    case = truth_of("compare", one)
    order = np.random.default_rng(4).permutation(everything(case))
    verdict = scorer_of(case).verdict(one, order, np.arange(len(order) + 1), np.random.default_rng(1))
    assert isinstance(case.task, fl.Compare)
    right = case.task.probabilities(fl.Uniform().on(case.cells, target).belief(Outcomes(case.counts)), case.cells)
    assert right.max() > 0.5
    for n in range(0, len(order) + 1, 9):
        belief = one.prior.on(case.cells, target).belief(case.outcomes(order[:n]))
        mu = case.task.probabilities(belief, case.cells)
        success = mu.argmax() == right.argmax() and abs(mu.max() - right.max()) / right.max() < 0.05
        assert verdict.scores["success"][n] == success
    assert verdict.labels == np.flatnonzero(verdict.scores["success"])[0]


def test_a_run_that_never_decides_counts_with_all_its_labels() -> None:
    task, groups = TASKS["compare"]
    table = simulate(POOL, LABELS, GROUPS[groups], task=task, methods="uniform+items", budgets=[1], runs=5)
    assert table.where(score="success")["mean"] == [0.0]
    assert table.where(score="labels-to-decide")["mean"] == [1.0]


def test_the_best_and_those_not_worse() -> None:
    rng = np.random.default_rng(5)
    good = rng.normal(size=200)
    scores = {"same": good + rng.normal(0, 0.1, 200), "good": good, "bad": good + 0.3 * rng.random(200)}
    rows = against_best(scores, "low")
    assert {name: row["best"] for name, row in rows.items()} == {"same": True, "good": True, "bad": False}
    assert sorted(row["p"] is None for row in rows.values()) == [False, False, True]
    assert against_best(scores, "high")["bad"] == {"p": None, "best": True}
    assert signed_rank_p(good, good) == 1.0
