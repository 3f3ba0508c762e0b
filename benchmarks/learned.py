"""The learned prior on real classifiers: error, coverage and cost of a refit, beside the paper's priors.

python benchmarks/learned.py --data DIR [--runs 1000] [--pools cifar100,svhn] [--what error,coverage,identify,refit]

Without --data: the cost of a refit, and the built-in digits.

DIR has NPZ files of predictions with labels. For ImageNet a fifth of the runs is made.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import fewlabels as fl
from fewlabels.simulation.study import simulate

if TYPE_CHECKING:
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.priors import Prior

POOLS = ("cifar100", "imagenet", "svhn", "newsgroups", "dbpedia", "cifar100_wrn", "stance_gpt4o", "adult", "compas")
METHODS = ("uniform+items", "informed+items", "informed+thompson", "learned+items+pool")
PER_GROUP = (0, 0.5, 1, 2, 5, 10)
LEVEL = 0.95


def read(folder: Path, name: str) -> tuple[Pool, Partition, list[int]]:
    """A pool, its groups (sex × race where there are such columns, else predicted classes) and its labels."""
    path = folder / f"{name}.npz"
    if not path.exists():
        raise SystemExit(f"there is no {path}. Name the folder with the NPZ files by --data.")
    pool = fl.read_pool(path)
    fair = pool.columns is not None and {"sex", "race"} <= set(pool.columns.column_names)
    groups = fl.cross(fl.by_column(pool, "sex"), fl.by_column(pool, "race")) if fair else fl.by_predicted(pool)
    with np.load(path, allow_pickle=False) as file:
        return pool, groups, file["labels"].tolist()


def error(folder: Path, name: str, runs: int, jobs: int) -> None:
    """RMSE × 100 of groupwise accuracy at so many labels a group."""
    pool, groups, labels = read(folder, name)
    budgets = sorted({round(per * len(groups)) for per in PER_GROUP})
    table = simulate(
        pool, labels, groups, task=fl.Estimate(fl.Accuracy()), methods=METHODS, budgets=budgets, runs=runs, jobs=jobs
    )
    for method in METHODS:
        row = [f"{r['mean']:6.2f}" for r in table.where(method=method, score="rmse").rows()]
        print(f"error     {name:13s} {method:22s} runs {runs:5d}  at {budgets}: {' '.join(row)}", flush=True)


def coverage(folder: Path, name: str, runs: int) -> None:
    """The share of groups whose pool value lies in its 95 % interval (target pool, items at random)."""
    pool, groups, labels = read(folder, name)
    metric = fl.Accuracy()
    cells = metric.cells(pool, groups)
    outcome = metric.outcome(pool, np.arange(len(pool)), np.array(labels, dtype=np.int32))
    truth = 1 - np.bincount(cells.cell, outcome) / cells.size
    priors: tuple[Prior, ...] = (fl.Uniform(), fl.Informed(), fl.Learned())
    for prior in priors:
        found = []
        for per in PER_GROUP[2:]:
            inside = []
            for run in range(runs):
                rng = np.random.default_rng([run, int(10 * per)])
                items = rng.permutation(len(pool))[: round(per * len(groups))]
                counts = np.zeros((len(cells), 2))
                np.add.at(counts, (cells.cell[items], outcome[items]), 1)
                belief = prior.belief(cells, counts, "pool", (items, outcome[items]))
                ends = np.quantile(belief.draws(rng, 500)[..., 0], [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
                inside.append(((ends[0] <= truth + 1e-9) & (truth <= ends[1] + 1e-9)).mean())
            found.append(f"{np.mean(inside):.3f}")
        print(
            f"coverage  {name:13s} {prior!r:24s} runs {runs}  at {PER_GROUP[2:]} a group: {' '.join(found)}", flush=True
        )


def identify(folder: Path, name: str, runs: int, jobs: int) -> None:
    """The share of the pool to label until the mean MRR exceeds 0.99, for the worst and for the ten (three) worst."""
    pool, groups, labels = read(folder, name)
    for m in (1, 10 if len(groups) >= 100 else 3):
        methods = ["informed+thompson", "uniform+thompson", "learned+thompson+pool", "learned+toptwo+pool"]
        shares = ("5%", "10%", "20%", "40%", "60%")
        task = fl.Identify(fl.Accuracy(), lowest=m)
        table = simulate(pool, labels, groups, task=task, methods=methods, budgets=shares, runs=runs, jobs=jobs)
        for method in methods:
            rows = list(table.where(method=method).rows())
            row = [f"{r['mean']:.3f}" for r in rows if r["score"] == "mrr"]
            count = next(r["mean"] for r in rows if r["score"] == "labels-to-identify")
            share = "not reached" if count is None else f"{100 * count / len(pool):.1f} %"
            at = f"MRR at {', '.join(shares)}: {' '.join(row)}"
            print(
                f"identify  {name:13s} worst {m:2d} {method:22s} runs {runs}  {at}  identified at {share}", flush=True
            )


def digits() -> None:
    """RMSE × 100 on the built-in digits, whose confidences are nearly all 1."""
    data = fl.load_digits()
    pool = fl.read_pool({"id": data.ids, "scores": data.scores}, classes=data.classes)
    methods, task = ["informed+items", "learned+items+pool"], fl.Estimate(fl.Accuracy())
    table = simulate(pool, data.labels, task=task, methods=methods, budgets=[20, 50, 100, 500], runs=100, seed=1)
    for method in methods:
        row = [f"{r['mean']:6.2f}" for r in table.where(method=method, score="rmse").rows()]
        print(f"error     digits        {method:22s} runs   100  at [20, 50, 100, 500]: {' '.join(row)}")


def refit() -> None:
    """The time of one refit at 100 and 1,000 groups, and as a ratio to a belief of the uniform prior."""
    for groups in (100, 1000):
        rng = np.random.default_rng(0)
        size = groups * 100
        columns = {"predicted": rng.integers(groups, size=size), "confidence": rng.uniform(0.3, 1, size)}
        pool = fl.read_pool(columns, classes=[f"class {k}" for k in range(groups)])
        metric = fl.Accuracy()
        cells = metric.cells(pool, fl.by_predicted(pool))
        items = rng.permutation(size)[: groups * 5]
        outcome = (
            (rng.random(len(items)) > pool.confidence[items]).astype(np.int64) if pool.confidence is not None else items
        )
        counts = np.zeros((groups, 2))
        np.add.at(counts, (cells.cell[items], outcome), 1)
        times = {}
        for prior in (fl.Uniform(), fl.Learned()):
            prior.belief(cells, counts, "pool", (items, outcome)).mean()
            taken = []
            for _ in range(20):
                begin = time.perf_counter()
                prior.belief(cells, counts, "pool", (items, outcome)).draws(rng, 1)
                taken.append(time.perf_counter() - begin)
            times[repr(prior)] = float(np.median(taken))
        slow = times["Learned()"]
        print(
            f"refit     {groups} groups, {len(items)} labels: {1e3 * slow:.1f} ms with one draw, "
            f"{slow / times['Uniform(strength=None)']:.0f} times a uniform belief"
        )


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pools", default=",".join(POOLS))
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--what", default="refit")
    args = parser.parse_args()
    if "refit" in args.what:
        refit()
        digits()
    for name in args.pools.split(",") if args.what != "refit" else ():
        if args.data is None:
            raise SystemExit("name the folder with the NPZ files by --data.")
        runs = max(args.runs // 5, 2) if name.startswith("imagenet") else args.runs
        if "error" in args.what:
            error(args.data, name, runs, args.jobs)
        if "coverage" in args.what:
            coverage(args.data, name, max(runs // 5, 2))
        if "identify" in args.what:
            identify(args.data, name, max(runs // 50, 2), args.jobs)


if __name__ == "__main__":
    main()
