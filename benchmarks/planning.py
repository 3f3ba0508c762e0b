"""Do forecasts and plans come true? In worlds from the prior, and on real classifiers.

python benchmarks/planning.py [--what prior,real,shown,plan,speed,table] [--data DIR] [--pools svhn,adult] [--runs 20]

prior: assessments in worlds from their own prior: how often the number of labels that it took lay in the 80 % range.
real:  the same for real classifiers, with worlds from the assessment's own prior and from the learned one; and in how
       many of the runs that stopped the answer was right, or the interval held.
shown: whole assessments of real classifiers, by class and of all items as one group, that go on until the interval of
       the average that they show is --width wide.
plan:  the recommended budget beside the number of labels by which 80 % of the runs on the real labels met the rule.
speed: CPU seconds of one plan and one forecast, and how often the interval of the average held in the plan's worlds.
table: plans of a table of 200,000 items, by 20 seeds, and of the same items in memory: how often that interval held.

DIR has NPZ files of predictions with labels (only for real, shown and plan); the pool clothes is built in.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import fewlabels as fl
from fewlabels.engines import Columns
from fewlabels.engines.opening import open_table
from fewlabels.io.tables import read_table
from fewlabels.outcomes import Outcomes
from fewlabels.planning import forecast, plan
from fewlabels.planning.budgets import first_game
from fewlabels.planning.forecasting import game_of
from fewlabels.planning.watching import Watch, quantile
from fewlabels.planning.worlds import World, draw_world
from fewlabels.policies import default_policy
from fewlabels.spec import Spec
from fewlabels.stopping import Stop

if TYPE_CHECKING:
    from fewlabels.planning import Forecast
    from fewlabels.planning.asking import Game
    from fewlabels.priors import Prior
    from fewlabels.tasks import Task

POOLS = ("svhn", "newsgroups", "stance_gpt4o", "adult", "cifar10h")
MOST = 1_000  # labels to go on with at most
RUNS = 9  # worlds of a forecast: their least and greatest hold the next one in 80 % of cases
ACCURACY = fl.Accuracy()


@dataclass(frozen=True)
class Case:
    """A question on a pool, its rule, and the prior of the assessment."""

    pool: fl.Pool
    groups: fl.Partition
    task: Task
    stop: Stop
    prior: Prior

    @property
    def name(self) -> str:
        return f"{type(self.task).__name__:8s} {self.stop.rules} {type(self.prior).__name__:7s}"


def begin(case: Case, world: World, labels: int, seed: int) -> fl.Assessment:
    """An assessment with a number of labels, asked for ten at a time."""
    audit = fl.create(None, "run", case.pool, case.groups, task=case.task, prior=case.prior, stop=case.stop, seed=seed)
    while audit.labelled < labels:
        answer(audit, world, 10)
    return audit


def answer(audit: fl.Assessment, world: World, count: int) -> None:
    """Let the assessment ask for some items, and answer."""
    classes, predicted = audit.pool.classes, audit.pool.predicted
    ids = audit.ask(count).ids
    at = audit.pool.positions(ids)
    # What the label is does not matter to accuracy, only whether it is the predicted class.
    wrong = world.outcome[at]
    audit.tell({i: classes[(predicted[k] + w) % len(classes)] for i, k, w in zip(ids, at, wrong, strict=True)})


def needed(game: Game, world: World, stop: Stop, seed: int) -> tuple[float, float]:
    """The further labels until the rule is met (infinite beyond MOST), and whether its claim was true then."""
    rng, labels = np.random.default_rng([seed, 9]), game.known.labels
    watch, truth = Watch(game, stop), game.truth(world)
    for look in game.play(world, rng, labels + MOST):
        met = watch.met(look, rng)
        if met is not None:
            return met.labels - labels, met.snapshot.honesty(met.rule, truth)
    return np.inf, np.nan


def inside(seen: Forecast, more: float) -> bool:
    """Whether a number of labels lies in the range, whose ends may be beyond what was tried."""
    low, high = (np.inf if end is None else end for end in (seen.low, seen.high))
    return low <= more <= high


def line(name: str, seen: list[tuple[Forecast, float, float]]) -> None:
    hits = [inside(one, more) for one, more, _ in seen]
    below = [more < (np.inf if one.low is None else one.low) for one, more, _ in seen]
    both = [(one.more, more) for one, more, _ in seen if one.more is not None and np.isfinite(more)]
    ratio = f"{np.median([said / max(more, 1) for said, more in both]):.2f}" if both else "-"
    true = [honest for _, _, honest in seen if np.isfinite(honest)]
    print(
        f"{name}: in the 80 % range {np.mean(hits):4.0%} (below {np.mean(below):4.0%}) of {len(hits)}; "
        f"foreseen ÷ actual {ratio}; stopped {len(true)}, true in {_percent(float(np.mean(true)) if true else None)}",
        flush=True,
    )


def prior_worlds(runs: int) -> None:
    """Worlds from the assessment's own prior."""
    rng = np.random.default_rng(0)
    for groups in (5, 20):
        columns = {"predicted": rng.integers(groups, size=4_000), "confidence": rng.beta(5, 1, 4_000)}
        pool = fl.read_pool(columns, classes=[f"c{k}" for k in range(groups)])
        for prior in (fl.Uniform(), fl.Informed(10), fl.Learned()):
            for task, stop in (
                (fl.Identify(ACCURACY, lowest=1), Stop(probability=0.95)),
                (fl.Estimate(ACCURACY), Stop(width=0.3)),
            ):
                case = Case(pool, fl.by_predicted(pool), task, stop, prior)
                line(f"prior    {groups:3d} groups  {case.name}", [prior_run(case, run) for run in range(runs)])


