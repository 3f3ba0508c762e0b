"""An assessment played in a world: it asks by its own prior and policy, in rounds, and is answered at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fewlabels.outcomes import Outcomes, no_items
from fewlabels.policies.step import Queue, anywhere, ask_step
from fewlabels.sample import Binned, Sample, Strips
from fewlabels.tasks import Rewards
from fewlabels.tasks.snapshot import Snapshot, held

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.planning.worlds import World
    from fewlabels.priors import Prepared
    from fewlabels.spec import Spec

# A round has one step at first, and later this share of the labels so far. The belief stays the same in a round, as if
# a user asked for batches that grow. A look may take thousands of draws, so looks are rarer than rounds.
_ROUND, _LOOK = 1 / 25, 1 / 12
# Both, for a belief that is fitted, which takes milliseconds; and for one about several models, which takes tens of
# them: the last number is the fewest labels in a round, since nothing is 95% sure before 18 labels.
_FITTED, _JOINT, _FEWEST = 1 / 6, 1 / 3, 3
# The steps of a round, at most: in a longer one, more items are taken in the groups of each step.
_STEPS = 100
# The first rounds have a label for every tenth group: so few labels rarely fall into the same group.
_GROUPS = 10
# Beyond the last budget, only the label count at which a rule is met matters, so rounds grow faster there.
_BEYOND = 1 / 3
# If there are more cells than this, the confidences of the pool are replaced by this many, each the mean of its part.
_CELLS, _PARTS = 200, 4
# If there are at least this many items, those that are only looked at together are put into bins of confidence.
_MANY = 10_000


@dataclass(frozen=True, eq=False)
class Game:
    """What all worlds have in common: the question, how it is asked, and the items that are labelled or pending.

    Parameters
    ----------
    spec, cells
        The assessment, and the cells of its metric in the groups in which it asks.
    known
        The labels so far.
    pending
        Items that were asked for and have not been answered, shape (pending,): they are answered first.
    drawn, everything
        The items asked for so far, and the cells of all items as one group, if the number over all items is corrected
        by those drawn at random from all; else None.
    anchors
        How many of the known items were drawn at random from all items.
    """

    spec: Spec
    cells: Cells
    known: Outcomes
    pending: NDArray[np.int64] = field(default_factory=no_items)
    drawn: Sample | None = None
    everything: Cells | None = None
    anchors: int = 0

    @cached_property
    def prior(self) -> Prepared:
        """The assessment's prior, prepared for the cells."""
        return self.spec.prior.on(_coarse(self.cells), self.spec.target)

    @cached_property
    def untold(self) -> Belief:
        """The belief without labels: the same in every world."""
        return self.prior.belief(Outcomes.none(self.cells))

    @cached_property
    def free(self) -> Queue:
        """The items that are neither known nor asked for; every world begins with a copy."""
        taken = (self.known.items, self.pending)
        if self.spec.task.of_models:
            return Queue.of_items(self.spec.task.asks(self.cells), taken, anchors=self.spec.anchor > 0)
        return Queue.of(self.cells.partition, self.spec.task.askable(self.cells), taken)

    @cached_property
    def least(self) -> int:
        """The fewest labels of a round: one step, or a label for every tenth group."""
        return max(self.spec.task.plays, len(self.cells.partition) // _GROUPS)

    @property
    def open(self) -> int:
        """The number of labels that can still come, including those of pending items."""
        return int(self.free.room.sum()) + len(self.pending)

    def at_random(self, labels: int) -> float:
        """The labels that will have been drawn at random from all items, on average, when there are `labels` in all."""
        share = 1.0 if self.spec.policy.ignorable else self.spec.anchor
        return self.anchors + share * (labels - len(self.known.items))

    def stride(self, labels: int, usual: float, *, beyond: bool) -> int:
        """The labels of a round, or until the next look: a share of those so far, larger where a belief is fitted.

        `beyond` says whether the last budget has been reached.
        """
        if self.spec.task.of_models:
            return max(_FEWEST, int(_JOINT * labels))
        share = _FITTED if self.spec.prior.uses_items else usual
        if beyond and len(self.cells) > _CELLS:
            share = _BEYOND
        return max(self.least, int(share * labels))

    def end(self, world: World) -> Belief:
        """The belief about several models in a world where every item that can be asked about has its label."""
        run = _Run(self, world)
        run.tell(np.concatenate([self.pending, np.flatnonzero(self.free.room)]))
        return run.belief()

    def play(self, world: World, rng: np.random.Generator, most: int, at: Sequence[int] = ()) -> Iterator[Look]:
        """Ask until there are `most` labels in all or no items are left; yields what is known now and at every look.

        There is a look at each of the label counts `at`, and after every step; later, each time labels grow by a
        twelfth.
        """
        run = _Run(self, world)
        belief = run.belief()
        yield run.look(belief)
        if len(self.pending):
            run.tell(self.pending.tolist())
            belief = run.belief()
            yield run.look(belief)
        last = max(at, default=most)
        while run.labels < most and run.free.room.any():
            beyond = run.labels >= last
            after = run.labels + self.stride(run.labels, _LOOK, beyond=beyond)
            goal = min([after, most, *(look for look in at if look > run.labels)])
            while run.labels < goal and run.free.room.any():
                run.ask_round(belief, goal, rng, beyond=beyond)
                belief = run.belief()
            yield run.look(belief)

    def snapshot(self, look: Look, rng: np.random.Generator, draws: int) -> Snapshot:
        """The main numbers at a look, as the assessment shows them."""
        if look.drawn is None or self.everything is None:
            return Snapshot(self.spec.task, self.cells, look.belief, rng, draws)
        shown = (self.spec.task, self.cells, look.belief, look.drawn, self.everything)
        return held(*shown, rng, draws, in_strips=self.spec.strips > 0, binned=self._binned)

    @cached_property
    def _binned(self) -> Binned | None:
        """All items in bins of confidence, where they are many more than the bins."""
        everything = self.everything
        if everything is None or everything.scores is None or len(everything.scores) < _MANY:
            return None
        return Binned.of(everything.scores, everything.partition.count)

    def truth(self, world: World) -> NDArray[np.float64]:
        """The true values of the groups that readers see."""
        values = world.value(self.spec.task.metric, self.cells, self.spec.target)
        return np.atleast_1d(self.cells.partition.shares @ values) if self.spec.strips else values


class Look(NamedTuple):
    """What is known at one time of a game: how many labels, the belief, and how the items were drawn (or None)."""

    labels: int
    belief: Belief
    drawn: Sample | None


class _Run:
    """One game in one world: the labels so far."""

    def __init__(self, game: Game, world: World) -> None:
        self._game, self._world = game, world
        self.free = game.free.copy()
        self._asked: NDArray[np.int64] = game.known.items
        # Items in the order in which they were asked for, pending ones too, and whether each was drawn from all.
        self._drawn = [] if game.drawn is None else [(game.drawn.items, game.drawn.anchor)]

    @property
    def labels(self) -> int:
        return len(self._asked)

    def tell(self, items: Sequence[int] | NDArray[np.int64]) -> None:
        self._asked = np.concatenate([self._asked, np.asarray(items, dtype=np.int64)])

    def belief(self) -> Belief:
        items, game = self._informative, self._game
        return game.prior.belief(self._world.outcomes(game.cells, items)) if len(items) else game.untold

    def look(self, belief: Belief) -> Look:
        if not self._drawn:
            return Look(self.labels, belief, None)
        items, anchor = (np.concatenate(parts) for parts in zip(*self._drawn, strict=True))
        right = np.full(len(self._world.is_right), np.nan)
        right[self._informative] = self._world.is_right[self._informative]
        game = self._game
        strips = Strips.of(game.cells.partition, items) if game.spec.strips else None
        return Look(self.labels, belief, Sample(items, right[items], anchor, strips))

    @property
    def _informative(self) -> NDArray[np.int64]:
        """The items whose label is informative."""
        heard = self._world.heard
        return self._asked if heard is None else self._asked[heard[self._asked]]

    def ask_round(self, belief: Belief, most: int, rng: np.random.Generator, *, beyond: bool) -> None:
        """Play a round of up to `most` labels: the policy chooses groups, and a random item is taken in each."""
        spec, cells = self._game.spec, self._game.cells
        wanted, plays = min(most - self.labels, self._game.stride(self.labels, _ROUND, beyond=beyond)), spec.task.plays
        times = 1 if spec.task.of_models else -(-wanted // (plays * _STEPS))
        steps = -(-wanted // (plays * times))
        anchors = (rng.random(steps) < spec.anchor).tolist() if spec.anchor else [False] * steps
        # If the item may come from anywhere, no policy is needed to choose a group.
        drawn = steps - sum(anchors) if plays == 1 else steps
        rewards = _Round(spec.task, cells, belief, max(drawn, 1), np.zeros(len(cells), dtype=np.int64), kept={})
        labels = np.bincount(cells.cell[self._asked], minlength=len(cells))
        chosen: list[int] = []
        random: list[bool] = []
        while len(chosen) < wanted:
            anchor, left = anchors.pop() if anchors else False, wanted - len(chosen)
            only = np.flatnonzero(self.free.room)
            if anchor and plays == 1:
                items = self._anywhere(1, rng) if self.free.room.any() else []
            elif plays == 1 and len(only) == 1:  # whatever the rewards are
                items = [self.free.take(int(only[0]), rng)]
            else:
                first = spec.asked_first(cells, labels + rewards.waiting)
                items = ask_step(
                    spec.policy, rewards, self.free, rng, left, best_first=True, anchor=anchor, first=first
                )
            if not items:
                break
            if times > 1:
                more = min((times - 1) * len(items), wanted - len(chosen) - len(items))
                items += self._anywhere(more, rng) if anchor else self._more(items, more, rng)
            chosen += items
            random += [anchor] * len(items)
            for item in items:
                rewards.waiting[cells.cell[item]] += 1
        self.tell(chosen)
        if self._drawn:
            self._drawn.append((np.array(chosen, dtype=np.int64), np.array(random, dtype=bool)))

    def _anywhere(self, count: int, rng: np.random.Generator) -> list[int]:
        """Items drawn from all free ones."""
        free = self.free
        return [free.take(anywhere(free.everywhere, rng), rng) for _ in range(min(count, int(free.everywhere.sum())))]

    def _more(self, items: Sequence[int], count: int, rng: np.random.Generator) -> list[int]:
        """More items in the groups of these."""
        more: list[int] = []
        for i, item in enumerate(items):
            share = -(-(count - len(more)) // (len(items) - i))
            more += self.free.take_many(int(self._game.cells.partition.group[item]), share, rng).tolist()
        return more


def _coarse(cells: Cells) -> Cells:
    """Cells with few different confidences, so that one draw of a fitted belief has few numbers."""
    if cells.scores is None or len(cells) <= _CELLS:
        return cells
    count = np.ones(len(cells.scores)) if cells.partition.count is None else cells.partition.count
    # The parts are of equal doubt and number together, as those of the model of items are: see learned/items/strips.py.
    doubt = cells.scores * (1 - cells.scores) * count + 1e-9 * count
    order = np.argsort(cells.scores, kind="stable")
    mass = np.cumsum(doubt[order] / doubt.sum() + count[order] / count.sum()) / 2
    part = np.empty(len(order), dtype=np.int64)
    part[order] = np.minimum(mass * _PARTS, _PARTS - 1).astype(np.int64)
    mean = np.bincount(part, cells.scores * count, _PARTS) / np.maximum(np.bincount(part, count, _PARTS), 1)
    return replace(cells, scores=mean[part])


@dataclass(frozen=True, eq=False)
class _Round(Rewards):
    """The rewards of a round, drawn for all steps at once, since the belief stays the same; means allow for pending
    items.

    Parameters
    ----------
    steps
        The number of steps in the round.
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
        """The rewards at the mean, shape (groups,), as if the items asked had been answered as expected."""
        ahead = self.belief.awaiting(self.waiting)
        return self._still if ahead is self.belief else Rewards(self.task, self.cells, ahead).mean()

    @cached_property
    def _still(self) -> NDArray[np.float64]:
        """The rewards at the mean of a belief without pending items: they stay the same throughout a round."""
        return super().mean()
