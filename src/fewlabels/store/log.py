"""The append-only log of assessments in SQLite or PostgreSQL: requests and answers."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from fewlabels.errors import PoolChangedError, StoreError
from fewlabels.store import copying, verifying
from fewlabels.store.archive import pack_pool, unpack_pool
from fewlabels.store.archived_reserve import pack_named
from fewlabels.store.chain import Mark, first_break, founded, linked, missing
from fewlabels.store.database import Database
from fewlabels.store.event import Event, Record
from fewlabels.store.schema import assessments, checkpoints, events, heads, pool_parts, pools
from fewlabels.table import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from sqlalchemy.engine import Connection

    from fewlabels.pool import Pool
    from fewlabels.store.copying import Copied
    from fewlabels.store.verifying import Verification

_PART = 16 * 2**20  # bytes of a pool per row: far below the limits of either database
_AGAIN = (0, 0.1, 0.3, 1, 2, 4)  # seconds before each look for events whose fate is not known
_PATIENCE = 0.2  # seconds to wait for a lock that is only wanted to save time later
_LOG = ("seq", "at", "kind", "item", "label", "step", "annotator", "note")
_COLUMNS = tuple(events.c[field.name] for field in fields(Event))
# Made once: every label runs these, and SQLAlchemy takes longer to build a statement than the database to run it.
_OF_ONE = sa.select(*_COLUMNS).where(events.c.assessment == sa.bindparam("name")).order_by(events.c.seq)
_BY_SEQ = _OF_ONE.where(events.c.seq.between(sa.bindparam("first"), sa.bindparam("last")))
_BY_KEY = _OF_ONE.where(events.c.key == sa.bindparam("key"))
_ADD = events.insert()
_ENDS = sa.select(heads).where(heads.c.assessment == sa.bindparam("name"))
_one = assessments.alias("one")
_of_pool = sa.select(_one.c.fingerprint).where(_one.c.name == sa.bindparam("name")).scalar_subquery()
_ENDS_OF_POOL = sa.select(heads).join_from(heads, assessments).where(assessments.c.fingerprint == _of_pool)
_ENDS_OF_POOL = _ENDS_OF_POOL.order_by(heads.c.assessment)  # they are locked in this order: nobody waits forever
_ENDS_LOCKED = _ENDS_OF_POOL.with_for_update(of=heads)
_MOVE_END = heads.update().where(heads.c.assessment == sa.bindparam("name"))
_MOVE_END = _MOVE_END.values(seq=sa.bindparam("end"), hash=sa.bindparam("end_hash"), place=sa.bindparam("end_place"))
_LAST = 2**62  # no log has so many events
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class _Ends(NamedTuple):
    """The hash with which the chain of a log begins, where it ends, and the place of that event in the pool's order."""

    first: bytes
    head: Mark
    place: int


class UnsureError(StoreError):
    """The connection was lost, and it cannot be said whether the events are saved."""


class Transaction:
    """The log of one assessment while nobody else can write to it, nor to another of the same pool.

    Made by `Store.transaction`.
    """

    def __init__(
        self, store: Store, connection: Connection, name: str, new: list[Event], head: Mark, place: int
    ) -> None:
        self._store = store
        self._connection = connection
        self._name = name
        self._place = place
        self.head = head
        """The end of the log, with what was appended."""
        self.events = new
        """What others have added since the caller looked last."""
        self.added: list[Event] = []
        """What was appended here."""

    def open(self, name: str) -> Record:
        """The definition of an assessment, as `Store.open` gives it."""
        return self._store.defined(self._connection, name)

    def keyed(self, key: str) -> list[Event]:
        """The events that were appended with this key."""
        return _events(self._connection, _BY_KEY, self._name, key=key)

    def append(self, new: Sequence[Event]) -> list[Event]:
        """Add events at the end of the log; returns them as they will be read, with `seq`, `at` and `hash`."""
        now, head = datetime.now(UTC), self.head
        stamped, rows = [], []
        for event in new:
            self._place += 1
            at = event.at or now
            placed = replace(event, seq=head.seq + 1, at=at, place=self._place, assessment=self._name)
            row = _row(self._name, placed)
            head = Mark(placed.seq, linked(head.hash, placed))
            stamped.append(replace(placed, hash=head.hash))
            rows.append(row | {"hash": head.hash})
        if stamped:
            self._connection.execute(_ADD, rows)
            end = {"end": head.seq, "end_hash": head.hash, "end_place": self._place}
            self._connection.execute(_MOVE_END, {"name": self._name, **end})
            self.head = head
            self.added += stamped
        return stamped

    def has(self, event: Event) -> bool:
        """Whether an event is in the log, exactly as it was appended."""
        return _has(self._connection, self._name, Mark(event.seq, event.hash))


