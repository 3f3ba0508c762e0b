"""`fewlabels simulate`: find the method that needs the fewest labels."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fewlabels.cli.common import emit, json_option, progress, talk
from fewlabels.cli.predictions import pool_options
from fewlabels.cli.question import question_options
from fewlabels.cli.sections import SectionedCommand
from fewlabels.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Executor

    from fewlabels.cli.common import Bar
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.simulation.truth import Truth
    from fewlabels.table import Table

# A plain random sample and the steps of the paper; then the defaults of `fewlabels new`.
_METHODS = "uniform+items,informed+items,informed+thompson"
_WITHOUT_SCORES = "uniform+items,uniform+thompson"
_FIRST = "; compiling takes some seconds the first time"
_LEGEND = """mean ± se over {runs:,} runs; q10, q50, q90: quantiles over runs. best: the best method, and those not
significantly different from it (p >= 0.05 in Wilcoxon's test). {scores}"""
_SCORES = {
    "rmse": "rmse: error of the estimates, lower is better.",
    "ece-error": "ece-error: relative error of the calibration error in percent, lower is better.",
    "overall-error": "overall-error: error of the average over the pool, lower is better.",
    "coverage": "coverage: percent of the 95% intervals, of groups or of a difference, that contain the true value.",
    "overall-coverage": "overall-coverage: percent of runs in which the interval of the average does.",
    "mrr": "mrr: 1 when the groups looked for are ranked first.",
    "labels-to-identify": "labels-to-identify: labels until they are found, - if the runs ended before that.",
    "success": "success: share of runs with the right answer.",
    "right": "right: share of runs with the right answer.",
    "labels-to-decide": "labels-to-decide: labels until the right answer.",
    "best": "best: percent of runs in which no model is better than the one chosen.",
    "regret": "regret: points by which the chosen model is behind the best.",
    "error": "error: points between the estimated difference and the true one.",
    "sd": "sd: the standard deviation of the difference that the method states, in points.",
    "sure": "sure: percent of runs that have been 95% sure by now.",
    "sure-right": "sure-right: percent of these that were right when they became sure.",
}
_ITEMS = "Several models: use this many items, drawn at random, in each run.  [default: all]"
_SAMPLED = 100_000  # items of a table that stays where it is, if --sample does not say how many
_PICTURES = (".png", ".svg", ".pdf")

_HELP = """Try methods on a pool whose labels are all known.

FILE has the predictions and, unless --labels names another place, the labels: .npz, .csv, .parquet and so on. From a
table that stays where it is, such as 'predictions/*.parquet', 100,000 random items are read (or --sample N). In each
run, a method starts without labels, asks as it would in real life, and is scored at each budget. The scores are, for
--task estimate, the error of the groups (rmse) and of the average over the pool (overall-error), and how often the 95%
intervals of both contain the true value (coverage, overall-coverage), all in percent; for identify, the mean reciprocal
rank (mrr) of the groups looked for and the labels it takes to identify them; for compare, the share of runs with the
right answer (success) and the labels it takes to decide.

\b
A method is PRIOR+POLICY, or PRIOR+POLICY+pool if the question is about exactly these items:
  prior   uniform, informed (both with a strength if wanted, as in informed:10), learned
  policy  items, groups (at random); thompson, toptwo, boundary, greedy, epsilon, ucb
`fewlabels new` uses learned+boundary to find groups by their accuracy, and otherwise learned+thompson. The learned
prior takes a few hundred times longer than the others, minutes rather than seconds: try --runs 100 first, or leave it
out with --methods.

For several models (--task best, or --compare-models A,B) the methods are learned+default, learned+POLICY, random,
disagreements (at random where models differ) and selector (Model Selector's rule). The scores are the percent of runs
in which the chosen model is the best of the pool (best) and the points it is behind (regret); or the error of the
difference in points, and the percent of intervals that contain it (coverage).

\b
Examples:
  fewlabels simulate predictions.npz --budgets 200,500,1000
  fewlabels simulate predictions.csv --labels truth.csv --lowest 10 --methods informed+items,informed+thompson
  fewlabels simulate predictions.npz --groups column:sex --compare female,male --budgets 5%,10%,50%
  fewlabels simulate predictions.npz --certify 'accuracy >= 0.8' --methods learned+thompson,learned+groups --runs 20
  fewlabels simulate predictions.npz --groups score:10 --runs 200 --json > bins.json
  fewlabels simulate models.npz --task best --items 1000 --budgets 50,100,200 --runs 100
  fewlabels simulate old.npz new.npz --compare-models new,old --budgets 50,100,200 --runs 100
"""


@click.command(
    cls=SectionedCommand,
    help=_HELP,
    short_help="Find the method that needs the fewest labels, on a pool with known labels.",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@click.option("--labels", metavar="NAME|FILE", help="Column or key of the (first) FILE, or a file with id and label.")
@pool_options
@question_options
@click.option(
    "--methods", metavar="LIST", help=f"Methods to compare, with commas.  [default: {_METHODS},learned+default]"
)
@click.option(
    "--budgets",
    default="1%,2%,5%,10%",
    metavar="LIST",
    show_default=True,
    help="Numbers of labels, or percentages of the pool.",
)
@click.option("--runs", default=1000, type=click.IntRange(1), show_default=True, help="Runs of each method.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Runs at the same time.  [default: all processors]")
@click.option(
    "--seed", default=0, type=click.IntRange(0), show_default=True, help="Another seed asks about other items."
)
@click.option("--items", type=click.IntRange(2), metavar="N", help=_ITEMS)
@json_option
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="PICTURE",
    help=f"Draw the scores: {', '.join(_PICTURES)}.",
)
@click.option("--dask", metavar="ADDRESS", help="Work on a Dask cluster, such as tcp://host:8786.")
def simulate(files: Sequence[str], plot: Path | None, *, as_json: bool, **options: Any) -> None:
    """See `_HELP`."""
    _check_picture(plot)
    table = _simulated(files, options)
    if plot is not None:
        from fewlabels.plots import display
        from fewlabels.plots.curve import Curve

        display(Curve.of_simulation(table)).save(plot)
    emit(table, as_json)
    if not as_json:
        scores = " ".join(_SCORES[score] for score in dict.fromkeys(table["score"]))
        talk(_LEGEND.format(runs=options["runs"], scores=scores))


def _simulated(files: Sequence[str], options: dict[str, Any]) -> Table:
    """Read the pool, simulate, and return the table."""
    from fewlabels.cli.predictions import asked_options
    from fewlabels.errors import SpecError
    from fewlabels.simulation.kernels.jit import need_compiler
    from fewlabels.simulation.methods import methods_from
    from fewlabels.simulation.study import simulate as run
    from fewlabels.simulation.truth import truth
    from fewlabels.understanding.question import asked_about, question

    need_compiler()
    pool, labels = _read(files, options)
    asked = asked_options(options)
    pool = asked_about(asked, pool)
    groups, task = question(asked, pool)
    _say_extra(pool, labels)
    if task.of_models:
        return _of_models(pool, labels, groups, task, options)
    if options["items"] is not None:
        raise SpecError("--items is for several models, whose runs use items drawn at random. Leave it out.")
    methods = methods_from(options["methods"] or _default_methods(pool), task)
    case = truth(pool, labels, groups, task, methods)
    with _executor(options, case, methods) as executor, progress("simulating") as bar:
        return run(
            pool,
            labels,
            groups,
            task=task,
            methods=methods,
            budgets=[budget for budget in options["budgets"].split(",") if budget.strip()],
            runs=options["runs"],
            jobs=options["jobs"],
            seed=options["seed"],
            executor=executor,
            progress=_by_method(bar, [method.name for method in methods], options["runs"]),
        )


def _read(files: Sequence[str], options: dict[str, Any]) -> tuple[Pool, Any]:
    """The pool, and the labels of its items; of a table that stays where it is, a sample is read into memory."""
    from fewlabels.cli.parsing import labels_from
    from fewlabels.cli.predictions import opened, read_options, read_predictions, stays_put
    from fewlabels.cli.tables import drawn
    from fewlabels.understanding.predictions import group_columns

    reading = read_options(options)
    if any(stays_put(file, reading) for file in files):
        reading = replace(reading, sample=reading.sample or _SAMPLED)
    sources = drawn(files, reading) if reading.sample else [opened(files[0], any_size=reading.any_size)]
    if reading.sample:
        talk(sources[0].told)
    columns = group_columns(reading, sources[0])
    given = sources[0] if len(files) == 1 else sources if reading.sample else files
    pool, _ = read_predictions(given, replace(reading, sample=None), content=[], columns=columns)
    return pool, labels_from(options["labels"], sources[0])


def _of_models(pool: Pool, labels: Any, groups: Partition, task: Any, options: dict[str, Any]) -> Table:
    """Simulate a question about several models, in processes of their own."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from fewlabels.simulation.contest import simulate_models
    from fewlabels.simulation.contest_baselines import BASELINES
    from fewlabels.simulation.parallel import processors
    from fewlabels.tasks import CompareModels

    plain = BASELINES[:2] if isinstance(task, CompareModels) else BASELINES
    methods = [method.strip() for method in (options["methods"] or ",".join(("learned+default", *plain))).split(",")]
    jobs = options["jobs"] or processors()
    settings: dict[str, Any] = {
        "task": task,
        "methods": methods,
        "budgets": [budget for budget in options["budgets"].split(",") if budget.strip()],
        "items": options["items"],
        "runs": options["runs"],
        "seed": options["seed"],
    }
    with contextlib.ExitStack() as stack, progress("simulating") as bar:
        executor: Executor | None = None
        if options["dask"] is not None:
            executor = stack.enter_context(_dask(options["dask"]))
        elif jobs > 1:
            executor = stack.enter_context(ProcessPoolExecutor(jobs, mp_context=get_context("spawn")))
        told = _by_method(bar, methods, options["runs"])
        return simulate_models(pool, labels, groups, **settings, jobs=1, executor=executor, progress=told)


def _default_methods(pool: Pool) -> str:
    return f"{_METHODS if pool.confidence is not None else _WITHOUT_SCORES},learned+default"


def _say_extra(pool: Pool, labels: Mapping[str, str] | Sequence[object]) -> None:
    """Say which labels are not used, because their items are not in the pool."""
    if not isinstance(labels, Mapping):
        return
    known = set(pool.ids)
    extra = [item for item in labels if item not in known]
    if extra:
        talk(f"{counted(len(extra), 'label')} not used: the predictions have no such item. The first is {extra[0]!r}.")


def _by_method(bar: Bar, names: Sequence[str], runs: int) -> Callable[[int, int], None]:
    """Return a progress function that says which method begins, and passes on how much is done."""
    from fewlabels.simulation.parallel import chunks

    pieces, begun = len(chunks(runs)), -1

    def told(done: int, total: int) -> None:
        nonlocal begun
        if done // pieces > begun and done < total:
            begun = done // pieces
            bar.say(f"simulating {names[begun]} ({begun + 1} of {len(names)}){'' if begun else _FIRST}")
        bar(done, total)

    return told


@contextlib.contextmanager
def _executor(options: dict[str, Any], case: Truth, methods: Any) -> Iterator[Executor | None]:
    """Yield Dask's executor, or processes if a method has no kernel (threads would wait for Python's lock), or None."""
    from fewlabels.simulation.order import is_compiled
    from fewlabels.simulation.parallel import processors

    jobs = options["jobs"] or processors()
    if options["dask"] is not None:
        with _dask(options["dask"]) as executor:
            yield executor
    elif jobs > 1 and not all(is_compiled(case, method) for method in methods):
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as processes:
            yield processes
    else:
        yield None


@contextlib.contextmanager
def _dask(address: str) -> Iterator[Executor]:
    from fewlabels.errors import FewlabelsError, InputError, needs

    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise FewlabelsError(needs("--dask", "dask", "dask")) from None
    try:
        client: Any = Client(address, timeout="10s", set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InputError(f"--dask {address}: no Dask scheduler answers there ({error}). Check the address.") from None
    with client:
        yield client.get_executor()


def _check_picture(path: Path | None) -> None:
    """Refuse, before the work begins, a picture that cannot be written."""
    from fewlabels.errors import InputError
    from fewlabels.plots.drawing.display import check_drawing

    if path is None:
        return
    if path.suffix.lower() not in _PICTURES:
        raise InputError(f"--plot {path}: the name of a picture must end in {', '.join(_PICTURES)}.")
    if not path.absolute().parent.is_dir():
        raise InputError(f"--plot {path}: there is no directory {path.parent}. Make it first.")
    if path.suffix.lower() != ".svg":
        check_drawing()
