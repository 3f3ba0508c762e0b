"""How far score vectors can be trusted: a model of the true class, learned from the labels of all cells.

θ_c ~ Dirichlet(κ m_c) for the outcome shares of cell c, where m_c is what the classifier expects there, tempered:
m_cj ∝ e_cj^b · exp(a·[j is what a right prediction shows]). The posterior of (a, b, κ) is a weight for each point of a
grid, from the Dirichlet-multinomial likelihood of all labels; given a point, every cell is conjugate.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, gammaln

from fewlabels.belief import dirichlet_draws
from fewlabels.trust import LearnedBelief, Summary, in_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The grid: by how much "right" is raised, how far scores are sharpened, how closely cells keep to what is expected.
_A = np.array([-3.0, -1.5, -0.7, -0.3, 0.0, 0.3, 0.7, 1.5, 3.0])
_B = np.array([0.0, 0.5, 0.75, 1.0, 1.4])
_KAPPA = 2.0 ** np.arange(-1, 9)
# Middle and spread of a, b and log κ for ordinary classifiers; the tails are heavy (Student, 3 degrees of freedom).
_MIDDLE = (-0.1, 0.85, np.log(16.0))
_SPREAD = (0.5, 0.25, 1.2)
_DEGREES = 3.0
# What is expected of a classifier that gives no scores.
_RIGHT = 0.8
# A score of 0 does not make an outcome impossible.
_FLOOR = 1e-3
# Points of the grid with less of the weight than this are left out.
_NEGLIGIBLE = 1e-3


@dataclass(frozen=True, eq=False)
class Expectation:
    """What the classifier expects in each cell, as it is and tempered.

    Parameters
    ----------
    log_share
        Logarithm of the expected shares, −inf where an outcome cannot occur, shape (cells, outcomes).
    right
        The outcome that a right prediction shows, shape (cells,).
    size
        Items in each cell, shape (cells,).
    said
        Whether these are the classifier's own scores, and not what is usual.
    raised
        `raise_right`, where these are some cells of a pool for which it is known.
    """

    log_share: NDArray[np.float64]
    right: NDArray[np.int64]
    size: NDArray[np.int64]
    said: bool = True
    raised: NDArray[np.float64] | None = None

    def rows(self, cells: slice | NDArray[np.intp]) -> Expectation:
        """The same for some of the cells."""
        return Expectation(self.log_share[cells], self.right[cells], self.size[cells], self.said, self.raise_right)

    @cached_property
    def _powered(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """e_j^b of the right outcome and of all others together, two of shape (b, cells)."""
        possible = np.isfinite(self.log_share)
        finite = np.where(possible, self.log_share, 0.0)
        total = np.array([np.where(possible, np.exp(b * finite), 0.0).sum(axis=1) for b in _B])
        top = np.exp(_B[:, None] * finite[np.arange(len(self.right)), self.right])
        return top, np.maximum(total - top, 1e-300)

    @property
    def confidence(self) -> float:
        """How often the classifier expects to be right, over all items."""
        peak = np.exp(self.log_share[np.arange(len(self.right)), self.right])
        return float(self.size @ peak / self.size.sum())

    @cached_property
    def raise_right(self) -> NDArray[np.float64]:
        """What a and b mean for the right outcome: added to its log share, shape (a, b).

        For each b it is a, counted from where the pool's mean share of "right" is what the classifier expects:
        sharpening or flattening scores by b alone does not claim that the classifier is better or worse than it says.
        """
        if self.raised is not None:
            return self.raised
        top, rest = self._powered
        weight, goal = self.size / self.size.sum(), self.confidence
        low, high = np.full(len(_B), -60.0), np.full(len(_B), 60.0)
        for _ in range(60):
            middle = (low + high) / 2
            share = expit(middle[:, None] + np.log(top) - np.log(rest)) @ weight
            low, high = np.where(share < goal, middle, low), np.where(share < goal, high, middle)
        return _A[:, None] + (low + high) / 2

    @cached_property
    def log_total(self) -> NDArray[np.float64]:
        """The logarithm of the sum of the tempered shares, shape (a, b, cells)."""
        top, rest = self._powered
        return np.logaddexp(self.raise_right[:, :, None] + np.log(top), np.log(rest))

    def tempered(self, a: int, b: int) -> NDArray[np.float64]:
        """m at a point of the grid, shape (cells, outcomes)."""
        possible = np.isfinite(self.log_share)
        log_m = _B[b] * np.where(possible, self.log_share, 0.0) - self.log_total[a, b][:, None]
        log_m[np.arange(len(log_m)), self.right] += self.raise_right[a, b]
        return np.where(possible, np.exp(log_m), 0.0)


def expectation(
    shares: NDArray[np.float64] | None, blank: NDArray[np.float64], right: NDArray[np.int64], size: NDArray[np.int64]
) -> Expectation:
    """From the shares that the classifier expects, if it says any; all of shape (cells, outcomes) but right."""
    said = shares is not None
    if shares is None:
        shares = (1 - _RIGHT) * blank
        shares[np.arange(len(right)), right] += _RIGHT
    base = np.where(blank > 0, (1 - _FLOOR) * shares + _FLOOR * blank, 0.0)
    with np.errstate(divide="ignore"):
        return Expectation(np.log(base / base.sum(axis=1, keepdims=True)), right, size, said)


@dataclass(frozen=True, eq=False)
class RowBelief(LearnedBelief):
    """A mixture of Dirichlet beliefs, one for each point of the grid that the labels leave possible.

    Parameters
    ----------
    expectation
        What the classifier expects.
    points
        Positions of the points in the grid of (a, b, κ), shape (points, 3).
    weights
        Their posterior probabilities, shape (points,).
    """

    expectation: Expectation = field(kw_only=True)
    points: NDArray[np.intp] = field(kw_only=True)
    weights: NDArray[np.float64] = field(kw_only=True)

    def _alpha(self, point: int) -> NDArray[np.float64]:
        a, b, k = self.points[point]
        return _KAPPA[k] * self.expectation.tempered(a, b) + self.counts

    @cached_property
    def alpha(self) -> NDArray[np.float64]:
        """Counts of the Dirichlet with the mixture's mean and total variance in each cell."""
        labels = self.counts.sum(axis=1)
        mean, square = np.zeros_like(self.counts), np.zeros(len(self.counts))
        spread = np.zeros(len(self.counts))
        for a, b in np.unique(self.points[:, :2], axis=0).tolist():
            # All κ share one m, which has as many numbers as the belief: Σ(κm + n)² needs only these sums of it.
            m = self.expectation.tempered(a, b)
            of_m, both, of_n = (m**2).sum(axis=1), (m * self.counts).sum(axis=1), (self.counts**2).sum(axis=1)
            on_m, on_n = np.zeros(len(m)), np.zeros(len(m))
            for i in np.flatnonzero((self.points[:, 0] == a) & (self.points[:, 1] == b)).tolist():
                weight, kappa = self.weights[i], _KAPPA[self.points[i, 2]]
                s = kappa + labels
                concentrated = (kappa**2 * of_m + 2 * kappa * both + of_n) / s**2
                on_m += weight * kappa / s
                on_n += weight / s
                square += weight * concentrated
                spread += weight * (1 - concentrated) / (s + 1)
            mean += on_m[:, None] * m + on_n[:, None] * self.counts
        ours = (mean**2).sum(axis=1)
        variance = np.maximum(spread + square - ours, 1e-12)
        return np.clip((1 - ours) / variance - 1, 1e-2, 1e7)[:, None] * mean

    def rows(self, cells: slice | NDArray[np.intp]) -> RowBelief:
        """The belief about some of the cells, with the weights that all of them gave to the points."""
        part = self.expectation.rows(cells)
        return replace(
            self, prior=self.prior[cells], counts=self.counts[cells], size=self.size[cells], expectation=part
        )

    def shares(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of the shares in the population, shape (n, cells, outcomes)."""
        times = rng.multinomial(n, self.weights)
        parts = [dirichlet_draws(rng, self._alpha(i), int(times[i])) for i in np.flatnonzero(times).tolist()]
        return rng.permutation(np.concatenate(parts))

    def summary(self) -> Summary:
        """What was learned about the classifier's scores, in words and numbers.

        >>> import fewlabels as fl, numpy as np
        >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]])
        >>> cells = fl.Confusion().cells(pool, fl.by_predicted(pool))
        >>> print(fl.Learned().belief(cells, np.zeros((2, 2)), "pool").summary().words.split(". ")[3])
        For a group, its scores count as much as about 15 labels of its own.
        """
        expected, share = self.expectation, self.size / self.size.sum()
        cell, right = np.arange(len(share)), expected.right
        a, b, kappa = _A[self.points[:, 0]], _B[self.points[:, 1]], _KAPPA[self.points[:, 2]]
        means, variances, differences = np.empty(len(a)), np.empty(len(a)), np.empty(len(a))
        for i, (at_a, at_b) in enumerate(self.points[:, :2].tolist()):
            top = _B[at_b] * expected.log_share[cell, right] + expected.raise_right[at_a, at_b]
            usual = np.exp(top - expected.log_total[at_a, at_b])
            total = kappa[i] + self.counts.sum(axis=1)
            mean = (kappa[i] * usual + self.counts[cell, right]) / total
            means[i], variances[i] = share @ mean, share**2 @ (mean * (1 - mean) / (total + 1))
            differences[i] = share @ (usual * (1 - usual) / (kappa[i] + 1))
        accuracy, slope = float(self.weights @ means), float(self.weights @ b)
        numbers = {
            "labels": float(np.rint(self.counts.sum())),
            "accuracy": accuracy,
            "accuracy_sd": float(np.sqrt(self.weights @ (variances + (means - accuracy) ** 2))),
            "difference": float(np.sqrt(self.weights @ differences)),
            "worth": float(np.exp(self.weights @ np.log(kappa))),
        }
        if expected.said:
            sd = float(np.sqrt(self.weights @ (b - slope) ** 2))
            numbers |= {"confidence": expected.confidence, "slope": slope, "slope_sd": sd}
        return Summary(in_words(numbers, "scores"), numbers)


def learn_rows(expectation: Expectation, counts: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Points of the grid and their posterior weights, from label counts of shape (cells, outcomes).

    log p(counts) = Σ_c [lnΓ(κ) − lnΓ(κ + n_c)] + Σ_cj [lnΓ(κ m_cj + n_cj) − lnΓ(κ m_cj)]; only labelled cells
    and outcomes count, so the cost grows with the labels and not with the classes.
    """
    cell, outcome = np.nonzero(counts)
    n = counts[cell, outcome]
    right = outcome == expectation.right[cell]
    log_m = _B[:, None] * expectation.log_share[cell, outcome] + expectation.raise_right[:, :, None] * right
    log_m = log_m - expectation.log_total[:, :, cell]
    of_cell = counts.sum(axis=1)
    of_cell = of_cell[of_cell > 0]
    weight = np.empty((len(_A), len(_B), len(_KAPPA)))
    many = n > 1
    for i, kappa in enumerate(_KAPPA):
        alone = log_m[..., ~many].sum(axis=-1) + np.log(kappa) * np.count_nonzero(~many)
        alpha = kappa * np.exp(log_m[..., many])
        several = (gammaln(alpha + n[many]) - gammaln(alpha)).sum(axis=-1)
        weight[..., i] = several + alone + len(of_cell) * gammaln(kappa) - gammaln(kappa + of_cell).sum()
    for axis, grid in enumerate((_A, _B, np.log(_KAPPA))):
        z = (grid - _MIDDLE[axis]) / _SPREAD[axis]
        prior = -(_DEGREES + 1) / 2 * np.log1p(z**2 / _DEGREES)
        weight += np.expand_dims(prior, tuple(set(range(3)) - {axis}))
    weight = np.exp(weight - weight.max())
    points = np.argwhere(weight > _NEGLIGIBLE * weight.max())
    kept = weight[tuple(points.T)]
    return points, kept / kept.sum()
