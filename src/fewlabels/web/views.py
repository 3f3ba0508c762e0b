"""What the dashboard shows, computed once for each state of the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fewlabels import plots
from fewlabels.report import gist_of

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment
    from fewlabels.stopping import Standing
    from fewlabels.table import Table

# What the owner looks at while labels come in; the report has all the others.
_SHOWN = ("forest", "chances", "rope", "allocation")
_EVENTS = 30


@dataclass(frozen=True)
class Plot:
    """A plot as a page shows it: what it is of, markup that is safe as it is, and how to read it."""

    title: str
    svg: str
    caption: str


@dataclass(frozen=True)
class Dashboard:
    """Everything that is known so far, for one look."""

    headline: str
    doubts: tuple[str, ...]
    probability: float | None
    labels: int
    pending: int
    disputed: int
    standing: Standing
    estimates: Table
    plots: tuple[Plot, ...]
    people: Table
    agreement: str | None
    log: Table


def dashboard(audit: Assessment) -> Dashboard:
    """The dashboard of an assessment now."""
    reading = plots.Reading(audit)
    found, progress, log = gist_of(reading), audit.by_group(), audit.log(after=max(0, audit.seq - _EVENTS))
    numbers = [plots.PLOTS[name].read(reading) for name in _SHOWN if plots.PLOTS[name].suits(audit)]
    agreed = audit.agreement()
    return Dashboard(
        headline=found.headline,
        doubts=found.doubts,
        probability=found.answer.probability,
        labels=sum(progress["labelled"]),
        pending=sum(progress["pending"]),
        disputed=sum(progress["unresolved"]),
        standing=audit.standing(),
        estimates=reading.estimates,
        plots=tuple(Plot(one.title, plots.figure(one), one.caption()) for one in numbers),
        people=audit.by_person(),
        agreement=agreed.words if agreed.items else None,
        log=type(log)({name: column[::-1] for name, column in log.columns.items() if name != "step"}),
    )
