"""The half of an assessment that people work with: asking for items and telling labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from fewlabels.checks import number_in, several, whole_number
from fewlabels.labelling.allowed import check_name
from fewlabels.labelling.answering import Answers, Sent
from fewlabels.labelling.choosing import Chooser
from fewlabels.labelling.handing_out import Requests
from fewlabels.labelling.record import Record
from fewlabels.labelling.stock import Stock

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from fewlabels.io.labels import Labels
    from fewlabels.labelling.batch import Batch
    from fewlabels.labelling.beliefs import Beliefs
    from fewlabels.labelling.journal import Journal
    from fewlabels.labelling.supply import Supply
    from fewlabels.labelling.votes import Who

_LONGEST = 1e9  # seconds; about thirty years, which the calendar can represent


class Labelling(Record):
    """Requests and answers, on top of what the log shows. `Assessment` adds the results.

    Parameters
    ----------
    journal
        The log, and what the assessment is about.
    beliefs
        What is believed while items are chosen.
    supply
        Access to the table in which the items stay, if they do.
    shared
        Whether somebody else closes the store.
    """

    def __init__(self, journal: Journal, beliefs: Beliefs, supply: Supply, *, shared: bool = False) -> None:
        super().__init__(journal, Stock(journal, supply))
        self._supply, self._shared = supply, shared
        self._answers = Answers(journal, self._stock)
        self._requests = Requests(journal, self._stock, Chooser(journal, beliefs, self._stock), self._answers)

    def close(self) -> None:
        """Close the database, unless it was passed in open. `with load("audit.db") as audit:` does it at the end."""
        self._supply.close()
        if not self._shared:
            self._journal.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # --- asking

    def ask(self, n: int = 1, *, annotator: str | None = None, again: bool = False, slack: float = 0.0) -> Batch:
        """Choose n items to label next. Fewer items, or none, come back when the groups run out.

        Items that need more votes and that this person has not seen come first: those with `overlap`, and those whose
        request expired. New items follow. Pending items count as if they had been answered as expected, so a batch
        spreads over the groups. If a step is about several groups (the m worst) and fewer items are wanted, they come
        from a random part of these groups. With `again`, items that this person holds and has not answered come first
        and count towards n, for somebody who comes back. `slack` is for a server, where labels come in all the time:
        with 0.05, the belief is recomputed after 5% more labels, and until then a new label counts for its own group
        only.
        """
        n = whole_number(n, "The 'n' of ask()")
        number_in(slack, "The 'slack' of ask()", ends=True, hint="such as 0.05")
        check_name(self.spec, "ask", annotator)
        return self._requests.ask(n, annotator, again=again, slack=slack)

    def tell_and_ask(
        self,
        labels: Labels,
        n: int,
        *,
        skips: Iterable[Any] = (),
        reason: str = "unclear",
        annotator: str | None = None,
        note: str | None = None,
        own: bool = False,
        key: str | None = None,
        slack: float = 0.0,
    ) -> tuple[int, Batch]:
        """Take answers as `tell` and `skip` do, and hand out what `ask(n, again=True)` does, in one transaction.

        Returns the number of answers, and the items. Answers that were sent before with this key are not taken twice,
        but the items are handed out anyway. Where items stay in a table, the answers are written before it is read. If
        it cannot be read then, the batch is empty and its `trouble` says why.
        """
        n = whole_number(n, "The 'n' of tell_and_ask()")
        new = self._answers.labels(labels, annotator, note, key)
        new += self._answers.skips(skips, reason, annotator, key)
        return self._requests.tell_and_ask(Sent(new, key, own=own), n, annotator, slack)

    def held(self, annotator: str | None = None) -> Batch:
        """The open requests of one person, or of everybody, oldest first: for somebody who comes back."""
        return self._requests.held(annotator)

    def expire(self, seconds: float, *, people: Collection[str] | None = None) -> int:
        """Take back requests older than this many seconds, from these people or from all; return how many.

        The items are handed out again before any new one, so items that people put aside are not left out. An answer
        that comes later is still taken.
        """
        seconds = number_in(seconds, "The 'seconds' of expire()", high=_LONGEST, ends=True)
        people = None if people is None else several(people, "The 'people' of expire()")
        return self._requests.expire(seconds, people)

    # --- answering

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
        withdrawn since: for a server, whose callers may name any item. A call repeated with the same `key` counts once.
        A label "(skip)" or "(skip: reason)" that is not a class does what `skip` does. Returns the number of labels and
        skips.
        """
        new = self._answers.labels(labels, annotator, note, key, adopt=adopt)
        return self._answers.take(Sent(new, key, adopt, own))

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
        return self._answers.take(Sent(self._answers.of_each(labels, skips or {}, reason, adopt=adopt), adopt=adopt))

    def decide(
        self,
        labels: Labels,
        *,
        annotator: str | None = None,
        note: str | None = None,
        adopt: bool = False,
        key: str | None = None,
    ) -> int:
        """Record the owner's decision, which counts whatever people answered. A second decision replaces the first."""
        return self._answers.take(Sent(self._answers.decisions(labels, annotator, note, key, adopt=adopt), key, adopt))

    def skip(
        self,
        ids: Iterable[Any],
        *,
        reason: str = "unclear",
        annotator: str | None = None,
        own: bool = False,
        key: str | None = None,
    ) -> int:
        """Record that a person cannot answer, and why, such as "not in the list". Returns the number of items.

        A skip counts as that person's turn. Unless the others settle the item, it waits for the owner and stays
        pending: if hard items were left out, the classifier would look better than it is. `own` is as in `tell`.
        """
        return self._answers.take(Sent(self._answers.skips(ids, reason, annotator, key), key, own=own))

    def retract(self, ids: Iterable[Any], *, annotator: str | None = None, key: str | None = None) -> int:
        """Take back a person's own answers, labels and skips. They can then answer the items again.

        Returns the number of items. `withdraw` takes back whole items.
        """
        return self._answers.retract(ids, annotator, key)

    def withdraw(self, ids: Iterable[Any], *, annotator: str | None = None, note: str | None = None) -> int:
        """Take back requests that will not be answered, or labels that were wrong: the items can be asked again.

        It takes back everything about these items: everybody's requests, labels and skips, and the owner's decision.
        The log keeps what was withdrawn. Withdrawing items because they are hard to label makes the rest look easier
        than the pool is. Returns the number of items.
        """
        return self._answers.withdraw(ids, annotator, note)

    def withdraw_person(self, person: str, *, annotator: str | None = None, note: str | None = None) -> int:
        """Take back everything that one person has answered or holds, and nothing else.

        For somebody who labelled at random, or misunderstood the task. Other people are asked about these items before
        any new ones, so no item is left out. The log keeps what was taken back, and who did it. Returns the number of
        items.
        """
        return self._answers.withdraw_person(person, annotator, note)

    # --- items

    def look_up(self, ids: Iterable[Any]) -> None:
        """Name items of a table that nobody asked for, so that labels of them can be told with `adopt`.

        Unknown ids are left out. Where every row of the pool is an item, there is nothing to do.
        """
        self._stock.look_up(ids)

    def shown(self, items: Sequence[int], names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Some columns of items, by their positions; the content if no columns are named."""
        return self._stock.shown(items, names)

    def item(self, item: str, *, columns: Sequence[str] | None = None) -> dict[str, Any]:
        """The parts of an item that an annotator may see, by column: its content, or the columns named.

        A content that is a card of several columns is shown as these columns.

        They never include the prediction, its scores, or a column that defines the groups.
        """
        return self._stock.card(item, None if columns is None else several(columns, "The 'columns' of item()"))
