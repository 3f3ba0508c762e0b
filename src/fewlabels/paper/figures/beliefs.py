"""The numbers of the figures that show beliefs: accuracy and ECE by class, reliability, ECE, ranks, differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.estimates import estimate, interval, value_draws
from fewlabels.metrics import Accuracy, CalibrationError
from fewlabels.paper.superclasses import SUPERCLASS
from fewlabels.partition import by_map, by_predicted, by_score, whole
from fewlabels.priors import Informed, Prior, Uniform
from fewlabels.special import betaln
from fewlabels.tasks.identify import ranked
from fewlabels.tasks.rope import rope_probabilities

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.metrics.base import Metric
    from fewlabels.paper.pools import PaperPool
    from fewlabels.partition import Partition

DRAWS = 10_000
"""The paper's number of Monte Carlo draws."""

LEVEL = 0.95


def believed(
    pool: PaperPool, metric: Metric, partition: Partition, prior: Prior, items: NDArray[np.int64] | None = None
) -> tuple[Belief, Cells]:
    """The belief about the cells of a metric after some items are labelled; all items for None."""
    cells = metric.cells(pool.pool, partition)
    items = np.arange(len(pool.pool)) if items is None else items
    outcomes = metric.outcomes(pool.pool, cells, items, pool.labels[items].astype(np.int32))
    return prior.on(cells, "population").belief(outcomes), cells


