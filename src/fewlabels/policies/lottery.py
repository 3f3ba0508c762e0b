"""Lottery: draw the next item, each with a chance that grows with the worth of its label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fewlabels.checks import number_field
from fewlabels.parts import Takes, register
from fewlabels.policies.base import Policy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.tasks.base import Rewards


@register
@dataclass(frozen=True)
class Lottery(Policy):
    """Ask in a group drawn with probability ∝ (reward at the belief's mean)^power.

    With power 1/2 and rewards that are variances this would be Neyman's rule as a lottery. Every item that matters can
    come, so that a belief whose model is a little wrong is still corrected by the labels: the largest reward alone
    would be asked only where the model, right or wrong, is least sure. Of the powers 1, 2 and 4 none was better on all
    pools; with 2, what is stated as 95% sure was right most often.

    >>> import fewlabels as fl
    >>> fl.Lottery()
    Lottery(power=2.0)
    """

    power: float = 2.0

    takes: ClassVar[Takes] = "NUMBER"
    phrase: ClassVar[str] = (
        "Each label was drawn by lot, with a chance that grew with how much it would help the answer by the best guess "
        "so far."
    )

    def __post_init__(self) -> None:
        number_field(self, "power", "The 'power' of Lottery()", hint="such as 2")

    def choose(
        self, rewards: Rewards, room: NDArray[np.int64], plays: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Different groups, drawn one after the other without putting any back."""
        open_groups = np.flatnonzero(room > 0)
        reward = np.maximum(rewards.mean()[open_groups], 0.0)
        top = reward.max(initial=0.0)
        # Where no label is worth anything, all are drawn alike.
        chance = np.log(np.maximum(reward / top, 1e-12)) * self.power if top > 0 else np.zeros(len(open_groups))
        # The largest of log p + Gumbel noise has the probability p.
        order = np.argsort(-(chance + rng.gumbel(size=len(open_groups))), kind="stable")
        return open_groups[order[:plays]]
