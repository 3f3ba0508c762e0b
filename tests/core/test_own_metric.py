"""A metric that a user writes, as docs/parts.md says how: it says itself how its values are to be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.findings.measures import Measure, measure
from fewlabels.metrics.accuracy import RightOrWrong
from fewlabels.metrics.base import right_or_wrong
from fewlabels.planning.watching import usual_stop
from fewlabels.report import read
from fewlabels.simulation.methods import method
from fewlabels.simulation.scorer import scorer_of
from fewlabels.simulation.truth import truth
from fewlabels.tasks.snapshot import Snapshot
from tests.support.reports import pool, told_exactly

COUNTS = {"shirt": (12, 12), "coat": (20, 6), "bag": (22, 2), "boot": (24, 1)}


@dataclass(frozen=True)
class ErrorRate(RightOrWrong):
    """1 − θ_g, the share of wrong predictions."""

    linear: ClassVar[bool] = True
    high_is_bad: ClassVar[bool] = True

    def cells(self, pool, partition):
        return right_or_wrong(pool, partition)

    def value(self, theta, cells):
        return cells.total(theta[..., 1])

    def gradient(self, theta, cells):
        return np.tile([0.0, 1.0], (len(cells), 1))


@dataclass(frozen=True)
class Refund(ErrorRate):
    """40 for every wrong prediction: no share."""

    in_unit_interval: ClassVar[bool] = False
    in_percent: ClassVar[bool] = False

    @property
    def span(self):
        return 40.0

    def value(self, theta, cells):
        return 40 * super().value(theta, cells)

    def gradient(self, theta, cells):
        return 40 * super().gradient(theta, cells)


@pytest.fixture(autouse=True)
def _registered(registry: None) -> None:
    fl.register(ErrorRate)
    fl.register(Refund)


@pytest.mark.parametrize("metric", [ErrorRate(), Refund()], ids=repr)
def test_it_keeps_the_laws(metric: ErrorRate) -> None:
    fl.testing.check_metric(metric)


def test_the_worst_group_is_the_one_with_the_most_errors() -> None:
    report = read(told_exactly(COUNTS, task=fl.Estimate(ErrorRate())), draws=500, foresee=False)
    assert [row.group for row in report.groups] == ["shirt", "coat", "bag", "boot"]
    assert "The class with the highest estimate is shirt (50%" in report.headline
    assert measure(ErrorRate()) == Measure("error rate", share=True, high_is_bad=True)
    with pytest.raises(fl.SpecError, match="is too wide: the error rate lies between 0 and 1"):
        fl.Stop(width=2).check(fl.Estimate(ErrorRate()))


def test_what_is_no_share_is_not_read_as_one() -> None:
    task = fl.Estimate(Refund())
    audit = told_exactly(COUNTS, task=task, stop=fl.Stop(width=25))
    report = read(audit, draws=500, foresee=False)
    assert "The class with the highest estimate is shirt (20, between 1" in report.headline
    assert usual_stop(task).rules == {"overall": 4.0}
    # A quick reading has the interval that draws have; a Beta would end at 1.
    cells = task.metric.cells(audit.pool, audit.groups)
    quick = Snapshot(task, cells, audit.belief(), np.random.default_rng(1), 2_000)
    assert quick.width == pytest.approx(audit.standing(draws=2_000).rules[0].now, rel=0.1)
    items, true = pool()
    shares: list[Any] = [
        scorer_of(truth(items, true, audit.groups, fl.Estimate(metric), [method("uniform+items")]))
        for metric in (ErrorRate(), Refund())
    ]
    assert [one._unit for one in shares] == [100.0, 1.0]  # errors of shares are told in percent
