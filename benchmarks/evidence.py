"""What a judge is worth: error and coverage with evidence columns, and the overall number beside PPI++.

python benchmarks/evidence.py [--data DIR] [--pools svhn,adult] [--labels 100] [--runs 100] [--what judges,ppi|systems]

Judges are made from the truth, since the pools have none: "good" says whether the prediction is right and is wrong in a
tenth of the items, "inverted" says the opposite, "useless" passes 70 % at random, "three" are three judges that err in
a fifth of the items, half of the time together, and "score" is a number with noise. Labels are at random; the target
is the pool.

judges  The RMSE of the groups and of the number over all items, in percentage points without evidence and then as a
        ratio to that; and the share of true values inside their 95 % intervals. Once with the classifier's confidences,
        and once without any ("verdicts only").
ppi     The number over all items with a good judge and no confidences: our interval beside that of PPI++ (with power
        tuning), whose predictions are the same verdicts. Width in percentage points, coverage, and the width that an
        interval would have if it were stretched or shrunk until it contains the truth in just 95 % of the runs.
systems Made worlds: three systems with 300 answers each, and a judge that is equally good about all of them. The true
        pass rate of single systems, of all answers, and the difference of the first two systems: coverage, width, bias
        and RMSE in percentage points. It needs no pools.

With the package ppi-python on the path, ppi++ is checked against it.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

import fewlabels as fl
from fewlabels.estimates import interval
from fewlabels.outcomes import Outcomes

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.honest import BUILT_IN, known
from benchmarks.overall import check_ppi, ppi

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from benchmarks.honest import Known
    from fewlabels.pool import Pool

    Values = NDArray[np.float64]
    Flags = NDArray[np.bool_]

# The constants were chosen on the first three; the others were looked at once.
POOLS = ("adult", "svhn", "stance_gpt4o")
ASIDE = ("compas", "newsgroups", "cifar10h", "cifar100", "dbpedia")
DRAWS = 400
WIDTH = 14


def flipped(rng: np.random.Generator, right: Flags, share: float) -> Flags:
    """A judge that is wrong about a share of the items."""
    verdict: Flags = np.where(rng.random(len(right)) < share, ~right, right)
    return verdict


def three(rng: np.random.Generator, right: Flags) -> dict[str, Flags | Values]:
    """Three judges that err in a fifth of the items, half of the time in the same ones."""
    common, together = flipped(rng, right, 0.2), rng.random(len(right)) < 0.5
    return {f"judge{j}": np.where(together, common, flipped(rng, right, 0.2)) for j in range(3)}


JUDGES: dict[str, Callable[[np.random.Generator, Flags], dict[str, Flags | Values]]] = {
    "none": lambda _, right: {},  # noqa: ARG005
    "useless": lambda rng, right: {"judge": rng.random(len(right)) < 0.7},
    "inverted": lambda rng, right: {"judge": ~flipped(rng, right, 0.1)},
    "good": lambda rng, right: {"judge": flipped(rng, right, 0.1)},
    "three": three,
    "score": lambda rng, right: {"judge": right + 0.6 * rng.normal(size=len(right))},
}


def judged(pool: Pool, columns: dict[str, Flags | Values], *, scored: bool) -> Pool:
    """The pool with evidence columns, and with its confidences or without."""
    table = pa.table({name: pa.array(values) for name, values in columns.items()}) if columns else None
    pool = replace(pool, columns=table, evidence=tuple(columns))
    return pool if scored else replace(pool, confidence=None, score_sums=None)


class Found(NamedTuple):
    """Squared errors of groups and of the number over all items, whether each was inside, and the width of the last."""

    groups: float
    overall: float
    inside: float
    overall_inside: float
    width: float


def learn(case: Known, pool: Pool, items: NDArray[np.int64], groups: fl.Partition) -> Found:
    """What the learned prior says after some labels, against the truth."""
    cells = fl.Accuracy().cells(pool, groups)
    wrong = case.outcome
    belief = fl.Learned().on(cells, "pool").belief(Outcomes.of(cells, items, wrong[items]))
    draws = belief.draws(np.random.default_rng(0), DRAWS)[..., 0]
    real = 1 - np.bincount(cells.cell, wrong) / cells.size
    share, every = cells.size / cells.size.sum(), 1 - wrong.mean()
    over_all = draws @ share
    low, high = interval(draws, 0.95)
    least, most = interval(over_all, 0.95)
    # Means of draws would be off by a twentieth of a standard deviation.
    means = belief.mean()[:, 0]
    return Found(
        float(share @ (means - real) ** 2),
        float((share @ means - every) ** 2),
        float(((low <= real + 1e-9) & (real <= high + 1e-9)).mean()),
        float(least <= every <= most),
        float(most - least),
    )


def judges(case: Known, labels: int, runs: int, *, scored: bool) -> None:
    """Print a line for each kind of judge."""
    base: Found | None = None
    for kind, make in JUDGES.items():
        rows = []
        for run in range(runs):
            rng = np.random.default_rng([run, labels])
            items = rng.choice(len(case.pool), labels, replace=False)
            pool = judged(case.pool, make(rng, case.outcome == 0), scored=scored)
            rows.append(learn(case, pool, items, case.groups))
        found = Found(*np.array(rows).mean(axis=0))
        base = base or found
        error = [np.sqrt(of / than) for of, than in zip(found[:2], base[:2], strict=True)]
        if kind == "none":
            error = [100 * np.sqrt(of) for of in found[:2]]
        said = "with confidences" if scored else "verdicts only"
        print(
            f"{case.name:{WIDTH}} {said:17} {kind:9} groups {error[0]:5.2f} overall {error[1]:5.2f}   "
            f"inside {found.inside:.3f} overall {found.overall_inside:.3f}",
            flush=True,
        )


def beside_ppi(case: Known, labels: int, runs: int) -> None:
    """Print width and coverage of the number over all items, ours and that of PPI++ with the same labels."""
    right, ours, theirs = case.outcome == 0, [], []
    for run in range(runs):
        rng = np.random.default_rng([run, labels])
        verdict = flipped(rng, right, 0.1)
        seed = int(rng.integers(2**31))
        items = np.random.default_rng(seed).choice(len(right), labels, replace=False)
        found = learn(case, judged(case.pool, {"judge": verdict}, scored=False), items, fl.whole(case.pool))
        peer = ppi(verdict.astype(float), right.astype(float), labels, np.random.default_rng(seed))
        ours.append((np.sqrt(found.overall), found.width, found.overall_inside))
        inside = float(peer.low <= right.mean() <= peer.high)
        theirs.append((abs(peer.mean - right.mean()), peer.high - peer.low, inside))
    for name, rows in (("ours", ours), ("ppi++", theirs)):
        off, width, inside = np.array(rows).T
        fair = width.mean() * float(np.quantile(off / (width / 2), 0.95))
        error = 100 * np.sqrt((off**2).mean())
        words = f"RMSE {error:5.2f}  width {100 * width.mean():5.2f}  inside {inside.mean():.3f}"
        print(
            f"{case.name:{WIDTH}} {labels} labels, a good judge  {name:6} {words}  at 95 % {100 * fair:5.2f}",
            flush=True,
        )


class World(NamedTuple):
    """What a judge passes of good answers and fails of bad ones, how many of each system's people pass, and labels."""

    tpr: float
    tnr: float
    rates: tuple[float, float, float]
    labels: int


