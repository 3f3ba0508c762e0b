"""A fully labelled pool as the kernels see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Known(NamedTuple):
    """The pool with its items sorted by group; a place is a position in that order.

    items: the pool's own index of the item at each place, shape (places,).
    starts: places of group g are starts[g] to starts[g + 1], shape (groups + 1,).
    group, cell, outcome: of the item at each place, shape (places,).
    size: items in each cell, shape (cells,).
    first: cells of group g are first[g] to first[g + 1], shape (groups + 1,).
    outcomes: how many different outcomes a label can show.
    """

    items: NDArray[np.int64]
    starts: NDArray[np.int64]
    group: NDArray[np.int64]
    cell: NDArray[np.int64]
    outcome: NDArray[np.int64]
    size: NDArray[np.int64]
    first: NDArray[np.int64]
    outcomes: int


def known_pool(
    group: NDArray[np.integer],
    outcome: NDArray[np.integer],
    *,
    groups: int,
    outcomes: int = 2,
    cell: NDArray[np.integer] | None = None,
    cell_group: NDArray[np.integer] | None = None,
) -> Known:
    """Sort a labelled pool by group.

    Parameters
    ----------
    group
        The group of each item, shape (items,).
    outcome
        What the label of each item shows, 0 being right, shape (items,).
    groups, outcomes
        How many there are; groups may be empty.
    cell
        The cell of each item, shape (items,); None if each group is one cell.
    cell_group
        The group of each cell, in increasing order, shape (cells,); None if each group is one cell.

    >>> import numpy as np
    >>> known = known_pool(np.array([1, 0, 1]), np.array([0, 1, 1]), groups=2)
    >>> known.items, known.starts
    (array([1, 0, 2]), array([0, 1, 3]))
    """
    items = np.argsort(group, kind="stable")
    owner = np.arange(groups) if cell_group is None else np.asarray(cell_group)
    cells = group if cell is None else cell
    bounds = np.arange(groups + 1)
    return Known(
        items=items.astype(np.int64),
        starts=np.searchsorted(group[items], bounds).astype(np.int64),
        group=group[items].astype(np.int64),
        cell=cells[items].astype(np.int64),
        outcome=outcome[items].astype(np.int64),
        size=np.bincount(cells, minlength=len(owner)).astype(np.int64),
        first=np.searchsorted(owner, bounds).astype(np.int64),
        outcomes=outcomes,
    )
