"""The step that draws for few groups picks as drawing for all does, and its trees stay in order."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fewlabels.simulation.kernels import choose
from fewlabels.simulation.kernels.absolute_sums import enter_sums, learn, new_sums, play_sums
from fewlabels.simulation.kernels.contest import leave, new_contest
from fewlabels.simulation.kernels.cost_sums import enter_prices, new_prices, play_prices
from fewlabels.simulation.kernels.estimate import ask_estimate, ask_estimate_contest
from fewlabels.simulation.kernels.identify import ask_lowest, ask_lowest_contest
from fewlabels.simulation.kernels.jit import kernel
from fewlabels.simulation.kernels.known import known_pool
from fewlabels.simulation.kernels.linear import enter_linear, new_linear, play_linear
from fewlabels.simulation.kernels.run import start
from fewlabels.simulation.kernels.value import ask_linear_contest, ask_value, ask_value_contest
from fewlabels.simulation.truth import Gauge

STEPS = 40_000
LONG = pytest.mark.long
# How many are picked, of how many, and whether marks are set anew. Before every merge one pick of few, and several of
# many, both ways of marking; the other combinations are for a change to these kernels.
SETTINGS = pytest.mark.parametrize(
    ("m", "groups", "again"),
    [
        (1, 5, True),
        (4, 40, False),
        *(
            pytest.param(m, groups, again, marks=LONG)
            for m, groups, again in (
                (1, 5, False),
                (4, 5, False),
                (4, 5, True),
                (1, 40, False),
                (1, 40, True),
                (4, 40, True),
            )
        ),
    ],
)


@kernel
def _frequencies(rng, belief, m, steps, again, warm):
    """How often each group is first, second, ... m-th, shape (m, groups)."""
    groups = len(belief)
    contest, field, chosen = new_contest(groups), new_linear(groups, m), np.empty(m, dtype=np.int64)
    for g in range(groups):
        enter_linear(contest, field, g, belief[g, 0], belief[g, 1], belief[g, 2], belief[g, 3])
    out = np.zeros((m, groups))
    for step in range(warm + steps):
        for i in range(play_linear(rng, contest, field, chosen)):
            g = chosen[i]
            if step >= warm:
                out[i, g] += 1
            if again:
                enter_linear(contest, field, g, belief[g, 0], belief[g, 1], belief[g, 2], belief[g, 3])
    return out


@pytest.mark.slow
@pytest.mark.parametrize("linear", [False, True], ids=["identify", "estimate"])
@SETTINGS
def test_picks_are_distributed_as_if_all_were_drawn(linear, m, groups, again):
    rng = np.random.default_rng([linear, m, groups, again])
    belief = np.zeros((groups, 4))
    belief[:, 0] = rng.choice([0.3, 1, 1.7, 5, 30, 120], groups) * rng.uniform(0.8, 1.2, groups)
    belief[:, 1] = rng.choice([0.05, 0.3, 1, 3, 20, 60], groups) * rng.uniform(0.8, 1.2, groups)
    belief[:, 2] = rng.uniform(0.5, 1, groups) if linear else 0
    belief[:, 3] = rng.uniform(0.3, 2, groups) if linear else 1
    found = _frequencies(rng, belief, m, STEPS, again, 50)
    reward = belief[:, 2] - belief[:, 3] * rng.beta(belief[:, 0], belief[:, 1], size=(STEPS, groups))
    # Draws that round to 0 or 1 are equal, and equal ones come in random order.
    drawn = np.lexsort((rng.random(reward.shape), -reward), axis=1)[:, :m]
    for rank in range(m):
        expected = np.bincount(drawn[:, rank], minlength=groups)
        assert found[rank].sum() == STEPS
        same_shares(found[rank], expected)


@kernel
def _value_frequencies(rng, first, belief, weight, centre, m, steps, again, warm):
    """As `_frequencies`, for values that are sums over cells."""
    groups = len(first) - 1
    contest, field = new_contest(groups), new_sums(first, belief, weight, centre, m)
    chosen, out = np.empty(m, dtype=np.int64), np.zeros((m, groups))
    for g in range(groups):
        enter_sums(contest, field, g)
    for step in range(warm + steps):
        for i in range(play_sums(rng, contest, field, chosen)):
            if step >= warm:
                out[i, chosen[i]] += 1
            if again:
                enter_sums(contest, field, chosen[i])
    return out


@pytest.mark.long
@SETTINGS
def test_picks_by_value_are_distributed_as_if_all_were_drawn(m, groups, again):
    rng = np.random.default_rng([m, groups, again])
    first = np.concatenate([[0], np.cumsum(rng.integers(1, 6, groups))])
    cells = first[-1]
    belief = rng.choice([0.02, 0.3, 1, 1.9, 8, 60], (cells, 2)) * rng.uniform(0.8, 1.2, (cells, 2))
    weight = rng.choice([0.0, 0.004, 0.1, 0.3, 0.6], cells)
    weight[first[:-1]] = 0.5
    centre = rng.choice([0.0, 0.05, 0.5, 0.93, 1.0], cells)
    found = _value_frequencies(rng, first, belief, weight, centre, m, STEPS, again, 50)
    theta = rng.beta(belief[:, 0], belief[:, 1], size=(STEPS, cells))
    value = np.add.reduceat(weight * np.abs(theta - centre), first[:-1], axis=1)
    drawn = np.lexsort((rng.random(value.shape), -value), axis=1)[:, :m]
    for rank in range(m):
        expected = np.bincount(drawn[:, rank], minlength=groups)
        assert found[rank].sum() == STEPS
        same_shares(found[rank], expected)


@kernel
def _price_frequencies(rng, first, belief, weight, m, steps, again, warm):
    """As `_frequencies`, for values that are linear in the shares of any number of outcomes."""
    groups = len(first) - 1
    contest, field = new_contest(groups), new_prices(first, belief, weight, m)
    chosen, out = np.empty(m, dtype=np.int64), np.zeros((m, groups))
    for g in range(groups):
        enter_prices(contest, field, g)
    for step in range(warm + steps):
        for i in range(play_prices(rng, contest, field, chosen)):
            if step >= warm:
                out[i, chosen[i]] += 1
            if again:
                enter_prices(contest, field, chosen[i])
    return out


@pytest.mark.long
@SETTINGS
def test_picks_by_price_are_distributed_as_if_all_were_drawn(m, groups, again):
    """Groups of one to three cells, prices of any sign, outcomes that cannot occur, and a group of one price alone."""
    rng = np.random.default_rng([m, groups, again, 1])
    first = np.concatenate([[0], np.cumsum(rng.integers(1, 4, groups))])
    cells = first[-1]
    belief = rng.choice([0.0, 0.02, 0.3, 1, 8, 60], (cells, 4)) * rng.uniform(0.8, 1.2, (cells, 4))
    belief[:, 1] += 0.4
    weight = rng.choice([-1.0, 0.0, 0.2, 0.5, 1.0], (cells, 4))
    weight[first[0] : first[1]] = 0.4
    found = _price_frequencies(rng, first, belief, weight, m, STEPS, again, 50)
    value = np.zeros((STEPS, groups))
    for g in range(groups):
        for c in range(first[g], first[g + 1]):
            some = belief[c] > 0
            value[:, g] += rng.dirichlet(belief[c, some], STEPS) @ weight[c, some]
    drawn = np.lexsort((rng.random((STEPS, groups)), -value), axis=1)[:, :m]
    for rank in range(m):
        expected = np.bincount(drawn[:, rank], minlength=groups)
        assert found[rank].sum() == STEPS
        same_shares(found[rank], expected)


@kernel
def _learned(first, belief, weight, centre, cells, owner, right):
    """The strips and tails after some labels, and as they are if made anew then."""
    field, now = new_sums(first, belief, weight, centre, 1), belief.copy()
    for i in range(len(cells)):
        learn(field, cells[i], owner[cells[i]], right[i])
        now[cells[i], 0 if right[i] else 1] += 1.0
    fresh = new_sums(first, now, weight, centre, 1)
    return field.edge, field.tail, fresh.edge, fresh.tail


@pytest.mark.slow
def test_strips_follow_the_labels():
    """600 labels by the recurrences of the distribution function are as good as the function itself."""
    rng = np.random.default_rng(5)
    first = np.array([0, 3, 4, 9])
    owner = np.repeat(np.arange(3), np.diff(first))
    belief, weight = rng.choice([0.05, 1.0, 1.9, 8.0], (9, 2)), rng.uniform(0.02, 0.5, 9)
    cells, right = rng.integers(9, size=600), rng.random(600) < 0.8
    edge, tail, fresh_edge, fresh_tail = _learned(first, belief, weight, rng.random(9), cells, owner, right)
    assert edge == pytest.approx(fresh_edge, rel=1e-9, abs=1e-12)
    assert tail == pytest.approx(fresh_tail, rel=1e-9, abs=1e-12)


def same_shares(found, expected):
    """Two counts of picks by group do not differ more than by chance."""
    both = np.array([found, expected])
    rare = both.sum(axis=0) < 20
    table = np.column_stack([both[:, ~rare], both[:, rare].sum(axis=1) + 0.5])
    assert stats.chi2_contingency(table).pvalue > 1e-6


def test_trees_stay_in_order():
    """The root has the highest mark and the sum of all weights, whatever enters, leaves and is played."""
    rng = np.random.default_rng(1)
    (contest, field), chosen = _contest(13, 2), np.empty(2, dtype=np.int64)
    for _ in range(300):
        g = int(rng.integers(13))
        if rng.random() < 0.3:
            _leave(contest, g)
        else:
            a, b = rng.uniform(0.2, 20, 2)
            _enter(contest, field, g, a, b, rng.uniform(0, 1), rng.uniform(0, 2))
        _play(rng, contest, field, chosen)
        assert contest.mark[contest.peak[1]] == contest.mark.max()
        assert contest.weight[1] == pytest.approx(contest.weight[len(contest.mark) :].sum())


@pytest.mark.slow
@pytest.mark.parametrize(
    "task", ["estimate", "identify", *(pytest.param(task, marks=LONG) for task in ("value", "price"))]
)
def test_whole_runs_ask_in_the_groups_as_often(task):
    """Labels in each group after 60 of 300, over 400 runs of either kind: means within 4.5 standard errors."""
    rng = np.random.default_rng(6)
    group = np.repeat(np.arange(12), 25)
    known = known_pool(group, (rng.random(300) > np.linspace(0.3, 0.95, 12)[group]).astype(int), groups=12)
    prior = np.column_stack([np.linspace(1.8, 0.9, 12), np.linspace(0.2, 1.1, 12)])
    bin_prior = np.repeat(prior, 2, axis=0)
    gauge = Gauge(np.column_stack([np.tile([0.6, 0.4], 12), np.zeros(24)]), np.full((24, 2), 0.8))
    binned = known_pool(
        group,
        (rng.random(300) > np.linspace(0.3, 0.95, 12)[group]).astype(int),
        groups=12,
        cell=2 * group + rng.integers(2, size=300),
        cell_group=np.repeat(np.arange(12), 2),
    )
    prices = Gauge(np.tile([[-0.3, 0.6], [0.1, 0.4]], (12, 1)), np.zeros((24, 2)))
    of_pool = (binned, bin_prior) if task in ("value", "price") else (known, prior)
    all_drawn, few_drawn = {
        "estimate": (
            lambda rng, run: ask_estimate(rng, run, choose.THOMPSON, 60),
            lambda rng, run: ask_estimate_contest(rng, run, 60),
        ),
        "identify": (
            lambda rng, run: ask_lowest(rng, run, 3, choose.THOMPSON, 60),
            lambda rng, run: ask_lowest_contest(rng, run, 3, 60),
        ),
        "value": (
            lambda rng, run: ask_value(rng, run, gauge, 3, choose.THOMPSON, 60),
            lambda rng, run: ask_value_contest(rng, run, gauge, 3, 60),
        ),
        "price": (
            lambda rng, run: ask_value(rng, run, prices, 3, choose.THOMPSON, 60),
            lambda rng, run: ask_linear_contest(rng, run, prices.weight, 3, 60),
        ),
    }[task]
    taken = np.zeros((2, 400, 12))
    for number in range(400):
        for kind, ask in enumerate((all_drawn, few_drawn)):
            run = start(*of_pool, pool=False)
            ask(np.random.default_rng([number, kind]), run)
            taken[kind, number] = run.taken
    gap = taken[0].mean(axis=0) - taken[1].mean(axis=0)
    error = np.sqrt((taken.var(axis=1).sum(axis=0)) / 400)
    assert (np.abs(gap) <= 4.5 * error + 1e-9).all()


@kernel
def _contest(groups, m):
    return new_contest(groups), new_linear(groups, m)


@kernel
def _enter(contest, field, g, a, b, c0, c1):
    enter_linear(contest, field, g, a, b, c0, c1)


@kernel
def _leave(contest, g):
    leave(contest, g)


@kernel
def _play(rng, contest, field, chosen):
    return play_linear(rng, contest, field, chosen)
