"""The classes that are confused most often, from the estimates of a confusion matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.tasks.grounds import Confused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.table import Table
    from fewlabels.tasks.grounds import GroupRow

MOST = 20
"""The largest number of pairs of classes to report."""


def confused(estimates: Table, rows: Sequence[GroupRow]) -> tuple[Confused, ...]:
    """Return the pairs with the largest shares, from groups whose number is known.

    Where the groups are the predicted classes crossed with something else, the largest share of each group is taken
    to be the right predictions.
    """
    known = {row.group for row in rows if row.is_known}
    group, true = np.array(estimates["group"], dtype=object), np.array(estimates["true"], dtype=object)
    mean = np.array([np.nan if value is None else value for value in estimates["mean"]])
    right = group == true
    if not right.any():
        width = len(set(estimates["true"]))
        right = (mean.reshape(-1, width) == mean.reshape(-1, width).max(axis=1, keepdims=True)).ravel()
    mistakes = np.flatnonzero(~right & (mean > 0) & np.array([name in known for name in group]))
    top = mistakes[np.argsort(-mean[mistakes], kind="stable")[:MOST]]
    low, high = estimates["low"], estimates["high"]
    return tuple(Confused(group[i], true[i], float(mean[i]), low[i], high[i]) for i in top.tolist())
