"""Plots of an assessment: numbers computed once, drawn as SVG for pages and with matplotlib for print."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from fewlabels.errors import InputError, SpecError
from fewlabels.findings.reading import Reading
from fewlabels.plots.allocation import Allocation
from fewlabels.plots.calibration import Calibration
from fewlabels.plots.chances import Chances
from fewlabels.plots.confusion import Confusions
from fewlabels.plots.curve import Curve
from fewlabels.plots.differences import Differences
from fewlabels.plots.drawing.display import Display, display
from fewlabels.plots.drawing.markup import figure, standalone, svg
from fewlabels.plots.drawing.style import script, stylesheet
from fewlabels.plots.forest import Forest
from fewlabels.plots.models import Models
from fewlabels.plots.plot import Plot
from fewlabels.plots.ranking import Ranking
from fewlabels.plots.reliability import Reliability
from fewlabels.plots.rope import Rope
from fewlabels.plots.scatter import Scatter
from fewlabels.plots.verdicts import Verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fewlabels.assessment import Assessment

_KINDS = (
    *(Verdicts, Forest, Ranking, Chances, Reliability, Calibration, Confusions, Scatter, Rope, Allocation),
    *(Curve, Models, Differences),
)
PLOTS: Mapping[str, type[Plot]] = MappingProxyType({kind.name: kind for kind in _KINDS})
"""Name to plot, in the order in which a report shows them."""

__all__ = [
    "PLOTS",
    "Display",
    "Plot",
    "Reading",
    "display",
    "figure",
    "main_kind",
    "read_all",
    "read_each",
    "script",
    "standalone",
    "stylesheet",
    "suited",
    "svg",
    "telling",
]


def suited(audit: Assessment) -> tuple[str, ...]:
    """Return the names of the plots that suit an assessment.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], classes=["cat", "dog"])
    >>> suited(fl.create(None, "pets", pool, fl.whole(pool)))
    ('forest', 'reliability', 'calibration', 'confusion')
    """
    return tuple(name for name, kind in PLOTS.items() if kind.suits(audit))


def telling(audit: Assessment) -> tuple[str, ...]:
    """Return the names of the plots that help to answer the question: a report about error rates has no calibration.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], classes=["cat", "dog"])
    >>> telling(fl.create(None, "pets", pool, fl.whole(pool), task=fl.Estimate(fl.FalsePositiveRate("cat"))))
    ('forest', 'confusion')
    """
    metric = audit.spec.task.metric
    return tuple(name for name in suited(audit) if not PLOTS[name].about or isinstance(metric, PLOTS[name].about))


def main_kind(audit: Assessment) -> str:
    """Return the name of the plot that shows the answer: the task's own, or another that suits the assessment.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], classes=["cat", "dog"])
    >>> main_kind(fl.create(None, "pets", pool))
    'forest'
    """
    first = (audit.spec.task.main_plot, "models", "forest", "confusion")
    return next((name for name in first if name in PLOTS and PLOTS[name].suits(audit)), "allocation")


def read_all(
    audit: Assessment, level: float = 0.95, draws: int = 10_000, kinds: Sequence[str] | None = None
) -> dict[str, Plot]:
    """Read the numbers of some plots, or of every plot that suits, by name; shared numbers are computed once.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], classes=["cat", "dog"])
    >>> read_all(fl.create(None, "pets", pool), kinds=["allocation"])["allocation"].caption()[:26]
    '0 labels in 0 of 2 classes'
    """
    return dict(read_each(audit, suited(audit) if kinds is None else kinds, level, draws))


def read_each(
    audit: Assessment, kinds: Sequence[str], level: float = 0.95, draws: int = 10_000
) -> Iterator[tuple[str, Plot]]:
    """Read plots one after the other, for callers that show progress; otherwise like `read_all`."""
    for name in kinds:
        if name not in PLOTS:
            raise InputError(f"there is no plot {name!r}. The plots are {', '.join(PLOTS)}.")
        if why := PLOTS[name].unfit(audit):
            raise SpecError(f"the plot {name!r} does not suit this assessment: {why}.")
    reading = Reading(audit, level, draws)
    for name in kinds:
        yield name, PLOTS[name].read(reading)
