"""The true classes of items on which people voted: draws from what votes, scores and the other labels say together.

The vote of person r on an item of class y is right with probability 1 − ε_ry, and otherwise one of the classes that are
mistaken for y. The item's class is not seen. Gibbs' sampler draws in turn

    the classifier's chances      given the classes of all items: the present model of items, fitted to them;
    the class of each item        given its chances, its votes, and how often these people are wrong: exactly;
    how often people are wrong    given the classes: exactly, on a grid (see `people`).

Each round leaves labels that may all be true. The belief is the mixture of the beliefs that these give: so a label that
may be wrong widens intervals, and is never counted as a fraction of a right one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fewlabels.noise.people import BOTH, Errors, Usual, Votes, pick
from fewlabels.special import logit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.noise.ballots import Ballots

# Rounds that are thrown away, because they remember where the sampler began, and rounds that are kept.
_BURN, _KEPT = 10, 32
# Classes and people depend on each other, so they are drawn in turn this often in a round, for each fit of the chances.
_INNER = 4
# How many mistakes the expected ones count for, of people and of the classifier.
_EXPECTED = 3.0
# How often people who are wrong, about an item that the classifier gets wrong too, say the same as it does, beyond what
# they mistake for each other anyway: what misleads one misleads the other. Measured on CIFAR-10H.
_MISLED = 0.35
# With more classes, the expected kind of mistake is used and not a draw of it.
_MANY = 100
# Confidences nearer to 0 or 1 than this tell nothing more.
_EDGE = 1e-4


class Chance(Protocol):
    """Draws of how probably the classifier is right about each item, given true classes of labelled ones."""

    def __call__(
        self, rng: np.random.Generator, items: NDArray[np.int64], true: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """P(right) of every item of the pool, shape (pool,)."""
        ...


@dataclass(frozen=True, eq=False)
class Imputed:
    """The rounds that were kept.

    Parameters
    ----------
    ballots
        The votes that they are about.
    true
        The class of each item in each round, shape (rounds, items).
    errors
        How often people are wrong, in each round.
    chance
        How probably the classifier is right about each item of the pool before its votes, on average, shape (pool,).
    overall
        The mean of that over the pool, in each round, shape (rounds,).
    probability
        How probable each class is for each item, on average, shape (items, classes).
    doubt
        How unsure the classifier is of each item, shape (items,).
    guess
        The predicted class of each item, shape (items,).
    """

    ballots: Ballots
    true: NDArray[np.int64]
    errors: tuple[Errors, ...]
    chance: NDArray[np.float64]
    overall: NDArray[np.float64]
    probability: NDArray[np.float64]
    doubt: NDArray[np.float64]
    guess: NDArray[np.int64]

    @property
    def items(self) -> NDArray[np.int64]:
        """The items that say something about the classifier, shape (labels,)."""
        return self.ballots.items[self.ballots.evidence]

    @cached_property
    def wrong(self) -> NDArray[np.float64]:
        """The probability of each vote to be wrong, in each round: shape (rounds, votes)."""
        votes = [votes_of(self.ballots, true, self.doubt, self.guess) for true in self.true]
        return np.array([errors.wrong(given) for errors, given in zip(self.errors, votes, strict=True)])

    @property
    def labels(self) -> NDArray[np.int32]:
        """Their classes in each round, shape (rounds, labels)."""
        return self.true[:, self.ballots.evidence].astype(np.int32)


def impute(
    ballots: Ballots,
    predicted: NDArray[np.int64],
    chance: Chance,
    confused: NDArray[np.float64] | None,
    usual: Usual,
    rng: np.random.Generator,
    *,
    confidence: NDArray[np.float64] | None = None,
    kept: int = _KEPT,
    burn: int = _BURN,
) -> Imputed:
    """Draw the true classes of items that people voted about, `kept` times.

    Parameters
    ----------
    predicted
        The predicted class of each item of the pool, shape (pool,); −1 where there is no answer.
    confused
        How much each true class (row) and each other class (column) look alike to the classifier, shape (classes,
        classes); None if nothing is known.
    confidence
        Of each item of the pool, shape (pool,); None if there is none.
    """
    doubt = doubts(confidence, ballots.items)
    guess, evidence = predicted[ballots.items], ballots.evidence
    even = _even(ballots.classes)
    base = even if confused is None else (even + _rows(confused * (even > 0), even)) / 2
    of_guess = even if confused is None else (even + _rows(confused.T * (even > 0), even)) / 2
    true, errors = ballots.majority(), Errors.start(usual, len(ballots.people), ballots.classes)
    trues, found, overall = [], [], []
    chances, probability = np.zeros(len(predicted)), np.zeros((len(ballots.items), ballots.classes))
    for turn in range(burn + kept):
        right = chance(rng, ballots.items[evidence], true[evidence])
        for _ in range(_INNER):
            mistakes = _mistakes(rng, guess, true, of_guess)
            slips = _mistakes(rng, true[ballots.row], ballots.label, base)
            weight = class_chances(ballots, guess, right[ballots.items], mistakes, slips, errors, doubt)
            true = pick(rng, weight)
            errors = errors.drawn(rng, votes_of(ballots, true, doubt, guess), usual)
        if turn >= burn:
            trues.append(true)
            found.append(errors)
            overall.append(right.mean())
            chances += right / kept
            probability += weight / kept
    return Imputed(ballots, np.array(trues), tuple(found), chances, np.array(overall), probability, doubt, guess)


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
    rows = np.arange(len(guess))
    right = np.clip(np.where(guess >= 0, right, 0.0), 1e-9, 1 - 1e-9)
    with np.errstate(divide="ignore"):
        log = np.log1p(-right)[:, None] + np.log(mistakes[guess])
        log[rows[guess >= 0], guess[guess >= 0]] = np.log(right[guess >= 0])
        odds = errors.log_odds(ballots.person, doubt[ballots.row])
        odds += BOTH * (np.arange(ballots.classes) != guess[ballots.row][:, None])
        vote = -np.logaddexp(0, -odds) + np.log(_instead(ballots, guess, slips))
    places = np.arange(len(ballots.label))
    vote[places, ballots.label] = -np.logaddexp(0, odds[places, ballots.label])
    np.add.at(log, ballots.row, vote)
    sure = ballots.known >= 0
    log[sure] = np.where(np.arange(ballots.classes) == ballots.known[sure, None], 0.0, -np.inf)
    weight = np.exp(log - log.max(axis=1, keepdims=True))
    chances: NDArray[np.float64] = weight / weight.sum(axis=1, keepdims=True)
    return chances


def _instead(ballots: Ballots, guess: NDArray[np.int64], slips: NDArray[np.float64]) -> NDArray[np.float64]:
    """How probably each vote is what it is, if it is wrong and its item is of each class: shape (votes, classes)."""
    said, plain = guess[ballots.row], slips[:-1, ballots.label].T
    # Where the prediction is right, or there is none, nobody can be misled by what misled the classifier.
    misled = np.where((said[:, None] >= 0) & (np.arange(ballots.classes) != said[:, None]), _MISLED, 0.0)
    return (1 - misled) * plain + misled * (ballots.label == said)[:, None]


def votes_of(ballots: Ballots, true: NDArray[np.int64], doubt: NDArray[np.float64], guess: NDArray[np.int64]) -> Votes:
    """The votes if these are the true classes of the items; doubt and prediction of each are given, shape (items,)."""
    given = true[ballots.row]
    return Votes(ballots.label != given, ballots.person, given, doubt[ballots.row], given != guess[ballots.row])


def doubts(confidence: NDArray[np.float64] | None, items: NDArray[np.int64]) -> NDArray[np.float64]:
    """How unsure the classifier is of some items, in standard deviations of the pool, shape (items,); 0 without scores.

    >>> doubts(np.array([0.5, 0.9, 0.9]), np.array([0, 1])).round(2)
    array([ 1.41, -0.71])
    """
    if confidence is None:
        return np.zeros(len(items))
    x = -logit(np.clip(confidence, _EDGE, 1 - _EDGE))
    found: NDArray[np.float64] = ((x - x.mean()) / max(float(x.std()), 1e-9))[items]
    return found


def _mistakes(
    rng: np.random.Generator, of: NDArray[np.int64], into: NDArray[np.int64], base: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Draw which class it is instead, where it is not the one: Dirichlet(expected + those found) in each row.

    One more row, the last, is that of items without an answer.
    """
    classes = len(base)
    found = np.zeros((classes, classes))
    other = (of != into) & (of >= 0)
    np.add.at(found, (of[other], into[other]), 1)
    alpha = _EXPECTED * base + found
    draw = rng.standard_gamma(alpha) + 1e-12 * (base > 0) if classes <= _MANY else alpha
    none = np.full((1, classes), 1 / classes)
    return np.concatenate([draw / np.maximum(draw.sum(axis=1, keepdims=True), 1e-300), none])


def _even(classes: int) -> NDArray[np.float64]:
    """Every other class alike."""
    return (1 - np.eye(classes)) / max(classes - 1, 1)


def _rows(values: NDArray[np.float64], instead: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows that add up to 1; those without any value are as in `instead`."""
    total = values.sum(axis=1, keepdims=True)
    return np.where(total > 0, values / np.maximum(total, 1e-300), instead)
