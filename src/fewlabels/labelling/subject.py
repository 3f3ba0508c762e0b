"""What an assessment is about: its definition applied to a pool, and how the items of the pool are drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np

from fewlabels.labelling.askers import Asker, Askers
from fewlabels.labelling.ledger import Ledger
from fewlabels.labelling.twin import twin
from fewlabels.sample import Sample, Strips

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.priors import Prepared
    from fewlabels.spec import Spec
    from fewlabels.store import Definition, Store


class Subject:
    """A definition and the pool that it is about. It never changes: when items are named, a new one is made.

    Parameters
    ----------
    store, record
        Where the definition is kept, and its record there; other assessments of the pool are found there too.
    spec
        The definition.
    whole
        The pool with all its models.
    groups
        The groups of the definition in this pool, if they are made already.

    Examples
    --------
    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], classes=["cat", "dog"])
    >>> audit = fl.create(store := fl.Store(None), "pets", pool)
    >>> subject = Subject(store, store.open("pets"), audit.spec, pool)
    >>> subject.groups.names
    ('cat', 'dog')
    >>> subject.is_random_sample(subject.new_ledger())
    False
    """

    def __init__(
        self, store: Store, record: Definition, spec: Spec, whole: Pool, groups: Partition | None = None
    ) -> None:
        self.name, self.record, self.spec, self.whole = record.name, record, spec, whole
        self.pool = spec.of(whole)
        """The pool that the task is about: perhaps that of one model."""
        self.groups = spec.partition(self.pool) if groups is None else groups
        self.asker = Asker(spec, self.pool)
        """How this assessment draws items."""
        self.askers = Askers(store, self.name, self.asker, whole)
        """How all assessments of the pool do."""
        # They are made now, so that anything wrong with them is an error here.
        self.asking, self.cells, self.askable = self.asker.asking, self.asker.cells, self.asker.askable

    def copy(self) -> Self:
        """Return the same subject for another thread, which finds other assessments for itself."""
        return twin(self, askers=self.askers.copy())

    def grown(self, store: Store, stored: Pool) -> Subject:
        """Take the pool as it is stored now: items that were named have the rows after those that were there.

        The pool stays linked to its table.
        """
        assert stored.reserve is not None and self.whole.reserve is not None  # noqa: PT018
        linked = replace(stored, reserve=replace(stored.reserve, link=self.whole.reserve.link))
        return Subject(store, self.record, self.spec, linked)

    # --- one of several models

    def is_own(self, model: str | None) -> bool:
        """Whether the question is about this model; it is if none is named."""
        return model is None or (model == self.spec.model and model in self.whole.models)

    def pool_of(self, model: str | None) -> Pool:
        """The pool of one of the models; that of the question if none is named."""
        return self.pool if self.is_own(model) else self.whole.of(str(model))

    def groups_of(self, model: str | None) -> Partition:
        """The groups for one of the models: groups by predicted class differ between models."""
        return self.groups if self.is_own(model) else self.spec.partition(self.pool_of(model))

    # --- a ledger of it, and what the ledger shows

    def new_ledger(self, cells: Cells | None = None) -> Ledger:
        """A ledger that has read nothing yet, for these cells or for those in which items are asked for."""
        metric, overlap = self.spec.task.metric, self.spec.overlap
        reads, first = self.askers.reads, self.record.first
        return Ledger(self.pool, metric, cells or self.cells, overlap, self.name, reads, first)

    def prepared(self, cells: Cells, ledger: Ledger) -> Prepared:
        """The prior prepared for cells of the groups of asking, and for the groups of others who drew labelled ones."""
        asked = self.askers.asked(ledger)
        across = self.spec.prior.across(cells, self.spec.target, *asked) if asked else None
        return across or self.spec.prior.on(cells, self.spec.target)

    def is_steered(self, ledger: Ledger) -> bool:
        """Whether labels were steered to some groups and stand for the others: then the overall number can be off."""
        askers = [self.asker, *(self.askers[name] for name in ledger.labels_elsewhere())]
        return self.spec.prior.uses_items and any(asker.steers for asker in askers)

    def is_random_sample(self, ledger: Ledger) -> bool:
        """Whether all labels are of items drawn at random from the whole pool, whoever drew them."""
        drawn_at_random = all(self.askers[name].is_random for name in [self.name, *ledger.labels_elsewhere()])
        return drawn_at_random and not ledger.adopted

    def sample(self, ledger: Ledger) -> Sample:
        """The items asked for, in the order of the steps, and which of them were drawn at random from all."""
        asked = np.flatnonzero(ledger.pending | (ledger.true >= 0))
        names = [self.name, *ledger.drawn.askers]
        asker, steps, turns = ledger.votes.drawn(asked, names)
        order = np.argsort(turns, kind="stable")
        items, steps, asker = asked[order], steps[order], asker[order]
        true = ledger.true[items]
        right = np.where(true >= 0, (true == self.pool.predicted[items]).astype(float), np.nan)
        random = np.zeros(len(items), dtype=bool)
        for k, name in enumerate(names):
            drawn = asker == k
            random[drawn] = self.askers[name].at_random(steps[drawn])
        # Strips are those of the first assessment that asked in some; what was drawn in others speaks for none of them.
        stripped = [k for k, name in enumerate(names) if self.askers[name].spec.strips]
        if not stripped:
            return Sample(items, right, random)
        asking = self.askers[names[stripped[0]]].asking
        same = [k for k in stripped if np.array_equal(self.askers[names[k]].asking.group, asking.group)]
        return Sample(items, right, random, Strips.of(asking, items, random | (np.isin(asker, same) & (steps > 0))))

    def anchored(self, belief: Belief, ledger: Ledger) -> Belief:
        """Tell a belief about several models which labels are of items drawn at random; return any other unchanged."""
        if not self.spec.task.of_models:
            return belief
        from fewlabels.learned.models import ModelsBelief

        if not isinstance(belief, ModelsBelief):
            return belief
        sample = self.sample(ledger)
        anchors = sample.items[sample.anchor & sample.labelled]
        return replace(belief, anchors=anchors).from_lot(self._by_lot(ledger))

    def _by_lot(self, ledger: Ledger) -> NDArray[np.bool_]:
        """Which items have a label and were drawn at random where the two models differ that are compared, (items,).

        By a comparison of the same two, or as an anchor.
        """
        asked = np.flatnonzero(ledger.true >= 0)
        names = [self.name, *ledger.drawn.askers]
        asker, steps, _ = ledger.votes.drawn(asked, names)
        at_random = np.zeros(len(ledger.true), dtype=np.bool_)
        for k, name in enumerate(names):
            drawn = asker == k
            at_random[asked[drawn]] = self.askers[name].at_random(steps[drawn])
            if self.askers[name].compares_as(self.cells):
                at_random[asked[drawn & (steps > 0)]] = True
        return at_random
