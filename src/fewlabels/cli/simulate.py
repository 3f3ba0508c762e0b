"""`fewlabels simulate`: which method needs the fewest labels."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Executor

    from fewlabels.pool import Pool
    from fewlabels.simulation.truth import Truth
    from fewlabels.table import Table

_METHODS = "uniform+items,informed+items,informed+thompson"
_GROUPS = (
    "predicted, score:BINS (equal width), weight:BINS, column:NAME, map:FILE, whole; several with commas: crossed."
)
_METRICS = "accuracy, calibration, confusion, cost:FILE, f1, precision, recall, fpr."
_PICTURES = (".png", ".svg", ".pdf")

_HELP = """Try methods on a pool whose labels are all known.

FILE has the predictions and, unless --labels names another place, the labels: .npz, .csv, .parquet and so on.
Each method starts without labels, asks as it would in real life, and is scored when its labels
reach each budget; and that many times over. Scores: for --task estimate the error (rmse, in percent), for identify
the mean reciprocal rank (mrr) of the groups looked for and the labels it takes to identify them, for
compare the share of runs with the right answer (success) and the labels it takes to decide.

\b
A method is PRIOR+POLICY, or PRIOR+POLICY+pool if the question is about exactly these items:
  prior   uniform, informed (both with a strength if wanted, as in informed:10), learned
  policy  items, groups (at random); thompson, toptwo, greedy, epsilon, ucb

\b
Examples:
  fewlabels simulate predictions.npz --budgets 200,500,1000
  fewlabels simulate predictions.csv --labels truth.csv --lowest 10 --methods informed+items,informed+thompson
  fewlabels simulate predictions.npz --groups column:sex --compare female,male --budgets 5%,10%,50%
  fewlabels simulate predictions.npz --groups score:10 --runs 200 --json > bins.json
