"""Kappa: how far predictions agree with people beyond what chance alone would give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fewlabels.cells import split
from fewlabels.errors import SpecError
from fewlabels.metrics.base import Metric, true_classes
from fewlabels.parts import register

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool

# Slopes are not steeper than at this denominator.
_SMALLEST = 1e-9


@register
@dataclass(frozen=True)
class Kappa(Metric):
    """κ = (p_o − p_e) / (1 − p_e), Cohen's kappa between predicted and true classes.

    p_o is the share that agrees, and p_e = Σ_k PP_k T_k the agreement expected by chance with the same class shares. 1
    is perfect, 0 is no better than chance. If all items have one class in both, it is 0.

    >>> import fewlabels as fl, numpy as np
    >>> pool = fl.read_pool({"predicted": ["pass", "pass", "fail", "fail"]})
    >>> cells = fl.Kappa().cells(pool, fl.whole(pool))
    >>> fl.Kappa().value(np.array([[0.8, 0.2], [0.1, 0.9]]), cells).round(3)
    array([0.7])
    """

    phrase: ClassVar[str] = "agreement with people beyond chance: 1 is perfect, 0 is no better than guessing"
    in_unit_interval: ClassVar[bool] = False
    in_percent: ClassVar[bool] = False

    @property
    def span(self) -> float:
        """The largest distance between two values."""
        return 2.0

    def check(self, pool: Pool, partition: Partition) -> None:
        """Raise SpecError if the groups fix the predicted class: κ is 0 then, whatever the labels."""
        group, _, _ = split(partition, pool.predicted)
        if len(partition) > 1 and len(group) == len(np.unique(group)):
            raise SpecError(
                "Kappa() compares predicted with true classes, but each group here has only one predicted class. "
                "Group by a column, or use whole(pool)."
            )

    def cells(self, pool: Pool, partition: Partition) -> Cells:
        """Group × predicted class with the true classes as outcomes."""
        k = len(pool.classes)
        return true_classes(pool, partition, np.broadcast_to(np.arange(k), (k, k)), pool.classes)

    def outcome(self, pool: Pool, items: NDArray[np.int64], true: NDArray[np.int32]) -> NDArray[np.int64]:
        """The true class."""
        return true.astype(np.int64)

    def _parts(
        self, theta: NDArray[np.float64], cells: Cells
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """p_o and p_e of each group, shape (..., groups), and PP of shape (groups, classes)."""
        predicted = np.zeros((len(cells.partition), len(cells.outcomes)))
        predicted[cells.group, cells.key] = cells.weight
        share = cells.weight[:, None] * theta
        agreed = cells.total(share[..., np.arange(len(cells)), cells.key])
        return agreed, cells.total((share * predicted[cells.group]).sum(axis=-1)), predicted

    def value(self, theta: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """κ of each group: (..., cells, outcomes) to (..., groups)."""
        agreed, chance, _ = self._parts(theta, cells)
        rest = 1 - chance
        return np.divide(agreed - chance, rest, out=np.zeros_like(agreed), where=rest > _SMALLEST)

    def gradient(self, theta: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """w ([j = k] (1 − p_e) − PP_j (1 − p_o)) / (1 − p_e)², shape (..., cells, outcomes)."""
        agreed, chance, predicted = self._parts(theta, cells)
        rest = np.maximum(1 - chance, _SMALLEST)[..., cells.group, None]
        own = np.eye(len(cells.outcomes))[cells.key]
        slope = (own * rest - predicted[cells.group] * (1 - agreed)[..., cells.group, None]) / rest**2
        filled = np.where((1 - chance > _SMALLEST)[..., cells.group, None], slope, 0.0)
        return cells.weight[:, None] * filled
