"""Slow twins of the drivers that reward by a formula: rewards from the library, asked for in the kernel's own order."""

from __future__ import annotations

import copy
import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import betaincinv

from fewlabels.belief import Belief
from fewlabels.tasks.rope import pool_rope_probabilities, rope_probabilities
from tests.support.twins import Run, best_groups, upcoming_draw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.random import Generator
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ROUNDING = 1e-13  # of sums and products of numbers up to 1
QUANTILE = 1e-11  # ten times what the compiled quantile is tested to
QUADRATURE = 2e-10  # twice what the compiled quadrature is tested to


class Reward(NamedTuple):
    """What a label is worth to within `slack`; groups of the same kind are equal to the last digit."""

    value: float
    slack: float
    kind: object


if TYPE_CHECKING:
    Rewards = Callable[[Generator], Mapping[int, Reward]]


def rankings(rewards: Mapping[int, Reward]) -> Iterator[dict[int, int]]:
    """Every way to rank the groups that rounding could bring about, as whole numbers; mostly there is only one.

    Rewards that differ by less than their slack may come out either way, or equal.
    """
    clusters, top = list[list[int]](), -np.inf
    for g in sorted(rewards, key=lambda g: rewards[g].value - rewards[g].slack):
        if not clusters or rewards[g].value - rewards[g].slack > top:
            clusters.append([])
        clusters[-1].append(g)
        top = max(top, rewards[g].value + rewards[g].slack)
    for ways in itertools.product(*(_weak_orders({rewards[g].kind for g in cluster}) for cluster in clusters)):
        rank: dict[int, int] = {}
        for i, (cluster, way) in enumerate(zip(clusters, ways, strict=True)):
            rank |= {g: len(rewards) * i + way[rewards[g].kind] for g in cluster}
        yield rank


def _weak_orders(kinds: set[object]) -> Iterator[dict[object, int]]:
    for ranks in itertools.product(range(len(kinds)), repeat=len(kinds)):
        if set(ranks) == set(range(max(ranks) + 1)):
            yield dict(zip(kinds, ranks, strict=True))


def follow(
    rng: Generator, run: Run, asked: list[int], rewards: Rewards, *, m: int = 1, epsilon: bool = False
) -> list[Generator]:
    """The generators with which the textbook loop ends that asks for just these items, in this order.

    Without rewards that are equal but for rounding there is at most one. None means that the kernel is wrong.
    """
    paths = [rng]
    while paths and len(run.asked) < len(asked):
        done = len(run.asked)
        step = asked[done : done + min(m, len(run.open_groups()))]
        ends = [end for path in paths for end in _steps(path, run, step, rewards, m, epsilon)]
        paths = list({str(end.bit_generator.state): end for end in ends}.values())
        for item in step:
            left = run.left[run.group[item]]
            j = left.index(item)
            left[0], left[j] = left[j], left[0]
            run.record(left.pop(0))
    return paths


def _steps(rng: Generator, run: Run, step: list[int], rewards: Rewards, m: int, epsilon: bool) -> Iterator[Generator]:
    """Where one step leaves the generator, for each ranking under which it asks for the items of `step`."""
    rng = copy.deepcopy(rng)
    worth = rewards(rng)
    if epsilon and rng.random() < 0.1:
        worth = dict.fromkeys(worth, Reward(0.0, 0.0, None))
    for rank in rankings(worth):
        end = copy.deepcopy(rng)
        chosen = best_groups(end, rank, run.open_groups(), m)[: len(step)]
        if [run.left[g][int(end.random() * len(run.left[g]))] for g in chosen] == step:
            yield end


def belief(run: Run, cells: Sequence[int] | NDArray[np.int64], pool: bool) -> Belief:
    size = np.array(run.size)[cells]
    return Belief(run.prior[cells], run.counts[cells], size, "pool" if pool else "population")


def state(run: Run, g: int) -> tuple[float, ...]:
    return (*run.alpha(g), *run.counts[g], run.size[g])


def lowest_rewards(run: Run, pool: bool, *, upper: bool) -> Rewards:
    """Minus the mean accuracy, or minus its 2.5 % quantile."""

    def rewards(rng: Generator) -> dict[int, Reward]:
        out = {}
        for g in run.open_groups():
            a, b = run.alpha(g)
            value = betaincinv(a, b, 0.025) if upper else belief(run, [g], pool).mean()[0, 0]
            out[g] = Reward(-value, QUANTILE if upper else ROUNDING, state(run, g))
        return out

    return rewards


