"""Posteriors against simulation: among draws from its posterior, a true value has every rank equally often."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.io import read_pool
from fewlabels.partition import by_column, by_predicted, cross
from fewlabels.priors import Uniform
from fewlabels.testing.laws import must, must_be_even
from fewlabels.testing.zoo import CLASSES, TARGETS, Known, believed, cells_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.metrics import Metric
    from fewlabels.pool import Pool

_SITES, _ITEMS, _WORLDS = 12, 12, 40
_DRAWS, _BINS = 99, 10  # 100 ranks, ten to a bin


def check_posterior(metric: Metric, strength: float = 3.0) -> None:
    """Draw shares from the prior and labels from the shares, tell some labels, and rank the truth among the draws."""
    pool = _world()
    site = by_column(pool, "site")
    ways = (cells_of(metric, pool, groups) for groups in (site, cross(site, by_predicted(pool))))
    cells = next((some for some in ways if some is not None), None)
    must(cells is not None, f"{metric!r} must take groups by a column, or crossed with the predicted class")
    assert cells is not None
    prior, shown = Uniform(strength), _shown(metric, pool)
    counts = np.zeros(_BINS, dtype=np.int64)
    for world in range(_WORLDS):
        rng = np.random.default_rng([world, 77])
        theta = _drawn(rng, strength * cells.blank)
        known = Known(pool, _labels(rng, theta[cells.cell], shown, metric))
        target = TARGETS[world % 2]
        labelled = rng.permutation(len(pool))[: len(pool) // 2]
        draws = metric.value(believed(prior, metric, cells, known, labelled, target).draws(rng, _DRAWS), cells)
        if target == "pool":
            everything = believed(prior, metric, cells, known, np.arange(len(pool)), target)
            theta = everything.counts / everything.size[:, None]
        counts += _ranks(rng, metric.value(theta, cells), draws, cells)
    law = f"the posterior of {metric!r}: true values must have every rank among its draws equally often"
    must_be_even(counts, np.full(_BINS, 1 / _BINS), law)


def _world() -> Pool:
    """Items of the six classes at a dozen sites, with scores."""
    rng = np.random.default_rng(11)
    n = _SITES * _ITEMS
    data = {"scores": rng.dirichlet(np.full(len(CLASSES), 0.6), n), "site": [f"{i % _SITES:02d}" for i in range(n)]}
    return read_pool(data, classes=CLASSES)


def _shown(metric: Metric, pool: Pool) -> NDArray[np.int64]:
    """The outcome that each class would show of each item, shape (items, classes)."""
    items = np.arange(len(pool))
    classes = range(len(pool.classes))
    return np.stack([metric.outcome(pool, items, np.full(len(pool), k, dtype=np.int32)) for k in classes], axis=1)


def _drawn(rng: np.random.Generator, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares from a Dirichlet of each cell, shape (cells, outcomes)."""
    weight = rng.gamma(np.maximum(alpha, 1e-300)) * (alpha > 0)
    return weight / weight.sum(axis=-1, keepdims=True)


def _labels(
    rng: np.random.Generator, theta: NDArray[np.float64], shown: NDArray[np.int64], metric: Metric
) -> NDArray[np.int32]:
    """A true class of each item that shows an outcome drawn from θ, shape (items,).

    `theta` has the shape (items, outcomes), and `shown`, the outcome of each class, (items, classes).
    """
    outcome = (rng.random(len(theta))[:, None] > np.cumsum(theta, axis=1)[:, :-1]).sum(axis=1)
    fits = shown == outcome[:, None]
    must(bool(fits.any(axis=1).all()), f"{metric!r}: every outcome of a cell must be possible for each of its items")
    return (rng.random(fits.shape) * fits).argmax(axis=1).astype(np.int32)


def _ranks(
    rng: np.random.Generator, value: NDArray[np.float64], draws: NDArray[np.float64], cells: Cells
) -> NDArray[np.int64]:
    """How often the true value of a group had a rank in each bin, equal ones in random order, shape (bins,)."""
    filled = np.flatnonzero(cells.partition.sizes)
    # A value that is 0/0 is one more value, below all others.
    value, draws = (np.nan_to_num(np.round(part, 9), nan=-1.0) for part in (value[filled], draws[:, filled]))
    if value.ndim == 2:
        # The shares of a row depend on each other: one of them, taken at random, is a rank of its own.
        column, row = rng.integers(0, value.shape[1], len(value)), np.arange(len(value))
        value, draws = value[row, column], draws[:, row, column]
    rank = (draws < value).sum(axis=0) + rng.integers(0, (draws == value).sum(axis=0) + 1)
    return np.bincount(rank * _BINS // (_DRAWS + 1), minlength=_BINS)
