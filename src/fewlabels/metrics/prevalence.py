"""Prevalence: the share of items that truly are of a class, such as the true pass rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from fewlabels.metrics.base import Metric, one_against_rest, position_of
from fewlabels.opposites import is_passing
from fewlabels.parts import Takes, register
from fewlabels.wording import as_class

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool


@register
@dataclass(frozen=True)
class Prevalence(Metric):
    """Σ_k p_gk θ_gk,positive: the share of the items of a group that truly are of a class.

    Where the prediction is the verdict of a judge, pass or fail, it is the true pass rate: what people would say of all
    items, with the judge's errors corrected. For each verdict, labels show how often people agree.

    Parameters
    ----------
    positive
        The class, such as "pass".

    >>> import fewlabels as fl, numpy as np
    >>> pool = fl.read_pool({"predicted": ["pass", "pass", "pass", "fail"]})
    >>> metric = fl.Prevalence("pass")
    >>> cells = metric.cells(pool, fl.whole(pool))
    >>> metric.value(np.array([[0.8, 0.2], [0.4, 0.6]]), cells)  # of what passed 80% should, of what failed 40%
    array([0.7])
    """

    positive: str = ""

    takes: ClassVar[Takes] = "CLASS"
    phrase: ClassVar[str] = "the share of items that truly belong to a class, according to people"
    linear: ClassVar[bool] = True

    @classmethod
    def examples(cls, classes: Sequence[str]) -> tuple[Self, ...]:
        """One for the first and one for the last class."""
        return (cls(classes[0]), cls(classes[-1]))

    @property
    def passes(self) -> bool:
        """Whether the class is a verdict such as pass, so that it is a pass rate."""
        return is_passing(self.positive)

    @property
    def name(self) -> str:
        """Its name in a sentence."""
        return "true pass rate" if self.passes else f"true share of {as_class(self.positive)}"

    def cells(self, pool: Pool, partition: Partition) -> Cells:
        """Group × whether the class is predicted, with the class against the rest as outcomes."""
        return one_against_rest(pool, partition, position_of(self, self.positive, pool))

    def outcome(self, pool: Pool, items: NDArray[np.int64], true: NDArray[np.int32]) -> NDArray[np.int64]:
        """0 for the class and 1 for the rest."""
        return (true != position_of(self, self.positive, pool)).astype(np.int64)

    @property
    def hit(self) -> str:  # type: ignore[override]
        """The class, as people say it of what has it."""
        return "pass" if self.passes else f"truly {as_class(self.positive)}"

    def labels_of(
        self, counts: NDArray[np.float64], cells: Cells
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Those of the class, and all."""
        return cells.total(counts[:, 0]), cells.total(counts.sum(axis=1))

    def value(self, theta: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """The share of the class: (..., cells, outcomes) to (..., groups)."""
        return cells.total(cells.weight * theta[..., 0])

    def gradient(self, theta: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """The cell's weight for the class and 0 for the rest, shape (cells, outcomes)."""
        return cells.weight[:, None] * np.array([1.0, 0.0])
