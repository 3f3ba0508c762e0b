"""The votes about many items, kept as columns until one is needed, so that reading a hundred thousand costs nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.labelling.twin import twin
from fewlabels.labelling.votes import Vote, Votes
from fewlabels.store.chain import microseconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Columns = dict[str, NDArray[Any]]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NO_TIME = np.iinfo(np.int64).min
"""The number that stands for no time."""
_ITEM = ("item", "asker", "step", "turn", "more", "queued", "decided_who", "decided_true", "decided_note", "decided_at")
_MANY = {"given": ("who", "true", "note", "at"), "holding": ("who",), "handed": ("who",)}


class Names:
    """Texts by number, each once; number 0 is None."""

    def __init__(self, texts: Iterable[str | None] = (None,)) -> None:
        self.texts = list(texts)
        self._number = {text: number for number, text in enumerate(self.texts)}

    def __getitem__(self, text: str | None) -> int:
        number = self._number.setdefault(text, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text)
        return number


class VoteBook:
    """The votes about each item that is not free: those that are in use as objects, the others as columns.

    >>> book = VoteBook()
    >>> book[7] = Votes()
    >>> book.freeze()
    >>> 7 in book, len(book), book[7].given
    (True, 1, {})
    """

    def __init__(self) -> None:
        self._warm: dict[int, Votes] = {}
        self._rows: dict[int, int] | None = {}  # None until somebody looks for an item: many commands never do
        self._columns = _columns((), Names())
        self._names = Names()
        self._start: dict[str, NDArray[np.int64]] = {}

    @classmethod
    def of_draws(
        cls,
        items: NDArray[np.int64],
        asker: NDArray[np.int64],
        step: NDArray[np.int64],
        turn: NDArray[np.int64],
        texts: list[str | None],
    ) -> VoteBook:
        """A book that knows who drew each item, four of shape (items,), but no votes: for `drawn` alone."""
        book = cls()
        book._names = Names(texts)
        book._columns |= {"item": items, "asker": asker, "step": step, "turn": turn}
        return book

    def __contains__(self, item: object) -> bool:
        return item in self._warm or item in self._row

    def __len__(self) -> int:
        return len(self._warm) + len(self._row)

    @property
    def _row(self) -> dict[int, int]:
        """The row of each item whose votes are columns."""
        if self._rows is None:
            items = self._columns["item"].tolist()
            self._rows = dict(zip(items, range(len(items)), strict=True))
        return self._rows

    def __iter__(self) -> Iterator[int]:
        yield from [*self._warm, *self._row]

    def __getitem__(self, item: int) -> Votes:
        votes = self._warm.get(item)
        if votes is None:
            votes = self._warm[item] = self._thawed(self._row[item])
            del self._row[item]
        return votes

    def __setitem__(self, item: int, votes: Votes) -> None:
        self._row.pop(item, None)
        self._warm[item] = votes

    def __delitem__(self, item: int) -> None:
        if self._row.pop(item, None) is None:
            del self._warm[item]

    def get(self, item: int) -> Votes | None:
        """The votes about an item; None if it is free."""
        votes = self._warm.get(item)
        return self[item] if votes is None and item in self._row else votes

    def drawn(
        self, items: NDArray[np.intp], askers: Sequence[str]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Which of some assessments drew each of some items that are not free, at which step and in which turn.

        An assessment is its place among `askers`, and −1 stands for any other and for none.

        >>> book = VoteBook()
        >>> book[7], book[8] = Votes(), Votes()
        >>> book[7].asker, book[7].step, book[7].turn = "pets", 3, 4
        >>> book.freeze()
        >>> [column.tolist() for column in book.drawn(np.array([7, 8]), ["pets"])]
        [[0, -1], [3, 0], [4, 0]]
        """
        kept = self._columns["item"]
        row_of = np.full(1 + max(kept.max(initial=0), items.max(initial=0)), -1, dtype=np.int64)
        row_of[kept] = np.arange(len(kept))
        row_of[[item for item in self._warm if item < len(row_of)]] = -1
        rows = row_of[items]
        frozen = rows >= 0
        place: dict[str | None, int] = {name: k for k, name in enumerate(askers)}
        by, steps, turns = np.full(len(items), -1), *np.zeros((2, len(items)), dtype=np.int64)
        # Numbers, and texts only where there are few: comparing a hundred thousand texts takes a tenth of the time of a
        # command.
        number = np.array([place.get(text, -1) for text in self._names.texts])
        by[frozen] = number[self._columns["asker"][rows[frozen]]]
        steps[frozen], turns[frozen] = (self._columns[name][rows[frozen]] for name in ("step", "turn"))
        warm = [self._warm[item] for item in items[~frozen].tolist()]
        by[~frozen] = [place.get(votes.asker, -1) for votes in warm]
        steps[~frozen], turns[~frozen] = [votes.step for votes in warm], [votes.turn for votes in warm]
        return by, steps, turns

    def copy(self) -> VoteBook:
        """A book with the same votes. Columns never change, so both can have them."""
        warm = {item: votes.copy() for item, votes in self._warm.items()}
        return twin(self, _warm=warm, _rows=None if self._rows is None else dict(self._rows))

    def freeze(self) -> None:
        """Turn all votes into columns."""
        if not self._warm and len(self._row) == len(self._columns["item"]):
            return
        rows = np.fromiter(self._row.values(), np.int64, len(self._row))
        rows.sort()
        self._columns = _joined(_taken(self._columns, rows), _columns(self._warm.items(), self._names))
        self._warm = {}
        self._index()

    def columns(self, names: Names) -> Columns:
        """The columns of votes that are frozen, with people and notes by their numbers in `names`."""
        number = np.array([names[text] for text in self._names.texts], dtype=np.int32)
        columns = dict(self._columns)
        for name in ("asker", "decided_who", "decided_note", "given_who", "given_note", "holding_who", "handed_who"):
            known = columns[name] >= 0
            columns[name] = np.where(known, number[np.where(known, columns[name], 0)], -1).astype(np.int32)
        return columns

    def restore(self, columns: Columns, texts: list[str | None]) -> None:
        """Take columns that `columns` gave."""
        self._warm = {}
        self._names = Names(texts)
        self._columns = {name: columns[name] for name in self._columns}
        self._index()

    def _index(self) -> None:
        self._rows = None
        self._start = {many: np.concatenate([[0], np.cumsum(self._columns[f"{many}_n"])]) for many in _MANY}

    def _thawed(self, row: int) -> Votes:
        columns, texts = self._columns, self._names.texts

        def rows(many: str) -> slice:
            return slice(self._start[many][row], self._start[many][row + 1])

        votes = Votes()
        votes.asker, votes.queued = texts[columns["asker"][row]], bool(columns["queued"][row])
        votes.step, votes.turn, votes.more = (int(columns[name][row]) for name in ("step", "turn", "more"))
        given = [columns[f"given_{name}"][rows("given")].tolist() for name in _MANY["given"]]
        for who, true, note, at in zip(*given, strict=True):
            votes.given[texts[who]] = Vote(true, texts[note], time_of(at))
        votes.held = {texts[who]: None for who in columns["holding_who"][rows("holding")].tolist()}
        votes.handed = {texts[who] for who in columns["handed_who"][rows("handed")].tolist()}
        decided = [columns[f"decided_{name}"].item(row) for name in _MANY["given"]]
        if decided[0] >= 0:
            votes.decided = texts[decided[0]], Vote(decided[1], texts[decided[2]], time_of(decided[3]))
        return votes


