"""Thompson sampling: act as if a draw from the belief were true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from fewlabels.checks import number_field, whole_field
from fewlabels.parts import Takes, register
from fewlabels.policies.base import Policy, best

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fewlabels.tasks.base import Rewards

_REDRAWS = 100


@register
@dataclass(frozen=True)
class Thompson(Policy):
    """Draw θ~ once and ask in the group with the largest reward under it (the paper's algorithm 1).

    Where the m worst are looked for, one draw decides m groups (multiple play); `plays=1` asks in one.

    >>> import fewlabels as fl
    >>> fl.Thompson(plays=1)
    Thompson(plays=1)
    """

    plays: int | None = None

    takes: ClassVar[Takes] = "COUNT"
    phrase: ClassVar[str] = (
        "Again and again, the program imagined one way things could be that fits the labels so far, and asked where a "
        "label would help the answer most if things were like that (Thompson sampling). So labels went where they "
        "still mattered."
    )

    def __post_init__(self) -> None:
        if self.plays is not None:
            whole_field(self, "plays", "The 'plays' of Thompson()")

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """One draw for several groups, and for one."""
        return (cls(), cls(plays=1))

    def choose(
        self, rewards: Rewards, room: NDArray[np.int64], plays: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """The best groups of one draw."""
        return best(rewards.draw(rng)[0], room, self.plays or plays, rng)


@register
@dataclass(frozen=True)
class TopTwo(Policy):
    """Top-two Thompson sampling: with probability β keep the best group of a draw, else redraw until another wins.

    After a hundred draws with the same winner, the second best of the last one is taken.

    >>> import fewlabels as fl
    >>> fl.TopTwo()
    TopTwo(beta=0.5)
    """

    beta: float = 0.5

    cli_name: ClassVar[str] = "toptwo"
    takes: ClassVar[Takes] = "NUMBER"
    phrase: ClassVar[str] = (
        "Again and again, the program looked for the {noun} that is most probably the answer and for its closest "
        "rival, and asked in one of the two (top-two Thompson sampling). So labels went where they still mattered."
    )

    def __post_init__(self) -> None:
        number_field(self, "beta", "The 'beta' of TopTwo()", high=1, ends=True)

    def choose(
        self, rewards: Rewards, room: NDArray[np.int64], plays: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """The best group of a draw, or the best other one of a later draw."""
        first = best(rewards.draw(rng)[0], room, 2, rng)
        if len(first) < 2 or rng.random() < self.beta:
            return first[:1]
        for _ in range(_REDRAWS):
            again = best(rewards.draw(rng)[0], room, 2, rng)
            if again[0] != first[0]:
                return again[:1]
        return again[1:]
