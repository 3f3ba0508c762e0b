"""The record of an assessment: its labels, what people did, and whether the labels are a random sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.arrow import texts_at
from fewlabels.errors import InputError, SpecError
from fewlabels.io.cards import columns_of_card, opened_card
from fewlabels.labelling import progress
from fewlabels.labelling.ask_and_tell import Labelling
from fewlabels.partition import columns_of
from fewlabels.rectified import Sample
from fewlabels.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.labelling.agreement import Agreement
    from fewlabels.labelling.ledger import Ledger
    from fewlabels.labelling.progress import Dispute
    from fewlabels.metrics import Metric
    from fewlabels.partition import Partition
    from fewlabels.store import Event
    from fewlabels.table import Table


class Record(Labelling):
    """The labels so far, who gave them, and the log. `Assessment` adds what is known from them."""

    def labels(self) -> dict[str, str]:
        """The labels that are valid now: id to class name."""
        with self._current() as ledger:
            items, true = ledger.labels()
            ids = texts_at(self.pool.ids, items)
            return {item: self.pool.classes[k] for item, k in zip(ids, true.tolist(), strict=True)}

    @property
    def labelled(self) -> int:
        """How many items have a valid label."""
        with self._current() as ledger:
            return ledger.labelled

    def labelled_items(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The positions of the labelled items in the pool, and of their true classes, two of shape (labels,)."""
        with self._current() as ledger:
            return ledger.labels()

    def pending(self) -> list[str]:
        """The items that were asked for and have no valid label yet; `held` shows who has them."""
        with self._current() as ledger:
            return [self._id(item) for item in np.flatnonzero(ledger.pending).tolist()]

    def item(self, item: str, *, columns: Sequence[str] | None = None) -> dict[str, Any]:
        """The parts of an item that an annotator may see, by column: its content, or the columns named.

        A content that is a card of several columns is shown as these columns.

        They never include the prediction and its scores, nor a column that makes the groups.
        """
        position = int(self.pool.positions([item])[0])
        shown = columns if columns is not None else [self.pool.content] if self.pool.content is not None else []
        if columns is None and (card := columns_of_card(self.pool)):
            (row,) = self.shown([position], [*card, *shown])
            return opened_card(self.pool.content, row) or {name: row[name] for name in shown}
        if telling := sorted({*shown} & columns_of(self.groups.recipe) - {self.pool.content}):
            raise InputError(f"{telling[0]!r} makes the groups: an annotator who sees it is not blind. Leave it out.")
        return self.shown([position], shown)[0]

    def answers(self, annotator: str | None = None, most: int = 20) -> Table:
        """A person's latest answers, newest first: columns id, label (None for a skip), note and at."""
        with self._current() as ledger:
            return progress.answers(ledger, self.pool, annotator, most)

    def disputed(self) -> list[Dispute]:
        """The items that wait for the owner, oldest first: everybody has answered, and the votes settle nothing."""
        with self._current() as ledger:
            return progress.disputes(ledger, self.pool, self.groups, self._contents([*ledger.disputed]))

    def agreement(self) -> Agreement:
        """The agreement between people who labelled the same items."""
        with self._current() as ledger:
            return progress.agreed(ledger)

    def by_person(self) -> Table:
        """The work of each person: columns annotator, labels, skips, held, decided and last."""
        with self._current() as ledger:
            return progress.by_person(ledger)

    def by_group(self) -> Table:
        """Progress in each group: columns group, n, labelled, pending, and unresolved (a part of pending).

        Unresolved items wait for the owner. Until they are decided, a report can show the number of a group if all of
        them were wrong, or right.
        """
        with self._current() as ledger:
            return progress.by_group(ledger, self.groups)

    @property
    def rows(self) -> Partition:
        """What estimates have a row for: the groups, or for a question about several models each model (in each)."""
        return self._cells.partition

    @property
    def cells(self) -> Cells:
        """The cells of the assessment's own metric and groups."""
        asked_so = not self.spec.strips and not self.spec.task.of_models
        return self._cells if asked_so else self.spec.cells(self.pool, self.groups)

    @property
    def seq(self) -> int:
        """The number of events in the logs of all assessments of the pool: it grows whenever anything happens."""
        with self._current() as ledger:
            return ledger.events

    def log(self, *, after: int = 0, last: int | None = None) -> Table:
        """All events of this assessment's own log after event number `after`, or the last so many, in order.

        Columns seq, at, kind, item, label, step, annotator, note.
        """
        if last is not None:
            after = max(after, self._store.head(self.name).seq - last)
        return self._store.log(self.name, after)

    def history(self) -> list[Event]:
        """What happened to the items of the pool, in this assessment and in all others of the same pool, in order."""
        events = self._store.shared(self.name, {})
        if not self._is_snapshot:
            return events
        seen = {name: mark.seq for name, mark in self._ledger.seen.items()}
        return [event for event in events if event.seq <= seen.get(event.assessment or self.name, 0)]

    def others(self) -> dict[str, int]:
        """How many labels count here of items that other assessments of the pool have drawn, by assessment."""
        with self._current() as ledger:
            return ledger.labels_elsewhere()

    def anchors(self) -> list[str]:
        """The labelled items that were drawn at random from all items, and not where the policy wanted a label."""
        with self._current() as ledger:
            sample = self._sample(ledger)
            return [self._id(item) for item in sample.items[sample.anchor & sample.labelled].tolist()]

    def check_promise(self, metric: Metric | None = None, groups: Partition | None = None) -> None:
        """SpecError if nothing can be guaranteed at every look about a metric in these groups, with the reason.

        Such a promise needs a metric that is one share, and labels that are a random sample within each group.
        """
        metric = metric or self.spec.task.metric
        if not metric.marginal:
            raise SpecError(
                f"guarantee='anytime' needs a metric that is one share, as Accuracy() is. With {type(metric).__name__}"
                "() leave the guarantee out."
            )
        with self._current() as ledger:
            adopted, others = ledger.adopted, len(ledger.drawn.elsewhere)
            random = self._is_random_sample(ledger)
        if others:
            raise SpecError(
                f"guarantee='anytime' cannot be given: {counted(others, 'item')} of other assessments of this pool "
                "count here, and the promise needs items that this one has drawn itself. Leave the guarantee out, or "
                "begin another assessment with stop=Stop(width=..., guarantee='anytime'): it draws its own, and asks "
                "nobody about items that have a label."
            )
        if adopted:
            raise SpecError(
                f"guarantee='anytime' cannot be given: {counted(adopted, 'label')} came from elsewhere, for items that "
                "were not asked for, and the promise needs items drawn at random. Leave the guarantee out, or withdraw "
                "those labels."
            )
        if self.spec.strips:
            raise SpecError(
                "guarantee='anytime' cannot be given: items were asked for in strips of confidence, and the promise "
                "needs items drawn at random from all. Leave the guarantee out, or begin with policy=UniformItems()."
            )
        asked = groups is None or np.array_equal(groups.group, self.groups.group)
        if not asked and not random:
            raise SpecError(
                f"guarantee='anytime' holds in the groups in which items were asked for ({self.groups.words}). In "
                "other groups it needs an assessment that asks at random over the pool, with policy=UniformItems()."
            )

    def _sample(self, ledger: Ledger) -> Sample:
        """The items asked for, in the order of the steps, and which of them were drawn at random from all."""
        asked = np.flatnonzero(ledger.pending | (ledger.true >= 0))
        votes = [ledger.votes[item] for item in asked.tolist()]
        order = np.argsort(np.array([vote.turn for vote in votes], dtype=np.int64), kind="stable")
        items, steps = asked[order], np.array([vote.step for vote in votes], dtype=np.int64)[order]
        true = ledger.true[items]
        right = np.where(true >= 0, (true == self.pool.predicted[items]).astype(float), np.nan)
        askers = np.array([vote.asker for vote in votes], dtype=object)[order]
        random = np.zeros(len(items), dtype=bool)
        for name in [self.name, *ledger.drawn.askers]:
            drawn = askers == name
            random[drawn] = self._askers[name].at_random(steps[drawn])
        return Sample(items, right, random)

    def is_random_sample(self) -> bool:
        """Whether all labels are of items drawn at random from the whole pool, by this assessment or another of it."""
        with self._current() as ledger:
            return self._is_random_sample(ledger)

    def _is_random_sample(self, ledger: Ledger) -> bool:
        """Whether all labels are of items drawn at random from the whole pool, whoever drew them."""
        drawn_at_random = all(self._askers[name].is_random for name in [self.name, *ledger.drawn.askers])
        return drawn_at_random and not ledger.adopted
