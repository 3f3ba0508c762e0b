"""The base class of plots: numbers that are computed once from an assessment, and then drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from fewlabels.errors import SpecError
from fewlabels.findings.reading import Reading
from fewlabels.wording import plural

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment
    from fewlabels.metrics import Metric
    from fewlabels.plots.drawing.picture import Picture


@dataclass(frozen=True)
class Plot(ABC):
    """The numbers of one plot.

    A plot names itself, says whether it suits an assessment, reads its numbers, and describes its picture. It does not
    draw: `svg` and `display` do, and both draw the same picture.
    """

    name: ClassVar[str]
    """The name of the plot on the command line."""
    title: ClassVar[str]
    """The heading: what the plot shows."""
    of_models: ClassVar[bool] = False
    """Whether it is about several models; the others are about groups of one."""
    about: ClassVar[tuple[type[Metric], ...]] = ()
    """The metrics whose questions it helps to answer; all if none is named."""
    noun: str = field(default="group", kw_only=True)
    """The word for a group: "class" if the groups are the predicted classes."""

    @property
    def nouns(self) -> str:
        """The word for several groups."""
        return plural(self.noun)

    @classmethod
    @abstractmethod
    def obstacle(cls, audit: Assessment) -> str:
        """Explain why this plot does not suit an assessment; "" if it does."""

    @classmethod
    def suits(cls, audit: Assessment) -> bool:
        """Return whether this plot suits an assessment."""
        return not cls.unfit(audit)

    @classmethod
    def unfit(cls, audit: Assessment) -> str:
        """Explain why this plot does not suit an assessment, or that it is about one model and not several."""
        if audit.spec.task.of_models != cls.of_models:
            return "it is about one model" if cls.of_models else "it is about several models"
        return cls.obstacle(audit)

    @classmethod
    @abstractmethod
    def read(cls, reading: Reading) -> Self:
        """Read the numbers of an assessment that the plot suits, sharing them with other plots."""

    @classmethod
    def of(cls, audit: Assessment, level: float = 0.95, draws: int = 10_000) -> Self:
        """Read the numbers of an assessment, with intervals of the given level."""
        if why := cls.unfit(audit):
            raise SpecError(f"the plot {cls.name!r} does not suit this assessment: {why}.")
        return cls.read(Reading(audit, level, draws))

    @abstractmethod
    def caption(self) -> str:
        """Explain how to read the plot, in a sentence or two."""

    def finding(self) -> str:
        """What the plot shows here, as a heading no stronger than the labels; the title if that is nothing."""
        return self.title

    @abstractmethod
    def picture(self) -> Picture:
        """Return the picture: panels of marks."""

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain JSON values."""
        return {
            "plot": self.name,
            "title": self.title,
            "finding": self.finding(),
            "caption": self.caption(),
            **asdict(self),
        }


def lacks_values(audit: Assessment) -> str:
    """Explain why groups have no value to show; "" if they have one."""
    if audit.spec.task.metric.vector:
        return f"{type(audit.spec.task.metric).__name__}() has a value for each class and not one for each group"
    return "" if len(audit.pool) else "the pool has no items"


def lacks_order(audit: Assessment) -> str:
    """Explain why there is no order of groups to show; "" if there is one."""
    if audit.spec.task.pair:
        return "it asks in only two groups, which the plot 'rope' shows"
    if int(np.count_nonzero(audit.groups.sizes)) < 2:
        return "it has only one group"
    return lacks_values(audit)


def lacks_confidence(audit: Assessment) -> str:
    """Explain why confidence cannot be compared with accuracy; "" if it can."""
    if audit.pool.confidence is None:
        return "its pool has no confidences"
    if audit.spec.task.pair:
        return "it asks in only two groups"
    return "" if len(audit.pool) else "the pool has no items"
