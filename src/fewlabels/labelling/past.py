"""The past of a ledger: a row for each event, from which any earlier state is known without reading the log again.

The rows are kept in checkpoints, and a curve over 100,000 labels costs what its points cost.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from fewlabels.labelling.twin import twin
from fewlabels.labelling.vote_columns import NO_TIME, Names, VoteBook, time_of
from fewlabels.store.chain import microseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from fewlabels.labelling.ledger import Ledger
    from fewlabels.labelling.votes import Votes
    from fewlabels.store import Event

_FREE = -2  # the state of an item that is not taken; −1 is pending, and others are its true class
_OTHER, _LABEL, _DECIDE = range(3)  # the kind of an event
_FIELDS = ("item", "kind", "label", "who", "at", "state", "foreign", "asker", "step", "turn", "last")
_WIDTH = len(_FIELDS)


class Details(NamedTuple):
    """How the labels of some items came to be.

    `replaced` is how often a person replaced their own label of an item by a different one, `decided` the number of
    items that an owner decided, `people` the number of people, and `first` and `last` are times.
    """

    replaced: int
    decided: int
    people: int
    first: datetime | None
    last: datetime | None


class Past:
    """What every event was about, and what became of its item. Rows are only added, so copies can share them.

    Examples
    --------
    >>> import fewlabels as fl
    >>> from fewlabels.store import Event
    >>> from fewlabels.labelling.ledger import Ledger
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8]], classes=["cat", "dog"])
    >>> new = lambda: Ledger(pool, fl.Accuracy(), fl.Accuracy().cells(pool, fl.whole(pool)))
    >>> ledger = new()
    >>> ledger.read([Event("request", "0", step=1), Event("label", "0", label="dog"), Event("label", "1", label="dog")])
    >>> [then.labels()[0].tolist() for then in ledger.past.each(new, range(4))]
    [[], [], [0], [0, 1]]
    """

    def __init__(self) -> None:
        self._packed: list[tuple[int, bytes]] = []  # older rows: how many, and compressed
        self._rows = array("q")
        self._names = Names()
        self._length: int | None = None  # of a copy: how many of the rows it has

    def copy(self) -> Past:
        """Return a copy of the past up to now. It shares the rows until it adds its own."""
        return twin(self, _length=len(self._rows) if self._length is None else self._length)

    def add(self, event: Event, item: int, label: int, ledger: Ledger) -> None:
        """Add an event that a ledger has just read, about an item and with a class or −1."""
        if self._length is not None:
            self._rows, self._length = self._rows[: self._length], None
        votes: Votes | None = ledger.votes.get(item)
        true = ledger.true.item(item)
        state = true if true >= 0 else -1 if ledger.pending.item(item) else _FREE
        name = self._names.__getitem__
        asker, step, turn = (0, 0, 0) if votes is None else (name(votes.asker), votes.step, votes.turn)
        kind = _OTHER if event.label is None else _DECIDE if event.kind == "decide" else _LABEL
        at = NO_TIME if event.at is None else microseconds(event.at)
        foreign = true >= 0 and ledger.strange.item(item)
        self._rows.extend(
            (item, kind, label, name(event.annotator), at, state, foreign, asker, step, turn, ledger.drawn.step)
        )

    # --- as bytes

    def packed(self) -> list[tuple[int, bytes]]:
        """All rows as compressed parts, each with its number of rows. Parts that were compressed before are kept."""
        if len(self._rows):
            rows = np.frombuffer(self._rows[: self._length], np.int64).reshape(-1, _WIDTH)
            small = pa.compress(np.ascontiguousarray(rows.T).tobytes(), codec="zstd", asbytes=True)
            self._packed = [*self._packed, (len(rows), small)]
            self._rows, self._length = array("q"), None  # copies keep the old ones
        return self._packed

    @property
    def texts(self) -> list[str | None]:
        """The names of people and assessments, by the numbers they have in the rows."""
        return self._names.texts

    def restore(self, packed: list[tuple[int, bytes]], texts: list[str | None]) -> None:
        """Take what `packed` and `texts` gave. It is unpacked when somebody looks at it: most commands never do."""
        self._packed, self._rows, self._names = packed, array("q"), Names(texts)

    def _columns(self) -> dict[str, NDArray[np.int64]]:
        parts = [
            np.frombuffer(pa.decompress(small, 8 * _WIDTH * rows, codec="zstd", asbytes=True), np.int64)
            for rows, small in self._packed
        ]
        new = np.frombuffer(self._rows[: self._length], np.int64).reshape(-1, _WIDTH).T
        table = np.concatenate([*(part.reshape(_WIDTH, -1) for part in parts), new], axis=1)
        return dict(zip(_FIELDS, table, strict=True))

    # --- what it shows

    def details(self, counting: NDArray[np.bool_]) -> Details:
        """What people have said about some items, shape (items,)."""
        rows = self._columns()
        which = np.flatnonzero((rows["kind"] != _OTHER) & counting[rows["item"]])
        if not len(which):
            return Details(0, 0, 0, None, None)
        item, kind, label, who, at = (rows[name][which] for name in ("item", "kind", "label", "who", "at"))
        labels = kind == _LABEL
        order = np.lexsort((who[labels], item[labels]))  # which keeps the order of events
        item_, who_, label_ = (part[labels][order] for part in (item, who, label))
        again = (item_[1:] == item_[:-1]) & (who_[1:] == who_[:-1])
        decided = np.zeros(len(counting), dtype=bool)
        decided[item[kind == _DECIDE]] = True
        at = at[at != NO_TIME]  # in no order, since clocks are set back
        named = [self.texts[number] for number in np.flatnonzero(np.bincount(who)).tolist()]
        return Details(
            int((again & (label_[1:] != label_[:-1])).sum()),
            int(decided.sum()),
            sum(bool(name) for name in named),
            *((time_of(int(at.min())), time_of(int(at.max()))) if len(at) else (None, None)),
        )

    def stops(self, parts: int) -> list[int]:
        """Places in the log, as numbers of events: the beginning, the ends of parts with equally many labels, the end.

        Each but the first and the last follows a label, and no place comes twice.
        """
        kind = self._columns()["kind"]
        answers = np.flatnonzero(kind != _OTHER)
        parts = min(parts, len(answers))
        stops = [int(answers[len(answers) * (i + 1) // parts - 1]) + 1 for i in range(parts)]
        return [0, *dict.fromkeys(stop for stop in [*stops, len(kind)] if stop)]

    def each(self, new: Callable[[], Ledger], stops: Sequence[int]) -> Iterator[Ledger]:
        """The ledgers as they were after each of some numbers of events. `new` makes one that has read nothing.

        They know the labels and how they were drawn, but nobody's votes.
        """
        rows = self._columns()
        for stop in stops:
            yield _then(new(), {name: column[:stop] for name, column in rows.items()}, self.texts)


def _then(ledger: Ledger, rows: dict[str, NDArray[np.int64]], texts: list[str | None]) -> Ledger:
    """Put the items where the last of the rows about each puts them."""
    latest = np.full(len(ledger.true), -1, dtype=np.int64)
    latest[rows["item"]] = np.arange(len(rows["item"]))  # of several rows about one item, the last counts
    items = np.flatnonzero(latest >= 0)
    now = {name: column[latest[items]] for name, column in rows.items()}
    taken, labelled = now["state"] > _FREE, now["state"] >= 0
    ledger.place_all(items[labelled], now["state"][labelled].astype(np.int32), items[taken])
    ledger.strange[items] = now["foreign"] > 0
    ledger.drawn.step = int(rows["last"][-1]) if len(items) else 0
    away = np.flatnonzero(taken & (now["asker"] != _number(texts, ledger.name)))
    askers = [str(texts[number]) for number in now["asker"][away].tolist()]
    ledger.drawn.elsewhere = dict(zip(items[away].tolist(), askers, strict=True))
    draws = {name: now[name][taken] for name in ("asker", "step", "turn")}
    ledger.votes = VoteBook.of_draws(items[taken], **draws, texts=texts)
    return ledger


def _number(texts: list[str | None], name: str) -> int:
    return texts.index(name) if name in texts else -1
