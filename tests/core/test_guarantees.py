"""Guarantees: intervals, comparisons and stops that hold at every look, and where there can be none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.outcomes import Outcomes
from fewlabels.spec import Spec, from_json, to_json
from tests.support import reports
from tests.support.reports import CLASSES, pool, told

GOOD = dict.fromkeys(CLASSES, (60, 2))
BAD = {**GOOD, "coat": (20, 30)}
OPEN = {**GOOD, "coat": (9, 2)}


def told_exactly(counts: dict[str, tuple[int, int]], *, asked: bool = True, **spec: Any) -> fl.Assessment:
    """An assessment with so many right and wrong labels in each class, of items that were asked for if not said."""
    return reports.told_exactly(counts, asked=asked, **spec)


@pytest.mark.parametrize("target", ["population", "pool"])
def test_guaranteed_intervals_are_longer_and_hold_the_mean(target) -> None:
    audit = told_exactly(BAD, asked=True, target=target)
    usual, each = audit.estimates(), audit.estimates(guarantee="anytime")
    all_at_once = audit.estimates(guarantee="anytime", together=True)
    widths = [np.subtract(table["high"], table["low"]) for table in (usual, each, all_at_once)]
    assert (widths[0] < widths[1]).all()
    assert (widths[1] < widths[2]).all()
    for low, mean, high in zip(each["low"], each["mean"], each["high"], strict=True):
        assert low <= mean <= high
    assert "guarantee" not in usual.settings
    assert (each.settings["guarantee"], each.settings["holds"]) == ("anytime", "each group")
    assert all_at_once.settings["holds"] == "all groups together"


def test_a_guarantee_is_refused_where_it_would_not_hold() -> None:
    asked = told_exactly(BAD, asked=True)
    place = fl.by_column(asked.pool, "place")
    for message, audit, more in (
        ("a single share", asked, {"metric": fl.CalibrationError()}),
        ("groups in which items were asked", asked, {"groups": place}),
        ("218 labels came from elsewhere", told_exactly({**GOOD, "coat": (30, 2)}, asked=False), {}),
    ):
        with pytest.raises(fl.SpecError, match=message):
            audit.estimates(guarantee="anytime", **more)
    with pytest.raises(fl.SpecError, match="came from elsewhere"):
        told_exactly(GOOD, asked=False).check("accuracy >= 0.8", guarantee="anytime")
    with pytest.raises(fl.SpecError, match="groups in which items were asked"):
        asked.check("accuracy >= 0.8", guarantee="anytime", overall=True)
    with pytest.raises(fl.SpecError, match="together=True"):
        asked.estimates(together=True)
    with pytest.raises(fl.SpecError, match="must be 'anytime' or None"):
        asked.estimates(guarantee="always")  # type: ignore[arg-type]


def test_at_random_over_the_pool_a_guarantee_holds_in_any_groups() -> None:
    audit = told(100, policy=fl.UniformItems())
    table = audit.estimates(guarantee="anytime", groups=fl.by_column(audit.pool, "place"))
    assert table["group"] == ["north", "south"]
    assert audit.check("accuracy >= 0.1", guarantee="anytime", overall=True).verdict == "pass"


def test_a_stop_with_a_guarantee_waits_for_the_longer_intervals() -> None:
    table = told_exactly(GOOD).estimates()
    width = max(np.subtract(table["high"], table["low"]))
    task = fl.Estimate(fl.Accuracy())
    plain, sure = (
        told_exactly(GOOD, asked=True, task=task, stop=fl.Stop(width=width + 0.01, guarantee=guarantee)).standing()
        for guarantee in (None, "anytime")
    )
    assert plain.reached
    assert "guarantee" not in plain.to_json()
    assert not sure.reached
    assert sure.words.endswith("This holds however often you look.")
    assert sure.to_json()["guarantee"] == "anytime"
    widest = fl.Stop(width=0.9, guarantee="anytime")
    assert told_exactly(GOOD, asked=True, task=task, stop=widest).standing().reached
    adopted = told_exactly(GOOD, asked=False, task=task, stop=widest).standing()
    assert not adopted.reached
    assert "came from elsewhere" in adopted.words


def test_a_comparison_is_guaranteed_by_two_sequences() -> None:
    task, stop = fl.Compare(fl.Accuracy(), "coat", "bag"), fl.Stop(probability=0.95, guarantee="anytime")
    clear = told_exactly(BAD, asked=True, task=task, stop=stop).standing()
    close = told_exactly({**GOOD, "coat": (50, 12)}, asked=True, task=task, stop=stop).standing()
    assert clear.reached
    assert not close.reached
    # By the posterior it would be enough.
    assert told_exactly({**GOOD, "coat": (47, 15)}, task=task, stop=fl.Stop(probability=0.95)).standing().reached


@pytest.mark.slow
@pytest.mark.long  # test_anytime_stops.py has a shorter one
def test_two_groups_that_are_alike_are_told_apart_as_rarely_as_promised() -> None:
    """Both at 0.8, no rope, a look after every fourth label, 100 runs: a wrong region at some look."""
    items, _ = pool()
    task = fl.Compare(fl.Accuracy(), "shirt", "coat", rope=0.0)
    cells = task.metric.cells(items, fl.by_predicted(items))
    rng, prior, wrong = np.random.default_rng(8), fl.Uniform().on(cells, "population"), 0
    for _ in range(100):
        right = np.cumsum(rng.random((80, 2)) < 0.8, axis=0)
        for n in range(4, 80, 4):
            counts = np.zeros((4, 2))
            counts[:2, 0], counts[:2, 1] = right[n - 1], n - right[n - 1]
            if (task.assurance(prior.belief(Outcomes(counts)), cells) or 0) >= 0.8:
                wrong += 1
                break
    assert wrong / 100 <= 0.2 + 4.5 * np.sqrt(0.2 * 0.8 / 100)


def test_a_stop_that_cannot_be_guaranteed_is_refused() -> None:
    accuracy = fl.Accuracy()
    for stop, task, message in (
        (fl.Stop(overall=0.1, guarantee="anytime"), fl.Estimate(accuracy), "is not possible"),
        (fl.Stop(labels=10, guarantee="anytime"), fl.Estimate(accuracy), "a width or a probability"),
        (fl.Stop(width=0.1, guarantee="anytime"), fl.Estimate(fl.CalibrationError()), "a single share"),
        (fl.Stop(probability=0.9, guarantee="anytime"), fl.Identify(fl.Recall(), lowest=1), "a single share"),
        (fl.Stop(probability=0.9, guarantee="anytime"), fl.Certify(accuracy, at_least=0.5), "guaranteed at every"),
    ):
        with pytest.raises(fl.SpecError, match=message):
            stop.check(task)


def test_older_versions_read_stops_without_a_guarantee_and_old_stops_load() -> None:
    assert "guarantee" not in to_json(fl.Stop(labels=5))
    assert from_json({"kind": "Stop", "labels": 5, "probability": None, "width": None, "overall": None}) == fl.Stop(5)
    promised = fl.Stop(width=0.2, guarantee="anytime")
    assert from_json(to_json(promised)) == promised
    audit = told_exactly(GOOD, stop=promised)
    assert Spec.from_json(audit.spec.to_json()).stop == promised


def test_a_forecast_goes_by_the_guarantee() -> None:
    few = dict.fromkeys(CLASSES, (9, 1))
    plain, sure = (
        fl.forecast(told_exactly(few, stop=fl.Stop(width=0.3, guarantee=guarantee), asked=False), runs=9)
        for guarantee in (None, "anytime")
    )
    assert plain.more is not None
    assert sure.more is None or sure.more > plain.more
