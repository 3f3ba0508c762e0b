"""Compiled runs that look for the best of several models: belief, worth of items, and the draw, label by label."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.kernels.jit import formula, kernel
from fewlabels.simulation.kernels.looks import contest, draw_parameters, is_best, look
from fewlabels.simulation.kernels.voices import Field, prior_of, weigh

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SURE, _NEAR, _BATCHES = 0.95, 0.9, 12
_WON, _LOST, _MANY, _FAR, _PARTS = 3.0, 5.0, 400, 0.9995, 5  # as in learned/models/record.py
_LEAST, _MORE = np.array([-1, -1, -1, 0, -1]), np.array([2, 2, 2, 1, 1])  # as `Record.scores`
_TIE = 1e-9  # as in tasks/models.py
_SHARP, _SHARPEST, _BY_LOT, _GROWN = 10, 5.0, 0.25, 50  # as in tasks/best.py
# At first the belief is computed after each label; later, each time the labels have grown by a twentieth.
_FIRST, _SHARE = 20, 20


@formula
def draw_item(rng: np.random.Generator, worth: NDArray[np.float64], free: NDArray[np.bool_], power: float) -> int:
    """An item with probability ∝ worth^power, as `Lottery.choose`."""
    top = 0.0
    for i in range(len(worth)):
        if free[i]:
            top = max(top, worth[i])
    best, chosen = -np.inf, -1
    for i in range(len(worth)):
        if free[i]:
            chance = math.log(max(worth[i] / top, 1e-12)) * power if top > 0.0 else 0.0
            key = chance - math.log(-math.log(1.0 - rng.random()))  # as Generator.gumbel
            if key > best:
                best, chosen = key, i
    return chosen


def is_due(label: int) -> bool:
    """Whether the belief is computed after this label: always at first, later each time labels grow by a twentieth."""
    return label <= _FIRST or label % (1 + label // _SHARE) == 0


_is_due = formula(is_due)


@formula
def _beta_binomial(a: float, b: float, n: int) -> NDArray[np.float64]:
    """P(each number of n), shape (n + 1,)."""
    out = np.empty(n + 1)
    level = math.lgamma(n + 1) - math.lgamma(a + b + n) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    for k in range(n + 1):
        ways = math.lgamma(k + 1) + math.lgamma(n - k + 1)
        out[k] = math.exp(level - ways + math.lgamma(k + a) + math.lgamma(n - k + b))
    return out


@formula
def stays_ahead(good: NDArray[np.int64], bad: NDArray[np.int64], left: NDArray[np.int64], ahead: int) -> float:
    """P(one model ends at least level with another), from the parts of their record, as `Record.stays_ahead`.

    `good` and `bad` are the labels that count for the first, and those that do not; `ahead` are its wins less losses.
    """
    rest = left.sum()
    mean, variance = float(ahead), 0.0
    for k in range(len(good)):
        a, b, n = good[k] + _WON * _MORE[k] / 2, bad[k] + _LOST * _MORE[k] / 2, left[k]
        share = a / (a + b)
        mean += n * (_LEAST[k] + _MORE[k] * share)
        variance += _MORE[k] ** 2 * n * share * (1 - share) * (1 + max(n - 1, 0) / (a + b + 1))
    if rest == 0:
        return 1.0 if ahead >= 0 else 0.0
    normal = math.erfc(-mean / math.sqrt(2 * variance)) / 2
    if rest > _MANY or normal >= _FAR:
        return normal
    chance, lowest = np.ones(1), ahead
    for k in range(len(good)):
        own = np.zeros(_MORE[k] * left[k] + 1)
        start = _MORE[k] / 2
        own[:: _MORE[k]] = _beta_binomial(good[k] + _WON * start, bad[k] + _LOST * start, left[k])
        chance = np.convolve(chance, own)
        lowest += _LEAST[k] * left[k]
    return min(chance[max(-lowest, 0) :].sum(), 1.0)


@formula
def _part(field: Field, i: int, first: int, second: int) -> int:
    """The part of a record that an item belongs to, by the options that the two models choose, as `_parts` there."""
    if second < 0:
        return 3
    if first < 0:
        return 4
    gap = field.base[i, first, 0] - field.base[i, second, 0]
    return 1 if abs(gap) * field.option.shape[1] < 0.5 else (2 if gap > 0 else 0)


@formula
def unbeaten(field: Field, free: NDArray[np.bool_], lead: int) -> float:
    """The largest P(best) that the leader's record against each rival allows, as `ModelsBelief.unbeaten`."""
    items, models = field.option.shape
    least = 1.0
    for h in range(models):
        good, bad, left = np.zeros(_PARTS, np.int64), np.zeros(_PARTS, np.int64), np.zeros(_PARTS, np.int64)
        ahead = 0
        for i in range(items):
            first, second = field.option[i, lead], field.option[i, h]
            if first != second:
                part = _part(field, i, first, second)
                if free[i]:
                    left[part] += 1
                else:
                    won, lost = first == field.true[i], second == field.true[i]
                    ahead += int(won) - int(lost)
                    good[part] += won or (part == 4 and not lost)
                    bad[part] += lost or (part == 3 and not won)
        least = min(least, stays_ahead(good, bad, left, ahead))
        if least < _SURE:
            break  # not sure, whatever the other rivals' records say
    return least


