"""A belief in a few numbers that are quick to compute: widths of intervals, and the probability of the answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from fewlabels.belief import Strata
from fewlabels.estimates import affordable, interval, sequences, value_draws
from fewlabels.rectified import rectified, unheard
from fewlabels.special import betaincinv, ndtri
from fewlabels.undefined import averaged, mean_of, over_draws

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.rectified import Rectified
    from fewlabels.sample import Binned, Sample
    from fewlabels.tasks.base import Conclusion, Task

LEVEL = 0.95
"""The level of the intervals, here and in stopping rules."""
_TAIL = (1 - LEVEL) / 2


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The main numbers of one belief, each computed when it is first used.

    Intervals are those of Betas with the same mean and variance (of normals for values that are not shares). They are
    exact for the accuracy of a population, and elsewhere within some percent of those that `estimates` computes from
    10,000 draws, at a fraction of its cost.

    Parameters
    ----------
    everything
        Gives draws of the metric over all items, shape (draws,), where that is not the average of the groups.
    """

    task: Task
    cells: Cells
    belief: Belief
    rng: np.random.Generator
    draws: int
    everything: Callable[[], NDArray[np.float64]] | None = None

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
        return metric.value(self.belief.mean(), self.cells) if metric.linear else mean_of(self.values)

    @cached_property
    def variance(self) -> NDArray[np.float64]:
        """The posterior variance, of the same shape as the mean."""
        if self._share:
            return self.task.metric.value(self.belief.variance(), self.cells)
        return over_draws(lambda kept: kept.var(axis=0), self.values)

    @cached_property
    def _intervals(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Low and high of each group that can be asked about, shape (groups,) or (groups, outcomes)."""
        if self._together is not None and len(self.cells.partition) == 1:  # all items are the only group
            low, high = self._average
            return low[None], high[None]
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
        """The widest interval of a group that has a number; where none has one, as wide as can be."""
        widths = self.widths[~np.isnan(self.widths)]
        return float(widths.max()) if len(widths) else self.task.metric.span

    @cached_property
    def _together(self) -> NDArray[np.float64] | None:
        """Draws of the metric over all items, shape (draws,), where that is not the average of the groups."""
        return None if self.everything is None else self.everything()

    def off(self, truth: NDArray[np.float64]) -> float:
        """How far the average over the pool is off, if these are the true values of the groups."""
        shares = self.cells.partition.shares
        if self._together is None:
            return float(abs(averaged(self.mean - truth, shares)))
        return float(abs(self._together.mean() - averaged(truth, shares)))

    @cached_property
    def _average(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Low and high of the average over the pool, shape () or (outcomes,)."""
        shares = self.cells.partition.shares
        if self._together is not None:
            # What anchors say is mixed of two corrections, and long in the tails: no variance tells its interval.
            return interval(self._together, LEVEL)
        if self._share and self.belief.conjugate:
            return self._interval(shares @ self.mean, shares**2 @ self.variance)
        average = averaged(self.values, shares, axis=1)
        return self._interval(mean_of(average), over_draws(lambda kept: kept.var(axis=0), average))

    @property
    def overall(self) -> float:
        """The width of the interval of the average over the pool (the widest of its classes)."""
        width = float(np.max(self._average[1] - self._average[0]))
        return self.task.metric.span if np.isnan(width) else width

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

    def honesty(self, rule: str, truth: NDArray[np.float64], *, counted: bool | None = None) -> float:
        """How far the claim of a rule is true, from 0 to 1, if these are the true values of the groups.

        By rule: whether the answer is right; whether the interval of the average contains the true average; the share
        of groups whose interval contains the true value. Values that were `counted`, as those of the pool are, may lie
        half an item outside: a group in which all of 50 items are right has the value 1, which no Beta reaches.
        """
        if rule == "probability":
            return float(self.is_right(truth))
        slack: float | NDArray[np.float64] = 1e-9
        if rule == "overall":
            (low, high), true = self._average, averaged(truth, self.cells.partition.shares, axis=0)
        else:
            asked = self.task.askable(self.cells)
            (low, high), true = self._intervals, truth[asked]
            if self.task.metric.in_unit_interval and (self.belief.target == "pool" if counted is None else counted):
                half = 0.5 / np.maximum(self.cells.partition.sizes[asked], 1)
                slack = half[:, None] if self.task.metric.vector else half
        # What is 0/0, or has no number, is not claimed.
        claimed = ~(np.isnan(true) | np.isnan(low))
        holds = ((low <= true + slack) & (true <= high + slack))[claimed]
        return float(holds.mean()) if holds.size else 1.0

    @cached_property
    def conclusion(self) -> Conclusion:
        """The answer of a conclusive task."""
        return self.task.conclude(self)

    @property
    def probability(self) -> float:
        """The probability that the answer is right; 0 for a task that has no right answer."""
        return self.conclusion.probability if self.task.conclusive else 0.0

    def is_right(self, truth: NDArray[np.float64]) -> bool:
        """Whether the answer is right if these are the true values, shape (groups,)."""
        return self.task.is_right(self.conclusion.named, truth, self.cells, self.rng)

    def found(self, truth: NDArray[np.float64]) -> float:
        """The share of the right answer that is named, if these are the true values."""
        return float(np.isin(self.task.right(truth[None], self.cells, self.rng)[0], self.conclusion.named).mean())


def held(
    task: Task,
    cells: Cells,
    belief: Belief,
    sample: Sample,
    everything: Cells,
    rng: np.random.Generator,
    draws: int,
    *,
    in_strips: bool = False,
    binned: Binned | None = None,
) -> Snapshot:
    """The main numbers after steered asking, as an assessment shows them: all items together are corrected by anchors.

    Parameters
    ----------
    cells, belief
        Those of asking.
    sample
        The items that were asked for, and which of them are anchors.
    everything
        The cell of all items.
    in_strips
        Whether the cells of asking are strips of confidence, which readers do not see: they see one group.
    binned
        All items in bins of confidence, where they are many and this is done again and again.
    """

    @cache
    def overall() -> tuple[Rectified, NDArray[np.float64]]:
        together = Strata(belief, np.zeros(len(cells), dtype=np.int64), everything.size)
        right = together.draws(rng, draws)[..., 0]
        bare = unheard(cells.partition.sizes, cells.total(belief.counts.sum(axis=-1)))
        scores, shown, count = everything.scores, sample, everything.partition.count
        if binned is not None:
            scores, shown, count = binned.with_sample(sample)
        return rectified(together, scores, shown, rng, count, right, bare=bare), right

    def values() -> NDArray[np.float64]:
        believed, drawn = overall()
        right = believed.corrected(drawn, rng)
        return task.metric.value(np.stack([right, 1 - right], axis=-1), everything)[:, 0]

    if in_strips:
        return Snapshot(task, everything, cast("Belief", overall()[0]), rng, draws, values)
    return Snapshot(task, cells, belief, rng, draws, values)


def promised(name: str, task: Task, belief: Belief, cells: Cells, missing: NDArray[np.int64] | None = None) -> float:
    """The widest interval of a group that holds at every look, or the probability that is guaranteed at every look.

    The name is that of the rule: "width" or "probability". `missing` as in `sequences`.
    """
    if name == "probability":
        return task.assurance(belief, cells) or 0.0
    low, high = sequences(task.metric, belief, cells, LEVEL, missing=missing)
    return float((high - low)[task.askable(cells)].max())
