"""Short cuts of the model of items find what the long way finds: fits that are kept, points that are computed together,
and sums of binomials."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from fewlabels.learned.items import fit, kept, model
from fewlabels.learned.items.counts import RightCounts
from tests.support.learned import sorted_items


def test_labels_that_were_fitted_before_are_not_fitted_again(monkeypatch):
    """The fit is kept for other cells of the same strips, and not for other labels."""
    rng = np.random.default_rng(26)
    strips = sorted_items(rng.beta(5, 2, 300), rng.integers(0, 6, 300))
    count = len(strips.x)
    labels, slow = np.full(count, 2.0), fit.learn_several
    right = rng.integers(0, 3, (4, count)).astype(float)
    fits = []

    def fitted(*given):
        fits.append(given)
        return slow(*given)

    monkeypatch.setattr(kept, "learn_several", fitted)
    first = kept.learn_once(strips, right, labels)
    together = replace(strips, cell=np.zeros(count, dtype=np.int64))
    again = kept.learn_once(together, right, labels)
    assert len(fits) == 1
    for one, other, apart in zip(first, again, slow(together, right, labels), strict=True):
        assert len(one.moments(strips.size)[0]) == 6
        assert np.array_equal(other.moments(strips.size), apart.moments(strips.size))
    kept.learn_once(strips, 2 - right, labels)
    assert len(fits) == 2


def test_points_of_the_grid_are_computed_together_or_one_by_one(monkeypatch):
    """The same moments, and the same draws from the same generator."""
    rng = np.random.default_rng(28)
    strips = sorted_items(rng.beta(5, 2, 300), rng.integers(0, 6, 300))
    count = len(strips.x)
    trust = fit.learn_several(strips, rng.integers(0, 3, (1, count)).astype(float), np.full(count, 2.0))[0]
    assert len(trust.weight) > 5

    def numbers():
        draws = trust.shares(np.random.default_rng(1), 90, strips.size)
        some = trust.shares(np.random.default_rng(1), 90, strips.size, np.array([4, 1, 4]))
        return [*trust.moments(strips.size), trust.overall(), trust.difference(), draws, some]

    together = numbers()
    monkeypatch.setattr(model, "_FEW", 1)
    for one, other in zip(numbers(), together, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    np.testing.assert_allclose(together[-1], together[-2][:, [4, 1, 4]], rtol=1e-6)


@pytest.mark.parametrize("chances", ["alike", "mixed", "few are open"])
def test_a_sum_of_binomials_is_drawn_as_one(chances):
    """Against the distribution counted out, item by item; the tolerance is that of the draws, and 0.004."""
    rng = np.random.default_rng(27)
    strips, draws = 10, 100_000
    left, one = rng.integers(1, 30, strips), np.arange(strips) == 3
    chance = {
        "alike": rng.beta(40, 4, strips),
        "mixed": rng.beta(0.4, 0.4, strips),
        "few are open": np.where(one, 0.4, 0.999),
    }[chances]
    left = np.where(one, 1, left)
    counts = RightCounts(chance, left, np.zeros(strips, int))
    found = counts(rng, np.tile(chance[:, None], (1, draws)))
    exact = np.ones(1)
    for p in np.repeat(chance, left):
        exact = np.convolve(exact, [1 - p, p])
    drawn = np.bincount(found[0], minlength=len(exact)) / draws
    assert np.abs(np.cumsum(drawn - exact)).max() < 0.004 + stats.kstwo.isf(1e-6, draws)


def test_chances_in_single_precision_are_those_in_double():
    """The sum over the nodes, computed in double precision, with confidences near 0 and 1 among others."""
    rng = np.random.default_rng(30)
    strips = sorted_items(np.concatenate([rng.beta(9, 1, 300), rng.random(100)]), rng.integers(0, 8, 400))
    labels = np.minimum(strips.size, 2).astype(float)
    trust = fit.learn(strips, rng.binomial(labels.astype(int), 0.8).astype(float), labels)
    weight = model._WEIGHTS / model._WEIGHTS.sum()
    for chance in trust._chances():
        points, level = chance.points, strips.effect
        variance = trust.spread[points][:, level] + trust._quadratic(points, chance.by_shared)
        odds = trust.mode[points] @ strips.design + trust.effect[points][:, level]
        at = odds[:, None] + model._NODES[:, None] * np.sqrt(variance)[:, None]
        right = 1 / (1 + np.exp(-at))
        np.testing.assert_allclose(chance.mean, weight @ right, atol=2e-7)
        np.testing.assert_allclose(chance.slope, weight @ (right * (1 - right)), atol=2e-7)
