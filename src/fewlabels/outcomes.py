"""Outcomes: the labels so far, as the cells of a metric see them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.cells import Cells


def no_items() -> NDArray[np.int64]:
    """An empty list of items."""
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The labels so far as the cells see them: the counts of each cell, and the outcome of each labelled item.

    Parameters
    ----------
    counts
        How many labels of each cell show each outcome, shape (cells, outcomes).
    items
        The labelled items, shape (labels,). They may be left out for a prior that needs the counts only: see
        `Prior.uses_items`.
    shown
        The outcome that the label of each of these items shows, shape (labels,).
    right
        Whether the prediction is right, by the label of each of these items, shape (labels,). An outcome does not
        always tell: where classes are merged, a wrong prediction can show the same as a right one.

    Examples
    --------
    >>> import fewlabels as fl
    >>> pool = fl.read_pool({"predicted": ["a", "a", "b"]})
    >>> cells = fl.Accuracy().cells(pool, fl.by_predicted(pool))
    >>> Outcomes.of(cells, np.array([0, 1]), np.array([0, 1])).counts
    array([[1., 1.],
           [0., 0.]])
    """

    counts: NDArray[np.float64]
    items: NDArray[np.int64] = field(default_factory=no_items)
    shown: NDArray[np.int64] = field(default_factory=no_items)
    right: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=bool))

    @classmethod
    def none(cls, cells: Cells) -> Outcomes:
        """Make the outcomes before any label."""
        return cls(np.zeros((len(cells), len(cells.outcomes))))

    @classmethod
    def of(
        cls, cells: Cells, items: NDArray[np.int64], shown: NDArray[np.int64], right: NDArray[np.bool_] | None = None
    ) -> Outcomes:
        """Count the outcomes that the labels of some items show; all arrays have shape (labels,).

        Without `right`, every prediction whose label shows what a right one would show is taken to be right.
        """
        if right is None:
            right = shown == (0 if cells.right is None else cells.right[cells.cell[items]])
        return cls(cells.tally(items, shown), items, shown, right)

    @property
    def labels(self) -> int:
        """The number of labels."""
        return int(np.rint(self.counts.sum()))
