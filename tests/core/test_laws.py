"""Laws of what the labels say: order, relabelling, withdrawal, names of classes, and full knowledge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_score, recall_score

import fewlabels as fl
from fewlabels.estimates import estimate, interval
from fewlabels.labelling.ledger import Ledger
from fewlabels.store import Event
from tests.support.contracts import RATES
from tests.support.pools import Known, known_pools, law, pool_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fewlabels.belief import Belief, Target
    from fewlabels.cells import Cells
    from fewlabels.metrics import Metric
    from fewlabels.priors import Prior
    from fewlabels.table import Table

Story = list[tuple[str, int, int]]
"""What happened: (kind of event, item, class)."""


def _groups(metric: Metric, pool: fl.Pool) -> fl.Partition:
    place = fl.by_column(pool, "place")
    return fl.cross(place, fl.by_predicted(pool)) if isinstance(metric, fl.Confusion) else place


def _metrics(classes: int) -> list[Metric]:
    prices = np.random.default_rng(classes).integers(0, 4, (classes, classes))
    calibration = [fl.CalibrationError(4), fl.CalibrationError(3, "weight")]
    return [fl.Accuracy(), fl.Confusion(), fl.Cost(prices), *calibration, *(r(p) for r in RATES for p in (None, "c0"))]


def _ledger(known: Known, metric: Metric, story: Story) -> tuple[Ledger, Cells]:
    cells = metric.cells(known.pool, _groups(metric, known.pool))
    ledger = Ledger(known.pool, metric, cells)
    ledger.read(
        [
            Event(kind, f"i{item}", label=f"c{true}" if kind == "label" else None, seq=seq)  # type: ignore[arg-type]
            for seq, (kind, item, true) in enumerate(story, 1)
        ]
    )
    return ledger, cells


def _state(ledger: Ledger) -> list[NDArray[np.generic]]:
    return [ledger.true, ledger.pending, ledger.counts, ledger.waiting, ledger.room]


def _read(
    known: Known, metric: Metric, story: Story, target: Target = "pool", prior: Prior | None = None
) -> tuple[Belief, Cells, Table]:
    ledger, cells = _ledger(known, metric, story)
    belief = (prior or fl.Uniform()).on(cells, target).belief(ledger.outcomes())
    return belief, cells, estimate(metric, belief, cells, np.random.default_rng(1), draws=100)


def _all_told(known: Known) -> Story:
    return [("label", item, int(true)) for item, true in enumerate(known.true)]


@given(known_pools(), st.randoms(use_true_random=False), st.sampled_from(["population", "pool"]))
@law(30)
def test_the_order_of_tells_does_not_matter(known: Known, random, target: Target) -> None:
    told = _all_told(known)[: random.randint(0, len(known.true))]
    other = random.sample(told, len(told))
    for metric in _metrics(len(known.pool.classes)):
        belief, _, table = _read(known, metric, told, target)
        again, _, same = _read(known, metric, other, target)
        np.testing.assert_array_equal(again.alpha, belief.alpha)
        assert same.columns == table.columns


@st.composite
def _told_and_more(draw: st.DrawFn) -> tuple[Known, Story, int, int]:
    """A pool, requests and labels of some of its items, another item, and a class."""
    known = draw(known_pools())
    items = draw(st.permutations(range(len(known.true))))
    kinds = draw(st.lists(st.sampled_from(["request", "label"]), max_size=len(items) - 1))
    story = [(kind, item, int(known.true[item])) for kind, item in zip(kinds, items, strict=False)]
    return known, story, items[-1], draw(st.integers(0, len(known.pool.classes) - 1))


@given(_told_and_more())
@law(60)
def test_a_relabel_replaces(case: tuple[Known, Story, int, int]) -> None:
    known, story, item, first = case
    last = ("label", item, int(known.true[item]))
    for metric in _metrics(len(known.pool.classes)):
        twice, _ = _ledger(known, metric, [("label", item, first), *story, last])
        once, _ = _ledger(known, metric, [*story, last])
        for a, b in zip(_state(twice), _state(once), strict=True):
            np.testing.assert_array_equal(a, b)
        assert twice.adopted == once.adopted


@given(_told_and_more(), st.sampled_from([["request"], ["label"], ["request", "label"], ["label", "label"]]))
@law(60)
def test_a_withdrawal_restores_what_was_before(case: tuple[Known, Story, int, int], kinds: list[str]) -> None:
    known, story, item, true = case
    for metric in _metrics(len(known.pool.classes)):
        before, _ = _ledger(known, metric, story)
        added: Story = [*((kind, item, true) for kind in kinds), ("withdraw", item, -1)]
        after, _ = _ledger(known, metric, [*story, *added])
        for a, b in zip(_state(before), _state(after), strict=True):
            np.testing.assert_array_equal(a, b)
        assert after.adopted == before.adopted


@given(known_pools(classes=4), st.permutations(range(4)), st.sampled_from(["population", "pool"]))
@law(30)
def test_permuting_the_classes_permutes_the_results(known: Known, new: list[int], target: Target) -> None:
    """Class k takes the place new[k]; under either name the numbers are the same."""
    place = np.array(new)
    old = np.argsort(place)
    pool = known.pool
    moved = pool_of(place[pool.predicted], place[known.true], pool.confidence, pool.columns["place"].to_pylist(), 4)
    told = _all_told(known)[::2]
    told_moved = [(kind, item, new[true]) for kind, item, true in told]
    prices = np.random.default_rng(2).integers(0, 3, (4, 4))
    for prior in (fl.Uniform(), fl.Informed()):
        for metric, other in [
            (fl.Accuracy(), fl.Accuracy()),
            (fl.Cost(prices), fl.Cost(prices[np.ix_(old, old)])),
            (fl.Recall(), fl.Recall()),
            (fl.F1("c0"), fl.F1(f"c{new[0]}")),
        ]:
            (belief, cells, _), (again, cells_again, _) = (
                _read(a, m, t, target, prior) for a, m, t in ((known, metric, told), (moved, other, told_moved))
            )
            value = metric.value(belief.mean(), cells)
            np.testing.assert_allclose(other.value(again.mean(), cells_again), value, atol=1e-12)
        table, again_table = (
            _read(a, fl.Confusion(), t, "population", prior)[2] for a, t in ((known, told), (moved, told_moved))
        )
        assert _rows(again_table) == {
            (_moved(group, new), f"c{new[int(true[1])]}"): pytest.approx(numbers, abs=1e-12)
            for (group, true), numbers in _rows(table).items()
        }


def _moved(group: str, new: list[int]) -> str:
    place, predicted = group.split(" × c")
    return f"{place} × c{new[int(predicted)]}"


def _rows(table: Table) -> dict[tuple[str, str], tuple[float, ...]]:
    return {(r["group"], r["true"]): (r["n"], r["labelled"], r["mean"], r["low"], r["high"]) for r in table.rows()}


@given(known_pools(most=25), st.sampled_from([fl.Uniform(), fl.Informed(7)]))
@law(50)
def test_a_fully_labelled_group_is_known_exactly(known: Known, prior: Prior) -> None:
    for metric in _metrics(len(known.pool.classes)):
        _, cells, table = _read(known, metric, _all_told(known), "pool", prior)
        partition = cells.partition
        truth = [_by_hand(metric, known, np.flatnonzero(partition.group == g)) for g in range(len(partition))]
        for column in ("mean", "low", "high"):
            np.testing.assert_allclose(
                np.array(table[column], dtype=float), np.concatenate(truth), atol=1e-12, err_msg=repr(metric)
            )


@pytest.mark.slow
@given(known_pools(most=25))
@law(15)
def test_a_fully_labelled_pool_is_known_exactly_in_other_groups_than_asked(known: Known) -> None:
    audit = fl.create(None, "other", known.pool, fl.by_score(known.pool, 3), target="pool")
    audit.tell(known.truth, adopt=True)
    for metric in _metrics(len(known.pool.classes)):
        groups = fl.whole(known.pool) if isinstance(metric, RATES) else _groups(metric, known.pool)
        truth = [_by_hand(metric, known, np.flatnonzero(groups.group == g)) for g in range(len(groups))]
        table = audit.estimates(metric=metric, groups=groups, draws=20)
        for column in ("mean", "low", "high"):
            np.testing.assert_allclose(
                np.array(table[column], dtype=float), np.concatenate(truth), atol=1e-12, err_msg=repr(metric)
            )
    audit.close()


def _by_hand(metric: Metric, known: Known, items: NDArray[np.int64]) -> Sequence[float]:
    """The metric of some items from their labels alone, without cells, beliefs or draws."""
    pool, classes = known.pool, len(known.pool.classes)
    true, predicted = known.true[items], pool.predicted[items]
    if isinstance(metric, fl.Accuracy):
        return [float(np.mean(true == predicted))]
    if isinstance(metric, fl.Confusion):
        return [float(np.mean(true == j)) for j in range(classes)]
    if isinstance(metric, fl.Cost):
        return [float(np.mean([metric.matrix[j][k] for j, k in zip(true, predicted, strict=True)]))]
    if isinstance(metric, fl.CalibrationError):
        bins = fl.by_score(pool, metric.bins, metric.equal).group[items]
        gaps = [(true == predicted)[bins == b] - pool.confidence[items][bins == b] for b in np.unique(bins)]
        return [sum(abs(gap.sum()) for gap in gaps) / len(items)]
    if isinstance(metric, fl.FalsePositiveRate):
        counted = {*true, *predicted} if metric.positive is None else [0]
        rates = [np.mean(predicted[true != j] == j) for j in counted if (true != j).any()]
        return [float(np.mean(rates)) if rates else np.nan]
    assert isinstance(metric, (fl.Precision, fl.Recall, fl.F1))
    score, occur = {
        fl.Precision: (precision_score, set(predicted)),
        fl.Recall: (recall_score, set(true)),
        fl.F1: (f1_score, {*true, *predicted}),
    }[type(metric)]
    labels = sorted(occur) if metric.positive is None else [0]
    return [float(score(true, predicted, labels=labels, average="macro", zero_division=np.nan))]


@given(known_pools(), st.sampled_from([fl.Uniform(), fl.Informed(3)]))
@law(40)
def test_merging_classes_changes_no_posterior(known: Known, prior: Prior) -> None:
    """Cost keeps a count for each price, Confusion one for each class: the cost has the same mean and variance."""
    pool, told = known.pool, _all_told(known)[::2]
    groups = fl.by_predicted(pool)
    metric = fl.Cost(np.random.default_rng(5).integers(0, 2, (len(pool.classes),) * 2))
    fine, coarse = (_counted(known, m, groups, told, prior) for m in (fl.Confusion(), metric))
    cells = metric.cells(pool, groups)
    cost = np.array(metric.matrix).T[cells.key]
    # An informed prior gives each outcome at least 1e-6, so merged ones get up to that much less than their classes.
    slack = 1e-12 if isinstance(prior, fl.Uniform) else 2e-6 * len(pool.classes)
    mean = metric.value(coarse.mean(), cells)[cells.group]
    np.testing.assert_allclose(mean, (cost * fine.mean()).sum(axis=1), atol=slack)
    variance = _variance(coarse, metric.gradient(coarse.mean(), cells))
    np.testing.assert_allclose(variance, _variance(fine, cost), atol=2 * slack)
    # The items predicted as the positive class are the same cell for both.
    precision = _counted(known, fl.Precision("c0"), fl.whole(pool), told, prior)
    if (pool.predicted == 0).any():
        expected = [fine.alpha[0, 0], fine.alpha[0, 1:].sum()]
        np.testing.assert_allclose(precision.alpha[0], expected, atol=3 * slack)


def _counted(known: Known, metric: Metric, groups: fl.Partition, told: Story, prior: Prior) -> Belief:
    cells = metric.cells(known.pool, groups)
    items, true = (np.array([event[i] for event in told]) for i in (1, 2))
    return prior.on(cells, "population").belief(metric.outcomes(known.pool, cells, items, true.astype(np.int32)))


def _variance(belief: Belief, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
    """Var g·θ = (E g² − (E g)²)/(s+1) under the mean shares, shape (cells,)."""
    mean = belief.mean()
    return ((mean * gradient**2).sum(axis=1) - (mean * gradient).sum(axis=1) ** 2) / (belief.strength + 1)


@pytest.mark.parametrize("metric", _metrics(4), ids=repr)
@pytest.mark.parametrize("seed", range(5))
def test_gradient_is_the_derivative_of_the_value(metric: Metric, seed: int) -> None:
    rng = np.random.default_rng(seed)
    known = pool_of(rng.integers(0, 4, 40), rng.integers(0, 4, 40), rng.random(40), rng.choice(["x", "y"], 40), 4)
    cells = metric.cells(known.pool, _groups(metric, known.pool))
    theta = rng.dirichlet(np.full(len(cells.outcomes), 2.0), size=len(cells))
    if metric.vector:
        with pytest.raises(fl.SpecError, match="no single gradient"):
            metric.gradient(theta, cells)
        return
    step, slope = 1e-6, np.empty_like(theta)
    for c, j in np.ndindex(*theta.shape):
        up, down = theta.copy(), theta.copy()
        up[c, j] += step
        down[c, j] -= step
        change = np.nan_to_num(metric.value(up, cells) - metric.value(down, cells))
        slope[c, j] = change[cells.group[c]] / (2 * step)
        assert np.count_nonzero(change) <= 1, "a cell bears on its own group only"
    np.testing.assert_allclose(np.broadcast_to(metric.gradient(theta, cells), theta.shape), slope, atol=1e-7)
    many = np.stack([theta, theta[::-1]])
    each = np.stack([metric.gradient(t, cells) for t in many])
    np.testing.assert_allclose(np.broadcast_to(metric.gradient(many, cells), many.shape), each, atol=1e-12)


@pytest.mark.parametrize("rate", RATES, ids=lambda rate: rate.__name__)
@pytest.mark.parametrize("positive", [None, "c0"])
@pytest.mark.parametrize("share", [0.0, 1e-310, 1e-200, 1e-12])
def test_slopes_are_finite_where_a_class_hardly_occurs(
    rate: Callable[[str | None], Metric], positive: str | None, share: float
) -> None:
    """Small prior counts give draws with a share of 1e-300; rewards square the slope."""
    known = pool_of([0, 1, 1, 0], [0, 1, 0, 1], [0.5] * 4, ["x"] * 4, 2)
    metric = rate(positive)
    cells = metric.cells(known.pool, fl.whole(known.pool))
    for theta in ([share, 1 - share], [1 - share, share]):
        slope = metric.gradient(np.tile(theta, (len(cells), 1)), cells)
        assert np.isfinite(slope**2).all()


@pytest.mark.parametrize(("first", "second"), [(1, 0), (1, 1), (2, 5), (3, 0)])
def test_a_false_positive_rate_is_right_where_nearly_all_items_are_positive(first: int, second: int) -> None:
    """Shares of "not of the class" of a few units in the last place: PP − TP once gave rates of 1.67."""
    known = pool_of([0] * 3 + [1] * 7, [0] * 10, [0.5] * 10, ["x"] * 10, 2)
    metric = fl.FalsePositiveRate("c0")
    rest = np.finfo(float).epsneg * np.array([first, second])
    value = metric.value(np.column_stack([1 - rest, rest]), metric.cells(known.pool, fl.whole(known.pool)))
    assert value == pytest.approx(3 * first / (3 * first + 7 * second), rel=1e-9)


@pytest.mark.parametrize("shape", [(1,), (2, 3), (999,), (1_000, 2, 3)], ids=str)
@pytest.mark.parametrize("level", [0.123, 0.5, 0.95, 0.999])
def test_intervals_are_the_quantiles_of_numpy(shape: tuple[int, ...], level: float) -> None:
    draws = np.random.default_rng(len(shape)).normal(size=shape)
    assert np.array_equal(interval(draws, level), np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0))
