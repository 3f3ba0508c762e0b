"""The groups of a report: what is known of each, in the order in which it should be read, and of all together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.metrics import Accuracy
from fewlabels.partition import whole
from fewlabels.plots.words import FEW, measure
from fewlabels.priors import Counts, Informed, Uniform
from fewlabels.report import plainly
from fewlabels.report.numbers import Style, percent, plural
from fewlabels.tasks import Compare, Identify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.assessment import Assessment
    from fewlabels.report.evidence import Evidence
    from fewlabels.table import Table
    from fewlabels.tasks import Answer

_POINT, _MOST = 0.01, 0.5
_RIGHT_OR_WRONG = 2.0  # the strength of a prior that does not say it, where labels show right or wrong


@dataclass(frozen=True)
class GroupRow:
    """One group: its items and labels, its value with an interval, and what that rests on.

    Chance and ranks are those of Identify, None for other tasks. Mean, low and high are None without items, and the
    median is where the metric is linear.
    """

    group: str
    n: int
    labelled: int
    mean: float | None
    low: float | None
    high: float | None
    evidence: Evidence
    chance: float | None = None
    rank: float | None = None
    rank_low: float | None = None
    rank_high: float | None = None
    median: float | None = None


@dataclass(frozen=True)
class Overall:
    """Accuracy over all items; `enough` says whether the labels allow to tell it, `words` why not.

    `doubt` is what must stand beside the number where the labels were steered to some groups; empty elsewhere.
    """

    mean: float
    low: float
    high: float
    enough: bool
    words: str
    confidence: float | None
    doubt: str = ""

    @property
    def between(self) -> str:
        """The interval in words."""
        return Style(share=True).between(self.low, self.high)

    @property
    def about(self) -> str:
        """What is said beside the number: its interval, and the doubt if there is one."""
        return f"{self.between}; {self.doubt}" if self.doubt else self.between


_ORDER: dict[Evidence, int] = {"enough": 0, "scores": 0, "few": 1, "unasked": 2, "empty": 3}


def group_rows(audit: Assessment, estimates: Table, answer: Answer, judged: Sequence[Evidence]) -> tuple[GroupRow, ...]:
    """The groups whose number is known, then those with too few labels, then the rest.

    Within these, in the order of the answer where groups are looked for; elsewhere the worst first.
    """
    ranked = {row["group"]: row for row in answer.table.rows()} if isinstance(audit.spec.task, Identify) else {}
    place = {name: i for i, name in enumerate(ranked)}
    names = ("chance", "rank", "rank_low", "rank_high")
    rows = []
    for row, found in zip(estimates.rows(), judged, strict=True):
        extra = {name: ranked[row["group"]][name] for name in names} if row["group"] in ranked else {}
        rows.append(GroupRow(**row, evidence=found, **extra))
    sign = -1 if measure(audit.spec.task.metric).high_is_bad else 1
    return tuple(
        sorted(rows, key=lambda row: (_ORDER[row.evidence], place.get(row.group, len(place)), sign * (row.mean or 0.0)))
    )


def over_all(audit: Assessment, rows: Sequence[GroupRow], level: float, draws: int) -> Overall:
    """Accuracy over all items, and whether it can be told.

    Each group has its own prior, and the average of many leans on it without its interval showing that. With the say s
    of the prior and its mean m, the labels alone would put the average (x − s·m) / (1 − s) in place of x. If that is
    further away than the interval is long to either side (and than a point), the number is not told. A learned prior
    has no such pull; but where labels were steered to the groups that were looked for, it speaks of the others by
    analogy. So there the number always has a doubt beside it, and is not told if most items lie in such groups.
    """
    row = next(audit.estimates(level=level, metric=Accuracy(), groups=whole(audit.pool), draws=draws).rows())
    confidence = None if audit.pool.confidence is None else float(audit.pool.confidence.mean())
    everywhere = bool(audit.spec.task.askable(audit.spec.cells(audit.pool, audit.groups)).all())
    steered = _steered(audit, everywhere)
    # Labels of items taken at random from all are simply counted.
    counted = audit.spec.policy.ignorable and everywhere
    say = 0.0 if counted else min(_say_of_prior(audit), 0.99)
    middle = confidence if isinstance(audit.spec.prior, Informed) and confidence is not None else 0.5
    pull = say * abs(row["mean"] - middle) / (1 - say)
    analogous = sum(r.n for r in rows if r.evidence == "scores") / max(len(audit.pool), 1)
    why = ""
    if row["labelled"] < FEW:
        why = "no item has a label so far" if not row["labelled"] else f"fewer than {FEW} items have a label"
    elif steered and analogous > _MOST:
        why = f"{percent(analogous)} of the items lie in {plural(plainly.noun(audit))} with hardly any labels"
    elif pull > max((row["high"] - row["low"]) / 2, _POINT):
        several = plural(plainly.noun(audit))
        why = f"too many {several} have so few labels that what was assumed beforehand would decide it"
    return Overall(row["mean"], row["low"], row["high"], not why, why, confidence, steered)


def _steered(audit: Assessment, everywhere: bool) -> str:
    """Why a number over all items is doubtful though its interval may be short; empty where no group was favoured.

    A comparison of two groups that are everything there is labels both.
    """
    task, several = audit.spec.task, plural(plainly.noun(audit))
    unsaid = audit.pool.confidence is None or isinstance(audit.spec.prior, Uniform)
    leans = f"leans on {'what was assumed beforehand' if unsaid else 'the scores'}"
    if isinstance(task, Compare) and not everywhere:
        return f"only the two {several} compared were labelled; elsewhere this number {leans}"
    if not isinstance(task, Identify) or not audit.spec.policy.looks:
        return ""
    if isinstance(task.metric, Accuracy) and task.lowest:
        return f"labels were steered to the worst {several}; this number {leans} and tends to be too low"
    return f"labels were steered to the {several} looked for; this number {leans} and can be off"


def _say_of_prior(audit: Assessment) -> float:
    """The weight of the prior in an average over the groups: Σ_g p_g s / (s + n_g), with its strength s.

    Items of the pool itself that are labelled are known, and leave the prior nothing to say. A learned prior is
    learned from the labels of all groups, so that its weight counts as 0.
    """
    prior = audit.spec.prior
    if not isinstance(prior, Counts) or not len(audit.pool):
        return 0.0
    strength = prior.strength or _RIGHT_OR_WRONG
    size = audit.groups.sizes
    labelled = np.bincount(audit.groups.group[audit.pool.positions(audit.labels())], minlength=len(size))
    left = size - labelled if audit.spec.target == "pool" else size
    return float((left * strength / (strength + labelled)).sum() / size.sum())
