"""The model of items under the learned prior: what it expects, its mode, its weights, and brute force beside them."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import expit, logit

import fewlabels as fl
from fewlabels.learned import items as trust
from fewlabels.learned.items import differing, fit
from fewlabels.learned.items.kinds import KINDS, intercepts, kinds_of
from fewlabels.learned.on_cells import factors
from fewlabels.outcomes import Outcomes
from tests.support.learned import belief_from, brute_force, make_pool, sorted_items, strips_of, world


def test_a_classifier_in_doubt_may_be_modest_and_a_sure_one_is_ordinary():
    doubtful, sure, of_two_classes = kinds_of(0.6, 0.1), kinds_of(0.99, 0.3), kinds_of(0.6, 0.5)
    for kinds in (doubtful, sure, of_two_classes):
        assert kinds[:, 0].sum() == pytest.approx(1)
        assert (kinds[:, 0] > 0).all()
    assert doubtful[2, 0] > 10 * sure[2, 0]
    # With two classes no confidence is below one half: doubt is no sign of modesty there.
    assert doubtful[2, 0] > 1.5 * of_two_classes[2, 0]


def test_the_least_confidence_is_not_that_of_a_stray_item():
    confidence = np.concatenate([[0.01], np.linspace(0.5, 1, 999)])
    usual, stray = sorted_items(confidence[1:], np.zeros(999, int)), sorted_items(confidence, np.zeros(1000, int))
    assert stray.kinds[:, 0] == pytest.approx(usual.kinds[:, 0], abs=0.002)


@pytest.mark.parametrize(("right", "labels"), [(28, 28), (70, 70), (4, 14), (21, 70)])
def test_without_confidences_a_nearly_perfect_classifier_is_possible_and_a_poor_one(right, labels):
    """Fourteen groups, labels in turn: the number over all items is near the exact interval of all labels together."""
    groups = np.tile(np.arange(14), 100)
    pool = fl.read_pool({"predicted": ["a"] * 1400, "group": groups}, classes=["a", "b"])
    by_group, cells = fl.by_column(pool, "group"), fl.Accuracy().cells(pool, fl.by_column(pool, "group"))
    outcomes = Outcomes.of(cells, np.arange(labels), (np.arange(labels) >= right).astype(np.int64))
    draws = fl.Learned().on(cells, "pool").belief(outcomes).draws(np.random.default_rng(1), 4000)[..., 0]
    low, high = np.quantile(draws @ by_group.shares, [0.025, 0.975])
    exact = stats.beta(1 + right, 1 + labels - right).ppf([0.025, 0.975])
    assert (low, high) == pytest.approx(tuple(exact), abs=0.1)
    if right == labels:
        assert high > 0.995


def test_groups_by_columns_are_expected_to_be_more_alike_than_classes():
    pool = fl.read_pool({"predicted": list("abab"), "confidence": [0.9, 0.6, 0.7, 0.8], "site": list("xxyy")})
    site, classes = fl.by_column(pool, "site"), fl.by_predicted(pool)
    both, whole, metric = fl.cross(site, classes), fl.whole(pool), fl.Accuracy()

    def columns(groups, asked=None):
        return factors(metric.cells(pool, groups), asked).columns

    assert columns(site)
    assert columns(fl.cross(site, site))
    assert columns(whole, site)
    assert columns(site, whole)
    assert not any(columns(*given) for given in ((classes,), (both,), (whole,), (site, classes), (site, both)))
    confidence, cell = np.linspace(0.5, 0.99, 40), np.arange(40) % 4
    alike, apart = (sorted_items(confidence, cell, columns=given) for given in (True, False))
    taus = [differing.tau_prior(strips, crossed=False) for strips in (alike, apart)]
    assert (taus[0][:, 0] > 3 * taus[1][:, 0]).all()
    assert [tau.sum(axis=1) == pytest.approx(1) for tau in taus] == [True, True]
    assert alike.kinds[0, 5] < apart.kinds[0, 5]


@pytest.mark.parametrize("confidence", [np.full(600, 0.9), np.repeat([0.95, 0.7, 0.8], 200)])
def test_only_bins_of_confidence_are_bins_whatever_else_goes_with_confidence(confidence):
    # Groups that differ in nothing but their confidences are no bins: each can be as bad as it likes.
    pool = fl.read_pool(
        {"predicted": ["a", "b"] * 300, "confidence": confidence, "site": ["x"] * 200 + ["y"] * 200 + ["z"] * 200}
    )
    site = fl.by_column(pool, "site")
    assert factors(fl.Accuracy().cells(pool, site)).bins == [False]
    audit = fl.create(None, "sites", pool, site, target="pool", policy=fl.UniformGroups(), seed=1)
    wrong, right = {"a": "b", "b": "a"}, {"a": "a", "b": "b"}
    for request in audit.ask(180):
        row = int(request.id)
        audit.tell({request.id: (wrong if row % 200 < 80 and row < 200 else right)["ab"[row % 2]]})
    low = audit.estimates().rows()
    worst, *others = [(row["low"], row["high"]) for row in low]
    assert worst[0] < 0.6 < worst[1] < 0.8  # 60% of x are right, and all of y and z
    assert all(high > 0.99 for _, high in others)


def test_bins_of_confidence_are_bins():
    pool = fl.read_pool({"predicted": ["a", "b"] * 50, "confidence": np.linspace(0.5, 0.99, 100)})
    by_score, classes = fl.by_score(pool, 4), fl.by_predicted(pool)
    assert factors(fl.Accuracy().cells(pool, by_score)).bins == [True]
    assert factors(fl.Accuracy().cells(pool, classes), by_score).bins == [True, False]
    assert factors(fl.CalibrationError(5).cells(pool, classes)).bins == [False, True]
    assert factors(fl.Confusion().cells(pool, classes)).bins == [False]


@pytest.mark.parametrize("labels", [20, 100])
def test_a_classifier_that_is_always_sure_is_not_believed_after_a_few_right_answers(labels):
    # With n of n right, everything above 0.05^(1/n) is possible. The belief must keep a good part of that.
    pool = fl.read_pool({"predicted": ["a", "b"] * 1500, "confidence": np.ones(3000)})
    audit = fl.create(None, "sure", pool, fl.whole(pool), target="pool", policy=fl.UniformItems(), seed=1)
    audit.tell({request.id: "ab"[int(request.id) % 2] for request in audit.ask(labels)})
    assert audit.labelled == labels
    assert 1 - audit.estimates()["low"][0] > (1 - 0.05 ** (1 / labels)) / 3


# --- the model of items


def fit_of(strips, right, labels):
    """The fit at its mode, where every cell has labels."""
    one = fit.Fit(strips, np.array(right), np.array(labels), np.arange(len(strips.x)))
    while one.step() > 1e-12:
        pass
    return one


def test_newton_finds_the_mode_of_the_log_posterior():
    strips = strips_of([0, 0, 1, 2], [-1.0, 0.5, 2.0, 0.0], [-0.7, 1.1, 0.2], [9, 9, 9, 9])
    right, labels = np.array([1.0, 3.0, 4.0, 0.0]), np.array([3.0, 4.0, 4.0, 1.0])
    found = fit_of(strips, right, labels)
    for i, tau in enumerate(differing.TAUS):

        def minus(v, tau=tau):
            eta = v[0] + v[1] * strips.x + v[2] * strips.between + v[3:][strips.cell]
            value = (right * eta - labels * np.logaddexp(0, eta)).sum()
            away = (((v[:3] - [0.5, 0.9, 0.3]) / [0.8, 0.4, 0.5]) ** 2).sum() + (v[3:] ** 2).sum() / tau**2
            return away / 2 - value

        slow = optimize.minimize(minus, np.zeros(6), method="BFGS", options={"gtol": 1e-9})
        assert np.concatenate([found.shared[i], found.u[i]]) == pytest.approx(slow.x, abs=2e-5)


def test_the_curvature_at_the_mode_is_that_of_the_log_posterior():
    strips = strips_of([0, 0, 1], [-1.0, 0.5, 2.0], [-0.7, 1.1], [9, 9, 9])
    labels = np.array([3.0, 4.0, 5.0])
    found = fit_of(strips, [1.0, 3.0, 4.0], labels)
    point = 2
    tau = differing.TAUS[point]
    design = np.column_stack([np.ones(3), strips.x, strips.between, np.eye(2)[strips.cell]])
    p = expit(design @ np.concatenate([found.shared[point], found.u[point]]))
    curvature = design.T @ ((labels * p * (1 - p))[:, None] * design)
    curvature += np.diag([1 / 0.8**2, 1 / 0.4**2, 1 / 0.5**2, 1 / tau**2, 1 / tau**2])
    covariance = np.linalg.inv(curvature)
    own, lean, schur = (part[point] for part in found.curvature())
    assert np.linalg.inv(schur) == pytest.approx(covariance[:3, :3], rel=1e-8)
    assert lean.T @ covariance[:3, :3] @ lean + np.diag(1 / own) == pytest.approx(covariance[3:, 3:], rel=1e-8)
    assert -covariance[:3, :3] @ lean == pytest.approx(covariance[:3, 3:], rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("each", [1, 3])
def test_weights_and_means_agree_with_brute_force_where_cells_are_unrelated(each):
    """Few labels in each of 20 cells that have nothing in common: the hard case for an approximation."""
    rng = np.random.default_rng(19)
    cell = np.repeat(np.arange(20), each)
    kinds = ((1.0, 0.8, 0.6, 0.8, 0.25, 0.4, 0.5),)
    strips = strips_of(cell, rng.normal(0, 1.5, len(cell)), rng.normal(0, 0.6, 20), np.full(len(cell), 10), kinds)
    right = (rng.random(len(cell)) < rng.random(20)[cell]).astype(float)
    labels = np.ones(len(cell))
    model = trust.learn(strips, right, labels)
    weight, means = brute_force(strips, right, labels)
    assert model.weight == pytest.approx(weight, abs=0.02)
    mean, _ = model.moments(strips.size)
    assert mean == pytest.approx(weight @ means[:, 1:], abs=0.01)


def test_several_versions_of_the_labels_are_fitted_as_one_by_one():
    """Also where they do not fit into one block, and where some cells have no label."""
    rng = np.random.default_rng(25)
    cell = np.repeat(np.arange(12), 3)
    kinds = ((0.7, 0.8, 0.6, 0.8, 0.25, 0.4, 0.5), (0.3, 2.0, 1.5, 0.2, 0.5, 0.0, 0.5))
    strips = strips_of(cell, rng.normal(0, 1.5, 36), rng.normal(0, 0.6, 12), np.full(36, 10), kinds)
    labels = np.where(cell < 9, rng.integers(0, 4, 36), 0).astype(float)
    right = rng.binomial(labels.astype(int), rng.uniform(0.1, 0.9, (7, 1)), (7, 36)).astype(float)
    together = fit.learn_several(strips, right, labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "_BLOCK", 1)
        apart = fit.learn_several(strips, right, labels)
    for version, found, alone in zip(right, together, apart, strict=True):
        one = trust.learn(strips, version, labels)
        for same in (found, alone):
            assert same.weight == pytest.approx(one.weight, abs=1e-3)
            for mine, its in zip(same.moments(strips.size), one.moments(strips.size), strict=True):
                assert mine == pytest.approx(its, rel=2e-3, abs=1e-5)  # Newton ends at a gain of 1e-5


@pytest.mark.slow
def test_the_slope_between_cells_agrees_with_brute_force():
    """Twelve cells whose confidences are alike within and tell much between: g moves away from its prior, rightly."""
    rng = np.random.default_rng(24)
    cell = np.repeat(np.arange(12), 2)
    between = np.linspace(-1.5, 1.5, 12)
    kinds = ((1.0, 0.8, 0.6, 0.8, 0.25, 0.4, 0.5),)
    strips = strips_of(cell, between[cell] + np.tile([-1.0, 1.0], 12), between, np.full(24, 10), kinds)
    labels = np.full(24, 5.0)
    right = rng.binomial(5, expit(0.5 + 0.8 * strips.x + 1.3 * strips.between)).astype(float)
    model = trust.learn(strips, right, labels)
    weight, means = brute_force(strips, right, labels)
    g = float(model.weight @ model.mode[:, 2])
    assert g > 0.7
    assert g == pytest.approx(weight @ means[:, 0], abs=0.03)
    assert model.weight == pytest.approx(weight, abs=0.02)
    assert model.moments(strips.size)[0] == pytest.approx(weight @ means[:, 1:], abs=0.005)


def test_doubt_about_the_slope_is_no_doubt_about_the_overall_accuracy():
    """The ordinary classifier is expected to be right as often as it says, less its gap, at any slope."""
    confidence = np.random.default_rng(20).beta(4, 1, 3000)
    found = sorted_items(confidence, np.zeros(3000, int))
    for kind, prior in zip(found.kinds, KINDS, strict=True):
        said = found.size @ expit(kind[1] - prior[1] + kind[3] * found.x) / 3000
        assert said == pytest.approx(confidence.mean(), abs=1e-3)
    a = intercepts(np.array([[0.5], [1.2]]) * found.x, found.size, 0.8)
    assert a[0] == pytest.approx(a[1], abs=0.12)


def test_doubt_about_the_slope_between_cells_is_no_doubt_about_the_overall_accuracy():
    rng = np.random.default_rng(25)
    cell = rng.integers(20, size=6000)
    confidence = rng.beta(2 + 8 * rng.random(20)[cell], 1.5)
    found = sorted_items(confidence, cell)
    assert found.between.std() > 0.3
    for kind, prior in zip(found.kinds, KINDS, strict=True):
        said = found.size @ expit(kind[1] - prior[1] + kind[3] * found.x + kind[5] * found.between) / 6000
        assert said == pytest.approx(confidence.mean(), abs=1e-3)
    a = intercepts(0.8 * found.x + np.array([[0.0], [0.8]]) * found.between, found.size, 0.8)
    assert a[0] == pytest.approx(a[1], abs=0.12)


def test_how_much_surer_a_cell_is():
    """z is w·(mean y − the pool's mean y by doubt), with w the share of the variance of x within cells."""
    rng = np.random.default_rng(26)
    cell = np.sort(rng.integers(4, size=400))
    confidence = rng.beta(3 + 3 * cell, 1.5)
    x = logit(np.clip(confidence, 1e-4, 1 - 1e-4))
    y, doubt = np.clip(x, -4, 4), confidence * (1 - confidence)
    within = sum(x[cell == c].var() * (cell == c).sum() for c in range(4)) / (400 * x.var())
    means = np.array([y[cell == c].mean() for c in range(4)])
    expected = within * (means - np.average(means[cell], weights=doubt))
    found = sorted_items(confidence, cell)
    assert found.between == pytest.approx(expected[found.cell], abs=1e-3)


@pytest.mark.parametrize(
    ("cell", "confidence"),
    [
        (np.zeros(50, int), np.linspace(0.4, 0.99, 50)),
        (np.repeat([0, 1], 25), np.full(50, 0.8)),
        (np.repeat([0, 1], 25), np.repeat([0.6, 0.9], 25)),
        (np.repeat(np.arange(5), 10), None),
    ],
    ids=["one cell", "all the same confidence", "one confidence in each cell", "no confidences"],
)
def test_nothing_lies_between_cells(cell, confidence):
    found = sorted_items(confidence, cell)
    assert found.between == pytest.approx(0, abs=1e-9)
    model = trust.learn(found, np.ones(len(found.x)), np.ones(len(found.x)))
    assert np.isfinite(model.moments(found.size)).all()
    # Labels tell nothing about g then: it keeps its prior.
    if confidence is not None:
        assert model.mode[:, 2] == pytest.approx(KINDS[0, 5], abs=1e-6)


@pytest.mark.parametrize("cells", [2, 1000])
@pytest.mark.parametrize("labelled", [0, 40])
def test_two_cells_and_a_thousand_with_and_without_labels(cells, labelled):
    rng = np.random.default_rng(27)
    cell = np.arange(20 * cells) % cells
    confidence = rng.beta(2 + 6 * rng.random(cells)[cell], 1.5)
    found = sorted_items(confidence, cell)
    items = rng.permutation(len(cell))[:labelled]
    seen = np.bincount(found.strip[items], minlength=len(found.size)).astype(float)
    right = np.bincount(found.strip[items], rng.random(labelled) < confidence[items], minlength=len(found.size))
    model = trust.learn(found, right.astype(float), seen).pruned()
    mean, variance = model.moments(found.size)
    draws = model.shares(rng, 4000, found.size)
    assert np.abs(mean - draws.mean(axis=0)).max() < 5 * draws.std(axis=0).max() / np.sqrt(4000) + 1e-3
    assert np.sqrt(variance) == pytest.approx(draws.std(axis=0), rel=0.2)


def test_moments_agree_with_draws():
    _, pool, groups, truth = world(1)
    belief, _ = belief_from(pool, groups, truth, np.arange(0, 1200, 17), fl.Learned(), "population")
    n = 20_000
    draws = belief.draws(np.random.default_rng(2), n)[..., 0]
    mean = belief.mean()[:, 0]
    assert np.abs(mean - draws.mean(axis=0)).max() < 4.5 * draws.std(axis=0).max() / np.sqrt(n) + 5e-4
    # The variance is by slope: close, not exact.
    assert np.sqrt(belief.variance()[:, 0]) == pytest.approx(draws.std(axis=0), rel=0.15)


def test_few_strips_are_as_good_as_many_where_nearly_all_items_are_sure(monkeypatch):
    """95 % of the confidences above 0.995: means and deviations of cells, with and without labels, as with 400."""
    rng = np.random.default_rng(16)
    groups = np.repeat(np.arange(10), 400)
    confidence = np.where(rng.random(4000) < 0.95, 1 - 0.005 * rng.random(4000), rng.uniform(0.4, 0.995, 4000))
    pool, sites, truth = make_pool(rng, expit(0.7 * logit(confidence) - 0.3), confidence, groups)
    items = rng.permutation(4000)[:200]

    def found():
        beliefs = [belief_from(pool, sites, truth, items[:n], fl.Learned())[0] for n in (0, 200)]
        return np.array([(belief.mean()[:, 0], np.sqrt(belief.variance()[:, 0])) for belief in beliefs])

    few = found()
    monkeypatch.setattr(sys.modules["fewlabels.learned.items.strips"], "_STRIPS", 400)
    many = found()
    assert few[:, 0] == pytest.approx(many[:, 0], abs=0.002)
    assert few[:, 1] == pytest.approx(many[:, 1], rel=0.1)


@pytest.mark.parametrize("goal", [1e-4, 0.3, 0.9, 0.9999])
@pytest.mark.parametrize("spread", [0.0, 1.0, 20.0])
def test_intercepts_are_those_of_bisection(goal, spread):
    rng = np.random.default_rng(1)
    rest, size = rng.normal(0, spread, (3, 200)), rng.integers(1, 50, 200)
    low, high = np.full(3, -60.0), np.full(3, 60.0)
    for _ in range(60):
        middle = (low + high) / 2
        under = expit(middle[:, None] + rest) @ size < goal * size.sum()
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    # The share itself is known to 1e-16, and σ is as flat as 1e-4 here.
    assert intercepts(rest, size, goal) == pytest.approx(low, abs=1e-9)


def test_draws_of_some_cells_are_those_of_all():
    said = {"predicted": [i % 7 for i in range(300)], "confidence": [(i % 13 + 1) / 14 for i in range(300)]}
    pool = fl.read_pool(said)
    belief = fl.Learned().on(fl.Accuracy().cells(pool, fl.by_predicted(pool)), "population").blank()
    assert isinstance(belief, trust.ItemBelief)
    model = belief.model
    every = model.shares(np.random.default_rng(2), 50, model.strips.size)
    for some in (np.array([4, 1, 4]), np.arange(20) % 7):
        few = model.shares(np.random.default_rng(2), 50, model.strips.size, some)
        assert few == pytest.approx(every[:, some], abs=2e-6)
