"""What the parts of the learned model are worth: the slope between groups, classes of mistakes, bins, and rivals.

python -m benchmarks.posterior [--data DIR] [--pools cifar100_wrn,svhn] [--runs 20] [--what slope,sizes,shares,rivals]

slope: RMSE of groupwise accuracy at 200 and 500 random labels, without and with the slope between groups.
sizes: RMSE at 2, 5 and 10 random labels a group, without and with the slope by the size of groups, for items and for
groups (each counting once), with coverage and mean width of the 95 % intervals of groups.
shares: the same without and with classes that may come in other shares than the classifier learned from.
rivals: RMSE at 2, 5 and 10 labels a group, beside recalibrated confidences averaged in each group.
classes: RMSE of confusion matrix and mean F1 at 2, 5 and 10 labels a class, where the scores of all classes are known.
recall: RMSE of the recall of six classes, others in each run, at 200 and 500 labels, and coverage and width of its 95 %
interval: with the scores of all classes, with the confidence alone ("top"), and without any ("none").
bins: coverage of the 95 % interval of the calibration error at 50 to 500 labels, and by how much its median
is off.

All × 100, target pool, items at random. DIR has NPZ files of predictions with labels; without it, the built-in data.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import isotonic_regression, minimize
from scipy.special import expit, logit

import fewlabels as fl
from benchmarks.honest import BUILT_IN, Known, known, score
from fewlabels.estimates import interval, unfolded, value_draws

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fewlabels.metrics import Metric
    from fewlabels.partition import Partition

PER_GROUP = (2, 5, 10)
LABELS = (200, 500)
FEW_TO_MANY = (50, 100, 200, 500)
CLASSES = 20
CLASSES_READ = 6
DRAWS = 500


def say(what: str, name: str, who: str, runs: int, at: object, numbers: Sequence[float]) -> None:
    """One line of a table."""
    row = " ".join(f"{number:6.2f}" for number in numbers)
    print(f"{what:8s} {name:13s} {who:25s} runs {runs:4d}  at {at}: {row}", flush=True)


def rmse(case: Known, mean: NDArray[np.float64]) -> float:
    """Σ_g p_g (θ^_g − θ_g)², its root, × 100."""
    return 100 * float(np.sqrt(case.weight @ (mean - case.truth) ** 2))


def drawn(case: Known, labels: int, run: int) -> NDArray[np.int64]:
    """Items at random: for each run and number of labels the same, whoever is measured."""
    return np.random.default_rng([run, labels]).permutation(len(case.pool))[:labels]


def slope(case: Known, runs: int) -> None:
    """The error of groups without and with the slope between them."""
    module: Any = sys.modules["fewlabels.learned.items.kinds"]
    usual = module.KINDS
    blind = usual.copy()
    blind[:, 5:] = 0, 1e-4
    for who, kinds in (("without g", blind), ("with g", usual)):
        module.KINDS = kinds
        found = [
            np.mean([rmse(case, case.believe(drawn(case, n, run)).mean()[:, 0]) for run in range(runs)]) for n in LABELS
        ]
        say("slope", case.name, who, runs, f"{LABELS} labels", [float(one) for one in found])
    module.KINDS = usual


def sizes(case: Known, runs: int) -> None:
    """The error and the intervals of groups without and with the slope by their size."""
    _with_and_without(case, runs, "sizes", "between", {"_RARE": 1e-4, "_OFTEN": 1e-4})


def shares(case: Known, runs: int) -> None:
    """The error and the intervals of classes if none, or some, may come in other shares than were learned from."""
    _with_and_without(case, runs, "shares", "shifted", {"_MOST": 0})


def _with_and_without(case: Known, runs: int, what: str, module: str, without: dict[str, float]) -> None:
    """The error and the intervals of groups where some constants of the model have these values, and as they are."""
    place: Any = sys.modules[f"fewlabels.learned.items.{module}"]
    usual = {name: getattr(place, name) for name in without}
    for who, constants in (("without", without), ("with", usual)):
        for name, value in constants.items():
            setattr(place, name, value)
        found = np.zeros((len(PER_GROUP), runs, 4))
        for i, run in np.ndindex(found.shape[:2]):
            items = drawn(case, min(PER_GROUP[i] * len(case.groups), len(case.pool) // 2), run)
            belief = case.believe(items)
            off = belief.mean()[:, 0] - case.truth
            cover, width, *_ = score(belief.draws(np.random.default_rng(0), DRAWS)[..., 0], case.truth)
            found[i, run] = rmse(case, off + case.truth), 100 * np.sqrt((off**2).mean()), 100 * cover, width
        for part, row in zip(("items", "groups", "held", "width"), found.mean(axis=1).T.tolist(), strict=True):
            say(what, case.name, f"{who}: {part}", runs, f"{PER_GROUP} a group", row)


def rivals(case: Known, runs: int) -> None:
    """The error of groups, beside recalibrated confidences averaged in each group (Platt, isotonic)."""
    scores = case.pool.confidence
    s = np.clip(np.full(len(case.pool), 0.5) if scores is None else scores, 1e-4, 1 - 1e-4)
    found = np.zeros((3, len(PER_GROUP)))
    for i, per in enumerate(PER_GROUP):
        for run in range(runs):
            items = drawn(case, per * len(case.groups), run)
            right = (case.outcome[items] == 0).astype(np.float64)
            found[0, i] += rmse(case, case.believe(items).mean()[:, 0]) / runs
            for j, curve in enumerate((platt(s[items], right, s), isotonic(s[items], right, s)), start=1):
                curve[items] = right
                found[j, i] += rmse(case, np.bincount(case.cells.cell, curve) / case.cells.size) / runs
    for who, row in zip(("learned", "Platt", "isotonic"), found.tolist(), strict=True):
        say("rivals", case.name, who, runs, f"{PER_GROUP} a group", row)


def platt(s: NDArray[np.float64], right: NDArray[np.float64], at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Chances of being right by a logistic curve in logit s, a little held back so that it always exists."""
    x = logit(s)

    def minus(ab: NDArray[np.float64]) -> float:
        eta = ab[0] + ab[1] * x
        return float(np.logaddexp(0, eta).sum() - right @ eta + 0.01 * (ab @ ab))

    a, b = minimize(minus, np.array([0.0, 1.0])).x
    return np.asarray(expit(a + b * logit(at)), dtype=float)


