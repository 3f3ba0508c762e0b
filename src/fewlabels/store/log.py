"""The append-only log of assessments in SQLite or PostgreSQL: requests and answers."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import sqlalchemy as sa

from fewlabels.errors import PoolChangedError, StoreError
from fewlabels.store.archive import pack_pool, unpack_pool
from fewlabels.store.database import Database
from fewlabels.store.schema import assessments, events, pool_parts, pools
from fewlabels.table import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy.engine import Connection

    from fewlabels.pool import Pool

Kind = Literal["request", "label", "skip", "decide", "retract", "expire", "withdraw"]

_PART = 16 * 2**20  # bytes of a pool per row: far below the limits of either database


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the log of an assessment.

    Parameters
    ----------
    kind
        The event. For one person: the item was handed out (request), answered (label) or found impossible to answer
        (skip), the answer was taken back (retract), or the request was (expire). For the item as a whole: the owner has
        decided (decide), or everything about it was taken back (withdraw).
    item
        The id of the item.
    step
        For a request, the step of asking that chose the item.
    label
        For a label or decision, the name of the class.
    annotator
        The person; for an expired request, the person who had it.
    note
        Any remark; for a skip, the reason.
    at
        The time, with a time zone. The store fills it in when appending.
    seq
        1, 2, 3, ... per assessment, without gaps; given by the store.
    key
        The client's name for this call, by which a call that is sent twice is noticed.
    """

    kind: Kind
    item: str
    step: int = 0
    label: str | None = None
    annotator: str | None = None
    note: str | None = None
    at: datetime | None = None
    seq: int = 0
    key: str | None = None


_LOG = ("seq", "at", "kind", "item", "label", "step", "annotator", "note")
_COLUMNS = tuple(events.c[field.name] for field in fields(Event))
# Made once: every label runs these, and SQLAlchemy takes longer to build a statement than the database to run it.
_OF_ONE = sa.select(*_COLUMNS).where(events.c.assessment == sa.bindparam("name")).order_by(events.c.seq)
_BY_SEQ = _OF_ONE.where(events.c.seq >= sa.bindparam("first"))
_BY_KEY = _OF_ONE.where(events.c.key == sa.bindparam("key"))
_LOCK = sa.select(assessments.c.name).where(assessments.c.name == sa.bindparam("name")).with_for_update()
_ADD = events.insert()


@dataclass(frozen=True, slots=True)
class Record:
    """The definition of an assessment, and the pool it is about: everything but its log."""

    name: str
    spec: dict[str, Any]
    fingerprint: str
    created_at: datetime


