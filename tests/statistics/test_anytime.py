"""Confidence sequences: exact probabilities of ever being wrong, by counting all paths; no simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats
from scipy.special import comb

import fewlabels as fl
from fewlabels.anytime import Bets, evidence_above, evidence_apart, pool_sequence, population_sequence
from fewlabels.belief import Belief
from fewlabels.beta_binomial import log_tail
from fewlabels.estimates import sequences

ALPHA = 0.05
TRUTHS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.99)
BETS = {"good": 0.8, "bad": 0.1}


def grid(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Every count of right and wrong after n labels, two of shape (n + 1,)."""
    right = np.arange(n + 1)
    return right, n - right


def bets(expected: float, groups: int) -> Bets:
    return Bets.on(np.full(groups, expected))


def ever(steps: int, chance, stops) -> float:
    """The probability that a path of right and wrong labels ever enters a set of counts.

    `chance(right, wrong)` is the probability that the next label is right, `stops(right, wrong)` whether it is inside.
    """
    alive, entered = np.array([1.0]), 0.0
    for n in range(steps + 1):
        right, wrong = grid(n)
        stop = stops(right, wrong)
        entered += alive[stop].sum()
        alive = np.where(stop, 0.0, alive)
        if n < steps:
            up = alive * chance(right, wrong)
            alive = np.append(0.0, up) + np.append(alive - up, 0.0)
    return float(entered)


@pytest.mark.parametrize("expected", BETS.values(), ids=BETS)
@pytest.mark.parametrize("theta", TRUTHS)
def test_a_population_is_ever_missed_with_at_most_the_probability_promised(theta: float, expected: float) -> None:
    def missed(right, wrong):
        low, high = population_sequence(right, wrong, bets(expected, len(right)), 1 - ALPHA)
        return (theta < low) | (theta > high)

    assert ever(120, lambda right, wrong: theta, missed) <= ALPHA


@pytest.mark.parametrize("expected", BETS.values(), ids=BETS)
@pytest.mark.parametrize(("total", "size"), [(0, 30), (1, 30), (24, 30), (30, 30), (90, 100), (99, 100), (40, 200)])
def test_a_pool_is_ever_missed_with_at_most_the_probability_promised(total: int, size: int, expected: float) -> None:
    def missed(right, wrong):
        possible = (right <= total) & (wrong <= size - total)
        right, wrong = np.where(possible, right, 0), np.where(possible, wrong, 0)
        low, high = pool_sequence(right, wrong, np.full(len(right), size), bets(expected, len(right)), 1 - ALPHA)
        return possible & ((total / size < low - 1e-12) | (total / size > high + 1e-12))

    def chance(right, wrong):
        return np.clip((total - right) / (size - right - wrong), 0, 1)

    assert ever(size - 1, chance, missed) <= ALPHA


@pytest.mark.parametrize("line", [0.5, 0.8, 0.95])
def test_a_line_is_wrongly_found_crossed_with_at_most_the_probability_promised(line: float) -> None:
    for theta in (line, line - 0.02, line - 0.3):
        crossed = lambda right, wrong: evidence_above(line, right, wrong, bets(0.9, len(right))) >= np.log(1 / ALPHA)
        assert ever(120, lambda right, wrong, theta=theta: theta, crossed) <= ALPHA
    # And where the share is above the line, it is found.
    assert ever(120, lambda right, wrong: min(line + 0.15, 0.999), crossed) > (0.6 if line < 0.9 else 0.3)


@pytest.mark.parametrize(("line", "size"), [(0.8, 50), (0.9, 120), (0.5, 31)])
@pytest.mark.slow
def test_a_line_in_a_pool_is_wrongly_found_crossed_with_at_most_the_probability_promised(line, size) -> None:
    for total in (int(line * size), int(line * size) - 3):

        def crossed(right, wrong, total=total):
            possible = (right <= total) & (wrong <= size - total)
            right, wrong = np.where(possible, right, 0), np.where(possible, wrong, 0)
            sizes = np.full(len(right), size)
            return evidence_above(line, right, wrong, bets(0.9, len(right)), sizes) >= np.log(1 / ALPHA)

        chance = lambda right, wrong, total=total: np.clip((total - right) / (size - right - wrong), 0, 1)
        assert ever(size - 1, chance, crossed) <= ALPHA


def test_the_wealth_is_a_fair_game() -> None:
    """Over all orders of labels the forecasts' probabilities add up to 1, and so does the evidence under the line."""
    right, wrong = grid(12)
    orders = comb(12, right)
    book = bets(0.7, len(right))
    assert (orders * np.exp(book.log_wealth(right, wrong))).sum() == pytest.approx(1)
    line = 0.6
    under = orders * line**right * (1 - line) ** wrong
    assert (under * np.exp(evidence_above(line, right, wrong, book))).sum() == pytest.approx(1)


