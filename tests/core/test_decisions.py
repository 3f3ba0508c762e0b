"""What policies choose from rewards, what tasks reward, and what they conclude when everything is known."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import pytest
from scipy.stats import binom

import fewlabels as fl
from fewlabels.belief import Belief
from tests.support.contracts import POLICIES, TARGETS
from tests.support.pools import Known, pool_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.belief import Target
    from fewlabels.policies import Policy
    from fewlabels.tasks.base import Rewards

ROOM = np.array([3, 3, 0, 3])
RARE = 1e-6


@dataclass(frozen=True)
class Stub:
    """Rewards of four groups: normal with these means and spreads; group 2 is the best but has no room."""

    centre: tuple[float, ...] = (0.0, 1.0, 9.0, 0.5)
    spread: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    task: ClassVar[fl.Estimate] = fl.Estimate(fl.Accuracy())  # which looks for no group

    def draw(self, rng: np.random.Generator, n: int = 1) -> NDArray[np.float64]:
        return rng.normal(self.centre, self.spread, size=(n, 4))

    def mean(self) -> NDArray[np.float64]:
        return np.array(self.centre)

    def quantile(self, rng: np.random.Generator, q: float) -> NDArray[np.float64]:
        return np.quantile(self.draw(rng, 1000), q, axis=0)


def _choices(policy: Policy, rewards: Any, times: int = 400, plays: int = 1) -> Counter[tuple[int, ...]]:
    chosen = (policy.choose(rewards, ROOM, plays, np.random.default_rng([7, i])) for i in range(times))
    return Counter(tuple(groups.tolist()) for groups in chosen)


def _assert_share(count: int, times: int, share: float) -> None:
    low, high = (binom.ppf(q, times, share) for q in (RARE, 1 - RARE))
    assert low <= count <= high


@pytest.mark.parametrize("policy", [fl.Greedy(), fl.Thompson(), fl.UCB(), fl.EpsilonGreedy(0), fl.TopTwo(1)], ids=repr)
def test_the_best_group_with_room_is_chosen_where_nothing_is_uncertain(policy: Policy) -> None:
    assert _choices(policy, Stub(), 20) == {(1,): 20}


@pytest.mark.parametrize("policy", [fl.Greedy(), fl.Thompson(), fl.UCB(), fl.EpsilonGreedy(0)], ids=repr)
def test_m_plays_are_the_m_best_groups(policy: Policy) -> None:
    assert _choices(policy, Stub(), 5, plays=2) == {(1, 3): 5}
    assert _choices(policy, Stub(), 5, plays=9) == {(1, 3, 0): 5}


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_no_room_means_no_choice(policy: Policy) -> None:
    for plays in (1, 3):
        assert (
            len(policy.choose(cast("Rewards", Stub()), np.zeros(4, dtype=np.int64), plays, np.random.default_rng(0)))
            == 0
        )
    only = policy.choose(cast("Rewards", Stub()), np.array([0, 0, 0, 1]), 1, np.random.default_rng(0))
    assert only.tolist() == [3]


def test_epsilon_of_the_time_any_group_is_chosen() -> None:
    count = _choices(fl.EpsilonGreedy(0.3), Stub())
    for group, share in ((0, 0.1), (1, 0.8), (3, 0.1)):
        _assert_share(count[group,], 400, share)


def test_an_upper_quantile_favours_the_uncertain() -> None:
    # Means 1 and 0.5; the 97.5 % quantile of the second is 0.5 + 1.96 · 0.5 = 1.48.
    uncertain = Stub(spread=(0, 0, 0, 0.5))
    assert _choices(fl.UCB(0.975), uncertain, 20) == {(3,): 20}
    assert _choices(fl.UCB(0.5), uncertain, 20) == {(1,): 20}


def test_top_two_takes_the_runner_up_the_rest_of_the_time() -> None:
    _assert_share(_choices(fl.TopTwo(0.7), Stub())[1,], 400, 0.7)
    # Nothing is uncertain, so no redraw has another winner, and the second best is taken.
    assert _choices(fl.TopTwo(0), Stub(), 20) == {(3,): 20}
    # Two groups that win half of the draws each: the second winner is as often the one as the other.
    even = Stub(centre=(0, 1, 9, 1), spread=(0, 0.3, 0, 0.3))
    count = _choices(fl.TopTwo(0), even)
    _assert_share(count[1,], 400, 0.5)
    assert count.keys() == {(1,), (3,)}


def test_equal_rewards_are_chosen_by_chance() -> None:
    count = _choices(fl.Greedy(), Stub(centre=(1, 1, 9, 1)))
    for group in (0, 1, 3):
        _assert_share(count[group,], 400, 1 / 3)


def _known() -> Known:
    """Groups of 2, 4, 6 and 8 items with 0, 1, 3 and 8 of them right."""
    predicted = np.repeat(np.arange(4), [2, 4, 6, 8])
    right = np.concatenate([np.arange(n) < r for n, r in ((2, 0), (4, 1), (6, 3), (8, 8))])
    confidence = np.linspace(0.05, 0.95, 20)
    return pool_of(predicted, np.where(right, predicted, (predicted + 1) % 4), confidence, ["here"] * 20, 4)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("metric", [fl.Accuracy(), fl.CalibrationError(4)], ids=repr)
def test_the_reward_of_estimate_is_the_share_of_the_pool_times_the_expected_fall_in_variance(
    metric: fl.Accuracy | fl.CalibrationError, target: Target
) -> None:
    known = _known()
    cells = metric.cells(known.pool, fl.by_predicted(known.pool))
    counts = np.zeros((len(cells), 2))
    counts[0] = [0, 1]
    belief = Belief(np.ones((len(cells), 2)), counts, cells.size, target)
    expected = np.zeros(4)
    for c, g in enumerate(cells.group):
        if not belief.left[c]:
            continue
        chance = (belief.alpha / belief.strength[:, None])[c]
        after = 0.0
        for outcome in range(2):
            more = counts.copy()
            more[c, outcome] += 1
            after += chance[outcome] * Belief(belief.prior, more, cells.size, target).variance()[c, 0]
        fall = (belief.variance()[c, 0] - after) * metric.gradient(belief.mean(), cells)[c, 0] ** 2
        # The item is any unlabelled one of the group, so a cell counts by its unlabelled items.
        expected[g] += fall * belief.left[c] / belief.left[cells.group == g].sum()
    reward = fl.Estimate(metric).reward(belief, cells, belief.mean())
    np.testing.assert_allclose(reward, expected * [0.1, 0.2, 0.3, 0.4], atol=1e-14)


def test_a_weak_answer_is_called_a_guess() -> None:
    known = _known()

    def words(task: fl.Identify | fl.Compare) -> str:
        return fl.create(None, "none", known.pool, task=task, prior=fl.Uniform()).answer(draws=400).words

    assert words(fl.Identify(fl.Accuracy(), lowest=1)).startswith(
        "It is not clear yet which group has the lowest accuracy. "
    )
    assert "which 2 groups have the highest accuracy. The best guess is c" in words(
        fl.Identify(fl.Accuracy(), highest=2)
    )
    found = words(fl.Compare(fl.Accuracy(), "c0", "c1"))
    assert found.startswith("The accuracy of c0 may be ")
    assert found.endswith(" (rope ±5 points), but labels are too few to be sure.")


def test_with_all_labels_the_answers_are_right_and_sure() -> None:
    known = _known()

    def answer(task: fl.Estimate | fl.Identify | fl.Compare) -> fl.Answer:
        audit = fl.create(None, "all", known.pool, task=task, target="pool")
        audit.tell(known.truth, adopt=True)
        return audit.answer(draws=100)

    accuracy = fl.Accuracy()
    assert answer(fl.Estimate(accuracy)).table["mean"] == [pytest.approx(12 / 20)]
    worst, best = answer(fl.Identify(accuracy, lowest=2)), answer(fl.Identify(accuracy, highest=1))
    assert (worst.groups, worst.probability) == (("c0", "c1"), 1)
    assert worst.table["rank"] == [1, 2, 3, 4]
    assert "lowest accuracy are c0, c1" in worst.words
    assert (best.groups, best.table["group"]) == (("c3",), ["c3", "c2", "c1", "c0"])
    for a, b, rope, region, verb in (
        ("c0", "c3", 0.05, "less", "is below that of c3"),
        ("c3", "c0", 0.05, "more", "is above that of c0"),
        ("c1", "c2", 0.25, "equal", "is about that of c2"),  # 1/4 against 1/2: a difference of exactly ε
    ):
        for metric in (accuracy, fl.Cost(1 - np.eye(4))):
            compared = answer(fl.Compare(metric, a, b, rope=rope))
            assert compared.probability == 1
            if metric is accuracy:
                assert compared.table[region] == [1]
                assert verb in compared.words


def test_a_sure_classifier_can_still_be_found_wrong() -> None:
    """Confidence 1 everywhere: the informed prior leaves a little for every outcome, and a label can show it."""
    known = pool_of([0, 1] * 5, [2, 1] * 5, [1.0] * 10, ["here"] * 10, 3)
    for metric in (fl.Accuracy(), fl.Confusion(), fl.Cost(1 - np.eye(3))):
        audit = fl.create(None, "sure", known.pool, task=fl.Estimate(metric), prior=fl.Informed())
        assert (audit.belief().alpha > 0).all()
        audit.tell(known.labels(audit.ask(4).ids))
        assert np.isfinite(audit.draws(20)).all()


@pytest.mark.parametrize(
    ("right", "words"), [(17, "is below that of"), (23, "is probably below that of"), (28, "may be ")]
)
def test_a_comparison_is_said_as_surely_as_it_is(right: int, words: str) -> None:
    """It said that an accuracy "is about that" of another, with a probability of 53%."""
    pool = fl.read_pool({"predicted": ["a"] * 100 + ["b"] * 100}, classes=["a", "b"])
    for task in (fl.Compare(fl.Accuracy(), "a", "b"), fl.Identify(fl.Accuracy(), lowest=1)):
        audit = fl.create(None, "x", pool, task=task, prior=fl.Uniform())
        audit.tell({str(i): "a" if i < right else "b" for i in range(40)}, adopt=True)
        audit.tell({str(100 + i): "b" if i < 28 else "a" for i in range(40)}, adopt=True)
        said, sure = audit.answer().words, audit.answer().probability
        assert sure is not None
        if task.sought is None:
            assert words in said
        else:
            assert (" is probably " in said) == (0.5 <= sure < 0.8)
