"""Groups by columns, such as site or sex: what doubt about how much they differ costs, and what it is good for.

python -m benchmarks.columns [--data DIR] [--pools compas,adult] [--worlds 40] [--what asked,read]

asked: groups of asking that come from a column. RMSE × 100 over items, coverage and mean width of the 95 % intervals of
groups, at 2, 5 and 10 random labels a group, from the same labels: with the present prior of τ for columns, with one
that expects groups to be alike (0.1 with probability 0.6, 0.2 with 0.2, 0.43 with 0.1, 0.9 with 0.07, 2 with 0.03), and
by Platt's curve averaged in each group. The pools of DIR that are named, then made worlds of four and of eight sites
whose effects on the log-odds have this standard deviation.
read: columns by which nobody asked. Coverage and width at 200 and 500 labels, asked for to estimate each predicted
class; another world in each run, as `made:1` of `benchmarks/honest.py` is only one.

Target pool. The standard errors are over worlds, or over runs where the pool is the same.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, logit

import fewlabels as fl
from benchmarks.honest import POLICIES, Known, Other, known, score
from benchmarks.made_pools import made
from benchmarks.posterior import DRAWS, PER_GROUP, drawn, platt, rmse
from fewlabels.policies.anchors import default_anchor
from fewlabels.simulation.methods import method
from fewlabels.simulation.order import asker_with_anchors
from fewlabels.simulation.truth import truth as truth_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fewlabels.partition import Partition
    from fewlabels.pool import Pool

ALIKE = np.array([0.6, 0.2, 0.1, 0.07, 0.03])
LABELS = (200, 500)
SITES, ITEMS = (4, 8), 3000
RUNS_OF_A_WORLD = 3


def case_of(name: str, pool: Pool, groups: Partition, labels: list[int]) -> Known:
    """A pool with its labels, asked about by these groups."""
    metric = fl.Accuracy()
    outcome = metric.outcome(pool, np.arange(len(pool)), np.array(labels, dtype=np.int32))
    return Known(name, pool, groups, labels, metric.cells(pool, groups), outcome)


def world(effect: float, sites: int, seed: int) -> Known:
    """A classifier of two classes at some sites, with a gap and a slope as surveyed ones have."""
    rng = np.random.default_rng([seed, sites, 77])
    site = rng.choice(sites, ITEMS, p=rng.dirichlet(np.full(sites, 5.0)))
    s, predicted = np.clip(rng.beta(6, 1.5, ITEMS), 0.5, 0.9999), rng.integers(2, size=ITEMS)
    odds = rng.normal(-0.3, 0.4) + rng.normal(0.8, 0.2) * logit(s) + rng.normal(0, effect, sites)[site]
    right = rng.random(ITEMS) < expit(odds)
    columns = {"predicted": [str(k) for k in predicted], "confidence": s, "site": [f"s{k}" for k in site]}
    pool = fl.read_pool(columns, classes=["0", "1"])
    return case_of(
        f"{sites} sites, {effect}", pool, fl.by_column(pool, "site"), np.where(right, predicted, 1 - predicted).tolist()
    )


def one_run(case: Known, per: int, run: int) -> NDArray[np.float64]:
    """RMSE, coverage and width of the learned prior, and the RMSE of Platt's curve: shape (4,)."""
    items = drawn(case, per * len(case.groups), run)
    belief = case.believe(items)
    cover, width, *_ = score(belief.draws(np.random.default_rng(0), DRAWS)[..., 0], case.truth)
    assert case.pool.confidence is not None
    s, right = np.clip(case.pool.confidence, 1e-4, 1 - 1e-4), (case.outcome[items] == 0).astype(float)
    curve = platt(s[items], right, s)
    curve[items] = right
    rival = np.bincount(case.cells.cell, curve) / case.cells.size
    return np.array([rmse(case, belief.mean()[:, 0]), 100 * cover, width, rmse(case, rival)])


def asked(name: str, cases: Sequence[Known], runs: int) -> None:
    """Both priors on the same labels, and the rival."""
    module: Any = sys.modules["fewlabels.learned.items.differing"]
    usual = module.COLUMNS_TAU_PRIOR
    for who, prior in (("present", usual), ("alike", ALIKE)):
        module.COLUMNS_TAU_PRIOR = prior
        found = [[[one_run(case, per, run) for run in range(runs)] for case in cases] for per in PER_GROUP]
        each = np.array(found).reshape(len(PER_GROUP), -1, 4) if len(cases) == 1 else np.mean(found, axis=2)
        say("asked", name, who, each, ("RMSE", "held", "width", "Platt's RMSE"))
    module.COLUMNS_TAU_PRIOR = usual


def say(what: str, name: str, who: str, each: NDArray[np.float64], numbers: Sequence[str]) -> None:
    """Means and standard errors of numbers of shape (budgets, worlds, numbers)."""
    mean, error = each.mean(axis=1), each.std(axis=1, ddof=1) / np.sqrt(each.shape[1])
    for k, number in enumerate(numbers):
        row = "  ".join(f"{a:5.2f} ± {b:.2f}" for a, b in zip(mean[:, k], error[:, k], strict=True))
        print(f"{what:6s} {name:14s} {who:9s} {number:13s} {row}", flush=True)


def read(effect: float, worlds: int) -> None:
    """Columns of worlds with eight classes, six languages and three tiers."""
    task, who = POLICIES["estimate"]
    found: dict[str, list[list[list[float]]]] = {"lang": [], "tier": []}
    for seed in range(worlds):
        pool, labels = made(effect, seed)
        case, one = case_of("made", pool, fl.by_predicted(pool), labels), method(who)
        one = replace(one, anchor=default_anchor(task, one.prior, one.policy, case.cells))
        ask = asker_with_anchors(truth_of(pool, labels, case.groups, task, [one]), one)
        rng = np.random.default_rng([seed, 5])
        order, _ = ask(rng, LABELS[-1])
        for column, rows in found.items():
            other = Other.of(case, column, fl.Accuracy(), fl.by_column(pool, column))
            rows.append([other.row(case, order[:labelled], None, rng)[:2] for labelled in LABELS])
    for column, rows in found.items():
        each = np.array(rows).swapaxes(0, 1) * [100, 1]
        say("read", f"effect {effect}", column, each, ("held", "width"))


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pools", default="")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--worlds", type=int, default=40)
    parser.add_argument("--effects", default="0,0.2,0.5,1")
    parser.add_argument("--what", default="asked,read")
    args = parser.parse_args()
    effects = [float(effect) for effect in args.effects.split(",")]
    if "asked" in args.what.split(","):
        for name in filter(None, args.pools.split(",")):
            asked(name, [known(name, args.data)], args.runs)
        for sites, effect in ((sites, effect) for sites in SITES for effect in effects):
            cases = [world(effect, sites, seed) for seed in range(args.worlds)]
            asked(f"{sites} sites, {effect}", cases, RUNS_OF_A_WORLD)
    if "read" in args.what.split(","):
        for effect in effects:
            read(effect, args.worlds)


if __name__ == "__main__":
    main()
