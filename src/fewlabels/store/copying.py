"""Backups and copies of a database, whole or not at all, while others go on writing to it."""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from fewlabels.errors import StoreError
from fewlabels.io.holding import hold
from fewlabels.store.chain import DamagedError, Mark, linked
from fewlabels.store.guides import copy_guides
from fewlabels.store.schema import assessments, events, heads, people, pool_parts, pools
from fewlabels.store.verifying import founding, last_place, scan, what_is_left_of_the_ends

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sqlalchemy.engine import Connection

    from fewlabels.store.event import Event
    from fewlabels.store.log import Store

    Progress = Callable[[int, int], None]

_PAGES = 512  # of SQLite, copied at a time
_PART = 10_000  # events, copied at a time
_PART_NAME = re.compile(r"\..+\.[0-9a-f]{8}\.part\.db")  # of a file that is not complete yet


@dataclass(frozen=True)
class Copied:
    """What was copied.

    Parameters
    ----------
    to
        The address of the copy.
    assessments
        How many assessments it has.
    events
        How many events.
    left_out
        What could not be copied, in words: empty unless a damaged database was rescued.
    """

    to: str
    assessments: int
    events: int
    left_out: tuple[str, ...] = ()


def backup(store: Store, to: str | os.PathLike[str] | None, progress: Progress | None) -> Path:
    """See `Store.backup`."""
    path = _default_name(store) if to is None else Path(to)
    if not store.database.is_sqlite:
        copy(store, path, rescue=False, progress=progress)
        return path
    with _new_file(path) as part:
        with store.database.reading() as connection, closing(sqlite3.connect(part)) as target:
            source = connection.connection.driver_connection
            assert isinstance(source, sqlite3.Connection)
            # This transaction has read already, so that all steps copy the present state, whoever writes meanwhile.
            connection.execute(sa.select(heads.c.assessment).limit(1)).all()
            source.backup(target, pages=_PAGES, progress=_steps(progress))
        _check(store, part)
    return path


def copy(store: Store, to: str | os.PathLike[str], *, rescue: bool = False, progress: Progress | None = None) -> Copied:
    """See `Store.copy`."""
    from fewlabels.store.address import file_of
    from fewlabels.store.database import Database

    path = file_of(to)
    if path is None:
        target = Database(to)
        if target.in_memory:
            target.close()
            raise StoreError("a copy in memory would be gone in a moment. Name a file, such as copy.db, or a server.")
        with closing(target), store.database.reading(once=True) as source, target.writing() as connection:
            target.lock_all(connection)
            if connection.scalar(sa.select(assessments.c.name).limit(1)) is not None:
                raise StoreError(f"{target.shown} already has assessments. Copy into an empty database.")
            return _copy_all(store, source, connection, target.shown, rescue=rescue, progress=progress)
    with (
        _new_file(path) as part,
        closing(Database(part)) as target,
        store.database.reading(once=True) as source,
        target.writing() as connection,
    ):
        return _copy_all(store, source, connection, str(path), rescue=rescue, progress=progress)


def _copy_all(
    store: Store, source: Connection, target: Connection, to: str, *, rescue: bool, progress: Progress | None
) -> Copied:
    """Copy every row, inside a transaction of each database. Events keep their numbers, times, people and hashes."""
    left_out: list[str] = []
    wanted = store.names_in(source)
    total = int(source.scalar(sa.select(sa.func.coalesce(sa.func.sum(heads.c.seq), 0))) or 0)
    done = copied = 0
    for fingerprint in source.scalars(sa.select(pools.c.fingerprint)).all():
        with _spared(left_out if rescue else None, f"a part of the pool {fingerprint[:12]}"):
            _copy_pool(source, target, fingerprint)
    with _spared(left_out if rescue else None, "people who were invited, and whose links are no longer valid"):
        if rows := [row._asdict() for row in source.execute(sa.select(people))]:
            target.execute(people.insert(), rows)
    for name in wanted:
        try:
            log = _rescued(store, source, name, left_out) if rescue else _sound(store, source, name)
            store.pool_in(target, log.definition["fingerprint"])
        except StoreError as error:
            if not rescue:
                raise
            left_out.append(f"all of {name}: {error}")
            continue
        target.execute(assessments.insert(), log.definition)
        target.execute(heads.insert().values(assessment=name, **log.ends))
        for part in log.parts:
            target.execute(events.insert(), [_row(name, event) for event in part])
            done += len(part)
            if progress is not None:
                progress(done, max(done, total))
        copied += 1
    with _spared(left_out if rescue else None, "guides for annotators"):
        copy_guides(source, target, wanted)
    return Copied(to, copied, done, tuple(left_out))


