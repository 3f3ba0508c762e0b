"""fewlabels: how good a black-box classifier is on your data, from as few labels as possible, and how sure that is."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fewlabels.errors import FewlabelsError as FewlabelsError
from fewlabels.errors import InputError as InputError
from fewlabels.errors import LabelError as LabelError
from fewlabels.errors import PoolChangedError as PoolChangedError
from fewlabels.errors import SpecError as SpecError
from fewlabels.errors import StoreError as StoreError
from fewlabels.errors import WrongNameError as WrongNameError

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment as Assessment
    from fewlabels.beginning import create as create
    from fewlabels.beginning import load as load
    from fewlabels.belief import Belief as Belief
    from fewlabels.data import load_digits as load_digits
    from fewlabels.data import load_fashion as load_fashion
    from fewlabels.findings.classes import ClassReport as ClassReport
    from fewlabels.findings.fairness import Fairness as Fairness
    from fewlabels.gate import Check as Check
    from fewlabels.gate import Rule as Rule
    from fewlabels.interop import Annotation as Annotation
    from fewlabels.interop import log_results as log_results
    from fewlabels.interop import pool_from_estimator as pool_from_estimator
    from fewlabels.interop import read_annotations as read_annotations
    from fewlabels.interop import read_label_studio as read_label_studio
    from fewlabels.interop import tell_annotations as tell_annotations
    from fewlabels.interop import to_datatree as to_datatree
    from fewlabels.interop import write_label_studio as write_label_studio
    from fewlabels.interop import write_tasks as write_tasks
    from fewlabels.io import read_labels as read_labels
    from fewlabels.io import read_pool as read_pool
    from fewlabels.labelling.agreement import Agreement as Agreement
    from fewlabels.labelling.batch import Batch as Batch
    from fewlabels.labelling.batch import Request as Request
    from fewlabels.labelling.progress import Dispute as Dispute
    from fewlabels.metrics import *  # noqa: F403 - a part is named once, in the package of its family
    from fewlabels.noise import Reliability as Reliability
    from fewlabels.partition import Partition as Partition
    from fewlabels.partition import by_column as by_column
    from fewlabels.partition import by_map as by_map
    from fewlabels.partition import by_predicted as by_predicted
    from fewlabels.partition import by_score as by_score
    from fewlabels.partition import cross as cross
    from fewlabels.partition import whole as whole
    from fewlabels.parts import register as register
    from fewlabels.planning import Forecast as Forecast
    from fewlabels.planning import Plan as Plan
    from fewlabels.planning import forecast as forecast
    from fewlabels.planning import plan as plan
    from fewlabels.plots import Display as Display
    from fewlabels.policies import *  # noqa: F403
    from fewlabels.pool import Pool as Pool
    from fewlabels.priors import Informed as Informed
    from fewlabels.priors import Learned as Learned
    from fewlabels.priors import Prior as Prior
    from fewlabels.priors import Uniform as Uniform
    from fewlabels.simulation.methods import Method as Method
    from fewlabels.simulation.study import simulate as simulate
    from fewlabels.standing import Standing as Standing
    from fewlabels.stopping import Stop as Stop
    from fewlabels.store import DamagedError as DamagedError
    from fewlabels.store import Store as Store
    from fewlabels.store import UnsureError as UnsureError
    from fewlabels.store.address import NoFileError as NoFileError
    from fewlabels.store.people import People as People
    from fewlabels.table import Table as Table
    from fewlabels.tasks import *  # noqa: F403

    from . import testing as testing

__version__ = "0.1.0"

# The module of each name. A module is imported when one of its names is first used, so that the command line starts
# at once and loads the Arrow, database and compiler libraries only when they are needed.
_NAMES = {
    "assessment": ("Assessment",),
    "beginning": ("create", "load"),
    "belief": ("Belief",),
    "data": ("load_digits", "load_fashion"),
    "errors": (
        "FewlabelsError",
        "InputError",
        "LabelError",
        "PoolChangedError",
        "SpecError",
        "StoreError",
        "WrongNameError",
    ),
    "findings.classes": ("ClassReport",),
    "findings.fairness": ("Fairness",),
    "gate": ("Check", "Rule"),
    "interop": (
        "Annotation",
        "log_results",
        "pool_from_estimator",
        "read_annotations",
        "read_label_studio",
        "tell_annotations",
        "to_datatree",
        "write_label_studio",
        "write_tasks",
    ),
    "io": ("read_labels", "read_pool"),
    "labelling.agreement": ("Agreement",),
    "labelling.batch": ("Batch", "Request"),
    "labelling.progress": ("Dispute",),
    "metrics": ("Metric",),
    "noise": ("Reliability",),
    "partition": ("Partition", "by_column", "by_map", "by_predicted", "by_score", "cross", "whole"),
    "parts": ("register",),
    "planning": ("Forecast", "Plan", "forecast", "plan"),
    "plots": ("Display",),
    "policies": ("Policy",),
    "pool": ("Pool",),
    "priors": ("Prior",),
    "simulation.methods": ("Method",),
    "simulation.study": ("simulate",),
    "standing": ("Standing",),
    "stopping": ("Stop",),
    "store": ("DamagedError", "Store", "UnsureError"),
    "store.address": ("NoFileError",),
    "store.people": ("People",),
    "table": ("Table",),
    "tasks": ("Answer", "Task"),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "testing":
        return import_module("fewlabels.testing")
    if name in _MODULE_OF:
        value: Any = getattr(import_module(f"fewlabels.{_MODULE_OF[name]}"), name)
    else:
        # Metrics, tasks, policies and priors have their names from the packages of their families.
        parts = {} if name.startswith("_") and name != "__all__" else import_module("fewlabels.parts").own()
        if name not in {*parts, "__all__"}:
            import difflib

            # Programs that look for names with underscores, such as test runners, do so thousands of times.
            near = [] if name.startswith("_") else difflib.get_close_matches(name, [*_MODULE_OF, *parts], 1)
            hint = f". Did you mean {near[0]!r}?" if near else ""
            raise AttributeError(f"module 'fewlabels' has no attribute {name!r}{hint}", name=name)
        value = sorted([*_MODULE_OF, *parts]) if name == "__all__" else parts[name]
    globals()[name] = value  # the next lookup finds it directly
    return value


def __dir__() -> list[str]:
    return sorted([*__getattr__("__all__"), "__version__", "testing"])
