"""A task that a user writes: two methods are enough, and a third says which answer is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.estimates import value_draws
from fewlabels.outcomes import Outcomes
from fewlabels.table import Table
from fewlabels.tasks import Answer, Task
from fewlabels.tasks.estimate import variance_drop
from fewlabels.tasks.snapshot import Snapshot
from tests.support.reports import pool

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells


@dataclass(frozen=True)
class Gap(Task):
    """How far apart are the best and the worst group?"""

    def reward(self, belief: Belief, cells: Cells, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        return variance_drop(self, belief, cells, theta)

    def answer(self, belief: Belief, cells: Cells, rng: np.random.Generator, *, level: float, draws: int) -> Answer:
        gap = np.ptp(value_draws(self.metric, belief, cells, rng, draws), axis=1)
        settings = {"level": level, "target": belief.target, "draws": draws}
        return Answer(f"The gap is {gap.mean():.2f}.", None, Table({"mean": [float(gap.mean())]}, settings))


@dataclass(frozen=True)
class AllAbove(Gap):
    """Are all groups above a line?"""

    conclusive: ClassVar[bool] = True

    line: float = 0.7

    def right(self, values: NDArray[np.float64], cells: Cells, rng: np.random.Generator) -> NDArray[np.int64]:
        return np.asarray((values > self.line).all(axis=1), dtype=np.int64)[:, None]


def test_two_methods_can_be_planned_and_simulated() -> None:
    items, true = pool()
    assert fl.plan(items, task=Gap(fl.Accuracy()), budgets=(20, 40), runs=4).table.columns["rmse"][1] > 0
    table = fl.simulate(items, true, task=Gap(fl.Accuracy()), methods="uniform+greedy", budgets=(20, 200), runs=4)
    few, many = (row["mean"] for row in table.rows() if row["score"] == "rmse")
    assert few > many
    with pytest.raises(fl.SpecError, match="the task 'gap' has no answer that is right or wrong"):
        fl.Stop(probability=0.9).check(Gap(fl.Accuracy()))


def test_a_task_with_a_right_answer_is_scored_by_it() -> None:
    items, true = pool()
    # "boot" is nearly always right and the others are not, so the answer is no; at the start most draws say so too.
    for line, share in ((0.3, 100.0), (0.99, 100.0)):
        task = AllAbove(fl.Accuracy(), line=line)
        table = fl.simulate(items, true, task=task, methods="uniform+greedy", budgets=(300,), runs=3)
        assert [(row["score"], row["mean"]) for row in table.rows()] == [("right", share)]
    planned = fl.plan(items, task=AllAbove(fl.Accuracy()), budgets=(40,), runs=4)
    assert 0 <= planned.table.columns["right"][0] <= 1
    fl.Stop(probability=0.9).check(task)


def test_the_answer_that_most_draws_agree_on_is_concluded() -> None:
    items, _ = pool()
    task = AllAbove(fl.Accuracy(), line=0.5)
    cells = task.metric.cells(items, fl.whole(items))
    belief = fl.Uniform().on(cells, "population").belief(Outcomes(np.array([[8.0, 2.0]])))
    shot = Snapshot(task, cells, belief, np.random.default_rng(1), 4_000)
    # θ ~ Beta(9, 3): P(θ > 1/2) = 1 − I_½(9, 3), and 4.5 standard errors of 4,000 draws.
    chance = 1 - 0.03271484375
    assert shot.conclusion.named.tolist() == [1]
    assert shot.probability == pytest.approx(chance, abs=4.5 * np.sqrt(chance * (1 - chance) / 4_000))
    assert shot.is_right(np.array([0.6]))
    assert not shot.is_right(np.array([0.4]))


def test_a_conclusive_task_without_a_right_answer_says_what_is_missing() -> None:
    class Silent(Gap):
        conclusive = True

    items, true = pool()
    with pytest.raises(fl.SpecError, match=r"Write its method right\(\)"):
        fl.simulate(items, true, task=Silent(fl.Accuracy()), methods="uniform+greedy", budgets=(5,), runs=1)
