"""The append-only log of assessments in SQLite or PostgreSQL: requests and answers."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from operator import attrgetter
from typing import TYPE_CHECKING, Self

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from fewlabels.checks import whole_number
from fewlabels.errors import StoreError, WrongNameError
from fewlabels.store.chain import Mark, founded
from fewlabels.store.database import Database
from fewlabels.store.event import Definition
from fewlabels.store.guides import remove_guides
from fewlabels.store.pools import keep_named, keep_pool
from fewlabels.store.reading import Reading, is_complete
from fewlabels.store.rows import check_new_name, has_event, meant
from fewlabels.store.schema import assessments, checkpoints, heads, pool_parts, pools
from fewlabels.store.transaction import Transaction, UnsureError
from fewlabels.table import Table
from fewlabels.wording import counted

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from fewlabels.pool import Pool
    from fewlabels.store.copying import Copied
    from fewlabels.store.event import Event
    from fewlabels.store.verifying import Verification

_AGAIN = (0, 0.1, 0.3, 1, 2, 4)  # seconds before each look for events whose fate is not known
_PATIENCE = 0.2  # seconds to wait for a lock that is only wanted to save time later
_LOG = ("seq", "at", "kind", "item", "label", "step", "annotator", "note")


class Store(Reading):
    """Assessments in a database: their definitions, their pools, and their logs, which only grow.

    Parameters
    ----------
    address
        None keeps everything in memory, until the store is closed. `"audit.db"` or `"sqlite:///audit.db"` is
        a file, which is made if it does not exist; `"postgresql://user@host/database"` is a server.
    existing
        Refuse a file that does not exist, instead of making it.

    Examples
    --------
    >>> import fewlabels as fl
    >>> from fewlabels.store import Event, Store
    >>> store = Store(None)
    >>> _ = store.create("pets", {"task": "estimate"}, fl.read_pool([[0.9, 0.1], [0.2, 0.8]]))
    >>> with store.transaction("pets") as log:
    ...     _ = log.append([Event("request", "1"), Event("label", "1", label="0")])
    >>> [(event.seq, event.kind, event.item) for event in store.events("pets")]
    [(1, 'request', '1'), (2, 'label', '1')]
    """

    def __init__(self, address: str | os.PathLike[str] | None = None, *, existing: bool = False) -> None:
        self.database = Database(address, existing=existing)

    def __repr__(self) -> str:
        return f"<Store: {self.database.shown}>"

    def create(self, name: str, spec: Mapping[str, object], pool: Pool) -> Definition:
        """Store a new assessment and its pool in one transaction. Each name can be used once."""
        name, text, now = check_new_name(name), json.dumps(dict(spec), allow_nan=False), datetime.now(UTC)
        first = founded(name, text, pool.fingerprint, now)
        row = {"name": name, "spec": text, "fingerprint": pool.fingerprint, "created_at": now}
        with self.database.writing() as connection:
            self.database.lock_all(connection)
            if meant(name, connection.scalars(sa.select(assessments.c.name))) is not None:
                raise WrongNameError(
                    f"{self.database.shown} already has an assessment {name!r}. Load it, or choose another name."
                )
            keep_pool(connection, pool)
            connection.execute(assessments.insert(), row)
            connection.execute(heads.insert().values(assessment=name, first=first, seq=0, hash=first))
        return Definition(name, json.loads(text), pool.fingerprint, now, first)

    def remove(self, name: str) -> None:
        """Remove an assessment in whose log nothing has happened yet, and its pool if no other one is about it.

        If people were asked or have answered anything, a StoreError is raised and nothing is changed.
        """
        with self.database.writing() as connection:
            self.database.lock_all(connection)
            fingerprint = self.defined(connection, name).fingerprint
            if events := self.ends_of_pool(connection, name, lock=True)[name].head.seq:
                raise StoreError(
                    f"{name!r} cannot be removed: its log has {counted(events, 'event')}, and what people were asked "
                    "or have answered is never deleted. Begin another one; the labels count there too."
                )
            for table in (checkpoints, heads):
                connection.execute(table.delete().where(table.c.assessment == name))
            remove_guides(connection, name)
            connection.execute(assessments.delete().where(assessments.c.name == name))
            used = sa.select(assessments.c.name).where(assessments.c.fingerprint == fingerprint)
            if connection.scalar(used) is None:
                for part in (pool_parts, pools):
                    connection.execute(part.delete().where(part.c.fingerprint == fingerprint))

    def open(self, name: str) -> Definition:
        """The definition of an assessment; it is checked against the first link of its log."""
        with self.database.reading() as connection:
            return self.defined(connection, name)

    def names(self) -> list[str]:
        """The names of the assessments, oldest first."""
        with self.database.reading() as connection:
            return self.names_in(connection)

    def head(self, name: str) -> Mark:
        """Where the log of an assessment ends: the number and the hash of its last event, to be written down."""
        with self.database.reading() as connection:
            return self.ends(connection, name).head

    def pool(self, fingerprint: str) -> Pool:
        """A stored pool; its fingerprint is checked."""
        with self.database.reading() as connection:
            return self.pool_in(connection, fingerprint)

    def grow_pool(self, fingerprint: str, grow: Callable[[Pool], Pool]) -> Pool:
        """Name more items of a stored pool, whose rows are only added, or say where its table is; returns that pool.

        `grow` gets the pool as it is stored now: somebody else may have named items in the meantime.
        """
        with self.database.writing() as connection:
            self.database.lock_all(connection)
            before = self.pool_in(connection, fingerprint)
            after = grow(before)
            keep_named(connection, before, after)
        return after

    def events(self, name: str, after: int = 0) -> list[Event]:
        """The log of an assessment, or the new events in it: those with `seq` above `after`. Their chain is checked."""
        with self.database.reading() as connection:
            first, head, _ = self.ends(connection, name)
            if after > head.seq:
                return []
            return self.since(connection, name, Mark(after, first if after == 0 else b""), head)

    def shared(self, name: str, seen: Mapping[str, Mark]) -> list[Event]:
        """What is new in the logs of all assessments of a pool, in one order; `seen` are the places read before.

        >>> import fewlabels as fl
        >>> from fewlabels.store import Event
        >>> store, pool = fl.Store(None), fl.read_pool([[0.9, 0.1], [0.2, 0.8]])
        >>> for name in ("worst", "overall"):
        ...     _ = store.create(name, {}, pool)
        >>> with store.transaction("worst") as log:
        ...     _ = log.append([Event("request", "1")])
        >>> with store.transaction("overall") as log:
        ...     _ = log.append([Event("label", "1", label="0")])
        >>> [(event.assessment, event.kind) for event in store.shared("overall", {})]
        [('worst', 'request'), ('overall', 'label')]
        """
        with self.database.reading(once=True) as connection:
            return self.since_all(connection, self.ends_of_pool(connection, name), seen)

    def log(self, name: str, after: int = 0) -> Table:
        """The events of an assessment after event number `after`, in order, even if its parts are missing.

        Columns seq, at, kind, item, label, step, annotator, note.
        """
        rows = self.events(name, whole_number(after, "The 'after' of log()", least=0))
        return Table({column: list(map(attrgetter(column), rows)) for column in _LOG})

    def labels(self, name: str) -> dict[str, str]:
        """The labels of an assessment's pool that are valid now, id to class name, even if its parts are missing.

        They are all that people gave, for whichever question; `Assessment.labels` has those that count for its own.
        """
        from fewlabels.labelling.settled import settled_labels

        return settled_labels(self, name)

    @contextmanager
    def transaction(self, name: str, seen: Mapping[str, Mark] | None = None) -> Iterator[Transaction]:
        """Read the log and add to it, while nobody else can add to it or to any other log of its pool.

        All events that the `with` block appends are on disk when the block has ended, or none if it raised.
        `Transaction.events` are those of its log; with `seen`, as in `shared`, those that are new in all logs of the
        pool. If the connection is lost at the end, the log is looked at again before anything is said; if even that is
        impossible, an UnsureError says so.
        """
        log = None
        try:
            with self.database.writing() as connection:
                # On PostgreSQL the rows are the lock; assessments of different pools do not keep each other waiting.
                ends = self.ends_of_pool(connection, name, lock=True)
                own = ends[name]
                new = self.since_all(connection, {name: own} if seen is None else ends, seen or {})
                log = Transaction(self, connection, name, new, own.head, max(end.place for end in ends.values()))
                yield log
                log.write()
        except StoreError as error:
            lost = isinstance(error.__cause__, DBAPIError) and error.__cause__.connection_invalidated
            if not lost or log is None or not log.added or not self._arrived(name, log):
                raise

    def checkpoint(self, name: str, first: bytes | None = None) -> tuple[Mark, bytes] | None:
        """What was kept last with `keep_checkpoint`, and the place it is about; None if nothing was, or it is damaged.

        With `first`, also None if the chain of the log begins with another hash: it is another log of that name.
        Also None if events are missing in a log of the pool. Whether the place is still in the log is checked when the
        events after it are read.
        """
        try:
            with self.database.reading(once=True) as connection:
                ends = self.ends_of_pool(connection, name)
                begins, head, _ = ends[name]
                first = begins if first is None else first
                row = connection.execute(sa.select(checkpoints).where(checkpoints.c.assessment == name)).one_or_none()
                if row is None or row.seq > head.seq:
                    return None
                mark = Mark(row.seq, row.hash)
                sound = row.digest == _digest(first, mark, row.data) and is_complete(connection, ends)
                return (mark, row.data) if sound else None
        except StoreError:
            return None  # reading the log itself will say what is wrong

    def keep_checkpoint(self, name: str, mark: Mark, data: bytes) -> None:
        """Keep what the log adds up to at a place, for the next reader. It may fail: then nothing is kept."""
        with suppress(StoreError), self.database.writing(patience=_PATIENCE) as connection:
            first = self.ends(connection, name).first
            connection.execute(checkpoints.delete().where(checkpoints.c.assessment == name))
            row = {"seq": mark.seq, "hash": mark.hash, "digest": _digest(first, mark, data), "data": data}
            connection.execute(checkpoints.insert().values(assessment=name, **row))

    def _arrived(self, name: str, log: Transaction) -> bool:
        """Whether events are in the log although the connection was lost while they were written."""
        for wait in _AGAIN:
            time.sleep(wait)
            try:
                with self.database.writing() as connection:
                    self.ends_of_pool(connection, name, lock=True)  # waits for the lost transaction, if it still runs
                    return has_event(connection, name, log.head)
            except StoreError:
                continue
        raise UnsureError(
            f"the connection to {self.database.shown} was lost while {len(log.added):,} events were being written, so "
            "they may or may not be saved. Repeat the call when the server is running: on this same assessment it is "
            "not taken twice."
        )

    # --- keeping it safe

    def backup(
        self, to: str | os.PathLike[str] | None = None, *, progress: Callable[[int, int], None] | None = None
    ) -> Path:
        """Write everything, as it is now, into a new SQLite file, and check it; returns its path.

        Others can go on labelling meanwhile. The file is there when it is complete, and an existing file is never
        overwritten. Without `to` its name is that of the database with the time.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from fewlabels.store import Store
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = Store(pathlib.Path(folder) / "audit.db")
        ...     made = store.backup(pathlib.Path(folder) / "monday.db")
        ...     store.close()
        >>> made.name
        'monday.db'
        """
        from fewlabels.store import copying

        return copying.backup(self, to, progress)

    def copy(
        self, to: str | os.PathLike[str], *, rescue: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> Copied:
        """Copy everything into another database, SQLite or PostgreSQL, which must be new or empty.

        Events stay as they are: numbers, times, people and hashes. Either everything is copied or nothing. A damaged
        database is refused. With `rescue` the events that can still be used are copied, with new numbers and a new
        chain, and `Copied.left_out` says what is missing.
        """
        from fewlabels.store import copying

        return copying.copy(self, to, rescue=rescue, progress=progress)

    def verify(self, *, head: str | None = None, progress: Callable[[int, int], None] | None = None) -> Verification:
        """Look for damage everywhere: every event, every pool, every definition, and the file itself.

        `head` is a place in a log that was printed earlier, as by `str(store.head(name))`: a log that no longer
        contains it was rewritten or cut.

        Examples
        --------
        >>> import fewlabels as fl
        >>> audit = fl.create(store := fl.Store(None), "pets", fl.read_pool([[0.9, 0.1], [0.2, 0.8]]))
        >>> audit.tell({item: "0" for item in audit.ask(2).ids})
        2
        >>> print(store.verify().words)
        pets: 4 events with 2 labels: all as they were written.
        """
        from fewlabels.store import verifying

        return verifying.verify(self, head, progress)

    def close(self) -> None:
        """Close the connections; a store in memory is lost. `with Store("audit.db") as store:` does it at the end."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _digest(first: bytes, mark: Mark, data: bytes) -> bytes:
    return sha256(b"".join((first, str(mark).encode(), b"\0", data))).digest()
