"""The driver for estimating the accuracy of every group, or of every score bin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.choose import CHANCE, EPSILON, LEVEL, UCB, last_label, pick, reorder
from fewlabels.simulation.contest import Contest, leave, new_contest
from fewlabels.simulation.draws import draw_beta
from fewlabels.simulation.formulas import beta_drops
from fewlabels.simulation.jit import formula, kernel
from fewlabels.simulation.known import Known, Progress, room, take
from fewlabels.simulation.linear import Linear, enter_linear, new_linear, play_linear
from fewlabels.simulation.special import quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray


@formula
def _set_drops(
    known: Known,
    progress: Progress,
    prior: NDArray[np.float64],
    pool: bool,
    g: int,
    drops: NDArray[np.float64],
) -> float:
    """The share-weighted fall in variance by a wrong and a right label in g; the larger of them."""
    left = room(known, progress, g)
    if left == 0:
        return -np.inf
    a, b = prior[g, 0] + progress.counts[g, 0], prior[g, 1] + progress.counts[g, 1]
    wrong, right = beta_drops(a, b, known.size[g], left, pool)
    share = known.size[g] / len(known.items)
    drops[g, 0], drops[g, 1] = share * wrong, share * right
    return max(drops[g, 0], drops[g, 1])


@formula
def _draw_theta(
    rng: np.random.Generator,
    known: Known,
    progress: Progress,
    prior: NDArray[np.float64],
    pool: bool,
    g: int,
) -> float:
    """A draw of the share right where the next label comes from: the population, or the pool's unlabelled items."""
    theta = draw_beta(rng, prior[g, 0] + progress.counts[g, 0], prior[g, 1] + progress.counts[g, 1])
    if pool:
        left = room(known, progress, g)
        return float(rng.binomial(left, theta) / left)
    return theta


@kernel
def ask_estimate_thompson(
    rng: np.random.Generator,
    known: Known,
    progress: Progress,
    prior: NDArray[np.float64],
    pool: bool,
    until: int,
) -> None:
    """Thompson sampling with the reward p_g (Var now − E Var after one label), the paper's for estimation.

    The reward is linear in the draw, so no group can beat the larger of its two ends. Groups are drawn in
    the order of that bound, best first, until the bound is below the best reward: the others need no draw.

    Parameters
    ----------
    prior
        Prior counts (right, wrong), shape (groups, 2).
    pool
        Whether the pool's own items are the target, rather than the population behind them.
    until
        The number of labels to stop at, counted from the start of the run.
    """
    bound, drops = _bounds(known, progress, prior, pool)
    order = np.argsort(-bound, kind="mergesort")
    until = last_label(known, until)
    while progress.done[0] < until:
        best, winner, ties = -np.inf, -1, 0
        for i in range(len(order)):
            g = order[i]
            if winner >= 0 and bound[g] < best:
                break
            theta = _draw_theta(rng, known, progress, prior, pool, g)
            reward = (1.0 - theta) * drops[g, 0] + theta * drops[g, 1]
            ties = ties + 1 if reward == best else 1
            if reward > best or (reward == best and rng.random() * ties < 1.0):
                best, winner = reward, i
        g = order[winner]
        take(rng, known, progress, g)
        bound[g] = _set_drops(known, progress, prior, pool, g, drops)
        reorder(order, bound, winner)


@formula
def _bounds(
    known: Known, progress: Progress, prior: NDArray[np.float64], pool: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The best possible reward of each group, shape (groups,), and both ends of it, shape (groups, 2)."""
    groups = len(progress.taken)
    bound, drops = np.empty(groups), np.zeros((groups, 2))
    for g in range(groups):
        bound[g] = _set_drops(known, progress, prior, pool, g, drops)
    return bound, drops


@formula
def _enter(
    contest: Contest,
    field: Linear,
    known: Known,
    progress: Progress,
    prior: NDArray[np.float64],
    g: int,
    drops: NDArray[np.float64],
) -> None:
    """Tell the contest the reward of g: the better end of it, minus the slope times the draw from that end."""
    if _set_drops(known, progress, prior, False, g, drops) == -np.inf:
        leave(contest, g)
        return
    right, wrong = prior[g, 0] + progress.counts[g, 0], prior[g, 1] + progress.counts[g, 1]
    if drops[g, 1] > drops[g, 0]:
        enter_linear(contest, field, g, wrong, right, drops[g, 1], drops[g, 1] - drops[g, 0])
    else:
        enter_linear(contest, field, g, right, wrong, drops[g, 0], drops[g, 0] - drops[g, 1])


@kernel
def ask_estimate_contest(
    rng: np.random.Generator, known: Known, progress: Progress, prior: NDArray[np.float64], until: int
) -> None:
    """As `ask_estimate_thompson` for the population, by the step whose cost does not grow with the groups."""
    groups = len(progress.taken)
    contest, field, drops = new_contest(groups), new_linear(groups, 1), np.zeros((groups, 2))
    for g in range(groups):
        _enter(contest, field, known, progress, prior, g, drops)
    chosen = np.empty(1, dtype=np.int64)
    until = last_label(known, until)
    while progress.done[0] < until:
        play_linear(rng, contest, field, chosen)
        take(rng, known, progress, chosen[0])
        _enter(contest, field, known, progress, prior, chosen[0], drops)


@formula
def _certain_reward(
    known: Known,
    progress: Progress,
    prior: NDArray[np.float64],
    pool: bool,
    g: int,
    drops: NDArray[np.float64],
    upper: bool,
) -> float:
    """The reward of group g at its mean, or its upper confidence bound (of the population's reward)."""
    if _set_drops(known, progress, prior, pool, g, drops) == -np.inf:
        return -np.inf
    a, b = prior[g, 0] + progress.counts[g, 0], prior[g, 1] + progress.counts[g, 1]
    level = LEVEL if drops[g, 1] > drops[g, 0] else 1.0 - LEVEL
    theta = quantile(a, b, level) if upper else a / (a + b)
    return float((1.0 - theta) * drops[g, 0] + theta * drops[g, 1])


@kernel
def ask_estimate_greedy(
    rng: np.random.Generator,
    known: Known,
    progress: Progress,
    prior: NDArray[np.float64],
    pool: bool,
    policy: int,
    until: int,
) -> None:
    """Ask where the reward at the mean (greedy, epsilon-greedy) or its upper quantile (UCB) is largest."""
    groups = len(progress.taken)
    drops, reward, flat = np.zeros((groups, 2)), np.empty(groups), np.zeros(groups)
    for g in range(groups):
        reward[g] = _certain_reward(known, progress, prior, pool, g, drops, policy == UCB)
    chosen = np.empty(1, dtype=np.int64)
    until = last_label(known, until)
    while progress.done[0] < until:
        explore = policy == EPSILON and rng.random() < CHANCE
        pick(rng, known, progress, flat if explore else reward, chosen)
        g = chosen[0]
        take(rng, known, progress, g)
        reward[g] = _certain_reward(known, progress, prior, pool, g, drops, policy == UCB)
