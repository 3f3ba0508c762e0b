"""The drivers that reward by a formula are exactly equal to their slow twins, given the same generator."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewlabels.simulation.kernels.choose import EPSILON, GREEDY, THOMPSON, UCB
from fewlabels.simulation.kernels.compare import REWARDS, ask_compare
from fewlabels.simulation.kernels.confusion import ask_confusion
from fewlabels.simulation.kernels.estimate import ask_estimate
from fewlabels.simulation.kernels.identify import ask_lowest
from fewlabels.simulation.kernels.value import ask_value
from tests.simulation.test_kernels import Small
from tests.support import twins_greedy as twins

SOME = settings(max_examples=25, deadline=None, derandomize=True)
KINDS = st.sampled_from(["right", "wrong", "mixed"])


def small(**more):
    """A pool with groups that may be empty; few, as all orders of equal rewards are tried."""
    sizes = st.lists(st.sampled_from([9, 12, 5, 2, 1, 0]), min_size=3, max_size=4).filter(any)
    return st.builds(Small, sizes, KINDS, st.integers(0, 2**32), **more)


pair = st.builds(Small, st.tuples(*[st.sampled_from([9, 12, 5, 2, 1])] * 2), KINDS, st.integers(0, 2**32))
# Hypothesis likes its first choice; the tests see more in long runs.
budget, seed = st.sampled_from([100, 100, 4]), st.integers(0, 2**32)
# The drivers have no UCB for the pool's own items.
CERTAIN = [(GREEDY, False), (GREEDY, True), (EPSILON, False), (EPSILON, True), (UCB, False)]


def check(pool, target, seed, until, ask, rewards, **how):
    """The twin can ask for the kernel's items in the kernel's order, and then has the same generator."""
    run, twin = pool.start(target), pool.twin()
    fast, slow = np.random.default_rng(seed), np.random.default_rng(seed)
    ask(fast, run)
    asked = run.order.tolist()
    assert len(asked) == min(until, len(pool.group))
    ends = twins.follow(slow, twin, asked, rewards(twin), **how)
    assert fast.bit_generator.state in [end.bit_generator.state for end in ends]
    assert (run.counts == twin.counts).all()


@pytest.mark.parametrize(("policy", "target"), CERTAIN)
@SOME
@given(small(), seed, budget, st.integers(1, 3))
def test_lowest_accuracy(policy, target, pool, seed, until, m):
    check(
        pool,
        target,
        seed,
        until,
        lambda rng, run: ask_lowest(rng, run, m, policy, until),
        lambda twin: twins.lowest_rewards(twin, target, upper=policy == UCB),
        m=m,
        epsilon=policy == EPSILON,
    )


@pytest.mark.parametrize(("policy", "target"), CERTAIN)
@SOME
@given(small(), seed, budget)
def test_estimate(policy, target, pool, seed, until):
    check(
        pool,
        target,
        seed,
        until,
        lambda rng, run: ask_estimate(rng, run, policy, until),
        lambda twin: twins.estimate_rewards(twin, target, upper=policy == UCB),
        epsilon=policy == EPSILON,
    )


@pytest.mark.slow
@pytest.mark.parametrize("target", [False, True])
@pytest.mark.parametrize("policy", [GREEDY, EPSILON])
@SOME
@given(small(outcomes=st.integers(3, 4)), seed, budget)
def test_confusion(policy, target, pool, seed, until):
    check(
        pool,
        target,
        seed,
        until,
        lambda rng, run: ask_confusion(rng, run, policy, until),
        lambda twin: twins.confusion_rewards(twin, target),
        epsilon=policy == EPSILON,
    )


@pytest.mark.parametrize("target", [False, True])
@pytest.mark.parametrize("policy", [GREEDY, EPSILON])
@SOME
@given(small(bins=st.integers(1, 3), outcomes=st.integers(2, 3)), seed, budget, st.integers(1, 2))
def test_value(policy, target, pool, seed, until, m):
    gauge = pool.gauge(seed)
    check(
        pool,
        target,
        seed,
        until,
        lambda rng, run: ask_value(rng, run, gauge, m, policy, until),
        lambda twin: twins.value_rewards(twin, gauge.weight, gauge.centre, pool.cells_of(), target),
        m=m,
        epsilon=policy == EPSILON,
    )


@pytest.mark.slow
@pytest.mark.parametrize("target", [False, True])
@pytest.mark.parametrize("policy", [THOMPSON, GREEDY, EPSILON])
@pytest.mark.parametrize("by", REWARDS)
@SOME
@given(pair, seed, budget, st.integers(0, 1), st.sampled_from([0.05, 0.0, 0.3]))
def test_compare(by, policy, target, pool, seed, until, first, rope):
    check(
        pool,
        target,
        seed,
        until,
        lambda rng, run: ask_compare(rng, run, first, rope, REWARDS[by], policy, until),
        lambda twin: twins.compare_rewards(twin, first, rope, by, target, thompson=policy == THOMPSON),
        epsilon=policy == EPSILON,
    )
