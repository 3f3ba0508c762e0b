"""Beliefs about rows: mixtures of Dirichlets, one for each point of (a, b, log κ) that the labels leave possible."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from fewlabels.belief import dirichlet_draws
from fewlabels.learned.items import LearnedBelief, Summary, in_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fewlabels.learned.rows.expected import Expectation


@dataclass(frozen=True, eq=False)
class RowBelief(LearnedBelief):
    """A mixture of Dirichlet beliefs, one for each point that the labels leave possible.

    Parameters
    ----------
    expectation
        What the classifier expects.
    points
        The points (a, b, log κ), shape (points, 3).
    weights
        Their posterior probabilities, shape (points,).
    """

    expectation: Expectation = field(kw_only=True)
    points: NDArray[np.float64] = field(kw_only=True)
    weights: NDArray[np.float64] = field(kw_only=True)

    def _by_power(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]]:
        """For each b among the points: the points that have it, their P(right), and the shares of the other outcomes.

        Shapes (some,), (some, cells) and (cells, outcomes). The last has as many numbers as the belief, so it is made
        once for all points of a b: m is P(right) for the right outcome and 1 − P(right) times that for the others.
        """
        for b in np.unique(self.points[:, 1]).tolist():
            some = np.flatnonzero(self.points[:, 1] == b)
            right = expit(self.expectation.odds(self.points[some, 0], self.points[some, 1])[0])
            yield some, right, self.expectation.others(b)

    @cached_property
    def alpha(self) -> NDArray[np.float64]:
        """Counts of the Dirichlet with the mixture's mean and total variance in each cell."""
        cell, at = np.arange(len(self.counts)), self.expectation.right
        labels, told = self.counts.sum(axis=1), self.counts[np.arange(len(self.counts)), at]
        mean, square, spread = np.zeros_like(self.counts), np.zeros(len(cell)), np.zeros(len(cell))
        of_n = (self.counts**2).sum(axis=1)
        for some, right, others in self._by_power():
            # Σ_j (κ m_j + n_j)² needs only these two sums over the outcomes.
            of_m, both = (others**2).sum(axis=1), (others * self.counts).sum(axis=1)
            weight, kappa = self.weights[some][:, None], np.exp(self.points[some, 2])[:, None]
            s = kappa + labels
            concentrated = kappa**2 * (right**2 + (1 - right) ** 2 * of_m)
            concentrated += 2 * kappa * (right * told + (1 - right) * both) + of_n
            concentrated /= s**2
            mean += (weight * kappa * (1 - right) / s).sum(axis=0)[:, None] * others
            mean[cell, at] += (weight * kappa * right / s).sum(axis=0)
            mean += (weight / s).sum(axis=0)[:, None] * self.counts
            square += (weight * concentrated).sum(axis=0)
            spread += (weight * (1 - concentrated) / (s + 1)).sum(axis=0)
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
        times, cell, at = rng.multinomial(n, self.weights), np.arange(len(self.counts)), self.expectation.right
        parts = []
        for some, right, others in self._by_power():
            for i, chance in zip(some.tolist(), right, strict=True):
                if times[i]:
                    m = (1 - chance)[:, None] * others
                    m[cell, at] = chance
                    parts.append(dirichlet_draws(rng, np.exp(self.points[i, 2]) * m + self.counts, int(times[i])))
        return rng.permutation(np.concatenate(parts))

    def summary(self) -> Summary:
        """A summary of what was learned about the classifier's scores, in words and numbers.

        >>> import fewlabels as fl
        >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]])
        >>> cells = fl.Confusion().cells(pool, fl.by_predicted(pool))
        >>> print(fl.Learned().on(cells, "pool").blank().summary().words.split(". ")[3])
        For a group, its scores count as much as about 13 labels of its own.
        """
        expected, share = self.expectation, self.size / self.size.sum()
        a, b, log_kappa = self.points.T
        kappa, usual = np.exp(log_kappa)[:, None], expit(expected.odds(a, b)[0])
        total = kappa + self.counts.sum(axis=1)
        mean = (kappa * usual + self.counts[np.arange(len(share)), expected.right]) / total
        means, variances = mean @ share, (mean * (1 - mean) / (total + 1)) @ share**2
        differences = (usual * (1 - usual) / (kappa + 1)) @ share
        accuracy, slope = float(self.weights @ means), float(self.weights @ b)
        numbers = {
            "labels": float(np.rint(self.counts.sum())),
            "accuracy": accuracy,
            "accuracy_sd": float(np.sqrt(self.weights @ (variances + (means - accuracy) ** 2))),
            "difference": float(np.sqrt(self.weights @ differences)),
            "worth": float(np.exp(self.weights @ log_kappa)),
        }
        if expected.said:
            sd = float(np.sqrt(self.weights @ (b - slope) ** 2))
            numbers |= {"confidence": expected.confidence, "slope": slope, "slope_sd": sd}
        return Summary(in_words(numbers, "scores"), numbers)
