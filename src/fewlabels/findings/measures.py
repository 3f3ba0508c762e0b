"""How metrics are displayed, and how many labels make a number the group's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fewlabels.metrics import Metric

FEW = 5
"""With fewer labels than this, a group's number says more about the prior than about the group."""
HOLLOW = "few labels"
"""The meaning of a hollow point in a plot."""


@dataclass(frozen=True)
class Measure:
    """How a metric is displayed: its name, whether it is a share (shown in percent), and whether high is bad."""

    name: str
    share: bool
    high_is_bad: bool


def measure(metric: Metric) -> Measure:
    """Return a metric's name and how its values are displayed.

    >>> import fewlabels as fl
    >>> measure(fl.FalsePositiveRate("high risk"))
    Measure(name='false positive rate of high risk', share=True, high_is_bad=True)
    """
    return Measure(metric.name, metric.in_percent, metric.high_is_bad)


def is_thin(labelled: int, n: int, target: str) -> bool:
    """Return whether a group has fewer than 5 labels.

    If the target is the pool itself, a fully labelled group is known, however small it is.

    >>> is_thin(3, 40, "population"), is_thin(3, 3, "pool"), is_thin(5, 40, "pool")
    (True, False, False)
    """
    return labelled < FEW and not (target == "pool" and labelled >= n)
