"""Beliefs where outcomes are classes: the model of items says how many are right, that of mistakes the rest."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.learned.items.believed import TrustBelief

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.learned.mistakes import Mistakes


@dataclass(frozen=True, eq=False)
class ClassBelief(TrustBelief):
    """θ = R e_r + (1 − R) q: R is the share right by the model of items, q the outcome shares among mistakes.

    So the share right of a cell is the same draw for every metric: that of accuracy.

    Parameters
    ----------
    mistakes
        The posterior of q.
    right
        The outcome that a right prediction shows, shape (cells,).
    part
        Which of the model's cells the belief is about.
    """

    mistakes: Mistakes = field(kw_only=True)
    right: NDArray[np.int64] = field(kw_only=True)
    part: slice | NDArray[np.intp] = field(default_factory=lambda: slice(None), kw_only=True)

    @property
    def numbers(self) -> int:
        """The number of values in one draw."""
        return len(self.free) + self.counts.size

    @cached_property
    def alpha(self) -> NDArray[np.float64]:
        """Counts of the Dirichlet with the mean and total variance of the shares among the items yet to be labelled.

        Σ_j θ_j² = R² + 2 R(1 − R) q_r + (1 − R)² Σ_j q_j², with R and q independent.
        """
        mean, variance = (values[self.part] for values in self.right_moments())
        q, squares = self.mistakes.moments()
        at = np.arange(len(mean))
        theta = (1 - mean)[:, None] * q
        theta[at, self.right] += mean
        both = 2 * np.maximum(mean - mean**2 - variance, 0) * q[at, self.right]
        second = variance + mean**2 + both + (variance + (1 - mean) ** 2) * squares
        ours = (theta**2).sum(axis=1)
        return np.clip((1 - ours) / np.maximum(second - ours, 1e-12) - 1, 1e-2, 1e7)[:, None] * theta

    def rows(self, cells: slice | NDArray[np.intp]) -> ClassBelief:
        """The belief about some of the cells, with what all of them taught the models."""
        return replace(
            self,
            prior=self.prior[cells],
            counts=self.counts[cells],
            size=self.size[cells],
            mistakes=self.mistakes.rows(cells),
            right=self.right[cells],
            part=np.arange(len(self.model.strips.by_cell(self.free)))[self.part][cells],
        )

    def shares(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of the shares in the population, shape (n, cells, outcomes)."""
        right = self.right_shares(rng, n)[:, self.part]
        theta = self.mistakes.draws(rng, n)
        theta *= (1 - right)[..., None]
        theta[:, np.arange(len(self.right)), self.right] += right
        return theta

    def draws(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of θ, shape (n, cells, outcomes); the unlabelled items of a pool by their own confidences."""
        if self.target == "population":
            return self.shares(rng, n)
        rights = self.model.rights(rng, n, self.free)[:, self.part]
        unlabelled = rng.multinomial(self.left - rights, self.mistakes.draws(rng, n))
        unlabelled[:, np.arange(len(self.right)), self.right] += rights
        return (self.counts + unlabelled) / self.size[:, None]
