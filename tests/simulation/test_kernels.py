"""Each kernel is exactly equal to its slow twin, given the same generator; and none runs past the end of the pool."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewlabels.simulation.kernels import choose, jit
from fewlabels.simulation.kernels.compare import NEYMAN, REWARDS, ask_compare, regions_curve
from fewlabels.simulation.kernels.confusion import ask_confusion
from fewlabels.simulation.kernels.estimate import ask_estimate, ask_estimate_contest
from fewlabels.simulation.kernels.identify import ask_lowest, ask_lowest_contest
from fewlabels.simulation.kernels.known import known_pool
from fewlabels.simulation.kernels.replay import mrr_curve
from fewlabels.simulation.kernels.run import start
from fewlabels.simulation.kernels.value import ask_value
from fewlabels.simulation.truth import Gauge
from fewlabels.tasks.rope import pool_rope_probabilities, rope_probabilities
from tests.support import twins

MANY = settings(max_examples=60, deadline=None)


class Small:
    """A small random labelled pool, for kernel and twin."""

    def __init__(self, sizes, kind, seed, outcomes=2, bins=1):
        rng = np.random.default_rng(seed)
        self.groups = len(sizes)
        self.group = rng.permutation(np.repeat(np.arange(self.groups), sizes))
        n = len(self.group)
        some = rng.integers(outcomes, size=n)
        self.outcome = {"right": np.zeros(n, int), "wrong": np.full(n, outcomes - 1), "mixed": some}[kind]
        key = rng.integers(bins, size=n)
        used, self.cell = np.unique(self.group * bins + key, return_inverse=True)
        if bins == 1:
            used, self.cell = np.arange(self.groups), self.group
        self.cell_group = used // bins
        self.prior = rng.choice([1e-6, 0.05, 0.5, 1.0, 3.0], size=(len(used), outcomes))
        self.outcomes = outcomes
        self.known = known_pool(
            self.group,
            self.outcome,
            groups=self.groups,
            outcomes=outcomes,
            cell=self.cell,
            cell_group=self.cell_group,
        )

    def start(self, target=False):
        return start(self.known, self.prior, pool=target)

    def gauge(self, seed):
        """Some weights and centres."""
        rng = np.random.default_rng(seed)
        return Gauge(rng.choice([0.0, 0.5, -1.0, 2.0], self.prior.shape), rng.random(self.prior.shape))

    def cells_of(self):
        return [np.flatnonzero(self.cell_group == g) for g in range(self.groups)]

    def twin(self):
        return twins.Run(self.group, self.cell, self.outcome, self.groups, len(self.prior), self.outcomes, self.prior)


def small(**more):
    return st.builds(
        Small,
        st.lists(st.integers(0, 7), min_size=2, max_size=6).filter(any),
        st.sampled_from(["right", "wrong", "mixed"]),
        st.integers(0, 2**32),
        **more,
    )


budget, seed, flag = st.sampled_from([0, 1, 5, 100]), st.integers(0, 2**32), st.booleans()


def check(pool, target, seed, ask, twin_ask):
    """Kernel and twin ask for the same items in the same order, and leave the generator alike."""
    run, twin = pool.start(target), pool.twin()
    fast, slow = np.random.default_rng(seed), np.random.default_rng(seed)
    ask(fast, run)
    twin_ask(slow, twin)
    assert run.order.tolist() == twin.asked
    assert (run.counts == twin.counts).all()
    assert fast.random() == slow.random()


@MANY
@given(small(), seed, budget, st.integers(1, 3))
def test_uniform_policies(pool, seed, until, m):
    check(
        pool,
        False,
        seed,
        lambda rng, run: choose.ask_items(rng, run, until),
        lambda rng, twin: twins.items_twin(rng, twin, until),
    )
    check(
        pool,
        False,
        seed,
        lambda rng, run: choose.ask_groups(rng, run, m, until),
        lambda rng, twin: twins.groups_twin(rng, twin, m, until),
    )


@MANY
@given(small(), seed, budget, flag)
def test_estimate(pool, seed, until, target):
    check(
        pool,
        target,
        seed,
        lambda rng, run: ask_estimate(rng, run, choose.THOMPSON, until),
        lambda rng, twin: twins.estimate_twin(rng, twin, target, until),
    )


@MANY
@given(small(outcomes=st.integers(3, 4)), seed, budget, flag)
def test_confusion(pool, seed, until, target):
    check(
        pool,
        target,
        seed,
        lambda rng, run: ask_confusion(rng, run, choose.THOMPSON, until),
        lambda rng, twin: twins.confusion_twin(rng, twin, target, until),
    )


DRAWN = st.sampled_from([choose.THOMPSON, choose.TOPTWO])


@MANY
@given(small(), seed, budget, flag, st.integers(1, 3), DRAWN)
def test_lowest_accuracy(pool, seed, until, target, m, policy):
    def twin_ask(rng, twin):
        rewards = twins.lowest_rewards(twin, target)
        twins.scored_twin(rng, twin, m, until, rewards, toptwo=policy == choose.TOPTWO)

    check(pool, target, seed, lambda rng, run: ask_lowest(rng, run, m, policy, until), twin_ask)


@MANY
@given(small(bins=st.integers(1, 3), outcomes=st.integers(2, 3)), seed, budget, flag, st.integers(1, 3), DRAWN)
def test_value(pool, seed, until, target, m, policy):
    gauge = pool.gauge(seed)

    def twin_ask(rng, twin):
        rewards = twins.value_rewards(twin, gauge.weight, gauge.centre, pool.cells_of(), target)
        twins.scored_twin(rng, twin, m, until, rewards, toptwo=policy == choose.TOPTWO)

    check(pool, target, seed, lambda rng, run: ask_value(rng, run, gauge, m, policy, until), twin_ask)


@MANY
@given(small(bins=st.integers(1, 3)), seed, flag, st.integers(1, 2))
def test_mrr_after_every_label(pool, seed, target, m):
    known, run = pool.known, pool.start()
    choose.ask_items(np.random.default_rng(seed), run, 1000)
    there = np.flatnonzero(np.diff(known.starts) > 0)
    members = there[:m]
    weight, centre = np.ones(pool.prior.shape), np.full(pool.prior.shape, 0.3)
    labels = len(known.items)
    curve = mrr_curve(pool.start(target), run.asked, Gauge(weight, centre), members, labels)
    counts = twins.counts_after(known, run.asked, labels)
    for n in range(labels + 1):
        mean = pool.prior + counts[n]
        mean = mean / mean.sum(axis=1, keepdims=True)
        if target:
            left = (known.size - counts[n].sum(axis=1))[:, None]
            mean = (counts[n] + left * mean) / np.maximum(known.size, 1)[:, None]
        # Equal values are equal to the last digit only if summed in the same order.
        value = np.zeros(pool.groups)
        for c, g in enumerate(pool.cell_group):
            if not known.size[c]:
                continue
            for j in range(2):
                value[g] += weight[c, j] * abs(mean[c, j] - centre[c, j])
        assert curve[n] == pytest.approx(twins.mrr_twin(value, members, there), abs=1e-12)


@pytest.mark.slow
@MANY
@given(small(), seed, budget, flag, st.sampled_from([choose.GREEDY, choose.EPSILON, choose.UCB]))
def test_every_driver_ends_with_the_budget_or_the_pool_and_asks_nothing_twice(pool, seed, until, target, policy):
    m = 2
    drivers = [
        lambda rng, run: ask_estimate(rng, run, policy, until),
        lambda rng, run: ask_lowest(rng, run, m, policy, until),
        lambda rng, run: ask_estimate_contest(rng, run, until),
        lambda rng, run: ask_lowest_contest(rng, run, m, until),
    ]
    for driver in drivers:
        run = pool.start(target)
        driver(np.random.default_rng(seed), run)
        assert len(run.order) == len(set(run.order.tolist())) == min(until, len(pool.group))
        assert run.counts.sum() == len(run.order)


def test_greedy_asks_at_the_extreme_of_the_mean_and_ucb_where_little_is_known():
    known = known_pool(np.repeat([0, 1, 2], 5), np.zeros(15, int), groups=3)
    prior = np.array([[50.0, 50.0], [2.0, 8.0], [0.7, 0.5]])
    first = {}
    for policy in (choose.GREEDY, choose.UCB):
        run = start(known, prior, pool=False)
        ask_lowest(np.random.default_rng(1), run, 1, policy, 1)
        first[policy] = known.group[run.asked[0]]
    assert first == {choose.GREEDY: 1, choose.UCB: 2}


@pytest.mark.parametrize("target", [False, True])
@pytest.mark.parametrize("first", [0, 1])
def test_regions_along_a_comparison(target, first):
    rng = np.random.default_rng(3)
    known = known_pool(np.repeat([0, 1], [9, 14]), rng.integers(2, size=23), groups=2)
    prior = np.array([[1.2, 0.8], [0.4, 1e-3]])
    run = start(known, prior, pool=target)
    ask_compare(rng, run, first, 0.05, NEYMAN, choose.THOMPSON, 100)
    assert run.done[0] == 23
    mu, later = (regions_curve(start(known, prior, pool=target), run.asked, first, 0.05, n, 23) for n in (0, 9))
    assert later == pytest.approx(mu[9:], abs=1e-10)
    counts = twins.counts_after(known, run.asked, 23)
    for n in range(24):
        sides = []
        for g in (first, 1 - first):
            left = int(known.size[g] - counts[n, g].sum())
            sides.append((prior[g] + counts[n, g], int(counts[n, g, 0]), left, int(known.size[g])))
        if target:
            expected = pool_rope_probabilities(sides[0], sides[1], 0.05)
        else:
            expected = rope_probabilities(sides[0][0], sides[1][0], 0.05)
        assert mu[n] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("by", REWARDS)
@pytest.mark.parametrize("target", [False, True])
def test_comparison_asks_where_a_label_is_worth_more(by, target):
    """One greedy step against the reward written out with the library's own region probabilities."""
    rng = np.random.default_rng(8)
    for _ in range(8):
        known = known_pool(np.repeat([0, 1], 12), rng.integers(2, size=24), groups=2)
        prior = rng.uniform(0.3, 4, size=(2, 2))
        run = start(known, prior, pool=target)
        ask_compare(rng, run, 0, 0.05, REWARDS[by], choose.GREEDY, 1)

        def regions(alpha, right, left):
            sides = [(alpha[g], int(right[g]), int(left[g]), 12) for g in range(2)]
            return (
                pool_rope_probabilities(sides[0], sides[1], 0.05)
                if target
                else rope_probabilities(alpha[0], alpha[1], 0.05)
            )

        now, reward = regions(prior, [0, 0], [12, 12]), []
        for g in range(2):
            worth = []
            for j in range(2):
                alpha, right, left = prior.copy(), [0, 0], [12, 12]
                alpha[g, j] += 1
                right[g] += j == 0
                left[g] -= 1
                if by == "neyman":
                    before = twins.beta_variance(prior[g], 12, 12, target)
                    worth.append(before - twins.beta_variance(alpha[g], 12, 11, target))
                else:
                    after = regions(alpha, right, left)
                    worth.append(after.max() if by == "confidence" else (after * np.log(after / now)).sum())
            reward.append(prior[g] @ worth / prior[g].sum())
        if abs(reward[0] - reward[1]) > 1e-9:
            assert known.group[run.asked[0]] == np.argmax(reward)


def test_a_changed_formula_makes_kept_kernels_stale():
    kernel: Any = choose.ask_items
    kept = kernel._cache._cache_file._source_stamp
    assert kept == jit.source_stamp()
    assert {"special.py", "draws.py", "choose.py"} <= {name for name, _, _ in kept}
