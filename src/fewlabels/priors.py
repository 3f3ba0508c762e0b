"""Priors: the belief before the first label, and how labels change it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from fewlabels.belief import Belief, Target
from fewlabels.cells import ModelCells
from fewlabels.checks import number_field
from fewlabels.errors import Argument, SpecError
from fewlabels.learned.on_cells import (
    answered_strips,
    believe_classes,
    believe_models,
    believe_right,
    factors,
    rows_of,
)
from fewlabels.outcomes import Outcomes
from fewlabels.parts import Family, Part, Takes, register

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fewlabels.cells import Cells
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
    several
        The same for several `Outcomes` at once, where that takes less time than one by one.
    """

    cells: Cells
    belief: Callable[[Outcomes], Belief]
    several: Callable[[Sequence[Outcomes]], list[Belief]] | None = None

    @classmethod
    def at_once(cls, cells: Cells, several: Callable[[Sequence[Outcomes]], list[Belief]]) -> Prepared:
        """Make it from a function that computes the beliefs after several `Outcomes` together."""
        return cls(cells, partial(_only, several), several)

    def beliefs(self, each: Sequence[Outcomes]) -> list[Belief]:
        """The belief after each of several versions of the labels, as there are where votes may be wrong."""
        return [self.belief(outcomes) for outcomes in each] if self.several is None else self.several(each)

    def blank(self) -> Belief:
        """Return the belief before the first label."""
        return self.belief(Outcomes.none(self.cells))


def _only(several: Callable[[Sequence[Outcomes]], list[Belief]], outcomes: Outcomes) -> Belief:
    return several([outcomes])[0]


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
        """Prepare for cells of groups other than those of asking, within which labels are a random sample.

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
    """A prior that assumes nothing about the classifier: Beta(N0/2, N0/2), or N0/K for each of K classes.

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
    the group is than the pool; see `learned/items/`. Where labels show classes, those of mistakes are q_c ~ Dirichlet(κ
    m_c), with m_cj ∝ w_j e_cj^b: the scores e of the other classes, tempered, times how much more often each of them is
    missed than expected; see `learned/mistakes.py`. All metrics are functions of this one posterior of items. Groups
    with few labels are judged by what the scores turn out to mean; if groups have nothing in common, each is judged by
    its own labels. Uncertainty about a, b, g, τ and κ is part of every interval. What was learned is in
    `audit.belief().summary()`, in words and numbers.

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
            from fewlabels.learned.models import Panel

            panel = Panel.of(cells.said, cells.classes, cells.confidences, cells.home, len(cells.filled), cells.focus)
            return Prepared(cells, partial(believe_models, cells, target, panel))
        if cells.right is None:
            items = answered_strips(cells, factors(cells, *asked))
            return Prepared.at_once(cells, partial(believe_right, cells, target, items))
        rows = rows_of(cells, factors(cells, *asked))
        return Prepared.at_once(cells, partial(believe_classes, cells, target, rows))

    def across(self, cells: Cells, target: Target, *asked: Partition | None) -> Prepared:
        """Prepare for cells of groups other than those of asking; all have effects, crossed."""
        return self.on(cells, target, *asked)
