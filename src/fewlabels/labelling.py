"""The half of an assessment that people write to: asking, telling, and taking back. One transaction each."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fewlabels.batch import Batch, Request
from fewlabels.choosing import choose
from fewlabels.errors import InputError, LabelError
from fewlabels.io import read_labels
from fewlabels.ledger import Ledger
from fewlabels.store import Event

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from fewlabels.belief import Belief
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.spec import Spec
    from fewlabels.store import Kind, Store, Transaction

    Labels = Mapping[Any, Any] | str | os.PathLike[str] | Any

_LONGEST = 1e9  # seconds; about thirty years, and the calendar holds that


class Labelling:
    """Who was asked what, and what they said. `Assessment` adds what is known from it.

    The store's log is the truth and the ledger its sum, brought up to date before each call; several threads may call.
    """

    def __init__(
        self, store: Store, name: str, pool: Pool, partition: Partition, spec: Spec, *, shared: bool = False
    ) -> None:
        self.name = name
        self.pool = pool
        self.groups = partition
        self.spec = spec
        self._store = store
        self._shared = shared
        self._cells = spec.cells(pool, partition)
        self._askable = spec.task.askable(self._cells)
        self._ledger = Ledger(pool, spec.task.metric, self._cells, spec.overlap)
        self._lock = threading.RLock()
        self._believed: tuple[int, Belief] | None = None

    # --- handing out

    def ask(self, n: int = 1, *, annotator: str | None = None) -> Batch:
        """Choose n items to label next. Fewer, or none, come back when the groups run out.

        Items that lack votes and that this person has not seen come first: those of `overlap` people, and those whose
        request ran out. Then new ones. Pending items count as if they had been answered as expected, so a batch spreads
        itself. Where a step is about several groups (the m worst) and fewer items are wanted, they are a random part
        of the step's groups.
        """
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise InputError(f"The 'n' of ask() must be a whole number from 1 up. Got {n!r} instead.")
        self._check_name("ask", annotator)
        with self._writing() as log:
            ledger = self._ledger
            steps = {item: ledger.votes[item].step for item in ledger.lacking(annotator, int(n))}
            if len(steps) < n:
                belief = self._believe(ledger) if self.spec.policy.looks else self._blank()
                steps |= choose(self.spec, self._cells, self._askable, belief, ledger, int(n) - len(steps))
            log.append(
                [Event("request", self._id(item), step=step, annotator=annotator) for item, step in steps.items()]
            )
        requests = zip(steps.items(), log.added, strict=True)
        return Batch(tuple(self._request(item, step, annotator, event.at) for (item, step), event in requests))

    def held(self, annotator: str | None = None) -> Batch:
        """The open requests of one person, or of everybody, the oldest first: for somebody who comes back."""
        with self._current() as ledger:
            people = ledger.held if annotator is None else {annotator: ledger.held.get(annotator, {})}
            rows = [(at, item, who) for who, items in people.items() for item, at in items.items()]
            rows.sort(key=lambda row: row[0] or datetime.min.replace(tzinfo=UTC))
            return Batch(tuple(self._request(item, ledger.votes[item].step, who, at) for at, item, who in rows))

    def expire(self, seconds: float, *, people: Collection[str] | None = None) -> int:
        """Take back requests that are older than so many seconds, of these people or of all; return their number.

        The items are handed out again before any new one, so what people put aside is not left out. An answer that
        comes later is taken all the same.
        """
        is_number = isinstance(seconds, Real) and not isinstance(seconds, bool)
        if not is_number or not 0 <= seconds <= _LONGEST:
            raise InputError(f"The 'seconds' of expire() must be a number from 0 up. Got {seconds!r} instead.")
        before = datetime.now(UTC) - timedelta(seconds=float(seconds))
        with self._current() as ledger:
            if not ledger.held_since(before, people):
                return 0  # nearly always, and nobody has to wait for it
        with self._writing() as log:
            late = self._ledger.held_since(before, people)
            log.append([Event("expire", self._id(item), annotator=who, note="lease ran out") for who, item in late])
        return len(late)

    # --- answers

    def tell(
        self,
        labels: Labels,
        *,
        annotator: str | None = None,
        note: str | None = None,
        adopt: bool = False,
        key: str | None = None,
    ) -> int:
        """Take labels: a mapping from id to class name, a file, or a frame with the columns id and label.

        They are on disk when this returns. A second label by the same person replaces the first, which stays in the
        log; with `overlap=1` so does one by anybody else. If one of them cannot be taken, none is.
        `adopt=True` takes labels of items that were never asked for: see the documentation for what that does to the
        guarantees. A call that is sent again with the same `key` is not taken twice. Returns the number of labels.
        """
        self._check_name("tell", annotator)
        return self._say("label", labels, annotator, note, adopt=adopt, key=key)

    def decide(
        self,
        labels: Labels,
        *,
        annotator: str | None = None,
        note: str | None = None,
        adopt: bool = False,
        key: str | None = None,
    ) -> int:
        """Take the owner's word: it counts whatever people said or will say. A second decision replaces the first."""
        return self._say("decide", labels, annotator, note, adopt=adopt, key=key)

    def skip(
        self, ids: Sequence[Any], *, reason: str = "unclear", annotator: str | None = None, key: str | None = None
    ) -> int:
        """Note that a person cannot answer, and why, such as "not in the list". Returns the number of items.

        A skip takes the person's place among those asked. Unless the others settle it without them, the item waits for
        the owner and stays pending: left out, hard items would make the classifier look better than it is.
        """
        self._check_name("skip", annotator)
        if not isinstance(reason, str) or not reason.strip():
            raise InputError("skip() needs a reason, such as 'unclear' or 'not in the list'.")
        wanted, items = self._wanted("skip", ids)
        with self._writing() as log:
            new = [Event("skip", item, annotator=annotator, note=reason, key=key) for item in wanted]
            if not self._repeated(log, key, new):
                self._check_asked("skip", items)
                log.append(new)
        return len(wanted)

    # --- taking back

    def retract(self, ids: Sequence[Any], *, annotator: str | None = None, key: str | None = None) -> int:
        """Take back a person's own answers, labels and skips: the items are theirs to answer again.

        Returns the number of items. See `withdraw` for what takes back whole items.
        """
        self._check_name("retract", annotator)
        wanted, items = self._wanted("retract", ids)
        with self._writing() as log:
            new = [Event("retract", item, annotator=annotator, key=key) for item in wanted]
            if not self._repeated(log, key, new):
                said = self._ledger.answered.get(annotator, {})
                if other := [item for item in items if item not in said]:
                    raise LabelError(
                        f"cannot retract {self._id(other[0])!r}: {annotator or 'nobody without a name'} has no answer "
                        "there. Nothing was changed."
                    )
                log.append(new)
        return len(wanted)

    def withdraw(self, ids: Sequence[Any], *, annotator: str | None = None, note: str | None = None) -> int:
        """Take back requests that will not be answered, or labels that were wrong: the items can be asked again.

        It takes back all about these items: everybody's requests, labels and skips, and the owner's word. The log keeps
        what was withdrawn. Withdrawing items because they are hard to label makes the rest look easier than the pool
        is. Returns the number of items.
        """
        wanted, items = self._wanted("withdraw", ids)
        with self._writing() as log:
            if free := [item for item in items if self._ledger.is_free(item)]:
                raise LabelError(
                    f"cannot withdraw {self._id(free[0])!r}: it is neither pending nor labelled. Nothing was changed."
                )
            log.append([Event("withdraw", item, annotator=annotator, note=note) for item in wanted])
        return len(wanted)

    # --- inside

    @contextmanager
    def _current(self) -> Iterator[Ledger]:
        """The ledger, up to date with the log, and not moved by other threads meanwhile."""
        with self._lock:
            self._ledger.read(self._store.events(self.name, after=self._ledger.seq))
            yield self._ledger

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        """The log while nobody else writes to it, with the ledger up to date; it reads what was appended at the end."""
        with self._lock:
            with self._store.transaction(self.name, self._ledger.seq) as log:
                self._ledger.read(log.events)
                yield log
            self._ledger.read(log.added)

    def _believe(self, ledger: Ledger) -> Belief:
        """The belief about the assessment's own cells; kept until a label comes or goes."""
        if self._believed is None or self._believed[0] != ledger.changes:
            labels = ledger.outcomes() if self.spec.prior.looks_at_items else None
            belief = self.spec.prior.belief(self._cells, ledger.counts.copy(), self.spec.target, labels)
            self._believed = (ledger.changes, belief)
        return self._believed[1]

    def _blank(self) -> Belief:
        """What is believed before any label: for policies that do not look, so that nothing is fitted for them."""
        return self.spec.prior.belief(self._cells, np.zeros_like(self._ledger.counts), self.spec.target)

    def _say(
        self,
        kind: Literal["label", "decide"],
        labels: Labels,
        annotator: str | None,
        note: str | None,
        *,
        adopt: bool,
        key: str | None,
    ) -> int:
        given = read_labels(labels)
        items = self.pool.positions(given)
        self.pool.class_positions(given.values())
        with self._writing() as log:
            new = [Event(kind, id_, label=said, annotator=annotator, note=note, key=key) for id_, said in given.items()]
            if not self._repeated(log, key, new):
                if not adopt:
                    self._check_asked("tell" if kind == "label" else kind, items.tolist())
                log.append(new)
        return len(given)

    def _repeated(self, log: Transaction, key: str | None, new: list[Event]) -> bool:
        """Whether these events are in the log already, sent before with the same key."""
        if key is None or not (before := log.keyed(key)):
            return False
        if _told(before) != _told(new):
            raise LabelError(f"the key {key!r} was used for something else. Nothing was changed. Use a new key.")
        return True

    def _wanted(self, call: str, ids: Sequence[Any]) -> tuple[list[str], list[int]]:
        """Ids as texts, each once, and their positions in the pool."""
        if isinstance(ids, (str, bytes)):
            raise InputError(f"{call}() takes a list of ids. Got the text {ids!r}; write [{ids!r}].")
        wanted = list(dict.fromkeys(str(item) for item in ids))
        return wanted, self.pool.positions(wanted).tolist()

    def _check_asked(self, call: str, items: list[int]) -> None:
        strangers = [item for item in items if not self._ledger.asked[item]]
        if strangers:
            more = f" (and {len(strangers) - 1:,} more)" if len(strangers) > 1 else ""
            adopt = (
                "Ask first." if call == "skip" else "Ask first, or pass adopt=True to take labels collected elsewhere."
            )
            raise LabelError(
                f"cannot {call} {self._id(strangers[0])!r}{more}: it was never asked for. Nothing was changed. {adopt}"
            )

    def _check_name(self, call: str, annotator: str | None) -> None:
        if annotator is not None and (not isinstance(annotator, str) or not annotator.strip()):
            raise InputError(f"The 'annotator' of {call}() must be a name. Got {annotator!r} instead.")
        if annotator is None and self.spec.overlap > 1:
            raise InputError(
                f"{self.spec.overlap} different people are asked about each item here, so {call}() needs a name: "
                f"{call}(..., annotator='ann')."
            )

    def _id(self, item: int) -> str:
        return str(self.pool.ids[int(item)].as_py())

    def _content(self, item: int) -> Any:  # noqa: ANN401  (whatever the column holds)
        return None if self.pool.content is None else self.pool.column(self.pool.content)[item].as_py()

    def _request(self, item: int, step: int, annotator: str | None, at: datetime | None) -> Request:
        group = self.groups.names[self.groups.group[item]]
        why = f"step {step} of {type(self.spec.policy).__name__}" if step else "another vote"
        return Request(self._id(item), group, why, self._content(item), annotator, at)


def _told(events: list[Event]) -> set[tuple[Kind, str, str | None, str | None]]:
    return {(event.kind, event.item, event.label, event.annotator) for event in events}
