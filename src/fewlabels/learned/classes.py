"""Beliefs where outcomes are classes: the model of items says how many are right, that of mistakes the rest."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fewlabels.belief import with_rest
from fewlabels.learned.items.believed import TrustBelief
from fewlabels.learned.items.sums import Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.learned.mistakes import Mistakes

# Draws from which the variance of cells with several rows is taken: it is off by a fifteenth.
_DRAWS = 400
# Rows whose mistakes are drawn by themselves, and the share of all items that makes a row large.
_APART, _LARGE = 8, 0.01


@dataclass(frozen=True, eq=False)
class ClassBelief(TrustBelief):
    """θ = R e_r + (1 − R) q in each row of a cell: R is the share right by the model of items, q that of mistakes.

    So every metric sees the same draw of the share right: that of accuracy. A cell has a row for each predicted class,
    since each class has mistakes of its own, and one may have more labels than the others.

    Parameters
    ----------
    mistakes
        The posterior of q in each row.
    cell, right, rows_size
        The cell of each row, in increasing order, the outcome that a right prediction shows there, and its items, three
        of shape (rows,).
    part
        Which of the model's rows the belief is about.
    """

    averaging: ClassVar[bool] = True

    mistakes: Mistakes = field(kw_only=True)
    cell: NDArray[np.int64] = field(kw_only=True)
    right: NDArray[np.int64] = field(kw_only=True)
    rows_size: NDArray[np.int64] = field(kw_only=True)
    part: slice | NDArray[np.intp] = field(default_factory=lambda: slice(None), kw_only=True)

    def right_moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance of the share right among the items yet to be labelled, two of shape (rows,)."""
        coming = self.free if self.target == "pool" else self.model.strips.size
        mean, variance = self.model.moments(coming)
        if self.answered is not None:  # a row was answered or it was not
            mean, variance = mean * self.answered, variance * self.answered
        return np.clip(mean, 1e-6, 1 - 1e-6), variance

    @property
    def numbers(self) -> int:
        """The number of values in one draw."""
        return len(self.free) + len(self.cell) * self.counts.shape[1]

    @cached_property
    def _by_cell(self) -> Sums:
        """Sums over the rows of each cell."""
        return Sums(self.cell)

    @cached_property
    def _unlabelled(self) -> NDArray[np.int64]:
        """Items without a label in each row, shape (rows,)."""
        rows: NDArray[np.int64] = self.model.strips.by_cell(self.free)[self.part]
        return rows

    def _mixed(self, theta: NDArray[np.float64], items: NDArray[np.int64]) -> NDArray[np.float64]:
        """Shares of cells from those of rows by their items: (..., rows, outcomes) to (..., cells, outcomes)."""
        total = np.maximum(self._by_cell(items), 1)[self.cell]
        weighted = np.moveaxis(theta * (items / total)[:, None], -2, -1)
        return np.moveaxis(self._by_cell(weighted), -1, -2)

    @cached_property
    def alpha(self) -> NDArray[np.float64]:
        """Counts of the Dirichlet with the mean and total variance of the shares among the items yet to be labelled.

        With d = e_r − E q in each row, Σ_j Var θ_j = Var R Σ_j d_j² + E(1 − R)² Σ_j Var q_j. The R of the rows of a
        cell go up and down together, and so do their q: where a cell has several rows, the variance is taken from
        draws.
        """
        mean, variance = (values[self.part] for values in self.right_moments())
        q, squares = self.mistakes.moments()
        away = -q
        away[np.arange(len(mean)), self.right] += 1
        items = self._unlabelled if self.target == "pool" else self.rows_size
        items = np.where(self._by_cell(items)[self.cell] > 0, items, self.rows_size)
        weight = items / self._by_cell(items)[self.cell]
        if len(self.cell) > len(self.size):
            spread = self._together(weight)
        else:
            by_mistakes = (variance + (1 - mean) ** 2) * np.maximum(squares - (q**2).sum(axis=1), 0)
            spread = self._by_cell(variance * (away**2).sum(axis=1) + by_mistakes)
        theta = self._mixed(q + mean[:, None] * away, items)
        ours = (theta**2).sum(axis=1)
        return np.clip((1 - ours) / np.maximum(spread, 1e-12) - 1, 1e-2, 1e7)[:, None] * theta

    def _together(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Σ_j Var Σ_rows w θ_j of each cell by draws, for rows with these weights, shape (rows,)."""
        coming = self.free if self.target == "pool" else self.model.strips.size
        rng = np.random.default_rng(0)
        right = self.model.shares(rng, _DRAWS, coming)
        right = (right if self.answered is None else right * self.answered)[:, self.part]
        theta = self.mistakes.draws(rng, _DRAWS)
        theta *= (1 - right)[..., None]
        theta[:, np.arange(len(self.right)), self.right] += right
        sums = self._by_cell(np.moveaxis(theta * weight[:, None], -2, -1))
        return sums.var(axis=0).sum(axis=0)

    def rows(self, cells: slice | NDArray[np.intp]) -> ClassBelief:
        """The belief about some of the cells, with what all of them taught the models."""
        chosen = np.arange(len(self.size))[cells]
        some = np.flatnonzero(np.isin(self.cell, chosen))
        return replace(
            self,
            prior=self.prior[cells],
            counts=self.counts[cells],
            size=self.size[cells],
            mistakes=self.mistakes.rows(some),
            cell=np.searchsorted(chosen, self.cell[some]),
            right=self.right[some],
            rows_size=self.rows_size[some],
            part=np.arange(len(self.model.strips.by_cell(self.free)))[self.part][some],
        )

    def single(self, cells: NDArray[np.intp], outcomes: NDArray[np.intp]) -> ClassBelief:
        """The belief about single shares: an outcome of a cell and all its others, for each of several pairs."""
        first, last = (np.searchsorted(self.cell, cells, side) for side in ("left", "right"))
        pair = np.repeat(np.arange(len(cells)), last - first)
        some = np.arange(len(pair)) - np.repeat(np.cumsum(last - first) - last, last - first)
        return replace(
            self,
            prior=with_rest(self.prior[cells], outcomes),
            counts=with_rest(self.counts[cells], outcomes),
            size=self.size[cells],
            mistakes=self.mistakes.rows(some).single(outcomes[pair]),
            cell=pair,
            right=(self.right[some] != outcomes[pair]).astype(np.int64),
            rows_size=self.rows_size[some],
            part=np.arange(len(self.model.strips.by_cell(self.free)))[self.part][some],
        )

    def shares(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of the shares in the population, shape (n, cells, outcomes)."""
        right = self.right_shares(rng, n, self.part)
        theta = self.mistakes.draws(rng, n)
        theta *= (1 - right)[..., None]
        theta[:, np.arange(len(self.right)), self.right] += right
        return self._mixed(theta, self.rows_size)

    def draws(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of θ, shape (n, cells, outcomes); a pool's unlabelled items are drawn by their own confidences."""
        if self.target == "population":
            return self.shares(rng, n)
        rights = self.model.rights(rng, n, self.free)
        rights = (rights if self.answered is None else rights * (self.answered > 0))[:, self.part]
        shown = rng.multinomial(self._unlabelled - rights, self.mistakes.draws(rng, n))
        shown[:, np.arange(len(self.right)), self.right] += rights
        unlabelled = np.moveaxis(self._by_cell(np.moveaxis(shown, -2, -1)), -1, -2)
        return (self.counts + unlabelled) / self.size[:, None]

    def averages(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of the share of each outcome among all items, each by itself, shape (n, outcomes)."""
        return self.hits(rng, n, apart=0)[1]

    def hits(
        self, rng: np.random.Generator, n: int, apart: int = _APART
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """n draws of the shares of all items that are rightly predicted as each outcome, and that are truly of it.

        Both have shape (n, outcomes), each outcome by itself. R of all rows is drawn together. The mistakes of the
        largest rows, so many `apart`, are drawn; what those of all others add to an outcome is one draw (`sums`). For
        shares of each outcome among the right ones, a cell must have one row.
        """
        own = self.right[np.searchsorted(self.cell, np.arange(len(self.size)))]
        known = np.zeros_like(self.counts)
        right: NDArray[Any]
        if self.target == "population":
            right = self.right_shares(rng, n, self.part) * self.rows_size
            total = self._missed(rng, self.rows_size - right, apart)
        else:
            rights = self.model.rights(rng, n, self.free)
            right = (rights if self.answered is None else rights * (self.answered > 0))[:, self.part]
            known[np.arange(len(own)), own] = self.counts[np.arange(len(own)), own]
            total = (self.counts - known).sum(axis=0) + self._missed(rng, self._unlabelled - right, apart)
        outcomes, place = np.unique(self.right, return_inverse=True)
        hit = np.tile(known.sum(axis=0), (n, 1))
        hit[:, outcomes] += Sums(place)(right)
        return hit / self.size.sum(), np.minimum((hit + total) / self.size.sum(), 1.0)

    def _missed(self, rng: np.random.Generator, wrong: NDArray[Any], apart: int) -> NDArray[np.float64]:
        """Draws of how many items show each outcome, of so many that are wrong in each row: (n, rows) to (n, outcomes).

        A sum over many rows is nearly a Gamma; a row that has a good part of it is drawn by itself.
        """
        in_items = self.target == "pool"
        large = np.argsort(-self.rows_size, kind="stable")[:apart]
        large = large[self.rows_size[large] > _LARGE * self.rows_size.sum()]
        rest = np.delete(np.arange(len(self.rows_size)), large)
        others = self.mistakes.rows(rest) if len(large) else self.mistakes
        total = (others.tallies if in_items else others.sums)(rng, wrong[:, rest])
        for row in large:
            theta = self.mistakes.rows(np.array([row])).draws(rng, len(wrong))[:, 0]
            total += rng.multinomial(wrong[:, row], theta) if in_items else wrong[:, row, None] * theta
        return total
