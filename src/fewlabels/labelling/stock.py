"""The items of an assessment as people see them, and those of a table that are named when they are needed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from fewlabels.arrow import column_of
from fewlabels.errors import InputError, PoolChangedError
from fewlabels.io.cards import columns_of_card, opened_card
from fewlabels.recipes import columns_of
from fewlabels.reserve import RunsLow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pyarrow as pa

    from fewlabels.labelling.journal import Journal
    from fewlabels.labelling.supply import Supply

T = TypeVar("T")
_SPARE = 50  # items to name beyond those that are asked for
_FEW = 10  # rows that are read faster one by one than by Arrow's `take`


class Stock:
    """The items of an assessment: their ids, what annotators look at, and more of them where they stay in a table.

    Parameters
    ----------
    journal
        Where named items are written to.
    supply
        The way to the table, if the items stay in one.
    """

    def __init__(self, journal: Journal, supply: Supply) -> None:
        self._journal, self._supply = journal, supply
        self._restocking = threading.Lock()

    # --- items in words

    def id(self, item: int) -> str:
        """The id of an item, by its position."""
        return self._journal.subject.pool.ids[int(item)]

    def shown(self, items: Sequence[int], names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Some columns of items, by their positions; the content if no columns are named."""
        pool = self._journal.subject.pool
        if names is None:
            names = [pool.content] if pool.content is not None else []
        if not names or not len(items):
            return [{} for _ in items]
        if pool.reserve is not None:
            return self._supply.columns(pool, items, names, self._journal.ledger.next_rows)
        columns = [_values(pool.column(name), items) for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def contents(self, items: Sequence[int]) -> list[Any]:
        """What annotators look at, or None, for each of some items."""
        return [next(iter(row.values()), None) for row in self.shown(items)]

    def card(self, item: str, columns: Sequence[str] | None = None) -> dict[str, Any]:
        """The parts of an item that an annotator may see, by column: its content, or the columns named."""
        pool, groups = self._journal.pool_with([item]), self._journal.subject.groups
        position = int(pool.positions([item])[0])
        names = columns if columns is not None else [pool.content] if pool.content is not None else []
        if columns is None and (card := columns_of_card(pool)):
            (row,) = self.shown([position], [*card, *names])
            return opened_card(pool.content, row) or {name: row[name] for name in names}
        if telling := sorted({*names} & columns_of(groups.recipe) - {pool.content}):
            raise InputError(f"{telling[0]!r} makes the groups: an annotator who sees it is not blind. Leave it out.")
        return self.shown([position], names)[0]

    # --- items that are named later

    def stocked(self, n: int, call: Callable[[], T]) -> T:
        """Call a function that hands out up to n items; if a queue runs low, name more items and call it again."""
        if self._journal.subject.pool.reserve is not None:
            self._supply.check(self._journal.subject.whole)
            with self._journal.reading() as ledger:
                soon = ledger.next_rows(n)
            # Do it now rather than while others wait for the log.
            self.shown(soon)
            self._supply.compare(self._journal.subject.pool, soon, ledger.next_rows)
        while True:
            rows = self._journal.subject.pool.rows
            try:
                return call()
            except RunsLow as low:
                self._restock(low.group, n, rows)

    def _restock(self, group: int, n: int, rows: int) -> None:
        """Name more items of a group of asking than its queue has now. Others can go on while the table is read."""
        with self._restocking:
            subject = self._journal.subject
            if subject.pool.rows > rows:
                return  # another thread has done it
            before, asking = subject.pool.reserve, subject.asking
            assert before is not None
            units = np.flatnonzero(asking.group[: before.units] == group)
            _, starts = before.queue(asking.group, len(asking))
            queued = int(starts[group + 1] - starts[group])
            self._journal.grow(self._supply.more(subject.whole, units, 2 * queued + n + _SPARE))
            pool = self._journal.subject.pool
            if pool.reserve is None or (pool.rows == rows and np.array_equal(pool.reserve.reach, before.reach)):
                gone = asking.names[group]
                raise PoolChangedError(
                    f"{pool.source} no longer has the items of {gone!r} that it had. Was it changed?"
                )

    def look_up(self, ids: Iterable[Any]) -> None:
        """Name items of a table that nobody asked for, so that labels of them can be told with `adopt`."""
        subject = self._journal.subject
        if subject.pool.reserve is None:
            return
        wanted = list(dict.fromkeys(str(item) for item in ids))
        strangers = [item for item, known in zip(wanted, subject.pool.has(wanted).tolist(), strict=True) if not known]
        if strangers and (named := self._supply.look_up(subject.whole, strangers)).items.num_rows:
            self._journal.grow(named)


def _values(column: pa.ChunkedArray[Any], rows: Sequence[int]) -> list[Any]:
    """Some values of a column, by their rows."""
    if len(rows) < _FEW:
        return [column[int(row)].as_py() for row in rows]
    return column.take(column_of(np.array(rows, dtype=np.int64))).to_pylist()
