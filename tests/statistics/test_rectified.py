"""The number over all items: anchors are right on average, and the one number made of belief and anchors is honest."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from scipy import stats

import fewlabels as fl
from fewlabels.belief import Belief
from fewlabels.rectified import Rectified, anchored_mean, recalibrated, rectified
from fewlabels.sample import Binned, Sample, Strips

# Five items in two groups, which of them are right, and an expectation that is badly wrong.
RIGHT = np.array([1.0, 0.0, 1.0, 1.0, 0.0])
GROUP = np.array([0, 0, 0, 1, 1])
EXPECTED = np.array([0.9, 0.8, 0.1, 0.3, 0.7])


def _every_run():
    """All runs of four steps with their probabilities: an anchor, two steered by the labels before, an anchor."""
    for first, second, third, fourth in product(range(5), repeat=4):
        items = [first, second, third, fourth]
        if len(set(items)) < 4:
            continue
        chance = 1 / 5
        # Ask where the last label was wrong, otherwise in the other group; in a group at random, if it has room.
        for step in (1, 2):
            last = items[step - 1]
            group = GROUP[last] if RIGHT[last] == 0 else 1 - GROUP[last]
            free = [i for i in range(5) if i not in items[:step]]
            there = [i for i in free if GROUP[i] == group] or free
            chance *= (items[step] in there) / len(there)
        yield chance / 2, np.array(items)  # two items are free for the last anchor


@pytest.mark.parametrize("anchors", [(0,), (3,), (0, 3)])
def test_anchors_are_right_on_average_however_the_others_were_chosen(anchors: tuple[int, ...]) -> None:
    """By enumeration of all runs: exact, although the labels that were steered are not right on average."""
    is_anchor = np.isin(np.arange(4), anchors)
    runs = list(_every_run())
    assert sum(chance for chance, _ in runs) == pytest.approx(1)
    found = [anchored_mean(EXPECTED, Sample(items, RIGHT[items], is_anchor))[0] for _, items in runs]
    assert sum(chance * mean for (chance, _), mean in zip(runs, found, strict=True)) == pytest.approx(RIGHT.mean())
    raw = sum(chance * RIGHT[items].mean() for chance, items in runs)
    assert abs(raw - RIGHT.mean()) > 0.005


def test_a_pool_that_is_labelled_to_the_end_by_anchors_leaves_next_to_no_doubt() -> None:
    rng = np.random.default_rng(3)
    right = (rng.random(400) < 0.8).astype(float)
    items = rng.permutation(400)
    mean, sd = anchored_mean(np.full(400, 0.5), Sample(items, right[items], np.ones(400, dtype=bool)))
    assert mean == pytest.approx(right.mean(), abs=3e-3)
    assert sd < 1 / 400  # less than one item
    # Half of the pool at random: the standard deviation is that of sampling without replacement.
    half = Sample(items[:200], right[items[:200]], np.ones(200, dtype=bool))
    usual = right.std() * np.sqrt((1 - 200 / 400) / 200)
    assert anchored_mean(np.full(400, 0.8), half)[1] == pytest.approx(usual, rel=0.1)


def test_without_anchors_there_is_no_number() -> None:
    assert anchored_mean(EXPECTED, Sample(np.arange(2), RIGHT[:2], np.zeros(2, dtype=bool))) == (0.0, np.inf)
    pending = Sample(np.arange(2), np.full(2, np.nan), np.ones(2, dtype=bool))
    assert anchored_mean(EXPECTED, pending) == (0.0, np.inf)
    assert pending.anchors == 0


@pytest.mark.slow
@pytest.mark.parametrize("n", [12, 40])
def test_intervals_of_anchors_hold_with_few_of_them(n: int) -> None:
    """Confidences that mean the opposite of what they say, and as many steered labels as anchors."""
    rng, runs, held = np.random.default_rng(n), 1500, 0
    confidence = rng.uniform(0.5, 0.99, 3000)
    right = (rng.random(3000) < 1.4 - confidence).astype(float)
    worst = np.argsort(right + rng.random(3000))[:1500]
    for _ in range(runs):
        steered = rng.choice(worst, n, replace=False)
        rest = np.setdiff1d(np.arange(3000), steered)
        items = np.concatenate([steered, rng.choice(rest, n, replace=False)])
        sample = Sample(items, right[items], np.arange(2 * n) >= n)
        mean, sd = anchored_mean(recalibrated(confidence, 3000, sample), sample)
        held += abs(mean - right.mean()) <= 1.96 * sd
    # At least 93% of the time; the tolerance is that of the number of runs.
    assert held / runs > 0.93 - 4 * np.sqrt(0.95 * 0.05 / runs)


# --- strips: every label speaks for its strip

SIZES = np.bincount(GROUP)


def test_labels_of_strips_are_right_on_average_although_one_strip_is_asked_about_more() -> None:
    """By enumeration: two of the three items of the first strip, and one of the two of the second; exact."""
    found = []
    for first, second in product(permutations(range(3), 2), range(3, 5)):
        items = np.array([first[0], second, first[1]])
        sample = Sample(items, RIGHT[items], np.zeros(3, dtype=bool), Strips(SIZES, GROUP[items], np.ones(3, bool)))
        found.append(anchored_mean(EXPECTED, sample)[0])
    assert np.mean(found) == pytest.approx(RIGHT.mean())


def test_the_number_of_strips_is_that_of_a_stratified_sample() -> None:
    """Against the textbook: Σ p_k times the mean of each strip, and Σ p_k² s_k² (1 − n_k/N_k)/n_k."""
    rng = np.random.default_rng(8)
    sizes = np.array([3000, 1000, 2000])
    group = np.repeat(np.arange(3), sizes)
    right = (rng.random(6000) < np.array([0.9, 0.5, 0.7])[group]).astype(float)
    items = np.concatenate([rng.choice(np.flatnonzero(group == k), n, False) for k, n in enumerate((200, 300, 100))])
    expected = np.array([0.88, 0.5, 0.7])[group]
    sample = Sample(items, right[items], rng.random(600) < 0.2, Strips(sizes, group[items], np.ones(600, dtype=bool)))
    mean, sd = anchored_mean(expected, sample)
    own = [right[items[group[items] == k]] for k in range(3)]
    share = sizes / 6000
    # The order of asking matters a little: what was asked before is known at each step.
    assert mean == pytest.approx(sum(p * x.mean() for p, x in zip(share, own, strict=True)), abs=0.1 * sd)
    left = [1 - len(x) / n for x, n in zip(own, sizes, strict=True)]
    variance = sum(p**2 * x.var() * f / len(x) for p, x, f in zip(share, own, left, strict=True))
    assert sd == pytest.approx(np.sqrt(variance), rel=0.1)
    only_anchors = anchored_mean(expected, Sample(items, right[items], sample.anchor))
    assert sd < 0.6 * only_anchors[1]


def test_a_strip_without_a_label_of_its_own_leaves_the_anchors() -> None:
    items = np.array([0, 2, 1])
    anchor = np.array([True, False, False])
    alone = anchored_mean(EXPECTED, Sample(items, RIGHT[items], anchor))
    nothing = Strips(SIZES, GROUP[items], np.ones(3, dtype=bool))
    assert anchored_mean(EXPECTED, Sample(items, RIGHT[items], anchor, nothing)) == alone
    # A label that was not drawn at random in its strip, or is not there yet, does not speak for it.
    items = np.array([0, 3])
    anchor = np.array([True, False])
    alone = anchored_mean(EXPECTED, Sample(items, RIGHT[items], anchor))
    adopted = Strips(SIZES, GROUP[items], np.array([True, False]))
    assert anchored_mean(EXPECTED, Sample(items, RIGHT[items], anchor, adopted)) == alone
    both = Strips(SIZES, GROUP[items], np.ones(2, dtype=bool))
    pending = np.array([RIGHT[0], np.nan])
    assert anchored_mean(EXPECTED, Sample(items, pending, anchor, both)) == pytest.approx(
        anchored_mean(EXPECTED, Sample(items, pending, anchor))
    )
    assert anchored_mean(EXPECTED, Sample(items, RIGHT[items], anchor, both)) != pytest.approx(alone)


@pytest.mark.slow
@pytest.mark.parametrize("each", [2, 8])
def test_intervals_of_strips_hold_with_few_labels_in_each(each: int) -> None:
    """Confidences that mean the opposite of what they say, and one strip with four times the labels."""
    rng, runs, held = np.random.default_rng(each), 1500, 0
    confidence = np.sort(rng.uniform(0.5, 0.99, 3000))
    right = (rng.random(3000) < 1.4 - confidence).astype(float)
    group = np.repeat(np.arange(5), 600)
    for _ in range(runs):
        items = np.concatenate(
            [rng.choice(np.flatnonzero(group == k), each * (4 if k == 3 else 1), replace=False) for k in range(5)]
        )
        strips = Strips(np.full(5, 600), group[items], np.ones(len(items), dtype=bool))
        sample = Sample(items, right[items], np.zeros(len(items), dtype=bool), strips)
        mean, sd = anchored_mean(recalibrated(confidence, 3000, sample), sample)
        held += abs(mean - right.mean()) <= 1.96 * sd
    assert held / runs > 0.93 - 4 * np.sqrt(0.95 * 0.05 / runs)


def test_the_curve_through_the_labels_is_the_most_probable_one() -> None:
    rng = np.random.default_rng(5)
    confidence = rng.uniform(0.3, 0.999, 200)
    items = rng.permutation(200)[:60]
    right = (rng.random(60) < 0.6).astype(float)
    fitted = recalibrated(confidence, 200, Sample(items, right, np.ones(60, dtype=bool)))
    x = np.log(confidence / (1 - confidence))

    def log_posterior(a: float, b: float) -> float:
        eta = a + b * x[items]
        return float((right * eta - np.log1p(np.exp(eta))).sum() - a**2 / 8 - 2 * (b - 1) ** 2)

    b = np.ptp(np.log(fitted / (1 - fitted))) / np.ptp(x)
    a = float(np.log(fitted[0] / (1 - fitted[0])) - b * x[0])
    best = log_posterior(a, b)
    assert all(log_posterior(a + da, b + db) < best for da, db in ((0.01, 0), (-0.01, 0), (0, 0.01), (0, -0.01)))
    assert recalibrated(None, 3, Sample(np.arange(2), np.array([1.0, 1.0]), np.ones(2, dtype=bool))).std() == 0


def test_the_weight_of_the_anchors_is_that_of_the_best_combination() -> None:
    """If M is efficient and off by b, the best multiple of R − M to add to M is σ²/(σ² + q): by simulated errors."""
    rng, s, q, sigma = np.random.default_rng(7), 0.02, 0.03**2, 0.015
    n = 400_000
    error = s * rng.standard_normal(n)
    off = sigma * rng.standard_normal(n)
    belief, anchors = error + off, error + np.sqrt(q) * rng.standard_normal(n)
    apart = anchors - belief
    best = -(belief @ apart) / (apart @ apart)
    weight = sigma**2 / (sigma**2 + q)
    assert best == pytest.approx(weight, abs=0.01)
    assert np.var(belief + weight * apart) == pytest.approx(s**2 + weight * q, rel=0.02)


def _whole(right: int, wrong: int, items: int, target: fl.belief.Target = "pool") -> Belief:
    return Belief(np.ones((1, 2)), np.array([[float(right), float(wrong)]]), np.array([items]), target)


def _sample(right: int, wrong: int, every: int) -> Sample:
    n = right + wrong
    shown = np.zeros(n)
    shown[np.linspace(0, n - 1, right).astype(int)] = 1.0
    return Sample(np.arange(n), shown, (np.arange(n) % every == 0) if every else np.zeros(n, dtype=bool))


def test_without_anchors_the_number_stays_and_the_interval_grows() -> None:
    belief = _whole(160, 40, 5000)
    found = rectified(belief, None, _sample(160, 40, 0), np.random.default_rng(0))
    draws = found.draws(np.random.default_rng(1), 20_000)[:, 0, 0]
    assert found.anchors == 0
    np.testing.assert_allclose(found.mean(), belief.mean())
    own = belief.draws(np.random.default_rng(1), 20_000)[:, 0, 0]
    assert 1.05 < draws.std() / own.std() < 2
    assert draws.mean() == pytest.approx(own.mean(), abs=4 * draws.std() / np.sqrt(20_000))


def test_where_labels_contradict_confidences_the_belief_may_be_further_off() -> None:
    """The same labels: only what the confidences said on average differs, and how much of the pool has labels."""
    belief, sample = _whole(60, 140, 5000), _sample(60, 140, 0)

    def off(said: float, bare: float) -> np.ndarray:
        confidence = np.full(5000, said)
        curve = recalibrated(confidence, 5000, sample)[0]
        found = rectified(belief, confidence, sample, np.random.default_rng(0), bare=bare)
        return found.spread / (curve * (1 - curve))

    # In log-odds these are 0, 1.2 and 3.8 from the 0.3 of the labels; of the last, 2.3 are beyond 1.5.
    np.testing.assert_allclose(off(0.6, 1.0), off(0.3, 1.0), rtol=0.02)
    np.testing.assert_allclose(off(0.95, 0.0), off(0.3, 1.0), rtol=0.02)
    beyond = np.log(0.95 / 0.05) - np.log(belief.mean()[0, 0] / belief.mean()[0, 1]) - 1.5
    np.testing.assert_allclose(off(0.95, 0.5), (1 + 0.5 * beyond) * off(0.3, 1.0), rtol=0.02)


def test_an_assessment_knows_how_much_of_the_pool_its_labels_hardly_speak_for(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[float] = []

    def listen(*given: Any, bare: float, **more: Any) -> Rectified:
        heard.append(bare)
        return rectified(*given, bare=bare, **more)

    monkeypatch.setattr("fewlabels.views.rectified", listen)
    pool = fl.read_pool({"predicted": ["a"] * 20 + ["b"] * 180, "confidence": np.full(200, 0.99)})
    audit = fl.create(None, "x", pool, task=fl.Identify(fl.Accuracy(), lowest=1), target="pool")
    audit.tell(dict.fromkeys(audit.ask(12).ids, "a"))
    audit.estimates(groups=fl.whole(pool))
    labels = {row["group"]: row["labelled"] for row in audit.by_group().rows()}
    assert heard[-1] == pytest.approx(0.1 * 5 / (5 + labels["a"]) + 0.9 * 5 / (5 + labels["b"]))


def test_many_anchors_that_disagree_decide_the_number() -> None:
    """The belief has seen 600 labels of a bad group, half right; 600 anchors are right nine times in ten."""
    items = np.arange(1200)
    steered, anchors = np.arange(600) % 2.0, (np.arange(600) % 10 != 0).astype(float)
    sample = Sample(items, np.concatenate([steered, anchors]), items >= 600)
    belief = _whole(840, 360, 50_000)
    found = rectified(belief, None, sample, np.random.default_rng(0))
    by_anchors, sd = anchored_mean(recalibrated(None, 50_000, sample), sample)
    assert by_anchors == pytest.approx(0.9, abs=0.01)
    assert abs(found.mean()[0, 0] - by_anchors) < 2.5 * sd < abs(belief.mean()[0, 0] - by_anchors)


@pytest.mark.parametrize("every", [0, 1, 4])
def test_a_pool_that_is_fully_labelled_is_known(every: int) -> None:
    belief = _whole(30, 10, 40)
    found = rectified(belief, None, _sample(30, 10, every), np.random.default_rng(0))
    assert found.left.sum() == 0
    np.testing.assert_allclose(found.draws(np.random.default_rng(1), 50)[:, 0, 0], 0.75, atol=1e-12)
    np.testing.assert_allclose(found.mean(), [[0.75, 0.25]], atol=1e-12)
    np.testing.assert_allclose(found.variance(), 0, atol=1e-20)


def test_the_population_is_never_known_from_its_pool() -> None:
    belief = _whole(300, 100, 400, "population")
    found = rectified(belief, None, _sample(300, 100, 1), np.random.default_rng(0))
    spread = found.draws(np.random.default_rng(1), 4000)[:, 0, 0].std()
    assert spread > 0.9 * np.sqrt(0.75 * 0.25 / 400)


def test_bins_of_all_items_move_together_as_their_sum_does() -> None:
    """In each draw the weighted sum of three bins moves by the correction of all items, as log-odds move."""
    size = np.array([1000, 3000, 1000])
    belief = Belief(np.ones((3, 2)), np.array([[10.0, 30.0], [40.0, 20.0], [95.0, 5.0]]), size, "pool")
    steered, anchors = np.tile([1.0, 0.0], 50), (np.arange(100) % 4 != 0).astype(float)
    sample = Sample(np.arange(200), np.concatenate([steered, anchors]), np.arange(200) >= 100)
    found = rectified(belief, None, sample, np.random.default_rng(0))
    weight, change = size / size.sum(), float(found.weight @ found.shift)
    assert change > 0.005
    moved = (found.mean() - belief.mean())[:, 0]
    assert weight @ moved == pytest.approx(change)
    chance = belief.mean()[:, 0]
    np.testing.assert_allclose(moved / moved[1], (x := chance * (1 - chance) * belief.left / size) / x[1])
    # The same random numbers: the belief's draws come first, the corrections after them.
    ours, own = (one.draws(np.random.default_rng(5), 4000)[..., 0] for one in (found, belief))
    sums = (ours - own) @ weight
    assert sums.mean() == pytest.approx(change, abs=4 * sums.std() / np.sqrt(4000))
    assert sums.std() >= float(np.sqrt(found.weight @ found.spread**2)) * 0.9


def test_the_calibration_error_of_all_items_is_rectified_after_steered_asking() -> None:
    rng = np.random.default_rng(2)
    said, right = rng.uniform(0.5, 1, 600), rng.random(600) < 0.6
    pool = fl.read_pool({"id": [str(i) for i in range(600)], "predicted": ["a", "b", "c"] * 200, "confidence": said})
    audit = fl.create(None, "x", pool, task=fl.Identify(fl.Accuracy(), lowest=1), target="pool", anchor=0.5)
    for item in audit.ask(60).ids:
        audit.tell({item: "abc"[(int(item) + (not right[int(item)])) % 3]})
    for metric, cells in ((fl.Accuracy(), 1), (fl.CalibrationError(), 5)):
        belief = audit._views.view(metric, fl.whole(pool))[1]
        assert isinstance(belief, Rectified)
        assert len(belief.part) == cells
    assert not isinstance(audit._views.view(fl.CalibrationError(), fl.by_predicted(pool))[1], Rectified)


@pytest.mark.slow
@pytest.mark.parametrize(
    "task", [fl.Estimate(fl.Accuracy()), fl.Identify(fl.Accuracy(), lowest=1)], ids=["all", "worst"]
)
def test_the_number_over_all_items_holds_in_assessments(task: fl.tasks.Task) -> None:
    """Groups that are worse than their confidences say, the more the less sure they are; the model does not know it."""
    held = np.array([_holds(task, seed) for seed in range(40)])
    assert stats.binomtest(int(held.sum()), 40, 0.95).pvalue > 1e-3


def _holds(task: fl.tasks.Task, seed: int) -> bool:
    rng = np.random.default_rng([seed, 11])
    group = np.repeat(np.arange(12), 100)
    level = np.linspace(0.0, 3.0, 12)[group]
    confidence = 1 / (1 + np.exp(-level - rng.normal(0, 0.8, 1200)))
    confidence = 0.5 + confidence / 2
    chance = 1 / (1 + np.exp(-(np.log(confidence / (1 - confidence)) + 0.5 * (level - 1.5))))
    names = [f"c{g:02d}" for g in group]
    truth = ["other" if wrong else name for name, wrong in zip(names, rng.random(1200) > chance, strict=True)]
    pool = fl.read_pool({"predicted": names, "confidence": confidence}, classes=[*dict.fromkeys(names), "other"])
    audit = fl.create(None, "made", pool, task=task, seed=seed, target="pool")
    for _ in range(12):
        audit.tell({item: truth[int(item)] for item in audit.ask(10).ids})
    row = next(audit.estimates(groups=fl.whole(pool), draws=2000).rows())
    share = np.mean([a == b for a, b in zip(truth, names, strict=True)])
    return bool(row["low"] <= share <= row["high"])


@pytest.mark.parametrize("counted", [False, True])
def test_items_in_bins_say_what_items_one_by_one_say(counted: bool) -> None:
    rng = np.random.default_rng(2)
    confidence = np.concatenate([rng.beta(8, 1, 12_000), rng.random(2_000), [0.0, 1.0]])
    count = rng.integers(0, 30, len(confidence)) if counted else None
    items = rng.choice(len(confidence), 90, replace=False)
    right = (rng.random(90) < confidence[items]).astype(float)
    right[80:] = np.nan
    sample = Sample(items, right, rng.random(90) < 0.5)
    size = len(confidence) if count is None else int(count.sum())
    belief = Belief(np.ones((1, 2)), np.array([[60.0, 20.0]]), np.array([size]), "pool")
    drawn = belief.draws(rng, 500)[..., 0]
    slow = rectified(belief, confidence, sample, rng, count, drawn)
    scores, rows, counts = Binned.of(confidence, count).with_sample(sample)
    assert len(scores) < 4_000
    assert counts.sum() == size
    quick = rectified(belief, scores, rows, rng, counts, drawn)
    for name in ("weight", "shift", "spread"):
        np.testing.assert_allclose(getattr(quick, name), getattr(slow, name), rtol=2e-5, atol=1e-7)
    fine = recalibrated(scores, len(scores), rows)
    each = recalibrated(confidence, len(confidence), sample)
    assert abs(np.average(fine, weights=counts) - np.average(each, weights=count)) < 1e-6


@pytest.mark.parametrize("target", ["pool", "population"])
@pytest.mark.parametrize("sd", [0.02, 0.1])
def test_the_correction_is_the_posterior_of_how_far_the_belief_is_off(target: Any, sd: float) -> None:
    """Against a grid of corrections c: c ~ Σ p N(0, σ²), and the anchors show M + c with the variance q."""
    whole = Belief(np.ones((1, 2)), np.array([[30.0, 20.0]]), np.array([400]), target)
    sample = Sample(np.arange(50), np.tile([1.0, 0.0, 1.0, 1.0, 0.0], 10), np.arange(50) % 5 < 2)
    drawn = stats.norm.ppf((np.arange(2_000) + 0.5) / 2_000, 0.6, sd)[:, None]
    made = rectified(whole, None, sample, np.random.default_rng(0), drawn=drawn)
    f = recalibrated(None, 400, sample)
    shown, t = anchored_mean(f, sample)
    believed = whole.mean()[0, 0]
    own = believed * (1 - believed) / 400 if target == "population" else 0.0  # the pool is a sample itself
    q = max(t**2 + own - drawn.var(), 0.1 * (t**2 + own))
    change = f[0] * (1 - f[0]) * (350 / 400 if target == "pool" else 1.0)  # of the share, for one of all log-odds
    c = np.linspace(-0.9, 0.9, 400_001)
    before = sum(p * stats.norm.pdf(c, 0, off * change) for off, p in ((0.1, 0.9), (0.35, 0.1)))
    after = before * stats.norm.pdf(shown - believed, c, np.sqrt(q))
    after /= after.sum()
    mean = (after * c).sum()
    assert made.weight @ made.shift == pytest.approx(mean, rel=1e-4)
    second = made.weight @ (made.shift**2 + made.spread**2)
    assert second - mean**2 == pytest.approx((after * c**2).sum() - mean**2, rel=1e-4)
