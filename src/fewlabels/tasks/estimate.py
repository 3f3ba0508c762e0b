"""Estimate: how good is each group?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fewlabels.estimates import average_draws, holding, interval, unfolded
from fewlabels.parts import register
from fewlabels.table import Table
from fewlabels.tasks import estimate_words
from fewlabels.tasks.base import Answer, Task
from fewlabels.undefined import averaged, mean_of, over_draws
from fewlabels.wording import Style, chosen, is_exact

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.tasks.grounds import Ahead, Grounds


_LEAST = 1e-200


@register
@dataclass(frozen=True)
class Estimate(Task):
    """Estimate the metric of every group as precisely as the labels allow.

    The reward of a label in g is p_g · (Var now − E Var after), the paper's for accuracy and confusion.
    The answer is the average of the groups, weighted by their share of the pool.

    >>> import fewlabels as fl
    >>> fl.Estimate(fl.Accuracy())
    Estimate(metric=Accuracy())
    """

    averages: ClassVar[bool] = True

    def reward(self, belief: Belief, cells: Cells, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """p_g times the expected fall in variance: (..., cells, outcomes) to (..., groups)."""
        return cells.partition.shares * variance_drop(self, belief, cells, theta)

    def answer(self, belief: Belief, cells: Cells, rng: np.random.Generator, *, level: float, draws: int) -> Answer:
        """Σ_g p_g θ_g with its interval; for a confusion matrix, one for each true class.

        If the metric is not linear, the table has the median too. For a calibration error the words give the median,
        since its mean is pulled upwards by everything uncertain; otherwise they give the mean, as tables do.
        """
        average = average_draws(self.metric, belief, cells, rng, draws)
        each = self.metric.value(self.metric.evident(belief.mean(), belief.counts, cells), cells)
        at_means = averaged(each, cells.partition.shares, axis=0)
        low, high = unfolded(average, level, at_means) if self.metric.folded else interval(average, level)
        mean = at_means if self.metric.linear else mean_of(average)
        low, high = holding(mean, low, high)
        middle = {} if self.metric.linear else {"median": over_draws(lambda kept: np.median(kept, axis=0), average)}
        numbers = {"mean": mean, **middle, "low": low, "high": high}
        settings: dict[str, Any] = {"level": level, "target": belief.target, "draws": len(average)}
        if self.metric.vector:
            table = Table({"true": list(cells.outcomes)} | {k: v.tolist() for k, v in numbers.items()}, settings)
            return Answer("The share of each true class, over all groups.", None, table)
        name = type(self.metric).__name__
        if left_out := self.metric.left_out(belief.counts, cells):
            settings["classes_left_out"] = left_out
        if bare := int((np.isnan(each) & (cells.partition.sizes > 0)).sum()):
            settings["groups_left_out"] = bare
        columns: dict[str, list[Any]] = {"metric": [name]}
        columns |= {k: [None if np.isnan(v) else float(v)] for k, v in numbers.items()}
        table = Table(columns, settings)
        row = next(table.rows())
        if row["mean"] is None:
            return Answer(f"There is no {self.metric.name}: {self.metric.without_number}.", None, table)
        style = Style(self.metric.in_percent)
        value = style.value(row["median" if self.metric.folded else "mean"], row["low"], row["high"])
        lies = style.between(row["low"], row["high"])
        if not is_exact(row["low"], row["high"]):
            lies = f"with probability {chosen(level)} it lies {lies}"
        words = f"The {self.metric.name}, averaged over the pool's groups, is {value}; {lies}."
        return Answer(" ".join(filter(None, (words, *estimate_words.left_out(table)))), None, table)

    # --- in words

    def question(self, noun: str, groups: int) -> str:
        """The task as a question: how good is the classifier, in each group?"""
        return estimate_words.question(self, noun, groups)

    def headline(self, grounds: Grounds) -> str:
        """The number over all items, and the worst group or the largest mix-up."""
        return estimate_words.headline(self, grounds)

    def next_steps(self, grounds: Grounds, ahead: Ahead) -> tuple[str, ...]:
        """Sentences on whether the number can be used, and which groups need more labels."""
        return estimate_words.next_steps(grounds, ahead)


def value_variance(task: Task, belief: Belief, cells: Cells, theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """The variance of each group's value, by the slope of the value at θ, shape (groups,).

    In a cell Cov θ = k·(diag p − p pᵀ) with p the believed shares, so Var(g·θ) = k·(Σ p g² − (Σ p g)²), and k is known
    from Σ_j Var θ_j = k·(1 − Σ p²).
    """
    share = belief.alpha / belief.strength[:, None]
    slope = task.metric.gradient(theta, cells)
    spread = (share * slope**2).sum(axis=-1) - (share * slope).sum(axis=-1) ** 2
    scale = belief.variance().sum(axis=-1) / np.maximum(1 - (share**2).sum(axis=-1), _LEAST)
    return cells.total(np.maximum(scale * spread, 0.0))


def variance_drop(task: Task, belief: Belief, cells: Cells, theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """The expected fall in the variance of each group's value by one label in it, shape (..., groups).

    The item is any unlabelled one of the group, so the cells are averaged by their unlabelled items.
    """
    drop = task.metric.drop(belief, theta, cells)
    room = cells.total(belief.left.astype(float))
    return cells.total(drop * belief.left) / np.maximum(room, 1)
