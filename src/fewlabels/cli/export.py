"""`fewlabels export`: labels, log, estimates or open requests as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fewlabels.cli.common import complete_names
from fewlabels.cli.output import output_options
from fewlabels.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fewlabels.assessment import Assessment
    from fewlabels.store import Store

TRACKERS = ("mlflow", "wandb")  # as in interop, which is slow to import
_HELP = """Write the contents of an assessment to a file, or to stdout.

\b
WHAT is one of
  labels      the id and label of every labelled item of the pool, whichever question asked for it (the default)
  log         everything that happened, in order: requests, labels, withdrawals, with time and annotator
  estimates   group, n, labelled, mean, low, high
  batch       the items that are pending, with an empty label, as `fewlabels ask` wrote them
  results     the main numbers by name, as trackers of experiments want them; --to sends them there
  disputed    the items that wait for your decision, with people's answers, for `fewlabels tell --decide`

\b
Examples:
  fewlabels export audit.db > labels.csv
  fewlabels export audit.db worst log -o log.parquet
  fewlabels export audit.db worst batch --excel -o batch.csv
  fewlabels export audit.db worst results --to mlflow     numbers, table and report; or --to wandb
"""


@click.command(help=_HELP, short_help="Write labels, log, estimates or open requests to a file.")
@click.argument("address", metavar="DATABASE")
@click.argument("words", nargs=-1, metavar="[NAME] [WHAT]", shell_complete=complete_names)
@click.option("--to", type=click.Choice(TRACKERS), help="Log the results to the active or a new run of a tracker.")
@click.option("--overwrite", is_flag=True, help="Overwrite a batch or disputed items that people may have filled in.")
@output_options
def export(
    address: str,
    words: Sequence[str],
    output: str | None,
    *,
    to: str | None,
    overwrite: bool,
    format_: str | None,
    excel: bool,
) -> None:
    """See `_HELP`."""
    from fewlabels.cli.common import name_and_rest, open_assessment, open_store, resolve, shown, talk
    from fewlabels.cli.output import check_output, write
    from fewlabels.errors import InputError
    from fewlabels.io.saving import check_new

    name, rest = name_and_rest(address, words)
    what = rest[-1] if rest else "labels"
    known = (*STORED, *EXPORTS)
    if len(rest) > 1 or what not in known:
        raise InputError(
            f"{' '.join(rest)!r} is neither an assessment of {shown(address)} nor one of {', '.join(known)}. "
            f"See: fewlabels list {shown(address)}"
        )
    if to is not None:
        _log(open_assessment(address, name), what, to)
        return
    style = check_output(output, format_)
    if what in TO_FILL_IN and output is not None and output != "-" and not overwrite:
        check_new(output, unless="add --overwrite")
    if what in STORED:
        with open_store(address) as store:
            columns = STORED[what](store, resolve(address, name))
    else:
        columns = EXPORTS[what](open_assessment(address, name))
    write(columns, output, style, excel=excel)
    if output not in (None, "-"):
        rows = len(next(iter(columns.values())))
        talk(f"{counted(rows, 'row')} written to {output}.")


def _log(audit: Assessment, what: str, to: str) -> None:
    """Log the results to a tracker of experiments."""
    from fewlabels.cli.common import talk
    from fewlabels.errors import InputError
    from fewlabels.interop.tracking import log_results

    if what != "results":
        raise InputError(
            "--to logs the results: write results before it, as in: fewlabels export audit.db results --to mlflow"
        )
    talk(f"The results of {audit.name!r} are in the run {log_results(audit, to)} of {to}.")


def _results(audit: Assessment) -> dict[str, list[Any]]:
    from fewlabels.interop.tracking import results

    numbers = results(audit).numbers
    return {"name": list(numbers), "value": list(numbers.values())}


def _labels(store: Store, name: str) -> dict[str, list[Any]]:
    labels = store.labels(name)
    return {"id": list(labels), "label": list(labels.values())}


def _events(store: Store, name: str) -> dict[str, list[Any]]:
    return {column: list(values) for column, values in store.log(name).columns.items()}


def _estimates(audit: Assessment) -> dict[str, list[Any]]:
    return {name: list(values) for name, values in audit.estimates().columns.items()}


def _batch(audit: Assessment) -> dict[str, list[Any]]:
    from fewlabels.cli.common import contents

    items = audit.pending()
    content = {"content": contents(audit, items)} if audit.pool.content else {}
    return {"id": items, **content, "label": [""] * len(items)}


def _disputed(audit: Assessment) -> dict[str, list[Any]]:
    items = audit.disputed()
    content = {"content": [item.content for item in items]} if audit.pool.content else {}
    votes = ["; ".join(f"{who}: {what}" for who, what in item.votes.items()) for item in items]
    skips = ["; ".join(f"{who}: {why}" for who, why in item.skips.items()) for item in items]
    return {"id": [item.id for item in items], **content, "label": [""] * len(items), "votes": votes, "skips": skips}


# Labels and log come from the database itself, so they can be exported even if a part of the assessment is missing.
STORED: dict[str, Callable[[Store, str], dict[str, list[Any]]]] = {"labels": _labels, "log": _events}
TO_FILL_IN = ("batch", "disputed")
EXPORTS: dict[str, Callable[[Assessment], dict[str, list[Any]]]] = {
    "estimates": _estimates,
    "batch": _batch,
    "results": _results,
    "disputed": _disputed,
}
