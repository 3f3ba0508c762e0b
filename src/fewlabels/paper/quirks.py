"""The points in which the authors' program differs from the paper's text, for `--as-published`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.partition import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.pool import Pool

NO_PRIOR = 1e-6
"""The total weight of "UPrior" in the estimation tables; the text says 2, and 1 for a confusion matrix."""

LATE = 10
"""The estimation tables' row "N" was read after N + 10 labels."""

CONFUSION_WEIGHT = 0.5
"""The weight of the informed prior that reproduces the confusion table. It was found by trying; the text says 1."""

STOP = 0.9
"""The share of the pool after which runs that look for the least calibrated classes ended."""

GRID = 100
"""Calibration and cost were looked at every hundred labels."""


def rank_bins(pool: Pool, bins: int = 10) -> Partition:
    """Score bins of equal weight by rank, equal scores split, and the most confident item in the lowest bin.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.0, 1.0]])
    >>> rank_bins(pool, bins=2).group
    array([1, 0, 0, 0], dtype=int32)
    """
    assert pool.confidence is not None
    order = np.argsort(pool.confidence, kind="stable")
    group = np.empty(len(pool), dtype=np.int32)
    group[order] = np.arange(len(pool)) * bins // len(pool)
    group[order[-1]] = 0
    names = tuple(f"bin {b + 1}" for b in range(bins))
    return Partition(names, group, {"by": "score", "bins": bins, "equal": "rank"})


def equal_width_ece(confidence: NDArray[np.float64], right: NDArray[np.bool_], bins: int) -> float:
    """Σ_b p_b |accuracy_b − mean confidence_b| over bins of equal width: the ECE table's true value has 20.

    >>> import numpy as np
    >>> equal_width_ece(np.array([0.9, 0.95, 0.55]), np.array([True, True, False]), 10).round(3)
    np.float64(0.233)
    """
    bin_of = np.clip((confidence * bins).astype(int), 0, bins - 1)
    gap = np.bincount(bin_of, right - confidence, minlength=bins)
    return np.abs(gap).sum() / len(confidence)