def prior_run(case: Case, run: int) -> tuple[Forecast, float, float]:
    spec = Spec(case.task, case.groups.recipe, case.prior, fl.Thompson())
    cells = spec.cells(case.pool, case.groups)
    blank = case.prior.on(cells, "population").blank()
    world = draw_world(blank, cells, Outcomes.none(cells), np.random.default_rng([run, 5]))
    audit = begin(case, world, 40, run)
    return forecast(audit, runs=RUNS, most=MOST, seed=run, worlds=case.prior), *needed(
        game_of(audit), world, case.stop, run
    )


def read(folder: Path, name: str) -> tuple[fl.Pool, fl.Partition, World]:
    """A pool, its groups (sex × race where there are such columns, else predicted classes) and its truth."""
    path = folder / f"{name}.npz"
    if name == "clothes":
        clothes = fl.load_fashion()
        pool = fl.read_pool({"id": clothes.ids, "scores": clothes.scores}, classes=clothes.classes)
        labels = pool.class_positions(list(clothes.labels))
    elif path.exists():
        pool, labels = fl.read_pool(path), np.load(path, allow_pickle=False)["labels"]
    else:
        raise SystemExit(f"there is no {path}. Name the folder with the NPZ files by --data.")
    fair = pool.columns is not None and {"sex", "race"} <= set(pool.columns.column_names)
    groups = fl.cross(fl.by_column(pool, "sex"), fl.by_column(pool, "race")) if fair else fl.by_predicted(pool)
    outcome = (pool.predicted != labels).astype(np.int64)
    cells = ACCURACY.cells(pool, groups)
    wrong = np.bincount(cells.cell, outcome) / cells.size
    return pool, groups, World(outcome, outcome == 0, np.column_stack([1 - wrong, wrong]))


def cases(pool: fl.Pool, groups: fl.Partition) -> list[Case]:
    """Two questions under two priors."""
    asked: tuple[tuple[Task, Stop], ...] = (
        (fl.Identify(ACCURACY, lowest=1), Stop(probability=0.95)),
        (fl.Estimate(ACCURACY), Stop(overall=0.05)),
    )
    priors: tuple[Prior, ...] = (fl.Uniform(), fl.Learned())
    return [Case(pool, groups, task, stop, prior) for task, stop in asked for prior in priors]


def real_worlds(folder: Path, name: str, runs: int) -> None:
    """Forecasts at 60 labels, and how many more it took."""
    pool, groups, world = read(folder, name)
    for case in cases(pool, groups):
        seen: dict[str, list[tuple[Forecast, float, float]]] = {"own": [], "learned": []}
        for run in range(runs):
            audit = begin(case, world, 60, run)
            game = game_of(audit)
            found = needed(game, world, case.stop, run)
            for source, worlds in (("own", case.prior), ("learned", fl.Learned())):
                if source == "own" or not isinstance(case.prior, fl.Learned):
                    seen[source].append((forecast(audit, runs=RUNS, most=MOST, seed=run, worlds=worlds), *found))
        for source, some in seen.items():
            if some:
                line(f"real     {name:12s} {case.name} worlds {source:7s}", some)


def shown_worlds(folder: Path, name: str, runs: int, width: float) -> None:
    """Forecasts of the interval of the average at 60 labels, and when the assessment itself showed that width."""
    pool, _, world = read(folder, name)
    for how, groups in (("classes", fl.by_predicted(pool)), ("all", fl.whole(pool))):
        case = Case(pool, groups, fl.Estimate(ACCURACY), Stop(overall=width), fl.Learned())
        line(f"shown    {name:12s} {how:8s} {case.name}", [shown_run(case, world, run) for run in range(runs)])


def shown_run(case: Case, world: World, run: int) -> tuple[Forecast, float, float]:
    audit = begin(case, world, 60, run)
    seen, before = forecast(audit, most=MOST, seed=run), audit.labelled
    while not (met := audit.standing().reached) and audit.labelled < before + MOST:
        answer(audit, world, 5)
    row = next(iter(audit.estimates(groups=fl.whole(case.pool)).rows()))
    held = row["low"] <= world.is_right.mean() <= row["high"]
    return (seen, audit.labelled - before, float(held)) if met else (seen, np.inf, np.nan)


