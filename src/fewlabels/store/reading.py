"""What is in the database, as a transaction sees it: definitions, pools, and logs with their chain checked."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from fewlabels.errors import PoolChangedError
from fewlabels.store.chain import SIZE, GoneError, Mark, first_break, founded, missing
from fewlabels.store.event import Definition, Event
from fewlabels.store.pools import has_pool, stored_pool
from fewlabels.store.rows import BY_SEQ, read_events
from fewlabels.store.schema import assessments, events, heads

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy.engine import Connection

    from fewlabels.pool import Pool
    from fewlabels.store.database import Database

# Made once, as in `rows`.
_at_end = sa.and_(events.c.assessment == heads.c.assessment, events.c.seq == heads.c.seq)
_ALL_ENDS = sa.select(heads, events.c.place.label("last_place")).outerjoin_from(heads, events, _at_end)
_ENDS = _ALL_ENDS.where(heads.c.assessment == sa.bindparam("name"))
_one = assessments.alias("one")
_of_pool = sa.select(_one.c.fingerprint).where(_one.c.name == sa.bindparam("name")).scalar_subquery()
_ENDS_OF_POOL = _ALL_ENDS.join(assessments, assessments.c.name == heads.c.assessment)
_ENDS_OF_POOL = _ENDS_OF_POOL.where(assessments.c.fingerprint == _of_pool)
_ENDS_OF_POOL = _ENDS_OF_POOL.order_by(heads.c.assessment)  # they are locked in this order: nobody waits forever
_ENDS_LOCKED = _ENDS_OF_POOL.with_for_update(of=heads)
_COUNT = sa.select(sa.func.count()).where(events.c.assessment.in_(sa.bindparam("names", expanding=True)))
LAST = 2**62  # no log has so many events
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Ends(NamedTuple):
    """The hash with which the chain of a log begins, where it ends, and the place of that event in the pool's order."""

    first: bytes
    head: Mark
    place: int


