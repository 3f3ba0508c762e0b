"""Model Selector's rule, compiled: it asks for the item whose label leaves the least entropy over models."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.kernels.jit import formula, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


@formula
def _left(share: float, part: float, whole: float, gain: float) -> float:
    """The entropy over models after a label that models with this share of the weight have right; part: Σ w log w."""
    ratio = math.exp(gain)
    total = ratio * share + 1 - share
    return math.log(total) - (ratio * (part + gain * share) + whole - part) / total


@kernel
def selector_run(
    rng: np.random.Generator,
    option: NDArray[np.int16],
    options: NDArray[np.int64],
    true: NDArray[np.int64],
    most: int,
    gain: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The items asked for, and the model that leads after each; ties are broken at random.

    option: the option that each model chooses, −1 for none, shape (items, models); options: how many there are; true:
    the option that is true; gain: by how much a right answer raises the log weight of a model.
    """
    items, models = option.shape
    width = 1
    for i in range(items):
        width = max(width, options[i])
    weight, free = np.zeros(models), np.ones(items, dtype=np.bool_)
    order, leads = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    left, share, part = np.empty(items), np.empty(width), np.empty(width)
    for step in range(most):
        w = np.exp(weight - weight.max())
        w /= w.sum()
        log = w * np.log(np.maximum(w, 1e-300))
        whole, least = log.sum(), np.inf
        for i in range(items):
            if not free[i]:
                continue
            share[:], part[:] = 0.0, 0.0
            for h in range(models):
                o = option[i, h]
                if o >= 0:
                    share[o] += w[h]
                    part[o] += log[h]
            left[i] = 0.0
            for o in range(options[i]):
                left[i] += share[o] * _left(share[o], part[o], whole, gain)
            least = min(least, left[i])
        order[step] = _any(rng, left, free, least)
        free[order[step]] = False
        for h in range(models):
            if option[order[step], h] == true[order[step]]:
                weight[h] += gain
        leads[step] = _first(rng, weight)
    return order, leads


@formula
def _any(rng: np.random.Generator, left: NDArray[np.float64], free: NDArray[np.bool_], least: float) -> int:
    """One of the free items with the least entropy; ties are broken at random."""
    chosen, count = -1, 0
    for i in range(len(left)):
        if free[i] and left[i] <= least + 1e-12:
            count += 1
            if rng.random() * count < 1.0:
                chosen = i
    return chosen


@formula
def _first(rng: np.random.Generator, weight: NDArray[np.float64]) -> int:
    """One of the models with the largest weight; ties are broken at random."""
    chosen, count, most = -1, 0, weight.max()
    for h in range(len(weight)):
        if weight[h] >= most - 1e-9:
            count += 1
            if rng.random() * count < 1.0:
                chosen = h
    return chosen
