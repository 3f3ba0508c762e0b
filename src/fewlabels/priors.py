"""Priors: what is believed before the first label."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.belief import Belief, Target
from fewlabels.errors import SpecError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.cells import Cells

# The least share an informed prior gives an outcome: a classifier that is always sure can still be found wrong.
_FLOOR = 1e-6


@dataclass(frozen=True)
class Prior(ABC):
    """Turns the labels so far into a belief about each cell.

    `strength` is the number of labels that the prior counts for, the paper's N0; None takes the paper's
    values, 2 where a label shows right or wrong and 1 where it shows a class.
    """

    strength: float | None = None

    def __post_init__(self) -> None:
        if self.strength is None:
            return
        if not isinstance(self.strength, (int, float)) or not 0 < self.strength < np.inf:
            raise SpecError(
                f"The 'strength' of {type(self).__name__}() must be a number above 0, such as 2. "
                f"Got {self.strength!r} instead."
            )

    def check(self, cells: Cells) -> None:
        """SpecError if the prior cannot be used on these cells."""

    @abstractmethod
    def shares(self, cells: Cells) -> NDArray[np.float64]:
        """The prior mean, shape (cells, outcomes)."""

    def belief(self, cells: Cells, counts: NDArray[np.float64], target: Target) -> Belief:
        """The belief after label counts of shape (cells, outcomes)."""
        strength = cells.strength if self.strength is None else self.strength
        return Belief(strength * self.shares(cells), counts, cells.size, target)


@dataclass(frozen=True)
class Uniform(Prior):
    """Nothing is known: Beta(N0/2, N0/2), or N0/K for each of K classes.

    >>> import fewlabels as fl
    >>> fl.Uniform(strength=4)
    Uniform(strength=4)
    """

    def shares(self, cells: Cells) -> NDArray[np.float64]:
        """The prior mean, shape (cells, outcomes)."""
        return cells.blank


@dataclass(frozen=True)
class Informed(Prior):
    """The classifier's own scores are taken at their word, with the weight of a few labels.

    Beta(N0·s_g, N0·(1−s_g)) with s_g the mean confidence of the group; for classes, α_jk proportional to the
    sum of the scores of class j over the items predicted as k (the paper's informative priors).

    >>> import fewlabels as fl
    >>> fl.Informed()
    Informed(strength=None)
    """

    def check(self, cells: Cells) -> None:
        """SpecError if the pool has neither scores nor confidence."""
        if cells.expected is None:
            raise SpecError(
                "Informed() needs the classifier's scores or confidence, and this pool has predicted classes only. "
                "Use prior=Uniform(), or read the pool with scores= or confidence=."
            )

    def shares(self, cells: Cells) -> NDArray[np.float64]:
        """The prior mean, shape (cells, outcomes)."""
        self.check(cells)
        assert cells.expected is not None  # noqa: S101  (for the type checker: check() has seen to it)
        # An outcome that cannot occur in a cell (blank share 0) stays impossible.
        shares = np.where(cells.blank > 0, np.maximum(cells.expected, _FLOOR), 0.0)
        return shares / shares.sum(axis=-1, keepdims=True)
