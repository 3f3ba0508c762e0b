"""What all that is shown of one assessment shares: each number is computed once, when it is first needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from fewlabels.findings.measures import Measure, is_thin, measure
from fewlabels.findings.prior_pull import swayed
from fewlabels.findings.vagueness import too_long
from fewlabels.metrics import Accuracy
from fewlabels.tasks import Compare

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fewlabels.assessment import Assessment
    from fewlabels.table import Table
    from fewlabels.tasks import Answer


_COLUMNS = ("group", "n", "labelled", "mean", "low", "high")


@dataclass(frozen=True)
class Row:
    """One group: its size, its labels, and its value with an interval; None where the group has no items.

    `thin` where it has too few labels for the value to mean much.
    """

    group: str
    n: int
    labelled: int
    mean: float | None
    low: float | None
    high: float | None
    thin: bool = False


class Reading:
    """What all that is shown of one assessment shares: estimates, answer and so on, each computed when first needed.

    It is of one moment: make another when labels have come in.
    """

    def __init__(self, audit: Assessment, level: float = 0.95, draws: int = 10_000) -> None:
        self.audit = audit
        self.level = level
        self.draws = draws
        self.measure: Measure = measure(audit.spec.task.metric)

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

    @cached_property
    def pair(self) -> tuple[str, str] | None:
        """The two groups of a comparison; the others were not asked about."""
        task = self.audit.spec.task
        return (task.a, task.b) if isinstance(task, Compare) else None

    def rows(self, table: Table) -> tuple[Row, ...]:
        """The rows of a table of estimates with one line a group; of a comparison, its two groups."""
        found = (Row(**{name: row[name] for name in _COLUMNS}, thin=self.too_few[row["group"]]) for row in table.rows())
        return tuple(row for row in found if self.pair is None or row.group in self.pair)