def test_ends_are_where_the_bets_have_won_twenty_fold() -> None:
    """Against a plain grid of values."""
    right, wrong = np.array([0, 3, 17, 40, 5]), np.array([4, 0, 3, 40, 95])
    book = bets(0.75, 5)
    low, high = population_sequence(right, wrong, book, 1 - ALPHA)
    theta = np.linspace(0, 1, 20_001)[1:-1]
    for g in range(5):
        fair = theta ** right[g] * (1 - theta) ** wrong[g]
        kept = theta[np.exp(book.log_wealth(right, wrong)[g]) < fair / ALPHA]
        assert low[g] == pytest.approx(0 if right[g] == 0 else kept[0], abs=1e-4)
        assert high[g] == pytest.approx(1 if wrong[g] == 0 else kept[-1], abs=1e-4)


def test_ends_in_a_pool_are_whole_numbers_of_items() -> None:
    """Against every total, one by one."""
    for right, wrong, size in ((0, 0, 7), (3, 2, 9), (10, 0, 40), (17, 3, 25), (0, 6, 50)):
        book = bets(0.6, 1)
        low, high = pool_sequence(np.array([right]), np.array([wrong]), np.array([size]), book, 1 - ALPHA)
        kept = []
        for total in range(right, size - wrong + 1):
            fair = math.perm(total, right) * math.perm(size - total, wrong) / math.perm(size, right + wrong)
            if np.exp(book.log_wealth(np.array([right]), np.array([wrong]))[0]) / fair < 1 / ALPHA:
                kept.append(total)
        assert (low[0] * size, high[0] * size) == pytest.approx((kept[0], kept[-1]))


def test_good_bets_make_short_intervals_and_bad_ones_long() -> None:
    right, wrong = np.array([18]), np.array([2])
    lengths = [np.diff(population_sequence(right, wrong, bets(e, 1), 0.95), axis=0)[0, 0] for e in (0.9, 0.1)]
    assert lengths[0] < lengths[1] < 1.35 * lengths[0]
    assert [end[0] for end in population_sequence(np.array([0]), np.array([0]), bets(0.5, 1), 0.95)] == [0.0, 1.0]


def wealth_of(pair: tuple[float, float], right, wrong, expected) -> np.ndarray:
    """log M_a(θ_a) M_b(θ_b), from the formula; right and wrong of shape (..., 2)."""
    made = Bets.on(np.asarray(expected, dtype=float))
    shares = np.asarray(pair)
    out = np.zeros(right.shape[:-1])
    for g in range(2):
        r, w = right[..., g].ravel(), wrong[..., g].ravel()
        one = Bets(np.repeat(made.a[g : g + 1], len(r), 0), np.repeat(made.b[g : g + 1], len(r), 0), made.share)
        likely = r * np.log(shares[g]) + w * np.log1p(-shares[g])
        out += (one.log_wealth(r, w) - likely).reshape(out.shape)
    return out


@pytest.mark.parametrize("least", [-0.3, -0.05, 0.0, 0.05, 0.4])
def test_the_evidence_about_a_difference_is_the_least_wealth_over_all_such_pairs(least: float) -> None:
    rng = np.random.default_rng(8)
    first, second = np.meshgrid(np.linspace(0.001, 0.999, 500), np.linspace(0.001, 0.999, 500), indexing="ij")
    inside = first - second >= least
    for _ in range(12):
        right, wrong = rng.integers(0, 40, 2), rng.integers(0, 40, 2)
        made = Bets.on(rng.random(2))
        likely = right[0] * np.log(first) + wrong[0] * np.log1p(-first)
        likely = likely + right[1] * np.log(second) + wrong[1] * np.log1p(-second)
        slow = made.log_wealth(right, wrong).sum() - likely[inside].max()
        assert slow - 0.1 <= evidence_apart(least, right, wrong, made) <= slow + 1e-9


