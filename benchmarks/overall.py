"""How often is it right, over all items? fewlabels beside the usual ways to estimate one mean from few labels.

python benchmarks/overall.py [--data DIR] [--pools svhn,compas] [--labels 200] [--runs 200] [--methods neyman,ours]

Every method gets the same pool: a confidence for each item, and as many labels as it may ask for. The truth is the
accuracy over exactly these items. Printed are RMSE, bias and mean width of the 95 % interval, in percentage points, and
the share of runs whose interval contains the truth. The peers are short, so they get ten times the runs.

random      the plain mean of labels at random
ppi++       prediction-powered inference with power tuning (Angelopoulos, Duchi and Zrnic 2023): mean of y − λs over
            labels at random, plus λ times the mean s of the pool
logistic    the difference estimator with a logistic recalibration of the confidence, at random
stratified  PPI++ within ten strata of equal size, labels in proportion (Fisch and others 2024)
neyman      ten strata; five labels in each, then as many as size × standard deviation asks for (Neyman 1934)
active      active statistical inference (Zrnic and Candès 2024): items at random with probability ∝ √(s(1−s)), mixed
            with a share τ of uniform ones (0.5 and 0.1), weighted by the inverse probability
ours        `fl.create(None, "overall", pool, fl.whole(pool), target="pool")`, in memory: the learned prior and
            Neyman's rule over ten strips of confidence, with anchors
ours+items  the same prior with labels at random
ours+thompson  as ours, but Thompson sampling over the strips: the default before Neyman's rule

With the package ppi-python on the path, ppi++ is checked against it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit, logit

import fewlabels as fl
from fewlabels.belief import Strata
from fewlabels.policies.anchors import ESTIMATE, STRIPS
from fewlabels.rectified import Rectified, rectified, unheard
from fewlabels.sample import Sample, Strips
from fewlabels.simulation.methods import method
from fewlabels.simulation.order import asker_with_anchors
from fewlabels.simulation.truth import truth as truth_of

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.honest import BUILT_IN, known

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from benchmarks.honest import Known

    Values = NDArray[np.float64]

# The constants were chosen on the first five; the others were looked at once.
POOLS = ("cifar100_wrn", "newsgroups", "svhn", "adult")
ASIDE = ("cifar100", "imagenet", "cifar10h", "compas", "stance_gpt4o", "dbpedia")
STRATA, PILOT, DRAWS, PEERS_TIMES = 10, 5, 1000, 10


class Found(NamedTuple):
    """An estimate with its 95 % interval."""

    mean: float
    low: float
    high: float


def normal(mean: float, variance: float) -> Found:
    """The interval of a normal estimate."""
    half = 1.959964 * float(np.sqrt(max(variance, 0.0)))
    return Found(float(mean), float(mean) - half, float(mean) + half)


def left(n: int, items: int) -> float:
    """The finite-pool factor of a variance."""
    return 1 - n / items


def power(y: Values, s: Values, everything: Values) -> float:
    """λ of PPI++: Cov(y, s) / ((1 + n/N) Var s), from 0 to 1."""
    if len(y) < 3 or everything.var() < 1e-12:
        return 0.0
    return float(np.clip(np.cov(y, s)[0, 1] / ((1 + len(y) / len(everything)) * everything.var()), 0, 1))


def at_random(s: Values, y: Values, n: int, rng: np.random.Generator) -> Found:
    """The plain mean."""
    own = y[rng.choice(len(y), n, replace=False)]
    return normal(own.mean(), own.var(ddof=1) / n * left(n, len(y)))


def ppi(s: Values, y: Values, n: int, rng: np.random.Generator) -> Found:
    """PPI++ with labels at random."""
    items = rng.choice(len(y), n, replace=False)
    rate = power(y[items], s[items], s)
    rest = y[items] - rate * s[items]
    return normal(rest.mean() + rate * s.mean(), rest.var(ddof=1) / n * left(n, len(y)))


def logistic(s: Values, y: Values, n: int, rng: np.random.Generator) -> Found:
    """The difference estimator with σ(a + b·logit s), fitted to labels at random."""
    items = rng.choice(len(y), n, replace=False)
    x = np.stack([np.ones(len(s)), logit(np.clip(s, 1e-4, 1 - 1e-4))])
    ab, own = np.array([0.0, 1.0]), x[:, items]
    for _ in range(20):
        chance = expit(ab @ own)
        bend = (own * (chance * (1 - chance))) @ own.T + 1e-2 * np.eye(2)
        ab = ab + np.clip(np.linalg.solve(bend, own @ (y[items] - chance) - 1e-2 * (ab - [0, 1])), -1, 1)
    expected = expit(ab @ x)
    rest = y[items] - expected[items]
    return normal(expected.mean() + rest.mean(), rest.var(ddof=2) / n * left(n, len(y)))


def strata(s: Values) -> list[NDArray[np.int64]]:
    """The items in ten strata of equal size, by their confidence."""
    return list(np.array_split(np.argsort(s, kind="stable"), STRATA))


def stratified(s: Values, y: Values, n: int, rng: np.random.Generator) -> Found:
    """PPI++ in strata, labels in proportion to their size."""
    mean = variance = 0.0
    for here, some in zip(strata(s), np.array_split(np.arange(n), STRATA), strict=True):
        items = rng.choice(here, min(len(some), len(here)), replace=False)
        rate = power(y[items], s[items], s[here])
        rest, weight = y[items] - rate * s[items], len(here) / len(y)
        mean += weight * (rest.mean() + rate * s[here].mean())
        variance += weight**2 * rest.var(ddof=1) / len(items) * left(len(items), len(here))
    return normal(mean, variance)


def neyman(s: Values, y: Values, n: int, rng: np.random.Generator) -> Found:
    """Strata with a pilot, and then Neyman's allocation by shrunken standard deviations."""
    queues = [rng.permutation(here) for here in strata(s)]
    sizes = np.array([len(queue) for queue in queues])
    taken = np.minimum(PILOT, sizes)

    def shares() -> Values:
        return np.array([(y[q[:k]].sum() + 1) / (k + 2) for q, k in zip(queues, taken, strict=True)])

    worth = sizes * np.sqrt(shares() * (1 - shares()))
    while taken.sum() < n:
        taken[np.where(taken < sizes, worth / taken, -1).argmax()] += 1
    weight = sizes / len(y)
    mean = sum(w * y[q[:k]].mean() for w, q, k in zip(weight, queues, taken, strict=True))
    variance = weight**2 * shares() * (1 - shares()) / taken * (1 - taken / sizes)
    return normal(float(mean), float(variance.sum()))


