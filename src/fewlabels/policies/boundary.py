"""Boundary: ask where a label is most likely to move a group across the boundary of the m extreme ones."""

from __future__ import annotations

import math
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

    phrase: ClassVar[str] = "Each label was asked for where it was most likely to change which {nouns} are the answer."

    def choose(
        self, rewards: Rewards, room: NDArray[np.int64], plays: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """The group where a label settles most, or the best groups at the mean if the task has no boundary."""
        if rewards.task.sought is None:
            return best(rewards.mean(), room, plays, rng)
        kept = rewards.kept
        if kept is None:
            return best(_Border.of(rewards, len(room), plays, rng).worth, room, 1, rng)
        border = kept.get(self)
        if border is None:
            border = kept[self] = _Border.of(rewards, len(room), plays, rng)
        chosen = best(border.worth, room, 1, rng)
        border.ask(chosen)
        return chosen


class _Border:
    """The groups on the two sides of the boundary, and what a label in each is worth, as a logarithm.

    Parameters
    ----------
    value, variance, drop
        The reward of each group, its variance, and the fall of that by a label, three of shape (groups,).
    members, others
        The groups on the two sides.
    """

    def __init__(
        self,
        value: NDArray[np.float64],
        variance: NDArray[np.float64],
        drop: NDArray[np.float64],
        members: NDArray[np.int64],
        others: NDArray[np.int64],
    ) -> None:
        self._value, self._variance, self._drop = value, variance, np.maximum(drop, _LEAST)
        self._members, self._others = members, others
        self._is_member = np.zeros(len(value), dtype=bool)
        self._is_member[members] = True
        density = self._density(members, others)
        self.worth: NDArray[np.float64] = np.full(len(value), -np.inf)
        self.worth[members], self.worth[others] = density.max(axis=1), density.max(axis=0)
        self.worth += np.log(self._drop)

    @classmethod
    def of(cls, rewards: Rewards, groups: int, plays: int, rng: np.random.Generator) -> _Border:
        """The boundary at the mean of the belief."""
        task, belief, cells = rewards.task, rewards.belief, rewards.cells
        theta = belief.mean()
        value, variance = task.reward(belief, cells, theta), value_variance(task, belief, cells, theta)
        # Groups that are fully labelled keep their place in the order: they too are on one side or the other.
        ranked = best(value, cells.partition.sizes, groups, rng)
        return cls(value, variance, variance_drop(task, belief, cells, theta), ranked[:plays], ranked[plays:])

    def _density(self, members: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.float64]:
        """The logarithm of how probable it is that two groups are just equal, shape (members, others)."""
        both = np.maximum(self._variance[members][:, None] + self._variance[others], _LEAST)
        return -((self._value[members][:, None] - self._value[others]) ** 2) / (2 * both) - np.log(both) / 2

    def ask(self, chosen: NDArray[np.int64]) -> None:
        """Allow for a label that is asked for in a group.

        Where one label takes 1/r of the variance V, V·r/(r+1) is left, and the next takes (r/(r+1))² of what this took.
        """
        if not len(chosen):
            return
        # One number after another: a plan does this ten thousand times, and arrays of one number take longer.
        g = int(chosen[0])
        variance, drop = float(self._variance[g]), float(self._drop[g])
        left = variance / (variance + drop)
        variance, drop = variance * left, max(drop * left**2, _LEAST)
        self._variance[g], self._drop[g] = variance, drop
        opposite = self._others if self._is_member[g] else self._members
        both = np.maximum(variance + self._variance[opposite], _LEAST)
        density = -((self._value[g] - self._value[opposite]) ** 2) / (2 * both) - np.log(both) / 2
        self.worth[g] = density.max() + math.log(drop)
