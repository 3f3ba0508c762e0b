"""The laws of a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels import parts
from fewlabels.errors import SpecError
from fewlabels.metrics import Metric
from fewlabels.policies import Thompson
from fewlabels.priors import Uniform
from fewlabels.testing.laws import check_part, must, must_equal
from fewlabels.testing.posterior import check_posterior
from fewlabels.testing.runs import check_reproducible, range_of, run
from fewlabels.testing.zoo import TARGETS, Known, believed, group_names, sensible, stages, zoo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.partition import Partition
    from fewlabels.tasks import Task

_STEP = 1e-6


def check_metric(metric: Metric) -> None:
    """Check the laws of a metric on small pools, or raise an AssertionError that names the law that it breaks.

    It survives JSON; every label shows an outcome that its cell can have; values have the right shape and range
    and, where it says so, are linear in θ or one share; its slope is that of its value; a label never makes its
    variance larger; labels for all items leave no doubt; true values rank evenly among draws from their posterior;
    and every task can be asked about it until nothing is left.

    >>> import fewlabels as fl
    >>> check_metric(fl.Recall(positive="ant"))
    """
    check_part(metric, Metric)
    must(bool(metric.name), f"{metric!r} must have a name")
    known = zoo()
    groupings = sensible(metric, known.pool)
    must(bool(groupings), f"{metric!r} must accept one of the ways to group the zoo, but it refuses all")
    for partition, cells in groupings.values():
        _check_outcomes(metric, cells, known)
        _check_values(metric, cells, partition)
        _check_slope(metric, cells)
        _check_drop(metric, cells, known)
        _check_full_knowledge(metric, cells, known)
    check_posterior(metric)
    partition, cells = next(iter(groupings.values()))
    for i, task in enumerate(tasks_about(metric, partition, cells)):
        run(known, partition, task=task, prior=Uniform(), policy=Thompson(), target=TARGETS[i % 2])
        check_reproducible(known, partition, task=task, prior=Uniform(), policy=Thompson(), target=TARGETS[i % 2])


def tasks_about(metric: Metric, partition: Partition, cells: Cells) -> Iterator[Task]:
    """One example of each kind of task about one model that does not refuse the metric."""
    for kind in parts.registered("task").values():
        if kind.of_models:
            continue
        for task in kind.examples(metric, group_names(partition)):
            try:
                task.check(cells)
            except SpecError:
                continue
            yield task
            break


def _thetas(cells: Cells, n: int, seed: int) -> NDArray[np.float64]:
    """Outcome shares that are possible, shape (n, cells, outcomes)."""
    rng = np.random.default_rng(seed)
    weight = rng.gamma(2.0, size=(n, len(cells), len(cells.outcomes))) * (cells.blank > 0)
    return weight / weight.sum(axis=-1, keepdims=True)


def _check_outcomes(metric: Metric, cells: Cells, known: Known) -> None:
    items = np.arange(len(known.pool))
    for true in range(len(known.pool.classes)):
        shown = metric.outcome(known.pool, items, np.full(len(items), true, dtype=np.int32))
        must(shown.shape == items.shape, f"{metric!r}.outcome must give one outcome for each label")
        must(
            bool(((shown >= 0) & (shown < len(cells.outcomes))).all()),
            f"{metric!r}.outcome must give positions in cells.outcomes",
        )
        must(
            bool((cells.blank[cells.cell, shown] > 0).all()),
            f"{metric!r} must treat every outcome that a label can show as possible",
        )
    some = items[1::6]
    must_equal(
        metric.outcome(known.pool, some, known.true[some]),
        metric.outcome(known.pool, items, known.true)[some],
        f"{metric!r}.outcome must depend on the item and its label alone",
    )


def _check_values(metric: Metric, cells: Cells, partition: Partition) -> None:
    theta = _thetas(cells, 5, seed=1)
    value = metric.value(theta, cells)
    shape = (5, len(partition), len(cells.outcomes)) if metric.vector else (5, len(partition))
    must(value.shape == shape, f"{metric!r}.value must have the shape {shape}, but has {value.shape}")
    must(not np.isinf(value).any(), f"{metric!r}.value must be finite, or NaN where it is 0/0")
    some = value[:, partition.sizes > 0]
    some = some[~np.isnan(some)]
    low, high = range_of(metric)
    must(bool(((some >= low - 1e-9) & (some <= high + 1e-9)).all()), f"{metric!r}.value must lie from {low} to {high}")
    must(
        some.size == 0 or float(np.ptp(some)) <= metric.span + 1e-9,
        f"{metric!r}.span is {metric.span}: values lie farther apart",
    )
    must_equal(
        np.stack([metric.value(t, cells) for t in theta]), value, f"{metric!r}.value must work on many θ at once"
    )
    if metric.linear:
        mixed = metric.value(theta.mean(axis=0), cells)
        must_equal(
            mixed, value.mean(axis=0), f"{metric!r} says that it is linear, so its value at the mean is the mean"
        )
    if metric.marginal:
        must(len(np.unique(cells.group)) == len(cells), f"{metric!r} says that it is marginal: one cell for each group")
        must_equal(value[:, cells.group], theta[..., 0], f"{metric!r} says that its value is the first share")


def _check_slope(metric: Metric, cells: Cells) -> None:
    """The gradient against finite differences along directions in which shares can move."""
    if metric.vector:
        return
    theta, others = _thetas(cells, 4, seed=2), _thetas(cells, 4, seed=3)
    direction = others - theta
    slope = np.broadcast_to(metric.gradient(theta, cells), theta.shape)
    up, down = (metric.value(theta + sign * _STEP * direction, cells) for sign in (1, -1))
    expected = cells.total((slope * direction).sum(axis=-1))
    must_equal(
        np.nan_to_num(up - down) / (2 * _STEP),
        expected,
        f"{metric!r}.gradient must be the slope of its value",
        within=1e-5,
    )
    for c in range(len(cells)):
        moved = theta[0].copy()
        moved[c] = others[0, c]
        change = np.flatnonzero(
            np.nan_to_num(metric.value(moved, cells)) != np.nan_to_num(metric.value(theta[0], cells))
        )
        must({*change.tolist()} <= {int(cells.group[c])}, f"{metric!r}: a cell must affect its own group only")


def _check_drop(metric: Metric, cells: Cells, known: Known) -> None:
    for target in TARGETS:
        for belief in stages(Uniform(), metric, cells, known, target):
            drop = metric.drop(belief, belief.mean(), cells)
            must(drop.shape == (len(cells),), f"{metric!r}.drop must have one number for each cell")
            must(bool(np.isfinite(drop).all()), f"{metric!r}.drop must be finite")
            must(bool((drop >= -1e-12).all()), f"{metric!r}: a label must not be expected to raise the variance")


def _check_full_knowledge(metric: Metric, cells: Cells, known: Known) -> None:
    everything = np.arange(len(known.true))
    belief = believed(Uniform(), metric, cells, known, everything, "pool")
    exact = metric.value(belief.counts / belief.size[:, None], cells)
    drawn = metric.value(belief.draws(np.random.default_rng(6), 3), cells)
    for values in drawn:
        must_equal(values, exact, f"{metric!r}: labels for all items must leave no doubt about these items")
