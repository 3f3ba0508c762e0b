"""What holds for every metric, task, policy, prior and target, and every pair of task and metric."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from inspect import isabstract
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.errors import SpecError
from fewlabels.parts import OWN, Part, registered
from fewlabels.spec import Spec
from fewlabels.testing import check_metric, check_policy, check_prior, check_task
from fewlabels.testing.runs import check_interval, range_of, run
from fewlabels.testing.tasks import check_rewards
from fewlabels.testing.zoo import stages
from tests.support.contracts import (
    ALL_TASKS,
    GROUPINGS,
    METRICS,
    MODEL_TASKS,
    POLICIES,
    PRIORS,
    RATES,
    TARGETS,
    TASKS,
    is_sensible,
)
from tests.support.pools import Known, zoo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.belief import Target
    from fewlabels.metrics import Metric
    from fewlabels.policies import Policy
    from fewlabels.priors import Prior
    from fewlabels.tasks import Task

KNOWN = zoo()


@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_metric(metric: Metric) -> None:
    check_metric(metric)


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_policy(policy: Policy) -> None:
    check_policy(policy)


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_prior(prior: Prior) -> None:
    check_prior(prior)


@pytest.mark.parametrize("task", [task for task, _ in TASKS if isinstance(task.metric, fl.Accuracy)], ids=repr)
def test_task(task: Task) -> None:
    check_task(task)


@pytest.mark.parametrize("task", MODEL_TASKS, ids=repr)
def test_task_about_several_models(task: Task) -> None:
    check_task(task)


def test_every_part_of_the_package_is_in_the_contract() -> None:
    tested = {type(part) for part in (*METRICS, *POLICIES, *PRIORS, *MODEL_TASKS, *(task for task, _ in TASKS))}
    written = {
        thing
        for module in OWN
        for thing in vars(import_module(module)).values()
        if isinstance(thing, type) and issubclass(thing, Part) and hasattr(thing, "family") and not isabstract(thing)
    }
    assert tested == written, "put @register above each class, and its line into the __init__ of its family"


def test_every_task_meets_every_metric_that_has_one_number() -> None:
    met = {(type(task), task.metric) for task, _ in TASKS}
    every = {(kind, metric) for kind in registered("task").values() if not kind.of_models for metric in METRICS}
    assert {kind for kind, metric in every - met if not metric.vector} == set()
    assert (fl.Estimate, fl.Confusion()) in met


@cache
def _bare() -> Known:
    return zoo(scores=False)


@pytest.mark.parametrize("known", [KNOWN, _bare()], ids=["scores", "predictions only"])
@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_what_makes_no_sense_is_refused_and_nothing_else(prior: Prior, known: Known) -> None:
    pool, wrong = known.pool, []
    for task, grouping in ALL_TASKS:
        partition = GROUPINGS[grouping](pool)
        sensible = is_sensible(task, grouping, has_scores=pool.confidence is not None, prior=prior)
        try:
            Spec(task, partition.recipe, prior, fl.Thompson()).cells(pool, partition)
            accepted = True
        except SpecError:
            accepted = False
        # A kind that has no rule here yet may refuse what it likes, by a SpecError.
        if accepted != sensible and _has_rules(task):
            wrong.append((task, grouping))
    assert not wrong


def _has_rules(task: Task) -> bool:
    metrics = (fl.Accuracy, fl.CalibrationError, fl.Confusion, fl.Cost, *RATES)
    return isinstance(task, (fl.Estimate, fl.Identify, fl.Compare)) and isinstance(task.metric, metrics)


def some_quickly(cases: Sequence[Any], each: int) -> list[Any]:
    """The cases, of which `make quick` runs one in `each`."""
    sets = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*case, marks=[pytest.mark.slow] if i % each else []) for i, case in enumerate(sets)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("prior", some_quickly(PRIORS, 2), ids=repr)
@pytest.mark.parametrize(("task", "grouping"), TASKS, ids=repr)
def test_reward_is_a_finite_number_for_each_group(task: Task, grouping: str, prior: Prior, target: Target) -> None:
    partition = GROUPINGS[grouping](KNOWN.pool)
    cells = Spec(task, partition.recipe, prior, fl.Thompson(), target).cells(KNOWN.pool, partition)
    for belief in stages(prior, task.metric, cells, KNOWN, target):
        check_rewards(task, cells, belief)


def _runs() -> list[tuple[Task, str, Policy, Prior, Target]]:
    """For each task of each metric a third of the policies, with the priors and targets in turn; then what is left.

    Confusion has one task only, so it gets all of the policies.
    """
    runs = [
        (task, grouping, policy, PRIORS[(i + j) % len(PRIORS)], TARGETS[(i // 3 + j) % 2])
        for i, (task, grouping) in enumerate(TASKS)
        for j, policy in enumerate(POLICIES)
        if (i + j) % 3 == 0 or task.metric.vector
    ]
    # However many parts there are: each pair that has not met yet gets a run of its own.
    met = {pair for each in runs for pair in _pairs(each)}
    for (task, grouping), policy, prior, target in product(TASKS, POLICIES, PRIORS, TARGETS):
        each = (task, grouping, policy, prior, target)
        if not met.issuperset(_pairs(each)):
            met.update(_pairs(each))
            runs.append(each)
    return runs


def _pairs(run: tuple[Task, str, Policy, Prior, Target]) -> list[tuple[object, object]]:
    """Each two parts that meet in a run, by the kinds of task and metric, and the policy, prior and target."""
    task, _, *others = run
    return list(combinations((type(task), type(task.metric), *others), 2))


def test_every_two_parts_meet_in_a_run() -> None:
    met = {pair for each in _runs() for pair in _pairs(each)}
    kinds = {(type(task), type(task.metric)) for task, _ in TASKS}
    families: list[list[object]] = [list(POLICIES), list(PRIORS), list(TARGETS)]
    every = {pair for first, second in combinations(families, 2) for pair in product(first, second)}
    every |= {(kind, part) for pair in kinds for kind in pair for family in families for part in family}
    assert met == every | kinds


def _before_a_merge() -> list[Any]:
    """The runs in which two parts meet for the first time, one in four of them quick; the others before a release."""
    met: set[tuple[object, object]] = set()
    cases = []
    for i, case in enumerate(_runs()):
        mark = pytest.mark.long if met.issuperset(_pairs(case)) else pytest.mark.slow
        cases.append(pytest.param(*case, marks=mark if i % 4 else ()))
        met.update(_pairs(case))
    return cases


@pytest.mark.parametrize(("task", "grouping", "policy", "prior", "target"), _before_a_merge(), ids=repr)
def test_ask_and_tell_until_nothing_is_left(
    task: Task, grouping: str, policy: Policy, prior: Prior, target: Target
) -> None:
    partition = GROUPINGS[grouping](KNOWN.pool)
    asked = run(KNOWN, partition, task=task, prior=prior, policy=policy, target=target, look=_look)
    names: tuple[str, ...] = task.pair or getattr(task, "only", None) or partition.names
    bearing = [
        item for item, group in zip(KNOWN.truth, partition.group, strict=True) if partition.names[group] in names
    ]
    assert sorted(asked) == bearing


def _look(audit: fl.Assessment, labels: int) -> None:
    """What `run` does not check, since it does not know which task and metric it has."""
    table, metric = audit.estimates(draws=200), audit.spec.task.metric
    more = [] if metric.linear else ["median"]
    first = ["group", "true"] if metric.vector else ["group"]
    assert list(table.columns) == [*first, "n", "labelled", "mean", "low", "high", *more]
    for row in table.rows():
        if row["n"]:
            check_interval(row, *_range_of(metric))
    assert table.settings.keys() >= {"level", "target", "draws", "labels", "metric", "prior", "policy", "seed"}
    _check_answer(audit)
    if labels == len(KNOWN.true):
        assert audit.ask(5).ids == []


def _check_answer(audit: fl.Assessment) -> None:
    task, answer = audit.spec.task, audit.answer(draws=200)
    low, high = _range_of(task.metric)
    assert answer.words
    rows = list(answer.table.rows())
    if isinstance(task, fl.Estimate):
        middle = [] if task.metric.linear else ["median"]
        first = "true" if task.metric.vector else "metric"
        assert list(answer.table.columns) == [first, "mean", *middle, "low", "high"]
        assert answer.probability is None
    elif isinstance(task, fl.Identify):
        assert answer.probability is not None
        assert 0 <= answer.probability <= 1
        assert len(answer.groups) == task.plays
        assert {row["group"] for row in rows} == _with_items(audit.groups)
        assert sum(answer.table["chance"]) == pytest.approx(task.plays)
        assert all(1 <= row["rank_low"] <= row["rank_high"] <= len(rows) for row in rows)
        assert sum(answer.table["rank"]) == pytest.approx(len(rows) * (len(rows) + 1) / 2)
    elif isinstance(task, fl.Compare):
        assert list(answer.table.columns) == ["a", "b", "less", "equal", "more", "mean", "low", "high"]
        regions = [rows[0][region] for region in ("less", "equal", "more")]
        assert sum(regions) == pytest.approx(1)
        assert min(regions) >= 0
        assert answer.probability == max(regions)
        low, high = low - high, high - low
    for row in rows:
        check_interval(row, low, high)


def _range_of(metric: Metric) -> tuple[float, float]:
    if isinstance(metric, fl.Cost):
        return float(np.min(metric.matrix)), float(np.max(metric.matrix))
    return range_of(metric)


def _with_items(groups: fl.Partition) -> set[str]:
    return {name for name, size in zip(groups.names, groups.sizes, strict=True) if size}
