"""The driver of the boundary policy for the least accurate groups (the most accurate: swap right and wrong)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.kernels.choose import pick
from fewlabels.simulation.kernels.formulas import beta_drops, beta_mean, beta_variance
from fewlabels.simulation.kernels.jit import formula, kernel
from fewlabels.simulation.kernels.run import Run, beta, last_label, room, take

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST = 1e-200


@formula
def _look(run: Run, g: int, value: NDArray[np.float64], variance: NDArray[np.float64]) -> None:
    """Minus the mean accuracy of g, and its variance."""
    (a, b), left = beta(run, g), room(run, g)
    value[g] = -beta_mean(a, b, run.counts[g, 0], run.size[g], left, run.pool)
    variance[g] = beta_variance(a, b, run.size[g], left, run.pool)


@formula
def _log_drop(run: Run, g: int) -> float:
    """The logarithm of how much one label in g is expected to lower its variance."""
    a, b = beta(run, g)
    wrong, right = beta_drops(a, b, run.size[g], room(run, g), run.pool)
    return math.log(max((b * wrong + a * right) / (a + b), LEAST))


@formula
def _extreme(rng: np.random.Generator, value: NDArray[np.float64], inside: NDArray[np.bool_]) -> int:
    """The group with the largest value among those not inside; ties are broken at random."""
    best, ties = -1, 0
    for g in range(len(value)):
        if inside[g] or (ties and value[g] < value[best]):
            continue
        ties = ties + 1 if ties and value[g] == value[best] else 1
        if rng.random() * ties < 1.0:
            best = g
    return best


@kernel
def ask_lowest_boundary(rng: np.random.Generator, run: Run, m: int, until: int) -> None:
    """Ask where a label is most likely to move a group across the boundary of the m lowest: `policies.Boundary`."""
    groups = len(run.taken)
    value, variance, worth = np.empty(groups), np.empty(groups), np.empty(groups)
    for g in range(groups):
        _look(run, g, value, variance)
    inside, chosen = np.zeros(groups, dtype=np.bool_), np.empty(1, dtype=np.int64)
    until = last_label(run, until)
    while run.done[0] < until:
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
            if room(run, g):
                worth[g] += _log_drop(run, g)
        pick(rng, run, worth, chosen)
        take(rng, run, chosen[0])
        _look(run, chosen[0], value, variance)
