"""Looks at the belief about several models, compiled: draws of the truth, P(best), and the worth of a label.

The same formulas as in `learned/models/believed.py`. Draws are the innermost dimension of every array.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fewlabels.simulation.kernels.jit import formula

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.simulation.kernels.voices import Field

_RIVALS, _UNLIKELY, _LEAST_VARIANCE = 12, 0.002, 1e-2  # as in learned/models/believed.py


class Sight(NamedTuple):
    """What a look finds: P(each option), (items, options + none); right answers expected, (models,), and drawn."""

    chance: NDArray[np.float64]
    expected: NDArray[np.float64]
    right: NDArray[np.float64]


@formula
def draw_parameters(
    field: Field,
    thetas: NDArray[np.float64],
    lowers: list[NDArray[np.float64]],
    weight: NDArray[np.float64],
    start: float,
    normals: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The guess of each draw, ascending, and its parameters, shape (parameters, draws)."""
    n = len(normals)
    pick, theta = np.empty(n, dtype=np.int64), np.zeros((normals.shape[1], n))
    edge, k = weight[0], 0
    last = 0
    for j in range(len(weight)):
        if weight[j] > 0.0:
            last = j
    for m in range(n):
        while (m + start) / n > edge and k < last:
            k += 1
            edge += weight[k]
        pick[m] = k
        size = lowers[k].shape[0]
        lower = lowers[k]
        # Solve Lᵀ d = z from the end.
        for d in range(size - 1, -1, -1):
            value = normals[m, d]
            for e in range(d + 1, size):
                value -= lower[e, d] * theta[e, m]
            theta[d, m] = value / lower[d, d]
        for d in range(size):
            theta[d, m] = thetas[k, d] + field.wider * theta[d, m]
    return pick, theta


@formula
def _add_alone(
    field: Field, i: int, both: int, pick: NDArray[np.int64], theta: NDArray[np.float64], eta: NDArray[np.float64]
) -> None:
    """Add the weight of the voice in the draws in which one model alone is a voice."""
    b = field.base.shape[2]
    for m in range(both, len(pick)):
        h = pick[m] - len(field.spreads)
        o = field.option[i, h]
        if o >= 0:
            eta[o, m] += theta[b, m] + (theta[b + 1, m] * field.x[i, h] if b == 3 else 0.0)


@formula
def _log_odds(
    field: Field, i: int, both: int, pick: NDArray[np.int64], theta: NDArray[np.float64], eta: NDArray[np.float64]
) -> int:
    """The log-odds of an item's options into eta, (options + none, draws), "none of them" after them; how many."""
    models, b, width, n = field.option.shape[1], field.base.shape[2], field.base.shape[1] - 1, len(pick)
    last = field.options[i]
    rows = last + 1 if field.others[i] else last
    for j in range(rows):
        at = j if j < last else width
        for d in range(b):
            share = field.base[i, at, d]
            for m in range(n):
                eta[j, m] = share * theta[d, m] + (eta[j, m] if d > 0 else 0.0)
    for h in range(models):
        o = field.option[i, h]
        if o >= 0:
            for m in range(both):
                eta[o, m] += theta[b + h, m]
            if b == 3:
                for m in range(both):
                    eta[o, m] += theta[b + models + h, m] * field.x[i, h]
    _add_alone(field, i, both, pick, theta, eta)
    return rows


@formula
def _reveal(
    eta: NDArray[np.float64], rows: int, uniform: NDArray[np.float32], shown: NDArray[np.int16]
) -> NDArray[np.float64]:
    """Turn log-odds into the option that each draw shows, and the mean chance of each, shape (rows,)."""
    n = len(shown)
    top, total, mean = np.full(n, -np.inf), np.zeros(n), np.empty(rows)
    for j in range(rows):
        for m in range(n):
            top[m] = max(top[m], eta[j, m])
    for j in range(rows):
        for m in range(n):
            eta[j, m] = math.exp(eta[j, m] - top[m])
            total[m] += eta[j, m]
    top[:] = 0.0
    shown[:] = 0
    for j in range(rows):
        sum_ = 0.0
        for m in range(n):
            p = eta[j, m] / total[m]
            sum_ += p
            top[m] += p
            shown[m] += uniform[m] > top[m]
        mean[j] = sum_ / n
    return mean


