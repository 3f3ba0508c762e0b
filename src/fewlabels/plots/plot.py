"""What a plot is: numbers computed once from an assessment, which drawings then only show."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from fewlabels.errors import SpecError
from fewlabels.findings.reading import Reading

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment
    from fewlabels.plots.drawing.picture import Picture


@dataclass(frozen=True)
class Plot(ABC):
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
    if audit.spec.task.pair:
        return "it asks in two groups only; the plot 'rope' is about them"
    if int(np.count_nonzero(audit.groups.sizes)) < 2:
        return "it has one group"
    return lacks_values(audit)


def lacks_confidence(audit: Assessment) -> str:
    """Why confidence cannot be compared with accuracy; "" if it can."""
    if audit.pool.confidence is None:
        return "its pool has no confidences"
    if audit.spec.task.pair:
        return "it asks in two groups only"
    return "" if len(audit.pool) else "the pool has no items"
