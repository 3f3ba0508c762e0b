"""What the dashboard shows, computed once for each state of the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fewlabels import plots
from fewlabels.planning import forecast

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment
    from fewlabels.stopping import Standing
    from fewlabels.table import Table

# What the owner looks at while labels come in; the report has all the others.
_SHOWN = ("forest", "chances", "rope", "allocation")
_EVENTS = 30


@dataclass(frozen=True)
class Plot:
    """A plot as a page shows it: markup that is safe as it is, and how to read it."""

    svg: str
    caption: str


@dataclass(frozen=True)
class Dashboard:
    """Everything that is known so far, for one look."""

    words: str
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
    answer, progress, log = audit.answer(), audit.by_group(), audit.log(after=max(0, audit.seq - _EVENTS))
    kinds = [name for name in _SHOWN if plots.PLOTS[name].suits(audit)]
    numbers = plots.read_all(audit, kinds=kinds).values()
    agreed = audit.agreement()
    return Dashboard(
        words=answer.words,
        probability=answer.probability,
        labels=sum(progress["labelled"]),
        pending=sum(progress["pending"]),
        disputed=sum(progress["unresolved"]),
        standing=audit.standing(),
        estimates=audit.estimates(),
        plots=tuple(Plot(plots.figure(one), one.caption()) for one in numbers),
        people=audit.by_person(),
        agreement=agreed.words if agreed.items else None,
        log=type(log)({name: column[::-1] for name, column in log.columns.items() if name != "step"}),
    )


def outlook(audit: Assessment) -> str:
    """How many more labels it will probably take, in words."""
    return forecast(audit).words
