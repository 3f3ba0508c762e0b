"""`fewlabels show`: estimates with intervals, the progress of labelling, and how many more labels it will take."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

import click

from fewlabels.cli.common import assessment_arguments, json_option, level_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fewlabels.assessment import Assessment
    from fewlabels.findings.finding import Finding
    from fewlabels.metrics import Metric
    from fewlabels.partition import Partition
    from fewlabels.table import Table

_HELP = """Show what is known so far: each group with its estimate and interval.

Before the table come the progress of labelling in plain words and, if a stopping rule was set, how many more labels it
will probably take. Columns: n is the number of items in the group, labelled is how many of them have a label, and right
is how many of those the classifier got right (if labels show it). mean is the estimate of the metric; the interval from
low to high contains the true value with the probability --level. A note marks numbers with too few labels. With another
--metric, other --groups or another --model, only the table is shown; a label counts for every model of the pool,
whichever it was asked for. For a confusion matrix, a terminal and --top show the largest mistakes, starting with those
seen in labels; seen is how many labels. So does a file if the matrix has more than 10,000 cells; --json has all of
them. NAME can be left out if there is only one assessment.

\b
Examples:
  fewlabels show audit.db
  fewlabels show audit.db worst --top 10 --sort labelled
  fewlabels show audit.db --metric calibration --groups whole
  fewlabels show audit.db --metric confusion --top 10
  fewlabels show audit.db --guarantee anytime
  fewlabels show audit.db --model old --groups whole
  fewlabels show audit.db --judges --groups column:system
  fewlabels show audit.db --annotators
  fewlabels show audit.db --json > estimates.json
