"""A whole assessment: ask and tell until nothing is left, and check the results on the way."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.beginning import create, load
from fewlabels.store import Store
from fewlabels.testing.laws import must

if TYPE_CHECKING:
    from collections.abc import Callable

    from fewlabels.assessment import Assessment
    from fewlabels.belief import Target
    from fewlabels.metrics import Metric
    from fewlabels.partition import Partition
    from fewlabels.policies import Policy
    from fewlabels.priors import Prior
    from fewlabels.tasks import Task
    from fewlabels.testing.zoo import Known

_SLACK = 1e-9
_FIRST = 3  # labels told one by one before the first look


def run(
    known: Known,
    partition: Partition,
    *,
    task: Task,
    prior: Prior,
    policy: Policy,
    target: Target,
    look: Callable[[Assessment, int], None] | None = None,
) -> list[str]:
    """Ask and tell until nothing is left; returns the ids that were asked for, in order.

    Results are checked before the first label, after three, and at the end; `look` is called there too, with the
    assessment and the number of labels.
    """
    settings: dict[str, Any] = {"task": task, "prior": prior, "policy": policy, "target": target, "seed": 2}
    audit = create(None, "run", known.pool, partition, **settings)

    def check(labels: int) -> None:
        check_results(audit, labels)
        if look is not None:
            look(audit, labels)

    check(0)
    asked: list[str] = []
    while batch := audit.ask(1 if len(asked) < _FIRST else 9):
        asked += batch.ids
        audit.tell(known.labels(batch.ids))
        if len(asked) == _FIRST:
            check(_FIRST)
    cells = audit.spec.cells(known.pool, partition)
    bearing = task.asks(cells)[cells.asking.group]
    wanted = [item for item, bears in zip(known.truth, bearing.tolist(), strict=True) if bears]
    must(
        sorted(asked) == sorted(wanted), f"{task!r} with {policy!r} must ask once for each item that affects its answer"
    )
    check(len(asked))
    audit.close()
    return asked


def check_reproducible(
    known: Known, partition: Partition, *, task: Task, prior: Prior, policy: Policy, target: Target
) -> None:
    """Check that equal seeds and labels give equal requests, even if the assessment is loaded again in between."""
    settings: dict[str, Any] = {"task": task, "prior": prior, "policy": policy, "target": target, "seed": 5}
    asked: list[list[str]] = []
    for again in (False, True):
        store = Store(None)
        audit = create(store, "run", known.pool, partition, **settings)
        ids: list[str] = []
        for n in (1, 2, 5, 1):
            if again:
                audit = load(store, "run")
            batch = audit.ask(n)
            ids += batch.ids
            audit.tell(known.labels(batch.ids))
        asked.append(ids)
        store.close()
    must(asked[0] == asked[1], f"{task!r} with {policy!r} and {prior!r} must ask the same after it was loaded again")


def check_results(audit: Assessment, labels: int) -> None:
    """Check that the estimates have a row for each group, with a mean inside its interval and the metric's range."""
    table, metric, groups = audit.estimates(draws=200), audit.spec.task.metric, audit.rows
    lines = len(set(table["true"])) if metric.vector else 1
    must(table["group"] == [name for name in groups.names for _ in range(lines)], "each group must have its rows")
    must(table["n"][::lines] == groups.sizes.tolist(), "each row must have the size of its group")
    each = len(audit.pool.models) if audit.spec.task.of_models else 1
    must(sum(table["labelled"][::lines]) == labels * each, "the labels of the groups must sum to all labels")
    for row in table.rows():
        if row["n"]:
            check_interval(row, *range_of(metric))
            wide = 0.0 if row["mean"] is None else row["high"] - row["low"]
            must(wide <= metric.span + _SLACK, f"an interval is wider than the span: {row}")
        else:
            must([row["mean"], row["low"], row["high"]] == [None] * 3, f"an empty group must have no value: {row}")
    _check_answer(audit)


def _check_answer(audit: Assessment) -> None:
    """Check that the answer has words, a probability if it can be right or wrong, and finite numbers."""
    task, answer = audit.spec.task, audit.answer(draws=200)
    must(isinstance(answer.words, str) and bool(answer.words), f"the answer of {task!r} must have words")
    if task.conclusive:
        chance = answer.probability
        must(chance is not None and 0 <= chance <= 1, f"{task!r} is conclusive, so its answer must have a probability")
    else:
        must(answer.probability is None, f"{task!r} is not conclusive, so its answer has no probability")
    must({*answer.groups} <= {*audit.rows.names}, f"the answer of {task!r} must name groups that exist")
    for row in answer.table.rows():
        numbers = [value for value in row.values() if isinstance(value, (float, np.floating))]
        must(all(map(math.isfinite, numbers)), f"the numbers of an answer must be finite: {row}")
        if {"mean", "low", "high"} <= row.keys():
            check_interval(row, -math.inf, math.inf)


def check_interval(row: dict[str, Any], least: float, most: float) -> None:
    """Check that an interval is finite, in order, and within the range of the value; or that there is no number."""
    if row["mean"] is None:
        must(row["low"] is row["high"] is None, f"what has no number has no interval: {row}")
        return
    must(all(math.isfinite(row[name]) for name in ("mean", "low", "high")), f"not finite: {row}")
    must(row["low"] <= row["mean"] <= row["high"], f"an interval must contain its mean: {row}")
    must(least - _SLACK <= row["low"] and row["high"] <= most + _SLACK, f"outside {least} to {most}: {row}")


def range_of(metric: Metric) -> tuple[float, float]:
    """The range of the values of a metric, as far as it is known."""
    return (0.0, 1.0) if metric.in_unit_interval else (-math.inf, math.inf)
