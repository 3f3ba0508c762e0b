"""Groups in a contest whose value is linear in the shares of their cells: Σ_c V_c with V_c = Σ_j w_cj θ_cj.

θ_c ~ Dirichlet(α_c). There is no formula for the chance p of a value above a mark t, but there is one for a bound on
it. With A_c = Σ_j α_cj, parts t_c that add up to t, a tilt σ > 0 and b_cj = 1 − σ (w_cj − t_c) / A_c, all
above 0,

    h(θ) = Π_c (Σ_j b_cj θ_cj)^(−A_c)    has the mean    M = Π_c Π_j b_cj^(−α_cj).

Σ_j b_cj θ_cj is 1 − σ (V_c − t_c) / A_c, and −log(1 − u) ≥ u: so log h ≥ σ (Σ_c V_c − t). It makes h at least 1 where
the value is above the mark, and p ≤ M. It is easy to draw from the distribution with the density h/M relative to that
of θ: Gamma(α_cj) / b_cj, scaled to shares. If such a draw is kept with probability 1/h when its value is above the
mark, and never otherwise, then the kept draws follow θ conditional on a value above the mark, and a draw is kept with
probability p/M. So a group that was picked with the chance M gets one such draw; if that is not kept, it gets one from
below the mark. Its value is then above the mark with the chance p.

This is exact for any tilt and parts. They are chosen to make M small, which works if much is known about θ. If little
is known, a better bound is the chance that all pieces of a stick are as a high value needs them: see `sticks`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fewlabels.simulation.kernels.contest import Contest, rare_chance, rules
from fewlabels.simulation.kernels.draws import draw_dirichlet
from fewlabels.simulation.kernels.jit import formula
from fewlabels.simulation.kernels.stick_breaking import draw_stick, log_all_above

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STRENGTH, _PART, _MEAN, _VARIANCE, _HIGH = range(5)  # columns of Prices.cell
_BY_STICKS = -1.0  # in place of a tilt
_SURE = 0.9  # a chance above this makes a bad mark: most groups would be picked
_ROUNDS = 12  # steps of Newton's method, which need not reach the minimum
_ALIKE = 1e-12  # prices with a relative difference below this are equal


class Prices(NamedTuple):
    """The values of the groups.

    first: the cells of group g are first[g] to first[g + 1], shape (groups + 1,).
    alpha, weight: α and w, shape (cells, outcomes).
    order, above: the outcomes of each cell in increasing order of weight, and the sum of α over those after each,
        two of shape (cells, outcomes).
    cell: of each cell A, t_c, the mean and the variance of V_c, and its highest possible w, shape (cells, 5).
    most: the most that the value of each group can be, shape (groups,).
    tilt: σ of each group, −1 where sticks are the better bound, 0 where the mark is the most that the value can be,
        shape (groups,).
    goal: the mark of each group, shape (groups,).
    drawn: room for the V_c of a draw, shape (cells,).
    theta: room for the shares of a cell, shape (outcomes,).
    rare: a small chance.
    """

    first: NDArray[np.int64]
    alpha: NDArray[np.float64]
    weight: NDArray[np.float64]
    order: NDArray[np.int64]
    above: NDArray[np.float64]
    cell: NDArray[np.float64]
    most: NDArray[np.float64]
    tilt: NDArray[np.float64]
    goal: NDArray[np.float64]
    drawn: NDArray[np.float64]
    theta: NDArray[np.float64]
    rare: float


@formula
def new_prices(first: NDArray[np.int64], belief: NDArray[np.float64], weight: NDArray[np.float64], m: int) -> Prices:
    """Make the field of a contest in which the m best are wanted; belief: α of each cell, shape (cells, outcomes)."""
    cells, groups = len(weight), len(first) - 1
    order = np.empty(weight.shape, dtype=np.int64)
    for c in range(cells):
        order[c] = np.argsort(weight[c], kind="mergesort")
    field = Prices(
        first=first,
        alpha=belief.copy(),
        weight=weight,
        order=order,
        above=np.zeros(weight.shape),
        cell=np.zeros((cells, 5)),
        most=np.zeros(groups),
        tilt=np.zeros(groups),
        goal=np.zeros(groups),
        drawn=np.zeros(cells),
        theta=np.zeros(weight.shape[1]),
        rare=rare_chance(groups, m),
    )
    for c in range(cells):
        _sum_up(field, c)
    return field


@formula
def _sum_up(field: Prices, c: int) -> None:
    """A, and the mean and variance of V_c: Σ w α/A, and Σ (w − mean)² α/A / (A + 1)."""
    alpha, weight, order, above = field.alpha[c], field.weight[c], field.order[c], field.above[c]
    strength, mean, variance, high = 0.0, 0.0, 0.0, -np.inf
    for i in range(len(alpha) - 1, -1, -1):
        above[i] = strength
        strength += alpha[order[i]]
        mean += alpha[order[i]] * weight[order[i]]
        if alpha[order[i]] > 0.0:
            high = max(high, weight[order[i]])
    mean /= strength
    for j in range(len(alpha)):
        variance += alpha[j] * (weight[j] - mean) ** 2
    field.cell[c, _STRENGTH], field.cell[c, _MEAN], field.cell[c, _HIGH] = strength, mean, high
    field.cell[c, _VARIANCE] = variance / strength / (strength + 1.0)


@formula
def learn_price(field: Prices, c: int, outcome: int) -> None:
    """Record a label in cell c."""
    field.alpha[c, outcome] += 1.0
    _sum_up(field, c)


@formula
def _reach(field: Prices, g: int) -> bool:
    """Note the largest possible value of g; returns whether any other value is possible."""
    alpha, weight = field.alpha, field.weight
    most, least, size = 0.0, 0.0, 0.0
    for c in range(field.first[g], field.first[g + 1]):
        high, low = field.cell[c, _HIGH], np.inf
        for j in range(alpha.shape[1]):
            if alpha[c, j] > 0.0:
                low = min(low, weight[c, j])
        most, least, size = most + high, least + low, size + abs(high) + abs(low)
    field.most[g] = most
    return most - least > _ALIKE * size


@formula
def _log_bound(field: Prices, g: int, mark: float) -> float:
    """log M for a mark, at a tilt and parts that are kept for the draws; 0 for a mark that is not above the mean."""
    alpha, weight, cell, start, end = field.alpha, field.weight, field.cell, field.first[g], field.first[g + 1]
    mean, variance = 0.0, 0.0
    for c in range(start, end):
        mean, variance = mean + cell[c, _MEAN], variance + cell[c, _VARIANCE]
    gap = mark - mean
    if gap <= 0.0 or variance <= 0.0:
        return 0.0
    limit = np.inf  # limit of the tilt, beyond which some b is not above 0
    for c in range(start, end):
        cell[c, _PART] = cell[c, _MEAN] + gap * cell[c, _VARIANCE] / variance
        for j in range(alpha.shape[1]):
            above = weight[c, j] - cell[c, _PART]
            if alpha[c, j] > 0.0 and above > 0.0:
                limit = min(limit, cell[c, _STRENGTH] / above)
    tilt = _best_tilt(field, g, min(gap / variance, 0.9 * limit), limit)
    field.tilt[g], total = tilt, 0.0
    for c in range(start, end):
        for j in range(alpha.shape[1]):
            if alpha[c, j] > 0.0:
                total -= alpha[c, j] * math.log1p(-tilt * (weight[c, j] - cell[c, _PART]) / cell[c, _STRENGTH])
    return min(total, 0.0)


@formula
def _best_tilt(field: Prices, g: int, tilt: float, limit: float) -> float:
    """A tilt near the one with the least M, by Newton's method; log M is convex in it."""
    alpha, weight, cell = field.alpha, field.weight, field.cell
    for _ in range(_ROUNDS):
        slope, curve = 0.0, 0.0
        for c in range(field.first[g], field.first[g + 1]):
            for j in range(alpha.shape[1]):
                if alpha[c, j] > 0.0:
                    above = (weight[c, j] - cell[c, _PART]) / cell[c, _STRENGTH]
                    ratio = above / (1.0 - tilt * above)
                    slope += alpha[c, j] * ratio
                    curve += alpha[c, j] * ratio * ratio
        step = slope / curve
        before = tilt
        tilt -= step
        if tilt <= 0.0:
            tilt = 0.5 * before
        elif tilt >= limit:
            tilt = 0.5 * (before + limit)
        if slope * step < 0.01:  # twice the relative amount by which M can still fall
            break
    return tilt


