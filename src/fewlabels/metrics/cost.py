"""Cost: the mean price of the classifier's mistakes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from fewlabels.errors import SpecError
from fewlabels.metrics.base import Metric, true_classes
from fewlabels.parts import Takes, register

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool


@register
@dataclass(frozen=True)
class Cost(Metric):
    """Σ_k p_gk Σ_j c_jk θ_gjk: the expected cost of a prediction in a group (the paper's with `by_predicted`).

    Parameters
    ----------
    matrix
        c_jk, the cost where j is the true and k the predicted class: rows are true, columns predicted classes, in
        the pool's order.

    >>> import fewlabels as fl, numpy as np
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], classes=["ill", "well"])
    >>> metric = fl.Cost([[0, 10], [1, 0]])  # calling an ill person well costs 10
    >>> cells = metric.cells(pool, fl.by_predicted(pool))
    >>> metric.value(np.array([[0.2, 0.8], [0.9, 0.1]]), cells)  # outcomes are levels of cost, the cheapest first
    array([0.8, 1. ])
    """

    matrix: Sequence[Sequence[float]] | NDArray[np.generic] = ()

    takes: ClassVar[Takes] = "FILE"
    phrase: ClassVar[str] = "what a prediction costs on average, at the prices given"
    linear: ClassVar[bool] = True
    in_unit_interval: ClassVar[bool] = False
    in_percent: ClassVar[bool] = False
    high_is_bad: ClassVar[bool] = True

    @property
    def span(self) -> float:
        """The distance from the lowest price to the highest; 1 if all prices are equal."""
        return float(np.ptp(np.array(self.matrix))) or 1.0

    def __post_init__(self) -> None:
        try:
            costs = np.asarray(self.matrix, dtype=float)
        except (TypeError, ValueError):
            raise SpecError(
                "The 'matrix' of Cost() must be rows of numbers, all of the same length: one row for each true class, "
                f"one column for each predicted class. Got {self.matrix!r} instead."
            ) from None
        if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or not np.isfinite(costs).all():
            raise SpecError(
                "The 'matrix' of Cost() must be square, with a finite number for each true class (row) and predicted "
                f"class (column). Got shape {costs.shape} instead."
            )
        # Plain tuples of floats, so that equal costs compare as equal and the metric can be saved as JSON and loaded.
        object.__setattr__(self, "matrix", tuple(map(tuple, costs.tolist())))

    @classmethod
    def examples(cls, classes: Sequence[str]) -> tuple[Self, ...]:
        """Prices from −2 to 2, and the same price for everything."""
        k = len(classes)
        return (cls(np.random.default_rng(8).integers(-2, 3, (k, k)).tolist()), cls(np.ones((k, k)).tolist()))

    @cached_property
    def _levels(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """For each predicted class, the level of each true class and the cost of each level.

        Classes with the same cost need not be distinguished, so that a matrix of few prices stays small even with
        a thousand classes. Shapes (classes, classes) and (classes, levels).
        """
        columns = [np.unique(column, return_inverse=True) for column in np.array(self.matrix).T]
        widest = max(len(costs) for costs, _ in columns)
        merged = np.array([level for _, level in columns])
        return merged, np.array([np.pad(costs, (0, widest - len(costs))) for costs, _ in columns])

    def cells(self, pool: Pool, partition: Partition) -> Cells:
        """One cell for each predicted class of a group; the outcomes are the levels of cost."""
        if len(self.matrix) != len(pool.classes):
            raise SpecError(
                f"Cost() has a matrix for {len(self.matrix)} classes, but the pool has {len(pool.classes)}. "
                "It needs a row and a column for each class, in the order of pool.classes."
            )
        merged, costs = self._levels
        return true_classes(pool, partition, merged, tuple(f"level {i + 1}" for i in range(costs.shape[1])))

    def outcome(self, pool: Pool, items: NDArray[np.int64], true: NDArray[np.int32]) -> NDArray[np.int64]:
        """The level of cost that the true class means for the predicted one."""
        return self._levels[0][pool.predicted[items], true]

    def value(self, theta: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """The expected cost: (..., cells, outcomes) to (..., groups)."""
        return cells.total((theta * self.gradient(theta, cells)).sum(axis=-1))

    def gradient(self, theta: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """The cell's weight times the cost of each level, shape (cells, outcomes)."""
        return cells.weight[:, None] * self._levels[1][cells.key]