def sample(pool: PaperPool, labels: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Items drawn at random from the pool, shape (labels,), or all of them if it has no more."""
    return rng.permutation(len(pool.pool))[:labels].astype(np.int64)


@dataclass(frozen=True, eq=False)
class Scatter:
    """Accuracy and ECE of each predicted class: rows mean, low, high, shape (3, classes).

    `side` is −1 for the least accurate m, 1 for the most accurate m, and 0 for the others, shape (classes,).
    """

    dataset: str
    accuracy: NDArray[np.float64]
    ece: NDArray[np.float64]
    side: NDArray[np.int64]


def scatter(pool: PaperPool, rng: np.random.Generator) -> Scatter:
    """Figures fig:intro and fig:scatter, with all labels and the informed prior."""
    groups = by_predicted(pool.pool)
    filled = np.flatnonzero(groups.sizes)
    intervals = []
    for metric in (Accuracy(), CalibrationError()):
        belief, cells = believed(pool, metric, groups, Informed())
        table = estimate(metric, belief, cells, rng, level=LEVEL, draws=DRAWS)
        intervals.append(np.array([[table[name][g] for g in filled] for name in ("mean", "low", "high")], dtype=float))
    order, top = np.argsort(intervals[0][0], kind="stable"), pool.source.top
    side = np.zeros(len(filled), dtype=np.int64)
    side[order[:top]], side[order[-top:]] = -1, 1
    return Scatter(pool.source.dataset, intervals[0], intervals[1], side)


@dataclass(frozen=True, eq=False)
class Reliability:
    """A reliability diagram: mean confidence and believed accuracy of each score bin that has items.

    Parameters
    ----------
    centre, confidence
        The middle of each bin and the mean confidence in it, shape (bins,).
    accuracy
        Rows mean, low, high, shape (3, bins).
    share
        The share of the sample in each bin, shape (bins,).
    """

    dataset: str
    labels: int
    centre: NDArray[np.float64]
    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    share: NDArray[np.float64]


def reliability(pool: PaperPool, items: NDArray[np.int64], strength: float, rng: np.random.Generator) -> Reliability:
    """Figures fig:reliability and fig:reliability_pseudocount: ten bins of equal width, the informed prior."""
    bins = by_score(pool.pool, 10)
    belief, cells = believed(pool, Accuracy(), bins, Informed(strength), items)
    table = estimate(Accuracy(), belief, cells, rng, level=LEVEL)
    used = cells.group
    accuracy = np.array([[table[name][b] for b in used] for name in ("mean", "low", "high")], dtype=float)
    assert cells.confidence is not None
    share = np.bincount(bins.group[items], minlength=len(bins))[used] / len(items)
    return Reliability(pool.source.dataset, len(items), (used + 0.5) / 10, cells.confidence, accuracy, share)


@dataclass(frozen=True, eq=False)
class EcePosterior:
    """Draws of the ECE, shape (draws,), the frequentist estimate from the same labels, and the true value."""

    labels: int
    draws: NDArray[np.float64]
    frequentist: float
    truth: float


def ece_posterior(pool: PaperPool, items: NDArray[np.int64], rng: np.random.Generator, draws: int) -> EcePosterior:
    """Figure fig:ece_posterior: ECE = Σ_b p_b |θ_b − s_b| over ten bins of equal width, the informed prior."""
    metric = CalibrationError()
    belief, cells = believed(pool, metric, whole(pool.pool), Informed(), items)
    drawn = value_draws(metric, belief, cells, rng, draws)[:, 0]
    everything = np.arange(len(pool.pool))
    return EcePosterior(len(items), drawn, plain_ece(pool, items), plain_ece(pool, everything))


def plain_ece(pool: PaperPool, items: NDArray[np.int64]) -> float:
    """The frequentist ECE of labelled items: Σ_b n_b/n |accuracy_b − mean confidence_b|, ten bins of equal width."""
    assert pool.pool.confidence is not None
    bin_of = by_score(pool.pool, 10).group[items]
    gap = np.bincount(bin_of, pool.right[items] - pool.pool.confidence[items], minlength=10)
    return float(np.abs(gap).sum() / len(items))


@dataclass(frozen=True, eq=False)
class EceBias:
    """(mean estimate − ECE)/ECE in percent at label counts, each of shape (counts,)."""

    dataset: str
    labels: NDArray[np.int64]
    bayesian: NDArray[np.float64]
    frequentist: NDArray[np.float64]


def ece_bias(pool: PaperPool, runs: int, rng: np.random.Generator, most: int = 5_000) -> EceBias:
    """Figure fig:reliability_comparison: how far off the ECE is on average, after 100 labels and up to `most`."""
    counts = np.unique(np.geomspace(100, min(most, len(pool.pool)), 10).round().astype(np.int64))
    truth = plain_ece(pool, np.arange(len(pool.pool)))
    sums = np.zeros((2, len(counts)))
    for _ in range(runs):
        order = sample(pool, int(counts[-1]), rng)
        for i, n in enumerate(counts.tolist()):
            posterior = ece_posterior(pool, order[:n], rng, 500)
            sums[:, i] += posterior.draws.mean(), posterior.frequentist
    bayesian, frequentist = 100 * (sums / runs - truth) / truth
    return EceBias(pool.source.dataset, counts, bayesian, frequentist)


@dataclass(frozen=True, eq=False)
class Difference:
    """Δ = θ_a − θ_b of two groups: its density on a grid, μ, and the frequentist difference."""

    a: str
    b: str
    rope: float
    grid: NDArray[np.float64]
    density: NDArray[np.float64]
    regions: NDArray[np.float64]
    frequentist: float


def differences(pool: PaperPool, rope: float = 0.05) -> list[Difference]:
    """Figure fig:rope: people against trees, and woman against man, with Beta(1, 1) and all labels of CIFAR-100."""
    pairs = [(by_map(pool.pool, SUPERCLASS), "people", "trees"), (by_predicted(pool.pool), "woman", "man")]
    differences = []
    for groups, a, b in pairs:
        belief, _ = believed(pool, Accuracy(), groups, Uniform())
        first, second = (belief.rows(np.array([groups.position(name)])) for name in (a, b))
        alpha, beta = first.alpha[0], second.alpha[0]
        grid, density = _difference_density(alpha, beta)
        gap = first.counts[0, 0] / first.counts.sum() - second.counts[0, 0] / second.counts.sum()
        differences.append(Difference(a, b, rope, grid, density, rope_probabilities(alpha, beta, rope), float(gap)))
    return differences


def _difference_density(
    a: NDArray[np.float64], b: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A grid of Δ and its density, two of shape (points,): the densities of both, convolved on steps of 1/2000."""
    steps = 2000
    x = (np.arange(steps) + 0.5) / steps
    first, second = (np.exp((c[0] - 1) * np.log(x) + (c[1] - 1) * np.log1p(-x) - betaln(c[0], c[1])) for c in (a, b))
    density = np.convolve(first, second[::-1]) / steps
    grid = np.arange(1 - steps, steps) / steps
    seen = density > 1e-4 * density.max()
    return grid[seen], density[seen]


@dataclass(frozen=True, eq=False)
class Ranks:
    """Classes in order of mean rank, 1 the most accurate, and how probably each is the most and the least accurate.

    `rank` has the rows mean, low, high, shape (3, classes).
    """

    names: tuple[str, ...]
    rank: NDArray[np.float64]
    most: NDArray[np.float64]
    least: NDArray[np.float64]


def ranks(pool: PaperPool, rng: np.random.Generator) -> Ranks:
    """Figures fig:cifar100_rank and fig:cifar100_top_bottom, with Beta(1, 1) and all labels."""
    groups = by_predicted(pool.pool)
    belief, cells = believed(pool, Accuracy(), groups, Uniform())
    filled = np.flatnonzero(groups.sizes)
    place = ranked(-value_draws(Accuracy(), belief, cells, rng, DRAWS)[:, filled], rng)
    mean, (low, high) = place.mean(axis=0), interval(place, LEVEL)
    order = np.argsort(mean)
    most, least = (place == 1).mean(axis=0), (place == len(filled)).mean(axis=0)
    names = tuple(groups.names[g] for g in filled[order])
    return Ranks(names, np.array([mean, low, high])[:, order], most[order], least[order])
