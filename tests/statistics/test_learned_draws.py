"""Draws of the model of items are quick: in single precision, strips first, summed in blocks. Here is the slow way."""

from __future__ import annotations

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.belief import Strata
from fewlabels.learned.items import ItemBelief
from fewlabels.learned.items.sums import RowSums, Sums
from fewlabels.special import expit
from tests.support.learned import belief_from, make_pool

PRECISION = 2e-6  # of a share, in single precision


def slow_draws(model, rng, n):
    """P(right) in each strip, in double precision and one draw after another; shape (n, strips)."""
    point = np.sort(rng.choice(len(model.weight), size=n, p=model.weight))
    chances = []
    for k in np.unique(point):
        covariance = np.linalg.inv(model.precision[k])
        times = (point == k).sum()
        shared = rng.standard_normal((times, model.mode.shape[1])) @ np.linalg.cholesky(covariance).T
        noise = rng.standard_normal((times, model.effect.shape[1]))
        for change, u in zip(shared, noise, strict=True):
            level = model.effect[k] - change @ model.lean[k] + np.sqrt(model.spread[k]) * u
            chances.append(expit((model.mode[k] + change) @ model.strips.design + level[model.strips.effect]))
    return np.array(chances)[rng.permutation(n)]


def believed(groups, items=3000, labels=150):
    """A belief about so many groups after some labels."""
    rng = np.random.default_rng(5)
    group = rng.integers(groups, size=items)
    group[:groups] = np.arange(groups)
    confidence = rng.beta(4, 1.5, items)
    pool, sites, truth = make_pool(rng, confidence, confidence, group)
    return belief_from(pool, sites, truth, rng.permutation(items)[:labels], fl.Learned(), "population")[0]


@pytest.mark.parametrize("groups", [2, 40, 700])
def test_draws_are_those_of_the_slow_way(groups):
    belief = believed(groups)
    assert isinstance(belief, ItemBelief)
    model, n = belief.model, 300
    slow = slow_draws(model, np.random.default_rng(3), n)
    assert slow.std(axis=0).min() > 1000 * PRECISION  # what is compared differs by far more from draw to draw
    assert model.draws(np.random.default_rng(3), n) == pytest.approx(slow, abs=PRECISION)
    share = model.strips.size / np.bincount(model.strips.cell, model.strips.size)[model.strips.cell]
    by_cell = np.array([np.bincount(model.strips.cell, share * row) for row in slow])
    assert model.shares(np.random.default_rng(3), n, model.strips.size) == pytest.approx(by_cell, abs=PRECISION)
    weight = belief.size / belief.size.sum()
    assert model.mixed(np.random.default_rng(3), n, weight) == pytest.approx(by_cell @ weight, abs=PRECISION)


def test_all_items_together_are_the_mean_of_the_groups_in_every_draw():
    belief = believed(40)
    together = Strata(belief, np.zeros(40, dtype=np.int64), np.array([belief.size.sum()]))
    each = belief.draws(np.random.default_rng(1), 200)
    expected = np.einsum("nco,c->no", each, belief.size / belief.size.sum())[:, None]
    assert together.draws(np.random.default_rng(1), 200) == pytest.approx(expected, abs=PRECISION)


@pytest.mark.parametrize("most", [1, 3, 31, 100])
def test_row_sums_are_sums(most):
    rng = np.random.default_rng(most)
    index = rng.permutation(np.repeat(np.arange(20), rng.integers(1, most + 1, 20)))
    rows = rng.random((len(index), 7))
    sums = RowSums(index)
    assert sums(rows[sums.order]) == pytest.approx(Sums(index)(rows.T).T, abs=1e-12)
