"""The compiled formulas against SciPy and the library: beta function, tails, quantiles, draws, rope, variances."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from fewlabels.belief import Belief
from fewlabels.simulation.kernels.draws import draw_beta, draw_dirichlet, draw_odds
from fewlabels.simulation.kernels.formulas import beta_drops, beta_variance, dirichlet_drop
from fewlabels.simulation.kernels.jit import kernel
from fewlabels.simulation.kernels.rope import rope_flow, rope_regions
from fewlabels.simulation.kernels.special import betainc, betaln, quantile, tails
from fewlabels.simulation.kernels.tails import draw_below_cut, draw_between, rare_cut
from fewlabels.tasks.rope import rope_probabilities

COUNTS = [1e-6, 1e-4, 0.01, 0.3, 0.999, 1.0, 1.5, 3.0, 9.99, 10.0, 10.01, 40.0, 300.0, 3000.0, 5e4]


def test_betaln_against_scipy():
    """SciPy's own error grows as log Γ of the largest count times the rounding unit."""
    for a in COUNTS:
        for b in COUNTS:
            slack = 1e-15 * (20 + abs(special.gammaln(a + b)))
            assert betaln(a, b) == pytest.approx(special.betaln(a, b), abs=4 * slack, rel=0)


def test_both_tails_against_scipy():
    for a in COUNTS:
        for b in COUNTS:
            sd = math.sqrt(a * b / (a + b + 1)) / (a + b)
            near = np.clip(a / (a + b) + sd * np.linspace(-6, 6, 7), 1e-9, 1 - 1e-9)
            for x in [*near, 1e-12, 1e-3, 0.3, 0.9, 1 - 1e-6]:
                low, high = tails(a, b, x, 1 - x)
                assert low == pytest.approx(special.betainc(a, b, x), rel=1e-11, abs=2e-14)
                assert high == pytest.approx(special.betaincc(a, b, x), rel=1e-11, abs=2e-14)


def test_far_tails_keep_their_relative_precision():
    for a, b, x in [(40.0, 3.0, 0.05), (300.0, 300.0, 0.2), (5.0, 1e-4, 1e-9), (3000.0, 40.0, 0.9)]:
        assert tails(a, b, x, 1 - x)[0] == pytest.approx(special.betainc(a, b, x), rel=1e-11)
    assert betainc(2.0, 3.0, 0.0) == 0
    assert betainc(2.0, 3.0, 1.0) == 1


@pytest.mark.parametrize("level", [0.025, 0.5, 0.975])
def test_quantile_against_scipy(level):
    for a in (0.3, 1.0, 2.5, 40.0, 3000.0):
        for b in (0.3, 1.0, 2.5, 40.0, 3000.0):
            assert quantile(a, b, level) == pytest.approx(special.betaincinv(a, b, level), abs=1e-12)


@kernel
def _many_draws(rng: np.random.Generator, a: float, b: float, cut: float, chance: float, out: np.ndarray) -> None:
    for i in range(out.shape[1]):
        out[0, i] = draw_beta(rng, a, b)
        out[1, i] = draw_odds(rng, a, b)
        out[2, i] = draw_below_cut(rng, a, b, cut, chance)


@pytest.mark.parametrize(
    ("a", "b", "cut"),
    # Each way of drawing below a cut: often, by tangent, by power (small a, small b, b above 1), by halving.
    [
        (3.0, 2.0, 0.5),
        (5.0, 3.0, 0.1),
        (120.0, 60.0, 0.55),
        (0.3, 20.0, 1e-6),
        (1.7, 0.3, 0.2),
        (1.0, 3.0, 0.001),
        (30.0, 0.3, 0.93),
    ],
)
def test_draws_have_their_distribution(a, b, cut):
    out = np.empty((3, 20_000))
    chance = special.betainc(a, b, cut)
    _many_draws(np.random.default_rng(4), a, b, cut, chance, out)
    levels = [special.betainc(a, b, theta) for theta in (out[0], special.expit(out[1]), out[2])]
    for level in (levels[0], levels[1], levels[2] / chance):
        assert stats.kstest(level, "uniform").pvalue > 1e-5


@kernel
def _many_between(rng, a, b, low, high, out):
    for i in range(len(out)):
        out[i] = draw_between(rng, a, b, low, high)


