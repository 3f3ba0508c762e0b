"""The metrics: the numbers that questions are about. A metric is a file here, and its line below."""

from fewlabels.metrics.accuracy import Accuracy as Accuracy
from fewlabels.metrics.base import Metric as Metric
from fewlabels.metrics.calibration import CalibrationError as CalibrationError
from fewlabels.metrics.confusion import Confusion as Confusion
from fewlabels.metrics.cost import Cost as Cost
from fewlabels.metrics.kappa import Kappa as Kappa
from fewlabels.metrics.prevalence import Prevalence as Prevalence
from fewlabels.metrics.rates import F1 as F1
from fewlabels.metrics.rates import FalsePositiveRate as FalsePositiveRate
from fewlabels.metrics.rates import Precision as Precision
from fewlabels.metrics.rates import Recall as Recall
from fewlabels.metrics.rates import TruePositiveRate as TruePositiveRate
