"""`fewlabels plan`: estimate what labels will achieve, before any are bought."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fewlabels.cli.common import json_option
from fewlabels.cli.predictions import pool_options
from fewlabels.cli.question import question_options, stop_options
from fewlabels.cli.sections import SectionedCommand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.planning import Plan
    from fewlabels.table import Table
    from fewlabels.tasks import Task

_HELP = """Estimate how many labels you will need, before you buy any.

FILE has the predictions, as for `fewlabels new` (several files for several models), and needs no labels. The assessment
is played in many simulated worlds. In each of them the classifier is about as good as its confidences suggest. The
table shows what each number of labels achieves on average, and the recommended budget is enough in four worlds out of
five.

The columns are explained below the table.

\b
Examples:
  fewlabels plan predictions.csv
  fewlabels plan predictions.csv --lowest 3 --stop-probability 0.9 --budgets 100,300,1000
  fewlabels plan answers.csv --predicted answer --expect 0.9 --stop-overall 0.05
"""
_COLUMNS = {
    "overall": "overall: width of the 95% interval of the average over the pool",
    "held": "held: how often it contained the true value",
    "width": "width, widest: width of the groups' intervals, on average and at most",
    "rmse": "rmse: typical error of an estimate",
    "probability": "probability: how sure the answer is",
    "right": "right: how often the answer is right",
    "verdict": "verdict: share of worlds in which there is one, pass or fail",
    "found": "found: share of the groups looked for that are named",
    "reached": "reached: share of worlds in which the stopping rules were met by then",
}
_WIDTHS = ("overall", "width", "widest", "rmse")
_PRIOR = "uniform, informed, learned; with a strength: informed:10."
_POLICY = (
    "thompson, toptwo, boundary, greedy, epsilon, ucb, neyman; items, groups (at random).  [default: boundary to find "
    "groups by their accuracy and neyman for one number over all items with the learned prior, else thompson]"
)
_TARGET = "Judge the classifier on items like these (population), or on exactly these (pool)."
_EXPECT = "The accuracy that you expect over the pool, if you have a rough idea."
_RIGHT = "How often labels are right, if you know it. It implies --noisy."
_WORLDS = "Prior of the simulated worlds.  [default: learned]"


@click.command(
    cls=SectionedCommand, help=_HELP, short_help="Estimate how many labels you will need, before you buy any."
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@pool_options
@question_options
@click.option("--prior", default="learned", metavar="NAME", show_default=True, help=_PRIOR)
@click.option("--policy", metavar="NAME", help=_POLICY)
@click.option(
    "--target", type=click.Choice(["population", "pool"]), default="population", show_default=True, help=_TARGET
)
@stop_options
@click.option(
    "--budgets", default="50,100,200,500", metavar="LIST", show_default=True, help="Numbers of labels to try."
)
@click.option("--expect", type=click.FloatRange(0, 1, min_open=True, max_open=True), metavar="A", help=_EXPECT)
@click.option("--noisy", is_flag=True, help="Labels may be wrong: assume that one in twenty is.")
@click.option("--labels-right", type=click.FloatRange(0.5, 1, min_open=True, max_open=True), metavar="P", help=_RIGHT)
@click.option("--worlds", metavar="NAME", help=_WORLDS)
@click.option(
    "--runs", type=click.IntRange(1), metavar="N", help="Number of worlds.  [default: as many as take some seconds]"
)
@click.option("--seed", default=0, type=click.IntRange(0), show_default=True, help="Another seed makes other worlds.")
@json_option
def plan(files: Sequence[str], *, as_json: bool, **options: Any) -> None:
    """See `_HELP`."""
    from fewlabels.cli.common import emit, emit_json, talk
    from fewlabels.planning.words import EXPECT

    made, task = _planned(files, options)
    if as_json:
        emit_json(made.to_json())
        return
    talk(f"{made.advised('add --target pool').replace(EXPECT, '--expect 0.9')}\n")
    emit(_readable(made.table, task), as_json=False)
    talk("\n" + "\n".join(words for name, words in _COLUMNS.items() if name in made.table.columns))


def _readable(table: Table, task: Task) -> Table:
    """Write shares in percent, and widths and errors in points."""
    from fewlabels.wording import percent, plain

    def width(value: float) -> str:
        return f"{100 * value:.1f} points" if task.metric.in_percent else plain(value)

    for name, values in table.columns.items():
        if name != "labels":
            write = width if name in _WIDTHS else percent
            table = table.with_column(name, [write(value) for value in values])
    return table


def _planned(files: Sequence[str], options: dict[str, Any]) -> tuple[Plan, Task]:
    """Read the predictions, and play the plan of the question about them."""
    from fewlabels.cli.common import progress
    from fewlabels.cli.predictions import asked_options, read_options, read_predictions
    from fewlabels.planning import plan as play
    from fewlabels.understanding.question import asked_about, question, stop_rule

    pool, _ = read_predictions(files, read_options(options), content=[], to_ask=False)
    asked = asked_options(options)
    pool = asked_about(asked, pool)
    groups, task = question(asked, pool)
    with progress("playing") as bar:
        made = play(
            pool,
            groups,
            task=task,
            prior=options["prior"],
            policy=options["policy"],
            target=options["target"],
            stop=stop_rule(asked),
            budgets=_budgets(options["budgets"]),
            expect=options["expect"],
            worlds=options["worlds"],
            runs=options["runs"],
            seed=options["seed"],
            noisy=options["noisy"],
            labels_right=options["labels_right"],
            progress=bar,
        )
    return made, task


def _budgets(text: str) -> list[int]:
    from fewlabels.checks import is_count
    from fewlabels.errors import InputError

    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(map(is_count, parts)):
        raise InputError(
            f"--budgets {text!r} is not a list of label counts. Write numbers with commas, such as 100,300."
        )
    return [int(part) for part in parts]
