"""Looking for damage: every event of every log, every pool and definition, and the file itself."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, fields
from types import NoneType
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from fewlabels.errors import InputError, StoreError
from fewlabels.store import schema
from fewlabels.store.chain import SIZE, DamagedError, Mark, founded, holds, missing
from fewlabels.store.event import Event
from fewlabels.store.reading import LAST, is_end
from fewlabels.store.schema import assessments, events, heads
from fewlabels.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sqlalchemy.engine import Connection

    from fewlabels.store.log import Store

    Progress = Callable[[int, int], None]

_MOST = 20  # problems of the file that are listed
_PART = 2_000  # events read at a time
_COLUMNS = [field.name for field in fields(Event)]


@dataclass(frozen=True)
class LogCheck:
    """What is known about the log of one assessment.

    Parameters
    ----------
    name
        The assessment.
    head
        Where the log ends, to be written down; None if even that is lost.
    events
        How many events are exactly what was written.
    labels
        How many items have an answer by these: given by somebody or decided, and not taken back.
    problems
        What is damaged or missing, in words; empty if nothing is.
    """

    name: str
    head: Mark | None
    events: int
    labels: int
    problems: tuple[str, ...]

    @property
    def words(self) -> str:
        """The result in one or more sentences."""
        have = f"{counted(self.events, 'event')} with {counted(self.labels, 'label')}"
        if not self.problems:
            return f"{self.name}: {have}: all as they were written."
        return f"{self.name}: damaged: {'; '.join(self.problems)}. What can still be used: {have}."


@dataclass(frozen=True)
class Verification:
    """What `verify` has found.

    Parameters
    ----------
    database
        The address, without its password.
    logs
        Each assessment.
    problems
        What is wrong with the database as a whole, in words.
    """

    database: str
    logs: tuple[LogCheck, ...]
    problems: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything is what was written."""
        return not self.problems and not any(log.problems for log in self.logs)

    @property
    def words(self) -> str:
        """The result in sentences, one line for each assessment."""
        lines = [f"{self.database}: {problem}." for problem in self.problems]
        return "\n".join([*lines, *(log.words for log in self.logs)])


@dataclass
class Scan:
    """The events of a log that can be used, and what is wrong with the others."""

    intact: list[Event] = field(default_factory=list)
    unproven: list[Event] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def usable(self) -> list[Event]:
        """All events that can be read and were not changed, in order."""
        return sorted([*self.intact, *self.unproven], key=lambda event: event.seq)


def verify(store: Store, head: str | None = None, progress: Progress | None = None) -> Verification:
    """See `Store.verify`."""
    wanted = None if head is None else _mark(head)
    try:
        with store.database.reading(once=True) as connection:
            problems = _of_the_file(connection) + _of_the_tables(connection)
            names = store.names_in(connection)
            logs = [_of_the_log(store, connection, name, progress) for name in names]
            if wanted is not None and not any(_contains(connection, name, wanted) for name in names):
                problems.append(
                    f"no log contains the event {head}: events were removed or rewritten since it was written down, "
                    "or it belongs to another database"
                )
    except DamagedError:
        return Verification(store.database.shown, (), ("so much is damaged that no log can be read",))
    return Verification(store.database.shown, tuple(logs), tuple(problems))


def scan(connection: Connection, name: str, first: bytes, head: Mark, progress: Progress | None = None) -> Scan:
    """Look at every event of a log, however damaged it is; the hashes `first` and of the head are empty if lost.

    An event is intact if it fits the hash of the event before it; unproven if that one is lost.
    """
    scanned = Scan()
    seq, before = 0, first  # the last event seen, and its hash: empty if it is lost
    for event in _rows(connection, name, head.seq):
        # Events behind the end are ours if the chain goes on through them: then the number of the end was damaged.
        if event.seq > head.seq and (before == head.hash or event.seq > seq + 1 or not holds(before, event)):
            scanned.problems.append(f"events after number {head.seq:,} were not written by fewlabels")
            break
        if event.seq > seq + 1:
            scanned.problems.append(missing(seq + 1, event.seq - 1))
            before = b""
        if not event.item and not event.hash:
            scanned.problems.append(f"event {event.seq:,} cannot be read")
        elif not before:
            scanned.unproven.append(event)
        elif holds(before, event):
            scanned.intact.append(event)
        else:
            scanned.problems.append(f"event {event.seq:,} is not what was written")
        seq, before = event.seq, event.hash
        if progress is not None and seq % _PART == 0:
            progress(seq, head.seq)
    if seq < head.seq:
        scanned.problems.append(missing(seq + 1, head.seq))
    elif head.hash and (seq > head.seq or before != head.hash):
        scanned.problems.append(f"event {head.seq:,} is not the last that was written")
    return scanned


