"""A finding: the numbers, the evidence behind them, and the sentence. It is made once, and every face shows it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fewlabels.estimates import check_level
from fewlabels.findings import phrases
from fewlabels.findings.confusions import confused
from fewlabels.findings.doubts import doubts
from fewlabels.findings.labels import Tally, tally
from fewlabels.findings.reading import Reading
from fewlabels.findings.tables import answer_table, estimates_table, noted, readable
from fewlabels.metrics import Prevalence
from fewlabels.priors import Learned
from fewlabels.tasks.grounds import Confused, Grounds, GroupRow, Overall, of_these
from fewlabels.wording import Style, counted, listed

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment
    from fewlabels.table import Table
    from fewlabels.tasks import Answer, Task

NOTHING = "Nothing can be said yet: no item has a label so far."
"""The headline without labels."""


@dataclass(frozen=True, eq=False, repr=False)
class Finding:
    """What an assessment shows now. Made by `find`.

    Parameters
    ----------
    name, level
        The name of the assessment, and the probability of each interval.
    question, headline, basis, doubts
        The task as a question, the answer in plain words, the labels it is based on, and the caveats.
    groups
        A row for each group. Groups whose number is known come first, the most extreme or the worst at the top.
    named
        The groups of the answer that were found: more probably than not, by labels of their own.
    overall
        Accuracy over all items, and whether the labels support it.
    confusions
        The pairs of classes that are confused most often.
    reading
        The numbers that the finding is made from. A confusion matrix of 1,000 classes has a million; see `estimates`.
    items, labels
        The number of items, and the counts of labels.
    task, words
        The task itself, and the phrases that pages use, such as what a group is called.
    grounds
        What the task was given to write its sentences.
    """

    name: str
    level: float
    question: str
    headline: str
    basis: str
    doubts: tuple[str, ...]
    groups: tuple[GroupRow, ...]
    named: tuple[str, ...]
    overall: Overall
    confusions: tuple[Confused, ...]
    reading: Reading
    items: int
    labels: Tally
    task: Task
    words: phrases.Words
    grounds: Grounds

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: {self.headline}>"

    @property
    def answer(self) -> Answer:
        """The task's own answer."""
        return self.grounds.answer

    @cached_property
    def estimates(self) -> Table:
        """The estimates of the assessment's metric, each with its evidence: right, prior, evidence and note.

        Those of a confusion matrix are computed here, and not before: most faces show only the largest mistakes.
        """
        return estimates_table(self.reading.estimates, self.groups)

    @property
    def table(self) -> Table:
        """The estimates for people to read: of a confusion matrix the largest mistakes, since most cells are near 0."""
        audit = self.reading.audit
        if audit.spec.task.metric.vector:
            return noted(self.reading.confusions, audit.spec.target)
        return self.estimates

    @property
    def answer_table(self) -> Table:
        """The table of the answer, with the evidence behind each group's number."""
        return answer_table(self.answer.table, self.groups)

    @property
    def plain_answer(self) -> tuple[str, Table]:
        """The headline and the table of the answer, as pages show them."""
        return self.headline, readable(self.answer_table, self.task)

    @property
    def style(self) -> Style:
        """The style in which the values of the groups are written."""
        return Style(self.words.share).fitting((row.low, row.high) for row in self.groups if row.is_known)

    def parts(self) -> dict[str, Any]:
        """Return the fields by name, to build an object that extends a finding."""
        return {field.name: getattr(self, field.name) for field in fields(Finding)}

    def to_json(self) -> dict[str, Any]:
        """Return the finding as plain JSON values."""
        return {
            "assessment": self.name,
            "level": self.level,
            "question": self.question,
            "headline": self.headline,
            "basis": self.basis,
            "doubts": list(self.doubts),
            "answer": {
                "words": self.answer.words,
                "probability": self.answer.probability,
                "groups": list(self.answer.groups),
                "rows": list(self.answer_table.rows()),
                "settings": dict(self.answer.settings),
            },
            "groups": [asdict(row) for row in self.groups],
            "overall": asdict(self.overall),
            "confusions": [asdict(pair) for pair in self.confusions],
        }


