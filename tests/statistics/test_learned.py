"""The learned prior: its model of items against slow versions and known answers, and the promises it makes."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import expit, logit

import fewlabels as fl
from fewlabels.learned import items as trust
from fewlabels.learned.items import fit
from fewlabels.learned.items.strips import KINDS, intercepts, kinds_of
from fewlabels.learned.on_cells import are_columns
from fewlabels.outcomes import Outcomes
from fewlabels.tasks import Rewards


def make_pool(rng, right, confidence, groups):
    """A pool of two-class predictions, always class "a", with the given chance of being right; and the labels."""
    truth = np.where(rng.random(len(right)) < right, "a", "b")
    columns = {"predicted": ["a"] * len(right), "site": [f"site {g:02d}" for g in groups]}
    if confidence is not None:
        columns["confidence"] = confidence
    pool = fl.read_pool(columns, classes=["a", "b"])
    return pool, fl.by_column(pool, "site"), truth


def belief_from(pool, groups, truth, items, prior, target="pool", metric=None):
    metric = metric or fl.Accuracy()
    cells = metric.cells(pool, groups)
    outcomes = metric.outcomes(pool, cells, items, pool.class_positions(truth[items]))
    return prior.on(cells, target).belief(outcomes), cells


def world(seed, sites=20, each=60, a=-0.3, b=0.9, tau=0.5):
    """Items whose chance of being right follows the model of `trust.py`."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(sites), each)
    confidence = rng.uniform(0.4, 0.999, sites * each)
    effect = rng.normal(0, tau, sites)
    right = expit(a + b * logit(confidence) + effect[groups])
    return rng, *make_pool(rng, right, confidence, groups)


def true_values(pool, groups, truth):
    right = truth == np.array(pool.classes)[pool.predicted]
    return np.bincount(groups.group, right) / groups.sizes


# --- what is expected before any label


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
        return are_columns(metric.cells(pool, groups), asked)

    assert columns(site)
    assert columns(fl.cross(site, site))
    assert columns(whole, site)
    assert columns(site, whole)
    assert not any(columns(*given) for given in ((classes,), (both,), (whole,), (site, classes), (site, both)))
    confidence, cell = np.linspace(0.5, 0.99, 40), np.arange(40) % 4
    alike, apart = (sorted_items(confidence, cell, columns=given) for given in (True, False))
    taus = [fit.tau_prior(strips, crossed=False) for strips in (alike, apart)]
    assert (taus[0][:, 0] > 3 * taus[1][:, 0]).all()
    assert [tau.sum(axis=1) == pytest.approx(1) for tau in taus] == [True, True]
    assert alike.kinds[0, 5] < apart.kinds[0, 5]


# --- the model of items


def strips_of(cell, x, between, size, kinds=((1.0, 0.5, 0.8, 0.9, 0.4, 0.3, 0.5),)):
    """Strips as they are given; `between` of each cell."""
    cell = np.array(cell)
    z = np.array(between, dtype=float)[cell]
    none, alone = np.empty((0, len(cell)), np.int64), np.ones(1)
    return trust.Strips(np.empty(0, np.int64), cell, cell, none, np.array(x), z, np.array(size), np.array(kinds), alone)


def sorted_items(confidence, cell, columns=False):
    """The strips of cells that are groups."""
    return trust.strips(confidence, cell.astype(np.int32), [cell], columns=columns)


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
    for i, tau in enumerate(fit.TAUS):

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
    tau = fit.TAUS[point]
    design = np.column_stack([np.ones(3), strips.x, strips.between, np.eye(2)[strips.cell]])
    p = expit(design @ np.concatenate([found.shared[point], found.u[point]]))
    curvature = design.T @ ((labels * p * (1 - p))[:, None] * design)
    curvature += np.diag([1 / 0.8**2, 1 / 0.4**2, 1 / 0.5**2, 1 / tau**2, 1 / tau**2])
    covariance = np.linalg.inv(curvature)
    own, lean, schur = (part[point] for part in found.curvature())
    assert np.linalg.inv(schur) == pytest.approx(covariance[:3, :3], rel=1e-8)
    assert lean.T @ covariance[:3, :3] @ lean + np.diag(1 / own) == pytest.approx(covariance[3:, 3:], rel=1e-8)
    assert -covariance[:3, :3] @ lean == pytest.approx(covariance[:3, 3:], rel=1e-8)


