"""Tables of a finding: the evidence beside every estimate, and the values as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from fewlabels.findings.evidence import NOTES
from fewlabels.findings.labels import shown_by_labels
from fewlabels.metrics.accuracy import RightOrWrong
from fewlabels.table import Table
from fewlabels.tasks.backing import is_thin
from fewlabels.tasks.certify_words import chance
from fewlabels.tasks.compare import REGIONS
from fewlabels.tasks.grounds import of_these
from fewlabels.wording import Style, is_exact, percent, probability

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fewlabels.assessment import Assessment
    from fewlabels.findings.labels import Shown
    from fewlabels.metrics import Metric
    from fewlabels.partition import Partition
    from fewlabels.tasks import Task
    from fewlabels.tasks.grounds import GroupRow

_VALUES = ("mean", "low", "high", "median")
_HIDDEN = ("rank_low", "rank_high", "behind_low", "behind_high", "not_less", "not_more", "prior", "evidence", "backed")
_APART = ("behind", "regret")
_SHOWN = ("right", "counted", "of_these")
_CHANCES = ("chance", *REGIONS)


def estimates_table(table: Table, rows: Sequence[GroupRow]) -> Table:
    """Add to estimates by group what labels show (right, or counted and of_these), prior, evidence and note."""
    by_name = {row.group: row for row in rows}
    beside = [by_name[name] for name in table["group"]]
    columns: dict[str, Sequence[Any]] = {}
    for name, values in table.columns.items():
        columns[name] = values
        if name == "labelled" and any(row.right is not None for row in rows):
            columns["right"] = [row.right for row in beside]
        if name == "labelled" and any(row.hits is not None for row in rows):
            columns |= {"counted": [row.counted for row in beside], "of_these": [row.hits for row in beside]}
    columns |= {name: [getattr(row, name) for row in beside] for name in ("prior", "evidence", "note")}
    return Table(columns, table.settings)


def is_counted(table: Table) -> bool:
    """Whether no value of a table is estimated: every item has its label, and the question is about exactly these."""
    ends = [(low, high) for low, high in zip(table["low"], table["high"], strict=True) if low is not None]
    return bool(ends) and all(is_exact(low, high) for low, high in ends)


def answer_table(table: Table, rows: Sequence[GroupRow]) -> Table:
    """Add the columns of `estimates_table` to the table of an answer, if it is by group."""
    return estimates_table(table, rows) if {"group", "labelled"} <= set(table.columns) else table


def other_table(
    audit: Assessment,
    metric: Metric,
    groups: Partition,
    level: float,
    *,
    guarantee: Literal["anytime"] | None = None,
    together: bool = False,
    model: str | None = None,
) -> Table:
    """Estimate a metric, groups or model other than the question's, with what labels show about it, and a note.

    How short an interval must be is known only for the question's own groups. Here the note marks groups with few
    labels that the metric is about.
    """
    table = audit.estimates(
        level=level, metric=metric, groups=groups, guarantee=guarantee, together=together, model=model
    )
    joint = audit.spec.task.of_models and model is None  # a row for each model, not for each group
    table = table if joint else with_shown(audit, table, metric, groups, model)
    return table.with_column("note", [_note(row, audit.spec.target) for row in table.rows()])


def with_shown(audit: Assessment, table: Table, metric: Metric, groups: Partition, model: str | None = None) -> Table:
    """A table of groups with what their labels show about a metric, behind the labels; as it is for other tables."""
    if metric.vector or not {"group", "labelled"} <= {*table.columns} or not len(table):
        return table
    shown = shown_by_labels(audit, groups, metric, model)
    if shown is None:
        return table
    rows = [_columns(metric, shown[group]) for group in table["group"]]
    columns: dict[str, Sequence[Any]] = {}
    for name, values in table.columns.items():
        columns[name] = values
        if name == "labelled":
            columns |= {more: [row[more] for row in rows] for more in _SHOWN if more in rows[0]}
    return Table(columns, table.settings)


def _columns(metric: Metric, shown: Shown) -> dict[str, int]:
    """What the labels in a group show about a metric, as columns."""
    is_right = isinstance(metric, RightOrWrong)
    return {"right": shown.hits} if is_right else {"counted": shown.counted, "of_these": shown.hits}


def _note(row: Mapping[str, Any], target: str) -> str:
    """The note beside the number of a group: labels that it is about are few, or it is 0/0."""
    if row["n"] and row["labelled"] and row["mean"] is None:
        return NOTES["undefined"]
    own = row["labelled"] if row["labelled"] >= row["n"] else row.get("counted", row["labelled"])
    return NOTES["few"] if is_thin(own, row["n"], target) else ""


def mistakes_table(audit: Assessment, groups: Partition, level: float, most: int, *, model: str | None = None) -> Table:
    """The largest mistakes of a confusion matrix, with a note where labels are few."""
    return noted(audit.confusions(most, groups=groups, level=level, model=model), audit.spec.target)


def noted(table: Table, target: str) -> Table:
    """Add a note where labels are few to a table of mistakes."""
    few = [is_thin(row["labelled"], row["n"], target) for row in table.rows()]
    return table.with_column("note", [NOTES["few"] if is_few else "" for is_few in few])


def _tells(table: Table) -> bool:
    """Return whether the notes are worth showing: without any label, they would be the same for every group."""
    return any(table["note"]) and any(table["labelled"])


def _changes(table: Table, name: str, style: Style) -> list[str | None]:
    """A column of differences with their intervals, if the table has these."""
    none = [None] * len(table)
    ends = [table.columns.get(column, none) for column in (name, f"{name}_low", f"{name}_high")]
    rows = list(zip(*ends, strict=True))
    style = style.fitting_changes(rows)
    return [None if row[0] is None else style.change(*row) for row in rows]


def _in_one_column(table: Table, hit: str) -> Table:
    """The columns counted and of_these as one, "31 of 40 pass"."""
    columns: dict[str, Sequence[Any]] = {}
    for name, values in table.columns.items():
        if name == "counted":
            pairs = zip(table["of_these"], values, strict=True)
            columns["these show"] = [of_these(hits, count, hit) for hits, count in pairs]
        elif name != "of_these":
            columns[name] = values
    return Table(columns, table.settings)


def readable(table: Table, task: Task, metric: Metric | None = None, noun: str = "group") -> Table:
    """Format a table of a finding for people: values and probabilities as in sentences, ranks as ranges.

    The columns prior and evidence are left out, since the note says what matters about them. `metric` is the metric of
    the values, if it is not the task's, and `noun` what a row is, such as a model.
    """
    table = _in_one_column(table, (metric or task.metric).hit)
    low, high = (table.columns.get(name, ()) for name in ("low", "high"))
    style = Style((metric or task.metric).in_percent).fitting(zip(low, high, strict=True))
    # In the answer of a comparison, the value is a difference, and the table is not by group.
    compares = task.pair is not None or set(REGIONS) <= set(table.columns)
    write = style.difference if compares and "group" not in table.columns else style.value
    columns: dict[str, Sequence[Any]] = {}
    for name, values in table.columns.items():
        if name in _VALUES:
            columns[name] = [None if value is None else write(value) for value in values]
        elif name == "metric":
            columns[name] = [(metric or task.metric).name] * len(table)
        elif name == "reaches":
            rows = zip(values, table["backed"], strict=True)
            columns[name] = [chance(reaches, backed=backed) for reaches, backed in rows]
        elif name in _APART:
            columns[name] = _changes(table, name, style)
        elif name in _CHANCES:
            columns[name] = [None if value is None else probability(value) for value in values]
        elif name == "rank" and "rank_low" in table.columns:
            ends = zip(table["rank_low"], table["rank_high"], strict=True)
            columns[name] = [f"{round(low)}-{round(high)}" if low < high else f"{round(low)}" for low, high in ends]
        elif name in ("won", "confidence"):
            whole = "all" if name == "won" else percent(1.0)
            columns[name] = [None if value is None else whole if value >= 1 else percent(value) for value in values]
        elif name not in _HIDDEN and (name != "note" or _tells(table)):
            columns[noun if name == "group" else name] = values
    return Table(columns, table.settings)
