"""`fewlabels demo`: find a real classifier's worst class from few labels, and measure what that saved."""

from __future__ import annotations

import contextlib
import statistics
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from fewlabels import wording

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rich.table import Table

    from fewlabels.assessment import Assessment
    from fewlabels.data import Pictures
    from fewlabels.policies import Policy
    from fewlabels.pool import Pool
    from fewlabels.tasks import Answer

    Watch = Callable[[int, Answer], None]

# The question (one class) was picked after trying others: see data/README.md. Everything else is as in `fewlabels new`.
SURE = 0.95  # stop when the answer is right with this probability
BUDGET = 1_200  # or after this many labels
BATCH = 10  # labels between two looks at the answer
DRAWS = 1_000
_SEED = 2025  # a run of about the usual length

_HELP = """Show what fewlabels does on built-in data, in under a minute.

A small network has sorted 3,971 pictures of clothes into ten classes. Which class does it get wrong most often? The
demo asks for labels where they help most, until it is sure. Then it measures how many labels a random sample would have
needed to be as sure, and writes a report. The true classes are known here, and stand in for the person who labels.

\b
Examples:
  fewlabels demo
  fewlabels demo -o /somewhere/report.html --keep demo.db
"""


@dataclass(frozen=True)
class Run:
    """One whole assessment: its labels, the class it named, and whether it became sure within the budget."""

    labels: int
    named: str
    sure: bool


@click.command(help=_HELP, short_help="The whole loop on built-in data, in under a minute.")
@click.option(
    "-o", "--output", default="demo-report.html", show_default=True, metavar="FILE", help="Where to write the report."
)
@click.option("--keep", metavar="DATABASE", help="Keep the assessment in this file, for show, plot and serve.")
@click.option("--runs", default=9, type=click.IntRange(1), show_default=True, help="Runs to measure the saving.")
@click.option(
    "--seed", default=_SEED, type=click.IntRange(0), show_default=True, help="Another seed asks about other items."
)
def demo(output: str, *, keep: str | None, runs: int, seed: int) -> None:
    """See `_HELP`."""
    from fewlabels.cli.common import program, progress
    from fewlabels.data import load_fashion
    from fewlabels.io import read_pool
    from fewlabels.policies import UniformItems
    from fewlabels.report import format_of, read, write

    format_of(output)  # refuse a wrong name before the work, not after it
    fashion = load_fashion()
    truth = dict(zip(fashion.ids, fashion.labels, strict=True))
    columns = {"id": fashion.ids, "scores": fashion.scores}
    pool = read_pool({**columns, "picture": fashion.addresses()}, content="picture", classes=fashion.classes)
    for line in intro(fashion):
        click.echo(line)

    audit = begin(keep, pool, None, seed)
    with contextlib.closing(audit):
        with watched() as watch:
            first = label(audit, truth, watch)
        answer, accuracy = audit.answer(), true_accuracy(pool, fashion.labels)
        for line in ["", *result(answer, first), *check(answer, accuracy)]:
            click.echo(line)

        lean = read_pool(columns, classes=fashion.classes)  # without the pictures, which are not shown here
        ways: tuple[tuple[list[Run], Policy | None, int], ...] = (([first], None, 1), ([], UniformItems(), 0))
        with progress("measuring what that saved") as bar:
            for results, policy, begun in ways:
                for run in range(begun, runs):
                    results.append(repeat(lean, truth, policy, seed + run))
                    bar(len(ways[0][0]) + len(ways[1][0]), 2 * runs)
        for line in ["", *saving(ways[0][0], ways[1][0], min(accuracy, key=lambda name: accuracy[name]))]:
            click.echo(line)
        path = write(read(audit), output)
    for line in ["", f"The report, with pictures of some mistakes: {path.resolve()}", "", *next_steps(keep, program())]:
        click.echo(line)


# --- the loop


