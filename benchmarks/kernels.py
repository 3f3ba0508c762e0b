"""Time of one label in each kernel, by the number of groups, and how much slower the plain Python twin is.

Run from the project's folder: python benchmarks/kernels.py [DIR]

With DIR, a folder with cifar100.npz and imagenet.npz: the time to label all of them by Thompson sampling instead.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import fewlabels as fl
from fewlabels.simulation.kernels import choose
from fewlabels.simulation.kernels.compare import CONFIDENCE, NEYMAN, ask_compare
from fewlabels.simulation.kernels.confusion import ask_confusion
from fewlabels.simulation.kernels.estimate import ask_estimate, ask_estimate_contest
from fewlabels.simulation.kernels.identify import ask_lowest, ask_lowest_contest
from fewlabels.simulation.kernels.known import Known, known_pool
from fewlabels.simulation.kernels.run import Run, start
from fewlabels.simulation.kernels.value import ask_linear_contest, ask_value, ask_value_contest
from fewlabels.simulation.methods import method
from fewlabels.simulation.order import asker
from fewlabels.simulation.truth import Gauge, truth

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

twins: Any = importlib.import_module("tests.support.twins")  # the tests are not typed

PER_GROUP, CLASSES, BINS = 50, 10, 5
Ask = Callable[[np.random.Generator, Any, int], None]


def pool(groups: int, cells: int, outcomes: int) -> tuple[Known, np.ndarray, np.ndarray, np.ndarray]:
    """A made-up labelled pool with `cells` cells a group, its informed prior, its groups and their cells."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(groups), PER_GROUP)
    accuracy = rng.beta(8, 2, groups)
    wrong = rng.random(len(group)) > accuracy[group]
    outcome = np.where(wrong, rng.integers(1, outcomes, len(group)), 0)
    cell = group * cells + np.tile(np.arange(PER_GROUP) % cells, groups)
    owner = np.repeat(np.arange(groups), cells)
    known = known_pool(group, outcome, groups=groups, outcomes=outcomes, cell=cell, cell_group=owner)
    right = np.clip(accuracy + rng.normal(0, 0.1, groups), 0.05, 0.95)[owner][:, None]
    prior = np.hstack([2 * right, np.repeat(2 * (1 - right) / (outcomes - 1), outcomes - 1, axis=1)])
    return known, prior, group, cell


def seconds_per_label(ask: Ask, fresh: Callable[[], Any], labels: int) -> float:
    """Processor time: the best of three measurements, each of as many runs as take 20 ms, less a run without labels."""

    def one(until: int) -> float:
        spent, runs = 0.0, 0
        while spent < 0.02:
            state, began = fresh(), time.process_time()
            ask(np.random.default_rng(runs), state, until)
            spent, runs = spent + time.process_time() - began, runs + 1
        return spent / runs

    one(labels)  # compiles
    return (min(one(labels) for _ in range(3)) - min(one(0) for _ in range(3))) / labels


