"""A question about a pool whose labels are all known, on which methods are tried, and the right answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fewlabels.errors import InputError, LabelError
from fewlabels.io.answers import is_whole
from fewlabels.io.labels import is_missing
from fewlabels.io.spellings import whole as without_zero
from fewlabels.io.spellings import written
from fewlabels.metrics import Accuracy, CalibrationError, Cost
from fewlabels.outcomes import Outcomes
from fewlabels.partition import by_score, whole
from fewlabels.policies import Neyman
from fewlabels.policies.anchors import default_strips
from fewlabels.spec import Spec

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.simulation.methods import Method
    from fewlabels.tasks import Task

Labels = Mapping[str, str] | Sequence[object]


class Gauge(NamedTuple):
    """The value of a group as a sum over shares: Σ_c Σ_j weight_cj |θ_cj − centre_cj|, c over its cells.

    weight, centre: shape (cells, outcomes). Calibration error: the cell's share of its group and its confidence, for
    right; cost: that share times the price, and 0.
    """

    weight: NDArray[np.float64]
    centre: NDArray[np.float64]

    def of(self, cells: NDArray[np.int64]) -> Gauge:
        """Return the gauge of some of the cells."""
        return Gauge(self.weight[cells], self.centre[cells])


@dataclass(frozen=True, eq=False)
class Truth:
    """A task on the cells of a pool, and the outcome of every item's label.

    It is sent to other processes, so it does not contain the pool.

    Parameters
    ----------
    task
        The question.
    cells
        The cells of the task's metric.
    outcome
        The outcome that the label of each item shows, shape (items,).
    right
        Whether the prediction of each item is right, shape (items,).
    everything
        The cell of all items, if the metric is a single share in every group: the number over all items is then read as
        an assessment reads it.
    strips
        The same with strips of confidence as groups, if all items are one group and a method asks in strips.
    """

    task: Task
    cells: Cells
    outcome: NDArray[np.int64]
    right: NDArray[np.bool_]
    everything: Cells | None = None
    strips: Truth | None = None

    def asking(self, method: Method) -> Truth:
        """The question on the groups in which a method asks."""
        return self.strips if method.usual and method.prior.uses_items and self.strips is not None else self

    def asked_by(self, method: Method) -> Method:
        """The method with the policy that an assessment has: strips of confidence have one of their own."""
        return method if self.asking(method) is self else replace(method, policy=Neyman())

    @cached_property
    def counts(self) -> NDArray[np.float64]:
        """Label counts of the fully labelled pool, shape (cells, outcomes)."""
        return self.outcomes(np.arange(len(self.outcome))).counts

    def outcomes(self, items: NDArray[np.int64]) -> Outcomes:
        """The outcomes that the labels of some items show."""
        return Outcomes.of(self.cells, items, self.outcome[items], self.right[items])

    @cached_property
    def value(self) -> NDArray[np.float64]:
        """The metric of each group, shape (groups,), or (groups, outcomes) for a confusion matrix."""
        return self.task.metric.value(self.counts / self.cells.size[:, None], self.cells)

    @cached_property
    def room(self) -> NDArray[np.int64]:
        """Items of each group that can be asked about, shape (groups,)."""
        return self.cells.partition.sizes * self.task.askable(self.cells)

    @cached_property
    def members(self) -> NDArray[np.int64]:
        """The groups that an identification looks for, the most extreme first, shape (m,)."""
        askable = np.flatnonzero(self.room)
        value = self.value[askable]
        return askable[np.argsort(value if self.task.sought == "lowest" else -value, kind="stable")[: self.task.plays]]

    @cached_property
    def gauge(self) -> Gauge | None:
        """The gauge if the task looks for large values of one, else None; its weights are negative for the lowest."""
        cells, metric = self.cells, self.task.metric
        sign = -1.0 if self.task.sought == "lowest" else 1.0
        zero = np.zeros_like(self.counts)
        if isinstance(metric, CalibrationError) and cells.confidence is not None:
            right = np.array([1.0, 0.0])
            return Gauge(np.outer(sign * cells.weight, right), np.outer(cells.confidence, right))
        if isinstance(metric, (Accuracy, Cost)):
            return Gauge(sign * metric.gradient(zero, cells), zero)
        return None

    @cached_property
    def pair(self) -> tuple[int, int]:
        """The two groups of a comparison."""
        assert self.task.pair is not None
        a, b = map(self.cells.partition.position, self.task.pair)
        return a, b

    @property
    def first(self) -> int:
        """Which of the two groups, in their order in the partition, is the a of a comparison: 0 or 1."""
        return int(self.pair[0] > self.pair[1])


def truth(pool: Pool, labels: Labels, partition: Partition, task: Task, methods: Sequence[Method]) -> Truth:
    """The task on a labelled pool. A task, metric, groups and methods that do not fit together are a SpecError."""
    if pool.reserve is not None:
        raise InputError(
            f"a simulation needs the label of every item, and those of {pool.source} stay where they are. Write a few "
            "hundred thousand of its rows to a file, and simulate with that."
        )
    specs = [Spec(task, partition.recipe, candidate.prior, candidate.policy, candidate.target) for candidate in methods]
    task.metric.check(pool, partition)
    cells = task.metric.cells(pool, partition)
    task.check(cells)
    for spec in specs:
        spec.prior.check(cells)
    true = item_classes(pool, labels)
    shown = task.metric.outcome(pool, np.arange(len(pool)), true), pool.predicted == true
    if not (task.averages and task.metric.marginal and cells.right is None):
        return Truth(task, cells, *shown)
    number = max((default_strips(task, each.prior, cells) for each in methods if each.usual), default=0)
    strips = Truth(task, task.metric.cells(pool, by_score(pool, number, "weight")), *shown) if number else None
    return Truth(task, cells, *shown, task.metric.cells(pool, whole(pool)), strips)


def item_classes(pool: Pool, labels: Labels) -> NDArray[np.int32]:
    """The position of each item's true class, shape (items,); a missing label is a LabelError.

    Labels are class names by id, or a sequence in the order of the pool. A Series whose index does not just number it
    is by id. If none of them is the name of a class, whole numbers are positions in the list of classes.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8]], classes=["cat", "dog"])
    >>> item_classes(pool, {"1": "dog", "0": "dog"}), item_classes(pool, [0, 1])
    (array([1, 1], dtype=int32), array([0, 1], dtype=int32))
    """
    names: list[object]
    if (by_id := _by_id(labels)) is not None:
        ids = pool.ids.to_pylist()
        missing = [item for item in ids if item not in by_id]
        if missing:
            raise _missing(len(missing), len(pool), f"such as {missing[0]!r}")
        names = [by_id[item] for item in ids]
    else:
        names = list(labels)
        if len(names) != len(pool):
            raise _missing(len(pool) - len(names), len(pool), f"there are {len(names):,} labels")
    empty = [i for i, name in enumerate(names) if is_missing(name)]
    if empty:
        raise _missing(len(empty), len(pool), f"such as {pool.ids[int(empty[0])]!r}")
    known, text = set(pool.choices), list(map(written, names))
    text = [name if name in known else without_zero(name) for name in text]
    if all(map(is_whole, text)) and not set(text) & known:
        return _positions(pool, text)
    return pool.class_positions(text)


def _by_id(labels: Labels) -> dict[str, object] | None:
    """Labels by the ids of the items: a mapping, or a Series whose index does not just number them; else None."""
    index = getattr(labels, "index", None)
    if isinstance(labels, Mapping):
        return {written(item): name for item, name in labels.items()}
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":  # a list has a method of that name
        return None
    return {written(item): name for item, name in zip(index, labels, strict=True)}


def _positions(pool: Pool, text: Sequence[str]) -> NDArray[np.int32]:
    position = np.array([int(name) for name in text])
    wrong = np.flatnonzero((position < 0) | (position >= len(pool.choices)))
    if len(wrong):
        raise LabelError(
            f"label {text[wrong[0]]} is not a position in the list of classes, from 0 to {len(pool.choices) - 1:,}."
        )
    return position.astype(np.int32)


def _missing(number: int, items: int, words: str) -> LabelError:
    return LabelError(
        f"{abs(number):,} labels too {'few' if number > 0 else 'many'} for {items:,} items: {words}. "
        "Simulating needs the label of every item, and no others."
    )
