"""The numbers that all views of an assessment share: each is computed once, when it is first needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fewlabels.findings.enough_labels import too_long
from fewlabels.findings.groups import group_rows
from fewlabels.findings.labels import RIGHT_OR_WRONG, right_labels, shown_by_labels
from fewlabels.findings.measures import Measure, measure
from fewlabels.findings.overall import over_all
from fewlabels.findings.prior_pull import swayed
from fewlabels.metrics import Accuracy, Prevalence
from fewlabels.partition import by_predicted
from fewlabels.tasks.backing import is_backed, is_thin
from fewlabels.tasks.base import LIKELY
from fewlabels.tasks.grounds import SAFE, of_these, support
from fewlabels.wording import counted, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fewlabels.assessment import Assessment
    from fewlabels.cells import Cells
    from fewlabels.findings.labels import Shown
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.table import Table
    from fewlabels.tasks import Answer
    from fewlabels.tasks.grounds import GroupRow, Overall


_COLUMNS = ("group", "n", "labelled", "mean", "low", "high")


@dataclass(frozen=True)
class Row:
    """One group: its size, its labels, and its value with an interval (None if the group has no items).

    `thin` says that it has too few labels for the value to mean much, and `known` whether the value may be shown all
    the same, because what was learned elsewhere backs it. `right` is the number of labels that show a right prediction,
    if labels show that; for another share, `shown` says what they show, as in "31 of 40 pass".
    """

    group: str
    n: int
    labelled: int
    mean: float | None
    low: float | None
    high: float | None
    thin: bool = False
    right: int | None = None
    known: bool = True
    shown: str = ""

    @property
    def labels(self) -> str:
        """Its labels in words, to stand beside its value."""
        if self.right is not None and self.labelled:
            return support(self.labelled, self.right)
        return self.shown or counted(self.labelled, "label")


class Reading:
    """The numbers that all views of an assessment share, each computed when it is first needed.

    It reads a snapshot, so its numbers agree with each other: make another when labels have come in.
    """

    def __init__(self, audit: Assessment, level: float = 0.95, draws: int = 10_000) -> None:
        self.audit = audit.snapshot()
        self.level = level
        self.draws = draws
        self.measure: Measure = measure(audit.spec.task.metric)

    @property
    def noun(self) -> str:
        """The word for a group."""
        return noun_of(self.audit.rows)

    @property
    def nouns(self) -> str:
        """The word for several groups."""
        return plural(self.noun)

    @cached_property
    def cells(self) -> Cells:
        """The cells of the assessment's own metric and groups."""
        return self.audit.cells

    @cached_property
    def estimates(self) -> Table:
        """The estimates of the assessment's own metric and groups; with the guarantee, if the answer has it."""
        return self.audit.estimates(level=self.level, draws=self.draws, guarantee=self.guarantee)

    @property
    def guarantee(self) -> Literal["anytime"] | None:
        """The guarantee of the answer's intervals; a confusion matrix has none."""
        return None if self.audit.spec.task.metric.vector else self.answer.settings.get("guarantee")

    @cached_property
    def answer(self) -> Answer:
        """The answer of the assessment's task."""
        return self.audit.answer(level=self.level, draws=self.draws)

    @cached_property
    def measured(self) -> Table:
        """The estimates with one row per group: of accuracy, if the metric has a value for each class."""
        if not self.audit.spec.task.metric.vector:
            return self.estimates
        return self.audit.estimates(level=self.level, metric=Accuracy(), groups=self.audit.groups, draws=self.draws)

    @cached_property
    def confusions(self) -> Table:
        """The largest mistakes in the assessment's own groups, where its metric is a confusion matrix."""
        return self.audit.confusions(groups=self.audit.groups, level=self.level, draws=self.draws)

    @cached_property
    def mistakes(self) -> Table:
        """The largest mistakes by predicted class; where these are the assessment's own groups, the same numbers."""
        if self.audit.groups.recipe == {"by": "predicted"}:
            return self.confusions
        groups = by_predicted(self.audit.pool)
        return self.audit.confusions(groups=groups, level=self.level, draws=self.draws)

    @cached_property
    def ranked(self) -> Mapping[str, Mapping[str, Any]]:
        """The rows of the answer by group, in its order; empty if the answer is not by group."""
        if self.audit.spec.task.metric.vector:  # the answer is about true classes
            return {}
        table = self.answer.table
        if "group" not in table.columns or not {"chance", "verdict"} & set(table.columns):
            return {}
        return {row["group"]: row for row in table.rows()}

    @cached_property
    def found(self) -> tuple[str, ...]:
        """The groups of the answer that are found: they probably belong there, by labels of their own.

        There are none without labels, or if the task looks for no group. A worse guess is not shown as an answer.
        """
        if not self.audit.spec.task.sought:
            return ()
        rows = (self.ranked[name] for name in self.answer.groups if name in self.ranked)
        target = self.audit.spec.target
        backed = (row for row in rows if is_backed(self.own_labels(row), row["n"], target))
        return tuple(row["group"] for row in backed if row["chance"] >= LIKELY)

    @property
    def found_words(self) -> str:
        """What a mark on the groups that were found means."""
        if len(self.found) == len(self.answer.groups) and (self.answer.probability or 0.0) >= SAFE:
            return "the answer"
        return "probably the answer" if len(self.answer.groups) == 1 else "probably among those looked for"

    @cached_property
    def right(self) -> Mapping[str, int] | None:
        """The number of labels in each group that show a right prediction; None if labels show other outcomes."""
        if self.audit.spec.task.of_models:
            right = np.rint(self.audit.belief().counts[:, 0]).astype(int).tolist()
            return dict(zip(self.audit.rows.names, right, strict=True))
        # A metric with a value for each class is reported as accuracy.
        outcomes = RIGHT_OR_WRONG if self.audit.spec.task.metric.vector else self.cells.outcomes
        return right_labels(self.audit, self.audit.groups, outcomes)

    @cached_property
    def shown(self) -> Mapping[str, Shown] | None:
        """What labels show about the metric in each group, if it is a share; None if `right` says it."""
        task = self.audit.spec.task
        if task.of_models or task.metric.vector or self.right is not None:
            return None
        return shown_by_labels(self.audit, self.audit.groups, task.metric)

    def own_labels(self, row: Mapping[str, Any]) -> int:
        """How many labels of a group its number is about: for recall, those truly of the class."""
        # A group that is labelled whole is known, however few of its items are of a class.
        whole = row["labelled"] >= row["n"]
        return int(row["labelled"]) if self.shown is None or whole else self.shown[row["group"]].counted

    @cached_property
    def prior_shares(self) -> list[float | None]:
        """The share of each group's number that does not come from its own labels; None without items.

        In a cell with n labels and a belief as strong as s labels it is 1 − n/s: for a prior of strength s₀ that is
        s₀/(s₀ + n), and for a learned one s is the strength of the Beta with the same mean and variance. If the target
        is the pool itself, this applies only to the items without a label.
        """
        belief, cells = self.audit.belief(), self.cells
        labelled = belief.counts.sum(axis=-1)
        share = np.clip(1 - labelled / np.maximum(belief.strength, 1e-12), 0, 1)
        if belief.target == "pool":
            share = share * belief.left / belief.size
        if self.audit.spec.strips:  # the belief is about the strips of the one group
            return [float(share @ belief.size / belief.size.sum())]
        totals = cells.total(cells.weight * share).tolist()
        return [value if n else None for value, n in zip(totals, cells.partition.sizes.tolist(), strict=True)]

    @cached_property
    def too_long(self) -> list[bool]:
        """For each group, whether its interval is too long for its number to be shown; a guaranteed one may be long.

        Which of several models is better can be known long before how good each is, so their numbers are all shown.
        """
        if self.audit.spec.task.of_models:
            return [False] * len(self.audit.rows)
        guaranteed = "guarantee" in self.measured.settings
        table = self.audit.estimates(level=self.level, draws=self.draws) if guaranteed else self.measured
        return too_long(self.audit, table, self.level)

    @cached_property
    def too_few(self) -> dict[str, bool]:
        """For each group, whether its own labels are too few for its number to be shown.

        They are too few if fewer than 5 items are labelled, or if the interval is too long. If the target is the pool
        itself, a fully labelled group is known.
        """
        return {
            row["group"]: is_long or is_thin(self.own_labels(row), row["n"], self.audit.spec.target)
            for row, is_long in zip(self.measured.rows(), self.too_long, strict=True)
        }

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """Draws of the metric, shape (draws, groups)."""
        return self.audit.draws(self.draws)

    def thrifty(self, cells: int) -> int:
        """Return the number of draws; with thousands of cells fewer than asked for, but at least 1,000."""
        return min(self.draws, max(1_000, 2**23 // max(cells, 1)))

    @cached_property
    def is_grounded(self) -> bool:
        """Whether labels, and not the prior, decide an average over all groups."""
        return not swayed(self.audit)[0]

    @cached_property
    def groups(self) -> tuple[GroupRow, ...]:
        """Each group with its number and the evidence behind it."""
        return group_rows(self)

    @cached_property
    def _is_known(self) -> dict[str, bool]:
        """For each group, whether its number is shown."""
        return {row.group: row.is_known for row in self.groups}

    @cached_property
    def overall(self) -> Overall:
        """The accuracy over all items, and whether it may be shown."""
        return over_all(self, self.groups)

    @property
    def pair(self) -> tuple[str, str] | None:
        """The two groups of a comparison, which are the only ones asked about; None for other tasks."""
        return self.audit.spec.task.pair

    def rows(self, table: Table) -> tuple[Row, ...]:
        """Return the rows of a table of estimates that has one line per group; for a comparison, its two groups."""
        return tuple(self._row(row) for row in table.rows() if self.pair is None or row["group"] in self.pair)

    def _row(self, row: Mapping[str, Any]) -> Row:
        name = row["group"]
        right = None if self.right is None else self.right[name]
        shown = None if self.shown is None else self.shown[name]
        return Row(
            **{column: row[column] for column in _COLUMNS},
            thin=self.too_few[name],
            right=right,
            known=self._is_known[name],
            shown="" if shown is None else of_these(shown.hits, shown.counted, self.audit.spec.task.metric.hit),
        )


def noun_of(groups: Partition) -> str:
    """Return the word for a group: "class" if the groups are the predicted classes, "model" for rows of models."""
    return {"predicted": "class", "models": "model"}.get(groups.recipe["by"], "group")


def silence_words(audit: Assessment, pool: Pool) -> str:
    """A sentence on the items without an answer, for tables of rates in which they count; empty if there are none."""
    silent = int((pool.predicted >= len(pool.choices)).sum())
    if not silent:
        return ""
    judged = predictor_of(audit) == "judge"
    none = "no verdict" if judged else "no answer, or one that can never be right,"
    return (
        f"The {predictor_of(audit)} gave {none} on {silent:,} of {counted(len(pool), 'item')}. "
        "Here they count as wrong, and as missed by every class."
    )


def predictor_of(audit: Assessment) -> Literal["classifier", "judge"]:
    """Return what made the predictions: a judge, if the question is how many items people would pass."""
    metric = audit.spec.task.metric
    return "judge" if isinstance(metric, Prevalence) and metric.passes else "classifier"
