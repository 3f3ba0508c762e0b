"""The evidence behind a group's number: its own labels, what was learned from other groups, or too little."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewlabels.findings.measures import FEW, is_thin
from fewlabels.priors import Learned

if TYPE_CHECKING:
    from fewlabels.findings.reading import Reading
    from fewlabels.tasks.grounds import Evidence

LEARNED_FROM = 30
"""With at least this many labels in all, the learned prior's number for a group with few labels is shown."""

NOTES: dict[Evidence, str] = {
    "enough": "",
    "scores": "mostly from scores",
    "others": "mostly from other {nouns}",
    "few": "too few labels",
    "unasked": "not part of the question",
    "empty": "no items",
}
"""The note beside a number, by its evidence."""
HEADINGS: dict[Evidence, str] = {
    "few": "Not enough labels to say",
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
    "such."
)


def rule(reading: Reading) -> str:
    """Explain in words when a number is shown."""
    audit = reading.audit
    if audit.spec.task.of_models:
        return (
            "Every label counts for every model. How much two models differ is known far better than how often each is "
            "right, since labels went where they differ."
        )
    if not isinstance(audit.spec.prior, Learned):
        return _RULE.format(noun=reading.noun)
    unscored = audit.pool.confidence is None
    what = "how often the classifier is right" if unscored else "what the classifier's scores turned out to mean"
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
        elsewhere = "others" if audit.pool.confidence is None else "scores"
    kinds: list[Evidence] = []
    for row, is_asked, is_long in zip(estimates.rows(), asked, reading.too_long, strict=True):
        if not row["n"]:
            kinds.append("empty")
        elif not is_asked:
            kinds.append("unasked")
        elif is_long:
            kinds.append("few")
        else:
            kinds.append(elsewhere if is_thin(row["labelled"], row["n"], audit.spec.target) else "enough")
    return kinds
