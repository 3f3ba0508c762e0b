"""What makes no sense is refused, with the reason and a way out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

import fewlabels as fl
from fewlabels.errors import SpecError
from tests.support.contracts import PRICES, RATES
from tests.support.pools import by_kind, zoo

if TYPE_CHECKING:
    from collections.abc import Callable

    from fewlabels.tasks import Task

SCORED, BARE = zoo().pool, zoo(scores=False).pool
ACCURACY = fl.Accuracy()
NAN, INF = float("nan"), float("inf")


def _create(
    task: Task, groups: fl.Partition | None = None, pool: fl.Pool = SCORED, **more: Any
) -> Callable[[], object]:
    return lambda: fl.create(None, "refused", pool, groups, task=task, **more)


def _make(kind: Callable[..., object], *args: Any, **more: Any) -> Callable[[], object]:
    return lambda: kind(*args, **more)


def _refusals() -> list[tuple[Callable[[], object], str, str]]:
    """How it is made, the reason that must be named, and the way out (two regular expressions)."""
    confusion, calibration, cost = fl.Confusion(), fl.CalibrationError(), fl.Cost(PRICES)
    cases = [
        (_create(fl.Identify(confusion, lowest=1)), "one for each class", r"Use Cost\(\)"),
        (_create(fl.Compare(confusion, "ant", "bee")), "one for each class", r"Use Cost\(\)"),
        (_create(fl.Estimate(calibration), pool=BARE), "predicted classes only", r"confidence=, or use Accuracy\(\)"),
        (_create(fl.Compare(ACCURACY, "ant", "fox")), "'fox': it has no items", "two groups that have some"),
        (_create(fl.Compare(ACCURACY, "yak", "ant")), "the group 'yak'", "Use two of the groups: 'ant', 'bee'"),
        (_make(fl.Compare, ACCURACY, "ant", "ant"), "Got 'ant' twice", "two different groups"),
        (_make(fl.Compare, ACCURACY), "Got '' twice", "two different groups"),
        (_make(fl.Compare, ACCURACY, "a", "b", by="luck"), "Got 'luck'", "'neyman', 'information' or 'confidence'"),
        (_create(fl.Estimate(fl.Cost([[0, 1], [1, 0]]))), "2 classes, but the pool has 6", "column for each class"),
        (_make(fl.CalibrationError, equal="luck"), "Got 'luck'", "'width' or 'weight'"),
        (_create(fl.Estimate(ACCURACY), target="sample"), "Got 'sample'", "'population' or 'pool'"),
        (_create(fl.Estimate(fl.Accuracy)), "metric of a task", r"such as Accuracy\(\)"),  # type: ignore[arg-type]
    ]
    several = (fl.whole(SCORED), by_kind(SCORED), fl.by_score(SCORED))
    cases += [(_create(fl.Estimate(confusion), g), "a group here contains several", "by_predicted") for g in several]
    for rate in RATES:
        way_out = r"accuracy by predicted class, .*audit\.classes\(\)"
        cases.append((_create(fl.Estimate(rate())), "only one predicted class", way_out))
        unknown = _create(fl.Estimate(rate("yak")), fl.whole(SCORED))
        cases.append((unknown, "Got 'yak'", "a class of the pool .*'ant'"))
    for metric in (ACCURACY, confusion, cost):
        informed = _create(fl.Estimate(metric), pool=BARE, prior=fl.Informed())
        cases.append((informed, "predicted classes only", r"prior=Uniform\(\)"))
    for m in (5, 6, 100):
        task = fl.Identify(ACCURACY, highest=m)
        cases.append((_create(task), f"cannot pick {m} of 5 groups", r"fewer, or use Estimate\(\)"))
    cases.append((_make(fl.Identify, ACCURACY, lowest=1, highest=1), "either lowest=m or highest=m", "such as"))
    for by in ("information", "confidence"):
        for other in (cost, calibration):
            compare = _create(fl.Compare(other, "ant", "bee", by=by))
            cases.append((compare, "a metric that is a single share", "use by='neyman'"))
    cases.append(
        (_make(fl.create, None, "refused", SCORED, task="best"), "Got 'best'", "'task' must be a task, such as")
    )
    for part in ("prior", "policy"):
        text = _make(fl.create, None, "refused", SCORED, **{part: "best"})
        cases.append((text, f"{part}='best' is not known", "Use one of "))
    return cases


def _bad_settings() -> list[tuple[Callable[..., object], dict[str, Any], str]]:
    """A kind, a setting it cannot have, and what it needs instead."""
    table: list[tuple[Callable[..., object], str, list[Any], str]] = [
        (
            lambda lowest: fl.Identify(ACCURACY, lowest=lowest),
            "lowest",
            [0, -1, True, 1.5],
            "whole number of at least 1",
        ),
        (
            lambda rope: fl.Compare(ACCURACY, "a", "b", rope=rope),
            "rope",
            [-0.1, NAN, INF],
            "of at least 0, such as 0.05",
        ),
        (fl.Cost, "matrix", [(), [1, 2], [[1, 2, 3], [4, 5, 6]], [[0, NAN], [1, 0]]], "must be square, with a finite"),
        (fl.Cost, "matrix", [[[1, 2], [3]], [["dear"]]], "rows of numbers, all of the same length"),
        (fl.CalibrationError, "bins", [0, 2.5, True], "whole number of at least 1"),
        (fl.Uniform, "strength", [0, -1, NAN, INF, "two"], "a number above 0, such as 2"),
        (fl.Informed, "strength", [0, -1, NAN, INF, "two"], "a number above 0, such as 2"),
        (fl.Thompson, "plays", [0, 1.5, True], "whole number of at least 1"),
        (fl.EpsilonGreedy, "epsilon", [-0.1, 1.1, NAN], "between 0 and 1"),
        (fl.TopTwo, "beta", [-0.1, 1.1, NAN], "between 0 and 1"),
        (fl.UCB, "quantile", [0, 1, NAN], "between 0 and 1"),
        (lambda seed: fl.create(None, "x", SCORED, seed=seed), "seed", [-1, 1.0, True], "whole number of at least 0"),
    ]
    return [(kind, {name: value}, need) for kind, name, values, need in table for value in values]


def _no_address(value: object) -> str:
    """A name of a case that is the same in every process."""
    return "" if callable(value) else str(value)


@pytest.mark.parametrize(("make", "reason", "way_out"), _refusals(), ids=_no_address)
def test_a_senseless_combination_is_refused(make: Callable[[], object], reason: str, way_out: str) -> None:
    with pytest.raises(SpecError, match=reason) as refused:
        make()
    assert re.search(way_out, str(refused.value))


@pytest.mark.parametrize(("kind", "setting", "need"), _bad_settings(), ids=_no_address)
def test_a_senseless_setting_is_refused(kind: Callable[..., object], setting: dict[str, Any], need: str) -> None:
    with pytest.raises(SpecError, match=need) as refused:
        kind(**setting)
    (name,) = setting
    assert "Got" in str(refused.value)
    assert name == "lowest" or f"'{name}'" in str(refused.value)


def test_groups_of_another_pool_are_refused() -> None:
    fewer = fl.read_pool([[0.9, 0.1], [0.2, 0.8]])
    with pytest.raises(fl.InputError, match="a different number of items"):
        fl.create(None, "refused", SCORED, fl.whole(fewer))
    other = fl.read_pool({"predicted": ["ant", "bee"] * 15}, classes=SCORED.classes)
    with pytest.raises(fl.InputError, match="Make them from this pool"):
        fl.create(None, "refused", SCORED, fl.by_predicted(other))
