"""How metrics are displayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fewlabels.metrics import Metric

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
