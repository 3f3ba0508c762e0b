"""Accuracy: the share of right predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fewlabels.metrics.base import Metric, right_or_wrong
from fewlabels.parts import register

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool


@dataclass(frozen=True)
class RightOrWrong(Metric):
    """A metric whose labels show only whether the prediction was right."""

    def outcome(self, pool: Pool, items: NDArray[np.int64], true: NDArray[np.int32]) -> NDArray[np.int64]:
        """0 where the prediction is right, 1 where it is wrong, shape (labels,)."""
        return (pool.predicted[items] != true).astype(np.int64)

    def labels_of(
        self, counts: NDArray[np.float64], cells: Cells
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Right ones, and all."""
        return cells.total(counts[:, 0]), cells.total(counts.sum(axis=1))


@register
@dataclass(frozen=True)
class Accuracy(RightOrWrong):
    """θ_g, the share of items of a group whose predicted class is the true one.

    >>> import fewlabels as fl, numpy as np
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    >>> cells = fl.Accuracy().cells(pool, fl.by_predicted(pool))
    >>> fl.Accuracy().value(np.array([[0.7, 0.3], [0.9, 0.1]]), cells)
    array([0.7, 0.9])
    """

    phrase: ClassVar[str] = "the share of items for which the classifier is right"
    linear: ClassVar[bool] = True
    marginal: ClassVar[bool] = True

    def cells(self, pool: Pool, partition: Partition) -> Cells:
        """One cell for each group."""
        return right_or_wrong(pool, partition)

    def value(self, theta: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """The share of "right": (..., cells, outcomes) to (..., groups)."""
        return cells.total(theta[..., 0])

    def gradient(self, theta: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """(1, 0) for every cell, shape (cells, outcomes)."""
        return np.tile([1.0, 0.0], (len(cells), 1))
