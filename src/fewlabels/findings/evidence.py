"""The evidence behind a group's number: its own labels, what was learned from other groups, or too little."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.priors import Learned
from fewlabels.tasks.backing import FEW, is_thin
from fewlabels.wording import listed

if TYPE_CHECKING:
    from fewlabels.findings.reading import Reading
    from fewlabels.pool import Pool
    from fewlabels.tasks.grounds import Evidence

LEARNED_FROM = 30
"""With at least this many labels in all, the learned prior's number for a group with few labels is shown."""

NOTES: dict[Evidence, str] = {
    "enough": "",
    "scores": "mostly from {beside}",
    "evidence": "mostly from {beside}",
    "others": "mostly from other {nouns}",
    "never": "never right",
    "few": "too few labels",
    "undefined": "no such items",
    "unasked": "not part of the question",
    "empty": "no items",
}
"""The note beside a number, by its evidence."""
LEARNED: tuple[Evidence, ...] = ("scores", "evidence", "others")
"""The evidence with which a number rests on what was learned elsewhere."""
HEADINGS: dict[Evidence, str] = {
    "few": "Not enough labels to say",
    "undefined": "Without a number",
    "unasked": "Not part of the question",
    "empty": "Without items",
}
"""The heading over groups whose number is not shown, by evidence."""
_RULE = (
    f"A {{noun}} has enough labels when at least {FEW} of its items are labelled (or all of them, if the question is "
    "about exactly these items) and its range is at most half as long as it would be without any labels or scores."
)
_LEARNED = (
    "If the range is that short with fewer labels, the number rests on {what} in the other {nouns}, and is marked as "
    "such. So a {noun} with a few labels can have no number while one without labels has one: less is known about some "
    "{nouns} than about others, and a few labels may not make up for that."
)


def beside(pool: Pool) -> str:
    """Say what the learned prior learns from beside labels; empty if there is nothing.

    >>> import fewlabels as fl
    >>> beside(fl.read_pool({"predicted": ["a", "b"], "confidence": [0.9, 0.8], "judge": [1, 0]}, evidence=["judge"]))
    'scores and the column judge'
    """
    names = f"the column{'s' if len(pool.evidence) > 1 else ''} {listed(list(pool.evidence))}" if pool.evidence else ""
    return " and ".join(filter(None, ("" if pool.confidence is None else "scores", names)))


def rule(reading: Reading) -> str:
    """Explain in words when a number is shown."""
    audit = reading.audit
    if audit.spec.task.of_models:
        return (
            "Every label counts for every model. How much two models differ is known far better than how often each is "
            "right, because labels went where they differ, so the better of two may have fewer right labels."
        )
    if not isinstance(audit.spec.prior, Learned):
        return _RULE.format(noun=reading.noun)
    known = beside(audit.pool)
    known = known.replace("scores", "the classifier's scores", 1) if audit.pool.confidence is not None else known
    what = f"what {known} turned out to mean" if known else "how often the classifier is right"
    return f"{_RULE} {_LEARNED}".format(noun=reading.noun, nouns=reading.nouns, what=what)


def judge(reading: Reading) -> list[Evidence]:
    """Return the evidence behind each group's number, in the order of the groups.

    >>> import fewlabels as fl
    >>> from fewlabels.findings.reading import Reading
    >>> pool = fl.read_pool([[0.9, 0.1]] * 40 + [[0.2, 0.8]] * 40, classes=["cat", "dog"])
    >>> audit = fl.create(None, "pets", pool)
    >>> _ = audit.tell({str(item): "cat" for item in range(10)}, adopt=True)
    >>> judge(Reading(audit))
    ['enough', 'few']
    """
    audit, estimates = reading.audit, reading.measured
    asked = audit.spec.task.askable(reading.cells).tolist()
    elsewhere: Evidence = "few"
    if isinstance(audit.spec.prior, Learned) and sum(estimates["labelled"]) >= LEARNED_FROM:
        elsewhere = "scores" if audit.pool.confidence is not None else "evidence" if audit.pool.evidence else "others"
    never = _never_right(reading)
    kinds: list[Evidence] = []
    for g, (row, is_asked, is_long) in enumerate(zip(estimates.rows(), asked, reading.too_long, strict=True)):
        if not row["n"]:
            kinds.append("empty")
        elif not is_asked:
            kinds.append("unasked")
        elif g in never:
            kinds.append("never")
        elif row["mean"] is None:
            kinds.append("undefined")
        elif is_long:
            kinds.append("few")
        else:
            kinds.append(elsewhere if is_thin(reading.own_labels(row), row["n"], audit.spec.target) else "enough")
    return kinds


def _never_right(reading: Reading) -> set[int]:
    """The groups in which no answer can be right, if the number is the share right."""
    pool, groups = reading.audit.pool, reading.audit.groups
    if not (pool.unanswered and reading.audit.spec.task.metric.marginal) or reading.audit.spec.task.of_models:
        return set()
    answered = np.bincount(groups.group, pool.predicted < len(pool.choices), minlength=len(groups))
    return set(np.flatnonzero((answered == 0) & (groups.sizes > 0)).tolist())