# The slope of verdicts was chosen on the first; the others were looked at once.
WORLDS = (
    World(0.95, 0.6, (0.72, 0.6, 0.66), 90),
    World(0.88, 0.88, (0.72, 0.6, 0.66), 90),
    World(0.9, 0.85, (0.9, 0.8, 0.85), 120),
)


def systems(world: World, runs: int) -> None:
    """Print how the pass rates of systems, of all answers, and a difference are found."""
    found: dict[str, list[tuple[float, float, float]]] = {"systems": [], "all": [], "difference": []}
    system = np.arange(900) % 3
    for run in range(runs):
        rng = np.random.default_rng([run, int(100 * world.tpr), int(100 * world.tnr)])
        good = rng.random(900) < np.array(world.rates)[system]
        passed = np.where(good, rng.random(900) < world.tpr, rng.random(900) >= world.tnr)
        columns = {"judge": np.where(passed, "pass", "fail"), "system": np.array(["a", "b", "c"])[system]}
        pool = fl.read_pool(columns, predicted="judge", classes=["fail", "pass"])
        task = fl.Estimate(fl.Prevalence("pass"))
        audit = fl.create(None, "x", pool, fl.by_column(pool, "system"), task=task, target="pool", seed=run)
        audit.tell({item: "pass" if good[int(item)] else "fail" for item in audit.ask(world.labels).ids})
        draws, true = audit.draws(1_500), np.array([good[system == k].mean() for k in range(3)])
        together = audit.draws(1_500, groups=fl.whole(pool))[:, 0]
        found["systems"] += [_off(draws[:, k], true[k]) for k in range(3)]
        found["all"].append(_off(together, good.mean()))
        found["difference"].append(_off(draws[:, 0] - draws[:, 1], true[0] - true[1]))
    for name, rows in found.items():
        off, inside, width = np.array(rows).T
        words = f"inside {inside.mean():.3f}  width {100 * width.mean():5.2f}  bias {100 * off.mean():+5.2f}"
        judge = f"passes {world.tpr:.0%}, fails {world.tnr:.0%}"
        print(
            f"{judge:26} {world.labels} labels  {name:11} {words}  RMSE {100 * np.sqrt((off**2).mean()):5.2f}",
            flush=True,
        )


def _off(draws: Values, true: float) -> tuple[float, float, float]:
    """How far the mean of draws is from the truth, whether that is inside the 95 % interval, and its width."""
    low, high = interval(draws, 0.95)
    return float(draws.mean() - true), float(low <= true <= high), float(high - low)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of NPZ files")
    parser.add_argument("--pools", help="names, with commas")
    parser.add_argument("--labels", default="100")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--what", default="judges,ppi")
    asked = parser.parse_args()
    names = asked.pools.split(",") if asked.pools else [*POOLS, *ASIDE] if asked.data else list(BUILT_IN)
    if "systems" in asked.what:
        for world in WORLDS:
            systems(world, asked.runs)
        return
    check_ppi()
    for name in names:
        case = known(name, asked.data)
        for labels in map(int, asked.labels.split(",")):
            if "judges" in asked.what:
                for scored in (True, False) if case.pool.confidence is not None else (False,):
                    judges(case, labels, asked.runs, scored=scored)
            if "ppi" in asked.what:
                beside_ppi(case, labels, asked.runs)


if __name__ == "__main__":
    main()
