"""One posterior of items for every question: crossed effects, mistakes, and all metrics, against slow versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import expit, gammaln

import fewlabels as fl
from fewlabels.belief import dirichlet_draws
from fewlabels.estimates import value_draws
from fewlabels.learned import items as trust
from fewlabels.learned import missed, mistakes
from fewlabels.learned.items import TrustBelief, differing, fit
from fewlabels.learned.on_cells import factors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.metrics import Metric
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool


class Known(NamedTuple):
    """A pool with its labels: predicted classes, scores, and a column of sites."""

    pool: Pool
    labels: NDArray[np.int32]

    @property
    def asked(self) -> Partition:
        return fl.by_predicted(self.pool)

    @property
    def sites(self) -> Partition:
        return fl.by_column(self.pool, "site")

    def read(self, metric: Metric, groups: Partition, items: NDArray[np.int64], target: fl.Target = "pool"):
        """The belief and the cells of a metric on groups, asked by predicted class, once some items are labelled."""
        cells = metric.cells(self.pool, groups)
        prepared = fl.Learned().across(cells, target, self.asked)
        return prepared.belief(metric.outcomes(self.pool, cells, items, self.labels[items])), cells

    def value(self, metric: Metric, groups: Partition) -> NDArray[np.float64]:
        """The true value of each group."""
        cells = metric.cells(self.pool, groups)
        every = metric.outcomes(self.pool, cells, np.arange(len(self.pool)), self.labels)
        return metric.value(every.counts / cells.size[:, None], cells)


def items_of(rng: np.random.Generator, n: int = 480, classes: int = 4, sites: int = 5) -> Pool:
    """A pool with scores and sites."""
    scores = dirichlet_draws(rng, np.full((1, classes), 0.35), n)[:, 0]
    site = rng.integers(sites, size=n)
    return fl.read_pool(
        {f"score_{k}": scores[:, k] for k in range(classes)} | {"site": [f"s{s}" for s in site]},
    )


def drawn(seed: int, metric: Metric, groups: str = "sites") -> Known:
    """A pool whose labels come from the hyper-prior of the model that reads this metric on these groups."""
    rng = np.random.default_rng([31, seed])
    pool = items_of(rng)
    known = Known(pool, np.zeros(len(pool), np.int32))
    cells = metric.cells(pool, getattr(known, groups))
    strips = trust.strips(cells.scores, cells.cell, factors(cells, known.asked))
    crossed = len(strips.crossed)
    which = rng.choice(len(strips.kinds), p=strips.kinds[:, 0])
    kind = strips.kinds[which]
    taus = differing.tau_prior(strips, crossed=crossed > 0)[which]
    omegas, omega_prior = differing.omega_grid(len(strips.crossed))
    tau = np.full(strips.effect.max() + 1, strips.scale[0] * rng.choice(differing.TAUS, p=taus))
    wild = rng.random(len(tau)) < differing.wild_shares(strips)
    u = rng.normal(0, np.where(wild, np.maximum(tau, 2.0), tau))
    v = rng.normal(0, differing.crossed_sds(strips, omegas)[rng.choice(len(omegas), p=omega_prior)])
    shared = np.concatenate([rng.normal(kind[1::2], kind[2::2]), v])
    chance = expit(shared @ strips.design + u[strips.effect])[strips.strip]
    right = rng.random(len(pool)) < chance
    return known._replace(labels=np.where(right, pool.predicted, mistaken(rng, pool)).astype(np.int32))


def mistaken(rng: np.random.Generator, pool: Pool) -> NDArray[np.int64]:
    """A wrong class for each item, by shares from the hyper-prior of mistakes for each predicted class."""
    cells = fl.Confusion().cells(pool, fl.by_predicted(pool))
    assert cells.mistaken is not None
    k = len(pool.classes)
    expected = mistakes.expected(
        cells.mistaken, np.broadcast_to(np.arange(k), (k, k)), k, np.arange(k), possible=k, known="scores"
    )
    b = rng.choice(mistakes.POWERS, p=mistakes.POWER_PRIOR["scores"])
    kappa = rng.choice(missed.KAPPAS, p=mistakes.KAPPA_PRIOR["scores"])
    sigma = rng.choice(missed.COLUMNS, p=mistakes.COLUMN_PRIOR["scores"])
    m = expected.powered(float(b)) * (rng.gamma(1 / sigma**2, sigma**2, k) if sigma else 1.0)
    q = dirichlet_draws(rng, kappa * m / m.sum(axis=1, keepdims=True), 1)[0]
    edges = np.cumsum(q, axis=1)
    edges[:, -1] = 1
    return (rng.random(len(pool))[:, None] > edges[cells.cell]).sum(axis=1)


# --- calibration, metric by metric

READ = [
    (fl.Accuracy(), "asked"),
    (fl.Accuracy(), "sites"),
    (fl.Confusion(), "asked"),
    (fl.Precision(positive="2"), "sites"),
    (fl.Recall(positive="1"), "sites"),
    (fl.F1(), "sites"),
    (fl.FalsePositiveRate(positive="0"), "sites"),
    (fl.Cost([[0, 1, 2, 3], [1, 0, 1, 2], [4, 1, 0, 1], [1, 1, 1, 0]]), "sites"),
    (fl.CalibrationError(bins=4), "asked"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "groups"), READ, ids=repr)
def test_every_metric_is_calibrated_in_worlds_of_the_hyper_prior(metric: Metric, groups: str) -> None:
    """After asking that seeks the worst predicted classes: the true value has every rank equally often.

    Groups of a world share its hyper-parameters, so a world counts as one observation. A merged outcome of recall or
    cost is read by coarser cells than the world was made with; that costs little here.
    """
    worlds, ranks = 60, []
    for seed in range(worlds):
        known = drawn(seed, metric, groups)
        rng = np.random.default_rng([32, seed])
        items = sought(known, rng)
        belief, cells = known.read(metric, getattr(known, groups), items)
        draws, real = value_draws(metric, belief, cells, rng, 400), known.value(metric, getattr(known, groups))
        below, ties = (draws < real - 1e-9).mean(axis=0), (np.abs(draws - real) < 1e-9).mean(axis=0)
        ranks.append((below + rng.random(below.shape) * ties).ravel())
    found = np.array(ranks)
    for level in (0.5, 0.8, 0.95):
        inside = (np.abs(found - 0.5) < level / 2).mean(axis=1)
        assert abs(inside.mean() - level) < 4.5 * inside.std() / np.sqrt(worlds) + 0.01


def sought(known: Known, rng: np.random.Generator) -> NDArray[np.int64]:
    """60 items, in four rounds, from the two predicted classes that look worst."""
    chosen = np.empty(0, dtype=np.int64)
    for _ in range(4):
        belief, _ = known.read(fl.Accuracy(), known.asked, chosen)
        worst = np.argsort(belief.mean()[:, 0])[:2]
        free = np.setdiff1d(np.flatnonzero(np.isin(known.asked.group, worst)), chosen)
        chosen = np.concatenate([chosen, rng.choice(free, min(15, len(free)), replace=False)])
    return chosen


# --- the same quantity by every route


@pytest.mark.parametrize("target", ["population", "pool"])
def test_the_same_quantity_is_the_same_number_by_every_route(target: fl.Target) -> None:
    known = drawn(1, fl.Confusion(), "asked")
    items = np.arange(0, 480, 7)
    accuracy, _ = known.read(fl.Accuracy(), known.asked, items, target)
    confusion, cells = known.read(fl.Confusion(), known.asked, items, target)
    assert cells.right is not None
    at = np.arange(len(cells))
    assert confusion.mean()[at, cells.right] == pytest.approx(accuracy.mean()[:, 0], abs=1e-9)
    assert confusion.mean().sum(axis=1) == pytest.approx(1)
    draws = confusion.draws(np.random.default_rng(1), 50)
    assert draws.sum(axis=2) == pytest.approx(1)
    for k, name in enumerate(known.pool.classes):
        belief, one = known.read(fl.Precision(positive=name), fl.whole(known.pool), items, target)
        mean = fl.Precision(positive=name).value(belief.mean(), one)
        assert mean == pytest.approx(accuracy.mean()[k, 0], abs=1e-6)
    assert accuracy.counts.sum() == confusion.counts.sum() == len(items)
    whole, _ = known.read(fl.Accuracy(), fl.whole(known.pool), items, target)
    assert whole.mean()[0, 0] == pytest.approx(known.asked.shares @ accuracy.mean()[:, 0], abs=1e-9)


# --- the model of mistakes


def plain(shares: NDArray[np.float64]) -> mistakes.Expected:
    """What is expected if each predicted class is a row and each true class an outcome."""
    k = len(shares)
    every = np.broadcast_to(np.arange(k), (k, k))
    return mistakes.expected(shares, every, k, np.arange(k), possible=k, known="scores")


def counted(seed: int) -> tuple[mistakes.Expected, NDArray[np.float64]]:
    """What is expected of mistakes in five rows of five classes, and mistakes that labels showed."""
    rng = np.random.default_rng(seed)
    shares = dirichlet_draws(rng, np.full((5, 5), 0.4), 1)[0] * (1 - np.eye(5))
    counts = np.array([rng.multinomial(n, m / m.sum()) for n, m in zip((0, 1, 5, 30, 2), shares, strict=True)])
    return plain(shares), counts.astype(float)


def evidence(counts: NDArray[np.float64], m: NDArray[np.float64], kappa: float) -> NDArray[np.float64]:
    """The log evidence of Dirichlet-multinomial counts of each row, without the orders in which they came."""
    value = np.zeros(len(counts))
    for c, (row, share) in enumerate(zip(counts.astype(int), m, strict=True)):
        some = share > 0
        if row.any():
            ways = gammaln(row.sum() + 1) - gammaln(row + 1.0).sum()
            value[c] = stats.dirichlet_multinomial.logpmf(row[some], kappa * share[some], row.sum()) - ways
    return value


def test_the_evidence_of_mistakes_is_that_of_two_dirichlet_multinomials() -> None:
    """Of usual rows, and of wild ones with their own κ; each row is wild as often as Bayes' rule says."""
    expected, counts = counted(3)
    each = [expected.powered(float(b)) for b in mistakes.POWERS]
    usual = np.array([[evidence(counts, m, kappa) for m in each] for kappa in missed.KAPPAS])
    wild = np.array([evidence(counts, m, missed.WILD_KAPPA) for m in each])[None]
    together = np.log((1 - missed.WILD) * np.exp(usual) + missed.WILD * np.exp(wild))
    slow = together.sum(axis=-1)
    slow += np.log(mistakes.KAPPA_PRIOR["scores"])[:, None] + np.log(mistakes.POWER_PRIOR["scores"])
    weight = np.exp(slow - slow.max())
    weight /= weight.sum()
    model = expected.learn(counts)
    found = model.weight[..., 0]
    assert found / found.sum() == pytest.approx(weight, abs=4e-3)  # what is negligible is left out
    assert model.wild[:, :, 0] == pytest.approx(missed.WILD * np.exp(wild - together))
    assert model.wild[..., 0] == pytest.approx(missed.WILD)  # no mistake was seen there


