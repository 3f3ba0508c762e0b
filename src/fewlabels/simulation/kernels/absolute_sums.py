"""Groups in a contest whose value is a sum over their cells: Σ_c w_c |θ_c − s_c| with θ_c ~ Beta(a_c, b_c).

There is no formula for the chance of a value above a mark, but there is one for a coarser value. The range of each θ_c
is cut into strips, at multiples of a unit δ of the cell's contribution. The contribution rounded up to whole units has
the masses of the strips as its distribution, and the sum over cells is a convolution of those. If the coarse value of a
group is not above the mark, its exact value is not either. If it is, the strips are drawn from their conditional
distribution, cell by cell, and then a θ_c is drawn within each strip.

The strips stay the same as labels come in. The distribution function at their edges, F = I_x(a, b), follows each label
by I_x(a+1, b) = I_x(a, b) − D/a and I_x(a, b+1) = I_x(a, b) + D/b with D = x^a (1−x)^b / B(a, b).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fewlabels.simulation.kernels.contest import Contest, rare_chance, rules
from fewlabels.simulation.kernels.draws import draw_beta
from fewlabels.simulation.kernels.jit import formula
from fewlabels.simulation.kernels.special import log_kernel, tails
from fewlabels.simulation.kernels.tails import draw_between

if TYPE_CHECKING:
    from numpy.typing import NDArray

_A, _B, _WEIGHT, _CENTRE, _MOST = range(5)  # columns of Sums.cell
_START, _BELOW, _UNITS, _TAIL, _LENGTH = range(5)  # columns of Sums.spot
_X, _LESS, _DENSITY, _MASS = range(4)  # rows of Sums.edge
_FINE = 192  # units in the largest possible value of a group
_SURE = 0.5  # a chance above this makes a bad mark: drawing from below it would take too long


class Sums(NamedTuple):
    """The values of the groups. Cells have a place here: by group, and within it those with the largest w_c first.

    There are few arrays, because compiled code updates the reference count of each whenever it passes them on.

    first: the places of group g are first[g] to first[g + 1], shape (groups + 1,).
    place: of each cell, shape (cells,).
    cell: of each place a, b, w, s, and the most that it can contribute, shape (cells, 5).
    spot: of each place where its edges start, how many of its strips are below the centre, how many values its
        contribution in whole units has, where its tail starts, and the length of that, shape (cells + 1, 5).
    edge: at each edge θ, F and D, 0 and 1 among them; and, not by edge, from where the edges of a place start,
        the probabilities of its units, the lowest taken as 0; shape (4, edges).
    tail: P(units of this and the later places of the group > x), for x = 0, 1, ..., shape (all tails,). The first
        place of a group has none: its tail is needed at few x.
    goal: the mark of each group, in units, shape (groups,).
    drawn: room for the units of each place in a draw, shape (cells,).
    unit, rare: δ, and a small chance.
    """

    first: NDArray[np.int64]
    place: NDArray[np.int64]
    cell: NDArray[np.float64]
    spot: NDArray[np.int64]
    edge: NDArray[np.float64]
    tail: NDArray[np.float64]
    goal: NDArray[np.int64]
    drawn: NDArray[np.int64]
    unit: float
    rare: float


@formula
def new_sums(
    first: NDArray[np.int64],
    belief: NDArray[np.float64],
    weight: NDArray[np.float64],
    centre: NDArray[np.float64],
    m: int,
) -> Sums:
    """Make the field of a contest in which the m best are wanted.

    first: the cells of group g are first[g] to first[g + 1], shape (groups + 1,); belief: a and b of each cell, shape
    (cells, 2); weight, centre: w and s, shape (cells,).
    """
    cells, groups = len(weight), len(first) - 1
    unit = 0.0
    for g in range(groups):
        unit = max(unit, weight[first[g] : first[g + 1]].sum() / _FINE)
    place, cell = np.empty(cells, dtype=np.int64), np.empty((cells, 5))
    spot = np.zeros((cells + 1, 5), dtype=np.int64)
    for g in range(groups):
        low, high = first[g], first[g + 1]
        order = low + np.argsort(-weight[low:high], kind="mergesort")
        length = 1
        for i in range(high - low - 1, -1, -1):
            p, c = low + i, order[i]
            place[c] = p
            most = weight[c] * max(centre[c], 1.0 - centre[c])
            cell[p] = np.array([belief[c, 0], belief[c, 1], weight[c], centre[c], most])
            below, above = math.ceil(weight[c] * centre[c] / unit), math.ceil(weight[c] * (1.0 - centre[c]) / unit)
            length += max(below, above, 1) - 1
            spot[p] = np.array([below + above + 1, below, max(below, above, 1), 0, length if i else 0])
    edges, tails_in_all = 0, 0
    for p in range(cells + 1):
        many, length = spot[p, _START], spot[p, _LENGTH]
        spot[p, _START], spot[p, _TAIL] = edges, tails_in_all
        edges, tails_in_all = edges + many, tails_in_all + length
    field = Sums(
        first=first,
        place=place,
        cell=cell,
        spot=spot,
        edge=np.zeros((4, edges)),
        tail=np.zeros(tails_in_all),
        goal=np.zeros(groups, dtype=np.int64),
        drawn=np.zeros(cells, dtype=np.int64),
        unit=unit,
        rare=rare_chance(groups, m),
    )
    for g in range(groups):
        for p in range(first[g + 1] - 1, first[g] - 1, -1):
            _cut(cell[p], spot[p], field.edge[:, spot[p, _START] : spot[p + 1, _START]], unit)
            _weigh_strips(spot[p], field.edge[:, spot[p, _START] : spot[p + 1, _START]])
            if p > first[g]:
                _add_up(spot, field.edge[_MASS], field.tail, p, p + 1 == first[g + 1])
    return field


@formula
def _cut(cell: NDArray[np.float64], spot: NDArray[np.int64], edge: NDArray[np.float64], unit: float) -> None:
    """The edges of a place, and F and D at them."""
    a, b, last = cell[_A], cell[_B], edge.shape[1] - 1
    for i in range(1, last):
        x = min(max(cell[_CENTRE] + (i - spot[_BELOW]) * unit / cell[_WEIGHT], 0.0), 1.0)
        edge[_X, i], edge[_LESS, i] = x, tails(a, b, x, 1.0 - x)[0]
        edge[_DENSITY, i] = math.exp(log_kernel(a, b, x, 1.0 - x)) if 0.0 < x < 1.0 else 0.0
    if last > 0:
        edge[_X, last], edge[_LESS, last] = 1.0, 1.0


@formula
def _weigh_strips(spot: NDArray[np.int64], edge: NDArray[np.float64]) -> None:
    """The probabilities of a place's units, from F at its edges."""
    below, last = spot[_BELOW], edge.shape[1] - 1
    for i in range(last + 1):
        edge[_MASS, i] = 0.0
    if last == 0:
        edge[_MASS, 0] = 1.0  # it contributes nothing
    for i in range(last):
        units = below - 1 - i if i < below else i - below
        edge[_MASS, units] += max(edge[_LESS, i + 1] - edge[_LESS, i], 0.0)


