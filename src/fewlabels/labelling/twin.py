"""Copies of what changes as the log is read, for those who look at one state of it."""

from __future__ import annotations

from copy import copy
from typing import TypeVar

T = TypeVar("T")


def twin(thing: T, **parts: object) -> T:
    """Copy an object: the copy has these parts, and shares all others, which must not change.

    >>> class Tally:
    ...     def __init__(self):
    ...         self.counts = [1, 2]
    >>> tally = Tally()
    >>> still = twin(tally, counts=list(tally.counts))
    >>> tally.counts.append(3)
    >>> still.counts
    [1, 2]
    """
    made = copy(thing)
    vars(made).update(parts)
    return made
