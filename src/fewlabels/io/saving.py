"""Writing a file all or nothing: the one way in which tables, batches, plots and reports reach the disk."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path

from fewlabels.errors import InputError

_SQLITE = b"SQLite format 3\0"


def save(data: str | bytes, target: str | os.PathLike[str]) -> Path:
    r"""Write a text (as UTF-8) or bytes to a file and return its path. An InputError says why a file cannot be written.

    The file is written beside its place and then moved there: a reader never sees half a file, and an error leaves an
    older file as it was. A link stays a link, and its target is written. A pipe or a device is written to directly.

    Parameters
    ----------
    data
        The whole content of the file.
    target
        Its path; a ~ at the beginning is the home directory.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fewlabels.io.saving import save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save("id,label\n", pathlib.Path(folder) / "labels.csv").read_text()
    'id,label\n'
    """
    path = Path(os.path.expanduser(target))  # noqa: PTH111  (Path's own raises where there is no such home)
    content = data.encode() if isinstance(data, str) else data
    try:
        mode = _mode(path)
        if mode is not None and stat.S_ISREG(mode) and _is_database(path):
            raise InputError(f"cannot write {os.fspath(target)}: it is a database. Choose another path.")
        if mode is not None and _must_stay(path, mode):
            path.write_bytes(content)
        else:
            _replace(Path(os.path.realpath(path)), content, mode)
    except OSError as error:
        raise InputError(f"cannot write {os.fspath(target)}: {_why(path, error)}") from None
    return path


def check_new(target: str | os.PathLike[str], *, unless: str) -> None:
    """Refuse a file that exists, where people may have typed labels into it; `unless` is how the caller insists.

    Everything else that is written can be made again, and replaces what was there.
    """
    if Path(os.path.expanduser(target)).is_file():  # noqa: PTH111
        raise InputError(
            f"{os.fspath(target)} already exists, and somebody may have filled it in. Read its labels with fewlabels "
            f"tell first, choose another name, or {unless}."
        )


def _mode(path: Path) -> int | None:
    """The kind and permissions of what a path leads to; None if there is nothing."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _is_database(path: Path) -> bool:
    """Whether a file is one of SQLite, with labels perhaps: no table or report may take its place."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        if os.read(descriptor, len(_SQLITE)) == _SQLITE:
            return True  # and it stays open: closing it would end the locks that this process has on it
        os.close(descriptor)
    return False


def _must_stay(path: Path, mode: int) -> bool:
    """Whether a file must be written in place: it is a pipe or a device, or nothing can be written beside it."""
    return not stat.S_ISREG(mode) or not os.access(Path(os.path.realpath(path)).parent, os.W_OK)


def _replace(path: Path, content: bytes, mode: int | None) -> None:
    if mode is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "permission denied")  # moving a file there would not check the permission
    # Not tempfile: its files are for the owner only, and what is written here is often for others.
    beside = path.with_name(f".fewlabels-{secrets.token_hex(8)}.part")
    try:
        with beside.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if mode is not None:
            with contextlib.suppress(PermissionError):  # some network drives have no permissions
                beside.chmod(stat.S_IMODE(mode))
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _why(path: Path, error: OSError) -> str:
    if not path.absolute().parent.is_dir():
        return "there is no such directory. Make it first."
    return f"{error.strerror}. Choose another path."