def isotonic(s: NDArray[np.float64], right: NDArray[np.float64], at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Chances of being right by an isotonic curve in s."""
    order = np.argsort(s)
    return np.interp(at, s[order], isotonic_regression(right[order]).x)


def draws_of(
    case: Known, metric: Metric, groups: Partition, items: NDArray[np.int64], *asked: Partition
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Draws of a metric after some labels, shape (draws, values), the true values and those at the means."""
    cells = metric.cells(case.pool, groups)
    every = metric.outcomes(case.pool, cells, np.arange(len(case.pool)), case.true)
    belief = fl.Learned().on(cells, "pool", *asked).belief(metric.outcomes(case.pool, cells, items, case.true[items]))
    draws = value_draws(metric, belief, cells, np.random.default_rng(0), DRAWS).reshape(DRAWS, -1)
    true = metric.value(every.counts / cells.size[:, None], cells).ravel()
    return draws, true, metric.value(belief.mean(), cells).ravel()


def classes(case: Known, runs: int) -> None:
    """The error of numbers that need the classes of mistakes."""
    if case.pool.profile is None or len(case.pool.classes) > CLASSES or case.groups.recipe["by"] != "predicted":
        return
    everything = fl.whole(case.pool)
    for who, metric, groups in (("confusion", fl.Confusion(), case.groups), ("mean F1", fl.F1(), everything)):
        found = []
        for per in PER_GROUP:
            off = []
            for run in range(runs):
                draws, true, _ = draws_of(case, metric, groups, drawn(case, per * len(case.groups), run))
                off.append(np.sqrt(((np.median(draws, axis=0) - true) ** 2).mean()))
            found.append(100 * float(np.mean(off)))
        say("classes", case.name, who, runs, f"{PER_GROUP} a class", found)


def recall(case: Known, runs: int) -> None:
    """Recall of single classes, with what is known of scores and with less."""
    pool = case.pool
    answers = {"predicted": [pool.classes[k] for k in pool.predicted]}
    known_of = {} if pool.score_sums is None else {"scores": pool}
    if pool.confidence is not None:
        known_of["top"] = fl.read_pool(answers | {"confidence": pool.confidence}, classes=list(pool.classes))
    known_of["none"] = fl.read_pool(answers, classes=list(pool.classes))
    exist = np.flatnonzero(np.bincount(case.true, minlength=len(pool.classes)))
    for who, less in known_of.items():
        variant, asked = replace(case, pool=less), fl.by_predicted(less)
        for labels in LABELS:
            rows = []
            for run in range(runs):
                items, rng = drawn(case, labels, run), np.random.default_rng([run, 8])
                for k in rng.choice(exist, min(CLASSES_READ, len(exist)), replace=False).tolist():
                    draws, true, _ = draws_of(
                        variant, fl.Recall(positive=pool.classes[k]), fl.whole(less), items, asked
                    )
                    low, high = interval(draws, 0.95)
                    rows.append([(np.nanmean(draws) - true[0]) ** 2, low[0] <= true[0] <= high[0], high[0] - low[0]])
            square, held, width = np.mean(rows, axis=0)
            numbers = [100 * float(np.sqrt(square)), 100 * float(held), 100 * float(width)]
            say("recall", case.name, f"{who}: RMSE, held, width", runs, labels, numbers)


def bins(case: Known, runs: int) -> None:
    """How often the interval of the calibration error holds, and by how much its median is off."""
    held, off = [], []
    for labels in FEW_TO_MANY:
        inside, apart = [], []
        for run in range(runs):
            items = drawn(case, labels, run)
            draws, true, at_means = draws_of(case, fl.CalibrationError(), fl.whole(case.pool), items)
            low, high = unfolded(draws, 0.95, at_means)
            inside.append(bool(low[0] <= true[0] <= high[0]))
            apart.append(float(np.median(draws) - true[0]))
        held.append(100 * float(np.mean(inside)))
        off.append(100 * float(np.sqrt(np.mean(np.square(apart)))))
    say("bins", case.name, f"true {100 * true[0]:.1f}, held", runs, FEW_TO_MANY, held)
    say("bins", case.name, "median off by", runs, FEW_TO_MANY, off)


def main() -> None:
    """Run what was asked for."""
    parts = {"slope": slope, "sizes": sizes, "shares": shares, "rivals": rivals}
    parts |= {"classes": classes, "recall": recall, "bins": bins}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pools", default=",".join(BUILT_IN))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--what", default=",".join(parts))
    args = parser.parse_args()
    for name in args.pools.split(","):
        case = known(name, args.data)
        for what in args.what.split(","):
            parts[what](case, max(args.runs // 4, 2) if len(case.groups) >= 1000 else args.runs)


if __name__ == "__main__":
    main()
