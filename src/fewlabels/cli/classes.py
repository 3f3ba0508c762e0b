"""`fewlabels classes`: precision, recall and F1 of every class, with intervals."""

from __future__ import annotations

import sys

import click

from fewlabels.cli.common import assessment_arguments, json_option, level_option

_HELP = """Show precision, recall and F1 of every class with intervals, and their averages.

Precision: when the classifier says this class, how often is it right? Recall: of the items truly of this class, how
many does it find? F1 is a mean of both. n is the number of items predicted as the class; "right" counts their labels,
"found" counts the labels that are truly of the class. The interval in brackets contains the true value with the
probability --level.

\b
Examples:
  fewlabels classes audit.db
  fewlabels classes audit.db --sort recall --top 10
  fewlabels classes audit.db --json > classes.json
"""
_SORTS = ("class", "n", "precision", "recall", "f1")
_SORT = "Smallest first.  [default: the order of the classes; f1 if not all are shown]"
_SCREEN = 40


@click.command(help=_HELP, short_help="Precision, recall and F1 of every class, with intervals.")
@assessment_arguments
@click.option("--sort", type=click.Choice(_SORTS), help=_SORT)
@click.option("--top", type=click.IntRange(1), metavar="N", help="Show only the first N classes.")
@click.option("--model", metavar="NAME", help="A model of the pool other than the question's.")
@level_option
@json_option
def classes(
    address: str, name: str | None, *, sort: str | None, top: int | None, model: str | None, level: float, as_json: bool
) -> None:
    """See `_HELP`."""
    from dataclasses import replace

    from fewlabels.cli.common import emit, emit_json, open_assessment, progress, say
    from fewlabels.findings.classes import readable_averages, readable_classes
    from fewlabels.findings.doubts import of_labels
    from fewlabels.findings.labels import tally

    audit = open_assessment(address, name)
    with progress(f"reading {len(audit.pool.choices):,} classes"):
        report = audit.classes(level=level, model=model)
    most = top or (_SCREEN if sys.stdout.isatty() and not as_json else None)
    if sort is None and most and most < len(report.classes):
        sort = "f1"  # the rows that are left out should matter least
    table = report.classes if sort is None else report.classes.sorted(sort)
    report = replace(report, classes=table if top is None else table.head(top))
    if as_json:
        emit_json(report.to_json())
        return
    few = "No class has enough labels to say which is the worst."
    none = "Without labels, the table shows only what is assumed before any label."
    for line in report.words or [few if any(report.classes["labelled"]) else none]:
        say(line)
    for doubt in of_labels(tally(audit)):
        say(doubt)
    say("")
    emit(readable_classes(report.classes), as_json=False, most=most)
    click.echo()
    emit(readable_averages(report.averages), as_json=False)
