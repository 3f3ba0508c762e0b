"""The ids of a pool: as a sequence of texts, and from an id to its position without a dict of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np

from fewlabels.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

# Ids are looked at this many at a time, so that what is made of them is never there for all at once.
_BLOCK = 2**14
# In a larger pool the first searches look at the end of every id, which takes less time than building the index.
_LARGE, _SCANS = 2**13, 4
# So few ids are found faster one by one.
_FEW = 8


class Ids(Sequence[str]):
    """The ids of a pool, one text for each item, in the order of the pool.

    They lie in an Arrow column, in which ten million ids take no more room than their letters. A value of such a column
    is an Arrow scalar, which never equals a text: a dict of scalars would find nothing.

    >>> import pyarrow as pa
    >>> ids = Ids(pa.array(["a", "b", "c"]))
    >>> ids[0], list(ids[1:]), dict(zip(ids, [True, False, True]))["b"]
    ('a', ['b', 'c'], False)
    """

    def __init__(self, column: pa.Array[Any]) -> None:
        self._column = column

    @overload
    def __getitem__(self, item: SupportsIndex) -> str: ...
    @overload
    def __getitem__(self, item: slice) -> Ids: ...
    def __getitem__(self, item: SupportsIndex | slice) -> str | Ids:
        if isinstance(item, slice):
            return Ids(self._column[item])
        text: str = self._column[int(item)].as_py()
        return text

    def __len__(self) -> int:
        return len(self._column)

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _BLOCK):
            yield from self[start : start + _BLOCK].to_pylist()

    def __repr__(self) -> str:
        first = ", ".join(map(repr, self[:3]))
        return f"<Ids: {counted(len(self), 'item')}{': ' if len(self) else ''}{first}{', …' if len(self) > 3 else ''}>"

    def to_pylist(self) -> list[str]:
        """All of them as a list."""
        every: list[Any] = self._column.to_pylist()
        return every


class Index:
    """Positions by id: 16 bytes for each id, built when it is first needed. Missing ids have no position.

    >>> import pyarrow as pa
    >>> Index(pa.array([None, "b", "a"])).find(["a", "c"])
    array([ 2, -1])
    """

    def __init__(self, ids: pa.Array[Any]) -> None:
        self._ids = ids
        self._scans = 0

    def __reduce__(self) -> tuple[type[Index], tuple[pa.Array[Any]]]:
        """Another process hashes texts in another way: it builds its own."""
        return Index, (self._ids,)

    @cached_property
    def longest(self) -> int:
        """The length of the longest id."""
        import pyarrow.compute as pc

        lengths: Any = pc.utf8_length(self._ids)  # type: ignore[call-overload]
        return int(pc.max(lengths).as_py() or 0)

    def find(self, wanted: Sequence[str]) -> NDArray[np.int64]:
        """The position of each id, −1 where there is no such id, shape (wanted,)."""
        if not len(wanted) or not len(self._ids):
            return np.full(len(wanted), -1, dtype=np.int64)
        if len(self._ids) > _LARGE and self._scans < _SCANS:
            self._scans += 1
            return self._scanned(wanted)
        hashes, order = self._sorted
        if len(wanted) < _FEW:
            return np.array([self._find_one(text) for text in wanted], dtype=np.int64)
        from fewlabels.arrow import texts_at

        sought = np.fromiter(map(hash, wanted), np.int64, len(wanted))
        first, last = (np.searchsorted(hashes, sought, side=side) for side in ("left", "right"))
        rows = np.full(len(wanted), -1, dtype=np.int64)
        once = np.flatnonzero(last == first + 1)
        rows[once] = order[first[once]]
        same = texts_at(self._ids, rows[once])
        rows[once] = np.where([wanted[i] == item for i, item in zip(once.tolist(), same, strict=True)], rows[once], -1)
        for i in np.flatnonzero(last > first + 1).tolist():  # ids that share a hash
            rows[i] = next((at for at in order[first[i] : last[i]].tolist() if self._ids[at].as_py() == wanted[i]), -1)
        return rows

    def _find_one(self, text: str) -> int:
        hashes, order = self._sorted
        sought = hash(text)
        at = int(hashes.searchsorted(sought))
        while at < len(hashes) and hashes[at] == sought:  # ids may share a hash
            if self._ids[int(order[at])].as_py() == text:
                return int(order[at])
            at += 1
        return -1

    def _scanned(self, wanted: Sequence[str]) -> NDArray[np.int64]:
        """Compare the ends of all ids with those that are wanted, and then the few ids that end alike."""
        from fewlabels.arrow import ends_of, missing_in, text_column, texts_at

        sought = np.sort(ends_of(text_column(wanted)))
        place: dict[str, int] = {}
        for start in range(0, len(self._ids), _BLOCK):
            block = self._ids.slice(start, _BLOCK)
            ends = ends_of(block)
            near = np.minimum(np.searchsorted(sought, ends), len(sought) - 1)
            at = np.flatnonzero((sought[near] == ends) & ~missing_in(block))
            place.update(zip(texts_at(block, at), (at + start).tolist(), strict=True))
        return np.array([place.get(item, -1) for item in wanted], dtype=np.int64)

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The hashes of all ids, in increasing order, and the position of each."""
        hashes = np.empty(len(self._ids), dtype=np.int64)
        for start in range(0, len(hashes), _BLOCK):
            block = self._ids.slice(start, _BLOCK).to_pylist()
            hashes[start : start + len(block)] = np.fromiter(map(hash, block), np.int64, len(block))
        order = np.argsort(hashes, kind="stable")
        return hashes[order], order
