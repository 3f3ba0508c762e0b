"""Every metric, task, policy and prior that is registered, as instances: what the contract tests run over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fewlabels as fl
from fewlabels.parts import registered
from fewlabels.testing.zoo import CLASSES, GROUPINGS, TARGETS, group_names, zoo

if TYPE_CHECKING:
    from fewlabels.metrics import Metric
    from fewlabels.policies import Policy
    from fewlabels.priors import Prior
    from fewlabels.tasks import Task

__all__ = [
    "ALL_TASKS",
    "GROUPINGS",
    "METRICS",
    "POLICIES",
    "PRICES",
    "PRIORS",
    "RATES",
    "TARGETS",
    "TASKS",
    "is_sensible",
]

PRICES = fl.Cost.examples(CLASSES)[0].matrix
RATES = (fl.F1, fl.FalsePositiveRate, fl.Precision, fl.Recall)
METRICS: tuple[Metric, ...] = tuple(m for kind in registered("metric").values() for m in kind.examples(CLASSES))
POLICIES: tuple[Policy, ...] = tuple(policy for kind in registered("policy").values() for policy in kind.examples())
PRIORS: tuple[Prior, ...] = tuple(prior for kind in registered("prior").values() for prior in kind.examples())


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


def _tasks(metric: Metric, grouping: str) -> list[Task]:
    """Every kind of task about a metric, whether it makes sense or not."""
    names = group_names(GROUPINGS[grouping](zoo().pool))
    kinds = [kind for kind in registered("task").values() if not kind.of_models]
    return [task for kind in kinds for task in kind.examples(metric, names)]


def _is_accepted(task: Task, grouping: str) -> bool:
    pool = zoo().pool
    partition = GROUPINGS[grouping](pool)
    try:
        task.metric.check(pool, partition)
        task.check(task.metric.cells(pool, partition))
    except fl.SpecError:
        return False
    return True


MODEL_TASKS: tuple[Task, ...] = tuple(
    task
    for kind in registered("task").values()
    if kind.of_models
    for task in kind.examples(fl.Accuracy(), ("ant", "bee"))
)
"""The tasks about several models, on those of `zoo_of_models()`."""
ALL_TASKS: tuple[tuple[Task, str], ...] = tuple(
    (task, grouping) for metric in METRICS for grouping in GROUPINGS for task in _tasks(metric, grouping)
)
_CHOSEN = {
    # The first groups on which a metric makes sense, one of them empty and one of a single item.
    metric: next(grouping for grouping in GROUPINGS if _is_accepted(fl.Estimate(metric), grouping))
    for metric in METRICS
}
TASKS: tuple[tuple[Task, str], ...] = tuple(
    (task, grouping)
    for task, grouping in ALL_TASKS
    if grouping == _CHOSEN[task.metric] and _is_accepted(task, grouping)
)