def _of_the_log(store: Store, connection: Connection, name: str, progress: Progress | None) -> LogCheck:
    problems: list[str] = []
    try:
        store.pool_in(connection, store.defined(connection, name).fingerprint)
    except (StoreError, DBAPIError, ValueError, TypeError) as error:
        problems.append(" ".join(str(getattr(error, "orig", error)).split()).rstrip("."))
    first, head, place = what_is_left_of_the_ends(connection, name)
    scanned = scan(connection, name, first, head, progress)
    usable = scanned.usable
    if place is None:
        problems.append("where its log begins and ends is lost")
    elif not scanned.problems and place < last_place(usable):
        problems.append("the place at which it ends, in the order of all logs of its pool, is not what was written")
    if scanned.unproven:
        lost = counted(len(scanned.unproven), "event")
        problems.append(f"{lost} cannot be proven, because the event before is missing")
    known = head if head.hash else None
    return LogCheck(name, known, len(usable), _answered(usable), (*problems, *_summed_up(scanned.problems)))


def what_is_left_of_the_ends(connection: Connection, name: str) -> tuple[bytes, Mark, int | None]:
    """Where a log begins and ends, and the place of its end. If that is lost, the place is None, and the hashes are
    that of the definition, and empty.
    """
    with suppress(DBAPIError, ValueError, TypeError, OverflowError):
        row = connection.execute(sa.select(heads).where(heads.c.assessment == name)).one_or_none()
        if row is not None and is_end(row):
            return row.first, Mark(row.seq, row.hash), row.place or 0
    latest = sa.select(sa.func.max(events.c.seq)).where(events.c.assessment == name, events.c.seq < LAST)
    return founding(connection, name), Mark(connection.scalar(latest) or 0, b""), None


def founding(connection: Connection, name: str) -> bytes:
    """The hash of a definition as it is stored; empty if it cannot be read."""
    with suppress(DBAPIError, ValueError, TypeError, OverflowError):
        row = connection.execute(sa.select(assessments).where(assessments.c.name == name)).one_or_none()
        if row is not None:
            return founded(row.name, row.spec, row.fingerprint, row.created_at)
    return b""


def last_place(log: Iterable[Event]) -> int:
    """The last place that an event of a log has in the order of all logs of its pool."""
    return max((event.place or 0 for event in log), default=0)


def _answered(log: Iterable[Event]) -> int:
    """How many items have an answer, however often it was given."""
    given: dict[str, set[str | None]] = {}
    for event in log:
        people = given.setdefault(event.item, set())
        if event.label is not None:
            people.add("" if event.kind == "decide" else event.annotator)
        elif event.kind in {"skip", "retract"}:
            people.discard(event.annotator)
        elif event.kind == "withdraw":
            people.clear()
    return sum(map(bool, given.values()))


def _summed_up(problems: list[str]) -> list[str]:
    if len(problems) <= _MOST:
        return problems
    return [*problems[:_MOST], f"and {len(problems) - _MOST:,} more"]


def _of_the_file(connection: Connection) -> list[str]:
    """What SQLite itself finds in its file."""
    if connection.dialect.name != "sqlite":
        return []
    try:
        texts = [str(row[0]) for row in connection.exec_driver_sql(f"PRAGMA integrity_check({_MOST})")]
        texts = [" ".join(text.split()) for text in texts if text != "ok"]
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    except DBAPIError as error:
        return [f"the file is damaged ({error.orig})"]
    return [f"the file is damaged ({text})" for text in texts] + ["rows are missing"] * bool(broken)


