"""Columns that name pictures, and the files in a folder that they name."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal, NamedTuple
from unicodedata import normalize
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fewlabels.pool import Pool

PICTURES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".bmp", ".svg"})
"""The endings of files that browsers show as pictures."""
FORMS: tuple[Literal["NFC"], Literal["NFD"]] = ("NFC", "NFD")
"""The two ways in which Unicode writes letters with accents: a Mac names files by one, other programs by the other."""
_LONGEST = 1000
_LOOKED_AT = 200
_MOST = 0.9  # of the values of a column that names pictures


class Pictured(NamedTuple):
    """A column that names pictures: by paths, or by addresses of these hosts."""

    column: str
    by: Literal["path", "address"]
    hosts: tuple[str, ...] = ()
    example: str = ""
    folder: Path | None = None
    """The folder that all of them are in, if the paths are absolute and it is there."""


def names_picture(value: str) -> bool:
    """Whether a text is the path or address of a picture, by its ending.

    >>> [names_picture(value) for value in ("shirts/1.PNG", "https://x.org/a.jpg?w=9", "a.png is too dark")]
    [True, True, False]
    """
    if len(value) > _LONGEST or "\n" in value:
        return False
    path = urlsplit(value).path if origin_of(value) is not None else value.replace("\\", "/")
    return PurePosixPath(path).suffix.lower() in PICTURES


def origin_of(value: str) -> str | None:
    """The scheme and host of a text that is only a web address; None for other texts.

    >>> origin_of("https://x.org/a.png"), origin_of("x.org/a.png")
    ('https://x.org', None)
    """
    if not value.startswith(("http://", "https://")) or any(c.isspace() for c in value):
        return None
    try:
        parts = urlsplit(value)
    except ValueError:
        return None
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else None


def pictured(column: str, values: Iterable[object]) -> Pictured | None:
    """How a column names pictures, by its first values; None if it does not."""
    seen = [value for value in values if isinstance(value, str) and value]
    named = [value for value in seen if names_picture(value)]
    if not named or len(named) < _MOST * len(seen):
        return None
    origins = Counter(origin for value in named if (origin := origin_of(value)) is not None)
    if 2 * sum(origins.values()) < len(named):
        paths = [value for value in named if origin_of(value) is None]
        return Pictured(column, "path", example=paths[0], folder=_common(paths))
    hosts = tuple(origin for origin, _ in origins.most_common(5))
    return Pictured(column, "address", hosts, next(value for value in named if origin_of(value) is not None))


def _common(paths: Sequence[str]) -> Path | None:
    """The folder that absolute paths have in common; None if they are not absolute, or it is not on this computer."""
    if not all(PurePosixPath(path).is_absolute() for path in paths):
        return None
    folder = Path(os.path.commonpath([str(PurePosixPath(path).parent) for path in paths]))
    # The root directory would let the server show every picture on the computer.
    return folder if folder.is_dir() and folder != Path(folder.anchor) else None


def pictures_in(pool: Pool, columns: Sequence[str]) -> list[Pictured]:
    """Which of these columns of a pool name pictures."""
    pictures = []
    for name in columns:
        if pool.columns is None or name not in pool.columns.column_names:
            continue  # it stays in a table
        values = pool.column(name).slice(pool.units, _LOOKED_AT).to_pylist()
        if (column := pictured(name, values)) is not None:
            pictures.append(column)
    return pictures


def file_of(value: str, folder: Path | None) -> Path | None:
    """The file in a folder that a value of the pool names; None if there is none.

    Whatever the pool says, the file is never outside the folder: not by `..`, not by an absolute path that leads
    elsewhere, and not through a symbolic link that leads out.

    >>> file_of("../secret.txt", Path(".")) is None
    True
    """
    if folder is None or not value or len(value) > _LONGEST or "\0" in value or "\\" in value:
        return None
    path = PurePosixPath(value)
    if ".." in path.parts:
        return None
    inside = folder.resolve()
    for name in dict.fromkeys((value, *(normalize(form, value) for form in FORMS))):
        try:
            file = (inside / name).resolve(strict=True)  # an absolute path replaces the folder, and must be in it
        except (OSError, RuntimeError, ValueError):  # missing, or links in a circle
            continue
        return file if file.is_relative_to(inside) and file.is_file() else None
    return None


def folder_of(value: str, near: Sequence[Path]) -> Path | None:
    """The first of some folders, or of the folders in them, in which a value names a file; None if none has it."""
    for folder in near:
        try:
            below = sorted(inner for inner in folder.iterdir() if inner.is_dir() and not inner.name.startswith("."))
        except OSError:
            continue
        for place in (folder, *below[:_LOOKED_AT]):
            if file_of(value, place) is not None:
                return place
    return None