class Transaction:
    """The log of one assessment while nobody else can write to it. Made by `Store.transaction`."""

    def __init__(self, connection: Connection, name: str, after: int) -> None:
        self._connection = connection
        self._name = name
        rows = _read(connection, name, after)
        if after and (not rows or rows[0].seq != after):
            raise StoreError(
                f"the log of {name!r} is shorter than before: {after} events were read from it earlier. "
                "Was the database restored from a backup? Load the assessment again."
            )
        self.events: list[Event] = rows[1:] if after else rows
        self.added: list[Event] = []
        self._last = rows[-1].seq if rows else 0

    def keyed(self, key: str) -> list[Event]:
        """The events that were appended with this key."""
        return _events(self._connection, _BY_KEY, self._name, key=key)

    def append(self, new: Sequence[Event]) -> list[Event]:
        """Add events at the end of the log; returns them as they will be read, with `seq` and `at`."""
        now = datetime.now(UTC)
        stamped = [replace(event, seq=self._last + i, at=event.at or now) for i, event in enumerate(new, 1)]
        if stamped:
            self._connection.execute(_ADD, [_row(self._name, event) for event in stamped])
            self._last = stamped[-1].seq
            self.added += stamped
        return stamped


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
        row = {
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

    def open(self, name: str) -> Record:
        """The definition of an assessment."""
        with self.database.reading() as connection:
            row = connection.execute(sa.select(assessments).where(assessments.c.name == name)).one_or_none()
            if row is None:
                raise self._unknown(connection, name)
            return Record(row.name, json.loads(row.spec), row.fingerprint, row.created_at)

    def names(self) -> list[str]:
        """The names of the assessments, oldest first."""
        with self.database.reading() as connection:
            return _names(connection)

    def pool(self, fingerprint: str) -> Pool:
        """A stored pool; its fingerprint is checked."""
        with self.database.reading() as connection:
            if not _has_pool(connection, fingerprint):
                raise StoreError(f"there is no pool {fingerprint[:12]}... in {self.database.shown}.")
            rows = sa.select(pool_parts.c.data).where(pool_parts.c.fingerprint == fingerprint)
            data = b"".join(connection.scalars(rows.order_by(pool_parts.c.part)))
        pool = unpack_pool(data)
        if pool.fingerprint != fingerprint:
            raise PoolChangedError(
                f"the pool stored in {self.database.shown} is not the one the assessment was made with "
                f"(fingerprint {pool.fingerprint[:12]}..., not {fingerprint[:12]}...). Restore the database "
                "from a backup, or create the assessment again."
            )
        return pool

    def events(self, name: str, after: int = 0) -> list[Event]:
        """The log of an assessment, or the new events in it: those with `seq` above `after`."""
        with self.database.reading() as connection:
            events = _read(connection, name, after + 1)
            if not events and name not in _names(connection):
                raise self._unknown(connection, name)
            return events

    def log(self, name: str, after: int = 0) -> Table:
        """The events of an assessment after event number `after`, in order, even if its parts are missing.

        Columns seq, at, kind, item, label, step, annotator, note.
        """
        rows = self.events(name, after)
        return Table({column: [getattr(event, column) for event in rows] for column in _LOG})

    def labels(self, name: str) -> dict[str, str]:
        """The labels of an assessment that are valid now, id to class name, even if its parts are missing."""
        from fewlabels.labelling.settled import settled_labels

        record = self.open(name)
        return settled_labels(self.pool(record.fingerprint), self.events(name), record.spec.get("overlap", 1))

    @contextmanager
    def transaction(self, name: str, after: int = 0) -> Iterator[Transaction]:
        """Read the log and add to it, while nobody else can add to the log of this assessment.

        All events that the `with` block appends are on disk when the block has ended, or none if it raised.
        `Transaction.events` are those with `seq` above `after`, which others added in the meantime.
        """
        with self.database.writing() as connection:
            # On PostgreSQL the row is the lock; assessments do not keep each other waiting.
            if connection.scalar(_LOCK, {"name": name}) is None:
                raise self._unknown(connection, name)
            yield Transaction(connection, name, after)

    def close(self) -> None:
        """Close the connections; a store in memory is lost."""
        self.database.close()

    def _unknown(self, connection: Connection, name: str) -> StoreError:
        known = ", ".join(repr(known) for known in _names(connection))
        have = f"There are {known}." if known else "There are none yet: create one."
        return StoreError(f"there is no assessment {name!r} in {self.database.shown}. {have}")


def _names(connection: Connection) -> list[str]:
    return list(connection.scalars(sa.select(assessments.c.name).order_by(assessments.c.created_at, "name")))


def _has_pool(connection: Connection, fingerprint: str) -> bool:
    return connection.scalar(sa.select(pools).where(pools.c.fingerprint == fingerprint)) is not None


def _keep(connection: Connection, pool: Pool) -> None:
    """Store the pool unless it is stored already: assessments of the same pool share it."""
    if _has_pool(connection, pool.fingerprint):
        return
    data = pack_pool(pool)
    connection.execute(pools.insert().values(fingerprint=pool.fingerprint))
    for part, start in enumerate(range(0, len(data), _PART)):
        piece = data[start : start + _PART]
        connection.execute(pool_parts.insert().values(fingerprint=pool.fingerprint, part=part, data=piece))


def _read(connection: Connection, name: str, first: int) -> list[Event]:
    """The events with `seq` of at least `first`, in order."""
    return _events(connection, _BY_SEQ, name, first=first)


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
