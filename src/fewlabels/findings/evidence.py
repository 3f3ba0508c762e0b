"""What the number of a group rests on: its own labels, what was learned elsewhere, or too little to tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fewlabels.findings.measures import FEW, is_thin
from fewlabels.priors import Learned

if TYPE_CHECKING:
    from fewlabels.findings.reading import Reading

Evidence = Literal["enough", "scores", "few", "unasked", "empty"]

LEARNED_FROM = 30
"""Labels in all from which what the learned prior says of a group with few labels is told."""

RULE = (
    f"A {{noun}} has enough labels when at least {FEW} of its items are labelled (or all, where the question is about "
    "exactly these items) and its range is at most half as long as it would be for somebody who knows nothing."
)
LEARNED_RULE = (
    "Where the range is that short with fewer labels, the number rests on what the classifier's scores turned out to "
    "mean in the other {nouns}; it is marked as such."
)


def judge(reading: Reading) -> list[Evidence]:
    """What the number of each group rests on, in the order of the groups.

    "enough": labels of its own. "scores": few of its own, and what was learned of the scores elsewhere. "few": not
    enough to tell a number, as in the plots. "unasked": not part of the question. "empty": no items.

    >>> import fewlabels as fl
    >>> from fewlabels.findings.reading import Reading
    >>> pool = fl.read_pool([[0.9, 0.1]] * 40 + [[0.2, 0.8]] * 40, classes=["cat", "dog"])
    >>> audit = fl.create(None, "pets", pool)
    >>> _ = audit.tell({str(item): "cat" for item in range(10)}, adopt=True)
    >>> judge(Reading(audit))
    ['enough', 'few']
    """
    audit, estimates = reading.audit, reading.measured
    asked = audit.spec.task.askable(audit.spec.cells(audit.pool, audit.groups)).tolist()
    learned = isinstance(audit.spec.prior, Learned) and sum(estimates["labelled"]) >= LEARNED_FROM
    found: list[Evidence] = []
    for row, is_asked, is_long in zip(estimates.rows(), asked, reading.too_long, strict=True):
        if not row["n"]:
            found.append("empty")
        elif not is_asked:
            found.append("unasked")
        elif is_long:
            found.append("few")
        elif not is_thin(row["labelled"], row["n"], audit.spec.target):
            found.append("enough")
        else:
            found.append("scores" if learned else "few")
    return found
