"""Groups in a contest whose reward is linear in one draw: c0 − c1·φ with φ ~ Beta(a, b)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fewlabels.simulation.kernels.contest import Contest, rare_chance, rules
from fewlabels.simulation.kernels.jit import formula
from fewlabels.simulation.kernels.special import tails
from fewlabels.simulation.kernels.tails import draw_above, draw_below_cut, rare_cut

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SURE = 0.95  # a chance above this makes a bad mark: drawing from below it would take too long


class Linear(NamedTuple):
    """What the rewards are.

    belief: a, b, c0, c1 of each group, shape (groups, 4).
    cut: φ at the mark, shape (groups,).
    rare: a small chance, and the normal quantile to it, shape (2,).
    """

    belief: NDArray[np.float64]
    cut: NDArray[np.float64]
    rare: NDArray[np.float64]


@formula
def new_linear(groups: int, m: int) -> Linear:
    """Make the field of a contest in which the m best are wanted."""
    rare = rare_chance(groups, m)
    # The normal quantile to the tail `rare`, to three digits (Abramowitz and Stegun 26.2.23).
    t = math.sqrt(-2.0 * math.log(rare))
    z = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)))
    return Linear(np.zeros((groups, 4)), np.zeros(groups), np.array([rare, z]))


@formula
def _aim(field: Linear, g: int, level: float) -> tuple[float, float]:
    """A mark at the level, or a higher one if the chance of a reward above it would be near 1; and that chance."""
    a, b, c0, c1 = field.belief[g]
    cut = (c0 - level) / c1 if c1 > 0.0 else 0.0
    low = tails(a, b, cut, 1.0 - cut)[0]
    if low > _SURE:
        cut = rare_cut(a, b, field.rare[0], field.rare[1])
        low = tails(a, b, cut, 1.0 - cut)[0]
    if cut <= 0.0 or low > _SURE:
        cut, low = 0.0, 0.0
    field.cut[g] = cut
    return c0 - c1 * cut, low


@formula
def _over(rng: np.random.Generator, field: Linear, g: int, chance: float, floor: float) -> float:
    """A reward above the mark."""
    a, b, c0, c1 = field.belief[g]
    return float(c0 - c1 * draw_below_cut(rng, a, b, field.cut[g], chance))


@formula
def _under(rng: np.random.Generator, field: Linear, g: int) -> float:
    """A reward not above the mark."""
    a, b, c0, c1 = field.belief[g]
    return float(c0 - c1 * draw_above(rng, a, b, field.cut[g]))


_enter, play_linear = rules(_aim, _over, _under)


@formula
def enter_linear(contest: Contest, field: Linear, g: int, a: float, b: float, c0: float, c1: float) -> None:
    """Enter g with the reward c0 − c1·φ, φ ~ Beta(a, b), c1 ≥ 0, or enter it again after these have changed."""
    belief = field.belief
    belief[g, 0], belief[g, 1], belief[g, 2], belief[g, 3] = a, b, c0, c1
    _enter(contest, field, g, c0 - c1 * rare_cut(a, b, field.rare[0], field.rare[1]))
