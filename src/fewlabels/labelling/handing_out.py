"""Handing out items: requests that are written to the log, with the answers that came before in one transaction."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from fewlabels.errors import PoolChangedError
from fewlabels.labelling.batch import Batch, Request
from fewlabels.labelling.drawn import GOLD
from fewlabels.labelling.supply import TableError
from fewlabels.policies.anchors import is_anchor
from fewlabels.store import Event

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from fewlabels.labelling.answering import Answers, Sent
    from fewlabels.labelling.choosing import Chooser
    from fewlabels.labelling.journal import Journal, Page
    from fewlabels.labelling.ledger import Ledger
    from fewlabels.labelling.stock import Stock
    from fewlabels.labelling.votes import Who


class Requests:
    """Hands out items, and takes back those that nobody answers.

    Parameters
    ----------
    journal
        Where requests are written to.
    stock
        The items, of which more may have to be named.
    chooser
        Chooses them.
    answers
        Takes answers, where the next items are asked for with them.
    """

    def __init__(self, journal: Journal, stock: Stock, chooser: Chooser, answers: Answers) -> None:
        self._journal, self._stock, self._chooser, self._answers = journal, stock, chooser, answers

    def ask(self, n: int, annotator: Who, *, again: bool, slack: float) -> Batch:
        """Hand out n items; with `again`, those that the person already has come first."""
        return self._stock.stocked(n, lambda: self._ask(n, annotator, again=again, slack=slack))

    def _ask(self, n: int, annotator: Who, *, again: bool, slack: float) -> Batch:
        if again or self._chooser.is_slow:
            with self._journal.reading() as ledger:
                held = self._held(ledger, [annotator])[:n] if again else ()
                if len(held) == n:
                    return Batch(held)  # nothing is written, so nobody has to wait
                self._chooser.prepare(slack)
        with self._journal.writing() as page:
            return self._hand_out(page, n, annotator, again=again, slack=slack)

    def tell_and_ask(self, sent: Sent, n: int, annotator: Who, slack: float) -> tuple[int, Batch]:
        """Take answers, and hand out n items in the same transaction: the choice knows the answers already.

        Where items stay in a table, the answers are taken first, since no answer may wait for a table. If the table
        cannot be read, the batch has `trouble` instead of items.
        """
        if self._journal.subject.pool.reserve is not None:
            taken = self._answers.take(sent)
            try:
                return taken, self.ask(n, annotator, again=True, slack=slack)
            except (TableError, PoolChangedError) as error:  # but not errors of the database
                return taken, Batch((), str(error))
        items = self._answers.positions(sent)
        if self._chooser.is_slow:
            with self._journal.looking():
                self._chooser.prepare(slack)
        with self._journal.writing() as page:
            page.ledger.read(self._answers.write(sent, items, page))
            return len(sent.events), self._hand_out(page, n, annotator, again=True, slack=slack)

    def held(self, annotator: Who = None) -> Batch:
        """The open requests of one person, or of everybody, oldest first."""
        with self._journal.reading() as ledger:
            return self._held(ledger, ledger.held if annotator is None else [annotator])

    def expire(self, seconds: float, people: Collection[str] | None) -> int:
        """Take back requests older than this many seconds, from these people or from all; returns how many."""
        now, lease = datetime.now(UTC), timedelta(seconds=seconds)
        with self._journal.reading() as ledger:
            if not ledger.held_outside(now - lease, now + lease, people):
                return 0  # nearly always, and nobody has to wait
        with self._journal.writing() as (log, ledger):
            late = ledger.held_outside(now - lease, now + lease, people)
            ran_out = "lease ran out"
            log.append([Event("expire", self._stock.id(item), annotator=who, note=ran_out) for who, item in late])
        return len(late)

    # --- inside

    def _hand_out(self, page: Page, n: int, annotator: Who, *, again: bool, slack: float) -> Batch:
        """The open items of a person who comes back, then new ones, n in all; the new ones are written to the log."""
        held = self._held(page.ledger, [annotator])[:n] if again else ()
        steps = self._chooser.chosen(page, annotator, n - len(held), slack) if len(held) < n else {}
        new = [Event("request", self._stock.id(item), step=step, annotator=annotator) for item, step in steps.items()]
        times = [event.at for event in page.log.append(new)]
        asked = [
            self._request(page.ledger, item, step, annotator, at, content)
            for (item, step), at, content in zip(steps.items(), times, self._stock.contents([*steps]), strict=True)
        ]
        return Batch((*held, *asked))

    def _held(self, ledger: Ledger, people: Iterable[Who]) -> Batch:
        rows = [
            (at, item, who) for who in people for item, at in ledger.held.get(who, {}).items() if _counts(ledger, item)
        ]
        rows.sort(key=lambda row: row[0] or datetime.min.replace(tzinfo=UTC))
        contents = self._stock.contents([item for _, item, _ in rows])
        return Batch(
            tuple(
                self._request(ledger, item, ledger.votes[item].step, who, at, content)
                for (at, item, who), content in zip(rows, contents, strict=True)
            )
        )

    def _request(
        self, ledger: Ledger, item: int, step: int, annotator: Who, at: datetime | None, content: Any
    ) -> Request:
        spec, groups = self._journal.subject.spec, self._journal.subject.groups
        step = ledger.drawn.step + 1 if step == GOLD else step  # it looks like any other
        why = f"step {step} of {type(spec.policy).__name__}" if step else "another vote"
        if is_anchor(spec.seed, step, spec.anchor):
            why = f"step {step}, at random from all"
        return Request(self._stock.id(item), groups.names[groups.group[item]], why, content, annotator, at)


def _counts(ledger: Ledger, item: int) -> bool:
    """Whether an item was drawn here, or by an assessment whose items count here."""
    asker = ledger.votes[item].asker
    return asker is None or ledger.drawn.reads(asker)