def _of_the_tables(connection: Connection) -> list[str]:
    """Whether the database still refuses to change events."""
    if connection.dialect.name == "sqlite":
        query = "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'events'"
        wanted = 2
    else:
        # Of this table alone: other schemas of the database may have logs too.
        query = (
            "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'events'::regclass "
            "AND tgname = 'events_append_only' AND tgenabled <> 'D'"
        )
        wanted = 1
    try:
        triggers = connection.exec_driver_sql(query).scalar()
    except DBAPIError:
        triggers = None
    return [] if triggers == wanted else ["the log is no longer protected from changes: its triggers are missing"]


def _contains(connection: Connection, name: str, mark: tuple[int | None, bytes]) -> bool:
    seq, last = mark
    if seq is not None and not 0 <= seq < LAST:
        return False  # a number that no database can look for
    where = [events.c.assessment == name, events.c.hash == last]
    if seq:
        where.append(events.c.seq == seq)
    if connection.scalar(sa.select(events.c.seq).where(*where)) is not None:
        return True
    return not seq and connection.scalar(sa.select(heads.c.first).where(heads.c.assessment == name)) == last


def _mark(text: str) -> tuple[int | None, bytes]:
    """Read a head as it was printed: the number, a colon and the hash; or the hash alone."""
    number, _, digits = text.strip().rpartition(":")
    try:
        last = bytes.fromhex(digits)
        seq = int(number) if number else None
    except ValueError:
        last, seq = b"", None
    if len(last) != SIZE:
        raise InputError(f"{text!r} is not a head. Copy it as verify printed it: a number, a colon and 64 hex digits.")
    return seq, last


def _rows(connection: Connection, name: str, last: int) -> Iterator[Event]:
    """The events that can be found, in order; one without item and hash could not be read."""
    seen, place = 0, _COLUMNS.index("seq")
    while True:
        upto = seen
        try:
            rows = _raw(connection, name, events.c.seq > seen)
        except (DBAPIError, TypeError):
            # The file is damaged here: look for each of the next events by its number.
            upto = min(seen + _PART, last)
            rows = [row for seq in range(seen + 1, upto + 1) for row in _one(connection, name, seq)]
        for row in rows:
            if isinstance(row[place], int) and row[place] > seen:
                seen = row[place]
                yield _decoded(row)
        if seen < upto:
            seen = upto
        elif not rows or rows[-1][place] != seen:
            return


def _one(connection: Connection, name: str, seq: int) -> list[tuple[Any, ...]]:
    try:
        return _raw(connection, name, events.c.seq == seq)
    except (DBAPIError, TypeError):
        return []


def _raw(connection: Connection, name: str, which: sa.ColumnElement[bool]) -> list[tuple[Any, ...]]:
    """Rows as they are stored: SQLite gives the bytes of a text, which may no longer be one."""
    columns: Iterable[Any] = [events.c[column] for column in _COLUMNS]
    if connection.dialect.name == "sqlite":
        plain = {"seq", "step", "place"}
        columns = [c if c.name in plain else sa.cast(c, sa.LargeBinary).label(c.name) for c in columns]
    query = sa.select(*columns).where(events.c.assessment == name, which).order_by(events.c.seq).limit(_PART)
    return [tuple(row) for row in connection.execute(query)]


def _decoded(row: tuple[Any, ...]) -> Event:
    values = dict(zip(_COLUMNS, row, strict=True))
    unreadable = Event("request", "", seq=values["seq"])
    if not all(isinstance(values[column], (int, NoneType)) for column in ("step", "place")):
        return unreadable
    try:
        for column in ("assessment", "kind", "item", "label", "annotator", "note", "key", "at"):
            if isinstance(values[column], bytes):
                values[column] = values[column].decode()
        return Event(**values | {"at": schema.stored_time(values["at"])})
    except (ValueError, TypeError, OverflowError):
        return unreadable
