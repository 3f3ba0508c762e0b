"""A belief that allows for wrong labels: the mixture of the beliefs from possible true labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.learned.items import LearnedBelief, Summary, in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fewlabels.belief import Belief, Strata, Target
    from fewlabels.rectified import Rectified

    Part = Belief | Strata | Rectified


@dataclass(frozen=True, eq=False)
class NoisyBelief(LearnedBelief):
    """The mixture of beliefs, each from labels that may all be true. Its counts are their means.

    Parameters
    ----------
    parts
        The beliefs, each with the same weight.
    """

    parts: Sequence[Part] = field(kw_only=True)

    @classmethod
    def of(cls, parts: Sequence[Any]) -> NoisyBelief:
        """Mix beliefs about the same cells."""
        counts = np.mean([part.counts for part in parts], axis=0)
        return cls(np.zeros_like(counts), counts, parts[0].size, parts[0].target, parts=parts)

    @property
    def numbers(self) -> int:
        """The number of values in one draw."""
        return self.parts[0].numbers

    @cached_property
    def alpha(self) -> NDArray[np.float64]:
        """Counts of the Dirichlet with the means, and in all the variances, of the shares among items to be labelled.

        Var = E Var + Var E over the parts, and s + 1 = Σ m(1 − m) / Σ Var.
        """
        means, total = [], 0.0
        for part in self.parts:
            alpha = part.alpha  # type: ignore[union-attr]
            strength = alpha.sum(axis=-1, keepdims=True)
            means.append(alpha / strength)
            total = total + (means[-1] * (1 - means[-1]) / (strength + 1)).sum(axis=-1)
        mean, between = np.mean(means, axis=0), np.var(means, axis=0).sum(axis=-1)
        variance = total / len(self.parts) + between
        size = np.clip((mean * (1 - mean)).sum(axis=-1) / np.maximum(variance, 1e-12) - 1, 1e-2, 1e7)
        counts: NDArray[np.float64] = size[:, None] * mean
        return counts

    def to(self, target: Target) -> NoisyBelief:
        """The belief for another target."""
        return NoisyBelief.of([part.to(target) for part in self.parts])  # type: ignore[union-attr]

    def rows(self, cells: slice | NDArray[np.intp]) -> NoisyBelief:
        """The belief about some of the cells."""
        return NoisyBelief.of([part.rows(cells) for part in self.parts])  # type: ignore[union-attr]

    def single(self, cells: NDArray[np.intp], outcomes: NDArray[np.intp]) -> NoisyBelief:
        """The belief about single shares: an outcome of a cell and all its others, for each of several pairs."""
        return NoisyBelief.of([part.single(cells, outcomes) for part in self.parts])  # type: ignore[union-attr]

    def mean(self) -> NDArray[np.float64]:
        """E θ, shape (cells, outcomes)."""
        mean: NDArray[np.float64] = np.mean([part.mean() for part in self.parts], axis=0)
        return mean

    def variance(self) -> NDArray[np.float64]:
        """Var θ, shape (cells, outcomes): within the parts, and between them."""
        within = np.mean([part.variance() for part in self.parts], axis=0)
        between: NDArray[np.float64] = within + np.var([part.mean() for part in self.parts], axis=0)
        return between

    def shares(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of the shares in the population, shape (n, cells, outcomes)."""
        return self._mixed(rng, n, "shares")

    def draws(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of θ, shape (n, cells, outcomes)."""
        return self._mixed(rng, n, "draws")

    @property
    def averaging(self) -> bool:  # type: ignore[override]
        """Whether all parts have `averages`."""
        return all(getattr(part, "averaging", False) for part in self.parts)

    def averages(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of the share of each outcome among all items, each by itself, shape (n, outcomes)."""
        return self._mixed(rng, n, "averages")

    def _mixed(self, rng: np.random.Generator, n: int, what: str) -> NDArray[np.float64]:
        """Take as many draws of each part, as nearly as can be, in any order."""
        order = rng.permutation(len(self.parts))
        times = np.bincount(order[np.arange(n) % len(order)], minlength=len(order))
        drawn = [getattr(part, what)(rng, int(k)) for part, k in zip(self.parts, times, strict=True) if k]
        return np.concatenate(drawn)[rng.permutation(n)]

    def summary(self) -> Summary:
        """A summary of what was learned about the classifier's scores, on average over the parts."""
        each = [part.summary().numbers for part in self.parts]  # type: ignore[union-attr]
        numbers = {name: float(np.mean([part[name] for part in each])) for name in each[0]}
        for name in ("accuracy", "slope"):
            if f"{name}_sd" in numbers:
                between = float(np.var([part[name] for part in each]))
                within = float(np.mean([part[f"{name}_sd"] ** 2 for part in each]))
                numbers[f"{name}_sd"] = float(np.sqrt(within + between))
        return Summary(in_words(numbers), numbers)
