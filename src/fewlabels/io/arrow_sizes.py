"""How much a packed Arrow file unpacks to, found without unpacking it.

Arrow allocates memory for a whole batch before anybody can measure it. Every packed buffer begins with its unpacked
length, and the head of each message says where the buffers are: a FlatBuffers table, of which a few fields are read
here. The format: https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc
and https://flatbuffers.dev/internals/
"""

from __future__ import annotations

import struct
from typing import IO, TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MAGIC = b"ARROW1\0\0"
_MORE = b"\xff\xff\xff\xff"
_DICTIONARY, _BATCH = 2, 3  # kinds of messages


def unpacked_size(path: Path) -> int:
    """Return the unpacked size of all buffers in a file or stream, in bytes; the count ends at damage.

    >>> import pathlib, tempfile
    >>> import pyarrow as pa
    >>> from pyarrow import feather
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "a.feather"
    ...     feather.write_feather(pa.table({"a": [7] * 10_000}), path, compression="zstd")
    ...     path.stat().st_size < 5000, unpacked_size(path)
    (True, 80000)
    """
    total = 0
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            file.seek(0)
        try:
            for message in _messages(file, path.stat().st_size):
                total += sum(_buffer_sizes(file, message))
        except (struct.error, IndexError):
            pass  # Arrow itself says what is wrong
    return total


class _Message(NamedTuple):
    head: bytes
    batch: int  # where the table of the batch is in the head
    body: int  # where the body is in the file


def _messages(file: IO[bytes], size: int) -> Iterator[_Message]:
    """Yield the messages that have buffers, without reading these."""
    while True:
        start = file.read(4)
        (length,) = struct.unpack("<i", file.read(4) if start == _MORE else start)
        if not 0 < length <= size:
            return
        head, body = file.read(length), file.tell()
        table = _at("<I", head, 0)
        kind = _field(head, table, 1)
        if kind and head[kind] in (_DICTIONARY, _BATCH):
            batch = _follow(head, _field(head, table, 2))
            if head[kind] == _DICTIONARY:
                batch = _follow(head, _field(head, batch, 1))
            yield _Message(head, batch, body)
        place = _field(head, table, 3)
        skipped = _at("<q", head, place) if place else 0
        if skipped < 0:
            return
        file.seek(body + skipped)


def _buffer_sizes(file: IO[bytes], message: _Message) -> Iterator[int]:
    head, batch, body = message
    place = _field(head, batch, 2)
    if not place:
        return
    vector, is_packed = _follow(head, place), bool(_field(head, batch, 3))
    for i in range(_at("<I", head, vector)):
        offset, length = struct.unpack_from("<qq", head, vector + 4 + 16 * i)
        if not is_packed or length <= 0:
            yield max(length, 0)
            continue
        file.seek(max(body + offset, 0))
        (unpacked,) = struct.unpack("<q", file.read(8))
        yield length if unpacked < 0 else unpacked


def _field(head: bytes, table: int, number: int) -> int:
    """Return where a field of a table is; 0 if the table does not have it."""
    places = table - _at("<i", head, table)
    if places < 0 or 4 + 2 * number >= _at("<H", head, places):
        return 0
    offset = _at("<H", head, places + 4 + 2 * number)
    return table + offset if offset else 0


def _follow(head: bytes, place: int) -> int:
    return place + _at("<I", head, place)


def _at(kind: str, head: bytes, place: int) -> int:
    value: int = struct.unpack_from(kind, head, place)[0]
    return value
