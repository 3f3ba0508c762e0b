"""95 % intervals hold the truth 95 % of the time, however the items were asked for and whichever groups are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

import fewlabels as fl
from fewlabels.estimates import interval, unfolded
from tests.support.worlds import Truth, World, nature, true_values

if TYPE_CHECKING:
    from fewlabels.policies import Policy
    from fewlabels.tasks import Task

LEVEL = 0.95
TAIL = 1e-4  # a correct program is outside either limit with this probability
WORLD = World(sites=40, items=15, seed=11)
WORLDS = 10

ASKING: list[tuple[Task, Policy]] = [
    (fl.Estimate(fl.Accuracy()), fl.UniformItems()),
    (fl.Estimate(fl.Accuracy()), fl.Thompson()),
    (fl.Identify(fl.Accuracy(), lowest=3), fl.Thompson()),
    (fl.Identify(fl.Accuracy(), lowest=3), fl.Greedy()),
]
NAMES = ["at-random", "Thompson-estimate", "Thompson-lowest", "Greedy-lowest"]


def prior_of(informed: bool) -> fl.Uniform | fl.Informed:
    return fl.Informed(strength=2.0) if informed else fl.Uniform(strength=2.0)


def run(world: World, truth: Truth, labels: int, **settings: object) -> fl.Assessment:
    """Ask and tell until there are that many labels, a tenth of them at a time."""
    audit = fl.create(None, "coverage", world.pool, fl.by_column(world.pool, "site"), **settings)  # type: ignore[arg-type]
    for _ in range(10):
        audit.tell(world.labels(truth.true, audit.ask(labels // 10).ids))
    return audit


def covered(table: fl.Table, values: np.ndarray) -> np.ndarray:
    """Whether each interval holds its true value; ends that are equal up to rounding hold it."""
    return (np.array(table["low"]) <= values + 1e-9) & (values <= np.array(table["high"]) + 1e-9)


@pytest.mark.parametrize(("task", "policy"), ASKING, ids=NAMES)
@pytest.mark.parametrize("informed", [False, True], ids=["uniform", "informed"])
@pytest.mark.slow
def test_population(task: Task, policy: Policy, informed: bool) -> None:
    hits: list[bool] = []
    for seed in range(WORLDS):
        truth = nature(WORLD, "right", WORLD.site, 2.0, informed=informed, seed=seed)
        audit = run(WORLD, truth, 200, task=task, policy=policy, prior=prior_of(informed), seed=seed)
        hits += covered(
            audit.estimates(level=LEVEL), true_values(fl.Accuracy(), truth, WORLD.site, "population")
        ).tolist()
        audit.close()
    low, high = (stats.binom.ppf(q, len(hits), LEVEL) for q in (TAIL, 1 - TAIL))
    assert low <= sum(hits) <= high


@pytest.mark.slow
@pytest.mark.parametrize(("task", "policy"), ASKING, ids=NAMES)
def test_pool(task: Task, policy: Policy) -> None:
    # A share of 15 items is a multiple of 1/15, so an interval holds at least 95 %, and how much more is known from its
    # ends: with u items unlabelled, the number of right ones among them is beta-binomial.
    hits, promised = [], []
    for seed in range(WORLDS):
        truth = nature(WORLD, "right", WORLD.site, 2.0, informed=False, seed=seed)
        audit = run(WORLD, truth, 200, task=task, policy=policy, target="pool", seed=seed)
        table, told = audit.estimates(level=LEVEL), audit.labels()
        audit.close()
        at = WORLD.pool.positions(list(told))
        is_right = truth.true[at] == WORLD.predicted[at]
        right, n = np.bincount(WORLD.site[at], is_right, 40), np.bincount(WORLD.site[at], minlength=40)
        model = stats.betabinom(15 - n, 1 + right, 1 + n - right)
        low, high = (np.array(table[end]) * 15 - right for end in ("low", "high"))
        promised.append(model.cdf(np.floor(high + 1e-6)) - model.cdf(np.ceil(low - 1e-6) - 1))
        hits.append(covered(table, true_values(fl.Accuracy(), truth, WORLD.site, "pool")))
    chance, count = np.concatenate(promised), int(np.sum(hits))
    assert chance.mean() >= LEVEL
    assert abs(count - chance.sum()) < stats.norm.isf(TAIL) * np.sqrt((chance * (1 - chance)).sum())


@pytest.mark.slow
def test_other_groups_keep_coverage_where_counting_loses_it() -> None:
    # Two sites, of which the worse is asked most; read by twenty kinds that occur at both.
    world = World(sites=2, items=300, kinds=20, seed=12)
    kinds = fl.by_column(world.pool, "kind")
    task = fl.Identify(fl.Accuracy(), lowest=1)
    hits: dict[str, list[bool]] = {"strata": [], "pool": [], "counted": []}
    for seed in range(20):
        truth = nature(world, "right", world.kind * 2 + world.site, 2.0, informed=False, seed=seed)
        for target in ("population", "pool"):
            audit = run(world, truth, 400, task=task, policy=fl.Thompson(), target=target, seed=seed)
            values = true_values(fl.Accuracy(), truth, world.kind, target)
            kept = covered(audit.estimates(groups=kinds, level=LEVEL, draws=4_000), values)
            hits["strata" if target == "population" else "pool"] += kept.tolist()
            told = world.pool.positions(list(audit.labels()))
            audit.close()
            if target == "population":
                right = np.bincount(world.kind[told], truth.true[told] == world.predicted[told], 20)
                n = np.bincount(world.kind[told], minlength=20)
                ends = stats.beta.interval(LEVEL, 1 + right, 1 + n - right)
                hits["counted"] += ((ends[0] <= values) & (values <= ends[1])).tolist()
    low, high = (stats.binom.ppf(q, len(hits["strata"]), LEVEL) for q in (TAIL, 1 - TAIL))
    assert low <= sum(hits["strata"]) <= high
    assert low <= sum(hits["pool"])
    assert sum(hits["counted"]) < low


@pytest.mark.slow
def test_asking_does_not_shift_the_estimates() -> None:
    # With truths from the prior E(θ − mean) = 0, in groups that were asked much and in those that were not.
    shift: list[float] = []
    asked: list[int] = []
    spread: list[float] = []
    for seed in range(WORLDS):
        truth = nature(WORLD, "right", WORLD.site, 2.0, informed=False, seed=seed)
        audit = run(WORLD, truth, 200, task=fl.Identify(fl.Accuracy(), lowest=3), seed=seed)
        table = audit.estimates()
        shift += (true_values(fl.Accuracy(), truth, WORLD.site, "population") - np.array(table["mean"])).tolist()
        asked += table["labelled"]
        spread += audit.belief().variance()[:, 0].tolist()
        audit.close()
    middle = np.median(asked)
    for part in (np.array(asked) > middle, np.array(asked) <= middle):
        total, variance = np.array(shift)[part].sum(), np.array(spread)[part].sum()
        assert abs(total) < stats.norm.isf(TAIL) * np.sqrt(variance)


def coverage_under(prior: fl.Uniform | fl.Informed, worlds: int = 10) -> tuple[int, int]:
    """Intervals that hold, of how many, where the classifier says .66 on average and is right half the time.

    Five labels a group, taken at random; the accuracies of the groups are Beta(15, 15).
    """
    hits: list[bool] = []
    for seed in range(worlds):
        truth = nature(WORLD, "right", WORLD.site, 30.0, informed=False, seed=seed)
        audit = run(WORLD, truth, 200, policy=fl.UniformItems(), prior=prior, seed=seed)
        values = true_values(fl.Accuracy(), truth, WORLD.site, "population")
        hits += covered(audit.estimates(level=LEVEL), values).tolist()
        audit.close()
    return sum(hits), len(hits)


@pytest.mark.slow
def test_a_strong_wrong_prior_loses_coverage() -> None:
    # No promise holds here: the documentation says how much is lost at which strength, and this that it is not nothing.
    hits, n = coverage_under(fl.Informed(strength=30.0))
    assert hits < stats.binom.ppf(TAIL, n, LEVEL)
    hits, n = coverage_under(fl.Uniform())
    assert hits >= stats.binom.ppf(TAIL, n, LEVEL)


@pytest.mark.parametrize(("off", "least"), [(0.01, 0.80), (0.02, 0.93), (0.05, 0.93)])
def test_the_interval_of_a_folded_value_reaches_small_values(off: float, least: float) -> None:
    """Ten unrelated bins, each off by a little and seen with noise: the hard case, since real bins lie near a curve."""
    rng, runs, sd = np.random.default_rng(8), 300, 0.03
    seen = off + rng.normal(0, sd, (runs, 10))
    draws = np.abs(seen + rng.normal(0, sd, (400, runs, 10))).mean(axis=-1)
    low, high = unfolded(draws, LEVEL, np.abs(seen).mean(axis=-1))
    plain, _ = interval(draws, LEVEL, shortest=True)
    assert (low <= plain).all()
    assert (low >= 0).all()
    error = 3 * np.sqrt(least * (1 - least) / runs)
    assert ((low <= off) & (off <= high)).mean() > least - error
    if off < sd:
        assert ((plain <= off) & (off <= high)).mean() < 0.7  # without the correction
