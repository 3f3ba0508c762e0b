"""Priors: the belief before the first label, and how labels change it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from fewlabels.belief import Belief, Target
from fewlabels.cells import ModelCells, cell_means
from fewlabels.checks import number_field
from fewlabels.errors import Argument, InputError, SpecError
from fewlabels.learned.classes import ClassBelief
from fewlabels.learned.items import ItemBelief, LearnedBelief, learn, strips
from fewlabels.learned.mistakes import expected
from fewlabels.learned.models import ModelsBelief, Panel
from fewlabels.outcomes import Outcomes
from fewlabels.partition import by_columns_alone, items_of
from fewlabels.parts import Family, Part, Takes, register

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.learned.items import Strips
    from fewlabels.learned.mistakes import Expected
    from fewlabels.partition import Partition

# The least share an informed prior gives an outcome: a classifier that is always sure can still be found wrong.
_FLOOR = 1e-6


@dataclass(frozen=True, eq=False)
class Prepared:
    """A prior made ready for the cells of one metric: labels in, belief out.

    Parameters
    ----------
    cells
        The cells that beliefs are about.
    belief
        A function from `Outcomes`, the labels so far, to the belief after them.
    """

    cells: Cells
    belief: Callable[[Outcomes], Belief]

    def blank(self) -> Belief:
        """Return the belief before the first label."""
        return self.belief(Outcomes.none(self.cells))


@dataclass(frozen=True)
class Prior(Part, ABC):
    """A prior turns the labels so far into a belief about each cell, in two steps: prepare, then compute.

    `prior.on(cells, target)` prepares everything that does not depend on labels, once. `.belief(outcomes)` of its
    result computes the belief each time labels come in.

    A prior of your own is a frozen dataclass with one method. If it counts like some labels seen in advance, derive it
    from `Counts` and write `shares(cells)`, the prior mean. Otherwise derive it from `Prior` and write `on`:

    >>> from dataclasses import dataclass
    >>> import fewlabels as fl
    >>> from fewlabels.priors import Prepared, Prior
    >>> @dataclass(frozen=True)
    ... class Weaker(Prior):
    ...     def on(self, cells, target):
    ...         before = cells.blank * cells.size[:, None] / cells.size.max()  # once
    ...         return Prepared(cells, lambda outcomes: fl.Belief(before, outcomes.counts, cells.size, target))
    >>> pool = fl.read_pool({"predicted": ["a", "a", "b"]})
    >>> Weaker().on(fl.Accuracy().cells(pool, fl.by_predicted(pool)), "population").blank().alpha
    array([[0.5 , 0.5 ],
           [0.25, 0.25]])
    """

    family: ClassVar[Family] = "prior"
    uses_items: ClassVar[bool] = False
    """Whether the belief depends on which items were labelled, and not only on the counts of their cells.

    Such a prior gets `outcomes.items` and `outcomes.shown`; for the others they may be left out.
    """

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Priors of this kind on which `fewlabels.testing` and the contract tests can be run."""
        return (cls(),)

    def check(self, cells: Cells) -> None:
        """Raise SpecError if the prior cannot be used on these cells."""

    @abstractmethod
    def on(self, cells: Cells, target: Target) -> Prepared:
        """Prepare for these cells, and for the population behind the pool or the pool itself."""

    def across(self, cells: Cells, target: Target, *asked: Partition | None) -> Prepared | None:
        """Prepare for cells of other groups than those of asking, within which labels are a random sample.

        Labels may have been asked in several groupings. None if the prior knows nothing about that: the cells are then
        split by the groups of asking (see `Strata`).
        """
        return None

    @property
    def reads_across(self) -> bool:
        """Whether it knows how to read labels that were asked in other groups."""
        return type(self).across is not Prior.across


