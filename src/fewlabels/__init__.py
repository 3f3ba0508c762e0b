"""fewlabels: how good a black-box classifier is on your data, from as few labels as possible, and how sure that is."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fewlabels.belief import Belief
from fewlabels.data import load_digits
from fewlabels.errors import (
    FewlabelsError,
    InputError,
    LabelError,
    PoolChangedError,
    SpecError,
    StoreError,
)
from fewlabels.metrics import (
    F1,
    Accuracy,
    CalibrationError,
    Confusion,
    Cost,
    FalsePositiveRate,
    Precision,
    Recall,
    TruePositiveRate,
)
from fewlabels.partition import Partition, by_column, by_map, by_predicted, by_score, cross, whole
from fewlabels.policies import UCB, EpsilonGreedy, Greedy, Thompson, TopTwo, UniformGroups, UniformItems
from fewlabels.pool import Pool
from fewlabels.priors import Informed, Uniform
from fewlabels.table import Table
from fewlabels.tasks import Answer, Compare, Estimate, Identify

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment, create, load
    from fewlabels.batch import Batch, Request
    from fewlabels.io import read_labels, read_pool

# What needs the Arrow or database library is imported when it is first used.
_LAZY = {
    "Assessment": "assessment",
    "Batch": "batch",
    "Request": "batch",
    "create": "assessment",
    "load": "assessment",
    "read_labels": "io",
    "read_pool": "io",
}

__version__ = "0.1.0"

__all__ = [
    "F1",
    "UCB",
    "Accuracy",
    "Answer",
    "Assessment",
    "Batch",
    "Belief",
    "CalibrationError",
    "Compare",
    "Confusion",
    "Cost",
    "EpsilonGreedy",
    "Estimate",
    "FalsePositiveRate",
    "FewlabelsError",
    "Greedy",
    "Identify",
    "Informed",
    "InputError",
    "LabelError",
    "Partition",
    "Pool",
    "PoolChangedError",
    "Precision",
    "Recall",
    "Request",
    "SpecError",
    "StoreError",
    "Table",
    "Thompson",
    "TopTwo",
    "TruePositiveRate",
    "Uniform",
    "UniformGroups",
    "UniformItems",
    "by_column",
    "by_map",
    "by_predicted",
    "by_score",
    "create",
    "cross",
    "load",
    "load_digits",
    "read_labels",
    "read_pool",
    "whole",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name in _LAZY:
        return getattr(import_module(f"fewlabels.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'fewlabels' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
