"""When to ask a second person about an item instead of asking about a new one: when that lowers the variance more."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fewlabels.special import expit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.noise.chain import Imputed

# A second vote on an item where both people are probably right still tells something about people: two votes of which
# each is wrong with probability ε differ with probability about 2ε, so their information about ε is about 2/ε.
_PAIRED = 2.0


class Worth(NamedTuple):
    """How much one more vote is expected to lower the variance of the number over all items.

    Parameters
    ----------
    new
        A first vote, about a new item.
    again
        One more vote about each item that has some, shape (items,); 0 where its class is known.
    """

    new: float
    again: NDArray[np.float64]


def worth(imputed: Imputed, predicted: NDArray[np.int64]) -> Worth:
    """The worth of a new item, and of one more vote about each item that has some.

    Let w be the probability that the prediction of an item is right, and p that before its votes. In log-odds, the
    labels tell about the classifier I = Σ Var w, so that one more vote lowers the variance V of the number over all
    items from V to V·I/(I + g), with g the variance of w that this vote is expected to bring: w moves towards 0 or 1 by
    what somebody says who is wrong with probability ε. The part of V that comes from not knowing ε is b² Var ε, with b
    the regression of the number on ε over the rounds: only votes that can be compared lower it.

    Parameters
    ----------
    predicted
        The predicted class of each item of the pool, shape (pool,).
    """
    ballots = imputed.ballots
    no_votes = not len(ballots.row)
    general = expit([e.general for e in imputed.errors]) if no_votes else imputed.wrong.mean(axis=1)
    error, spread = float(general.mean()), float(general.var())
    total = float(imputed.overall.var()) + 1e-12
    slope = float(np.cov(general, imputed.overall)[0, 1]) / max(spread, 1e-12)
    of_people = min(slope**2 * spread, 0.9 * total)
    rest = total - of_people
    # A vote that is wrong and says what was predicted is rarer the more classes there are.
    slip = error / max(ballots.classes - 1, 1)
    first = float(np.average(_moves(imputed.chance, error, slip), weights=imputed.count))
    labels = max(len(imputed.items) * first, first)
    right = _at(imputed.probability, predicted[ballots.items])
    moves = np.where(ballots.known >= 0, 0.0, _moves(right, error, slip))
    paired = _PAIRED * spread / error
    again = rest * moves / (labels + moves) + of_people * paired / (1 + paired) * (ballots.known < 0)
    return Worth(rest * first / (labels + first), again)


def _moves(right: NDArray[np.float64], error: float, slip: float) -> NDArray[np.float64]:
    """Var w by one more vote: it says what was predicted, or something else."""
    says = right * (1 - error) + (1 - right) * slip
    yes = right * (1 - error) / np.maximum(says, 1e-12)
    no = right * error / np.maximum(1 - says, 1e-12)
    moved: NDArray[np.float64] = says * (yes - right) ** 2 + (1 - says) * (no - right) ** 2
    return moved


def _at(probability: NDArray[np.float64], guess: NDArray[np.int64]) -> NDArray[np.float64]:
    """The probability that the prediction is right, shape (items,); 0 where there is none."""
    right: NDArray[np.float64] = np.where(guess >= 0, probability[np.arange(len(guess)), guess], 0.0)
    return right
