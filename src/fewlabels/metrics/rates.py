"""Precision, recall, F1 and false-positive rate: ratios of what is right to what is predicted or true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np

from fewlabels.cells import split
from fewlabels.errors import SpecError
from fewlabels.metrics.base import Metric, one_against_rest, position_of, true_classes
from fewlabels.parts import Takes, register
from fewlabels.undefined import divided
from fewlabels.wording import as_class

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool

# Slopes are not steeper than at this denominator: draws of a rare class have denominators of 1e-300.
_SMALLEST = 1e-9
_SEEN = 0.5  # labels of a class that show that it exists


class Ratio(NamedTuple):
    """(hit·TP + called·PP) / (true·T + false·F + predicted·PP).

    TP, PP, T and F are the shares of a group's items that are rightly predicted as a class, predicted as
    it, truly of it, and not of it.
    """

    hit: float
    called: float
    true: float
    false: float
    predicted: float


@dataclass(frozen=True)
class Rate(Metric):
    """A ratio of shares of group × predicted class × true class, for one class or averaged over all.

    Parameters
    ----------
    positive
        The class that counts as positive. None averages the ratio over all classes (macro average), leaving out
        those whose ratio is 0/0; if all are, there is no value (NaN). Estimates leave out classes that a group's
        predictions and labels do not show (`evident`).
    """

    positive: str | None = None

    @property
    def name(self) -> str:
        """Its name in a sentence: for one class, or the mean over classes."""
        return f"mean {super().name}" if self.positive is None else f"{super().name} of {as_class(self.positive)}"

    ratio: ClassVar[Ratio]
    empty: ClassVar[str]
    """What a value of 0/0 means, in words with a place for the class."""
    takes: ClassVar[Takes] = "CLASS"

    @property
    def without_number(self) -> str:
        """Why it has no number: which items there are none of."""
        return self.empty.format("any class" if self.positive is None else self.positive)

    @classmethod
    def examples(cls, classes: Sequence[str]) -> tuple[Self, ...]:
        """The mean over classes, and one for the first and the last class."""
        return (cls(), cls(classes[0]), cls(classes[-1]))

    def check(self, pool: Pool, partition: Partition) -> None:
        """Raise SpecError if the groups fix the predicted class, so that there is nothing to compare."""
        group, _, _ = split(partition, pool.predicted)
        if len(partition) > 1 and len(group) == len(np.unique(group)):
            raise SpecError(
                f"{self.name} compares predicted with true classes, but each group here has only one predicted class. "
                "Use accuracy by predicted class, which is the precision of that class, or group by a column or not "
                "at all. The recall and F1 of every class are in one table: fewlabels classes DATABASE, or "
                "audit.classes() in Python."
            )

    def cells(self, pool: Pool, partition: Partition) -> Cells:
        """Group × predicted class with the true classes as outcomes; with `positive`, it against the rest."""
        if self.positive is None:
            k = len(pool.classes)
            merged = np.broadcast_to(np.arange(k), (k, k))
            return true_classes(pool, partition, merged, pool.classes)
        return one_against_rest(pool, partition, position_of(self, self.positive, pool))

    def outcome(self, pool: Pool, items: NDArray[np.int64], true: NDArray[np.int32]) -> NDArray[np.int64]:
        """The true class; with `positive`, 0 for it and 1 for the rest."""
        if self.positive is None:
            return true.astype(np.int64)
        return (true != position_of(self, self.positive, pool)).astype(np.int64)

    def evident(self, theta: NDArray[np.float64], counts: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """θ without classes that a group's predictions and labels do not show.

        A draw gives every class a share, however tiny, and its recall would be 0. In a mean such a class has no value.
        By itself it has the share 0, so that a ratio to its true items is 0/0.
        """
        seen = self._seen(counts, cells)
        if seen.all():
            return theta
        theta, counted = theta.copy(), seen.shape[1]
        theta[..., :counted][..., ~seen[cells.group]] = np.nan if self.positive is None else 0.0
        return theta

    def left_out(self, counts: NDArray[np.float64], cells: Cells) -> int:
        """How many classes are neither predicted nor among the labels, in no group; 0 with `positive`."""
        return 0 if self.positive is not None else int((~self._seen(counts, cells).any(axis=0)).sum())

    def labels_of(
        self, counts: NDArray[np.float64], cells: Cells
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """The ratio in labels; None for a mean over classes, and for F1, which is about two kinds of them."""
        if self.positive is None or (self.ratio.true and self.ratio.predicted):
            return None
        own = cells.key == 0
        kind = counts[:, 0] if self.ratio.true else counts[:, 1] if self.ratio.false else own * counts.sum(axis=1)
        return cells.total(own * counts[:, 1 if self.ratio.false else 0]), cells.total(kind)

    def _counted(self, cells: Cells) -> int:
        """How many outcomes are classes that the ratio is taken of."""
        # No answer is not a class that the mean is over: its precision would be 0, whatever the labels.
        return len(cells.outcomes) - (cells.silent is not None) if self.positive is None else 1

    def _seen(self, counts: NDArray[np.float64], cells: Cells) -> NDArray[np.bool_]:
        """Whether each class is predicted in a group or among its labels, shape (groups, counted)."""
        counted = self._counted(cells)
        # Where labels are noisy, counts are those expected.
        seen = _group_sums(counts[:, :counted], cells) >= _SEEN
        own = cells.key < counted
        seen[cells.group[own], cells.key[own]] = True
        return seen

    def _parts(self, theta: NDArray[np.float64], cells: Cells) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Numerator and denominator for each class that counts, shape (..., groups, counted)."""
        counted = self._counted(cells)
        share = cells.weight[:, None] * theta[..., :counted]
        true = _group_sums(share, cells)
        hit, predicted = np.zeros_like(true), np.zeros(true.shape[-2:])
        own = cells.key < counted
        group, key = cells.group[own], cells.key[own]
        hit[..., group, key] = share[..., np.flatnonzero(own), key]
        predicted[group, key] = cells.weight[own]
        r = self.ratio
        top, bottom = r.hit * hit, r.true * true + r.predicted * predicted
        if r.called or r.false:
            # Use 1 − θ itself: PP − TP and 1 − T have a rounding error where nearly all items are of the class.
            others = cells.weight[:, None] * (1 - theta[..., :counted])
            bottom = bottom + r.false * _group_sums(others, cells)
            top = (r.hit + r.called) * hit
            top[..., group, key] += r.called * others[..., np.flatnonzero(own), key]
        return top, bottom

    def value(self, theta: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """The ratio, averaged over the classes that have one: (..., cells, outcomes) to (..., groups)."""
        ratio, defined = _divided(*self._parts(theta, cells))
        return divided(ratio.sum(axis=-1), defined.sum(axis=-1))

    def gradient(self, theta: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """w_k (hit·[j=k] − ratio_j·(true − false)) / denominator_j, shape (..., cells, outcomes)."""
        top, bottom = self._parts(theta, cells)
        ratio, defined = _divided(top, bottom)
        scale = defined / np.maximum(bottom, _SMALLEST) / np.maximum(defined.sum(axis=-1, keepdims=True), 1)
        counted = top.shape[-1]
        own = (cells.key[:, None] == np.arange(counted)) * self.ratio.hit
        slope = np.zeros((*theta.shape[:-1], len(cells.outcomes)))
        below = ratio * (self.ratio.true - self.ratio.false)
        slope[..., :counted] = (own - below[..., cells.group, :]) * scale[..., cells.group, :]
        return slope * cells.weight[:, None]


def _group_sums(values: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
    """Sums over the cells of each group: shape (..., cells, counted) to (..., groups, counted)."""
    return np.moveaxis(cells.total(np.moveaxis(values, -1, 0)), 0, -1)


def _divided(top: NDArray[np.float64], bottom: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The ratio (0 where the denominator is 0), and whether the denominator is above 0."""
    defined = bottom > 0
    return np.divide(top, bottom, out=np.zeros_like(top), where=defined), defined


@register
@dataclass(frozen=True)
class Precision(Rate):
    """TP / PP: of the items predicted as a class, the share that truly is.

    >>> import fewlabels as fl
    >>> fl.Precision(positive="spam")
    Precision(positive='spam')
    """

    ratio: ClassVar[Ratio] = Ratio(hit=1, called=0, true=0, false=0, predicted=1)
    empty: ClassVar[str] = "no item is predicted as {}"
    phrase: ClassVar[str] = "of the items that the classifier puts into a class, the share that truly belong to it"


@register
@dataclass(frozen=True)
class Recall(Rate):
    """TP / T: of the items truly of a class, the share predicted as it; also called true-positive rate.

    >>> import fewlabels as fl, numpy as np
    >>> pool = fl.read_pool({"predicted": ["spam", "ham", "ham", "ham"]})
    >>> metric = fl.Recall(positive="spam")
    >>> cells = metric.cells(pool, fl.whole(pool))
    >>> metric.value(np.array([[1.0, 0.0], [1 / 3, 2 / 3]]), cells)  # one spam found, one missed
    array([0.5])
    """

    ratio: ClassVar[Ratio] = Ratio(hit=1, called=0, true=1, false=0, predicted=0)
    empty: ClassVar[str] = "no label shows {} so far"
    phrase: ClassVar[str] = "of the items that truly belong to a class, the share that the classifier finds"
    hit: ClassVar[str] = "found"


@register
@dataclass(frozen=True)
class F1(Rate):
    """2·TP / (PP + T): the harmonic mean of precision and recall.

    >>> import fewlabels as fl
    >>> fl.F1()
    F1(positive=None)
    """

    ratio: ClassVar[Ratio] = Ratio(hit=2, called=0, true=1, false=0, predicted=1)
    empty: ClassVar[str] = "no item is predicted as {}, and no label shows it so far"
    phrase: ClassVar[str] = "a mean of precision and recall; 100% is perfect"


@register
@dataclass(frozen=True)
class FalsePositiveRate(Rate):
    """(PP − TP) / (1 − T): of the items not of a class, the share predicted as it.

    >>> import fewlabels as fl
    >>> fl.FalsePositiveRate(positive="high risk")
    FalsePositiveRate(positive='high risk')
    """

    ratio: ClassVar[Ratio] = Ratio(hit=-1, called=1, true=0, false=1, predicted=0)
    empty: ClassVar[str] = "every item seems to belong to {}"
    cli_name: ClassVar[str] = "fpr"
    phrase: ClassVar[str] = "of the items that do not belong to a class, the share that the classifier puts into it"
    high_is_bad: ClassVar[bool] = True

    @property
    def hit(self) -> str:  # type: ignore[override]
        """The word for a label of another class that was put into this one."""
        return f"called {'so' if self.positive is None else as_class(self.positive)}"


@dataclass(frozen=True)
class Hits(Rate):
    """TP and T of every class that counts, shape (..., groups, 2, classes): all ratios of a group follow from them.

    It is not a metric to choose, but what tables of several ratios are made from, so that they agree in every draw.
    """

    ratio: ClassVar[Ratio] = Ratio(hit=1, called=0, true=1, false=0, predicted=0)
    empty: ClassVar[str] = "there are no items"
    vector: ClassVar[bool] = True

    def evident(self, theta: NDArray[np.float64], counts: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """θ itself: how many items are of a class is in doubt also if none was seen."""
        return theta

    def value(self, theta: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """The shares of a group's items that are rightly predicted as a class, and truly of it."""
        return np.stack(self._parts(theta, cells), axis=-2)

    def at_once(self, belief: object, cells: Cells, rng: np.random.Generator, draws: int) -> NDArray[np.float64] | None:
        """Both sums of each class by itself, for the whole pool under the learned prior."""
        hits = getattr(belief, "hits", None)
        if hits is None or len(cells.partition) > 1:
            return None
        return np.stack(hits(rng, draws), axis=-2)[:, None, :, : self._counted(cells)]


TruePositiveRate = Recall
"""Recall, under its name in the literature on fairness."""
