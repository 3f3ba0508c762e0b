"""Pools of even groups, their cells and a belief without labels: what the tests of planning share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import fewlabels as fl

if TYPE_CHECKING:
    from fewlabels.cells import Cells
    from fewlabels.priors import Prior
    from fewlabels.tasks import Task

Z = 4.5
TAIL = 1e-4
ESTIMATE = fl.Estimate(fl.Accuracy())
LOWEST = fl.Identify(fl.Accuracy(), lowest=1)


def pool_of(groups: int, items: int, *, confidence: bool = False) -> fl.Pool:
    """A pool of evenly many items in each predicted class."""
    columns: dict[str, object] = {"predicted": [f"c{i % groups}" for i in range(groups * items)]}
    if confidence:
        columns["confidence"] = np.random.default_rng(5).beta(4, 1, groups * items).tolist()
    return fl.read_pool(columns, classes=[f"c{k}" for k in range(groups)] + ["other"])


def cells_of(pool: fl.Pool, task: Task = ESTIMATE) -> Cells:
    return task.metric.cells(pool, fl.by_predicted(pool))


def blank(prior: Prior, cells: Cells, target: str = "population") -> fl.Belief:
    return prior.on(cells, target).blank()  # type: ignore[arg-type]
