"""The boundary policy, whose rule is written down a second time, and the exact quantiles of UCB."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, betabinom, chi2, norm

import fewlabels as fl
from fewlabels.outcomes import Outcomes
from fewlabels.policies import UCB, Boundary, Greedy
from fewlabels.policies.base import best
from fewlabels.policies.boundary import _Border
from fewlabels.tasks import Rewards
from fewlabels.tasks.estimate import value_variance
from tests.support.contracts import TARGETS
from tests.support.pools import law, pool_of, zoo

if TYPE_CHECKING:
    from fewlabels.belief import Target
    from fewlabels.tasks import Task

RARE = 1e-4
Z = 4.5


def rewards_of(task: Task, sizes: list[int], right: list[int], wrong: list[int], target: Target) -> Rewards:
    """The rewards on groups with so many items, of which so many are labelled and right, or wrong."""
    predicted = np.repeat(np.arange(len(sizes)), sizes)
    pool = pool_of(predicted, predicted, np.full(len(predicted), 0.5), ["here"] * len(predicted), len(sizes)).pool
    cells = task.metric.cells(pool, fl.by_predicted(pool))
    there = np.flatnonzero(sizes)
    counts = np.column_stack([right, wrong]).astype(float)[there]
    return Rewards(task, cells, fl.Uniform().on(cells, target).belief(Outcomes(counts)))


def moments(size: int, right: int, wrong: int, target: Target) -> tuple[float, float]:
    """Mean and variance of a group's accuracy after labels, under the uniform prior, from SciPy."""
    a, b, left = 1 + right, 1 + wrong, size - right - wrong
    if target == "population":
        return float(beta.mean(a, b)), float(beta.var(a, b))
    if not left:
        return right / size, 0.0
    more = betabinom(left, a, b)
    return (right + float(more.mean())) / size, float(more.var()) / size**2


def fall(size: int, right: int, wrong: int, target: Target) -> float:
    """The expected fall in that variance by one label."""
    now, chance = moments(size, right, wrong, target)[1], (1 + right) / (2 + right + wrong)
    later = moments(size, right + 1, wrong, target)[1], moments(size, right, wrong + 1, target)[1]
    return now - chance * later[0] - (1 - chance) * later[1]


def most_to_settle(m: int, groups: list[tuple[int, int, int]], target: Target) -> set[int]:
    """The groups that may be asked, to within rounding; whoever equals the last of the m lowest may be in or out."""
    found = {g: moments(*group, target) for g, group in enumerate(groups) if group[0]}
    edge = sorted(mean for mean, _ in found.values())[m - 1]
    below = [g for g in found if found[g][0] < edge - 1e-12]
    equal = [g for g in found if abs(found[g][0] - edge) <= 1e-12]
    asked = set()
    for some in combinations(equal, m - len(below)):
        members = {*below, *some}
        worth = {}
        for g in found:
            if groups[g][0] == groups[g][1] + groups[g][2]:
                continue
            apart = [
                (found[g][0] - found[h][0], found[g][1] + found[h][1])
                for h in found
                if (g in members) != (h in members)
            ]
            worth[g] = max(norm.logpdf(0, gap, np.sqrt(both)) for gap, both in apart) + np.log(fall(*groups[g], target))
        asked |= {g for g in worth if worth[g] >= max(worth.values()) - 1e-9}
    return asked


@st.composite
def half_labelled(draw: st.DrawFn) -> tuple[int, list[tuple[int, int, int]]]:
    """m, and the size, right and wrong labels of each of more than m groups that have items; not all are labelled."""
    groups = []
    for _ in range(draw(st.integers(2, 6))):
        size = draw(st.integers(1, 12))
        right = draw(st.integers(0, size))
        groups.append((size, right, draw(st.integers(0, size - right))))
    if all(size == right + wrong for size, right, wrong in groups):
        groups[0] = (groups[0][0] + 1, *groups[0][1:])
    m = draw(st.integers(1, len(groups) - 1))
    groups.insert(draw(st.integers(0, len(groups))), (0, 0, 0))
    return m, groups


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@law(150)
@given(case=half_labelled(), seed=st.integers(0, 9))
def test_boundary_asks_where_there_is_most_to_settle(
    target: Target, case: tuple[int, list[tuple[int, int, int]]], seed: int
) -> None:
    m, groups = case
    sizes, right, wrong = map(list, zip(*groups, strict=True))
    rewards = rewards_of(fl.Identify(fl.Accuracy(), lowest=m), sizes, right, wrong, target)
    room = np.array(sizes) - right - wrong
    (asked,) = Boundary().choose(rewards, room, m, np.random.default_rng(seed)).tolist()
    assert room[asked]
    assert asked in most_to_settle(m, groups, target)


