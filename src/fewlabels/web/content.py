"""The content that an annotator sees: texts, images from a folder or an address, or a card of columns."""

from __future__ import annotations

import mimetypes
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, urlsplit

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fewlabels.web.settings import Settings

_IMAGES = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".bmp", ".svg"}
_TEXTS = {".txt", ".md", ".csv", ".json", ".log"}
_MOST_TEXT = 200_000  # characters of a text file that a page shows


class Part(BaseModel):
    """One thing to look at: a text, an image (by its address), or a link."""

    kind: Literal["text", "image", "link"]
    value: str
    name: str | None = None


def parts_of(item: Mapping[str, Any], settings: Settings, address: Callable[[], str]) -> list[Part]:
    """Return what a page shows of an item.

    Parameters
    ----------
    item
        The values that annotators may see, by column.
    settings
        The settings, which say where files and images may come from.
    address
        The address from which a page gets the file of this item; the name of the column is added to it.
    """
    named = len(item) > 1
    parts = []
    for name, value in item.items():
        if value is None or value == "":
            continue
        part = _part(str(value), settings, partial(_column_of, address, name))
        parts.append(part.model_copy(update={"name": name}) if named else part)
    return parts


def _column_of(address: Callable[[], str], column: str) -> str:
    return f"{address()}&column={quote(column, safe='')}"


def _part(value: str, settings: Settings, address: Callable[[], str]) -> Part:
    file = file_of(value, settings.content)
    if file is not None and file.suffix.lower() in _IMAGES:
        return Part(kind="image", value=address())
    if file is not None and file.suffix.lower() in _TEXTS:
        with file.open(encoding="utf-8", errors="replace") as text:
            return Part(kind="text", value=text.read(_MOST_TEXT))
    if value.startswith("data:image/"):
        return Part(kind="image", value=value)
    parts = _address(value)
    if parts is None:
        return Part(kind="text", value=value)
    shown = f"{parts[0]}://{parts[1]}" in settings.image_hosts
    return Part(kind="image" if shown else "link", value=value)


def _address(value: str) -> tuple[str, str] | None:
    """Return the scheme and host of a text that is only a web address; None for other texts."""
    if not value.startswith(("http://", "https://")) or any(c.isspace() for c in value):
        return None
    try:
        parts = urlsplit(value)
    except ValueError:
        return None
    return (parts.scheme, parts.netloc) if parts.netloc else None


def file_of(value: str, folder: Path | None) -> Path | None:
    """Return the file in the content folder that a value of the pool names; None if there is none.

    Whatever the pool says, the file is never outside the folder: not by `..`, not by an absolute path, and not through
    a symbolic link that leads out.

    >>> file_of("../secret.txt", Path(".")) is None
    True
    """
    if folder is None or not value or len(value) > 1000 or "\0" in value or "\\" in value:
        return None
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts or Path(value).is_absolute():
        return None
    inside = folder.resolve()
    try:
        file = (inside / path).resolve(strict=True)
    except (OSError, RuntimeError):  # missing, or links in a circle
        return None
    return file if file.is_relative_to(inside) and file.is_file() else None


def media_type(file: Path) -> str | None:
    """Return the media type of an image file; None for any other file, which is never sent."""
    if file.suffix.lower() not in _IMAGES:
        return None
    return mimetypes.guess_type(file.name)[0] or "application/octet-stream"
