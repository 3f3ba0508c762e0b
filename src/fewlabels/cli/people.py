"""`fewlabels invite`, `revoke` and `people`: who may label in the browser."""

from __future__ import annotations

import click

from fewlabels.cli.common import json_option
from fewlabels.wording import harmless

_ADDRESS = "http://localhost:8000"
_INVITE = """Make a personal link for somebody and print it. It is shown only this once.

\b
Examples:
  fewlabels invite audit.db ann
  fewlabels invite audit.db bob --owner
"""


@click.command(
    help=_INVITE,
    short_help="Make a personal link for somebody who labels in the browser.",
)
@click.argument("database")
@click.argument("name")
@click.option(
    "--owner", is_flag=True, help="Let them also see the results, decide, and invite; with --again, from now on."
)
@click.option("--again", is_flag=True, help="Make a new link; the old one is no longer valid.")
@click.option("--address", default=_ADDRESS, show_default=True, help="Where `fewlabels serve` can be reached.")
@click.option("--json", "as_json", is_flag=True, help="Print name, role, token and link as JSON.")
def invite(database: str, name: str, address: str, *, owner: bool, again: bool, as_json: bool) -> None:
    """See `_INVITE`."""
    from fewlabels.cli.common import emit_json, open_store
    from fewlabels.errors import InputError
    from fewlabels.store.people import People

    with open_store(database) as store:
        everybody = People(store)
        if not again and any(person.name == name and person.revoked_at is None for person in everybody.list()):
            raise InputError(f"{name!r} has already been invited. Add --again for a new link, or choose another name.")
        token = everybody.invite(name, "owner" if owner else None, again=again)
        role = next(person.role for person in everybody.list() if person.name == name)
    link = f"{address.rstrip('/')}/sign-in#{token}"
    if as_json:
        emit_json({"name": name, "role": role, "token": token, "link": link})
        return
    click.echo(harmless(f"fewlabels: the personal link of {name} ({role}), shown only this once:"), err=True)
    click.echo(link)


@click.command(short_help="Lock somebody out; their answers stay.")
@click.argument("database")
@click.argument("name")
def revoke(database: str, name: str) -> None:
    """Make somebody's personal link invalid at once. Their answers stay."""
    from fewlabels.cli.common import open_store
    from fewlabels.store.people import People

    with open_store(database) as store:
        People(store).revoke(name)
    click.echo(harmless(f"fewlabels: {name} is locked out. Their answers stay."), err=True)


@click.command(short_help="List who was invited.")
@click.argument("database")
@json_option
def people(database: str, *, as_json: bool) -> None:
    """List everybody who was invited, with role, date of invitation, and the date they were locked out."""
    from fewlabels.cli.common import emit, open_store
    from fewlabels.store.people import People
    from fewlabels.table import Table

    with open_store(database) as store:
        everybody = People(store).list()
    names = ("name", "role", "invited_at", "revoked_at")
    table = Table({name: [getattr(person, name) for person in everybody] for name in names})
    if not as_json:
        for name in names[2:]:
            table = table.with_column(name, [at and at.strftime("%Y-%m-%d %H:%M") for at in table[name]])
    emit(table, as_json)
