"""`fewlabels list`: the assessments in a database."""

from __future__ import annotations

from contextlib import closing

import click

from fewlabels.cli.common import json_option

_HELP = """List the assessments in a database, each with its question, its labels, and its pending items.

\b
Examples:
  fewlabels list audit.db
  fewlabels list postgresql://user@host/database --json
"""


@click.command("list", help=_HELP, short_help="List the assessments in a database.")
@click.argument("address", metavar="DATABASE")
@json_option
def list_(address: str, *, as_json: bool) -> None:
    """See `_HELP`."""
    from fewlabels.beginning import load
    from fewlabels.cli.common import emit, names_in, talk
    from fewlabels.errors import SpecError
    from fewlabels.findings.phrases import question
    from fewlabels.store import Store
    from fewlabels.table import Table

    rows = []
    names = names_in(address)
    with closing(Store(address, existing=True)) as store:
        for name in names:
            record = store.open(name)
            row: dict[str, object] = {"name": name}
            try:
                with closing(load(store, name)) as audit:
                    row |= {
                        "question": question(audit),
                        "items": len(audit.pool),
                        "groups": len(audit.groups),
                        "labels": audit.labelled,
                        "pending": len(audit.pending()),
                    }
            except SpecError as error:
                # One assessment whose part is missing must not hide the others.
                talk(f"{name}: {error}")
                items, labels = len(store.pool(record.fingerprint)), len(store.labels(name))
                row |= {"question": None, "items": items, "groups": None, "labels": labels, "pending": None}
            rows.append(row | {"created": record.created_at.strftime("%Y-%m-%d %H:%M")})
    emit(Table({key: [row[key] for row in rows] for key in rows[0]}), as_json)
