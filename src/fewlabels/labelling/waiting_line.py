"""The line of items that lack votes, and how far each person has come in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fewlabels.labelling.votes import Who


class WaitingLine:
    """Items in the order in which they began to lack votes; some no longer do, and some come again later.

    Examples
    --------
    >>> line = WaitingLine()
    >>> line.append([7, 8, 9])
    >>> line.first("ann", 2, lambda item: item != 8)
    [7, 9]
    """

    def __init__(self) -> None:
        self.items: list[int] = []
        self._last: dict[int, int] = {}  # the place where each item stands: its last one
        self._passed: dict[Who, int] = {}  # before this place there is nothing for a person

    def copy(self) -> WaitingLine:
        """A line that stays as it is while this one grows."""
        made = WaitingLine()
        made.items, made._last, made._passed = self.items.copy(), self._last.copy(), self._passed.copy()
        return made

    def append(self, items: Sequence[int]) -> None:
        """Put items at the end. One that stands further ahead leaves its place."""
        self._last.update((item, place) for place, item in enumerate(items, len(self.items)))
        self.items.extend(items)

    def look_back(self, who: Who, item: int) -> None:
        """Let a person have an item again that they had: it may stand before the place they have come to."""
        if who in self._passed:
            self._passed[who] = min(self._passed[who], self._last.get(item, len(self.items)))

    def first(self, who: Who, most: int, wanted: Callable[[int], bool]) -> list[int]:
        """The first items, up to `most`, that are wanted from this person.

        Items before these lack votes again only at a later place, and are this person's again only by `look_back`: so
        nobody looks at them twice.
        """
        chosen: list[int] = []
        first = None
        for place in range(self._passed.get(who, 0), len(self.items)):
            item = self.items[place]
            if self._last[item] == place and wanted(item):
                first = place if first is None else first
                chosen.append(item)
                if len(chosen) == most:
                    break
        self._passed[who] = len(self.items) if first is None else first
        return chosen
