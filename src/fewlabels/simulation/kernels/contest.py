"""A Thompson step whose cost does not grow with the number of groups: it draws only for those that can win.

Each group has a mark t_g, chosen before the draws from what happened earlier, and the chance q_g of an event that every
reward above the mark belongs to (mostly, just that). Both change for only a few groups in each step.

1. A Poisson(Σλ) number of picks from a sum tree of λ_g = −log(1 − q_g), duplicates dropped, is exactly a set that
   contains each group with its chance, independently (thinning). Each group of the set gets a draw, conditional on
   being in it.
2. The other groups are not above their marks, so only those whose mark is above the m-th best reward so far
   can still win: a tournament tree yields them, highest mark first, and each gets a draw, conditional on not being in
   the set.

This is exact for any marks. The marks only decide how many draws it takes: the mark is a level that
few of the steps' best rewards stay below, or a rare value of the group itself if that is less.

The rewards are defined in other files (`linear`, `absolute_sums`, `cost_sums`). Each keeps the groups' beliefs in a
field, and passes three functions of it to `rules`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fewlabels.simulation.kernels.jit import formula

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Aim = Callable[[Any, int, float], tuple[float, float]]
    Over = Callable[[np.random.Generator, Any, int, float, float], float]
    Under = Callable[[np.random.Generator, Any, int], float]
    Enter = Callable[["Contest", Any, int, float], None]
    Play = Callable[[np.random.Generator, "Contest", Any, NDArray[np.int64]], int]

_GAIN = 0.1  # how quickly the common level and its scale follow the rewards
_AIM = 8  # how many groups beyond the m wanted should be above the level
_LEVEL, _SCALE, _STEP, _BELOW = range(4)  # positions in Contest.common


class Contest(NamedTuple):
    """The groups' marks; `leaves` is a power of two that is at least the number of groups.

    rare: a reward that the group is rarely above, shape (groups,).
    chance: q_g, shape (groups,).
    goal: t_g, shape (groups,).
    mark: t_g, −∞ for groups that do not take part or had a draw in this step, shape (leaves,).
    weight: the sum tree of λ, the root at 1, shape (2·leaves,).
    peak: the tournament tree of marks, holding groups, shape (2·leaves,).
    seen: the last step in which the group had a draw, shape (groups,).
    touched, drawn: the groups that had a draw in this step, and their rewards, shape (groups,).
    common: the common level, its scale, the step, and the share of steps whose best reward is meant
        to stay below the level, shape (4,).
    """

    rare: NDArray[np.float64]
    chance: NDArray[np.float64]
    goal: NDArray[np.float64]
    mark: NDArray[np.float64]
    weight: NDArray[np.float64]
    peak: NDArray[np.int64]
    seen: NDArray[np.int64]
    touched: NDArray[np.int64]
    drawn: NDArray[np.float64]
    common: NDArray[np.float64]


@formula
def rare_chance(groups: int, m: int) -> float:
    """The chance that defines a group's rare reward: so small that few groups are above theirs."""
    return min(0.1, (m + 1.0) / max(groups, 1))


@formula
def new_contest(groups: int) -> Contest:
    """A contest before any group takes part."""
    leaves = 1
    while leaves < groups:
        leaves *= 2
    peak = np.zeros(2 * leaves, dtype=np.int64)
    peak[leaves:] = np.arange(leaves)
    for node in range(leaves - 1, 0, -1):
        peak[node] = peak[2 * node]  # it must be a group of its own subtree, or changes elsewhere would be missed
    return Contest(
        rare=np.zeros(groups),
        chance=np.zeros(groups),
        goal=np.zeros(groups),
        mark=np.full(leaves, -np.inf),
        weight=np.zeros(2 * leaves),
        peak=peak,
        seen=np.zeros(groups, dtype=np.int64),
        touched=np.empty(groups, dtype=np.int64),
        drawn=np.empty(groups),
        # The more groups are at the level, the more a step costs that has to draw for them.
        common=np.array([np.inf, 0.0, 0.0, min(0.03, 10.0 / max(groups, 1))]),
    )


@formula
def _climb(contest: Contest, g: int) -> None:
    """Bring the tournament up to date after the mark of g has changed; equal marks go to the left."""
    mark, peak = contest.mark, contest.peak
    node = (len(mark) + g) // 2
    while node >= 1:
        left, right = peak[2 * node], peak[2 * node + 1]
        peak[node] = left if mark[left] >= mark[right] else right
        node //= 2


@formula
def _weigh(contest: Contest, g: int, value: float) -> None:
    """Set λ_g in the sum tree."""
    weight = contest.weight
    node = len(contest.mark) + g
    if weight[node] == value:
        return
    weight[node] = value
    node //= 2
    while node >= 1:
        weight[node] = weight[2 * node] + weight[2 * node + 1]
        node //= 2


@formula
def leave(contest: Contest, g: int) -> None:
    """Take g out of the contest."""
    contest.mark[g] = -np.inf
    _climb(contest, g)
    _weigh(contest, g, 0.0)


@formula
def _fired(rng: np.random.Generator, contest: Contest) -> int:
    """A group with probability λ_g / Σλ."""
    weight, leaves = contest.weight, len(contest.mark)
    left = rng.random() * weight[1]
    node = 1
    while node < leaves:
        node *= 2
        if left >= weight[node]:
            left -= weight[node]
            node += 1
    return node - leaves