class Reading:
    """A database, read inside a transaction. `Store` adds the calls that make their own, and all writing."""

    database: Database

    def names_in(self, connection: Connection) -> list[str]:
        """All names, oldest first; also one of which only the log is left: opening it will say that it is damaged."""
        known = list(connection.scalars(sa.select(assessments.c.name).order_by(assessments.c.created_at, "name")))
        names = list(dict.fromkeys([*known, *connection.scalars(sa.select(heads.c.assessment).order_by("assessment"))]))
        if not all(isinstance(name, str) for name in names):
            raise self.database.damaged("the list of assessments is not what was written")
        return names

    def defined(self, connection: Connection, name: str) -> Definition:
        """The definition of an assessment."""
        with self.database.decoding():
            row = connection.execute(sa.select(assessments).where(assessments.c.name == name)).one_or_none()
        first = connection.scalar(sa.select(heads.c.first).where(heads.c.assessment == name))
        if row is None and first is None:
            raise self._unknown(connection, name)
        if row is None or first != founded(row.name, row.spec, row.fingerprint, row.created_at):
            raise self.database.damaged(f"the definition of {name!r} is not what was written")
        return Definition(row.name, json.loads(row.spec), row.fingerprint, row.created_at, first)

    def pool_in(self, connection: Connection, fingerprint: str) -> Pool:
        """A stored pool."""
        if not has_pool(connection, fingerprint):
            raise GoneError(f"there is no pool {fingerprint[:12]}... in {self.database.shown}.")
        pool = stored_pool(connection, fingerprint)
        if pool.fingerprint != fingerprint:
            raise PoolChangedError(
                f"the pool stored in {self.database.shown} is not the one the assessment was made with "
                f"(fingerprint {pool.fingerprint[:12]}..., not {fingerprint[:12]}...). Restore the database "
                "from a backup, or create the assessment again."
            )
        return pool

    def ends_of_pool(self, connection: Connection, name: str, *, lock: bool = False) -> dict[str, Ends]:
        """The ends of the logs of all assessments that are about the pool of this one, by name."""
        with self.database.decoding():
            rows = connection.execute(_ENDS_LOCKED if lock else _ENDS_OF_POOL, {"name": name}).all()
        ends = {row.assessment: self._ends(row.assessment, row) for row in rows}
        if name not in ends:  # it is unknown, or damaged
            ends[name] = self.ends(connection, name)
        return ends

    def _ends(self, name: str, row: Any) -> Ends:
        """The ends of a log as they are stored, if that can be what was written."""
        if not is_end(row):
            raise self.database.damaged(f"it is not known where the log of {name!r} ends")
        # The place is not in the hash of the head. What is written next must come after all that was written.
        if not _is_number(row.last_place) or (row.last_place or 0) > (row.place or 0):
            raise self.database.damaged(f"the place at which the log of {name!r} ends is not what was written")
        return Ends(row.first, Mark(row.seq, row.hash), row.place or 0)

    def since_all(self, connection: Connection, ends: Mapping[str, Ends], seen: Mapping[str, Mark]) -> list[Event]:
        """What is new in several logs, in the order in which it was written."""
        news = []
        for name, (first, head, _) in ends.items():
            before = seen.get(name, Mark(0, first))
            if before.seq == 0 and before.hash != first:
                raise GoneError(
                    f"{name!r} was removed and begun again since it was loaded. Nothing was changed. Load it again."
                )
            news.append(self.since(connection, name, before, head))
        return in_order([new for new in news if new])

    def ends(self, connection: Connection, name: str) -> Ends:
        """Where a log begins and ends."""
        with self.database.decoding():
            row = connection.execute(_ENDS, {"name": name}).one_or_none()
        if row is None and name in self.names_in(connection):
            raise self.database.damaged(f"it is not known where the log of {name!r} ends")
        if row is None:
            raise self._unknown(connection, name)
        return self._ends(name, row)

    def checked_parts(
        self, connection: Connection, name: str, first: bytes, head: Mark, size: int
    ) -> Iterator[list[Event]]:
        """All events up to the head, some at a time; a DamagedError where the chain breaks."""
        mark = Mark(0, first)
        while mark.seq < head.seq:
            upto = min(mark.seq + size, head.seq)
            events = read_events(connection, BY_SEQ, name, first=mark.seq + 1, last=upto)
            wrong = first_break(mark, events)
            if wrong is None and len(events) < upto - mark.seq:
                wrong = missing(mark.seq + len(events) + 1, upto)
            if wrong:
                raise self.database.damaged(f"{wrong} in the log of {name!r}")
            mark = Mark(upto, events[-1].hash)
            yield events
        if mark != head:
            raise self.database.damaged(f"event {head.seq:,} is not the last that was written in the log of {name!r}")

    def since(self, connection: Connection, name: str, seen: Mark, head: Mark) -> list[Event]:
        """The events after a place that was seen before (its hash is empty if unknown), up to the head or beyond."""
        if seen == head:
            return []
        with self.database.decoding():
            events = read_events(connection, BY_SEQ, name, first=seen.seq, last=LAST)
        if seen.seq:
            same = events and events[0].seq == seen.seq and seen.hash in {b"", events[0].hash}
            if not same and (seen.hash or head.seq < seen.seq):
                raise GoneError(
                    f"the log of {name!r} is shorter than before, or a different one: {seen.seq:,} events were read "
                    "from it earlier. Was the database restored from a backup? Load the assessment again."
                )
            seen = Mark(seen.seq, events.pop(0).hash) if same else seen
        if wrong := first_break(seen, events) or _wrong_end(seen, events, head):
            raise self.database.damaged(f"{wrong} in the log of {name!r}")
        return events

    def _unknown(self, connection: Connection, name: str) -> GoneError:
        known = ", ".join(repr(known) for known in self.names_in(connection))
        have = f"There are {known}." if known else "There are none yet: create one."
        return GoneError(f"there is no assessment {name!r} in {self.database.shown}. {have}")


def is_complete(connection: Connection, ends: Mapping[str, Ends]) -> bool:
    """Whether logs have as many events as they should. Counting is a hundred times as quick as reading them."""
    return connection.scalar(_COUNT, {"names": list(ends)}) == sum(end.head.seq for end in ends.values())


def is_end(row: Any) -> bool:
    """Whether a row can say where a log begins and ends: SQLite keeps whatever lies in a column."""
    sizes = {len(value) if isinstance(value, bytes) else 0 for value in (row.first, row.hash)}
    return sizes == {SIZE} and row.seq is not None and _is_number(row.seq) and _is_number(row.place)


def _is_number(value: object) -> bool:
    """Whether it can be the number or the place of an event, or is missing."""
    return value is None or (isinstance(value, int) and 0 <= value < LAST)


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


def _wrong_end(seen: Mark, events: Sequence[Event], head: Mark) -> str | None:
    """What is wrong with the end of a log whose chain holds; on PostgreSQL it may go on after the head just read."""
    new = head.seq - seen.seq
    if len(events) < new:
        return missing(seen.seq + len(events) + 1, head.seq)
    last = events[new - 1].hash if new > 0 else seen.hash
    return None if last == head.hash else f"event {head.seq:,} is not the last that was written"