def integrated(strips, right, labels):
    """Weights of the points and, for each, the mean of g and of each cell, by brute force.

    A grid of (a, b, g), and Gauss-Hermite sums of 41 nodes over u in each cell.
    """
    means, sds = strips.kinds[0, 1::2], strips.kinds[0, 2::2]
    grid = np.stack(np.meshgrid(*np.linspace(means - 4.5 * sds, means + 4.5 * sds, 19).T, indexing="ij"), axis=-1)
    grid = grid.reshape(-1, 3)
    prior = stats.norm.pdf(grid, means, sds).prod(axis=1)
    line = (grid @ strips.design)[..., None]
    z, w = np.polynomial.hermite_e.hermegauss(41)
    starts = np.flatnonzero(np.diff(strips.cell, prepend=-1))
    count = np.diff([*starts, len(strips.x)])[:, None]
    evidence, found = [], []
    for tau in fit.TAUS:
        eta = line + tau * z
        likelihood = np.exp(right[:, None] * eta - labels[:, None] * np.logaddexp(0, eta))
        of_cell = np.multiply.reduceat(likelihood, starts, axis=1) * w / w.sum()
        size = of_cell.sum(axis=-1)
        mass = size.prod(axis=-1) * prior
        chance = np.add.reduceat(expit(eta), starts, axis=1) / count
        evidence.append(mass.sum())
        mass /= mass.sum()
        cells = np.einsum("p,pcz,pcz->c", mass, of_cell / size[..., None], chance)
        found.append([mass @ grid[:, 2], *cells])
    weight = np.array(evidence) * fit.TAU_PRIOR
    return weight / weight.sum(), np.array(found)


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
    weight, means = integrated(strips, right, labels)
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
    weight, means = integrated(strips, right, labels)
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


# --- what is promised


@pytest.mark.parametrize("metric", [fl.Accuracy(), fl.CalibrationError(bins=4), fl.Recall(positive="a")])
@pytest.mark.parametrize("target", ["population", "pool"])
def test_all_labelled_is_known_and_the_order_of_labels_does_not_matter(metric, target):
    _, pool, groups, truth = world(7, sites=4, each=12)
    items = np.arange(0, 48, 3)
    one, cells = belief_from(pool, groups, truth, items, fl.Learned(), target, metric)
    other, _ = belief_from(pool, groups, truth, items[::-1], fl.Learned(), target, metric)
    assert one.mean() == pytest.approx(other.mean(), abs=1e-12)
    full, _ = belief_from(pool, groups, truth, np.arange(48), fl.Learned(), "pool", metric)
    draws = metric.value(full.draws(np.random.default_rng(8), 50), cells)
    assert draws == pytest.approx(np.repeat(draws[:1], 50, axis=0), abs=1e-12)


@pytest.mark.parametrize("right", [0.0, 1.0])
def test_all_right_or_all_wrong_so_far(right):
    rng = np.random.default_rng(9)
    groups = np.repeat(np.arange(5), 30)
    pool, sites, truth = make_pool(rng, np.full(150, right), rng.uniform(0.3, 0.99, 150), groups)
    belief, _ = belief_from(pool, sites, truth, np.arange(0, 150, 2), fl.Learned(), "population")
    mean = belief.mean()[:, 0]
    assert np.isfinite(mean).all()
    assert np.abs(mean - right).max() < 0.1
    assert (belief.variance() > 0).all()


