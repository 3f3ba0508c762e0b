"""Every metric, task, policy and prior as instances: what the contract tests run over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import fewlabels as fl
from tests.support.pools import by_kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from fewlabels.belief import Target
    from fewlabels.metrics import Metric
    from fewlabels.policies import Policy
    from fewlabels.priors import Prior
    from fewlabels.tasks import Task

PRICES = tuple(map(tuple, np.random.default_rng(8).integers(-2, 3, (6, 6)).tolist()))
RATES = (fl.F1, fl.FalsePositiveRate, fl.Precision, fl.Recall)

METRICS: tuple[Metric, ...] = (
    fl.Accuracy(),
    fl.CalibrationError(),
    fl.CalibrationError(bins=3, equal="weight"),
    fl.Confusion(),
    fl.Cost(PRICES),
    fl.Cost(np.ones((6, 6))),
    *(rate(positive) for rate in RATES for positive in (None, "ant")),
    fl.Recall("fox"),
)
POLICIES: tuple[Policy, ...] = (
    fl.Boundary(),
    fl.EpsilonGreedy(0.3),
    fl.Greedy(),
    fl.Thompson(),
    fl.Thompson(plays=1),
    fl.TopTwo(),
    fl.UCB(),
    fl.UniformGroups(),
    fl.UniformItems(),
)
PRIORS: tuple[Prior, ...] = (fl.Uniform(), fl.Uniform(1e-6), fl.Informed(), fl.Informed(20), fl.Learned())
TARGETS: tuple[Target, ...] = ("population", "pool")

GROUPINGS: dict[str, Callable[[fl.Pool], fl.Partition]] = {
    "whole": fl.whole,
    "by predicted": fl.by_predicted,
    "by place": lambda pool: fl.by_column(pool, "place"),
    "by kind": by_kind,
    "by place and predicted": lambda pool: fl.cross(fl.by_column(pool, "place"), fl.by_predicted(pool)),
}


def tasks_of(metric: Metric, a: str, b: str) -> tuple[Task, ...]:
    """Every kind of task about a metric, whether it makes sense or not."""
    return (
        fl.Estimate(metric),
        fl.Identify(metric, lowest=2),
        fl.Identify(metric, highest=1),
        fl.Compare(metric, a, b),
        fl.Compare(metric, a, b, rope=0, by="information"),
        fl.Compare(metric, a, b, rope=0.1, by="confidence"),
    )


def is_sensible(task: Task, grouping: str, *, has_scores: bool, prior: Prior) -> bool:
    """The rules of what goes together, written down a second time."""
    metric, single_class = task.metric, "predicted" in grouping
    needs_scores = isinstance(metric, fl.CalibrationError) or isinstance(prior, fl.Informed)
    return (
        (has_scores or not needs_scores)
        and (single_class or not isinstance(metric, fl.Confusion))
        and not (single_class and isinstance(metric, RATES))
        and (isinstance(task, fl.Estimate) or (not isinstance(metric, fl.Confusion) and grouping != "whole"))
        # There are two places, so the two lowest would be all of them.
        and not (grouping == "by place" and isinstance(task, fl.Identify) and task.lowest == 2)
        and not (isinstance(task, fl.Compare) and task.by != "neyman" and not isinstance(metric, fl.Accuracy))
    )


def _groups_for(metric: Metric) -> str:
    """Groups on which the metric makes sense, one of them empty and one of a single item."""
    return "by kind" if isinstance(metric, RATES) else "by predicted"


def _pair(grouping: str) -> tuple[str, str]:
    """A group of many and, where there is one, the group of a single item."""
    return {
        "whole": ("all", "all the others"),
        "by predicted": ("ant", "eel"),
        "by place": ("north", "south"),
        "by kind": ("insects", "fish"),
        "by place and predicted": ("north × ant", "south × ant"),
    }[grouping]


ALL_TASKS: tuple[tuple[Task, str], ...] = tuple(
    (task, grouping) for metric in METRICS for grouping in GROUPINGS for task in tasks_of(metric, *_pair(grouping))
)
TASKS: tuple[tuple[Task, str], ...] = tuple(
    (task, grouping)
    for task, grouping in ALL_TASKS
    if grouping == _groups_for(task.metric) and is_sensible(task, grouping, has_scores=True, prior=fl.Uniform())
)
