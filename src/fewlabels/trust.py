"""How far confidence can be trusted: a logistic model of being right, learned from the labels of all cells.

P(right | item with confidence s in cell c) = σ(a + b·(logit s − x0) + u_c), u_c ~ N(0, τ²), where x0 is the mean of
logit s in the pool. The posterior is a mixture over a small grid of hyper-parameters, Gaussian (Laplace) at each point:
so it is uncertain about a, b, τ and every u_c, and few labels do not move a well-calibrated classifier far.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import expit, logit

from fewlabels.belief import Belief

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Confidences nearer to 0 or 1 than this tell nothing more.
_EDGE = 1e-4
# Strips of equal weight into which the confidences of the pool are sorted.
_STRIPS = 16
# What (a, b) is like: a mixture of ordinary classifiers, from a survey of public ones, and odd ones.
# Columns: weight, mean and sd of a, mean and sd of b.
_KINDS = np.array([[0.75, -0.15, 0.6, 0.8, 0.25], [0.25, 0.0, 2.0, 1.0, 0.7]])
# Without confidences there is only an overall rate.
_NO_CONFIDENCE = np.array([[1.0, 1.0, 1.5, 0.0, 1.0]])
# How much cells differ beyond their confidences: around 0.43 for real classifiers, with heavy tails.
_TAUS = np.array([0.1, 0.2, 0.43, 0.9, 1.8, 3.0])
_TAU_MIDDLE, _TAU_SPREAD, _TAU_DEGREES = 0.43, 0.6, 2.0
# Points of the grid with less than this share of the largest weight are left out.
_NEGLIGIBLE = 1e-3
# Points of the Gauss-Hermite sum.
_NODES = 9


@dataclass(frozen=True, eq=False)
class Strips:
    """The items of the cells, sorted into strips of nearly equal confidence.

    Parameters
    ----------
    strip
        The strip of each item, shape (items,).
    cell
        The cell of each strip, ascending, shape (strips,).
    x
        Mean of logit s − x0 in each strip, shape (strips,); all 0 without confidences.
    size
        Items in each strip, shape (strips,).
    kinds
        The prior of (a, b), shape (kinds, 5): weight, mean and sd of the intercept at x0, mean and sd of b.
    """

    strip: NDArray[np.int64]
    cell: NDArray[np.int64]
    x: NDArray[np.float64]
    size: NDArray[np.int64]
    kinds: NDArray[np.float64]


def strips(confidence: NDArray[np.float64] | None, cell: NDArray[np.int32], size: NDArray[np.int64]) -> Strips:
    """Sort the items of cells by confidence; confidence and cell of each item, shape (items,)."""
    if confidence is None:
        return Strips(cell.astype(np.int64), np.arange(len(size)), np.zeros(len(size)), size, _NO_CONFIDENCE)
    x = logit(np.clip(confidence, _EDGE, 1 - _EDGE))
    middle = x.mean()
    edges = np.unique(np.quantile(x, np.arange(1, _STRIPS) / _STRIPS))
    code = cell.astype(np.int64) * (len(edges) + 1) + np.searchsorted(edges, x, side="right")
    used, strip = np.unique(code, return_inverse=True)
    size = np.bincount(strip)
    kinds = _KINDS.copy()
    kinds[:, 1] += kinds[:, 3] * middle  # the intercept at the pool's middle instead of at s = 1/2
    return Strips(strip, used // (len(edges) + 1), np.bincount(strip, x - middle) / size, size, kinds)


@dataclass(frozen=True, eq=False)
class Trust:
    """The posterior of (a, b, u): a Gaussian at each point of a grid of kinds × τ, with weights.

    Parameters
    ----------
    strips
        The items that it is about.
    weight
        The probability of each point, shape (points,).
    mode, precision
        Of (a, b) with u integrated out, shapes (points, 2) and (points, 2, 2).
    effect, spread, lean
        Given (a, b), u_c is Gaussian with mean effect − lean·(how far (a, b) is from its mode) and variance spread:
        shapes (points, cells), (points, cells) and (points, 2, cells).
    """

    strips: Strips
    weight: NDArray[np.float64]
    mode: NDArray[np.float64]
    precision: NDArray[np.float64]
    effect: NDArray[np.float64]
    spread: NDArray[np.float64]
    lean: NDArray[np.float64]

    def shares(self, rng: np.random.Generator, n: int, items: NDArray[np.int64]) -> NDArray[np.float64]:
        """n draws of the share right in each cell, among so many items of each strip; shape (n, cells)."""
        return self._total(self.draws(rng, n) * self._weights(items))

    def rights(self, rng: np.random.Generator, n: int, left: NDArray[np.int64]) -> NDArray[np.int64]:
        """n draws of how many of the unlabelled items, `left` of each strip, are right; shape (n, cells)."""
        return self._total(rng.binomial(left, self.draws(rng, n)))

    def _total(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sums over the strips of each cell: (..., strips) to (..., cells). No cell is without strips."""
        starts = np.flatnonzero(np.diff(self.strips.cell, prepend=-1))
        return np.add.reduceat(values, starts, axis=-1)

    def moments(self, items: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance of the share right in each cell, among so many items of each strip; two of shape (cells,).

        The log-odds of a strip are Gaussian at each point of the grid, so the mean is a Gauss-Hermite sum; the variance
        is by the slope of the share in a, b and u. A cell with none of those items is taken with all it has.
        """
        x, cell = self.strips.x, self.strips.cell
        covariance = self._covariance
        # How the log-odds of a strip move with a and b: directly, and against them through u.
        by_a, by_b = (1 - self.lean[:, 0])[:, cell], x - self.lean[:, 1][:, cell]
        spread = self.spread[:, cell] + _quadratic(covariance, by_a, by_b)
        centre = self.mode[:, :1] + self.mode[:, 1:] * x + self.effect[:, cell]
        node, weight = np.polynomial.hermite_e.hermegauss(_NODES)
        weight = weight / weight.sum()
        mean, slope = np.zeros_like(centre), np.zeros_like(centre)
        sd = np.sqrt(spread)
        for z, w in zip(node, weight, strict=True):
            p = expit(centre + z * sd)
            mean += w * p
            slope += w * p * (1 - p)
        share = self._weights(items)
        means = self._total(share * mean)
        slopes = (self._total(share * slope * by_a), self._total(share * slope * by_b), self._total(share * slope))
        variances = _quadratic(covariance, slopes[0], slopes[1]) + slopes[2] ** 2 * self.spread
        overall = self.weight @ means
        return overall, self.weight @ (variances + (means - overall) ** 2)

    def _weights(self, items: NDArray[np.int64]) -> NDArray[np.float64]:
        """The strip's share of its cell's items, shape (strips,)."""
        count = np.where(self._total(items)[self.strips.cell] > 0, items, self.strips.size)
        return count / self._total(count)[self.strips.cell]

    def pruned(self) -> Trust:
        """Without the points that have next to no weight, of which there are most once there are labels."""
        keep = self.weight > _NEGLIGIBLE * self.weight.max()
        weight = self.weight[keep] / self.weight[keep].sum()
        parts = (self.mode, self.precision, self.effect, self.spread, self.lean)
        return Trust(self.strips, weight, *(part[keep] for part in parts))

    @cached_property
    def _root(self) -> NDArray[np.float64]:
        """For each point a matrix R with R Rᵀ = the covariance of (a, b), shape (points, 2, 2)."""
        root: NDArray[np.float64] = np.linalg.cholesky(self._covariance).astype(np.float64)
        return root

    @cached_property
    def _covariance(self) -> NDArray[np.float64]:
        """Of (a, b) at each point, shape (points, 2, 2)."""
        covariance: NDArray[np.float64] = np.linalg.inv(self.precision).astype(np.float64)
        return covariance

    def draws(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of P(right) in each strip, shape (n, strips)."""
        point = rng.choice(len(self.weight), size=n, p=self.weight)
        change = np.einsum("nij,nj->ni", self._root[point], rng.standard_normal((n, 2)))
        u = self.effect[point] - np.einsum("ni,nic->nc", change, self.lean[point])
        u += np.sqrt(self.spread[point]) * rng.standard_normal(u.shape)
        ab = self.mode[point] + change
        return expit(ab[:, :1] + ab[:, 1:] * self.strips.x + u[:, self.strips.cell])


@dataclass(frozen=True, eq=False)
class ItemBelief(Belief):
    """What a model of single items believes about the cells.

    Its draws come from the model, so that cells that rest on the same hyper-parameters move together. Its `alpha` are
    the counts of the Beta with the model's mean and variance in each cell, for the rewards that have a formula.

    Parameters
    ----------
    model
        The posterior of the model.
    free
        Unlabelled items of each strip, shape (strips,).
    """

    model: Trust = field(kw_only=True)
    free: NDArray[np.int64] = field(kw_only=True)

    conjugate: ClassVar[bool] = False

    @property
    def numbers(self) -> int:
        """How many numbers one draw takes."""
        return 2 * len(self.free)

    @cached_property
    def alpha(self) -> NDArray[np.float64]:
        """Counts of the Beta with the mean and variance of the share right among the items yet to be labelled."""
        items = self.free if self.target == "pool" else self.model.strips.size
        mean, variance = self.model.moments(items)
        mean = np.clip(mean, 1e-6, 1 - 1e-6)
        strength = np.clip(mean * (1 - mean) / np.maximum(variance, 1e-12) - 1, 1e-2, 1e7)
        return strength[:, None] * np.column_stack([mean, 1 - mean])

    def matched(self) -> Belief:
        """The independent Betas with the same means and variances."""
        return Belief(self.alpha - self.counts, self.counts, self.size, self.target)

    def shares(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of the shares in the population, shape (n, cells, outcomes)."""
        right = self.model.shares(rng, n, self.model.strips.size)
        return np.stack([right, 1 - right], axis=-1)

    def draws(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of θ, shape (n, cells, outcomes); the unlabelled items of a pool by their own confidences."""
        if self.target == "population":
            return self.shares(rng, n)
        rights = self.model.rights(rng, n, self.free)
        return (self.counts + np.stack([rights, self.left - rights], axis=-1)) / self.size[:, None]


def _quadratic(
    matrix: NDArray[np.float64], first: NDArray[np.float64], second: NDArray[np.float64]
) -> NDArray[np.float64]:
    """zᵀ M z with z = (first, second), for each point of the grid: shape (points, n)."""
    m = matrix[:, :, :, None]
    return m[:, 0, 0] * first**2 + 2 * m[:, 0, 1] * first * second + m[:, 1, 1] * second**2


def learn(strips: Strips, right: NDArray[np.float64], labels: NDArray[np.float64]) -> Trust:
    """Fit the model to labels: right answers and labels of each strip, two of shape (strips,).

    Damped Newton steps on (a, b, u) at all points of the grid at once; the log posterior is concave, so they converge.
    """
    seen = np.flatnonzero(labels)
    fit = _Fit(strips, right[seen], labels[seen], seen)
    value = fit.value(fit.ab, fit.u)
    for _ in range(100):
        step_ab, step_u = fit.newton()
        scale = np.ones(len(value))
        for _ in range(40):
            ab, u = fit.ab + scale[:, None] * step_ab, fit.u + scale[:, None] * step_u
            new = fit.value(ab, u)
            worse = new < value - 1e-12 * np.abs(value)
            if not worse.any():
                break
            scale = np.where(worse, scale / 2, scale)
        gain, value = (new - value).max(), new
        fit.ab, fit.u = ab, u
        if gain < 1e-6:  # Newton's next step would gain the square of it
            break
    return fit.posterior(value)


class _Fit:
    """The arrays of one fit: grid points along the first axis, strips or cells that have labels along the last."""

    def __init__(
        self, strips: Strips, right: NDArray[np.float64], labels: NDArray[np.float64], seen: NDArray[np.intp]
    ) -> None:
        kinds, taus = len(strips.kinds), len(_TAUS)
        self.strips = strips
        self.right, self.labels, self.x = right, labels, strips.x[seen]
        self.cells, self.starts, self.at = np.unique(strips.cell[seen], return_index=True, return_inverse=True)
        self.tau = np.tile(_TAUS, kinds)
        z = np.log(_TAUS / _TAU_MIDDLE) / _TAU_SPREAD
        heavy = (1 + z**2 / _TAU_DEGREES) ** (-(_TAU_DEGREES + 1) / 2)
        weight, mean_a, sd_a, mean_b, sd_b = strips.kinds.T
        self.log_prior = np.log(np.repeat(weight, taus) * np.tile(heavy / heavy.sum(), kinds))
        self.mean = np.repeat(np.column_stack([mean_a, mean_b]), taus, axis=0)
        self.inverse = np.repeat(1 / np.column_stack([sd_a, sd_b]) ** 2, taus, axis=0)
        self.ab = self.mean.copy()
        self.u = np.zeros((len(self.tau), len(self.cells)))

    def total(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.add.reduceat(values, self.starts, axis=-1) if len(self.starts) else values

    def value(self, ab: NDArray[np.float64], u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log posterior without its constants, shape (points,)."""
        eta = ab[:, :1] + ab[:, 1:] * self.x + u[:, self.at]
        # log(1 + e^η), four times faster than logaddexp.
        softplus = np.maximum(eta, 0) + np.log1p(np.exp(-np.abs(eta)))
        fit = eta @ self.right - softplus @ self.labels
        return fit - (self.inverse * (ab - self.mean) ** 2).sum(axis=1) / 2 - (u**2).sum(axis=1) / (2 * self.tau**2)

    def _curvature(
        self, weight: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Precision of each u, its coupling with (a, b), and the precision of (a, b) with u integrated out."""
        own = self.total(weight) + 1 / self.tau[:, None] ** 2
        with_x = self.total(weight * self.x)
        coupling = np.stack([self.total(weight), with_x], axis=1)
        corner = np.zeros((len(self.tau), 2, 2))
        corner[:, 0, 0] = weight.sum(axis=1) + self.inverse[:, 0]
        corner[:, 0, 1] = corner[:, 1, 0] = (weight * self.x).sum(axis=1)
        corner[:, 1, 1] = (weight * self.x**2).sum(axis=1) + self.inverse[:, 1]
        return own, coupling, corner - np.einsum("pic,pjc->pij", coupling / own[:, None, :], coupling)

    def newton(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The Newton step of (a, b) and of u."""
        mean = expit(self.ab[:, :1] + self.ab[:, 1:] * self.x + self.u[:, self.at])
        rest = self.right - self.labels * mean
        own, coupling, schur = self._curvature(self.labels * mean * (1 - mean))
        slope_u = self.total(rest) - self.u / self.tau[:, None] ** 2
        slope = np.stack([rest.sum(axis=1), (rest * self.x).sum(axis=1)], axis=1) - self.inverse * (self.ab - self.mean)
        slope -= np.einsum("pic,pc->pi", coupling, slope_u / own)
        step = np.linalg.solve(schur, slope[..., None])[..., 0]
        return step, (slope_u - np.einsum("pic,pi->pc", coupling, step)) / own

    def posterior(self, value: NDArray[np.float64]) -> Trust:
        mean = expit(self.ab[:, :1] + self.ab[:, 1:] * self.x + self.u[:, self.at])
        own, coupling, schur = self._curvature(self.labels * mean * (1 - mean))
        log_weight = (
            self.log_prior
            + value
            + (np.log(self.inverse).sum(axis=1) - np.linalg.slogdet(schur)[1]) / 2
            - (np.log(own) + 2 * np.log(self.tau)[:, None]).sum(axis=1) / 2
        )
        weight = np.exp(log_weight - log_weight.max())
        cells = int(self.strips.cell.max()) + 1
        effect = np.zeros((len(self.tau), cells))
        spread = np.repeat(self.tau[:, None] ** 2, cells, axis=1)
        lean = np.zeros((len(self.tau), 2, cells))
        effect[:, self.cells], spread[:, self.cells] = self.u, 1 / own
        lean[:, :, self.cells] = coupling / own[:, None, :]
        return Trust(self.strips, weight / weight.sum(), self.ab, schur, effect, spread, lean)