def active(s: Values, y: Values, n: int, rng: np.random.Generator, tau: float = 0.5) -> Found:
    """Active statistical inference: Poisson sampling by doubt, inverse-probability weights."""
    doubt = np.sqrt(s * (1 - s)) + 1e-6
    chance = np.minimum((1 - tau) * n * doubt / doubt.sum() + tau * n / len(y), 1)
    each = s + np.where(rng.random(len(y)) < chance, (y - s) / chance, 0)
    return normal(each.mean(), each.var(ddof=1) / len(y))


PEERS: dict[str, Callable[[Values, Values, int, np.random.Generator], Found]] = {
    "random": at_random,
    "ppi++": ppi,
    "logistic": logistic,
    "stratified": stratified,
    "neyman": neyman,
    "active-0.5": active,
    "active-0.1": lambda s, y, n, rng: active(s, y, n, rng, 0.1),
}


def ours(case: Known, policy: str) -> Callable[[Values, Values, int, np.random.Generator], Found]:
    """The product: the learned prior, and a policy that asks in strips of confidence, or labels at random."""
    steered = policy != "items"
    groups = fl.by_score(case.pool, STRIPS, "weight") if steered else fl.whole(case.pool)
    one = method(f"learned+{policy}+pool+anchor:{ESTIMATE}" if steered else "learned+items+pool")
    truth = truth_of(case.pool, case.labels, groups, fl.Estimate(fl.Accuracy()), [one])
    ask, prior = asker_with_anchors(truth, one), one.prior.on(truth.cells, "pool")

    def estimate(_: Values, __: Values, n: int, rng: np.random.Generator) -> Found:
        items, anchor = ask(rng, n)
        fine = prior.belief(truth.outcomes(items))
        strata = Strata(fine, np.zeros(len(truth.cells), np.int64), np.array([len(case.pool)]))
        strips = Strips.of(groups, items) if steered else None
        sample = Sample(items, (case.outcome[items] == 0).astype(float), anchor, strips)
        belief: Strata | Rectified = strata
        if steered:
            bare = unheard(truth.cells.size, fine.counts.sum(axis=-1))
            belief = rectified(strata, case.pool.confidence, sample, rng, bare=bare)
        low, high = np.quantile(belief.draws(rng, DRAWS)[:, 0, 0], [0.025, 0.975])
        return Found(float(belief.mean()[0, 0]), float(low), float(high))

    return estimate


