"""fewlabels: how good a black-box classifier is on your data, from as few labels as possible, and how sure that is."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fewlabels.errors import (
    FewlabelsError,
    InputError,
    LabelError,
    PoolChangedError,
    SpecError,
    StoreError,
)

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment, create, load
    from fewlabels.belief import Belief
    from fewlabels.data import load_digits, load_fashion
    from fewlabels.interop import pool_from_estimator, read_label_studio, to_datatree, write_label_studio
    from fewlabels.io import read_labels, read_pool
    from fewlabels.labelling.batch import Batch, Request
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
    from fewlabels.planning import forecast, plan
    from fewlabels.policies import UCB, Boundary, EpsilonGreedy, Greedy, Thompson, TopTwo, UniformGroups, UniformItems
    from fewlabels.pool import Pool
    from fewlabels.priors import Informed, Learned, Uniform
    from fewlabels.simulation.study import simulate
    from fewlabels.stopping import Stop
    from fewlabels.store import Store
    from fewlabels.store.people import People
    from fewlabels.table import Table
    from fewlabels.tasks import Answer, Compare, Estimate, Identify

__version__ = "0.1.0"

# Where the names are. A module is imported when one of its names is first used, so that the command line starts
# at once and nobody waits for the Arrow, database or compiler library who does not need it.
_NAMES = {
    "assessment": ("Assessment", "create", "load"),
    "labelling.batch": ("Batch", "Request"),
    "belief": ("Belief",),
    "data": ("load_digits", "load_fashion"),
    "interop": ("pool_from_estimator", "read_label_studio", "to_datatree", "write_label_studio"),
    "io": ("read_labels", "read_pool"),
    "metrics": (
        "F1",
        "Accuracy",
        "CalibrationError",
        "Confusion",
        "Cost",
        "FalsePositiveRate",
        "Precision",
        "Recall",
        "TruePositiveRate",
    ),
    "partition": ("Partition", "by_column", "by_map", "by_predicted", "by_score", "cross", "whole"),
    "policies": ("UCB", "Boundary", "EpsilonGreedy", "Greedy", "Thompson", "TopTwo", "UniformGroups", "UniformItems"),
    "store.people": ("People",),
    "planning": ("forecast", "plan"),
    "pool": ("Pool",),
    "priors": ("Informed", "Learned", "Uniform"),
    "simulation.study": ("simulate",),
    "stopping": ("Stop",),
    "store": ("Store",),
    "table": ("Table",),
    "tasks": ("Answer", "Compare", "Estimate", "Identify"),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "F1",
    "UCB",
    "Accuracy",
    "Answer",
    "Assessment",
    "Batch",
    "Belief",
    "Boundary",
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
    "Learned",
    "Partition",
    "People",
    "Pool",
    "PoolChangedError",
    "Precision",
    "Recall",
    "Request",
    "SpecError",
    "Stop",
    "Store",
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
    "forecast",
    "load",
    "load_digits",
    "load_fashion",
    "plan",
    "pool_from_estimator",
    "read_label_studio",
    "read_labels",
    "read_pool",
    "simulate",
    "to_datatree",
    "whole",
    "write_label_studio",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'fewlabels' has no attribute {name!r}")
    value = getattr(import_module(f"fewlabels.{_MODULE_OF[name]}"), name)
    globals()[name] = value  # the next time it is found without asking
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
