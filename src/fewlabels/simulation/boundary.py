"""The driver of the boundary policy for the least accurate groups (the most accurate: swap right and wrong)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.choose import last_label, pick
from fewlabels.simulation.formulas import beta_drops, beta_mean, beta_variance
from fewlabels.simulation.jit import formula, kernel
from fewlabels.simulation.known import Known, Progress, room, take

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST = 1e-200


@formula
def _look(
    known: Known,
    progress: Progress,
    prior: NDArray[np.float64],
    pool: bool,
    g: int,
    value: NDArray[np.float64],
    variance: NDArray[np.float64],
) -> None:
    """Minus the mean accuracy of g, and its variance."""
    right, left = progress.counts[g, 0], room(known, progress, g)
    a, b = prior[g, 0] + right, prior[g, 1] + progress.counts[g, 1]
    value[g] = -beta_mean(a, b, right, known.size[g], left, pool)
    variance[g] = beta_variance(a, b, known.size[g], left, pool)


@formula
def _log_drop(known: Known, progress: Progress, prior: NDArray[np.float64], pool: bool, g: int) -> float:
    """The logarithm of the expected fall in the variance of g by one label in it."""
    a, b = prior[g, 0] + progress.counts[g, 0], prior[g, 1] + progress.counts[g, 1]
    wrong, right = beta_drops(a, b, known.size[g], room(known, progress, g), pool)
    return math.log(max((b * wrong + a * right) / (a + b), LEAST))


@formula
def _extreme(rng: np.random.Generator, value: NDArray[np.float64], inside: NDArray[np.bool_]) -> int:
    """The group with the largest value of those not inside, any of its equals with the same chance."""
    best, ties = -1, 0
    for g in range(len(value)):
        if inside[g] or (ties and value[g] < value[best]):
            continue
        ties = ties + 1 if ties and value[g] == value[best] else 1
        if rng.random() * ties < 1.0:
            best = g
    return best


@kernel
def ask_lowest_boundary(
    rng: np.random.Generator,
    known: Known,
    progress: Progress,
    prior: NDArray[np.float64],
    m: int,
    pool: bool,
    until: int,
) -> None:
    """Ask where a label is most likely to move a group across the boundary of the m lowest: `policies.Boundary`.

    Parameters
    ----------
    prior
        Prior counts (right, wrong), shape (groups, 2).
    pool
        Whether the pool's own items are the target, rather than the population behind them.
    until
        The number of labels to stop at, counted from the start of the run.
    """
    groups = len(progress.taken)
    value, variance, worth = np.empty(groups), np.empty(groups), np.empty(groups)
    for g in range(groups):
        _look(known, progress, prior, pool, g, value, variance)
    inside, chosen = np.zeros(groups, dtype=np.bool_), np.empty(1, dtype=np.int64)
    until = last_label(known, until)
    while progress.done[0] < until:
        inside[:], worth[:] = False, -np.inf
        for _ in range(m):
            inside[_extreme(rng, value, inside)] = True
        for i in range(groups):
            if not inside[i]:
                continue
            for j in range(groups):
                if not inside[j]:
                    both = max(variance[i] + variance[j], LEAST)
                    density = -((value[i] - value[j]) ** 2) / (2.0 * both) - math.log(both) / 2.0
                    worth[i], worth[j] = max(worth[i], density), max(worth[j], density)
        for g in range(groups):
            if room(known, progress, g):
                worth[g] += _log_drop(known, progress, prior, pool, g)
        pick(rng, known, progress, worth, chosen)
        take(rng, known, progress, chosen[0])
        _look(known, progress, prior, pool, chosen[0], value, variance)
