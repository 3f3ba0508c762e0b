"""Columns as bytes for a fingerprint, which must be the same for equal pools, whatever they were read from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa


def framed(data: bytes) -> bytes:
    """The data with its length in front, so that two neighbours cannot be confused with another pair."""
    return len(data).to_bytes(8, "little") + data


def column_bytes(column: pa.Array[Any] | pa.ChunkedArray[Any]) -> bytes:
    """The values of a column as bytes that depend neither on chunks nor on the version of Arrow."""
    import pyarrow as pa

    from fewlabels.arrow import missing_in, numbers_of, texts_of

    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    missing = np.packbits(missing_in(column)).tobytes()
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        kind, values = str(column.type), numbers_of(column).tobytes()
    else:
        lengths, text = texts_of(column)
        kind, values = "text", lengths.tobytes() + text
    return framed(kind.encode()) + framed(missing) + values
