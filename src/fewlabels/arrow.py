"""Arrow columns as NumPy arrays and back, without pandas.

Arrow's own `to_numpy` and `array` import pandas wherever it is installed, to ask it what is missing. That takes half a
second in every command. These functions use the values as they lie in memory.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Number = TypeVar("Number", bound=np.generic)

_WORD = 8  # bytes in a number
_ODD = np.uint64(0x9E3779B97F4A7C15)  # any odd number: it mixes two words into one


def missing_in(column: pa.Array[Any] | pa.ChunkedArray[Any]) -> NDArray[np.bool_]:
    """Which values are missing, shape (rows,).

    >>> missing_in(pa.array(["a", None, "c"]))
    array([False,  True, False])
    """
    array = _whole(column)
    present = array.buffers()[0]
    if not array.null_count or present is None:
        return np.full(len(array), fill_value=array.null_count > 0)  # of the type null, all are missing
    bits = np.unpackbits(_raw(present, np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)] == 0


def numbers_of(column: pa.Array[Any] | pa.ChunkedArray[Any]) -> NDArray[Any]:
    """The numbers of a column, shape (rows,); a missing one is 0.

    >>> numbers_of(pa.array([3, None, 5]))
    array([3, 0, 5])
    """
    array = _whole(column)
    present = pa.Array.from_buffers(array.type, len(array), [None, array.buffers()[1]], offset=array.offset)
    values = np.array(np.from_dlpack(present))
    values[missing_in(array)] = 0
    return values


def column_of(values: NDArray[Any]) -> pa.Array[Any]:
    """A column of numbers.

    >>> column_of(np.array([3, 5])).to_pylist()
    [3, 5]
    """
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values).data)])


def text_column(texts: Sequence[str]) -> pa.Array[Any]:
    """A column of texts.

    >>> text_column(["Zoë", "", "Al"]).to_pylist()
    ['Zoë', '', 'Al']
    """
    encoded = [text.encode(errors="replace") for text in texts]  # half a character is in no column
    ends = np.concatenate([[0], np.cumsum([len(text) for text in encoded])]).astype(np.int32)
    parts = [None, pa.py_buffer(ends.data), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(texts), parts)


def texts_of(column: pa.Array[Any] | pa.ChunkedArray[Any]) -> tuple[NDArray[np.int64], bytes]:
    r"""How many characters each text has, shape (rows,), and all of them joined, in UTF-8; missing is empty.

    >>> texts_of(pa.array(["Zoë", None, "Al"]))
    (array([3, 0, 2]), b'Zo\xc3\xabAl')
    """
    array = _whole(column)
    if array.null_count or not pa.types.is_string(array.type):
        words = [value or "" for value in array.cast(pa.string()).to_pylist()]
        return np.array([len(word) for word in words], dtype=np.int64), "".join(words).encode()
    _, ends, letters = array.buffers()
    if not len(array) or ends is None or letters is None:
        return np.zeros(len(array), dtype=np.int64), b""
    at = _raw(ends, np.int32)[array.offset : array.offset + len(array) + 1]
    joined = _raw(letters, np.uint8)[at[0] : at[-1]]
    if (text := joined.tobytes()).isascii():
        return np.diff(at).astype(np.int64), text
    # A character begins with every byte that does not continue one.
    before = np.concatenate([[0], np.cumsum((joined & 0xC0) != 0x80)])
    return np.diff(before[at - at[0]]), text


def texts_at(column: pa.Array[Any], rows: NDArray[np.int64]) -> list[str]:
    """The texts in some rows of a column without gaps.

    >>> texts_at(pa.array(["Zoë", "Jo", "Al"]), np.array([2, 0]))
    ['Al', 'Zoë']
    """
    _, ends, letters = column.buffers()
    if ends is None or letters is None or not pa.types.is_string(column.type):
        return [str(column[row].as_py()) for row in rows.tolist()]
    at, joined = _raw(ends, np.int32)[column.offset :], memoryview(cast("Any", letters))
    return [
        str(joined[start:end], "utf-8") for start, end in zip(at[rows].tolist(), at[rows + 1].tolist(), strict=True)
    ]


def ends_of(column: pa.Array[Any]) -> NDArray[np.uint64]:
    """A number for the end of each text, its last 16 bytes, shape (rows,): equal texts have equal ones.

    >>> ends = ends_of(pa.array(["item 7", "item 8", "item 7"]))
    >>> bool(ends[0] == ends[2]), bool(ends[0] == ends[1])
    (True, False)
    """
    if not pa.types.is_string(column.type):
        column = column.cast(pa.string())
    _, ends, letters = column.buffers()
    if not len(column) or ends is None or letters is None:
        return np.zeros(len(column), dtype=np.uint64)
    at = _raw(ends, np.int32)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    before, own = bytes(2 * _WORD), memoryview(cast("Any", letters))[at[0] : at[-1]]  # of a slice the others are left
    at -= at[0]
    joined = np.frombuffer(b"".join((before, own)), np.uint8)
    words = np.ndarray(len(joined) - _WORD + 1, "<u8", joined, strides=(1,))  # the eight bytes from each byte on
    last, length = at[1:] + _WORD, np.diff(at)
    return _cut(words[last], length) * _ODD + _cut(words[last - _WORD], length - _WORD)


def _cut(words: NDArray[np.uint64], length: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The last bytes of each word: as many as the length, none of those before."""
    kept = np.clip(length, 0, _WORD).astype(np.uint64)
    # A shift by all 64 bits does nothing on some machines, so it is made in two.
    half = (_WORD - kept) * np.uint64(4)
    return words >> half >> half


def leave_pandas_out() -> None:
    """Let Arrow find that there is no pandas, where nobody has imported it: it looks once, and frames still work.

    It is for programs of their own, such as a command: whoever hands Arrow a Series has imported pandas before.
    """
    if "pandas" in sys.modules:
        return
    sys.meta_path.insert(0, _NoPandas)
    try:
        pa.array([None])
    finally:
        sys.meta_path.remove(_NoPandas)


class _NoPandas:
    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is left out", name=name)


def _whole(column: pa.Array[Any] | pa.ChunkedArray[Any]) -> pa.Array[Any]:
    """A column in one piece; Arrow would copy even one that is."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return cast("pa.Array[Any]", column.chunk(0) if column.num_chunks == 1 else column.combine_chunks())


def _raw(buffer: pa.Buffer, kind: type[Number]) -> NDArray[Number]:
    return np.frombuffer(cast("Any", buffer), kind)
