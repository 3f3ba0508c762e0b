"""How probable it is that groups do not differ at all, by their labels: the largest of many gaps may be chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.partition import numbered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Counts = tuple[NDArray[np.int64], NDArray[np.int64]]

# How probable it is before any label that all groups are alike. With it, the largest gap is called 95% probable in at
# most 5% of runs where groups do not differ (`benchmarks/gaps.py`); with twice as much it takes more labels where they
# do.
ALIKE = 0.05
# If they are not, either each differs from the others, by one of these standard deviations in log-odds, as groups by
# columns do in the learned prior; or just one does, by this much.
_TAUS, _TAU_SHARES = np.array([0.2, 0.43, 0.9, 2.0]), np.array([0.25, 0.35, 0.25, 0.15])
_ODD = 1.5
# What groups have in common, in log-odds, and how probable each is.
_LEVELS = np.linspace(-8, 8, 49)
_LEVEL_SHARES = np.exp(-((_LEVELS - 1) ** 2) / 8)
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)


def all_alike(each: Sequence[Counts]) -> float:
    """The probability that groups do not differ, from k of n labels of each group, two of shape (groups,).

    There may be several such counts, of which one or another may show that groups differ.

    >>> n = np.full(4, 40)
    >>> round(all_alike([(np.array([33, 35, 34, 33]), n)]), 2), round(all_alike([(np.array([12, 35, 34, 33]), n)]), 2)
    (0.12, 0.0)
    """
    odds = (1 - ALIKE) / ALIKE * float(np.mean([np.exp(min(_evidence(k, n), 500.0)) for k, n in each]))
    return 1 / (1 + odds)


def _evidence(k: NDArray[np.int64], n: NDArray[np.int64]) -> float:
    """The log Bayes factor of groups that differ (half: all do; half: one does) against groups that are alike."""
    if len(k) < 2:
        return 0.0
    width = int(n.max()) + 1
    pairs, place = numbered(k.astype(np.int64) * width + n)  # many groups have the same counts
    times = np.bincount(place)
    right, labels = (part.astype(float) for part in (pairs // width, pairs % width))
    level = np.log(_LEVEL_SHARES / _LEVEL_SHARES.sum())
    same = _fits(_LEVELS, right, labels)
    alike = _summed(level + same @ times)
    spread = _LEVELS[:, None, None] + np.append(_TAUS, _ODD)[:, None] * _NODES
    own = _summed(_fits(spread, right, labels) + np.log(_WEIGHTS / _WEIGHTS.sum())[:, None], axis=2)
    all_differ = _summed(level[:, None] + own[:, :-1] @ times + np.log(_TAU_SHARES))
    one_differs = _summed(level[:, None] + (same @ times)[:, None] - same + own[:, -1] + np.log(times / len(n)))
    return float(np.logaddexp(all_differ, one_differs) - np.log(2) - alike)


def _fits(log_odds: NDArray[np.float64], k: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """The log-likelihood of k of n at some log-odds, shape (*log_odds, pairs)."""
    fits: NDArray[np.float64] = log_odds[..., None] * k - n * np.logaddexp(0, log_odds)[..., None]
    return fits


def _summed(logs: NDArray[np.float64], axis: int | None = None) -> NDArray[np.float64]:
    """log Σ exp, along an axis or over all."""
    most = logs.max(axis=axis, keepdims=True)
    summed: NDArray[np.float64] = np.log(np.exp(logs - most).sum(axis=axis)) + np.squeeze(most, axis)
    return summed
