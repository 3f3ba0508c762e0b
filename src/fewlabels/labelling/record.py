"""What an assessment is about, and what its log shows: everything that can be read without asking for an item."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.arrow import texts_at
from fewlabels.checks import whole_number
from fewlabels.labelling import progress
from fewlabels.labelling.promises import check_promise
from fewlabels.named import groups_from, metric_from

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.labelling.agreement import Agreement
    from fewlabels.labelling.journal import Journal
    from fewlabels.labelling.past import Details
    from fewlabels.labelling.progress import Dispute
    from fewlabels.labelling.stock import Stock
    from fewlabels.metrics import Metric
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.spec import Spec
    from fewlabels.store import Event
    from fewlabels.table import Table


class Record:
    """The definition, and what people have done so far. `Labelling` adds the calls that write to the log.

    Parameters
    ----------
    journal
        The log, and what the assessment is about.
    stock
        The items.
    """

    def __init__(self, journal: Journal, stock: Stock) -> None:
        self._journal, self._stock = journal, stock

    @property
    def name(self) -> str:
        """The name of the assessment in its database."""
        return self._journal.subject.name

    @property
    def is_gone(self) -> bool:
        """Whether a call has found that the assessment was removed, or that another has its name now: load it again."""
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
            ids = texts_at(self.pool.id_column, items)
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
            return texts_at(self.pool.id_column, np.flatnonzero(ledger.pending))

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
        """All events of this assessment's own log after event number `after`, or the last `last` of them, in order.

        Columns seq, at, kind, item, label, step, annotator, note.
        """
        store = self._journal.store
        with self._journal.reading():  # which checks that the log of that name is still this one
            if last is not None:
                last = whole_number(last, "The 'last' of log()", least=0)
                after = max(after, store.head(self.name).seq - last)
            return store.log(self.name, after)

    def history(self) -> list[Event]:
        """What happened to the items of the pool, in this assessment and in all others of the same pool, in order."""
        return self._journal.history()

    def label_details(self) -> Details:
        """How the labels that count came about: by how many people, when, and how often one was replaced."""
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
            return texts_at(self.pool.id_column, sample.items[sample.anchor & sample.labelled])

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

        A guarantee needs a metric that is a single share, and labels that are a random sample within each group.
        """
        metric = self.spec.task.metric if metric is None else metric_from(metric, self.pool)
        groups = self.groups if groups is None else groups_from(groups, self.pool)
        with self._journal.reading() as ledger:
            check_promise(self._journal.subject, ledger, metric, groups)
