"""Which classes are missed more often than expected: mistakes that labels showed, and what they say about classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from fewlabels.special import expit, gammaln, logit, psi

if TYPE_CHECKING:
    from numpy.typing import NDArray

# How many mistakes of its own the expectation of a row counts for.
KAPPAS = np.array([0.5, 2.0, 8.0, 30.0, 100.0, 400.0])
# σ, by how much classes are missed more or less often than expected, beyond what κ allows for.
COLUMNS = np.array([0.0, 0.25, 0.6])
# How probable it is that a row has habits of its own, and the κ of such a row. Without it, κ is learned from all rows,
# and twenty classes whose mistakes go everywhere made three equal mistakes of another count for next to nothing.
WILD, WILD_KAPPA = 0.1, 2.0
# Beyond this log evidence a row is wild for certain.
_MOST = 50.0
# Steps to the w, and a change of log w that is small enough.
_STEPS, _NEAR = 12, 0.01


class Shown(NamedTuple):
    """The mistakes that labels showed, as entries of a table: those of a row and an outcome together.

    Parameters
    ----------
    row, outcome, n
        Row, outcome and number of each entry, three of shape (entries,).
    total
        The mistakes of each row, shape (rows,).
    """

    row: NDArray[np.intp]
    outcome: NDArray[np.intp]
    n: NDArray[np.float64]
    total: NDArray[np.float64]

    @classmethod
    def of(cls, counts: NDArray[np.float64]) -> Shown:
        """The entries of a table of shape (rows, outcomes)."""
        row, outcome = np.nonzero(counts)
        return cls(row, outcome, counts[row, outcome], counts.sum(axis=1))

    def at(self, m: NDArray[np.float64]) -> NDArray[np.float64]:
        """The shares at the entries: (..., rows, outcomes) to (..., entries)."""
        return m[..., self.row, self.outcome]

    def fits(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """The log evidence at each κ, given the shares at the entries: (..., entries) to (κs, ...)."""
        kappa = KAPPAS.reshape(-1, *[1] * share.ndim)
        alpha, once = kappa * share, self.n == 1
        again, n = alpha[..., ~once], self.n[~once]
        value = np.log(alpha[..., once]).sum(axis=-1) + (gammaln(again + n) - gammaln(again)).sum(axis=-1)
        of_rows = len(self.total) * gammaln(KAPPAS) - gammaln(KAPPAS[:, None] + self.total).sum(axis=1)
        return value + of_rows.reshape(kappa.shape[:-1])

    def wilder(self, share: NDArray[np.float64], kappa: float) -> NDArray[np.float64]:
        """By how much this κ explains each row better than those of the grid: (..., entries) to (κs, ..., rows).

        It is a difference of log evidence, at most `_MOST`.
        """

        def explained(kappa: float) -> NDArray[np.float64]:
            alpha = kappa * share
            return _sums(gammaln(alpha + self.n) - gammaln(alpha), self.row, len(self.total)) + (
                gammaln(kappa) - gammaln(kappa + self.total)
            )

        by_wild = explained(kappa)
        return np.minimum(np.stack([by_wild - explained(usual) for usual in KAPPAS.tolist()]), _MOST)

    def informative(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        """How many mistakes of each entry say something about w, shape (..., entries).

        Those that only repeat what their row is known for do not: for n equal ones it is α(ψ(α + n) − ψ(α)), α = κ m.
        """
        informative, more = np.ones_like(alpha), self.n != 1
        informative[..., more] = alpha[..., more] * (psi(alpha[..., more] + self.n[more]) - psi(alpha[..., more]))
        return informative


class Habits(NamedTuple):
    """How probably each row has habits of its own, and what that adds to the log evidence.

    Shapes: wild (κs, ..., rows), added (κs, ...).
    """

    wild: NDArray[np.float64]
    added: NDArray[np.float64]

    @classmethod
    def of(cls, shown: Shown, share: NDArray[np.float64]) -> Self:
        """Given the shares that are expected at the entries, (..., entries)."""
        better = shown.wilder(share, WILD_KAPPA)
        return cls(expit(better + logit(WILD)), np.logaddexp(np.log1p(-WILD), np.log(WILD) + better).sum(axis=-1))


class Columns:
    """How much more often each class is missed than expected, for each power and each σ > 0.

    By log w_j the log evidence has the derivative T_j − w_j X_j: T_j is how many mistakes showed j
    (`Shown.informative`), and X_j how many were to be expected with w_j = 1. So w_j has nearly the posterior
    Gamma(1/σ² + T_j, 1/σ² + X_j).

    Parameters
    ----------
    m
        The expected shares with all w = 1 of the rows with mistakes, shape (powers, rows, outcomes).
    shown
        The mistakes that labels showed.
    prior
        1/σ² of each outcome, shape (powers, σs, outcomes).
    """

    def __init__(self, m: NDArray[np.float64], shown: Shown, prior: NDArray[np.float64]) -> None:
        self.m, self.shown, self.prior = m, shown, prior
        self.w, self.shape = np.ones_like(prior), prior

    def at(self) -> NDArray[np.float64]:
        """The shares at the entries with the present w, shape (powers, σs, entries)."""
        total = self.w @ self.m.swapaxes(1, 2)
        return self.w[..., self.shown.outcome] * self.shown.at(self.m)[:, None] / total[..., self.shown.row]

    def fits(self) -> NDArray[np.float64]:
        """The log evidence with the present w, shape (κs, powers, σs)."""
        return self.shown.fits(self.at())

    def learn(self, kappa: NDArray[np.float64], wild: NDArray[np.float64]) -> None:
        """Step to the mode of w, given κ and how probably each row is wild, for each power and σ.

        Shapes: kappa (powers, σs) or (powers, 1), and wild the same with rows as a third.
        """
        share, own = self.at(), wild[..., self.shown.row]
        informative = (1 - own) * self.shown.informative(kappa[..., None] * share)
        informative += own * self.shown.informative(np.minimum(kappa, WILD_KAPPA)[..., None] * share)
        by_row = _sums(informative, self.shown.row, self.m.shape[1])
        self.shape = self.prior + _sums(informative, self.shown.outcome, self.m.shape[2])
        for _ in range(_STEPS):
            rate = self.prior + (by_row / (self.w @ self.m.swapaxes(1, 2))) @ self.m
            before, self.w = self.w, self.shape / rate
            # Shares do not change if all w do. Of these, the prior prefers those with the mean 1.
            self.w /= (self.prior * self.w).sum(axis=-1, keepdims=True) / self.prior.sum(axis=-1, keepdims=True)
            if np.abs(np.log(self.w / before)).max(initial=0.0) < _NEAR:
                break

    def added(self) -> NDArray[np.float64]:
        """What the w add to the log evidence (Laplace), shape (powers, σs): log prior − ½ log det of the curvature.

        The curvature is that of independent Gammas, less Σ_c t_c m_c m_cᵀ, since only shares are seen; here as if the
        rows were alike.
        """
        a, informative = self.prior, self.shape - self.prior
        each = a * (np.log(a) + np.log(self.w) - self.w) - gammaln(a) + np.log(2 * np.pi / self.shape) / 2
        every = np.maximum(informative.sum(axis=-1), 1e-300)
        return each.sum(axis=-1) - np.log1p(-(informative**2 / self.shape).sum(axis=-1) / every) / 2


def _sums(values: NDArray[np.float64], place: NDArray[np.intp], places: int) -> NDArray[np.float64]:
    """Sums of the values at each place: (..., entries) to (..., places)."""
    rows = values.reshape(int(np.prod(values.shape[:-1])), len(place))
    at = np.arange(len(rows))[:, None] * places + place
    sums = np.bincount(at.ravel(), rows.ravel(), minlength=len(rows) * places).astype(float)
    return sums.reshape(*values.shape[:-1], places)
