"""Confusion: which class is the true one, for each predicted class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fewlabels.errors import SpecError
from fewlabels.metrics.base import Metric, true_classes
from fewlabels.parts import register

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool


@register
@dataclass(frozen=True)
class Confusion(Metric):
    """θ_jk, the probability that class j is the true one where class k is predicted: a value for each j.

    The groups must be predicted classes, or a cross of them with something else.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], classes=["cat", "dog"])
    >>> fl.Confusion().cells(pool, fl.by_predicted(pool)).outcomes
    ('cat', 'dog')
    """

    phrase: ClassVar[str] = "how often each class is the true one where the classifier says another"
    linear: ClassVar[bool] = True
    vector: ClassVar[bool] = True
    nameless: ClassVar[bool] = True

    def cells(self, pool: Pool, partition: Partition) -> Cells:
        """One cell for each group, with the true classes as outcomes."""
        merged = np.broadcast_to(np.arange(len(pool.classes)), (len(pool.classes),) * 2)
        cells = true_classes(pool, partition, merged, pool.classes)
        if len(np.unique(cells.group)) != len(cells):
            raise SpecError(
                "Confusion() has one row for each predicted class, but a group here contains several. "
                "Group with by_predicted(pool), or cross(..., by_predicted(pool))."
            )
        return cells

    def outcome(self, pool: Pool, items: NDArray[np.int64], true: NDArray[np.int32]) -> NDArray[np.int64]:
        """The true class itself."""
        return true.astype(np.int64)

    def value(self, theta: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """The rows themselves: (..., cells, outcomes) to (..., groups, outcomes)."""
        return np.moveaxis(cells.total(np.moveaxis(theta, -1, -2)), -2, -1)

    def gradient(self, theta: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """Raise TypeError: a row is not one number, so it has no gradient; `drop` sums the variances of the row."""
        raise SpecError("Confusion() has a value for each true class, so it has no single gradient.")

    def drop(self, belief: Belief, theta: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """The expected fall in Σ_j Var θ_jk by a label, shape (..., cells)."""
        return belief.total_drop(theta)