def test_boundary_leaves_alone_what_is_settled() -> None:
    """Two groups surely below, two surely above, and two in between that nobody can tell apart."""
    right, wrong = [2, 4, 40, 42, 90, 95], [98, 96, 60, 58, 10, 5]
    rewards = rewards_of(fl.Identify(fl.Accuracy(), lowest=3), [400] * 6, right, wrong, "population")
    room, rng = np.full(6, 300), np.random.default_rng(1)
    assert {int(g) for _ in range(20) for g in Boundary().choose(rewards, room, 3, rng)} <= {2, 3}


def test_a_fully_labelled_group_keeps_its_place() -> None:
    """The lowest is known for sure, so the question is which of the others is the second lowest."""
    sizes, right, wrong = [10, 400, 400, 400], [1, 50, 52, 90], [9, 50, 48, 10]
    rewards = rewards_of(fl.Identify(fl.Accuracy(), lowest=2), sizes, right, wrong, "pool")
    room = np.array(sizes) - np.array(right) - np.array(wrong)
    for seed in range(10):
        assert Boundary().choose(rewards, room, 2, np.random.default_rng(seed)).tolist() in ([1], [2])


def test_where_nothing_is_known_every_group_is_asked_alike() -> None:
    rewards = rewards_of(fl.Identify(fl.Accuracy(), highest=2), [9] * 5, [0] * 5, [0] * 5, "population")
    rng, runs = np.random.default_rng(2), 500
    count = Counter(int(g) for _ in range(runs) for g in Boundary().choose(rewards, np.full(5, 9), 2, rng))
    statistic = sum((count[g] - runs / 5) ** 2 / (runs / 5) for g in range(5))
    assert statistic < chi2.ppf(1 - RARE, 4), count


def test_boundary_is_greedy_where_the_reward_is_what_a_label_is_worth() -> None:
    rewards = rewards_of(fl.Estimate(fl.Accuracy()), [30] * 4, [3, 1, 9, 0], [3, 8, 0, 1], "pool")
    room = np.full(4, 20)
    found = [policy.choose(rewards, room, 1, np.random.default_rng(3)).tolist() for policy in (Boundary(), Greedy())]
    assert found[0] == found[1]


def test_nothing_is_asked_where_nothing_is_left() -> None:
    rewards = rewards_of(fl.Identify(fl.Accuracy(), lowest=1), [2, 2], [1, 1], [1, 1], "pool")
    assert Boundary().choose(rewards, np.zeros(2, dtype=np.int64), 1, np.random.default_rng(4)).tolist() == []


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("metric", [fl.Accuracy(), fl.Cost(np.arange(36.0).reshape(6, 6) % 7)], ids=["share", "cost"])
def test_the_variance_is_that_of_draws(metric: fl.Metric, target: Target) -> None:
    """Exact where the value is linear; a group's sample variance has the standard error sqrt((μ4 − σ⁴)/n)."""
    known, draws = zoo(), 20_000
    cells = metric.cells(known.pool, fl.by_predicted(known.pool))
    items = np.arange(0, 30, 3)
    counts = np.zeros((len(cells), len(cells.outcomes)))
    np.add.at(counts, (cells.cell[items], metric.outcome(known.pool, items, known.true[items])), 1)
    belief = fl.Uniform().on(cells, target).belief(Outcomes(counts))
    rewards = Rewards(fl.Identify(metric, highest=1), cells, belief)
    value = metric.value(belief.draws(np.random.default_rng(5), draws), cells)
    square = (value - value.mean(axis=0)) ** 2
    gap = np.abs(square.mean(axis=0) - value_variance(rewards.task, belief, rewards.cells, belief.mean()))
    assert (gap <= Z * square.std(axis=0) / np.sqrt(draws) + 1e-12).all()


