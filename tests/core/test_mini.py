"""The package agrees with examples/mini.py, the whole method on one page."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import fewlabels as fl
from fewlabels.data import load_digits
from fewlabels.outcomes import Outcomes
from fewlabels.tasks.base import Rewards
from fewlabels.tasks.rope import rope_probabilities

if TYPE_CHECKING:
    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.metrics import Metric

Z = 4.5  # standard errors allowed between a Monte Carlo mean and the truth: about 1 in 150,000 goes beyond
DRAWS = 40_000


def _mini():
    path = Path(__file__).parents[2] / "examples" / "mini.py"
    spec = importlib.util.spec_from_file_location("mini", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


mini = _mini()


@dataclass(frozen=True)
class Case:
    """A metric on the digits, and random label counts and θ for it."""

    pool: fl.Pool
    metric: Metric
    cells: Cells
    belief: Belief
    theta: np.ndarray


@pytest.fixture(scope="module")
def pool() -> fl.Pool:
    digits = load_digits()
    return fl.read_pool({"id": digits.ids, "scores": digits.scores}, classes=digits.classes)


def case(pool: fl.Pool, metric, seed: int, prior=None, target="population") -> Case:
    """A few labels in each cell at random, and a θ that has nothing to do with them."""
    rng = np.random.default_rng(seed)
    cells = metric.cells(pool, fl.by_predicted(pool))
    most = np.minimum(cells.size, 12)
    counts = rng.multinomial(rng.integers(0, most + 1), np.full(len(cells.outcomes), 1 / len(cells.outcomes)))
    belief = (prior or fl.Uniform()).on(cells, target).belief(Outcomes(counts.astype(float)))
    theta = rng.dirichlet(np.ones(len(cells.outcomes)), size=len(cells))
    return Case(pool, metric, cells, belief, theta)


def binomial_error(p: np.ndarray, draws: int) -> np.ndarray:
    """Z standard errors of a share of draws; p is kept off 0 and 1, where few draws would show no error at all."""
    p = np.clip(p, 10 / draws, 1 - 10 / draws)
    return Z * np.sqrt(p * (1 - p) / draws)


SEEDS = pytest.mark.parametrize("seed", range(5))


@SEEDS
def test_reward_of_estimating_accuracy(pool, seed) -> None:
    c = case(pool, fl.Accuracy(), seed)
    a, b = c.belief.alpha.T
    share = np.bincount(pool.predicted, minlength=10) / len(pool)
    expected = mini.accuracy_reward(a, b, c.theta[:, 0], share)
    np.testing.assert_allclose(
        fl.Estimate(c.metric).reward(c.belief, c.cells, c.theta), expected, rtol=1e-9, atol=1e-12
    )


@SEEDS
def test_reward_of_estimating_confusion(pool, seed) -> None:
    c = case(pool, fl.Confusion(), seed)
    share = np.bincount(pool.predicted, minlength=10) / len(pool)
    expected = mini.confusion_reward(c.belief.alpha, c.theta, share)
    np.testing.assert_allclose(
        fl.Estimate(c.metric).reward(c.belief, c.cells, c.theta), expected, rtol=1e-9, atol=1e-12
    )


@SEEDS
def test_reward_of_identifying_by_accuracy(pool, seed) -> None:
    c = case(pool, fl.Accuracy(), seed)
    worst, best = fl.Identify(c.metric, lowest=2), fl.Identify(c.metric, highest=2)
    np.testing.assert_allclose(worst.reward(c.belief, c.cells, c.theta), -c.theta[:, 0], atol=1e-12)
    np.testing.assert_allclose(best.reward(c.belief, c.cells, c.theta), c.theta[:, 0], atol=1e-12)


@SEEDS
def test_reward_of_identifying_by_calibration_error(pool, seed) -> None:
    bins = 4
    c = case(pool, fl.CalibrationError(bins=bins), seed)
    table = np.random.default_rng(seed).random((10, bins))  # θ of "right" in each group and bin
    weight, confidence = np.zeros((10, bins)), np.zeros((10, bins))
    for group, s in zip(pool.predicted, pool.confidence, strict=True):
        bin_ = min(int(s * bins), bins - 1)
        weight[group, bin_] += 1
        confidence[group, bin_] += s
    confidence /= np.maximum(weight, 1)
    weight /= weight.sum(axis=1, keepdims=True)
    right = table[c.cells.group, c.cells.key]
    reward = fl.Identify(c.metric, highest=1).reward(c.belief, c.cells, np.column_stack([right, 1 - right]))
    np.testing.assert_allclose(reward, mini.calibration_error(table, weight, confidence), atol=1e-12)


@SEEDS
def test_reward_of_identifying_by_cost(pool, seed) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 4, (10, 10)).astype(float)  # rows are true classes, columns predicted ones
    theta = rng.dirichlet(np.ones(10), size=10)  # of each true class, for each predicted one
    c = case(pool, fl.Cost(matrix), seed)
    # The package does not tell apart classes of the same cost: add up the θ of each outcome.
    merged = np.zeros(c.theta.shape)
    for cell, k in enumerate(c.cells.key):
        item = np.flatnonzero(pool.predicted == k)[:1]
        for true in range(10):
            outcome = c.metric.outcome(pool, item, np.array([true], dtype=np.int32))[0]
            merged[cell, outcome] += theta[k, true]
    reward = fl.Identify(c.metric, highest=1).reward(c.belief, c.cells, merged)
    np.testing.assert_allclose(reward, mini.cost(theta, matrix.T), atol=1e-12)


def test_priors(pool) -> None:
    digits = load_digits()
    scores = digits.scores.astype(float)
    scores /= scores.sum(axis=1, keepdims=True)
    predicted = scores.argmax(axis=1)
    rows = np.array([scores[predicted == k].mean(axis=0) for k in range(10)])
    confidence = np.diag(rows)
    for metric, expected, strength in (
        (fl.Accuracy(), np.column_stack([confidence, 1 - confidence]), 2),
        (fl.Confusion(), rows, 1),
    ):
        k = expected.shape[1]
        uniform = case(pool, metric, 0, fl.Uniform()).belief.prior
        informed = case(pool, metric, 0, fl.Informed()).belief.prior
        strong = case(pool, metric, 0, fl.Informed(strength=7)).belief.prior
        np.testing.assert_allclose(uniform, mini.uniform_prior(10, k, strength), atol=1e-12)
        # The package lifts every share to a millionth, so a row of k shares moves by k millionths at most; and
        # the scores are kept in single precision.
        off = k * 1e-6 + np.finfo(np.float32).eps
        np.testing.assert_allclose(informed, mini.informed_prior(expected, strength), atol=strength * off)
        np.testing.assert_allclose(strong, mini.informed_prior(expected, 7), atol=7 * off)


@pytest.mark.parametrize(
    "counts",
    [(280, 203, 351, 162), (61, 50, 53, 27), (1, 1, 1, 1), (0.3, 2, 9, 1), (2, 5, 2, 5), (400, 3, 300, 40)],
    ids=str,
)
@pytest.mark.parametrize("rope", [0.0, 0.05, 0.2])
def test_rope_probabilities(counts, rope) -> None:
    exact = rope_probabilities(np.array(counts[:2], float), np.array(counts[2:], float), rope)
    drawn = mini.rope_probabilities(*counts, rope=rope, rng=np.random.default_rng(3), draws=DRAWS)
    assert exact.sum() == pytest.approx(1, abs=1e-9)
    assert (np.abs(exact - drawn) <= binomial_error(exact, DRAWS)).all()


@SEEDS
def test_reward_of_comparing(pool, seed) -> None:
    c = case(pool, fl.Accuracy(), seed)
    task = fl.Compare(c.metric, "one", "two", rope=0.1, by="confidence")
    reward = task.reward(c.belief, c.cells, c.theta)[[1, 2]]
    rng = np.random.default_rng(seed)
    drawn = mini.compare_reward(c.belief.alpha[[1, 2]], c.theta[[1, 2], 0], 0.1, rng, DRAWS)
    # The largest of three shares is off by no more than the worst of them, and each share has p(1−p) ≤ 1/4.
    np.testing.assert_allclose(drawn, reward, atol=Z * 0.5 / np.sqrt(DRAWS))


class Fixed:
    """Rewards that are what they are: a policy has no more to look at."""

    def __init__(self, reward: np.ndarray) -> None:
        self.reward = reward

    def draw(self, rng: np.random.Generator, n: int = 1) -> np.ndarray:
        return np.tile(self.reward, (n, 1))

    def mean(self) -> np.ndarray:
        return self.reward


@given(
    reward=arrays.arrays(float, 6, elements=st.floats(-1, 1), unique=True),
    room=arrays.arrays(np.int64, 6, elements=st.integers(0, 2)),
    plays=st.integers(1, 6),
)
def test_picks_for_the_same_rewards(reward, room, plays) -> None:
    rewards: Any = Fixed(reward)
    for policy in (fl.Thompson(), fl.Greedy()):
        chosen = policy.choose(rewards, room, plays, np.random.default_rng(0))
        assert chosen.tolist() == mini.thompson(reward, room, plays).tolist()


def test_picks_are_as_frequent(pool) -> None:
    steps, m = 3_000, 3
    c = case(pool, fl.Accuracy(), 1, fl.Informed())
    rewards = Rewards(fl.Identify(c.metric, lowest=m), c.cells, c.belief)
    rng = np.random.default_rng(1)
    room = np.where(np.arange(10) == 4, 0, c.belief.left)
    ours, theirs = np.zeros(10), np.zeros(10)
    for theta in mini.draw(c.belief.alpha, rng, steps)[:, :, 0]:
        ours[fl.Thompson().choose(rewards, room, m, rng)] += 1
        theirs[mini.thompson(-theta, room, m)] += 1
    error = np.sqrt(2) * binomial_error((ours + theirs) / (2 * steps), steps)
    assert (np.abs(ours - theirs) / steps <= error).all()
    assert ours[4] == theirs[4] == 0
    assert ours.sum() == steps * m


@pytest.mark.slow
@pytest.mark.parametrize("metric", [fl.Accuracy(), fl.Confusion()], ids=repr)
@pytest.mark.parametrize("target", ["population", "pool"])
def test_draws_and_their_moments(pool, metric, target) -> None:
    c = case(pool, metric, 2, target=target)
    rng = np.random.default_rng(2)
    drawn = mini.draw(c.belief.alpha, rng, DRAWS)
    if target == "pool":
        drawn = mini.pool_draw(drawn, c.belief.counts.astype(np.int64), c.belief.size, rng)
    ours = c.belief.draws(rng, DRAWS)
    spread = drawn.var(axis=0)
    fourth = ((drawn - drawn.mean(axis=0)) ** 4).mean(axis=0)
    mean_error = Z * np.sqrt(spread / DRAWS)
    spread_error = Z * np.sqrt((fourth - spread**2) / DRAWS)
    assert (np.abs(drawn.mean(axis=0) - c.belief.mean()) <= mean_error).all()
    assert (np.abs(spread - c.belief.variance()) <= spread_error).all()
    assert (np.abs(drawn.mean(axis=0) - ours.mean(axis=0)) <= np.sqrt(2) * mean_error).all()
    assert (np.abs(spread - ours.var(axis=0)) <= np.sqrt(2) * spread_error).all()


@pytest.mark.parametrize("m", [1, 3])
def test_chance_to_be_among_the_worst(pool, m) -> None:
    c = case(pool, fl.Accuracy(), 3)
    rng = np.random.default_rng(3)
    answer = fl.Identify(c.metric, lowest=m).answer(c.belief, c.cells, rng, level=0.95, draws=DRAWS)
    ours = dict(zip(answer.table["group"], answer.table["chance"], strict=True))
    drawn = mini.rank_probabilities(mini.draw(c.belief.alpha, rng, DRAWS)[:, :, 0], m)
    for name, chance in zip(c.cells.partition.names, drawn, strict=True):
        assert abs(ours[name] - chance) <= np.sqrt(2) * binomial_error(chance, DRAWS), name


def test_it_finds_the_worst_groups(capsys) -> None:
    mini.main()
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines[2:4]} == {"3", "5"}
