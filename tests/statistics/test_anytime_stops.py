"""Stops with a guarantee: how often an answer is ever wrong, with the worst possible stopping and steered asking."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.outcomes import Outcomes
from fewlabels.policies.step import Queue, ask_step
from fewlabels.tasks import Rewards

SIZE = 150
RISK = 0.1
POLICIES = (
    fl.Thompson(),
    *(pytest.param(policy, marks=pytest.mark.long) for policy in (fl.UniformGroups(), fl.Greedy())),
)


def pool_of(groups: int) -> fl.Pool:
    return fl.read_pool({"predicted": [f"g{i}" for i in range(groups) for _ in range(SIZE)]})


def ever_wrong(task: fl.Task, shares: tuple[float, ...], policy: Any, target: Any, seed: int, looks: int = 16) -> bool:
    """Whether a run gives a guaranteed answer that is wrong at some look: whoever wants it wrong stops there."""
    pool = pool_of(len(shares))
    partition = fl.by_predicted(pool)
    cells = task.metric.cells(pool, partition)
    rng = np.random.default_rng([seed, 5])
    outcome = (rng.random(len(pool)) >= np.repeat(shares, SIZE)).astype(np.int64)
    if target == "pool":  # as many right items as the shares say
        outcome = np.concatenate([rng.permutation(SIZE) >= round(share * SIZE) for share in shares]).astype(np.int64)
    truth = np.array([round(share * SIZE) / SIZE for share in shares]) if target == "pool" else np.array(shares)
    prior = fl.Uniform().on(cells, target)
    free = Queue.of(partition, task.askable(cells), ()).copy()
    asked: list[int] = []
    for _ in range(looks):
        belief = prior.belief(Outcomes.of(cells, np.array(asked, dtype=np.int64), outcome[asked]))
        for _ in range(8):
            asked += ask_step(policy, Rewards(task, cells, belief), free, rng, task.plays, best_first=True)
        belief = prior.belief(Outcomes.of(cells, np.array(asked, dtype=np.int64), outcome[asked]))
        if (task.assurance(belief, cells) or 0.0) >= 1 - RISK:
            values = task.metric.value(belief.mean(), cells)
            if not task.is_right(task.right(values[None], cells, rng)[0], truth, cells, rng):
                return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("target", ["population", "pool"])
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
@pytest.mark.parametrize(
    ("task", "shares"),
    [
        (fl.Compare(fl.Accuracy(), "g0", "g1", rope=0.0), (0.6, 0.62)),
        (fl.Compare(fl.Accuracy(), "g0", "g1", rope=0.1), (0.9, 0.79)),
        (fl.Identify(fl.Accuracy(), lowest=1), (0.72, 0.7, 0.74, 0.9)),
        (fl.Identify(fl.Accuracy(), highest=2), (0.5, 0.52, 0.54, 0.3)),
    ],
)
def test_a_guaranteed_answer_is_ever_wrong_as_rarely_as_promised(task, shares, policy, target) -> None:
    runs = 20
    wrong = sum(ever_wrong(task, shares, policy, target, seed) for seed in range(runs))
    # At a risk of 0.1, more than 6 wrong runs of 20 have a probability of 0.002.
    assert wrong <= 6


@pytest.mark.parametrize("target", ["population", "pool"])
def test_they_are_given_where_the_labels_are_clear_and_not_before(target) -> None:
    pool = pool_of(3)
    for task in (fl.Identify(fl.Accuracy(), lowest=1), fl.Compare(fl.Accuracy(), "g0", "g1")):
        cells = task.metric.cells(pool, fl.by_predicted(pool))
        prior = fl.Uniform().on(cells, target)
        sure = []
        for right, n in (((0, 0, 0), 0), ((10, 14, 14), 20), ((40, 75, 78), 80)):
            counts = np.array([[r, n - r] for r in right], dtype=float)
            sure.append(task.assurance(prior.belief(Outcomes(counts)), cells) or 0.0)
        assert sure[0] == pytest.approx(0, abs=1e-6)
        assert sure[1] < 0.9
        assert sure[2] > 0.99


def test_both_bets_at_once_are_sharper_than_two_intervals() -> None:
    from fewlabels.anytime import Bets, evidence_apart, population_sequence

    right, wrong, bets = np.array([20, 36]), np.array([20, 4]), Bets.on(np.array([0.7, 0.8]))
    low, high = population_sequence(right, wrong, bets, 0.975)
    assert high[0] > low[1]  # at half the risk each the intervals overlap
    assert evidence_apart(0.0, right, wrong, bets) > np.log(20)


def test_the_words_say_how_the_risk_is_shared_out() -> None:
    audit = fl.create(None, "x", pool_of(3), task=fl.Identify(fl.Accuracy(), lowest=1),
                      stop=fl.Stop(probability=0.95, guarantee="anytime"))  # fmt: skip
    audit.tell(dict.fromkeys(audit.ask(30).ids, "g0"))
    words = audit.standing().words
    assert words.endswith("however often you look; the risk is shared out evenly between all groups.")
    with pytest.raises(fl.SpecError, match="a single share"):
        fl.create(None, "y", pool_of(3), task=fl.Identify(fl.Precision(), lowest=1),
                  stop=fl.Stop(probability=0.95, guarantee="anytime"))  # fmt: skip
