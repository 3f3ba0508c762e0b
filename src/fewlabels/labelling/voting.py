"""Labels that may be wrong: the votes in a ledger, what they probably mean, and whom to ask about what next."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import numpy as np

from fewlabels.belief import dirichlet_draws
from fewlabels.labelling.progress import called
from fewlabels.labelling.twin import twin
from fewlabels.learned.items import TrustBelief
from fewlabels.metrics import Accuracy
from fewlabels.noise import Ballots, Imputed, Usual, Worth, impute, worth
from fewlabels.outcomes import Outcomes
from fewlabels.partition import by_predicted, cross

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.labelling.ledger import Ledger
    from fewlabels.labelling.votes import Who
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.priors import Prepared
    from fewlabels.spec import Spec

# The generators of the sampler and of gold items are separate from those of the steps and of the results.
_NOISE, _GOLD = 0x6E6F69, 0x676F6C
# At most this many people are asked about an item because one more opinion would be worth it.
_MOST = 3
# Events that a server need not look at yet.
_FEW = 8
# Groups are split by the predicted class if there are no more of both together.
_MOST_CELLS = 200
# Rounds of the sampler for an earlier state of the log, such as a point of a curve.
_THEN = {"kept": 8, "burn": 1, "chains": 8}


class Sampled(NamedTuple):
    """What the sampler found at one state of the log: its events until then, the rounds, and what is worth asking."""

    events: int
    imputed: Imputed
    worth: Worth


class Voting:
    """The votes of one assessment whose labels may be wrong.

    Parameters
    ----------
    spec, pool, asking
        The assessment, the pool it is about, and the groups in which it asks.
    prepared
        Prepares its prior for the cells of accuracy in these groups.
    """

    def __init__(self, spec: Spec, pool: Pool, asking: Partition, prepared: Callable[[Cells], Prepared]) -> None:
        self._spec, self._pool, self._prepared = spec, pool, prepared
        self._cells = Accuracy().cells(pool, _by_class_too(asking, pool))
        self._sampled: Sampled | None = None
        self._then: tuple[int, Imputed] | None = None
        # A prediction that is not among the classes of labels is never right.
        self.predicted = np.where(pool.predicted < len(pool.choices), pool.predicted, -1).astype(np.int64)
        known = spec.gold or {}
        items, classes = pool.positions(known).tolist(), pool.class_positions(known.values()).tolist()
        self.gold: dict[int, int] = dict(zip(items, classes, strict=True))

    def copy(self, prepared: Callable[[Cells], Prepared]) -> Voting:
        """Return the same votes and what is known about them, for a reader that stays at this state of the log."""
        return twin(self, _prepared=prepared)

    def ballots(self, ledger: Ledger) -> Ballots:
        """The votes about items that count, and about gold items."""
        votes: dict[int, dict[str, int]] = {}
        known, checks = dict(self.gold), set()
        for item in ledger.votes:
            about = ledger.votes[item]
            given = {called(who): vote.true for who, vote in about.given.items() if vote.true >= 0}
            counts = ledger.true[item] >= 0 or item in ledger.disputed
            if about.decided is not None and item not in self.gold:
                known[item] = about.decided[1].true
            if counts and (given or item in known):
                votes[item] = given
            elif given and item in self.gold and about.asker is None:
                votes[item] = given
                checks.add(item)
        return Ballots.of(votes, classes=len(self._pool.choices), known=known, only_checks=frozenset(checks))

    def sampled(self, ledger: Ledger, slack: float = 0.0) -> Sampled:
        """What the votes probably mean. It is kept until a larger share of the log than `slack` is new."""
        latest = self._sampled
        if latest is None or not self.knows_enough(ledger, slack):
            imputed = self._imputed(ledger)
            self._sampled = latest = Sampled(ledger.events, imputed, worth(imputed, self.predicted))
        return latest

    def sampled_then(self, ledger: Ledger) -> Imputed:
        """What the votes meant at an earlier state of the log, in fewer rounds; as they are now if nothing came since.

        It is cached separately, so that looking back does not discard what was drawn for the present.
        """
        if self._sampled is not None and self._sampled.events == ledger.events:
            return self._sampled.imputed
        if self._then is None or self._then[0] != ledger.events:
            self._then = ledger.events, self._imputed(ledger, **_THEN)
        return self._then[1]

    def _imputed(self, ledger: Ledger, **rounds: int) -> Imputed:
        rng = np.random.default_rng([self._spec.seed, 0, _NOISE])
        usual, confused = Usual(self._spec.labels_right), self._confused()
        chance = Chance(self._cells, self._prepared(self._cells), self.predicted)
        return impute(
            self.ballots(ledger),
            self.predicted,
            chance,
            confused,
            usual,
            rng,
            confidence=self._pool.confidence,
            count=self._pool.count,
            **rounds,
        )

    def knows_enough(self, ledger: Ledger, slack: float) -> bool:
        """Whether what the votes meant at the last look is good enough.

        The sampler takes a second: a server, which has slack, waits for some answers even where there are few.
        """
        enough = slack * ledger.events + (_FEW if slack else 0)
        return self._sampled is not None and abs(ledger.events - self._sampled.events) <= enough

    def _confused(self) -> NDArray[np.float64] | None:
        sums, classes = self._pool.score_sums, len(self._pool.choices)
        return None if sums is None else np.asarray(sums, dtype=float)[:classes, :classes]

    def again(self, ledger: Ledger, who: Who, most: int, slack: float) -> list[int]:
        """At most this many items for which one more vote is worth more than a new item, the best first."""
        if who is None or not len(ledger.votes):
            return []
        sampled = self.sampled(ledger, slack)
        items, gain = sampled.imputed.ballots.items, sampled.worth.again
        chosen: list[int] = []
        for place in np.argsort(-gain, kind="stable").tolist():
            if gain[place] <= sampled.worth.new or len(chosen) == most:
                break
            item = int(items[place])
            votes = ledger.votes.get(item)
            if votes is None or votes.decided is not None or votes.asker is None or votes.held:
                continue
            if item in ledger.disputed:
                continue  # it waits for the owner, and would leave their list if somebody else had it
            if not votes.seen_by(who) and who not in votes.handed and len(votes.given) < _MOST:
                chosen.append(item)
        return chosen

    def gold_for(self, ledger: Ledger, who: Who, turn: int) -> int | None:
        """A gold item that this person has not seen, if it is time for one; repeated calls return the same item."""
        before = len(ledger.answered.get(who, ())) + len(ledger.held.get(who, ())) + turn
        rng = np.random.default_rng([self._spec.seed, before, crc32(called(who).encode()), _GOLD])
        if not self.gold or rng.random() >= self._spec.gold_rate:
            return None
        unseen = [item for item in sorted(self.gold) if not _handed(ledger, item, who)]
        return int(rng.choice(unseen)) if unseen else None


def _by_class_too(asking: Partition, pool: Pool) -> Partition:
    """The groups of asking, split by the predicted class: what a vote means depends on how good that prediction is."""
    if asking.recipe.get("by") == "predicted" or len(asking) * len(pool.classes) > _MOST_CELLS:
        return asking
    return cross(asking, by_predicted(pool))


class Chance:
    """P(right) of every item, from the prior's own model fitted to labels that may be true."""

    def __init__(self, cells: Cells, prepared: Prepared, predicted: NDArray[np.int64]) -> None:
        self._cells, self._prepared, self._predicted = cells, prepared, predicted

    def __call__(
        self, items: NDArray[np.int64], true: NDArray[np.int64]
    ) -> list[Callable[[np.random.Generator], NDArray[np.float64]]]:
        """For each version of the classes, shape (versions, items), what draws P(right) of every item of the pool."""
        shown = (true != self._predicted[items]).astype(np.int64)
        beliefs = self._prepared.beliefs([Outcomes.of(self._cells, items, wrong) for wrong in shown])
        return [partial(self._drawn, belief) for belief in beliefs]

    def _drawn(self, belief: Belief, rng: np.random.Generator) -> NDArray[np.float64]:
        if isinstance(belief, TrustBelief):
            strip = belief.model.strips.strip
            return np.where(strip >= 0, belief.model.draws(rng, 1)[0][strip], 0.0)
        theta: NDArray[np.float64] = dirichlet_draws(rng, belief.alpha, 1)[0, :, 0]
        return theta[self._cells.cell]


def _handed(ledger: Ledger, item: int, who: Who) -> bool:
    votes = ledger.votes.get(item)
    return votes is not None and (who in votes.handed or votes.seen_by(who))