class Store:
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
    >>> store.create("pets", {"task": "estimate"}, fl.read_pool([[0.9, 0.1], [0.2, 0.8]]))
    >>> with store.transaction("pets", after=0) as log:
    ...     _ = log.append([Event("request", "1"), Event("label", "1", label="0")])
    >>> [(event.seq, event.kind, event.item) for event in store.events("pets")]
    [(1, 'request', '1'), (2, 'label', '1')]
    """

    def __init__(self, address: str | os.PathLike[str] | None = None, *, existing: bool = False) -> None:
        self.database = Database(address, existing=existing)

    def __repr__(self) -> str:
        return f"<Store: {self.database.shown}>"

    def create(self, name: str, spec: Mapping[str, object], pool: Pool) -> None:
        """Store a new assessment and its pool in one transaction. Each name can be used once."""
        if not name:
            raise StoreError("an assessment needs a name, such as 'worst-classes'.")
        row: dict[str, Any] = {
            "name": _text(name, "the name"),
            "spec": json.dumps(dict(spec), allow_nan=False),
            "fingerprint": pool.fingerprint,
            "created_at": datetime.now(UTC),
        }
        with self.database.writing() as connection:
            self.database.lock_all(connection)
            if connection.scalar(sa.select(assessments.c.name).where(assessments.c.name == name)) is not None:
                raise StoreError(
                    f"{self.database.shown} already has an assessment {name!r}. Load it, or choose another name."
                )
            _keep(connection, pool)
            connection.execute(assessments.insert(), row)
            first = founded(name, str(row["spec"]), pool.fingerprint, row["created_at"])
            connection.execute(heads.insert().values(assessment=name, first=first, seq=0, hash=first))

    def open(self, name: str) -> Record:
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
            return self.ends(connection, name)[1]

    def pool(self, fingerprint: str) -> Pool:
        """A stored pool; its fingerprint is checked."""
        with self.database.reading() as connection:
            return self.pool_in(connection, fingerprint)

    def grow_pool(self, fingerprint: str, grow: Callable[[Pool], Pool]) -> Pool:
        """Name more items of a stored pool, whose rows are only added; returns the pool with them.

        `grow` gets the pool as it is stored now: somebody else may have named items in the meantime.
        """
        with self.database.writing() as connection:
            self.database.lock_all(connection)
            before = self.pool_in(connection, fingerprint)
            after = grow(before)
            assert after.reserve is not None and before.reserve is not None  # noqa: PT018
            if after.rows > before.rows or not np.array_equal(after.reserve.reach, before.reserve.reach):
                last = sa.select(sa.func.max(pool_parts.c.part)).where(pool_parts.c.fingerprint == fingerprint)
                data = pack_named(after, before.rows - before.units)
                _add_parts(connection, fingerprint, data, int(connection.scalar(last) or 0) + 1)
        return after

    def events(self, name: str, after: int = 0, *, known: bytes | None = None) -> list[Event]:
        """The log of an assessment, or the new events in it: those with `seq` above `after`.

        Their chain is checked. With `known`, the hash of event number `after`, a log that is no longer the one that
        was read before is noticed as well.
        """
        with self.database.reading() as connection:
            first, head = self.ends(connection, name)
            if known is None and after > head.seq:
                return []
            return self._since(connection, name, Mark(after, first if after == 0 else known or b""), head)

    def shared(self, name: str, seen: Mapping[str, Mark]) -> list[Event]:
        """What is new in the logs of all assessments of a pool, in one order; `seen` are the places read before.

        >>> import fewlabels as fl
        >>> store, pool = fl.Store(None), fl.read_pool([[0.9, 0.1], [0.2, 0.8]])
        >>> for name in ("worst", "overall"):
        ...     store.create(name, {}, pool)
        >>> with store.transaction("worst") as log:
        ...     _ = log.append([Event("request", "1")])
        >>> with store.transaction("overall") as log:
        ...     _ = log.append([Event("label", "1", label="0")])
        >>> [(event.assessment, event.kind) for event in store.shared("overall", {})]
        [('worst', 'request'), ('overall', 'label')]
        """
        with self.database.reading(once=True) as connection:
            return self._since_all(connection, self._ends_of_pool(connection, name), seen)

    def log(self, name: str, after: int = 0) -> Table:
        """The events of an assessment after event number `after`, in order, even if its parts are missing.

        Columns seq, at, kind, item, label, step, annotator, note.
        """
        rows = self.events(name, after)
        return Table({column: [getattr(event, column) for event in rows] for column in _LOG})

    def labels(self, name: str) -> dict[str, str]:
        """The labels of an assessment that are valid now, id to class name, even if its parts are missing."""
        from fewlabels.labelling.settled import settled_labels

        return settled_labels(self, name)

    @contextmanager
    def transaction(
        self, name: str, after: int = 0, *, known: bytes | None = None, seen: Mapping[str, Mark] | None = None
    ) -> Iterator[Transaction]:
        """Read the log and add to it, while nobody else can add to it, nor to the log of another one of its pool.

        All events that the `with` block appends are on disk when the block has ended, or none if it raised.
        `Transaction.events` are those with `seq` above `after`, which others added in the meantime. `known` is as in
        `events`. With `seen` they are those of all logs of the pool, as in `shared`. If the connection is lost at the
        end, the log is looked at again before anything is said; if even that is impossible, an UnsureError says so.
        """
        log = None
        try:
            with self.database.writing() as connection:
                # On PostgreSQL the rows are the lock; assessments of different pools do not keep each other waiting.
                ends = self._ends_of_pool(connection, name, lock=True)
                own = ends[name]
                if seen is None:
                    before = Mark(after, own.first if after == 0 else known or b"")
                    new = self._since(connection, name, before, own.head)
                else:
                    new = self._since_all(connection, ends, seen)
                log = Transaction(self, connection, name, new, own.head, max(end.place for end in ends.values()))
                yield log
        except StoreError as error:
            lost = isinstance(error.__cause__, DBAPIError) and error.__cause__.connection_invalidated
            if not lost or log is None or not log.added or not self._arrived(name, log):
                raise

    def checkpoint(self, name: str) -> tuple[Mark, bytes] | None:
        """What was kept last with `keep_checkpoint`, and the place it is about; None if nothing was, or it is damaged.

        Whether that place is still in the log is checked when the events after it are read.
        """
        try:
            with self.database.reading() as connection:
                first, head = self.ends(connection, name)
                row = connection.execute(sa.select(checkpoints).where(checkpoints.c.assessment == name)).one_or_none()
        except StoreError:
            return None  # reading the log itself will say what is wrong
        if row is None:
            return None
        mark = Mark(row.seq, row.hash)
        return (mark, row.data) if mark.seq <= head.seq and row.digest == _digest(first, mark, row.data) else None

    def keep_checkpoint(self, name: str, mark: Mark, data: bytes) -> None:
        """Keep what the log adds up to at a place, for the next reader. It may fail: then nothing is kept."""
        with suppress(StoreError), self.database.writing(patience=_PATIENCE) as connection:
            first, _ = self.ends(connection, name)
            connection.execute(checkpoints.delete().where(checkpoints.c.assessment == name))
            row = {"seq": mark.seq, "hash": mark.hash, "digest": _digest(first, mark, data), "data": data}
            connection.execute(checkpoints.insert().values(assessment=name, **row))

    # --- inside a transaction

    def names_in(self, connection: Connection) -> list[str]:
        """All names, oldest first; also one of which only the log is left: opening it will say that it is damaged."""
        known = list(connection.scalars(sa.select(assessments.c.name).order_by(assessments.c.created_at, "name")))
        names = list(dict.fromkeys([*known, *connection.scalars(sa.select(heads.c.assessment).order_by("assessment"))]))
        if not all(isinstance(name, str) for name in names):
            raise self.database.damaged("the list of assessments is not what was written")
        return names

    def defined(self, connection: Connection, name: str) -> Record:
        """The definition of an assessment."""
        row = connection.execute(sa.select(assessments).where(assessments.c.name == name)).one_or_none()
        first = connection.scalar(sa.select(heads.c.first).where(heads.c.assessment == name))
        if row is None and first is None:
            raise self._unknown(connection, name)
        if row is None or first != founded(row.name, row.spec, row.fingerprint, row.created_at):
            raise self.database.damaged(f"the definition of {name!r} is not what was written")
        return Record(row.name, json.loads(row.spec), row.fingerprint, row.created_at)

    def pool_in(self, connection: Connection, fingerprint: str) -> Pool:
        """A stored pool."""
        if not _has_pool(connection, fingerprint):
            raise StoreError(f"there is no pool {fingerprint[:12]}... in {self.database.shown}.")
        rows = sa.select(pool_parts.c.data).where(pool_parts.c.fingerprint == fingerprint)
        pool = unpack_pool(b"".join(connection.scalars(rows.order_by(pool_parts.c.part))))
        if pool.fingerprint != fingerprint:
            raise PoolChangedError(
                f"the pool stored in {self.database.shown} is not the one the assessment was made with "
                f"(fingerprint {pool.fingerprint[:12]}..., not {fingerprint[:12]}...). Restore the database "
                "from a backup, or create the assessment again."
            )
        return pool

    def _ends_of_pool(self, connection: Connection, name: str, *, lock: bool = False) -> dict[str, _Ends]:
        """The ends of the logs of all assessments that are about the pool of this one, by name."""
        with self.database.decoding():
            rows = connection.execute(_ENDS_LOCKED if lock else _ENDS_OF_POOL, {"name": name}).all()
        found = {row.assessment: _Ends(row.first, Mark(row.seq, row.hash), row.place or 0) for row in rows}
        if name not in found:  # it is unknown, or damaged
            found[name] = _Ends(*self.ends(connection, name), 0)
        return found

    def _since_all(self, connection: Connection, ends: Mapping[str, _Ends], seen: Mapping[str, Mark]) -> list[Event]:
        """What is new in several logs, in the order in which it was written."""
        news = [
            self._since(connection, name, seen.get(name, Mark(0, end.first)), end.head) for name, end in ends.items()
        ]
        return in_order([new for new in news if new])

    def ends(self, connection: Connection, name: str) -> tuple[bytes, Mark]:
        """The hash with which the chain of a log begins, and where it ends."""
        with self.database.decoding():
            row = connection.execute(_ENDS, {"name": name}).one_or_none()
        if row is None and name in self.names_in(connection):
            raise self.database.damaged(f"it is not known where the log of {name!r} ends")
        if row is None:
            raise self._unknown(connection, name)
        return row.first, Mark(row.seq, row.hash)

    def checked_parts(
        self, connection: Connection, name: str, first: bytes, head: Mark, size: int
    ) -> Iterator[list[Event]]:
        """All events up to the head, some at a time; a DamagedError where the chain breaks."""
        mark = Mark(0, first)
        while mark.seq < head.seq:
            upto = min(mark.seq + size, head.seq)
            found = _events(connection, _BY_SEQ, name, first=mark.seq + 1, last=upto)
            wrong = first_break(mark, found)
            if wrong is None and len(found) < upto - mark.seq:
                wrong = missing(mark.seq + len(found) + 1, upto)
            if wrong:
                raise self.database.damaged(f"{wrong} in the log of {name!r}")
            mark = Mark(upto, found[-1].hash)
            yield found
        if mark != head:
            raise self.database.damaged(f"event {head.seq:,} is not the last that was written in the log of {name!r}")

    def _since(self, connection: Connection, name: str, seen: Mark, head: Mark) -> list[Event]:
        """The events after a place that was seen before (its hash is empty if unknown), up to the head or beyond."""
        if seen == head:
            return []
        with self.database.decoding():
            found = _events(connection, _BY_SEQ, name, first=seen.seq, last=_LAST)
        if seen.seq:
            same = found and found[0].seq == seen.seq and seen.hash in {b"", found[0].hash}
            if not same and (seen.hash or head.seq < seen.seq):
                raise StoreError(
                    f"the log of {name!r} is shorter than before, or another: {seen.seq:,} events were read from it "
                    "earlier. Was the database restored from a backup? Load the assessment again."
                )
            seen = Mark(seen.seq, found.pop(0).hash) if same else seen
        if wrong := first_break(seen, found) or _wrong_end(seen, found, head):
            raise self.database.damaged(f"{wrong} in the log of {name!r}")
        return found

    def _arrived(self, name: str, log: Transaction) -> bool:
        """Whether events are in the log although the connection was lost while they were written."""
        for wait in _AGAIN:
            time.sleep(wait)
            try:
                with self.database.writing() as connection:
                    self._ends_of_pool(connection, name, lock=True)  # waits for the lost transaction, if it still runs
                    return _has(connection, name, log.head)
            except StoreError:
                continue
        raise UnsureError(
            f"the connection to {self.database.shown} was lost while {len(log.added):,} events were written, and it "
            "cannot be said whether they are saved. Repeat the call when the server runs: on this same assessment it "
            "is not taken twice."
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
        return copying.backup(self, to, progress)

    def copy(
        self,
        to: str | os.PathLike[str],
        *,
        rescue: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Copied:
        """Copy everything into another database, SQLite or PostgreSQL, which must be new or empty.

        Events stay as they are: numbers, times, people and hashes. All is copied or nothing. A damaged database is
        refused. With `rescue` the events that can still be used are copied, with new numbers and a new chain, and
        `Copied.left_out` says what is missing.
        """
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
        return verifying.verify(self, head, progress)

    def close(self) -> None:
        """Close the connections; a store in memory is lost."""
        self.database.close()

    def _unknown(self, connection: Connection, name: str) -> StoreError:
        known = ", ".join(repr(known) for known in self.names_in(connection))
        have = f"There are {known}." if known else "There are none yet: create one."
        return StoreError(f"there is no assessment {name!r} in {self.database.shown}. {have}")


def in_order(logs: Sequence[Sequence[Event]]) -> list[Event]:
    """The events of several logs in the order in which they were written.

    Each has its place in that order. What was written before logs were shared comes first, by its time; but the order
    of one log is that of its numbers, whatever the clocks said.
    """
    if len(logs) == 1:
        return list(logs[0])
    rows: list[tuple[int, datetime, str, int, Event]] = []
    for log in logs:
        place, latest = 0, _LONG_AGO
        for event in log:
            place, latest = max(place, event.place or 0), max(latest, event.at or latest)
            rows.append((place, _LONG_AGO if place else latest, event.assessment, event.seq, event))
    rows.sort(key=lambda row: row[:-1])
    return [row[-1] for row in rows]


def _digest(first: bytes, mark: Mark, data: bytes) -> bytes:
    return sha256(b"".join((first, str(mark).encode(), b"\0", data))).digest()


def _has(connection: Connection, name: str, mark: Mark) -> bool:
    place = events.c.assessment == name, events.c.seq == mark.seq
    return connection.scalar(sa.select(events.c.hash).where(*place)) == mark.hash


def _wrong_end(seen: Mark, found: Sequence[Event], head: Mark) -> str | None:
    """What is wrong with the end of a log whose chain holds; on PostgreSQL it may go on after the head just read."""
    new = head.seq - seen.seq
    if len(found) < new:
        return missing(seen.seq + len(found) + 1, head.seq)
    last = found[new - 1].hash if new > 0 else seen.hash
    return None if last == head.hash else f"event {head.seq:,} is not the last that was written"


def _has_pool(connection: Connection, fingerprint: str) -> bool:
    return connection.scalar(sa.select(pools).where(pools.c.fingerprint == fingerprint)) is not None


def _keep(connection: Connection, pool: Pool) -> None:
    """Store the pool unless it is stored already: assessments of the same pool share it."""
    if _has_pool(connection, pool.fingerprint):
        return
    connection.execute(pools.insert().values(fingerprint=pool.fingerprint))
    _add_parts(connection, pool.fingerprint, pack_pool(pool), 0)


def _add_parts(connection: Connection, fingerprint: str, data: bytes, first: int) -> None:
    for part, start in enumerate(range(0, len(data), _PART), first):
        piece = data[start : start + _PART]
        connection.execute(pool_parts.insert().values(fingerprint=fingerprint, part=part, data=piece))


def _events(connection: Connection, query: sa.Select[Any], name: str, **which: object) -> list[Event]:
    return [Event(*row) for row in connection.execute(query, {"name": name, **which})]


def _row(name: str, event: Event) -> dict[str, object]:
    if event.at is None or event.at.tzinfo is None:
        raise StoreError(f"the time of an event needs a time zone. Got {event.at!r}: use datetime.now(UTC).")
    return {
        "assessment": name,
        "seq": event.seq,
        "kind": event.kind,
        "step": event.step,
        "item": _text(event.item, "the id of an item"),
        "label": _text(event.label, "a label"),
        "annotator": _text(event.annotator, "the name of an annotator"),
        "note": _text(event.note, "a note"),
        "at": event.at,
        "key": _text(event.key, "the key of a call"),
        "place": event.place,
    }


def _text(value: str | None, what: str) -> str | None:
    """Return the text if both databases can store it: one refuses NUL, both refuse half a character."""
    if value is not None and ("\0" in value or _halved(value)):
        raise StoreError(f"{what} cannot be stored: {value[:40]!r} contains an invalid character. Remove it.")
    return value


def _halved(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return True
    return False
