"""How often each of several models is right, if labels went where it is open which of them is best.

The belief learns from the items that were asked about: those on which models that may be the best differ. The others
are mostly clearer than these, and no answer shows by how much. That cancels between models that may be the best, since
they agree there; but it decides how often each of them is right, and how far the others are behind. So the log-odds of
what these models say, where no label is wanted, are δ more than the belief has them. Labels that were drawn at random
(anchors) show δ; without any, it is as surveyed below, and intervals are wide.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.learned.models.believed import ModelsBelief
from fewlabels.learned.models.rival import doubt
from fewlabels.learned.models.voices import chances, draw_parameters

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from fewlabels.learned.models.voices import Features

# What δ was on ten pools of 6 to 97 models: mostly small, and large in two of them. Probability, mean and sd.
SURVEY = np.array([[0.65, 0.2, 0.6], [0.35, 2.0, 2.0]])
_GRID = np.linspace(-4.0, 9.0, 105)
# Less than this is worth nothing.
_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class Clearer:
    """What the models that may be the best say about some items, and how little a label is wanted there.

    Parameters
    ----------
    option
        The option that they say, by their probabilities of being the best, shape (items,).
    share
        0 where a label would be worth most, and 1 where it would be worth nothing, shape (items,).
    """

    option: NDArray[np.int64]
    share: NDArray[np.float64]

    def more(
        self, chance: NDArray[np.floating], by: NDArray[np.float64], rows: slice = slice(None)
    ) -> NDArray[np.floating]:
        """P(each option), (items, options + none, draws), with log-odds of what they say `by` more, shape (draws,)."""
        out = chance.copy()
        out[np.arange(len(out)), self.option[rows]] *= np.exp(self.share[rows][:, None] * by)
        out /= out.sum(axis=1, keepdims=True)
        return out


def posterior(clearer: Clearer, chance: NDArray[np.float64], shown: NDArray[np.int64]) -> NDArray[np.float64]:
    """P(each δ of the grid), given the options that anchors showed, by their chances of (anchors, options + none)."""
    weight, mean, sd = SURVEY.T[:, :, None]
    fits = np.log((weight / sd * np.exp(-(((_GRID - mean) / sd) ** 2) / 2)).sum(axis=0))
    at = np.arange(len(shown))
    p = clearer.more(np.repeat(chance[..., None], len(_GRID), axis=2), _GRID)[at, shown]
    fits += np.log(np.maximum(p, 1e-300)).sum(axis=0)
    posterior = np.exp(fits - fits.max())
    return np.asarray(posterior / posterior.sum())


@dataclass(frozen=True, eq=False)
class LevelsBelief(ModelsBelief):
    """The joint belief about several models, for how often each is right: `ModelsBelief` with δ.

    Parameters
    ----------
    before
        The belief without δ.
    clearer
        What the models that may be the best say about the open items.
    delta
        P(each δ of the grid).
    """

    before: ModelsBelief = field(kw_only=True)
    clearer: Clearer = field(kw_only=True)
    delta: NDArray[np.float64] = field(kw_only=True)

    @property
    def plain(self) -> ModelsBelief:
        """The belief that says which model is best."""
        return replace(self.before, target=self.target) if self.before.target != self.target else self.before

    @property
    def levels(self) -> ModelsBelief:
        """The belief about how often each model is right: this one."""
        return self

    @classmethod
    def of(cls, belief: ModelsBelief) -> LevelsBelief:
        """Correct a belief by the labels of its anchors."""
        before = belief = belief.plain
        if belief.learning.panel.answers.models == 2 and not belief.learning.panel.focus:
            # How far two differ is asked in two ways, and has one answer.
            belief = replace(belief, learning=belief.learning.focused((0, 1)))
        learning = belief.learning
        panel, here = learning.panel, np.isin(learning.asked, belief.anchors)
        features = panel.about(learning.asked[here])
        drawn = draw_parameters(learning.points, 0.5, learning.normals)
        chance = chances(features, drawn, slice(None)).mean(axis=2, dtype=float)
        delta = posterior(_clearer(belief, features, chance), chance, learning.place[here])
        clearer = _clearer(belief, learning.features, belief.look.chance)
        made = (belief.prior, belief.counts, belief.size, belief.target)
        return cls(*made, learning=learning, anchors=belief.anchors, before=before, clearer=clearer, delta=delta)

    def changing(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[NDArray[np.floating], slice], NDArray[np.floating]]:
        """The log-odds of what the models that may be the best say are δ more, in each of n draws."""
        by = _GRID[rng.choice(len(_GRID), size=n, p=self.delta)]
        return lambda chance, rows: self.clearer.more(chance, by, rows)


def _clearer(belief: ModelsBelief, features: Features, chance: NDArray[np.float64]) -> Clearer:
    """What is said about some items, to which the belief gives these chances, shape (items, options + none)."""
    panel, open_ = belief.learning.panel, belief.learning.features
    option, share = np.zeros(len(features), dtype=np.int64), np.zeros(len(features))
    if panel.answers.models == 2:  # where two differ, all items are of the kind that is asked about
        return Clearer(option, share)
    for g in range(panel.groups):
        here, best = features.group == g, belief.chances(g)
        if panel.focus:
            best = np.isin(np.arange(len(best)), panel.focus).astype(float)
        support = (features.option[here][:, None] == np.arange(features.width)[:, None]) @ best
        option[here] = support.argmax(axis=1)
        most = _worth(belief, open_.option[open_.group == g], belief.look.chance[open_.group == g], g).max(initial=0.0)
        worth = _worth(belief, features.option[here], chance[here], g)
        share[here] = np.where(support.max(axis=1) > 0, 1 - np.minimum(worth / max(most, _LEAST), 1), 0.0)
    return Clearer(option, share)


def _worth(belief: ModelsBelief, option: NDArray[np.int16], chance: NDArray[np.float64], group: int) -> NDArray[Any]:
    """What a label of some items of a group is worth, shape (items,); if two are compared, 1 where these differ."""
    if belief.learning.panel.focus:
        a, b = belief.learning.panel.focus
        return (option[:, a] != option[:, b]).astype(float)
    lead, rivals = belief.rivals(group)
    return np.sum([rival.weight * doubt(option, chance, lead, rival.model) for rival in rivals], axis=0)