@dataclass(frozen=True)
class Counts(Prior):
    """A prior that counts like some labels seen in advance: belief = prior counts + label counts.

    `strength` is the number of labels that it counts for, the paper's N0. None means the paper's values, 2 where
    a label shows right or wrong and 1 where it shows a class.
    """

    strength: float | None = None

    takes: ClassVar[Takes] = "NUMBER"

    def __post_init__(self) -> None:
        if self.strength is not None:
            number_field(self, "strength", f"The 'strength' of {type(self).__name__}()", hint="such as 2")

    def check(self, cells: Cells) -> None:
        """Raise SpecError for a question about several models, whose labels are not a random sample of items."""
        if isinstance(cells, ModelCells):
            raise SpecError(
                f"{type(self).__name__}() judges one model by its own labels. Several models are judged together by "
                "the learned prior: use prior=Learned()."
            )

    @abstractmethod
    def shares(self, cells: Cells) -> NDArray[np.float64]:
        """The prior mean, shape (cells, outcomes)."""

    def on(self, cells: Cells, target: Target) -> Prepared:
        """Compute the prior counts; a belief adds the label counts to them."""
        before = (cells.strength if self.strength is None else self.strength) * self.shares(cells)
        return Prepared(cells, lambda outcomes: Belief(before, outcomes.counts, cells.size, target))


@register
@dataclass(frozen=True)
class Uniform(Counts):
    """A prior that knows nothing: Beta(N0/2, N0/2), or N0/K for each of K classes.

    >>> import fewlabels as fl
    >>> fl.Uniform(strength=4)
    Uniform(strength=4)
    """

    phrase: ClassVar[str] = (
        "Before the first label, every value was taken to be equally likely in each {noun}; the classifier's own "
        "confidence plays no part. This pulls {nouns} with few labels towards the middle."
    )

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """The paper's strength, and almost none."""
        return (cls(), cls(1e-6))

    def shares(self, cells: Cells) -> NDArray[np.float64]:
        """The prior mean, shape (cells, outcomes)."""
        return cells.blank


@register
@dataclass(frozen=True)
class Informed(Counts):
    """A prior that takes the classifier's own scores at face value, with the weight of a few labels.

    Beta(N0·s_g, N0·(1−s_g)) with s_g the mean confidence of the group; for classes, α_jk proportional to the
    sum of the scores of class j over the items predicted as k (the paper's informative priors).

    >>> import fewlabels as fl
    >>> fl.Informed()
    Informed(strength=None)
    """

    phrase: ClassVar[str] = (
        "The classifier's own scores were taken at face value, with the weight of a few labels in each {noun}. "
        "Where they are wrong, {nouns} with few labels are off in the same direction."
    )

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """The paper's strength, and that of many labels."""
        return (cls(), cls(20))

    def check(self, cells: Cells) -> None:
        """Raise SpecError if the pool has neither scores nor confidence."""
        super().check(cells)
        if cells.expected is None:
            raise SpecError(
                "Informed() needs the classifier's scores or confidence, but this pool has predicted classes only. "
                "Use prior=Uniform(), or read the pool with ",
                Argument("scores"),
                " or ",
                Argument("confidence"),
                ".",
            )

    def shares(self, cells: Cells) -> NDArray[np.float64]:
        """The prior mean, shape (cells, outcomes)."""
        self.check(cells)
        assert cells.expected is not None
        # An outcome that cannot occur in a cell (blank share 0) stays impossible.
        shares = np.where(cells.blank > 0, np.maximum(cells.expected, _FLOOR), 0.0)
        return shares / shares.sum(axis=-1, keepdims=True)


