"""The driver for finding the groups with the highest calibration error, cost, or other sum over their cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.kernels.absolute_sums import Sums, enter_sums, learn, new_sums, play_sums
from fewlabels.simulation.kernels.choose import EPSILON, GREEDY
from fewlabels.simulation.kernels.cost_sums import Prices, enter_prices, learn_price, new_prices, play_prices
from fewlabels.simulation.kernels.draws import draw_shares
from fewlabels.simulation.kernels.jit import formula, kernel
from fewlabels.simulation.kernels.loops import by_certain, by_contest, by_draws

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.simulation.kernels.contest import Contest
    from fewlabels.simulation.kernels.run import Run
    from fewlabels.simulation.truth import Gauge


@formula
def mean_value(run: Run, g: int, gauge: Gauge) -> float:
    """Σ_c Σ_j weight_cj |E θ_cj − centre_cj| over the cells of group g."""
    first, size, outcomes, prior, counts, pool = run.first, run.size, run.outcomes, run.prior, run.counts, run.pool
    weight, centre = gauge.weight, gauge.centre
    total = 0.0
    for c in range(first[g], first[g + 1]):
        if size[c] == 0:
            continue  # an empty group has no value; it is neither ranked nor asked about
        s = 0.0
        seen = 0.0
        for j in range(outcomes):
            s += prior[c, j] + counts[c, j]
            seen += counts[c, j]
        for j in range(outcomes):
            if weight[c, j] != 0.0:
                mean = (prior[c, j] + counts[c, j]) / s
                if pool:
                    mean = (counts[c, j] + (size[c] - seen) * mean) / size[c]
                total += weight[c, j] * abs(mean - centre[c, j])
    return total


@formula
def _draw(rng: np.random.Generator, run: Run, reward: NDArray[np.float64], gauge: Gauge) -> None:
    """The value of each open group at one draw from the belief."""
    first, size, outcomes, prior, counts, pool = run.first, run.size, run.outcomes, run.prior, run.counts, run.pool
    weight, centre, starts, taken = gauge.weight, gauge.centre, run.starts, run.taken
    alpha, theta = np.empty(outcomes), np.empty(outcomes)
    for g in range(len(reward)):
        if starts[g + 1] - starts[g] == taken[g]:
            continue
        reward[g] = 0.0
        for c in range(first[g], first[g + 1]):
            for j in range(outcomes):
                alpha[j] = prior[c, j] + counts[c, j]
            draw_shares(rng, alpha, counts[c], size[c], pool, theta)
            for j in range(outcomes):
                if weight[c, j] != 0.0:
                    reward[g] += weight[c, j] * abs(theta[j] - centre[c, j])


_ask_drawn, _ask_certain = by_draws(_draw), by_certain(mean_value)


@kernel
def ask_value(rng: np.random.Generator, run: Run, gauge: Gauge, m: int, policy: int, until: int) -> None:
    """Ask in the m groups of highest value Σ_c Σ_j weight_cj |θ_cj − centre_cj|, c over the cells of the group.

    By a draw (Thompson sampling; top-two asks in one group), or at the mean (greedy, epsilon-greedy).
    """
    if policy in (GREEDY, EPSILON):
        _ask_certain(rng, run, m, policy, until, gauge)
    else:
        _ask_drawn(rng, run, m, policy, until, gauge)


@formula
def _enter(contest: Contest, field: Sums, run: Run, g: int, place: int) -> None:
    """Let g take part once the new label is learned."""
    if place >= 0:
        learn(field, run.cell[place], g, run.outcome[place] == 0)
    enter_sums(contest, field, g)


_ask_contest = by_contest(play_sums, _enter)


@kernel
def ask_value_contest(rng: np.random.Generator, run: Run, gauge: Gauge, m: int, until: int) -> None:
    """Thompson sampling for `ask_value`, in time independent of the number of groups (population target).

    It needs two outcomes, of which one has the weight 0 in each cell and the other no negative weight, and prior counts
    above 0.
    """
    weight, centre = gauge.weight, gauge.centre
    by_right = weight[:, 1] == 0.0
    field = new_sums(
        run.first,
        run.prior + run.counts,
        np.where(by_right, weight[:, 0], weight[:, 1]),
        np.where(by_right, centre[:, 0], 1.0 - centre[:, 1]),
        m,
    )
    _ask_contest(rng, run, m, until, field)


@formula
def _enter_linear(contest: Contest, field: Prices, run: Run, g: int, place: int) -> None:
    """Let g take part once the new label is learned."""
    if place >= 0:
        learn_price(field, run.cell[place], run.outcome[place])
    enter_prices(contest, field, g)


_ask_linear_contest = by_contest(play_prices, _enter_linear)


@kernel
def ask_linear_contest(rng: np.random.Generator, run: Run, weight: NDArray[np.float64], m: int, until: int) -> None:
    """Thompson sampling for `ask_value` where all centres are 0, in time independent of the number of groups.

    It takes any number of outcomes and any weights, shape (cells, outcomes), and is for the population target.
    """
    _ask_linear_contest(rng, run, m, until, new_prices(run.first, run.prior + run.counts, weight, m))
