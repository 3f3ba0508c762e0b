"""The posterior of the model of items, and what it says about cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fewlabels.learned.items.counts import right_counts
from fewlabels.learned.items.sums import RowSums

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fewlabels.learned.items.strips import Strips

# Points of the grid with less than this share of the largest weight are left out.
_NEGLIGIBLE = 1e-3
# The Gauss-Hermite sum over Gaussian log-odds: right to 1e-5 for a standard deviation of 1, to 0.0015 for 2.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
# Numbers in a block of draws: half a megabyte of them.
_BLOCK = 2**17
_ALL = slice(None)


class Chances(NamedTuple):
    """E P(right) in each strip at one point, how it moves with u, and how the log-odds move with the shared effects.

    Shapes (strips,), (strips,) and (shared, strips).
    """

    mean: NDArray[np.float64]
    slope: NDArray[np.float64]
    by_shared: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trust:
    """The posterior of the shared effects (a, b, g, v) and of u: a Gaussian at each point of a grid, with weights.

    Parameters
    ----------
    strips
        The items that it is about.
    weight
        The probability of each point, shape (points,).
    tau
        How much the levels of the first factor differ at each point, shape (points,).
    mode, precision
        Of the shared effects with u integrated out, shapes (points, shared) and (points, shared, shared).
    effect, spread, lean
        Given the shared effects, the u of a level is Gaussian with mean effect − lean·(how far these are from their
        mode) and variance spread: shapes (points, levels), (points, levels) and (points, shared, levels).
    """

    strips: Strips
    weight: NDArray[np.float64]
    tau: NDArray[np.float64]
    mode: NDArray[np.float64]
    precision: NDArray[np.float64]
    effect: NDArray[np.float64]
    spread: NDArray[np.float64]
    lean: NDArray[np.float64]

    def pruned(self) -> Trust:
        """The posterior without the points that have next to no weight: most of them, once there are labels."""
        keep = self.weight > _NEGLIGIBLE * self.weight.max()
        weight = self.weight[keep] / self.weight[keep].sum()
        parts = (self.tau, self.mode, self.precision, self.effect, self.spread, self.lean)
        return Trust(self.strips, weight, *(part[keep] for part in parts))

    def newcomer(self) -> Trust:
        """What is believed of one more group with the confidences of the whole pool and no label."""
        one, own = np.zeros_like(self.strips.cell), self.strips.own
        strips = replace(
            self.strips, cell=one, effect=one, crossed=self.strips.crossed[:0], between=np.zeros_like(self.strips.x)
        )
        nothing = np.zeros((len(self.tau), 1))
        return replace(
            self,
            strips=strips,
            mode=self.mode[:, :own],
            precision=np.linalg.inv(self._covariance[:, :own, :own]).astype(np.float64),
            effect=nothing,
            spread=self.tau[:, None] ** 2,
            lean=np.zeros((len(self.tau), own, 1)),
        )

    # --- in closed form

    def moments(self, items: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance of the share right in each cell, among `items` of each strip; two of shape (cells,).

        The log-odds of a strip are Gaussian at each point of the grid, so the mean is a Gauss-Hermite sum; the variance
        is by the slope of the share in the shared effects and in u. A cell with none of those items is taken with all
        it has.
        """
        share = self._weights(items)
        by_cell, (effect, by_piece, piece_by_cell) = self.strips.by_cell, self.strips.pieces
        means, variances = [], []
        for k, chance in enumerate(self._chances()):
            moved = share * chance.slope
            means.append(by_cell(share * chance.mean))
            variance = self._quadratic(k, by_cell(moved * chance.by_shared))
            variances.append(variance + piece_by_cell(by_piece(moved) ** 2 * self.spread[k, effect]))
        return self._mixed(np.array(means), np.array(variances))

    def overall(self) -> tuple[float, float]:
        """Mean and variance of the share right among all items."""
        share = self.strips.size / self.strips.size.sum()
        means, variances = [], []
        for k, chance in enumerate(self._chances()):
            moved = share * chance.slope
            means.append(share @ chance.mean)
            variance = self._quadratic(k, (chance.by_shared @ moved)[:, None])[0]
            variances.append(variance + np.bincount(self.strips.effect, moved) ** 2 @ self.spread[k])
        mean, variance = self._mixed(np.array(means), np.array(variances))
        return float(mean), float(variance)

    def slope(self) -> tuple[float, float]:
        """Mean and variance of b."""
        mean, variance = self._mixed(self.mode[:, 1], self._covariance[:, 1, 1])
        return float(mean), float(variance)

    def difference(self) -> float:
        """The standard deviation, between groups of the same confidences, of the share right."""
        newcomer = self.newcomer()
        share = newcomer.strips.size / newcomer.strips.size.sum()
        by_u = np.array([share @ chance.slope for chance in newcomer._chances()])  # noqa: SLF001  (of its own kind)
        return float(np.sqrt(self.weight @ (by_u * self.tau) ** 2))

    def _mixed(self, means: NDArray[np.float64], variances: NDArray[np.float64]) -> tuple[Any, Any]:
        """Mean and variance over the points, from those at each point."""
        overall = self.weight @ means
        return overall, self.weight @ (variances + (means - overall) ** 2)

    def _chances(self) -> Iterator[Chances]:
        """The chances in each strip, point by point."""
        design, level = self.strips.design, self.strips.effect
        for k in range(len(self.weight)):
            # How the log-odds move with the shared effects: directly, and against them through u.
            by_shared = design - self.lean[k].take(level, axis=1)  # quicker than [:, level]
            half_sd = np.sqrt(self.spread[k].take(level) + self._quadratic(k, by_shared)) / 2
            half = (self.mode[k] @ design + self.effect[k].take(level)) / 2
            # σ(η) = (1 + tanh(η/2))/2: with tanh it takes a seventh of the time.
            tanh = np.tanh(_NODES[:, None] * half_sd + half)
            weight = _WEIGHTS / _WEIGHTS.sum()
            yield Chances((1 + weight @ tanh) / 2, (1 - weight @ tanh**2) / 4, by_shared)

    def _quadratic(self, k: int, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """The variance of times·(the shared effects) at a point of the grid: (shared, n) to (n,)."""
        variance: NDArray[np.float64] = ((self._covariance[k] @ times) * times).sum(axis=0)
        return variance

    @cached_property
    def _covariance(self) -> NDArray[np.float64]:
        """The covariance of the shared effects at each point, shape (points, shared, shared)."""
        covariance: NDArray[np.float64] = np.linalg.inv(self.precision).astype(np.float64)
        return covariance

    def _weights(self, items: NDArray[np.int64]) -> NDArray[np.float64]:
        """The strip's share of its cell's items, shape (strips,)."""
        by_cell, cell = self.strips.by_cell, self.strips.cell
        count = np.where(by_cell(items)[cell] > 0, items, self.strips.size)
        return count / by_cell(count)[cell]

    # --- by draws

    def draws(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of P(right) in each strip, shape (n, strips)."""
        drawn = np.empty((n, len(self.strips.x)))
        for some, block in self._blocks(rng, n):
            drawn[some] = block.T
        return self._shuffled(drawn, rng)

    def shares(
        self, rng: np.random.Generator, n: int, items: NDArray[np.int64], cells: slice | NDArray[np.intp] = _ALL
    ) -> NDArray[np.float64]:
        """n draws of the share right in some cells, among these numbers of items of each strip; shape (n, cells).

        The same draws, whatever the cells: of the others, the strips are not looked at.
        """
        weight, all_cells = self._weights(items), np.arange(int(self.strips.cell.max(initial=-1)) + 1)
        wanted, place = np.unique(all_cells[cells], return_inverse=True)
        some = np.flatnonzero(np.isin(self.strips.cell, wanted))
        total = RowSums(np.searchsorted(wanted, self.strips.cell[some]))
        some = some[total.order]
        weight = weight[some, None].astype(np.float32)
        drawn = np.empty((n, len(wanted)))
        for draws, block in self._blocks(rng, n, some):
            np.multiply(block, weight, out=block)
            drawn[draws] = total(block).T
        shares = self._shuffled(drawn, rng)
        return shares if np.array_equal(place, all_cells) else shares[:, place]

    def mixed(self, rng: np.random.Generator, n: int, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """n draws of Σ_c w_c (share right in cell c), with weights that add up to 1; shape (n,).

        The same draws as those of `shares` among all items, without the share of each cell.
        """
        each = (self._weights(self.strips.size) * weight[self.strips.cell]).astype(np.float32)
        drawn = np.empty(n)
        for draws, block in self._blocks(rng, n):
            drawn[draws] = each @ block
        return self._shuffled(drawn, rng)

    def _shuffled(self, drawn: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """P(right) from draws of 2 P(right) − 1: one draw must not tell of which point of the grid the next one is."""
        drawn += 1
        drawn *= 0.5
        return drawn[rng.permutation(len(drawn))]

    def _blocks(
        self, rng: np.random.Generator, n: int, strips: slice | NDArray[np.intp] = _ALL
    ) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """2 P(right) − 1 in each of the strips in n draws, those of a point of the grid together: (strips, draws) each.

        σ(η) = (1 + tanh(η/2))/2, which is quicker than σ, and four times as quick in single precision: a draw is then
        right to 1e-6, and other draws are apart by a hundredth. A block fits into a processor's cache: there may be ten
        thousand strips. Strips come first, so that the u of their levels are copied row by row.
        """
        point = np.sort(rng.choice(len(self.weight), size=n, p=self.weight))
        design, effect = self.strips.design[:, strips].T.astype(np.float32), self.strips.effect[strips]
        step = max(1, _BLOCK // max(len(effect), 1))
        for k in np.unique(point).tolist():
            first, last = np.searchsorted(point, [k, k + 1]).tolist()
            change = rng.standard_normal((last - first, self.mode.shape[1])) @ self._root[k].T
            u = rng.standard_normal((last - first, self.effect.shape[1]))
            u *= np.sqrt(self.spread[k])
            u += self.effect[k]
            u -= change @ self.lean[k]
            change += self.mode[k]
            shift, half = (0.5 * np.ascontiguousarray(part.T, dtype=np.float32) for part in (change, u))
            for start in range(0, last - first, step):
                some = slice(start, min(start + step, last - first))
                odds = design @ shift[:, some]
                odds += half[:, some].take(effect, axis=0)
                np.tanh(odds, out=odds)
                yield slice(some.start + first, some.stop + first), odds

    def rights(self, rng: np.random.Generator, n: int, left: NDArray[np.int64]) -> NDArray[np.int64]:
        """n draws of how many of the unlabelled items, `left` of each strip, are right; shape (n, cells)."""
        return right_counts(rng, self.draws(rng, n), left, self.strips.cell, self.strips.by_cell)

    @cached_property
    def _root(self) -> NDArray[np.float64]:
        """For each point a matrix R with R Rᵀ = that covariance, shape (points, shared, shared)."""
        root: NDArray[np.float64] = np.linalg.cholesky(self._covariance).astype(np.float64)
        return root
