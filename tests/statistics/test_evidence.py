"""Evidence columns in the learned prior: against slow versions and known answers, and the promises that are made."""

from __future__ import annotations

import itertools
from typing import Any, Literal

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

import fewlabels as fl
from fewlabels.errors import FewlabelsError
from fewlabels.evidence import coded
from fewlabels.learned.items import TrustBelief
from fewlabels.learned.items.differing import TAUS, tau_prior
from fewlabels.learned.items.evidence_terms import SCALE_PRIOR, SCALES, patterns
from fewlabels.outcomes import Outcomes

CLASSES = ["a", "b", "c"]


def pool_of(right, confidence=None, sites=None, **evidence):
    """A pool that always predicts "a", with evidence columns."""
    columns = {"predicted": ["a"] * len(right), **evidence}
    if confidence is not None:
        columns["confidence"] = confidence
    if sites is not None:
        columns["site"] = [f"site {g:02d}" for g in sites]
    return fl.read_pool(columns, classes=CLASSES, evidence=list(evidence))


def belief(pool, right, items, groups=None, target="pool"):
    """The belief once some items are labelled."""
    cells = fl.Accuracy().cells(pool, groups or fl.whole(pool))
    return fl.Learned().on(cells, target).belief(Outcomes.of(cells, items, (~right[items]).astype(np.int64)))


def test_one_verdict_agrees_with_brute_force():
    """P(right) for each verdict, by sums over a grid of (a + u, b) for every kind, τ and s."""
    rng = np.random.default_rng(1)
    verdict = np.repeat([True, False], [300, 100])
    right = rng.random(400) < np.where(verdict, 0.9, 0.4)
    pool, items = pool_of(right, judge=verdict), rng.choice(400, 60, replace=False)
    found = belief(pool, right, items).model
    z = pool.known[:, 0]
    values, seen = np.unique(z[items], return_inverse=True)
    n, k = np.bincount(seen), np.bincount(seen, right[items])
    means, weights, taus = [], [], tau_prior(found.strips, crossed=False)
    every = itertools.product(enumerate(found.strips.kinds), enumerate(TAUS), enumerate(SCALES))
    for (i, kind), (t, tau), (j, s) in every:
        sd = np.hypot(kind[2], tau)
        a = np.linspace(-5 * sd, 5 * sd, 401)[:, None] + kind[1] + found.strips.lift[i, j]
        b = np.linspace(-5 * s, 5 * s, 401)
        prior = stats.norm.pdf(a, a.mean(), sd) * stats.norm.pdf(b, 0, s)
        chance = expit(a[..., None] + b[:, None] * values)
        mass = prior * np.prod(chance**k * (1 - chance) ** (n - k), axis=-1)
        step = (a[1, 0] - a[0, 0]) * (b[1] - b[0])
        weights.append(kind[0] * taus[i, t] * SCALE_PRIOR[j] * mass.sum() * step)
        means.append(np.tensordot(mass, chance, 2) / mass.sum())
    exact = np.array(weights) @ np.array(means) / np.sum(weights)
    strip = [int(found.strips.strip[np.flatnonzero(np.isclose(z, value))[0]]) for value in values]
    draws = found.draws(np.random.default_rng(2), 40_000)[:, strip]
    # The Gaussian at the mode is off by up to a point, and draws by 4.5 standard errors.
    np.testing.assert_allclose(draws.mean(axis=0), exact, atol=0.012 + 4.5 * 0.1 / 200)


def test_an_inverted_judge_is_worth_as_much_as_the_judge():
    rng = np.random.default_rng(3)
    right = rng.random(600) < 0.8
    judge = np.where(rng.random(600) < 0.1, ~right, right)
    items, confidence = rng.choice(600, 50, replace=False), rng.uniform(0.5, 1, 600)
    one, other = (belief(pool_of(right, confidence, judge=column), right, items) for column in (judge, ~judge))
    np.testing.assert_allclose(one.alpha, other.alpha, rtol=1e-6)


def test_a_judge_that_is_named_twice_counts_little_more_than_once():
    """It is a regression and not a product of likelihoods: a copy adds nothing, but b may be larger beforehand."""
    rng = np.random.default_rng(4)
    right = rng.random(800) < 0.75
    judge = np.where(rng.random(800) < 0.2, ~right, right)
    items = rng.choice(800, 100, replace=False)
    once, twice = (
        belief(pool_of(right, **dict.fromkeys(names, judge)), right, items) for names in (["j"], ["j", "copy", "again"])
    )
    assert twice.mean()[0, 0] == pytest.approx(once.mean()[0, 0], abs=0.01)
    assert twice.variance()[0, 0] == pytest.approx(once.variance()[0, 0], rel=0.15)


