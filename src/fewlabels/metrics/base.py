"""The base of metrics: cells, the outcome that a label shows, and a value for each group."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from fewlabels.cells import Cells, cell_means, split
from fewlabels.errors import SpecError
from fewlabels.outcomes import Outcomes
from fewlabels.parts import Family, Part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool


_NEVER = 1e-6  # the share right where nothing was answered, as counts cannot be 0


@dataclass(frozen=True)
class Metric(Part, ABC):
    """A number for each group that would be known if all items were labelled.

    A metric names its cells, says which outcome a label shows, and computes its value from the outcome shares θ
    of the cells. It has no inference of its own: its posterior is `value(belief.draws(...))`.

    >>> from dataclasses import dataclass
    >>> import fewlabels as fl
    >>> @dataclass(frozen=True)
    ... class ErrorRate(fl.Accuracy):  # which is a Metric
    ...     def value(self, theta, cells):
    ...         return 1 - super().value(theta, cells)
    >>> isinstance(ErrorRate(), fl.Metric)
    True
    """

    family: ClassVar[Family] = "metric"
    linear: ClassVar[bool] = False
    """Whether `value` is linear in θ, so that its posterior mean is its value at the mean."""
    marginal: ClassVar[bool] = False
    """Whether the value of a group is the share of the first outcome in its only cell."""
    vector: ClassVar[bool] = False
    """Whether a group has one value for each outcome instead of one number."""
    nameless: ClassVar[bool] = False
    """Whether the worth of a label depends on how probable outcomes are and not on which they are (`alike.py`)."""
    in_unit_interval: ClassVar[bool] = True
    """Whether values lie between 0 and 1."""
    in_percent: ClassVar[bool] = True
    """Whether values are shown in percent: 0.62 as 62%."""
    high_is_bad: ClassVar[bool] = False
    """Whether a high value is bad for the classifier."""

    hit: ClassVar[str] = "right"
    """The word for a label that supports a high value, to stand after "12 of 20"; see `labels_of`."""
    folded: ClassVar[bool] = False
    """Whether values are distances, which pile up at 0: an interval with equal tails would always leave 0 out."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if isinstance(vars(cls).get("share"), bool):
            raise SpecError(
                f"{cls.__name__}.share has become two: in_unit_interval (values lie between 0 and 1) and in_percent "
                f"(they are shown in percent). Set both instead of share = {vars(cls)['share']}."
            )

    @classmethod
    def examples(cls, classes: Sequence[str]) -> tuple[Self, ...]:
        """Metrics of this kind on which `fewlabels.testing` and the contract tests can be run, for these classes."""
        return (cls(),)

    @property
    def name(self) -> str:
        """The metric's name in a sentence.

        >>> import fewlabels as fl
        >>> fl.CalibrationError().name, fl.FalsePositiveRate("high risk").name, fl.F1().name
        ('calibration error', 'false positive rate of high risk', 'mean F1')
        """
        kind = type(self).__name__
        return kind if kind.isupper() else re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).lower()

    @property
    def span(self) -> float:
        """The largest distance between two values, by which intervals are judged wide or narrow."""
        return 1.0

    def check(self, pool: Pool, partition: Partition) -> None:
        """Raise SpecError if the metric makes no sense on this partition."""

    @abstractmethod
    def cells(self, pool: Pool, partition: Partition) -> Cells:
        """The cells of this metric. A pool that lacks what the metric needs is a SpecError."""

    @abstractmethod
    def outcome(self, pool: Pool, items: NDArray[np.int64], true: NDArray[np.int32]) -> NDArray[np.int64]:
        """The outcomes that labels show: positions in `cells.outcomes`, shape (labels,), by item and true class."""

    def outcomes(self, pool: Pool, cells: Cells, items: NDArray[np.int64], true: NDArray[np.int32]) -> Outcomes:
        """Count the outcomes of labels in the metric's cells, from items and true classes, both of shape (labels,)."""
        shown = cells.shown(self, pool, items, true)
        return Outcomes.of(cells, items, shown, pool.predicted[items] == true)

    @abstractmethod
    def value(self, theta: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """The metric of each group: θ of shape (..., cells, outcomes) to (..., groups). NaN is a value that is 0/0."""

    def evident(self, theta: NDArray[np.float64], counts: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """θ without what neither predictions nor labels give evidence of, by label counts of shape (cells, outcomes).

        Estimates are made of it. Here it is θ itself: only a mean over classes must know which classes there are.
        """
        return theta

    def at_once(self, belief: object, cells: Cells, rng: np.random.Generator, draws: int) -> NDArray[np.float64] | None:
        """Draws of the values where every share cannot be drawn so often; None if there is no such way."""
        return None

    def labels_of(
        self, counts: NDArray[np.float64], cells: Cells
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """How many labels a group's value is about, and how many of these are hits, two of shape (groups,): k and n.

        `counts` are labels of shape (cells, outcomes). None if the value is not a share of some of the items.
        """
        return None

    @property
    def without_number(self) -> str:
        """Why it has no number where its value is 0/0, in words that go on after a colon."""
        return "its value is 0/0"

    def left_out(self, counts: NDArray[np.float64], cells: Cells) -> int:
        """How many classes a mean over classes leaves out, as nothing shows that they exist; see `evident`."""
        return 0

    @abstractmethod
    def gradient(self, theta: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """The derivative of a group's value by the θ of its cells, shape (..., cells, outcomes)."""

    def drop(self, belief: Belief, theta: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """The expected fall in the variance of a group's value by a label in each of its cells, shape (..., cells).

        It is exact where the value is linear in θ; elsewhere it uses the slope of the value at θ (delta method).
        """
        return belief.drop(self.gradient(theta, cells), theta)


def right_or_wrong(pool: Pool, partition: Partition, key: NDArray[np.int32] | None = None) -> Cells:
    """Cells with the outcomes right and wrong: each group, crossed with a key of the items if there is one."""
    group, keys, cell = split(partition, key)
    confidence = None if pool.confidence is None else cell_means(pool.confidence, cell, len(group), pool.count)
    expected = None if confidence is None else np.column_stack([confidence, 1 - confidence])
    answered = pool.predicted < len(pool.choices)
    # Where nothing was answered, nothing is right, whatever the prior.
    some = np.bincount(cell, answered, minlength=len(group)) > 0
    return Cells(
        partition=partition,
        group=group,
        key=keys,
        cell=cell,
        outcomes=("right", "wrong"),
        blank=np.where(some[:, None], 0.5, [_NEVER, 1 - _NEVER]),
        expected=expected,
        strength=2.0,
        confidence=confidence,
        scores=pool.confidence,
        answered=None if answered.all() else answered,
        evidence=pool.known,
    )


def position_of(metric: Metric, positive: str | None, pool: Pool) -> int:
    """The position of the class that a metric counts as positive. An unknown one is a SpecError."""
    if positive is None or positive not in pool.choices:
        known = ", ".join(repr(name) for name in pool.choices[:8]) + (", ..." if len(pool.choices) > 8 else "")
        raise SpecError(
            f"The 'positive' of {type(metric).__name__}() must be a class of the pool ({known}). "
            f"Got {positive!r} instead."
        )
    return pool.classes.index(positive)


def one_against_rest(pool: Pool, partition: Partition, positive: int) -> Cells:
    """Cells of group × whether a class is predicted, whose outcomes are that class and the rest."""
    k = len(pool.classes)
    rest = (np.arange(k) != positive).astype(np.int64)
    key = rest[pool.predicted].astype(np.int32)
    return true_classes(pool, partition, np.broadcast_to(rest, (k, k)), (pool.classes[positive], "the rest"), key)


def true_classes(
    pool: Pool,
    partition: Partition,
    merged: NDArray[np.int64],
    outcomes: tuple[str, ...],
    key: NDArray[np.int32] | None = None,
) -> Cells:
    """Cells of group × predicted class, whose outcomes are the true classes or merged sets of them.

    By the aggregation property of the Dirichlet, merging outcomes does not change the posterior of the others.

    Parameters
    ----------
    merged
        For each predicted class (row) and true class (column) the position of the outcome, shape (classes, classes).
    outcomes
        The names of the outcomes.
    key
        Something coarser than the predicted class to cross the groups with, shape (items,).
    """
    group, keys, cell = split(partition, pool.predicted if key is None else key)
    k, choices = len(pool.classes), len(pool.choices)
    # No label is the class that stands for no answer.
    even = np.tile(np.where(np.arange(k) < choices, 1 / choices, 0.0), (k, 1))

    def by_class(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        place = np.arange(k)[:, None] * len(outcomes) + merged
        sums = np.bincount(place.ravel(), rows.ravel(), minlength=k * len(outcomes))
        return sums.astype(np.float64, copy=False).reshape(k, len(outcomes))

    def shares(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        out = by_class(rows)
        if key is None:
            return out[keys]
        return np.column_stack([cell_means(column[pool.predicted], cell, len(group), pool.count) for column in out.T])

    return Cells(
        partition=partition,
        group=group,
        key=keys,
        cell=cell,
        outcomes=outcomes,
        blank=shares(even),
        expected=None if pool.profile is None else shares(pool.profile),
        strength=1.0,
        confidence=None if pool.confidence is None else cell_means(pool.confidence, cell, len(group), pool.count),
        scores=pool.confidence,
        right=shares(np.eye(k)).argmax(axis=1),
        mistaken=None if pool.score_sums is None else pool.profile,
        merged=merged,
        predicted=pool.predicted,
        silent=k - 1 if pool.unanswered else None,
        evidence=pool.known,
    )
