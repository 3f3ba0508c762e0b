"""`fewlabels ask`: which items to label next, as a file to fill in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fewlabels.cli.common import PROGRAMS, assessment_arguments, json_option
from fewlabels.cli.output import output_options
from fewlabels.wording import counted

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment
    from fewlabels.labelling.batch import Batch

_HELP = """Choose the items to label next.

Writes a table with the columns id, content (if there is one) and an empty label, for somebody to fill in;
`fewlabels tell` reads it back. The table does not show what the classifier predicted. NAME can be left out if the
database has only one assessment.

From now on the items are pending, and are not handed out again. `fewlabels export DATABASE NAME batch` writes them once
more, and `fewlabels withdraw` takes them back. In a workbook (.xlsx), each label is chosen from a list of the classes.

\b
Examples:
  fewlabels ask audit.db -n 20 > batch.csv
  fewlabels ask audit.db worst -n 50 --annotator ann -o batch.jsonl
  fewlabels ask audit.db -n 20 -o batch.xlsx
  fewlabels ask audit.db -n 50 --for label-studio -o tasks.json
  fewlabels ask audit.db -n 50 --for prodigy -o tasks.jsonl
"""


@click.command(help=_HELP, short_help="Which items to label next, as a file to fill in.")
@assessment_arguments
@click.option("-n", "count", default=10, type=click.IntRange(1), show_default=True, help="How many items.")
@click.option("--annotator", metavar="WHO", help="Who will label the items.")
@click.option("--with-group", is_flag=True, help="Also write the group and the reason; for you, not for annotators.")
@click.option("--for", "program", type=click.Choice(PROGRAMS), help="Write tasks for a labelling program.")
@click.option("--label-studio", is_flag=True, hidden=True)  # its name before there were others
@click.option("--overwrite", is_flag=True, help="Overwrite FILE if it exists.")
@output_options
@json_option
def ask(
    address: str,
    name: str | None,
    *,
    count: int,
    annotator: str | None,
    with_group: bool,
    program: str | None,
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
    from fewlabels.io.saving import check_new

    style = check_output(output, format_)
    program = "label-studio" if label_studio else program
    if output is not None and output != "-" and not overwrite:
        check_new(output, unless="add --overwrite")
    _check_tasks(program, output)
    audit = open_assessment(address, name)
    batch = audit.ask(count, annotator=annotator)
    if program is not None and output is not None:
        talk(_for_program(program, audit, batch, address, output))
        return
    columns = ["id", *(["content"] if audit.pool.content else []), "label", *(["group", "why"] * with_group)]
    rows = [{"id": r.id, "content": r.content, "label": "", "group": r.group, "why": r.why} for r in batch]
    if as_json:
        emit_json({"rows": [{key: row[key] for key in columns} for row in rows], "settings": {}})
    else:
        table = {name: [row[name] for row in rows] for name in columns}
        write(table, output, style, excel=excel, choices=audit.pool.choices)
    talk(_summary(audit, batch, count, address, output, annotator))


def _check_tasks(program: str | None, output: str | None) -> None:
    """Refuse tasks without a file, or with a name that the labelling program would not take."""
    from fewlabels.errors import InputError

    if program is not None:
        from fewlabels.interop.labelling_programs import named

        ending = named(program).ending
        if output is None or output == "-" or Path(output).suffix.lower() != ending:
            raise InputError(f"--for {program} writes files: name the first one with -o, such as -o tasks{ending}.")


def _for_program(program: str, audit: Assessment, batch: Batch, address: str, output: str) -> str:
    """Write the batch for a labelling program, and say what to do with it."""
    from fewlabels.cli.common import quoted, shown
    from fewlabels.interop.labelling_programs import named

    to = named(program)
    beside = to.write(batch, Path(output), audit.pool.choices)
    where = f"{shown(address)} {quoted(audit.name)}"
    then = to.then.format(tasks=output, beside=str(beside))
    return (
        f"{counted(len(batch), 'item')} for {to.title} in {output}. Next: {then}. "
        f"Then: fewlabels tell {where} export{to.ending}"
    )


def _summary(
    audit: Assessment, batch: Batch, count: int, address: str, output: str | None, annotator: str | None
) -> str:
    """Say what happened and what to type next, and list the classes for the person who fills in the labels."""
    from fewlabels.cli.common import quoted, shown
    from fewlabels.understanding.words import MOST_NAMES
    from fewlabels.wording import some_of

    where = f"{shown(address)} {quoted(audit.name)}"
    if not batch:
        pending = len(audit.pending())
        rest = f" {pending:,} are pending: fewlabels export {where} batch" if pending else ""
        return f"Nothing is left to ask: every item that matters to the question was handed out.{rest}"
    fewer = f" (you wanted {count:,}, but no more are left)" if len(batch) < count else ""
    file = "batch.csv" if output is None or output == "-" else quoted(output)
    who = f" --annotator {quoted(annotator)}" if annotator else ""
    words = (
        f"{counted(len(batch), 'item')} to label{fewer}. Fill in the column label, then: "
        f"fewlabels tell {where} {file}{who}"
    )
    if audit.spec.stop.rules and (standing := audit.standing()).reached:
        words = f"{standing.words} {words}"
    elif over := _over_budget(audit, len(batch)):
        words = f"{over} {words}"
    names = some_of(audit.pool.choices, MOST_NAMES)
    return f"{words}\nThe classes to choose from: {names}"


def _over_budget(audit: Assessment, count: int) -> str:
    """Warn that these items exceed the label budget; empty if they do not."""
    budget = audit.spec.stop.labels
    left = None if budget is None else budget - audit.labelled
    if budget is None or left is None or len(audit.pending()) <= left:
        return ""
    waiting = len(audit.pending()) - count
    were = "was" if waiting == 1 else "were"
    before = f", and {counted(waiting, 'item')} {were} handed out before" if waiting else ""
    return f"The budget of {counted(budget, 'label')} has room for {left:,} more{before}: this batch exceeds it."