def test_a_row_may_have_a_habit_of_its_own() -> None:
    """Forty classes whose mistakes go everywhere, and one whose six mistakes are the same: it is believed."""
    rng, k = np.random.default_rng(2), 60
    counts = np.zeros((k, k))
    for c in range(1, 41):
        np.add.at(counts[c], rng.choice(np.delete(np.arange(k), c), 6), 1)
    counts[0, 7] = 6
    model = plain(np.ones((k, k))).learn(counts)
    mean, _ = model.moments()
    drawn = model.draws(np.random.default_rng(3), 4_000)
    low, high = np.quantile(drawn[:, 0, 7], [0.025, 0.975])
    # By its own six and a flat prior of two outcomes the share is 0.875, from 0.59 on.
    assert 0.55 < mean[0, 7] < 0.875
    assert low < 0.59
    assert high > 0.9
    # One mistake in six is no habit, and its row stays as it was.
    once = counts[1:41].argmax(axis=1)
    assert np.median(mean[np.arange(1, 41), once]) < 0.1
    # One mistake alone may be one: its interval reaches further than its mean by far.
    counts[50, 9] = 1
    one = plain(np.ones((k, k))).learn(counts).draws(np.random.default_rng(3), 4_000)[:, 50, 9]
    assert one.mean() < 0.12
    assert np.quantile(one, 0.975) > 0.3