@contextmanager
def _spared(left_out: list[str] | None, what: str) -> Iterator[None]:
    """During a rescue, go on without what cannot be read: everything else is worth more."""
    try:
        yield
    except (DBAPIError, ValueError, TypeError, OverflowError):
        if left_out is None:
            raise
        left_out.append(what)


class _Log(NamedTuple):
    """What is copied of an assessment: its definition and its ends as rows, and its events in parts."""

    definition: dict[str, Any]
    ends: dict[str, Any]
    parts: Iterable[list[Event]]


def _sound(store: Store, source: Connection, name: str) -> _Log:
    """All of an assessment; an error where it is not what was written."""
    store.defined(source, name)
    first, head, place = store.ends(source, name)
    ends = {"first": first, "seq": head.seq, "hash": head.hash, "place": place}
    return _Log(_definition(source, name), ends, store.checked_parts(source, name, first, head, _PART))


def _rescued(store: Store, source: Connection, name: str, left_out: list[str]) -> _Log:
    """The events that are left of an assessment, as a log of their own. Its definition must be what was written.

    The first event proves that too, if the record of the log's ends is lost.
    """
    own = founding(source, name)
    first, head, place = what_is_left_of_the_ends(source, name)
    scanned = scan(source, name, own, head)
    is_known = place is not None and first == own
    if not own or not (is_known or (scanned.intact and scanned.intact[0].seq == 1)):
        how = f"fewlabels export {store.database.shown} {name} log"
        raise DamagedError(f"its definition is not what was written. Its events may still be readable: {how}")
    left_out += [f"{problem} in {name}" for problem in scanned.problems]
    if place is None:
        left_out.append(f"perhaps the last events in {name}, since the record of where its log ends is lost")
    usable = scanned.usable
    head, parts = _renumbered(own, usable)
    ends = {"first": own, "seq": head.seq, "hash": head.hash, "place": last_place(usable)}
    return _Log(_definition(source, name), ends, parts)


def _definition(source: Connection, name: str) -> dict[str, Any]:
    return source.execute(sa.select(assessments).where(assessments.c.name == name)).one()._asdict()


def _copy_pool(source: Connection, target: Connection, fingerprint: str) -> None:
    target.execute(pools.insert().values(fingerprint=fingerprint))
    of_it = pool_parts.c.fingerprint == fingerprint
    for part in source.scalars(sa.select(pool_parts.c.part).where(of_it).order_by(pool_parts.c.part)).all():
        data = source.scalar(sa.select(pool_parts.c.data).where(of_it, pool_parts.c.part == part))
        target.execute(pool_parts.insert().values(fingerprint=fingerprint, part=part, data=data))


def _renumbered(first: bytes, usable: Sequence[Event]) -> tuple[Mark, Iterator[list[Event]]]:
    """The events of a damaged log as a new one, without gaps: with new numbers and a new chain."""
    chained: list[Event] = []
    mark = Mark(0, first)
    for event in usable:
        placed = replace(event, seq=mark.seq + 1)
        mark = Mark(placed.seq, linked(mark.hash, placed))
        chained.append(replace(placed, hash=mark.hash))
    return mark, (chained[start : start + _PART] for start in range(0, len(chained), _PART))


def _row(name: str, event: Event) -> dict[str, object]:
    return {"assessment": name} | {column.name: getattr(event, column.name) for column in list(events.c)[1:]}


