"""Do forecasts and plans come true? In worlds from the prior, and on real classifiers.

python benchmarks/planning.py [--what prior,real,plan,speed] [--data DIR] [--pools svhn,adult] [--runs 20]

prior: assessments in worlds from their own prior: how often the number of labels that it took lay in the 80 % range.
real:  the same for real classifiers, with worlds from the assessment's own prior and from the learned one; and in how
       many of the runs that stopped the answer was right, or the interval held.
plan:  the recommended budget beside the number of labels by which 80 % of the runs on the real labels met the rule.
speed: CPU seconds of one plan and one forecast, and how often the interval of the average held in the plan's worlds.

DIR has NPZ files of predictions with labels (only for real and plan).
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import fewlabels as fl
from fewlabels.outcomes import Outcomes
from fewlabels.planning import forecast, plan
from fewlabels.planning.asking import Game
from fewlabels.planning.watching import Watch, quantile
from fewlabels.planning.worlds import World, draw_world
from fewlabels.spec import Spec
from fewlabels.stopping import Stop

if TYPE_CHECKING:
    from fewlabels.planning import Forecast
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
    classes, predicted = case.pool.classes, case.pool.predicted
    while len(audit.labels()) < labels:
        ids = audit.ask(10).ids
        at = case.pool.positions(ids)
        # What the label is does not matter to accuracy, only whether it is the predicted class.
        wrong = world.outcome[at]
        audit.tell({i: classes[(predicted[k] + w) % len(classes)] for i, k, w in zip(ids, at, wrong, strict=True)})
    return audit


def game_of(audit: fl.Assessment) -> Game:
    """The present state of the assessment, to be played on."""
    cells = audit.spec.cells(audit.pool, audit.groups)
    told = audit.labels()
    items = audit.pool.positions(list(told))
    true = audit.pool.class_positions(list(told.values()))
    return Game(audit.spec, cells, audit.spec.task.metric.outcomes(audit.pool, cells, items, true))


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
    if not path.exists():
        raise SystemExit(f"there is no {path}. Name the folder with the NPZ files by --data.")
    pool = fl.read_pool(path)
    fair = pool.columns is not None and {"sex", "race"} <= set(pool.columns.column_names)
    groups = fl.cross(fl.by_column(pool, "sex"), fl.by_column(pool, "race")) if fair else fl.by_predicted(pool)
    with np.load(path, allow_pickle=False) as file:
        outcome = (pool.predicted != file["labels"]).astype(np.int64)
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


def real_plans(folder: Path, name: str, runs: int) -> None:
    """Recommended budgets, and what it took."""
    pool, groups, world = read(folder, name)
    for case in cases(pool, groups):
        made = plan(pool, groups, task=case.task, prior=case.prior, stop=case.stop, runs=40)
        spec = Spec(case.task, groups.recipe, case.prior, fl.Thompson(), stop=case.stop)
        cells_ = spec.cells(pool, groups)
        game = Game(spec, cells_, Outcomes.none(cells_))
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


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", default="prior")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pools", default=",".join(POOLS))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--groups", type=int, nargs="+", default=[10, 100, 1_000], help="with --what speed")
    args = parser.parse_args()
    if "prior" in args.what:
        prior_worlds(args.runs)
    if "speed" in args.what:
        speed(args.groups)
    for name in args.pools.split(",") if "real" in args.what or "plan" in args.what else ():
        if args.data is None:
            raise SystemExit("name the folder with the NPZ files by --data.")
        if "real" in args.what:
            real_worlds(args.data, name, args.runs)
        if "plan" in args.what:
            real_plans(args.data, name, args.runs)


if __name__ == "__main__":
    main()
