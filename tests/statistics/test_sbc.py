"""Simulation-based calibration: among draws from its posterior, the true value has every rank equally often.

Truths are drawn from the prior, items are asked for by the policy and answered, and the rank of each group's true value
is taken. It is uniform whatever the policy asks, if and only if the posterior is right on average; chi-square finds
out. Groups are independent, so each gives a rank of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

import fewlabels as fl
from tests.support.worlds import PRICES, Family, World, nature, rank_among, true_values

if TYPE_CHECKING:
    from fewlabels.belief import Target
    from fewlabels.metrics import Metric
    from fewlabels.policies import Policy
    from fewlabels.tasks import Task

DRAWS, BINS = 99, 10  # 100 ranks, ten to a bin
CHANCE = 0.001  # that a correct program fails any test of this file, if the seeds were drawn anew
SITES = World(sites=50, items=12, seed=1)


@dataclass(frozen=True)
class Case:
    """One way to ask and to read: what the world is made of, the question, and the belief."""

    metric: Metric
    family: Family
    strength: float
    informed: bool
    target: Target
    policy: Policy
    task: Task | None = None

    def __str__(self) -> str:
        prior = "informed" if self.informed else "uniform"
        task = type(self.task).__name__ if self.task else "Estimate"
        return f"{self.metric}-{task}-{prior}-{self.target}-{self.policy}".replace(" ", "")


COST = fl.Cost(PRICES.tolist())
METRICS: list[tuple[Metric, Family, float]] = [
    (fl.Accuracy(), "right", 2.0),
    (fl.CalibrationError(bins=4), "right", 3.0),
    (fl.Confusion(), "classes", 3.0),
    (COST, "classes", 3.0),
    (fl.Precision(), "classes", 3.0),
    (fl.Recall(), "classes", 3.0),
    (fl.F1(), "classes", 3.0),
    (fl.FalsePositiveRate(), "classes", 3.0),
    (fl.Recall(positive="ant"), "positive", 2.0),
    (fl.FalsePositiveRate(positive="ant"), "positive", 2.0),
]
# Half of all combinations of prior, target and policy, balanced: every pair of two of them occurs.
DESIGN: list[tuple[bool, Target, Policy]] = [
    (False, "population", fl.Thompson()),
    (True, "pool", fl.Thompson()),
    (False, "pool", fl.UniformItems()),
    (True, "population", fl.UniformItems()),
]
NAMED: list[tuple[Metric, Family]] = [
    (fl.Accuracy(), "right"),
    (fl.CalibrationError(bins=4), "right"),
    (COST, "classes"),
]
OTHERS: list[tuple[bool, Target, Policy]] = [(True, "population", fl.Thompson()), (False, "pool", fl.Greedy())]
CASES = [
    Case(metric, family, strength, informed, target, policy)
    for metric, family, strength in METRICS
    for informed, target, policy in DESIGN
] + [
    Case(metric, family, 2.0, informed, target, policy, fl.Identify(metric, lowest=5))
    for metric, family in NAMED
    for informed, target, policy in OTHERS
]
TESTS = len(CASES) + 4  # the others of this file


def pooled_ranks(case: Case, world: World, prior: fl.Uniform | fl.Informed) -> np.ndarray:
    """The ranks of all groups in several worlds."""
    pool, ranks = world.pool, []
    groups = fl.by_column(pool, "site")
    if isinstance(case.metric, fl.Confusion):
        groups = fl.cross(groups, fl.by_predicted(pool))
    cell = groups.group.astype(int)
    if isinstance(case.metric, fl.CalibrationError):
        cell = cell * 100 + np.minimum((world.confidence * case.metric.bins).astype(int), case.metric.bins - 1)
    elif case.family == "positive":
        cell = cell * 100 + (world.predicted == 0)
    elif case.family == "classes":
        cell = cell * 100 + world.predicted
    for seed in range(6):
        truth = nature(world, case.family, cell, case.strength, case.informed, seed)
        task = case.task or fl.Estimate(case.metric)
        audit = fl.create(
            None, "sbc", pool, groups, task=task, prior=prior, policy=case.policy, target=case.target, seed=seed
        )
        for _ in range(3):
            audit.tell(world.labels(truth.true, audit.ask(2 * world.sites).ids))
        draws, value = audit.draws(DRAWS), true_values(case.metric, truth, groups.group, case.target)
        audit.close()
        rng = np.random.default_rng([seed, 5])
        if value.ndim == 2:
            # The shares of a confusion row depend on each other: one of them, taken at random, is a rank of its own.
            one = rng.integers(0, value.shape[1], len(value))
            draws, value = draws[:, np.arange(len(value)), one], value[np.arange(len(value)), one]
        ranks.append(rank_among(value, draws, rng))
    return np.concatenate(ranks)


def surprise(ranks: np.ndarray) -> float:
    """The probability of a rank histogram as uneven as this one, or more, if all ranks are equally likely."""
    observed = np.bincount(ranks * BINS // (DRAWS + 1), minlength=BINS)
    return float(stats.chisquare(observed).pvalue)


@pytest.mark.slow
# Half of them before every merge: each metric and each task.
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.long if i % 2 else ()) for i, case in enumerate(CASES)], ids=str
)
def test_ranks_are_uniform(case: Case) -> None:
    prior = (fl.Informed if case.informed else fl.Uniform)(strength=case.strength)
    ranks = pooled_ranks(case, SITES, prior)
    assert surprise(ranks) > CHANCE / TESTS


@pytest.mark.slow
def test_a_wrong_prior_is_found_out() -> None:
    # The test has teeth: a prior that is too strong, or that believes an over-confident classifier, is far outside.
    base = Case(fl.Accuracy(), "right", 2.0, informed=False, target="population", policy=fl.Thompson())
    assert surprise(pooled_ranks(base, SITES, fl.Uniform(strength=12.0))) < CHANCE / TESTS
    assert surprise(pooled_ranks(base, SITES, fl.Informed(strength=12.0))) < CHANCE / TESTS


@pytest.mark.slow
@pytest.mark.parametrize("metric", [fl.Accuracy(), fl.CalibrationError(bins=2)], ids=str)
@pytest.mark.parametrize("target", ["population", "pool"])
def test_other_groups_than_those_of_asking(metric: Metric, target: Target) -> None:
    # Asked where the accuracy of five sites is lowest, read by thirty kinds: the strata are kind × site (× bin).
    world = World(sites=5, items=120, kinds=30, seed=3)
    pool, ranks = world.pool, []
    sites, kinds = fl.by_column(pool, "site"), fl.by_column(pool, "kind")
    cell = world.kind * 5 + world.site
    if isinstance(metric, fl.CalibrationError):
        cell = cell * 2 + (world.confidence >= 0.5)
    for seed in range(8):
        truth = nature(world, "right", cell, 2.0, informed=False, seed=seed)
        task = fl.Identify(fl.Accuracy(), lowest=1)
        audit = fl.create(None, "sbc", pool, sites, task=task, prior=fl.Uniform(), target=target, seed=seed)
        for _ in range(5):
            audit.tell(world.labels(truth.true, audit.ask(40).ids))
        draws = audit.draws(DRAWS, metric=metric, groups=kinds)
        audit.close()
        value = true_values(metric, truth, kinds.group, target)
        ranks.append(rank_among(value, draws, np.random.default_rng([seed, 6])))
    assert surprise(np.concatenate(ranks)) > CHANCE / TESTS


@pytest.mark.slow
def test_compare() -> None:
    # Two groups only, so many small worlds; the probability of the named region must come true as often as it says.
    world, ranks, sure, right = World(sites=2, items=9, seed=4), [], [], []
    groups = fl.by_column(world.pool, "site")
    for seed in range(72):
        by, target = ("neyman", "information", "confidence")[seed % 3], ("population", "pool")[seed // 3 % 2]
        truth = nature(world, "right", world.site, 2.0, informed=False, seed=seed)
        task = fl.Compare(fl.Accuracy(), "000", "001", by=by)  # type: ignore[arg-type]
        audit = fl.create(None, "sbc", world.pool, groups, task=task, target=target, seed=seed)  # type: ignore[arg-type]
        for _ in range(2):
            audit.tell(world.labels(truth.true, audit.ask(4).ids))
        value = true_values(fl.Accuracy(), truth, groups.group, target)
        ranks.append(rank_among(value, audit.draws(DRAWS), np.random.default_rng([seed, 7])))
        table = audit.answer(draws=100).table
        audit.close()
        difference = np.round(value[0] - value[1], 9)
        region = 0 if difference < -0.05 else 2 if difference > 0.05 else 1
        chances = [table[name][0] for name in ("less", "equal", "more")]
        sure.append(max(chances))
        right.append(np.argmax(chances) == region)
    assert surprise(np.concatenate(ranks)) > CHANCE / TESTS
    error = np.sqrt(sum(p * (1 - p) for p in sure))
    assert abs(np.sum(right) - np.sum(sure)) < stats.norm.isf(CHANCE / TESTS / 2) * error
