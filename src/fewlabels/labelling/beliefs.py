"""What an assessment believes about its own cells: computed when it is needed, and kept while it is good enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

from fewlabels.labelling.twin import twin

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.labelling.journal import Journal
    from fewlabels.labelling.ledger import Ledger
    from fewlabels.labelling.voting import Voting
    from fewlabels.priors import Prepared


class Believed(NamedTuple):
    """A belief, its ledger, and the state of the ledger at that time: events, label changes, labels, counts by cell."""

    belief: Belief
    ledger: Ledger
    events: int
    changes: int
    labelled: int
    counts: NDArray[np.float64]

    def is_only_behind(self, ledger: Ledger) -> bool:
        """Whether labels were only added since: none was taken back or changed."""
        return ledger.changes - self.changes == ledger.labelled - self.labelled


class Beliefs:
    """The belief about the cells in which an assessment asks, and behind it the prior and the meaning of votes.

    Its callers hold the lock of the journal.

    Parameters
    ----------
    journal
        The labels, and the cells that they are about.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._begin()

    def _begin(self) -> None:
        """Take the journal's subject: at the beginning, and when it changes because items were named."""
        self._subject = subject = self._journal.subject
        self._believed: Believed | None = None
        self._priors: dict[tuple[str, ...], Prepared] = {}
        self._voting: Voting | None = None
        if subject.spec.noisy:
            from fewlabels.labelling.voting import Voting  # it takes a twentieth of the time of a command

            self._voting = Voting(subject.spec, subject.pool, subject.asking, self._journal.prepared)

    def snapshot(self, journal: Journal) -> Self:
        """Return the present beliefs for a snapshot of the journal; this object may go on learning."""
        believed, voting = self._believed, self.voting
        return twin(
            self,
            _journal=journal,
            _subject=journal.subject,
            _believed=None if believed is None else believed._replace(ledger=journal.ledger),
            _voting=None if voting is None else voting.copy(journal.prepared),
        )

    @property
    def voting(self) -> Voting | None:
        """What votes mean, where labels may be wrong; None where they are taken as true."""
        if self._subject is not self._journal.subject:
            self._begin()
        return self._voting

    @property
    def prior(self) -> Prepared:
        """The prior, prepared for the assessment's own cells and for everybody who drew labelled items."""
        subject, askers = self._journal.subject, tuple(self._journal.ledger.askers())
        if self._subject is not subject:
            self._begin()
        if askers not in self._priors:
            self._priors = {askers: self._journal.prepared(subject.cells)}
        return self._priors[askers]

    def now(self, slack: float = 0.0) -> Believed:
        """The belief about the assessment's own cells, kept until more than a share of the labels is new.

        It is computed again at once if a label was taken back or changed.
        """
        believed, ledger = self._believed, self._journal.ledger
        if believed is None or believed.ledger is not ledger or not self._is_good(believed, slack):
            belief = self._computed(slack)
            until = ledger.events, ledger.changes, ledger.labelled, ledger.counts.copy()
            self._believed = believed = Believed(belief, ledger, *until)
        return believed

    def _is_good(self, believed: Believed, slack: float) -> bool:
        """Whether a belief that was computed earlier is good enough."""
        ledger, voting = believed.ledger, self.voting
        if voting is not None:  # a second vote is informative too
            enough = slack > 0 and voting.knows_enough(ledger, slack)
            return enough or abs(ledger.events - believed.events) <= slack * ledger.labelled
        return believed.is_only_behind(ledger) and ledger.labelled - believed.labelled <= slack * ledger.labelled

    def _computed(self, slack: float) -> Belief:
        """The belief about the assessment's own cells, from labels as they are or as they may be."""
        subject, ledger, voting = self._journal.subject, self._journal.ledger, self.voting
        if voting is None:
            belief = self.prior.belief(ledger.outcomes(items=subject.spec.prior.uses_items))
            return subject.anchored(belief, ledger)
        imputed, metric = voting.sampled(ledger, slack).imputed, subject.spec.task.metric
        each = [metric.outcomes(subject.pool, subject.cells, imputed.items, true) for true in imputed.labels]
        return self.mixed(self.prior.beliefs(each))

    @staticmethod
    def mixed(parts: Sequence[Any]) -> Belief:
        """A belief where labels may be wrong: those after each of several possible labels, mixed."""
        from fewlabels.noise import NoisyBelief

        return NoisyBelief.of(parts)

    def possible_labels(self, at: Ledger | None = None) -> list[NDArray[Any]]:
        """The labelled items and their true classes; if labels may be wrong, several versions of the classes.

        They are the present ones, or those of a ledger of an earlier state of the log.
        """
        ledger, voting = self._journal.ledger if at is None else at, self.voting
        if voting is None:
            return [*ledger.labels()]
        imputed = voting.sampled(ledger).imputed if at is None else voting.sampled_then(ledger)
        return [imputed.items, *imputed.labels]