def check_ppi() -> None:
    """Compare ppi++ with ppi-python, if it is there."""
    try:
        from ppi_py import ppi_mean_pointestimate  # type: ignore[import-not-found]
    except ImportError:
        return
    rng = np.random.default_rng(0)
    s = rng.random(5000)
    y = (rng.random(5000) < s).astype(float)
    items = np.random.default_rng(1).choice(5000, 200, replace=False)
    theirs = float(ppi_mean_pointestimate(y[items], s[items], s)[0])
    own = ppi(s, y, 200, np.random.default_rng(1)).mean
    print(f"ppi++ here {own:.5f}, ppi-python {theirs:.5f}")


def measure(case: Known, n: int, runs: int, chosen: list[str]) -> None:
    """Print a line for each method, and how ours compares with the best peer."""
    assert case.pool.confidence is not None
    s, y = case.pool.confidence.astype(np.float64), (case.outcome == 0).astype(float)
    policies = {"ours": "neyman", "ours+items": "items", "ours+thompson": "thompson"}
    mine = {name: ours(case, policy) for name, policy in policies.items()}
    error: dict[str, float] = {}
    for name in chosen:
        estimate, times = (mine[name], 1) if name in mine else (PEERS[name], PEERS_TIMES)
        found = np.array([estimate(s, y, n, np.random.default_rng([run, 9])) for run in range(runs * times)])
        off, inside = found[:, 0] - y.mean(), (found[:, 1] <= y.mean()) & (y.mean() <= found[:, 2])
        error[name] = 100 * float(np.sqrt((off**2).mean()))
        share = float(inside.mean())
        print(
            f"{case.name:13s} labels {n:4d} {name:11s} RMSE {error[name]:5.2f} ± "
            f"{error[name] / np.sqrt(2 * len(off)):.2f}  bias {100 * off.mean():+5.2f}  "
            f"coverage {100 * share:5.1f} % ± {100 * np.sqrt((share * (1 - share) + 0.01) / len(off)):.1f}  "
            f"width {100 * (found[:, 2] - found[:, 1]).mean():5.2f}",
            flush=True,
        )
    rivals = {name: value for name, value in error.items() if name in PEERS}
    if rivals and "ours" in error:
        best = min(rivals, key=lambda name: rivals[name])
        print(
            f"{case.name:13s} labels {n:4d} ours / best peer ({best}): {error['ours'] / rivals[best]:.2f}", flush=True
        )


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pools", help="names, with commas between them")
    parser.add_argument("--labels", default="200")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--methods", default=",".join([*PEERS, "ours", "ours+items"]))
    args = parser.parse_args()
    check_ppi()
    usual = (*POOLS, *BUILT_IN, *ASIDE) if args.data else tuple(BUILT_IN)
    for name in args.pools.split(",") if args.pools else usual:
        case = known(name, args.data)
        for n in args.labels.split(","):
            measure(case, min(int(n), len(case.pool) // 2), args.runs, args.methods.split(","))


if __name__ == "__main__":
    main()
