"""Answers and tables against independent versions: SciPy's quantiles, beta-binomials, and Monte Carlo by hand."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

import fewlabels as fl
from fewlabels.tasks.identify import ranked

if TYPE_CHECKING:
    from fewlabels.belief import Target
    from fewlabels.tasks import Task

DRAWS = 20_000
Z = 4.5
SIZES = (30, 24, 40, 18, 25)
SITES = tuple(f"s{i}" for i in range(5))
ACCURACY = (0.9, 0.55, 0.5, 0.7, 0.6)


def audited(
    task: Task,
    *,
    labels: int = 60,
    target: Target = "population",
    prior: fl.Informed | None = None,
    random: bool = False,
) -> fl.Assessment:
    """An assessment of five sites after some labels; the truth does not matter here."""
    rng = np.random.default_rng(8)
    site = np.repeat(np.arange(5), SIZES)
    confidence = rng.uniform(0.35, 1.0, len(site))
    right = rng.random(len(site)) < np.array(ACCURACY)[site]
    columns = {"predicted": ["x"] * len(site), "confidence": confidence, "site": [SITES[s] for s in site]}
    pool = fl.read_pool(columns, classes=["x", "y"])
    policy = fl.UniformItems() if random else fl.Thompson(plays=1)
    audit = fl.create(
        None,
        "answers",
        pool,
        fl.by_column(pool, "site"),
        task=task,
        target=target,
        prior=prior or fl.Uniform(),  # the formulas below are those of independent groups
        policy=policy,
    )
    truth = dict(zip(pool.ids.to_pylist(), np.where(right, "x", "y").tolist(), strict=True))
    while len(audit.labels()) < labels:
        audit.tell({item: truth[item] for item in audit.ask(10).ids})
    return audit


def tally(audit: fl.Assessment, group: np.ndarray, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Right and wrong labels of each group."""
    told = audit.labels()
    at = audit.pool.positions(list(told))
    right = np.array([label == "x" for label in told.values()])
    return np.bincount(group[at], right, groups), np.bincount(group[at], ~right, groups)


def value_draws_by_hand(audit: fl.Assessment, rng: np.random.Generator, n: int, target: str) -> np.ndarray:
    """Draws of the five accuracies from Beta(1 + right, 1 + wrong), or of the shares of the pool."""
    right, wrong = tally(audit, audit.groups.group, 5)
    theta = np.column_stack(
        [stats.beta(1 + r, 1 + w).rvs(n, random_state=rng) for r, w in zip(right, wrong, strict=True)]
    )
    if target == "population":
        return theta
    left = np.array(SIZES) - right - wrong
    return (right + rng.binomial(left.astype(int), theta)) / SIZES


def close(first: float, second: float, first_draws: int, second_draws: int) -> bool:
    """Whether two Monte Carlo probabilities agree: their difference has at most this standard error."""
    p = (first * first_draws + second * second_draws) / (first_draws + second_draws)
    return abs(first - second) <= Z * np.sqrt(p * (1 - p) * (1 / first_draws + 1 / second_draws)) + 1e-12


@pytest.mark.parametrize("target", ["population", "pool"])
@pytest.mark.parametrize("extreme", [{"lowest": 2}, {"highest": 2}, {"lowest": 1}], ids=str)
def test_identify(extreme: dict[str, int], target: Target) -> None:
    audit = audited(fl.Identify(fl.Accuracy(), **extreme), target=target)
    answer = audit.answer(draws=DRAWS, level=0.9)
    rng = np.random.default_rng(21)
    values = value_draws_by_hand(audit, rng, DRAWS, target)
    if "highest" in extreme:
        values = -values
    # Rank = 1 + the number of groups below, ties in random order.
    values = values + rng.uniform(0, 1e-7, values.shape)
    ranks = 1 + (values[:, None, :] < values[:, :, None]).sum(axis=2)
    m = next(iter(extreme.values()))
    for row in answer.table.rows():
        mine = ranks[:, SITES.index(row["group"])]
        assert close(row["chance"], float((mine <= m).mean()), DRAWS, DRAWS)
        assert abs(row["rank"] - mine.mean()) <= Z * mine.std() * np.sqrt(2 / DRAWS)
        # The ends are 5 % and 95 % quantiles: no more than that below, and no less up to them.
        error = Z * np.sqrt(0.05 * 0.95 * 2 / DRAWS)
        assert (mine < row["rank_low"]).mean() <= 0.05 + error
        assert (mine <= row["rank_low"]).mean() >= 0.05 - error
        assert (mine > row["rank_high"]).mean() <= 0.05 + error
        assert (mine >= row["rank_high"]).mean() >= 0.05 - error
    named = [SITES.index(group) for group in answer.groups]
    joint = (ranks[:, named] <= m).all(axis=1).mean()
    assert close(answer.probability, joint, DRAWS, DRAWS)
    assert sum(answer.table["chance"]) == pytest.approx(m)
    # All the other sets of m groups are less probable, by this Monte Carlo's own error.
    for others in itertools.combinations(range(5), m):
        assert (ranks[:, others] <= m).all(axis=1).mean() <= joint + Z * np.sqrt(0.25 * 2 / DRAWS)


