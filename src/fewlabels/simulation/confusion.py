"""The driver for estimating the confusion matrix: which class is the true one, for each predicted class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.choose import CHANCE, EPSILON, THOMPSON, last_label, pick, reorder
from fewlabels.simulation.draws import draw_upcoming
from fewlabels.simulation.formulas import dirichlet_drop, dot
from fewlabels.simulation.jit import formula, kernel
from fewlabels.simulation.known import Known, Progress, room, take

if TYPE_CHECKING:
    from numpy.typing import NDArray


@formula
def _reward(known: Known, progress: Progress, alpha: NDArray[np.float64], overlap: float, pool: bool, g: int) -> float:
    """p_g times the expected fall of Σ_j Var θ_j by a label in g, given θ~·α; −∞ without items left."""
    left = room(known, progress, g)
    if left == 0:
        return -np.inf
    s = alpha.sum()
    drop = dirichlet_drop(s, dot(alpha, alpha), overlap, known.size[g], left, pool)
    return drop * known.size[g] / len(known.items)


@kernel
def ask_confusion(
    rng: np.random.Generator,
    known: Known,
    progress: Progress,
    prior: NDArray[np.float64],
    pool: bool,
    policy: int,
    until: int,
) -> None:
    """Ask where a label takes most off p_k Σ_j Var θ_jk, the paper's reward for confusion matrices.

    The reward is linear in θ~·α, which is at most the largest α. Thompson sampling draws for the
    groups in the order of that bound until it is below the best reward; the others need no draw. Greedy and
    epsilon-greedy take θ at its mean.

    Parameters
    ----------
    prior
        Prior counts, shape (groups, classes).
    pool
        Whether the pool's own items are the target, rather than the population behind them.
    until
        The number of labels to stop at, counted from the start of the run.
    """
    groups = len(progress.taken)
    alpha = prior + progress.counts
    theta, score = np.empty(known.outcomes), np.empty(groups)
    flat, chosen = np.zeros(groups), np.empty(1, dtype=np.int64)
    for g in range(groups):
        top = alpha[g].max() if policy == THOMPSON else dot(alpha[g], alpha[g]) / alpha[g].sum()
        score[g] = _reward(known, progress, alpha[g], top, pool, g)
    order = np.argsort(-score, kind="mergesort")
    until = last_label(known, until)
    while progress.done[0] < until:
        where = 0
        if policy == THOMPSON:
            best, ties = -np.inf, 0
            for i in range(groups):
                g = order[i]
                if i and score[g] < best:
                    break
                draw_upcoming(rng, alpha[g], room(known, progress, g), pool, theta)
                reward = _reward(known, progress, alpha[g], dot(theta, alpha[g]), pool, g)
                ties = ties + 1 if reward == best else 1
                if reward > best or (reward == best and rng.random() * ties < 1.0):
                    best, where = reward, i
            g = order[where]
        else:
            explore = policy == EPSILON and rng.random() < CHANCE
            pick(rng, known, progress, flat if explore else score, chosen)
            g = chosen[0]
        place = take(rng, known, progress, g)
        alpha[g, known.outcome[place]] += 1.0
        top = alpha[g].max() if policy == THOMPSON else dot(alpha[g], alpha[g]) / alpha[g].sum()
        score[g] = _reward(known, progress, alpha[g], top, pool, g)
        if policy == THOMPSON:
            reorder(order, score, where)
