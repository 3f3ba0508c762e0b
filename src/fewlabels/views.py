"""What the labels of an assessment say about any metric, on any groups, of any model: the belief behind each result."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Self, cast

import numpy as np

from fewlabels.belief import Belief, Strata
from fewlabels.errors import Argument, SpecError
from fewlabels.labelling.twin import twin
from fewlabels.named import groups_from, metric_from
from fewlabels.partition import Partition, cross, has_recipe, of_pool, partition_from_recipe, whole
from fewlabels.rectified import rectified, unheard

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.estimates import Believed
    from fewlabels.labelling.beliefs import Beliefs
    from fewlabels.labelling.journal import Journal
    from fewlabels.labelling.ledger import Ledger
    from fewlabels.learned.models import ModelsBelief
    from fewlabels.metrics import Metric
    from fewlabels.pool import Pool
    from fewlabels.priors import Prepared
    from fewlabels.sample import Sample

# Reading results must not use the generators of the steps, which begin with 1: they have a stream of their own.
_RESULTS = 0x726573
# Draws from which the variance of a belief about all items is taken: where labels may be wrong, of all parts of the
# mixture together, but some of each.
_VARIANCE, _FEWEST = 1_000, 100


class View(NamedTuple):
    """The belief about a metric in the cells of some groups."""

    metric: Metric
    belief: Believed
    cells: Cells


class _Labels(NamedTuple):
    """The labels at one state of the log, and how they were asked for.

    Parameters
    ----------
    items, each
        The labelled items, and their true classes; several versions of these, where labels may be wrong.
    alone
        Whether this assessment alone has drawn the items.
    asked
        The groupings within which they are a random sample.
    is_random
        Whether they are one of the whole pool.
    """

    items: NDArray[np.int64]
    each: list[NDArray[np.int32]]
    alone: bool
    asked: list[Partition]
    is_random: bool


class Views:
    """The belief about any metric, on any groups, of any model. `Assessment` makes results of it.

    Parameters
    ----------
    journal
        The labels, and how they were asked for.
    beliefs
        The belief about the assessment's own cells, and what votes mean.

    Examples
    --------
    >>> import fewlabels as fl
    >>> from fewlabels.labelling.beliefs import Beliefs
    >>> from fewlabels.labelling.journal import Journal
    >>> from fewlabels.labelling.subject import Subject
    >>> store, pool = fl.Store(None), fl.read_pool([[0.9, 0.1], [0.2, 0.8]], classes=["cat", "dog"])
    >>> audit = fl.create(store, "pets", pool, prior=fl.Uniform())
    >>> journal = Journal(store, Subject(store, store.open("pets"), audit.spec, pool))
    >>> _ = audit.tell({"0": "cat"}, adopt=True)
    >>> Views(journal, Beliefs(journal)).view(None, None).belief.counts
    array([[1., 0.],
           [0., 0.]])
    """

    def __init__(self, journal: Journal, beliefs: Beliefs) -> None:
        self.journal, self.beliefs = journal, beliefs
        self._overall: tuple[tuple[int, int, Metric, str | None], View] | None = None

    def snapshot(self) -> Self:
        """The views of the current labels. All that reading needs is computed first, for asking to use."""
        with self.journal.reading() as ledger:
            if not self.is_over_all:
                self.beliefs.now()
            elif self.beliefs.voting is not None:
                self.beliefs.voting.sampled(ledger)
            still = self.journal.snapshot()
            return twin(self, journal=still, beliefs=self.beliefs.snapshot(still))

    def rng(self) -> np.random.Generator:
        """The generator for results: the same for each of them, so that the same number is the same everywhere."""
        return np.random.default_rng([self.journal.subject.spec.seed, 0, _RESULTS])

    # --- the assessment's own question

    def belief(self) -> Belief:
        """The belief about the cells of the assessment's own metric and groups, or of the strips that it asks in."""
        with self.journal.reading():
            return self.beliefs.now().belief

    @property
    def is_over_all(self) -> bool:
        """Whether the answer is one share of all items."""
        task = self.journal.subject.spec.task
        return task.averages and task.metric.marginal

    def over_all(self, at: Ledger | None = None) -> tuple[Belief, Cells] | None:
        """The belief about all items, now or after a part of the log, if the answer is one share of them; else None."""
        if not self.is_over_all:
            return None
        _, belief, cells = self.view(None, whole(self.journal.subject.pool), at=at)
        return cast("Belief", belief), cells

    def answering(self) -> tuple[Belief, Cells]:
        """The belief that the task's answer is made from: where that is one share of all items, the one about these."""
        return self.over_all() or (self.belief(), self.journal.subject.cells)

    def drawn_from_all(self) -> Sample | None:
        """The items asked for so far, and which of them were drawn at random from all.

        None if the answer is not one share of all items, or is not corrected by anchors.
        """
        subject = self.journal.subject
        with self.journal.reading() as ledger:
            if not (self.is_over_all and subject.is_steered(ledger)) or subject.cells.right is not None:
                return None
            return self.journal.sample()

    def at_random(self) -> int:
        """How many labelled items were drawn at random from all, and not where the policy wanted a label."""
        with self.journal.reading():
            return self.journal.sample().anchors

    def possible_labels(self) -> tuple[NDArray[np.int64], list[NDArray[np.int32]]]:
        """The labelled items, and their true classes, as often as these were drawn."""
        with self.journal.reading():
            items, *each = self.beliefs.possible_labels()
        return items, each

    def replay(self, parts: int, cells: Cells) -> Iterator[tuple[Ledger, Belief]]:
        """The ledger and the belief about cells of the groups, at the beginning and after each of the parts of the log.

        All parts have the same number of labels.
        """
        subject = self.journal.subject
        with self.journal.reading() as now:
            past, prior = now.past.copy(), self.journal.prepared(cells)
        stops = past.stops(parts)
        if subject.spec.noisy:  # what a label is worth depends on everybody's votes until then
            for ledger in self._read_again(stops, cells):
                yield ledger, cast("Belief", self._computed(subject.spec.task.metric, None, None, at=ledger).belief)
            return
        for ledger in past.each(lambda: subject.new_ledger(cells), stops):
            belief = prior.belief(ledger.outcomes(items=subject.spec.prior.uses_items))
            yield ledger, self._levels(subject.anchored(belief, ledger))

    def _read_again(self, stops: Sequence[int], cells: Cells) -> Iterator[Ledger]:
        """A ledger that reads the log again, after each of some numbers of events."""
        events, ledger = self.journal.history(), self.journal.subject.new_ledger(cells)
        for start, stop in pairwise([0, *stops]):
            ledger.read(events[start:stop])
            yield ledger

    # --- any other

    def view(
        self,
        metric: Metric | str | None,
        groups: Partition | str | None,
        model: str | None = None,
        *,
        at: Ledger | None = None,
    ) -> View:
        """The belief about any metric on any groups, of any model, from the labels as they were asked.

        They are the current labels, or those of a ledger.
        """
        subject = self.journal.subject
        task, pool = subject.spec.task, subject.pool_of(model)
        metric = task.metric if metric is None else metric_from(metric, pool)
        groups = None if groups is None else self._given(groups, pool)
        own = groups is None or (groups is subject.groups and len(groups) > 1 and at is None)
        if own and metric == task.metric and subject.is_own(model) and not subject.spec.strips:
            return View(metric, self._levels(self.belief()), self.journal.subject.cells)
        if at is not None or groups is None or groups.recipe != {"by": "whole"}:
            return self._computed(metric, groups, model, at=at)
        # The number over all items is read in several places, and takes as long as all groups do.
        with self.journal.reading() as ledger:
            key = ledger.events, len(groups.group), metric, model
        kept = self._overall
        if kept is None or kept[0] != key:
            self._overall = kept = key, self._computed(metric, groups, model)
        return kept[1]

    def _computed(
        self, metric: Metric, groups: Partition | None, model: str | None = None, *, at: Ledger | None = None
    ) -> View:
        subject = self.journal.subject
        if subject.spec.task.of_models:
            return self._of_models(metric, groups or subject.groups, model)
        pool = subject.pool_of(model)
        groups = subject.groups_of(model) if groups is None else groups
        if len(groups.group) != pool.rows:  # items were named since they were made
            groups = partition_from_recipe(pool, groups.recipe)
        metric.check(pool, groups)
        cells = metric.cells(pool, groups)
        with self.journal.reading() as now:
            ledger = now if at is None else at
            labels, voting = self._labels(ledger, at), self.beliefs.voting
            # A number over all items can be off after steered asking, where labels show right and wrong.
            off = len(groups) == 1 and cells.right is None and subject.is_steered(now)
            sample = None
            if off:
                sample = self.journal.sample() if at is None else subject.sample(at)
        fine, prepared = self._prepared(metric, cells, groups, model, labels)
        beliefs = prepared.beliefs([metric.outcomes(pool, fine, labels.items, true) for true in labels.each])
        read = [belief if fine is cells else _merged(belief, fine, cells) for belief in beliefs]
        parts: list[Believed] = [*read]
        if sample is not None:
            rng, draws = self.rng(), max(_VARIANCE // len(read), _FEWEST)
            asking = subject.asking
            heard = np.bincount(asking.group[sample.items[sample.labelled]], minlength=len(asking))
            bare = unheard(asking.sizes, heard.astype(float))
            for k, (belief, true) in enumerate(zip(read, labels.each, strict=True)):
                right = true == pool.predicted[labels.items]
                shown = sample if voting is None else sample.relabelled(labels.items, right)
                drawn = belief.draws(rng, draws)[..., 0]
                parts[k] = rectified(belief, pool.confidence, shown, rng, pool.count, drawn, bare=bare)
        return View(metric, parts[0] if voting is None else self.beliefs.mixed(parts), cells)

    def _given(self, groups: Partition | str, pool: Pool) -> Partition:
        """Groups that a caller names or has made; an InputError if they belong to another pool."""
        subject, is_named = self.journal.subject, isinstance(groups, str)
        groups = groups_from(groups, pool)
        if is_named or groups is subject.groups or pool.reserve is not None or not has_recipe(groups):
            return groups
        return of_pool(groups, pool, subject.whole, *map(subject.whole.of, subject.whole.models))

    def _labels(self, ledger: Ledger, at: Ledger | None) -> _Labels:
        """The labels of a ledger: the present one, or one of an earlier state of the log."""
        subject = self.journal.subject
        (items, *each), alone = self.beliefs.possible_labels(at), not ledger.labels_elsewhere()
        asked = [subject.asking] if alone else subject.askers.asked(ledger)
        return _Labels(items, each, alone, asked, subject.is_random_sample(ledger))

    def _prepared(
        self, metric: Metric, cells: Cells, groups: Partition, model: str | None, labels: _Labels
    ) -> tuple[Cells, Prepared]:
        """The prior prepared for cells within which the labels are a random sample: these cells, or parts of them."""
        subject = self.journal.subject
        prior, target, asking = subject.spec.prior, subject.spec.target, subject.asking
        prior.check(cells)
        if not (labels.alone and np.array_equal(groups.group, asking.group)):
            across = prior.across(cells, target, *labels.asked)
            if across is not None:
                return cells, across
            if not labels.is_random:
                cells = metric.cells(subject.pool_of(model), cross(groups, asking))
                prior.check(cells)
        return cells, prior.on(cells, target)

    def _levels(self, belief: Belief) -> Belief:
        """The belief about how often each of several models is right; one about one model as it is."""
        if not self.journal.subject.spec.task.of_models:
            return belief
        from fewlabels.learned.models import ModelsBelief

        return belief.levels if isinstance(belief, ModelsBelief) else belief

    def _of_models(self, metric: Metric, groups: Partition, model: str | None) -> View:
        """The belief about all models, or one, in any groups: labels went where models differ, so all are needed."""
        from fewlabels.learned.models import OneModelBelief, TruthBelief

        subject = self.journal.subject
        task, pools = subject.spec.task, subject.whole
        rows, simple = task.cells(pools, groups), metric.marginal and not metric.high_is_bad
        if model is None and not simple:
            raise about_one_model(subject.name)
        with self.journal.reading() as ledger:
            items, true = ledger.labels()
            outcomes = task.metric.outcomes(pools, rows, items, true)
            plain = subject.anchored(subject.spec.prior.on(rows, subject.spec.target).belief(outcomes), ledger)
        belief = cast("ModelsBelief", self._levels(plain))
        if model is None:
            return View(metric, belief, rows)
        pool = pools.of(model)
        cells = metric.cells(pool, groups)
        if simple:
            return View(metric, OneModelBelief.of(belief, pools.models.index(model)), cells)
        counts = metric.outcomes(pool, cells, items, true).counts
        known = np.full(len(pool), -1, dtype=np.int32)
        known[items] = true
        truth = TruthBelief(
            np.zeros_like(counts),
            counts,
            cells.size,
            subject.spec.target,
            joint=belief,
            true=known,
            shown=lambda drawn: cells.shown(metric, pool, np.arange(len(pool)), drawn),
            cell=cells.cell.astype(np.int64),
            classes=len(pool.choices),
        )
        return View(metric, truth, cells)


def _merged(belief: Belief, fine: Cells, cells: Cells) -> Strata:
    """The belief about cells, from that about parts of them."""
    first = np.unique(fine.cell, return_index=True)[1]
    return Strata(belief, cells.cell[first].astype(np.int64), cells.size)


def about_one_model(name: str) -> SpecError:
    """The error where an assessment of several models is asked about one of them, and nobody says which."""
    return SpecError(
        f"{name!r} is about several models, and this question is about one of them. Name it, with ",
        Argument("model"),
        ".",
    )
