"""The driver for finding the groups with the highest calibration error, cost, or other sum over their cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.choose import CHANCE, EPSILON, GREEDY, KEEP, REDRAWS, TOPTWO, last_label, pick, take_all
from fewlabels.simulation.contest import leave, new_contest
from fewlabels.simulation.draws import draw_shares
from fewlabels.simulation.jit import formula, kernel
from fewlabels.simulation.known import Known, Progress, room, take
from fewlabels.simulation.sums import enter_sums, learn, new_sums, play_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray


@formula
def mean_value(
    known: Known,
    counts: NDArray[np.float64],
    prior: NDArray[np.float64],
    weight: NDArray[np.float64],
    centre: NDArray[np.float64],
    pool: bool,
    g: int,
) -> float:
    """Σ_c Σ_j weight_cj |E θ_cj − centre_cj| over the cells of group g."""
    total = 0.0
    for c in range(known.first[g], known.first[g + 1]):
        if known.size[c] == 0:
            continue  # an empty group has no value; nothing ranks or asks it
        s = 0.0
        seen = 0.0
        for j in range(known.outcomes):
            s += prior[c, j] + counts[c, j]
            seen += counts[c, j]
        for j in range(known.outcomes):
            if weight[c, j] != 0.0:
                mean = (prior[c, j] + counts[c, j]) / s
                if pool:
                    mean = (counts[c, j] + (known.size[c] - seen) * mean) / known.size[c]
                total += weight[c, j] * abs(mean - centre[c, j])
    return total


@formula
def _draw_rewards(
    rng: np.random.Generator,
    known: Known,
    progress: Progress,
    prior: NDArray[np.float64],
    weight: NDArray[np.float64],
    centre: NDArray[np.float64],
    pool: bool,
    reward: NDArray[np.float64],
) -> None:
    """The value of each open group at one draw from the belief."""
    alpha, theta = np.empty(known.outcomes), np.empty(known.outcomes)
    for g in range(len(reward)):
        if room(known, progress, g) == 0:
            continue
        reward[g] = 0.0
        for c in range(known.first[g], known.first[g + 1]):
            for j in range(known.outcomes):
                alpha[j] = prior[c, j] + progress.counts[c, j]
            draw_shares(rng, alpha, progress.counts[c], known.size[c], pool, theta)
            for j in range(known.outcomes):
                if weight[c, j] != 0.0:
                    reward[g] += weight[c, j] * abs(theta[j] - centre[c, j])


@formula
def _other_winner(
    rng: np.random.Generator,
    known: Known,
    progress: Progress,
    prior: NDArray[np.float64],
    weight: NDArray[np.float64],
    centre: NDArray[np.float64],
    pool: bool,
    reward: NDArray[np.float64],
    chosen: NDArray[np.int64],
) -> None:
    """Draw until another group than the first chosen is best; after a hundred draws take the second best."""
    first = chosen[0]
    for _ in range(REDRAWS):
        _draw_rewards(rng, known, progress, prior, weight, centre, pool, reward)
        pick(rng, known, progress, reward, chosen)
        if chosen[0] != first:
            return
    chosen[0] = chosen[1]


@kernel
def ask_value(
    rng: np.random.Generator,
    known: Known,
    progress: Progress,
    prior: NDArray[np.float64],
    weight: NDArray[np.float64],
    centre: NDArray[np.float64],
    m: int,
    pool: bool,
    policy: int,
    until: int,
) -> None:
    """Ask in the m groups of highest value Σ_c Σ_j weight_cj |θ_cj − centre_cj|, c over the cells of the group.

    Thompson sampling takes θ from a draw, greedy policies from the mean, and top-two asks in one group only,
    as in `ask_lowest_thompson`.

    Parameters
    ----------
    prior
        Prior counts, shape (cells, outcomes).
    weight, centre
        Shape (cells, outcomes). Calibration error: the cell's share of its group and its confidence, for right;
        cost: that share times the price, and 0.
    pool
        Whether the pool's own items are the target, rather than the population behind them.
    until
        The number of labels to stop at, counted from the start of the run.
    """
    groups = len(progress.taken)
    reward, flat = np.zeros(groups), np.zeros(groups)
    greedy = policy in (GREEDY, EPSILON)
    if greedy:
        for g in range(groups):
            reward[g] = mean_value(known, progress.counts, prior, weight, centre, pool, g)
    chosen = np.empty(2 if policy == TOPTWO else m, dtype=np.int64)
    until = last_label(known, until)
    while progress.done[0] < until:
        explore = policy == EPSILON and rng.random() < CHANCE
        if not greedy:
            _draw_rewards(rng, known, progress, prior, weight, centre, pool, reward)
        n = pick(rng, known, progress, flat if explore else reward, chosen)
        if policy == TOPTWO:
            if n == 2 and rng.random() >= KEEP:
                _other_winner(rng, known, progress, prior, weight, centre, pool, reward, chosen)
            n = 1
        take_all(rng, known, progress, chosen, n, until)
        if greedy:
            for i in range(n):
                g = chosen[i]
                reward[g] = mean_value(known, progress.counts, prior, weight, centre, pool, g)


@kernel
def ask_value_contest(
    rng: np.random.Generator,
    known: Known,
    progress: Progress,
    prior: NDArray[np.float64],
    weight: NDArray[np.float64],
    centre: NDArray[np.float64],
    m: int,
    until: int,
) -> None:
    """As `ask_value` by Thompson sampling for the population, by the step whose cost does not grow with the groups.

    For two outcomes, one of which has the weight 0 in each cell and the other none below 0, and prior counts above 0.
    """
    groups = len(progress.taken)
    by_right = weight[:, 1] == 0.0
    field = new_sums(
        known.first,
        prior + progress.counts,
        np.where(by_right, weight[:, 0], weight[:, 1]),
        np.where(by_right, centre[:, 0], 1.0 - centre[:, 1]),
        m,
    )
    contest = new_contest(groups)
    for g in range(groups):
        if room(known, progress, g) > 0:
            enter_sums(contest, field, g)
    chosen = np.empty(m, dtype=np.int64)
    until = last_label(known, until)
    while progress.done[0] < until:
        n = play_sums(rng, contest, field, chosen)
        for i in range(n):
            g = chosen[i]
            if progress.done[0] == until:
                break
            place = take(rng, known, progress, g)
            learn(field, known.cell[place], g, known.outcome[place] == 0)
            if room(known, progress, g) == 0:
                leave(contest, g)
            else:
                enter_sums(contest, field, g)
