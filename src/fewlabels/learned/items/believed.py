"""Beliefs that were learned from the labels of all cells, and what was learned, in words."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fewlabels.belief import Belief
from fewlabels.special import betaincinv
from fewlabels.wording import counted, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fewlabels.learned.items.model import Trust

# Log-odds of confidences that are nearer to each other than this are equal.
_EQUAL = 1e-9
# Differences mean about what they say if they are known to mean at least this part of it.
_ABOUT = 0.5


@dataclass(frozen=True)
class Summary:
    """A summary of what was learned about the classifier's scores.

    Parameters
    ----------
    words
        Two to four plain sentences.
    numbers
        By name: `labels`; `confidence` (mean of what the classifier says) and `accuracy` (with `accuracy_sd`) over the
        pool; `slope`, how much a difference in confidence means compared with what it says (1 is just that; with
        `slope_sd`); `difference`, the standard deviation of what groups differ by beyond that, as a share; `worth`, how
        many labels of a group its scores count for. Without scores there is neither confidence nor slope, and no slope
        where all confidences are equal.
    """

    words: str
    numbers: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class LearnedBelief(Belief):
    """A belief about cells that learn from each other; `alpha` has the counts with the same means and variances."""

    conjugate: ClassVar[bool] = False
    averaging: ClassVar[bool] = False

    def matched(self) -> Belief:
        """Independent Dirichlets with the same means and variances."""
        return Belief(self.alpha - self.counts, self.counts, self.size, self.target)

    @abstractmethod
    def summary(self) -> Summary:
        """A summary of what was learned about the classifier's scores, in words and numbers."""


@dataclass(frozen=True, eq=False)
class TrustBelief(LearnedBelief):
    """A belief that rests on the model of items.

    Parameters
    ----------
    model
        The posterior of the model of items.
    free
        Unlabelled items of each strip, shape (strips,).
    answered
        The share of the items of each cell that the classifier answered, shape (cells,); None if it answered all. The
        model is about these; the others are wrong.
    """

    model: Trust = field(kw_only=True)
    free: NDArray[np.int64] = field(kw_only=True)
    answered: NDArray[np.float64] | None = field(default=None, kw_only=True)

    @property
    def open(self) -> NDArray[np.int64]:
        """Items without a label in each of the model's cells, shape (cells,)."""
        return self.left

    def right_moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance of the share right among the items yet to be labelled, two of shape (cells,)."""
        coming = self.free if self.target == "pool" else self.model.strips.size
        mean, variance = self.model.moments(coming)
        if self.answered is not None:
            share = self.answered
            if self.target == "pool":
                free = self.model.strips.by_cell(self.free)
                share = np.where(self.open > 0, free / np.maximum(self.open, 1), share)
            mean, variance = mean * share, variance * share**2
        return np.clip(mean, 1e-6, 1 - 1e-6), variance

    def right_shares(
        self, rng: np.random.Generator, n: int, cells: slice | NDArray[np.intp] = slice(None)
    ) -> NDArray[np.float64]:
        """n draws of the share right in the population behind some of the model's cells, shape (n, cells)."""
        right = self.model.shares(rng, n, self.model.strips.size, cells)
        return right if self.answered is None else right * self.answered[cells]

    def summary(self) -> Summary:
        """A summary of what was learned about the classifier's confidences, in words and numbers.

        >>> import fewlabels as fl
        >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]])
        >>> cells = fl.Accuracy().cells(pool, fl.by_predicted(pool))
        >>> print(fl.Learned().on(cells, "pool").blank().summary().words.split(". ")[3])
        For a group, its confidences count as much as about 5 labels of its own.
        """
        model, said = self.model, self.model.strips.said
        labels = int(np.rint(self.counts.sum()))
        mean, variance = model.overall()
        newcomer = model.newcomer()
        fresh, spread = newcomer.moments(newcomer.strips.size)
        numbers = {
            "labels": labels,
            "accuracy": mean,
            "accuracy_sd": float(np.sqrt(variance)),
            "difference": model.difference(),
            "worth": float(strength(fresh, spread)[0]),
        }
        if said is not None:
            numbers["confidence"] = said
        if said is not None and np.ptp(model.strips.x) > _EQUAL:
            slope, slope_variance = model.slope()
            numbers |= {"slope": slope, "slope_sd": float(np.sqrt(slope_variance))}
        return Summary(in_words(numbers), numbers)


