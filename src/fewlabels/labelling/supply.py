"""What an assessment gets from a table that stays where it is: more items, items by id, and what annotators see."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.arrow import texts_at
from fewlabels.errors import InputError, PoolChangedError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from fewlabels.engines.table import RemoteTable
    from fewlabels.io.tables import Named
    from fewlabels.pool import Pool

_REMEMBERED = 2_000  # values that are kept in memory, one for each column of an item that was shown
_EVERY = 1.0  # seconds between two looks at whether files were written again
_AWAY = 30.0  # seconds in which a table that could not be read is not tried again only to compare items
_SAME = "\0"  # not the name of a column: it marks an item that was compared with the table
_AHEAD = 200  # items that are probably shown next, read in one go: a query takes as long for one as for many


class TableError(StoreError):
    """The table in which the items stay cannot be read now. The database itself is fine."""


class Supply:
    """Access to the table of a pool, which is opened when it is first needed. Threads may share it."""

    def __init__(self) -> None:
        self._table: RemoteTable | None = None
        self._lock = threading.Lock()
        self._seen: OrderedDict[tuple[str, str], Any] = OrderedDict()
        self._checked: str | None = None
        self._looked = -_EVERY
        self._away = -_AWAY

    def check(self, pool: Pool) -> None:
        """Raise PoolChangedError if the files of the table were written again since it was read, and differ.

        If nothing was written, it costs only a look at their sizes and times, once a second.
        """
        if time.monotonic() < self._looked + _EVERY:
            return
        from fewlabels.io.tables import check_same, columns_of, stamp_now

        stamp = stamp_now(pool)
        if stamp is not None and not self._is_as_read(pool, stamp):
            with self._reading(pool) as table:
                check_same(pool, table, table.summary(columns_of(pool)))
            self._checked = stamp
        self._looked = time.monotonic()

    def _is_as_read(self, pool: Pool, stamp: str | None) -> bool:
        """Whether the stamp of files says that they are those that were read, or were compared since."""
        assert pool.reserve is not None
        return stamp is not None and stamp in (self._checked, pool.reserve.table.get("stamp"))

    def table(self, pool: Pool) -> RemoteTable:
        """The table, as it was passed to `read_pool`, or opened again as it was described then."""
        reserve = pool.reserve
        assert reserve is not None
        if reserve.link is not None:
            return reserve.link
        if self._table is None:
            from fewlabels.engines.opening import open_again

            self._table = open_again(reserve.table["table"])
        return self._table

    @contextmanager
    def _reading(self, pool: Pool) -> Iterator[RemoteTable]:
        """Give the table to one thread at a time."""
        with self._lock, _plain_errors():
            yield self.table(pool)

    def more(self, pool: Pool, units: NDArray[np.int64], items: int) -> Named:
        """Items to name so that the queue of a group, which is made of some units, has this many."""
        from fewlabels.io.tables import first_items

        with self._reading(pool) as table:
            return first_items(pool, table, units, items)

    def look_up(self, pool: Pool, ids: Sequence[str]) -> Named:
        """The items of the table with these ids."""
        from fewlabels.io.tables import looked_up

        with self._reading(pool) as table:
            return looked_up(pool, table, ids)

    def columns(
        self, pool: Pool, rows: Sequence[int], names: Sequence[str], ahead: Callable[[int], Sequence[int]]
    ) -> list[dict[str, Any]]:
        """Some columns of some items. Those of items that will be wanted `ahead` are read in the same query.

        Values that the pool has itself, or that were read before, need no table, and do not wait for others to read it.
        """
        assert pool.reserve is not None
        coded = {*pool.reserve.bins, *pool.reserve.steps}  # the pool has the place of a value there, not the value
        here = {*(pool.columns.column_names if pool.columns is not None else [])} - coded
        fetched = [name for name in names if name not in here]
        ids = texts_at(pool.id_column, np.array(rows, dtype=np.int64))
        kept = self._kept(ids, fetched)
        values = self._read(pool, ids, fetched, ahead) if kept is None else kept
        return [
            {name: value[name] if name in value else pool.column(name)[row].as_py() for name in names}
            for row, value in zip(rows, values, strict=True)
        ]

    def compare(self, pool: Pool, rows: Sequence[int], ahead: Callable[[int], Sequence[int]]) -> None:
        """Raise PoolChangedError if items are not in the table as they were, if nothing else shows that it has changed.

        While the table is unavailable, nothing is compared: the ids of items are enough to hand them out.
        """
        ids = texts_at(pool.id_column, np.array(rows, dtype=np.int64))
        if self._kept(ids, [_SAME]) is not None or time.monotonic() < self._away + _AWAY:
            return
        try:
            self._read(pool, ids, (), ahead)
        except TableError:
            self._away = time.monotonic()

    def _kept(self, ids: Sequence[str], names: Sequence[str]) -> list[dict[str, Any]] | None:
        """What was read of items before; None if it was not, or is forgotten."""
        try:
            return [{name: self._seen[item, name] for name in names} for item in ids]
        except KeyError:
            return None

    def _read(
        self, pool: Pool, ids: Sequence[str], names: Sequence[str], ahead: Callable[[int], Sequence[int]]
    ) -> list[dict[str, Any]]:
        """Columns of items from the table, or from memory if another thread has read them meanwhile."""
        others = texts_at(pool.id_column, np.array(ahead(_AHEAD), dtype=np.int64))
        with self._lock, _plain_errors():
            if self._kept(ids, [*names, _SAME]) is None:
                self._fetch(pool, [*dict.fromkeys([*ids, *others])], names)
            return [{name: self._seen[item, name] for name in names} for item in ids]

    def _fetch(self, pool: Pool, ids: Sequence[str], names: Sequence[str]) -> None:
        """Read columns of items into memory. An item that is gone is a PoolChangedError."""
        from fewlabels.io.tables import STILL, check_items, columns_of, stamp_now

        if not self._is_as_read(pool, stamp_now(pool)):
            check_items(pool, self.table(pool), ids)
        known: dict[str, dict[str, Any]] = {item: {} for item in ids}
        if names:
            contents = self.table(pool).content(columns_of(pool), ids, names).to_pylist()
            known = {row["id"]: row for row in contents}
        if gone := [item for item in ids if item not in known]:
            raise PoolChangedError(f"{pool.source} has changed since it was read: item {gone[0]!r} is gone. {STILL}")
        for item in ids:
            for name in [*names, _SAME]:
                self._seen[item, name] = known[item].get(name)
                self._seen.move_to_end((item, name))
        while len(self._seen) > max(_REMEMBERED, len(ids) * (len(names) + 1)):
            self._seen.popitem(last=False)

    def close(self) -> None:
        """Let go of a table that was opened here."""
        if self._table is not None:
            self._table.close()
            self._table = None


@contextmanager
def _plain_errors() -> Iterator[None]:
    """If the table cannot be read, say what can be done without it."""
    try:
        yield
    except PoolChangedError:
        raise
    except (InputError, StoreError) as error:
        raise TableError(
            f"the items stay in a table, and it cannot be read now: {error} What the labels so far show can be read "
            "without it. If it has moved, say where it is now: fewlabels relocate DATABASE PLACE; in Python, "
            "load(..., pool=read_pool(...))."
        ) from error