def explained(counts: NDArray[np.float64], m: NDArray[np.float64], kappa: float) -> NDArray[np.float64]:
    """The log evidence of each row: shares (..., rows, outcomes) to (..., rows)."""
    alpha = kappa * np.where(m > 0, m, 1.0)
    each = np.where(m > 0, gammaln(alpha + counts) - gammaln(alpha), 0.0).sum(axis=-1)
    return each + gammaln(kappa) - gammaln(kappa + counts.sum(axis=-1))


@pytest.mark.parametrize(("mistakes_each", "often"), [(6, (2, 1, 1, 1, 0.6, 0.4)), (15, (2, 2, 1, 1, 0.5, 0.4))])
def test_classes_that_are_missed_oftener_than_expected_are_found_as_by_importance_sampling(
    mistakes_each: int, often: tuple[float, ...]
) -> None:
    """With κ = 100 and b = 1, w drawn from its prior and weighted by the evidence: the same σ and the same shares.

    In the evidence each row is a usual or a wild one. What the w explain, habits do not explain once more.
    """
    rng = np.random.default_rng(11)
    k, kappa, n = 6, 100.0, 20_000
    expected = plain(np.ones((k, k)))
    counts = np.zeros((k, k))
    for c in range(k):
        m = np.where(np.arange(k) == c, 0, often)
        counts[c] = rng.multinomial(mistakes_each, m / m.sum())
    model = expected.learn(counts)
    at, power = int(np.flatnonzero(kappa == missed.KAPPAS)[0]), int(np.flatnonzero(mistakes.POWERS == 1)[0])
    slow, shares, wild = [], [], []
    for sigma in missed.COLUMNS.tolist():
        w = rng.gamma(1 / sigma**2, sigma**2, (n, k)) if sigma else np.ones((1, k))
        m = w[:, None] * expected.powered(1.0)
        m /= m.sum(axis=-1, keepdims=True)
        habit = np.log(missed.WILD) + explained(counts, m, missed.WILD_KAPPA)
        rows = np.logaddexp(np.log1p(-missed.WILD) + explained(counts, m, kappa), habit)
        weight = np.exp(rows.sum(axis=1) - rows.sum(axis=1).max())
        slow.append(np.log(weight.mean()) + rows.sum(axis=1).max())
        shares.append(np.average(m, axis=0, weights=weight))
        wild.append(np.average(np.exp(habit - rows), axis=0, weights=weight))
    some = model.weight[at, power] > 0  # with many mistakes, σ = 0 is left out
    found = np.log(model.weight[at, power][some] / mistakes.COLUMN_PRIOR["scores"][some])
    assert found - found[-1] == pytest.approx((np.array(slow) - slow[-1])[some], rel=0.1, abs=0.2)
    assert model.wild[at, power] == pytest.approx(np.array(wild), abs=0.06)  # those at the mode of w, and on average
    for i, mean in enumerate(shares[1:]):
        w = rng.standard_gamma(model.shape[power, i], (n, k)) / model.rate[power, i]
        ours = w[:, None] * expected.powered(1.0)
        # The w are learned at the κ that fits best, which is not 100.
        assert (ours / ours.sum(axis=-1, keepdims=True)).mean(axis=0) == pytest.approx(mean, abs=0.035)


