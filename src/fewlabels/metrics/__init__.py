"""The metrics: what is asked about each group."""

from fewlabels.metrics.accuracy import Accuracy
from fewlabels.metrics.base import Metric
from fewlabels.metrics.calibration import CalibrationError
from fewlabels.metrics.confusion import Confusion
from fewlabels.metrics.cost import Cost
from fewlabels.metrics.rates import F1, FalsePositiveRate, Precision, Recall, TruePositiveRate

__all__ = [
    "F1",
    "Accuracy",
    "CalibrationError",
    "Confusion",
    "Cost",
    "FalsePositiveRate",
    "Metric",
    "Precision",
    "Recall",
    "TruePositiveRate",
]