def begin(address: str | None, pool: Pool, policy: Policy | None, seed: int) -> Assessment:
    """The assessment: which class is least accurate."""
    from fewlabels.beginning import create
    from fewlabels.metrics import Accuracy
    from fewlabels.stopping import Stop
    from fewlabels.tasks import Identify

    task, stop = Identify(Accuracy(), lowest=1), Stop(labels=BUDGET, probability=SURE)
    return create(address, "demo", pool, task=task, policy=policy, seed=seed, stop=stop)


def label(audit: Assessment, truth: Mapping[str, str], watch: Watch) -> Run:
    """Ask, look the labels up in the truth (the part a person would play), tell; until sure or out of budget."""
    labels = 0
    while labels < BUDGET:
        batch = audit.ask(BATCH)
        labels += audit.tell({item: truth[item] for item in batch.ids})
        answer = audit.answer(draws=DRAWS)
        # What looks like enough at a quick look must also be enough at a careful one, as in the report.
        if (answer.probability or 0) >= SURE:
            answer = audit.answer()
        watch(labels, answer)
        if (answer.probability or 0) >= SURE:
            return Run(labels, answer.groups[0], sure=True)
    return Run(labels, answer.groups[0], sure=False)


def repeat(pool: Pool, truth: Mapping[str, str], policy: Policy | None, seed: int) -> Run:
    """Run the assessment once more in memory, with another seed or another policy."""
    with contextlib.closing(begin(None, pool, policy, seed)) as audit:
        return label(audit, truth, lambda _labels, _answer: None)


def true_accuracy(pool: Pool, labels: Sequence[str]) -> dict[str, float]:
    """The share of right predictions in each class, from all labels: what the assessment tries to find out."""
    import numpy as np

    right = pool.predicted == pool.class_positions(labels)
    shares = np.bincount(pool.predicted, right) / np.bincount(pool.predicted)
    return dict(zip(pool.classes, shares.tolist(), strict=True))


# --- what is printed


def intro(fashion: Pictures) -> list[str]:
    """What is asked, and how."""
    return [
        f"A small network has sorted {len(fashion):,} pictures of clothes into {len(fashion.classes)} classes.",
        "Which class does it get wrong most often? To be certain, somebody would have to label them all.",
        f"fewlabels asks for {BATCH} labels at a time, where they help most, until it is {wording.chosen(SURE)} sure.",
    ]


def result(answer: Answer, run: Run) -> list[str]:
    """The answer and the table of all classes, the most suspicious first."""
    name, sure = answer.groups[0], answer.probability or 0.0
    end = (
        f"After {run.labels} labels it is {wording.probability(sure)} sure"
        if run.sure
        else f"After {run.labels} labels, the budget,"
    )
    ranges = zip(answer.table["low"], answer.table["high"], strict=True)
    style = wording.Style(share=True).fitting(ranges)
    return [
        f"{end}: the class that the network gets wrong most often is {name}.",
        "",
        f"{'it says':<12} {'items':>6} {'labels':>7}   {'right':>5}   {'between (95%)':<16}  chance of being worst",
        *(_line(row, style) for row in answer.table.rows()),
        "",
    ]


def _line(row: Mapping[str, float], style: wording.Style) -> str:
    mean, low, high = (style.value(row[name]) for name in ("mean", "low", "high"))
    bounds, chance = f"{low} and {high}", wording.probability(row["chance"])
    return f"{row['group']:<12} {row['n']:>6,} {row['labelled']:>7}   {mean:>5}   {bounds:<16}  {chance}"


def check(answer: Answer, accuracy: Mapping[str, float]) -> list[str]:
    """How the answer and the intervals compare with the truth."""
    worst = min(accuracy, key=lambda name: accuracy[name])
    rows = list(answer.table.rows())
    held = sum(row["low"] <= accuracy[row["group"]] <= row["high"] for row in rows)
    wrong = f"The answer is wrong: the worst class is {worst}."
    verdict = "The answer is right:" if worst == answer.groups[0] else wrong
    return [
        f"Here the truth is known. {verdict} {wording.percent(accuracy[worst])} of what it calls {worst} is one.",
        f"The intervals contain the true share in {held} of {len(rows)} classes.",
    ]