@register
@dataclass(frozen=True)
class Learned(Prior):
    """A prior that learns from the labels of all groups how far the classifier's scores can be trusted.

    P(right | confidence s, group c) = σ(a + b·(logit s − x0) + g·z_c + u_c), u_c ~ N(0, τ²), with z_c how much surer
    the group is than the pool; see `learned/items/`. Where labels show classes, those of mistakes are q_c ~
    Dirichlet(κ m_c), with m_c the scores of the other classes, tempered; see `learned/mistakes.py`. All metrics are
    functions of this one posterior of items. Groups with few labels are judged by what the scores turn out to mean;
    where groups have nothing in common, each is left to its own labels. Uncertainty about a, b, g, τ and κ is part of
    every interval. What was learned is in `audit.belief().summary()`, in words and numbers.

    >>> import fewlabels as fl
    >>> fl.Learned()
    Learned()
    """

    phrase: ClassVar[str] = (
        "How far the classifier's scores can be trusted was learned from the labels of all {nouns} together, so "
        "that {nouns} with few labels benefit from the others. A {noun} that is unlike the others can have too narrow "
        "a range until it has labels of its own, especially if only a few {nouns} were labelled."
    )
    uses_items: ClassVar[bool] = True

    def on(self, cells: Cells, target: Target, *asked: Partition | None) -> Prepared:
        """Sort the items by confidence, and compute the classes expected of mistakes where labels show classes.

        `asked` are the groups in which labels were asked, where they differ from those of the cells. All have effects.
        """
        if isinstance(cells, ModelCells):
            panel = Panel.of(cells.said, cells.classes, cells.confidences, cells.home, len(cells.filled), cells.focus)
            return Prepared(cells, partial(_models, cells, target, panel))
        if cells.right is None:
            items = answered_strips(cells, factors(cells, *asked), are_columns(cells, *asked))
            return Prepared(cells, partial(_right_or_wrong, cells, target, items))
        rows = rows_of(cells, factors(cells, *asked), are_columns(cells, *asked))
        return Prepared(cells, partial(_classes, cells, target, rows))

    def across(self, cells: Cells, target: Target, *asked: Partition | None) -> Prepared:
        """Prepare for cells of other groups than those of asking; all have effects, crossed."""
        return self.on(cells, target, *asked)


def factors(cells: Cells, *asked: Partition | None) -> list[NDArray[np.int64]]:
    """What items differ by beyond their confidences: the level of each item, shape (items,), of each factor.

    These are the groups of asking, the groups of the cells, and what else a cell stands for (a predicted class, or a
    bin of confidence). What is put together from the levels of an earlier factor has no effects of its own: so the same
    quantity is the same number by every route.
    """
    found: list[NDArray[np.int64]] = []
    all_levels: list[NDArray[Any]] = [groups.group for groups in asked if groups is not None]
    for levels in (*all_levels, cells.partition.group, cells.key[cells.cell]):
        codes = np.unique(levels, return_inverse=True)[1].astype(np.int64)
        if codes.any() and not any(_is_coarser(codes, earlier) for earlier in found):
            found.append(codes)
    return found or [np.zeros(len(cells.cell), dtype=np.int64)]


def _is_coarser(levels: NDArray[np.int64], fine: NDArray[np.int64]) -> bool:
    """Whether items with the same level of the fine factor always have the same level, as in equal factors."""
    count = int(levels.max()) + 1
    return len(np.unique(fine * count + levels)) == int(fine.max()) + 1


def are_columns(cells: Cells, *asked: Partition | None) -> bool:
    """Whether the first of the factors is groups that are told apart by columns of the pool alone."""
    recipes = [made.recipe for made in (*asked, cells.partition) if made is not None]
    some = [recipe for recipe in recipes if recipe.get("by") != "whole"]
    return bool(some) and by_columns_alone(some[0])


def answered_strips(cells: Cells, factors: Sequence[NDArray[np.int64]], columns: bool) -> Strips:
    """The items of cells sorted by confidence, without those that were not answered; their strip is -1.

    In a cell without answers all items are kept: a cell needs a strip, and its share right is set to 0 afterwards.
    """
    if cells.answered is None:
        return strips(cells.scores, cells.cell, factors, cells.evidence, cells.partition.count, columns=columns)
    some = np.bincount(cells.cell, cells.answered, minlength=len(cells)) > 0
    kept = cells.answered | ~some[cells.cell]
    scores, evidence = (None if one is None else one[kept] for one in (cells.scores, cells.evidence))
    count = None if cells.partition.count is None else cells.partition.count[kept]
    made = strips(scores, cells.cell[kept], [levels[kept] for levels in factors], evidence, count, columns=columns)
    strip = np.full(len(kept), -1, dtype=np.int64)
    strip[kept & cells.answered] = made.strip[cells.answered[kept]]
    return replace(made, strip=strip)


