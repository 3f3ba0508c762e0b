"""Which assessment of a pool drew each item, and whether items that others drew count here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewlabels.labelling.twin import twin

if TYPE_CHECKING:
    from collections.abc import Callable

    from fewlabels.labelling.votes import Votes
    from fewlabels.store import Event


GOLD = -1
"""The step of a request for an item whose class the owner knows."""


class Drawn:
    """The draws of all assessments of a pool, as one of them sees them.

    An item that another assessment has drawn counts here if `reads(its name)`. Otherwise it stays free until it is
    drawn here too.

    Parameters
    ----------
    name
        The assessment that reads.
    reads
        Whether the items of another one count here, by its name.
    """

    def __init__(self, name: str, reads: Callable[[str], bool]) -> None:
        self.name, self._reads = name, reads
        self.step = 0
        """The last step of asking of this assessment."""
        self.turn = 0
        """The number of steps of all assessments of the pool."""
        self.last: tuple[str, int] | None = None
        """The assessment and the step of the latest draw."""
        self.elsewhere: dict[int, str] = {}
        """The items that count here and that other assessments have drawn, and which."""
        self._readable: dict[str | None, bool] = {name: True}

    def copy(self) -> Drawn:
        """Return a copy of the draws, which does not change."""
        return twin(self, elsewhere=dict(self.elsewhere), _readable=dict(self._readable))

    def reads(self, asker: str | None) -> bool:
        """Whether an item counts here because this assessment has drawn it."""
        if asker not in self._readable:
            self._readable[asker] = self._reads(str(asker))
        return self._readable[asker]

    @property
    def readable(self) -> dict[str, bool]:
        """Whether the items of each other assessment count here, of those that have drawn some."""
        return {name: read for name, read in self._readable.items() if name is not None and name != self.name}

    @property
    def askers(self) -> list[str]:
        """The other assessments whose items count here, in the order of their names."""
        return sorted(set(self.elsewhere.values()))

    def note(self, event: Event, votes: Votes) -> bool:
        """Record who drew an item, and in which step: the first, or the first that counts here. Returns whether it is
        new.

        A request with step 0 asks for another vote about an item that somebody else has drawn. One with step `GOLD`
        hands out an item to check how often a person is right. Nobody has drawn it, and it does not count, whoever
        answers, since people pass sheets on.
        """
        asker = event.assessment or self.name
        drawn = event.kind == "request" and event.step > 0
        if votes.asker is None and not drawn and (event.step == GOLD or votes.handed):
            return False
        if drawn:
            if (asker, event.step) != self.last:
                self.last = asker, event.step
                self.turn += 1
            if asker == self.name:
                self.step = max(self.step, event.step)
        if votes.asker is not None and not (drawn and not self.reads(votes.asker) and self.reads(asker)):
            return False
        votes.asker, votes.step, votes.turn = asker, event.step, self.turn
        return drawn

    def counts(self, item: int, votes: Votes | None) -> bool:
        """Whether an item counts here, by the votes about it; this also records which items others have drawn."""
        self.elsewhere.pop(item, None)
        if votes is None or votes.asker == self.name:
            return True
        if votes.asker is None or not self.reads(votes.asker):
            return False
        self.elsewhere[item] = str(votes.asker)
        return True
