"""Outcomes with the same prior weight, merged when it does not matter which of them it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.belief import Belief

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Counts that differ by less than this factor are alike, and smaller ones than this part of the largest all are.
_RATIO, _LEAST = 1.1, 1e-9


@dataclass(frozen=True, eq=False)
class Alike(Belief):
    """A belief whose outcomes are some of another's together: for the expected fall of all variances it tells as much.

    A Dirichlet stays one when outcomes are added up. Of outcomes with equal counts α, `total_drop` needs no more than
    their sum: Σ α_j² and Σ θ_j α_j. Where counts are alike but not equal, their mean Σ α² / Σ α stands for each, so the
    first sum is exact, and the second on average and within a twentieth.

    Parameters
    ----------
    part
        Σ α² / (Σ α)² over the outcomes that were added up: 1 where it was one, shape (cells, outcomes).
    """

    part: NDArray[np.float64] = field(kw_only=True)

    def matched(self) -> Belief:
        """The belief itself: it is one of independent Dirichlets."""
        return self

    @property
    def each(self) -> NDArray[np.float64]:
        """The α of one of the outcomes that were added up, shape (cells, outcomes)."""
        return self.alpha * self.part


def alike(belief: Belief) -> Belief:
    """Add up the outcomes of each cell whose counts are alike; the belief itself if that saves nothing.

    >>> belief = Belief(np.array([[7.0, 1.0, 1.0, 1.0]]), np.zeros((1, 4)), np.array([50]))
    >>> alike(belief).alpha, alike(belief).part.round(2)
    (array([[3., 7.]]), array([[0.33, 1.  ]]))
    """
    plain = belief.matched()
    alpha = plain.alpha
    scale = np.maximum(alpha, _LEAST * alpha.max(initial=1.0))
    used, kind = np.unique(np.rint(np.log(scale) / np.log(_RATIO)).astype(np.int64), return_inverse=True)
    if 2 * len(used) > alpha.shape[1]:
        return belief
    place = (np.arange(len(alpha))[:, None] * len(used) + kind.reshape(alpha.shape)).ravel()
    shape = (len(alpha), len(used))

    def added(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(place, values.ravel(), shape[0] * shape[1]).reshape(shape).astype(np.float64)

    total = added(alpha)
    part = added(alpha**2) / np.where(total > 0, total, 1.0) ** 2
    return Alike(added(plain.prior), added(plain.counts), plain.size, plain.target, part=np.minimum(part, 1.0))
