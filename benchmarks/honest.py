"""Is 95 % really 95 %? Coverage, width and bias of the learned prior's intervals: pools × policies × what is read.

python benchmarks/honest.py [--data DIR] [--pools cifar100,svhn] [--runs 100] [--budgets 200,500] [--policies lowest]
    [--each 2,5,10]

Labels are asked for at random, by Thompson sampling to estimate every group, and at the boundary to find the least
accurate one, with as many anchors as an assessment has by default (--anchor: another share; 0: none, as in assessments
made before there were anchors). Then the groups of asking and the number over all items are read from the same labels
(target pool): the latter as an assessment shows it ("whole"), and what the learned prior alone believes ("belief").
`MRR` is that of the least accurate group. With --others the same labels are read by other metrics and groups too:
confusion rows, precision and recall of five classes (others in each run), calibration error, and accuracy by other
columns. The pools made:0, made:0.5 and made:1 have columns (language, tier) whose effects on the log-odds have that
standard deviation; unequal:60 has 60 classes of very different size, and rare:8 has eight, of which some are rare and
wrong more often than they say; shifted:2 has two classes that were learned in equal shares and come in others, and
same:2 was learned in the shares in which they come; svhn@0=97+1=3 is svhn with 97 zeros for three ones and nothing
else. "stop" counts the runs that, looking after every 20 labels, stopped at a probability of 0.95, and how many of
these named the right group.
DIR has NPZ files of predictions with labels; without it, the built-in data are asked about. Of 1,000 groups and more a
fifth of the runs is made.

Coverage is the share of true values inside their 95 % intervals, ± one standard error: binomial for single numbers,
over runs for those of several groups or classes (those of one run are not independent). Width, bias and RMSE are in
percentage points. With --keep FILE every finished pool and way of asking is kept there, a line each, and not run again;
--page writes the tables of all that is kept. --each counts labels per group instead of --budgets, --pools all takes
every file of DIR, and the last lines say how the coverage of each reading is spread over pools.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import fewlabels as fl
from fewlabels.belief import Strata
from fewlabels.data import load_digits, load_fashion
from fewlabels.estimates import interval, unfolded, value_draws
from fewlabels.outcomes import Outcomes
from fewlabels.policies.anchors import default_anchor
from fewlabels.rectified import Rectified, rectified, unheard
from fewlabels.sample import Sample
from fewlabels.simulation.methods import method
from fewlabels.simulation.order import asker_with_anchors
from fewlabels.simulation.truth import truth as truth_of

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.made_pools import made, rare, reshared, shares, unequal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.metrics import Metric
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.priors import Prepared
    from fewlabels.tasks import Task

    Values = NDArray[np.float64]
    Lines = dict[tuple[str, str], dict[str, list[str]]]

BUILT_IN = {"clothes": load_fashion, "digits": load_digits}
POOLS = ("cifar100", "svhn", "newsgroups", "adult", "cifar100_wrn")
POLICIES: dict[str, tuple[Task, str]] = {
    "random": (fl.Estimate(fl.Accuracy()), "learned+items+pool"),
    "estimate": (fl.Estimate(fl.Accuracy()), "learned+thompson+pool"),
    "lowest": (fl.Identify(fl.Accuracy(), lowest=1), "learned+boundary+pool"),
}
USUAL = ("own groups", "whole", "precision", "recall", "confusion", "calibration", "stops")
LEVEL = 0.95
DRAWS = 1000
MANY = 1000
CLASSES = 20  # with more of them, confusion rows are not read
NAMED = 5  # classes whose precision and recall are read
EVERY = 20  # labels between two looks at the probability


@dataclass(frozen=True, eq=False)
class Known:
    """A pool whose labels are all known, asked about by its groups."""

    name: str
    pool: Pool
    groups: Partition
    labels: list[int]
    cells: Cells
    outcome: NDArray[np.int64]

    @property
    def truth(self) -> Values:
        """The share right in each group, shape (groups,)."""
        right: Values = 1 - np.bincount(self.cells.cell, self.outcome) / self.cells.size
        return right

    @property
    def true(self) -> NDArray[np.int32]:
        """The true class of each item, shape (items,)."""
        return np.array(self.labels, dtype=np.int32)

    @property
    def weight(self) -> Values:
        """The share of the items in each group, shape (groups,)."""
        return self.cells.size / self.cells.size.sum()

    def believe(self, items: NDArray[np.int64]) -> Belief:
        """What the learned prior believes once some items are labelled."""
        return fl.Learned().on(self.cells, "pool").belief(Outcomes.of(self.cells, items, self.outcome[items]))

    def over_all(self, belief: Belief, items: NDArray[np.int64], anchor: NDArray[np.bool_]) -> Rectified:
        """The number over all items that an assessment shows, from the labels in the order of asking."""
        everything = Strata(belief, np.zeros(len(self.cells), dtype=np.int64), np.array([len(self.pool)]))
        return self.rectified(everything, items, anchor)

    def rectified(self, belief: Belief | Strata, items: NDArray[np.int64], anchor: NDArray[np.bool_]) -> Rectified:
        """A belief about all items, corrected by the anchors."""
        sample = Sample(items, (self.outcome[items] == 0).astype(float), anchor)
        heard = np.bincount(self.cells.cell[items], minlength=len(self.cells)).astype(float)
        bare = unheard(self.cells.size, heard)
        return rectified(belief, self.pool.confidence, sample, np.random.default_rng(0), bare=bare)


@dataclass(frozen=True, eq=False)
class Other:
    """Another reading of the labels: a metric on groups, which need not be those of asking."""

    name: str
    metric: Metric
    cells: Cells
    prepared: Prepared
    true: Values

    @classmethod
    def of(cls, case: Known, name: str, metric: Metric, groups: Partition) -> Other:
        """Prepare a reading."""
        cells = metric.cells(case.pool, groups)
        every = metric.outcomes(case.pool, cells, np.arange(len(case.pool)), case.true)
        prepared = fl.Learned().across(cells, "pool", case.groups)
        return cls(name, metric, cells, prepared, metric.value(every.counts / cells.size[:, None], cells).ravel())

    def row(
        self, case: Known, items: NDArray[np.int64], anchor: NDArray[np.bool_] | None, rng: np.random.Generator
    ) -> list[float]:
        """Coverage, width and bias after some labels, as an assessment shows them; `anchor` is None if none steered."""
        own = self.prepared.belief(self.metric.outcomes(case.pool, self.cells, items, case.true[items]))
        over_all = anchor is not None and len(self.cells.partition) == 1 and self.cells.right is None
        belief = case.rectified(own, items, anchor) if anchor is not None and over_all else own
        draws = value_draws(self.metric, belief, self.cells, rng, DRAWS).reshape(DRAWS, -1)
        folded = self.metric.value(belief.mean(), self.cells).ravel() if self.metric.folded else None
        return [*score(draws, self.true, folded), np.nan]


def others(case: Known) -> list[Other]:
    """The other readings that make sense for a pool."""
    pool, everything = case.pool, fl.whole(case.pool)
    found = [Other.of(case, "calibration", fl.CalibrationError(), everything)]
    by_class = case.groups.recipe["by"] == "predicted"
    if by_class and len(pool.classes) <= CLASSES:
        found.append(Other.of(case, "confusion", fl.Confusion(), case.groups))
    if not by_class:
        found.append(Other.of(case, "predicted", fl.Accuracy(), fl.by_predicted(pool)))
    columns = [] if pool.columns is None else pool.columns.column_names
    told = [column for column in columns if column in ("sex", "race", "lang", "tier")]
    return found + [Other.of(case, column, fl.Accuracy(), fl.by_column(pool, column)) for column in told]


def rates(case: Known, run: int) -> list[Other]:
    """Precision and recall of some classes, others in each run: the same few might happen to be odd ones.

    A class that was never predicted has no precision, and one that does not occur no recall.
    """
    classes = np.random.default_rng([run, 6]).permutation(len(case.pool.classes))[:NAMED]
    found = [rate_of(case, rate, int(k)) for rate in (fl.Precision, fl.Recall) for k in classes]
    return [other for other in found if np.isfinite(other.true).all()]


@lru_cache(maxsize=256)
def rate_of(case: Known, rate: type[fl.Precision | fl.Recall], k: int) -> Other:
    """Precision or recall of a class, over all items."""
    metric = rate(positive=case.pool.classes[k])
    return Other.of(case, rate.__name__.lower(), metric, fl.whole(case.pool))


def known(name: str, folder: Path | None) -> Known:
    """A built-in pool, or one of a folder; by sex × race where there are such columns, else by predicted class.

    `models_imagenet:resnet34` is one of the models of a file with several.
    """
    if name.startswith("made:"):
        pool, labels = made(float(name.removeprefix("made:")))
    elif name.startswith("rare:"):
        pool, labels = rare(int(name.removeprefix("rare:")))
    elif name.startswith("unequal:"):
        pool, labels = unequal(int(name.removeprefix("unequal:")))
    elif name.startswith(("shifted:", "same:")):
        kind, classes = name.split(":")
        pool, labels = shares(int(classes), equal=kind == "shifted")
    elif "@" in name:
        file_name, spec = name.split("@")
        pool, labels = reshared((folder or Path()) / f"{file_name}.npz", spec)
    elif name in BUILT_IN:
        data = BUILT_IN[name]()
        pool = fl.read_pool({"id": data.ids, "scores": data.scores}, classes=data.classes)
        labels = [pool.classes.index(label) for label in data.labels]
    else:
        file_name, _, model = name.partition(":")
        path = (folder or Path()) / f"{file_name}.npz"
        if not path.exists():
            raise SystemExit(f"there is no {path}. Name the folder with the NPZ files by --data.")
        pool = fl.read_pool(path).of(model) if model else fl.read_pool(path)
        with np.load(path, allow_pickle=False) as file:
            labels = file["labels"].tolist()
    fair = pool.columns is not None and {"sex", "race"} <= set(pool.columns.column_names)
    groups = fl.cross(fl.by_column(pool, "sex"), fl.by_column(pool, "race")) if fair else fl.by_predicted(pool)
    metric = fl.Accuracy()
    outcome = metric.outcome(pool, np.arange(len(pool)), np.array(labels, dtype=np.int32))
    return Known(name, pool, groups, labels, metric.cells(pool, groups), outcome)


def measure(
    case: Known, policy: str, runs: int, budgets: Sequence[int], anchor: float | None, more: Sequence[Other]
) -> Lines:
    """Ask in a number of runs, and print coverage, width and bias of every reading at every budget."""
    task, who = POLICIES[policy]
    one = method(who)
    share = default_anchor(task, one.prior, one.policy, case.cells) if anchor is None else anchor
    one = replace(one, anchor=share)
    ask = asker_with_anchors(truth_of(case.pool, case.labels, case.groups, task, [one]), one)
    budgets = [budget for budget in budgets if budget <= len(case.pool)]
    found: dict[tuple[str, int], list[list[float]]] = {}
    stops: list[list[float]] = []
    for run in range(runs):
        rng = np.random.default_rng([run, 5])
        order, is_anchor = ask(rng, budgets[-1])
        others_now = [*more, *rates(case, run)] if more else []
        for budget in budgets:
            for reading, row in read(case, policy, order[:budget], is_anchor[:budget], rng):
                found.setdefault((reading, budget), []).append(row)
            for name in dict.fromkeys(other.name for other in others_now):
                drawn = None if policy == "random" else is_anchor[:budget]
                rows = [other.row(case, order[:budget], drawn, rng) for other in others_now if other.name == name]
                found.setdefault((name, budget), []).append(np.mean(rows, axis=0).tolist())
        if more and policy == "lowest":
            stops.append(stopped(case, order, rng))
    lines: Lines = {}
    for (reading, budget), rows in found.items():
        about = say(f"{case.name:13s} {policy:9s} anchor {share:4.2f}", reading, budget, np.array(rows))
        lines.setdefault((case.name, policy), {}).setdefault(reading, []).append(about)
    if stops:
        right = [hit for stop, hit in stops if stop]
        print(f"{case.name:13s} {policy:9s} stop at 0.95: {len(right)} of {runs} runs, {sum(right):.0f} of these right")
        lines[case.name, policy]["stops"] = [f"{sum(right):.0f} of {len(right)}"]
    return lines


def read(
    case: Known, policy: str, items: NDArray[np.int64], anchor: NDArray[np.bool_], rng: np.random.Generator
) -> Iterator[tuple[str, list[float]]]:
    """Every reading of some labels: coverage, width and bias, and what is said of it beside."""
    belief, true = case.believe(items), case.truth
    draws, mean = belief.draws(rng, DRAWS)[..., 0], belief.mean()[:, 0]
    worst = int(true.argmin())
    rank = 1 + int((np.delete(mean, worst) < mean[worst]).sum())
    error = 100 * float(np.sqrt(case.weight @ (mean - true) ** 2))
    yield "own groups", [*score(draws, true)[:3], error, 1 / rank]
    overall = np.array([true @ case.weight])
    yield "belief", [*score((draws @ case.weight)[:, None], overall), np.nan]
    # Labels at random need no rectifying, in an assessment as here.
    if policy != "random":
        shown = case.over_all(belief, items, anchor).draws(rng, DRAWS)[:, :1, 0]
        yield "whole", [*score(shown, overall), np.nan]


def stopped(case: Known, items: NDArray[np.int64], rng: np.random.Generator) -> list[float]:
    """Whether a run that looks every so often stopped, and whether it then named the least accurate group."""
    worst = int(case.truth.argmin())
    prepared = fl.Learned().on(case.cells, "pool")
    for labels in range(EVERY, len(items) + 1, EVERY):
        seen = items[:labels]
        belief = prepared.belief(Outcomes.of(case.cells, seen, case.outcome[seen]))
        values = belief.draws(rng, DRAWS)[..., 0].argmin(axis=1)
        named, times = np.unique(values, return_counts=True)
        if times.max() >= LEVEL * DRAWS:
            return [1.0, float(named[times.argmax()] == worst)]
    return [0.0, np.nan]


def score(draws: Values, true: Values, at_means: Values | None = None) -> list[float]:
    """The share of values inside their intervals, mean width, mean bias and RMSE; draws of shape (n, values)."""
    low, high = interval(draws, LEVEL) if at_means is None else unfolded(draws, LEVEL, at_means)
    inside, off = (low <= true + 1e-9) & (true <= high + 1e-9), draws.mean(axis=0) - true
    sizes = (high - low).mean(), off.mean(), np.sqrt((off**2).mean())
    return [float(inside.mean()), *(100 * float(size) for size in sizes)]


def say(name: str, reading: str, budget: int, rows: Values) -> str:
    """Print one line of the table, from rows of shape (runs, 5); returns the coverage with its error."""
    runs = len(rows)
    share, width, bias, _, mrr = rows.mean(axis=0)
    rmse = np.sqrt((rows[:, 3] ** 2).mean())
    # Two more of either kind, so that the error of 100 % is not nought.
    like = (share * runs + 2) / (runs + 4)
    overall = reading in ("whole", "belief", "calibration")
    error = np.sqrt(like * (1 - like) / runs) if overall else rows[:, 0].std() / np.sqrt(runs)
    beside = f"RMSE {rmse:.2f}" + (f"  MRR {mrr:.2f}" if reading == "own groups" else "")
    print(
        f"{name} {reading:11s} runs {runs:4d} labels {budget:5d}  coverage {100 * share:5.1f} ± {100 * error:3.1f} %  "
        f"width {width:5.1f}  bias {bias:+5.2f} ± {rows[:, 2].std() / np.sqrt(runs):.2f}  {beside}",
        flush=True,
    )
    return f"{100 * share:.0f} ± {100 * error:.0f}"


def spread(lines: Lines, at: Sequence[str]) -> list[list[str]]:
    """How coverage is spread over pools, by what is read and how labels were asked for: a table with its head."""
    table = [["read", "asking", "labels", "pools", "mean", "lowest", "below 90%", "below 93%", "above 98%"]]
    for policy in POLICIES:
        rows = [row for (_, asking), row in lines.items() if asking == policy]
        for reading in dict.fromkeys(name for row in rows for name in row if name != "stops"):
            for i, labels in enumerate(at):
                held = np.array([float(row[reading][i].split(" ")[0]) for row in rows if len(row.get(reading, [])) > i])
                if len(held):
                    shares = [f"{np.mean(far):.0%}" for far in (held < 90, held < 93, held > 98)]
                    mean = f"{held.mean():.1f} ± {held.std() / np.sqrt(len(held)):.1f}"
                    table.append([reading, policy, labels, str(len(held)), mean, f"{held.min():.0f}", *shares])
    return table


def page(lines: Lines, labels: Sequence[str], runs: int) -> str:
    """The tables in Markdown: pools and ways of asking by what is read, and then the readings by other groups."""
    at = " and ".join(labels)
    usual = [reading for reading in USUAL if any(reading in row for row in lines.values())]
    main = [["pool", "asking", *usual]]
    other = [["pool", "asking", "read by", "coverage"]]
    for (name, policy), row in lines.items():
        # Under random asking the belief's own number is what an assessment shows.
        shown = row if policy != "random" else row | {"whole": row["belief"]}
        main.append([name, policy, *(", ".join(shown.get(reading, ["–"])) for reading in usual)])
        other += [[name, policy, read, ", ".join(row[read])] for read in row if read not in (*USUAL, "belief")]
    about = f"Percent of 95% intervals that contain the true value, ± one standard error, at {at} labels; {runs} runs."
    return "\n\n".join([about, markdown(main), "By groups that were not asked about:", markdown(other)]) + "\n"


def markdown(table: list[list[str]]) -> str:
    """A table, its first row being the head."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [table[0], ["---"] * len(table[0]), *table[1:]])


