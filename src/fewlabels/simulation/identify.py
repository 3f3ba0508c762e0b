"""The driver for finding the least accurate groups (the most accurate: swap right and wrong)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.choose import (
    CHANCE,
    EPSILON,
    KEEP,
    LEVEL,
    REDRAWS,
    TOPTWO,
    UCB,
    last_label,
    pick,
    take_all,
)
from fewlabels.simulation.contest import leave, new_contest
from fewlabels.simulation.draws import draw_beta, draw_odds
from fewlabels.simulation.formulas import beta_mean
from fewlabels.simulation.jit import formula, kernel
from fewlabels.simulation.known import Known, Progress, room, take
from fewlabels.simulation.linear import enter_linear, new_linear, play_linear
from fewlabels.simulation.special import quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray


@formula
def _draw_rewards(
    rng: np.random.Generator,
    known: Known,
    progress: Progress,
    prior: NDArray[np.float64],
    pool: bool,
    reward: NDArray[np.float64],
) -> None:
    """Minus one draw of each open group's accuracy; of its log-odds for the population, in the same order."""
    for g in range(len(reward)):
        left = room(known, progress, g)
        if left == 0:
            continue
        right = progress.counts[g, 0]
        a, b = prior[g, 0] + right, prior[g, 1] + progress.counts[g, 1]
        if pool:
            reward[g] = -(right + rng.binomial(left, draw_beta(rng, a, b))) / known.size[g]
        else:
            reward[g] = -draw_odds(rng, a, b)


@formula
def _other_winner(
    rng: np.random.Generator,
    known: Known,
    progress: Progress,
    prior: NDArray[np.float64],
    pool: bool,
    reward: NDArray[np.float64],
    chosen: NDArray[np.int64],
) -> None:
    """Draw until another group than the first chosen is best; after a hundred draws take the second best."""
    first = chosen[0]
    for _ in range(REDRAWS):
        _draw_rewards(rng, known, progress, prior, pool, reward)
        pick(rng, known, progress, reward, chosen)
        if chosen[0] != first:
            return
    chosen[0] = chosen[1]


@kernel
def ask_lowest_thompson(
    rng: np.random.Generator,
    known: Known,
    progress: Progress,
    prior: NDArray[np.float64],
    m: int,
    pool: bool,
    policy: int,
    until: int,
) -> None:
    """Thompson sampling with the reward −θ~: ask in the m groups of lowest draw (multiple play), drawing all.

    With `policy=TOPTWO` one group is asked: the lowest of a draw, or with probability ½ the lowest of another
    draw that has a different one; after a hundred draws without, the second lowest.

    Parameters
    ----------
    prior
        Prior counts (right, wrong), shape (groups, 2).
    pool
        Whether the pool's own items are the target, rather than the population behind them.
    until
        The number of labels to stop at, counted from the start of the run.
    """
    reward = np.zeros(len(progress.taken))
    chosen = np.empty(2 if policy == TOPTWO else m, dtype=np.int64)
    until = last_label(known, until)
    while progress.done[0] < until:
        _draw_rewards(rng, known, progress, prior, pool, reward)
        n = pick(rng, known, progress, reward, chosen)
        if policy == TOPTWO:
            if n == 2 and rng.random() >= KEEP:
                _other_winner(rng, known, progress, prior, pool, reward, chosen)
            n = 1
        take_all(rng, known, progress, chosen, n, until)


@kernel
def ask_lowest_contest(
    rng: np.random.Generator,
    known: Known,
    progress: Progress,
    prior: NDArray[np.float64],
    m: int,
    until: int,
) -> None:
    """As `ask_lowest_thompson` for the population, by the step whose cost does not grow with the groups."""
    groups = len(progress.taken)
    contest, field = new_contest(groups), new_linear(groups, m)
    for g in range(groups):
        if room(known, progress, g) > 0:
            counts = progress.counts[g]
            enter_linear(contest, field, g, prior[g, 0] + counts[0], prior[g, 1] + counts[1], 0.0, 1.0)
    chosen = np.empty(m, dtype=np.int64)
    until = last_label(known, until)
    while progress.done[0] < until:
        n = play_linear(rng, contest, field, chosen)
        for i in range(n):
            g = chosen[i]
            if progress.done[0] == until:
                break
            take(rng, known, progress, g)
            if room(known, progress, g) == 0:
                leave(contest, g)
            else:
                counts = progress.counts[g]
                enter_linear(contest, field, g, prior[g, 0] + counts[0], prior[g, 1] + counts[1], 0.0, 1.0)


@formula
def _certain_reward(
    known: Known, progress: Progress, prior: NDArray[np.float64], pool: bool, policy: int, g: int
) -> float:
    """Minus the mean accuracy of g, or minus a low quantile of it (of the population's accuracy)."""
    right, left = progress.counts[g, 0], room(known, progress, g)
    a, b = prior[g, 0] + right, prior[g, 1] + progress.counts[g, 1]
    if left == 0:
        return -np.inf
    if policy == UCB:
        return -quantile(a, b, 1.0 - LEVEL)
    return -beta_mean(a, b, right, known.size[g], left, pool)


@kernel
def ask_lowest_greedy(
    rng: np.random.Generator,
    known: Known,
    progress: Progress,
    prior: NDArray[np.float64],
    m: int,
    pool: bool,
    policy: int,
    until: int,
) -> None:
    """Ask where the mean accuracy (greedy, epsilon-greedy) or its 2.5 % quantile (UCB) is lowest."""
    groups = len(progress.taken)
    reward, flat = np.empty(groups), np.zeros(groups)
    for g in range(groups):
        reward[g] = _certain_reward(known, progress, prior, pool, policy, g)
    chosen = np.empty(m, dtype=np.int64)
    until = last_label(known, until)
    while progress.done[0] < until:
        explore = policy == EPSILON and rng.random() < CHANCE
        n = pick(rng, known, progress, flat if explore else reward, chosen)
        take_all(rng, known, progress, chosen, n, until)
        for i in range(n):
            reward[chosen[i]] = _certain_reward(known, progress, prior, pool, policy, chosen[i])
