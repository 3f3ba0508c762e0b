"""Priors: what is believed before the first label."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from fewlabels.belief import Belief, Target
from fewlabels.checks import number_field
from fewlabels.errors import Argument, InputError, SpecError
from fewlabels.learned.items import ItemBelief, learn
from fewlabels.learned.rows import RowBelief, learn_rows
from fewlabels.parts import Family, Part, Takes, register

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.cells import Cells

    Labels = tuple[NDArray[np.int64], NDArray[np.int64]]

# The least share an informed prior gives an outcome: a classifier that is always sure can still be found wrong.
_FLOOR = 1e-6


@dataclass(frozen=True)
class Prior(Part, ABC):
    """Turns the labels so far into a belief about each cell."""

    family: ClassVar[Family] = "prior"
    looks_at_items: ClassVar[bool] = False
    """Whether the belief depends on which items were labelled, not only on the counts of their cells."""

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Priors of this kind on which `fewlabels.testing` and the contract tests can be run."""
        return (cls(),)

    def check(self, cells: Cells) -> None:
        """SpecError if the prior cannot be used on these cells."""

    @abstractmethod
    def belief(self, cells: Cells, counts: NDArray[np.float64], target: Target, labels: Labels | None = None) -> Belief:
        """The belief after label counts of shape (cells, outcomes).

        `labels` are the labelled items and their outcomes, two of shape (labels,), for priors that look at them.
        """


@dataclass(frozen=True)
class Counts(Prior):
    """A prior that is as good as some labels seen beforehand: belief = prior counts + label counts.

    `strength` is the number of labels that it counts for, the paper's N0; None takes the paper's values, 2 where
    a label shows right or wrong and 1 where it shows a class.
    """

    strength: float | None = None

    takes: ClassVar[Takes] = "NUMBER"

    def __post_init__(self) -> None:
        if self.strength is not None:
            number_field(self, "strength", f"The 'strength' of {type(self).__name__}()", hint="such as 2")

    @abstractmethod
    def shares(self, cells: Cells) -> NDArray[np.float64]:
        """The prior mean, shape (cells, outcomes)."""

    def belief(
        self,
        cells: Cells,
        counts: NDArray[np.float64],
        target: Target,
        labels: Labels | None = None,
    ) -> Belief:
        """The belief after label counts of shape (cells, outcomes)."""
        strength = cells.strength if self.strength is None else self.strength
        return Belief(strength * self.shares(cells), counts, cells.size, target)


@register
@dataclass(frozen=True)
class Uniform(Counts):
    """Nothing is known: Beta(N0/2, N0/2), or N0/K for each of K classes.

    >>> import fewlabels as fl
    >>> fl.Uniform(strength=4)
    Uniform(strength=4)
    """

    phrase: ClassVar[str] = (
        "Beforehand every value was held equally likely in each {noun}; what the classifier says of its own "
        "certainty plays no part. This pulls {nouns} with few labels towards the middle."
    )

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """The paper's strength, and hardly any."""
        return (cls(), cls(1e-6))

    def shares(self, cells: Cells) -> NDArray[np.float64]:
        """The prior mean, shape (cells, outcomes)."""
        return cells.blank


@register
@dataclass(frozen=True)
class Informed(Counts):
    """The classifier's own scores are taken at their word, with the weight of a few labels.

    Beta(N0·s_g, N0·(1−s_g)) with s_g the mean confidence of the group; for classes, α_jk proportional to the
    sum of the scores of class j over the items predicted as k (the paper's informative priors).

    >>> import fewlabels as fl
    >>> fl.Informed()
    Informed(strength=None)
    """

    phrase: ClassVar[str] = (
        "The classifier's own scores were taken at their word, with the weight of a few labels in each {noun}. "
        "Where they are wrong, {nouns} with few labels are off in the same direction."
    )

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """The paper's strength, and that of many labels."""
        return (cls(), cls(20))

    def check(self, cells: Cells) -> None:
        """SpecError if the pool has neither scores nor confidence."""
        if cells.expected is None:
            raise SpecError(
                "Informed() needs the classifier's scores or confidence, and this pool has predicted classes only. "
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
    """How far the classifier's scores can be trusted is learned from the labels, of all groups together.

    Where labels show right or wrong: P(right | confidence s, cell c) = σ(a + b·(logit s − x0) + u_c), u_c ~ N(0, τ²);
    see `learned/items/`. Where they show a class: θ_c ~ Dirichlet(κ m_c) with m_c the expected shares, tempered; see
    `learned/rows/`. Cells with few labels are judged by what the scores turn out to mean; where cells have nothing in
    common, each is left to its own labels. Uncertainty about a, b, τ and κ is part of every interval. What was learned
    is in `audit.belief().summary()`, in words and numbers.

    >>> import fewlabels as fl
    >>> fl.Learned()
    Learned()
    """

    phrase: ClassVar[str] = (
        "How far the classifier's scores can be trusted was learned from the labels of all {nouns} together, so "
        "that {nouns} with few labels profit from the others. A {noun} that is unlike the others can have too short a "
        "range until it has labels of its own, all the more where labels went to few {nouns}."
    )
    looks_at_items: ClassVar[bool] = True

    def belief(self, cells: Cells, counts: NDArray[np.float64], target: Target, labels: Labels | None = None) -> Belief:
        """The belief after labels: from single items where they show right or wrong, from counts where a class."""
        nothing = np.zeros_like(counts)
        if cells.right is not None:
            expected = cells.expectation
            points, weights = learn_rows(expected, counts)
            return RowBelief(nothing, counts, cells.size, target, expectation=expected, points=points, weights=weights)
        if labels is None and counts.any():
            raise InputError("Learned() looks at the labelled items, not only at their counts. Pass labels= as well.")
        strips = cells.strips
        items, outcomes = (np.empty(0, dtype=np.int64),) * 2 if labels is None else labels
        seen = np.bincount(strips.strip[items], minlength=len(strips.size))
        right = np.bincount(strips.strip[items], outcomes == 0, minlength=len(strips.size))
        model = learn(strips, right.astype(float), seen.astype(float)).pruned()
        return ItemBelief(nothing, counts, cells.size, target, model=model, free=strips.size - seen)
