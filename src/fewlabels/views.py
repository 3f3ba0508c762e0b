"""What the labels of an assessment say about any metric, on any groups, of any model: the belief behind each result."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from fewlabels.belief import Belief, Strata
from fewlabels.errors import Argument, InputError, SpecError
from fewlabels.labelling.record import Record
from fewlabels.labelling.twin import twin
from fewlabels.learned.models import ModelsBelief, OneModelBelief, TruthBelief
from fewlabels.named import groups_from, metric_from
from fewlabels.noise import NoisyBelief
from fewlabels.partition import Partition, cross, partition_from_recipe, whole
from fewlabels.rectified import rectified

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.estimates import Believed
    from fewlabels.labelling.ledger import Ledger
    from fewlabels.metrics import Metric
    from fewlabels.pool import Pool
    from fewlabels.rectified import Sample

# Reading results must not use the generators of the steps, which begin with 1: they have a stream of their own.
_RESULTS = 0x726573


class Views(Record):
    """The belief about any metric, on any groups, of any model. `Assessment` makes results of it."""

    _overall: tuple[tuple[int, int, Metric, str | None], tuple[Metric, Believed, Cells]] | None = None

    _snapshot: Self | None = None

    def snapshot(self) -> Self:
        """The assessment as it is now, for reading: labels that come in later are not in it.

        What is made of several numbers reads all of them from one snapshot, so that they belong together.
        """
        if self._is_snapshot:
            return self
        with self._current() as ledger:
            kept = self._snapshot
            if kept is None or kept.seq != ledger.events or kept.pool is not self.pool:
                kept = self._snapshot = self._taken(ledger)
            return kept

    def _taken(self, ledger: Ledger) -> Self:
        """A snapshot. What reading it needs in any case is computed before, so that asking has it too."""
        if not self._is_over_all:
            self._believe(ledger)
        elif self._voting is not None:
            self._voting.told(ledger)
        own: dict[str, Any] = {"_ledger": ledger.copy(), "_askers": self._askers.copy(), "_lock": threading.RLock()}
        still = twin(self, **own, _is_snapshot=True, _snapshot=None)
        if self._voting is not None:
            vars(still)["_voting"] = self._voting.copy(still.prepared)
        return still

    def belief(self) -> Belief:
        """The belief about the cells of the assessment's own metric and groups, or of the strips that it asks in."""
        with self._current() as ledger:
            return self._believe(ledger).belief

    def pool_of(self, model: str | None) -> Pool:
        """The pool of one of the models; that of the question if none is named."""
        return self.pool if self._is_own(model) else self.whole.of(str(model))

    def groups_of(self, model: str | None) -> Partition:
        """The assessment's groups for one of the models: those by predicted class are others for each model."""
        return self.groups if self._is_own(model) else self.spec.partition(self.pool_of(model))

    def _is_own(self, model: str | None) -> bool:
        return model is None or (model == self.spec.model and model in self.whole.models)

    def over_all(self, at: Ledger | None = None) -> tuple[Belief, Cells] | None:
        """The belief about all items, now or after a part of the log, if the answer is one share of them; else None."""
        if not self._is_over_all:
            return None
        _, belief, cells = self._view(None, whole(self.pool), at=at)
        return cast("Belief", belief), cells

    @property
    def _is_over_all(self) -> bool:
        """Whether the answer is one share of all items."""
        return self.spec.task.averages and self.spec.task.metric.marginal

    def drawn_from_all(self) -> Sample | None:
        """The items asked for so far, and which of them were drawn at random from all.

        None where the answer is not one share of all items, or is not held against them.
        """
        if not (self._is_over_all and self._is_steered()) or self._cells.right is not None:
            return None
        with self._current() as ledger:
            return self._sample(ledger)

    def belief_then(self, ledger: Ledger) -> Belief:
        """The belief about the assessment's own groups after a part of the log, where labels may be wrong."""
        return cast("Belief", self._viewed(None, None, at=ledger)[1])

    def _view(
        self,
        metric: Metric | str | None,
        groups: Partition | str | None,
        model: str | None = None,
        *,
        at: Ledger | None = None,
    ) -> tuple[Metric, Believed, Cells]:
        """The belief about any metric on any groups, of any model, from the labels as they were asked.

        They are the labels that are there now, or those of a ledger.
        """
        metric = None if metric is None else metric_from(metric, self.pool_of(model))
        groups = None if groups is None else groups_from(groups, self.pool_of(model))
        own = groups is None or (groups is self.groups and len(groups) > 1 and at is None)
        if own and metric in (None, self.spec.task.metric) and self._is_own(model) and not self.spec.strips:
            return self.spec.task.metric, self.belief(), self._cells
        if at is not None or groups is None or groups.recipe != {"by": "whole"}:
            return self._viewed(metric, groups, model, at=at)
        # The number over all items is read in several places, and takes as long as all groups do.
        key = (self.seq, len(groups.group), metric or self.spec.task.metric, model)
        kept = self._overall
        if kept is None or kept[0] != key:
            self._overall = kept = key, self._viewed(metric, groups, model)
        return kept[1]

    def _viewed(
        self,
        metric: Metric | None,
        groups: Partition | None,
        model: str | None = None,
        *,
        at: Ledger | None = None,
    ) -> tuple[Metric, Believed, Cells]:
        if self.spec.task.of_models:
            return self._view_of_models(metric or self.spec.task.metric, groups or self.groups, model)
        pool = self.pool_of(model)
        metric, groups = metric or self.spec.task.metric, groups or self.groups_of(model)
        if len(groups.group) != self.pool.rows and self.pool.reserve is not None:
            groups = partition_from_recipe(pool, groups.recipe)  # items were named since the groups were made
        if len(groups.group) != self.pool.rows:
            raise InputError(
                "these groups belong to another pool: they have another number of items. Make them from audit.pool."
            )
        metric.check(pool, groups)
        cells = metric.cells(pool, groups)
        # A number over all items can be off after steered asking, where labels show right and wrong.
        off = self._is_steered() and len(groups) == 1 and cells.right is None
        with self._current() as now:
            ledger = now if at is None else at
            labels = self._possible_labels(ledger, then=at is not None)
            random = self._is_random_sample(ledger)
            alone, asked = not ledger.drawn.elsewhere, self._askers.asked(ledger)
            sample = self._sample(ledger) if off else None
        self.spec.prior.check(cells)
        fine, prepared = cells, None
        if not (alone and np.array_equal(groups.group, self._asking.group)):
            prepared = self.spec.prior.across(cells, self.spec.target, *([self._asking] if alone else asked))
            if not random and prepared is None:
                fine = metric.cells(pool, cross(groups, self._asking))
                self.spec.prior.check(fine)
        prepared = prepared or self.spec.prior.on(fine, self.spec.target)

        def read(belief: Belief | Strata, items: NDArray[np.int64], true: NDArray[np.int32]) -> Believed:
            """What some labels say, from the belief about the fine cells."""
            if fine is not cells:
                first = np.unique(fine.cell, return_index=True)[1]
                belief = Strata(cast("Belief", belief), cells.cell[first].astype(np.int64), cells.size)
            if sample is None:
                return belief
            shown = sample if self._voting is None else sample.relabelled(items, true == pool.predicted[items])
            return rectified(belief, pool.confidence, shown, self._results_rng(), pool.count)

        items, *each = labels
        beliefs = prepared.beliefs([metric.outcomes(pool, fine, items, true) for true in each])
        parts = [read(belief, items, true) for belief, true in zip(beliefs, each, strict=True)]
        return metric, parts[0] if self._voting is None else NoisyBelief.of(parts), cells

    def possible_labels(self) -> tuple[NDArray[np.int64], list[NDArray[np.int32]]]:
        """The labelled items, and their true classes: once, or where labels may be wrong as often as they were drawn.

        Shapes (labels,), and (labels,) each.
        """
        with self._current() as ledger:
            items, *each = self._possible_labels(ledger)
        return items, each

    def _possible_labels(self, ledger: Ledger, *, then: bool = False) -> list[NDArray[Any]]:
        """The labelled items and their true classes; several times their classes, where labels may be wrong."""
        if self._voting is None:
            return [*ledger.labels()]
        imputed = self._voting.told_then(ledger) if then else self._voting.told(ledger).imputed
        return [imputed.items, *imputed.labels]

    def _is_steered(self) -> bool:
        """Whether labels were steered to some groups and speak for the others: then the number over all can be off."""
        with self._current() as ledger:
            askers = [self._asker, *(self._askers[name] for name in ledger.drawn.askers)]
        return self.spec.prior.uses_items and any(asker.steers for asker in askers)

    def _view_of_models(
        self, metric: Metric, groups: Partition, model: str | None
    ) -> tuple[Metric, Belief | Strata, Cells]:
        """The belief about all models, or one, in any groups: labels went where models differ, so all are needed."""
        task = self.spec.task
        rows, simple = task.cells(self.whole, groups), metric.marginal and not metric.high_is_bad
        if model is None and not simple:
            raise SpecError(
                f"{self.name!r} is about several models, and {type(metric).__name__}() is about one. Name it, with ",
                Argument("model"),
                ".",
            )
        with self._current() as ledger:
            items, true = ledger.labels()
        outcomes = task.metric.outcomes(self.whole, rows, items, true)
        belief = cast("ModelsBelief", self.spec.prior.on(rows, self.spec.target).belief(outcomes))
        if model is None:
            return metric, belief, rows
        pool = self.whole.of(model)
        cells = metric.cells(pool, groups)
        if simple:
            return metric, OneModelBelief.of(belief, self.whole.models.index(model)), cells
        counts = metric.outcomes(pool, cells, items, true).counts
        known = np.full(len(pool), -1, dtype=np.int32)
        known[items] = true
        truth = TruthBelief(
            np.zeros_like(counts),
            counts,
            cells.size,
            self.spec.target,
            joint=belief,
            true=known,
            shown=lambda drawn: cells.shown(metric, pool, np.arange(len(pool)), drawn),
            cell=cells.cell.astype(np.int64),
            classes=len(pool.choices),
        )
        return metric, truth, cells

    def _results_rng(self) -> np.random.Generator:
        return np.random.default_rng([self.spec.seed, 0, _RESULTS])
