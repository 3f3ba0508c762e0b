"""The content of the dashboard, computed once for each state of the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fewlabels import plots
from fewlabels.findings.finding import found_in
from fewlabels.findings.judge_words import in_words, judge_sheet
from fewlabels.findings.judges import judge_table
from fewlabels.findings.key_figures import key_figures
from fewlabels.findings.labels import agreement_of
from fewlabels.findings.reading import Reading
from fewlabels.findings.tables import readable
from fewlabels.partition import whole
from fewlabels.table import Table
from fewlabels.web.work import latest
from fewlabels.wording import NONE, chosen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.assessment import Assessment
    from fewlabels.findings.finding import Finding
    from fewlabels.findings.key_figures import KeyFigure
    from fewlabels.standing import Standing
    from fewlabels.web.work import Happening

# The plots for the owner while labels come in: about the answer, and about the work. The report has all the others.
_SHOWN = ("differences", "models", "verdicts", "forest", "chances", "rope", "confusion")
_FOLDED = ("allocation",)
_TALL = 15  # groups: plots with more are taller than the column beside them
_TITLES = {"n": "Items", "mean": "Estimate", "chance": "Chance", "note": "Note", "reaches": "Reaches it"}
_TITLES |= {"labelled": "Labels", "right": "Right", "rank": "Rank", "group": "Group", "model": "Model", "true": "Truly"}
_TITLES |= {"won": "Evidence", "behind": "Behind", "regret": "Average loss", "as_good": "May be as good"}
_TEXTS = ("where", "group", "model", "a", "b", "true", "note")
_ORDER = (*_TEXTS[:-1], "n", "labelled", "mean", "range")
# Columns left out on narrow pages, as are labels beside those that count.
_MINOR = ("n", "rank", "reaches", "won", "regret", "as_good")
# With more groups than this, how good a judge is in each of them is left to the report.
_MOST_JUDGED = 12


@dataclass(frozen=True)
class Plot:
    """A plot for a page: what it found as its title, its safe markup, and how to read it."""

    title: str
    svg: str
    caption: str


@dataclass(frozen=True)
class Column:
    """A column of a table for a page."""

    title: str
    cells: tuple[str, ...]
    number: bool = True
    minor: bool = False


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
    figures: tuple[KeyFigure, ...]
    """The key figures beside the labels; none before the first label."""
    verdict: str | None
    labels: int
    budget: int | None
    pending: int
    disputed: int
    standing: Standing
    groups: tuple[Column, ...]
    rows: int
    rows_title: str
    judged: Judged | None
    plots: tuple[Plot, ...]
    below: tuple[Plot, ...]
    folded: tuple[Plot, ...]


@dataclass(frozen=True)
class Done:
    """What people have done, as far as the log says."""

    people: Table
    agreement: str | None
    events: tuple[Happening, ...]
    others: tuple[str, ...]


def done(audit: Assessment) -> Done:
    """Count what each person has done and, where labels may be wrong, how often each is right."""
    table = audit.by_person()
    if audit.spec.noisy:
        right = audit.annotators().by_name
        table = table.with_column("right", [right.get(who, "") for who in table["annotator"]])
    return Done(table, agreement_of(audit) or None, tuple(latest(audit)), tuple(audit.others()))


def _judged(audit: Assessment, level: float) -> Judged | None:
    """How good the judges are, in each group if there are few; None without a judge."""
    table = judge_table(audit, level, None if len(audit.groups) <= _MOST_JUDGED else whole(audit.pool))
    if not len(table):
        return None
    head, *rows = judge_sheet(table)
    return Judged(in_words(table), head, rows)


def dashboard(audit: Assessment) -> Dashboard:
    """Compute the dashboard of an assessment."""
    reading = Reading(audit)
    audit = reading.audit
    finding = found_in(reading)

    def drawn(names: Sequence[str]) -> tuple[Plot, ...]:
        read = [plots.PLOTS[name].read(reading) for name in names if plots.PLOTS[name].suits(audit)]
        return tuple(Plot(plot.finding(), plots.figure(plot), plot.caption()) for plot in read)

    sought = audit.spec.task.sought is not None
    groups = _columns(finding)
    rows = len(groups[0].cells) if groups else 0
    asked = {"chances": sought, "confusion": audit.spec.task.metric.vector}
    beside, folded = drawn([name for name in _SHOWN if asked.get(name, True)]), drawn(_FOLDED if rows > 1 else ())
    below: tuple[Plot, ...] = ()
    if rows > _TALL and len(beside) > 1:  # tall plots are shown side by side, and none alone in its row
        beside, below = beside[:1], beside[1:]
        if len(below) % 2:
            below, folded = below + folded, ()
    return Dashboard(
        finding=finding,
        figures=_figures(finding),
        verdict=finding.answer.settings.get("verdict") if finding.labels.labelled else None,
        labels=finding.labels.labelled,
        budget=audit.spec.stop.labels,
        pending=finding.labels.pending,
        disputed=finding.labels.unresolved,
        standing=audit.standing(),
        groups=groups if rows > 1 or not beside else (),  # the plot says the same of one group
        rows=rows,
        rows_title=_rows_title(finding, groups),
        judged=_judged(audit, reading.level) if finding.labels.labelled else None,
        plots=beside,
        below=below,
        folded=folded,
    )


def _figures(finding: Finding) -> tuple[KeyFigure, ...]:
    """The key figures beside the number of labels; none before the first label, and only those that are known."""
    left_out = {"Labels", "Average confidence"} | (set() if finding.overall.enough else {finding.overall.name})
    known = key_figures(finding) if finding.labels.labelled else ()
    return tuple(figure for figure in known if figure.name not in left_out)


def _rows_title(finding: Finding, groups: Sequence[Column]) -> str:
    """What the rows of the table are."""
    if any(column.title == "Seen" for column in groups):
        return "The largest mistakes"
    return f"All {finding.words.nouns}"


def _columns(finding: Finding) -> tuple[Column, ...]:
    """The table of the groups, as people read it: an interval is one column, and so are labels and right ones."""
    # The rows of the best model of each group are in the order of the answer; without labels there is none.
    placed = finding.task.of_models and finding.task.sought is not None and finding.labels.labelled > 0
    table = finding.answer_table if finding.task.surety or placed else finding.table
    if (
        "mean" in table.columns and "seen" not in table.columns and not placed
    ):  # the groups that matter come first, as mistakes do
        best_first = finding.task.leading == "highest" or finding.task.of_models
        sign, means = -1 if best_first else 1, table["mean"]
        order = sorted(range(len(means)), key=lambda i: (means[i] is None, sign * (means[i] or 0.0)))
        table = Table({name: [values[i] for i in order] for name, values in table.columns.items()}, table.settings)
    said_twice = "counted" in table.columns and table["counted"] == table["labelled"]  # "31 of 40 pass" has the labels
    table = readable(table, finding.task)
    values, columns = dict(table.columns), []
    values.pop("median", None)  # the report has it: beside the mean it says little, and takes room
    if placed:
        values.pop("regret", None)  # so is this, beside `behind`
        if len(set(values.get("n", ()))) == 1:  # every model has all items
            values.pop("n")
        if len(values["mean"]) == 2:  # the headline has the range of how far the second is behind
            values.pop("as_good", None)
    shown = next((name for name in ("right", "seen") if name in values), None)
    if "labelled" in values and shown:
        pairs = zip(values.pop(shown), values["labelled"], strict=True)
        values["labelled"] = [f"{n:,}" if k is None else f"{k:,} of {n:,}" if n else NONE for k, n in pairs]
    if said_twice:
        values.pop("labelled")
    if "low" in values and "high" in values:
        ends = zip(values.pop("low"), values.pop("high"), strict=True)
        values["range"] = [NONE if low is None else f"{low} – {high}" for low, high in ends]
    title = f"{chosen(table.settings.get('level', 0.95))} range"
    places = {name: place for place, name in enumerate(_ORDER)}
    for name in sorted(values, key=lambda column: (column == "note", places.get(column, len(places)))):
        named = title if name == "range" else _TITLES.get(name, name.replace("_", " ").capitalize())
        named = shown.capitalize() if name == "labelled" and shown else named
        named = finding.words.noun.capitalize() if name == "group" else named
        cells = tuple(_cell(value) for value in values[name])
        minor = name in _MINOR or (name == "labelled" and (placed or "these show" in values))
        columns.append(Column(named, cells, number=name not in _TEXTS, minor=minor))
    return tuple(columns)


def _cell(value: Any) -> str:
    """A value for people to read."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}" if isinstance(value, float) else str(value)