def test_merged_outcomes_have_their_power_before_they_are_put_together() -> None:
    """One class against nine equal ones is expected in a ninth of the mistakes, whatever the power."""
    k = 10
    merged = np.broadcast_to((np.arange(k) > 0).astype(np.int64), (k, k))
    expected = mistakes.expected(np.ones((k, k)), merged, 2, np.arange(k), possible=k, known="predictions")
    for b in mistakes.POWERS.tolist():
        assert expected.powered(b)[1:, 0] == pytest.approx(1 / 9)
        assert expected.alike(b) == pytest.approx([1, (1 / 9 + 9 / 8) / k], abs=1e-9)


def test_without_scores_classes_in_doubt_are_expected_to_be_missed() -> None:
    """Recall of a class that is never doubted is higher than that of one that often is, before any label."""
    predicted = np.repeat([0, 1, 2], 100)
    pool = fl.read_pool(
        {"predicted": [str(p) for p in predicted], "confidence": np.repeat([0.95, 0.8, 0.6], 100)}, classes=list("012")
    )
    known = Known(pool, predicted.astype(np.int32))
    mean = known.read(fl.Confusion(), fl.by_predicted(pool), np.arange(0))[0].mean()
    assert mean[0, 2] > 1.5 * mean[0, 1]
    assert mean[1, 2] > 2 * mean[1, 0]


