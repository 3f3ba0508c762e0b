"""The base of policies: from rewards and the room left to the groups to ask in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from fewlabels.parts import Family, Part

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.tasks.base import Rewards

_FEW = 4  # groups for each one wanted; with more, it pays to select the best before sorting


@dataclass(frozen=True)
class Policy(Part, ABC):
    """A policy chooses the groups of one step of asking. It sees arrays, never the assessment.

    >>> import fewlabels as fl
    >>> policy: fl.Policy = fl.UniformItems()
    >>> policy.uses_belief
    False
    """

    family: ClassVar[Family] = "policy"
    ignorable: ClassVar[bool] = False
    """Whether every item is equally likely to be asked, so that labels can be counted in any other groups."""
    uses_belief: ClassVar[bool] = True
    """Whether it uses the rewards; a policy that does not can choose without a belief."""

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Policies of this kind on which `fewlabels.testing` and the contract tests can be run."""
        return (cls(),)

    @abstractmethod
    def choose(
        self, rewards: Rewards, room: NDArray[np.int64], plays: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Different groups to ask in, at most `plays`, all with room; empty if there is none.

        Parameters
        ----------
        rewards
            The task's rewards: drawn from the belief, or at its mean.
        room
            Items of each group that can still be asked about, shape (groups,).
        plays
            The number of groups that the task wants in a step.
        rng
            The generator of this step.
        """


def best(
    reward: NDArray[np.float64], room: NDArray[np.int64], plays: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The groups with room that have the largest rewards, best first, equal ones in random order."""
    (open_groups,) = (room > 0).nonzero()  # quicker than flatnonzero, and a plan does it ten thousand times
    reward, tie = reward[open_groups], rng.random(len(open_groups))
    if plays == 1 and len(reward) and not np.isnan(most := reward.max()):
        (some,) = (reward == most).nonzero()
        return open_groups[some[tie[some].argmin()] if len(some) > 1 else some[0]][None]
    if _FEW * plays < len(open_groups) and np.isfinite(reward).all():
        # Only those that can be among the best are put in order.
        some = np.flatnonzero(reward >= np.partition(reward, -plays)[-plays])
        open_groups, reward, tie = open_groups[some], reward[some], tie[some]
    return open_groups[np.lexsort((tie, -reward))[:plays]]
