"""Neyman's rule as a lottery: how often each group comes, against its formula written down a second time."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

import fewlabels as fl
from fewlabels.outcomes import Outcomes
from fewlabels.policies import neyman
from fewlabels.tasks import Rewards

RARE = 1e-5
DOUBT = 0.002


def rewards_of(sizes: list[int], right: list[int], wrong: list[int]) -> Rewards:
    """Accuracy of groups of these sizes, of which so many items are labelled and right, or wrong; uniform prior."""
    classes = [f"c{k}" for k in range(len(sizes))]
    pool = fl.read_pool({"predicted": np.repeat(classes, sizes).tolist()}, classes=classes)
    task = fl.Estimate(fl.Accuracy())
    cells = task.metric.cells(pool, fl.by_predicted(pool))
    belief = fl.Uniform().on(cells, "population").belief(Outcomes(np.column_stack([right, wrong]).astype(float)))
    return Rewards(task, cells, belief)


def test_groups_come_as_often_as_items_times_deviation() -> None:
    sizes, right, wrong = [100, 400, 100, 100], [4, 4, 9, 30], [4, 4, 1, 0]
    mean = (np.array(right) + 1) / (np.array(right) + np.array(wrong) + 2)
    share = (mean + DOUBT) / (1 + 2 * DOUBT)
    due = np.array(sizes) * np.sqrt(share * (1 - share))
    times, rewards, rng = 4000, rewards_of(sizes, right, wrong), np.random.default_rng(3)
    came = Counter(int(fl.Neyman().choose(rewards, np.array(sizes), 1, rng)[0]) for _ in range(times))
    for group, chance in enumerate((due / due.sum()).tolist()):
        low, high = (binom.ppf(q, times, chance) for q in (RARE, 1 - RARE))
        assert low <= came[group] <= high


def test_groups_of_a_step_differ_and_have_room() -> None:
    rewards, rng = rewards_of([50, 50, 50], [0, 9, 0], [0, 0, 0]), np.random.default_rng(4)
    for _ in range(50):
        assert sorted(fl.Neyman().choose(rewards, np.array([1, 0, 5]), 3, rng).tolist()) == [0, 2]


def test_the_deviation_of_a_group_with_several_cells_is_that_within_them() -> None:
    """A cost has a cell for each predicted class of a group; a random item is of one as often as it has items."""
    rng = np.random.default_rng(5)
    columns = {"predicted": rng.choice(["a", "b"], 300, p=[0.8, 0.2]).tolist(), "site": ["x"] * 200 + ["y"] * 100}
    pool = fl.read_pool(columns, classes=["a", "b"])
    cost = np.array([[0.0, 1.0], [4.0, 0.0]])
    task, groups = fl.Estimate(fl.Cost(cost)), fl.by_column(pool, "site")
    cells = task.metric.cells(pool, groups)
    counts = rng.integers(0, 5, size=(len(cells), len(cells.outcomes))).astype(float)
    belief = fl.Uniform().on(cells, "population").belief(Outcomes(counts))
    found = neyman._due(Rewards(task, cells, belief))
    unit = task.metric.gradient(belief.mean(), cells) / cells.weight[:, None]
    share = (belief.mean() + DOUBT) / (1 + DOUBT * len(cells.outcomes))
    for group in range(2):
        within = 0.0
        for c in np.flatnonzero(cells.group == group):
            values = unit[c]
            assert values.min() >= 0  # the costs themselves
            within += float(
                cells.weight[c] * np.average((values - np.average(values, weights=share[c])) ** 2, weights=share[c])
            )
        assert found[group] == pytest.approx(groups.shares[group] * within**0.5)


def test_labels_of_strips_follow_the_spread_of_answers() -> None:
    """Half of the pool is sure and always right, half says 60% and is: nearly all labels go to that half."""
    rng = np.random.default_rng(6)
    s = np.r_[np.full(500, 0.995), np.clip(rng.normal(0.6, 0.02, 500), 0.5, 0.7)]
    predicted = rng.integers(2, size=1000)
    right = rng.random(1000) < s
    truth = np.where(right, predicted, 1 - predicted).astype(str)
    pool = fl.read_pool({"predicted": predicted.astype(str).tolist(), "confidence": s}, classes=["0", "1"])
    audit = fl.create(None, "overall", pool, fl.whole(pool), target="pool", seed=1, anchor=0)
    assert audit.spec.policy == fl.Neyman()
    for _ in range(12):
        audit.tell({item: truth[pool.positions([item])[0]] for item in audit.ask(10).ids})
    doubtful = int((pool.positions(audit.labels()) >= 500).sum())
    # √(.6 · .4) to √(.995 · .005), each share with a little added: 0.49 to 0.08, so about 85 % of 120.
    assert binom.ppf(RARE, 120, 0.72) <= doubtful <= 119


def test_of_several_models_items_come_as_often_as_the_root_of_their_worth() -> None:
    votes = {"m": ["a", "b", "a", "b"] * 10, "n": ["a", "b", "b", "b"] * 10, "o": ["a", "b", "b", "a"] * 10}
    pool = fl.read_pool(votes, models=["m", "n", "o"], classes=["a", "b"])
    audit = fl.create(None, "best", pool, task=fl.Best(fl.Accuracy()), policy=fl.Neyman(), seed=2)
    asked = pool.positions(audit.ask(20).ids)
    assert len(set(asked.tolist())) == 20
    assert set((asked % 4).tolist()) <= {2, 3}  # where models differ
