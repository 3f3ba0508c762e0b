"""The half of an assessment that writes to the log: handing out items, and taking answers in the same transaction."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from fewlabels.checks import number_in, whole_number
from fewlabels.labelling.allowed import check_name
from fewlabels.labelling.answering import Answering
from fewlabels.labelling.batch import Batch, Request
from fewlabels.labelling.drawn import GOLD
from fewlabels.policies.anchors import is_anchor
from fewlabels.store import Event

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from fewlabels.io.labels import Labels
    from fewlabels.labelling.votes import Who
    from fewlabels.store import Transaction

_LONGEST = 1e9  # seconds; about thirty years, which the calendar can represent


class Labelling(Answering):
    """Requests and answers. `Record` adds what the log shows, and `Assessment` the results."""

    def ask(self, n: int = 1, *, annotator: str | None = None, again: bool = False, slack: float = 0.0) -> Batch:
        """Choose n items to label next. Fewer items, or none, come back when the groups run out.

        Items that lack votes and that this person has not seen come first: those of `overlap` people, and those whose
        request ran out. Then new ones. Pending items count as if they had been answered as expected, so a batch spreads
        itself. Where a step is about several groups (the m worst) and fewer items are wanted, they are a random part
        of the step's groups. With `again`, items that this person has and has not answered come first, and count
        towards n: for somebody who comes back. `slack` is the share of labels whose word about other groups the choice
        need not know yet: with 0.05, the belief is computed anew after 5% more labels, and until then a label counts
        for its own group alone. It is for a server, where labels come all the time.
        """
        n = whole_number(n, "The 'n' of ask()")
        check_name(self.spec, "ask", annotator)
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
        check_name(self.spec, "tell", annotator)
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

    # --- inside

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

    def _request(self, item: int, step: int, annotator: str | None, at: datetime | None, content: Any) -> Request:
        group = self.groups.names[self.groups.group[item]]
        step = self._ledger.drawn.step + 1 if step == GOLD else step  # it looks like any other
        why = f"step {step} of {type(self.spec.policy).__name__}" if step else "another vote"
        if is_anchor(self.spec.seed, step, self.spec.anchor):
            why = f"step {step}, at random from all"
        return Request(self._id(item), group, why, content, annotator, at)
