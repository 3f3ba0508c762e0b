"""The driver for finding the least accurate groups (the most accurate: swap right and wrong)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.kernels.choose import LEVEL, THOMPSON, TOPTWO, UCB
from fewlabels.simulation.kernels.draws import draw_beta, draw_odds
from fewlabels.simulation.kernels.formulas import beta_mean
from fewlabels.simulation.kernels.jit import formula, kernel
from fewlabels.simulation.kernels.linear import Linear, enter_linear, new_linear, play_linear
from fewlabels.simulation.kernels.loops import by_certain, by_contest, by_draws
from fewlabels.simulation.kernels.run import Run, beta, room
from fewlabels.simulation.kernels.special import quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.simulation.kernels.contest import Contest


@formula
def _draw(rng: np.random.Generator, run: Run, reward: NDArray[np.float64]) -> None:
    """Write minus a draw of each open group's accuracy, or of its log-odds (population), which order groups alike."""
    prior, counts, size, taken, pool = run.prior, run.counts, run.size, run.taken, run.pool
    for g in range(len(reward)):
        left = size[g] - taken[g]
        if left == 0:
            continue
        a, b = prior[g, 0] + counts[g, 0], prior[g, 1] + counts[g, 1]
        if pool:
            reward[g] = -(counts[g, 0] + rng.binomial(left, draw_beta(rng, a, b))) / size[g]
        else:
            reward[g] = -draw_odds(rng, a, b)


@formula
def _certain(run: Run, g: int, upper: bool) -> float:
    """Minus the mean accuracy of g, or minus a low quantile of it (of the population's accuracy)."""
    (a, b), right, size, left, pool = beta(run, g), run.counts[g, 0], run.size[g], room(run, g), run.pool
    if left == 0:
        return -np.inf
    if upper:
        return -quantile(a, b, 1.0 - LEVEL)
    return -beta_mean(a, b, right, size, left, pool)


_ask_drawn, _ask_certain = by_draws(_draw), by_certain(_certain)


@kernel
def ask_lowest(rng: np.random.Generator, run: Run, m: int, policy: int, until: int) -> None:
    """Ask in the m groups of lowest accuracy.

    By a draw (Thompson sampling, with multiple play; top-two asks in one group), at the mean (greedy, epsilon-greedy)
    or at the 2.5 % quantile (UCB).
    """
    if policy in (THOMPSON, TOPTWO):
        _ask_drawn(rng, run, m, policy, until)
    else:
        _ask_certain(rng, run, m, policy, until, policy == UCB)


@formula
def _enter(contest: Contest, field: Linear, run: Run, g: int, place: int) -> None:
    """Tell the contest the reward of g: minus the draw."""
    a, b = beta(run, g)
    enter_linear(contest, field, g, a, b, 0.0, 1.0)


_ask_contest = by_contest(play_linear, _enter)


@kernel
def ask_lowest_contest(rng: np.random.Generator, run: Run, m: int, until: int) -> None:
    """Thompson sampling for `ask_lowest`, in time independent of the number of groups (population target)."""
    _ask_contest(rng, run, m, until, new_linear(len(run.taken), m))
