"""Pools whose items are right with known probabilities, and the beliefs about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats
from scipy.special import expit, logit

import fewlabels as fl
from fewlabels.learned import items as trust
from fewlabels.learned.items import differing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.belief import Target
    from fewlabels.partition import Partition


def make_pool(
    rng: np.random.Generator, right: NDArray[Any], confidence: NDArray[Any] | None, groups: NDArray[Any]
) -> tuple[fl.Pool, Partition, NDArray[Any]]:
    """A pool of two-class predictions, always class "a", with the given chance of being right; and the labels."""
    truth = np.where(rng.random(len(right)) < right, "a", "b")
    columns: dict[str, Any] = {"predicted": ["a"] * len(right), "site": [f"site {g:02d}" for g in groups]}
    if confidence is not None:
        columns["confidence"] = confidence
    pool = fl.read_pool(columns, classes=["a", "b"])
    return pool, fl.by_column(pool, "site"), truth


def belief_from(
    pool: fl.Pool,
    groups: Partition,
    truth: NDArray[Any],
    items: NDArray[Any],
    prior: Any,
    target: Target = "pool",
    metric: Any = None,
) -> tuple[Any, Any]:
    """The belief after the labels of these items, and its cells."""
    metric = metric or fl.Accuracy()
    cells = metric.cells(pool, groups)
    outcomes = metric.outcomes(pool, cells, items, pool.class_positions(truth[items]))
    return prior.on(cells, target).belief(outcomes), cells


def world(
    seed: int, sites: int = 20, each: int = 60, a: float = -0.3, b: float = 0.9, tau: float = 0.5
) -> tuple[np.random.Generator, fl.Pool, Partition, NDArray[Any]]:
    """Items whose chance of being right follows the model of `trust.py`."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(sites), each)
    confidence = rng.uniform(0.4, 0.999, sites * each)
    effect = rng.normal(0, tau, sites)
    right = expit(a + b * logit(confidence) + effect[groups])
    return rng, *make_pool(rng, right, confidence, groups)


def sorted_items(confidence: NDArray[Any], cell: NDArray[Any], columns: bool = False) -> Any:
    """The strips of cells that are groups."""
    return trust.strips(confidence, cell.astype(np.int32), trust.Factors([cell], columns=columns))


def strips_of(
    cell: Any, x: Any, between: Any, size: Any, kinds: Any = ((1.0, 0.5, 0.8, 0.9, 0.4, 0.3, 0.5),)
) -> trust.Strips:
    """Strips as they are given; `between` of each cell."""
    cell = np.array(cell)
    z = np.array(between, dtype=float)[cell]
    none, alone = np.empty((0, len(cell)), np.int64), np.ones(1)
    return trust.Strips(np.empty(0, np.int64), cell, cell, none, np.array(x), z, np.array(size), np.array(kinds), alone)


def brute_force(
    strips: trust.Strips, right: NDArray[Any], labels: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights of the points and, for each, the mean of g and of each cell, by brute force.

    A grid of (a, b, g), and Gauss-Hermite sums of 41 nodes over u in each cell, as a usual and as a wild one.
    """
    means, sds = strips.kinds[0, 1::2], strips.kinds[0, 2::2]
    grid = np.stack(np.meshgrid(*np.linspace(means - 4.5 * sds, means + 4.5 * sds, 19).T, indexing="ij"), axis=-1)
    grid = grid.reshape(-1, 3)
    prior = stats.norm.pdf(grid, means, sds).prod(axis=1)
    line = (grid @ strips.design)[..., None]
    z, w = np.polynomial.hermite_e.hermegauss(41)
    starts = np.flatnonzero(np.diff(strips.cell, prepend=-1))
    count = np.diff([*starts, len(strips.x)])[:, None]
    evidence, found, share = [], [], differing.wild_shares(strips)[:, None]
    for tau in differing.TAUS:
        eta = line + np.concatenate([tau * z, max(tau, 2.0) * z])
        likelihood = np.exp(right[:, None] * eta - labels[:, None] * np.logaddexp(0, eta))
        either = np.concatenate([(1 - share) * w, share * w], axis=1) / w.sum()
        of_cell = np.multiply.reduceat(likelihood, starts, axis=1) * either
        size = of_cell.sum(axis=-1)
        mass = size.prod(axis=-1) * prior
        chance = np.add.reduceat(expit(eta), starts, axis=1) / count
        evidence.append(mass.sum())
        mass /= mass.sum()
        cells = np.einsum("p,pcz,pcz->c", mass, of_cell / size[..., None], chance)
        found.append([mass @ grid[:, 2], *cells])
    weight = np.array(evidence) * differing.TAU_PRIOR
    return weight / weight.sum(), np.array(found)