@pytest.mark.parametrize("task", [fl.Identify(fl.Accuracy(), lowest=1), fl.Estimate(fl.Accuracy())], ids=["low", "all"])
@pytest.mark.parametrize("q", [0.975, 0.2])
def test_the_quantile_of_ucb_is_that_of_draws(task: Task, q: float) -> None:
    """Of n draws, the share below the exact q-quantile is q to within binomial noise, in every group."""
    rewards, draws = rewards_of(task, [30] * 4, [4, 1, 9, 0], [2, 8, 0, 1], "population"), 20_000
    rng = np.random.default_rng(6)
    below = (rewards.draw(rng, draws) <= rewards.quantile(rng, q)).mean(axis=0)
    assert (np.abs(below - q) < Z * np.sqrt(q * (1 - q) / draws)).all()
    assert UCB(q).choose(rewards, np.full(4, 9), 1, rng).tolist() == [int(rewards.quantile(rng, q).argmax())]


@pytest.mark.parametrize("q", [0.975, 0.2])
def test_the_quantile_of_ucb_in_a_pool_is_near_that_of_its_shares(q: float) -> None:
    """Between the exact quantiles of the Beta-binomial one item up and one down; what is fully labelled is known."""
    groups = [(60, 4, 2), (60, 1, 8), (40, 19, 1), (1, 0, 0), (5, 2, 3)]
    sizes, right, wrong = map(list, zip(*groups, strict=True))
    rewards = rewards_of(fl.Identify(fl.Accuracy(), highest=1), sizes, right, wrong, "pool")
    found = rewards.quantile(np.random.default_rng(7), q)
    for g, (size, r, w) in enumerate(groups[:4]):
        exact = (r + betabinom.ppf(q, size - r - w, 1 + r, 1 + w)) / size
        assert abs(found[g] - exact) <= 1.5 / size
    assert found[4] == pytest.approx(2 / 5)


@pytest.mark.parametrize(
    ("task", "prior", "policy"),
    [
        (fl.Identify(fl.Accuracy(), lowest=1), None, fl.Boundary()),
        (fl.Identify(fl.Accuracy(), lowest=1), fl.Uniform(), fl.Thompson()),
        (fl.Identify(fl.CalibrationError(), highest=1), None, fl.Thompson()),
        (None, None, fl.Thompson()),
    ],
)
def test_it_is_the_usual_policy_where_it_was_measured_to_be_the_better_one(task, prior, policy):
    pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]])
    assert fl.create(None, "usual", pool, task=task, prior=prior).spec.policy == policy


def test_steps_of_a_round_ask_as_if_the_labels_before_them_had_been_answered_as_expected() -> None:
    # For Beta beliefs about a population the way in which the worth of a group falls is exact.
    task = fl.Identify(fl.Accuracy(), lowest=2)
    one = rewards_of(task, [50] * 6, [8, 5, 3, 6, 1, 2], [1, 2, 3, 3, 5, 5], "population")
    room = np.full(6, 50)
    border = _Border.of(one, 6, 2, np.random.default_rng(1))
    waiting = np.zeros(6, dtype=np.int64)
    for _ in range(8):
        (asked,) = (
            Boundary()
            .choose(Rewards(task, one.cells, one.belief.awaiting(waiting)), room, 2, np.random.default_rng(1))
            .tolist()
        )
        before = border.worth.copy()
        assert asked == int(np.argmax(before)) or before.max() - before[asked] < 0.05  # the other side's is of before
        border.ask(np.array([asked]))
        waiting[asked] += 1
        anew = _Border.of(Rewards(task, one.cells, one.belief.awaiting(waiting)), 6, 2, np.random.default_rng(1))
        assert border.worth[asked] == pytest.approx(anew.worth[asked])
    assert np.count_nonzero(waiting) > 1  # a round is not spent on one group


def test_the_best_of_many_groups_are_those_of_a_full_sort() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        reward, room = rng.integers(0, 12, 60).astype(float), rng.integers(0, 3, 60)
        tie = np.random.default_rng(seed).random(np.count_nonzero(room))
        there = np.flatnonzero(room)
        full = there[np.lexsort((tie, -reward[there]))]
        for plays in (1, 3, 40):
            assert best(reward, room, plays, np.random.default_rng(seed)).tolist() == full[:plays].tolist()
