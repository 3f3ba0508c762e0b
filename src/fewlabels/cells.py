"""Cells: the pieces of a pool on which a metric keeps its beliefs, each inside one group."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.partition import Partition, numbered
from fewlabels.reserve import items_of

if TYPE_CHECKING:
    from typing import Protocol

    from numpy.typing import NDArray

    from fewlabels.pool import Pool

    class Metric(Protocol):
        """What labels show, according to a metric."""

        def outcome(self, pool: Pool, items: NDArray[np.int64], true: NDArray[np.int32]) -> NDArray[np.int64]:
            """The outcomes, shape (labels,)."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a metric on a partition, and what is known about them before any label.

    Accuracy has one cell for each group, calibration error one for each score bin of a group, recall one for each
    predicted class of a group. Only cells with items exist; a group without items has none.

    Parameters
    ----------
    partition
        The groups.
    group
        The group of each cell, in increasing order, shape (cells,).
    key
        What else the cell stands for (bin, predicted class, or 0), shape (cells,).
    cell
        The cell of each item, shape (items,).
    outcomes
        The names of the outcomes that a label can show.
    blank
        The share of each outcome that somebody who knows nothing expects, shape (cells, outcomes).
    expected
        The share of each outcome that the classifier itself expects, shape (cells, outcomes), or None.
    strength
        How many labels a weak prior counts for: the paper's N0, 2 for right/wrong and 1 for classes.
    confidence
        The mean confidence in each cell, shape (cells,), or None.
    scores
        The confidence of each item, shape (items,), or None.
    right
        Where outcomes are classes: the outcome that a right prediction shows, shape (cells,); None where a label shows
        only right or wrong.
    mistaken
        Where outcomes are classes and there are scores: the mean scores of each predicted class, shape (classes,
        classes). Away from the diagonal they say which mistakes to expect.
    merged
        Where outcomes are classes: in row k and column j the outcome of an item that is predicted as class k and is
        truly of class j, shape (classes, classes).
    predicted
        Where outcomes are classes: the predicted class of each item, shape (items,).
    answered
        Whether the classifier answered each item at all, shape (items,), where labels show right or wrong; None if it
        answered all. No answer is never right.
    silent
        Where outcomes are classes: the predicted class that stands for no answer, which is never right; None if all
        items were answered.
    evidence
        What else is known about each item, coded as numbers, shape (items, columns), or None; see `evidence.py`.
    """

    partition: Partition
    group: NDArray[np.int64]
    key: NDArray[np.int64]
    cell: NDArray[np.int32]
    outcomes: tuple[str, ...]
    blank: NDArray[np.float64]
    expected: NDArray[np.float64] | None
    strength: float
    confidence: NDArray[np.float64] | None
    scores: NDArray[np.float64] | None = None
    right: NDArray[np.int64] | None = None
    mistaken: NDArray[np.float64] | None = None
    merged: NDArray[np.int64] | None = None
    predicted: NDArray[np.int32] | None = None
    answered: NDArray[np.bool_] | None = None
    silent: int | None = None
    evidence: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.group)

    @cached_property
    def size(self) -> NDArray[np.int64]:
        """Items in each cell, shape (cells,); never 0."""
        return items_of(self.cell, len(self), self.partition.count)

    @cached_property
    def may_be_right(self) -> NDArray[np.bool_] | None:
        """The groups in which something was answered, shape (groups,), where labels show right or wrong; None if all.

        >>> import fewlabels as fl
        >>> pool = fl.read_pool({"predicted": ["a", "b", "no idea"]}, never_right=["no*"])
        >>> fl.Accuracy().cells(pool, fl.by_predicted(pool)).may_be_right
        array([ True,  True, False])
        """
        if self.answered is None:
            return None
        some: NDArray[np.bool_] = np.bincount(self.partition.group, self.answered, minlength=len(self.partition)) > 0
        return None if some.all() else some

    @property
    def asking(self) -> Partition:
        """The groups in which items are asked for: a policy chooses one, and the item in it is random."""
        return self.partition

    def shown(self, metric: Metric, pool: Pool, items: NDArray[np.int64], true: NDArray[np.int32]) -> NDArray[np.int64]:
        """What the labels of items show: the outcomes of the metric, shape (labels,)."""
        return metric.outcome(pool, items, true)

    def tally(self, items: NDArray[np.int64], shown: NDArray[np.int64]) -> NDArray[np.float64]:
        """How many labels of each cell show each outcome, shape (cells, outcomes); items and what they show."""
        outcomes = len(self.outcomes)
        code = self.cell[items].astype(np.int64) * outcomes + shown
        return np.bincount(code, minlength=len(self) * outcomes).reshape(len(self), outcomes).astype(float)

    def add(self, counts: NDArray[np.float64], item: int, shown: int, change: int) -> None:
        """Add a label to counts, or take it away: what `tally` counts, for one item and in place."""
        counts[self.cell[item], shown] += change

    @cached_property
    def weight(self) -> NDArray[np.float64]:
        """The cell's share of its group's items, shape (cells,)."""
        return self.size / self.partition.sizes[self.group]

    @cached_property
    def _starts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return np.unique(self.group, return_index=True)

    def total(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums over the cells of each group: shape (..., cells) to (..., groups); 0 for empty groups."""
        groups = len(self.partition)
        if len(self) == groups == len(self._starts[0]):
            return values
        present, starts = self._starts
        out = np.zeros((*values.shape[:-1], groups))
        if len(present):
            out[..., present] = np.add.reduceat(values, starts, axis=-1)
        return out


