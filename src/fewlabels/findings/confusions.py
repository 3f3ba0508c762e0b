"""Which classes are mixed up most, from the estimates of a confusion matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.findings.formatting import Style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.findings.groups import GroupRow
    from fewlabels.table import Table

MOST = 20
"""So many pairs of classes are told."""


@dataclass(frozen=True)
class Confused:
    """Where the classifier says one class, the share that is truly another: `mean` with its interval."""

    group: str
    true: str
    mean: float
    low: float
    high: float

    @property
    def words(self) -> str:
        """The share with its interval."""
        numbers = Style(share=True)
        return f"{numbers.value(self.mean)} ({numbers.between(self.low, self.high)})"


def confused(estimates: Table, rows: Sequence[GroupRow]) -> tuple[Confused, ...]:
    """The pairs with the largest shares, in groups that have enough labels.

    Where the groups are not the predicted classes but crossed with something, the largest share of a group is taken
    for the one that is right.
    """
    known = {row.group for row in rows if row.evidence in ("enough", "scores")}
    group, true = np.array(estimates["group"], dtype=object), np.array(estimates["true"], dtype=object)
    mean = np.array([np.nan if value is None else value for value in estimates["mean"]])
    right = group == true
    if not right.any():
        width = len(set(estimates["true"]))
        right = (mean.reshape(-1, width) == mean.reshape(-1, width).max(axis=1, keepdims=True)).ravel()
    there = np.flatnonzero(~right & (mean > 0) & np.array([name in known for name in group]))
    top = there[np.argsort(-mean[there], kind="stable")[:MOST]]
    low, high = estimates["low"], estimates["high"]
    return tuple(Confused(group[i], true[i], float(mean[i]), low[i], high[i]) for i in top.tolist())
