"""The loops of asking that several drivers share; each is made for one kind of reward from its compiled functions.

They do not take the functions as arguments, because numba caches only code that calls them by name. `more` is whatever
else the functions need, as their last arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.kernels.choose import CHANCE, EPSILON, TOPTWO, pick, take_all
from fewlabels.simulation.kernels.contest import leave, new_contest
from fewlabels.simulation.kernels.jit import formula
from fewlabels.simulation.kernels.run import Run, last_label, room, take

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fewlabels.simulation.kernels.contest import Play

    Ask = Callable[..., None]

_KEEP = 0.5  # β of top-two
_REDRAWS = 100


def by_certain(certain: Callable[..., float]) -> Ask:
    """Ask in the m groups of largest reward, which is `certain(run, g)` and changes with labels in g only.

    Epsilon-greedy now and then asks in any m groups.
    """

    @formula
    def ask(rng: np.random.Generator, run: Run, m: int, policy: int, until: int, *more: object) -> None:
        groups = len(run.taken)
        reward, flat, chosen = np.empty(groups), np.zeros(groups), np.empty(m, dtype=np.int64)
        for g in range(groups):
            reward[g] = certain(run, g, *more)
        until = last_label(run, until)
        while run.done[0] < until:
            explore = policy == EPSILON and rng.random() < CHANCE
            n = pick(rng, run, flat if explore else reward, chosen)
            for i in range(n):
                if run.done[0] < until:
                    take(rng, run, chosen[i])
                    reward[chosen[i]] = certain(run, chosen[i], *more)

    return ask


def by_draws(draw: Callable[..., None]) -> Ask:
    """Thompson sampling: ask in the m groups of largest reward; `draw(rng, run, reward)` draws for all that are open.

    With `policy=TOPTWO`, one group is asked: the best of a draw or, with probability ½, the best of another draw in
    which a different group is best. If a hundred draws give no other, it is the second best.
    """

    @formula
    def ask(rng: np.random.Generator, run: Run, m: int, policy: int, until: int, *more: object) -> None:
        reward, chosen = np.zeros(len(run.taken)), np.empty(2 if policy == TOPTWO else m, dtype=np.int64)
        until = last_label(run, until)
        while run.done[0] < until:
            draw(rng, run, reward, *more)
            n = pick(rng, run, reward, chosen)
            if policy == TOPTWO:
                if n == 2 and rng.random() >= _KEEP:
                    first, redraws = chosen[0], 0
                    while chosen[0] == first and redraws < _REDRAWS:
                        draw(rng, run, reward, *more)
                        pick(rng, run, reward, chosen)
                        redraws += 1
                    if chosen[0] == first:
                        chosen[0] = chosen[1]
                n = 1
            take_all(rng, run, chosen, n, until)

    return ask


def by_contest(play: Play, enter: Callable[..., None]) -> Ask:
    """Thompson sampling in a contest, whose steps do not slow down with the number of groups: ask in the m winners.

    play: as `rules` makes it.
    enter: let a group take part with what is believed now; of the contest, the field, the run, the group, and the
        place of the label that is new, −1 at the start.
    """

    @formula
    def ask(rng: np.random.Generator, run: Run, m: int, until: int, field: object) -> None:
        contest, chosen = new_contest(len(run.taken)), np.empty(m, dtype=np.int64)
        for g in range(len(run.taken)):
            if room(run, g):
                enter(contest, field, run, g, -1)
        until = last_label(run, until)
        while run.done[0] < until:
            for i in range(play(rng, contest, field, chosen)):
                if run.done[0] < until:
                    g = chosen[i]
                    place = take(rng, run, g)
                    if room(run, g):
                        enter(contest, field, run, g, place)
                    else:
                        leave(contest, g)

    return ask


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