def find(audit: Assessment, level: float = 0.95, draws: int = 10_000) -> Finding:
    """Find out what an assessment shows now, with intervals of the given level.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1]] * 30 + [[0.2, 0.8]] * 30, classes=["cat", "dog"])
    >>> audit = fl.create(None, "pets", pool, task=fl.Identify(fl.Accuracy(), lowest=1))
    >>> _ = audit.tell({item: "cat" for item in audit.ask(2).ids})
    >>> find(audit).headline
    'It is too early to name the class it gets wrong most often. The best guess so far is ...'
    >>> find(audit).doubts[0]
    'All classes have too few labels to say how good the classifier is there.'
    """
    level = check_level(level)
    return found_in(Reading(audit, level, draws))


def found_in(reading: Reading) -> Finding:
    """Make a finding from a reading, whose numbers are shared with the plots beside it."""
    audit, task, grounds = reading.audit, reading.audit.spec.task, grounds_of(reading)
    labels = tally(audit)
    return Finding(
        name=audit.name,
        level=reading.level,
        question=phrases.question(audit),
        headline=task.headline(grounds) if labels.labelled else NOTHING,
        basis=_basis(audit, grounds.rows, labels.labelled) + _noise(audit) if labels.labelled else "",
        doubts=doubts(task, grounds, labels),
        groups=grounds.rows,
        named=reading.found,
        overall=grounds.overall,
        confusions=grounds.confusions,
        reading=reading,
        items=len(audit.pool),
        labels=labels,
        task=task,
        words=phrases.words(reading),
        grounds=grounds,
    )


def grounds_of(reading: Reading) -> Grounds:
    """Gather what the task needs to put its answer into words."""
    audit = reading.audit
    return Grounds(
        noun=reading.noun,
        items=len(audit.pool),
        target=audit.spec.target,
        read_answer=lambda: reading.answer,
        rows=reading.groups,
        overall=reading.overall,
        said=_said(audit),
        unanswered=0 if audit.spec.task.of_models else int((audit.pool.predicted >= len(audit.pool.choices)).sum()),
        silent=_silent(audit) if audit.spec.task.of_models else (),
        anchors=audit.anchored if audit.spec.task.of_models else None,
        confusions=confused(reading.confusions, reading.groups) if audit.spec.task.metric.vector else (),
    )


def _silent(audit: Assessment) -> tuple[tuple[str, int], ...]:
    """The models without an answer for some items, each with their number, most first."""
    counts = (audit.pool.answers < 0).sum(axis=0).tolist()
    lacking = [(name, count) for name, count in zip(audit.pool.models, counts, strict=True) if count]
    return tuple(sorted(lacking, key=lambda each: -each[1]))


def _noise(audit: Assessment) -> str:
    """How far the labels can be trusted, where they may be wrong."""
    return f" {audit.annotators().words}" if audit.spec.noisy else ""


def _said(audit: Assessment) -> float | None:
    """The share of the items with a prediction that are predicted as the class whose true share is asked for."""
    metric, pool = audit.spec.task.metric, audit.pool
    if not isinstance(metric, Prevalence):
        return None
    items = (pool.predicted < len(pool.choices)) * (1 if pool.count is None else pool.count)
    return float(items @ (pool.predicted == pool.classes.index(metric.positive)) / max(items.sum(), 1))


def _basis(audit: Assessment, rows: tuple[GroupRow, ...], labels: int) -> str:
    """State the number of labels that the answer is based on, and what else is known about every item."""
    task = audit.spec.task
    if task.of_models:
        each = "which" if labels == 1 else "each of which"
        return f"Based on {counted(labels, 'label')}, {each} counts for every model."
    if task.pair is not None:
        by_name = {row.group: row for row in rows}
        sides = (by_name[name] for name in task.pair)
        return f"Based on the labels of {' and '.join(f'{row.short} ({row.support})' for row in sides)}."
    labelled, right = sum(row.labelled for row in rows), [row.right for row in rows if row.right is not None]
    counts = f" ({sum(right):,} right)" if right else ""
    if hits := [row.hits for row in rows if row.hits is not None]:
        counts = f" ({of_these(sum(hits), sum(row.counted or 0 for row in rows), task.metric.hit)})"
    evidence = audit.pool.evidence if isinstance(audit.spec.prior, Learned) else ()
    known = f", and on {listed(list(evidence))}, known for all {counted(len(audit.pool), 'item')}" if evidence else ""
    return f"Based on {counted(labelled, 'label')}{counts}{known}."