def real_plans(folder: Path, name: str, runs: int) -> None:
    """Recommended budgets, and what it took."""
    pool, groups, world = read(folder, name)
    for case in cases(pool, groups):
        made = plan(pool, groups, task=case.task, prior=case.prior, stop=case.stop, runs=40)
        spec = Spec(case.task, groups.recipe, case.prior, default_policy(case.task, case.prior), stop=case.stop)
        game = first_game(spec, pool, groups, usual=True)
        took = [needed(game, world, case.stop, run) for run in range(runs)]
        true = [honest for _, honest in took if np.isfinite(honest)]
        print(
            f"plan     {name:12s} {case.name}: recommended {made.recommended}, true in {_percent(made.honesty)}; "
            f"80 % of {runs} runs had it after {quantile([more for more, _ in took], 0.8):.0f}, "
            f"true in {_percent(float(np.mean(true)) if true else None)}",
            flush=True,
        )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def speed(sizes: list[int]) -> None:
    """CPU seconds of one plan and one forecast (with 50 labels told)."""
    for groups, items in ((groups, {10: 1_000, 100: 100}.get(groups, 50)) for groups in sizes):
        rng = np.random.default_rng(0)
        confidence = rng.beta(6, 1.5, groups * items)
        columns = {"predicted": rng.integers(groups, size=groups * items), "confidence": confidence}
        pool = fl.read_pool(columns, classes=[f"c{k}" for k in range(groups)])
        right = rng.random(len(pool)) <= confidence
        world = World((~right).astype(np.int64), right, np.empty((groups, 2)))
        for prior in (fl.Uniform(), fl.Learned()):
            for task, stop in (
                (fl.Estimate(ACCURACY), Stop(overall=0.05)),
                (fl.Identify(ACCURACY, lowest=1), Stop(probability=0.95)),
            ):
                case = Case(pool, fl.by_predicted(pool), task, stop, prior)
                start = time.process_time()
                made = plan(pool, task=task, prior=prior, stop=stop)
                middle = time.process_time()
                audit = begin(case, world, 50, 0)
                begun = time.process_time()
                seen = forecast(audit)
                first = f"plan {middle - start:5.1f} s ({made.table.settings['runs']} worlds)"
                last = f"forecast {time.process_time() - begun:4.1f} s ({seen.runs} worlds)"
                held = f"after 100 labels the interval of the average held in {made.table['held'][1]:.0%} of the worlds"
                print(f"speed    {groups:5,d} groups  {case.name}: {first}, {last}; {held}", flush=True)


def tables(groups: int, runs: int) -> None:
    """How often the interval of the average holds in the worlds of plans: of a table, and of its items in memory."""
    budgets, seeds = [200, 500], 20
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/a.parquet"
        rng = np.random.default_rng(0)
        columns = {
            "id": pa.array(np.arange(200_000)),
            "predicted": pa.array(rng.integers(groups, size=200_000)),
            "confidence": pa.array(1 - 0.9 * rng.random(200_000) ** 2),
        }
        parquet.write_table(pa.table(columns), file)
        for name in (f"{folder}/*.parquet", file):
            held = []
            for seed in range(seeds):
                if name == file:
                    pool = fl.read_pool(name)
                else:
                    with open_table(name) as table:  # as the command does, without items of the table
                        pool = read_table(table, Columns("id", "predicted", "confidence"), seed=seed, to_ask=False)
                held.append(plan(pool, budgets=budgets, runs=runs, seed=seed).table["held"])
            for labels, share in zip(budgets, np.mean(held, axis=0).tolist(), strict=True):
                error = (share * (1 - share) / (seeds * runs)) ** 0.5
                where = "memory" if name == file else "table "
                worlds = f"{100 * share:.1f} ± {100 * error:.1f}% of {seeds * runs} worlds"
                print(f"{where}   {groups:,} groups, {labels} labels: held in {worlds}", flush=True)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", default="prior")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pools", default=",".join(POOLS))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--width", type=float, default=0.06, help="with --what shown")
    parser.add_argument(
        "--groups", type=int, nargs="+", default=[10, 100, 1_000], help="with --what speed; with table the last"
    )
    args = parser.parse_args()
    if "prior" in args.what:
        prior_worlds(args.runs)
    if "speed" in args.what:
        speed(args.groups)
    if "table" in args.what:
        tables(args.groups[-1], args.runs)
    for name in args.pools.split(",") if {"real", "plan", "shown"} & {*args.what.split(",")} else ():
        if args.data is None and name != "clothes":
            raise SystemExit("name the folder with the NPZ files by --data.")
        if "shown" in args.what:
            shown_worlds(args.data or Path(), name, args.runs, args.width)
        if "real" in args.what:
            real_worlds(args.data, name, args.runs)
        if "plan" in args.what:
            real_plans(args.data, name, args.runs)


if __name__ == "__main__":
    main()