def errors(runs, judge_of, *, accuracy=0.8, flip=None, confidence=False, items=1500, sites=10, labels=100):
    """The RMSE of groups over runs, without evidence and with it."""
    squares = np.zeros(2)
    for run in range(runs):
        rng = np.random.default_rng([run, 7])
        site = rng.integers(0, sites, items)
        rate = expit(np.log(accuracy / (1 - accuracy)) + rng.normal(0, 0.8, sites))
        right = rng.random(items) < rate[site]
        sure = rng.uniform(0.5, 1, items) if confidence else None
        chosen = rng.choice(items, labels, replace=False)
        known = pool_of(right, sure, site, judge=judge_of(rng, right))
        for j, pool in enumerate((pool_of(right, sure, site), known)):
            groups = fl.by_column(pool, "site")
            mean = belief(pool, right, chosen, groups).mean()[:, 0]
            squares[j] += ((mean - np.bincount(groups.group, right) / groups.sizes) ** 2).mean()
    return np.sqrt(squares / runs)


def good(rng, right):
    return np.where(rng.random(len(right)) < 0.1, ~right, right)


def test_a_good_judge_halves_the_error_of_groups_at_100_labels():
    without, with_judge = errors(12, good)
    assert with_judge < 0.5 * without


def test_a_useless_judge_costs_at_most_a_twentieth():
    without, with_judge = errors(25, lambda rng, right: rng.random(len(right)) < 0.7, confidence=True)
    assert with_judge < 1.05 * without


def rank_of(run):
    """A world from the hyper-prior without confidences, labelled at random: the rank of its true values, (groups + 1,).

    Two evidence columns, a verdict and a number, are as worthless or telling as s says.
    """
    rng = np.random.default_rng([run, 11])
    sites, each = 12, 25
    site = np.repeat(np.arange(sites), each)
    verdict, number = rng.random(sites * each) < 0.6, rng.normal(size=sites * each)
    blank = pool_of(np.ones(sites * each, bool), sites=site, judge=verdict, number=number)
    groups = fl.by_column(blank, "site")
    cells = fl.Accuracy().cells(blank, groups)
    prepared = fl.Learned().on(cells, "pool")
    blank_belief = prepared.blank()
    assert isinstance(blank_belief, TrustBelief)
    strips = blank_belief.model.strips
    i, j = rng.choice(len(strips.kinds), p=strips.kinds[:, 0]), rng.choice(len(SCALES), p=SCALE_PRIOR)
    tau = rng.choice(TAUS, p=tau_prior(strips, crossed=False)[i])
    b = rng.normal(0, SCALES[j], len(strips.evidence))
    odds = rng.normal(*strips.kinds[i, 1:3]) + strips.lift[i, j] + b @ strips.evidence[:, strips.strip]
    right = rng.random(sites * each) < expit(odds + rng.normal(0, tau, sites)[site])
    items = rng.choice(sites * each, int(rng.choice([15, 60, 150])), replace=False)
    draws = prepared.belief(Outcomes.of(cells, items, (~right[items]).astype(np.int64))).draws(rng, 199)[..., 0]
    real = np.append(np.bincount(site, right) / each, right.mean())
    draws = np.column_stack([draws, draws.mean(axis=1)])
    # Shares of few items are discrete: a value that ties with draws has a rank drawn among them.
    return (draws < real - 1e-9).mean(axis=0) + rng.random(sites + 1) * (np.abs(draws - real) < 1e-9).mean(axis=0)


@pytest.mark.slow
def test_ranks_are_uniform_in_worlds_from_the_hyper_prior():
    """Simulation-based calibration: means of ranks, and the shares in central intervals, within 4.5 standard errors.

    Those of one world are not independent, so a world counts once. A Gaussian at the mode is not exact: a further
    two points of each share are allowed.
    """
    runs = 250
    ranks = np.array([rank_of(run) for run in range(runs)])
    for rank in (ranks[:, :-1], ranks[:, -1:]):
        each = rank.mean(axis=1)
        assert abs(each.mean() - 0.5) < 4.5 * each.std() / np.sqrt(runs) + 0.01
        for level in (0.5, 0.8, 0.95):
            inside = (np.abs(rank - 0.5) < level / 2).mean(axis=1)
            assert abs(inside.mean() - level) < 4.5 * inside.std() / np.sqrt(runs) + 0.02, level