@formula
def _add_up(spot: NDArray[np.int64], mass: NDArray[np.float64], tail: NDArray[np.float64], p: int, last: bool) -> None:
    """The tail of a place from its masses and the next place's tail."""
    start, here, length, after = spot[p, _START], spot[p, _TAIL], spot[p, _LENGTH], spot[p + 1, _TAIL]
    more = 0 if last else spot[p + 1, _LENGTH]
    for x in range(length):
        tail[here + x] = 0.0
    for u in range(spot[p, _UNITS]):
        part = mass[start + u]
        for x in range(u):
            tail[here + x] += part
        for x in range(more):
            tail[here + u + x] += part * tail[after + x]


@formula
def _tail_at(
    mass: NDArray[np.float64], tail: NDArray[np.float64], start: int, units: int, after: int, more: int, x: int
) -> float:
    """P(units of a place and the later ones > x), from its masses and the next place's tail of length `more`."""
    total = 0.0
    for u in range(max(x - more + 1, 0), min(x + 1, units)):
        total += mass[start + u] * tail[after + x - u]
    for u in range(max(x + 1, 0), units):
        total += mass[start + u]
    return min(total, 1.0)


@formula
def _chance(field: Sums, g: int, x: int) -> float:
    """P(units of all places of g > x)."""
    p, spot = field.first[g], field.spot
    more = spot[p + 1, _LENGTH] if p + 1 < field.first[g + 1] else 0
    return _tail_at(field.edge[_MASS], field.tail, spot[p, _START], spot[p, _UNITS], spot[p + 1, _TAIL], more, x)


@formula
def _rare_units(field: Sums, g: int) -> int:
    """A number of units that is rarely exceeded."""
    p, spot, mass, tail = field.first[g], field.spot, field.edge[_MASS], field.tail
    more = spot[p + 1, _LENGTH] if p + 1 < field.first[g + 1] else 0
    start, units, after = spot[p, _START], spot[p, _UNITS], spot[p + 1, _TAIL]
    low, high = -1, units - 1 + max(more - 1, 0)
    while high - low > 1:
        middle = (low + high) // 2
        if _tail_at(mass, tail, start, units, after, more, middle) > field.rare:
            low = middle
        else:
            high = middle
    return high


