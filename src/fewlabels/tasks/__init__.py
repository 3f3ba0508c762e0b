"""The tasks: what the metric is asked for."""

from fewlabels.tasks.base import Answer, Rewards, Task
from fewlabels.tasks.compare import Compare
from fewlabels.tasks.estimate import Estimate
from fewlabels.tasks.identify import Identify
from fewlabels.tasks.rope import pool_rope_probabilities, rope_probabilities

__all__ = [
    "Answer",
    "Compare",
    "Estimate",
    "Identify",
    "Rewards",
    "Task",
    "pool_rope_probabilities",
    "rope_probabilities",
]
