"""An assessment and its log: the ledger is brought up to date before each call, and the pool when items are named."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from fewlabels.arrow import column_of
from fewlabels.errors import LabelError, StoreError
from fewlabels.labelling.askers import Asker, Askers
from fewlabels.labelling.checkpoint import catch_up, keep
from fewlabels.labelling.ledger import Ledger
from fewlabels.labelling.supply import Supply
from fewlabels.reserve import RunsLow
from fewlabels.store import UnsureError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from fewlabels.cells import Cells
    from fewlabels.io.tables import Named
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.spec import Spec
    from fewlabels.store import Event, Store, Transaction

T = TypeVar("T")
_SPARE = 50  # items that are named beyond those that are asked for
_FEW = 10  # rows that are read faster one by one than by Arrow's `take`


class Upkeep:
    """The ledger of an assessment, the lock around it, and the two ways to it: reading and writing.

    The store's log is the truth. The ledger adds it up and is brought up to date before each call. Threads may share
    this object.
    """

    _is_snapshot = False

    def __init__(
        self,
        store: Store,
        name: str,
        pool: Pool,
        partition: Partition,
        spec: Spec,
        *,
        shared: bool = False,
        whole: Pool | None = None,
    ) -> None:
        self.name = name
        self.spec = spec
        self._store = store
        self._shared = shared
        self._lock = threading.RLock()
        self._supply = Supply()
        self._restocking = threading.Lock()
        self._unsure: list[Event] = []
        self._use(pool, partition, pool if whole is None else whole)

    def _use(self, pool: Pool, partition: Partition, whole: Pool) -> None:
        """Take a pool: at the beginning, and when items were named, which have the rows after those that were there."""
        self.pool = pool
        self.whole = whole
        """The pool with all its models; `pool` is the one that the task is about, perhaps that of one model."""
        self.groups = partition
        self._asker = Asker(self.spec, pool)
        self._askers = Askers(self._store, self.name, self._asker, whole)
        self._asking = self._asker.asking
        self._cells = self._asker.cells
        self._askable = self._asker.askable
        self._ledger = self.new_ledger()

    def new_ledger(self, cells: Cells | None = None) -> Ledger:
        """A ledger that has read nothing yet, of these cells or of those in which items are asked for."""
        metric, overlap = self.spec.task.metric, self.spec.overlap
        return Ledger(self.pool, metric, cells or self._cells, overlap, self.name, self._askers.reads)

    # --- open and closed

    def close(self) -> None:
        """Close the database, unless it was passed in open. `with load("audit.db") as audit:` does it at the end."""
        self._supply.close()
        if not self._shared:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # --- reading and writing

    def _catch_up(self) -> None:
        """Bring the ledger up to date. If somebody else has named items since, the pool is read again."""
        if self._is_snapshot:
            return
        try:
            catch_up(self._ledger, self._store, self.name)
        except LabelError:
            stored = None if self.pool.reserve is None else self._store.pool(self.whole.fingerprint)
            if stored is None or stored.rows == self.whole.rows:
                raise
            self._use_stored(stored)
            catch_up(self._ledger, self._store, self.name)

    @contextmanager
    def _current(self) -> Iterator[Ledger]:
        """Give the ledger, up to date with the log, while no other thread can change it."""
        with self._lock:
            self._catch_up()
            yield self._ledger

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        """Give the log while nobody else can write to it; the ledger is up to date before and after."""
        assert not self._is_snapshot, "a snapshot is only read"
        with self._lock:
            if not self._ledger.seen or self._ledger.grows:
                self._catch_up()
            kept, log = self._ledger.seq, None
            try:
                with self._store.transaction(self.name, seen=self._ledger.seen) as log, self._askers.within(log):
                    self._ledger.read(log.events)
                    kept = self._ledger.seq
                    yield log
            except BaseException as error:
                if isinstance(error, UnsureError):
                    self._unsure = [] if log is None else log.added
                if self._ledger.seq > kept:  # it has read events that are not in the log: read the log anew
                    self._forget()
                raise
            self._ledger.read(log.added[self._ledger.seq - kept :])
            self._unsure = []
            keep(self._ledger, self._store, self.name)

    def _forget(self) -> None:
        """Forget what was read and what follows from it: the log is read anew when it is needed."""
        self._ledger = self.new_ledger()

    # --- items that are named later

    def _stocked(self, n: int, call: Callable[[], T]) -> T:
        """Do something that hands out up to n items; if the queue of a group runs low, name more items, and again."""
        if self.pool.reserve is not None:
            self._supply.check(self.whole)
        if self.pool.reserve is not None and self.pool.content is not None:
            with self._current() as ledger:
                soon = ledger.next_rows()[:n]
            self.shown(soon)  # read now, and not while others wait for the log
        while True:
            rows = self.pool.rows
            try:
                return call()
            except RunsLow as low:
                self._restock(low.group, n, rows)

    def _restock(self, group: int, n: int, rows: int) -> None:
        """Name more items of a group of asking than the queue has now. The table is read while others can go on."""
        with self._restocking:
            if self.pool.rows > rows:
                return  # another thread has done it
            before = self.pool.reserve
            assert before is not None
            units = np.flatnonzero(self._asking.group[: before.units] == group)
            _, starts = before.queue(self._asking.group, len(self._asking))
            queued = int(starts[group + 1] - starts[group])
            self._grow(self._supply.more(self.whole, units, 2 * queued + n + _SPARE))
            after = self.pool.reserve
            if after is None or (self.pool.rows == rows and np.array_equal(after.reach, before.reach)):
                gone = self._asking.names[group]
                raise StoreError(f"{self.pool.source} has no more items of {gone!r}, though it had. Was it changed?")

    def look_up(self, ids: Sequence[Any]) -> None:
        """Name items of a table that nobody asked for, so that labels of them can be told with `adopt`.

        Unknown ids are left out. Where every row of the pool is an item, there is nothing to do.
        """
        if self.pool.reserve is None:
            return
        wanted = list(dict.fromkeys(str(item) for item in ids))
        strangers = [item for item, known in zip(wanted, self.pool.has(wanted).tolist(), strict=True) if not known]
        if strangers and (found := self._supply.look_up(self.whole, strangers)).items.num_rows:
            self._grow(found)

    def _grow(self, found: Named) -> None:
        """Store items that are to be named, and take the pool with them."""
        grown = self._store.grow_pool(self.whole.fingerprint, found.added_to)
        with self._lock:
            self._use_stored(grown)

    def _use_stored(self, stored: Pool) -> None:
        """Take the pool as it is stored now."""
        assert stored.reserve is not None and self.whole.reserve is not None  # noqa: PT018
        stored = replace(stored, reserve=replace(stored.reserve, link=self.whole.reserve.link))
        own = self.spec.of(stored)
        self._use(own, self.spec.partition(own), stored)

    # --- items in words

    def _id(self, item: int) -> str:
        return str(self.pool.ids[int(item)].as_py())

    def shown(self, items: Sequence[int], names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Some columns of items, by their positions; the content if no columns are named."""
        if names is None:
            names = [self.pool.content] if self.pool.content is not None else []
        if not names or not len(items):
            return [{} for _ in items]
        if self.pool.reserve is not None:
            return self._supply.columns(self.pool, items, names, self._ledger.next_rows())
        columns = [_values(self.pool.column(name), items) for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def _contents(self, items: Sequence[int]) -> list[Any]:
        """What annotators look at, or None, for each of some items."""
        return [next(iter(one.values()), None) for one in self.shown(items)]


def _values(column: pa.ChunkedArray[Any], rows: Sequence[int]) -> list[Any]:
    """Some values of a column, by their rows."""
    if len(rows) < _FEW:
        return [column[int(row)].as_py() for row in rows]
    return column.take(column_of(np.array(rows, dtype=np.int64))).to_pylist()