"""


@click.command(help=_HELP, short_help="Which method needs the fewest labels, on a pool whose labels are known.")
@click.argument("file", type=click.Path())
@click.option("--labels", metavar="NAME|FILE", help="Column or key of FILE, or a file with id and label.")
@click.option("--id", "id_", metavar="NAME", help="Column of ids.  [default: id]")
@click.option("--scores", metavar="NAME", help="Score columns, such as 'p_*', or a column of vectors.")
@click.option("--predicted", metavar="NAME", help="Column of predicted classes.")
@click.option("--confidence", metavar="NAME", help="Column of confidences.")
@click.option("--groups", default="predicted", metavar="HOW", show_default=True, help=_GROUPS)
@click.option("--task", type=click.Choice(["estimate", "identify", "compare"]), help="[default: as the others say]")
@click.option("--metric", default="accuracy", metavar="NAME", show_default=True, help=_METRICS)
@click.option("--lowest", type=click.IntRange(1), metavar="M", help="Identify the M groups with the lowest metric.")
@click.option("--highest", type=click.IntRange(1), metavar="M", help="Identify the M groups with the highest metric.")
@click.option("--compare", metavar="A,B", help="Compare two groups.")
@click.option("--rope", type=float, metavar="X", help="Differences up to this are none.  [default: 0.05]")
@click.option("--by", type=click.Choice(["neyman", "information", "confidence"]), help="What comparing asks by.")
@click.option("--methods", metavar="LIST", help=f"[default: {_METHODS}]")
@click.option("--budgets", default="1%,2%,5%,10%", metavar="LIST", show_default=True, help="Numbers, or percentages.")
@click.option("--runs", default=1000, type=click.IntRange(1), show_default=True)
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Work in parallel.  [default: all processors]")
@click.option("--seed", default=0, type=click.IntRange(0), show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), metavar="PICTURE", help=", ".join(_PICTURES))
@click.option("--dask", metavar="ADDRESS", help="Work on a Dask cluster, such as tcp://host:8786.")
def simulate(file: str, plot: Path | None, *, as_json: bool, **options: Any) -> None:  # noqa: ANN401
    """See `_HELP`."""
    _check_picture(plot)
    table = _simulated(file, options)
    if plot is not None:
        from fewlabels.simulation.plot import draw  # noqa: PLC0415

        draw(table).savefig(plot)
    if as_json:
        click.echo(json.dumps({"rows": list(table.rows()), "settings": dict(table.settings)}, allow_nan=False))
    else:
        click.echo(table.text(most=len(table)))


def _simulated(file: str, options: dict[str, Any]) -> Table:
    """Read, simulate, and the table."""
    from fewlabels.cli import words  # noqa: PLC0415
    from fewlabels.io import read_pool  # noqa: PLC0415
    from fewlabels.simulation.methods import methods_from  # noqa: PLC0415
    from fewlabels.simulation.study import simulate as run  # noqa: PLC0415
    from fewlabels.simulation.truth import truth  # noqa: PLC0415

    pool = read_pool(
        file,
        id=options["id_"],
        scores=options["scores"],
        predicted=options["predicted"],
        confidence=options["confidence"],
        columns=words.columns_of(options["groups"]),
    )
    labels = words.labels_from(options["labels"], file)
    groups = words.groups_from(options["groups"], pool)
    metric = words.metric_from(options["metric"], pool)
    chosen = {name: options[name] for name in ("lowest", "highest", "compare", "rope", "by")}
    task = words.task_from(options["task"], metric, groups, **chosen)
    methods = methods_from(options["methods"] or _default_methods(pool))
    case = truth(pool, labels, groups, task, methods)
    with _executor(options, case, methods) as executor, _progress() as progress:
        return run(
            pool,
            labels,
            groups,
            task=task,
            methods=methods,
            budgets=[one for one in options["budgets"].split(",") if one.strip()],
            runs=options["runs"],
            jobs=options["jobs"],
            seed=options["seed"],
            executor=executor,
            progress=progress,
        )


def _default_methods(pool: Pool) -> str:
    return _METHODS if pool.confidence is not None else "uniform+items,uniform+thompson"


@contextlib.contextmanager
def _executor(options: dict[str, Any], case: Truth, methods: Any) -> Iterator[Executor | None]:  # noqa: ANN401
    """Dask's, or processes where a method has no kernel (Python's lock would keep threads waiting), or none."""
    from fewlabels.simulation.order import is_compiled  # noqa: PLC0415
    from fewlabels.simulation.parallel import processors  # noqa: PLC0415

    jobs = options["jobs"] or processors()
    if options["dask"] is not None:
        with _dask(options["dask"]) as executor:
            yield executor
    elif jobs > 1 and not all(is_compiled(case, one) for one in methods):
        from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415
        from multiprocessing import get_context  # noqa: PLC0415

        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as processes:
            yield processes
    else:
        yield None


@contextlib.contextmanager
def _dask(address: str) -> Iterator[Executor]:
    from fewlabels.errors import FewlabelsError, InputError  # noqa: PLC0415

    try:
        from distributed import Client  # noqa: PLC0415
    except ModuleNotFoundError:
        raise FewlabelsError("--dask needs dask, which is not installed. Run: pip install 'fewlabels[dask]'") from None
    try:
        client: Any = Client(address, timeout="10s", set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InputError(f"--dask {address}: no Dask scheduler answers there ({error}). Check the address.") from None
    with client:
        yield client.get_executor()


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    """A bar on stderr if somebody is looking."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("simulating")
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _check_picture(path: Path | None) -> None:
    """Say before the work begins, not after it, that a picture cannot be written."""
    from importlib.util import find_spec  # noqa: PLC0415

    from fewlabels.errors import FewlabelsError, InputError  # noqa: PLC0415

    if path is None:
        return
    if path.suffix.lower() not in _PICTURES:
        raise InputError(f"--plot {path}: a picture ends in {', '.join(_PICTURES)}.")
    if not path.absolute().parent.is_dir():
        raise InputError(f"--plot {path}: there is no directory {path.parent}. Make it first.")
    if find_spec("matplotlib") is None:
        raise FewlabelsError("--plot needs matplotlib, which is not installed. Run: pip install 'fewlabels[plots]'")
