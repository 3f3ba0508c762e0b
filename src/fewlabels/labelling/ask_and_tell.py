"""The half of an assessment that writes to the log: asking, telling and taking back, one transaction each."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from fewlabels.arrow import column_of
from fewlabels.checks import number_in, whole_number
from fewlabels.errors import MOST_NAMED, Argument, Call, InputError, LabelError, Part, StoreError
from fewlabels.io.labels import checked, said, skip_reason
from fewlabels.io.source import listed
from fewlabels.labelling.askers import Asker, Askers
from fewlabels.labelling.batch import Batch, Request
from fewlabels.labelling.checkpoint import catch_up, keep
from fewlabels.labelling.drawn import GOLD
from fewlabels.labelling.ledger import Ledger
from fewlabels.labelling.next_items import choose
from fewlabels.labelling.supply import Supply
from fewlabels.labelling.voting import Voting
from fewlabels.noise import NoisyBelief
from fewlabels.policies.anchors import is_anchor
from fewlabels.reserve import RunsLow
from fewlabels.store import Event, UnsureError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.io.tables import Named
    from fewlabels.labelling.votes import Who
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.priors import Prepared
    from fewlabels.spec import Spec
    from fewlabels.store import Kind, Store, Transaction

    Labels = Mapping[Any, Any] | str | os.PathLike[str] | Any

_CALLS = {"label": "tell", "decide": "decide", "skip": "skip"}  # by the kind of their events
T = TypeVar("T")
_SPARE = 50  # items that are named beyond those that are asked for
_MOST_SKIPS = 100  # of one person that wait for the owner, where people are held to their own items
_LONGEST = 1e9  # seconds; about thirty years, which the calendar can represent


class _Believed(NamedTuple):
    """A belief, and when it was computed: the changes of labels until then, and the labels of each cell."""

    changes: int
    belief: Belief
    labels: NDArray[np.float64]

    def unseen(self, ledger: Ledger) -> NDArray[np.int64]:
        """Labels of each cell that the belief has not seen; they count as answered as expected, shape (cells,)."""
        return np.maximum(ledger.counts.sum(axis=1) - self.labels, 0).astype(np.int64)


class Labelling:
    """Requests and answers. `Assessment` adds the results.

    The store's log is the truth. The ledger adds it up and is brought up to date before each call. Threads may share
    this object.
    """

    def __init__(
        self,
        store: Store,
        name: str,
        pool: Pool,
        partition: Partition,
        spec: Spec,
        *,
        shared: bool = False,
        whole: Pool | None = None,
    ) -> None:
        self.name = name
        self.spec = spec
        self._store = store
        self._shared = shared
        self._lock = threading.RLock()
        self._supply = Supply()
        self._restocking = threading.Lock()
        self._unsure: list[Event] = []
        self._use(pool, partition, pool if whole is None else whole)

    def _use(self, pool: Pool, partition: Partition, whole: Pool) -> None:
        """Take a pool: at the beginning, and when items were named, which have the rows after those that were there."""
        self.pool = pool
        self.whole = whole
        """The pool with all its models; `pool` is the one that the task is about, perhaps that of one model."""
        self.groups = partition
        self._asker = Asker(self.spec, pool)
        self._askers = Askers(self._store, self.name, self._asker, whole)
        self._asking = self._asker.asking
        self._cells = self._asker.cells
        self._askable = self._asker.askable
        self._ledger = self.new_ledger()
        self._believed: _Believed | None = None
        self._drawn: dict[int, int] = {}
        self._voting = Voting(self.spec, pool, self._asking, self.prepared) if self.spec.noisy else None
        self._priors: dict[tuple[str, ...], Prepared] = {}

    # --- handing out

    def ask(self, n: int = 1, *, annotator: str | None = None, again: bool = False, slack: float = 0.0) -> Batch:
        """Choose n items to label next. Fewer items, or none, come back when the groups run out.

        Items that lack votes and that this person has not seen come first: those of `overlap` people, and those whose
        request ran out. Then new ones. Pending items count as if they had been answered as expected, so a batch spreads
        itself. Where a step is about several groups (the m worst) and fewer items are wanted, they are a random part
        of the step's groups. With `again`, items that this person has and has not answered come first, and count
        towards n: for somebody who comes back. `slack` is the share of labels that the choice need not know yet: with
        0.01, the belief is computed anew after 1% more labels. It is for a server, where labels come all the time.
        """
        n = whole_number(n, "The 'n' of ask()")
        self._check_name("ask", annotator)
        return self._stocked(n, lambda: self._ask(n, annotator, again=again, slack=slack))

    def _ask(self, n: int, annotator: Who, *, again: bool, slack: float) -> Batch:
        if again or self._fits:
            with self._current() as ledger:
                held = tuple(self._held([annotator]))[:n] if again else ()
                if len(held) == n:
                    return Batch(held)  # nothing is written, so nobody has to wait
                if self._fits:
                    self._believe(ledger, slack)  # fitted now, and not while others wait for the log
        with self._writing() as log:
            return self._hand_out(log, n, annotator, again=again, slack=slack)

    def tell_and_ask(
        self,
        labels: Labels,
        n: int,
        *,
        skips: Sequence[Any] = (),
        reason: str = "unclear",
        annotator: str | None = None,
        note: str | None = None,
        own: bool = False,
        key: str | None = None,
        slack: float = 0.0,
    ) -> tuple[int, Batch]:
        """Take answers as `tell` and `skip` do, and hand out what `ask(n, again=True)` does, in one transaction.

        Returns the number of answers, and the items. Answers that were sent before with this key are not taken twice,
        and the items come all the same.
        """
        n = whole_number(n, "The 'n' of tell_and_ask()")
        self._check_name("tell", annotator)
        new = [*self._labels(labels, annotator, note, key), *self._skips(skips, reason, annotator, key)]
        items = self._checked_items(new)

        def taken_and_asked() -> tuple[int, Batch]:
            if self._fits:
                with self._lock:
                    self._believe(self._ledger, slack)
            with self._writing() as log:
                if not self._repeated(log, key, new):
                    self._check_answers(new, items, own=own)
                    self._ledger.read(log.append(new))  # the choice knows these answers already
                return len(new), self._hand_out(log, n, annotator, again=True, slack=slack)

        return self._stocked(n, taken_and_asked)

    def held(self, annotator: str | None = None) -> Batch:
        """The open requests of one person, or of everybody, oldest first: for somebody who comes back."""
        with self._current() as ledger:
            return self._held(ledger.held if annotator is None else [annotator])

    def expire(self, seconds: float, *, people: Collection[str] | None = None) -> int:
        """Take back requests older than this many seconds, from these people or from all; return how many.

        The items are handed out again before any new one, so items that people put aside are not left out. An answer
        that comes later is still taken.
        """
        seconds = number_in(seconds, "The 'seconds' of expire()", high=_LONGEST, ends=True)
        now, lease = datetime.now(UTC), timedelta(seconds=seconds)
        with self._current() as ledger:
            if not ledger.held_outside(now - lease, now + lease, people):
                return 0  # nearly always, and nobody has to wait
        with self._writing() as log:
            late = self._ledger.held_outside(now - lease, now + lease, people)
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
        own: bool = False,
        key: str | None = None,
    ) -> int:
        """Take labels: a mapping from id to class name, a file, or a frame with the columns id and label.

        They are on disk when this returns. A second label by the same person replaces the first, which stays in the
        log; with `overlap=1`, a label by anybody else replaces it too. If one label cannot be taken, none is.
        `adopt=True` takes labels of items that were never asked for: see the documentation for the effect on the
        guarantees. `own=True` takes only labels of items that this person has, had or labelled, and that were not
        withdrawn since: for a server, whose callers may name any item. A call that is sent again with the same `key` is
        not taken twice. A label "(skip)" or "(skip: reason)" that is not a class does what `skip` does. Returns the
        number of labels and skips.
        """
        self._check_name("tell", annotator)
        return self._answer(self._labels(labels, annotator, note, key, adopt=adopt), adopt=adopt, own=own, key=key)

    def tell_each(
        self,
        labels: Mapping[Who, Mapping[Any, Any]],
        skips: Mapping[Who, Sequence[Any]] | None = None,
        *,
        reason: str = "unclear",
        adopt: bool = False,
    ) -> int:
        """Take the answers that several people gave elsewhere, by person. If one answer cannot be taken, none is.

        `skips` are the items that each person could not answer, with the reason. Returns the number of answers.
        """
        new = [
            Event("label", str(item), label=str(name), annotator=who)
            for who, given in labels.items()
            for item, name in given.items()
        ]
        new += [Event("skip", str(i), annotator=who, note=reason) for who, ids in (skips or {}).items() for i in ids]
        for event in new:
            self._check_name(_CALLS[event.kind], event.annotator)
        if adopt:
            self.look_up([event.item for event in new])
        return self._answer(new, adopt=adopt)

    def decide(
        self,
        labels: Labels,
        *,
        annotator: str | None = None,
        note: str | None = None,
        adopt: bool = False,
        key: str | None = None,
    ) -> int:
        """Take the owner's decision, which is valid whatever people answer. A second decision replaces the first."""
        rows = said(labels)
        if adopt:
            self.look_up([row.item for row in rows])
        given = checked(rows, self.pool).items()
        new = [Event("decide", item, label=name, annotator=annotator, note=note, key=key) for item, name in given]
        return self._answer(new, adopt=adopt, key=key)

    def skip(
        self,
        ids: Sequence[Any],
        *,
        reason: str = "unclear",
        annotator: str | None = None,
        own: bool = False,
        key: str | None = None,
    ) -> int:
        """Record that a person cannot answer, and why, such as "not in the list". Returns the number of items.

        A skip takes the person's place among those asked. Unless the others settle it without them, the item waits for
        the owner and stays pending: left out, hard items would make the classifier look better than it is. `own` is as
        in `tell`.
        """
        self._check_name("skip", annotator)
        return self._answer(self._skips(ids, reason, annotator, key), own=own, key=key)

    # --- taking back

    def retract(self, ids: Sequence[Any], *, annotator: str | None = None, key: str | None = None) -> int:
        """Take back a person's own answers, labels and skips. They can then answer the items again.

        Returns the number of items. `withdraw` takes back whole items.
        """
        self._check_name("retract", annotator)
        wanted, items = self._wanted("retract", ids)
        with self._writing() as log:
            new = [Event("retract", item, annotator=annotator, key=key) for item in wanted]
            if not self._repeated(log, key, new):
                answered = self._ledger.answered.get(annotator, {})
                if other := [item for item in items if item not in answered]:
                    lost = other[0] in self._ledger.lost.get(annotator, ())
                    why = "it was withdrawn" if lost else f"{annotator or 'nobody without a name'} has not answered it"
                    first = self._id(other[0])
                    raise LabelError(f"cannot retract {first!r}: {why}. Nothing was changed.", items=[first])
                log.append(new)
        return len(wanted)

    def withdraw(self, ids: Sequence[Any], *, annotator: str | None = None, note: str | None = None) -> int:
        """Take back requests that will not be answered, or labels that were wrong: the items can be asked again.

        It takes back everything about these items: everybody's requests, labels and skips, and the owner's decision.
        The log keeps what was withdrawn. Withdrawing items because they are hard to label makes the rest look easier
        than the pool is. Returns the number of items.
        """
        wanted, items = self._wanted("withdraw", ids)
        with self._writing() as log:
            if free := [item for item in items if self._ledger.is_free(item)]:
                raise LabelError(
                    f"cannot withdraw {self._id(free[0])!r}: it is neither pending nor labelled. Nothing was changed.",
                    items=[self._id(item) for item in free],
                )
            log.append([Event("withdraw", item, annotator=annotator, note=note) for item in wanted])
        return len(wanted)

    def withdraw_person(self, person: str, *, annotator: str | None = None, note: str | None = None) -> int:
        """Take back everything that one person has said or holds, and nothing of anybody else.

        For somebody who labelled at random, or misunderstood the task. Their items are asked of others before any new
        ones, so no item is left out. The log keeps what was taken back, and who did it. Returns the number of items.
        """
        self._check_name("withdraw_person", person)
        why = ": ".join(filter(None, (f"taken back by {annotator or 'the owner'}", note)))
        with self._writing() as log:
            said, held = [*self._ledger.answered.get(person, ())], [*self._ledger.held.get(person, ())]
            if not said and not held:
                raise LabelError(f"{person!r} has no answers and no open items here. Nothing was changed.")
            new = [Event("retract", self._id(item), annotator=person, note=why) for item in said]
            # A retracted item is with its person again, until it is taken from them too.
            new += [Event("expire", self._id(item), annotator=person, note=why) for item in [*said, *held]]
            log.append(new)
        return len(said) + len(held)

    # --- inside

    def new_ledger(self, cells: Cells | None = None) -> Ledger:
        """A ledger that has read nothing yet, of these cells or of those in which items are asked for."""
        metric, overlap = self.spec.task.metric, self.spec.overlap
        return Ledger(self.pool, metric, cells or self._cells, overlap, self.name, self._askers.reads)

    def _stocked(self, n: int, call: Callable[[], T]) -> T:
        """Do something that hands out up to n items; if the queue of a group runs low, name more items, and again."""
        if self.pool.reserve is not None and self.pool.content is not None:
            with self._current() as ledger:
                soon = ledger.next_rows()[:n]
            self.shown(soon)  # read now, and not while others wait for the log
        while True:
            rows = self.pool.rows
            try:
                return call()
            except RunsLow as low:
                self._restock(low.group, n, rows)

    def _restock(self, group: int, n: int, rows: int) -> None:
        """Name more items of a group of asking than the queue has now. The table is read while others can go on."""
        with self._restocking:
            if self.pool.rows > rows:
                return  # another thread has done it
            before = self.pool.reserve
            assert before is not None
            units = np.flatnonzero(self._asking.group[: before.units] == group)
            _, starts = before.queue(self._asking.group, len(self._asking))
            queued = int(starts[group + 1] - starts[group])
            self._grow(self._supply.more(self.whole, units, 2 * queued + n + _SPARE))
            after = self.pool.reserve
            if after is None or (self.pool.rows == rows and np.array_equal(after.reach, before.reach)):
                gone = self._asking.names[group]
                raise StoreError(f"{self.pool.source} has no more items of {gone!r}, though it had. Was it changed?")

    def look_up(self, ids: Sequence[Any]) -> None:
        """Name items of a table that nobody asked for, so that labels of them can be told with `adopt`.

        Unknown ids are left out. Where every row of the pool is an item, there is nothing to do.
        """
        if self.pool.reserve is None:
            return
        wanted = list(dict.fromkeys(str(item) for item in ids))
        strangers = [item for item, known in zip(wanted, self.pool.has(wanted).tolist(), strict=True) if not known]
        if strangers and (found := self._supply.look_up(self.whole, strangers)).items.num_rows:
            self._grow(found)

    def _grow(self, found: Named) -> None:
        """Store items that are to be named, and take the pool with them."""
        grown = self._store.grow_pool(self.whole.fingerprint, found.added_to)
        with self._lock:
            self._use_stored(grown)

    def _use_stored(self, stored: Pool) -> None:
        """Take the pool as it is stored now."""
        assert stored.reserve is not None and self.whole.reserve is not None  # noqa: PT018
        stored = replace(stored, reserve=replace(stored.reserve, link=self.whole.reserve.link))
        own = self.spec.of(stored)
        self._use(own, self.spec.partition(own), stored)

    def _catch_up(self) -> None:
        """Bring the ledger up to date. If somebody else has named items since, the pool is read again."""
        try:
            catch_up(self._ledger, self._store, self.name)
        except LabelError:
            stored = None if self.pool.reserve is None else self._store.pool(self.whole.fingerprint)
            if stored is None or stored.rows == self.whole.rows:
                raise
            self._use_stored(stored)
            catch_up(self._ledger, self._store, self.name)

    @contextmanager
    def _current(self) -> Iterator[Ledger]:
        """Give the ledger, up to date with the log, while no other thread can change it."""
        with self._lock:
            self._catch_up()
            yield self._ledger

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        """Give the log while nobody else can write to it; the ledger is up to date before and after."""
        with self._lock:
            if not self._ledger.seen or self._ledger.grows:
                self._catch_up()
            kept, log = self._ledger.seq, None
            try:
                with self._store.transaction(self.name, seen=self._ledger.seen) as log, self._askers.within(log):
                    self._ledger.read(log.events)
                    kept = self._ledger.seq
                    yield log
            except BaseException as error:
                if isinstance(error, UnsureError):
                    self._unsure = [] if log is None else log.added
                if self._ledger.seq > kept:  # it has read events that are not in the log: read the log anew
                    self._ledger, self._believed = self.new_ledger(), None
                raise
            self._ledger.read(log.added[self._ledger.seq - kept :])
            self._unsure = []
            keep(self._ledger, self._store, self.name)

    def _hand_out(self, log: Transaction, n: int, annotator: Who, *, again: bool, slack: float) -> Batch:
        """Open items of a person, if they come back, and then new ones, n in all; these are written to the log."""
        held = self._held([annotator])[:n] if again else Batch(())
        steps = self._chosen(log, annotator, n - len(held), slack) if len(held) < n else {}
        new = [Event("request", self._id(item), step=step, annotator=annotator) for item, step in steps.items()]
        times = [event.at for event in log.append(new)]
        asked = [
            self._request(item, step, annotator, at, content)
            for (item, step), at, content in zip(steps.items(), times, self._contents([*steps]), strict=True)
        ]
        return Batch((*held, *asked))

    def _held(self, people: Iterable[Who]) -> Batch:
        held = self._ledger.held
        rows = [(at, item, who) for who in people for item, at in held.get(who, {}).items() if self._is_ours(item)]
        rows.sort(key=lambda row: row[0] or datetime.min.replace(tzinfo=UTC))
        contents = self._contents([item for _, item, _ in rows])
        return Batch(
            tuple(
                self._request(item, self._ledger.votes[item].step, who, at, content)
                for (at, item, who), content in zip(rows, contents, strict=True)
            )
        )

    def _chosen(self, log: Transaction, annotator: Who, n: int, slack: float) -> dict[int, int]:
        """Up to n items to hand out next, and the step of asking that chose each."""
        ledger = self._ledger
        elsewhere = ledger.drawn.elsewhere
        # An item that another assessment has drawn needs another vote: no step of this one chose it.
        lacking = ledger.lacking(annotator, n)
        steps = {item: 0 if item in elsewhere else ledger.votes[item].step for item in lacking}
        if self._voting is not None and len(steps) < n:
            steps |= dict.fromkeys(self._voting.again(ledger, annotator, n - len(steps), slack), 0)
        while len(steps) < n:
            new = self._new_items(n - len(steps), slack)
            # What other assessments know need not be asked again: it is drawn here too, and handed to nobody.
            known = {item: step for item, step in new.items() if item in ledger.votes}
            ledger.read(log.append([event for item, step in known.items() for event in self._drawn_too(item, step)]))
            steps |= {item: step for item, step in new.items() if item not in known}
            if not known:
                break
        return steps if self._voting is None else self._with_gold(annotator, steps)

    def _with_gold(self, annotator: Who, steps: dict[int, int]) -> dict[int, int]:
        """Put gold items in the place of some, where nobody can tell them from the others."""
        assert self._voting is not None
        mixed: dict[int, int] = {}
        for turn, (item, step) in enumerate(steps.items()):
            gold = self._voting.gold_for(self._ledger, annotator, turn)
            if gold is None or gold in mixed or gold in steps:
                mixed[item] = step
            else:
                # What was to be asked comes later: it was drawn, but is written to the log only when it is handed out.
                mixed[gold] = GOLD
        return mixed

    def _drawn_too(self, item: int, step: int) -> list[Event]:
        """The events for an item that was drawn, and is handed to nobody: a request that ends at once."""
        asker = self._ledger.votes[item].asker
        who = "known" if asker is None else f"known from {asker!r}"
        return [Event("request", self._id(item), step=step, note=who), Event("expire", self._id(item), note=who)]

    def _is_ours(self, item: int) -> bool:
        """Whether an item was drawn here, or by an assessment whose items count here."""
        asker = self._ledger.votes[item].asker
        return asker is None or self._ledger.drawn.reads(asker)

    def _new_items(self, n: int, slack: float) -> dict[int, int]:
        """Up to n free items, and the step of asking that chose each.

        A step may name several groups. With slack, the items of a whole step are drawn at once and handed out one
        after the other, until the belief is computed anew or somebody else has asked.
        """
        ledger, uses_belief = self._ledger, self.spec.policy.uses_belief
        # For a policy that does not use the belief, nothing is fitted.
        believed = self._believe(ledger, slack) if uses_belief else None
        drawn = {i: step for i, step in self._drawn.items() if step >= ledger.drawn.step and ledger.is_free(i)}
        if len(drawn) < n or not slack:
            belief = self._prior.blank() if believed is None else believed.belief
            unseen = None if believed is None else believed.unseen(ledger)
            # No more than will be asked for before the belief is computed anew.
            most = max(n, min(self.spec.task.plays, int(slack * ledger.labelled)))
            drawn = choose(self.spec, self._cells, self._askable, belief, ledger, most, unseen)
        taken = dict(islice(drawn.items(), n))
        self._drawn = {item: step for item, step in drawn.items() if item not in taken} if slack else {}
        return taken

    @property
    def _fits(self) -> bool:
        """Whether choosing items takes a model of all labels, which is costly."""
        return self.spec.policy.uses_belief and self.spec.prior.uses_items

    @property
    def _prior(self) -> Prepared:
        """The prior prepared for the assessment's own cells and for all who drew items, when it is first needed."""
        drawn = self._ledger.drawn
        askers = (*drawn.askers, *([self.name] if drawn.step else [])) if drawn.elsewhere else ()
        if askers not in self._priors:
            self._priors = {askers: self.prepared(self._cells)}
        return self._priors[askers]

    def prepared(self, cells: Cells) -> Prepared:
        """The prior prepared for cells of the assessment's own groups, and for the groups of others who drew items."""
        asked = self._askers.asked(self._ledger)
        read = self.spec.prior.across(cells, self.spec.target, *asked) if asked else None
        return read or self.spec.prior.on(cells, self.spec.target)

    def _believe(self, ledger: Ledger, slack: float = 0.0) -> _Believed:
        """The belief about the assessment's own cells, kept until more than a share of the labels is new."""
        believed = self._believed
        changes = ledger.changes if self._voting is None else ledger.events  # a second vote tells something as well
        if self._voting is not None and slack and believed is not None and self._voting.knows_enough(ledger, slack):
            return believed
        if believed is None or abs(changes - believed.changes) > slack * ledger.labelled:
            belief = self._believed_from(ledger, slack)
            believed = _Believed(changes, belief, belief.counts.sum(axis=1))
            self._believed, self._drawn = believed, {}
        return believed

    def _believed_from(self, ledger: Ledger, slack: float) -> Belief:
        """The belief about the assessment's own cells, from labels as they are or as they may be."""
        if self._voting is None:
            return self._prior.belief(ledger.outcomes(items=self.spec.prior.uses_items))
        imputed, metric = self._voting.told(ledger, slack).imputed, self.spec.task.metric
        each = [metric.outcomes(self.pool, self._cells, imputed.items, true) for true in imputed.labels]
        return NoisyBelief.of([self._prior.belief(outcomes) for outcomes in each])

    def _labels(
        self, labels: Labels, annotator: Who, note: str | None, key: str | None, *, adopt: bool = False
    ) -> list[Event]:
        """Labels as events; those that are the mark of a skip as skips."""
        new, rows = [], said(labels)
        if adopt:
            self.look_up([row.item for row in rows])
        for item, name in checked(rows, self.pool, skips=True).items():
            if reason := skip_reason(name, self.pool.choices):
                new.append(Event("skip", item, annotator=annotator, note=reason, key=key))
            else:
                new.append(Event("label", item, label=name, annotator=annotator, note=note, key=key))
        return new

    def _skips(self, ids: Sequence[Any], reason: str, annotator: Who, key: str | None) -> list[Event]:
        if not isinstance(reason, str) or not reason.strip():
            raise InputError("skip() needs a reason, such as 'unclear' or 'not in the list'.")
        wanted, _ = self._wanted("skip", ids)
        return [Event("skip", item, annotator=annotator, note=reason, key=key) for item in wanted]

    def _answer(self, new: list[Event], *, adopt: bool = False, own: bool = False, key: str | None = None) -> int:
        """Append answers to the log, all or none, unless they were sent before; returns their number."""
        items = self._checked_items(new)
        with self._writing() as log:
            if not self._repeated(log, key, new):
                self._check_answers(new, items, adopt=adopt, own=own)
                log.append(new)
        return len(new)

    def _checked_items(self, new: list[Event]) -> list[int]:
        """The positions of the items of answers, if they and their classes exist."""
        self.pool.class_positions(event.label for event in new if event.label is not None)
        items: list[int] = self.pool.positions(event.item for event in new).tolist()
        return items

    def _check_answers(self, new: list[Event], items: list[int], *, adopt: bool = False, own: bool = False) -> None:
        if own:
            self._check_own(new, items)
        else:
            self._check_asked(new, items, adopt=adopt)

    def _repeated(self, log: Transaction, key: str | None, new: list[Event]) -> bool:
        """Whether these events were sent before with the same key, and are in the log already."""
        if self._unsure and _told(self._unsure) == _told(new) and log.has(self._unsure[-1]):
            return True  # the connection was lost after they were written, and before that could be said
        if key is None or not (before := log.keyed(key)):
            return False
        if _told(before) != _told(new):
            raise LabelError(f"the key {key!r} was used for something else. Nothing was changed. Use a new key.")
        return True

    def _wanted(self, call: str, ids: Sequence[Any]) -> tuple[list[str], list[int]]:
        """Ids as texts, each once, and their positions in the pool."""
        if isinstance(ids, (str, bytes)):
            raise InputError(f"{call}() takes a list of ids. Got the text {ids!r}; write [{ids!r}] instead.")
        wanted = list(dict.fromkeys(str(item) for item in ids))
        return wanted, self.pool.positions(wanted).tolist()

    def _check_asked(self, new: list[Event], items: list[int], *, adopt: bool) -> None:
        asked = self._ledger.asked
        strangers = [
            event
            for event, item in zip(new, items, strict=True)
            if not asked[item] and not (adopt and event.label is not None)
        ]
        if strangers:
            ids = [event.item for event in strangers]
            call, were = _CALLS[strangers[0].kind], "it was" if len(strangers) == 1 else "they were"
            what: tuple[Part, ...] = (
                ", or pass ",
                Argument("adopt", value=True),
                " to take labels collected elsewhere.",
            )
            raise LabelError(
                f"cannot {call} {listed(ids, MOST_NAMED)}: {were} never asked for. Nothing was changed. Ask first",
                *(what if strangers[0].kind != "skip" else (".",)),
                items=ids,
            )

    def _check_own(self, new: list[Event], items: list[int]) -> None:
        for event, item in zip(new, items, strict=True):
            who = event.annotator
            if not self._ledger.was_handed(item, who):
                lost = item in self._ledger.lost.get(who, ())
                why = f"withdrawn after {who} got it, so it needs no answer now" if lost else f"not handed to {who}"
                raise LabelError(
                    f"cannot {_CALLS[event.kind]} {event.item!r}: it was {why}. Nothing was changed.",
                    items=[event.item],
                )
        if any(event.kind == "skip" for event in new):
            self._check_skips(new)

    def _check_skips(self, new: list[Event]) -> None:
        """Refuse skips of somebody who has skipped very much: every skipped item waits for the owner."""
        for who in {event.annotator for event in new if event.kind == "skip"}:
            skipped = [
                item
                for item in self._ledger.answered.get(who, ())
                if self._ledger.votes[item].given[who].true < 0 and self._ledger.true[item] < 0
            ]
            now = sum(event.kind == "skip" and event.annotator == who for event in new)
            if len(skipped) + now > _MOST_SKIPS:
                raise LabelError(
                    f"{who} has skipped {len(skipped):,} items that wait for the owner's decision, and at most "
                    f"{_MOST_SKIPS:,} can wait. Nothing was changed. Ask the owner to decide some of them first.",
                    items=[event.item for event in new],
                )

    def _check_name(self, call: str, annotator: str | None) -> None:
        if annotator is not None and (not isinstance(annotator, str) or not annotator.strip()):
            raise InputError(f"The 'annotator' of {call}() must be a name. Got {annotator!r} instead.")
        if annotator is None and self.spec.overlap > 1:
            raise InputError(
                f"{self.spec.overlap} different people are asked about each item here, so {call}() needs a name: ",
                Call(call, (Argument("annotator", "ann"),)),
                ".",
            )

    def _id(self, item: int) -> str:
        return str(self.pool.ids[int(item)].as_py())

    def shown(self, items: Sequence[int], names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Some columns of items, by their positions; the content if no columns are named."""
        if names is None:
            names = [self.pool.content] if self.pool.content is not None else []
        if not names or not len(items):
            return [{} for _ in items]
        if self.pool.reserve is not None:
            return self._supply.columns(self.pool, items, names, self._ledger.next_rows())
        rows = column_of(np.array(items, dtype=np.int64))
        columns = [self.pool.column(name).take(rows).to_pylist() for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def _contents(self, items: Sequence[int]) -> list[Any]:
        """What annotators look at, or None, for each of some items."""
        return [next(iter(one.values()), None) for one in self.shown(items)]

    def _request(self, item: int, step: int, annotator: str | None, at: datetime | None, content: Any) -> Request:
        group = self.groups.names[self.groups.group[item]]
        step = self._ledger.drawn.step + 1 if step == GOLD else step  # it looks like any other
        why = f"step {step} of {type(self.spec.policy).__name__}" if step else "another vote"
        if is_anchor(self.spec.seed, step, self.spec.anchor):
            why = f"step {step}, at random from all"
        return Request(self._id(item), group, why, content, annotator, at)


def _told(events: list[Event]) -> set[tuple[Kind, str, str | None, str | None]]:
    return {(event.kind, event.item, event.label, event.annotator) for event in events}
