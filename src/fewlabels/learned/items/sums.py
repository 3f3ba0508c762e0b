"""Sums over what belongs together: over the strips of a cell, the rows of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Rows with the same index, up to which adding them one after another is quicker than adding up neighbours.
_FEW = 32


class Sums:
    """Sums of values over those that have the same index, such as over the strips of each cell.

    >>> Sums(np.array([0, 1, 0]))(np.array([1.0, 10.0, 100.0]))
    array([101.,  10.])
    """

    def __init__(self, index: NDArray[np.integer[Any]]) -> None:
        # Adding up neighbours is many times faster than adding at places, so what is out of order is sorted first.
        self._order = None if (np.diff(index) >= 0).all() else np.argsort(index, kind="stable")
        ordered = index if self._order is None else index[self._order]
        self._starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        self._single = self._order is None and len(self._starts) == len(index)

    def __call__(self, values: NDArray[Any]) -> NDArray[Any]:
        """Shape (..., values) to (..., indices). Every index has a value."""
        if self._single:  # each value is its own sum
            return values
        return np.add.reduceat(values if self._order is None else values[..., self._order], self._starts, axis=-1)


class RowSums:
    """Sums of rows that have the same index, where the rows can be made in any order.

    `order` has the first row of every index, then the second of all that have two, and so on, those with most rows
    first. So a sum is a few additions of whole blocks, many times faster than one of neighbours for each index.

    >>> sums = RowSums(np.array([0, 1, 1]))
    >>> sums.order, sums(np.array([[1.0], [10.0], [100.0]])[sums.order])
    (array([1, 0, 2]), array([[  1.],
           [110.]]))
    """

    def __init__(self, index: NDArray[np.integer[Any]]) -> None:
        count = np.bincount(index)
        self.count = len(count)
        by_index = np.argsort(index, kind="stable")
        self._starts = np.cumsum(count) - count
        self._stacked = bool(count.max(initial=0) <= _FEW)
        if not self._stacked:
            self.order = by_index
            return
        most_first = np.argsort(-count, kind="stable")
        self._place = np.empty_like(most_first)
        self._place[most_first] = np.arange(len(count))
        turn = np.arange(len(index)) - self._starts[index[by_index]]
        self.order = by_index[np.lexsort((self._place[index[by_index]], turn))]
        self._blocks = np.bincount(turn).tolist()

    def __call__(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Rows in that order, shape (rows, n), to (indices, n). Every index has a row."""
        if not self._stacked:
            return np.add.reduceat(rows, self._starts, axis=0, dtype=np.float64)  # of many rows
        end = self._blocks[0]
        total = rows[:end].copy()
        for size in self._blocks[1:]:
            total[:size] += rows[end : end + size]
            end += size
        return total[self._place]
