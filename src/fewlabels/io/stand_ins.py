"""Stand-ins for the first items of a table's queues, for a plan, in which nobody is asked about them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fewlabels.reserve import END

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.pool import Pool

_MOST = 10**9 - 1  # NumPy cannot draw from more than this
_PLAN = 51  # beside the seed of the pool, so that no other draws are the same


def with_stand_ins(pool: Pool, wanted: int) -> Pool:
    """A pool of units with `wanted` named items of each stratum, drawn from the summary.

    Which items come first in a queue depends on a hash of their ids, so they are a random part of their stratum. Any
    other random part is as good for a plan, and the table need not be read again.
    """
    reserve = pool.reserve
    assert reserve is not None
    rng = np.random.default_rng([reserve.seed, _PLAN])
    unit = np.repeat(np.arange(pool.units), drawn(reserve.size, reserve.stratum, wanted, rng))
    grown = replace(
        reserve,
        unit=unit,
        key=rng.integers(2**63, size=len(unit)).astype(np.uint64),
        said=None if pool.confidence is None else pool.confidence[unit],
        reach=np.full(pool.units, END),
    )
    ids = pa.array([str(i) for i in range(len(unit))], pa.string())
    return pool.with_rows(pa.concat_arrays([pool.id_column, ids]), grown)


def drawn(
    size: NDArray[np.int64], stratum: NDArray[np.int64], wanted: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """How many of `wanted` items, drawn from each stratum without putting any back, are of each unit; shape (units,).

    >>> drawn(np.array([10**9, 2, 5, 0, 3]), np.array([0, 1, 1, 1, 2]), 7, np.random.default_rng(0))
    array([7, 2, 5, 0, 3])
    """
    total = np.bincount(stratum, size)
    left, taken = np.minimum(total, wanted).astype(np.int64), np.zeros(len(size), dtype=np.int64)
    # A part of a huge stratum has the same shares.
    size = size // (total // _MOST + 1).astype(np.int64)[stratum]
    rest = np.bincount(stratum, size).astype(np.int64)
    order = np.argsort(stratum, kind="stable")
    begins = np.flatnonzero(np.diff(stratum[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
    for turn in range(int(rank.max(initial=-1)) + 1):  # the first unit of every stratum, then the second, ...
        units = order[rank == turn]
        at = stratum[units]
        rest[at] -= size[units]
        taken[units] = rng.hypergeometric(size[units], rest[at], left[at])
        left[at] -= taken[units]
    return taken
