"""`fewlabels paper`: reproduce the paper's tables and figures."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fewlabels.cli.common import emit_json, json_option, progress, talk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.paper.plan import PaperPlan, Result

_TABLES = ("accuracy", "confusion", "ece", "bins", "least-accurate", "least-calibrated", "comparison", "cost")
_DRAWN = "figures"
_EVERYTHING = "all"

_HELP = """Reproduce the tables and figures of the paper, and print our numbers beside the published ones.

NAME is accuracy, confusion, ece, bins, least-accurate, least-calibrated, comparison or cost (a table each), figures, or
all. The data are not part of fewlabels: --data names the folder with cifar100.npz, imagenet.npz, svhn.npz,
newsgroups.npz, dbpedia.npz and cifar100_wrn.npz.

Without --as-published the program does what the paper's text says. With it, the program does what the authors' code did
where that differs, so that the published numbers can be checked. Footnotes say where those cannot be right.

\b
Examples:
  fewlabels paper accuracy --data DIR --runs 100 --datasets cifar100,svhn
  fewlabels paper accuracy --data DIR --as-published --json > accuracy.json
  fewlabels paper all --data DIR --out results
"""


@click.command(help=_HELP, short_help="Reproduce the tables and figures of the paper, beside its published numbers.")
@click.argument("name", type=click.Choice([*_TABLES, _DRAWN, _EVERYTHING]), metavar="NAME")
@click.option(
    "--data", required=True, type=click.Path(path_type=Path), metavar="DIR", help="The folder with the pools."
)
@click.option(
    "--runs", default=1000, type=click.IntRange(1), show_default=True, help="Runs of each method on each pool."
)
@click.option(
    "--all-runs", is_flag=True, help="Do all runs even where one takes long (on ImageNet: least-calibrated, figures)."
)
@click.option("--datasets", metavar="LIST", help="Such as cifar100,svhn.  [default: all]")
@click.option("--as-published", is_flag=True, help="Do what the authors' code did, not what the text says.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Threads.  [default: all processors]")
@click.option("--seed", default=0, type=click.IntRange(0), show_default=True)
@json_option
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Write CSV and plots there."
)
def paper(name: str, data: Path, out: Path | None, *, as_json: bool, datasets: str | None, **options: Any) -> None:
    """See `_HELP`."""
    from fewlabels.errors import InputError
    from fewlabels.paper.plan import PaperPlan
    from fewlabels.simulation.kernels.jit import need_compiler

    need_compiler()
    if not data.is_dir():
        raise InputError(f"--data {data} is not a folder. Name the folder with the pools, such as cifar100.npz.")
    if out is None and name == _DRAWN:
        raise InputError("figures are files: use --out DIR to say where to write them.")
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    chosen = tuple(part for part in datasets.split(",") if part.strip()) if datasets else None
    began = time.monotonic()
    with progress("starting") as bar:
        plan = PaperPlan(data, datasets=chosen, say=bar.say, progress=bar, **options)
        results = _tables(plan, _TABLES if name == _EVERYTHING else [name] if name in _TABLES else [], out)
        drawn = _figures(plan, out) if out is not None and name in (_DRAWN, _EVERYTHING) else []
    took = time.monotonic() - began
    _print(results, drawn, took, as_json=as_json)


def _tables(plan: PaperPlan, names: Sequence[str], out: Path | None) -> list[Result]:
    """Run tables and write each as soon as it is done; if there are several, skip those whose data sets are missing."""
    from fewlabels.paper.plan import NoPoolError
    from fewlabels.paper.tables import TABLES, write_csv

    results = []
    for name in names:
        try:
            result = TABLES[name](plan)
        except NoPoolError:
            if len(names) == 1:
                raise
            continue
        if out is not None:
            write_csv(result, out / f"{name}{'-as-published' * plan.as_published}.csv")
        results.append(result)
    return results


def _figures(plan: PaperPlan, out: Path) -> list[str]:
    from fewlabels.paper.figures import draw_all

    return [str(path) for path in draw_all(plan, out)]


def _print(results: Sequence[Result], drawn: Sequence[str], took: float, *, as_json: bool) -> None:
    from fewlabels.paper.tables import side_by_side

    if as_json:
        rows = [{"table": result.name} | row for result in results for row in result.rows]
        notes = {result.name: list(result.footnotes) for result in results}
        settings = dict(results[0].settings) if results else {}
        emit_json({"rows": rows, "settings": settings, "footnotes": notes, "figures": list(drawn)})
        return
    for result in results:
        click.echo(f"{result.name}: ours ± standard error [the paper's]\n{side_by_side(result.rows)}")
        for number, note in enumerate(result.footnotes, 1):
            click.echo(f"  {number}. {note}")
        click.echo()
    for path in drawn:
        click.echo(path)
    talk(f"fewlabels: {took:,.0f} s")
