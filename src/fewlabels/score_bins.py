"""Bins of the confidence: in which of them each item is, and the scores at which they begin and end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.errors import Argument, InputError
from fewlabels.reserve import BINS, EDGES, items_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.pool import Pool
    from fewlabels.reserve import Reserve


def score_bins(pool: Pool, bins: int, equal: str) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The bin of each item, shape (items,), and the bins' lowest and highest score, shape (bins, 2)."""
    if pool.confidence is None:
        raise InputError(
            f"the pool (from {pool.source}) has predicted classes but no confidence, so it has no score bins. "
            "Read it with ",
            Argument("scores"),
            " or ",
            Argument("confidence"),
            ".",
        )
    if pool.reserve is not None:
        bin_, edges = _joined_bins(pool.reserve, bins, equal)
        return bin_[pool.reserve.of_row], edges
    score = pool.confidence
    if equal == "width":
        edge = np.arange(bins + 1) / bins
        group = np.clip(np.searchsorted(edge, score, side="right") - 1, 0, bins - 1)
        return group.astype(np.int32), np.column_stack([edge[:-1], edge[1:]])
    ordered = np.sort(score)
    # An item's rank is that of the first item with its score, so equal scores share a bin.
    rank = np.searchsorted(ordered, score, side="left")
    used, group = np.unique(rank * bins // max(len(score), 1), return_inverse=True)
    # A bin is a stretch of the ordered scores.
    size = np.bincount(group, minlength=len(used))
    last = np.cumsum(size) - 1
    return group.astype(np.int32), np.column_stack([ordered[last - size + 1], ordered[last]])


def _joined_bins(reserve: Reserve, bins: int, equal: str) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The bin of each unit, shape (units,), and the bins' ends: fine bins, joined. Which they are, the units decide."""
    if equal == "width":
        edge = np.arange(bins + 1) / bins
        middle = (EDGES[1:] + EDGES[:-1]) / 2
        joined = np.clip(np.searchsorted(edge, middle, side="right") - 1, 0, bins - 1)
        return joined[reserve.bin].astype(np.int32), np.column_stack([edge[:-1], edge[1:]])
    size = items_of(reserve.bin, BINS, reserve.size)
    filled = np.flatnonzero(size)
    below = np.cumsum(size) - size
    used, joined = np.unique(below[filled] * bins // max(int(size.sum()), 1), return_inverse=True)
    last = np.searchsorted(joined, np.arange(len(used)), side="right") - 1
    first = np.searchsorted(joined, np.arange(len(used)))
    place = np.zeros(BINS, dtype=np.int32)
    place[filled] = joined
    return place[reserve.bin], np.column_stack([EDGES[filled[first]], EDGES[filled[last] + 1]])


def bin_names(edges: NDArray[np.float64]) -> tuple[str, ...]:
    """Names with three digits, or as many as it takes to distinguish the bins."""
    for digits in range(3, 18):
        names = tuple(f"{low:.{digits}f}-{high:.{digits}f}" for low, high in edges)
        if len(set(names)) == len(names):
            return names
    return tuple(f"bin {b + 1}" for b in range(len(edges)))
