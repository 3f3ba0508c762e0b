"""What an assessment gets from a table that stays where it is: more items, items by id, and what annotators see."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from fewlabels.errors import StoreError
from fewlabels.io.tables import Named, columns_of, first_items, looked_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from fewlabels.engines.table import Table
    from fewlabels.pool import Pool

_REMEMBERED = 2_000  # items whose content is kept in memory
_AHEAD = 200  # items that are probably shown next, read in one go: a query takes as long for one as for many


class Supply:
    """The way to the table of a pool, which is opened when it is first needed. Threads may share it."""

    def __init__(self) -> None:
        self._table: Table | None = None
        self._lock = threading.Lock()
        self._seen: OrderedDict[tuple[str, str], Any] = OrderedDict()

    def table(self, pool: Pool) -> Table:
        """The table, as it was passed to `read_pool`, or opened again as it was described then."""
        reserve = pool.reserve
        assert reserve is not None
        if reserve.link is not None:
            return reserve.link
        if self._table is None:
            from fewlabels.engines.opening import open_again

            try:
                self._table = open_again(reserve.table["table"])
            except StoreError as error:
                raise StoreError(
                    f"the table that the items are in ({pool.source}) cannot be opened: {error} What the labels so far "
                    "show can be read without it."
                ) from None
        return self._table

    def more(self, pool: Pool, units: NDArray[np.int64], items: int) -> Named:
        """Items to name so that the queue of a group, which is made of some units, has this many."""
        with self._lock:
            return first_items(pool, self.table(pool), units, items)

    def look_up(self, pool: Pool, ids: Sequence[str]) -> Named:
        """The items of the table with these ids."""
        with self._lock:
            return looked_up(pool, self.table(pool), ids)

    def columns(
        self, pool: Pool, rows: Sequence[int], names: Sequence[str], ahead: Sequence[int] = ()
    ) -> list[dict[str, Any]]:
        """Some columns of some items; those of items that may be wanted next are read in the same query."""
        here = pool.columns.column_names if pool.columns is not None else []
        fetched = [name for name in names if name not in here]
        ids = [str(item) for item in pool.ids.take(list(rows)).to_pylist()]
        with self._lock:
            if any((item, name) not in self._seen for item in ids for name in fetched):
                others = [str(item) for item in pool.ids.take(list(ahead[:_AHEAD])).to_pylist()]
                self._fetch(pool, [*dict.fromkeys([*ids, *others])], fetched)
            found = [{name: self._seen[item, name] for name in fetched} for item in ids]
        return [
            {name: one[name] if name in one else pool.column(name)[row].as_py() for name in names}
            for row, one in zip(rows, found, strict=True)
        ]

    def _fetch(self, pool: Pool, ids: Sequence[str], names: Sequence[str]) -> None:
        """Read columns of items into memory; an item that is gone has None."""
        table = self.table(pool).content(columns_of(pool), ids, names)
        known = {row["id"]: row for row in table.to_pylist()}
        for item in ids:
            for name in names:
                self._seen[item, name] = known.get(item, {}).get(name)
                self._seen.move_to_end((item, name))
        while len(self._seen) > max(_REMEMBERED, len(ids) * len(names)):
            self._seen.popitem(last=False)

    def close(self) -> None:
        """Let go of a table that was opened here."""
        if self._table is not None:
            self._table.close()
            self._table = None
