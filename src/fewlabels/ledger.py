"""The ledger: where each item stands, according to the log so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.metrics.base import Metric
    from fewlabels.pool import Pool
    from fewlabels.store import Event


class Ledger:
    """The log, added up as it is read: what is free, pending and labelled, and the label counts of the cells.

    An item is pending from its request until its label or withdrawal, and labelled from its label until its withdrawal.
    Reading an event costs the same however long the log is. The order of labels of different items does not matter.
    """

    def __init__(self, pool: Pool, metric: Metric, cells: Cells) -> None:
        items = len(pool)
        self._pool = pool
        self._metric = metric
        self._cells = cells
        self.seq = 0
        """The last event read."""
        self.changes = 0
        """How often a label came or went."""
        self.step = 0
        """The last step of asking."""
        self.true = np.full(items, -1, dtype=np.int32)
        """The true class of each item, −1 where it is not known, shape (items,)."""
        self.pending = np.zeros(items, dtype=bool)
        """Asked, and neither answered nor withdrawn, shape (items,)."""
        self.asked = np.zeros(items, dtype=bool)
        """Ever asked, shape (items,)."""
        self.adopted = 0
        """Labels that count now and came for items never asked."""
        self._strange = np.zeros(items, dtype=bool)
        self.counts = np.zeros((len(cells), len(cells.outcomes)))
        """Label counts, shape (cells, outcomes)."""
        self.waiting = np.zeros(len(cells), dtype=np.int64)
        """Pending items of each cell, shape (cells,)."""
        self.room = cells.partition.sizes.astype(np.int64)
        """Free items of each group, shape (groups,)."""
        self._order = np.argsort(cells.partition.group, kind="stable")
        self._starts = np.concatenate([[0], np.cumsum(cells.partition.sizes)])

    def outcomes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The labelled items and what their labels show, two of shape (labels,)."""
        items = np.flatnonzero(self.true >= 0)
        return items, self._metric.outcome(self._pool, items, self.true[items])

    @property
    def labelled(self) -> int:
        """How many items have a label."""
        return int(self.counts.sum())

    def read(self, events: Sequence[Event]) -> None:
        """Take in events that follow the last one read."""
        items = self._pool.positions([event.item for event in events])
        labels = [(i, event.label) for i, event in enumerate(events) if event.kind == "label"]
        true = np.full(len(events), -1, dtype=np.int32)
        true[[i for i, _ in labels]] = self._pool.class_positions([label for _, label in labels])
        for event, item, new in zip(events, items.tolist(), true.tolist(), strict=True):
            self._place(item, pending=event.kind == "request", true=new)
            if event.kind == "request":
                self.asked[item] = True
                self.step = max(self.step, event.step)
            elif event.kind == "label" and not self.asked[item]:
                self.adopted += 1
                self.asked[item] = self._strange[item] = True
            elif event.kind == "withdraw" and self._strange[item]:
                # As before it came: unknown to the assessment, which may well ask for it one day.
                self.adopted -= 1
                self.asked[item] = self._strange[item] = False
            self.seq = event.seq

    def _place(self, item: int, *, pending: bool, true: int) -> None:
        """Move an item to where an event puts it: pending, labelled (true ≥ 0), or free."""
        cell, group = self._cells.cell[item], self._cells.partition.group[item]
        was_taken = self.pending[item] or self.true[item] >= 0
        if self.true[item] >= 0 and not pending:
            self._count(item, cell, -1)
            self.true[item] = -1
        if true >= 0:
            self.true[item] = true
            self._count(item, cell, 1)
        self.waiting[cell] += int(pending) - int(self.pending[item])
        self.pending[item] = pending
        self.room[group] += int(was_taken) - int(pending or self.true[item] >= 0)

    def _count(self, item: int, cell: int, change: int) -> None:
        index, true = np.array([item]), self.true[item : item + 1]
        self.changes += 1
        self.counts[cell, self._metric.outcome(self._pool, index, true)[0]] += change

    def pick(self, group: int, rng: np.random.Generator, taken: AbstractSet[int]) -> int:
        """A free item of a group that has one, uniformly at random, other than those just taken."""
        members = self._order[self._starts[group] : self._starts[group + 1]]
        for _ in range(16):
            item = int(members[rng.integers(len(members))])
            if self.is_free(item) and item not in taken:
                return item
        # Few are left: list them.
        free = members[~self.pending[members] & (self.true[members] < 0)]
        free = free[~np.isin(free, list(taken))]
        return int(free[rng.integers(len(free))])

    def is_free(self, item: int) -> bool:
        """Whether an item is neither pending nor labelled."""
        return not self.pending[item] and self.true[item] < 0
