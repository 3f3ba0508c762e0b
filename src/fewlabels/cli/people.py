"""`fewlabels invite`, `revoke` and `people`: who may label in the browser."""

from __future__ import annotations

import json

import click

_ADDRESS = "http://localhost:8000"


@click.command(
    short_help="A personal link for somebody who labels in the browser.",
    epilog="\b\nExamples:\n  fewlabels invite audit.db ann\n  fewlabels invite audit.db bob --owner",
)
@click.argument("database")
@click.argument("name")
@click.option("--owner", is_flag=True, help="They also see the results, decide, and invite.")
@click.option("--again", is_flag=True, help="A new link instead of the old one, which is then not valid any more.")
@click.option("--address", default=_ADDRESS, show_default=True, help="Where `fewlabels serve` can be reached.")
@click.option("--json", "as_json", is_flag=True, help="Print name, role, token and link as JSON.")
def invite(database: str, name: str, address: str, *, owner: bool, again: bool, as_json: bool) -> None:
    """Make a personal link for somebody and print it: it is shown only this once."""
    from fewlabels.errors import InputError  # noqa: PLC0415
    from fewlabels.people import People  # noqa: PLC0415
    from fewlabels.store import Store  # noqa: PLC0415

    people = People(Store(database, existing=True))
    known = next((one for one in people.list() if one.name == name), None)
    role = known.role if known is not None and again else "owner" if owner else "annotator"
    if again:
        if known is None:
            raise InputError(f"there is nobody called {name!r} yet. Invite them without --again.")
        if known.revoked_at is None:
            people.revoke(name)
    token = people.invite(name, role)
    link = f"{address.rstrip('/')}/sign-in#{token}"
    if as_json:
        click.echo(json.dumps({"name": name, "role": role, "token": token, "link": link}))
        return
    click.echo(f"fewlabels: the personal link of {name} ({role}), shown only now:", err=True)
    click.echo(link)


@click.command(short_help="Lock somebody out; their answers stay.")
@click.argument("database")
@click.argument("name")
def revoke(database: str, name: str) -> None:
    """Make the personal link of somebody invalid, at once. Their answers stay."""
    from fewlabels.people import People  # noqa: PLC0415
    from fewlabels.store import Store  # noqa: PLC0415

    People(Store(database, existing=True)).revoke(name)
    click.echo(f"fewlabels: {name} is locked out. Their answers stay.", err=True)


@click.command(short_help="Who was invited.")
@click.argument("database")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def people(database: str, *, as_json: bool) -> None:
    """Everybody who was invited: name, role, when, and since when they are locked out."""
    from fewlabels.people import People  # noqa: PLC0415
    from fewlabels.store import Store  # noqa: PLC0415
    from fewlabels.table import Table  # noqa: PLC0415

    everybody = People(Store(database, existing=True)).list()
    names = ("name", "role", "invited_at", "revoked_at")
    table = Table({name: [getattr(one, name) for one in everybody] for name in names})
    if as_json:
        click.echo(json.dumps({"rows": list(table.rows())}, default=str))
    else:
        click.echo(table.text(most=len(table)))
