"""Boundary: ask where a label is most likely to move a group across the boundary of the m extreme ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fewlabels.parts import register
from fewlabels.policies.base import Policy, best
from fewlabels.tasks.estimate import value_variance, variance_drop

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.tasks.base import Rewards

_LEAST = 1e-200


@register
@dataclass(frozen=True)
class Boundary(Policy):
    """For `Identify`: ask where the answer is most likely to change.

    The m extreme groups at the belief's mean are on one side and the others on the other. A label in g is worth
    drop_g · max_h N(0; value_g − value_h, Var_g + Var_h) over the groups h of the other side: the expected fall
    in the variance of g, times how probable it is that g and h are just equal. To first order this is the fall in the
    expected loss of taking the wrong one of the two.
    For other tasks, whose reward already is the worth of a label, it asks as `Greedy` does.

    >>> import fewlabels as fl
    >>> fl.Boundary()
    Boundary()
    """

    phrase: ClassVar[str] = "Each label was asked where it was most likely to change which {nouns} are the answer."

    def choose(
        self, rewards: Rewards, room: NDArray[np.int64], plays: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """The group where a label settles most, or the best groups at the mean if the task has no boundary."""
        if rewards.task.sought is None:
            return best(rewards.mean(), room, plays, rng)
        belief, cells = rewards.belief, rewards.cells
        theta = belief.mean()
        value, variance = rewards.task.reward(belief, cells, theta), value_variance(rewards.task, belief, cells, theta)
        # Groups that are fully labelled keep their place in the order: they too are on one side or the other.
        ranked = best(value, cells.partition.sizes, len(room), rng)
        members, others = ranked[:plays], ranked[plays:]
        both = np.maximum(variance[members][:, None] + variance[others], _LEAST)
        density = -((value[members][:, None] - value[others]) ** 2) / (2 * both) - np.log(both) / 2
        worth = np.full(len(room), -np.inf)
        worth[members], worth[others] = density.max(axis=1), density.max(axis=0)
        worth += np.log(np.maximum(variance_drop(rewards.task, belief, cells, theta), _LEAST))
        return best(worth, room, 1, rng)
