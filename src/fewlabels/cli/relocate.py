"""`fewlabels relocate`: say where a table of predictions is after it has moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fewlabels.cli.common import complete_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fewlabels.assessment import Assessment
    from fewlabels.pool import Pool
    from fewlabels.store import Store

_HELP = """Say where the table of an assessment is now, after it has moved.

It is for predictions that stay where they are: patterns, folders, databases. PLACE is what `fewlabels new` would be
given now. It must be the same table: its counts and sums are compared with those at the beginning. All assessments that
were begun from the table at its old place find it there from then on; a server that is running has to be started again.
NAME can be left out if the database has only one assessment.

\b
Examples:
  fewlabels relocate audit.db '/data/new/place/*.parquet'
  fewlabels relocate audit.db worst postgresql://me@other/ml --table ml.predictions
"""


@click.command(help=_HELP, short_help="Say where a table of predictions is now.")
@click.argument("address", metavar="DATABASE")
@click.argument("words", nargs=-1, required=True, metavar="[NAME] PLACE", shell_complete=complete_names)
@click.option("--table", metavar="NAME", help="The table or view, if PLACE is a database.")
def relocate(address: str, words: Sequence[str], *, table: str | None) -> None:
    """See `_HELP`."""
    from contextlib import closing

    from fewlabels.beginning import load
    from fewlabels.cli.common import name_and_rest, talk
    from fewlabels.cli.tables import watched
    from fewlabels.engines.opening import open_table
    from fewlabels.errors import FewlabelsError, InputError
    from fewlabels.io.tables import moved_to
    from fewlabels.store import Store

    name, rest = name_and_rest(address, words)
    if len(rest) != 1:
        raise InputError("one place is needed: a file, a pattern in quotes, a folder or an address.")
    with closing(Store(address, existing=True)) as store:
        audit = load(store, name)
        if audit.whole.reserve is None:
            raise InputError(f"the predictions of {audit.name!r} are in the database itself: nothing has to be moved.")
        with open_table(rest[0], table=table) as opened:
            for pool, names in _of_table(store, audit):
                try:
                    with watched(opened):
                        moved = moved_to(pool, opened)
                except FewlabelsError as error:  # the table has changed, or lacks a column that another needs
                    if audit.name in names:
                        raise
                    talk(f"{' and '.join(names)} was not moved: {error}")
                    continue
                store.grow_pool(pool.fingerprint, moved)
                for moving in names:
                    talk(f"{moving!r} finds its predictions in {opened.name} from now on. They are the same as before.")


def _of_table(store: Store, audit: Assessment) -> Iterator[tuple[Pool, list[str]]]:
    """The pools that were read from the table of an assessment, its own first, and the assessments of each.

    Other groups or columns make another pool of the same table.
    """
    own = audit.whole
    assert own.reserve is not None
    names: dict[str, list[str]] = {own.fingerprint: []}
    for name in store.names():
        names.setdefault(store.open(name).fingerprint, []).append(name)
    yield own, names.pop(own.fingerprint)
    for fingerprint, of_it in names.items():
        pool = store.pool(fingerprint)
        if pool.reserve is not None and pool.reserve.table["table"] == own.reserve.table["table"]:
            yield pool, of_it
