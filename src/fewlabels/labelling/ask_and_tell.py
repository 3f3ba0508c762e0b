"""The half of an assessment that people work with: asking for items, telling labels, and what the log shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fewlabels.arrow import texts_at
from fewlabels.checks import number_in, whole_number
from fewlabels.labelling import progress
from fewlabels.labelling.allowed import check_name
from fewlabels.labelling.answering import Answers, Sent
from fewlabels.labelling.choosing import Chooser
from fewlabels.labelling.handing_out import Requests
from fewlabels.labelling.promises import check_promise
from fewlabels.labelling.stock import Stock
from fewlabels.named import groups_from, metric_from

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.io.labels import Labels
    from fewlabels.labelling.agreement import Agreement
    from fewlabels.labelling.batch import Batch
    from fewlabels.labelling.beliefs import Beliefs
    from fewlabels.labelling.journal import Journal
    from fewlabels.labelling.past import Details
    from fewlabels.labelling.progress import Dispute
    from fewlabels.labelling.supply import Supply
    from fewlabels.labelling.votes import Who
    from fewlabels.metrics import Metric
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.spec import Spec
    from fewlabels.store import Event
    from fewlabels.table import Table

_LONGEST = 1e9  # seconds; about thirty years, which the calendar can represent


class Labelling:
    """Requests, answers, and the log. `Assessment` adds what is known from them.

    Parameters
    ----------
    journal
        The log, and what the assessment is about.
    beliefs
        What is believed while items are chosen.
    supply
        The way to the table in which items stay, if they do.
    shared
        Whether somebody else closes the store.
    """

    def __init__(self, journal: Journal, beliefs: Beliefs, supply: Supply, *, shared: bool = False) -> None:
        self._journal, self._supply, self._shared = journal, supply, shared
        self._stock = Stock(journal, supply)
        self._answers = Answers(journal, self._stock)
        self._requests = Requests(journal, self._stock, Chooser(journal, beliefs, self._stock), self._answers)

    @property
    def name(self) -> str:
        """The name of the assessment in its database."""
        return self._journal.subject.name

    @property
    def is_gone(self) -> bool:
        """Whether a call has found that the assessment was removed, or is another one by now: load it again."""
        return self._journal.is_gone

    @property
    def spec(self) -> Spec:
        """The definition: task, prior, policy and the rest."""
        return self._journal.subject.spec

    @property
    def pool(self) -> Pool:
        """The pool that the task is about: perhaps that of one model."""
        return self._journal.subject.pool

    @property
    def whole(self) -> Pool:
        """The pool with all its models."""
        return self._journal.subject.whole

    @property
    def groups(self) -> Partition:
        """The groups that the question is about."""
        return self._journal.subject.groups

    def pool_of(self, model: str | None) -> Pool:
        """The pool of one of the models; that of the question if none is named."""
        return self._journal.subject.pool_of(model)

    def groups_of(self, model: str | None) -> Partition:
        """The assessment's groups for one of the models; groups by predicted class differ between models."""
        return self._journal.subject.groups_of(model)

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
        and the items come all the same. Where items stay in a table, the answers are written before it is read. If it
        cannot be read then, the batch is empty and its `trouble` says why.
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
        ids: Sequence[Any],
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

    def retract(self, ids: Sequence[Any], *, annotator: str | None = None, key: str | None = None) -> int:
        """Take back a person's own answers, labels and skips. They can then answer the items again.

        Returns the number of items. `withdraw` takes back whole items.
        """
        return self._answers.retract(ids, annotator, key)

    def withdraw(self, ids: Sequence[Any], *, annotator: str | None = None, note: str | None = None) -> int:
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

    def look_up(self, ids: Sequence[Any]) -> None:
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
        return self._stock.card(item, columns)

    @property
    def rows(self) -> Partition:
        """The rows of the estimates: the groups, or for a question about several models each model (in each group)."""
        return self._journal.subject.cells.partition

    @property
    def cells(self) -> Cells:
        """The cells of the assessment's own metric and groups."""
        asked_so = not self.spec.strips and not self.spec.task.of_models
        return self._journal.subject.cells if asked_so else self.spec.cells(self.pool, self.groups)

    # --- what the log shows

    def labels(self) -> dict[str, str]:
        """The labels that are valid now: id to class name."""
        with self._journal.reading() as ledger:
            items, true = ledger.labels()
            ids = texts_at(self.pool.ids, items)
            return {item: self.pool.classes[k] for item, k in zip(ids, true.tolist(), strict=True)}

    @property
    def labelled(self) -> int:
        """How many items have a valid label."""
        with self._journal.reading() as ledger:
            return ledger.labelled

    def labelled_items(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The positions of the labelled items in the pool, and of their true classes, two of shape (labels,)."""
        with self._journal.reading() as ledger:
            return ledger.labels()

    def pending(self) -> list[str]:
        """The items that were asked for and have no valid label yet; `held` shows who has them."""
        with self._journal.reading() as ledger:
            return texts_at(self.pool.ids, np.flatnonzero(ledger.pending))

    def answers(self, annotator: str | None = None, most: int = 20) -> Table:
        """A person's latest answers, newest first: columns id, label (None for a skip), note and at."""
        with self._journal.reading() as ledger:
            return progress.answers(ledger, self.pool, annotator, most)

    def disputed(self) -> list[Dispute]:
        """The items that wait for the owner, oldest first: everybody has answered, and the votes settle nothing."""
        with self._journal.reading() as ledger:
            return progress.disputes(ledger, self.pool, self.groups, self._stock.contents([*ledger.disputed]))

    def agreement(self) -> Agreement:
        """The agreement between people who labelled the same items."""
        with self._journal.reading() as ledger:
            return progress.agreed(ledger)

    def by_person(self) -> Table:
        """The work of each person: columns annotator, labels, skips, held, decided and last."""
        with self._journal.reading() as ledger:
            return progress.by_person(ledger)

    def by_group(self) -> Table:
        """Progress in each group: columns group, n, labelled, pending, and unresolved (a part of pending).

        Unresolved items wait for the owner. Until then, a report can show what a group's number would be if all of them
        were wrong, or right.
        """
        with self._journal.reading() as ledger:
            return progress.by_group(ledger, self.groups)

    @property
    def seq(self) -> int:
        """The number of the last event in this assessment's own log: `log(after=seq)` has what happens from now on."""
        with self._journal.reading() as ledger:
            return ledger.seq

    @property
    def events(self) -> int:
        """The number of events in the logs of all assessments of the pool: it grows whenever anything happens."""
        with self._journal.reading() as ledger:
            return ledger.events

    def log(self, *, after: int = 0, last: int | None = None) -> Table:
        """All events of this assessment's own log after event number `after`, or the last so many, in order.

        Columns seq, at, kind, item, label, step, annotator, note.
        """
        store = self._journal.store
        with self._journal.reading():  # which sees to it that the log of that name is still this one
            return store.log(self.name, after if last is None else max(after, store.head(self.name).seq - last))

    def history(self) -> list[Event]:
        """What happened to the items of the pool, in this assessment and in all others of the same pool, in order."""
        return self._journal.history()

    def label_details(self) -> Details:
        """How the labels that count came to be: by how many people, when, and how often one was replaced."""
        with self._journal.reading() as ledger:
            return ledger.past.details(ledger.true >= 0)

    def others(self) -> dict[str, int]:
        """The number of labels that count here for items drawn by other assessments of the pool, by assessment."""
        with self._journal.reading() as ledger:
            return ledger.labels_elsewhere()

    def anchors(self) -> list[str]:
        """The labelled items that were drawn at random from all items instead of chosen by the policy."""
        with self._journal.reading():
            sample = self._journal.sample()
            return texts_at(self.pool.ids, sample.items[sample.anchor & sample.labelled])

    @property
    def anchored(self) -> int:
        """The number of labelled items drawn at random from all items: those that `anchors` lists."""
        with self._journal.reading():
            return self._journal.sample().anchors

    def is_random_sample(self) -> bool:
        """Whether all labels are of items drawn at random from the whole pool, by this assessment or another of it."""
        with self._journal.reading() as ledger:
            return self._journal.subject.is_random_sample(ledger)

    def check_promise(self, metric: Metric | str | None = None, groups: Partition | str | None = None) -> None:
        """Raise SpecError, with the reason, if no guarantee is possible for a metric in these groups.

        A guarantee needs a metric that is one share, and labels that are a random sample within each group.
        """
        metric = self.spec.task.metric if metric is None else metric_from(metric, self.pool)
        groups = self.groups if groups is None else groups_from(groups, self.pool)
        with self._journal.reading() as ledger:
            check_promise(self._journal.subject, ledger, metric, groups)
