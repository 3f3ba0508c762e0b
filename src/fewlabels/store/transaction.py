"""The log of one assessment while it is written to."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fewlabels.errors import StoreError
from fewlabels.store.chain import Mark, linked
from fewlabels.store.rows import ADD, BY_KEY, has_event, read_events, row_of
from fewlabels.store.schema import heads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Connection

    from fewlabels.store.event import Definition, Event
    from fewlabels.store.reading import Reading

_MOVE_END = heads.update().where(heads.c.assessment == sa.bindparam("name"))
_MOVE_END = _MOVE_END.values(seq=sa.bindparam("end"), hash=sa.bindparam("end_hash"), place=sa.bindparam("end_place"))


class UnsureError(StoreError):
    """The connection was lost, and it cannot be said whether the events are saved."""


class Transaction:
    """The log of one assessment while nobody else can write to it, nor to another of the same pool.

    Made by `Store.transaction`.
    """

    def __init__(
        self, store: Reading, connection: Connection, name: str, new: list[Event], head: Mark, place: int
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
        self._rows: list[dict[str, object]] = []

    def open(self, name: str) -> Definition:
        """The definition of an assessment, as `Store.open` gives it."""
        return self._store.defined(self._connection, name)

    def keyed(self, key: str) -> list[Event]:
        """The events that were appended with this key."""
        self.write()
        return read_events(self._connection, BY_KEY, self._name, key=key)

    def append(self, new: Sequence[Event]) -> list[Event]:
        """Add events at the end of the log; returns them as they will be read, with `seq`, `at` and `hash`."""
        now, head, place = datetime.now(UTC), self.head, self._place
        stamped, rows = [], []
        for event in new:
            place += 1
            placed = replace(event, seq=head.seq + 1, at=event.at or now, place=place, assessment=self._name)
            row = row_of(self._name, placed)
            head = Mark(placed.seq, linked(head.hash, placed))
            stamped.append(replace(placed, hash=head.hash))
            rows.append(row | {"hash": head.hash})
        self.head, self._place = head, place
        self.added += stamped
        self._rows += rows
        return stamped

    def write(self) -> None:
        """Send what was appended to the database: all at once at the end, since every statement costs time."""
        if self._rows:
            self._connection.execute(ADD, self._rows)
            end = {"end": self.head.seq, "end_hash": self.head.hash, "end_place": self._place}
            self._connection.execute(_MOVE_END, {"name": self._name, **end})
            self._rows = []

    def has(self, event: Event) -> bool:
        """Whether an event is in the log, exactly as it was appended."""
        self.write()
        return has_event(self._connection, self._name, Mark(event.seq, event.hash))
