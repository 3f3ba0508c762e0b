"""Laws of beliefs: moments, draws, what one label is expected to change, and beliefs put together from strata."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import beta, betabinom

import fewlabels as fl
from fewlabels.belief import Belief
from tests.support.contracts import TARGETS
from tests.support.pools import Known, known_pools, law, pool_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.belief import Target

Z = 5.0
"""Standard errors: with a thousand comparisons a right program fails with probability 6e-4, for one seed in all."""


def _belief(alpha: list[float], counts: list[int], size: int, target: Target) -> Belief:
    return Belief(np.array([alpha], float), np.array([counts], float), np.array([size]), target)


PRIORS_AND_COUNTS = [
    ([1.0, 1.0], [0, 0], 10),
    ([0.5, 1.5], [6, 2], 9),
    ([1e-6, 1e-6], [0, 0], 7),
    ([1e-6, 2.0], [0, 3], 1000),
    ([1e-300, 1e-300], [0, 0], 5),
    ([1 / 3, 1 / 3, 1 / 3], [2, 0, 1], 12),
    ([1e-7, 2e-7, 3e-7], [0, 0, 0], 20),
    ([1e-300, 1e-300, 1e-300, 1e-300], [0, 0, 0, 0], 6),
    ([1e-9, 0.2, 0.3], [0, 0, 4], 4),
    ([0.0, 0.4, 0.6], [0, 1, 1], 8),
    ([0.0, 1.0], [0, 2], 8),
    ([2.0], [1], 3),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("prior", "counts", "size"), PRIORS_AND_COUNTS)
def test_draws_have_the_mean_and_variance(prior: list[float], counts: list[int], size: int, target: Target) -> None:
    belief = _belief(prior, counts, size, target)
    n = 200_000
    draws = belief.draws(np.random.default_rng(11), n)[:, 0]
    assert np.isfinite(draws).all()
    assert draws.min() >= 0
    np.testing.assert_allclose(draws.sum(axis=1), 1, atol=1e-9)
    mean, variance = belief.mean()[0], belief.variance()[0]
    assert (np.abs(draws.mean(axis=0) - mean) <= Z * np.sqrt(variance / n) + 1e-12).all()
    # A mean of (x − m)² has the variance (μ4 − σ⁴)/n, where μ4 = (k + 3) σ⁴ with the excess kurtosis k; a sample
    # variance is smaller than that mean by the square of the sample mean's error.
    error = Z * variance * np.sqrt((_kurtosis(belief) + 2) / n) + Z**2 * variance / n
    assert (np.abs(draws.var(axis=0) - variance) <= error + 1e-12).all()


def _kurtosis(belief: Belief) -> NDArray[np.float64]:
    """The excess kurtosis of each share of the only cell, shape (outcomes,), from SciPy; 0 where there is no spread."""
    out = []
    for a in belief.alpha[0]:
        b, left = belief.strength[0] - a, int(belief.left[0])
        if a <= 1e-200 or b <= 0 or (belief.target == "pool" and not left):
            # Where all α vanish the share is 0 or 1, with probability 1/K for 1: the kurtosis of a Bernoulli.
            m = a / belief.strength[0]
            out.append((1 - 6 * m * (1 - m)) / (m * (1 - m)) if 0 < m < 1 and left else 0.0)
        else:
            share = beta(a, b) if belief.target == "population" else betabinom(left, a, b)
            out.append(float(share.stats("k")))
    return np.array(out)


@given(
    st.lists(st.tuples(st.floats(0.01, 5), st.integers(0, 4)), min_size=2, max_size=4),
    st.integers(1, 100_000),
)
@law(100)
def test_pool_and_population_agree_as_the_pool_grows(cell: list[tuple[float, int]], left: int) -> None:
    """With n of N items labelled, the means differ by at most n/N, and the variances by the factor u(s+u)/N²."""
    prior, counts = (list(column) for column in zip(*cell, strict=True))
    labelled = sum(counts)
    size = labelled + left
    population = _belief(prior, counts, size, "population")
    pool = population.to("pool")
    assert np.abs(pool.mean() - population.mean()).max() <= labelled / size + 1e-12
    factor = left * (population.strength[0] + left) / size**2
    np.testing.assert_allclose(pool.variance(), population.variance() * factor, rtol=1e-9)


@st.composite
def _cells(draw: st.DrawFn) -> tuple[Belief, NDArray[np.float64], NDArray[np.float64]]:
    """A belief about one cell with one to four items left, a gradient, and what the unlabelled items may show."""
    outcomes = draw(st.integers(2, 3))
    some = lambda values: st.lists(values, min_size=outcomes, max_size=outcomes)
    prior, counts = draw(some(st.floats(0.05, 3))), draw(some(st.integers(0, 3)))
    left = draw(st.integers(1, 4))
    shown = np.array(draw(some(st.integers(0, 5)).filter(any)), float)
    belief = _belief(prior, counts, sum(counts) + left, draw(st.sampled_from(TARGETS)))
    return belief, np.array([draw(some(st.floats(-2, 2)))]), (shown / shown.sum())[None]


def _covariance(belief: Belief) -> NDArray[np.float64]:
    """Cov θ of the only cell, shape (outcomes, outcomes): by listing all that the unlabelled items of a pool can be."""
    alpha, s = belief.alpha[0], belief.strength[0]
    if belief.target == "population":
        m = alpha / s
        return (np.diag(m) - np.outer(m, m)) / (s + 1)
    left = int(belief.left[0])
    every = np.array([x for x in product(range(left + 1), repeat=len(alpha)) if sum(x) == left])
    log_chance = gammaln(left + 1) + gammaln(s) - gammaln(left + s)
    log_chance = log_chance + (gammaln(every + alpha) - gammaln(alpha) - gammaln(every + 1)).sum(axis=1)
    theta, chance = (belief.counts[0] + every) / belief.size[0], np.exp(log_chance)
    assert chance.sum() == pytest.approx(1)
    centred = theta - chance @ theta
    return (centred * chance[:, None]).T @ centred


def _after(belief: Belief, outcome: int) -> Belief:
    counts = belief.counts.copy()
    counts[0, outcome] += 1
    return Belief(belief.prior, counts, belief.size, belief.target)


@given(_cells())
@law(100)
def test_drop_is_the_variance_now_minus_the_expected_one_after_a_label(case) -> None:
    belief, gradient, shown = case
    # θ is what the drawn world looks like: under target "pool" it counts the labelled items as well.
    theta = shown
    if belief.target == "pool":
        theta = (belief.counts + belief.left[:, None] * shown) / belief.size[:, None]
    np.testing.assert_allclose(belief.upcoming(theta), shown, atol=1e-12)
    now = _covariance(belief)
    after = sum(p * _covariance(_after(belief, j)) for j, p in enumerate(shown[0]))
    g = gradient[0]
    np.testing.assert_allclose(belief.drop(gradient, theta)[0], g @ (now - after) @ g, atol=1e-12)
    np.testing.assert_allclose(belief.total_drop(theta)[0], np.trace(now - after), atol=1e-12)
    np.testing.assert_allclose(belief.variance()[0], np.diag(now), atol=1e-12)


@given(_cells())
@law(60)
def test_a_label_never_hurts_on_average(case) -> None:
    """At the belief's own mean the drop is Var(E after), which is 0 or more: the law of total variance."""
    belief, gradient, _ = case
    theta = belief.mean()
    np.testing.assert_allclose(belief.upcoming(theta), belief.alpha / belief.strength, atol=1e-12)
    means = np.array([_after(belief, j).mean()[0] for j in range(len(theta[0]))])
    chance = (belief.alpha / belief.strength)[0]
    np.testing.assert_allclose(chance @ means, theta[0], atol=1e-12)  # the mean is a martingale
    spread = (means - theta[0]) @ gradient[0]
    np.testing.assert_allclose(belief.drop(gradient, theta)[0], chance @ spread**2, atol=1e-12)


