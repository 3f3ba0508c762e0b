"""The outcome shares that a classifier expects in cells whose outcomes are classes, as given and tempered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Powers b at which sums over all outcomes are kept; between them four neighbours are interpolated, to 1e-4 or better.
_STEP = 0.2
POWERS = np.arange(-0.6, 2.7, _STEP)
# What is expected of a classifier that gives no scores.
_RIGHT = 0.8
# A score of 0 does not make an outcome impossible.
_FLOOR = 1e-3


@dataclass(frozen=True, eq=False)
class Expectation:
    """The outcome shares that the classifier expects in each cell.

    With scores to the power b the log-odds of being right are b·log e_cr − log Σ_{j≠r} e_cj^b, and given that it is
    wrong the other outcomes share what is left as e_cj^b.

    Parameters
    ----------
    log_share
        Logarithm of the expected shares e, −inf where an outcome cannot occur, shape (cells, outcomes).
    right
        The outcome r that a right prediction shows, shape (cells,).
    size
        Items in each cell, shape (cells,).
    said
        Whether these are the classifier's own scores, and not what is usual.
    known
        Where these are some cells of a pool: its levels and their own sums, at all powers.
    """

    log_share: NDArray[np.float64]
    right: NDArray[np.int64]
    size: NDArray[np.int64]
    said: bool = True
    known: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    def rows(self, cells: slice | NDArray[np.intp]) -> Expectation:
        """The expectation for some of the cells."""
        known = self._levels, self._log_rest[:, cells]
        return Expectation(self.log_share[cells], self.right[cells], self.size[cells], self.said, known)

    @property
    def confidence(self) -> float:
        """How often the classifier expects to be right, over all items."""
        return float(self.size @ np.exp(self.top) / self.size.sum())

    @cached_property
    def top(self) -> NDArray[np.float64]:
        """log e of the right outcome, shape (cells,)."""
        return self.log_share[np.arange(len(self.right)), self.right]

    @cached_property
    def _possible(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """log e with 0 where an outcome is right or cannot occur, and where that is; two of (cells, outcomes)."""
        out = ~np.isfinite(self.log_share)
        out[np.arange(len(out)), self.right] = True
        return np.where(out, 0.0, self.log_share), out

    def powered(self, b: float) -> NDArray[np.float64]:
        """e_j^b of all outcomes but the right one, 0 for that, shape (cells, outcomes)."""
        log_share, out = self._possible
        power = b * log_share
        np.exp(power, out=power)
        power[out] = 0.0
        return power

    def others(self, b: float) -> NDArray[np.float64]:
        """The shares of the other outcomes among wrong predictions, 0 for the right one, shape (cells, outcomes)."""
        power = self.powered(b)
        power /= np.maximum(power.sum(axis=1, keepdims=True), 1e-300)
        return power

    @cached_property
    def _log_rest(self) -> NDArray[np.float64]:
        """log Σ_{j≠r} e_j^b at all powers, shape (powers, cells)."""
        if self.known is not None:
            return self.known[1]
        return np.log(np.maximum([self.powered(b).sum(axis=1) for b in POWERS.tolist()], 1e-300))

    @cached_property
    def _levels(self) -> NDArray[np.float64]:
        """The level (see `odds`) at all powers, shape (powers,)."""
        if self.known is not None:
            return self.known[0]
        odds, weight = POWERS[:, None] * self.top - self._log_rest, self.size / self.size.sum()
        low, high = np.full(len(POWERS), -60.0), np.full(len(POWERS), 60.0)
        for _ in range(60):
            middle = (low + high) / 2
            under = expit(middle[:, None] + odds) @ weight < self.confidence
            low, high = np.where(under, middle, low), np.where(under, high, middle)
        return (low + high) / 2

    def odds(self, a: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The log-odds of being right at points (a, b), and log Σ_{j≠r} e_j^b; two of shape (points, cells).

        log-odds = a + level(b) + b·log e_r − log Σ_{j≠r} e_j^b, with the level at which, for a = 0, all items together
        are right as often as expected: sharpening or flattening scores by b alone does not claim that the classifier is
        better or worse than it says.
        """
        powers, at = np.unique(b, return_inverse=True)
        rest = between(self._log_rest, powers)
        alone = between(self._levels, powers)[:, None] + powers[:, None] * self.top - rest
        return a[:, None] + alone[at], rest[at]


def expectation(
    shares: NDArray[np.float64] | None, blank: NDArray[np.float64], right: NDArray[np.int64], size: NDArray[np.int64]
) -> Expectation:
    """Make the expectation from the classifier's expected shares, if it has any, shape (cells, outcomes)."""
    said = shares is not None
    if shares is None:
        shares = (1 - _RIGHT) * blank
        shares[np.arange(len(right)), right] += _RIGHT
    base = np.where(blank > 0, (1 - _FLOOR) * shares + _FLOOR * blank, 0.0)
    with np.errstate(divide="ignore"):
        return Expectation(np.log(base / base.sum(axis=1, keepdims=True)), right, size, said)


def between(values: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values at powers b, shape (points, ...), from those at POWERS: the cubic through the four nearest.

    >>> between(POWERS**3, np.array([0.5, 1.5])).round(6)
    array([0.125, 3.375])
    """
    place = (b - POWERS[0]) / _STEP
    first = np.clip(np.floor(place).astype(int) - 1, 0, len(POWERS) - 4)
    t = place - first
    weights = [
        -(t - 1) * (t - 2) * (t - 3) / 6,
        t * (t - 2) * (t - 3) / 2,
        -t * (t - 1) * (t - 3) / 2,
        t * (t - 1) * (t - 2) / 6,
    ]
    shape = (-1,) + (1,) * (values.ndim - 1)
    out: NDArray[np.float64] = sum(w.reshape(shape) * values[first + k] for k, w in enumerate(weights))
    return out
