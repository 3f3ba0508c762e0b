"""Every metric of one of several models, from joint draws of the true classes of all items."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.learned.items.believed import LearnedBelief, Summary, strength
from fewlabels.learned.models.voices import draw_chances

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fewlabels.belief import Belief, Target
    from fewlabels.learned.models.believed import ModelsBelief

# Draws behind means and variances, and their generator; and draws that are made at once.
_LOOKS, _SEED, _AT_ONCE = 160, 0x7472757468, 40


@dataclass(frozen=True, eq=False)
class TruthBelief(LearnedBelief):
    """What the joint belief about several models says about the outcomes of the cells of any metric.

    Where models differ, the true class is one of their answers; where none of them is right, it is another class, by
    the share of the classes among labels and answers. So a metric that needs the true class rests on what the labels
    show, and for the rest on this rule: a wide interval is then as it should be.

    Parameters
    ----------
    joint
        The belief about all models.
    true
        The true class of each item as far as labels show it, −1 elsewhere, shape (items,).
    shown
        From true classes of all items, shape (items,), to the outcome that each would show, shape (items,).
    cell
        The cell of each item, shape (items,).
    classes
        How many classes there are.
    """

    joint: ModelsBelief = field(kw_only=True)
    true: NDArray[np.int32] = field(kw_only=True)
    shown: Callable[[NDArray[np.int32]], NDArray[np.int64]] = field(kw_only=True)
    cell: NDArray[np.int64] = field(kw_only=True)
    classes: int = field(kw_only=True)

    @property
    def numbers(self) -> int:
        """The number of values in one draw."""
        return self.joint.numbers

    @cached_property
    def _look(self) -> NDArray[np.float64]:
        """Draws that are always the same for the same labels, shape (draws, cells, outcomes)."""
        return self.draws(np.random.default_rng(_SEED), _LOOKS)

    def mean(self) -> NDArray[np.float64]:
        """E θ, shape (cells, outcomes)."""
        return np.asarray(self._look.mean(axis=0))

    def variance(self) -> NDArray[np.float64]:
        """Var θ, shape (cells, outcomes)."""
        return np.asarray(self._look.var(axis=0))

    @cached_property
    def alpha(self) -> NDArray[np.float64]:
        """Counts of the Dirichlet with the mean, and the variance of the commonest outcome, of each cell."""
        mean = np.clip(self.mean(), 1e-6, 1 - 1e-6)
        most, rows = mean.argmax(axis=1), np.arange(len(mean))
        return strength(mean[rows, most], self.variance()[rows, most])[:, None] * mean

    def to(self, target: Target) -> Belief:
        """The belief for another target."""
        return replace(self, joint=replace(self.joint, target=target), target=target)

    def shares(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of the shares in the population, shape (n, cells, outcomes)."""
        return replace(self, target="population").draws(rng, n)

    def draws(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of θ, shape (n, cells, outcomes). The pool is a sample of the population: Dirichlet(counts)."""
        cells, outcomes = self.counts.shape
        out = np.empty((n, cells, outcomes))
        for first in range(0, n, _AT_ONCE):
            for i, true in enumerate(self._truths(rng, min(_AT_ONCE, n - first))):
                at = self.cell * outcomes + self.shown(true)
                out[first + i] = np.bincount(at, minlength=cells * outcomes).reshape(cells, outcomes)
        if self.target == "population":
            # A Dirichlet by Gammas; an outcome that no item shows in a draw keeps a little of its own.
            out = rng.gamma(out + 1e-3)
        total = out.sum(axis=2, keepdims=True)
        return out / np.where(total > 0, total, 1.0)

    def _truths(self, rng: np.random.Generator, n: int) -> NDArray[np.int32]:
        """n draws of the true class of every item, shape (n, items)."""
        learning = self.joint.learning
        panel = learning.panel
        answers = panel.answers.said
        true = np.repeat(self.true[None], n, axis=0)
        if len(learning.open):
            plain = draw_chances(learning.features, learning.points, rng, n)
            chance = self.joint.changing(rng, n)(plain, slice(None))
            option = (rng.random((len(learning.open), 1, n)) > chance.cumsum(axis=1)).sum(axis=1)
            # "None of them" has the last place, and no class.
            true[:, learning.open] = np.take_along_axis(self._named, np.minimum(option, self._named.shape[1] - 1), 1).T
        if learning.trust is not None:
            right = learning.trust.draws(rng, n)[:, learning.trust.strips.strip]
            drawn = np.where(rng.random(right.shape) < right, answers[panel.agreed, 0], -1)
            free = self.true[panel.agreed] < 0
            true[:, panel.agreed[free]] = drawn[:, free]
        row, item = np.nonzero(true < 0)
        true[row, item] = self._others(answers[item], rng)
        return true

    @cached_property
    def _named(self) -> NDArray[np.int32]:
        """The class of each option of the open items, shape (open, options + none); −1 for none."""
        learning = self.joint.learning
        option, answers = learning.features.option, learning.panel.answers.said[learning.open]
        named = np.full((len(option), learning.features.width + 1), -1, dtype=np.int32)
        for h in range(option.shape[1]):
            rows = np.flatnonzero(option[:, h] >= 0)
            named[rows, option[rows, h]] = answers[rows, h]
        return named

    @cached_property
    def _common(self) -> NDArray[np.float64]:
        """The share of each class among labels and answers, shape (classes,)."""
        said = self.joint.learning.panel.answers.said
        answers = np.bincount(said[said >= 0], minlength=self.classes) / max(said.shape[1], 1)
        return np.bincount(self.true[self.true >= 0], minlength=self.classes) + answers + 1.0

    def _others(self, said: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.int32]:
        """A class that no model names, for each row of answers, by how common the classes are."""
        if not len(said):
            return np.empty(0, dtype=np.int32)
        weight = np.repeat(self._common[None], len(said), axis=0)
        for h in range(said.shape[1]):
            rows = np.flatnonzero(said[:, h] >= 0)
            weight[rows, said[rows, h]] = 0.0
        weight += 1e-12  # if all classes are named, any
        edges = weight.cumsum(axis=1)
        return (rng.random((len(said), 1)) * edges[:, -1:] > edges).sum(axis=1).astype(np.int32)

    def summary(self) -> Summary:
        """A summary of what was learned about where the models agree and differ."""
        return self.joint.summary()
