"""`fewlabels remove`: take out an assessment that was begun by mistake."""

from __future__ import annotations

import click

from fewlabels.cli.common import complete_names

_HELP = """Remove an assessment that was begun by mistake, as long as nobody was asked anything.

What people were asked or have answered is never removed. Once there are labels, begin another assessment of the same
file instead: the labels count there too.

\b
Example:
  fewlabels remove audit.db tickets
"""


@click.command(help=_HELP, short_help="Remove an assessment that was begun by mistake.")
@click.argument("address", metavar="DATABASE")
@click.argument("name", metavar="NAME", shell_complete=complete_names)
def remove(address: str, name: str) -> None:
    """See `_HELP`."""
    from contextlib import closing

    from fewlabels.cli.common import talk
    from fewlabels.store import Store

    with closing(Store(address, existing=True)) as store:
        store.remove(name)
    talk(f"{name!r} was removed. Nobody had been asked anything in it.")