def test_other_priors_and_promises_do_not_use_it():
    rng = np.random.default_rng(5)
    right = rng.random(400) < 0.7
    with_it, without = (pool_of(right, **more) for more in ({"judge": right}, {}))
    labels = {str(i): "a" if right[i] else "b" for i in range(400)}
    cases: list[tuple[dict, Literal["anytime"] | None]] = [
        ({"prior": fl.Uniform()}, None),
        ({"policy": fl.UniformItems()}, "anytime"),
    ]
    for settings, guarantee in cases:
        rows = []
        for pool in (with_it, without):
            audit = fl.create(None, "x", pool, fl.whole(pool), seed=3, **settings)
            audit.tell({item: labels[item] for item in audit.ask(60).ids})
            (row,) = audit.estimates(guarantee=guarantee).rows()
            rows.append((row["low"], row["high"]))
        assert rows[0] == rows[1]


def test_strips_of_a_large_pool_stay_few():
    rng = np.random.default_rng(6)
    values = np.column_stack([rng.normal(size=(20_000, 3)), rng.random((20_000, 2)) < 0.5])
    pattern = patterns(values)
    assert len(np.unique(pattern)) == 16
    verdicts = (rng.random((500, 4)) < 0.4).astype(float)
    own = patterns(verdicts)
    assert all(len(np.unique(verdicts[own == p], axis=0)) == 1 for p in np.unique(own))


def test_columns_as_numbers():
    predicted = np.array([0, 1, 2, 0], dtype=np.int32)
    pool = fl.read_pool(
        {
            "predicted": ["a", "b", "c", "a"],
            "other": ["A", "c ", "c", None],
            "stars": [1.0, 2.0, np.nan, 3.0],
            "same": [1, 1, 1, 1],
        },
        classes=CLASSES,
        evidence=["other", "stars", "same"],
    )
    agrees, silent, stars, unrated = pool.known.T
    np.testing.assert_array_equal(pool.predicted, predicted)
    np.testing.assert_allclose(agrees, [2 / 3, -4 / 3, 2 / 3, 0])
    np.testing.assert_allclose(silent, [-0.5, -0.5, -0.5, 1.5])
    np.testing.assert_allclose(stars, [-np.sqrt(1.5), 0, 0, np.sqrt(1.5)], atol=1e-12)
    np.testing.assert_allclose(unrated, [-0.5, -0.5, 1.5, -0.5])


def test_with_two_classes_a_column_may_speak_of_the_class():
    """A spam score says what an item is: it speaks for the prediction spam, and against the prediction ham."""
    rng = np.random.default_rng(8)
    spam = rng.random(1500) < 0.5
    said = np.where(rng.random(1500) < 0.25, ~spam, spam)
    score = spam + 0.4 * rng.normal(size=1500)
    names = np.array(["ham", "spam"])
    pool = fl.read_pool({"predicted": names[said.astype(int)], "score": score}, evidence=["score"])
    assert pool.known.shape == (1500, 2)
    items, right = rng.choice(1500, 120, replace=False), said == spam
    plain = fl.read_pool({"predicted": names[said.astype(int)]})
    with_it, without = (belief(one, right, items).variance()[0, 0] for one in (pool, plain))
    assert with_it < 0.6 * without


def test_a_pool_without_telling_columns_has_no_evidence():
    assert pool_of([True] * 4, judge=[1, 1, 1, 1]).known is None
    assert coded({}, np.zeros(3, np.int32), ["a", "b"]).shape == (3, 0)