def test_moments_of_mistakes_are_those_of_their_draws() -> None:
    expected, counts = counted(4)
    model, n = expected.learn(counts), 20_000
    mean, squares = model.moments()
    draws = model.draws(np.random.default_rng(5), n)
    assert np.abs(mean - draws.mean(axis=0)).max() < 5 * draws.std(axis=0).max() / np.sqrt(n)
    total = (draws**2).sum(axis=2)
    # The shares are taken at the mode of w, which makes them a little too similar.
    assert np.abs(squares - total.mean(axis=0)).max() < 5 * total.std(axis=0).max() / np.sqrt(n) + 2e-3


@pytest.mark.parametrize("target", ["population", "pool"])
@pytest.mark.parametrize("metric", [fl.Confusion(), fl.Recall(positive="1")], ids=repr)
def test_counts_of_the_match_have_the_mean_and_total_variance_of_the_draws(metric: Metric, target: fl.Target) -> None:
    known = drawn(2, fl.Confusion(), "asked")
    groups = known.asked if metric == fl.Confusion() else known.sites
    belief, _ = known.read(metric, groups, np.arange(0, 480, 9), target)
    n = 8_000
    draws = belief.draws(np.random.default_rng(6), n)
    assert np.abs(belief.mean() - draws.mean(axis=0)).max() < 5 * draws.std(axis=0).max() / np.sqrt(n) + 1e-3
    ours, theirs = belief.variance().sum(axis=1), draws.var(axis=0).sum(axis=1)
    # The variance is by the slope of the share, and up to a fifth too small where a group is nearly always right or
    # wrong. Where a cell has several rows, it is taken from 400 draws.
    assert ours == pytest.approx(theirs, rel=0.25 if metric == fl.Confusion() else 0.3)


def test_a_pool_without_scores_learns_which_mistakes_are_made() -> None:
    """Wrong answers are always the next class: after 40 mistakes the next one is expected to be, too."""
    rng = np.random.default_rng(7)
    predicted = rng.integers(4, size=400)
    labels = np.where(rng.random(400) < 0.5, predicted, (predicted + 1) % 4)
    pool = fl.read_pool({"predicted": [str(p) for p in predicted]}, classes=list("0123"))
    belief, _ = Known(pool, labels.astype(np.int32)).read(fl.Confusion(), fl.by_predicted(pool), np.arange(80))
    for k in range(4):
        wrong = np.delete(belief.mean()[k], k)
        assert belief.mean()[k, (k + 1) % 4] > 0.7 * wrong.sum()


