"""Metrics for the eye, and from how many labels on a number is the group's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fewlabels.metrics import Metric

FEW = 5
"""With fewer labels a group's number says more of the prior than of the group."""
HOLLOW = "few labels"
"""What a hollow point means."""


@dataclass(frozen=True)
class Measure:
    """A metric for the eye: its name, whether it is a share (shown in percent), and whether high values are bad."""

    name: str
    share: bool
    high_is_bad: bool


def measure(metric: Metric) -> Measure:
    """What a metric is called and how its values are shown.

    >>> import fewlabels as fl
    >>> measure(fl.FalsePositiveRate("high risk"))
    Measure(name='false positive rate of high risk', share=True, high_is_bad=True)
    """
    return Measure(metric.name, metric.in_percent, metric.high_is_bad)


def is_thin(labelled: int, n: int, target: str) -> bool:
    """Whether a group has fewer than 5 labels; one of the pool itself that is fully labelled is known, however small.

    >>> is_thin(3, 40, "population"), is_thin(3, 3, "pool"), is_thin(5, 40, "pool")
    (True, False, False)
    """
    return labelled < FEW and not (target == "pool" and labelled >= n)