@formula
def _log_by_sticks(field: Prices, g: int, mark: float) -> float:
    """The log of the chance that the sticks of all cells are as a value above the mark needs them.

    At best, the other cells contribute the most that they can, so each cell must be above a line of its own.
    """
    total = 0.0
    for c in range(field.first[g], field.first[g + 1]):
        high = field.cell[c, _HIGH]
        line = mark - (field.most[g] - high)
        total += log_all_above(field.alpha[c], field.weight[c], field.order[c], field.above[c], line, high)
    return total


@formula
def _rare_value(field: Prices, g: int) -> float:
    """A value that g is rarely above: where M is about the small chance. The slope of log M by the mark is −σ."""
    mark, variance, most = 0.0, 0.0, field.most[g]
    for c in range(field.first[g], field.first[g + 1]):
        mark, variance = mark + field.cell[c, _MEAN], variance + field.cell[c, _VARIANCE]
    wanted, before = math.log(field.rare), mark
    mark += math.sqrt(-2.0 * wanted * variance)  # where it is for a normal distribution
    for _ in range(_ROUNDS):
        if mark >= most:
            mark = 0.5 * (before + most)
        off = _log_bound(field, g, mark) - wanted
        if abs(off) < 0.3:
            break
        before = mark
        mark += off / field.tilt[g]
    return min(mark, most)