@pytest.mark.parametrize("prior", [None, fl.Informed(strength=5.0)], ids=["uniform", "informed"])
def test_estimates_are_beta_quantiles(prior: fl.Informed | None) -> None:
    audit = audited(fl.Estimate(fl.Accuracy()), prior=prior)
    right, wrong = tally(audit, audit.groups.group, 5)
    mean = np.full(5, 0.5)
    if prior:
        mean = np.array([audit.pool.confidence[audit.groups.group == g].mean() for g in range(5)])
    strength = 5.0 if prior else 2.0
    model = stats.beta(strength * mean + right, strength * (1 - mean) + wrong)
    for level in (0.5, 0.95, 0.999):
        table = audit.estimates(level=level)
        low, high = model.interval(level)
        np.testing.assert_allclose(table["mean"], model.mean(), rtol=1e-12)
        np.testing.assert_allclose(table["low"], low, rtol=1e-9)
        np.testing.assert_allclose(table["high"], high, rtol=1e-9)
        assert table.settings["draws"] == "exact"
    assert table["labelled"] == (right + wrong).tolist()


def test_pool_intervals_are_those_of_beta_binomials() -> None:
    audit = audited(fl.Estimate(fl.Accuracy()), target="pool")
    right, wrong = tally(audit, audit.groups.group, 5)
    model = stats.betabinom((np.array(SIZES) - right - wrong).astype(int), 1 + right, 1 + wrong)
    table = audit.estimates(level=0.9, draws=DRAWS)
    np.testing.assert_allclose(table["mean"], (right + model.mean()) / SIZES, rtol=1e-12)
    # Quantiles of draws: the probability up to an end is 5 % within the error of the draws, between two atoms.
    error = Z * np.sqrt(0.05 * 0.95 / DRAWS)
    low, high = (np.array(table[end]) * SIZES - right for end in ("low", "high"))
    assert np.all(model.cdf(np.ceil(low - 1e-9) - 1) <= 0.05 + error)
    assert np.all(model.cdf(np.ceil(low - 1e-9)) >= 0.05 - error)
    assert np.all(model.cdf(np.floor(high + 1e-9)) >= 0.95 - error)
    assert np.all(model.cdf(np.floor(high + 1e-9) - 1) <= 0.95 + error)


def test_a_fully_labelled_pool_is_known() -> None:
    audit = audited(fl.Estimate(fl.Accuracy()), target="pool", labels=sum(SIZES))
    right, _ = tally(audit, audit.groups.group, 5)
    table = audit.estimates()
    for column in ("mean", "low", "high"):
        np.testing.assert_allclose(table[column], right / SIZES, rtol=1e-12)


@pytest.mark.parametrize("target", ["population", "pool"])
def test_calibration_error_posterior(target: Target) -> None:
    # Σ_b p_b |θ_b − s_b|, one draw after the other, in five equal bins.
    audit = audited(fl.Estimate(fl.CalibrationError(bins=5)), target=target, random=True)
    table = audit.estimates(groups=fl.whole(audit.pool), draws=DRAWS)
    score = audit.pool.confidence
    assert score is not None
    bins = np.minimum((score * 5).astype(int), 4)
    right, wrong = tally(audit, bins, 5)
    rng = np.random.default_rng(31)
    total, at_means = np.zeros(4_000), 0.0
    for b in np.unique(bins):
        n = int((bins == b).sum())
        middle = (1 + right[b]) / (2 + right[b] + wrong[b])
        if target == "pool":
            middle = (right[b] + (n - right[b] - wrong[b]) * middle) / n
        at_means += n / len(bins) * abs(middle - score[bins == b].mean())
        for i in range(len(total)):
            theta = rng.beta(1 + right[b], 1 + wrong[b])
            if target == "pool":
                theta = (right[b] + rng.binomial(n - int(right[b] + wrong[b]), theta)) / n
            total[i] += n / len(bins) * abs(theta - score[bins == b].mean())
    error = Z * total.std() * np.sqrt(1 / len(total) + 1 / DRAWS)
    assert abs(table["mean"][0] - total.mean()) < error
    # The low end is that of a 95 % interval, moved by what doubt adds: from the truth to the means, and from these on.
    low, high = table["low"][0] + 2 * (total.mean() - at_means), table["high"][0]
    assert table["low"][0] > 0
    inside = ((low <= total) & (total <= high)).mean()
    assert abs(inside - 0.95) < Z * np.sqrt(0.05 * 0.95 * (1 / len(total) + 1 / DRAWS)) + 0.005


