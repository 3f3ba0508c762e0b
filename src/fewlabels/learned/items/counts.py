"""How many of the unlabelled items of a cell are right, where the items of each strip have a chance of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.learned.items.sums import RowSums

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Counts that vary by less than this (Σ n p (1 − p)) are not drawn from one binomial.
_VARIED = 2.0
# In strips of at most this many items, each item is drawn, which is ten times as quick as a binomial.
_FEW = 8


class RightCounts:
    """Draws of Σ_s Binomial(n_s, p_s) over the strips of each cell.

    A sum of binomials whose chances differ is, next to exactly, one binomial with its mean and variance: with M = Σ n p
    and Q = Σ n p², of M²/Q items with the chance Q/M. A fraction of an item is one or none, at random. Strips that are
    mostly right are counted by their wrong items, and apart from the others. So each cell takes two draws, rather than
    one for each of its strips, which may be twenty. In cells where next to nothing is open, each strip is drawn by
    itself.

    Parameters
    ----------
    usual
        Roughly P(right) in each strip, shape (strips,): it only decides the method, and the draws are right in any
        case.
    left, cell
        Items of each strip, and its cell, two of shape (strips,).

    >>> import numpy as np
    >>> counts = RightCounts(np.array([0.5, 1.0]), np.array([4, 3]), np.array([0, 1]))
    >>> counts(np.random.default_rng(1), np.array([[0.0, 1.0], [1.0, 1.0]]))
    array([[0, 4],
           [3, 3]])
    """

    def __init__(self, usual: NDArray[np.float64], left: NDArray[np.int64], cell: NDArray[np.int64]) -> None:
        self._cells = int(cell.max(initial=-1)) + 1
        varied = (np.bincount(cell, left * usual * (1 - usual), minlength=self._cells) >= _VARIED)[cell]
        rare, open_ = usual <= 0.5, left > 0
        few = open_ & ~varied & (left <= _FEW)
        self._alike = [
            (StripSums(np.flatnonzero(open_ & varied & (rare != turned)), cell), turned) for turned in (False, True)
        ]
        self._items = StripSums(np.repeat(np.flatnonzero(few), left[few]), cell)
        self._single = StripSums(np.flatnonzero(open_ & ~varied & ~few), cell)
        self._left = left

    def __call__(self, rng: np.random.Generator, chance: NDArray[Any]) -> NDArray[np.int64]:
        """P(right) in each strip, shape (strips, draws), to draws of the right items in each cell, (cells, draws)."""
        right = np.zeros((self._cells, chance.shape[1]), dtype=np.int64)
        for sums, turned in self._alike:
            if len(sums.strips):
                right[sums.cells] += self._of_sums(rng, chance[sums.strips], sums, turned=turned)
        if len(self._items.strips):
            likely = chance[self._items.strips]
            is_right = rng.random(likely.shape, dtype=np.float32) < likely
            right[self._items.cells] += self._items.total(is_right.astype(np.int16)).astype(np.int64)
        if len(self._single.strips):
            drawn = rng.binomial(self._left[self._single.strips, None], chance[self._single.strips])
            right[self._single.cells] += self._single.total(drawn).astype(np.int64)
        return right

    def _of_sums(
        self, rng: np.random.Generator, chance: NDArray[Any], sums: StripSums, *, turned: bool
    ) -> NDArray[np.int64]:
        """One binomial for each cell; `turned`: of wrong items, so that the count of right ones is the rest."""
        items = self._left[sums.strips, None].astype(np.float64)
        rare = 1 - chance.astype(np.float64) if turned else chance.astype(np.float64)
        weighted = items * rare
        mean, squares, most = sums.total(weighted), sums.total(weighted * rare), sums.total(items)
        of = np.minimum(np.floor(mean**2 / np.maximum(squares, 1e-300) + rng.random(mean.shape)), most).astype(np.int64)
        drawn: NDArray[np.int64] = rng.binomial(of, np.minimum(mean / np.maximum(of, 1), 1.0))
        return most.astype(np.int64) - drawn if turned else drawn


class StripSums:
    """Some strips, in the order in which those of one cell are added up quickest; the cells; and that sum."""

    def __init__(self, strips: NDArray[np.intp], cell: NDArray[np.int64]) -> None:
        self.cells, place = np.unique(cell[strips], return_inverse=True)
        self.total = RowSums(place)
        self.strips = strips[self.total.order]