@dataclass(frozen=True, eq=False)
class ItemBelief(TrustBelief):
    """The belief of the model of items about cells whose outcomes are right and wrong."""

    @property
    def numbers(self) -> int:
        """The number of values in one draw."""
        return 2 * len(self.free)

    @cached_property
    def alpha(self) -> NDArray[np.float64]:
        """Counts of the Beta with the mean and variance of the share right among the items yet to be labelled."""
        mean, variance = self.right_moments()
        return strength(mean, variance)[:, None] * np.column_stack([mean, 1 - mean])

    def shares(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of the shares in the population, shape (n, cells, outcomes)."""
        right = self.right_shares(rng, n)
        return np.stack([right, 1 - right], axis=-1)

    def draws(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of θ, shape (n, cells, outcomes); a pool's unlabelled items are drawn by their own confidences."""
        if self.target == "population":
            return self.shares(rng, n)
        rights = self.model.rights(rng, n, self.free)
        return (self.counts + np.stack([rights, self.left - rights], axis=-1)) / self.size[:, None]

    def mixed(self, rng: np.random.Generator, n: int, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """n draws of Σ_c w_c θ_c, shape (n, outcomes); for a population, without draws of every cell."""
        if self.target == "pool" or self.answered is not None:
            return super().mixed(rng, n, weight)
        right = self.model.mixed(rng, n, weight)
        return np.stack([right, 1 - right], axis=-1)


def strength(mean: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
    """The labels that a Beta with this mean and variance counts for: m(1−m)/variance − 1, within bounds."""
    return np.clip(mean * (1 - mean) / np.maximum(variance, 1e-12) - 1, 1e-2, 1e7)


def in_words(numbers: Mapping[str, float]) -> str:
    """The sentences of a summary."""
    labels, worth = int(numbers["labels"]), numbers["worth"]
    begin = f"From {counted(labels, 'label')}" if labels else "Before the first label, going by other classifiers"
    mean, sd = np.array(numbers["accuracy"]), np.array(numbers["accuracy_sd"])
    a, b = strength(mean, sd**2) * mean, strength(mean, sd**2) * (1 - mean)
    within = " and ".join(percent(float(betaincinv(a, b, q))) for q in (0.025, 0.975))
    right = f"is right {percent(float(mean))} of the time (between {within})"
    said = f"this one says {percent(numbers['confidence'])} on average and " if "confidence" in numbers else "this one "
    sentences = [f"{begin}: {said}{right}."]
    if "slope" in numbers:
        low, high = (numbers["slope"] + side * 2 * numbers["slope_sd"] for side in (-1, 1))
        sentences.append(f"Differences in its confidences mean {_meaning(low, high)} (slope {low:.2f} to {high:.2f}).")
    elif "confidence" in numbers:
        sentences.append("All its confidences are equal, so they do not tell items apart.")
    sentences.append(f"Beyond that, groups differ by about ± {percent(2 * numbers['difference'])}.")
    own = counted(max(round(worth), 1), "label")
    source = "its confidences count" if "slope" in numbers else "the other groups count"
    sentences.append(f"For a group, {source} as much as about {own} of its own.")
    return " ".join(sentences)


def _meaning(low: float, high: float) -> str:
    """What differences in confidence mean, where the slope lies between low and high."""
    if high < 0:
        return "the opposite of what they say"
    if low < 0 and high < 1:
        return "little or nothing"
    if low < _ABOUT and high > 1:
        return "something that cannot be told yet"
    if high < 1:
        return "less than they say"
    if low > 1:
        return "more than they say"
    return "about what they say"
