"""Answers, and taking them back: all events of a call are written to the log in one transaction, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fewlabels.errors import InputError, LabelError
from fewlabels.io.labels import checked, said, skip_reason
from fewlabels.labelling.allowed import CALLS, check_asked, check_name, check_own
from fewlabels.labelling.choosing import Choosing
from fewlabels.store import Event

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from fewlabels.labelling.votes import Who
    from fewlabels.store import Kind, Transaction

    Labels = Mapping[Any, Any] | str | os.PathLike[str] | Any


class Answering(Choosing):
    """The calls with which people answer, and with which answers are taken back."""

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
        """Take labels: a mapping from id to class name, a file, a frame with the columns id and label, or a Series.

        They are on disk when this returns. A second label by the same person replaces the first, which stays in the
        log; with `overlap=1`, a label by anybody else replaces it too. If one label cannot be taken, none is.
        `adopt=True` takes labels of items that were never asked for: see the documentation for the effect on the
        guarantees. `own=True` takes only labels of items that this person has, had or labelled, and that were not
        withdrawn since: for a server, whose callers may name any item. A call that is sent again with the same `key` is
        not taken twice. A label "(skip)" or "(skip: reason)" that is not a class does what `skip` does. Returns the
        number of labels and skips.
        """
        check_name(self.spec, "tell", annotator)
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
            check_name(self.spec, CALLS[event.kind], event.annotator)
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
        check_name(self.spec, "skip", annotator)
        return self._answer(self._skips(ids, reason, annotator, key), own=own, key=key)

    # --- taking back

    def retract(self, ids: Sequence[Any], *, annotator: str | None = None, key: str | None = None) -> int:
        """Take back a person's own answers, labels and skips. They can then answer the items again.

        Returns the number of items. `withdraw` takes back whole items.
        """
        check_name(self.spec, "retract", annotator)
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
        check_name(self.spec, "withdraw_person", person)
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
            check_own(self._ledger, new, items)
        else:
            check_asked(self._ledger, new, items, adopt=adopt)

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


def _told(events: list[Event]) -> set[tuple[Kind, str, str | None, str | None]]:
    return {(event.kind, event.item, event.label, event.annotator) for event in events}
