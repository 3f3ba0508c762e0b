"""Is 95 % really 95 %? Coverage, width and bias of the learned prior's intervals: pools × policies × what is read.

python benchmarks/honest.py [--data DIR] [--pools cifar100,svhn] [--runs 100] [--budgets 200,500] [--policies lowest]

Labels are asked for at random, by Thompson sampling to estimate every group, and at the boundary to find the least
accurate one. Then the groups of asking and the number over all items are read from the same labels (target pool).
DIR has NPZ files of predictions with labels; without it, the built-in data are asked about. Of 1,000 groups and more a
fifth of the runs is made.

Coverage is the share of true values inside their 95 % intervals, ± one standard error: binomial for the number over all
items, over runs for the groups (those of one run are not independent). Width and bias are in percentage points.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import fewlabels as fl
from fewlabels.data import load_digits, load_fashion
from fewlabels.outcomes import Outcomes
from fewlabels.simulation.methods import method
from fewlabels.simulation.order import asker
from fewlabels.simulation.truth import truth as truth_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.tasks import Task

    Values = NDArray[np.float64]

BUILT_IN = {"clothes": load_fashion, "digits": load_digits}
POOLS = ("cifar100", "svhn", "newsgroups", "adult", "cifar100_wrn")
POLICIES: dict[str, tuple[Task, str]] = {
    "random": (fl.Estimate(fl.Accuracy()), "learned+items+pool"),
    "estimate": (fl.Estimate(fl.Accuracy()), "learned+thompson+pool"),
    "lowest": (fl.Identify(fl.Accuracy(), lowest=1), "learned+boundary+pool"),
}
# What is read, from the shares right in the groups of asking (drawn or true, shape (..., groups)) and their weights.
READINGS: dict[str, Callable[[Values, Values], Values]] = {
    "own groups": lambda shares, _: shares,
    "whole": lambda shares, weight: (shares @ weight)[..., None],
}
LEVEL = 0.95
DRAWS = 1000
MANY = 1000


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
    def weight(self) -> Values:
        """The share of the items in each group, shape (groups,)."""
        return self.cells.size / self.cells.size.sum()

    def believe(self, items: NDArray[np.int64]) -> Belief:
        """What the learned prior believes once some items are labelled."""
        return fl.Learned().on(self.cells, "pool").belief(Outcomes.of(self.cells, items, self.outcome[items]))


def known(name: str, folder: Path | None) -> Known:
    """A built-in pool, or one of a folder; by sex × race where there are such columns, else by predicted class."""
    if name in BUILT_IN:
        data = BUILT_IN[name]()
        pool = fl.read_pool({"id": data.ids, "scores": data.scores}, classes=data.classes)
        labels = [pool.classes.index(label) for label in data.labels]
    else:
        path = (folder or Path()) / f"{name}.npz"
        if not path.exists():
            raise SystemExit(f"there is no {path}. Name the folder with the NPZ files by --data.")
        pool = fl.read_pool(path)
        with np.load(path, allow_pickle=False) as file:
            labels = file["labels"].tolist()
    fair = pool.columns is not None and {"sex", "race"} <= set(pool.columns.column_names)
    groups = fl.cross(fl.by_column(pool, "sex"), fl.by_column(pool, "race")) if fair else fl.by_predicted(pool)
    metric = fl.Accuracy()
    outcome = metric.outcome(pool, np.arange(len(pool)), np.array(labels, dtype=np.int32))
    return Known(name, pool, groups, labels, metric.cells(pool, groups), outcome)


def measure(case: Known, policy: str, runs: int, budgets: Sequence[int]) -> None:
    """Ask in a number of runs, and print coverage, width and bias of every reading at every budget."""
    task, who = POLICIES[policy]
    one = method(who)
    ask = asker(truth_of(case.pool, case.labels, case.groups, task, [one]), one)
    budgets = [budget for budget in budgets if budget <= len(case.pool)]
    found: dict[tuple[str, int], list[list[float]]] = {}
    for run in range(runs):
        rng = np.random.default_rng([run, 5])
        order = ask(rng, budgets[-1])
        for budget in budgets:
            draws = case.believe(order[:budget]).draws(rng, DRAWS)[..., 0]
            for reading, read in READINGS.items():
                row = score(read(draws, case.weight), read(case.truth, case.weight))
                found.setdefault((reading, budget), []).append(row)
    for (reading, budget), rows in found.items():
        say(case.name, policy, reading, budget, np.array(rows))


def score(draws: Values, true: Values) -> list[float]:
    """The share of values inside their equal-tailed intervals, mean width and mean bias; draws of shape (n, values)."""
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    inside = (low <= true + 1e-9) & (true <= high + 1e-9)
    return [float(inside.mean()), 100 * float((high - low).mean()), 100 * float((draws.mean(axis=0) - true).mean())]


def say(name: str, policy: str, reading: str, budget: int, rows: Values) -> None:
    """One line of the table, from rows of shape (runs, 3)."""
    runs = len(rows)
    share, width, bias = rows.mean(axis=0)
    # Two more of either kind, so that the error of 100 % is not nought.
    like = (share * runs + 2) / (runs + 4)
    error = np.sqrt(like * (1 - like) / runs) if reading == "whole" else rows[:, 0].std() / np.sqrt(runs)
    print(
        f"{name:13s} {policy:9s} {reading:11s} runs {runs:4d} labels {budget:5d}  coverage {100 * share:5.1f} ± "
        f"{100 * error:3.1f} %  width {width:5.1f}  bias {bias:+5.2f} ± {rows[:, 2].std() / np.sqrt(runs):.2f}",
        flush=True,
    )


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pools", help="names, with commas between them")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--budgets", default="200,500")
    parser.add_argument("--policies", default=",".join(POLICIES))
    args = parser.parse_args()
    usual = (*POOLS, *BUILT_IN) if args.data else tuple(BUILT_IN)
    budgets = sorted(int(budget) for budget in args.budgets.split(","))
    for name in args.pools.split(",") if args.pools else usual:
        case = known(name, args.data)
        runs = max(args.runs // 5, 2) if len(case.groups) >= MANY else args.runs
        for policy in args.policies.split(","):
            measure(case, policy, runs, budgets)


if __name__ == "__main__":
    main()
