"""The queues of a reserve: how far down the keys an engine has to look, and what of its answer is in the queues.

Every item has a key that depends on the seed and its id alone. The queue of a stratum is its items by key, so its first
k items are a random sample of it, the same on every engine. Keys are spread evenly: of n items about n·x lie below the
share x of all keys. The first k lie below (k + 6 √k) / n, except once in a
billion queues; then the engine looks further.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fewlabels.engines.texts import coded, limit_names, upto
from fewlabels.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fewlabels.engines.columns import Columns

_SPARE = 6.0  # standard deviations of the number of keys below a limit


@dataclass(frozen=True)
class Queues:
    """Queues that are wanted, one row each, in the order of strata.

    Parameters
    ----------
    columns
        Which columns hold what.
    strata
        The columns `Columns.strata`, a row for each queue.
    wanted
        How many items each queue should have, shape (queues,).
    items
        How many items its stratum, or its strip, has, shape (queues,).
    strips
        The first and the last bin of each, shape (queues, 2); None for whole strata.
    spare
        How much further to look than needed on average, in standard deviations.
    """

    columns: Columns
    strata: pa.Table
    wanted: NDArray[np.int64]
    items: NDArray[np.int64]
    strips: NDArray[np.int64] | None = None
    spare: float = _SPARE

    @classmethod
    def of(cls, columns: Columns, summary: pa.Table, wanted: int | pa.Table) -> Queues:
        """The queues with `wanted` items of each stratum, or those of a table: see `Table.reserve`."""
        names = list(columns.strata)
        if isinstance(wanted, pa.Table):
            asked = wanted.sort_by([(name, "ascending") for name in names])
            strips = None
            if "low" in asked.column_names:
                strips = np.column_stack([asked["low"].to_numpy(), asked["high"].to_numpy()]).astype(np.int64)
            items = _sizes(names, summary, asked, strips)
            return cls(columns, asked.select(names), asked["wanted"].to_numpy().astype(np.int64), items, strips)
        groups = summary.group_by(names).aggregate([("count", "sum")])
        groups = groups.sort_by([(name, "ascending") for name in names])
        items = groups["count_sum"].to_numpy()
        return cls(columns, groups.select(names), np.full(len(items), wanted, dtype=np.int64), items)

    def __len__(self) -> int:
        return len(self.wanted)

    @property
    def shares(self) -> NDArray[np.float64]:
        """The share of all keys below which to look, shape (queues,); 1 or more means all."""
        enough = self.wanted + self.spare * np.sqrt(self.wanted)
        return np.where(self.wanted >= self.items, 1.0, enough / np.maximum(self.items, 1))

    def limits(self) -> pa.Table:
        """The limits as `Texts.reserve` joins them."""
        columns: dict[str, Any] = {"fl_w": np.arange(len(self))}
        for i, name in enumerate(self.strata.column_names):
            columns[f"fl_t{i}"] = [coded(self.columns, i, value) for value in self.strata[name].to_pylist()]
        columns["fl_upto"] = [upto(share) for share in self.shares.tolist()]
        if self.strips is not None:
            columns |= {"fl_low": self.strips[:, 0], "fl_high": self.strips[:, 1]}
        return pa.table(columns).select(limit_names(self.columns, strips=self.strips is not None))

    def short(self, count: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which queues have fewer items than they could have, given how many of each were found, shape (queues,)."""
        return count < np.minimum(self.wanted, self.items)

    def further(self, which: NDArray[np.bool_]) -> Queues:
        """Some of the queues, to be looked for further down."""
        strips = None if self.strips is None else self.strips[which]
        return replace(
            self, strata=self.strata.filter(pa.array(which)), wanted=self.wanted[which], items=self.items[which],
            strips=strips, spare=4 * max(self.spare, 0) + 10,
        )  # fmt: skip


def first_of_each(rows: pa.Table, queues: pa.Array[Any], wanted: NDArray[np.int64]) -> pa.Table:
    """The first rows of each queue by key and id, in the order of the queues.

    Parameters
    ----------
    rows
        Rows with the columns "key" and "id".
    queues
        The queue of each row, shape (rows,).
    wanted
        How many rows of each queue, shape (queues,).

    >>> rows = pa.table({"id": ["a", "b", "c"], "key": ["2", "1", "3"]})
    >>> first_of_each(rows, pa.array([0, 0, 1]), np.array([1, 1]))["id"].to_pylist()
    ['b', 'c']
    """
    import pyarrow.compute as pc

    order = pc.sort_indices(
        rows.select(["key", "id"]).append_column("queue", queues),
        sort_keys=[("queue", "ascending"), ("key", "ascending"), ("id", "ascending")],
    )
    queue = np.asarray(queues)[order.to_numpy()]
    place = np.arange(len(queue)) - np.searchsorted(queue, queue)
    return rows.take(order.filter(pa.array(place < wanted[queue])))


def _sizes(
    names: Sequence[str], summary: pa.Table, asked: pa.Table, strips: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    """How many items each queue of a table has in the summary, shape (queues,)."""
    place: dict[tuple[str | None, ...], list[int]] = {}
    for row, stratum in enumerate(zip(*(summary[name].to_pylist() for name in names), strict=True)):
        place.setdefault(stratum, []).append(row)
    counts, bins = summary["count"].to_numpy(), summary["bin"].to_numpy()
    sizes = np.zeros(asked.num_rows, dtype=np.int64)
    for queue, stratum in enumerate(zip(*(asked[name].to_pylist() for name in names), strict=True)):
        rows = np.array(place.get(stratum, []), dtype=np.int64)
        if not len(rows):
            raise InputError(f"there is no stratum {stratum!r} in the summary. Make the summary again.")
        if strips is not None:
            rows = rows[(bins[rows] >= strips[queue, 0]) & (bins[rows] <= strips[queue, 1])]
        sizes[queue] = counts[rows].sum()
    return sizes