@formula
def _insert(reward: float, key: float, g: int, chosen: NDArray[np.int64], best: NDArray[np.float64], n: int) -> int:
    """Put g into the list of the best so far, shape (2, m): rewards, and keys that break ties; returns its length."""
    m = len(chosen)
    i = n if n < m else m - 1
    if n == m and (reward < best[0, i] or (reward == best[0, i] and key <= best[1, i])):
        return n
    while i > 0 and (reward > best[0, i - 1] or (reward == best[0, i - 1] and key > best[1, i - 1])):
        chosen[i], best[0, i], best[1, i] = chosen[i - 1], best[0, i - 1], best[1, i - 1]
        i -= 1
    chosen[i], best[0, i], best[1, i] = g, reward, key
    return min(n + 1, m)


@formula
def _many(m: int) -> int:
    """The number of draws, in spite of the marks, after which the marks are set again."""
    return 4 * (m + _AIM)


@formula
def _follow(contest: Contest, reward: float, m: int, walked: int, out: int) -> None:
    """Move the common level towards a low quantile of the m-th best rewards of the steps, or restart it."""
    common = contest.common
    if common[_LEVEL] == np.inf:
        common[_LEVEL], common[_SCALE] = reward, 0.1 * abs(reward)
    gap = reward - common[_LEVEL]
    common[_SCALE] += _GAIN * (abs(gap) - common[_SCALE])
    common[_LEVEL] += common[_SCALE] * (common[_BELOW] - (1.0 if gap < 0.0 else 0.0))
    if walked > _many(m):
        # This many draws show where the level should be for a few groups to be above it.
        aim = out - (m + _AIM)
        common[_LEVEL] = np.partition(contest.drawn[:out], aim)[aim]
    elif contest.weight[1] > 3.0 * (m + _AIM):
        common[_LEVEL] += 0.1 * common[_SCALE]


def rules(aim: Aim, over: Over, under: Under) -> tuple[Enter, Play]:  # noqa: C901, PLR0915  (four functions)
    """Make the compiled functions that enter and play contests with one kind of reward, from three others.

    aim: a mark near a level, and q for it; of the field, the group, and the level.
    over: a reward that belongs to the chance q, which may be −∞ where it is below the floor; of the generator, the
        field, the group, q, and the floor.
    under: a reward that does not, and is not above the mark; of the generator, the field, and the group.
    """

    @formula
    def set_mark(contest: Contest, field: Any, g: int) -> None:
        """The mark of g at the common level, or at its own rare reward if that is less."""
        contest.goal[g], contest.chance[g] = aim(field, g, min(contest.common[_LEVEL], contest.rare[g]))
        contest.mark[g] = contest.goal[g]
        _climb(contest, g)
        _weigh(contest, g, -math.log1p(-contest.chance[g]))

    @formula
    def enter(contest: Contest, field: Any, g: int, rare: float) -> None:
        """Enter g with its belief in the field, also after a change; its reward is rarely above `rare`."""
        contest.rare[g] = rare
        set_mark(contest, field, g)

    @formula
    def tidy(contest: Contest, field: Any, m: int, fired: int, out: int) -> None:
        """Put back the groups that had a draw, with a new mark where the old one is far from the common level."""
        level = contest.common[_LEVEL]
        slack = 0.0 if out - fired > _many(m) else contest.common[_SCALE]
        for i in range(out):
            g = contest.touched[i]
            mark = contest.goal[g]
            stale = mark > level + slack if i >= fired else mark < min(level, contest.rare[g]) - slack
            if stale:
                set_mark(contest, field, g)
            elif contest.mark[g] != mark:
                contest.mark[g] = mark
                _climb(contest, g)

    @formula
    def play(rng: np.random.Generator, contest: Contest, field: Any, chosen: NDArray[np.int64]) -> int:
        """Write the groups of largest reward in one draw into `chosen`, shape (m,), best first; returns how many."""
        m = len(chosen)
        best = np.full((2, m), -np.inf)
        contest.common[_STEP] += 1.0
        step = int(contest.common[_STEP])
        n, out = 0, 0
        for _ in range(rng.poisson(contest.weight[1])):
            g = _fired(rng, contest)
            if contest.seen[g] != step and contest.chance[g] > 0.0:
                reward = over(rng, field, g, contest.chance[g], best[0, m - 1])
                n = _insert(reward, rng.random(), g, chosen, best, n)
                contest.seen[g], contest.touched[out], contest.drawn[out] = step, g, reward
                out += 1
        fired = out
        while True:
            g = contest.peak[1]
            if contest.mark[g] == -np.inf or (n == m and contest.mark[g] < best[0, m - 1]):
                break
            contest.mark[g] = -np.inf
            _climb(contest, g)
            if contest.seen[g] != step:
                reward = under(rng, field, g)
                n = _insert(reward, rng.random(), g, chosen, best, n)
                contest.seen[g], contest.touched[out], contest.drawn[out] = step, g, reward
                out += 1
        if n > 0:
            _follow(contest, best[0, n - 1], m, out - fired, out)
            tidy(contest, field, m, fired, out)
        return n

    return enter, play
