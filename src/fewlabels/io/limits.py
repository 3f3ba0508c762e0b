"""Limits on what a file may unpack to: a small file can be made to fill the memory, by accident or on purpose."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fewlabels.errors import Argument, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import pyarrow as pa

_GIGABYTE = 10**9
_LIFT = (". If the file is sound, read it with ", Argument("any_size", value=True), ".")


@dataclass(frozen=True)
class Limits:
    """The limits on what one file may unpack to.

    Parameters
    ----------
    columns
        The number of columns.
    depth
        How deeply lists and objects may be nested.
    unpacked
        The bytes that a file may unpack to, whatever its own size.
    ratio
        A larger file may unpack to this many times its own size.

    >>> Limits().bytes_from(10**6), Limits().bytes_from(10**9)
    (1000000000, 100000000000)
    """

    columns: int = 12_000
    depth: int = 32
    unpacked: int = _GIGABYTE
    ratio: int = 100

    def bytes_from(self, size: int) -> int:
        """The bytes that a file of a size may unpack to: at least `unpacked`, and `ratio` times the size."""
        return max(self.unpacked, self.ratio * size)

    def check_columns(self, name: str, count: int) -> None:
        """Refuse a table with too many columns."""
        if count > self.columns:
            raise InputError(f"{name} has {count:,} columns; at most {self.columns:,} are read", *_LIFT)

    def check_depth(self, name: str, depth: int) -> None:
        """Refuse values that are nested too deeply."""
        if depth > self.depth:
            raise InputError(
                f"{name} has lists or objects nested {depth:,} deep or more; at most {self.depth:,} levels are "
                "read. A table needs one or two. Write it again",
                *_LIFT,
            )

    def check_bytes(self, path: Path, name: str, unpacked: int) -> None:
        """Refuse a file that unpacks to too much."""
        size = path.stat().st_size
        if unpacked > self.bytes_from(size):
            raise InputError(
                f"{name} has {_bytes(size)} and unpacks to {_bytes(unpacked)} or more; at most "
                f"{_bytes(self.bytes_from(size))} are read",
                *_LIFT,
            )


LIMITS = Limits()
"""The limits that hold unless the caller lifts them."""
ANY_SIZE = Limits(columns=10**9, depth=200, unpacked=10**18)
"""No limits but those of the machine; values beyond this depth would exhaust the stack of other libraries."""


def limits(any_size: bool) -> Limits:
    """The limits on a file: the usual ones, or none.

    >>> limits(any_size=False) is LIMITS
    True
    """
    return ANY_SIZE if any_size else LIMITS


class Counter:
    """Counts the bytes that one reading of a file has unpacked so far, and stops it at the limit."""

    def __init__(self, path: Path, name: str, within: Limits) -> None:
        self._path = path
        self._name = name
        self._within = within
        self._left = within.bytes_from(path.stat().st_size)
        self._taken = 0

    def add(self, unpacked: int) -> None:
        """Count some more bytes."""
        self._taken += unpacked
        if self._taken > self._left:
            self._within.check_bytes(self._path, self._name, self._taken)


def depth_of_json(value: object) -> int:
    """How deeply lists and objects are nested; without recursion, since that is what it guards against.

    >>> depth_of_json(1), depth_of_json([]), depth_of_json([{"a": [1]}, 2])
    (0, 1, 3)
    """
    depth, level = 0, [value]
    while level:
        inner: list[object] = []
        for outer in level:
            parts = outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ()
            inner += [part for part in parts if isinstance(part, (dict, list))]
        depth += any(isinstance(outer, (dict, list)) for outer in level)
        level = inner
    return depth


def depth_of_types(schema: Iterable[pa.Field[Any]]) -> int:
    """How deeply the lists and structures of a table's columns are nested.

    >>> import pyarrow as pa
    >>> depth_of_types(pa.schema({"a": pa.int64()})), depth_of_types(pa.schema({"a": pa.list_(pa.list_(pa.int64()))}))
    (0, 2)
    """
    depth, level = 0, [field.type for field in schema]
    while True:
        level = [kind.field(i).type for kind in level for i in range(kind.num_fields)]
        if not level:
            return depth
        depth += 1


@contextmanager
def within_memory(name: str) -> Iterator[None]:
    """Say in one line that a file does not fit into memory."""
    try:
        yield
    except MemoryError:
        raise InputError(
            f"{name} does not fit into memory, or the sizes in it are damaged. Write it again, or in parts."
        ) from None


def _bytes(count: int) -> str:
    """A number of bytes for people.

    >>> _bytes(123456), _bytes(7_800_000_000)
    ('0.1 MB', '7.8 GB')
    """
    return f"{count / 10**9:.1f} GB" if count >= 10**9 else f"{count / 10**6:.1f} MB"
