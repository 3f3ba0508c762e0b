"""Labels that may be wrong, in a simulated assessment: each is worth a fraction of a right label.

The sampler of true classes, at every look in every world, would take minutes. But the result is simple: n labels of
which some are wrong are worth k·n labels that are right, with k below 1. k depends on the item: where the classifier is
sure, somebody who contradicts it is probably wrong, and such a vote says little.

So in a game the label of each item counts with probability k; the others count as asked but say nothing. If the rule is
only about the interval of the average, all labels count, and the interval is widened instead: from the width that is
shown now towards 1/√k times that of right labels (`Watch.begin`). Otherwise the average would depend on which labels
happen to count, from the first look on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.noise import NoisyBelief

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.assessment import Assessment
    from fewlabels.outcomes import Outcomes
    from fewlabels.planning.asking import Game
    from fewlabels.planning.worlds import World
    from fewlabels.stopping import Stop

USUAL = 0.05
"""How often labels are wrong, if nobody says anything."""
# How far chances of being right are kept from 0 and 1, and the least that a label is worth: a game must end.
_EDGE, _LEAST = 0.01, 0.05


def worth_of_label(right: NDArray[np.float64], wrong: float, classes: int) -> NDArray[np.float64]:
    """What a label that is wrong with probability ε is worth, as a share of a right label, where right ones show θ.

    It is the ratio of Fisher's informations, k = (1 − ε − δ)² θ(1 − θ) / (q(1 − q)), with q = θ(1 − ε) + (1 − θ)δ how
    often such labels agree with the prediction, and δ = ε / (classes − 1) how often they do so by mistake. θ is how
    probably the prediction of each item is right, of any shape.

    >>> worth_of_label(np.array([0.94, 0.6]), 0.05, 10).round(2)
    array([0.53, 0.87])
    """
    theta = np.clip(right, _EDGE, 1 - _EDGE)
    slip = wrong / max(classes - 1, 1)
    says = theta * (1 - wrong) + (1 - theta) * slip
    worth: NDArray[np.float64] = (1 - wrong - slip) ** 2 * theta * (1 - theta) / (says * (1 - says))
    return np.maximum(worth, _LEAST)


def heard(world: World, wrong: float, classes: int, rng: np.random.Generator) -> World:
    """The world with labels of which some are wrong: only a part of them counts."""
    assert world.chance is not None
    return replace(world, heard=rng.random(len(world.outcome)) < worth_of_label(world.chance, wrong, classes))


def worth_on_average(world: World, wrong: float, classes: int, count: NDArray[np.int64] | None = None) -> float:
    """The k of all items together: Σ k v / Σ v, with v = θ(1 − θ) the worth of a right label of each.

    A row counts for as many items as it stands for, shape (pool,).
    """
    assert world.chance is not None
    theta = np.clip(world.chance, _EDGE, 1 - _EDGE)
    return float(
        np.average(worth_of_label(theta, wrong, classes), weights=theta * (1 - theta) * (1 if count is None else count))
    )


@dataclass(frozen=True, eq=False)
class Doubtful:
    """The labels of an assessment that may be wrong.

    Parameters
    ----------
    game
        The assessment as it is now.
    possible
        The labels so far, once for each time that their true classes were drawn.
    wrong
        How often labels are wrong, each time that they were drawn, shape (times,).
    classes
        The number of classes that a label can be.
    """

    game: Game
    possible: list[Outcomes]
    wrong: NDArray[np.float64]
    classes: int

    @classmethod
    def of(cls, audit: Assessment, game: Game) -> Doubtful:
        """Read the labels of an assessment."""
        items, each = audit.possible_labels()
        metric = game.spec.task.metric
        possible = [metric.outcomes(audit.pool, game.cells, items, true) for true in each]
        wrong = np.array(audit.annotators().each)
        return cls(replace(game, known=possible[0]), possible, wrong, len(audit.pool.choices))

    @cached_property
    def belief(self) -> NoisyBelief:
        """The belief now, from half the draws."""
        return NoisyBelief.of(self.game.prior.beliefs(self.possible[::2]))

    def time(self, rng: np.random.Generator) -> int:
        """One draw of the true classes, for one world: its labels, and how often they are wrong.

        Few labels leave it open how often people are wrong, and the two go together: the more of the contradicting
        votes are mistakes of people, the fewer are the classifier's.
        """
        return int(rng.integers(len(self.possible)))

    def doubted(self, world: World, stop: Stop, time: int, rng: np.random.Generator) -> tuple[World, float]:
        """The world with its labels in doubt, and what a label played there is worth, as a share of a right label."""
        wrong = float(self.wrong[time])
        if stop.rules.keys() & {"width", "probability"}:
            return heard(world, wrong, self.classes, rng), 1.0
        return world, worth_on_average(world, wrong, self.classes, self.game.cells.partition.count)
