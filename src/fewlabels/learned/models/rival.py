"""A model that may be better than the leader, and what the label of an item settles between two models."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Rival(NamedTuple):
    """A model that may be better than the leader: P(it is best), and Var(leader − it) of the right answers."""

    model: int
    chance: float
    variance: float

    @property
    def weight(self) -> float:
        """What a fall in that variance is worth."""
        return self.chance / self.variance


def doubt(option: NDArray[np.int16], chance: NDArray[np.float64], a: int, b: int) -> NDArray[np.float64]:
    """The variance of (a is right − b is right) for each item, shape (items,): what its label settles for certain.

    0 where the two give the same answer. The chances of the options have the shape (items, options + none).
    """
    places = np.arange(chance.shape[1])
    sign = (option[:, a, None] == places).astype(float) - (option[:, b, None] == places)
    return np.asarray((chance * sign**2).sum(axis=1) - (chance * sign).sum(axis=1) ** 2)
