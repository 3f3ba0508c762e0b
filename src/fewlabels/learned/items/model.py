"""The posterior of the model of items, and what it says about cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fewlabels.learned.items.counts import RightCounts
from fewlabels.learned.items.sums import RowSums, Sums

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
# Numbers up to which several points of the grid are computed together: beyond that, one after another is quicker.
_FEW = 2**14
_ALL = slice(None)


class Chances(NamedTuple):
    """E P(right) in each strip at some points, how it moves with u, and how the log-odds move with the shared effects.

    Shapes (points, strips), (points, strips) and (points, shared, strips).
    """

    points: slice

    mean: NDArray[np.float64]
    slope: NDArray[np.float64]
    by_shared: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trust:
    """The posterior of the shared effects (a, b, g, h, v) and of u: a Gaussian at each point of a grid, with weights.

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
        """What is believed about one more group with the confidences of the whole pool and no label."""
        zero, own = np.zeros_like(self.strips.cell), self.strips.own
        between, larger = np.zeros_like(self.strips.between), np.zeros_like(self.strips.larger)
        crossed = self.strips.crossed[:0]
        strips = replace(self.strips, cell=zero, effect=zero, crossed=crossed, between=between, larger=larger)
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
        comes from the slope of the share in the shared effects and in u. A cell that has none of these items is read
        among all its items.
        """
        share = self._weights(items)
        by_cell, (effect, by_piece, piece_by_cell) = self.strips.by_cell, self.strips.pieces
        means, variances = [], []
        for chance in self._chances():
            moved = share * chance.slope
            means.append(by_cell(share * chance.mean))
            variance = self._quadratic(chance.points, by_cell(moved[:, None] * chance.by_shared))
            variances.append(variance + piece_by_cell(by_piece(moved) ** 2 * self.spread[chance.points, effect]))
        return self._mixed(np.concatenate(means), np.concatenate(variances))

    def overall(self) -> tuple[float, float]:
        """Mean and variance of the share right among all items."""
        share = self.strips.size / self.strips.size.sum()
        means, variances = [], []
        by_level = Sums(self.strips.effect)
        for chance in self._chances():
            moved = share * chance.slope
            means.append(chance.mean @ share)
            variance = self._quadratic(chance.points, chance.by_shared @ moved[..., None])[:, 0]
            variances.append(variance + (by_level(moved) ** 2 * self.spread[chance.points]).sum(axis=1))
        mean, variance = self._mixed(np.concatenate(means), np.concatenate(variances))
        return float(mean), float(variance)

    def slope(self) -> tuple[float, float]:
        """Mean and variance of b."""
        mean, variance = self._mixed(self.mode[:, 1], self._covariance[:, 1, 1])
        return float(mean), float(variance)

    def difference(self) -> float:
        """The standard deviation, between groups of the same confidences, of the share right."""
        newcomer = self.newcomer()
        share = newcomer.strips.size / newcomer.strips.size.sum()
        slopes = [chance.slope @ share for chance in newcomer._chances()]  # noqa: SLF001  (of its own kind)
        by_u = np.concatenate(slopes)
        return float(np.sqrt(self.weight @ (by_u * self.tau) ** 2))

    def _mixed(self, means: NDArray[np.float64], variances: NDArray[np.float64]) -> tuple[Any, Any]:
        """Mean and variance over the points, from those at each point."""
        overall = self.weight @ means
        return overall, self.weight @ (variances + (means - overall) ** 2)

    def _chances(self) -> Iterator[Chances]:
        """The chances in each strip, at one point after another, or at several together where strips are few."""
        design, level = self.strips.design, self.strips.effect
        step = max(1, _FEW // (len(_NODES) * max(len(level), 1)))
        weight, nodes = (_WEIGHTS / _WEIGHTS.sum()).astype(np.float32), _NODES.astype(np.float32)[:, None]
        for start in range(0, len(self.weight), step):
            points = slice(start, start + step)
            # How the log-odds move with the shared effects: directly, and against them through u.
            by_shared = design - self.lean[points].take(level, axis=2)  # quicker than [:, :, level]
            half_sd = np.sqrt(self.spread[points].take(level, axis=1) + self._quadratic(points, by_shared)) / 2
            half = (self.mode[points] @ design + self.effect[points].take(level, axis=1)) / 2
            # σ(η) = (1 + tanh(η/2))/2: with tanh it takes a seventh of the time, in single precision a third of that.
            # Its error of 1e-7 is a hundredth of that of the sum.
            tanh = nodes * half_sd.astype(np.float32)[:, None] + half.astype(np.float32)[:, None]
            np.tanh(tanh, out=tanh)
            mean = (weight @ tanh).astype(np.float64)
            np.multiply(tanh, tanh, out=tanh)
            yield Chances(points, (1 + mean) / 2, (1 - (weight @ tanh).astype(np.float64)) / 4, by_shared)

    def _quadratic(self, points: slice, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """The variance of times·(the shared effects) at points of the grid: (points, shared, n) to (points, n)."""
        variance: NDArray[np.float64] = ((self._covariance[points] @ times) * times).sum(axis=1)
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

        The draws are the same whatever the cells: the strips of other cells are not looked at.
        """
        some, total, place = self._rows(cells)
        weight = self._weights(items)[some, None].astype(np.float32)
        drawn = np.empty((n, total.count))
        for draws, block in self._blocks(rng, n, some):
            np.multiply(block, weight, out=block)
            drawn[draws] = total(block).T
        shares = self._shuffled(drawn, rng)
        return shares if place is None else shares[:, place]

    def _rows(self, cells: slice | NDArray[np.intp]) -> tuple[NDArray[np.intp], RowSums, NDArray[np.intp] | None]:
        """The strips of some cells, the sums over those of each, and which sum is each cell's, if not its own."""
        every = self.strips.by_row
        if isinstance(cells, slice) and cells == _ALL:
            return every.order, every, None
        wanted, place = np.unique(np.arange(int(self.strips.cell.max(initial=-1)) + 1)[cells], return_inverse=True)
        some = np.flatnonzero(np.isin(self.strips.cell, wanted))
        total = RowSums(np.searchsorted(wanted, self.strips.cell[some]))
        return some[total.order], total, place

    def mixed(self, rng: np.random.Generator, n: int, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """n draws of Σ_c w_c (share right in cell c), with weights that add up to 1; shape (n,).

        These are the draws of `shares` among all items, without the share of each cell.
        """
        each = (self._weights(self.strips.size) * weight[self.strips.cell]).astype(np.float32)
        drawn = np.empty(n)
        for draws, block in self._blocks(rng, n):
            drawn[draws] = each @ block
        return self._shuffled(drawn, rng)

    def _shuffled(self, drawn: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """P(right) from draws of 2 P(right) − 1: one draw must not reveal the point of the grid of the next."""
        drawn += 1
        drawn *= 0.5
        return drawn[rng.permutation(len(drawn))]

    def _blocks(
        self, rng: np.random.Generator, n: int, strips: slice | NDArray[np.intp] = _ALL
    ) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """2 P(right) − 1 in each of the strips in n draws, those of a point of the grid together: (strips, draws) each.

        σ(η) = (1 + tanh(η/2))/2, which is quicker than σ, and four times as quick in single precision: a draw is then
        right to 1e-6, and draws differ by a hundredth anyway. A block fits into a processor's cache: there may be ten
        thousand strips. Strips come first, so that the u of their levels are copied row by row.
        """
        point = np.sort(rng.choice(len(self.weight), size=n, p=self.weight))
        design, effect = self.strips.design[:, strips].T.astype(np.float32), self.strips.effect[strips]
        step = max(1, _BLOCK // max(len(effect), 1))
        for first, last in self._together(point):
            shift, half = (
                0.5 * np.ascontiguousarray(part.T, dtype=np.float32) for part in self._effects(rng, point[first:last])
            )
            for start in range(0, last - first, step):
                some = slice(start, min(start + step, last - first))
                odds = design @ shift[:, some]
                odds += half[:, some].take(effect, axis=0)
                np.tanh(odds, out=odds)
                yield slice(some.start + first, some.stop + first), odds

    def _together(self, point: NDArray[np.intp]) -> list[tuple[int, int]]:
        """Where draws that are made together begin and end: those of one point, or of several that have few numbers."""
        starts = np.flatnonzero(np.diff(point, prepend=-1))
        run = starts * self.lean[0].size // _FEW
        first = starts[np.flatnonzero(np.diff(run, prepend=-1))].tolist()
        return list(zip(first, [*first[1:], len(point)], strict=True))

    def _effects(
        self, rng: np.random.Generator, point: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A draw of the shared effects and of u at each of these points, which increase: (draws, shared), (draws,
        levels).

        The draws are the same however many points are taken together.
        """
        each, count = np.unique(point, return_counts=True)
        noise = [[rng.standard_normal((m, len(part[0]))) for part in (self.mode, self.effect)] for m in count.tolist()]
        if len(each) == 1:
            k, ((change, u),) = each[0], noise
            change = change @ self._root[k].T
            leant = change @ self.lean[k]
        else:
            k, (change, u) = point, (np.concatenate(parts) for parts in zip(*noise, strict=True))
            change = (self._root[k] @ change[..., None])[..., 0]
            leant = (change[:, None] @ self.lean[k])[:, 0]
        u *= np.sqrt(self.spread[k])
        u += self.effect[k]
        u -= leant
        change += self.mode[k]
        return change, u

    def rights(self, rng: np.random.Generator, n: int, left: NDArray[np.int64]) -> NDArray[np.int64]:
        """n draws of how many of the unlabelled items, `left` of each strip, are right; shape (n, cells)."""
        usual = self.weight @ np.concatenate([chance.mean for chance in self._chances()])
        counts = RightCounts(usual, left, self.strips.cell)
        drawn = np.empty((n, len(self.strips.by_cell(left))), dtype=np.int64)
        for draws, block in self._blocks(rng, n):
            drawn[draws] = counts(rng, (block + 1) / 2).T
        return drawn[rng.permutation(n)]

    @cached_property
    def _root(self) -> NDArray[np.float64]:
        """For each point a matrix R with R Rᵀ = that covariance, shape (points, shared, shared)."""
        root: NDArray[np.float64] = np.linalg.cholesky(self._covariance).astype(np.float64)
        return root
