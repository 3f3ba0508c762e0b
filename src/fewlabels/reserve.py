"""The reserve: what a pool knows about a table that stays where it is: a count for each fine bin, and some named items.

The rows of such a pool are of two kinds. A *unit* stands for all items of one stratum (same predicted class, same
values of the columns that make groups) in one fine bin of confidence. A *named* row is one item of a unit, which can be
asked for. Units carry all the weight, so that no number depends on how many items are named.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

WIDE, FINE = 240, 16
"""Bins of confidence: 240 of equal width, so that 10, 12, 15 or 20 score bins are made of whole ones; the last of them,
in which many classifiers have most items, is 16."""
BINS = WIDE - 1 + FINE
EDGES = np.concatenate([np.arange(WIDE) / WIDE, (WIDE - 1 + np.arange(1, FINE + 1) / FINE) / WIDE])
"""The confidences at which bins begin and end, shape (bins + 1,)."""
END = np.uint64(2**64 - 1)
"""No key is larger: a unit that reaches so far has all of its items named."""


class RunsLow(Exception):  # noqa: N818  (it is no error: more items are named, and then the call is repeated)
    """No item of a group's queue is left that is named and free, though the group has more."""

    def __init__(self, group: int) -> None:
        super().__init__(group)
        self.group = group


def items_of(index: NDArray[np.integer[Any]], length: int, count: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """How many items have each index: that of each row, shape (rows,), and how many items rows stand for (None: 1).

    >>> items_of(np.array([0, 1, 1]), 3, np.array([10, 0, 5]))
    array([10,  5,  0])
    """
    # Sums of whole numbers are exact as floats up to 2⁵³.
    return np.bincount(index, count, minlength=length).astype(np.int64)


def bin_of(confidence: NDArray[np.float64]) -> NDArray[np.int64]:
    """The fine bin of each confidence; engines compute it by the same arithmetic.

    >>> bin_of(np.array([0.0, 0.5, 0.995, 0.9999, 1.0]))
    array([  0, 120, 238, 254, 254])
    """
    place = confidence * WIDE
    fine = WIDE - 1 + np.minimum((place - (WIDE - 1)) * FINE, FINE - 1)
    return np.maximum(np.floor(np.where(place < WIDE - 1, place, fine)), 0).astype(np.int64)


def keys_of(ids: Iterable[str], seed: int) -> NDArray[np.uint64]:
    """The permanent random numbers of items: the first 16 hexadecimal digits of md5(seed|id), shape (ids,).

    They depend on nothing else, so an item has the same place in its queue on every engine and in every shard.

    >>> [hex(key) for key in keys_of(["a", "b"], 0).tolist()]
    ['0x4d45b668f1d410d9', '0x3c6cd026d986883f']
    """
    digests = (hashlib.md5(f"{seed}|{item}".encode(), usedforsecurity=False).digest()[:8] for item in ids)
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)


def first_of_each(rows: NDArray[np.int64], group: NDArray[np.int32], most: int) -> list[int]:
    """The first row of each group, then the second ones and so on, up to `most` in all; groups ascend.

    >>> first_of_each(np.array([7, 8, 9, 3, 4]), np.array([0, 0, 0, 2, 2]), 3)
    [7, 3, 8]
    """
    begins = np.flatnonzero(np.diff(group, prepend=-1))
    rank = np.arange(len(rows)) - np.repeat(begins, np.diff(begins, append=len(rows)))
    near = np.flatnonzero(rank < most)
    chosen: list[int] = rows[near[np.argsort(rank[near], kind="stable")][:most]].tolist()
    return chosen


def keys_from(written: Iterable[str]) -> NDArray[np.uint64]:
    """The keys of which engines have written all hexadecimal digits, shape (written,).

    >>> [hex(key) for key in keys_from(["4d45b668f1d410d9000000000000ffff"]).tolist()]
    ['0x4d45b668f1d410d9']
    """
    digits = bytes.fromhex("".join(text[:16] for text in written))
    return np.frombuffer(digits, dtype=">u8").astype(np.uint64)


@dataclass(frozen=True, eq=False)
class Reserve:
    """The units of a pool whose items stay in a table, and the items that are named.

    Rows of the pool are the units, and then the named items in the order in which they were named: rows are only added.

    Parameters
    ----------
    size, stratum, bin
        Items, stratum and fine bin of each unit, three of shape (units,).
    unit, key
        The unit of each named item and its place in the queue, two of shape (named,).
    said
        The confidence of each named item, shape (named,), or None. The pool's own are the means of units.
    reach
        Of each unit all items are named whose key is not above this, shape (units,).
    seed
        The seed of the keys.
    fingerprint
        That of the table.
    table
        How to find the table again, as plain JSON values; empty if it cannot be found again.
    link
        The table itself, if it is open in this process.
    """

    size: NDArray[np.int64]
    stratum: NDArray[np.int64]
    bin: NDArray[np.int64]
    unit: NDArray[np.int64]
    key: NDArray[np.uint64]
    said: NDArray[np.float64] | None
    reach: NDArray[np.uint64]
    seed: int
    fingerprint: str
    table: Mapping[str, Any] = field(default_factory=dict)
    link: Any = None

    @property
    def units(self) -> int:
        """The number of units, which are the first rows of the pool."""
        return len(self.size)

    @cached_property
    def strata(self) -> int:
        """The number of strata."""
        return int(self.stratum.max(initial=-1)) + 1

    @cached_property
    def count(self) -> NDArray[np.int64]:
        """Items that each row stands for, shape (rows,): a named item is one of those of its unit, and counts 0."""
        return np.concatenate([self.size, np.zeros(len(self.unit), dtype=np.int64)])

    @property
    def of_row(self) -> NDArray[np.int64]:
        """The unit of each row, shape (rows,)."""
        return np.concatenate([np.arange(self.units), self.unit])

    @cached_property
    def nameless(self) -> NDArray[np.int64]:
        """Items of each unit that are not named, shape (units,)."""
        return self.size - np.bincount(self.unit, minlength=self.units)

    @property
    def steps(self) -> dict[str, tuple[float, float]]:
        """Low and width of the evidence columns that are numbers, by their names: see `engines/columns.py`."""
        steps = self.table.get("columns", {}).get("steps", ())
        return {str(name): (float(low), float(width)) for name, low, width in steps}

    @property
    def bins(self) -> dict[str, dict[str, Any]]:
        """The bins in which columns of the table were read, as `Bins.to_json` writes them, by the columns' names."""
        return dict(self.table.get("columns", {}).get("bins", {}))

    def queue(self, group: NDArray[np.int32], groups: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The named rows of each group in the order of their keys, as far as no item of the group is left out.

        That far it is a random order of all items of the group: so the next one is a random item of those that are
        free. Returns the rows, shape (queued,), and where the rows of each group begin, shape (groups + 1,).

        Parameters
        ----------
        group
            The group of each row, shape (rows,). All rows of a unit are in the same group.
        """
        nameless = self.nameless > 0
        reach = np.full(groups, END)
        np.minimum.at(reach, group[: self.units][nameless], self.reach[nameless])
        own = group[self.units :]
        inside = np.flatnonzero(self.key <= reach[own])
        order = inside[np.lexsort((self.key[inside], own[inside]))]
        return order + self.units, np.searchsorted(own[order], np.arange(groups + 1))
