"""Small pictures of items in a report, from the files that a pool names: each is inside the page, and none is large."""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from fewlabels.findings.labels import cut
from fewlabels.io.cards import text_of
from fewlabels.io.pictures import file_of

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from fewlabels.assessment import Assessment
    from fewlabels.findings.labels import Mistake

_SIDE = 224  # pixels of the longer side
_MOST = 16_000  # bytes of one picture: a dozen are less than 300 kB, as text
_LARGEST = 64 * 2**20  # bytes of a file that is opened
_PIXELS = 40_000_000  # pixels that are decoded: 160 MB. A JPEG of any size is decoded no larger than needed.
_SMOOTH = {"L", "LA", "RGB", "RGBA", "CMYK", "YCbCr"}  # kinds of pictures that can be made smaller without conversion
# What Pillow raises about pictures that are damaged, or made to fill the memory.
_BROKEN = (
    *(OSError, ValueError, SyntaxError, EOFError, LookupError, TypeError, OverflowError, MemoryError),
    *(struct.error, zlib.error),
)
_FORMATS = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".webp": "webp", ".bmp": "bmp"}


def with_pictures(
    mistakes: Sequence[Mistake], audit: Assessment, folder: str | os.PathLike[str] | None
) -> tuple[Mistake, ...]:
    """The mistakes, with a small picture of each item that names a file in the folder."""
    if folder is None:
        return tuple(mistakes)
    return tuple(_pictured(mistake, audit, Path(folder)) for mistake in mistakes)


def _pictured(mistake: Mistake, audit: Assessment, folder: Path) -> Mistake:
    seen = audit.item(mistake.id)
    for name, value in seen.items():
        file = file_of(value, folder) if isinstance(value, str) else None
        image = None if file is None else thumbnail(file)
        if image is not None:
            rest = {other: value for other, value in seen.items() if other != name and value not in (None, "")}
            return replace(mistake, image=image, text=cut(text_of(rest)) if rest else None)
    return mistake


def thumbnail(file: Path) -> str | None:
    """A small version of a picture, as an address that begins with data:image; None if it cannot be read as one.

    It has none of the notes that cameras put into files, such as where a picture was taken. Without Pillow, files that
    are already small are included unchanged, and others are left out.
    """
    kind = _FORMATS.get(file.suffix.lower())
    if kind is None or file.stat().st_size > _LARGEST:
        return None
    try:
        from PIL import Image, ImageOps
    except ModuleNotFoundError:
        data = file.read_bytes()
        return _address(kind, data) if len(data) <= _MOST else None
    try:
        with Image.open(file, formats=("PNG", "JPEG", "GIF", "WEBP", "BMP")) as picture:
            picture.draft("RGB", (_SIDE, _SIDE))
            if picture.width * picture.height > _PIXELS:
                return None
            small = picture if picture.mode in _SMOOTH else picture.convert("RGBA")
            small.thumbnail((_SIDE, _SIDE))
            small = ImageOps.exif_transpose(small).convert("RGBA")
    except (*_BROKEN, Image.DecompressionBombError, Image.DecompressionBombWarning):
        return None
    paper = Image.new("RGBA", small.size, "white")  # JPEG has no transparency
    plain = Image.alpha_composite(paper, small).convert("RGB")
    for quality in (80, 60, 40, 20):
        made = BytesIO()
        plain.save(made, "JPEG", quality=quality, optimize=True)
        if len(made.getvalue()) <= _MOST:
            return _address("jpeg", made.getvalue())
    return None


def _address(kind: str, data: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