@pytest.mark.parametrize("touching", [True, False])
@pytest.mark.parametrize("least", [-0.5, -0.1, 0.0, 0.2])
def test_the_same_in_a_pool_by_trying_all_numbers_of_right_items(least: float, touching: bool) -> None:
    rng = np.random.default_rng(9)
    for _ in range(20):
        size = rng.integers(1, 12, 2)
        total = rng.integers(0, size + 1)
        right, wrong = rng.integers(0, total + 1), rng.integers(0, size - total + 1)
        made, best = Bets.on(rng.random(2)), -np.inf
        for a in range(right[0], size[0] - wrong[0] + 1):
            for b in range(right[1], size[1] - wrong[1] + 1):
                apart = a / size[0] - b / size[1] - least
                if apart > 1e-9 or (touching and apart > -1e-9):
                    groups = zip((a, b), right, wrong, size, strict=True)
                    chances = [sequence_chance(*group) for group in groups]
                    best = max(best, sum(map(math.log, chances)))
        wanted = made.log_wealth(right, wrong).sum() - best
        assert evidence_apart(least, right, wrong, made, size, touching=touching) == pytest.approx(wanted)


def test_a_pool_that_lies_exactly_on_the_line_is_above_it_if_touching_counts() -> None:
    """Eight of ten items, all of them labelled: at least 80% for certain, and more than 80% for certain not."""
    everything = np.array([8]), np.array([2]), bets(0.9, 1), np.array([10])
    assert evidence_above(0.8, *everything, touching=True) == np.inf
    assert evidence_above(0.8, *everything) == -np.inf
    assert evidence_above(0.81, *everything, touching=True) == -np.inf
    nearly = np.array([7]), np.array([2]), bets(0.9, 1), np.array([10])
    assert np.isfinite(evidence_above(0.8, *nearly, touching=True)), "the last item decides"
    assert evidence_above(0.8, *nearly) == -np.inf


