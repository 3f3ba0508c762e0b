"""Which class is the true one where the classifier is wrong: a model of mistakes, learned from those that labels show.

Given that the prediction is wrong, the outcome shares of cell c are q_c ~ Dirichlet(κ m_c), m_cj ∝ e_cj^b, where e_c
are the shares that the classifier's scores expect among its mistakes there. The posterior of (b, κ) is a weight for
each point of a small grid; given a point, every cell is conjugate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.belief import dirichlet_draws, gamma_draws, with_rest
from fewlabels.special import gammaln

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

# How sharply mistakes follow the scores, and how many mistakes of its own a cell's expectation counts for. Fitted to
# all labels, b is 1 to 1.2 and κ 60 to 300 on four of six pools; 1.5 to 2 on newsgroups; and 0.2 with κ = 8 on the
# built-in digits, whose scores say next to nothing about mistakes.
POWERS = np.array([0.0, 0.3, 0.65, 1.0, 1.35, 1.8])
POWER_PRIOR = np.array([0.05, 0.1, 0.2, 0.35, 0.2, 0.1])
KAPPAS = np.array([0.5, 2.0, 8.0, 30.0, 100.0, 400.0])
KAPPA_PRIOR = np.array([0.05, 0.1, 0.2, 0.25, 0.25, 0.15])
# Without scores all other classes are expected equally, which is seldom near the truth.
KAPPA_PRIOR_EVEN = np.array([0.2, 0.35, 0.3, 0.1, 0.04, 0.01])
# A score of 0 does not make an outcome impossible.
_FLOOR = 1e-3
# Points with less of the weight than this are left out.
_NEGLIGIBLE = 1e-3


@dataclass(frozen=True, eq=False)
class Expected:
    """The outcome shares that the classifier expects among its mistakes.

    Parameters
    ----------
    log_share
        Logarithm of the expected shares e, −inf where a mistake cannot show an outcome, shape (cells, outcomes).
    scored
        Whether these are the classifier's own scores.
    """

    log_share: NDArray[np.float64]
    scored: bool

    def powered(self, b: float) -> NDArray[np.float64]:
        """m, the expected shares to the power b, shape (cells, outcomes)."""
        possible = np.isfinite(self.log_share)
        power = np.exp(b * np.where(possible, self.log_share, 0.0)) * possible
        power /= power.sum(axis=1, keepdims=True)
        return power

    @cached_property
    def _known_norms(self) -> NDArray[np.float64]:
        return np.full((len(POWERS), len(self.log_share)), np.nan)

    def _log_norms(self, cells: NDArray[np.intp]) -> NDArray[np.float64]:
        """log Σ_j e_j^b at all powers, shape (powers, cells), computed once for each cell that has mistakes."""
        new = np.unique(cells[np.isnan(self._known_norms[0, cells])])
        if len(new):
            possible = np.isfinite(self.log_share[new])
            finite = np.where(possible, self.log_share[new], 0.0)
            norms = [(np.exp(b * finite) * possible).sum(axis=1) for b in POWERS.tolist()]
            self._known_norms[:, new] = np.log(norms)
        return self._known_norms[:, cells]

    def learn(self, counts: NDArray[np.float64]) -> Mistakes:
        """The posterior after mistakes that showed these outcomes, shape (cells, outcomes).

        The evidence of a point is that of Dirichlet-multinomial counts: Γ(κ)/Γ(κ + n) Π_j Γ(κ m_j + n_j)/Γ(κ m_j).
        """
        cell, outcome = np.nonzero(counts)
        n, total = counts[cell, outcome], counts.sum(axis=1)
        total = total[total > 0]
        log_m = POWERS[:, None] * self.log_share[cell, outcome] - self._log_norms(cell)
        alpha = KAPPAS[:, None, None] * np.exp(log_m)
        fits = (gammaln(alpha + n) - gammaln(alpha)).sum(axis=-1)
        fits -= (gammaln(KAPPAS[:, None] + total) - gammaln(KAPPAS)[:, None]).sum(axis=1)[:, None]
        log_weight = fits + np.log(KAPPA_PRIOR if self.scored else KAPPA_PRIOR_EVEN)[:, None] + np.log(POWER_PRIOR)
        weight = np.exp(log_weight - log_weight.max())
        weight[weight < _NEGLIGIBLE] = 0.0
        return Mistakes(self, counts, weight / weight.sum())


@dataclass(frozen=True, eq=False)
class Mistakes:
    """The posterior of the outcome shares among mistakes: a mixture of Dirichlets.

    Parameters
    ----------
    expected
        What the classifier expects.
    counts
        The mistakes that labels showed, shape (cells, outcomes).
    weight
        The probability of each point, shape (κs, powers).
    named
        The one outcome of each cell that is told from all others, shape (cells,); None if all are told apart. A
        Dirichlet whose outcomes are put together is one again, but expected shares have their power before that.
    """

    expected: Expected
    counts: NDArray[np.float64]
    weight: NDArray[np.float64]
    named: NDArray[np.intp] | None = None

    def _powers(self) -> Iterator[tuple[NDArray[np.float64], list[tuple[float, float]]]]:
        """m of each power, with the weight and κ of its points."""
        for b, column in zip(POWERS.tolist(), self.weight.T.tolist(), strict=True):
            if any(column):
                m = self.expected.powered(b)
                m = m if self.named is None else with_rest(m, self.named)
                yield m, [(weight, kappa) for weight, kappa in zip(column, KAPPAS.tolist(), strict=True) if weight]

    def _points(self) -> Iterator[tuple[float, float, NDArray[np.float64]]]:
        """Weight, κ and m of each point; m is made once for all points of a power."""
        for m, points in self._powers():
            yield from ((weight, kappa, m) for weight, kappa in points)

    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """E q, shape (cells, outcomes), and E Σ_j q_j², shape (cells,)."""
        total = self.counts.sum(axis=1)
        own, square, counts2 = np.zeros(len(total)), np.zeros(len(total)), (self.counts**2).sum(axis=1)
        mean = np.zeros_like(self.counts)
        for m, points in self._powers():
            # E q = (κm + n)/s: the sums over outcomes are needed once for each m.
            m2, mn, times = (m**2).sum(axis=1), (m * self.counts).sum(axis=1), np.zeros(len(total))
            for weight, kappa in points:
                s = kappa + total
                times += weight * kappa / s
                own += weight / s
                squares = (kappa**2 * m2 + 2 * kappa * mn + counts2) / s**2
                square += weight * (squares + (1 - squares) / (s + 1))
            mean += times[:, None] * m
        return mean + own[:, None] * self.counts, square

    def rows(self, cells: slice | NDArray[np.intp]) -> Mistakes:
        """The posterior of some cells, with the weights that all of them gave to the points."""
        part = Expected(self.expected.log_share[cells], self.expected.scored)
        return Mistakes(part, self.counts[cells], self.weight, None if self.named is None else self.named[cells])

    def single(self, outcomes: NDArray[np.intp]) -> Mistakes:
        """The posterior of one outcome of each cell, with all others as one more behind it."""
        return Mistakes(self.expected, with_rest(self.counts, outcomes), self.weight, outcomes)

    def sums(self, rng: np.random.Generator, items: NDArray[np.float64]) -> NDArray[np.float64]:
        """Draws of Σ_c items_c q_cj for each outcome j by itself: (n, cells) to (n, outcomes).

        Given a point, cells are independent and the sum has the mean Σ items·E q and the variance Σ items²·Var q. It is
        drawn from the Gamma that has them: a sum of Gammas is nearly one, and a Dirichlet is Gammas over their sum.
        """
        drawn = np.empty((len(items), self.counts.shape[1]))
        for some, q, s in self._chosen(rng, len(items)):
            variance = items[some] ** 2 @ (q * (1 - q) / (s + 1)[:, None])
            drawn[some] = gamma_draws(rng, items[some] @ q, variance)
        return drawn

    def tallies(self, rng: np.random.Generator, items: NDArray[np.int64]) -> NDArray[np.float64]:
        """Draws of how many of these items of each cell show each outcome: (n, cells) to (n, outcomes).

        As `sums`, but of whole items: of k of them, Dirichlet-multinomial, the variance is k(k + s) Var q. What it has
        beyond that of Poisson counts is that of their mean.
        """
        drawn = np.empty((len(items), self.counts.shape[1]))
        for some, q, s in self._chosen(rng, len(items)):
            k = items[some].astype(float)
            mean, one = k @ q, q * (1 - q) / (s + 1)[:, None]
            variance = k**2 @ one + k @ (one * s[:, None])
            drawn[some] = rng.poisson(gamma_draws(rng, mean, np.maximum(variance - mean, 0.0)))
        return drawn

    def _chosen(
        self, rng: np.random.Generator, n: int
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]]:
        """The points of n draws: the draws of each, its E q, shape (cells, outcomes), and its s, shape (cells,)."""
        points, total = list(self._points()), self.counts.sum(axis=1)
        point = rng.choice(len(points), size=n, p=[weight for weight, _, _ in points])
        for k, (_, kappa, m) in enumerate(points):
            some = np.flatnonzero(point == k)
            if len(some):
                s = kappa + total
                yield some, (kappa * m + self.counts) / s[:, None], s

    def draws(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of q, shape (n, cells, outcomes)."""
        points = list(self._points())
        times = rng.multinomial(n, [weight for weight, _, _ in points])
        parts = [
            dirichlet_draws(rng, kappa * m + self.counts, count)
            for (_, kappa, m), count in zip(points, times.tolist(), strict=True)
            if count
        ]
        return rng.permutation(np.concatenate(parts))


def expected(shares: NDArray[np.float64], even: NDArray[np.float64], *, scored: bool) -> Expected:
    """Make the expectation from the outcome shares among mistakes and from those of somebody who knows nothing.

    Both have shape (cells, outcomes), and need not add up to 1.
    """
    even = even / even.sum(axis=1, keepdims=True)
    total = shares.sum(axis=1, keepdims=True)
    own = np.where(total > 0, shares / np.maximum(total, 1e-300), even)
    with np.errstate(divide="ignore"):
        return Expected(np.log(np.where(even > 0, (1 - _FLOOR) * own + _FLOOR * even, 0.0)), scored)
