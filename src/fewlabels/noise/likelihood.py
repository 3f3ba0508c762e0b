"""How probable a class is for an item: what its prediction says, and what each vote about it says.

    P(y) ∝ P(y | prediction) Π_r P(vote of r | y)

Which classes are taken for each other, by the classifier and by people, is drawn here too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.noise.people import BOTH, Errors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.noise.ballots import Ballots

# How many mistakes the expected ones count for, of people and of the classifier.
_EXPECTED = 3.0
# How often people who are wrong, about an item that the classifier gets wrong too, say the same as it does, beyond what
# they mistake for each other anyway: what misleads one misleads the other. Measured on CIFAR-10H.
_MISLED = 0.35
# With more classes, the expected kind of mistake is used and not a draw of it.
_MANY = 100


def log_of_prediction(
    guess: NDArray[np.int64], right: NDArray[np.float64], mistakes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """log P(y | prediction) for each item and class, shape (items, classes)."""
    right = np.clip(np.where(guess >= 0, right, 0.0), 1e-9, 1 - 1e-9)
    with np.errstate(divide="ignore"):
        log: NDArray[np.float64] = np.log1p(-right)[:, None] + np.log(mistakes[guess])
    answered = np.flatnonzero(guess >= 0)
    log[answered, guess[answered]] = np.log(right[answered])
    return log


def log_of_votes(
    ballots: Ballots, guess: NDArray[np.int64], slips: NDArray[np.float64], errors: Errors, doubt: NDArray[np.float64]
) -> NDArray[np.float64]:
    """log Π_r P(vote of r | y) for each item and class, shape (items, classes); −∞ for all but a known class."""
    odds = errors.log_odds(ballots.person, doubt[ballots.row])
    odds += BOTH * (np.arange(ballots.classes) != guess[ballots.row][:, None])
    right = -np.log1p(np.exp(odds))  # odds are small enough for e^odds
    with np.errstate(divide="ignore"):
        vote = odds + right + np.log(_instead(ballots, guess, slips))
    places = np.arange(len(ballots.label))
    vote[places, ballots.label] = right[places, ballots.label]
    log = np.zeros((len(guess), ballots.classes))
    np.add.at(log, ballots.row, vote)
    sure = ballots.known >= 0
    log[sure] = np.where(np.arange(ballots.classes) == ballots.known[sure, None], log[sure], -np.inf)
    return log


def class_chances(
    ballots: Ballots,
    guess: NDArray[np.int64],
    right: NDArray[np.float64],
    mistakes: NDArray[np.float64],
    slips: NDArray[np.float64],
    errors: Errors,
    doubt: NDArray[np.float64],
) -> NDArray[np.float64]:
    """How probable each class is for each item: P(y) ∝ P(y | prediction) Π_r P(vote of r | y), (items, classes)."""
    log = log_of_prediction(guess, right, mistakes) + log_of_votes(ballots, guess, slips, errors, doubt)
    sure = ballots.known >= 0
    log[sure] = np.where(np.arange(ballots.classes) == ballots.known[sure, None], 0.0, -np.inf)
    weight = np.exp(log - log.max(axis=1, keepdims=True))
    chances: NDArray[np.float64] = weight / weight.sum(axis=1, keepdims=True)
    return chances


def _instead(ballots: Ballots, guess: NDArray[np.int64], slips: NDArray[np.float64]) -> NDArray[np.float64]:
    """How probably each vote is what it is, if it is wrong and its item is of each class: shape (votes, classes)."""
    predicted, plain = guess[ballots.row], slips[:-1, ballots.label].T
    # Where the prediction is right, or there is none, nobody can be misled by what misled the classifier.
    misled = np.where((predicted[:, None] >= 0) & (np.arange(ballots.classes) != predicted[:, None]), _MISLED, 0.0)
    return (1 - misled) * plain + misled * (ballots.label == predicted)[:, None]


def mistakes_drawn(
    rng: np.random.Generator, of: NDArray[np.int64], into: NDArray[np.int64], base: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Draw which class it is instead, where it is not the one: Dirichlet(expected + those found) in each row.

    One more row, the last, is that of items without an answer.
    """
    classes = len(base)
    mistaken = np.zeros((classes, classes))
    other = (of != into) & (of >= 0)
    np.add.at(mistaken, (of[other], into[other]), 1)
    alpha = _EXPECTED * base + mistaken
    draw = rng.standard_gamma(alpha) + 1e-12 * (base > 0) if classes <= _MANY else alpha
    return with_none(draw / np.maximum(draw.sum(axis=1, keepdims=True), 1e-300))


def with_none(mistakes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rows with one more, that of items without an answer: they may be of any class."""
    return np.concatenate([mistakes, np.full((1, len(mistakes)), 1 / len(mistakes))])


def even_mistakes(classes: int) -> NDArray[np.float64]:
    """Every other class alike."""
    return (1 - np.eye(classes)) / max(classes - 1, 1)


def rows_of(values: NDArray[np.float64], instead: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows that add up to 1; those without any value are as in `instead`."""
    total = values.sum(axis=1, keepdims=True)
    return np.where(total > 0, values / np.maximum(total, 1e-300), instead)
