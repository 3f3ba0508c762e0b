"""`fewlabels backup`, `copy` and `verify`: keeping labels safe."""

from __future__ import annotations

import click

from fewlabels.cli.common import json_option
from fewlabels.wording import counted

_BACKUP = """Write a copy of a database, as it is now, into a new SQLite file, and check it.

People can go on labelling meanwhile. The file appears when it is complete, and nothing is ever overwritten. To go back
to a backup, stop the server and use the backup in place of the database.

\b
Examples:
  fewlabels backup audit.db
  fewlabels backup audit.db /media/stick/audit-monday.db
  fewlabels backup postgresql://user@host/database monday.db
"""
_COPY = """Copy a database into another one, SQLite or PostgreSQL, which must be new or empty.

Every event stays as it is, with its number, time, person and hash, and personal links stay valid. Either everything is
copied or nothing. With --rescue, whatever can still be used of a damaged database is copied.

\b
Examples:
  fewlabels copy audit.db postgresql://user@host/database
  fewlabels copy postgresql://user@host/database audit.db
  fewlabels copy damaged.db rescued.db --rescue
"""
_VERIFY = """Check that everything in a database is exactly what was written, and say what is not.

Each event carries a hash of itself and of all events before it. The last one is the head: write it down elsewhere, and
--head tells you later whether anything before it was changed or removed, even by somebody who rewrote all hashes.
The exit code is 0 if nothing is damaged, and 1 otherwise.

\b
Examples:
  fewlabels verify audit.db
  fewlabels verify audit.db --head 128:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
"""


@click.command(help=_BACKUP, short_help="Write a checked copy to a file, even while people label.")
@click.argument("address", metavar="DATABASE")
@click.argument("to", required=False, metavar="[FILE]")
@json_option
def backup(address: str, to: str | None, *, as_json: bool) -> None:
    """See `_BACKUP`."""
    from fewlabels.cli.common import emit_json, open_store, progress, quoted, talk

    with open_store(address) as store:
        with progress("copying") as bar:
            path = store.backup(to, progress=bar)
        heads = {name: str(store.head(name)) for name in store.names()}
    talk(f"The backup {quoted(str(path))} is complete and checked. It has {counted(len(heads), 'assessment')}.")
    if as_json:
        emit_json({"file": str(path), "assessments": len(heads)})


@click.command(help=_COPY, short_help="Copy everything from one database to another.")
@click.argument("address", metavar="FROM")
@click.argument("to", metavar="TO")
@click.option("--rescue", is_flag=True, help="Copy what can still be used of a damaged database.")
@json_option
def copy(address: str, to: str, *, rescue: bool, as_json: bool) -> None:
    """See `_COPY`."""
    from fewlabels.cli.common import emit_json, open_store, progress, shown, talk

    with open_store(address) as store, progress("copying") as bar:
        done = store.copy(to, rescue=rescue, progress=bar)
    what = f"{counted(done.assessments, 'assessment')} with {counted(done.events, 'event')}"
    talk(f"{shown(to)} now has {what}.")
    for words in done.left_out:
        talk(f"Left out: {words}")
    if as_json:
        emit_json({"assessments": done.assessments, "events": done.events, "left_out": list(done.left_out)})


@click.command(help=_VERIFY, short_help="Check that nothing was damaged, changed or lost.")
@click.argument("address", metavar="DATABASE")
@click.option("--head", metavar="HEAD", help="A head you wrote down earlier: is everything before it still there?")
@json_option
def verify(address: str, head: str | None, *, as_json: bool) -> int:
    """See `_VERIFY`."""
    from fewlabels.cli.common import emit_json, open_store, progress, quoted, shown, talk

    with open_store(address) as store, progress("checking") as bar:
        report = store.verify(head=head, progress=bar)
    if as_json:
        logs = [
            {
                "name": log.name,
                "head": None if log.head is None else str(log.head),
                "events": log.events,
                "labels": log.labels,
                "problems": list(log.problems),
            }
            for log in report.logs
        ]
        emit_json({"ok": report.ok, "problems": list(report.problems), "assessments": logs})
        return 0 if report.ok else 1
    click.echo(report.words or f"{shown(address)} has no assessment yet.")
    for log in report.logs:
        if log.head is not None and not log.problems:
            click.echo(f"  head of {quoted(log.name)}: {log.head}")
    if head is not None and report.ok:
        talk("The head that you gave is still in the log: nothing before it was changed.")
    if not report.ok:
        talk(f"Restore a backup, or keep what can be used: fewlabels copy {shown(address)} rescued.db --rescue")
    return 0 if report.ok else 1
