"""How far one model is ahead of another by their record alone, and how sure of it anybody may say to be."""

from __future__ import annotations

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.learned.models import BEFORE, Margin, Record
from fewlabels.outcomes import Outcomes
from fewlabels.tasks.models import joint

DRAWS = 40_000


def margin(
    wins: list[int], losses: list[int], left: list[int], size: list[int], silent: tuple[int, ...] = ()
) -> Margin:
    return Margin(*map(np.array, (wins, losses, left, size, silent or [0] * len(wins))))


def slow(of: Margin, edge: float, rng: np.random.Generator, *, population: bool) -> float:
    """P(Σs ≥ edge) by drawing the shares of wins, losses and neither in each part, and then the items that are left."""
    total = np.zeros(DRAWS)
    begun = sum(BEFORE) * of.size / of.size.sum()
    mean = np.clip(edge / of.size.sum() - 0.25, -1, 1)
    for part, weight in enumerate(begun):
        wins, losses, left = (int(each[part]) for each in (of.wins, of.losses, of.left))
        neither, silent = int(of.size[part]) - left - wins - losses, int(of.silent[part])
        begins = [(1 + mean) / 2, (1 - mean) / 2, 0]
        if silent:  # the one that gives no answer scores never, the other or nobody
            wins_begin, losses_begin = max(mean, 0) * (silent > 0), max(-mean, 0) * (silent < 0)
            begins = [wins_begin, losses_begin, 1 - wins_begin - losses_begin]
        alpha = np.array([wins, losses, neither]) + weight * np.array(begins)
        share = rng.dirichlet(np.maximum(alpha, 1e-9), DRAWS)
        if population:
            total += int(of.size[part]) * (share[:, 0] - share[:, 1])
        else:
            found = rng.multinomial(left, share)
            total += wins - losses + found[:, 0] - found[:, 1]
    return float((total >= edge - 1e-9).mean())


CASES = [
    margin([12], [7], [60], [90]),
    margin([30, 4, 11], [22, 9, 5], [200, 40, 25], [260, 60, 45]),
    margin([0, 3], [0, 1], [50, 30], [50, 40]),
    margin([40], [10], [900], [960]),
    margin([30, 12, 0], [22, 0, 9], [200, 90, 80], [260, 110, 100], (0, 1, -1)),
]


@pytest.mark.parametrize("population", [False, True])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_a_margin_is_that_of_draws(case: int, population: bool) -> None:
    """Σs is treated as normal: that is 3 points off at most, beside what the draws are off themselves."""
    rng, of = np.random.default_rng(case), CASES[case]
    other = Margin(of.losses, of.wins, of.left, of.size, -of.silent)
    for edge in np.array([0.05, 0.15, 0.3]) * of.size.sum():
        less, more = (slow(each, edge, rng, population=population) for each in (other, of))
        both = sum(slow(each, -edge, rng, population=population) for each in (other, of)) - 1
        wanted = np.maximum([less, both, more], 0.5)
        off = 4 * np.sqrt(2 * 0.25 / DRAWS)
        assert of.regions(edge, population=population) == pytest.approx(wanted, abs=0.03 + off)


def test_at_no_margin_it_is_the_record() -> None:
    """With the edge at 0 and one part it is the probability that the leader of a record is ahead."""
    shape = np.array([[9]]), np.array([[4]]), np.array([[500]]), np.array([[513]])
    record = Record(*shape, np.array([0]))
    for population, wanted in ((True, record.is_ahead()[0]), (False, record.stays_ahead()[0])):
        assert record.against(0).at_least(0, population=population) == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize(("times", "off"), [(1, 0.0), (40, 0.02)])