@formula
def _chance_at(field: Prices, g: int, mark: float) -> float:
    """The better bound on the chance of a value above a mark; 1 if the mark is the most that it can be."""
    if mark >= field.most[g]:
        return 1.0
    by_tilt, by_sticks = _log_bound(field, g, mark), _log_by_sticks(field, g, mark)
    if by_sticks < by_tilt:
        field.tilt[g] = _BY_STICKS
    return math.exp(min(by_tilt, by_sticks))


@formula
def _aim(field: Prices, g: int, level: float) -> tuple[float, float]:
    """A mark at the level, or a higher one if the chance of a pick would be near 1; and that chance."""
    chance = 1.0
    if _reach(field, g):
        chance = _chance_at(field, g, level)
        if chance > _SURE:
            level = _rare_value(field, g)
            chance = _chance_at(field, g, level)
    if chance > _SURE:  # nothing is above the largest possible value
        level, chance, field.tilt[g] = field.most[g], 0.0, 0.0
    field.goal[g] = level
    return level, chance


@formula
def _draw_tilted(rng: np.random.Generator, field: Prices, g: int) -> float:
    """A value of g from the distribution that prefers high ones, and the V_c behind it."""
    alpha, weight, cell, theta, tilt = field.alpha, field.weight, field.cell, field.theta, field.tilt[g]
    value = 0.0
    for c in range(field.first[g], field.first[g + 1]):
        draw_dirichlet(rng, alpha[c], theta)
        total, cost = 0.0, 0.0
        for j in range(len(theta)):
            if theta[j] > 0.0:
                part = theta[j] / (1.0 - tilt * (weight[c, j] - cell[c, _PART]) / cell[c, _STRENGTH])
                total += part
                cost += part * weight[c, j]
        field.drawn[c] = cost / total
        value += field.drawn[c]
    return value


@formula
def _draw_sticks(rng: np.random.Generator, field: Prices, g: int, given: bool) -> tuple[float, bool]:
    """A value of g, and whether its sticks are as a value above the mark needs them; if `given`, they always are."""
    value, are_all = 0.0, True
    for c in range(field.first[g], field.first[g + 1]):
        high = field.cell[c, _HIGH]
        line = field.goal[g] - (field.most[g] - high)
        part, is_such = draw_stick(
            rng, field.alpha[c], field.weight[c], field.order[c], field.above[c], line, high, given
        )
        value, are_all = value + part, are_all and is_such
    return value, are_all


@formula
def _draw(rng: np.random.Generator, field: Prices, g: int) -> float:
    """A value of g."""
    value = 0.0
    for c in range(field.first[g], field.first[g + 1]):
        draw_dirichlet(rng, field.alpha[c], field.theta)
        for j in range(len(field.theta)):
            value += field.theta[j] * field.weight[c, j]
    return value


@formula
def _over(rng: np.random.Generator, field: Prices, g: int, chance: float, floor: float) -> float:
    """A value whose sticks fit; or, with the chance p/M, a value above the mark, and otherwise one that is not.

    It is −∞ if the value is below the floor anyway.
    """
    cell, tilt, goal = field.cell, field.tilt[g], field.goal[g]
    if tilt == _BY_STICKS:
        return _draw_sticks(rng, field, g, True)[0]
    value = _draw_tilted(rng, field, g)
    if value > goal:
        preferred = 0.0
        for c in range(field.first[g], field.first[g + 1]):
            strength = cell[c, _STRENGTH]
            preferred -= strength * math.log1p(-tilt * (field.drawn[c] - cell[c, _PART]) / strength)
        if math.log(1.0 - rng.random()) <= -preferred:
            return value
    return _under(rng, field, g) if goal >= floor else -np.inf


@formula
def _under(rng: np.random.Generator, field: Prices, g: int) -> float:
    """A value whose sticks do not fit, or that is not above the mark."""
    tilt = field.tilt[g]
    while True:
        if tilt == _BY_STICKS:
            value, are_all = _draw_sticks(rng, field, g, False)
            if not are_all:
                return value
        else:
            value = _draw(rng, field, g)
            if value <= field.goal[g] or tilt == 0.0:
                return value


_enter, play_prices = rules(_aim, _over, _under)


@formula
def enter_prices(contest: Contest, field: Prices, g: int) -> None:
    """Enter g with its present belief, or enter it again after that has changed."""
    _enter(contest, field, g, _rare_value(field, g) if _reach(field, g) else field.most[g])
