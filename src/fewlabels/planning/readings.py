"""What a belief says in a few numbers: widths of intervals and the probability of the answer, quickly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaincinv, ndtri

from fewlabels.estimates import affordable, value_draws
from fewlabels.stopping import LEVEL, has_probability
from fewlabels.tasks import Compare, Identify

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.tasks import Task

_TAIL = (1 - LEVEL) / 2


@dataclass(frozen=True, eq=False)
class Reading:
    """Numbers of one belief, each computed when it is asked for.

    Intervals are those of Betas with the same mean and variance (normal for what is no share): for the accuracy of a
    population that is exact, elsewhere within some percent of what `estimates` finds from 10,000 draws, at a fraction
    of its cost.
    """

    task: Task
    cells: Cells
    belief: Belief
    rng: np.random.Generator
    draws: int

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """Draws of the metric, shape (draws, groups) or (draws, groups, outcomes)."""
        return value_draws(self.task.metric, self.belief, self.cells, self.rng, affordable(self.draws, self.belief))

    @cached_property
    def _share(self) -> bool:
        """Whether every value is the share of one outcome in one cell, whose mean and variance have formulas."""
        return self.task.metric.marginal or self.task.metric.vector

    @cached_property
    def mean(self) -> NDArray[np.float64]:
        """The posterior mean, shape (groups,) or (groups, outcomes)."""
        metric = self.task.metric
        return metric.value(self.belief.mean(), self.cells) if metric.linear else self.values.mean(axis=0)

    @cached_property
    def variance(self) -> NDArray[np.float64]:
        """The posterior variance, of the same shape as the mean."""
        if self._share:
            return self.task.metric.value(self.belief.variance(), self.cells)
        return self.values.var(axis=0)

    @cached_property
    def _intervals(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Low and high of each group that can be asked about, shape (groups,) or (groups, outcomes)."""
        low, high = self._interval(self.mean, self.variance)
        asked = self.task.askable(self.cells)
        return low[asked], high[asked]

    @cached_property
    def widths(self) -> NDArray[np.float64]:
        """The width of the interval of each group that can be asked about (the widest of its classes)."""
        width = self._intervals[1] - self._intervals[0]
        return width.max(axis=1) if self.task.metric.vector else width

    @property
    def width(self) -> float:
        """The widest interval of a group."""
        return float(self.widths.max())

    @cached_property
    def _average(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Low and high of the average over the pool, shape () or (outcomes,)."""
        shares = self.cells.partition.shares
        if self._share and self.belief.conjugate:
            return self._interval(shares @ self.mean, shares**2 @ self.variance)
        average = np.tensordot(self.values, shares, axes=(1, 0))
        return self._interval(average.mean(axis=0), average.var(axis=0))

    @property
    def overall(self) -> float:
        """The width of the interval of the average over the pool (the widest of its classes)."""
        return float(np.max(self._average[1] - self._average[0]))

    def _interval(
        self, mean: NDArray[np.float64], variance: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if not self.task.metric.in_unit_interval:
            half = -ndtri(_TAIL) * np.sqrt(variance)
            return mean - half, mean + half
        some = variance > 1e-14
        # A variance from few draws may be more than a share can have.
        strength = np.maximum(mean * (1 - mean) / np.where(some, variance, 1.0) - 1, 1e-2)
        a, b = strength * np.clip(mean, 1e-9, 1), strength * np.clip(1 - mean, 1e-9, 1)
        low, high = (np.where(some, betaincinv(a, b, q), mean) for q in (_TAIL, 1 - _TAIL))
        return low, high

    def honesty(self, rule: str, truth: NDArray[np.float64]) -> float:
        """How far a rule told the truth, from 0 to 1, if these are the true values of the groups.

        Whether the answer is right; whether the interval of the average holds it; the share of groups whose does.
        """
        if rule == "probability":
            return float(self.is_right(truth))
        if rule == "overall":
            (low, high), true = self._average, self.cells.partition.shares @ truth
        else:
            (low, high), true = self._intervals, truth[self.task.askable(self.cells)]
        return float(((low <= true + 1e-9) & (true <= high + 1e-9)).mean())

    @cached_property
    def probability(self) -> float:
        """The probability that the answer is right; 0 where none can be."""
        if isinstance(self.task, Compare):
            return float(self._regions.max())
        if not has_probability(self.task):
            return 0.0
        return float((np.isin(self._chosen, self._named).all(axis=1)).mean())

    @cached_property
    def _regions(self) -> NDArray[np.float64]:
        """P(less), P(about equal), P(more) of a comparison, shape (3,)."""
        task = self.task
        assert isinstance(task, Compare)
        if task.metric.marginal and self.belief.conjugate:
            return task.probabilities(self.belief, self.cells)
        return np.bincount(region(task, self.cells, self.values), minlength=3) / len(self.values)

    @cached_property
    def _chosen(self) -> NDArray[np.int64]:
        """The m most extreme groups of each draw, shape (draws, m)."""
        return extremes(self.task, self.cells, self.values, self.rng)

    @cached_property
    def _named(self) -> NDArray[np.int64]:
        """The m groups that are most often among the most extreme, shape (m,); equal ones by their mean."""
        sign = 1 if isinstance(self.task, Identify) and self.task.lowest else -1
        chance = np.bincount(self._chosen.ravel(), minlength=len(self.cells.partition))
        return np.lexsort((sign * self.mean, -chance))[: self.task.plays]

    def is_right(self, truth: NDArray[np.float64]) -> bool:
        """Whether the answer is right if these are the true values, shape (groups,).

        Of groups that are equal, any may be named.
        """
        if isinstance(self.task, Compare):
            return bool(self._regions.argmax() == region(self.task, self.cells, truth[None])[0])
        sign = 1 if isinstance(self.task, Identify) and self.task.lowest else -1
        there = np.flatnonzero(self.task.askable(self.cells))
        others = np.setdiff1d(there, self._named)
        return bool((sign * truth[self._named]).max() <= (sign * truth[others]).min() + 1e-12)

    def found(self, truth: NDArray[np.float64]) -> float:
        """The share of the groups looked for that the answer names, if these are the true values."""
        true = extremes(self.task, self.cells, truth[None], self.rng)[0]
        return float(np.isin(true, self._named).mean())


def region(task: Compare, cells: Cells, values: NDArray[np.float64]) -> NDArray[np.int64]:
    """0 where a is below b, 1 where they are about equal, 2 where a is above; (n, groups) to (n,)."""
    a, b = cells.partition.position(task.a), cells.partition.position(task.b)
    difference = values[:, a] - values[:, b]
    edge = task.rope + 1e-12  # a difference of exactly the rope is none, and must not be lost to rounding
    return np.where(difference < -edge, 0, np.where(difference > edge, 2, 1))


def extremes(task: Task, cells: Cells, values: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """The m lowest (or highest) groups of each draw, equal ones in random order: (n, groups) to (n, m)."""
    there = np.flatnonzero(task.askable(cells))
    some = values[:, there] if isinstance(task, Identify) and task.lowest else -values[:, there]
    # Shares of a pool are often equal; the order among them must not favour the first groups.
    some = some + 1e-13 * (np.abs(some).max() or 1.0) * rng.random(some.shape)
    return there[np.argpartition(some, task.plays - 1, axis=1)[:, : task.plays]]