def test_reliability_of_a_random_sample_is_counting() -> None:
    audit = audited(fl.Estimate(fl.Accuracy()), random=True)
    table = audit.reliability(bins=4)
    score = audit.pool.confidence
    assert score is not None
    bins = np.minimum((score * 4).astype(int), 3)
    right, wrong = tally(audit, bins, 4)
    assert table["n"] == np.bincount(bins, minlength=4).tolist()
    assert table["labelled"] == (right + wrong).tolist()
    # No item has a confidence below a quarter, so that bin has no numbers.
    assert (table["n"][0], table["mean"][0], table["low"][0], table["confidence"][0]) == (0, None, None, None)
    for b in (1, 2, 3):
        model = stats.beta(1 + right[b], 1 + wrong[b])
        assert table["mean"][b] == pytest.approx(model.mean())
        assert (table["low"][b], table["high"][b]) == pytest.approx(model.interval(0.95))
        assert table["confidence"][b] == pytest.approx(score[bins == b].mean())


def test_reliability_after_active_asking_weighs_the_sites() -> None:
    audit = audited(fl.Identify(fl.Accuracy(), lowest=1))
    table = audit.reliability(bins=4, draws=DRAWS)
    score = audit.pool.confidence
    assert score is not None
    bins = np.minimum((score * 4).astype(int), 3)
    stratum = bins * 5 + audit.groups.group
    right, wrong = tally(audit, stratum, 20)
    size = np.bincount(stratum, minlength=20)
    rng = np.random.default_rng(41)
    for b in (1, 2, 3):
        here = np.arange(b * 5, b * 5 + 5)
        weight = size[here] / size[here].sum()
        mean = (1 + right[here]) / (2 + right[here] + wrong[here])
        assert table["mean"][b] == pytest.approx(weight @ mean)
        draws = rng.beta(1 + right[here], 1 + wrong[here], (DRAWS, 5)) @ weight
        for end, q in (("low", 0.025), ("high", 0.975)):
            assert close(float((draws <= table[end][b]).mean()), q, DRAWS, DRAWS)


def test_compare_reports_the_difference() -> None:
    audit = audited(fl.Compare(fl.Accuracy(), "s0", "s2"))
    row = next(audit.answer(draws=DRAWS).table.rows())
    values = value_draws_by_hand(audit, np.random.default_rng(51), DRAWS, "population")
    difference = values[:, 0] - values[:, 2]
    right, wrong = tally(audit, audit.groups.group, 5)
    mean = (1 + right) / (2 + right + wrong)
    assert row["mean"] == pytest.approx(mean[0] - mean[2])
    assert close((difference < row["low"]).mean(), 0.025, DRAWS, DRAWS)
    assert close((difference > row["high"]).mean(), 0.025, DRAWS, DRAWS)
    for name, share in (
        ("less", (difference < -0.05).mean()),
        ("equal", (np.abs(difference) <= 0.05).mean()),
        ("more", (difference > 0.05).mean()),
    ):
        assert abs(row[name] - share) <= Z * np.sqrt(row[name] * (1 - row[name]) / DRAWS) + 1e-12


def test_estimate_answers_with_the_average_over_the_pool() -> None:
    audit = audited(fl.Estimate(fl.Accuracy()))
    row = next(audit.answer(draws=DRAWS).table.rows())
    right, wrong = tally(audit, audit.groups.group, 5)
    share = np.array(SIZES) / sum(SIZES)
    assert row["mean"] == pytest.approx(share @ ((1 + right) / (2 + right + wrong)))
    average = value_draws_by_hand(audit, np.random.default_rng(61), DRAWS, "population") @ share
    assert close((average < row["low"]).mean(), 0.025, DRAWS, DRAWS)
    assert close((average > row["high"]).mean(), 0.025, DRAWS, DRAWS)


@pytest.mark.parametrize("scale", [0.0, 1e-9, 1.0, 1e6])
def test_equal_groups_are_ranked_in_random_order_whatever_the_size_of_the_values(scale: float) -> None:
    ranks = ranked(np.full((DRAWS, 2), scale), np.random.default_rng(3))
    assert abs(ranks[:, 0].mean() - 1.5) < Z * 0.5 / np.sqrt(DRAWS)
    apart = ranked(np.tile([2 * scale, scale], (DRAWS, 1)), np.random.default_rng(4))
    assert scale == 0 or (apart == [2, 1]).all()