@given(_cells(), st.integers(0, 4))
@law(60)
def test_pending_items_keep_the_mean_and_shrink_the_variance(case, pending: int) -> None:
    belief, _, _ = case
    pending = min(pending, int(belief.left[0]))
    later = belief.awaiting(np.array([pending]))
    np.testing.assert_allclose(later.mean(), belief.mean(), atol=1e-12)
    assert later.left[0] == belief.left[0] - pending
    assert (later.variance() <= belief.variance() + 1e-15).all()
    assert pending == 0 or (later.variance() < belief.variance()).all()


@given(known_pools(most=30), st.randoms(use_true_random=False), st.sampled_from(TARGETS))
@law(25)
def test_other_groups_are_the_mixture_of_those_asked(known: Known, random, target: Target) -> None:
    """Accuracy by place from labels asked by predicted class: Σ_k (n_pk/n_p) E θ_pk, each θ_pk from its own labels."""
    pool = known.pool
    audit = fl.create(None, "mixture", pool, prior=fl.Uniform(), target=target)
    told = {item: true for item, true in known.truth.items() if random.random() < 0.6}
    audit.tell(told, adopt=True)
    places = fl.by_column(pool, "place")
    table = audit.estimates(groups=places, draws=50)
    is_told = np.isin(pool.ids.to_pylist(), list(told))
    for g, row in enumerate(table.rows()):
        here = places.group == g
        expected = 0.0
        for k in range(len(pool.classes)):
            stratum = here & (pool.predicted == k)
            size, labelled = stratum.sum(), (stratum & is_told).sum()
            right = (stratum & is_told & (known.true == k)).sum()
            share = (1 + right) / (2 + labelled)
            expected += size * share if target == "population" else right + (size - labelled) * share
        assert row["mean"] == pytest.approx(expected / here.sum())
        assert (row["n"], row["labelled"]) == (here.sum(), (here & is_told).sum())
    audit.close()


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_unequal_asking_does_not_bias_other_groups(target: Target) -> None:
    """Nine of ten items are nearly always right and the rest nearly always wrong, and both are asked about alike."""
    rng = np.random.default_rng(6)
    predicted = np.repeat([0, 1], [900, 100])
    right = rng.random(1000) < np.where(predicted == 0, 0.9, 0.2)
    known = pool_of(predicted, np.where(right, predicted, 2), np.full(1000, 0.5), ["here"] * 1000, 3)
    runs, weighted, counted = 60, [], []
    for seed in range(runs):
        audit = fl.create(
            None, "unequal", known.pool, prior=fl.Uniform(1e-9), policy=fl.UniformGroups(), target=target, seed=seed
        )
        audit.tell(known.labels(audit.ask(40).ids))
        table = audit.estimates(groups=fl.whole(known.pool), draws=2)
        weighted.append(table["mean"][0])
        labels = audit.labels()
        positions = known.pool.positions(labels)
        counted.append(np.mean(right[positions]))
        audit.close()
    truth = right.mean()
    error = Z * np.std(weighted, ddof=1) / np.sqrt(runs)
    assert abs(np.mean(weighted) - truth) < error
    assert abs(np.mean(counted) - truth) > 3 * error, "plain counting is biased here, so this test can fail"


@given(known_pools(most=20), st.sampled_from(TARGETS))
@law(15)
def test_strata_have_the_moments_of_their_draws(known: Known, target: Target) -> None:
    audit = fl.create(None, "strata", known.pool, prior=fl.Uniform(), target=target)
    audit.tell(dict(list(known.truth.items())[::2]), adopt=True)
    _, strata, cells = audit._views.view(None, fl.whole(known.pool))
    n = 4000
    draws = strata.draws(np.random.default_rng(3), n)
    variance = strata.variance()
    assert (np.abs(draws.mean(axis=0) - strata.mean()) <= Z * np.sqrt(variance / n) + 1e-12).all()
    # Shares lie in [0, 1], so μ4 ≤ σ², which bounds the error of a sample variance.
    error = Z * np.sqrt(variance / n) + Z**2 * variance / n
    assert (np.abs(draws.var(axis=0) - variance) <= error + 1e-12).all()
    assert strata.counts.sum() == len(audit.labels())
    assert cells.size.sum() == len(known.pool)
    audit.close()
