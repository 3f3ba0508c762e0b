"""The fit of the model of rows: where the posterior of (a, b, log κ) has its mass, and points with weights there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from fewlabels.learned.rows.expected import POWERS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.learned.rows.expected import Expectation

# Kinds of classifiers: weight, then mean and sd of a, b and log κ. Ordinary ones as in `trust/strips.py`; odd ones, of
# which some have rows that are nothing like what is expected; and lost ones, always sure and often wrong.
KINDS = np.array(
    [
        [0.84, -0.1, 0.5, 0.85, 0.25, np.log(16.0), 1.1],
        [0.15, 0.0, 1.5, 0.85, 0.5, np.log(4.0), 1.5],
        [0.01, -4.0, 3.0, 0.85, 0.5, np.log(8.0), 1.5],
    ]
)
# Differences for slopes and curvatures, and steps after which the place of the mode is good enough for the points.
_REACH = np.array([0.05, 0.02, 0.1])
_STEPS = 20
_NEAR = 0.5
_LEAST = 0.5
# The points lie at these multiples of the standard deviation in each direction. The sum over evenly spaced points is as
# good as the integral: for a Gaussian it is off by 3e-4 at this distance.
_Z = np.array([-3.0, -1.5, 0.0, 1.5, 3.0])
_GRID = np.stack(np.meshgrid(_Z, _Z, _Z, indexing="ij"), axis=-1).reshape(-1, 3)
_LOW, _HIGH = np.array([-30.0, POWERS[0], -6.0]), np.array([30.0, POWERS[-1], 16.0])
# Up to so many labels of one outcome are multiplied out, which takes a fraction of the time and cannot overflow.
_FACTORS = 16
# Kinds with less of the weight than this get three points in each direction, not five.
_MINOR = 0.1
# Kinds and points with less of the weight than this are left out.
_NEGLIGIBLE = 1e-3
# A neighbour on each side in each direction, and both of a pair: ten places around a point.
_SIDES = np.vstack([np.zeros((1, 3)), np.eye(3), -np.eye(3), [[1, 1, 0], [1, 0, 1], [0, 1, 1]]])


def learn_rows(
    expectation: Expectation, counts: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points (a, b, log κ), shape (points, 3), and their posterior weights, from label counts (cells, outcomes)."""
    fit = Fit(expectation, counts)
    mode, root, height = fit.modes()
    # The size of a kind's cell of the grid, but for a constant; with its height about the evidence for the kind.
    size = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    share = np.exp(height + size - (height + size).max())
    grids, kinds = [], []
    for kind in np.flatnonzero(share > _NEGLIGIBLE).tolist():
        z = _GRID if share[kind] > _MINOR else _GRID[np.abs(_GRID).max(axis=1) < _Z[-1]]
        # b comes first in the root, so that the points have five values of it: each one costs a look at all outcomes.
        at = mode[kind] + (z @ root[kind].T)[:, [1, 0, 2]]
        grids.append(at[((at >= _LOW) & (at <= _HIGH)).all(axis=1)])
        kinds.append(np.full(len(grids[-1]), kind))
    points, kind_of = np.concatenate(grids), np.concatenate(kinds)
    log_weight = fit.log_posterior(points, kind_of) + size[kind_of]
    weight = np.exp(log_weight - log_weight.max())
    keep = weight > _NEGLIGIBLE * weight.max()
    return points[keep], weight[keep] / weight[keep].sum()


