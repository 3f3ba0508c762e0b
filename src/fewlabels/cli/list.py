"""`fewlabels list`: the assessments in a database."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click

from fewlabels.cli.common import json_option

if TYPE_CHECKING:
    from fewlabels.store import Store

_COLUMNS = ("name", "question", "items", "groups", "labels", "pending", "created")

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
    from fewlabels.cli.common import emit, names_in, talk
    from fewlabels.errors import StoreError
    from fewlabels.store import Store
    from fewlabels.table import Table

    rows = []
    names = names_in(address)
    with closing(Store(address, existing=True)) as store:
        for name in names:
            try:
                rows.append(_row(store, name))
            except StoreError as error:
                talk(f"{name}: {error}")  # one that is damaged must not hide the others
                rows.append({"name": name})
    emit(Table({key: [row.get(key) for row in rows] for key in _COLUMNS}), as_json)


def _row(store: Store, name: str) -> dict[str, object]:
    from fewlabels.beginning import load
    from fewlabels.cli.common import talk
    from fewlabels.errors import SpecError
    from fewlabels.findings.labels import tally
    from fewlabels.findings.phrases import question

    record = store.open(name)
    row: dict[str, object] = {"name": name, "created": record.created_at.strftime("%Y-%m-%d %H:%M")}
    try:
        with closing(load(store, name)) as audit:
            count = tally(audit)
            return row | {
                "question": question(audit),
                "items": len(audit.pool),
                "groups": len(audit.groups),
                "labels": count.labelled,
                "pending": count.pending + count.unresolved,
            }
    except SpecError as error:
        talk(f"{name}: {error}")  # nor may one whose part is missing: its labels are known
        return row | {"items": len(store.pool(record.fingerprint)), "labels": len(store.labels(name))}