def _steps(progress: Progress | None) -> Callable[[int, int, int], None] | None:
    """The progress of SQLite's backup, which says what remains, as one that says what is done."""
    if progress is None:
        return None
    return lambda _status, left, total: progress(total - left, total)


def _check(store: Store, part: Path) -> None:
    """StoreError if a new backup is not good: SQLite's own check, and the chain of every log."""
    from fewlabels.store.log import Store as Opened

    with closing(Opened(part)) as made, made.database.reading() as connection:
        made.database.shown = store.database.shown  # the damage is there, and this file is gone in a moment
        (state,) = connection.exec_driver_sql("PRAGMA quick_check(1)").one()
        if state != "ok":
            raise store.database.damaged(f"no backup was made ({' '.join(str(state).split())})")
        for name in made.names_in(connection):
            made.pool_in(connection, made.defined(connection, name).fingerprint)
            first, head, _ = made.ends(connection, name)
            for _ in made.checked_parts(connection, name, first, head, _PART):
                pass


def _default_name(store: Store) -> Path:
    path = store.database.path
    stamp = datetime.now().astimezone().strftime("%Y-%m-%d-%H%M%S")
    if path is None:
        return Path(f"fewlabels-{stamp}.db")
    return path.with_name(f"{path.stem}-{stamp}{path.suffix or '.db'}")


@contextmanager
def _new_file(path: Path) -> Iterator[Path]:
    """A file beside its place that is moved there at the end; an existing file is refused, and stays as it is."""
    taken = StoreError(f"{path} exists already. Choose another name: nothing is ever overwritten.")
    try:
        is_there = path.exists() or path.is_symlink()
    except OSError as error:  # a name that is too long, or a folder without read permission
        raise StoreError(f"cannot write {path}: {error.strerror}. Choose another path.") from None
    if is_there:
        raise taken
    if not path.absolute().parent.is_dir():
        raise StoreError(f"cannot write {path}: there is no directory {str(path.absolute().parent)!r}. Make it first.")
    if path.suffix.lower() not in {".db", ".sqlite", ".sqlite3"}:
        raise StoreError(f"the name of a SQLite database ends in .db, as in {path.stem}.db. Got {path.name!r}.")
    _clean_up(path.absolute().parent)
    part = path.with_name(f".{path.stem}.{secrets.token_hex(4)}.part.db")
    try:
        try:
            with _held(part):
                yield part
        except (sqlite3.Error, OSError) as error:
            why = getattr(error, "strerror", None) or error  # without the name of the part
            raise StoreError(
                f"cannot write {path}: {why}. Is there room on the disk, and are you allowed to write there?"
            ) from error
        _on_disk(part)
        try:
            os.link(part, path)  # unlike a move, it never replaces a file that came meanwhile
        except FileExistsError:
            raise taken from None
        except OSError:  # a drive without links
            if path.exists():
                raise taken from None
            part.rename(path)
        with suppress(OSError):
            _on_disk(path.absolute().parent)
    finally:
        _remove(part)


def _remove(part: Path) -> None:
    for left in (part, *(Path(f"{part}{end}") for end in ("-wal", "-shm", "-journal"))):
        with suppress(OSError):
            left.unlink()


@contextmanager
def _held(part: Path) -> Iterator[None]:
    """Make the file and keep it locked while it is written, so that nobody takes it for one that was left behind."""
    number = os.open(part, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        hold(number)
        yield
    finally:
        os.close(number)


def _clean_up(folder: Path) -> None:
    """Remove the unfinished files of backups that were killed: nobody holds them any more."""
    for beside in folder.glob(".*.part.db-*"):  # of a file that is gone: the process ended between the two
        if not beside.with_name(beside.name.rpartition("-")[0]).exists():
            beside.unlink(missing_ok=True)
    for part in folder.glob(".*.part.db"):
        with suppress(OSError):
            number = os.open(part, os.O_RDWR)
            try:
                if _PART_NAME.fullmatch(part.name) and hold(number):
                    _remove(part)
            finally:
                os.close(number)


def _on_disk(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
