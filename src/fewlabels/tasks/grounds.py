"""The grounds of an answer in words: each group with its evidence, and all items together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from fewlabels.wording import Style, counted, plural, shortened

if TYPE_CHECKING:
    from collections.abc import Callable

    from fewlabels.belief import Target
    from fewlabels.tasks.base import Answer

Evidence = Literal["enough", "scores", "evidence", "others", "never", "few", "undefined", "unasked", "empty"]
"""The evidence for the number of a group: labels of its own; few of its own, and what was learned elsewhere about the
scores, or about evidence columns if there are no scores, or about the other groups if there is neither; all its answers
are never right; too few labels for a number; a number that is 0/0; not part of the question; no items."""

KNOWN: tuple[Evidence, ...] = ("enough", "scores", "evidence", "others", "never")
"""The evidence with which the number of a group is shown."""
SAFE = 0.8
"""An answer that is less probable is not stated as a fact."""
LONGEST = 60
"""Longer names of groups are cut in a sentence."""


@dataclass(frozen=True)
class GroupRow:
    """One group: its value with an interval, and the evidence for it.

    Parameters
    ----------
    group, n, labelled
        Its name, its items and how many of them have a label.
    mean, low, high
        The value and its interval; None without items, or where it is 0/0.
    evidence, note
        The evidence for the number, and the same in a few words; empty where there is nothing to add.
    right
        The labels that show that the classifier is right; None if labels of the metric do not show that.
    hits, counted, hit
        For shares other than the accuracy: the labels that the number is about, how many of them are hits, and the word
        for these, as in "31 of 40 pass".
    prior
        The share of the number that rests on what was assumed or learned elsewhere, and not on labels of its own.
    chance, rank, rank_low, rank_high
        The probability that it is among the groups looked for, and its place; None where no group is looked for.
    behind, behind_low, behind_high
        How much less often a model is right than the one that is named, with its interval; None for other questions.
    median
        The median of the value, if the metric is not linear.
    reaches, verdict
        The probability that it reaches the line, and the verdict that its own labels support: "pass", "fail" or "open";
        None where there is no line.
    backed
        Whether it has labels of its own, so that something can be called sure; see `backing`.
    """

    group: str
    n: int
    labelled: int
    mean: float | None
    low: float | None
    high: float | None
    evidence: Evidence
    note: str = ""
    right: int | None = None
    prior: float | None = None
    chance: float | None = None
    rank: float | None = None
    rank_low: float | None = None
    rank_high: float | None = None
    behind: float | None = None
    behind_low: float | None = None
    behind_high: float | None = None
    median: float | None = None
    reaches: float | None = None
    verdict: str | None = None
    backed: bool = False
    hits: int | None = None
    counted: int | None = None
    hit: str = "right"

    @property
    def is_known(self) -> bool:
        """Whether its number is shown."""
        return self.evidence in KNOWN

    @property
    def support(self) -> str:
        """Its labels as counts: how many of them are right, where that is what they show.

        >>> GroupRow("cat", 90, 20, 0.6, 0.4, 0.8, "enough", right=12).support
        '12 of 20 right'
        """
        return support(self.labelled, self.right) if self.hits is None else of_these(self.hits, self.counted, self.hit)

    @property
    def labels(self) -> str:
        """Its labels in words, to stand beside its number in a sentence.

        >>> GroupRow("cat", 90, 20, 0.6, 0.4, 0.8, "enough").labels, GroupRow("cat", 9, 0, 0.6, 0.4, 0.8, "few").labels
        ('20 labels', 'no label')
        """
        if not self.labelled:
            return "no label"
        shown = self.right is not None or self.hits is not None
        return self.support if shown else counted(self.labelled, "label")

    @property
    def short(self) -> str:
        """Its name, cut where it is too long for a sentence."""
        return shortened(self.group, LONGEST)


def support(labelled: int, right: int | None) -> str:
    """Labels as counts.

    >>> support(20, 12), support(20, None), support(0, 0)
    ('12 of 20 right', '20', '0')
    """
    return f"{labelled:,}" if right is None or not labelled else f"{right:,} of {labelled:,} right"


def of_these(hits: int, count: int | None, hit: str) -> str:
    """Labels as counts, of a share of some items.

    >>> of_these(31, 40, "pass"), of_these(0, 0, "found")
    ('31 of 40 pass', 'none to count')
    """
    return f"{hits:,} of {count:,} {hit}" if count else "none to count"


@dataclass(frozen=True)
class Overall:
    """Accuracy over all items; `enough` says whether the labels suffice to show it, `words` why not.

    `doubt` must stand beside the number if the labels were steered to some groups and hardly any was drawn at random
    from all items; otherwise it is empty. `rests` says how many were drawn so, and is empty if labels were not steered.
    `target` says whether it is about exactly these items.
    """

    mean: float
    low: float
    high: float
    enough: bool
    words: str
    confidence: float | None
    doubt: str = ""
    rests: str = ""
    target: Target = "pool"
    of: str = "Right"

    @property
    def name(self) -> str:
        """What it is a number of."""
        return f"{self.of} overall" if self.of == "Right" else f"{self.of}, overall"

    @property
    def value(self) -> str:
        """The number in words, as exactly as its interval allows."""
        return Style(share=True).value(self.mean, self.low, self.high)

    @property
    def between(self) -> str:
        """The interval in words."""
        return Style(share=True).between(self.low, self.high)

    @property
    def about(self) -> str:
        """The words beside the number: its interval, and the doubt or what it rests on, if there is one."""
        beside = self.doubt or self.rests
        return f"{self.between}; {beside}" if beside else self.between


@dataclass(frozen=True)
class Confused:
    """Where the classifier says one class, the share that is truly another: `mean` with its interval.

    `seen` of the `labelled` items of the group show it. `items` is how many items of the pool it probably affects: the
    best guess, low and high.
    """

    group: str
    true: str
    labelled: int
    seen: int
    mean: float
    low: float
    high: float
    items: tuple[float, float, float]

    @property
    def words(self) -> str:
        """The share with its interval, and the labels that show it."""
        style = Style(share=True)
        mean = style.value(self.mean, self.low, self.high)
        return f"{mean} ({style.between(self.low, self.high)}; {self.support})"

    @property
    def support(self) -> str:
        """The labels that show it.

        >>> Confused("cat", "dog", 20, 3, 0.14, 0.04, 0.31, (9.0, 4.0, 17.0)).support
        '3 of 20 labels'
        """
        return f"{self.seen:,} of {counted(self.labelled, 'label')}"


@dataclass(frozen=True, eq=False)
class Grounds:
    """Everything that a task's words can be about.

    Parameters
    ----------
    noun
        The noun for a group: "class" if the groups are the predicted classes.
    items, target
        The number of items in the pool, and whether the numbers are about exactly these.
    read_answer
        A function that makes the task's own answer, when it is first needed.
    rows
        The groups.
    overall
        Accuracy over all items.
    confusions
        The pairs of classes that are mixed up most; empty unless the metric is a confusion matrix.
    unanswered
        The number of items whose answer is missing or never right.
    silent
        The models that have no answer for some items, each with their number, most first; none if there is one model.
    anchors
        How many labels were drawn at random from all items, if the question is about several models.
    said
        If the metric is the true share of a class: the share of the items that are predicted as it.
    """

    noun: str
    items: int
    target: Target
    read_answer: Callable[[], Answer]
    rows: tuple[GroupRow, ...]
    overall: Overall
    confusions: tuple[Confused, ...] = ()
    unanswered: int = 0
    silent: tuple[tuple[str, int], ...] = ()
    anchors: int | None = None
    said: float | None = None

    @cached_property
    def answer(self) -> Answer:
        """The task's own answer."""
        return self.read_answer()

    @property
    def nouns(self) -> str:
        """The noun for several groups."""
        return plural(self.noun)

    @property
    def named(self) -> list[GroupRow]:
        """The groups that the answer names, in its order."""
        by_name = {row.group: row for row in self.rows}
        return [by_name[name] for name in self.answer.groups]


@dataclass(frozen=True)
class Ahead:
    """The labels that it will probably still take, in words, and the goal they reach; `goal` is empty if not known."""

    labels: str = "more labels"
    goal: str = ""
