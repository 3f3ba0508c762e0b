"""The numbers that everything shown of an assessment shares: each is computed once, when it is first needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.findings.labels import RIGHT_OR_WRONG, right_labels
from fewlabels.findings.measures import Measure, is_thin, measure
from fewlabels.findings.prior_pull import swayed
from fewlabels.findings.vagueness import too_long
from fewlabels.metrics import Accuracy
from fewlabels.wording import plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fewlabels.assessment import Assessment
    from fewlabels.cells import Cells
    from fewlabels.partition import Partition
    from fewlabels.table import Table
    from fewlabels.tasks import Answer


_COLUMNS = ("group", "n", "labelled", "mean", "low", "high")


@dataclass(frozen=True)
class Row:
    """One group: its size, its labels, and its value with an interval; None where the group has no items.

    `thin` where it has too few labels for the value to mean much; `right` as in a finding.
    """

    group: str
    n: int
    labelled: int
    mean: float | None
    low: float | None
    high: float | None
    thin: bool = False
    right: int | None = None


class Reading:
    """The numbers that everything shown of an assessment shares, each computed when it is first needed.

    A reading is of one moment: make another when labels have come in.
    """

    def __init__(self, audit: Assessment, level: float = 0.95, draws: int = 10_000) -> None:
        self.audit = audit
        self.level = level
        self.draws = draws
        self.measure: Measure = measure(audit.spec.task.metric)

    @property
    def noun(self) -> str:
        """What a group is called."""
        return noun_of(self.audit.groups)

    @property
    def nouns(self) -> str:
        """Several groups."""
        return plural(self.noun)

    @cached_property
    def cells(self) -> Cells:
        """The cells of the assessment's own metric and groups."""
        return self.audit.spec.cells(self.audit.pool, self.audit.groups)

    @cached_property
    def estimates(self) -> Table:
        """The estimates of the assessment's own metric and groups."""
        return self.audit.estimates(level=self.level, draws=self.draws)

    @cached_property
    def answer(self) -> Answer:
        """The answer of the assessment's task."""
        return self.audit.answer(level=self.level, draws=self.draws)

    @cached_property
    def measured(self) -> Table:
        """The estimates with one row a group: of accuracy where the metric has a value for each class."""
        if not self.audit.spec.task.metric.vector:
            return self.estimates
        return self.audit.estimates(level=self.level, metric=Accuracy(), groups=self.audit.groups, draws=self.draws)

    @cached_property
    def ranked(self) -> Mapping[str, Mapping[str, Any]]:
        """The rows of the answer by group, in its order, where it has a chance for each; empty elsewhere."""
        table = self.answer.table
        if not {"group", "chance"} <= set(table.columns):
            return {}
        return {row["group"]: row for row in table.rows()}

    @cached_property
    def right(self) -> Mapping[str, int] | None:
        """How many labels of each group say that the classifier is right; None where labels do not show just that."""
        # A metric with a value for each class is told as accuracy.
        outcomes = RIGHT_OR_WRONG if self.audit.spec.task.metric.vector else self.cells.outcomes
        return right_labels(self.audit, self.audit.groups, outcomes)

    @cached_property
    def prior_shares(self) -> list[float | None]:
        """The share of each group's number that rests on something else than labels of its own; None without items.

        In a cell with n labels and a belief as strong as s labels it is 1 − n/s: for a prior of strength s₀ that is
        s₀/(s₀ + n), and for a learned one s is the strength of the Beta with the same mean and variance. Of the pool
        itself it concerns only the items without a label.
        """
        belief, cells = self.audit.belief(), self.cells
        labelled = belief.counts.sum(axis=-1)
        share = np.clip(1 - labelled / np.maximum(belief.strength, 1e-12), 0, 1)
        if belief.target == "pool":
            share = share * belief.left / belief.size
        totals = cells.total(cells.weight * share).tolist()
        return [value if n else None for value, n in zip(totals, cells.partition.sizes.tolist(), strict=True)]

    @cached_property
    def too_long(self) -> list[bool]:
        """Of each group whether its interval is too long for its number to be told."""
        return too_long(self.audit, self.measured, self.level)

    @cached_property
    def too_few(self) -> dict[str, bool]:
        """Of each group whether its own labels are too few to tell its number.

        They are where fewer than 5 items are labelled, or the interval is too long. A group of the pool itself that is
        fully labelled is known.
        """
        return {
            row["group"]: is_long or is_thin(row["labelled"], row["n"], self.audit.spec.target)
            for row, is_long in zip(self.measured.rows(), self.too_long, strict=True)
        }

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """Draws of the metric, shape (draws, groups)."""
        return self.audit.draws(self.draws)

    def thrifty(self, cells: int) -> int:
        """As many draws as asked for, or fewer, from 1,000 up, where there are thousands of cells."""
        return min(self.draws, max(1_000, 2**23 // max(cells, 1)))

    @cached_property
    def is_grounded(self) -> bool:
        """Whether an average over all groups is the labels' word and not the prior's."""
        return not swayed(self.audit)[0]

    @property
    def pair(self) -> tuple[str, str] | None:
        """The two groups of a comparison; the others were not asked about."""
        return self.audit.spec.task.pair

    def rows(self, table: Table) -> tuple[Row, ...]:
        """The rows of a table of estimates with one line a group; of a comparison, its two groups."""
        return tuple(self._row(row) for row in table.rows() if self.pair is None or row["group"] in self.pair)

    def _row(self, row: Mapping[str, Any]) -> Row:
        name = row["group"]
        right = None if self.right is None else self.right[name]
        return Row(**{column: row[column] for column in _COLUMNS}, thin=self.too_few[name], right=right)


def noun_of(groups: Partition) -> str:
    """What a group is called: a class where the groups are the predicted classes."""
    return "class" if groups.recipe["by"] == "predicted" else "group"
