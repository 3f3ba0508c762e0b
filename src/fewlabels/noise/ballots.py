"""The votes of people about items, as arrays: what the model of their mistakes is made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Ballots:
    """Votes about items whose true class is not seen, and the few whose class is known.

    Parameters
    ----------
    items
        The items that people voted on, in increasing order, shape (items,).
    evidence
        Whether each of them says something about the classifier: not those that were handed out only to see how often
        people are right, shape (items,).
    known
        The true class of each, where the owner has said it (a decision, or a gold item), and −1 otherwise, shape
        (items,).
    row, person, label
        For each vote its item (a place in `items`), who gave it (a place in `people`) and the class, three of shape
        (votes,).
    people
        The names of people.
    classes
        The number of classes that a label can be.

    Examples
    --------
    >>> Ballots.of({4: {"ann": 0, "bob": 1}, 2: {"ann": 1}}, classes=2).items
    array([2, 4])
    """

    items: NDArray[np.int64]
    evidence: NDArray[np.bool_]
    known: NDArray[np.int64]
    row: NDArray[np.int64]
    person: NDArray[np.int64]
    label: NDArray[np.int64]
    people: tuple[str, ...]
    classes: int

    @classmethod
    def of(
        cls,
        votes: dict[int, dict[str, int]],
        *,
        classes: int,
        known: dict[int, int] | None = None,
        only_checks: frozenset[int] = frozenset(),
    ) -> Ballots:
        """Make them from the votes about each item: person to class. `only_checks` say nothing of it."""
        known = known or {}
        items = np.array(sorted(votes), dtype=np.int64)
        people = tuple(sorted({who for given in votes.values() for who in given}))
        number = {who: place for place, who in enumerate(people)}
        rows = [
            (row, number[who], label) for row, item in enumerate(items.tolist()) for who, label in votes[item].items()
        ]
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return cls(
            items,
            np.array([item not in only_checks for item in items.tolist()], dtype=bool),
            np.array([known.get(item, -1) for item in items.tolist()], dtype=np.int64),
            table[:, 0],
            table[:, 1],
            table[:, 2],
            people,
            classes,
        )

    @property
    def votes(self) -> NDArray[np.int64]:
        """How many people voted about each item, shape (items,)."""
        return np.bincount(self.row, minlength=len(self.items))

    @property
    def checked(self) -> int:
        """How many items tell something about people: those with two votes or more, or a vote and a known class."""
        votes = self.votes
        return int(((votes > 1) | ((votes > 0) & (self.known >= 0))).sum())

    def majority(self) -> NDArray[np.int64]:
        """The class that most people gave each item, the last of them where there is a tie; shape (items,).

        >>> Ballots.of({0: {"ann": 2, "bob": 1, "eve": 1}}, classes=3).majority()
        array([1])
        """
        counts = np.zeros((len(self.items), self.classes))
        np.add.at(counts, (self.row, self.label), 1)
        counts[self.row, self.label] += 1e-6 * (1 + np.arange(len(self.row)) / max(len(self.row), 1))
        return np.where(self.known >= 0, self.known, counts.argmax(axis=1))
