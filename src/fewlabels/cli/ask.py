"""`fewlabels ask`: which items to label next, as a file to fill in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fewlabels.cli.common import assessment_arguments, json_option
from fewlabels.cli.output import output_options
from fewlabels.wording import counted

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment
    from fewlabels.labelling.batch import Batch

_HELP = """Choose the items to label next.

Writes a table with the columns id, content (if there is one) and an empty label, for somebody to fill in;
`fewlabels tell` takes it back. Nothing in it says what the classifier answered. NAME can be left out where the
database has one assessment only.

The items are pending from now on and not handed out again; `fewlabels export DATABASE NAME batch` writes them once
more, and `fewlabels withdraw` takes them back.

\b
Examples:
  fewlabels ask audit.db -n 20 > batch.csv
  fewlabels ask audit.db worst -n 50 --annotator ann -o batch.jsonl
  fewlabels ask audit.db -n 20 --excel -o batch.csv
  fewlabels ask audit.db -n 50 --label-studio -o tasks.json
"""


@click.command(help=_HELP, short_help="Which items to label next, as a file to fill in.")
@assessment_arguments
@click.option("-n", "count", default=10, type=click.IntRange(1), show_default=True, help="How many items.")
@click.option("--annotator", metavar="WHO", help="For whom.")
@click.option("--with-group", is_flag=True, help="Also write group and reason: for you, not for annotators.")
@click.option("--label-studio", is_flag=True, help="Write tasks for Label Studio, and beside them its configuration.")
@click.option("--overwrite", is_flag=True, help="Write over FILE if it exists.")
@output_options
@json_option
def ask(
    address: str,
    name: str | None,
    *,
    count: int,
    annotator: str | None,
    with_group: bool,
    label_studio: bool,
    overwrite: bool,
    output: str | None,
    format_: str | None,
    excel: bool,
    as_json: bool,
) -> None:
    """See `_HELP`."""
    from fewlabels.cli.common import emit_json, open_assessment, talk
    from fewlabels.cli.output import check_output, write
    from fewlabels.errors import InputError

    style = check_output(output, format_)
    if output is not None and output != "-" and Path(output).is_file() and not overwrite:
        raise InputError(f"{output} exists already. Tell its labels first, choose another name, or say --overwrite.")
    if label_studio and (style != "json" or output in (None, "-")):
        raise InputError("--label-studio writes two files: name the first one with -o, such as -o tasks.json.")
    audit = open_assessment(address, name)
    batch = audit.ask(count, annotator=annotator)
    if label_studio and output is not None:
        talk(_for_label_studio(audit, batch, address, output))
        return
    columns = ["id", *(["content"] if audit.pool.content else []), "label", *(["group", "why"] * with_group)]
    rows = [{"id": r.id, "content": r.content, "label": "", "group": r.group, "why": r.why} for r in batch]
    if as_json:
        emit_json({"rows": [{key: row[key] for key in columns} for row in rows], "settings": {}})
    else:
        write(rows, columns, output, style, excel=excel)
    talk(_said(audit, batch, count, address, output))


def _for_label_studio(audit: Assessment, batch: Batch, address: str, output: str) -> str:
    """Write the batch for Label Studio, and return what to do with it in words."""
    from fewlabels.cli.common import quoted, shown
    from fewlabels.interop.label_studio import write_label_studio

    config = write_label_studio(batch, output, audit.pool.classes)
    where = f"{shown(address)} {quoted(audit.name)}"
    return (
        f"{counted(len(batch), 'item')} in {output}: import it into a project with the configuration {config}. "
        f"Export the project as JSON, then: fewlabels tell {where} export.json --label-studio"
    )


def _said(audit: Assessment, batch: Batch, count: int, address: str, output: str | None) -> str:
    """What happened, what to type next, and the names of the classes for whoever fills it in."""
    from fewlabels.cli.common import quoted, shown
    from fewlabels.cli.predictions import MOST_NAMES
    from fewlabels.io.source import listed

    where = f"{shown(address)} {quoted(audit.name)}"
    if not batch:
        pending = len(audit.pending())
        rest = f" {pending:,} are pending: fewlabels export {where} batch" if pending else ""
        return f"Nothing is left to ask: every item that bears on the question was handed out.{rest}"
    fewer = f" (no more are left, of {count:,} wanted)" if len(batch) < count else ""
    file = "batch.csv" if output is None or output == "-" else quoted(output)
    said = (
        f"{counted(len(batch), 'item')} to label{fewer}. Fill in the column label, then: fewlabels tell {where} {file}"
    )
    if audit.spec.stop.rules and (standing := audit.standing()).reached:
        said = f"{standing.words} {said}"
    elif over := _over_budget(audit, len(batch)):
        said = f"{over} {said}"
    names = listed(audit.pool.classes, MOST_NAMES)
    return f"{said}\nThe classes to choose from: {names}"


def _over_budget(audit: Assessment, count: int) -> str:
    """A warning that these items are more than the label budget has room for; empty if they are not."""
    budget = audit.spec.stop.labels
    left = None if budget is None else budget - len(audit.labels())
    if budget is None or left is None or len(audit.pending()) <= left:
        return ""
    waiting = len(audit.pending()) - count
    before = f", {counted(waiting, 'item')} handed out before" if waiting else ""
    return f"The budget of {counted(budget, 'label')} has room for {left:,} more{before}: these are more than it needs."