@pytest.mark.parametrize("items", [499, 501, 20_000])
def test_the_tail_of_the_beta_binomial_is_the_sum_of_its_terms(items: int) -> None:
    """Against SciPy, term by term, on both sides of the number of items from which on it is an integral."""
    a = np.array([0.5, 9.0, 700.5, 0.5, 40_000.0])
    b = np.array([0.5, 1.0, 90.0, 300.0, 40_000.0])
    for least in (-1, 0, 1, 7, items // 3, items // 2, items - 2, items, items + 1):
        right = np.arange(max(least, 0), items + 1)[:, None]
        terms = stats.betabinom.logpmf(right, items, a, b)
        slow = special.logsumexp(terms, axis=0) if len(right) else np.full(5, -np.inf)
        seen = slow > -40
        made = log_tail(least, items, a, b)
        np.testing.assert_allclose(made[seen], slow[seen], atol=1e-6)
        assert (made[~seen] < -39).all()


def test_evidence_about_a_large_pool_costs_no_more_than_about_a_small_one() -> None:
    """It is the sum over all totals of weight times likelihood."""
    right, wrong, book = np.array([45]), np.array([15]), bets(0.9, 1)
    size, k = 20_000, 12_000
    total = np.arange(k + 1, size + 1)
    each = [stats.betabinom.pmf(total, size, a, b) for a, b in zip(book.a[0], book.b[0], strict=True)]
    weight = book.share @ np.array(each)
    likely = special.loggamma(total + 1) - special.loggamma(total - 44) + special.loggamma(size - total + 1)
    likely -= special.loggamma(size - total - 14)
    under = special.loggamma(k + 1) - special.loggamma(k - 44) + special.loggamma(size - k + 1)
    under -= special.loggamma(size - k - 14)
    possible = total <= size - 15
    slow = np.log((weight[possible] * np.exp(likely[possible] - under)).sum() / weight.sum())
    assert evidence_above(0.6, right, wrong, book, np.array([size]))[0] == pytest.approx(slow, abs=1e-6)
    large, huge = (evidence_above(0.6, right, wrong, book, np.array([n]))[0] for n in (10**6, 10**9))
    assert huge == pytest.approx(large, abs=1e-3)  # no computer could go through as many totals


@pytest.mark.parametrize("least", [-0.3, 0.0, 0.25])
def test_the_evidence_about_a_difference_in_large_pools_is_found_without_trying_all_numbers(least, monkeypatch) -> None:
    rng = np.random.default_rng(10)
    for _ in range(10):
        size = rng.integers(30_000, 60_000, 2)
        right, wrong = rng.integers(0, 60, 2), rng.integers(0, 60, 2)
        made = Bets.on(rng.random(2))
        quick = evidence_apart(least, right, wrong, made, size)
        with monkeypatch.context() as patched:
            patched.setattr("fewlabels.anytime._MANY", 10**6)
            slow = evidence_apart(least, right, wrong, made, size)
        assert slow - 0.01 <= quick <= slow + 1e-9, "it is never too large"
    huge = np.array([10**9, 10**9])  # more than any memory holds
    assert np.isfinite(evidence_apart(least, right, wrong, made, huge))


def sequence_chance(total: int, right: int, wrong: int, size: int) -> float:
    """The probability of these labels in some order, drawn one by one from `size` items of which `total` are right."""
    chance = 1.0
    for i in range(right):
        chance *= (total - i) / (size - i)
    for i in range(wrong):
        chance *= (size - total - i) / (size - right - i)
    return chance


SLOW_PAIRS = [pytest.param(pair, marks=pytest.mark.slow) for pair in ((0.8, 0.8), (0.9, 0.7), (0.97, 0.9), (0.2, 0.6))]
POLICIES = {
    "in turn": lambda right, wrong: (right + wrong).sum(axis=-1) % 2 == 0,
    "the worse one": lambda right, wrong: (
        (right[..., 0] + 1) * ((right + wrong)[..., 1] + 2) <= (right[..., 1] + 1) * ((right + wrong)[..., 0] + 2)
    ),
    "the first, then the second": lambda right, wrong: (right + wrong)[..., 0] < 20,
}


@pytest.mark.parametrize("asks", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("pair", [(0.5, 0.5), *SLOW_PAIRS])
def test_a_true_pair_is_ever_refuted_with_at_most_the_probability_promised(pair, asks) -> None:
    """By counting all paths of two groups, whichever is asked about next; bets that are too high and too low."""
    steps = 40
    for expected in ((0.9, 0.3), (0.5, 0.95)):
        alive: dict[tuple[int, ...], float] = {(0, 0, 0, 0): 1.0}
        refuted = 0.0
        for _ in range(steps):
            states = np.array(list(alive))
            first = asks(states[:, :2], states[:, 2:])
            after: dict[tuple[int, ...], float] = {}
            for state, chance, is_first in zip(alive, alive.values(), first, strict=True):
                g = 0 if is_first else 1
                for wrong, share in ((0, pair[g]), (1, 1 - pair[g])):
                    new = list(state)
                    new[g + 2 * wrong] += 1
                    after[tuple(new)] = after.get(tuple(new), 0.0) + chance * share
            states = np.array(list(after))
            out = wealth_of(pair, states[:, :2], states[:, 2:], expected) >= math.log(1 / ALPHA)
            refuted += float(np.array(list(after.values()))[out].sum())
            alive = {state: chance for (state, chance), gone in zip(after.items(), out, strict=True) if not gone}
        assert 0 < refuted <= ALPHA


def slowly(labels: list[int], expected: float, size: int | None, level: float) -> tuple[float, float]:
    """Both ends by betting label by label with two forecasters, against every value on a grid or every total."""
    stakes, counts = [0.5, 0.5], [[0.5, 0.5], [10 * expected, 10 * (1 - expected)]]
    totals = np.linspace(0, 1, 2001) if size is None else np.arange(size + 1)
    fair, right = np.ones(len(totals)), 0
    for i, label in enumerate(labels):
        for forecaster, (a, b) in enumerate(counts):
            stakes[forecaster] *= (a if label else b) / (a + b)
            counts[forecaster][0 if label else 1] += 1
        chance = totals if size is None else (totals - right) / (size - i)
        fair = fair * np.clip(chance if label else 1 - chance, 0, None)
        right += label
    alive = sum(stakes) < fair / (1 - level)
    kept = totals[alive] / (1 if size is None else size)
    return float(kept.min()), float(kept.max())


@pytest.mark.parametrize("size", [None, 40])
@pytest.mark.parametrize("expected", [0.1, 0.9])
@pytest.mark.parametrize("taken", [1, 3])
def test_labels_taken_back_cannot_hide_a_value(size: int | None, expected: float, taken: int) -> None:
    """Whatever they were: the interval contains that of all labels, computed slowly, and so misses no more often."""
    metric, step = fl.Accuracy(), 1 / 2000 if size is None else 1e-9
    pool = fl.read_pool({"predicted": ["a"] * 40, "confidence": [expected] * 40}, classes=["a", "b"])
    cells = metric.cells(pool, fl.whole(pool))
    for right, wrong in ((0, 0), (4, 0), (0, 5), (6, 3), (12, 2), (3, 14)):
        counts = np.array([[float(right), float(wrong)]])
        belief = Belief(np.ones((1, 2)), counts, np.array([40]), "population" if size is None else "pool")
        low, high = sequences(metric, belief, cells, 0.95, missing=np.array([taken]))
        for hidden in range(taken + 1):
            labels = [1] * (right + hidden) + [0] * (wrong + taken - hidden)
            full = slowly(np.random.default_rng(hidden).permutation(labels).tolist(), expected, size, 0.95)
            assert low[0] <= full[0] + step
            assert high[0] >= full[1] - step
    assert low[0] < high[0]