def split(
    partition: Partition, key: NDArray[np.int32] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Split groups into cells: items of the same group and the same key share a cell.

    Returns the group and the key of each cell, two of shape (cells,), and the cell of each item, shape (items,). With
    `key=None` the groups themselves are the cells.
    """
    keys = 1 if key is None or not len(key) else int(key.max()) + 1
    code = partition.group.astype(np.int64) * keys + (0 if key is None else key)
    used, cell = numbered(code)
    return used // keys, used % keys, cell.astype(np.int32)


def cell_means(
    values: NDArray[np.float64], cell: NDArray[np.int32], cells: int, count: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """The mean of an item value in each cell, shape (cells,); values, cells and items of rows have shape (rows,)."""
    sums = np.bincount(cell, values if count is None else values * count, minlength=cells)
    return sums / items_of(cell, cells, count)


@dataclass(frozen=True, eq=False, repr=False)
class ModelRows(Partition):
    """A row for each model in each group that has items, as if it were a group: every item is in a row of each model.

    Parameters
    ----------
    models
        The names of the models.
    of
        The groups.
    """

    models: tuple[str, ...] = ()
    of: Partition | None = None

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Items in each row, shape (rows,)."""
        assert self.of is not None
        return np.repeat(self.of.sizes[self.of.sizes > 0], len(self.models))

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """The share of the pool in each row, as if each model had a part of it, shape (rows,)."""
        return self.sizes / max(int(self.sizes.sum()), 1)

    @property
    def words(self) -> str:
        """How the rows were made, in words."""
        return "by model" if self.of is None or len(self.of) == 1 else f"by model and {self.of.words}"


@dataclass(frozen=True, eq=False)
class ModelCells(Cells):
    """The cells of a question about several models: the share right of each model in each group.

    A label shows the true class, so it counts in a cell of every model. Items are asked for one by one.

    Parameters
    ----------
    models
        The names of the models.
    said
        The answer of each model, a position among the classes, −1 where it has none, shape (items, models).
    confidences
        How sure each model is, NaN where it does not say, shape (items, models); or None.
    classes
        How many classes there are.
    groups
        The groups of the question; only those with items have rows.
    focus
        The models that the question is about; empty if it is about all.
    """

    models: tuple[str, ...] = ()
    said: NDArray[np.int32] = field(default_factory=lambda: np.empty((0, 0), dtype=np.int32))
    confidences: NDArray[np.float64] | None = None
    classes: int = 0
    groups: Partition | None = None
    focus: tuple[int, ...] = ()

    @cached_property
    def size(self) -> NDArray[np.int64]:
        """Items in each cell, shape (cells,)."""
        return self.partition.sizes

    @cached_property
    def filled(self) -> tuple[str, ...]:
        """The names of the groups that have items."""
        assert self.groups is not None
        return tuple(name for name, n in zip(self.groups.names, self.groups.sizes, strict=True) if n)

    @cached_property
    def home(self) -> NDArray[np.int64]:
        """The place of each item's group among those that have items, shape (items,)."""
        return self.cell.astype(np.int64) // max(len(self.models), 1)

    @cached_property
    def asking(self) -> Partition:
        """Every item in a group of its own: what a policy chooses from."""
        return Partition((), np.arange(len(self.cell), dtype=np.int32), {"by": "item"})

    def some(self, pick: NDArray[np.int64]) -> ModelCells:
        """The rows of some of the items, shape (picked,); every group must keep one."""
        rows = self.partition
        assert isinstance(rows, ModelRows)
        assert self.groups is not None
        fewer = replace(self.groups, group=self.groups.group[pick])
        return replace(
            self,
            partition=replace(rows, group=rows.group[pick], of=fewer),
            cell=self.cell[pick],
            said=self.said[pick],
            confidences=None if self.confidences is None else self.confidences[pick],
            groups=fewer,
        )

    def shown(self, metric: Metric, pool: Pool, items: NDArray[np.int64], true: NDArray[np.int32]) -> NDArray[np.int64]:
        """What labels show: the true class itself, shape (labels,)."""
        return true.astype(np.int64)

    def tally(self, items: NDArray[np.int64], shown: NDArray[np.int64]) -> NDArray[np.float64]:
        """Label counts, shape (cells, outcomes)."""
        right = self.said[items] == shown[:, None]
        counts = np.zeros((len(self), 2))
        at = self.cell[items].astype(np.int64)[:, None] + np.arange(len(self.models))
        np.add.at(counts[:, 0], at, right)
        np.add.at(counts[:, 1], at, ~right)
        return counts

    def add(self, counts: NDArray[np.float64], item: int, shown: int, change: int) -> None:
        """Add a label to counts, or take it away: it counts in a cell of every model."""
        at = int(self.cell[item]) + np.arange(len(self.models))
        counts[at, (self.said[item] != shown).astype(np.int64)] += change


def model_cells(pool: Pool, partition: Partition) -> ModelCells:
    """The cells of a question about all models of a pool, in the groups of a partition.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool({"a": ["yes", "no"], "b": ["no", "no"]}, models=["a", "b"])
    >>> cells = model_cells(pool, fl.whole(pool))
    >>> cells.partition.names, cells.size
    (('a', 'b'), array([2, 2]))
    """
    filled = np.flatnonzero(partition.sizes)
    place = np.zeros(len(partition), dtype=np.int64)
    place[filled] = np.arange(len(filled))
    models = len(pool.models)
    names = [partition.names[g] for g in filled.tolist()]
    rows = tuple(model if len(partition) == 1 else f"{name}: {model}" for name in names for model in pool.models)
    first = (place[partition.group] * models).astype(np.int32)
    recipe = {"by": "models", "of": dict(partition.recipe)}
    return ModelCells(
        partition=ModelRows(rows, first, recipe, models=pool.models, of=partition),
        group=np.arange(len(rows)),
        key=np.tile(np.arange(models), len(filled)),
        cell=first,
        outcomes=("right", "wrong"),
        blank=np.full((len(rows), 2), 0.5),
        expected=None,
        strength=2.0,
        confidence=None,
        models=pool.models,
        said=pool.answers,
        confidences=pool.confidences,
        classes=len(pool.choices),
        groups=partition,
    )
