"""Cells: the pieces of a pool on which a metric keeps its beliefs, each inside one group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.partition import Partition


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a metric on a partition, and what is known about them before any label.

    Accuracy has one cell for each group, calibration error one for each score bin of a group, recall one for each
    predicted class of a group. Only cells with items exist; a group without items has none.

    Parameters
    ----------
    partition
        The groups.
    group
        The group of each cell, ascending, shape (cells,).
    key
        What else the cell stands for (bin, predicted class, or 0), shape (cells,).
    cell
        The cell of each item, shape (items,).
    outcomes
        The names of the outcomes that a label can show.
    blank
        The share of each outcome that somebody who knows nothing expects, shape (cells, outcomes).
    expected
        The share of each outcome that the classifier itself expects, shape (cells, outcomes), or None.
    strength
        How many labels a weak prior counts for: the paper's N0, 2 for right/wrong and 1 for classes.
    confidence
        The mean confidence in each cell, shape (cells,), or None.
    scores
        The confidence of each item, shape (items,), or None.
    right
        The outcome that a right prediction shows, shape (cells,), where outcomes are classes; None where
        they are right and wrong themselves.
    answered
        Whether the classifier answered each item at all, shape (items,), where labels show right or wrong; None if it
        answered all. No answer is never right.
    """

    partition: Partition
    group: NDArray[np.int64]
    key: NDArray[np.int64]
    cell: NDArray[np.int32]
    outcomes: tuple[str, ...]
    blank: NDArray[np.float64]
    expected: NDArray[np.float64] | None
    strength: float
    confidence: NDArray[np.float64] | None
    scores: NDArray[np.float64] | None = None
    right: NDArray[np.int64] | None = None
    answered: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.group)

    @cached_property
    def size(self) -> NDArray[np.int64]:
        """Items in each cell, shape (cells,); never 0."""
        return np.bincount(self.cell, minlength=len(self))

    @cached_property
    def weight(self) -> NDArray[np.float64]:
        """The cell's share of its group's items, shape (cells,)."""
        return self.size / self.partition.sizes[self.group]

    @cached_property
    def _starts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return np.unique(self.group, return_index=True)

    def total(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums over the cells of each group: shape (..., cells) to (..., groups); 0 for empty groups."""
        groups = len(self.partition)
        if len(self) == groups == len(self._starts[0]):
            return values
        present, starts = self._starts
        out = np.zeros((*values.shape[:-1], groups))
        if len(present):
            out[..., present] = np.add.reduceat(values, starts, axis=-1)
        return out


def split(
    partition: Partition, key: NDArray[np.int32] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Group, key and item → cell of the crossing of a partition with a key of each item.

    With `key=None` the groups themselves are the cells.
    """
    keys = 1 if key is None or not len(key) else int(key.max()) + 1
    code = partition.group.astype(np.int64) * keys + (0 if key is None else key)
    used, cell = np.unique(code, return_inverse=True)
    return used // keys, used % keys, cell.astype(np.int32)


def cell_means(values: NDArray[np.float64], cell: NDArray[np.int32], cells: int) -> NDArray[np.float64]:
    """The mean of an item value in each cell, shape (cells,)."""
    return np.bincount(cell, values, minlength=cells) / np.bincount(cell, minlength=cells)
