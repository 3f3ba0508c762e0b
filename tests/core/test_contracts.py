"""What holds for every metric, task, policy, prior and target, and every pair of task and metric."""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.errors import SpecError
from fewlabels.labelling.ledger import Ledger
from fewlabels.spec import KINDS, Spec
from fewlabels.stopping import Stop
from fewlabels.store import Event
from fewlabels.tasks import Rewards
from tests.support.contracts import ALL_TASKS, GROUPINGS, METRICS, POLICIES, PRIORS, TARGETS, TASKS, is_sensible
from tests.support.pools import Known, zoo

if TYPE_CHECKING:
    from fewlabels.belief import Belief, Target
    from fewlabels.cells import Cells
    from fewlabels.metrics import Metric
    from fewlabels.policies import Policy
    from fewlabels.priors import Prior
    from fewlabels.tasks import Task

KNOWN = zoo()


def test_every_kind_is_in_the_contract() -> None:
    tested = {type(part) for part in (*METRICS, *POLICIES, *PRIORS, *(task for task, _ in TASKS))}
    assert tested | {Stop} == set(KINDS.values()), "add what is new in spec.KINDS to tests/contracts.py"


def test_every_task_meets_every_metric_that_has_one_number() -> None:
    met = {(type(task), task.metric) for task, _ in TASKS}
    every = {(kind, metric) for kind in (fl.Estimate, fl.Identify, fl.Compare) for metric in METRICS}
    assert every - met == {(kind, fl.Confusion()) for kind in (fl.Identify, fl.Compare)}


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
        if accepted != sensible:
            wrong.append((task, grouping))
    assert not wrong


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("prior", PRIORS, ids=repr)
@pytest.mark.parametrize(("task", "grouping"), TASKS, ids=repr)
def test_reward_is_a_finite_number_for_each_group(task: Task, grouping: str, prior: Prior, target: Target) -> None:
    partition = GROUPINGS[grouping](KNOWN.pool)
    cells = Spec(task, partition.recipe, prior, fl.Thompson(), target).cells(KNOWN.pool, partition)
    for belief in _beliefs(task.metric, cells, prior, target):
        rewards = Rewards(task, cells, belief)
        mean, drawn = rewards.mean(), rewards.draw(np.random.default_rng(5), 7)
        assert mean.shape == (len(partition),)
        assert drawn.shape == (7, len(partition))
        assert np.isfinite(mean).all()
        assert np.isfinite(drawn).all()


def _beliefs(metric: Metric, cells: Cells, prior: Prior, target: Target) -> list[Belief]:
    """Before the first label, with half of them, with half and some pending, and with all."""
    ledger, prepared = Ledger(KNOWN.pool, metric, cells), prior.on(cells, target)
    beliefs = [prepared.blank()]
    order = np.random.default_rng(4).permutation(list(KNOWN.truth))
    for part in np.array_split(order, 2):
        ledger.read([Event("label", item, label=KNOWN.truth[item], seq=ledger.seq + 1) for item in part.tolist()])
        beliefs.append(prepared.belief(ledger.outcomes()))
    pending = np.minimum(beliefs[1].left, 2)
    return [*beliefs, beliefs[1].awaiting(pending)]


def _runs() -> list[tuple[Task, str, Policy, Prior, Target]]:
    """For each task of each metric a third of the policies, with the priors and targets in turn.

    Confusion has one task only, so it gets all of the policies.
    """
    return [
        (task, grouping, policy, PRIORS[(i + j) % len(PRIORS)], TARGETS[(i // 3 + j) % 2])
        for i, (task, grouping) in enumerate(TASKS)
        for j, policy in enumerate(POLICIES)
        if (i + j) % 3 == 0 or task.metric.vector
    ]


def test_every_two_parts_meet_in_a_run() -> None:
    runs = {(type(task), type(task.metric), policy, prior, target) for task, _, policy, prior, target in _runs()}
    kinds = [*zip(*runs, strict=True)]
    senseless = {(kind, fl.Confusion) for kind in (fl.Identify, fl.Compare)}
    for (i, first), (j, second) in combinations(enumerate(kinds), 2):
        met = {(run[i], run[j]) for run in runs}
        assert set(product(first, second)) - senseless == met
    assert set(kinds[2]) == set(POLICIES)
    assert set(kinds[3]) == set(PRIORS)
    assert set(kinds[4]) == set(TARGETS)


@pytest.mark.parametrize(("task", "grouping", "policy", "prior", "target"), _runs(), ids=repr)
def test_ask_and_tell_until_nothing_is_left(
    task: Task, grouping: str, policy: Policy, prior: Prior, target: Target
) -> None:
    partition = GROUPINGS[grouping](KNOWN.pool)
    audit = fl.create(None, "run", KNOWN.pool, partition, task=task, prior=prior, policy=policy, target=target, seed=2)
    _check_results(audit, 0)
    asked: list[str] = []
    while batch := audit.ask(1 if len(asked) < 3 else 9):
        asked += batch.ids
        audit.tell(KNOWN.labels(batch.ids))
        if len(asked) == 3:
            _check_results(audit, 3)
    names = (task.a, task.b) if isinstance(task, fl.Compare) else partition.names
    bearing = [
        item for item, group in zip(KNOWN.truth, partition.group, strict=True) if partition.names[group] in names
    ]
    assert sorted(asked) == bearing
    assert audit.ask(5).ids == []
    _check_results(audit, len(asked))
    audit.close()


def _check_results(audit: fl.Assessment, labels: int) -> None:
    table = audit.estimates(draws=200)
    task, groups = audit.spec.task, audit.groups
    lines = len(KNOWN.pool.classes) if task.metric.vector else 1
    more = [] if task.metric.linear else ["median"]
    names = ["group", *(["true"] if lines > 1 else []), "n", "labelled", "mean", "low", "high", *more]
    assert list(table.columns) == names
    assert table["group"] == [name for name in groups.names for _ in range(lines)]
    assert table["n"][::lines] == groups.sizes.tolist()
    assert sum(table["labelled"][::lines]) == labels
    for row in table.rows():
        if row["n"]:
            _check_interval(row, *_range_of(task.metric))
        else:
            assert (row["mean"], row["low"], row["high"]) == (None, None, None)
    assert table.settings.keys() >= {"level", "target", "draws", "labels", "metric", "prior", "policy", "seed"}
    _check_answer(audit)


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
    else:
        assert list(answer.table.columns) == ["a", "b", "less", "equal", "more", "mean", "low", "high"]
        regions = [rows[0][region] for region in ("less", "equal", "more")]
        assert sum(regions) == pytest.approx(1)
        assert min(regions) >= 0
        assert answer.probability == max(regions)
        low, high = low - high, high - low
    for row in rows:
        _check_interval(row, low, high)


def _check_interval(row: dict[str, Any], least: float, most: float) -> None:
    slack = 1e-9
    assert all(math.isfinite(row[name]) for name in ("mean", "low", "high"))
    assert row["low"] <= row["mean"] <= row["high"]
    assert least - slack <= row["low"]
    assert row["high"] <= most + slack


def _range_of(metric: Metric) -> tuple[float, float]:
    if isinstance(metric, fl.Cost):
        return float(np.min(metric.matrix)), float(np.max(metric.matrix))
    return 0.0, 1.0


def _with_items(groups: fl.Partition) -> set[str]:
    return {name for name, size in zip(groups.names, groups.sizes, strict=True) if size}