def test_a_label_count_of_the_wrong_class_among_merged_outcomes_is_wrong() -> None:
    """Recall of "0" merges all other classes; a prediction of "1" that should be "2" is still known to be wrong."""
    pool = fl.read_pool({"predicted": ["1"] * 40 + ["0"] * 40}, classes=list("012"))
    metric = fl.Recall(positive="0")
    labels = np.array([2] * 40 + [0] * 40, dtype=np.int32)
    cells = metric.cells(pool, fl.whole(pool))
    outcomes = metric.outcomes(pool, cells, np.arange(80), labels)
    assert outcomes.right.tolist() == [False] * 40 + [True] * 40
    belief = fl.Learned().on(cells, "population").belief(outcomes)
    assert isinstance(belief, TrustBelief)
    right = belief.model.moments(belief.model.strips.size)[0]
    assert right[cells.cell[0]] < 0.2 < 0.8 < right[cells.cell[40]]


# --- crossed effects


def test_the_mode_with_crossed_effects_is_that_of_the_log_posterior() -> None:
    known = drawn(3, fl.Accuracy())
    cells = fl.Accuracy().cells(known.pool, known.sites)
    strips = trust.strips(cells.scores, cells.cell, factors(cells, known.asked))
    items = np.arange(0, 480, 5)
    labels = np.bincount(strips.strip[items], minlength=len(strips.size)).astype(float)
    hits = np.bincount(strips.strip[items], (known.pool.predicted == known.labels)[items], minlength=len(strips.size))
    seen = np.flatnonzero(labels)
    one = fit.Fit(strips, hits[seen].astype(float), labels[seen], seen)
    while one.step() > 1e-12:
        pass
    point = len(one.tau) // 2
    design, width = one.design, len(one.design)

    def minus(values: NDArray[np.float64]) -> float:
        eta = values[:width] @ design + values[width:][one.at]
        value = (one.right * eta - one.labels * np.logaddexp(0, eta)).sum()
        away = one.inverse[point] @ (values[:width] - one.mean[point]) ** 2
        return float((away + (values[width:] ** 2).sum() / one.tau[point] ** 2) / 2 - value)

    slow = optimize.minimize(minus, np.zeros(width + len(one.levels)), method="BFGS", options={"gtol": 1e-8})
    assert np.concatenate([one.shared[point], one.u[point]]) == pytest.approx(slow.x, abs=1e-3)


def test_what_was_never_compared_stays_wide() -> None:
    """All labels lie in one site: the others are less certain than it by the effects that sites may have."""
    known = drawn(4, fl.Accuracy())
    labelled = np.flatnonzero(known.sites.group == 0)[:60]
    belief, _ = known.read(fl.Accuracy(), known.sites, labelled, "population")
    sd = np.sqrt(belief.variance()[:, 0])
    assert (sd[1:] > 1.5 * sd[0]).all()


def test_factors_are_taken_once_and_not_if_they_have_one_level() -> None:
    known = drawn(5, fl.Accuracy())
    asked, sites, whole = known.asked, known.sites, fl.whole(known.pool)

    def number(metric: Metric, groups: Partition, by: Partition | None) -> list[int]:
        cells: Cells = metric.cells(known.pool, groups)
        return [int(levels.max()) + 1 for levels in factors(cells, by).levels]

    assert number(fl.Accuracy(), whole, None) == [1]
    assert number(fl.Accuracy(), sites, asked) == [4, 5]
    assert number(fl.Confusion(), asked, asked) == [4]
    assert number(fl.F1(), sites, sites) == [5, 4]
    assert number(fl.CalibrationError(bins=4), asked, asked) == [4, 3]
