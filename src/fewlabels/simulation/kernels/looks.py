"""Looks at the belief about several models, compiled: draws of the truth, P(best), and the worth of a label.

The same formulas as in `learned/models/believed.py`. Draws are the innermost dimension of every array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fewlabels.simulation.kernels.jit import formula
from fewlabels.simulation.kernels.rows import exponentials, sum_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.simulation.kernels.voices import Field

_RIVALS, _UNLIKELY, _LEAST_VARIANCE, _LEAST_CHANCE = 12, 0.002, 1e-2, 1e-12  # as in learned/models/believed.py


class Sight(NamedTuple):
    """What a look finds: P(each option), (items, options + none); right answers expected, (models,), and drawn."""

    chance: NDArray[np.float64]
    expected: NDArray[np.float64]
    right: NDArray[np.float64]


@formula
def _with_crowd(lower: NDArray[np.float64]) -> NDArray[np.float64]:
    """By how much each parameter moves with the crowd's, the first: its covariance with that, over the variance."""
    size = len(lower)
    moved = np.zeros(size)
    moved[0] = 1.0
    for d in range(size):
        for e in range(d):
            moved[d] -= lower[d, e] * moved[e]
        moved[d] /= lower[d, d]
    for d in range(size - 1, -1, -1):
        for e in range(d + 1, size):
            moved[d] -= lower[e, d] * moved[e]
        moved[d] /= lower[d, d]
    return moved / moved[0]


@formula
def _draw_one(
    lower: NDArray[np.float64],
    mode: NDArray[np.float64],
    with_crowd: NDArray[np.float64],
    normal: NDArray[np.float64],
    theta: NDArray[np.float64],
) -> None:
    """A draw of the parameters into theta; one in which the crowd's is negative becomes one given that it is 0."""
    size = len(lower)
    # Solve Lᵀ d = z from the end.
    for d in range(size - 1, -1, -1):
        value = normal[d]
        for e in range(d + 1, size):
            value -= lower[e, d] * theta[e]
        theta[d] = value / lower[d, d]
    short = min(theta[0] + mode[0], 0.0)
    for d in range(size):
        theta[d] += mode[d] - short * with_crowd[d]


