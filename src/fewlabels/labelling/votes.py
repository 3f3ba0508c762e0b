"""The answers of people about one item, and the label that follows from them."""

from __future__ import annotations

from collections import Counter
from copy import copy
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

Who = str | None
"""The name of a person; None if they gave none."""


class Vote(NamedTuple):
    """One person's answer about an item: the position of a class, or −1 for a skip."""

    true: int
    note: str | None
    at: datetime | None


def settled(votes: Sequence[int], overlap: int) -> int:
    """The class on which the votes have settled; −1 while they have not.

    Parameters
    ----------
    votes
        The class that each person gave, in the order in which they did; −1 for a skip.
    overlap
        k, the number of people who are asked about each item.

    With k = 1 the last label counts. Otherwise class c is settled once no vote that is missing or was skipped could
    change that it has the most: v_c > v_d + max(0, k − Σ v) for each other class d.

    Examples
    --------
    >>> settled([4, 4], overlap=3), settled([4, -1], overlap=2), settled([4, 7], overlap=2)
    (4, -1, -1)
    >>> settled([4, -1, 4], overlap=3), settled([4, 7, 7], overlap=3), settled([4, 7], overlap=1)
    (4, 7, 7)
    """
    labels = [vote for vote in votes if vote >= 0]
    if not labels:
        return -1
    if overlap == 1:
        return labels[-1]
    (first, most), *rest = Counter(labels).most_common(2)
    second = rest[0][1] if rest else 0
    return first if most > second + max(0, overlap - len(labels)) else -1


class Votes:
    """The state of one item that was asked for.

    There are places for k people: held while they have the item, given once they have answered or skipped it.
    """

    __slots__ = ("asker", "decided", "given", "handed", "held", "more", "queued", "step", "turn")

    def __init__(self) -> None:
        self.given: dict[Who, Vote] = {}
        """The answer of each person, the latest last."""
        self.held: dict[Who, None] = {}
        """The people who have the item and have not answered."""
        self.handed: set[Who] = set()
        """The people who have or had the item, or have answered it, including those whose request expired."""
        self.decided: tuple[Who, Vote] | None = None
        """The owner's decision."""
        self.asker: str | None = None
        """The assessment that drew the item, or in whose log somebody labelled it unasked."""
        self.step = 0
        """The step of asking that chose the item there; 0 for none."""
        self.turn = 0
        """The place of that step among those of all assessments of the pool."""
        self.more = 0
        """How many people were asked beyond the k, because one more opinion was worth it."""
        self.queued = False
        """Whether it waits in the ledger's queue of items that lack votes."""

    def copy(self) -> Votes:
        """Return a copy of the state, which does not change."""
        twin = copy(self)
        twin.given, twin.held, twin.handed = dict(self.given), dict(self.held), set(self.handed)
        return twin

    def true(self, overlap: int) -> int:
        """The class that is valid now, −1 if there is none yet."""
        if self.decided is not None:
            return self.decided[1].true
        if not self.given:
            return -1
        votes = [vote.true for vote in self.given.values()]
        settled_on = settled(votes, overlap)
        # One more opinion does not correct the others: the majority counts, and in a tie the last one.
        most = settled(votes, max(overlap, len(votes))) if self.more else -1
        return most if most >= 0 else settled_on

    def complete(self, overlap: int) -> bool:
        """Whether no more votes are needed: all have answered, or the owner has decided."""
        return self.decided is not None or len(self.given) >= overlap + self.more

    def lacks(self, overlap: int) -> bool:
        """Whether somebody else must be asked."""
        return self.decided is None and len(self.given) + len(self.held) < overlap + self.more

    def is_one_more(self, who: Who, overlap: int) -> bool:
        """Whether a request asks for one more opinion, because the item has all its votes already."""
        return bool(self.given) and self.complete(overlap) and not self.seen_by(who)

    def seen_by(self, who: Who) -> bool:
        """Whether this person has the item or has answered."""
        return who in self.held or who in self.given
