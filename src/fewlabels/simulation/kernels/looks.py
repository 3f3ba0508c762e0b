"""Compiled looks at the belief about several models: draws of the truth, P(best), and the worth of a label.

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

_NONE, _ONE = np.float32(0.0), np.float32(1.0)
_MOST_LATELY = 127  # items that are summed in bytes, each −1, 0 or 1, before they are added to the rest
_RIVALS, _UNLIKELY, _LEAST_VARIANCE, _LEAST_CHANCE = 12, 0.002, 1e-2, 1e-12  # as in learned/models/believed.py


class Sight(NamedTuple):
    """The result of a look: P(each option), (items, options + none); right answers expected, (models,), and drawn."""

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
    """Draw the parameters into theta; if the crowd's is negative, it is set to 0 and the others follow from that."""
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
    """The guess of each draw, in increasing order, and its parameters, shape (parameters, draws)."""
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
    field: Field,
    i: int,
    both: int,
    pick: NDArray[np.int64],
    theta: NDArray[np.float32],
    gap: NDArray[np.float32],
    shared: NDArray[np.float32],
) -> None:
    """Add the weight of the voice in the draws in which one model alone is a voice; to `shared` for the main option."""
    b, main = field.base.shape[2], field.main[i]
    for m in range(both, len(pick)):
        h = pick[m] - len(field.spreads)
        o = field.option[i, h]
        value = theta[b, m]
        if b == 3:
            value += theta[b + 1, m] * np.float32(field.x[i, h])
        # There is no branch here, since the processor could not predict it.
        shared[m] -= value * np.float32(o == main)
        gap[max(o, 0), m] += value * np.float32(o != main and o >= 0)


@formula
def _add_all(
    field: Field, i: int, both: int, theta: NDArray[np.float32], gap: NDArray[np.float32], shared: NDArray[np.float32]
) -> None:
    """Add the weights of the voices in the draws in which all models are voices.

    Most models give the main answer. The weights of all are already in `shared`, so the others' are subtracted.
    """
    b, main = field.base.shape[2], field.main[i]
    for k in range(field.start[i], field.start[i + 1]):
        h = field.apart[k]
        o = field.option[i, h]
        if o >= 0:
            for m in range(both):
                gap[o, m] += theta[b + h, m]
        else:
            for m in range(both):
                shared[m] += theta[b + h, m]
    for o in range(field.options[i]):
        if o != main:
            for m in range(both):
                shared[m] += gap[o, m]


@formula
def _add_sure(
    field: Field, i: int, both: int, theta: NDArray[np.float32], gap: NDArray[np.float32], shared: NDArray[np.float32]
) -> None:
    """Add what the confidences of the voices say in the draws in which all models are voices."""
    models, b, main = field.option.shape[1], field.base.shape[2], field.main[i]
    for h in range(models):
        o = field.option[i, h]
        x = np.float32(field.x[i, h])
        if o == main:
            for m in range(both):
                shared[m] -= x * theta[b + models + h, m]
        elif o >= 0:
            for m in range(both):
                gap[o, m] += x * theta[b + models + h, m]


@formula
def _gaps(
    field: Field,
    i: int,
    both: int,
    pick: NDArray[np.int64],
    theta: NDArray[np.float32],
    every: NDArray[np.float32],
    gap: NDArray[np.float32],
    shared: NDArray[np.float32],
) -> int:
    """The log-odds of an item's options less those of its main one, into gap, (options + none, draws); how many.

    "None of them" comes after the options. `shared`, of shape (draws,), has the part that all share. It is an array of
    its own, since the compiler can only vectorise if it sees that no arrays overlap. `every`: the weights of all voices
    together in each draw.
    """
    b, n, main = field.base.shape[2], len(pick), field.main[i]
    last = field.options[i]
    rows = last + 1 if field.others[i] else last
    for j in range(rows):
        for m in range(n):
            gap[j, m] = _NONE
    for m in range(n):
        shared[m] = -every[m]
    _add_all(field, i, both, theta, gap, shared)
    if b == 3:
        _add_sure(field, i, both, theta, gap, shared)
    _add_alone(field, i, both, pick, theta, gap, shared)
    for j in range(rows):
        at = j if j < last else field.base.shape[1] - 1
        for m in range(n if j != main else 0):
            gap[j, m] += shared[m]
        for d in range(b if j != main else 0):
            more = np.float32(field.base[i, at, d] - field.base[i, main, d])
            for m in range(n):
                gap[j, m] += more * theta[d, m]
    return rows