"""
_SORTS = ("group", "n", "labelled", "mean", "low", "high", "width")
_DEFAULT = "  [default: by group; the worst first if not all are shown]"
_SCREEN = 40  # rows on a terminal; all go into a pipe or file


@click.command(help=_HELP, short_help="Show estimates with intervals, and the progress of labelling.")
@assessment_arguments
@click.option("--metric", metavar="NAME", help="A metric other than the question's.")
@click.option("--groups", metavar="HOW", help="Other groups, as in `fewlabels new`.")
@click.option("--model", metavar="NAME", help="A model of the pool other than the question's.")
@click.option("--judges", is_flag=True, help="How well each judge agrees with people, overall and by group.")
@click.option("--annotators", is_flag=True, help="Who labelled: how often each is right, or how far people agree.")
@click.option("--sort", metavar="COLUMN", help=f"{', '.join(_SORTS)}; with - in front, largest first.{_DEFAULT}")
@click.option("--top", type=click.IntRange(1), metavar="N", help="Show only the first N groups.")
@level_option
@click.option("--guarantee", type=click.Choice(["anytime"]), help="Intervals that hold however often you look.")
@click.option("--together", is_flag=True, help="With --guarantee: the intervals of all groups hold at once.")
@click.option("--forecast/--no-forecast", default=True, help="Say how many more labels it will probably take.")
@json_option
def show(
    address: str,
    name: str | None,
    *,
    metric: str | None,
    groups: str | None,
    model: str | None,
    judges: bool,
    annotators: bool,
    sort: str | None,
    top: int | None,
    level: float,
    guarantee: Literal["anytime"] | None,
    together: bool,
    forecast: bool,
    as_json: bool,
) -> None:
    """See `_HELP`."""
    from fewlabels.checks import check_guarantee
    from fewlabels.cli.common import emit, emit_json, open_assessment, progress, say
    from fewlabels.cli.who import show_who
    from fewlabels.findings.confusions import is_too_large
    from fewlabels.findings.finding import find
    from fewlabels.findings.tables import mistakes_table, other_table, readable
    from fewlabels.named import groups_from, metric_from
    from fewlabels.wording import counted

    audit = open_assessment(address, name)
    if judges or annotators:
        show_who(audit, groups, level, judges=judges, as_json=as_json)
        return
    pool = audit.pool_of(model)
    own = metric is None and groups is None and pool is audit.pool
    measured = metric_from(metric, pool) if metric else audit.spec.task.metric
    by = groups_from(groups, pool) if groups else audit.groups_of(model)
    check_guarantee(guarantee, together=together)
    # A headline is based on the posterior's intervals, so it does not belong above any others.
    short = not as_json and (sys.stdout.isatty() or is_too_large(measured, by, pool))
    most = top or (_SCREEN if short else None)
    sort = sort or _worst_first(audit, measured, is_cut=len(by) > (most or len(by)))
    with progress(f"reading {counted(len(by), 'group')}"):
        finding = find(audit, level) if own and guarantee is None else None
        if measured.vector and most and sort is None:
            table = mistakes_table(audit, by, level, most, model=model)
        else:
            if finding:
                table = finding.estimates
            else:
                table = other_table(audit, measured, by, level, guarantee=guarantee, together=together, model=model)
            table = _first(_sorted(table, audit, sort), top)
        # Read from the same state as the finding, so that the numbers agree and are not computed twice.
        known = _progress(audit.snapshot()) | _sentences(finding, audit)
    if not as_json:
        title = _title(measured, by, level, table, together, model or audit.spec.model)
        for line in (*_words(audit, known, address), f"\n{title}", *_about_rows(table, audit)):
            say(line)
        noun = "model" if own and audit.spec.task.of_models else "group"
        emit(readable(table, audit.spec.task, measured, noun), as_json=False, most=None if top else most)
    # Last, because it takes some seconds.
    if forecast and (own or as_json) and not known["standing"]["reached"]:
        known |= _looked_ahead(audit, as_json=as_json)
    if as_json:
        emit_json({**known, "rows": list(table.rows()), "settings": dict(table.settings)})


def _looked_ahead(audit: Assessment, *, as_json: bool) -> dict[str, Any]:
    """How many more labels the stopping rule will probably take, if one is set; also printed, unless as JSON."""
    from fewlabels.cli.common import progress, say
    from fewlabels.findings.outlook import is_quick

    if not audit.spec.stop.rules or not is_quick(audit):
        return {}
    from fewlabels.planning import forecast

    with progress("looking ahead") as bar:
        ahead = forecast(audit, progress=bar)
    if not as_json:
        say(f"\n{ahead.advised('begin with --target pool')}")
    return {"forecast": ahead.to_json()}


def _worst_first(audit: Assessment, metric: Metric, *, is_cut: bool) -> str | None:
    """How rows are sorted if not all are shown, so that those left out matter least; None: as they are."""
    if not is_cut or metric.vector or audit.spec.task.sought is not None:
        return None
    return "-mean" if metric.high_is_bad else "mean"


def _title(metric: Metric, groups: Partition, level: float, table: Table, together: bool, model: str | None) -> str:
    """Say what the table shows, and which end of the scale is good."""
    from fewlabels.findings.tables import is_counted
    from fewlabels.metrics import Prevalence
    from fewlabels.wording import Style, chosen

    name = metric.name if model is None else f"{metric.name} of {model}"
    # The share of a class is neither good nor bad.
    best = (
        ""
        if metric.vector or isinstance(metric, Prevalence)
        else f"; {Style(metric.in_percent).value(0 if metric.high_is_bad else 1)} is best"
    )
    truth = f"The true value is between low and high with a probability of {chosen(level)}"
    if table.settings.get("guarantee"):
        which = "all true values are" if together else "the true value of each group is"
        truth = f"However often you look, {which} between low and high with a probability of {chosen(level)}"
    elif is_counted(table):
        truth = "All of these items are labelled, so the numbers are counted, not estimated"
    return f"{name[0].upper()}{name[1:]} {groups.words}{best}. {truth}."


def _about_rows(table: Table, audit: Assessment) -> Iterator[str]:
    """What must be known to read the rows."""
    from fewlabels.findings.tables import is_counted
    from fewlabels.tasks.backing import ENOUGH
    from fewlabels.wording import counted

    if "seen" in table.columns:
        yield "Mistakes seen in labels come first, starting with those that probably affect the most items."
    if audit.spec.task.of_models and "right" in table.columns:
        yield "Labels went where the models differ, so the better of two models may have fewer right labels."
        if (drawn := audit.anchored) < ENOUGH and not is_counted(table):
            label = counted(drawn, "label") if drawn else "no label"
            yield f"How often a model is right is a rough guess: {label} drawn at random from all items."


def _sorted(table: Table, audit: Assessment, by: str | None) -> Table:
    """Sort the rows as asked for; if the task looks for groups, put the likeliest first."""
    from fewlabels.errors import InputError
    from fewlabels.table import Table

    if by is None and (audit.spec.task.sought is None or "true" in table.columns):
        return table
    by = by or ("mean" if audit.spec.task.sought == "lowest" else "-mean")
    column = by.removeprefix("-")
    if column not in _SORTS or (column not in table.columns and column != "width"):
        raise InputError(f"--sort {by!r} is not known. Use one of {', '.join(_SORTS)}, or -mean for the largest first.")
    if column == "width":
        ends = zip(table["low"], table["high"], strict=True)
        keys: list[Any] = [None if low is None else high - low for low, high in ends]
    else:
        keys = table[column]
    # Groups without items have no value: they come last either way.
    present = sorted((i for i, key in enumerate(keys) if key is not None), key=lambda i: keys[i], reverse=by[0] == "-")
    order = [*present, *(i for i, key in enumerate(keys) if key is None)]
    return Table({name: [values[i] for i in order] for name, values in table.columns.items()}, table.settings)


def _first(table: Table, top: int | None) -> Table:
    return table if top is None else table.head(top)


def _progress(audit: Assessment) -> dict[str, Any]:
    """Count labels and pending items, and read the progress towards the stopping rules."""
    from fewlabels.findings.labels import tally

    labels = tally(audit)
    return {
        "name": audit.name,
        "labels": labels.labelled,
        "pending": labels.pending + labels.unresolved,
        "disputed": labels.unresolved,
        "items": len(audit.pool),
        "standing": audit.standing().to_json(),
        "forecast": None,
    }


def _sentences(finding: Finding | None, audit: Assessment) -> dict[str, Any]:
    """Return the sentences of the finding, or of any other table only the caveats about the labels."""
    from fewlabels.findings.doubts import of_labels
    from fewlabels.findings.labels import tally

    if finding is None:
        return {"doubts": list(of_labels(tally(audit)))}
    return {
        "question": finding.question,
        "headline": finding.headline,
        "basis": finding.basis,
        "doubts": list(finding.doubts),
    }


def _words(audit: Assessment, known: dict[str, Any], address: str) -> list[str]:
    from fewlabels.cli.common import quoted, shown
    from fewlabels.findings.judges import judges_of
    from fewlabels.findings.phrases import question
    from fewlabels.wording import counted

    where = f"{shown(address)} {quoted(audit.name)}"
    of = counted(known["items"], "item")
    of += f" in {counted(len(audit.groups), 'group')}" if len(audit.groups) > 1 else ""
    lines = [
        f"{audit.name}: {question(audit)} ({of})",
        f"{counted(known['labels'], 'label')} so far, {known['pending']:,} pending.",
    ]
    if "headline" in known:  # progress is about the groups of the question
        lines[-1] += f" {known['standing']['words']}"
    if known["disputed"]:
        lines.append(
            f"Your decision is needed on {counted(known['disputed'], 'item')}: people skipped or disagreed. See: "
            f"fewlabels export {where} disputed, then fewlabels tell {where} FILE --decide"
        )
    sentences = (known.get("headline"), known.get("basis"), *known.get("doubts", ()))
    lines += [sentence for sentence in sentences if sentence]
    if known["labels"] and "headline" in known and judges_of(audit):
        lines.append(f"How good the judge is: fewlabels show {where} --judges")
    if known["labels"] and "headline" in known and audit.spec.noisy:
        lines.append(f"How often each person is right: fewlabels show {where} --annotators")
    if not known["labels"]:
        lines.append(
            f"Without labels, the table shows only what is assumed before any label. Next: fewlabels label {where}, "
            f"fewlabels serve {shown(address)}, or fewlabels ask {where} -n 20 > batch.csv"
        )
    return lines