def _columns(book: Iterable[tuple[int, Votes]], names: Names) -> Columns:
    """Votes about items as columns."""
    lists: dict[str, list[int]] = {name: [] for name in _ITEM}
    for many, fields in _MANY.items():
        lists |= {f"{many}_{name}": [] for name in ("n", *fields)}
    for item, votes in book:
        lists["item"].append(item)
        lists["asker"].append(names[votes.asker])
        lists["step"].append(votes.step)
        lists["turn"].append(votes.turn)
        lists["more"].append(votes.more)
        lists["queued"].append(votes.queued)
        decided = (-1, -1, 0, NO_TIME) if votes.decided is None else _numbers(*votes.decided, names)
        for name, value in zip(_MANY["given"], decided, strict=True):
            lists[f"decided_{name}"].append(value)
        lists["given_n"].append(len(votes.given))
        for who, vote in votes.given.items():
            for name, value in zip(_MANY["given"], _numbers(who, vote, names), strict=True):
                lists[f"given_{name}"].append(value)
        for many, people in (("holding", votes.held), ("handed", votes.handed)):
            lists[f"{many}_n"].append(len(people))
            lists[f"{many}_who"] += [names[who] for who in people]
    return {name: np.array(values, dtype=_dtype(name)) for name, values in lists.items()}


def _numbers(who: str | None, vote: Vote, names: Names) -> tuple[int, int, int, int]:
    return names[who], vote.true, names[vote.note], NO_TIME if vote.at is None else microseconds(vote.at)


def _dtype(name: str) -> type[np.generic]:
    wide = name in {"item", "step", "turn"} or name.endswith(("_at", "_n"))
    return np.bool_ if name == "queued" else np.int64 if wide else np.int32


def _taken(columns: Columns, rows: NDArray[np.int64]) -> Columns:
    """The columns of some rows."""
    taken = {name: columns[name][rows] for name in _ITEM}
    chosen = np.zeros(len(columns["item"]), dtype=bool)
    chosen[rows] = True
    for many, fields in _MANY.items():
        inside = np.repeat(chosen, columns[f"{many}_n"])
        taken |= {f"{many}_{name}": columns[f"{many}_{name}"][inside] for name in fields}
        taken[f"{many}_n"] = columns[f"{many}_n"][rows]
    return taken


def _joined(first: Columns, second: Columns) -> Columns:
    return {name: np.concatenate([first[name], second[name]]) for name in first}


def from_times(times: Iterable[datetime | None]) -> NDArray[np.int64]:
    """Times as microseconds since 1970."""
    return np.fromiter((NO_TIME if at is None else microseconds(at) for at in times), np.int64)


def to_times(numbers: NDArray[np.int64]) -> list[datetime | None]:
    """The times that `from_times` made numbers of."""
    return [time_of(number) for number in numbers.tolist()]


def time_of(number: int) -> datetime | None:
    """The time that a number of microseconds since 1970 stands for."""
    return None if number == NO_TIME else _EPOCH + timedelta(microseconds=number)
