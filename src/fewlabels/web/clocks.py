"""When events happened, although a clock was wrong for a while: the log knows their order, and clocks can be set."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_SKEW = 300.0  # seconds by which the clock of another server may be ahead; beyond that a clock was wrong


def straightened(times: Sequence[float], now: float) -> list[float]:
    """The times of events in the order of the log, so that they never fall and none is after `now`.

    The largest set of times that rise with the order is taken to be right. Any other event happened when the next of
    that set did; after the last of them, when that one did, or just now if its clock is a little ahead.

    >>> straightened([1, 2, 90, 91, 3, 4, 5], now=100)  # a clock was ahead, and was set back
    [1, 2, 3, 3, 3, 4, 5]
    >>> straightened([1, 2, -70, 3, 4, 900, 5, 9000], now=100)
    [1, 2, 3, 3, 4, 5, 5, 5]
    """
    right = _rising(times, now)
    made: list[float] = []
    for before, after in pairwise([-1, *right]):
        made += [times[after]] * (after - before)
    last = times[right[-1]] if right else now
    rest = times[len(made) :]
    made += [now if now <= at <= now + _SKEW else last for at in rest]
    # What is just now comes last, whatever came after it in the log.
    first = next((i for i, at in enumerate(made) if at == now), len(made))
    return made[:first] + [now] * (len(made) - first)


def _rising(times: Sequence[float], now: float) -> list[int]:
    """The places of a longest part of the times up to `now` that never falls, by patience sorting."""
    lows: list[float] = []  # the lowest last time of a rising part of each length
    ends: list[int] = []  # and where it is
    before: list[int] = []
    for i, at in enumerate(times):
        length = bisect_right(lows, at)
        before.append(ends[length - 1] if length else -1)
        if at <= now:
            lows[length : length + 1] = [at]
            ends[length : length + 1] = [i]
    place, places = ends[-1] if ends else -1, []
    while place >= 0:
        places.append(place)
        place = before[place]
    return places[::-1]
