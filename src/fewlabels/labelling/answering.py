"""Answers, and taking them back: all events of a call are written to the log in one transaction, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fewlabels.checks import several
from fewlabels.errors import InputError, LabelError
from fewlabels.io.labels import checked, labelled_rows, skip_reason
from fewlabels.io.spellings import written
from fewlabels.labelling.allowed import check_asked, check_name, check_own
from fewlabels.labelling.notes import TAKEN_BACK
from fewlabels.store import Event

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fewlabels.io.labels import Labels
    from fewlabels.labelling.journal import Journal, Page
    from fewlabels.labelling.stock import Stock
    from fewlabels.labelling.votes import Who
    from fewlabels.spec import Spec
    from fewlabels.store import Kind, Transaction


class Sent(NamedTuple):
    """Answers as they were sent, and the conditions under which they are taken.

    Parameters
    ----------
    events
        The answers.
    key
        The sender's name for this call, by which it is recognised if it is sent again.
    adopt
        Whether labels of items that were never asked for are taken.
    own
        Whether only answers about items that the person has, had or labelled are taken.
    """

    events: list[Event]
    key: str | None = None
    adopt: bool = False
    own: bool = False


class Answers:
    """Takes answers, and takes them back.

    Parameters
    ----------
    journal
        Where they are written to.
    stock
        The items.
    """

    def __init__(self, journal: Journal, stock: Stock) -> None:
        self._journal, self._stock = journal, stock

    # --- what was sent, as events

    def labels(
        self, labels: Labels, annotator: Who, note: str | None, key: str | None, *, adopt: bool = False
    ) -> list[Event]:
        """Turn labels into events; a label such as (skip) becomes a skip."""
        check_name(self._spec, "tell", annotator)
        new, rows = [], labelled_rows(labels)
        if adopt:
            self._stock.look_up([row.item for row in rows])
        pool = self._journal.pool_with(row.item for row in rows)
        for item, name in checked(rows, pool, skips=True).items():
            if reason := skip_reason(name, pool.choices):
                new.append(Event("skip", item, annotator=annotator, note=reason, key=key))
            else:
                new.append(Event("label", item, label=name, annotator=annotator, note=note, key=key))
        return new

    def skips(self, ids: Iterable[Any], reason: str, annotator: Who, key: str | None) -> list[Event]:
        """Skips as events."""
        check_name(self._spec, "skip", annotator)
        if not isinstance(reason, str) or not reason.strip():
            raise InputError("skip() needs a reason, such as 'unclear' or 'not in the list'.")
        wanted, _ = self._wanted("skip", ids)
        return [Event("skip", item, annotator=annotator, note=reason, key=key) for item in wanted]

    def of_each(
        self, labels: Mapping[Who, Mapping[Any, Any]], skips: Mapping[Who, Sequence[Any]], reason: str, *, adopt: bool
    ) -> list[Event]:
        """The answers of several people as events."""
        new = [event for who, given in labels.items() for event in self.labels(given, who, None, None, adopt=adopt)]
        return new + [event for who, ids in skips.items() for event in self.skips(ids, reason, who, None)]

    def decisions(
        self, labels: Labels, annotator: Who, note: str | None, key: str | None, *, adopt: bool
    ) -> list[Event]:
        """The owner's decisions as events."""
        rows = labelled_rows(labels)
        if adopt:
            self._stock.look_up([row.item for row in rows])
        given = checked(rows, self._journal.pool_with(row.item for row in rows)).items()
        return [Event("decide", item, label=name, annotator=annotator, note=note, key=key) for item, name in given]

    # --- taking them

    def take(self, sent: Sent) -> int:
        """Append answers to the log, all or none, unless they were sent before; returns their number."""
        items = self.positions(sent)
        with self._journal.writing() as page:
            self.write(sent, items, page)
        return len(sent.events)

    def positions(self, sent: Sent) -> list[int]:
        """The positions of the items of answers, if they and their classes exist."""
        self._journal.subject.pool.class_positions(event.label for event in sent.events if event.label is not None)
        ids = [event.item for event in sent.events]
        items: list[int] = self._journal.pool_with(ids).positions(ids).tolist()
        return items

    def write(self, sent: Sent, items: list[int], page: Page) -> list[Event]:
        """Append answers about items, by their positions, to an open log; returns what was appended."""
        if self._is_repeated(page.log, sent.key, sent.events):
            return []
        if sent.own:
            check_own(page.ledger, sent.events, items)
        else:
            check_asked(page.ledger, sent.events, items, adopt=sent.adopt)
        return page.log.append(sent.events)

    # --- taking them back

    def retract(self, ids: Iterable[Any], annotator: Who, key: str | None) -> int:
        """Take back a person's own answers; returns the number of items."""
        check_name(self._spec, "retract", annotator)
        wanted, items = self._wanted("retract", ids)
        with self._journal.writing() as (log, ledger):
            new = [Event("retract", item, annotator=annotator, key=key) for item in wanted]
            if not self._is_repeated(log, key, new):
                answered = ledger.answered.get(annotator, {})
                if other := [item for item in items if item not in answered]:
                    lost = other[0] in ledger.lost.get(annotator, ())
                    who = f"{annotator} has not answered it" if annotator else "it has no answer without a name"
                    why = "it was withdrawn" if lost else who
                    first = self._stock.id(other[0])
                    raise LabelError(f"cannot retract {first!r}: {why}. Nothing was changed.", items=[first])
                log.append(new)
        return len(wanted)

    def withdraw(self, ids: Iterable[Any], annotator: Who, note: str | None) -> int:
        """Take back everything about some items; returns their number."""
        wanted, items = self._wanted("withdraw", ids)
        with self._journal.writing() as (log, ledger):
            if free := [self._stock.id(item) for item in items if ledger.is_free(item)]:
                raise LabelError(
                    f"cannot withdraw {free[0]!r}: it is neither pending nor labelled. Nothing was changed.", items=free
                )
            log.append([Event("withdraw", item, annotator=annotator, note=note) for item in wanted])
        return len(wanted)

    def withdraw_person(self, person: str, annotator: Who, note: str | None) -> int:
        """Take back everything that one person has said or holds; returns the number of items."""
        check_name(self._spec, "withdraw_person", person)
        why = ": ".join(filter(None, (f"{TAKEN_BACK} {annotator or 'the owner'}", note)))
        with self._journal.writing() as (log, ledger):
            answered, held = [*ledger.answered.get(person, ())], [*ledger.held.get(person, ())]
            if not answered and not held:
                raise LabelError(f"{person!r} has no answers and no open items here. Nothing was changed.")
            new = [Event("retract", self._stock.id(item), annotator=person, note=why) for item in answered]
            # A retracted item is with its person again, until it is taken from them too.
            new += [Event("expire", self._stock.id(item), annotator=person, note=why) for item in [*answered, *held]]
            log.append(new)
        return len(answered) + len(held)

    # --- inside

    @property
    def _spec(self) -> Spec:
        return self._journal.subject.spec

    def _is_repeated(self, log: Transaction, key: str | None, new: list[Event]) -> bool:
        """Whether these events were sent before with the same key, and are in the log already."""
        unsure = self._journal.unsure
        # The items that `tell_and_ask` handed out in the same call are not part of the answers.
        answers = [event for event in unsure if event.kind not in ("request", "expire")]
        if unsure and _told(answers) == _told(new) and log.has(unsure[-1]):
            return True  # the connection was lost after they were written, but before anybody was told
        if key is None or not (before := log.keyed(key)):
            return False
        if _told(before) != _told(new):
            raise LabelError(f"the key {key!r} was used for something else. Nothing was changed. Use a new key.")
        return True

    def _wanted(self, call: str, ids: Iterable[Any]) -> tuple[list[str], list[int]]:
        """Ids as texts, each once, and their positions in the pool."""
        wanted = list(dict.fromkeys(map(written, several(ids, f"The 'ids' of {call}()"))))
        return wanted, self._journal.pool_with(wanted).positions(wanted).tolist()


def _told(events: list[Event]) -> set[tuple[Kind, str, str | None, str | None]]:
    return {(event.kind, event.item, event.label, event.annotator) for event in events}
