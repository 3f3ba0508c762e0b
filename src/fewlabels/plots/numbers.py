"""What a plot is: numbers computed once from an assessment, which drawings then only show."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from fewlabels.errors import SpecError
from fewlabels.metrics import Accuracy
from fewlabels.plots.evidence import too_long
from fewlabels.plots.sway import swayed
from fewlabels.plots.words import Measure, is_thin, measure
from fewlabels.tasks import Compare

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.assessment import Assessment
    from fewlabels.plots.picture import Picture
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


@dataclass(frozen=True)
class Numbers(ABC):
    """The numbers of one plot.

    A plot names itself, says whether it suits an assessment, reads its numbers, and describes its picture. It does not
    draw: `svg` and `display` do, and both draw the same picture.
    """

    name: ClassVar[str]
    """What the plot is called on the command line."""
    title: ClassVar[str]
    """What the plot shows, as a heading."""

    @classmethod
    @abstractmethod
    def obstacle(cls, audit: Assessment) -> str:
        """Why this plot would say nothing about this assessment; "" if it says something."""

    @classmethod
    def suits(cls, audit: Assessment) -> bool:
        """Whether this plot says something about this assessment."""
        return not cls.obstacle(audit)

    @classmethod
    @abstractmethod
    def read(cls, reading: Reading) -> Self:
        """The numbers, from what is shared with other plots; for an assessment that it suits."""

    @classmethod
    def of(cls, audit: Assessment, level: float = 0.95, draws: int = 10_000) -> Self:
        """The numbers of an assessment, with intervals of the given level."""
        if why := cls.obstacle(audit):
            raise SpecError(f"the plot {cls.name!r} does not suit this assessment: {why}.")
        return cls.read(Reading(audit, level, draws))

    @abstractmethod
    def caption(self) -> str:
        """How to read it, in a sentence or two."""

    @abstractmethod
    def picture(self) -> Picture:
        """Panels of marks."""

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"plot": self.name, "title": self.title, "caption": self.caption(), **asdict(self)}


def lacks_values(audit: Assessment) -> str:
    """Why groups have no value to show; "" if they have one."""
    if audit.spec.task.metric.vector:
        return f"{type(audit.spec.task.metric).__name__}() has a value for each class and not one for each group"
    return "" if len(audit.pool) else "the pool has no items"


def lacks_order(audit: Assessment) -> str:
    """Why there is no order of groups to show; "" if there is one."""
    if isinstance(audit.spec.task, Compare):
        return "it asks in two groups only; the plot 'rope' is about them"
    if int(np.count_nonzero(audit.groups.sizes)) < 2:
        return "it has one group"
    return lacks_values(audit)


def lacks_confidence(audit: Assessment) -> str:
    """Why confidence cannot be compared with accuracy; "" if it can."""
    if audit.pool.confidence is None:
        return "its pool has no confidences"
    if isinstance(audit.spec.task, Compare):
        return "it asks in two groups only"
    return "" if len(audit.pool) else "the pool has no items"
