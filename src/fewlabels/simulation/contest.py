"""A Thompson step whose cost does not grow with the groups: draw only for those that can win.

Group g has a reward c0 − c1·φ with φ ~ Beta(a, b). Each group has a mark t_g, chosen before the draws from what
happened earlier, and the chance F_g that its reward is above the mark. Both change for few groups a step.

1. A Poisson(Σλ) number of picks from a sum tree of λ_g = −log(1 − F_g), duplicates dropped, is exactly the set of
   groups whose reward is above their mark (method: thinning). Each of them gets a draw from beyond its mark.
2. The other groups are below theirs, so only those whose mark is above the m-th best reward so far
   can still win: a tournament tree gives them, highest mark first, and each gets a draw from below its mark.

This is exact for any marks, but that draws of φ which round to 0 or 1 are equal, and then in random order. The marks
only decide how many draws it takes: the mark is a level that
few of the steps' best rewards stay below, or a rare value of the group itself if that is less.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fewlabels.simulation.jit import formula
from fewlabels.simulation.special import tails
from fewlabels.simulation.tails import draw_above, draw_below_cut, rare_cut

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GAIN = 0.1  # how quickly the common level and its scale follow the rewards
_AIM = 8  # how many groups more than the m wanted should be above the level
_SURE = 0.95  # a chance above this makes a bad mark: drawing from below it would take too long
_LEVEL, _SCALE, _RARE, _Z, _STEP, _BELOW = range(6)  # positions in Contest.common


class Contest(NamedTuple):
    """The groups' rewards and marks; `leaves` is a power of two that is at least the number of groups.

    belief: a, b, c0, c1 of each group, shape (groups, 4).
    rare: a reward that the group is rarely above, shape (groups,).
    cut: φ at the mark, shape (groups,).
    chance: that φ is below the cut, shape (groups,).
    mark: t_g, −∞ for groups that do not take part, shape (leaves,).
    weight: the sum tree of λ, the root at 1, shape (2·leaves,).
    peak: the tournament tree of marks, holding groups, shape (2·leaves,).
    seen: the last step in which the group had a draw, shape (groups,).
    touched, drawn: the groups that had a draw in this step, and their rewards, shape (groups,).
    common: the common level, its scale, the rare chance, its normal quantile, the step,
        and the share of steps whose best reward is meant to stay below the level, shape (6,).
    """

    belief: NDArray[np.float64]
    rare: NDArray[np.float64]
    cut: NDArray[np.float64]
    chance: NDArray[np.float64]
    mark: NDArray[np.float64]
    weight: NDArray[np.float64]
    peak: NDArray[np.int64]
    seen: NDArray[np.int64]
    touched: NDArray[np.int64]
    drawn: NDArray[np.float64]
    common: NDArray[np.float64]


@formula
def new_contest(groups: int, m: int) -> Contest:
    """A contest of which the m best are wanted, before anybody takes part."""
    leaves = 1
    while leaves < groups:
        leaves *= 2
    rare = min(0.1, (m + 1.0) / max(groups, 1))
    # The normal quantile to the tail `rare`, to three digits (Abramowitz and Stegun 26.2.23).
    t = math.sqrt(-2.0 * math.log(rare))
    z = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)))
    peak = np.zeros(2 * leaves, dtype=np.int64)
    peak[leaves:] = np.arange(leaves)
    for node in range(leaves - 1, 0, -1):
        peak[node] = peak[2 * node]  # a group of its own subtree, or changes elsewhere would go unseen
    return Contest(
        belief=np.zeros((groups, 4)),
        rare=np.zeros(groups),
        cut=np.zeros(groups),
        chance=np.zeros(groups),
        mark=np.full(leaves, -np.inf),
        weight=np.zeros(2 * leaves),
        peak=peak,
        seen=np.zeros(groups, dtype=np.int64),
        touched=np.empty(groups, dtype=np.int64),
        drawn=np.empty(groups),
        # The more groups wait at the level, the dearer is a step that has to draw for them.
        common=np.array([np.inf, 0.0, rare, z, 0.0, min(0.03, 10.0 / max(groups, 1))]),
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
def _set_mark(contest: Contest, g: int) -> None:
    """The mark of g at the common level, or at its own rare reward if that is less."""
    a, b, c0, c1 = contest.belief[g]
    mark = min(contest.common[_LEVEL], contest.rare[g])
    cut = (c0 - mark) / c1 if c1 > 0.0 else 0.0
    low, high = tails(a, b, cut, 1.0 - cut)
    if low > _SURE:
        cut = rare_cut(a, b, contest.common[_RARE], contest.common[_Z])
        low, high = tails(a, b, cut, 1.0 - cut)
    if cut <= 0.0 or low > _SURE:
        cut, low, high = 0.0, 0.0, 1.0
    contest.cut[g], contest.chance[g] = cut, low
    contest.mark[g] = c0 - c1 * cut
    _climb(contest, g)
    _weigh(contest, g, -math.log(high))


@formula
def enter(contest: Contest, g: int, a: float, b: float, c0: float, c1: float) -> None:
    """Let g take part with the reward c0 − c1·φ, φ ~ Beta(a, b), c1 ≥ 0; also to change these."""
    belief = contest.belief
    belief[g, 0], belief[g, 1], belief[g, 2], belief[g, 3] = a, b, c0, c1
    contest.rare[g] = c0 - c1 * rare_cut(a, b, contest.common[_RARE], contest.common[_Z])
    _set_mark(contest, g)


@formula
def leave(contest: Contest, g: int) -> None:
    """Let g take part no more."""
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
def _insert(
    reward: float,
    key: float,
    g: int,
    chosen: NDArray[np.int64],
    best: NDArray[np.float64],
    n: int,
) -> int:
    """Put g into the list of the best so far, shape (2, m): rewards and keys that order equal ones; its length."""
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
def play(rng: np.random.Generator, contest: Contest, chosen: NDArray[np.int64]) -> int:
    """The groups of largest reward in one draw of all, best first, into `chosen` of shape (m,); how many."""
    m = len(chosen)
    best = np.full((2, m), -np.inf)
    contest.common[_STEP] += 1.0
    step = int(contest.common[_STEP])
    n, out = 0, 0
    for _ in range(rng.poisson(contest.weight[1])):
        g = _fired(rng, contest)
        if contest.seen[g] != step and contest.chance[g] > 0.0:
            a, b, c0, c1 = contest.belief[g]
            reward = c0 - c1 * draw_below_cut(rng, a, b, contest.cut[g], contest.chance[g])
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
            a, b, c0, c1 = contest.belief[g]
            reward = c0 - c1 * draw_above(rng, a, b, contest.cut[g])
            n = _insert(reward, rng.random(), g, chosen, best, n)
            contest.seen[g], contest.touched[out], contest.drawn[out] = step, g, reward
            out += 1
    if n > 0:
        _follow(contest, best[0, n - 1], m, out - fired, out)
        _tidy(contest, m, fired, out)
    return n


@formula
def _many(m: int) -> int:
    """From how many draws on that the marks did not spare us they should be set anew."""
    return 4 * (m + _AIM)


@formula
def _follow(contest: Contest, reward: float, m: int, walked: int, out: int) -> None:
    """Move the common level towards a low quantile of the steps' m-th best rewards, or start it anew."""
    common = contest.common
    if common[_LEVEL] == np.inf:
        common[_LEVEL], common[_SCALE] = reward, 0.1 * abs(reward)
    gap = reward - common[_LEVEL]
    common[_SCALE] += _GAIN * (abs(gap) - common[_SCALE])
    common[_LEVEL] += common[_SCALE] * (common[_BELOW] - (1.0 if gap < 0.0 else 0.0))
    if walked > _many(m):
        # So many draws tell where the level should be for a few groups to be above it.
        aim = out - (m + _AIM)
        common[_LEVEL] = np.partition(contest.drawn[:out], aim)[aim]
    elif contest.weight[1] > 3.0 * (m + _AIM):
        common[_LEVEL] += 0.1 * common[_SCALE]


@formula
def _tidy(contest: Contest, m: int, fired: int, out: int) -> None:
    """Put the groups that had a draw back, with a new mark where the old one is far off the common level."""
    level = contest.common[_LEVEL]
    slack = 0.0 if out - fired > _many(m) else contest.common[_SCALE]
    for i in range(out):
        g = contest.touched[i]
        _, _, c0, c1 = contest.belief[g]
        mark = c0 - c1 * contest.cut[g]
        stale = mark > level + slack if i >= fired else mark < min(level, contest.rare[g]) - slack
        if stale:
            _set_mark(contest, g)
        elif contest.mark[g] != mark:
            contest.mark[g] = mark
            _climb(contest, g)