def cases(groups: int) -> dict[str, tuple[Ask, Ask | None, Known, np.ndarray, np.ndarray, np.ndarray]]:
    """Kernel, twin or None, and pool, for each task."""
    two, prior, group, cell = pool(groups, 1, 2)
    bins, bin_prior, bin_group, bin_cell = pool(groups, BINS, 2)
    many, row, row_group, row_cell = pool(groups, 1, CLASSES)
    weight = np.zeros(bin_prior.shape)
    weight[:, 0] = 1 / BINS
    gap = Gauge(weight, np.full(bin_prior.shape, 0.8))
    cost = Gauge(np.tile(np.arange(CLASSES, dtype=float), (groups, 1)), np.zeros(row.shape))
    of_bins = [range(BINS * g, BINS * g + BINS) for g in range(groups)]
    of_rows = [range(g, g + 1) for g in range(groups)]
    ts = choose.THOMPSON

    def value(gauge: Gauge, cells_of: list[range]) -> Ask:
        return lambda rng, run, n: twins.scored_twin(
            rng, run, 1, n, twins.value_rewards(run, *gauge, cells_of, pool=False)
        )

    a = (two, prior, group, cell)
    b = (bins, bin_prior, bin_group, bin_cell)
    c = (many, row, row_group, row_cell)
    return {
        "items": (choose.ask_items, twins.items_twin, *a),
        "estimate, few drawn": (ask_estimate_contest, None, *a),
        "estimate, in order": (
            lambda rng, run, n: ask_estimate(rng, run, ts, n),
            lambda rng, run, n: twins.estimate_twin(rng, run, pool=False, until=n),
            *a,
        ),
        "lowest, few drawn": (lambda rng, run, n: ask_lowest_contest(rng, run, 1, n), None, *a),
        "lowest, all drawn": (
            lambda rng, run, n: ask_lowest(rng, run, 1, ts, n),
            lambda rng, run, n: twins.scored_twin(rng, run, 1, n, twins.lowest_rewards(run, pool=False)),
            *a,
        ),
        "calibration, few drawn": (lambda rng, run, n: ask_value_contest(rng, run, gap, 1, n), None, *b),
        "calibration, all drawn": (lambda rng, run, n: ask_value(rng, run, gap, 1, ts, n), value(gap, of_bins), *b),
        "cost, few drawn": (lambda rng, run, n: ask_linear_contest(rng, run, cost.weight, 1, n), None, *c),
        "cost, all drawn": (lambda rng, run, n: ask_value(rng, run, cost, 1, ts, n), value(cost, of_rows), *c),
        "confusion": (
            lambda rng, run, n: ask_confusion(rng, run, ts, n),
            lambda rng, run, n: twins.confusion_twin(rng, run, pool=False, until=n),
            *c,
        ),
    }


def main() -> None:
    """Print a table."""
    print(f"{'kernel':22} {'groups':>8} {'µs a label':>12} {'twin ÷ kernel':>14}")
    for groups in (10, 100, 1_000, 10_000, 100_000):
        for name, (ask, twin, known, prior, group, cell) in cases(groups).items() if groups < 100_000 else step():
            labels = min(len(known.items) // 2, 2_000 if groups <= 1_000 or "few" in name else 200)
            fast = seconds_per_label(ask, partial(start, known, prior, pool=False), labels)
            ratio = ""
            if twin is not None and groups <= 100:
                outcome = np.empty(len(group), dtype=np.int64)
                outcome[known.items] = known.outcome
                shape = (groups, len(prior), known.outcomes)
                make = partial(twins.Run, group, cell, outcome, *shape, prior)
                ratio = f"{seconds_per_label(twin, make, 30) / fast:,.0f}"
            print(f"{name:22} {groups:8,} {fast * 1e6:12.2f} {ratio:>14}", flush=True)
    known, prior, _, _ = pool(2, 1, 2)
    for name, by in (("compare, confidence", CONFIDENCE), ("compare, Neyman", NEYMAN)):
        taken = seconds_per_label(partial(_compare, by), partial(start, known, prior, pool=False), 50)
        print(f"{name:22} {2:8} {taken * 1e6:12.2f}", flush=True)


def _compare(by: int, rng: np.random.Generator, run: Run, until: int) -> None:
    ask_compare(rng, run, 0, 0.05, by, choose.THOMPSON, until)


def step() -> list[tuple[str, Any]]:
    """Time the step whose cost does not grow with the groups, at 100,000 groups."""
    known, prior, group, cell = pool(100_000, 1, 2)
    ask: Ask = lambda rng, run, n: ask_lowest_contest(rng, run, 1, n)
    return [("lowest, few drawn", (ask, None, known, prior, group, cell))]


def whole_runs(folder: Path, times: int = 9) -> None:
    """Seconds of processor time to label a whole pool, classes as groups, informed prior and Thompson sampling."""
    one = method("informed+thompson")
    for name in ("cifar100", "imagenet"):
        pool = fl.read_pool(folder / f"{name}.npz")
        with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
            labels = file["labels"].tolist()
        for task in (fl.Estimate(fl.Accuracy()), fl.Identify(fl.Accuracy(), lowest=1)):
            ask = asker(truth(pool, labels, fl.by_predicted(pool), task, [one]), one)
            taken = []
            for run in range(times + 1):  # the first one compiles
                begin = time.process_time()
                ask(np.random.default_rng(run), len(pool))
                taken.append(time.process_time() - begin)
            print(f"{name:9s} {type(task).__name__:9s} {np.median(taken[1:]):.3f} s, at best {min(taken[1:]):.3f} s")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        whole_runs(Path(sys.argv[1]))
    else:
        main()
