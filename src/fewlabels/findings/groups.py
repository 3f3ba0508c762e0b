"""The groups of a report: what is known of each, in the order in which it should be read, and of all together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fewlabels.findings import phrases
from fewlabels.findings.formatting import Style, percent
from fewlabels.findings.measures import FEW
from fewlabels.findings.prior_pull import asks_everywhere, is_random_sample
from fewlabels.metrics import Accuracy
from fewlabels.partition import whole
from fewlabels.priors import Uniform
from fewlabels.tasks import Compare, Identify
from fewlabels.wording import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.assessment import Assessment
    from fewlabels.findings.evidence import Evidence
    from fewlabels.findings.reading import Reading

_MOST = 0.5  # the largest share of items in groups that are known by analogy


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


def group_rows(reading: Reading, judged: Sequence[Evidence]) -> tuple[GroupRow, ...]:
    """The groups whose number is known, then those with too few labels, then the rest.

    Within these, in the order of the answer where groups are looked for; elsewhere the worst first.
    """
    task = reading.audit.spec.task
    ranked = {row["group"]: row for row in reading.answer.table.rows()} if isinstance(task, Identify) else {}
    place = {name: i for i, name in enumerate(ranked)}
    names = ("chance", "rank", "rank_low", "rank_high")
    rows = []
    for row, found in zip(reading.measured.rows(), judged, strict=True):
        extra = {name: ranked[row["group"]][name] for name in names} if row["group"] in ranked else {}
        rows.append(GroupRow(**row, evidence=found, **extra))
    sign = -1 if task.metric.high_is_bad else 1
    return tuple(
        sorted(rows, key=lambda row: (_ORDER[row.evidence], place.get(row.group, len(place)), sign * (row.mean or 0.0)))
    )


def over_all(reading: Reading, rows: Sequence[GroupRow]) -> Overall:
    """Accuracy over all items, and whether it can be told.

    Each group has its own prior, and the average of many leans on it without its interval showing that: where the
    prior sways it (`plots.sway.swayed`), the number is not told. A learned prior has no such pull; but where
    labels were steered to the groups that were looked for, it speaks of the others by analogy. So there the number
    always has a doubt beside it, and is not told if most items lie in such groups.
    """
    audit, everything = reading.audit, whole(reading.audit.pool)
    table = audit.estimates(level=reading.level, metric=Accuracy(), groups=everything, draws=reading.draws)
    row = next(table.rows())
    confidence = None if audit.pool.confidence is None else float(audit.pool.confidence.mean())
    steered = _steered(audit)
    analogous = sum(r.n for r in rows if r.evidence == "scores") / max(len(audit.pool), 1)
    why = ""
    if row["labelled"] < FEW:
        why = "no item has a label so far" if not row["labelled"] else f"fewer than {FEW} items have a label"
    elif steered and analogous > _MOST:
        why = f"{percent(analogous)} of the items lie in {plural(phrases.noun(audit))} with hardly any labels"
    elif not reading.is_grounded and not is_random_sample(audit):
        several = plural(phrases.noun(audit))
        why = f"too many {several} have so few labels that what was assumed beforehand would decide it"
    return Overall(row["mean"], row["low"], row["high"], not why, why, confidence, steered)


def _steered(audit: Assessment) -> str:
    """Why a number over all items is doubtful though its interval may be short; empty where no group was favoured.

    A comparison of two groups that are everything there is labels both.
    """
    task, several = audit.spec.task, plural(phrases.noun(audit))
    unsaid = audit.pool.confidence is None or isinstance(audit.spec.prior, Uniform)
    leans = f"leans on {'what was assumed beforehand' if unsaid else 'the scores'}"
    if isinstance(task, Compare) and not asks_everywhere(audit):
        return f"only the two {several} compared were labelled; elsewhere this number {leans}"
    if not isinstance(task, Identify) or not audit.spec.policy.uses_belief:
        return ""
    if isinstance(task.metric, Accuracy) and task.lowest:
        return f"labels were steered to the worst {several}; this number {leans} and tends to be too low"
    return f"labels were steered to the {several} looked for; this number {leans} and can be off"
