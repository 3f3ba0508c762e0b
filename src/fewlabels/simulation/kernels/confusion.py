"""The driver for estimating the confusion matrix: which class is the true one, for each predicted class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.kernels.choose import CHANCE, EPSILON, THOMPSON, pick
from fewlabels.simulation.kernels.draws import draw_upcoming
from fewlabels.simulation.kernels.formulas import dirichlet_drop, dot
from fewlabels.simulation.kernels.jit import formula, kernel
from fewlabels.simulation.kernels.loops import reorder
from fewlabels.simulation.kernels.run import Run, last_label, room, take

if TYPE_CHECKING:
    from numpy.typing import NDArray


@formula
def _reward(run: Run, g: int, alpha: NDArray[np.float64], overlap: float) -> float:
    """p_g times the expected fall of Σ_j Var θ_j by a label in g, given α and θ~·α; −∞ without items left."""
    size, left, items, pool = run.size[g], room(run, g), len(run.items), run.pool
    if left == 0:
        return -np.inf
    return dirichlet_drop(alpha.sum(), dot(alpha, alpha), overlap, size, left, pool) * size / items


@formula
def _overlap(alpha: NDArray[np.float64], policy: int) -> float:
    """The largest possible θ~·α, for Thompson sampling; or its value at the mean."""
    return alpha.max() if policy == THOMPSON else dot(alpha, alpha) / alpha.sum()


@kernel
def ask_confusion(rng: np.random.Generator, run: Run, policy: int, until: int) -> None:
    """Ask where a label lowers p_k Σ_j Var θ_jk most, the paper's reward for confusion matrices.

    By a draw (Thompson sampling) or at the mean (greedy, epsilon-greedy). The reward is linear in θ~·α, which is at
    most the largest α. Groups are drawn in the order of that bound, as in `ask_estimate`.
    """
    groups, outcome = len(run.taken), run.outcome
    alpha = run.prior + run.counts
    theta, score = np.empty(run.outcomes), np.empty(groups)
    flat, chosen = np.zeros(groups), np.empty(1, dtype=np.int64)
    for g in range(groups):
        score[g] = _reward(run, g, alpha[g], _overlap(alpha[g], policy))
    order = np.argsort(-score, kind="mergesort")
    until = last_label(run, until)
    while run.done[0] < until:
        where = 0
        if policy == THOMPSON:
            best, ties = -np.inf, 0
            for i in range(groups):
                g = order[i]
                if i and score[g] < best:
                    break
                draw_upcoming(rng, alpha[g], room(run, g), run.pool, theta)
                reward = _reward(run, g, alpha[g], dot(theta, alpha[g]))
                ties = ties + 1 if reward == best else 1
                if reward > best or (reward == best and rng.random() * ties < 1.0):
                    best, where = reward, i
            g = order[where]
        else:
            explore = policy == EPSILON and rng.random() < CHANCE
            pick(rng, run, flat if explore else score, chosen)
            g = chosen[0]
        alpha[g, outcome[take(rng, run, g)]] += 1.0
        score[g] = _reward(run, g, alpha[g], _overlap(alpha[g], policy))
        if policy == THOMPSON:
            reorder(order, score, where)
