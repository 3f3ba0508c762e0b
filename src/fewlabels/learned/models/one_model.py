"""What the joint belief about several models says about one of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.learned.items.believed import LearnedBelief, Summary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.belief import Belief, Target
    from fewlabels.learned.models.believed import ModelsBelief


@dataclass(frozen=True, eq=False)
class OneModelBelief(LearnedBelief):
    """What the joint belief says about one of the models: some of its rows.

    Parameters
    ----------
    joint
        The belief about all models.
    rows
        Its rows of this model, one for each cell, shape (cells,).
    """

    joint: ModelsBelief = field(kw_only=True)
    rows_of_model: NDArray[np.int64] = field(kw_only=True)

    @classmethod
    def of(cls, joint: ModelsBelief, model: int) -> OneModelBelief:
        """The belief about the model with this position."""
        rows = np.arange(model, len(joint.size), joint.learning.panel.answers.models)
        nothing = np.zeros_like(joint.counts[rows])
        return cls(nothing, joint.counts[rows], joint.size[rows], joint.target, joint=joint, rows_of_model=rows)

    @property
    def numbers(self) -> int:
        """The number of values in one draw."""
        return self.joint.numbers

    @cached_property
    def alpha(self) -> NDArray[np.float64]:
        """Counts of the Beta with the mean and variance of each cell."""
        return self.joint.alpha[self.rows_of_model]

    def to(self, target: Target) -> Belief:
        """The belief for another target."""
        return replace(self, joint=replace(self.joint, target=target), target=target)

    def mean(self) -> NDArray[np.float64]:
        """E θ, shape (cells, outcomes)."""
        return self.joint.mean()[self.rows_of_model]

    def variance(self) -> NDArray[np.float64]:
        """Var θ, shape (cells, outcomes)."""
        return self.joint.variance()[self.rows_of_model]

    def shares(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of the shares in the population, shape (n, cells, outcomes)."""
        return self.joint.shares(rng, n)[:, self.rows_of_model]

    def draws(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of θ, shape (n, cells, outcomes)."""
        return self.joint.draws(rng, n)[:, self.rows_of_model]

    def summary(self) -> Summary:
        """A summary of what was learned about where the models agree and differ."""
        return self.joint.summary()
