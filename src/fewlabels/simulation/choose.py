"""What every driver shares: the policies' codes, picking the best groups, and the two uniform policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.draws import draw_below
from fewlabels.simulation.jit import formula, kernel
from fewlabels.simulation.known import Known, Progress, record, room, take

if TYPE_CHECKING:
    from numpy.typing import NDArray

ITEMS, GROUPS, THOMPSON, TOPTWO, GREEDY, EPSILON, UCB, BOUNDARY = range(8)
POLICIES = {
    "items": ITEMS,
    "groups": GROUPS,
    "thompson": THOMPSON,
    "toptwo": TOPTWO,
    "greedy": GREEDY,
    "epsilon": EPSILON,
    "ucb": UCB,
    "boundary": BOUNDARY,
}
CHANCE = 0.1  # of a random group in epsilon-greedy
KEEP = 0.5  # β of top-two
LEVEL = 0.975  # of the upper confidence bound
REDRAWS = 100


@formula
def pick(
    rng: np.random.Generator,
    known: Known,
    progress: Progress,
    reward: NDArray[np.float64],
    chosen: NDArray[np.int64],
) -> int:
    """The open groups of largest reward into `chosen`, best first, equal ones in random order; how many.

    A group gets its random key only when it could make the list, so that few are drawn.
    """
    m, n = len(chosen), 0
    keys = np.empty(m)
    for g in range(len(reward)):
        if room(known, progress, g) == 0 or (n == m and reward[g] < reward[chosen[m - 1]]):
            continue
        key = rng.random()
        i = n if n < m else m - 1
        if n == m and reward[g] == reward[chosen[i]] and key <= keys[i]:
            continue
        n = min(n + 1, m)
        while i > 0 and (
            reward[g] > reward[chosen[i - 1]] or (reward[g] == reward[chosen[i - 1]] and key > keys[i - 1])
        ):
            chosen[i], keys[i] = chosen[i - 1], keys[i - 1]
            i -= 1
        chosen[i], keys[i] = g, key
    return n


@formula
def take_all(
    rng: np.random.Generator,
    known: Known,
    progress: Progress,
    chosen: NDArray[np.int64],
    n: int,
    until: int,
) -> None:
    """Label one item in each of the first n chosen groups, as far as the budget goes."""
    for i in range(n):
        if progress.done[0] < until:
            take(rng, known, progress, chosen[i])


@formula
def reorder(order: NDArray[np.int64], bound: NDArray[np.float64], i: int) -> None:
    """Move the group at position i to its place in descending order of bound, behind its equals."""
    g = order[i]
    while i + 1 < len(order) and bound[order[i + 1]] >= bound[g]:
        order[i] = order[i + 1]
        i += 1
    while i > 0 and bound[order[i - 1]] < bound[g]:
        order[i] = order[i - 1]
        i -= 1
    order[i] = g


@formula
def last_label(known: Known, until: int) -> int:
    """The budget, or all the items if it is beyond them."""
    return min(until, len(known.items))


@kernel
def ask_items(rng: np.random.Generator, known: Known, progress: Progress, until: int) -> None:
    """Every unlabelled item is equally likely to be next."""
    queue = progress.queue
    for here in range(progress.done[0], last_label(known, until)):
        other = here + draw_below(rng, len(queue) - here)
        queue[here], queue[other] = queue[other], queue[here]
        record(known, progress, queue[here])


@kernel
def ask_groups(rng: np.random.Generator, known: Known, progress: Progress, m: int, until: int) -> None:
    """Every group with unlabelled items is equally likely to be next; m different ones a step."""
    reward = np.zeros(len(progress.taken))
    chosen = np.empty(m, dtype=np.int64)
    until = last_label(known, until)
    open_groups = np.flatnonzero(known.starts[1:] - known.starts[:-1] > progress.taken)
    n = len(open_groups)
    while progress.done[0] < until:
        if m > 1:
            take_all(rng, known, progress, chosen, pick(rng, known, progress, reward, chosen), until)
            continue
        i = draw_below(rng, n)
        take(rng, known, progress, open_groups[i])
        if room(known, progress, open_groups[i]) == 0:
            n -= 1
            open_groups[i] = open_groups[n]
