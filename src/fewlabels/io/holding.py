"""Files and folders that a process locks while it uses them: those without a lock were left by a killed one."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

_YOUNG = 60.0  # seconds in which a folder may have been made, and not be held yet


def hold(number: int) -> bool:
    """Lock an open file or folder until it is closed or its process ends; False if somebody has it, or nobody knows."""
    try:
        import fcntl
    except ImportError:  # Windows
        return False
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


class TemporaryFolder:
    """A folder for temporary files that is held until it is removed; those that were left behind are removed first.

    >>> folder = TemporaryFolder("fewlabels-example-")
    >>> folder.path.is_dir()
    True
    >>> folder.remove()
    >>> folder.path.exists()
    False
    """

    def __init__(self, prefix: str) -> None:
        remove_left_behind(prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        self._number: int | None = None
        with suppress(OSError):  # Windows opens no folders
            self._number = os.open(self.path, os.O_RDONLY)
            hold(self._number)

    def remove(self) -> None:
        """Remove it with everything in it. Doing it twice is fine."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._number is not None:
            os.close(self._number)
            self._number = None


def remove_left_behind(prefix: str) -> None:
    """Remove the temporary folders of this user with such a name that no process holds any more."""
    for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):
            _remove_if_left(left)


def _remove_if_left(left: Path) -> None:
    number = os.open(left, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))  # others may put links where anybody can write
    try:
        about = os.fstat(number)
        old = time.time() - about.st_mtime > _YOUNG
        if old and about.st_uid == os.geteuid() and hold(number):
            shutil.rmtree(left, ignore_errors=True)
    finally:
        os.close(number)
