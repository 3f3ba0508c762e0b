"""Backing: the fewest labels needed before a number counts as a group's own, or before a claim may be acted on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.metrics.base import Metric

FEW = 5
"""With fewer labels than this, a group's number says more about the prior than about the group."""
ENOUGH = 10
"""With fewer labels drawn at random from all items, the number over all of them rests on the scores."""
MOST = 0.5
"""The largest share of items in groups with hardly any labels, if no label was drawn at random from all items."""


def is_thin(labelled: int, n: int, target: str) -> bool:
    """Return whether a group has fewer than 5 labels.

    If the target is the pool itself, a fully labelled group is known, however small it is.

    >>> is_thin(3, 40, "population"), is_thin(3, 3, "pool"), is_thin(3, 3, "population"), is_thin(5, 40, "pool")
    (True, False, True, False)
    """
    return labelled < FEW and not (target == "pool" and labelled >= n)


def is_backed(labelled: int, n: int, target: str) -> bool:
    """Whether something may be called sure of a group: it has items, and labels of its own.

    >>> is_backed(5, 90, "population"), is_backed(2, 2, "pool"), is_backed(2, 2, "population"), is_backed(0, 0, "pool")
    (True, True, False, False)
    """
    return n > 0 and not is_thin(labelled, n, target)


def own_labels(metric: Metric, counts: NDArray[np.float64], cells: Cells) -> NDArray[np.int64]:
    """How many labels each group's number is about, shape (groups,), from labels of shape (cells, outcomes).

    All labels of the group count, except for a share of some of its items: the recall of a class is about the labels
    that are truly of that class.
    """
    share = metric.labels_of(counts, cells)
    return np.rint(cells.total(counts.sum(axis=-1)) if share is None else share[1]).astype(np.int64)


def backed_groups(metric: Metric, belief: Belief, cells: Cells) -> NDArray[np.bool_]:
    """Which groups are backed by labels of their own that the metric is about, as booleans of shape (groups,)."""
    labelled = np.rint(cells.total(belief.counts.sum(axis=-1))).astype(np.int64)
    sizes = cells.partition.sizes
    known = labelled >= sizes if belief.target == "pool" else np.zeros(len(sizes), dtype=bool)
    return (sizes > 0) & ((own_labels(metric, belief.counts, cells) >= FEW) | known)


def is_average_backed(metric: Metric, belief: Belief, cells: Cells, at_random: float) -> bool:
    """Whether labels back the average over all groups.

    They do if enough of them were drawn at random from all items, or if most items are in groups that have labels of
    their own; and there must be a few that the metric is about. Otherwise what was assumed before any label, or the
    scores, would decide it.
    """
    bare = float(cells.partition.shares[~backed_groups(metric, belief, cells)].sum())
    few = int(own_labels(metric, belief.counts, cells).sum()) < FEW
    return bare == 0 or (not few and (at_random >= ENOUGH or bare <= MOST))
