"""The content of the dashboard, computed once for each state of the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fewlabels import plots
from fewlabels.findings.finding import found_in
from fewlabels.findings.key_figures import certainty
from fewlabels.findings.labels import agreement_of
from fewlabels.findings.reading import Reading
from fewlabels.findings.tables import readable

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment
    from fewlabels.findings.finding import Finding
    from fewlabels.findings.key_figures import KeyFigure
    from fewlabels.stopping import Standing
    from fewlabels.table import Table

# The plots for the owner while labels come in; the report has all the others.
_SHOWN = ("differences", "models", "verdicts", "forest", "chances", "rope", "allocation")
_EVENTS = 30


@dataclass(frozen=True)
class Plot:
    """A plot for a page: what it found as its title, its safe markup, and how to read it."""

    title: str
    svg: str
    caption: str


@dataclass(frozen=True)
class Dashboard:
    """Everything that is known so far, at a glance."""

    finding: Finding
    certainty: KeyFigure | None
    verdict: str | None
    labels: int
    pending: int
    disputed: int
    standing: Standing
    groups: Table
    plots: tuple[Plot, ...]
    people: Table
    agreement: str | None
    log: Table


def _people(audit: Assessment) -> Table:
    """The work of each person and, where labels may be wrong, how often each is right."""
    table = audit.by_person()
    if not audit.spec.noisy:
        return table
    right = audit.annotators().by_name
    return table.with_column("right", [right.get(who, "") for who in table["annotator"]])


def dashboard(audit: Assessment) -> Dashboard:
    """Compute the dashboard of an assessment."""
    reading = Reading(audit)
    finding, progress, log = found_in(reading), audit.by_group(), audit.log(last=_EVENTS)
    drawn = [plots.PLOTS[name].read(reading) for name in _SHOWN if plots.PLOTS[name].suits(audit)]
    return Dashboard(
        finding=finding,
        certainty=certainty(finding) if finding.labels.labelled else None,
        verdict=finding.answer.settings.get("verdict") if finding.labels.labelled else None,
        labels=sum(progress["labelled"]),
        pending=sum(progress["pending"]),
        disputed=sum(progress["unresolved"]),
        standing=audit.standing(),
        groups=readable(finding.answer_table if finding.task.surety else finding.estimates, finding.task),
        plots=tuple(Plot(plot.finding(), plots.figure(plot), plot.caption()) for plot in drawn),
        people=_people(audit),
        agreement=agreement_of(audit) or None,
        log=type(log)({name: column[::-1] for name, column in log.columns.items() if name != "step"}),
    )