def test_without_confidence_it_pools_towards_the_overall_rate():
    rng = np.random.default_rng(10)
    groups = np.repeat(np.arange(10), 40)
    pool, sites, truth = make_pool(rng, np.full(400, 0.9), None, groups)
    items = rng.permutation(400)[:60]
    learned, cells = belief_from(pool, sites, truth, items, fl.Learned())
    plain, _ = belief_from(pool, sites, truth, items, fl.Uniform())
    real = true_values(pool, sites, truth)
    error = [np.sqrt(((b.mean()[:, 0] - real) ** 2).mean()) for b in (learned, plain)]
    assert error[0] < 0.6 * error[1]
    assert len(cells) == 10


def test_one_group_and_empty_groups():
    pool = fl.read_pool([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.6, 0.4, 0.0]], classes=["a", "b", "c"])
    for groups in (fl.whole(pool), fl.by_predicted(pool)):
        audit = fl.create(None, "few", pool, groups, prior=fl.Learned(), target="pool")
        audit.tell(dict.fromkeys(audit.ask(2).ids, "a"))
        table = audit.estimates()
        assert all(
            low <= mean <= high
            for low, mean, high in zip(table["low"], table["mean"], table["high"], strict=True)
            if mean is not None
        )


def errors(make, prior, per_group, target="pool", runs=12):
    """Mean error over runs of one prior, labels at random; the same labels for every prior."""
    found = []
    for run in range(runs):
        rng, pool, groups, truth = make(run)
        items = rng.permutation(len(pool))[: int(per_group * len(groups))]
        belief, _ = belief_from(pool, groups, truth, items, prior, target)
        found.append(np.sqrt((groups.shares * (belief.mean()[:, 0] - true_values(pool, groups, truth)) ** 2).sum()))
    return np.mean(found)


def unrelated(run):
    rng = np.random.default_rng([11, run])
    groups = np.repeat(np.arange(40), 80)
    return rng, *make_pool(rng, rng.random(40)[groups], rng.uniform(0.3, 1, 3200), groups)


def inverted(run):
    rng = np.random.default_rng([12, run])
    groups = np.repeat(np.arange(40), 80)
    confidence = rng.uniform(0.3, 0.99, 3200)
    return rng, *make_pool(rng, expit(1.5 - logit(confidence)), confidence, groups)


@pytest.mark.parametrize("per_group", [5, 20])
def test_unrelated_groups_cost_at_most_a_tenth(per_group):
    """Confidence is noise and groups have nothing in common: it must fall back to about the plain belief."""
    assert errors(unrelated, fl.Learned(), per_group) < 1.1 * errors(unrelated, fl.Uniform(), per_group)


@pytest.mark.parametrize("per_group", [1, 5])
@pytest.mark.parametrize("make", [world, inverted])
def test_it_needs_fewer_labels_where_confidence_means_something(make, per_group):
    """In the world it is made for, and where confidence is inverted: at most 85 % of the errors of both others."""
    learned = errors(make, fl.Learned(), per_group)
    assert learned < 0.85 * errors(make, fl.Informed(), per_group)
    assert learned < 0.85 * errors(make, fl.Uniform(), per_group)


def drawn_from_the_prior(run):
    """A world from the hyper-prior of a, b, g, τ and u, as the model has it; some groups are surer than others."""
    rng = np.random.default_rng([13, run])
    groups = np.repeat(np.arange(15), 40)
    confidence = rng.beta(2 + 8 * rng.random(15)[groups], 1.5)
    strips = sorted_items(confidence, groups, columns=True)
    which = rng.choice(len(KINDS), p=strips.kinds[:, 0])
    kind, taus = strips.kinds[which], fit.tau_prior(strips, crossed=False)[which]
    effect = rng.normal(0, rng.choice(fit.TAUS, p=taus), 15)
    eta = rng.normal(kind[1::2], kind[2::2]) @ strips.design[:, strips.strip] + effect[groups]
    return rng, *make_pool(rng, expit(eta), confidence, groups)