@formula
def look(
    field: Field,
    free: NDArray[np.bool_],
    known: NDArray[np.float64],
    pick: NDArray[np.int64],
    theta: NDArray[np.float64],
    uniform: NDArray[np.float32],
) -> Sight:
    """Draw the truth of every item that has no label, as `ModelsBelief.look`; known: right answers so far."""
    items, models = field.option.shape
    width, n = field.base.shape[1] - 1, len(pick)
    both = int(np.searchsorted(pick, len(field.spreads)))  # the draws in which all models are voices come first
    chance, expected, right = np.zeros((items, width + 1)), known.copy(), np.empty((models, n))
    for h in range(models):
        right[h] = known[h]
    eta, shown = np.empty((width + 1, n)), np.empty(n, dtype=np.int16)
    for i in range(items):
        if not free[i]:
            continue
        rows = _log_odds(field, i, both, pick, theta, eta)
        mean = _reveal(eta, rows, uniform[i], shown)
        last = field.options[i]
        chance[i, :last] = mean[:last]
        if rows > last:
            chance[i, width] = mean[last]
        for h in range(models):
            o = field.option[i, h]
            if o >= 0:
                expected[h] += chance[i, o]
                for m in range(n):
                    right[h, m] += shown[m] == o
    return Sight(chance, expected, right)


@formula
def chances_of(right: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(best) of each model; ties are shared evenly, shape (models,)."""
    models, n = right.shape
    out = np.zeros(models)
    for m in range(n):
        most = right[:, m].max() - 1e-9
        first = 0
        for h in range(models):
            first += right[h, m] >= most
        for h in range(models):
            if right[h, m] >= most:
                out[h] += 1.0 / first
    return out / n


@formula
def contest(field: Field, free: NDArray[np.bool_], sight: Sight) -> NDArray[np.float64]:
    """The worth of a label of each item, as `ModelsBelief.contest`, shape (items,)."""
    lead, chance = int(sight.expected.argmax()), chances_of(sight.right)
    worth = np.zeros(len(field.option))
    order = np.argsort(-chance, kind="mergesort")
    rivals = 0
    for r in order[: _RIVALS + 1]:
        if r != lead and chance[r] > _UNLIKELY and rivals < _RIVALS:
            _tell(field, free, sight, lead, r, chance[r], worth)
            rivals += 1
    if rivals == 0:
        r = np.argsort(-sight.expected, kind="mergesort")[1]
        _tell(field, free, sight, lead, r, max(chance[r], _UNLIKELY), worth)
    return worth


@formula
def _tell(
    field: Field, free: NDArray[np.bool_], sight: Sight, a: int, b: int, chance: float, worth: NDArray[np.float64]
) -> None:
    """Add what labels say about the difference of two models, by the chance of the second."""
    apart = max((sight.right[a] - sight.right[b]).var(), _LEAST_VARIANCE)
    for i in range(len(worth)):
        one, two = field.option[i, a], field.option[i, b]
        if free[i] and one != two:
            p = sight.chance[i, one] if one >= 0 else 0.0
            q = sight.chance[i, two] if two >= 0 else 0.0
            worth[i] += chance * (p + q - (p - q) ** 2) / apart


@formula
def is_best(right: NDArray[np.float64], lead: int) -> float:
    """The share of draws in which no model is better than this one."""
    count = 0
    for m in range(right.shape[1]):
        count += right[lead, m] >= right[:, m].max() - 1e-9
    return count / right.shape[1]