@formula
def draw_parameters(
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
    with_crowd = np.zeros(1)
    for m in range(n):
        while (m + start) / n > edge and k < last:
            k += 1
            edge += weight[k]
        if m == 0 or k != pick[m - 1]:
            with_crowd = _with_crowd(lowers[k])
        pick[m] = k
        _draw_one(lowers[k], thetas[k], with_crowd, normals[m], theta[:, m])
    return pick, theta


@formula
def _add_alone(
    field: Field, i: int, both: int, pick: NDArray[np.int64], theta: NDArray[np.float64], gap: NDArray[np.float64]
) -> None:
    """Add the weight of the voice in the draws in which one model alone is a voice; to the last row for the main."""
    b, main, spare = field.base.shape[2], field.main[i], len(gap) - 1
    for m in range(both, len(pick)):
        h = pick[m] - len(field.spreads)
        o = field.option[i, h]
        value = theta[b, m] + (theta[b + 1, m] * field.x[i, h] if b == 3 else 0.0)
        if o == main:
            gap[spare, m] -= value
        elif o >= 0:
            gap[o, m] += value


@formula
def _add_all(field: Field, i: int, both: int, theta: NDArray[np.float64], gap: NDArray[np.float64]) -> None:
    """Add the weights of the voices in the draws in which all models are voices.

    Most models give the main answer: their weights are those of all, in the last row of gap already, less the others'.
    """
    models, b, main, spare = field.option.shape[1], field.base.shape[2], field.main[i], len(gap) - 1
    for k in range(field.start[i], field.start[i + 1]):
        h = field.apart[k]
        o = field.option[i, h] if field.option[i, h] >= 0 else spare
        for m in range(both):
            gap[o, m] += theta[b + h, m]
    for o in range(field.options[i]):
        if o != main:
            for m in range(both):
                gap[spare, m] += gap[o, m]
    for h in range(models if b == 3 else 0):
        o = field.option[i, h]
        if o >= 0:
            row, x = spare if o == main else o, -field.x[i, h] if o == main else field.x[i, h]
            for m in range(both):
                gap[row, m] += x * theta[b + models + h, m]


@formula
def _gaps(
    field: Field,
    i: int,
    both: int,
    pick: NDArray[np.int64],
    theta: NDArray[np.float64],
    every: NDArray[np.float64],
    gap: NDArray[np.float64],
) -> int:
    """The log-odds of an item's options less those of its main one, into gap, (options + none, draws); how many.

    "None of them" comes after the options. The last row of gap is beyond what is needed: for the part that all share.
    `every`: the weights of all voices together in each draw.
    """
    b, n, main = field.base.shape[2], len(pick), field.main[i]
    last, spare = field.options[i], len(gap) - 1
    rows = last + 1 if field.others[i] else last
    for j in range(rows):
        for m in range(n):
            gap[j, m] = 0.0
    for m in range(n):
        gap[spare, m] = -every[m]
    _add_all(field, i, both, theta, gap)
    _add_alone(field, i, both, pick, theta, gap)
    for j in range(rows):
        at = j if j < last else field.base.shape[1] - 1
        for m in range(n if j != main else 0):
            gap[j, m] += gap[spare, m]
        for d in range(b if j != main else 0):
            more = field.base[i, at, d] - field.base[i, main, d]
            for m in range(n):
                gap[j, m] += more * theta[d, m]
    return rows


@formula
def _reveal(
    gap: NDArray[np.float64],
    rows: int,
    main: int,
    uniform: NDArray[np.float32],
    shown: NDArray[np.int32],
    scratch: NDArray[np.float64],
    mean: NDArray[np.float64],
) -> None:
    """Turn log-odds into the option that each draw shows, and the mean chance of each, shape (rows,)."""
    n, total = len(shown), len(gap) - 1  # the last row is needed no longer
    # A loop for each array that changes: the compiler does several numbers at a time only if it sees that none overlap.
    gap[total] = 1.0
    gap[main] = 1.0
    for j in range(rows):
        if j != main:
            exponentials(gap, j, scratch)
            for m in range(n):
                gap[total, m] += gap[j, m]
    for m in range(n):
        gap[total, m] = 1.0 / gap[total, m]
    scratch[:] = 0.0
    shown[:] = 0
    for j in range(rows):
        for m in range(n):
            gap[j, m] *= gap[total, m]
        for m in range(n):
            scratch[m] += gap[j, m]
        for m in range(n):
            shown[m] += uniform[m] > scratch[m]
        mean[j] = sum_of(gap, j) / n


@formula
def _tally(
    field: Field,
    i: int,
    shown: NDArray[np.int32],
    mean: NDArray[np.float64],
    expected: NDArray[np.float64],
    right: NDArray[np.int32],
    more: NDArray[np.int32],
) -> None:
    """Add an item to what each model has right beyond one that always gives the main answer; that one comes last."""
    n, main, all_main = len(shown), field.main[i], len(right) - 1
    expected[all_main] += mean[main]
    for m in range(n):
        right[all_main, m] += shown[m] == main
    for o in range(-1, field.options[i]):
        for m in range(n):
            more[o, m] = np.int32(shown[m] == o) - np.int32(shown[m] == main)
    for k in range(field.start[i], field.start[i + 1]):
        h = field.apart[k]
        o = field.option[i, h]
        expected[h] += (mean[o] if o >= 0 else 0.0) - mean[main]
        for m in range(n):
            right[h, m] += more[o, m]


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
    width, b, n = field.base.shape[1] - 1, field.base.shape[2], len(pick)
    both = int(np.searchsorted(pick, len(field.spreads)))  # the draws in which all models are voices come first
    every, mean = np.zeros(n), np.empty(width + 1)
    for h in range(models):
        for m in range(both):
            every[m] += theta[b + h, m]
    chance, expected = np.zeros((items, width + 1)), np.zeros(models + 1)
    right = np.zeros((models + 1, n), dtype=np.int32)
    gap, shown, scratch = np.empty((width + 2, n)), np.empty(n, dtype=np.int32), np.empty(n)
    more = np.empty((width + 1, n), dtype=np.int32)
    for i in range(items):
        if not free[i]:
            continue
        last = field.options[i]
        rows = _gaps(field, i, both, pick, theta, every, gap)
        _reveal(gap, rows, field.main[i], uniform[i], shown, scratch, mean)
        for j in range(rows):
            chance[i, j if j < last else width] = mean[j]
        _tally(field, i, shown, mean, expected, right, more)
    drawn = np.empty((models, n))
    for h in range(models):
        for m in range(n):
            drawn[h, m] = known[h] + right[h, m] + right[models, m]
    return Sight(chance, expected[:models] + expected[models] + known, drawn)


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
def contest(field: Field, free: NDArray[np.bool_], sight: Sight) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The worth of a label of each item, as `ModelsBelief.contest`, and P(each) as `by_lot`, two of shape (items,)."""
    lead, chance = int(sight.expected.argmax()), chances_of(sight.right)
    worth, by_lot = np.zeros(len(field.option)), np.zeros(len(field.option))
    order = np.argsort(-chance, kind="mergesort")
    rivals = 0
    for r in order[: _RIVALS + 1]:
        if r != lead and chance[r] > _UNLIKELY and rivals < _RIVALS:
            _tell(field, free, sight, lead, r, chance[r], worth, by_lot)
            rivals += 1
    if rivals == 0:
        r = np.argsort(-sight.expected, kind="mergesort")[1]
        _tell(field, free, sight, lead, r, max(chance[r], _UNLIKELY), worth, by_lot)
    return worth, by_lot / max(by_lot.sum(), _LEAST_CHANCE)


@formula
def _tell(
    field: Field,
    free: NDArray[np.bool_],
    sight: Sight,
    a: int,
    b: int,
    chance: float,
    worth: NDArray[np.float64],
    by_lot: NDArray[np.float64],
) -> None:
    """Add what labels say about the difference of two models, by the chance of the second, and an equal lot of each."""
    apart, count = max((sight.right[a] - sight.right[b]).var(), _LEAST_VARIANCE), 0
    for i in range(len(worth)):
        count += free[i] and field.option[i, a] != field.option[i, b]
    for i in range(len(worth)):
        one, two = field.option[i, a], field.option[i, b]
        if free[i] and one != two:
            p = sight.chance[i, one] if one >= 0 else 0.0
            q = sight.chance[i, two] if two >= 0 else 0.0
            worth[i] += chance * (p + q - (p - q) ** 2) / apart
            by_lot[i] += chance / count


@formula
def is_best(right: NDArray[np.float64], lead: int) -> float:
    """The share of draws in which no model is better than this one."""
    count = 0
    for m in range(right.shape[1]):
        count += right[lead, m] >= right[:, m].max() - 1e-9
    return count / right.shape[1]
