"""The file of a SQLite database: is it still the one that was opened, and is the write-ahead log beside it its own?

SQLite does not notice when another file is copied over one that is in use, or when a backup is put beside the log of
the file it replaces: it mixes the pages of both. So each transaction that writes counts in the header of the file, in a
number that SQLite leaves to programs (`PRAGMA user_version`). It begins at random. The file itself, which may be a
little behind its log, never counts backwards.
"""

from __future__ import annotations

import os
import secrets
import struct
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fewlabels.errors import StoreError

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

_MAGIC = b"SQLite format 3\0"
_COUNT = struct.Struct(">60xi")  # the header of the file, up to the count
_LOG = struct.Struct(">8xI4x8s")  # the header of a log: the size of a page, and what all of its valid frames repeat
_LOG_SIZE = 32
_FRAME = struct.Struct(">I4x8s8x")  # the head of a frame: which page it is, and the repeated part
_FIRST = 2**30  # counts begin below it
_MANY = 2**24  # more than others write between two looks: it is another file


class _Shared(NamedTuple):
    """An open file, and how many databases of this process use it."""

    descriptor: int
    users: int


# Closing any descriptor of a file ends all locks that the process has on it, those of SQLite too. So a file is opened
# once, and closed when the last database of the process has closed its connections.
_open: dict[tuple[int, int], _Shared] = {}
_lock = threading.Lock()
if hasattr(os, "register_at_fork"):  # a process that is forked while a thread holds the lock would wait for ever
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


class DatabaseFile:
    """A file from which a database is made, watched from the moment it is opened."""

    def __init__(self, path: Path, shown: str) -> None:
        self.path = path
        self._shown = shown
        self._identity: tuple[int, int] | None = None
        self._held: tuple[int, int] | None = None
        self._count = 0
        self._hold()
        self._check_log()

    def watch(self) -> None:
        """Take it, as it is now, for the file that it must stay."""
        self._hold()
        self._identity = _identity(self.path)
        self.look()

    def release(self) -> None:
        """Forget the file, once all connections are closed."""
        held, self._held = self._held, None
        if held is not None:
            with _lock:
                descriptor, users = _open.pop(held)
                if users > 1:
                    _open[held] = _Shared(descriptor, users - 1)
                else:
                    os.close(descriptor)

    def check(self) -> None:
        """StoreError if the file is not the one that was opened: what is written now would be lost."""
        if self._identity is None:
            return
        if _identity(self.path) != self._identity:
            raise StoreError(
                f"the file {self._shown} was deleted, moved or replaced while it was in use. Nothing that is told now "
                "can be kept. Put the file back where it was, and start again."
            )
        if self._count and not 0 <= (self._stored() or 0) - self._count < _MANY:
            raise self._overwritten()
        self.look()

    def look(self) -> None:
        """Remember how far the file has come."""
        self._count = max(self._count, self._stored() or 0)

    def count(self, connection: Connection) -> None:
        """Count a transaction that writes, before it is committed."""
        latest = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
        if 0 < latest < (self._stored() or 0):
            raise self._overwritten()
        connection.exec_driver_sql(
            f"PRAGMA user_version = {latest + 1 if latest > 0 else 1 + secrets.randbelow(_FIRST)}"
        )

    def _overwritten(self) -> StoreError:
        return StoreError(
            f"another file was copied over {self._shown} while it was in use. Nothing that is told now can be kept. "
            f"Stop every program that uses it, move {self.path.name}-wal and {self.path.name}-shm away if they are "
            "there, and copy the file there once more."
        )

    def _hold(self) -> None:
        """Open the file, if it is there and can be read."""
        key = _identity(self.path)
        if self._held is not None or key is None:
            return
        with _lock, suppress(OSError):
            descriptor, users = _open.get(key) or _Shared(os.open(self.path, os.O_RDONLY | _BINARY), 0)
            _open[key] = _Shared(descriptor, users + 1)
            self._held = key

    def _stored(self) -> int | None:
        """The count that is in the file itself; None if there is none."""
        if self._held is None:
            return None
        with _lock, suppress(OSError, struct.error):
            header = _read(_open[self._held].descriptor, _COUNT.size)
            return _COUNT.unpack(header)[0] if header.startswith(_MAGIC) else None
        return None

    def _check_log(self) -> None:
        """StoreError if the log beside the file continues another one: SQLite would write it over this one."""
        before = self._stored()
        if not before:
            return
        counts = _counts(Path(f"{self.path}-wal"))
        # Others may write meanwhile: the file only comes nearer to the end of its log.
        if counts and (before > max(counts) or (self._stored() or 0) < counts[0] - 1):
            raise StoreError(
                f"{self.path.name}-wal does not belong to {self._shown}: the file was copied there while another one "
                "was in use, or after a crash. Opening both together would damage them. Move "
                f"{self.path.name}-wal and {self.path.name}-shm to another folder, and try again. Keep them: they may "
                "have the last labels of the file that was replaced."
            )


def _read(descriptor: int, size: int) -> bytes:
    """The first bytes of a file. Forked processes share their place in it, so it must not matter."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)  # Windows, which has no forks
    return os.read(descriptor, size)


def _counts(log: Path) -> list[int]:
    """The counts that a write-ahead log has, in its order."""
    data = b""
    with suppress(OSError):
        data = log.read_bytes()
    if len(data) < _LOG_SIZE:
        return []
    size, salt = _LOG.unpack_from(data)
    counts = []
    for start in range(_LOG_SIZE, len(data) - _FRAME.size - size + 1, _FRAME.size + size):
        page, own = _FRAME.unpack_from(data, start)
        if own != salt:  # what is left of an earlier round
            break
        if page == 1:
            counts.append(_COUNT.unpack_from(data, start + _FRAME.size)[0])
    return [count for count in counts if count > 0]


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


_BINARY = getattr(os, "O_BINARY", 0)  # Windows would translate line ends
