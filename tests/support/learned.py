"""Pools whose items are right with known probabilities, and the beliefs about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, logit

import fewlabels as fl
from fewlabels.learned import items as trust

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
