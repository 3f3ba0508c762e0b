"""The posterior of the model of confidence, and what it says about cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.learned.items.strips import Strips

# Points of the grid with less than this share of the largest weight are left out.
_NEGLIGIBLE = 1e-3
# The Gauss-Hermite sum over Gaussian log-odds: right to 1e-5 for a standard deviation of 1, to 0.0015 for 2.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(7)


@dataclass(frozen=True, eq=False)
class Trust:
    """The posterior of (a, b, g, u): a Gaussian at each point of a grid of kinds × τ, with weights.

    Parameters
    ----------
    strips
        The items that it is about.
    weight
        The probability of each point, shape (points,).
    tau
        How much cells differ at each point, shape (points,).
    mode, precision
        Of (a, b, g) with u integrated out, shapes (points, 3) and (points, 3, 3).
    effect, spread, lean
        Given (a, b, g), u_c is Gaussian with mean effect − lean·(how far these are from their mode) and variance
        spread: shapes (points, cells), (points, cells) and (points, 3, cells).
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
        """What is believed of one more cell with the confidences of the whole pool and no label."""
        one = np.zeros_like(self.strips.cell)
        strips = replace(self.strips, cell=one, between=np.zeros_like(self.strips.x))
        nothing = np.zeros((len(self.tau), 1))
        return replace(
            self,
            strips=strips,
            effect=nothing,
            spread=self.tau[:, None] ** 2,
            lean=np.zeros((*self.mode.shape, 1)),
        )

    # --- in closed form

    def moments(self, items: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance of the share right in each cell, among `items` of each strip; two of shape (cells,).

        The log-odds of a strip are Gaussian at each point of the grid, so the mean is a Gauss-Hermite sum; the variance
        is by the slope of the share in a, b, g and u. A cell with none of those items is taken with all it has.
        """
        mean, by_shared, by_u = self._chances
        share = self._weights(items)
        means = self._total(share * mean)
        variances = self._quadratic(self._total(share * by_shared))
        variances += self._total(share * by_u) ** 2 * self.spread
        return self._mixed(means, variances)

    def overall(self) -> tuple[float, float]:
        """Mean and variance of the share right among all items."""
        mean, by_shared, by_u = self._chances
        share = self.strips.size / self.strips.size.sum()
        variance = self._quadratic(by_shared @ share[:, None])[:, 0]
        variance += (self._total(share * by_u) ** 2 * self.spread).sum(axis=1)
        found = self._mixed(mean @ share, variance)
        return float(found[0]), float(found[1])

    def slope(self) -> tuple[float, float]:
        """Mean and variance of b."""
        found = self._mixed(self.mode[:, 1], self._covariance[:, 1, 1])
        return float(found[0]), float(found[1])

    def difference(self) -> float:
        """The standard deviation, between cells of the same confidences, of the share right."""
        newcomer = self.newcomer()
        share = newcomer.strips.size / newcomer.strips.size.sum()
        by_u = newcomer._chances[2] @ share  # noqa: SLF001  (another of its own kind)
        return float(np.sqrt(self.weight @ (by_u * self.tau) ** 2))

    def _mixed(self, means: NDArray[np.float64], variances: NDArray[np.float64]) -> tuple[Any, Any]:
        """Mean and variance over the points, from those at each point."""
        overall = self.weight @ means
        return overall, self.weight @ (variances + (means - overall) ** 2)

    @cached_property
    def _chances(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """E P(right) in each strip and how it moves with (a, b, g) and with u.

        Shapes (points, strips), (points, 3, strips) and (points, strips).
        """
        design, cell = self.strips.design, self.strips.cell
        # How the log-odds move with a, b and g: directly, and against them through u.
        by_shared = design - self.lean[:, :, cell]
        half_sd = np.sqrt(self.spread[:, cell] + self._quadratic(by_shared)) / 2
        half = (self.mode @ design + self.effect[:, cell]) / 2
        # σ(η) = (1 + tanh(η/2))/2: with tanh it takes a seventh of the time.
        first, second = np.zeros_like(half), np.zeros_like(half)
        for node, weight in zip(_NODES, _WEIGHTS / _WEIGHTS.sum(), strict=True):
            tanh = node * half_sd
            tanh += half
            np.tanh(tanh, out=tanh)
            first += weight * tanh
            tanh *= tanh
            tanh *= weight
            second += tanh
        mean, slope = (1 + first) / 2, (1 - second) / 4
        return mean, slope[:, None] * by_shared, slope

    def _quadratic(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """The variance of times·(a, b, g) at each point of the grid: (points, 3, n) to (points, n)."""
        variance: NDArray[np.float64] = ((self._covariance @ times) * times).sum(axis=1)
        return variance

    @cached_property
    def _covariance(self) -> NDArray[np.float64]:
        """The covariance of (a, b, g) at each point, shape (points, 3, 3)."""
        covariance: NDArray[np.float64] = np.linalg.inv(self.precision).astype(np.float64)
        return covariance

    def _total(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sums over the strips of each cell: (..., strips) to (..., cells). No cell is without strips."""
        return np.add.reduceat(values, self.strips.starts, axis=-1)

    def _weights(self, items: NDArray[np.int64]) -> NDArray[np.float64]:
        """The strip's share of its cell's items, shape (strips,)."""
        count = np.where(self._total(items)[self.strips.cell] > 0, items, self.strips.size)
        return count / self._total(count)[self.strips.cell]

    # --- by draws

    def draws(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of P(right) in each strip, shape (n, strips)."""
        point = rng.choice(len(self.weight), size=n, p=self.weight)
        change = np.einsum("nij,nj->ni", self._root[point], rng.standard_normal((n, self.mode.shape[1])))
        u = self.effect[point] - np.einsum("ni,nic->nc", change, self.lean[point])
        u += np.sqrt(self.spread[point]) * rng.standard_normal(u.shape)
        return expit((self.mode[point] + change) @ self.strips.design + u[:, self.strips.cell])

    def shares(self, rng: np.random.Generator, n: int, items: NDArray[np.int64]) -> NDArray[np.float64]:
        """n draws of the share right in each cell, among these numbers of items of each strip; shape (n, cells)."""
        return self._total(self.draws(rng, n) * self._weights(items))

    def rights(self, rng: np.random.Generator, n: int, left: NDArray[np.int64]) -> NDArray[np.int64]:
        """n draws of how many of the unlabelled items, `left` of each strip, are right; shape (n, cells)."""
        return self._total(rng.binomial(left, self.draws(rng, n)))

    @cached_property
    def _root(self) -> NDArray[np.float64]:
        """For each point a matrix R with R Rᵀ = the covariance of (a, b, g), shape (points, 3, 3)."""
        root: NDArray[np.float64] = np.linalg.cholesky(self._covariance).astype(np.float64)
        return root