def kept(path: Path | None) -> Lines:
    """What an earlier call kept."""
    if path is None or not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(name, policy): row for name, policy, row in rows}


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pools", help="names, with commas between them")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--budgets", default="200,500")
    parser.add_argument("--each", help="labels for each group, instead of --budgets")
    parser.add_argument("--others", action="store_true", help="read by other metrics and groups too")
    parser.add_argument("--keep", type=Path, help="keep what is finished in this file, and go on from there")
    parser.add_argument("--page", type=Path, help="write the tables to a Markdown file as well")
    parser.add_argument("--anchor", type=float, help="the share of anchors")
    parser.add_argument("--policies", default=",".join(POLICIES))
    args = parser.parse_args()
    usual = (*POOLS, *BUILT_IN) if args.data else tuple(BUILT_IN)
    every = sorted(path.stem for path in args.data.glob("*.npz")) if args.pools == "all" else []
    counts = sorted(int(count) for count in (args.each or args.budgets).split(","))
    lines = kept(args.keep)
    for name in every or (args.pools.split(",") if args.pools else usual):
        wanted = [policy for policy in args.policies.split(",") if (name, policy) not in lines]
        case = known(name, args.data) if wanted else None
        for policy in wanted:
            assert case is not None
            runs = max(args.runs // 5, 2) if len(case.groups) >= MANY else args.runs
            more = others(case) if args.others else []
            budgets = [count * len(case.groups) for count in counts] if args.each else counts
            found = measure(case, policy, runs, budgets, args.anchor, more)
            lines |= found
            if args.keep:
                with args.keep.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps([*key, row], ensure_ascii=False) + "\n" for key, row in found.items())
    at = [f"{count} a group" if args.each else str(count) for count in counts]
    print(markdown(spread(lines, at)))
    if args.page:
        args.page.write_text(page(lines, at, args.runs), encoding="utf-8")


if __name__ == "__main__":
    main()
