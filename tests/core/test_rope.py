"""Rope probabilities and the rewards of Compare, against slow and obvious versions of the same formulas."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats

import fewlabels as fl
from fewlabels.outcomes import Outcomes
from fewlabels.tasks import Rewards, pool_rope_probabilities, rope_probabilities

COUNTS = (2e-6, 0.002, 0.5, 1.0, 2.0, 30.0, 1e3, 1e5)
ROPES = (0.0, 0.01, 0.05, 0.3)
# Both Betas with all their mass at the ends, both at one end, one flat and one a spike, two spikes a rope apart.
CORNERS = (
    (2e-6, 2e-6, 2e-6, 2e-6),
    (0.002, 2e-6, 2e-6, 0.002),
    (0.5, 2e-6, 2e-6, 0.5),
    (1.0, 2e-6, 1e5, 2e-6),
    (2e-6, 1e5, 0.002, 1.0),
    (1.0, 1.0, 1e5, 1e5),
    (6.0e4, 4.0e4, 6.5e4, 3.5e4),
    (1e5, 0.5, 0.5, 1e5),
)


def slow_below(a: tuple[float, ...], b: tuple[float, ...], rope: float) -> float:
    """P(θ_a < θ_b − ε) with very many nodes, in the log-odds of y on (ε, 1): 20 for every few standard deviations."""
    width, far = 1 - rope, 75.0
    panels = int(np.ceil(2 * far / min(0.25, 8 / np.sqrt(max(sum(a), sum(b))))))
    node, weight = np.polynomial.legendre.leggauss(20)
    half = far / panels
    z = (-far + half * (2 * np.arange(panels) + 1)[:, None] + half * node).ravel()
    x, t = width * special.expit(z), width * special.expit(-z)
    low = z < 0
    values = np.empty_like(z)
    values[low] = stats.beta.pdf(rope + x[low], *b) * stats.beta.cdf(x[low], *a)
    values[~low] = stats.beta.pdf(t[~low], b[1], b[0]) * stats.beta.sf(rope + t[~low], a[1], a[0])
    middle = (values * x * t / width) @ np.tile(half * weight, panels)
    # At the two ends each Beta is a power of the distance, so the rest is a product of known masses.
    near = width * special.expit(-far)
    last = stats.beta.cdf(near, b[1], b[0])
    if rope > 0:
        return float(middle + last * stats.beta.cdf(width, *a))
    first = stats.beta.cdf(near, *a) * stats.beta.cdf(near, *b) * b[0] / (a[0] + b[0])
    return float(middle + first + last * (1 - stats.beta.cdf(near, a[1], a[0]) * b[1] / (a[1] + b[1])))


def sampled_grid(n: int) -> list[tuple[float, ...]]:
    """Some of the combinations of counts and rope; the slow version is too slow for more of the largest count."""
    grid = list(itertools.product(*[COUNTS[:-1]] * 4, ROPES))
    return [grid[i] for i in np.random.default_rng(2).choice(len(grid), n, replace=False)]


def check(counts: tuple[float, ...], rope: float) -> None:
    a, b = counts[:2], counts[2:]
    less, more = slow_below(a, b, rope), slow_below(b, a, rope)
    mu = rope_probabilities(np.array(a), np.array(b), rope)
    np.testing.assert_allclose(mu, [less, 1 - less - more, more], rtol=0, atol=1e-10, err_msg=f"{counts} {rope}")


@pytest.mark.slow
@pytest.mark.parametrize("rope", [0.0, 0.05])
def test_quadrature_in_the_corners(rope: float) -> None:
    for corner in CORNERS:
        check(corner, rope)


@pytest.mark.slow
def test_quadrature_on_a_wide_grid() -> None:
    for *counts, rope in sampled_grid(50):
        check(tuple(counts), rope)


def test_quadrature_against_whole_number_counts() -> None:
    # For whole numbers P(θ_a < θ_b) is a finite sum, here in fractions and so without any rounding:
    # Σ_{i<b0} B(a0+i, a1+b1) / ((b1+i) B(1+i, b1) B(a0, a1)).
    def beta(p: int, q: int) -> Fraction:
        return Fraction(math.factorial(p - 1) * math.factorial(q - 1), math.factorial(p + q - 1))

    for a0, a1, b0, b1 in [(1, 1, 1, 1), (3, 8, 5, 4), (20, 7, 25, 3), (61, 50, 53, 27)]:
        terms = (beta(a0 + i, a1 + b1) / ((b1 + i) * beta(1 + i, b1) * beta(a0, a1)) for i in range(b0))
        mu = rope_probabilities(np.array([a0, a1], float), np.array([b0, b1], float), 0.0)
        assert mu[0] == pytest.approx(float(sum(terms)), abs=1e-13)


@pytest.mark.slow
def test_laws_on_a_wide_grid() -> None:
    # Sums to 1, symmetric, and a wider rope is never less probable.
    for counts in np.random.default_rng(4).choice(COUNTS, (60, 4)):
        a, b = np.array(counts[:2]), np.array(counts[2:])
        previous = -1.0
        for rope in (*ROPES, 1.0):
            mu = rope_probabilities(a, b, rope)
            assert mu.min() >= 0
            assert mu.sum() == pytest.approx(1, abs=1e-10)
            np.testing.assert_allclose(mu, rope_probabilities(b, a, rope)[::-1], rtol=0, atol=1e-13)
            assert mu[1] >= previous - 1e-10
            previous = mu[1]
        assert mu.tolist() == [0, 1, 0]


def test_limits() -> None:
    flat = np.ones(2)
    for rope in (0.0, 0.05, 0.3):
        # Two flat Betas: the triangle above the line y = x + ε.
        np.testing.assert_allclose(rope_probabilities(flat, flat, rope)[[0, 2]], (1 - rope) ** 2 / 2, rtol=1e-13)
    # Prior counts of 1e-6 are a coin that shows 0 or 1: equal with probability 1/2.
    coin = np.full(2, 1e-6)
    np.testing.assert_allclose(rope_probabilities(coin, coin, 0.05), [0.25, 0.5, 0.25], atol=1e-5)
    # A spike at 0.8 − 0.6: certain, and undecided exactly on the edge of the rope.
    low, high = np.array([6e6, 4e6]), np.array([8e6, 2e6])
    np.testing.assert_allclose(rope_probabilities(low, high, 0.05), [1, 0, 0], atol=1e-9)
    assert rope_probabilities(low, high, 0.2)[0] == pytest.approx(0.5, abs=1e-3)


# --- the pool's own items


def brute_pool(a: tuple[np.ndarray, int, int, int], b: tuple[np.ndarray, int, int, int], rope: Fraction) -> np.ndarray:
    """μ by going through every way the unlabelled items of both groups can turn out, compared as fractions."""
    mu = np.zeros(3)
    for x, y in itertools.product(range(a[2] + 1), range(b[2] + 1)):
        mass = stats.betabinom.pmf(x, a[2], *a[0]) * stats.betabinom.pmf(y, b[2], *b[0])
        difference = Fraction(a[1] + x, a[3]) - Fraction(b[1] + y, b[3])
        mu[0 if difference < -rope else 2 if difference > rope else 1] += mass
    return mu


@pytest.mark.parametrize("rope", [Fraction(0), Fraction(1, 20), Fraction(1, 10), Fraction(1, 3)])
def test_pool_against_enumeration(rope: Fraction) -> None:
    # Sizes of 10, 20 and 30 put many differences exactly on the edge of the rope.
    for (ra, wa, na), (rb, wb, nb) in itertools.product([(0, 0, 10), (3, 4, 20), (5, 5, 10)], [(1, 0, 20), (9, 4, 30)]):
        a = (np.array([1.0 + ra, 1.0 + wa]), ra, na - ra - wa, na)
        b = (np.array([0.3 + rb, 0.9 + wb]), rb, nb - rb - wb, nb)
        np.testing.assert_allclose(pool_rope_probabilities(a, b, float(rope)), brute_pool(a, b, rope), atol=1e-12)


def test_a_big_pool_is_the_population() -> None:
    # The share among n unlabelled items is within 4/√n of θ, so μ moves by no more than the mass so near an edge.
    a, b, n = np.array([13.0, 9.0]), np.array([17.0, 5.0]), 200_000
    big = pool_rope_probabilities((a, 12, n, n + 20), (b, 16, n, n + 20), 0.05)
    population = rope_probabilities(a, b, 0.05)
    step = 4 / np.sqrt(n)
    near = [rope_probabilities(a, b, 0.05 + sign * step) for sign in (-1, 1)]
    assert np.all(np.abs(big - population) < np.abs(near[0] - near[1]))


# --- the rewards


SIZES = {"a": 9, "b": 14}


def question(by: str, target: str, right: dict[str, int], wrong: dict[str, int], rope: float = 0.05) -> Rewards:
    """The rewards of comparing a with b after some labels, through a real pool of two groups and a bystander."""
    place = [g for g, n in {**SIZES, "other": 5}.items() for _ in range(n)]
    pool = fl.read_pool({"predicted": ["x"] * len(place), "place": place}, classes=["x", "y"])
    task = fl.Compare(fl.Accuracy(), "a", "b", rope=rope, by=by)  # type: ignore[arg-type]
    cells = task.metric.cells(pool, fl.by_column(pool, "place"))
    counts = np.array([[right[g], wrong[g]] for g in ("a", "b")] + [[0, 0]], float)
    return Rewards(task, cells, fl.Uniform().on(cells, target).belief(Outcomes(counts)))  # type: ignore[arg-type]


def after(rewards: Rewards, cell: int, outcome: int) -> fl.Belief:
    counts = rewards.belief.counts.copy()
    counts[cell, outcome] += 1
    return fl.Belief(rewards.belief.prior, counts, rewards.belief.size, rewards.belief.target)


def predictive(belief: fl.Belief, cell: int) -> np.ndarray:
    """The probabilities that the next label of a cell is right and wrong: the same for population and pool."""
    return belief.alpha[cell] / belief.alpha[cell].sum()


STATES = [
    ({"a": 0, "b": 0}, {"a": 0, "b": 0}),
    ({"a": 3, "b": 6}, {"a": 4, "b": 1}),
    ({"a": 6, "b": 3}, {"a": 0, "b": 2}),
    ({"a": 1, "b": 1}, {"a": 7, "b": 8}),
]


@pytest.mark.parametrize("target", ["population", "pool"])
@pytest.mark.parametrize(("right", "wrong"), STATES)
def test_rewards_of_compare_at_the_mean(target: str, right: dict[str, int], wrong: dict[str, int]) -> None:
    for rope in (0.0, 0.05, 0.3):
        by = {name: question(name, target, right, wrong, rope) for name in ("confidence", "information", "neyman")}
        some = by["confidence"]
        belief, task, cells = some.belief, some.task, some.cells
        assert isinstance(task, fl.Compare)
        now = task.probabilities(belief, cells)
        expected = {name: np.zeros(3) for name in by}
        for cell in (0, 1):
            chance = predictive(belief, cell)
            later = [after(some, cell, outcome) for outcome in (0, 1)]
            mu = np.array([task.probabilities(one, cells) for one in later])
            np.testing.assert_allclose(chance @ mu, now, atol=1e-9)  # region probabilities are a martingale
            expected["confidence"][cell] = chance @ mu.max(axis=1)
            # I(label; region) = H(region) − E H(region | label).
            expected["information"][cell] = special.entr(now).sum() - chance @ special.entr(mu).sum(axis=1)
            spread = [one.variance()[:2, 0].sum() for one in later]
            expected["neyman"][cell] = belief.variance()[:2, 0].sum() - chance @ spread
        for name, rewards in by.items():
            np.testing.assert_allclose(rewards.mean(), expected[name], atol=1e-8, err_msg=name)
        assert by["information"].mean().min() >= -1e-10
        assert by["confidence"].mean()[:2].min() >= now.max() - 1e-9


@pytest.mark.parametrize("target", ["population", "pool"])
@pytest.mark.parametrize("by", ["confidence", "information", "neyman"])
def test_drawn_rewards_average_to_the_reward_at_the_mean(by: str, target: str) -> None:
    # The rewards are linear in the chance of the next label, so Thompson's draws are right on average.
    rewards = question(by, target, *STATES[1])
    drawn = rewards.draw(np.random.default_rng(5), 20_000)
    error = drawn.std(axis=0) / np.sqrt(len(drawn))
    assert np.all(np.abs(drawn.mean(axis=0) - rewards.mean()) <= 4.5 * error + 1e-12)


def test_an_exhausted_group_is_worth_nothing() -> None:
    rewards = question("information", "pool", {"a": 0, "b": 0}, {"a": 9, "b": 13})
    assert np.isfinite(rewards.draw(np.random.default_rng(0), 50)).all()
    assert rewards.mean()[0] == 0
