"""The common part of all drivers: the policies' codes, picking the best groups, and the two uniform policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.kernels.draws import draw_below
from fewlabels.simulation.kernels.jit import formula, kernel
from fewlabels.simulation.kernels.run import Run, last_label, record, room, take

if TYPE_CHECKING:
    from numpy.typing import NDArray

ITEMS, GROUPS, THOMPSON, TOPTWO, GREEDY, EPSILON, UCB, BOUNDARY = range(8)
CHANCE = 0.1  # of a random group in epsilon-greedy
LEVEL = 0.975  # of the upper confidence bound


@formula
def pick(rng: np.random.Generator, run: Run, reward: NDArray[np.float64], chosen: NDArray[np.int64]) -> int:
    """Write the open groups of largest reward into `chosen`, best first, ties in random order; returns how many.

    A group gets a random key only if it could make the list, so that few are drawn.
    """
    starts, taken = run.starts, run.taken
    m, n = len(chosen), 0
    keys = np.empty(m)
    for g in range(len(reward)):
        full = starts[g + 1] - starts[g] == taken[g]
        if full or (n == m and reward[g] < reward[chosen[m - 1]]):
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
def take_all(rng: np.random.Generator, run: Run, chosen: NDArray[np.int64], n: int, until: int) -> None:
    """Label one item in each of the first n chosen groups, as far as the budget goes."""
    for i in range(n):
        if run.done[0] < until:
            take(rng, run, chosen[i])


@kernel
def ask_items(rng: np.random.Generator, run: Run, until: int) -> None:
    """Every unlabelled item is equally likely to be next."""
    queue = run.queue
    for here in range(run.done[0], last_label(run, until)):
        other = here + draw_below(rng, len(queue) - here)
        queue[here], queue[other] = queue[other], queue[here]
        record(run, queue[here])


@kernel
def ask_groups(rng: np.random.Generator, run: Run, m: int, until: int) -> None:
    """Every group with unlabelled items is equally likely to be next; a step takes m different ones."""
    reward = np.zeros(len(run.taken))
    chosen = np.empty(m, dtype=np.int64)
    open_groups = np.flatnonzero(run.starts[1:] - run.starts[:-1] > run.taken)
    n = len(open_groups)
    until = last_label(run, until)
    while run.done[0] < until:
        if m > 1:
            take_all(rng, run, chosen, pick(rng, run, reward, chosen), until)
            continue
        i = draw_below(rng, n)
        take(rng, run, open_groups[i])
        if room(run, open_groups[i]) == 0:
            n -= 1
            open_groups[i] = open_groups[n]


@kernel
def ask_anchors(rng: np.random.Generator, run: Run, until: int) -> None:
    """Every unlabelled item is equally likely to be next, in a run that otherwise asks by groups."""
    groups = len(run.taken)
    until = last_label(run, until)
    while run.done[0] < until:
        left = draw_below(rng, len(run.items) - run.done[0])
        g = 0
        while g < groups - 1 and left >= room(run, g):
            left -= room(run, g)
            g += 1
        take(rng, run, g)