def test_intervals_cover_pool_values_when_the_truth_follows_the_model():
    """a, b, g and τ from the hyper-prior: intervals cover as many pool values as they say."""
    ranks = []
    for run in range(120):
        rng, pool, groups, truth = drawn_from_the_prior(run)
        items = rng.permutation(len(pool))[:45]
        belief, _ = belief_from(pool, groups, truth, items, fl.Learned())
        draws, real = belief.draws(rng, 1000)[..., 0], true_values(pool, groups, truth)
        # Shares of few items are discrete: a value that ties with draws has a rank drawn among them.
        ranks.append((draws < real - 1e-9).mean(axis=0) + rng.random(15) * (np.abs(draws - real) < 1e-9).mean(axis=0))
    for level in (0.5, 0.8, 0.95):
        # Groups of a run share its hyper-parameters, so a run counts as one observation.
        inside = (np.abs(np.array(ranks) - 0.5) < level / 2).mean(axis=1)
        assert abs(inside.mean() - level) < 4.5 * inside.std() / np.sqrt(len(inside))


def steered_rank(run):
    """Where the true accuracy over all items lies among its draws, after 60 labels sought in the worst groups."""
    rng, pool, groups, truth = drawn_from_the_prior(run)
    items = np.empty(0, dtype=np.int64)
    for _ in range(4):
        belief, _ = belief_from(pool, groups, truth, items, fl.Learned())
        worst = np.argsort(belief.mean()[:, 0])[:3]
        free = np.setdiff1d(np.flatnonzero(np.isin(groups.group, worst)), items)
        items = np.concatenate([items, rng.choice(free, 15, replace=False)])
    belief, _ = belief_from(pool, groups, truth, items, fl.Learned())
    draws, real = belief.draws(rng, 400)[..., 0] @ groups.shares, groups.shares @ true_values(pool, groups, truth)
    return (draws < real - 1e-9).mean() + rng.random() * (np.abs(draws - real) < 1e-9).mean()


def test_the_number_over_all_items_is_calibrated_after_seeking_the_worst_groups():
    """Worlds from the hyper-prior: every rank is equally likely, however the labels were sought."""
    runs = 300
    ranks = np.array([steered_rank(run) for run in range(runs)])
    assert abs(ranks.mean() - 0.5) < 4.5 * np.sqrt(1 / 12 / runs)
    for level in (0.5, 0.8, 0.95):
        inside = (np.abs(ranks - 0.5) < level / 2).mean()
        assert abs(inside - level) < 4.5 * np.sqrt(level * (1 - level) / runs)


@pytest.mark.slow
def test_without_the_slope_between_groups_that_number_would_be_too_low(monkeypatch):
    """Worlds with g around 0.7, as newsgroups has it, seen with g = 0: the test above has teeth."""
    module, make, runs = sys.modules["fewlabels.learned.items.strips"], drawn_from_the_prior, 300
    blind, strong = KINDS.copy(), KINDS.copy()
    blind[:, 5:] = 0, 1e-3
    strong[:, 5] = 2.1  # the groups are sites: columns have a third of it

    def seen_blindly(run):
        monkeypatch.setattr(module, "KINDS", strong)
        made = make(run)
        monkeypatch.setattr(module, "KINDS", blind)
        return made

    monkeypatch.setitem(globals(), "drawn_from_the_prior", seen_blindly)
    assert np.mean([steered_rank(run) for run in range(runs)]) - 0.5 > 4.5 * np.sqrt(1 / 12 / runs)


def test_asking_with_pending_requests_and_rewards_are_finite():
    _, pool, groups, truth = world(15, sites=6, each=10)
    audit = fl.create(None, "x", pool, groups, prior=fl.Learned(), target="pool", policy=fl.Greedy())
    batch = audit.ask(12)
    assert len({request.group for request in batch}) > 2
    audit.tell({item: truth[int(item)] for item in batch.ids})
    belief = audit.belief()
    rewards = Rewards(audit.spec.task, audit._cells, belief)
    assert np.isfinite(rewards.draw(np.random.default_rng(16), 3)).all()


