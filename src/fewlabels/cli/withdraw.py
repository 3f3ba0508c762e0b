"""`fewlabels withdraw`: take back labels that were wrong, or requests that nobody will answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fewlabels.cli.common import complete_names, json_option
from fewlabels.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

_HELP = """Take back labels that were wrong, or requests that nobody will answer. The items can then be asked again.

The log keeps what was withdrawn. Do not withdraw items because they are hard to label: the classifier would then look
better than it is.

\b
Examples:
  fewlabels withdraw audit.db img_17 img_18
  fewlabels withdraw audit.db worst --pending --note 'ann left'
  fewlabels withdraw audit.db --person eve            everything eve answered or holds, and nothing else
"""


@click.command(help=_HELP, short_help="Take back labels, or requests that nobody will answer.")
@click.argument("address", metavar="DATABASE")
@click.argument("words", nargs=-1, metavar="[NAME] ID...", shell_complete=complete_names)
@click.option("--pending", is_flag=True, help="Withdraw all items that are waiting for a label.")
@click.option("--person", metavar="WHO", help="Take back everything this person answered or holds, and nothing else.")
@click.option("--annotator", metavar="WHO", help="Who takes them back.")
@click.option("--note", metavar="TEXT", help="The reason, to keep in the log.")
@json_option
def withdraw(
    address: str,
    words: Sequence[str],
    *,
    pending: bool,
    person: str | None,
    annotator: str | None,
    note: str | None,
    as_json: bool,
) -> None:
    """See `_HELP`."""
    from fewlabels.cli.common import emit_json, name_and_rest, open_assessment, talk
    from fewlabels.errors import InputError

    name, ids = name_and_rest(address, words)
    if not ids and not pending and person is None:
        raise InputError("no items were named: add their ids, or --pending for all that are waiting for a label.")
    if person is not None and (ids or pending):
        raise InputError("--person takes back everything of one person: leave the ids and --pending out.")
    audit = open_assessment(address, name)
    if person is not None:
        count = audit.withdraw_person(person, annotator=annotator, note=note)
    else:
        wanted = list(dict.fromkeys([*ids, *(audit.pending() if pending else [])]))
        count = audit.withdraw(wanted, annotator=annotator, note=note) if wanted else 0
    left = {"withdrawn": count, "labels": audit.labelled, "pending": len(audit.pending())}
    talk(f"{counted(count, 'item')} withdrawn. {counted(left['labels'], 'label')}, {left['pending']:,} pending.")
    if as_json:
        emit_json(left)