@pytest.mark.parametrize(
    ("a", "b", "low", "high"),
    # All of it, a power at either end, a flat density, the mode inside, a steep side, a density that has no mode.
    [
        (0.3, 0.2, 0.0, 1.0),
        (0.3, 0.2, 0.0, 0.4),
        (0.3, 0.2, 0.4, 1.0),
        (1.9, 0.4, 0.9, 1.0),
        (1.9, 0.4, 0.0, 0.2),
        (1.0, 1.0, 0.0, 0.1),
        (1.0, 4.0, 0.0, 0.3),
        (9.0, 1.0, 0.95, 1.0),
        (30.0, 10.0, 0.7, 0.8),
        (300.0, 100.0, 0.60, 0.63),
        (300.0, 100.0, 0.88, 0.92),
        (0.3, 0.2, 0.3, 0.6),
    ],
)
def test_draws_between_two_values_have_their_distribution(a, b, low, high):
    out = np.empty(20_000)
    _many_between(np.random.default_rng(4), a, b, low, high, out)
    # Far from the mean the other tail keeps the digits.
    tail = special.betainc if low < a / (a + b) else lambda a, b, x: -special.betaincc(a, b, x)
    start, end = tail(a, b, low), tail(a, b, high)
    assert stats.kstest((tail(a, b, out) - start) / (end - start), "uniform").pvalue > 1e-5


def test_tiny_counts_are_a_coin_toss_between_the_ends():
    out = np.empty((3, 4000))
    _many_draws(np.random.default_rng(2), 1e-6, 3e-6, 0.5, 0.75, out)
    assert not np.isnan(out).any()
    near = 4.5 * math.sqrt(0.25 * 0.75 / 4000)
    assert out[0].mean() == pytest.approx(0.25, abs=near)
    assert (out[1] > 0).mean() == pytest.approx(0.25, abs=near)


def test_dirichlet_draws_have_the_right_mean_and_never_fail():
    alpha, theta, total = np.array([2e-9, 0.0, 6e-9]), np.empty(3), np.zeros(3)
    rng = np.random.default_rng(0)
    for _ in range(4000):
        draw_dirichlet(rng, alpha, theta)
        assert theta.sum() == pytest.approx(1)
        total += theta
    assert total[1] == 0
    assert total[0] / 4000 == pytest.approx(0.25, abs=4.5 * math.sqrt(0.25 * 0.75 / 4000))


@pytest.mark.parametrize("level", [0.1, 0.003, 3e-5])
def test_a_rare_cut_is_rare(level):
    """It need not be exact, but must be of the right order for the contest to be quick."""
    z = stats.norm.isf(level)
    for a, b in [(1.0, 1.0), (1.7, 0.3), (5.0, 2.0), (40.0, 10.0), (200.0, 300.0), (0.3, 0.3)]:
        assert level / 30 < special.betainc(a, b, rare_cut(a, b, level, z)) < 30 * level


def test_rope_against_the_librarys_quadrature():
    rng = np.random.default_rng(0)
    for _ in range(300):
        a, b, c, d = rng.choice([1e-6, 1e-3, 0.02, 0.3, 1, 1.5, 4, 30, 200, 3000], 4)
        rope = float(rng.choice([0.0, 0.001, 0.05, 0.3]))
        expected = rope_probabilities(np.array([a, b]), np.array([c, d]), rope)
        assert rope_regions(a, b, c, d, rope) == pytest.approx(expected, abs=1e-10)


@pytest.mark.slow
def test_a_label_moves_the_rope_probabilities_by_the_flow():
    rng = np.random.default_rng(1)
    for _ in range(100):
        a, b, c, d = rng.choice([1e-6, 1e-3, 0.1, 1, 1.9, 4, 30, 200, 3000], 4)
        rope = float(rng.choice([0.0, 0.05, 0.3]))
        less = rope_regions(a, b, c, d, rope)[0]
        own, other = rope_flow(a, b, c, d, rope), rope_flow(d, c, b, a, rope)
        moved = [less - own / a, less + own / b, less + other / c, less - other / d]
        for change, found in zip(np.eye(4), moved, strict=True):
            x, y = np.split(np.array([a, b, c, d]) + change, 2)
            assert found == pytest.approx(rope_probabilities(x, y, rope)[0], abs=2e-10)


@pytest.mark.parametrize("target", ["population", "pool"])
def test_drops_in_variance_against_the_belief(target):
    prior, counts, size = np.array([[0.7, 1.9], [3.0, 0.4]]), np.array([[3.0, 1.0], [0.0, 2.0]]), np.array([9, 4])
    belief = Belief(prior, counts, size, target)
    for g in range(2):
        a, b = belief.alpha[g]
        rest, pool = int(size[g]), target == "pool"
        left = int(belief.left[g])
        assert beta_variance(a, b, rest, left, pool) == pytest.approx(belief.variance()[g, 0])
        for theta in (0.0, 0.3, 1.0):
            share = np.array([[theta, 1 - theta]] * 2)
            wrong, right = beta_drops(a, b, rest, left, pool)
            # The library takes shares of the whole pool and works out those of the unlabelled items itself.
            whole = (counts + belief.left[:, None] * share) / size[:, None] if pool else share
            expected = belief.drop(np.array([[1.0, 0.0]] * 2), whole)[g]
            assert (1 - theta) * wrong + theta * right == pytest.approx(expected)
            alpha = belief.alpha[g]
            drop = dirichlet_drop(a + b, alpha @ alpha, share[g] @ alpha, rest, left, pool)
            assert drop == pytest.approx(belief.total_drop(whole)[g])
