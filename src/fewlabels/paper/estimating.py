"""The estimation tables: accuracy by class, confusion, ECE, and accuracy by score bin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fewlabels.metrics import Accuracy, Confusion
from fewlabels.paper import footnotes
from fewlabels.paper.methods import estimating
from fewlabels.paper.plan import PaperPlan, Result, Row, scored, settings
from fewlabels.paper.pools import SCORED, SOURCES
from fewlabels.paper.published import published
from fewlabels.paper.quirks import CONFUSION_WEIGHT, LATE, equal_width_ece, rank_bins
from fewlabels.partition import by_predicted, by_score
from fewlabels.priors import Informed
from fewlabels.simulation.order import asker
from fewlabels.simulation.parallel import run_generator
from fewlabels.simulation.truth import Truth
from fewlabels.tasks import Estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fewlabels.metrics.base import Metric
    from fewlabels.paper.pools import PaperPool
    from fewlabels.partition import Partition
    from fewlabels.simulation.methods import Method


class Score(Protocol):
    """The error of estimates of shape (groups,), or (groups, outcomes) for a confusion matrix."""

    def __call__(self, value: NDArray[np.float64]) -> float: ...


@dataclass(frozen=True, eq=False)
class Rmse:
    """unit · (Σ_g p_g Σ_j (θ^_gj − θ_gj)²)^power, with the power ½ unless the root was forgotten."""

    truth: NDArray[np.float64]
    shares: NDArray[np.float64]
    unit: float = 100.0
    power: float = 0.5

    def __call__(self, value: NDArray[np.float64]) -> float:
        square = (value - self.truth) ** 2
        total = self.shares @ (square.sum(axis=-1) if square.ndim == 2 else square)
        return float(self.unit * total**self.power)


@dataclass(frozen=True, eq=False)
class EceError:
    """100 · |ECE^ − ECE| / ECE with ECE^ = Σ_b p_b |θ^_b − s_b|."""

    ece: float
    confidence: NDArray[np.float64]
    shares: NDArray[np.float64]

    def __call__(self, value: NDArray[np.float64]) -> float:
        return float(100 * abs(self.shares @ np.abs(value - self.confidence) - self.ece) / self.ece)


def case_of(pool: PaperPool, partition: Partition, metric: Metric) -> Truth:
    """Estimating a metric on a fully labelled pool."""
    items = np.arange(len(pool.pool))
    outcome = metric.outcome(pool.pool, items, pool.labels.astype(np.int32))
    return Truth(Estimate(metric), metric.cells(pool.pool, partition), outcome, pool.right)


def errors(
    case: Truth, score: Score, budgets: Sequence[int], seed: int, method: Method, runs: range
) -> NDArray[np.float64]:
    """The error of one method at ascending budgets, shape (runs, budgets)."""
    ask, prior = asker(case, method), method.prior.on(case.cells, method.target)
    errors_found = np.empty((len(runs), len(budgets)))
    for i, run in enumerate(runs):
        order = ask(run_generator(seed, run), budgets[-1])
        for j, budget in enumerate(budgets):
            belief = prior.belief(case.outcomes(order[:budget]))
            errors_found[i, j] = score(case.task.metric.value(belief.mean(), case.cells))
    return errors_found


def accuracy(plan: PaperPlan) -> Result:
    """Table tab:classwise_acc_estimate: RMSE ×100 of the accuracy of each predicted class."""
    rows: list[Row] = []
    for pool in plan.pools(SOURCES):
        case = case_of(pool, by_predicted(pool.pool), Accuracy())
        score = Rmse(case.value, case.cells.partition.shares)
        rows += _rows(plan, "accuracy", pool, case, score, "rmse", estimating(as_published=plan.as_published))
    return Result("accuracy", rows, footnotes.accuracy(plan), settings(plan))


def bins(plan: PaperPlan) -> Result:
    """Table tab:binwise_acc_estimate: RMSE ×100 of the accuracy of each of ten score bins."""
    rows: list[Row] = []
    for pool in plan.pools(SOURCES):
        case = case_of(pool, _ten_bins(plan, pool), Accuracy())
        score = Rmse(case.value, case.cells.partition.shares)
        rows += _rows(plan, "bins", pool, case, score, "rmse", estimating(as_published=plan.as_published))
    return Result("bins", rows, footnotes.bins(plan), settings(plan))


def ece(plan: PaperPlan) -> Result:
    """Table tab:ece_estimate: percentage error of the ECE over ten score bins."""
    rows: list[Row] = []
    for pool in plan.pools(SOURCES):
        case = case_of(pool, _ten_bins(plan, pool), Accuracy())
        confidence, shares = case.cells.confidence, case.cells.partition.shares
        assert confidence is not None
        assert pool.pool.confidence is not None
        true = float(shares @ np.abs(case.value - confidence))
        if plan.as_published:
            true = equal_width_ece(pool.pool.confidence, pool.right, 20)
        score = EceError(true, confidence, shares)
        rows += _rows(plan, "ece", pool, case, score, "ece-error", estimating(as_published=plan.as_published))
    return Result("ece", rows, footnotes.ece(plan), settings(plan))


def confusion(plan: PaperPlan) -> Result:
    """Table tab:confusion_rmse: error of the confusion matrix, relative to the informed prior without labels.

    As published, every label shows the predicted class, so the truth is the identity matrix, and there is no root.
    """
    rows: list[Row] = []
    sources = [SCORED if source.dataset == SCORED.dataset else source for source in SOURCES]
    for pool in plan.pools(source for source in sources if source.dataset != "ImageNet"):
        seen = replace(pool, labels=pool.pool.predicted.astype(np.int64)) if plan.as_published else pool
        case = case_of(seen, by_predicted(pool.pool), Confusion())
        power = 1.0 if plan.as_published else 0.5
        blank = Informed().on(case.cells, "population").blank()
        plain = Rmse(case.value, case.cells.partition.shares, 1.0, power)
        scale = 1 / plain(case.task.metric.value(blank.mean(), case.cells))
        weight = CONFUSION_WEIGHT if plan.as_published else None
        ways = estimating(as_published=plan.as_published, informed=weight)
        rows += _rows(plan, "confusion", pool, case, replace(plain, unit=scale), "rmse", ways)
    return Result("confusion", rows, footnotes.confusion(plan), settings(plan))


def _ten_bins(plan: PaperPlan, pool: PaperPool) -> Partition:
    return rank_bins(pool.pool) if plan.as_published else by_score(pool.pool, 10, "weight")


def _rows(
    plan: PaperPlan, table: str, pool: PaperPool, case: Truth, score: Score, name: str, ways: Sequence[Method]
) -> list[Row]:
    """Run the methods at the budgets of the paper's rows that the pool is large enough for."""
    dataset, late = pool.source.dataset, LATE if plan.as_published else 0
    printed = {cell.budget for cell in published(table) if cell.dataset == dataset and cell.budget}
    budgets = sorted(budget for budget in printed if budget + late <= len(pool.pool))
    part = partial(errors, case, score, [budget + late for budget in budgets], plan.seed)
    done = plan.run(f"{table}: {dataset}", ways, part, plan.runs)
    results = {way: np.concatenate(pieces) for way, pieces in done.items()}
    rows: list[Row] = []
    for i, budget in enumerate(budgets):
        rows += scored(table, dataset, {way: values[:, i] for way, values in results.items()}, budget, name, "low")
    return rows
