"""Calibration error: how far accuracy is from confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np

from fewlabels.checks import whole_field
from fewlabels.errors import Argument, SpecError
from fewlabels.metrics.accuracy import RightOrWrong
from fewlabels.metrics.base import right_or_wrong
from fewlabels.parts import Takes, register
from fewlabels.score_bins import score_bins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool


@register
@dataclass(frozen=True)
class CalibrationError(RightOrWrong):
    """ECE_g = Σ_b p_gb |θ_gb − s_gb| over the score bins b of a group (the paper's ECE with `whole(pool)`).

    p_gb is the bin's share of the group's items and s_gb their mean confidence; both are known from the pool.

    >>> import fewlabels as fl, numpy as np
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]])
    >>> metric = fl.CalibrationError(bins=2)
    >>> cells = metric.cells(pool, fl.whole(pool))
    >>> cells.confidence
    array([0.75])
    >>> metric.value(np.array([[0.5, 0.5]]), cells)
    array([0.25])
    """

    bins: int = 10
    equal: Literal["width", "weight"] = "width"

    cli_name: ClassVar[str] = "calibration"
    takes: ClassVar[Takes] = "COUNT"
    phrase: ClassVar[str] = "how far, on average, the classifier's confidence is from how often it is right"
    high_is_bad: ClassVar[bool] = True
    folded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole_field(self, "bins", "The 'bins' of CalibrationError()")
        if self.equal not in ("width", "weight"):
            raise SpecError(
                f"The 'equal' of CalibrationError() must be 'width' or 'weight'. Got {self.equal!r} instead."
            )

    @classmethod
    def examples(cls, classes: Sequence[str]) -> tuple[Self, ...]:
        """Ten bins of equal width, and three of equal weight."""
        return (cls(), cls(bins=3, equal="weight"))

    def cells(self, pool: Pool, partition: Partition) -> Cells:
        """One cell for each score bin of a group."""
        if pool.confidence is None:
            raise SpecError(
                "CalibrationError() compares accuracy with confidence, but this pool has predicted classes only. "
                "Read it with ",
                Argument("scores"),
                " or ",
                Argument("confidence"),
                ", or use Accuracy().",
            )
        bins, _ = score_bins(pool, self.bins, self.equal)
        return right_or_wrong(pool, partition, bins)

    def value(self, theta: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """Σ_b p_gb |θ_gb − s_gb|: (..., cells, outcomes) to (..., groups)."""
        assert cells.confidence is not None
        return cells.total(cells.weight * np.abs(theta[..., 0] - cells.confidence))

    def gradient(self, theta: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """p_gb · sign(θ_gb − s_gb) for "right", shape (..., cells, outcomes)."""
        assert cells.confidence is not None
        slope = cells.weight * np.sign(theta[..., 0] - cells.confidence)
        return np.stack([slope, np.zeros_like(slope)], axis=-1)
