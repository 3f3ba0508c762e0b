"""Studies: the same however they are cut and wherever they run, and what cannot be simulated is said."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pytest

import fewlabels as fl
from fewlabels.simulation.contest import simulate_models
from fewlabels.simulation.layout import layout
from fewlabels.simulation.methods import method
from fewlabels.simulation.on_ray import RayExecutor
from fewlabels.simulation.parallel import chunks, gather
from fewlabels.simulation.study import run_chunk, simulate
from fewlabels.simulation.truth import item_classes, truth
from tests.support.studies import GROUPS, LABELS, POOL, TASKS, Z, truth_of


def test_runs_are_the_same_however_they_are_cut() -> None:
    one = method("informed+thompson")
    case = truth_of("lowest", one)
    budgets = np.array([5, 20])
    together = run_chunk(case, one, budgets, 7, range(6))
    apart = [run_chunk(case, one, budgets, 7, range(r, r + 1)) for r in range(6)]
    np.testing.assert_array_equal(together.scores["mrr"], np.concatenate([part.scores["mrr"] for part in apart]))
    other = run_chunk(case, one, budgets, 8, range(6))
    assert not np.array_equal(together.scores["mrr"], other.scores["mrr"])
    assert [r for piece in chunks(1000) for r in piece] == list(range(1000))


def small_study(**how):
    """A study with a kernel, a method without one, and a label count."""
    task, groups = TASKS["lowest"]
    methods = ["uniform+items", "informed+thompson", "uniform:4+ucb+pool"]
    return simulate(POOL, LABELS, GROUPS[groups], task=task, methods=methods, budgets=[5, 12], runs=6, seed=3, **how)


def test_the_result_does_not_depend_on_jobs() -> None:
    alone = small_study(jobs=1)
    assert small_study(jobs=2).columns == alone.columns
    with ThreadPoolExecutor(2) as threads:
        assert small_study(executor=threads).columns == alone.columns
    assert small_study(jobs=1).columns == alone.columns


@pytest.mark.slow
def test_the_result_is_the_same_on_processes() -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        assert small_study(executor=processes).columns == small_study(jobs=1).columns


@pytest.mark.slow
def test_the_result_is_the_same_on_a_dask_cluster_of_two_workers() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert len(client.scheduler_info()["workers"]) == 2
        assert small_study(executor=client.get_executor()).columns == small_study(jobs=1).columns


@pytest.mark.slow
def test_the_result_is_the_same_on_ray() -> None:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False)
    try:
        assert small_study(executor=RayExecutor()).columns == small_study(jobs=1).columns
    finally:
        ray.shutdown()


def test_progress_is_told_and_errors_come_through() -> None:
    told = []
    small_study(jobs=1, progress=lambda done, total: told.append((done, total)))
    assert told == [(i, 18) for i in range(19)]
    with ThreadPoolExecutor(2) as threads, pytest.raises(ZeroDivisionError):
        gather([lambda: 1, lambda: 1 // 0], executor=threads)


def test_the_table_is_tidy() -> None:
    table = small_study(jobs=1)
    assert list(table.columns) == ["method", "budget", "score", "mean", "se", "q10", "q50", "q90", "p", "best"]
    assert len(table) == 3 * 2 + 3
    assert table.settings["runs"] == 6
    assert table.settings["task"] == {"kind": "Identify", "metric": {"kind": "Accuracy"}, "lowest": 1, "highest": None}
    for row in table.where(score="mrr").rows():
        assert row["q10"] <= row["q50"] <= row["q90"]
        assert 0 < row["mean"] <= 1
    assert any(table.where(score="mrr", budget=5)["best"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"budgets": []}, "no budget was named"),
        ({"budgets": [200]}, "a budget of 200 labels is more than the 160 items"),
        ({"budgets": ["120%"]}, "numbers of labels"),
        ({"budgets": [-1]}, "numbers of labels"),
        ({"budgets": [1.5]}, "numbers of labels"),
        ({"runs": 0}, "'runs' of simulate.. must be a whole number of at least 1"),
        ({"seed": -1}, "'seed' of simulate.. must be a whole number of at least 0"),
        ({"jobs": 0}, "'jobs'"),
        ({"task": fl.Identify(fl.Accuracy(), lowest=4)}, "cannot pick 4 of 4 groups"),
    ],
)
def test_what_cannot_be_simulated_is_said(change: dict, said: str) -> None:
    how = {"task": fl.Estimate(fl.Accuracy()), "methods": "uniform+items", "budgets": [5], "runs": 2} | change
    with pytest.raises(fl.FewlabelsError, match=said):
        simulate(POOL, LABELS, **how)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"budgets": []}, "no budget was named"),
        ({"budgets": ["many"]}, "numbers of labels"),
        ({"budgets": [0]}, "numbers of labels"),
        ({"items": 0}, "'items' of simulate_models.. must be a whole number of at least 1"),
    ],
)
def test_what_cannot_be_simulated_with_several_models_is_said(change: dict, said: str) -> None:
    pool = fl.read_pool({"a": ["x", "y"] * 8, "b": ["x", "x"] * 8}, models=["a", "b"])
    how = {"task": fl.Best(fl.Accuracy()), "methods": "random", "budgets": [4, 10**30], "runs": 2} | change
    with pytest.raises(fl.FewlabelsError, match=said):
        simulate_models(pool, ["x", "y"] * 8, **how)


@pytest.mark.parametrize("empty", [None, "", float("nan"), pd.NA])
def test_a_label_that_is_missing_is_said(empty: object) -> None:
    with pytest.raises(fl.LabelError, match=r"1 labels too few for 3 items: such as '1'"):
        item_classes(fl.read_pool({"predicted": ["a", "b", "a"]}), ["a", empty, "b"])


def test_a_pool_without_confidence_cannot_be_informed() -> None:
    pool = fl.read_pool({"predicted": ["a", "b", "a"]})
    with pytest.raises(fl.SpecError, match="scores or confidence"):
        simulate(pool, ["a", "a", "b"], task=fl.Estimate(fl.Accuracy()), methods="informed+items", budgets=[1], runs=2)


def test_empty_groups_are_left_out_of_the_kernels() -> None:
    pool = fl.read_pool({"predicted": ["c", "a", "c", "d"]}, classes=["a", "b", "c", "d"])
    one = method("uniform+thompson")
    case = truth(pool, ["c", "c", "c", "d"], fl.by_predicted(pool), fl.Identify(fl.Accuracy(), lowest=1), [one])
    view = layout(case)
    np.testing.assert_array_equal(view.groups, [0, 2, 3])
    np.testing.assert_array_equal(view.known.items[view.places(np.array([3, 0, 1]))], [3, 0, 1])
    np.testing.assert_array_equal(case.members, [0])
    table = simulate(pool, ["c", "c", "c", "d"], task=case.task, methods=[one], budgets=[4], runs=2)
    assert table.where(score="mrr")["mean"] == [1.0]


def test_more_labels_mean_less_error_on_the_built_in_data() -> None:
    digits = fl.load_digits()
    pool = fl.read_pool({"id": digits.ids, "scores": digits.scores}, classes=digits.classes)
    labels = dict(zip(digits.ids, digits.labels, strict=True))
    table = simulate(
        pool,
        labels,
        task=fl.Estimate(fl.Accuracy()),
        methods="uniform+items,uniform+thompson",
        budgets=[50, 200, 800],
        runs=40,
    )
    for name in ("uniform+items", "uniform+thompson"):
        few, some, many = table.where(method=name, score="rmse").rows()
        assert few["mean"] - some["mean"] > Z * np.hypot(few["se"], some["se"])
        assert some["mean"] - many["mean"] > Z * np.hypot(some["se"], many["se"])
