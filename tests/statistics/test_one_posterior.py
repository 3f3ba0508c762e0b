"""One posterior of items for every question: crossed effects, mistakes, and all metrics, against slow versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import expit

import fewlabels as fl
from fewlabels.belief import dirichlet_draws
from fewlabels.estimates import value_draws
from fewlabels.learned import items as trust
from fewlabels.learned import mistakes
from fewlabels.learned.items import TrustBelief, fit
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
    crossed = len(strips.design) - 3
    which = rng.choice(len(strips.kinds), p=strips.kinds[:, 0])
    kind = strips.kinds[which]
    taus = fit.tau_prior(strips, crossed=crossed > 0)[which]
    omegas, omega_prior = fit.omega_grid(len(strips.crossed))
    tau = np.full(strips.effect.max() + 1, strips.scale[0] * rng.choice(fit.TAUS, p=taus))
    wild = rng.random(len(tau)) < fit.wild_share(strips)
    u = rng.normal(0, np.where(wild, np.maximum(tau, 2.0), tau))
    levels = [int(level.max()) + 1 for level in strips.crossed]
    v = rng.normal(0, np.repeat(rng.choice(omegas, p=omega_prior) * strips.scale[1:], levels))
    shared = np.concatenate([rng.normal(kind[1::2], kind[2::2]), v])
    chance = expit(shared @ strips.design + u[strips.effect])[strips.strip]
    right = rng.random(len(pool)) < chance
    return known._replace(labels=np.where(right, pool.predicted, mistaken(rng, pool)).astype(np.int32))


def mistaken(rng: np.random.Generator, pool: Pool) -> NDArray[np.int64]:
    """A wrong class for each item, by shares from the hyper-prior of mistakes for each predicted class."""
    cells = fl.Confusion().cells(pool, fl.by_predicted(pool))
    assert cells.mistaken is not None
    expected = mistakes.expected(*cells.mistaken, scored=True)
    b = rng.choice(mistakes.POWERS, p=mistakes.POWER_PRIOR)
    kappa = rng.choice(mistakes.KAPPAS, p=mistakes.KAPPA_PRIOR)
    q = dirichlet_draws(rng, kappa * expected.powered(float(b)), 1)[0]
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


def counted(seed: int) -> tuple[mistakes.Expected, NDArray[np.float64]]:
    """What is expected of mistakes in five cells of five classes, and mistakes that labels showed."""
    rng = np.random.default_rng(seed)
    shares = dirichlet_draws(rng, np.full((5, 5), 0.4), 1)[0] * (1 - np.eye(5))
    expected = mistakes.expected(shares, 1 - np.eye(5), scored=True)
    counts = np.array([rng.multinomial(n, m / m.sum()) for n, m in zip((0, 1, 5, 30, 2), shares, strict=True)])
    return expected, counts.astype(float)


def test_the_evidence_of_mistakes_is_that_of_the_dirichlet_multinomial() -> None:
    expected, counts = counted(3)
    slow = np.zeros((len(mistakes.KAPPAS), len(mistakes.POWERS)))
    for i, kappa in enumerate(mistakes.KAPPAS):
        for j, b in enumerate(mistakes.POWERS):
            for row, m in zip(counts.astype(int), expected.powered(float(b)), strict=True):
                some = m > 0
                pmf = stats.dirichlet_multinomial.logpmf(row[some], kappa * m[some], row.sum()) if row.any() else 0.0
                slow[i, j] += pmf
    slow += np.log(mistakes.KAPPA_PRIOR)[:, None] + np.log(mistakes.POWER_PRIOR)
    weight = np.exp(slow - slow.max())
    weight /= weight.sum()
    assert expected.learn(counts).weight == pytest.approx(weight, abs=3e-3)  # what is negligible is left out


def test_moments_of_mistakes_are_those_of_their_draws() -> None:
    expected, counts = counted(4)
    model, n = expected.learn(counts), 20_000
    mean, squares = model.moments()
    draws = model.draws(np.random.default_rng(5), n)
    assert np.abs(mean - draws.mean(axis=0)).max() < 5 * draws.std(axis=0).max() / np.sqrt(n)
    total = (draws**2).sum(axis=2)
    assert np.abs(squares - total.mean(axis=0)).max() < 5 * total.std(axis=0).max() / np.sqrt(n)


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
    # Where a cell has several rows, the variance is taken from 400 draws.
    assert ours == pytest.approx(theirs, rel=0.15 if metric == fl.Confusion() else 0.3)


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
