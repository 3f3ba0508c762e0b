"""The baselines: policies that do not use the belief."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fewlabels.parts import register
from fewlabels.policies.base import Policy, best

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.tasks.base import Rewards


@register
@dataclass(frozen=True)
class UniformItems(Policy):
    """A policy under which every item left is equally likely: the plain random sample, the baseline of the paper.

    >>> import fewlabels as fl
    >>> fl.UniformItems()
    UniformItems()
    """

    cli_name: ClassVar[str] = "items"
    phrase: ClassVar[str] = "The items were taken at random from all of them, whatever the answers were."
    ignorable: ClassVar[bool] = True
    uses_belief: ClassVar[bool] = False

    def choose(
        self, rewards: Rewards, room: NDArray[np.int64], plays: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """One group, with probability proportional to its room."""
        edge = np.cumsum(room)
        if not edge[-1]:
            return np.empty(0, dtype=np.int64)
        return np.searchsorted(edge, [rng.integers(edge[-1])], side="right")


@register
@dataclass(frozen=True)
class UniformGroups(Policy):
    """A policy under which every group that has room is equally likely.

    >>> import fewlabels as fl
    >>> fl.UniformGroups()
    UniformGroups()
    """

    cli_name: ClassVar[str] = "groups"
    phrase: ClassVar[str] = "Labels were spread evenly over the {nouns}, whatever the answers were."
    uses_belief: ClassVar[bool] = False

    def choose(
        self, rewards: Rewards, room: NDArray[np.int64], plays: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Any groups with room."""
        return best(np.zeros(len(room)), room, plays, rng)
