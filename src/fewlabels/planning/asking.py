"""An assessment played in a world: it asks by its own prior and policy and is answered at once, in rounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.tasks import Rewards

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.planning.worlds import Told, World
    from fewlabels.spec import Spec

# A round has one step at first, and later this share of the labels so far. The belief stays the same in a round, as if
# a user asked for batches that grow. A look may take thousands of draws, so there are fewer of them.
_ROUND, _LOOK = 1 / 25, 1 / 12
# Both, for a belief that is fitted, which takes milliseconds.
_FITTED = 1 / 6


def nothing() -> NDArray[np.int64]:
    """No items."""
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Game:
    """What all worlds have in common: the question, how it is asked, and which items are known or asked for already.

    Parameters
    ----------
    spec, cells
        The assessment, and the cells of its metric.
    told
        The labelled items and what their labels show, two of shape (labels,).
    pending
        Items that are asked for and not answered, shape (pending,): they are answered first.
    """

    spec: Spec
    cells: Cells
    told: Told = field(default_factory=lambda: (nothing(), nothing()))
    pending: NDArray[np.int64] = field(default_factory=nothing)

    @cached_property
    def taken(self) -> NDArray[np.int64]:
        """Items of each group that are known or asked for, shape (groups,)."""
        group = self.cells.partition.group
        return np.bincount(group[np.append(self.told[0], self.pending)], minlength=len(self.cells.partition))

    @cached_property
    def room(self) -> NDArray[np.int64]:
        """Items of each group that can still be asked about, shape (groups,)."""
        return (self.cells.partition.sizes - self.taken) * self.spec.task.askable(self.cells)

    @property
    def open(self) -> int:
        """How many labels can still come, those of pending items among them."""
        return int(self.room.sum()) + len(self.pending)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The items by group, in each group those first that are known or asked for; shape (items,)."""
        free = np.ones(len(self.cells.cell), dtype=bool)
        free[self.told[0]] = free[self.pending] = False
        return np.lexsort((free, self.cells.partition.group))

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The start of each group in that order, shape (groups + 1,)."""
        return np.concatenate([[0], np.cumsum(self.cells.partition.sizes)])

    def play(
        self, world: World, rng: np.random.Generator, most: int, at: Sequence[int] = ()
    ) -> Iterator[tuple[int, Belief]]:
        """Ask until there are `most` labels in all or no items; label count and belief now and at every look.

        There is a look at each of the label counts `at`, and after every step, later at every twelfth label more.
        """
        run = _Run(self, world)
        belief = run.belief()
        yield run.labels, belief
        if len(self.pending):
            run.tell(self.pending)
            belief = run.belief()
            yield run.labels, belief
        share = _FITTED if self.spec.prior.looks_at_items else _LOOK
        while run.labels < most and run.room.any():
            after = run.labels + max(self.spec.task.plays, int(share * run.labels))
            goal = min([after, most, *(look for look in at if look > run.labels)])
            while run.labels < goal and run.room.any():
                run.ask_round(belief, goal, rng)
                belief = run.belief()
            yield run.labels, belief


class _Run:
    """One game in one world: the labels so far."""

    def __init__(self, game: Game, world: World) -> None:
        self._game, self._world = game, world
        self.room = game.room.copy()
        self._taken = game.taken.copy()
        self._queue = game.order.copy()
        self._counts = np.zeros((len(game.cells), len(game.cells.outcomes)))
        self._asked: list[int] = []
        self.tell(game.told[0])

    @property
    def labels(self) -> int:
        return len(self._asked)

    def tell(self, items: NDArray[np.int64]) -> None:
        np.add.at(self._counts, (self._game.cells.cell[items], self._world.outcome[items]), 1)
        self._asked += items.tolist()

    def belief(self) -> Belief:
        spec = self._game.spec
        items = np.array(self._asked, dtype=np.int64) if spec.prior.looks_at_items else nothing()
        told = items, self._world.outcome[items]
        return spec.prior.belief(self._game.cells, self._counts.copy(), spec.target, told)

    def ask_round(self, belief: Belief, most: int, rng: np.random.Generator) -> None:
        """A round of asking, up to `most` labels: groups by the policy, in each an item at random."""
        spec, cells = self._game.spec, self._game.cells
        share = _FITTED if spec.prior.looks_at_items else _ROUND
        goal = min(most, self.labels + max(spec.task.plays, int(share * self.labels)))
        steps = -(-(goal - self.labels) // spec.task.plays)
        rewards = _Round(spec.task, cells, belief, steps, np.zeros(len(cells), dtype=np.int64))
        chosen: list[int] = []
        while self.labels + len(chosen) < goal:
            groups = spec.policy.choose(rewards, self.room, spec.task.plays, rng)
            if not len(groups):
                break
            for g in groups[: goal - self.labels - len(chosen)].tolist():
                chosen.append(self._pick(g, rng))
                rewards.waiting[cells.cell[chosen[-1]]] += 1
        self.tell(np.array(chosen, dtype=np.int64))

    def _pick(self, g: int, rng: np.random.Generator) -> int:
        """Any of the group's free items: of its part of the queue the first ones have been taken."""
        here = self._game.starts[g] + self._taken[g]
        other = here + int(rng.integers(self.room[g]))
        item = int(self._queue[other])
        self._queue[other] = self._queue[here]
        self._queue[here] = item
        self.room[g] -= 1
        self._taken[g] += 1
        return item


@dataclass(frozen=True, eq=False)
class _Round(Rewards):
    """The rewards of a round: drawn for all of its steps at once, since the belief stays; means allow for what is out.

    Parameters
    ----------
    steps
        How many steps the round has.
    waiting
        Items asked in this round in each cell, shape (cells,).
    """

    steps: int
    waiting: NDArray[np.int64]
    _drawn: list[NDArray[np.float64]] = field(default_factory=list)
    _blocks: dict[int, NDArray[np.float64]] = field(default_factory=dict)

    def draw(self, rng: np.random.Generator, n: int = 1) -> NDArray[np.float64]:
        """The rewards under n draws from the belief, shape (n, groups); the same n > 1 draws throughout a round."""
        if n > 1:
            if n not in self._blocks:
                self._blocks[n] = super().draw(rng, n)
            return self._blocks[n]
        if not self._drawn:
            self._drawn.extend(super().draw(rng, self.steps))
        return self._drawn.pop()[None]

    def mean(self) -> NDArray[np.float64]:
        """The rewards at the mean, shape (groups,), with what is asked taken as answered as expected."""
        return Rewards(self.task, self.cells, self.belief.awaiting(self.waiting)).mean()