def test_a_leader_stays_ahead_as_often_as_in_draws(times: int, off: float) -> None:
    """All five parts, with few items left, which are counted exactly, and with many, whose sum is taken for normal."""
    wins, losses, asked = np.array([6, 2, 5, 4, 0]), np.array([5, 4, 1, 0, 3]), np.array([14, 7, 6, 9, 7])
    left = times * np.array([40, 10, 30, 20, 25])
    silent = np.array([0, 0, 0, 1, -1])
    record = Record(wins[:, None], losses[:, None], left[:, None], (left + asked)[:, None], silent)
    # What speaks for the leader, and against it. Where one says nothing, labels that show both to be wrong speak too.
    good = np.where(silent < 0, asked - losses, wins) + np.where(silent == 0, 3, 1.5)
    bad = np.where(silent > 0, asked - wins, losses) + np.where(silent == 0, 5, 2.5)
    rng = np.random.default_rng(1)
    won = rng.binomial(left, rng.beta(good, bad, (DRAWS, 5)))
    score = np.where(silent == 0, 2 * won - left, np.where(silent > 0, won, won - left))
    wanted = ((wins - losses).sum() + score.sum(axis=1) >= 0).mean()
    assert 0.05 < wanted < 0.95, "it is open"
    assert record.stays_ahead()[0] == pytest.approx(wanted, abs=off + 4.5 * np.sqrt(wanted * (1 - wanted) / DRAWS))


def test_what_is_certain_is_certain() -> None:
    done = margin([8], [2], [0], [12])
    assert done.regions(5, population=False).tolist() == [0.5, 0.5, 1.0]
    assert done.regions(6.5, population=False).tolist() == [0.5, 1.0, 0.5]
    assert done.regions(5, population=True)[2] < 0.95  # the items that have a label are a sample too
    same = margin([0], [0], [0], [0])
    assert same.regions(0.5, population=False).tolist() == same.regions(0.5, population=True).tolist() == [0.5, 1, 0.5]
    few = margin([0], [0], [7], [7])
    assert few.regions(8, population=False)[1] == 1.0  # they cannot differ by more
    one_sided = margin([9], [0], [60], [80], (1,))
    assert one_sided.ends(population=False) == (9, 69)  # a model without an answer does not catch up
    assert one_sided.regions(8.5, population=False)[2] == 1.0


def test_groups_together_are_all_parts() -> None:
    parts = [margin([3, 1], [1, 0], [9, 4], [15, 6]), margin([0, 2], [2, 2], [5, 5], [8, 9])]
    one = margin([3, 1, 0, 2], [1, 0, 2, 2], [9, 4, 5, 5], [15, 6, 8, 9])
    assert Margin.together(parts).regions(3, population=False).tolist() == one.regions(3, population=False).tolist()


def close_call() -> tuple[fl.Pool, np.ndarray]:
    """Two models that differ on 92 of 3,668 items, where the first is right 68 times: 1.2 points of difference."""
    items = 3_668
    true = np.arange(items) % 2
    said = np.column_stack([true, true])
    said[:68, 1] = said[68:92, 0] = 2
    shuffled = np.random.default_rng(3).permutation(items)
    arrays = {"predicted": said[shuffled], "models": ["a", "b"], "classes": ["x", "y", "z"]}
    return fl.read_pool(arrays), true[shuffled]


def test_a_close_call_is_not_sure_too_soon() -> None:
    """A lucky streak looks like "about equal" or like "more": neither is said with 95% before it is nearly certain."""
    pool, true = close_call()
    task = fl.CompareModels(fl.Accuracy(), "a", "b", rope=0.01)
    cells = task.cells(pool, fl.whole(pool))
    apart, prior = np.flatnonzero(task.asks(cells)), fl.Learned().on(cells, "pool")
    right = pool.answers[apart] == true[apart][:, None]
    score = right[:, 0].astype(int) - right[:, 1]
    rng = np.random.default_rng(1)
    # 20 labels that make the models look alike, as chance sometimes has it, and all of them.
    streak = apart[np.concatenate([np.flatnonzero(score > 0)[:10], np.flatnonzero(score < 0)[:10]])]
    for items, most in ((streak, 0.9), (apart, 1.0)):
        belief = prior.belief(Outcomes.of(cells, items, true[items].astype(np.int64)))
        answer = task.answer(belief, cells, rng, level=0.95, draws=2_000)
        allowed = task.most(belief, cells)
        stated = np.array([answer.table[name][0] for name in ("less", "equal", "more")])
        assert (stated <= allowed[0] + 1e-9).all()
        assert stated.sum() == pytest.approx(1)
        assert answer.probability <= most
    assert answer.probability == 1.0
    assert stated.tolist() == [0, 0, 1]


