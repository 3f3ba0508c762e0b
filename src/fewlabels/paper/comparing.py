"""The comparison table: labels until two predicted classes are correctly found to differ, or to be alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.metrics import Accuracy
from fewlabels.paper import footnotes
from fewlabels.paper.methods import identifying
from fewlabels.paper.plan import PaperPlan, Result, Row, scored, settings
from fewlabels.paper.pools import SOURCES, PaperPool
from fewlabels.paper.superclasses import SUPERCLASS
from fewlabels.partition import by_map, by_predicted
from fewlabels.policies import UniformItems
from fewlabels.priors import Uniform
from fewlabels.simulation.kernels.choose import THOMPSON, ask_items
from fewlabels.simulation.kernels.compare import CONFIDENCE, ask_compare, first_success, regions_curve
from fewlabels.simulation.kernels.known import known_pool
from fewlabels.simulation.kernels.run import start
from fewlabels.simulation.parallel import run_generator
from fewlabels.tasks.rope import rope_probabilities

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fewlabels.partition import Partition
    from fewlabels.simulation.kernels.known import Known
    from fewlabels.simulation.methods import Method

ROPE = 0.05
TOLERANCE = 0.05
_FIRST_LOOK = 32


@dataclass(frozen=True, eq=False)
class Pair:
    """Two groups of a fully labelled pool, and the prior counts of each method.

    Parameters
    ----------
    known
        The two groups for the kernels.
    priors
        Prior counts of each method, shape (2, 2).
    truth
        μ = (P(Δ < −ε), P(|Δ| ≤ ε), P(Δ > ε)) with all labels and the uniform prior, shape (3,).
    """

    known: Known
    priors: dict[str, NDArray[np.float64]]
    truth: NDArray[np.float64]


def comparison(plan: PaperPlan) -> Result:
    """Table tab:difference: labels until η is right and λ within 5%, over pairs of predicted classes."""
    rows: list[Row] = []
    ways = identifying()
    for pool in plan.pools(source for source in SOURCES if source.dataset != "ImageNet"):
        dataset, partition, seen = pool.source.dataset, by_predicted(pool.pool), pool
        if dataset == "CIFAR-100":
            dataset, partition = "CIFAR-100, Superclass", by_map(pool.pool, SUPERCLASS)
            if plan.as_published:
                seen = replace(pool, labels=pool.pool.predicted.astype(np.int64))
        case = pairs(seen, partition, ways)
        part = partial(labels_to_decide, case, plan.seed, plan.as_published)
        done = plan.run(f"comparison: {dataset}", ways, part, plan.runs)
        decided = {name: np.concatenate(pieces) for name, pieces in done.items()}
        rows += scored("comparison", dataset, decided, None, "labels-to-decide", "low")
    return Result("comparison", rows, footnotes.comparison(plan), settings(plan))


def pairs(pool: PaperPool, partition: Partition, ways: Sequence[Method]) -> list[Pair]:
    """Every pair of groups that have items."""
    cells = Accuracy().cells(pool.pool, partition)
    priors = {way.name: way.prior.on(cells, "population").blank().prior for way in ways}
    uniform = Uniform().on(cells, "population").blank().prior
    every_pair = []
    for a, b in combinations(range(len(cells)), 2):
        items = np.flatnonzero((cells.cell == a) | (cells.cell == b))
        second = (cells.cell[items] == b).astype(np.int64)
        wrong = (~pool.right[items]).astype(np.int64)
        counts = np.array([np.bincount(wrong[second == g], minlength=2) for g in (0, 1)])
        everything = counts + uniform[[a, b]]
        truth = rope_probabilities(everything[0], everything[1], ROPE)
        own = {name: prior[[a, b]] for name, prior in priors.items()}
        every_pair.append(Pair(known_pool(second, wrong, groups=2), own, truth))
    return every_pair


def labels_to_decide(
    case: Sequence[Pair], seed: int, never_is_one: bool, method: Method, runs: range
) -> NDArray[np.float64]:
    """Labels until the answer is first right, shape (runs,); run r is on pair r modulo the number of pairs.

    A run that never gets there has all the labels of its pair, or one if `never_is_one`, as published.
    """
    counts = []
    for run in runs:
        pair = case[run % len(case)]
        first = _decided(pair, method, run_generator(seed, run))
        never = 1 if never_is_one else len(pair.known.items)
        counts.append(float(never if first < 0 else first))
    return np.array(counts)


def _decided(pair: Pair, method: Method, rng: np.random.Generator) -> int:
    """Labels until the answer is first right, −1 if never; the run goes on as long as that takes."""
    known, prior = pair.known, pair.priors[method.name]
    run, seen, until = start(known, prior, pool=False), 0, _FIRST_LOOK
    while True:
        if isinstance(method.policy, UniformItems):
            ask_items(rng, run, until)
        else:
            ask_compare(rng, run, 0, ROPE, CONFIDENCE, THOMPSON, until)
        done = int(run.done[0])
        curve = regions_curve(start(known, prior, pool=False), run.asked, 0, ROPE, seen, done)
        first = first_success(curve, pair.truth, TOLERANCE)
        if first >= 0:
            return seen + first
        if done == len(known.items):
            return -1
        seen, until = done + 1, 2 * until
