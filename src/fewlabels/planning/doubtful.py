"""Labels that may be wrong, in a game: each tells as much as a part of a label that is right.

The sampler of true classes, at every look in every world, would take minutes. What it finds is simple, though: a number
that rests on n labels of which some are wrong is as vague as one that rests on k·n labels that are right, with k below
1. So in a game every label is heard with probability k, and the others count as asked and tell nothing. k is measured
on the labels that are there: the sampler has drawn their true classes many times, and the variance between these draws
is what labels that may be wrong add. Before there are enough labels, it is computed from how often labels are wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.estimates import value_draws
from fewlabels.noise import NoisyBelief

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment
    from fewlabels.outcomes import Outcomes
    from fewlabels.planning.asking import Game
    from fewlabels.planning.worlds import World

USUAL = 0.05
"""How often labels are wrong, if nobody says anything."""
# With fewer labels, what they are worth cannot be measured; and draws of each belief where it is.
_FEW, _DRAWS = 30, 200
# The least that a label is taken to be worth: a game must end.
_LEAST = 0.05


def worth_of_label(right: float, wrong: float, classes: int) -> float:
    """What a label that is wrong with probability ε tells about a share θ that is right, in parts of a right label.

    It is the ratio of Fisher's informations, (1 − ε − δ)² θ(1 − θ) / (q(1 − q)), with q = θ(1 − ε) + (1 − θ)δ how often
    such labels agree with the prediction, and δ = ε / (classes − 1) how often they do so by mistake.

    >>> round(worth_of_label(0.94, 0.05, 10), 2), worth_of_label(0.94, 0.0, 10)
    (0.53, 1.0)
    """
    theta = float(np.clip(right, 0.01, 0.99))
    slip = wrong / max(classes - 1, 1)
    says = theta * (1 - wrong) + (1 - theta) * slip
    return max(float((1 - wrong - slip) ** 2 * theta * (1 - theta) / (says * (1 - says))), _LEAST)


@dataclass(frozen=True, eq=False)
class Doubtful:
    """The labels of an assessment that may be wrong.

    Parameters
    ----------
    game
        The assessment as it is now.
    possible
        The labels so far, as often as their true classes were drawn.
    wrong
        How often labels are wrong.
    classes
        The number of classes that a label can be.
    """

    game: Game
    possible: list[Outcomes]
    wrong: float
    classes: int

    @classmethod
    def of(cls, audit: Assessment, game: Game) -> Doubtful:
        """Read the labels of an assessment."""
        items, each = audit.possible_labels()
        metric = game.spec.task.metric
        possible = [metric.outcomes(audit.pool, game.cells, items, true) for true in each]
        return cls(replace(game, known=possible[0]), possible, audit.annotators().floor, len(audit.pool.choices))

    @cached_property
    def parts(self) -> list[object]:
        """The belief of the assessment's prior from each of half the draws."""
        return list(self.game.prior.beliefs(self.possible[::2]))

    @property
    def belief(self) -> NoisyBelief:
        """The belief now."""
        return NoisyBelief.of(self.parts)

    def worth(self, rng: np.random.Generator, *, overall: bool) -> float:
        """The part k of a right label that one is worth: for the number over all items, or for those of groups."""
        cells = self.game.cells
        if len(self.game.known.items) < _FEW:
            return worth_of_label(_share_right(self.belief, self.game), self.wrong, self.classes)
        metric = self.game.spec.task.metric
        drawn = [value_draws(metric, part, cells, rng, _DRAWS) for part in self.parts]  # type: ignore[arg-type]
        values = np.array([one.reshape(_DRAWS, -1) for one in drawn])
        if overall and values.shape[2] == len(cells.partition):
            values = values @ cells.partition.shares[:, None]
        within = float(values.var(axis=1).mean(axis=0).sum())
        between = float(values.mean(axis=1).var(axis=0).sum()) - within / _DRAWS
        return float(np.clip(within / max(within + max(between, 0.0), 1e-12), _LEAST, 1.0))

    def known(self, rng: np.random.Generator) -> Outcomes:
        """Labels that may all be true, for one world."""
        return self.possible[int(rng.integers(len(self.possible)))]


def heard(world: World, worth: float, rng: np.random.Generator) -> World:
    """The world, with labels of which only a part is heard."""
    return replace(world, heard=rng.random(len(world.outcome)) < worth)


def _share_right(belief: NoisyBelief, game: Game) -> float:
    """The share right that is expected over all items, as far as the cells say it; else what is usual."""
    cells = game.cells
    if cells.right is not None or belief.mean().shape[1] != 2:
        return 0.85
    return float(np.average(belief.mean()[:, 0], weights=cells.size))
