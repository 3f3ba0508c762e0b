"""One step of asking: the policy names groups by their rewards, and an item of each is taken at random.

Assessments, simulated runs and plans all ask by this step. They differ in what they put into it: the generator, the
rewards (from the belief as it is, or as if the pending items of a batch were answered), and where free items come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fewlabels.partition import Partition
    from fewlabels.policies.base import Policy
    from fewlabels.tasks.base import Rewards


class FreeItems(Protocol):
    """The items that can still be asked about."""

    @property
    def room(self) -> NDArray[np.int64]:
        """The number of free items in each group, shape (groups,)."""

    @property
    def everywhere(self) -> NDArray[np.int64]:
        """How many free items of each group may be taken as anchors, shape (groups,)."""

    def take(self, group: int, rng: np.random.Generator) -> int:
        """Take an item of a group that has room, uniformly at random; it is then no longer free."""


def ask_step(
    policy: Policy,
    rewards: Rewards,
    free: FreeItems,
    rng: np.random.Generator,
    most: int,
    *,
    best_first: bool,
    anchor: bool = False,
    first: NDArray[np.bool_] | None = None,
) -> list[int]:
    """Take the items of one step, at most `most`; none if no group has room.

    The policy chooses one group, or several if the task looks for the m worst, and an item is taken in each. If fewer
    items are wanted, they come from the best of these groups, or with `best_first=False` from a random part of them, so
    that batches of any size ask everywhere alike.

    With `anchor`, the same number of items is taken at random from all that are free, each with the same probability.
    If the question is about several models, these can be items on which the models agree, which the policy never asks
    about. `first` marks groups that come before the others: as long as one of them has room, the policy chooses among
    them.
    """
    room = free.room
    if first is not None and room[first].any():
        room = room * first
    groups = policy.choose(rewards, room, rewards.task.plays, rng)
    if anchor:
        wanted = min(len(groups), most, int(free.everywhere.sum()))
        return [free.take(anywhere(free.everywhere, rng), rng) for _ in range(wanted)]
    if len(groups) > most and not best_first:
        groups = rng.permutation(groups)
    return [free.take(group, rng) for group in groups[:most].tolist()]


def anywhere(room: NDArray[np.int64], rng: np.random.Generator) -> int:
    """A group with probability proportional to its room, so that each free item is equally likely to be taken."""
    edge = room.cumsum()
    return int(edge.searchsorted(rng.integers(edge[-1]), side="right"))


@dataclass(frozen=True, eq=False)
class Queue:
    """The free items of a run in memory: an order of all items in which those that are taken come first.

    Parameters
    ----------
    order
        The items by group, in each group the taken ones first, shape (items,).
    start
        Where the free items of each group begin in that order, shape (groups,).
    room
        How many free items of each group the policy can ask about, shape (groups,).
    beyond
        How many further items may be taken as anchors, all in groups without room, shape (groups,); None if there are
        none.
    """

    order: NDArray[np.int64]
    start: NDArray[np.int64]
    room: NDArray[np.int64]
    beyond: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, partition: Partition, askable: NDArray[np.bool_], taken: Sequence[NDArray[np.int64]] = ()) -> Queue:
        """Line up the items of a pool.

        Parameters
        ----------
        askable
            Which groups can be asked about, shape (groups,).
        taken
            Items that cannot be asked about: labelled or asked for before.
        """
        # A row that stands for several items of a table cannot be asked about: only rows of single items can.
        free = np.ones(len(partition.group), dtype=bool) if partition.count is None else partition.count == 0
        for items in taken:
            free[items] = False
        rows, used = (
            np.bincount(group, minlength=len(partition)) for group in (partition.group, partition.group[~free])
        )
        return cls(np.lexsort((free, partition.group)), np.cumsum(rows) - rows + used, (rows - used) * askable)

    @classmethod
    def of_items(
        cls, askable: NDArray[np.bool_], taken: Sequence[NDArray[np.int64]] = (), *, anchors: bool = False
    ) -> Queue:
        """Line up items that are asked for one by one, each a group of its own.

        `askable` says which of them the policy can ask about, shape (items,). With `anchors`, the others may be taken
        as anchors.
        """
        free = np.ones(len(askable), dtype=bool)
        for items in taken:
            free[items] = False
        beyond = (free & ~askable).astype(np.int64) if anchors else None
        return cls(np.arange(len(free)), np.arange(len(free)), (free & askable).astype(np.int64), beyond)

    @property
    def everywhere(self) -> NDArray[np.int64]:
        """How many free items of each group may be taken as anchors, shape (groups,)."""
        return self.room if self.beyond is None else self.room + self.beyond

    def copy(self) -> Queue:
        """Line up the same items for another run."""
        beyond = None if self.beyond is None else self.beyond.copy()
        return Queue(self.order.copy(), self.start.copy(), self.room.copy(), beyond)

    def take(self, group: int, rng: np.random.Generator) -> int:
        """Take an item of a group that has room, uniformly at random: it changes places with the first free one."""
        here = int(self.start[group])
        if self.beyond is not None and self.beyond[group]:
            self.beyond[group] -= 1
            return int(self.order[here])  # a group of one item
        other = here + int(rng.integers(self.room[group]))
        item = int(self.order[other])
        self.order[other] = self.order[here]
        self.order[here] = item
        self.start[group] += 1
        self.room[group] -= 1
        return item

    def take_many(self, group: int, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Take several items of a group at once, uniformly at random; shape (count,), or fewer if it has fewer."""
        here, room = int(self.start[group]), int(self.room[group])
        count = min(count, room)
        chosen = here + rng.choice(room, count, replace=False, shuffle=False)
        items = self.order[chosen]
        # Those that are chosen from further back change places with those in front that are not.
        is_back = chosen >= here + count
        stays = np.zeros(count, dtype=bool)
        stays[chosen[~is_back] - here] = True
        back, front = chosen[is_back], here + (~stays).nonzero()[0]
        self.order[front], self.order[back] = self.order[back], self.order[front]
        self.start[group] += count
        self.room[group] -= count
        return items
