"""The learned prior where labels show a class: its posterior against slow versions, and what it promises."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit, gammaln

import fewlabels as fl
from fewlabels.belief import dirichlet_draws
from fewlabels.learned import rows
from fewlabels.learned.rows.expected import POWERS
from fewlabels.learned.rows.fit import KINDS, Fit
from fewlabels.outcomes import Outcomes


def expected_rows(rng, k, low=0.6, high=0.95):
    """What a classifier of k classes expects: a row for each predicted class, of 100 items."""
    shares, sure = dirichlet_draws(rng, np.full((k, k), 0.3), 1)[0], rng.uniform(low, high, k)
    np.fill_diagonal(shares, 0.0)
    shares *= ((1 - sure) / shares.sum(axis=1))[:, None]
    np.fill_diagonal(shares, sure)
    return rows.expectation(shares, np.full((k, k), 1 / k), np.arange(k), np.full(k, 100))


def tempered(expected, a, b):
    """m, from the formula: e^b for all outcomes, "right" raised until its odds are what `odds` says; all exact."""
    power = np.exp(b * expected.log_share)
    cell = np.arange(len(power))
    wrong = power.copy()
    wrong[cell, expected.right] = 0
    raised = level_of(expected, power[cell, expected.right] / wrong.sum(axis=1)) + a
    power[cell, expected.right] *= np.exp(raised)
    return power / power.sum(axis=1, keepdims=True)


def level_of(expected, odds):
    share = expected.size / expected.size.sum()
    return brentq(lambda level: share @ expit(level + np.log(odds)) - expected.confidence, -40, 40, xtol=1e-12)


def told(rng, expected, labels, a, b, kappa):
    """Rows θ that follow the model, and label counts drawn from them."""
    theta = dirichlet_draws(rng, kappa * tempered(expected, a, b) + 1e-12, 1)[0]
    each = rng.multinomial(labels, expected.size / expected.size.sum())
    return theta, np.array([rng.multinomial(n, row / row.sum()) for n, row in zip(each, theta, strict=True)], float)


def belief_of(expected, counts, target="population"):
    points, weights = rows.learn_rows(expected, counts)
    nothing = np.zeros_like(counts)
    return rows.RowBelief(nothing, counts, expected.size, target, expectation=expected, points=points, weights=weights)


@pytest.mark.parametrize("b", [0.2, 0.73, 1.31])
def test_the_likelihood_is_that_of_the_dirichlet_multinomial(b):
    """Powers between two that are kept are interpolated: to 0.005 in the logarithm for 110 labels, where 1 is much."""
    rng = np.random.default_rng(3)
    expected = expected_rows(rng, 7)
    _, counts = told(rng, expected, 80, -0.5, 0.9, 20.0)
    counts[4], counts[2, 3] = 0, 30  # a cell without labels, and an outcome with many
    points = np.array([[a, b, log_kappa] for a in (-2.0, 0.4) for log_kappa in (0.0, 3.0)])

    def slow(a, b, log_kappa):
        alpha = np.exp(log_kappa) * tempered(expected, a, b)
        pairs = [(row.astype(int), one) for row, one in zip(counts, alpha, strict=True) if row.any()]
        # Without the ways in which labels can come: they do not depend on the point.
        ways = sum(gammaln(row.sum() + 1) - gammaln(row + 1).sum() for row, _ in pairs)
        return sum(stats.dirichlet_multinomial.logpmf(row, one, row.sum()) for row, one in pairs) - ways

    assert Fit(expected, counts).log_likelihood(points) == pytest.approx([slow(*point) for point in points], abs=5e-3)


def test_without_moving_it_the_classifier_is_right_as_often_as_it_expects():
    rng = np.random.default_rng(4)
    expected = expected_rows(rng, 8)
    right = expit(expected.odds(np.zeros(len(POWERS)), POWERS)[0])
    assert right @ expected.size / expected.size.sum() == pytest.approx(np.full(len(POWERS), expected.confidence))
    for b in (0.0, 0.5, 1.7):
        others = expected.others(b)
        assert others.sum(axis=1) == pytest.approx(np.ones(8))
        assert not others[np.arange(8), expected.right].any()
    at = expected.odds(np.zeros(1), np.ones(1))[0][0]
    assert expit(at) == pytest.approx(np.exp(expected.top), abs=1e-6)


@pytest.mark.parametrize("target", ["population", "pool"])
def test_counts_of_a_mixture_have_its_mean_and_total_variance(target):
    rng = np.random.default_rng(5)
    expected = expected_rows(rng, 10)
    belief = belief_of(expected, told(rng, expected, 60, -0.5, 0.9, 20.0)[1], target)
    n = 20_000
    draws = belief.draws(np.random.default_rng(6), n)
    assert np.abs(belief.mean() - draws.mean(axis=0)).max() < 5 * draws.std(axis=0).max() / np.sqrt(n)
    total = draws.var(axis=0).sum(axis=1)
    assert belief.variance().sum(axis=1) == pytest.approx(total, rel=0.06)


def everywhere(expected, counts):
    """The posterior on a grid that is fine everywhere, as points and weights."""
    axes = np.linspace(-10, 4, 85), np.linspace(POWERS[0], POWERS[-1], 25), np.linspace(-3, 9, 25)
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    kinds = KINDS.tolist()
    prior = [np.log(weight) + stats.norm.logpdf(points, one[::2], one[1::2]).sum(axis=1) for weight, *one in kinds]
    fit = Fit(expected, counts)
    height = np.logaddexp.reduce(prior) + np.concatenate([fit.log_likelihood(p) for p in np.array_split(points, 20)])
    weight = np.exp(height - height.max())
    return points, weight / weight.sum()


@pytest.mark.parametrize(
    ("labels", "a", "b", "kappa"),
    [
        (0, 0, 1, 16),
        (5, 0, 1, 16),
        (12, -6, 0.8, 8),
        (40, 0, 1, 16),
        (200, -1.1, 0.87, 100),
        (20, -2, 0.5, 1),
        (15, 3, 1, 50),
    ],
)
def test_points_have_the_moments_of_the_whole_posterior(labels, a, b, kappa):
    """Some hundred points against 53,000: means to a seventh of a standard deviation, deviations to an eighth."""
    rng = np.random.default_rng(labels)
    expected = expected_rows(rng, 8)
    _, counts = told(rng, expected, labels, a, b, kappa)
    points, weights = rows.learn_rows(expected, counts)
    slow, of_slow = everywhere(expected, counts)
    mean, slow_mean = weights @ points, of_slow @ slow
    sd, slow_sd = (np.sqrt(w @ (p - m) ** 2) for p, w, m in ((points, weights, mean), (slow, of_slow, slow_mean)))
    assert (np.abs(mean - slow_mean) < slow_sd / 7).all()
    assert sd == pytest.approx(slow_sd, rel=1 / 8)


def test_intervals_cover_when_the_truth_follows_the_model():
    """(a, b, κ) from the hyper-prior: intervals hold as many rows as they say, and the overall accuracy too."""
    ranks, overall = [], []
    for run in range(150):
        rng = np.random.default_rng([7, run])
        expected = expected_rows(rng, 8)
        _, *kind = KINDS[rng.choice(len(KINDS), p=KINDS[:, 0])]
        a, b, log_kappa = rng.normal(kind[::2], kind[1::2])
        if not POWERS[0] < b < POWERS[-1]:
            continue
        theta, counts = told(rng, expected, 30, a, b, np.exp(log_kappa))
        draws = belief_of(expected, counts).draws(rng, 400)[:, np.arange(8), expected.right]
        true = theta[np.arange(8), expected.right]
        ranks.append((draws < true).mean(axis=0))
        overall.append((draws.mean(axis=1) < true.mean()).mean())
    for level in (0.5, 0.8, 0.95):
        inside = (np.abs(np.array(ranks) - 0.5) < level / 2).mean(axis=1)
        assert abs(inside.mean() - level) < 4.5 * inside.std() / np.sqrt(len(inside)) + 0.01
        held = (np.abs(np.array(overall) - 0.5) < level / 2).mean()
        assert abs(held - level) < 4.5 * np.sqrt(level * (1 - level) / len(overall))


def test_a_classifier_that_is_always_sure_is_found_out():
    """Scores of 0 and 1 and an accuracy of 0.8, ten labels a class: intervals hold, and the level is found."""
    held, off = [], []
    for run in range(10):
        rng = np.random.default_rng([8, run])
        predicted = np.repeat(np.arange(10), 100)
        true = np.where(rng.random(1000) < 0.8, predicted, (predicted + rng.integers(1, 10, 1000)) % 10)
        pool = fl.read_pool(np.eye(10)[predicted], classes=list("abcdefghij"))
        metric, items = fl.Confusion(), rng.permutation(1000)[:100]
        cells = metric.cells(pool, fl.by_predicted(pool))
        counts = np.zeros((10, 10))
        np.add.at(counts, (cells.cell[items], metric.outcome(pool, items, true[items].astype(np.int32))), 1)
        draws = fl.Learned().on(cells, "pool").belief(Outcomes(counts)).draws(rng, 400)[:, np.arange(10), cells.right]
        real = np.bincount(predicted, true == predicted) / 100
        low, high = np.quantile(draws, [0.025, 0.975], axis=0)
        held.append(((low <= real + 1e-9) & (real <= high + 1e-9)).mean())
        off.append(draws.mean() - real.mean())
    # Ten cells of a run share what is learned: a run is one observation.
    assert np.mean(held) > 0.95 - 4.5 * max(np.std(held), 0.05) / np.sqrt(10)
    assert abs(np.mean(off)) < 4.5 * np.sqrt(0.8 * 0.2 / 100) / np.sqrt(10)


@pytest.mark.parametrize("per_row", [5, 20])
def test_rows_that_have_nothing_in_common_cost_at_most_a_tenth(per_row):
    """Twenty rows of two outcomes with shares uniform on 0 to 1, scores that say nothing: about the plain belief."""
    found = []
    for run in range(20):
        rng = np.random.default_rng([9, run])
        expected = rows.expectation(
            np.tile([0.75, 0.25], (20, 1)), np.full((20, 2), 0.5), np.zeros(20, int), np.full(20, 100)
        )
        theta = rng.random(20)
        right = rng.binomial(per_row, theta)
        counts = np.column_stack([right, per_row - right]).astype(float)
        plain = (right + 1) / (per_row + 2)
        found.append([np.mean((guess - theta) ** 2) for guess in (belief_of(expected, counts).mean()[:, 0], plain)])
    learned, uniform = np.sqrt(np.mean(found, axis=0))
    assert learned < 1.1 * uniform