@formula
def learn(field: Sums, c: int, g: int, right: bool) -> None:
    """Record a label in cell c of group g."""
    p, spot, cell = field.place[c], field.spot, field.cell
    edge = field.edge[:, spot[p, _START] : spot[p + 1, _START]]
    a, b = cell[p, _A], cell[p, _B]
    for i in range(1, edge.shape[1] - 1):
        density, x = edge[_DENSITY, i], edge[_X, i]
        if right:
            edge[_LESS, i] -= density / a
            edge[_DENSITY, i] = density * x * (a + b) / a
        else:
            edge[_LESS, i] += density / b
            edge[_DENSITY, i] = density * (1.0 - x) * (a + b) / b
    cell[p, _A if right else _B] += 1.0
    _weigh_strips(spot[p], edge)
    for q in range(p, field.first[g], -1):
        _add_up(spot, field.edge[_MASS], field.tail, q, q + 1 == field.first[g + 1])


@formula
def _value_at(field: Sums, g: int, x: int) -> float:
    """The largest value that this many units allow: the lowest unit of each place is taken as 0, so each adds one."""
    return float(field.unit * (x + field.first[g + 1] - field.first[g]))


@formula
def _aim(field: Sums, g: int, level: float) -> tuple[float, float]:
    """A mark at the level, or a higher one if many coarse values are above it; and the chance of one above it."""
    units = math.floor(level / field.unit + 1e-9) - int(field.first[g + 1] - field.first[g])
    chance = _chance(field, g, units)
    if chance > _SURE:
        units = _rare_units(field, g)
        chance = _chance(field, g, units)
    field.goal[g] = units
    return _value_at(field, g, units), chance


@formula
def _draw_units(rng: np.random.Generator, field: Sums, g: int, chance: float) -> float:
    """The units of each place of g, given that there are more than the mark; the most that they can contribute."""
    cell, spot, edge, tail = field.cell, field.spot, field.edge, field.tail
    x, most, here, end = field.goal[g], 0.0, chance, field.first[g + 1]
    for p in range(field.first[g], end):
        last, start, u = spot[p, _UNITS] - 1, spot[p, _START], 0
        if last > 0:
            after, more = spot[p + 1, _TAIL], spot[p + 1, _LENGTH] if p + 1 < end else 0
            left = rng.random() * here
            while True:
                y = x - u
                here = 1.0 if y < 0 else (tail[after + y] if y < more else 0.0)
                left -= edge[_MASS, start + u] * here
                if left < 0.0 or u == last:
                    break
                u += 1
            x -= u
        part = min(field.unit * (u + 1), cell[p, _MOST])
        field.drawn[p] = u
        most += part
    return most


@formula
def _over(rng: np.random.Generator, field: Sums, g: int, chance: float, floor: float) -> float:
    """A value whose coarse value is above the mark, or −∞ if it is below the floor, which the units mostly show."""
    cell, spot, edge = field.cell, field.spot, field.edge
    most = _draw_units(rng, field, g, chance)
    for p in range(field.first[g], field.first[g + 1]):
        if most < floor:
            return -np.inf
        start, strips, u = spot[p, _START], spot[p + 1, _START] - spot[p, _START] - 1, field.drawn[p]
        if strips < 2:
            theta = draw_beta(rng, cell[p, _A], cell[p, _B])
        else:
            # The choice between the two strips with this many units.
            low, high = start + spot[p, _BELOW] - 1 - u, start + spot[p, _BELOW] + u
            first = edge[_LESS, low + 1] - edge[_LESS, low] if low >= start else 0.0
            second = edge[_LESS, high + 1] - edge[_LESS, high] if high < start + strips else 0.0
            i = high if low < start or (high < start + strips and rng.random() * (first + second) >= first) else low
            theta = draw_between(rng, cell[p, _A], cell[p, _B], edge[_X, i], edge[_X, i + 1])
        most += cell[p, _WEIGHT] * abs(theta - cell[p, _CENTRE]) - min(field.unit * (u + 1), cell[p, _MOST])
    return most if most >= floor else -np.inf


@formula
def _under(rng: np.random.Generator, field: Sums, g: int) -> float:
    """A value whose coarse value is not above the mark."""
    cell, spot, unit = field.cell, field.spot, field.unit
    while True:
        value, x = 0.0, field.goal[g]
        for p in range(field.first[g], field.first[g + 1]):
            part = cell[p, _WEIGHT] * abs(draw_beta(rng, cell[p, _A], cell[p, _B]) - cell[p, _CENTRE])
            x -= min(int(part / unit), spot[p, _UNITS] - 1)
            if x < 0:
                break
            value += part
        if x >= 0:
            return value


_enter, play_sums = rules(_aim, _over, _under)


@formula
def enter_sums(contest: Contest, field: Sums, g: int) -> None:
    """Enter g with its present belief, or enter it again after that has changed."""
    _enter(contest, field, g, _value_at(field, g, _rare_units(field, g)))
