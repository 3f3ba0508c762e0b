"""A cell whose value must be high, by breaking a stick: V = Σ_j w_j θ_j with θ ~ Dirichlet(α), above a line t.

In increasing order of the weights, θ_j is the part 1 − φ_j of what is left of a stick, and φ_j ~ Beta(Σ_{i>j} α_i, α_j)
are independent. What is left is worth the highest weight w at most, so a value above t needs φ_j w + (1 − φ_j) w_j > t
for every w_j below t, since what is left must be worth more than t as well: φ_j > x_j = (t − w_j) / (w − w_j). The
chance that all of them are above has a formula, the product of the tails of these Betas, and it is near the chance of a
value above t where nearly all of the stick is one piece.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fewlabels.simulation.kernels.draws import draw_beta
from fewlabels.simulation.kernels.jit import formula
from fewlabels.simulation.kernels.special import tails
from fewlabels.simulation.kernels.tails import draw_between

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@formula
def log_all_above(
    alpha: NDArray[np.float64],
    weight: NDArray[np.float64],
    order: NDArray[np.int64],
    above: NDArray[np.float64],
    line: float,
    high: float,
) -> float:
    """log P(φ_j > x_j for all j with w_j below the line).

    order: the outcomes in increasing order of weight; above: Σ_{i>j} α_i, in this order; high: the highest possible
    weight.
    """
    total = 0.0
    for i in range(len(order)):
        a, w = alpha[order[i]], weight[order[i]]
        if w >= line:
            break
        if a > 0.0:
            if above[i] <= 0.0:
                return -math.inf
            chance = tails(above[i], a, (line - w) / (high - w), (high - line) / (high - w))[1]
            if chance <= 0.0:
                return -math.inf
            total += math.log(chance)
    return total


@formula
def draw_stick(
    rng: np.random.Generator,
    alpha: NDArray[np.float64],
    weight: NDArray[np.float64],
    order: NDArray[np.int64],
    above: NDArray[np.float64],
    line: float,
    high: float,
    given: bool,
) -> tuple[float, bool]:
    """A draw of V, and whether all φ_j are above their x_j; if `given`, from those where they are."""
    value, left, all_above = 0.0, 1.0, True
    for i in range(len(order)):
        a, w = alpha[order[i]], weight[order[i]]
        if a <= 0.0:
            continue
        if above[i] <= 0.0:
            return value + left * w, all_above
        x = (line - w) / (high - w) if w < line else 0.0
        phi = draw_between(rng, above[i], a, x, 1.0) if given else draw_beta(rng, above[i], a)
        all_above = all_above and phi > x
        value += left * (1.0 - phi) * w
        left *= phi
    return value, all_above