@pytest.mark.parametrize("metric", [fl.Accuracy(), fl.Recall(positive="a")])
def test_some_of_its_cells_are_believed_as_among_all(metric):
    _, pool, groups, truth = world(17, sites=4, each=12)
    belief, _ = belief_from(pool, groups, truth, np.arange(0, 48, 5), fl.Learned(), "pool", metric)
    some = belief.rows(slice(1, 3))
    assert some.mean() == pytest.approx(belief.mean()[1:3], abs=1e-12)
    assert some.variance() == pytest.approx(belief.variance()[1:3], abs=1e-12)


def test_counts_without_the_labelled_items_are_refused():
    _, pool, groups, _ = world(18, sites=2, each=5)
    cells = fl.Accuracy().cells(pool, groups)
    prior = fl.Learned().on(cells, "pool")
    assert np.isfinite(prior.blank().mean()).all()
    with pytest.raises(fl.InputError, match=r"Outcomes\.of\(cells, items, shown\)"):
        prior.belief(Outcomes(np.ones((2, 2))))


def test_it_says_what_was_learned():
    _, pool, groups, truth = world(21, sites=30, each=60, a=-1.0, b=0.5, tau=0.3)
    belief, _ = belief_from(pool, groups, truth, np.arange(0, 1800, 3), fl.Learned())
    summary = belief.summary()
    real = (truth == "a").mean()
    assert abs(summary.numbers["accuracy"] - real) < 4.5 * summary.numbers["accuracy_sd"]
    assert summary.numbers["slope"] == pytest.approx(0.5, abs=4.5 * summary.numbers["slope_sd"])
    assert "From 600 labels" in summary.words
    assert "less than they say" in summary.words
    before, _ = belief_from(pool, groups, truth, np.arange(0), fl.Learned())
    assert "Before the first label" in before.summary().words


@pytest.mark.parametrize(("make", "worth"), [("alike", (60, 1e7)), ("unrelated", (0, 8))])
@pytest.mark.parametrize("metric", [fl.Accuracy(), fl.Confusion()])
def test_scores_count_for_much_where_groups_are_alike_and_for_little_where_not(metric, make, worth):
    rng = np.random.default_rng(22)
    groups = np.repeat(np.arange(40), 80)
    chance = rng.random(40)[groups] if make == "unrelated" else np.full(3200, 0.7)
    pool, sites, truth = make_pool(rng, chance, rng.uniform(0.5, 0.9, 3200), groups)
    belief, _ = belief_from(pool, sites, truth, rng.permutation(3200)[:1600], fl.Learned(), "pool", metric)
    assert worth[0] <= belief.summary().numbers["worth"] <= worth[1]


@pytest.mark.parametrize("metric", [fl.Accuracy(), fl.Confusion()])
def test_without_confidence_the_summary_speaks_of_other_groups(metric):
    pool = fl.read_pool({"predicted": ["a", "a", "b", "b"]}, classes=["a", "b"])
    belief, _ = belief_from(
        pool, fl.by_predicted(pool), np.array(list("abba")), np.arange(2), fl.Learned(), metric=metric
    )
    assert "the other groups count" in belief.summary().words
    assert "slope" not in belief.summary().numbers


@pytest.mark.parametrize("prior", [fl.Informed(), fl.Learned()])
def test_the_median_of_a_calibration_error_is_beside_its_mean(prior):
    """Bins that are not settled add to the mean of Σ|θ − s| more than to its median."""
    _, pool, groups, truth = world(23, sites=3, each=80)
    audit = fl.create(None, "x", pool, groups, task=fl.Estimate(fl.CalibrationError(5)), prior=prior, target="pool")
    audit.tell({item: truth[int(item)] for item in audit.ask(20).ids})
    table = audit.estimates(draws=2000)
    assert table["median"] == pytest.approx(np.median(audit.draws(2000), axis=0))
    assert np.mean(table["median"]) < np.mean(table["mean"])
    assert "median" not in audit.estimates(metric=fl.Accuracy()).columns


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
        assert few == pytest.approx(every[:, some], abs=1e-12)
