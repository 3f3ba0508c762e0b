"""Greedy policies: the best group by the mean, by chance now and then, or by an upper quantile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from fewlabels.checks import number_field
from fewlabels.parts import Takes, register
from fewlabels.policies.base import Policy, best

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.tasks.base import Rewards


@register
@dataclass(frozen=True)
class Greedy(Policy):
    """Ask in the group with the largest reward at the belief's mean.

    >>> import fewlabels as fl
    >>> fl.Greedy()
    Greedy()
    """

    phrase: ClassVar[str] = "Each label was asked for where, by the best guess so far, it would help the answer most."

    def choose(
        self, rewards: Rewards, room: NDArray[np.int64], plays: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """The best groups at the mean."""
        return best(rewards.mean(), room, plays, rng)


@register
@dataclass(frozen=True)
class EpsilonGreedy(Policy):
    """Greedy, but with probability ε ask in groups taken at random.

    >>> import fewlabels as fl
    >>> fl.EpsilonGreedy()
    EpsilonGreedy(epsilon=0.1)
    """

    epsilon: float = 0.1

    cli_name: ClassVar[str] = "epsilon"
    takes: ClassVar[Takes] = "NUMBER"
    phrase: ClassVar[str] = (
        "Each label was asked for where, by the best guess so far, it would help the answer most; now "
        "and then, it was asked for at random."
    )

    def __post_init__(self) -> None:
        number_field(self, "epsilon", "The 'epsilon' of EpsilonGreedy()", high=1, ends=True)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """A share of random steps that is large enough to show in a short run."""
        return (cls(0.3),)

    def choose(
        self, rewards: Rewards, room: NDArray[np.int64], plays: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """The best groups at the mean, or any groups with room."""
        reward = np.zeros(len(room)) if rng.random() < self.epsilon else rewards.mean()
        return best(reward, room, plays, rng)


@register
@dataclass(frozen=True)
class UCB(Policy):
    """Bayesian upper confidence bound: ask where the q-quantile of the reward is largest.

    The quantile is exact where a group's value is one share of the population, such as accuracy. For the share in a
    pool it is that of the Beta with the same mean and variance; elsewhere it comes from 1,000 draws.

    >>> import fewlabels as fl
    >>> fl.UCB()
    UCB(quantile=0.975)
    """

    quantile: float = 0.975

    takes: ClassVar[Takes] = "NUMBER"
    phrase: ClassVar[str] = (
        "Each label was asked for where it could, on a favourable view of what is not yet known, help the answer most."
    )

    def __post_init__(self) -> None:
        number_field(self, "quantile", "The 'quantile' of UCB()", high=1, hint="such as 0.975")

    def choose(
        self, rewards: Rewards, room: NDArray[np.int64], plays: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """The groups with the largest quantile of the reward."""
        return best(rewards.quantile(rng, self.quantile), room, plays, rng)