def test_what_a_judge_says_of_each_models_answer_can_be_its_confidence() -> None:
    """Two models and a judge that errs in a tenth of their answers: the range of the difference is far shorter."""
    rng, items, names = np.random.default_rng(4), 800, ["a", "b", "c"]
    true = rng.integers(0, 3, items)
    columns: dict[str, list[Any]] = {"id": [str(i) for i in range(items)]}
    real, ranges = {}, []
    for model, good in (("old", 0.7), ("new", 0.8)):
        said = np.where(rng.random(items) < good, true, (true + 1) % 3)
        columns[model], real[model] = [names[k] for k in said], (said == true).mean()
        columns[f"{model}_confidence"] = np.where((said == true) ^ (rng.random(items) < 0.1), 0.9, 0.1).tolist()
    for judged in (True, False):
        some = {name: column for name, column in columns.items() if judged or not name.endswith("_confidence")}
        pool = fl.read_pool(some, models=["old", "new"], classes=names)
        task = fl.CompareModels(fl.Accuracy(), "new", "old")
        audit = fl.create(None, "two", pool, fl.whole(pool), task=task, target="pool")
        audit.tell({item: names[true[int(item)]] for item in audit.ask(60).ids})
        ranges.append(next(iter(audit.answer(draws=2_000).table.rows())))
    widths = [row["high"] - row["low"] for row in ranges]
    assert widths[0] < 0.7 * widths[1]
    assert ranges[0]["low"] <= real["new"] - real["old"] <= ranges[0]["high"]
    with pytest.raises(FewlabelsError, match="can be given as that model's confidence"):
        fl.read_pool(columns, models=["old", "new"], classes=names, evidence=["old_confidence"])


def test_a_system_that_is_passed_oftener_is_better_than_its_verdicts_say():
    """A judge errs, so its verdicts differ less than systems do; by Bayes' rule, one given oftener is more often right.

    With few labels, which show the judge alike for both systems, the difference is estimated larger than Σ_v P(v |
    system)·P(pass | v) has it, and not beyond what an equally good judge would make of it.
    """
    item = np.arange(800)
    system, passed = item % 2, (item // 2) % 20 < np.where(item % 2, 15, 11)
    columns = {"judge": np.where(passed, "pass", "fail"), "system": np.array(["a", "b"])[system]}
    pool = fl.read_pool(columns, predicted="judge")
    audit = fl.create(
        None, "x", pool, fl.by_column(pool, "system"), task=fl.Estimate(fl.Prevalence("pass")), policy=fl.UniformItems()
    )
    labels: dict[str, str] = {}
    for one, said in itertools.product((0, 1), (True, False)):  # 9 of 10 that it passes are good, 3 of 10 that it fails
        some = item[(system == one) & (passed == said)][:20]
        good = 18 if said else 6
        labels |= {str(k): "pass" if turn < good else "fail" for turn, k in enumerate(some)}
    audit.tell(labels, adopt=True)
    worse, better = audit.estimates()["mean"]
    plain = (0.75 - 0.55) * (0.9 - 0.3)
    passes = 0.65  # of all, and good are 0.65·0.9 + 0.35·0.3 = 0.69
    tpr, tnr = passes * 0.9 / 0.69, (1 - passes) * 0.7 / 0.31
    assert plain + 0.01 < better - worse < (0.75 - 0.55) / (tpr + tnr - 1) + 0.02


def test_what_a_judge_passes_and_fails_differs_more_than_systems_do():
    """Three systems alike, and a judge that is right for 94% of what it passes and 75% of what it fails.

    The number over all items is near Σ_v P(v)·P(pass | v) = 0.6·51/54 + 0.4·9/36. Where the judge was taken to be as
    good about both verdicts as systems are alike, it was four points too low.
    """
    item = np.arange(900)
    system, passed = item % 3, (item // 3) % 5 < 3
    columns = {"judge": np.where(passed, "pass", "fail"), "system": np.array(["a", "b", "c"])[system]}
    pool = fl.read_pool(columns, predicted="judge")
    task = fl.Estimate(fl.Prevalence("pass"))
    audit = fl.create(None, "x", pool, fl.by_column(pool, "system"), task=task, target="pool", policy=fl.UniformItems())
    labels: dict[str, str] = {}
    for one in range(3):
        right, wrong = (item[(system == one) & (passed == said)] for said in (True, False))
        labels |= {str(k): "pass" if turn else "fail" for turn, k in enumerate(right[:18])}
        labels |= {str(k): "pass" if turn < 3 else "fail" for turn, k in enumerate(wrong[:12])}
    audit.tell(labels, adopt=True)
    row = next(iter(audit.estimates(groups=fl.whole(pool)).rows()))
    assert row["mean"] == pytest.approx(0.6 * 51 / 54 + 0.4 * 9 / 36, abs=0.025)
    assert 0.1 < row["high"] - row["low"] < 0.16  # Bernoulli: 3.92·√(Σ P(v)²·p(1 − p)/n) = 0.13
