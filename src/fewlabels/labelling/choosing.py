"""The choice of what is handed out next: items that lack votes, then new ones, by a belief that is kept for a while."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fewlabels.labelling.drawn import GOLD
from fewlabels.labelling.next_items import choose
from fewlabels.labelling.upkeep import Upkeep
from fewlabels.labelling.voting import Voting
from fewlabels.noise import NoisyBelief
from fewlabels.store import Event

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.labelling.ledger import Ledger
    from fewlabels.labelling.votes import Who
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.priors import Prepared
    from fewlabels.store import Transaction


class _Believed(NamedTuple):
    """A belief, and when it was computed: events, changes of labels, labels, and their counts by cell until then."""

    belief: Belief
    events: int
    changes: int
    labelled: int
    counts: NDArray[np.float64]

    def is_only_behind(self, ledger: Ledger) -> bool:
        """Whether labels were only added since: none was taken back or changed."""
        return ledger.changes - self.changes == ledger.labelled - self.labelled


class Choosing(Upkeep):
    """What an assessment believes while it asks, and the items that it chooses by that."""

    def _use(self, pool: Pool, partition: Partition, whole: Pool) -> None:
        super()._use(pool, partition, whole)
        self._believed: _Believed | None = None
        self._drawn: dict[int, int] = {}
        self._voting = Voting(self.spec, pool, self._asking, self.prepared) if self.spec.noisy else None
        self._priors: dict[tuple[str, ...], Prepared] = {}

    def _forget(self) -> None:
        super()._forget()
        self._believed = None

    def _chosen(self, log: Transaction, annotator: Who, n: int, slack: float) -> dict[int, int]:
        """Up to n items to hand out next, and the step of asking that chose each."""
        ledger = self._ledger
        elsewhere = ledger.drawn.elsewhere
        # An item that another assessment has drawn needs another vote: no step of this one chose it.
        lacking = ledger.lacking(annotator, n)
        steps = {item: 0 if item in elsewhere else ledger.votes[item].step for item in lacking}
        if self._voting is not None and len(steps) < n:
            steps |= dict.fromkeys(self._voting.again(ledger, annotator, n - len(steps), slack), 0)
        again = False
        while len(steps) < n:
            wanted = n - len(steps)
            # What was drawn a moment ago is not in the log yet, so it may be drawn once more.
            drawn = self._new_items(n if again else wanted, slack)
            new = dict(islice(((item, step) for item, step in drawn.items() if item not in steps), wanted))
            again = True
            # What other assessments know need not be asked again: it is drawn here too, and handed to nobody.
            known = {item: step for item, step in new.items() if item in ledger.votes}
            ledger.read(log.append([event for item, step in known.items() for event in self._drawn_too(item, step)]))
            steps |= {item: step for item, step in new.items() if item not in known}
            if not known:
                break
        return steps if self._voting is None else self._with_gold(annotator, steps)

    def _with_gold(self, annotator: Who, steps: dict[int, int]) -> dict[int, int]:
        """Put gold items in the place of some, where nobody can tell them from the others."""
        assert self._voting is not None
        mixed: dict[int, int] = {}
        for turn, (item, step) in enumerate(steps.items()):
            gold = self._voting.gold_for(self._ledger, annotator, turn)
            if gold is None or gold in mixed or gold in steps:
                mixed[item] = step
            else:
                # What was to be asked comes later: it was drawn, but is written to the log only when it is handed out.
                mixed[gold] = GOLD
        return mixed

    def _drawn_too(self, item: int, step: int) -> list[Event]:
        """The events for an item that was drawn, and is handed to nobody: a request that ends at once."""
        asker = self._ledger.votes[item].asker
        who = "known" if asker is None else f"known from {asker!r}"
        return [Event("request", self._id(item), step=step, note=who), Event("expire", self._id(item), note=who)]

    def _is_ours(self, item: int) -> bool:
        """Whether an item was drawn here, or by an assessment whose items count here."""
        asker = self._ledger.votes[item].asker
        return asker is None or self._ledger.drawn.reads(asker)

    def _new_items(self, n: int, slack: float) -> dict[int, int]:
        """Up to n free items, and the step of asking that chose each.

        A step may name several groups. With slack, the items of a whole step are drawn at once and handed out one
        after the other, until the belief is computed anew or somebody else has asked.
        """
        ledger, uses_belief = self._ledger, self.spec.policy.uses_belief
        # For a policy that does not use the belief, nothing is fitted.
        believed = self._believe(ledger, slack) if uses_belief else None
        drawn = {i: step for i, step in self._drawn.items() if step >= ledger.drawn.step and ledger.is_free(i)}
        if len(drawn) < n or not slack:
            belief = self._prior.blank() if believed is None else believed.belief
            unseen = None
            if believed is not None and self._voting is None:
                belief = belief.counting(ledger.counts - believed.counts)
            elif believed is not None:  # they may be wrong: they count as answered as expected
                unseen = np.maximum((ledger.counts - believed.counts).sum(axis=1), 0).astype(np.int64)
            # No more than will be asked for before the belief is computed anew.
            known = 0 if believed is None else believed.labelled
            most = max(n, min(self.spec.task.plays, known + int(slack * known) - ledger.labelled + 1))
            drawn = choose(self.spec, self._cells, self._askable, belief, ledger, most, unseen)
        taken = dict(islice(drawn.items(), n))
        self._drawn = {item: step for item, step in drawn.items() if item not in taken} if slack else {}
        return taken

    @property
    def _fits(self) -> bool:
        """Whether choosing items takes a model of all labels, which is costly."""
        return self.spec.policy.uses_belief and self.spec.prior.uses_items

    @property
    def _prior(self) -> Prepared:
        """The prior prepared for the assessment's own cells and for all who drew items, when it is first needed."""
        drawn = self._ledger.drawn
        askers = (*drawn.askers, *([self.name] if drawn.step else [])) if drawn.elsewhere else ()
        if askers not in self._priors:
            self._priors = {askers: self.prepared(self._cells)}
        return self._priors[askers]

    def prepared(self, cells: Cells) -> Prepared:
        """The prior prepared for cells of the assessment's own groups, and for the groups of others who drew items."""
        asked = self._askers.asked(self._ledger)
        read = self.spec.prior.across(cells, self.spec.target, *asked) if asked else None
        return read or self.spec.prior.on(cells, self.spec.target)

    def _believe(self, ledger: Ledger, slack: float = 0.0) -> _Believed:
        """The belief about the assessment's own cells, kept until more than a share of the labels is new.

        Labels that were taken back or changed are not waited for.
        """
        believed = self._believed
        if believed is None or not self._is_good(believed, ledger, slack):
            belief = self._believed_from(ledger, slack)
            until = ledger.events, ledger.changes, ledger.labelled, ledger.counts.copy()
            self._believed = believed = _Believed(belief, *until)
            self._drawn = {}
        return believed

    def _is_good(self, believed: _Believed, ledger: Ledger, slack: float) -> bool:
        """Whether a belief that was computed earlier is good enough."""
        if self._voting is not None:  # a second vote tells something as well
            enough = slack > 0 and self._voting.knows_enough(ledger, slack)
            return enough or abs(ledger.events - believed.events) <= slack * ledger.labelled
        return believed.is_only_behind(ledger) and ledger.labelled - believed.labelled <= slack * ledger.labelled

    def _believed_from(self, ledger: Ledger, slack: float) -> Belief:
        """The belief about the assessment's own cells, from labels as they are or as they may be."""
        if self._voting is None:
            return self._prior.belief(ledger.outcomes(items=self.spec.prior.uses_items))
        imputed, metric = self._voting.told(ledger, slack).imputed, self.spec.task.metric
        each = [metric.outcomes(self.pool, self._cells, imputed.items, true) for true in imputed.labels]
        return NoisyBelief.of(self._prior.beliefs(each))