def estimate_rewards(run: Run, pool: bool, *, upper: bool) -> Rewards:
    """Share times the fall in variance: at the mean, or its 97.5 % quantile, which lies at a quantile of θ."""

    def rewards(rng: Generator) -> dict[int, Reward]:
        out = {}
        for g in run.open_groups():
            here, share = belief(run, [g], pool), run.size[g] / len(run.items)
            a, b = run.alpha(g)
            ends = [betaincinv(a, b, 0.025), betaincinv(a, b, 0.975)]
            thetas = [np.array([[x, 1 - x]]) for x in ends] if upper else [here.mean()]
            drop = max(here.drop(np.array([[1.0, 0.0]]), theta)[0] for theta in thetas)
            out[g] = Reward(share * drop, QUANTILE if upper else ROUNDING, state(run, g))
        return out

    return rewards


def confusion_rewards(run: Run, pool: bool) -> Rewards:
    def rewards(rng: Generator) -> dict[int, Reward]:
        out = {}
        for g in run.open_groups():
            here = belief(run, [g], pool)
            drop = here.total_drop(here.mean())[0] * run.size[g] / len(run.items)
            out[g] = Reward(drop, ROUNDING, state(run, g))
        return out

    return rewards


def value_rewards(
    run: Run, weight: Floats, centre: Floats, cells_of: Sequence[NDArray[np.int64]], pool: bool
) -> Rewards:
    def rewards(rng: Generator) -> dict[int, Reward]:
        out = {}
        for g in run.open_groups():
            cells = cells_of[g]
            terms = weight[cells] * np.abs(belief(run, cells, pool).mean() - centre[cells])
            out[g] = Reward(terms.sum(), ROUNDING, g)
        return out

    return rewards


def compare_rewards(run: Run, first: int, rope: float, by: str, pool: bool, *, thompson: bool) -> Rewards:
    """What a label is worth on average over what it may show, under a draw or at the mean."""
    slack = ROUNDING if pool else QUADRATURE

    def regions(counts: Floats) -> Floats:
        sides = []
        for g in (first, 1 - first):
            alpha, right, left = run.prior[g] + counts[g], int(counts[g, 0]), run.size[g] - int(counts[g].sum())
            sides.append((alpha, right, left, run.size[g]))
        a, b = sides
        return pool_rope_probabilities(a, b, rope) if pool else rope_probabilities(a[0], b[0], rope)

    def worth(g: int, outcome: int, now: Floats) -> tuple[float, float]:
        counts = run.counts.copy()
        counts[g, outcome] += 1
        after = regions(counts)
        return (after.max(), slack) if by == "confidence" else news(now, after, slack)

    def rewards(rng: Generator) -> dict[int, Reward]:
        out = {}
        now = regions(run.counts) if by == "information" else np.empty(0)
        for g in run.open_groups():
            here, size = run.alpha(g), run.size[g]
            theta = np.array(upcoming_draw(rng, run, g, pool)) if thompson else here / here.sum()
            if by == "neyman":
                whole = (run.counts[g] + run.unlabelled(g) * theta) / size if pool else theta
                drop = belief(run, [g], pool).drop(np.array([[1.0, 0.0]]), whole[None])[0]
                out[g] = Reward(drop, ROUNDING, g if thompson else state(run, g))
            else:
                value, error = theta @ [worth(g, outcome, now) for outcome in range(2)]
                out[g] = Reward(value, error, g)
        return out

    return rewards


def news(now: Floats, after: Floats, slack: float) -> tuple[float, float]:
    """Relative entropy Σ x log(x/y) from `now` = y to `after` = x, and how far it is off if both are by the slack.

    As in the library y is at least 1e-12; then |∂/∂x| ≤ 1 + log 10¹², and y counts by the change of its logarithm.
    """
    y, low, high = (np.maximum(now + d, 1e-12) for d in (0, -slack, slack))
    x = np.maximum(after, 1e-300)
    error = slack * (1 - np.log(1e-12)) + (x + slack) * np.log(high / low)
    return (x * np.log(x / y)).sum(), error.sum()