def saving(chosen: Sequence[Run], random: Sequence[Run], worst: str) -> list[str]:
    """How many labels the two ways of choosing items needed, in words that fit whoever won."""
    ours, theirs = _middle(chosen), _middle(random)
    least = "more than " if sum(not run.sure for run in random) * 2 > len(random) else ""
    verdict = (
        f"Random sampling would have needed {least or 'about '}{theirs:.0f} labels for the same certainty; "
        f"fewlabels needs about {ours:.0f}."
    )
    sure = wording.chosen(SURE)
    return [
        verdict,
        f"Measured just now: {len(random)} runs of each method on these pictures, all else equal, until {sure} sure.",
        f"  fewlabels chooses: {_spread(chosen, worst)}",
        f"  random items:      {_spread(random, worst)}",
        "Data and question were picked to show the method. How much it saves on your data depends on them.",
    ]


def _middle(runs: Sequence[Run]) -> float:
    """The median; a run that never became sure counts as the whole budget, which is an underestimate."""
    return statistics.median(run.labels for run in runs)


def _spread(runs: Sequence[Run], worst: str) -> str:
    counts = sorted(run.labels for run in runs)
    never = sum(not run.sure for run in runs)
    middle = f"median {_middle(runs):.0f} labels, from {counts[0]} to {counts[-1]}"
    right = f"; named the right class {sum(run.named == worst for run in runs)} of {len(runs)} times"
    return middle + (f", {never} of {len(runs)} not sure by then" if never else "") + right


def next_steps(kept: str | None, program: str = "fewlabels") -> list[str]:
    """What to type next, with the command as it must be typed here."""
    own = [
        "Now your own file: a row for each item with an id, and a score for each class or the predicted class.",
        f"  {program} new audit.db predictions.csv --lowest 1",
        f"  {program} label audit.db      label here, or in the browser: {program} serve audit.db",
        f"  {program} report audit.db     the same report about your classifier",
    ]
    from fewlabels.cli.common import shown

    if kept is None:
        return own
    return [*own, f"The demo's own assessment is in {shown(kept)}: {program} show {shown(kept)}"]


# --- while it runs


@contextlib.contextmanager
def watched() -> Iterator[Watch]:
    """A table that redraws itself on a terminal; elsewhere a line every 50 labels, on stderr."""
    if not sys.stderr.isatty():
        yield _plain_lines()
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live:
        yield lambda labels, answer: live.update(_picture(labels, answer), refresh=True)


def _plain_lines() -> Watch:
    last = 0

    def told(labels: int, answer: Answer) -> None:
        nonlocal last
        if labels // 50 > last // 50 or (answer.probability or 0) >= SURE:
            sure = wording.probability(answer.probability or 0.0)
            click.echo(f"{labels:5d} labels: best guess {answer.groups[0]}, {sure} sure", err=True)
        last = labels

    return told


def _picture(labels: int, answer: Answer) -> Table:
    """The classes with their intervals drawn from 0% to 100%, the most suspicious first."""
    from rich.table import Table
    from rich.text import Text

    title = f"{labels} labels, {wording.probability(answer.probability or 0.0)} sure: {answer.groups[0]}"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in ("it says", "labels", "right: 0% to 100%", "worst?"):
        table.add_column(name, justify="right" if name in ("labels", "worst?") else "left", no_wrap=True)
    for row in answer.table.rows():
        named = row["group"] in answer.groups
        bar = Text(_bar(row["low"], row["mean"], row["high"]), style="bold red" if named else "blue")
        table.add_row(Text(row["group"]), str(row["labelled"]), bar, wording.probability(row["chance"]))
    return table


def _bar(low: float, mean: float, high: float, width: int = 40) -> str:
    """An interval from 0 to 1 with its middle, drawn with letters.

    >>> _bar(0.2, 0.5, 0.8, width=11)
    '··───●───··'
    """
    first, middle, last = (round(share * (width - 1)) for share in (low, mean, high))
    return "".join("●" if i == middle else "─" if first <= i <= last else "·" for i in range(width))