@formula
def _reveal(
    gap: NDArray[np.float32],
    rows: int,
    main: int,
    uniform: NDArray[np.float32],
    shown: NDArray[np.int16],
    scratch: NDArray[np.float32],
    total: NDArray[np.float32],
    mean: NDArray[np.float64],
) -> None:
    """Turn log-odds into the option that each draw shows, and the mean chance of each, shape (rows,)."""
    n = len(shown)
    total[:] = _ONE
    gap[main] = _ONE
    for j in range(rows):
        if j != main:
            exponentials(gap, j, scratch)
            for m in range(n):
                total[m] += gap[j, m]
    for m in range(n):
        total[m] = _ONE / total[m]
    scratch[:] = _NONE
    shown[:] = 0
    for j in range(rows):
        for m in range(n):
            gap[j, m] *= total[m]
        for m in range(n):
            scratch[m] += gap[j, m]
        for m in range(n):
            shown[m] += uniform[m] > scratch[m]
        mean[j] = sum_of(gap, j) / n


@formula
def _settle(right: NDArray[np.int32], lately: NDArray[np.int8]) -> None:
    """Add the latest counts of right answers to the totals."""
    for h in range(len(right)):
        for m in range(right.shape[1]):
            right[h, m] += lately[h, m]
    lately[:] = 0


@formula
def _count(
    field: Field,
    i: int,
    shown: NDArray[np.int16],
    mean: NDArray[np.float64],
    expected: NDArray[np.float64],
    lately: NDArray[np.int8],
    more: NDArray[np.int8],
) -> None:
    """Add an item to how many each model has right, compared with one that always gives the main answer, which is last.

    `more` is room for how many are right among the models that choose each option, shape (options + none, draws).
    """
    n, main, all_main = len(shown), np.int16(field.main[i]), len(lately) - 1
    expected[all_main] += mean[main]
    for m in range(n):
        more[main, m] = shown[m] == main
    for m in range(n):
        lately[all_main, m] += more[main, m]
    for o in range(-1, field.options[i]):
        if o != main:
            for m in range(n):
                more[o, m] = np.int8(shown[m] == np.int16(o)) - np.int8(shown[m] == main)
    for k in range(field.start[i], field.start[i + 1]):
        h = field.apart[k]
        o = field.option[i, h]
        expected[h] += (mean[o] if o >= 0 else 0.0) - mean[main]
        for m in range(n):
            lately[h, m] += more[o, m]


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
    short = theta.astype(np.float32)
    every, mean = np.zeros(n, dtype=np.float32), np.empty(width + 1)
    for h in range(models):
        for m in range(both):
            every[m] += short[b + h, m]
    chance, expected = np.zeros((items, width + 1)), np.zeros(models + 1)
    right, lately = np.zeros((models + 1, n), dtype=np.int32), np.zeros((models + 1, n), dtype=np.int8)
    more = np.empty((width + 1, n), dtype=np.int8)
    gap = np.empty((width + 1, n), dtype=np.float32)
    scratch, shared = np.empty(n, dtype=np.float32), np.empty(n, dtype=np.float32)
    shown = np.empty(n, dtype=np.int16)
    for i in range(items):
        if i % _MOST_LATELY == 0:
            _settle(right, lately)
        if not free[i]:
            continue
        last = field.options[i]
        rows = _gaps(field, i, both, pick, short, every, gap, shared)
        _reveal(gap, rows, field.main[i], uniform[i], shown, scratch, shared, mean)
        for j in range(rows):
            chance[i, j if j < last else width] = mean[j]
        _count(field, i, shown, mean, expected, lately, more)
    _settle(right, lately)
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
    """Add what labels say about the difference of two models, by the chance of the second, and an equal chance each."""
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
