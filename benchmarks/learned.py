"""The learned prior on real classifiers: error, coverage, bins, small pools and cost, beside the paper's priors.

python -m benchmarks.learned --data DIR [--runs 1000] [--pools cifar100,svhn] [--what error,coverage]

Without --data: the cost of a refit, groups that are unrelated or differ much, classifiers that are always sure, and the
built-in data (--what refit,unrelated,differing,sure,builtin).

With it: error,coverage,rows,targeted,bins,small. DIR has NPZ files of predictions with labels. For ImageNet a fifth of
the runs is made. The model's own parts are in posterior.py, asking well in asking.py.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import fewlabels as fl
from benchmarks.labelled_pools import Labelled, inside, labelled, read, say
from fewlabels.data import load_digits, load_fashion
from fewlabels.outcomes import Outcomes
from fewlabels.simulation.methods import method
from fewlabels.simulation.order import asker
from fewlabels.simulation.study import simulate
from fewlabels.simulation.truth import truth as truth_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fewlabels.belief import Belief, Target
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.priors import Prior

POOLS = ("cifar100", "imagenet", "svhn", "newsgroups", "dbpedia", "cifar100_wrn", "stance_gpt4o", "adult", "compas")
METHODS = ("uniform+items", "informed+items", "informed+thompson", "learned+items+pool")
PER_GROUP = (0, 0.5, 1, 2, 5, 10)
COVERED = (2, 5, 10)
ASKED = (5, 10, 20)
DRAWS = 500


def error(name: str, pool: Pool, groups: Partition, labels: Sequence[object], runs: int, jobs: int) -> None:
    """RMSE × 100 of groupwise accuracy by labels per group, and the largest divided by that without labels."""
    budgets = sorted({round(per * len(groups)) for per in PER_GROUP})
    task = fl.Estimate(fl.Accuracy())
    table = simulate(pool, labels, groups, task=task, methods=METHODS, budgets=budgets, runs=runs, jobs=jobs)
    for one in METHODS:
        row = [float(r["mean"]) for r in table.where(method=one, score="rmse").rows()]
        say("error", name, one, runs, budgets, row)
        say("hurt", name, one, runs, "worst label count over none", [max(row) / row[0]])


def coverage(name: str, pool: Pool, groups: Partition, labels: Sequence[int], runs: int) -> None:
    """The share of groups whose pool value lies in its 95 % interval (target pool, items at random)."""
    case = labelled(pool, groups, labels)
    for prior in (fl.Uniform(), fl.Informed(), fl.Learned()):
        found = []
        for per in COVERED:
            held = []
            for run in range(runs):
                rng = np.random.default_rng([run, per])
                belief = case.believe(prior, "pool", rng.permutation(len(pool))[: per * len(groups)])
                held.append(inside(belief.draws(rng, DRAWS)[..., 0], case.truth))
            found.append(float(np.mean(held)))
        say("coverage", name, type(prior).__name__, runs, f"{COVERED} a group", found, 3)


def targeted(name: str, pool: Pool, groups: Partition, labels: Sequence[int], runs: int) -> None:
    """Coverage where labels are not at random: asked to find the least accurate group.

    Of the groups, as in `coverage`; of the accuracy over all items; and by how many points that is off on average.
    """
    case, task = labelled(pool, groups, labels), fl.Identify(fl.Accuracy(), lowest=1)
    true = float(case.weight @ case.truth)
    for who in ("learned+items+pool", "learned+thompson+pool", "learned+toptwo+pool", "learned+boundary+pool"):
        one = method(who)
        ask = asker(truth_of(pool, labels, groups, task, [one]), one)
        found = np.zeros((runs, 3, len(ASKED)))
        for run in range(runs):
            rng = np.random.default_rng([run, 5])
            order = ask(rng, ASKED[-1] * len(groups))
            for i, per in enumerate(ASKED):
                draws = case.believe(one.prior, "pool", order[: per * len(groups)]).draws(rng, DRAWS)[..., 0]
                overall = draws @ case.weight
                found[run, :, i] = inside(draws, case.truth), inside(overall, true), 100 * (overall.mean() - true)
        for what, row in zip(("groups", "overall", "off"), found.mean(axis=0).tolist(), strict=True):
            say("targeted", name, f"{who} {what}", runs, f"{ASKED} a group", row, 3)


def guesses(belief: Belief, case: Labelled, rng: np.random.Generator) -> dict[str, float]:
    """Single numbers that can stand for the ECE, from the belief about its bins."""
    weight, said = case.weight, case.said
    draws = belief.draws(rng, 2 * DRAWS)[..., 0]
    away = draws - said
    value = np.abs(away) @ weight
    order = np.argsort(value)
    below = np.cumsum(1 / value[order])
    settled = np.abs((away > 0).mean(axis=0) - (away < 0).mean(axis=0))
    return {
        "value at the means": float(weight @ np.abs(belief.mean()[:, 0] - said)),
        "mean": float(value.mean()),
        "median": float(np.median(value)),
        "median for relative error": float(value[order][np.searchsorted(below, below[-1] / 2)]),
        "weighted by settled signs": float(weight @ (settled * np.abs(away).mean(axis=0))),
        "less its variance": float(weight @ np.sqrt(np.maximum(away.mean(axis=0) ** 2 - away.var(axis=0), 0))),
        "value at the medians": float(weight @ np.abs(np.median(away, axis=0))),
    }


def bins(name: str, pool: Pool, labels: Sequence[int], runs: int) -> None:
    """RMSE × 100 of the accuracy of ten score bins of equal weight, and the error of their ECE in percent."""
    groups, budgets = fl.by_score(pool, 10, "weight"), (20, 50, 100)
    case = labelled(pool, groups, labels)
    true = float(case.weight @ np.abs(case.truth - case.said))
    for who in ("informed+thompson", "learned+items+pool", "learned+greedy+pool", "learned+thompson+pool"):
        one = method(who)
        ask = asker(truth_of(pool, labels, groups, fl.Estimate(fl.Accuracy()), [one]), one)
        squares = np.zeros(len(budgets))
        wrong: dict[str, NDArray[np.float64]] = {}
        for run in range(runs):
            rng = np.random.default_rng([run, 2])
            order = ask(rng, budgets[-1])
            for i, budget in enumerate(budgets):
                belief = case.believe(one.prior, one.target, order[:budget])
                squares[i] += case.rmse(belief) / runs
                for guess, value in guesses(belief, case, rng).items():
                    wrong.setdefault(guess, np.zeros(len(budgets)))[i] += 100 * abs(value - true) / true / runs
        say("bins", name, who, runs, budgets, squares.tolist())
        for guess, values in wrong.items():
            say("ece", name, f"{who}: {guess}", runs, budgets, values.tolist(), 1)


def small(name: str, pool: Pool, groups: Partition, labels: Sequence[int], runs: int) -> None:
    """RMSE × 100 on groups of at most 15 items, most of which get labelled."""
    ways: tuple[tuple[Prior, Target], ...] = (
        (fl.Uniform(), "population"),
        (fl.Informed(), "population"),
        (fl.Uniform(), "pool"),
        (fl.Informed(), "pool"),
        (fl.Learned(), "population"),
        (fl.Learned(), "pool"),
    )
    assert pool.confidence is not None
    shares = (0.1, 0.3, 0.5, 0.7, 0.9)
    found = np.zeros((len(ways), len(shares)))
    for run in range(runs):
        rng = np.random.default_rng([run, 3])
        order = rng.permutation(len(pool))
        rank = np.empty(len(pool), dtype=np.int64)
        by_group = order[np.argsort(groups.group[order], kind="stable")]
        rank[by_group] = np.arange(len(pool)) - np.searchsorted(groups.group[by_group], groups.group[by_group])
        few = np.flatnonzero(rank < 15)
        part = fl.read_pool(
            {"predicted": pool.predicted[few], "confidence": pool.confidence[few], "group": groups.group[few]},
            classes=list(pool.classes),
        )
        case = labelled(part, fl.by_column(part, "group"), np.array(labels)[few].tolist())
        asked = rng.permutation(len(few))
        for i, (prior, target) in enumerate(ways):
            for j, share in enumerate(shares):
                found[i, j] += case.rmse(case.believe(prior, target, asked[: round(share * len(few))])) / runs
    for (prior, target), row in zip(ways, found, strict=True):
        say("small", name, f"{type(prior).__name__} {target}", runs, f"{shares} of the items", row.tolist())


def unrelated(runs: int) -> None:
    """Error over that of the uniform prior where confidence is noise and groups have nothing in common."""
    per_group, found = (0.5, 1, 2, 5, 20), np.zeros((2, 5))
    for run in range(runs):
        rng = np.random.default_rng([run, 4])
        group = np.repeat(np.arange(40), 80)
        columns = {"predicted": ["a"] * 3200, "confidence": rng.uniform(0.3, 1, 3200), "group": group}
        pool = fl.read_pool(columns, classes=["a", "b"])
        labels = (rng.random(3200) > rng.random(40)[group]).astype(int).tolist()
        case = labelled(pool, fl.by_column(pool, "group"), labels)
        asked = rng.permutation(3200)
        for i, prior in enumerate((fl.Learned(), fl.Uniform())):
            for j, per in enumerate(per_group):
                found[i, j] += case.rmse(case.believe(prior, "pool", asked[: round(40 * per)])) / runs
    say("unrelated", "40 groups", "Learned over Uniform", runs, f"{per_group} a group", (found[0] / found[1]).tolist())


def differing(runs: int) -> None:
    """Coverage and error where groups differ twice as much as those of the surveyed classifiers: twelve, Beta(8, 2)."""
    per_group = (2, 5, 10, 17)
    priors = fl.Uniform(), fl.Learned()
    held, off = np.zeros((2, 4)), np.zeros((2, 4))
    for run in range(runs):
        rng = np.random.default_rng([run, 6])
        accuracy = rng.beta(8, 2, 12)
        group = np.concatenate([np.arange(12), rng.choice(12, 2988, p=rng.dirichlet(np.full(12, 3.0)))])
        right = rng.random(3000) < accuracy[group]
        confidence = np.clip(rng.normal(np.where(right, 0.88, 0.76), 0.12), 0.3, 0.999)
        columns = {"predicted": ["a"] * 3000, "confidence": confidence, "group": group}
        pool = fl.read_pool(columns, classes=["a", "b"])
        case = labelled(pool, fl.by_column(pool, "group"), (~right).astype(int).tolist())
        asked = rng.permutation(3000)
        for i, prior in enumerate(priors):
            for j, per in enumerate(per_group):
                belief = case.believe(prior, "pool", asked[: 12 * per])
                held[i, j] += inside(belief.draws(rng, DRAWS)[..., 0], case.truth) / runs
                off[i, j] += case.rmse(belief) / runs
    for i, prior in enumerate(priors):
        say(
            "differing", "12 groups", f"{type(prior).__name__} coverage", runs, f"{per_group} a group", held[i].tolist()
        )
        say("differing", "12 groups", f"{type(prior).__name__} error", runs, f"{per_group} a group", off[i].tolist())


def rows(name: str, pool: Pool, groups: Partition, labels: Sequence[int], runs: int) -> None:
    """Where labels show a class: error and coverage of the share right in each row, and coverage over all items."""
    metric, true = fl.Confusion(), np.array(labels, dtype=np.int32)
    cells = metric.cells(pool, groups)
    assert cells.right is not None
    outcome, weight = metric.outcome(pool, np.arange(len(pool)), true), cells.size / cells.size.sum()
    real = np.bincount(cells.cell, outcome == cells.right[cells.cell]) / cells.size
    for prior in (fl.Uniform(), fl.Informed(), fl.Learned()):
        found = np.zeros((3, len(COVERED)))
        for i, per in enumerate(COVERED):
            for run in range(runs):
                rng = np.random.default_rng([run, per, 7])
                items = rng.permutation(len(pool))[: per * len(groups)]
                belief = prior.on(cells, "pool").belief(Outcomes.of(cells, items, outcome[items]))
                draws = belief.draws(rng, DRAWS)[:, np.arange(len(cells)), cells.right]
                off = 100 * float(np.sqrt(weight @ (draws.mean(axis=0) - real) ** 2))
                held = inside(draws, real), inside(draws @ weight, float(weight @ real))
                found[:, i] += np.array([off, *held]) / runs
        for what, row in zip(("error", "groups", "overall"), found.tolist(), strict=True):
            say("rows", name, f"{type(prior).__name__} {what}", runs, f"{COVERED} a class", row, 2)


def sure(runs: int) -> None:
    """A classifier of ten classes whose scores are 0 and 1 and which is right four times in five, by both models."""
    rng = np.random.default_rng(8)
    predicted = np.repeat(np.arange(10), 200)
    right = rng.random(2000) < rng.uniform(0.7, 0.9, 10)[predicted]
    labels = np.where(right, predicted, (predicted + rng.integers(1, 10, 2000)) % 10).tolist()
    pool = fl.read_pool(np.eye(10)[predicted], classes=list("abcdefghij"))
    coverage("always sure", pool, fl.by_predicted(pool), labels, runs)
    rows("always sure", pool, fl.by_predicted(pool), labels, runs)


def builtin(runs: int, jobs: int) -> None:
    """The error on the built-in data: digits, whose confidences are nearly all 1, and clothes."""
    for name, load in (("digits", load_digits), ("fashion", load_fashion)):
        data = load()
        pool = fl.read_pool({"id": data.ids, "scores": data.scores}, classes=data.classes)
        groups, labels = fl.by_predicted(pool), [pool.classes.index(label) for label in data.labels]
        error(name, pool, groups, labels, runs, jobs)
        targeted(name, pool, groups, labels, max(runs // 10, 2))


def refit(times: int = 20) -> None:
    """Milliseconds of processor time of one refit at 100 and 1,000 groups, with its means."""
    for groups in (100, 1000):
        rng = np.random.default_rng(0)
        size = groups * 100
        confidence = rng.uniform(0.3, 1, size)
        columns = {"predicted": rng.integers(groups, size=size), "confidence": confidence}
        pool = fl.read_pool(columns, classes=[f"class {k}" for k in range(groups)])
        items = rng.permutation(size)[: groups * 5]
        cells = fl.Accuracy().cells(pool, fl.by_predicted(pool))
        case = Labelled(cells, (rng.random(size) > confidence).astype(np.int64))
        case.believe(fl.Learned(), "pool", items)
        taken = np.zeros((times, 2))
        for i in range(times):
            begin = time.process_time()
            belief = case.believe(fl.Learned(), "pool", items)
            taken[i, 0] = time.process_time() - begin
            belief.mean()
            taken[i, 1] = time.process_time() - begin
        found = (1e3 * np.median(taken, axis=0)).tolist()
        say("refit", f"{groups} groups", "ms: fit; fit and means", times, f"{len(items)} labels", found)
        refit_rows(groups, times)


def refit_rows(classes: int, times: int) -> None:
    """Milliseconds of one refit where labels show one of several classes, with five labels a class."""
    rng = np.random.default_rng(0)
    shares = 0.3 * rng.dirichlet(np.full(classes, 0.5), classes) + 0.7 * np.eye(classes)
    pool = fl.read_pool(np.repeat(shares, 5, axis=0))
    cells = fl.Confusion().cells(pool, fl.by_predicted(pool))
    shown = (rng.random((5 * classes, 1)) > np.cumsum(np.repeat(shares, 5, axis=0), axis=1)[:, :-1]).sum(axis=1)
    outcomes = Outcomes.of(cells, np.arange(5 * classes), shown)
    prior = fl.Learned().on(cells, "population")
    prior.belief(outcomes)
    taken = np.zeros((times, 2))
    for i in range(times):
        begin = time.process_time()
        belief = prior.belief(outcomes)
        taken[i, 0] = time.process_time() - begin
        belief.mean()
        taken[i, 1] = time.process_time() - begin
    found = (1e3 * np.median(taken, axis=0)).tolist()
    say("refit", f"{classes} classes", "ms: fit; fit and means", times, f"{outcomes.labels} labels", found)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pools", default=",".join(POOLS))
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--what", default="refit,unrelated,differing,sure,builtin")
    args = parser.parse_args()
    what = set(args.what.split(","))
    if "refit" in what:
        refit()
    if "unrelated" in what:
        unrelated(max(args.runs // 10, 2))
    if "differing" in what:
        differing(max(args.runs // 10, 2))
    if "sure" in what:
        sure(max(args.runs // 10, 2))
    if "builtin" in what:
        builtin(args.runs, args.jobs)
    if what & {"error", "coverage", "rows", "targeted", "bins", "small"}:
        if args.data is None:
            raise SystemExit("name the folder with the NPZ files by --data.")
        on_pools(args, what)


def on_pools(args: argparse.Namespace, what: set[str]) -> None:
    """Run the parts that need public predictions."""
    for name in args.pools.split(","):
        runs = max(args.runs // 5, 2) if name.startswith("imagenet") else args.runs
        pool, groups, labels = read(args.data, name)
        if "error" in what:
            error(name, pool, groups, labels, runs, args.jobs)
        if "coverage" in what:
            coverage(name, pool, groups, labels, runs)
        if "rows" in what:
            rows(name, pool, groups, labels, max(runs // 10, 2))
        if "targeted" in what:
            targeted(name, pool, groups, labels, max(runs // 10, 2))
        if "bins" in what:
            bins(name, pool, labels, runs)
        if "small" in what:
            small(name, pool, groups, labels, max(runs // 2, 2))


if __name__ == "__main__":
    main()
