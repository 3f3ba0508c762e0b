"""The content of the dashboard, computed once for each state of the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fewlabels import plots
from fewlabels.findings.finding import found_in
from fewlabels.findings.judges import in_words, judge_rows, judge_table
from fewlabels.findings.key_figures import certainty
from fewlabels.findings.labels import agreement_of
from fewlabels.findings.reading import Reading
from fewlabels.findings.tables import readable
from fewlabels.partition import whole

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment
    from fewlabels.findings.finding import Finding
    from fewlabels.findings.key_figures import KeyFigure
    from fewlabels.stopping import Standing
    from fewlabels.table import Table

# The plots for the owner while labels come in; the report has all the others.
_SHOWN = ("models", "verdicts", "forest", "chances", "rope", "allocation")
_EVENTS = 30
# With more groups than this, how good a judge is in each of them is left to the report.
_MOST_JUDGED = 12


@dataclass(frozen=True)
class Plot:
    """A plot for a page: what it found as its title, its safe markup, and how to read it."""

    title: str
    svg: str
    caption: str


@dataclass(frozen=True)
class Judged:
    """How good judges are against people: a sentence about each, a head, and a row for each judge and group."""

    sentences: tuple[str, ...]
    head: list[str]
    rows: list[list[str]]


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
    judged: Judged | None
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


def _judged(audit: Assessment, level: float) -> Judged | None:
    """How good the judges are, in each group if there are few; None without labels or without a judge."""
    if not audit.labelled:
        return None
    table = judge_table(audit, level, None if len(audit.groups) <= _MOST_JUDGED else whole(audit.pool))
    if not len(table):
        return None
    head, *rows = judge_rows(table)
    return Judged(in_words(table), head, rows)


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
        judged=_judged(audit, reading.level),
        plots=tuple(Plot(plot.finding(), plots.figure(plot), plot.caption()) for plot in drawn),
        people=_people(audit),
        agreement=agreement_of(audit) or None,
        log=type(log)({name: column[::-1] for name, column in log.columns.items() if name != "step"}),
    )