def _fitted(
    cells: Cells, strips: Strips, outcomes: Outcomes, telling: NDArray[np.bool_] | None = None
) -> dict[str, Any]:
    """Fit the model of items: the posterior, the unlabelled items of each strip, and the share that was answered.

    `telling` says of each item whether its label tells something, shape (items,); None if all do.
    """
    if len(outcomes.items) != outcomes.labels:
        raise InputError(
            "Learned() needs the labelled items, not only their counts. Use Outcomes.of(cells, items, shown)."
        )
    strip = strips.strip[outcomes.items]
    known = strip >= 0  # a label of an item without an answer tells nothing: it is wrong
    seen = np.bincount(strip[known], minlength=len(strips.size))
    if telling is not None:
        known = known & telling[outcomes.items]
    right = np.bincount(strip[known], outcomes.right[known], minlength=len(strips.size))
    told = np.bincount(strip[known], minlength=len(strips.size))
    model = learn(strips, right.astype(float), told.astype(float)).pruned()
    free, share = strips.size - seen, None
    if cells.answered is not None:
        share = cell_means(cells.answered.astype(float), cells.cell, len(cells), cells.partition.count)
        free = np.where(share[strips.cell] > 0, free, 0)
    return {"model": model, "free": free, "answered": share}


def _right_or_wrong(cells: Cells, target: Target, strips: Strips, outcomes: Outcomes) -> LearnedBelief:
    """The belief where labels show right and wrong."""
    nothing = np.zeros_like(outcomes.counts)
    return ItemBelief(nothing, outcomes.counts, cells.size, target, **_fitted(cells, strips, outcomes))


class Rows(NamedTuple):
    """The rows of cells whose outcomes are classes: one for each predicted class of a cell.

    A cell may have several predicted classes (recall of one class merges all others), and each makes other mistakes.

    Parameters
    ----------
    row
        The row of each item, shape (items,).
    cell, right, size
        The cell of each row, the outcome that a right prediction shows there, and its items, three of shape (rows,).
    strips
        The items of the rows sorted by confidence.
    mistaken
        What is expected of mistakes in each row.
    answered
        1 where the classifier answered and 0 in the rows where it did not, shape (rows,); None if it answered all.
    """

    row: NDArray[np.int64]
    cell: NDArray[np.int64]
    right: NDArray[np.int64]
    size: NDArray[np.int64]
    strips: Strips
    mistaken: Expected
    answered: NDArray[np.float64] | None = None


def rows_of(cells: Cells, factors: Sequence[NDArray[np.int64]], columns: bool) -> Rows:
    """Make the rows of cells whose outcomes are classes."""
    assert cells.right is not None
    assert cells.mistaken is not None
    assert cells.predicted is not None
    classes = cells.mistaken.shape[1]
    used, row = np.unique(cells.cell.astype(np.int64) * classes + cells.predicted, return_inverse=True)
    cell, predicted = used // classes, used % classes
    made = strips(cells.scores, row.astype(np.int32), factors, cells.evidence, cells.partition.count, columns=columns)
    mistaken = expected(*cells.mistaken[:, predicted], scored=cells.expected is not None)
    answered = None if cells.silent is None else (predicted != cells.silent).astype(float)
    items = items_of(row, len(cell), cells.partition.count)
    return Rows(row, cell, cells.right[cell], items, made, mistaken, answered)


def _classes(cells: Cells, target: Target, rows: Rows, outcomes: Outcomes) -> LearnedBelief:
    """The belief where labels show classes."""
    nothing = np.zeros_like(outcomes.counts)
    telling = None if rows.answered is None else (rows.answered > 0)[rows.row]
    fitted = _fitted(cells, rows.strips, outcomes, telling) | {"answered": rows.answered}
    mistakes = np.zeros((len(rows.cell), outcomes.counts.shape[1]))
    wrong = ~outcomes.right
    np.add.at(mistakes, (rows.row[outcomes.items[wrong]], outcomes.shown[wrong]), 1)
    learned = rows.mistaken.learn(mistakes)
    return ClassBelief(
        nothing, outcomes.counts, cells.size, target,
        mistakes=learned, cell=rows.cell, right=rows.right, rows_size=rows.size, **fitted,
    )  # fmt: skip


def _models(cells: ModelCells, target: Target, panel: Panel, outcomes: Outcomes) -> LearnedBelief:
    """Fit the model of several models' answers."""
    learning = panel.learn(outcomes.items, outcomes.shown.astype(np.int32))
    nothing = np.zeros_like(outcomes.counts)
    return ModelsBelief(nothing, outcomes.counts, cells.size, target, learning=learning)