class Fit:
    """The labels of one fit: how many show right, and which other outcomes, in the cells that have labels.

    log p(counts) = Σ_c [lnΓ(κ) − lnΓ(κ + n_c)] + Σ_cj [lnΓ(κ m_cj + n_cj) − lnΓ(κ m_cj)], where a single label of an
    outcome gives log κ m. Only labelled cells and outcomes count, so the cost grows with the labels, not the classes.
    """

    def __init__(self, expectation: Expectation, counts: NDArray[np.float64]) -> None:
        seen = np.flatnonzero(counts.any(axis=1))
        self.expected = expectation.rows(seen)
        counts = counts[seen]
        self.labels, self.cells = np.unique(counts.sum(axis=1), return_counts=True)
        right = counts[np.arange(len(seen)), self.expected.right]
        wrong = counts.copy()
        wrong[np.arange(len(seen)), self.expected.right] = 0.0
        one = wrong == 1
        self.once_right = np.flatnonzero(right == 1)
        self.often_right = np.argsort(-right, kind="stable")[: np.count_nonzero(right > 1)]
        self.right = right[self.often_right]
        self.once_wrong = one.sum(axis=1)
        self.log_once = float(self.expected.log_share[one].sum())
        cell, outcome = np.nonzero(wrong > 1)
        order = np.argsort(-wrong[cell, outcome], kind="stable")
        self.cell, outcome = cell[order], outcome[order]
        self.wrong, self.log_share = wrong[self.cell, outcome], self.expected.log_share[self.cell, outcome]

    def log_likelihood(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """At points (a, b, log κ) of shape (points, 3): shape (points,)."""
        a, b, log_kappa = points.T
        kappa = np.exp(log_kappa)
        odds, rest = self.expected.odds(a, b)
        log_right = -np.logaddexp(0.0, -odds)
        log_wrong = log_right - odds - rest  # log m of a wrong outcome, but for b·log e
        single = len(self.once_right) + self.once_wrong.sum()
        found = single * log_kappa + b * self.log_once + log_wrong @ self.once_wrong
        found += log_right[:, self.once_right].sum(axis=1)
        found += self.cells.sum() * gammaln(kappa) - gammaln(kappa[:, None] + self.labels) @ self.cells
        found += rising(log_kappa[:, None] + log_right[:, self.often_right], self.right)
        return found + rising(log_kappa[:, None] + b[:, None] * self.log_share + log_wrong[:, self.cell], self.wrong)

    def log_posterior(self, points: NDArray[np.float64], kind: NDArray[np.int64]) -> NDArray[np.float64]:
        """With the prior of a kind for each point, but for a constant: shape (points,)."""
        weight, mean, sd = KINDS[kind, 0], KINDS[kind, 1::2], KINDS[kind, 2::2]
        prior = np.log(weight) - np.log(sd).sum(axis=1) - ((points - mean) ** 2 / sd**2).sum(axis=1) / 2
        return prior + self.log_likelihood(points)

    def modes(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """For each kind about the mode, a root of the covariance there in the order (b, a, log κ), and the height.

        With many labels the modes are close to each other, so the other kinds set out from the first one's.
        """
        first = self.climb(KINDS[:1, 1::2], np.arange(1))
        others = np.arange(1, len(KINDS))
        rest = self.climb(np.repeat(first[0], len(others), axis=0), others)
        mode, covariance, height = (np.concatenate(pair) for pair in zip(first, rest, strict=True))
        order = [1, 0, 2]
        root: NDArray[np.float64] = np.linalg.cholesky(covariance[:, order][:, :, order]).astype(np.float64)
        return mode, root, height

    def climb(
        self, mode: NDArray[np.float64], kinds: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """About the modes of some kinds, from somewhere, with the covariance and the height there.

        Newton steps with differences for slopes, shorter where they overshoot. Where they end needs no precision: only
        the places of the points depend on it, and their weights are the posterior itself.
        """
        slope, covariance, height = self.around(mode, kinds)
        length = np.ones(len(kinds))
        for _ in range(_STEPS):
            step = np.einsum("kij,kj->ki", covariance, slope)
            sd = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
            if (np.abs(step) < _NEAR * sd).all():
                break
            tried = clipped(mode + length[:, None] * step)
            there = self.around(tried, kinds)
            better = there[2] > height
            length = np.where(better, 1.0, length / 4)  # overshot: a shorter step from where it was
            mode = np.where(better[:, None], tried, mode)
            slope = np.where(better[:, None], there[0], slope)
            covariance = np.where(better[:, None, None], there[1], covariance)
            height = np.where(better, there[2], height)
        return mode, covariance, height

    def around(
        self, mode: NDArray[np.float64], kinds: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Slope, covariance and height of the log posterior there: shapes (kinds, 3), (kinds, 3, 3) and (kinds,)."""
        points = (mode[:, None] + _SIDES * _REACH).reshape(-1, 3)
        height = self.log_posterior(points, np.repeat(kinds, len(_SIDES))).reshape(len(kinds), -1)
        middle, up, down, pairs = height[:, :1], height[:, 1:4], height[:, 4:7], height[:, 7:]
        slope = (up - down) / (2 * _REACH)
        curve = np.zeros((len(kinds), 3, 3))
        curve[:, range(3), range(3)] = (up + down - 2 * middle) / _REACH**2
        for k, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
            both = (pairs[:, k] - up[:, i] - up[:, j] + middle[:, 0]) / (_REACH[i] * _REACH[j])
            curve[:, i, j] = curve[:, j, i] = both
        # In units of the prior's deviation the precision is 1 without labels; far from the mode it may come out less.
        sd = KINDS[kinds, 2::2]
        size, turn = np.linalg.eigh(-curve * sd[:, :, None] * sd[:, None])
        covariance = (turn / np.maximum(size, _LEAST)[:, None]) @ turn.swapaxes(1, 2) * sd[:, :, None] * sd[:, None]
        return slope, covariance, middle[:, 0]


def clipped(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points (a, b, log κ) within bounds: b where sums of powers are kept, the others where numbers stay finite."""
    return np.clip(points, _LOW, _HIGH)


def rising(log_alpha: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σ lnΓ(α + n) − lnΓ(α) over the last axis, with n descending: log α(α + 1)···(α + n − 1) where n is small.

    >>> np.exp(rising(np.log([[2.0, 3.0]]), np.array([3.0, 2.0]))).round(6)  # 2·3·4 · 3·4
    array([288.])
    """
    alpha = np.exp(log_alpha)
    large = int(np.count_nonzero(n > _FACTORS))
    found: NDArray[np.float64] = (gammaln(alpha[:, :large] + n[:large]) - gammaln(alpha[:, :large])).sum(axis=-1)
    product = alpha[:, large:].copy()
    for i in range(1, int(n[large]) if large < len(n) else 1):
        some = int(np.count_nonzero(n[large:] > i))
        product[:, :some] *= alpha[:, large : large + some] + i
    return found + np.log(product).sum(axis=-1)
