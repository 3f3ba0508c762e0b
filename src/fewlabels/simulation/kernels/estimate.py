"""The driver for estimating the accuracy of every group, or of every score bin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.kernels.choose import LEVEL, THOMPSON, UCB
from fewlabels.simulation.kernels.draws import draw_beta
from fewlabels.simulation.kernels.formulas import beta_drops
from fewlabels.simulation.kernels.jit import formula, kernel
from fewlabels.simulation.kernels.linear import Linear, enter_linear, new_linear, play_linear
from fewlabels.simulation.kernels.loops import by_certain, by_contest, reorder
from fewlabels.simulation.kernels.run import Run, beta, last_label, room, take
from fewlabels.simulation.kernels.special import quantile

if TYPE_CHECKING:
    from fewlabels.simulation.kernels.contest import Contest


@formula
def _ends(run: Run, g: int) -> tuple[float, float]:
    """How much a wrong and a right label in g lower the variance, times the share of g; −∞ if no items are left."""
    (a, b), size, left, items, pool = beta(run, g), run.size[g], room(run, g), len(run.items), run.pool
    if left == 0:
        return -np.inf, -np.inf
    wrong, right = beta_drops(a, b, size, left, pool)
    share = size / items
    return share * wrong, share * right


@formula
def _draw(rng: np.random.Generator, run: Run, g: int) -> float:
    """A draw of the share right where the next label comes from: the population, or the pool's unlabelled items."""
    (a, b), left, pool = beta(run, g), room(run, g), run.pool
    theta = draw_beta(rng, a, b)
    if pool:
        return float(rng.binomial(left, theta) / left)
    return theta


@formula
def _certain(run: Run, g: int, upper: bool) -> float:
    """The reward of group g at its mean, or its upper confidence bound (of the population's reward)."""
    (a, b), (wrong, right) = beta(run, g), _ends(run, g)
    if wrong == -np.inf:
        return wrong
    theta = quantile(a, b, LEVEL if right > wrong else 1.0 - LEVEL) if upper else a / (a + b)
    return (1.0 - theta) * wrong + theta * right


_ask_certain = by_certain(_certain)


@kernel
def ask_estimate(rng: np.random.Generator, run: Run, policy: int, until: int) -> None:
    """Ask where the reward p_g (Var now − E Var after one label) is largest, which is the paper's for estimation.

    By a draw (Thompson sampling), at the mean (greedy, epsilon-greedy) or its upper quantile (UCB). The reward is
    linear in the draw, so that of a group is at most the larger of its two ends. Groups are drawn in the order of that
    bound, best first, until the bound is below the best reward: the others need no draw.
    """
    if policy != THOMPSON:
        _ask_certain(rng, run, 1, policy, until, policy == UCB)
        return
    groups = len(run.taken)
    bound, ends = np.empty(groups), np.zeros((groups, 2))
    for g in range(groups):
        ends[g, 0], ends[g, 1] = _ends(run, g)
        bound[g] = max(ends[g, 0], ends[g, 1])
    order = np.argsort(-bound, kind="mergesort")
    until = last_label(run, until)
    while run.done[0] < until:
        best, winner, ties = -np.inf, 0, 0
        for i in range(groups):
            g = order[i]
            if i and bound[g] < best:
                break
            theta = _draw(rng, run, g)
            reward = (1.0 - theta) * ends[g, 0] + theta * ends[g, 1]
            ties = ties + 1 if reward == best else 1
            if reward > best or (reward == best and rng.random() * ties < 1.0):
                best, winner = reward, i
        g = order[winner]
        take(rng, run, g)
        ends[g, 0], ends[g, 1] = _ends(run, g)
        bound[g] = max(ends[g, 0], ends[g, 1])
        reorder(order, bound, winner)


@formula
def _enter(contest: Contest, field: Linear, run: Run, g: int, place: int) -> None:
    """Tell the contest the reward of g: the better end of it, minus the slope times the draw from that end."""
    (a, b), (wrong, right) = beta(run, g), _ends(run, g)
    if right > wrong:
        enter_linear(contest, field, g, b, a, right, right - wrong)
    else:
        enter_linear(contest, field, g, a, b, wrong, wrong - right)


_ask_contest = by_contest(play_linear, _enter)


@kernel
def ask_estimate_contest(rng: np.random.Generator, run: Run, until: int) -> None:
    """Thompson sampling for `ask_estimate`, in time independent of the number of groups (population target)."""
    _ask_contest(rng, run, 1, until, new_linear(len(run.taken), 1))
