"""A labelled pool in the form that the kernels need: only groups that can be asked about, items sorted by group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.kernels.known import Known, known_pool
from fewlabels.simulation.kernels.run import Run, start

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.simulation.truth import Truth


@dataclass(frozen=True, eq=False)
class Layout:
    """The kernels' view of a pool, and the way back to the pool.

    Parameters
    ----------
    known
        The pool for the kernels. Its groups and cells are those listed below, numbered from 0. Empty groups, and those
        that a comparison is not about, are left out.
    groups
        The groups in it, shape (kernel groups,).
    cells
        The cells in it, shape (kernel cells,).
    """

    known: Known
    groups: NDArray[np.int64]
    cells: NDArray[np.int64]

    def start(self, belief: Belief) -> Run:
        """A run before its first label, from a belief of independent cells about the whole pool."""
        return start(self.known, belief.prior[self.cells], pool=belief.target == "pool")

    def places(self, items: NDArray[np.int64]) -> NDArray[np.int64]:
        """The kernels' positions of items of the pool; the inverse of `known.items`."""
        back = np.full(int(self.known.items.max()) + 1, -1, dtype=np.int64)
        back[self.known.items] = np.arange(len(self.known.items))
        return back[items]

    def positions(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """The kernels' numbers of groups."""
        return np.searchsorted(self.groups, groups)


def layout(truth: Truth) -> Layout:
    """The kernels' view of a labelled pool.

    >>> import fewlabels as fl
    >>> from fewlabels.simulation.truth import truth
    >>> pool = fl.read_pool({"predicted": ["c", "a", "c"]}, classes=["a", "b", "c"])
    >>> view = layout(truth(pool, ["c", "c", "c"], fl.by_predicted(pool), fl.Estimate(fl.Accuracy()), []))
    >>> view.groups, view.known.items, view.known.outcome
    (array([0, 2]), array([1, 0, 2]), array([1, 0, 0]))
    """
    cells, group = truth.cells, truth.cells.partition.group
    open_groups = truth.room > 0
    number = np.cumsum(open_groups) - 1
    kept = np.flatnonzero(open_groups[cells.group])
    renumbered = np.searchsorted(kept, cells.cell)
    items = np.flatnonzero(open_groups[group])
    known = known_pool(
        number[group[items]],
        truth.outcome[items],
        groups=int(open_groups.sum()),
        outcomes=len(cells.outcomes),
        cell=renumbered[items],
        cell_group=number[cells.group[kept]],
    )
    return Layout(known._replace(items=items[known.items]), np.flatnonzero(open_groups), kept)
