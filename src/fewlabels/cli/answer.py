"""`fewlabels answer`: the answer to the question, and how sure it is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from fewlabels.cli.common import assessment_arguments, json_option, level_option

if TYPE_CHECKING:
    from fewlabels.table import Table

_HELP = """Answer the question from the labels so far, and say how sure the answer is.

To estimate: the average over the pool. To identify: the groups looked for; chance is the probability that a group is
among them, rank its place (1 is the most extreme) with the range of places it may have. To compare: less, equal and
more are the probabilities that A is below, about equal to, or above B.

\b
Examples:
  fewlabels answer audit.db
  fewlabels answer audit.db worst --top 20 --json
"""
_SCREEN = 20


@click.command(help=_HELP, short_help="The answer to the question, and how sure it is.")
@assessment_arguments
@click.option("--top", type=click.IntRange(1), metavar="N", help="The first N groups only.")
@level_option
@json_option
def answer(address: str, name: str | None, *, top: int | None, level: float, as_json: bool) -> None:
    """See `_HELP`."""
    from fewlabels.cli.common import emit, emit_json, open_assessment, quoted, shown, talk
    from fewlabels.report import gist
    from fewlabels.tasks import Compare

    audit = open_assessment(address, name)
    found = gist(audit, level)
    answer = found.answer
    if not audit.labels():
        where = f"{shown(address)} {quoted(audit.name)}"
        talk(f"There are no labels yet: the table is only what is believed beforehand. Next: fewlabels label {where}")
    if as_json:
        rows = list(answer.table.rows())[:top]
        known = {
            "headline": found.headline,
            "doubts": list(found.doubts),
            "words": answer.words,
            "probability": answer.probability,
            "groups": list(answer.groups),
        }
        emit_json({**known, "rows": rows, "settings": dict(answer.table.settings)})
        return
    click.echo(found.headline)
    click.echo()
    if isinstance(task := audit.spec.task, Compare):
        talk(
            f"less, equal, more: the chances that the {task.metric.name} of {task.a} is lower than that of "
            f"{task.b}, about the same (within {task.rope:g}), or higher."
        )
    table = _readable(answer.table)
    shown_rows = min(len(table), top or (max(_SCREEN, len(answer.groups)) if sys.stdout.isatty() else len(table)))
    emit(_part(table, shown_rows), as_json=False)
    if top is None and shown_rows < len(table):
        talk(f"... {len(table) - shown_rows:,} more groups; --top {len(table)} shows them.")
    for doubt in found.doubts:
        talk(doubt)


def _part(table: Table, rows: int) -> Table:
    from fewlabels.table import Table

    return Table({name: column[:rows] for name, column in table.columns.items()}, table.settings)


def _readable(table: Table) -> Table:
    """Ranks as whole numbers with their range, where there are any: a mean rank of 2.37 is nobody's place."""
    from fewlabels.table import Table

    if "rank" not in table.columns:
        return table
    columns: dict[str, Any] = {}
    for name, values in table.columns.items():
        if name == "rank":
            ends = zip(table["rank_low"], table["rank_high"], strict=True)
            columns["rank"] = [f"{round(low)}-{round(high)}" if low < high else f"{round(low)}" for low, high in ends]
        elif name not in ("rank_low", "rank_high"):
            columns[name] = values
    return Table(columns, table.settings)