@kernel
def best_run(
    rng: np.random.Generator, judge: np.random.Generator, field: Field, power: float, budgets: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """One run: the items in the order of asking, the model that leads at each budget, and when it was first sure.

    The last has two numbers: the labels and the model at that moment; −1 if it never was. `judge` draws what decides
    whether it is sure, so that the order does not depend on it.
    """
    items, models = field.option.shape
    size = field.normals.shape[1]
    thetas = np.zeros((len(field.log_prior), size))
    lowers = [np.zeros((1, 1)) for _ in range(len(field.log_prior))]
    for k in range(len(field.log_prior)):
        mean = prior_of(field, k)[0]
        thetas[k, : len(mean)] = mean
    free, known = np.ones(items, dtype=np.bool_), np.zeros(models)
    order, leads = np.empty(min(budgets[-1], items), dtype=np.int64), np.zeros(len(budgets), dtype=np.int64)
    sure, worth = np.full(2, -1), np.zeros(items)
    lead, mark = 0, 0
    for label in range(len(order) + 1):
        ends = label == budgets[mark] or label == items
        if _is_due(label) or ends:
            weight = weigh(field, order[:label], thetas, lowers)
            pick, theta = draw_parameters(thetas, lowers, weight, 0.5, field.normals)
            sight = look(field, free, known, pick, theta, field.uniform)
            lead, (worth, by_lot) = int(sight.expected.argmax()), contest(field, free, sight)
            worth = (worth / max(worth.max(), _TIE)) ** (2 * min(max(label / _SHARP, 1.0), _SHARPEST))
            share = _BY_LOT * min(label / _GROWN, 1.0)
            worth = np.sqrt((1 - share) * worth / max(worth.sum(), _TIE) + share * by_lot)
            enough = label == items or (label + 1) / (label + 2) >= _SURE
            near = sure[0] < 0 and enough and is_best(sight.right, lead) >= _NEAR
            near = near and unbeaten(field, free, lead) >= _SURE
            if near and _is_sure(judge, field, free, known, thetas, lowers, weight, lead):
                sure[0], sure[1] = label, lead
        while mark < len(budgets) and (label == budgets[mark] or label == items):
            leads[mark] = lead
            mark += 1
        if mark == len(budgets):
            break
        item = draw_item(rng, worth, free, power)
        order[label] = item
        free[item] = False
        worth[item] = 0.0
        for h in range(models):
            known[h] += field.option[item, h] == field.true[item]
    return order, leads, sure


@formula
def _is_sure(
    rng: np.random.Generator,
    field: Field,
    free: NDArray[np.bool_],
    known: NDArray[np.float64],
    thetas: NDArray[np.float64],
    lowers: list[NDArray[np.float64]],
    weight: NDArray[np.float64],
    lead: int,
) -> bool:
    """Whether P(the leader is best) is 95%, by batches of new draws until that is clear, at most 12."""
    n = len(field.normals)
    total = 0.0
    for batch in range(1, _BATCHES + 1):
        pick, theta = draw_parameters(thetas, lowers, weight, rng.random(), rng.standard_normal(field.normals.shape))
        uniform = rng.random(field.uniform.shape).astype(np.float32)
        total += is_best(look(field, free, known, pick, theta, uniform).right, lead)
        off = 3 * math.sqrt(_SURE * (1 - _SURE) / (batch * n))
        if abs(total / batch - _SURE) > off:
            break
    return total / batch >= _SURE
