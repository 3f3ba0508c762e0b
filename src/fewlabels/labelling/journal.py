"""The journal of an assessment: the log as it is read and written here, one thread at a time."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple, Self

from fewlabels.errors import LabelError
from fewlabels.labelling.checkpoint import catch_up, keep
from fewlabels.labelling.twin import twin
from fewlabels.store import GoneError, Mark, UnsureError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fewlabels.cells import Cells
    from fewlabels.io.tables import Named
    from fewlabels.labelling.ledger import Ledger
    from fewlabels.labelling.subject import Subject
    from fewlabels.pool import Pool
    from fewlabels.priors import Prepared
    from fewlabels.sample import Sample
    from fewlabels.store import Event, Store, Transaction


class Page(NamedTuple):
    """The journal during a write: the log, to which events are appended, and the ledger up to that point."""

    log: Transaction
    ledger: Ledger


class Journal:
    """The ledger of an assessment, the lock around it, and the ways to it: reading and writing.

    The store's log is the truth. The ledger adds it up and is brought up to date before each call. If somebody has
    named items since, it gets a new subject and a new ledger. Threads may share a journal.

    Parameters
    ----------
    store
        The store with the log.
    subject
        The assessment's definition and its pool.

    Examples
    --------
    >>> import fewlabels as fl
    >>> from fewlabels.labelling.subject import Subject
    >>> store, pool = fl.Store(None), fl.read_pool([[0.9, 0.1], [0.2, 0.8]], classes=["cat", "dog"])
    >>> audit = fl.create(store, "pets", pool)
    >>> journal = Journal(store, Subject(store, store.open("pets"), audit.spec, pool))
    >>> _ = audit.tell({"0": "cat"}, adopt=True)
    >>> with journal.reading() as ledger:
    ...     print(ledger.labelled)
    1
    """

    is_snapshot = False
    """Whether it stays at one state of the log, as a read-only snapshot does."""

    def __init__(self, store: Store, subject: Subject) -> None:
        self.store = store
        self.subject = subject
        """What the assessment is about now."""
        self.ledger: Ledger = subject.new_ledger()
        """The ledger as it was last read. It is for those who hold the lock; others go through `reading`."""
        self.unsure: list[Event] = []
        """Events that may or may not be in the log, because the connection was lost."""
        self.is_gone = False
        """Whether the assessment was found to be removed, or its name to belong to another: it must be loaded again."""
        self._lock = threading.RLock()
        self._sample: tuple[Ledger, int, Sample] | None = None

    def snapshot(self) -> Self:
        """Return the journal as it is now; the copy reads nothing more."""
        still = {"subject": self.subject.copy(), "ledger": self.ledger.copy()}
        return twin(self, **still, _lock=threading.RLock(), is_snapshot=True)

    # --- reading

    @contextmanager
    def reading(self) -> Iterator[Ledger]:
        """Give the ledger, up to date with the log, while no other thread can change it."""
        with self._lock:
            self._catch_up()
            yield self.ledger

    @contextmanager
    def looking(self) -> Iterator[Ledger]:
        """Give the ledger as it was last read, while no other thread can change it: nothing is read from the log."""
        with self._lock:
            yield self.ledger

    def _catch_up(self) -> None:
        """Bring the ledger up to date. If somebody else has named items since, the pool is read again."""
        if self.is_snapshot:
            return
        if self.ledger.is_torn:
            self.ledger = self.subject.new_ledger()
        with self._noticing():
            try:
                catch_up(self.ledger, self.store, self.subject.name)
            except LabelError:
                if not self._took_named():
                    raise
                catch_up(self.ledger, self.store, self.subject.name)

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        """Remember that the assessment is gone, if the store says so."""
        try:
            yield
        except GoneError:
            self.is_gone = True
            raise

    def pool_with(self, ids: Iterable[object]) -> Pool:
        """The pool in which items are looked up. If one is unknown, somebody else may have named it since."""
        with self._lock, self._noticing():
            if not self.is_snapshot and not self.subject.pool.has(ids).all():
                self._took_named()
            return self.subject.pool

    def history(self) -> list[Event]:
        """What happened to the items of the pool, in this assessment and in all others of the same pool, in order."""
        name = self.subject.name
        with self._noticing():
            events = self.store.shared(name, {name: Mark(0, self.subject.record.first)})
        if not self.is_snapshot:
            return events
        seen = {of: mark.seq for of, mark in self.ledger.seen.items()}
        return [event for event in events if event.seq <= seen.get(event.assessment or name, 0)]

    def prepared(self, cells: Cells) -> Prepared:
        """The prior, prepared for cells of the groups of asking and for the groups of others who drew items so far."""
        return self.subject.prepared(cells, self.ledger)

    def sample(self) -> Sample:
        """The items asked for, in the order of the steps, and which of them were drawn at random from all.

        For those who hold the lock. It is kept until there are new events: a log of 100,000 labels takes a while.
        """
        kept, ledger = self._sample, self.ledger
        if kept is None or kept[0] is not ledger or kept[1] != ledger.events:
            self._sample = kept = ledger, ledger.events, self.subject.sample(ledger)
        return kept[2]

    # --- writing

    @contextmanager
    def writing(self) -> Iterator[Page]:
        """Give the log while nobody else can write to it; the ledger is up to date before and after."""
        assert not self.is_snapshot, "a snapshot is read-only"
        with self._lock, self._noticing():
            if not self.ledger.events or self.ledger.grows or self.ledger.is_torn:
                self._catch_up()
            kept, log = self.ledger.seq, None
            try:
                with ExitStack() as stack:
                    log = self._begin(stack)
                    subject, ledger = self.subject, self.ledger
                    kept = ledger.seq
                    yield Page(log, ledger)
            except BaseException as error:
                if isinstance(error, UnsureError):
                    self.unsure = [] if log is None else log.added
                if self.ledger.seq > kept:  # it has read events that are not in the log: read the log again
                    self.ledger = self.subject.new_ledger()
                raise
            ledger.read(log.added[ledger.seq - kept :])
            self.unsure = []
            keep(ledger, self.store, subject.name)

    def _begin(self, stack: ExitStack) -> Transaction:
        """Begin to write, and read what is new. If somebody has named items meanwhile, begin again with these."""
        subject, ledger = self.subject, self.ledger
        try:
            with ExitStack() as opened:
                log = opened.enter_context(self.store.transaction(subject.name, seen=ledger.seen))
                opened.enter_context(subject.askers.within(log))
                ledger.read(log.events)
                stack.push(opened.pop_all())
                return log
        except LabelError:
            if not self._took_named():
                raise
        self._catch_up()
        return self._begin(stack)

    def grow(self, named: Named) -> None:
        """Store items of a table that are to be named, and take the pool with them."""
        grown = self.store.grow_pool(self.subject.whole.fingerprint, named.added_to)
        with self._lock:
            self._use(grown)

    def _took_named(self) -> bool:
        """Take the pool with the items that others have named since it was read; returns whether there are any."""
        whole = self.subject.whole
        stored = None if whole.reserve is None else self.store.pool(whole.fingerprint)
        if stored is None or stored.rows == whole.rows:
            return False
        self._use(stored)
        return True

    def _use(self, stored: Pool) -> None:
        """Take the pool as it is stored now, and read the log again when it is needed."""
        self.subject = self.subject.grown(self.store, stored)
        self.ledger = self.subject.new_ledger()
