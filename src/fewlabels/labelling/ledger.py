"""The ledger: the state of each item, according to the log so far."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.labelling.drawn import Drawn
from fewlabels.labelling.past import Past
from fewlabels.labelling.twin import twin
from fewlabels.labelling.vote_columns import VoteBook
from fewlabels.labelling.votes import Vote, Votes
from fewlabels.labelling.waiting_line import WaitingLine
from fewlabels.outcomes import Outcomes
from fewlabels.reserve import RunsLow, first_of_each
from fewlabels.store.chain import Mark

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from collections.abc import Set as AbstractSet
    from datetime import datetime

    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.labelling.votes import Who
    from fewlabels.metrics.base import Metric
    from fewlabels.pool import Pool
    from fewlabels.store import Event


# The parts that change as the log is read, and those that have a part for each person.
_CHANGING = {"true", "pending", "asked", "strange", "withdrawn", "counts", "waiting", "room", "seen", "disputed"}
_CHANGING |= {"skips", "decisions", "shared", "line", "votes", "drawn", "past"}
_BY_PERSON = ("held", "answered", "lost")


class Ledger:
    """The log, added up as it is read: what is free, pending and labelled, and the label counts of the cells.

    An item is free until its first request. From then until a withdrawal it is labelled if its votes have settled on a
    class (see `votes.settled`) or the owner has decided, and otherwise pending: handed out, lacking votes, or disputed.
    Reading an event costs the same however long the log is. The order of labels of different items does not matter.

    Labels belong to the pool: the ledger reads the logs of all assessments of its pool. Items that others have drawn
    count here too, or stay free until they are drawn here: see `Drawn`.
    """

    def __init__(
        self,
        pool: Pool,
        metric: Metric,
        cells: Cells,
        overlap: int = 1,
        name: str = "",
        reads: Callable[[str], bool] = lambda _: True,
        first: bytes | None = None,
    ) -> None:
        self._pool, self._metric, self._cells, self._overlap, self.name = pool, metric, cells, overlap, name
        self.drawn = Drawn(name, reads)
        """Who drew each item."""
        items, self._asking = pool.rows, cells.asking.group
        self.seen: dict[str, Mark] = {} if first is None else {name: Mark(0, first)}
        """The last event read of each log of the pool, by assessment; for its own log, also where that begins."""
        self.is_torn = False
        """Whether reading was interrupted, such as by Ctrl-C: what was added up may be half an event."""
        self.kept = 0
        """How many events are in the latest checkpoint."""
        self.changes = 0
        """How often a label was added or taken back."""
        self.true = np.full(items, -1, dtype=np.int32)
        """The true class of each item, −1 where it is not known, shape (items,)."""
        self.pending = np.zeros(items, dtype=bool)
        """Asked, and without a label that counts, shape (items,)."""
        self.asked = np.zeros(items, dtype=bool)
        """Ever asked, shape (items,)."""
        self.strange = np.zeros(items, dtype=bool)
        """Known only because somebody labelled them unasked, shape (items,)."""
        self.withdrawn = np.zeros(items, dtype=bool)
        """Ever taken back, shape (items,)."""
        self.counts = np.zeros((len(cells), len(cells.outcomes)))
        """Label counts, shape (cells, outcomes)."""
        self.waiting = np.zeros(len(cells), dtype=np.int64)
        """Pending items of each cell, shape (cells,)."""
        self.room = cells.asking.sizes.astype(np.int64)
        """Free items of each group of asking, shape (groups,)."""
        self.labelled = 0
        """How many items have a label."""
        self.votes = VoteBook()
        """The votes about each item that is not free."""
        self.past = Past()
        """What was known at each earlier place of the log."""
        self.disputed: dict[int, datetime | None] = {}
        """Items that wait for the owner, and since when: everybody has answered, and the votes settle nothing."""
        self.held: dict[Who, dict[int, datetime | None]] = {}
        """The items that each person has and has not answered, and since when."""
        self.answered: dict[Who, dict[int, None]] = {}
        """The items that each person has answered, the latest last."""
        self.lost: dict[Who, set[int]] = {}
        """The items that were withdrawn after each person had got them, and that they have not got again."""
        self.skips: dict[Who, int] = {}
        """How many of each person's answers are skips."""
        self.decisions: dict[Who, int] = {}
        """How many items are decided by each person."""
        self.shared: set[int] = set()
        """The items that two people or more have answered."""
        self.line = WaitingLine()
        """The items that lack votes."""

    @cached_property
    def _by_group(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The items by group of asking, shape (items,), and where each group begins in them, shape (groups + 1,)."""
        asking = self._cells.asking
        if self._pool.reserve is not None:
            return self._pool.reserve.queue(asking.group, len(asking))
        return np.argsort(asking.group, kind="stable"), np.concatenate([[0], np.cumsum(asking.sizes)])

    def copy(self) -> Ledger:
        """A copy that stays as it is while this ledger reads on."""
        flat = {name: part.copy() for name, part in vars(self).items() if name in _CHANGING}
        nested = {name: {who: part.copy() for who, part in getattr(self, name).items()} for name in _BY_PERSON}
        return twin(self, **flat, **nested)

    @property
    def grows(self) -> bool:
        """Whether items may be named later; their rows come after the present ones."""
        return self._pool.reserve is not None

    @property
    def seq(self) -> int:
        """The last event read of this assessment's own log."""
        return self.seen[self.name].seq if self.name in self.seen else 0

    @property
    def events(self) -> int:
        """The number of events read, of all logs of the pool."""
        return sum(mark.seq for mark in self.seen.values())

    def labels(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The labelled items and their true classes, two of shape (labels,)."""
        items = np.flatnonzero(self.true >= 0)
        return items, self.true[items]

    def outcomes(self, *, items: bool = True) -> Outcomes:
        """What the labels show; without `items` only the counts, which costs nothing however large the pool is."""
        if not items:
            return Outcomes(self.counts.copy())
        labelled, true = self.labels()
        shown = self._cells.shown(self._metric, self._pool, labelled, true)
        return Outcomes(self.counts.copy(), labelled, shown, self._pool.predicted[labelled] == true)

    def labels_elsewhere(self) -> dict[str, int]:
        """How many labelled items each other assessment has drawn."""
        counts = Counter(name for item, name in self.drawn.elsewhere.items() if self.true[item] >= 0)
        return dict(sorted(counts.items()))

    def askers(self) -> list[str]:
        """The assessments that drew the labelled items, in the order of their names; empty if no other drew one.

        Items that were drawn but not answered yet show nothing, so they do not change how the labels are read.
        """
        others = self.labels_elsewhere()
        own = self.drawn.step > 0 and self.labelled > sum(others.values())
        return sorted([*others, *([self.name] if own else [])]) if others else []

    @property
    def foreign(self) -> NDArray[np.bool_]:
        """Which items have a label that counts although they were never asked for, shape (items,)."""
        return self.strange & (self.true >= 0)

    @property
    def adopted(self) -> int:
        """How many labels count now of items that were never asked for."""
        return int(self.foreign.sum())

    # --- reading the log

    def read(self, events: Sequence[Event]) -> None:
        """Add events that follow the last one read."""
        if not events:
            return
        items = self._pool.positions([event.item for event in events])
        labels = [(i, event.label) for i, event in enumerate(events) if event.label is not None]
        true = np.full(len(events), -1, dtype=np.int32)
        true[[i for i, _ in labels]] = self._pool.class_positions([label for _, label in labels])
        self.is_torn = True
        for event, item, new in zip(events, items.tolist(), true.tolist(), strict=True):
            self._take(event, item, Vote(new, event.note, event.at))
            self._note_origin(event, item)
            self._settle(item, event)
            self.past.add(event, item, new, self)
            self.seen[event.assessment or self.name] = Mark(event.seq, event.hash)
        self.is_torn = False

    def _take(self, event: Event, item: int, vote: Vote) -> None:
        """Record an event for its item and its person."""
        votes, who = self.votes.get(item), event.annotator
        if votes is None:
            votes = self.votes[item] = Votes()
        self.strange[item] &= not self.drawn.note(event, votes)
        if event.kind == "request":
            votes.more += event.step == 0 and votes.is_one_more(who, self._overlap)
            self._hold(item, votes, who, event.at)
        elif event.kind in {"label", "skip"}:
            self._release(item, votes, who)
            self._unsay(item, votes, who)
            self._hand(item, votes, who)
            votes.given[who] = vote
            self.skips[who] = self.skips.get(who, 0) + (vote.true < 0)
            self.answered.setdefault(who, {})[item] = None
        elif event.kind == "decide":
            self._undecide(votes)
            votes.decided = (who, vote)
            self.decisions[who] = self.decisions.get(who, 0) + 1
        elif event.kind == "retract":
            self._unsay(item, votes, who)
            self._hold(item, votes, who, event.at)
        elif event.kind == "expire":
            self._release(item, votes, who)
        elif event.kind == "withdraw":
            self._forget(item, votes)
        if votes.held and votes.complete(self._overlap):
            for person in [*votes.held]:
                self._release(item, votes, person)  # nobody has to look at it any more

    def _forget(self, item: int, votes: Votes) -> None:
        for person in [*votes.given]:
            self._unsay(item, votes, person)
        for person in [*votes.held]:
            self._release(item, votes, person)
        self._undecide(votes)
        for person in votes.handed:
            self.lost.setdefault(person, set()).add(item)
        del self.votes[item]

    def _hand(self, item: int, votes: Votes, who: Who) -> None:
        votes.handed.add(who)
        self.lost.get(who, set()).discard(item)

    def _hold(self, item: int, votes: Votes, who: Who, at: datetime | None) -> None:
        self._hand(item, votes, who)
        votes.held[who] = None
        self.held.setdefault(who, {})[item] = at

    def _release(self, item: int, votes: Votes, who: Who) -> None:
        if who in votes.held:
            del votes.held[who]
            del self.held[who][item]
            self.line.look_back(who, item)

    def _unsay(self, item: int, votes: Votes, who: Who) -> None:
        vote = votes.given.pop(who, None)
        if vote is not None:
            self.skips[who] -= vote.true < 0
            del self.answered[who][item]
            self.line.look_back(who, item)

    def _undecide(self, votes: Votes) -> None:
        if votes.decided is not None:
            self.decisions[votes.decided[0]] -= 1

    def _note_origin(self, event: Event, item: int) -> None:
        """Keep items that the assessment asked for apart from those that were adopted."""
        self.withdrawn[item] |= event.kind == "withdraw"
        if event.kind == "request":
            self.asked[item] = True
        elif event.label is not None and not self.asked[item]:
            self.asked[item] = self.strange[item] = True
        elif event.kind == "withdraw" and self.strange[item]:
            # As before the label came: the assessment does not know the item, and may ask for it later.
            self.asked[item] = self.strange[item] = False

    def _settle(self, item: int, event: Event) -> None:
        """Draw the conclusions for an item: its label, whether it is disputed, whether it lacks votes."""
        votes, overlap = self.votes.get(item), self._overlap
        if not self.drawn.counts(item, votes):
            return  # it is free here
        true = -1 if votes is None else votes.true(overlap)
        self._place(item, taken=votes is not None, true=true)
        if votes is not None and len(votes.given) > 1:
            self.shared.add(item)
        else:
            self.shared.discard(item)
        if votes is not None and true < 0 and votes.complete(overlap):
            self.disputed.setdefault(item, event.at)
        elif item in self.disputed:
            del self.disputed[item]
        if votes is not None:
            lacks = votes.lacks(overlap)
            # The item has left its place in the line: it is put at the end again.
            if lacks and (not votes.queued or event.kind == "expire"):
                self.line.append([item])
            votes.queued = lacks

    def _place(self, item: int, *, taken: bool, true: int) -> None:
        """Move an item to where its votes put it: labelled (true ≥ 0), otherwise pending if taken, or free."""
        was, was_pending, pending = self.true.item(item), self.pending.item(item), taken and true < 0
        cell = self._cells.cell[item]
        if was != true:
            for value, change in ((was, -1), (true, 1)):
                self.true[item] = value
                if value >= 0:
                    self._count(item, change)
        if was_pending != pending:
            self.pending[item] = pending
            self.waiting[cell] += 1 if pending else -1
        if taken != (was_pending or was >= 0):
            self.room[self._asking[item]] += -1 if taken else 1

    def place_all(self, labelled: NDArray[np.int64], true: NDArray[np.int32], taken: NDArray[np.int64]) -> None:
        """Put the items of an empty ledger where their votes put them: those with a label, and the others taken.

        The same as `_place` for each of them, all at once.
        """
        self.true[labelled], self.labelled = true, len(labelled)
        self.counts[:] = self._metric.outcomes(self._pool, self._cells, labelled, true).counts
        self.pending[taken] = self.true[taken] < 0
        self.waiting[:] = np.bincount(self._cells.cell[self.pending], minlength=len(self.waiting))
        self.room -= np.bincount(self._asking[taken], minlength=len(self.room))

    def _count(self, item: int, change: int) -> None:
        index, true = np.array([item]), self.true[item : item + 1]
        self.changes += 1
        self.labelled += change
        shown = self._cells.shown(self._metric, self._pool, index, true)
        self._cells.add(self.counts, item, int(shown[0]), change)

    # --- items that are held, and items to hand out

    def held_outside(
        self, before: datetime, after: datetime, people: Collection[str] | None = None
    ) -> list[tuple[Who, int]]:
        """The people (among these, or all) and the items that they got before a certain time and have not answered.

        A request from after a time that is yet to come is among them: the clock was ahead when it was handed out, and
        nobody knows for how long it has been held. The times are not sorted, since clocks can be set back.
        """
        return [
            (who, item)
            for who in (self.held if people is None else people)
            for item, at in self.held.get(who, {}).items()
            if at is not None and not before <= at <= after
        ]

    def lacking(self, who: Who, most: int) -> list[int]:
        """Up to `most` items that lack votes and that this person has not seen, the oldest first."""

        def wanted(item: int) -> bool:
            votes = self.votes.get(item)
            # What was withdrawn, and drawn since by a question whose items do not count here, is not queued here.
            return votes is not None and votes.queued and votes.lacks(self._overlap) and not votes.seen_by(who)

        return self.line.first(who, most, wanted)

    def pick(self, group: int, rng: np.random.Generator, taken: AbstractSet[int]) -> int:
        """A free item of a group, uniformly at random, other than those just taken; the group must have one.

        Where items stay in a table it is the next in the queue of the group; RunsLow if none of it is left.
        """
        order, starts = self._by_group
        members = order[starts[group] : starts[group + 1]]
        if self._pool.reserve is not None:
            for item in members[~self.pending[members] & (self.true[members] < 0)].tolist():
                if item not in taken:
                    return int(item)
            raise RunsLow(group)
        for _ in range(16):
            item = int(members[rng.integers(len(members))])
            if self.is_free(item) and item not in taken:
                return item
        # Few are left: list them.
        free = members[~self.pending[members] & (self.true[members] < 0)]
        free = free[~np.isin(free, list(taken))]
        return int(free[rng.integers(len(free))])

    def next_rows(self, most: int) -> list[int]:
        """If items stay in a table, the first free item of each queue, then the second ones, up to `most` in all."""
        order = self._by_group[0]
        free = order[~self.pending[order] & (self.true[order] < 0)]
        return first_of_each(free, self._asking[free], most)

    def was_handed(self, item: int, who: Who) -> bool:
        """Whether a person has, had or answered an item that was not withdrawn since."""
        return item in self.votes and who in self.votes[item].handed

    def is_free(self, item: int) -> bool:
        """Whether an item is neither pending nor labelled."""
        return not self.pending[item] and self.true[item] < 0
