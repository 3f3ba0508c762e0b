"""Neyman: ask by lot in groups that are large and whose labels differ, however well a model claims to know them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fewlabels.parts import register
from fewlabels.policies.base import Policy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.tasks.base import Rewards

# The share of each outcome counts as if this were added to it: a group that is believed to be perfect is asked too.
_DOUBT = 0.002


@register
@dataclass(frozen=True)
class Neyman(Policy):
    """Ask in a group drawn with probability ∝ its items × the standard deviation of a label's value there.

    In the long run each group has the labels that Neyman (1934) gives it for the mean of all items. The belief is
    trusted to say how much labels differ, and for nothing else. The rewards of other policies also trust it to know the
    groups between two others; where its curve has the wrong slope, labels then go to the two ends and the number over
    all items is off.

    >>> import fewlabels as fl
    >>> fl.Neyman()
    Neyman()
    """

    phrase: ClassVar[str] = (
        "Where each label went was drawn by lot, more often to where there are many items and where some predictions "
        "are right and others wrong."
    )

    def choose(
        self, rewards: Rewards, room: NDArray[np.int64], plays: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Different groups, drawn one after the other without putting any back."""
        open_groups = np.flatnonzero(room > 0)
        if len(open_groups) < 2:
            return open_groups
        chance = np.log(np.maximum(_due(rewards)[open_groups], np.finfo(float).tiny))
        # The largest of log p + Gumbel noise has the probability p.
        order = np.argsort(-(chance + rng.gumbel(size=len(open_groups))), kind="stable")
        return open_groups[order[:plays]]


def _due(rewards: Rewards) -> NDArray[np.float64]:
    """Items × standard deviation of one label's value in each group, shape (groups,)."""
    if rewards.task.of_models:  # each item is a group, and what its label is worth is a variance
        return np.sqrt(np.maximum(rewards.mean(), 0.0))
    belief, cells = rewards.belief, rewards.cells
    mean = belief.mean()
    share = (mean + _DOUBT) / (1 + _DOUBT * mean.shape[1])
    if rewards.task.metric.vector:
        spread = 1 - (share**2).sum(axis=-1)  # of all shares together
    else:
        # The slope of a cell has the cell's share of the group in it; the variance of a random item has it once.
        slope = rewards.task.metric.gradient(mean, cells)
        spread = ((share * slope**2).sum(axis=-1) - (share * slope).sum(axis=-1) ** 2) / cells.weight
    return cells.partition.shares * np.sqrt(cells.total(np.maximum(spread, 0.0)))
