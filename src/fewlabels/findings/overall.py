"""Accuracy over all items, and whether the labels support it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewlabels.findings.evidence import LEARNED, beside
from fewlabels.findings.prior_pull import asks_everywhere
from fewlabels.metrics import Accuracy, Prevalence
from fewlabels.partition import whole
from fewlabels.priors import Uniform
from fewlabels.tasks.backing import ENOUGH, FEW, MOST, is_thin
from fewlabels.tasks.grounds import Overall
from fewlabels.wording import is_exact, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.assessment import Assessment
    from fewlabels.findings.reading import Reading
    from fewlabels.tasks.grounds import GroupRow


def over_all(reading: Reading, rows: Sequence[GroupRow]) -> Overall:
    """Estimate the accuracy over all items, and say whether it may be shown.

    Each group has its own prior, and the average of many groups depends on these priors without its interval showing
    it. If the priors decide the number (`prior_pull.swayed`), it is not shown. A learned prior has no such pull. But if
    labels were steered to some groups, the learned prior judges the others by analogy. The number is then corrected by
    the labels drawn at random from all items (`rectified`). With fewer than ten of these it comes with a doubt, and is
    not shown if most items are in such groups.
    """
    audit, everything = reading.audit, whole(reading.audit.pool)
    if audit.spec.task.of_models:
        return Overall(0.0, 0.0, 1.0, False, "each model has its own number", None)
    table = audit.estimates(level=reading.level, metric=Accuracy(), groups=everything, draws=reading.draws)
    row = next(table.rows())
    if row["labelled"] and is_exact(row["low"], row["high"]):  # nothing is left to be steered or assumed
        basis, spoken_for = "", True
    else:
        basis, spoken_for = rests(audit, row["labelled"])
    doubt = "" if spoken_for else _doubt(reading)
    if doubt and basis:
        doubt = f"{doubt}; {basis}"
    analogous = sum(r.n for r in rows if r.evidence in LEARNED) / max(len(audit.pool), 1)
    why = ""
    if is_thin(row["labelled"], row["n"], audit.spec.target):
        why = "no item has a label yet" if not row["labelled"] else f"fewer than {FEW} items have a label"
    elif doubt and analogous > MOST:
        why = f"{percent(analogous)} of the items are in {reading.nouns} with hardly any labels"
    elif not reading.is_grounded and not audit.is_random_sample():
        why = f"too many {reading.nouns} have too few labels, and what was assumed before any label would decide it"
    of = "Verdict agrees with people" if isinstance(audit.spec.task.metric, Prevalence) else "Right"
    confidence = audit.pool.mean_confidence
    return Overall(row["mean"], row["low"], row["high"], not why, why, confidence, doubt, basis, audit.spec.target, of)


def rests(audit: Assessment, labelled: int) -> tuple[str, bool]:
    """How many labels were drawn at random from all items, in words, and whether they are enough to represent all.

    It is empty if labels were not steered, and under priors that do not use such labels.
    """
    several = int((audit.groups.sizes > 0).sum()) > 1
    if not (several and audit.spec.policy.uses_belief and audit.spec.prior.uses_items):
        return "", False
    anchors = audit.anchored
    if not anchors:
        return "no label was drawn at random from all items", False
    only, were = ("" if anchors >= ENOUGH else "only "), ("was" if anchors == 1 else "were")
    return f"{only}{anchors:,} of the {labelled:,} labels {were} drawn at random from all items", anchors >= ENOUGH


def _doubt(reading: Reading) -> str:
    """Explain why the number is doubtful even if its interval is short; empty if no group was favoured."""
    audit = reading.audit
    known = "" if isinstance(audit.spec.prior, Uniform) else beside(audit.pool)
    depends_on = known.replace("scores", "the scores", 1) if known else "what was assumed before any label"
    return audit.spec.task.overall_doubt(
        reading.nouns,
        depends_on,
        steered=audit.spec.policy.uses_belief,
        everywhere=asks_everywhere(audit),
        borrows=audit.spec.prior.uses_items and int((audit.groups.sizes > 0).sum()) > 1,
    )
