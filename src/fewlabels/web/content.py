"""The content that an annotator sees: texts, images from a folder or an address, or a card of columns."""

from __future__ import annotations

import json
import logging
import mimetypes
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from pydantic import BaseModel, SerializerFunctionWrapHandler, model_serializer

from fewlabels.io.pictures import PICTURES, file_of, names_picture, origin_of
from fewlabels.web.rich import CODE_ENDINGS, is_web, tree_of
from fewlabels.wording import harmless

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fewlabels.web.settings import Settings

_log = logging.getLogger(__name__)
_TEXTS = {".txt", ".md", ".csv", ".json", ".jsonl", ".log", *CODE_ENDINGS}
_MOST_TEXT = 200_000  # characters of a text file that a page shows


class Part(BaseModel):
    """One thing to look at: a text, an image (by its address), or a link.

    A text that is Markdown, JSON or code also has a tree of elements, by which pages show it: see `web/rich.py`. An
    image has the words that name it, for those who do not see it.
    """

    kind: Literal["text", "image", "link"]
    value: str
    name: str | None = None
    rich: list[Any] | None = None
    alt: str | None = None

    @model_serializer(mode="wrap")
    def _brief(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if name not in {"rich", "alt"} or value}


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
        text = json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (dict, list)) else str(value)
        part = _part(text, name, settings, partial(_column_of, address, name))
        parts.append(part.model_copy(update={"name": name}) if named else part)
    return parts


def _column_of(address: Callable[[], str], column: str) -> str:
    return f"{address()}&column={quote(column, safe='')}"


def _part(value: str, name: str, settings: Settings, address: Callable[[], str]) -> Part:
    file = file_of(value, settings.content)
    if file is not None and file.suffix.lower() in PICTURES:
        return Part(kind="image", value=address(), alt=file.name)
    if file is not None and file.suffix.lower() in _TEXTS and (text := _text_in(file)) is not None:
        return _text(text, name, settings, file.name)
    if value.startswith("data:image/"):
        return Part(kind="image", value=value)
    origin = origin_of(value)
    if origin is None or not is_web(value):
        return _text(value, name, settings)
    # An address that does not end like a picture may still be one: many end in a number.
    return Part(kind="image" if origin in settings.image_hosts else "link", value=value)


def _text_in(file: Path) -> str | None:
    """The beginning of a text file; None if it cannot be read: then people see its name, and can skip the item."""
    try:
        with file.open(encoding="utf-8", errors="replace") as text:
            return text.read(_MOST_TEXT)
    except OSError as error:
        _log.error("%s", harmless(f"{file}: {error.strerror}"))
        return None


def _text(value: str, name: str, settings: Settings, file: str = "") -> Part:
    return Part(kind="text", value=value, rich=None if settings.plain else tree_of(value, name, file=file))


def unseen_pictures(item: Mapping[str, Any], settings: Settings) -> str | None:
    """The first value of an item that names a picture that the settings hide from annotators; None if there is none."""
    for value in item.values():
        if not isinstance(value, str) or not names_picture(value):
            continue
        origin = origin_of(value)
        if origin not in settings.image_hosts if origin else file_of(value, settings.content) is None:
            return value
    return None


def media_type(file: Path) -> str | None:
    """Return the media type of an image file; None for any other file, which is never sent."""
    if file.suffix.lower() not in PICTURES:
        return None
    return mimetypes.guess_type(file.name)[0] or "application/octet-stream"