def test_an_interval_is_no_narrower_than_that_of_the_record() -> None:
    pool, true = close_call()
    task = fl.CompareModels(fl.Accuracy(), "a", "b")
    cells = task.cells(pool, fl.whole(pool))
    rng = np.random.default_rng(2)
    items = rng.permutation(np.flatnonzero(task.asks(cells)))[:30]
    belief = fl.Learned().on(cells, "pool").belief(Outcomes.of(cells, items, true[items].astype(np.int64)))
    row = next(iter(task.answer(belief, cells, rng, level=0.95, draws=4_000).table.rows()))
    margin = joint(belief).margins(0, 1)[0]
    share = joint(belief).learning.unexplained(0, 1)
    _, variance = margin.moments(row["mean"] * len(true) / 92, population=False)
    assert 0.7 < share <= 1
    assert row["high"] - row["low"] >= 0.93 * 2 * 1.96 * (share * variance) ** 0.5 / len(true)


def test_what_was_fitted_to_coins_explains_nothing() -> None:
    """Seven parameters fit 25 tosses of a coin better than they would fit others: that is allowed for."""
    shares = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        said = np.column_stack([np.zeros(200, dtype=int), np.ones(200, dtype=int), rng.integers(0, 2, 200)])
        arrays = {"predicted": said, "models": ["a", "b", "c"], "classes": ["x", "y"]}
        pool = fl.read_pool(arrays | {"confidence": rng.uniform(0.5, 1, said.shape)})
        cells = fl.CompareModels(fl.Accuracy(), "a", "b").cells(pool, fl.whole(pool))
        items = rng.permutation(200)[:25]
        belief = fl.Learned().on(cells, "pool").belief(Outcomes.of(cells, items, rng.integers(0, 2, 25)))
        shares.append(joint(belief).learning.unexplained(0, 1))
    assert min(shares) > 0.95


def test_where_two_models_never_differ_in_a_pool_they_are_equal_for_certain() -> None:
    """A group like that was equal with 50%, and each of the two better with 25%, with an interval of one point."""
    true = np.arange(60) % 2
    second = true.copy()
    second[:12] = 1 - second[:12]
    said = np.array(["no", "yes"])
    arrays = {"site": ["north"] * 30 + ["south"] * 30, "a": said[true], "b": said[second]}
    pool = fl.read_pool(arrays, models=["a", "b"])
    task, best = fl.CompareModels(fl.Accuracy(), "a", "b"), fl.Best(fl.Accuracy())
    audit = fl.create(None, "pair", pool, "column:site", task=task, target="pool")
    which = fl.create(None, "best", pool, "column:site", task=best, target="pool")
    for labels in (0, 3):
        for each in (audit, which):
            each.tell({item: str(said[true[int(item)]]) for item in each.ask(labels).ids} if labels else {})
        chances = {row["group"]: row["chance"] for row in which.answer(draws=400).table.rows()}
        assert chances["south: a"] == chances["south: b"] == 1
        assert max(chances["north: a"], chances["north: b"]) <= (labels + 1) / (labels + 2)
        overall, north, south = audit.answer(draws=400).table.rows()
        assert [south[name] for name in ("less", "equal", "more")] == [0, 1, 0]
        assert max(north["more"], overall["more"]) <= (labels + 1) / (labels + 2)


def test_where_two_models_never_differ_other_items_like_these_can() -> None:
    """Such a group read 10, 80 and 10% beside an interval of 0; no label of other items says anything about it."""
    true = np.arange(900) % 2
    second = true.copy()
    second[:12] = 1 - second[:12]
    said, site = np.array(["no", "yes"]), np.repeat(["north", "south", "west"], [60, 60, 780])
    pool = fl.read_pool({"site": site, "a": said[true], "b": said[second]}, models=["a", "b"])
    audit = fl.create(None, "pair", pool, "column:site", task=fl.CompareModels(fl.Accuracy(), "a", "b"))
    for labels in (0, 5):
        audit.tell({item: str(said[true[int(item)]]) for item in audit.ask(labels).ids} if labels else {})
        _, _, south, west = audit.answer(draws=4_000).table.rows()
        for row, n in ((south, 60), (west, 780)):
            assert row["mean"] == 0
            assert row["low"] == pytest.approx(-1.96 / (n + 1), rel=0.1)
            assert row["high"] == pytest.approx(1.96 / (n + 1), rel=0.1)
        assert south["equal"] == pytest.approx(0.458, abs=0.03)  # P(|Δ| ≤ 0.01), with an sd of 1/61
        assert west["equal"] == 1
