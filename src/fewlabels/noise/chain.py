"""The true classes of items on which people voted: draws from what votes, scores and the other labels say together.

The vote of person r on an item of class y is right with probability 1 − ε_ry, and otherwise one of the classes that are
mistaken for y. The item's class is not seen. Gibbs' sampler draws in turn

    the classifier's chances      given the classes of all items: the present model of items, fitted to them;
    the class of each item        given its chances, its votes, and how often these people are wrong: exactly;
    how often people are wrong    given the classes: exactly, on a grid (see `people`).

Where people are seldom compared, a classifier that is better and people who are worse explain the votes as well as the
reverse, and such a sampler moves along that ridge only slowly. So it begins several times, each time at a level of the
classifier and of people that is drawn from what the votes say of the two, with the classes summed over (`starts`).

Each round leaves labels that may all be true. The belief is the mixture of the beliefs that these give: so a label that
may be wrong widens intervals, and is never counted as a fraction of a right one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from fewlabels.noise.likelihood import class_chances, even_mistakes, mistakes_drawn, rows_of
from fewlabels.noise.people import Errors, Usual, Votes, pick
from fewlabels.noise.starts import starts
from fewlabels.special import logit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fewlabels.noise.ballots import Ballots

    Draw = Callable[[np.random.Generator], NDArray[np.float64]]

# Rounds that are thrown away after each beginning, because they remember it; rounds that are kept; and beginnings.
# Where single votes leave it open who is wrong, a round is near its beginning: so there are as many as are kept.
_BURN, _KEPT, _CHAINS = 2, 32, 32
# Classes and people depend on each other, so they are drawn in turn this often in a round, for each fit of the chances.
_INNER = 4
# Confidences nearer to 0 or 1 than this tell nothing more.
_EDGE = 1e-4


class Chance(Protocol):
    """How probably the classifier is right about each item, given true classes of labelled ones."""

    def __call__(self, items: NDArray[np.int64], true: NDArray[np.int64]) -> Sequence[Draw]:
        """For each version of the classes, shape (versions, items), what draws P(right) of every item of the pool."""
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
    count
        How many items each row of the pool stands for, shape (pool,); None if each is one.
    """

    ballots: Ballots
    true: NDArray[np.int64]
    errors: tuple[Errors, ...]
    chance: NDArray[np.float64]
    overall: NDArray[np.float64]
    probability: NDArray[np.float64]
    doubt: NDArray[np.float64]
    guess: NDArray[np.int64]
    count: NDArray[np.int64] | None = None

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
        """The classes of the items that say something about the classifier, in each round, shape (rounds, labels)."""
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
    count: NDArray[np.int64] | None = None,
    kept: int = _KEPT,
    burn: int = _BURN,
    chains: int = _CHAINS,
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
    count
        How many items each row of the pool stands for, shape (pool,); None if each is one.
    kept, burn, chains
        The sampler begins `chains` times, and forgets the first `burn` rounds each time.
    """
    doubt = doubts(confidence, ballots.items, count)
    guess, evidence = predicted[ballots.items], ballots.evidence
    even = even_mistakes(ballots.classes)
    base = even if confused is None else (even + rows_of(confused * (even > 0), even)) / 2
    of_guess = even if confused is None else (even + rows_of(confused.T * (even > 0), even)) / 2
    begun = starts(ballots, guess, chance, (of_guess, base), usual, doubt, rng, chains, count)
    own = zip(begun, rng.spawn(chains), _shared(kept, chains), strict=True)
    of_all = [Chain(true, errors, stream, many) for (true, errors), stream, many in own]
    chances = np.zeros(len(predicted))
    for turn in range(-burn, -(-kept // chains)):
        going = [chain for chain in of_all if turn < chain.kept]
        # The chains go on side by side, because all their fits at once take a part of the time.
        drawn = chance(ballots.items[evidence], np.array([chain.true[evidence] for chain in going]))
        for chain, draw in zip(going, drawn, strict=True):
            right = draw(chain.rng)
            for _ in range(_INNER):
                mistakes = mistakes_drawn(chain.rng, guess, chain.true, of_guess)
                slips = mistakes_drawn(chain.rng, chain.true[ballots.row], ballots.label, base)
                weight = class_chances(ballots, guess, right[ballots.items], mistakes, slips, chain.errors, doubt)
                chain.true = pick(chain.rng, weight)
                chain.errors = chain.errors.drawn(chain.rng, votes_of(ballots, chain.true, doubt, guess), usual)
            if turn >= 0:
                chain.rounds.append(Round(chain.true, chain.errors, float(np.average(right, weights=count)), weight))
                chances += right / kept
    rounds = [state for chain in of_all for state in chain.rounds]
    return Imputed(
        ballots,
        np.array([state.true for state in rounds]),
        tuple(state.errors for state in rounds),
        chances,
        np.array([state.overall for state in rounds]),
        np.mean([state.probability for state in rounds], axis=0),
        doubt,
        guess,
        count,
    )


class Round(NamedTuple):
    """One round that is kept: classes of the items, errors of people, mean chance of the pool, chances of classes."""

    true: NDArray[np.int64]
    errors: Errors
    overall: float
    probability: NDArray[np.float64]


@dataclass(eq=False)
class Chain:
    """One run of the sampler: where it is, its generator, how many rounds it keeps, and those that it has kept."""

    true: NDArray[np.int64]
    errors: Errors
    rng: np.random.Generator
    kept: int
    rounds: list[Round] = field(default_factory=list)


def _shared(kept: int, chains: int) -> list[int]:
    """How many rounds each beginning keeps: as equal as can be."""
    return [kept * (i + 1) // chains - kept * i // chains for i in range(chains)]


def votes_of(ballots: Ballots, true: NDArray[np.int64], doubt: NDArray[np.float64], guess: NDArray[np.int64]) -> Votes:
    """The votes if these are the true classes of the items; doubt and prediction of each are given, shape (items,)."""
    given = true[ballots.row]
    return Votes(ballots.label != given, ballots.person, given, doubt[ballots.row], given != guess[ballots.row])


def doubts(
    confidence: NDArray[np.float64] | None, items: NDArray[np.int64], count: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """How unsure the classifier is of some items, in standard deviations of the pool, shape (items,); 0 without scores.

    Each row of the pool counts for as many items as it stands for, shape (pool,).

    >>> doubts(np.array([0.5, 0.9, 0.9]), np.array([0, 1])).round(2)
    array([ 1.41, -0.71])
    """
    if confidence is None:
        return np.zeros(len(items))
    x = -logit(np.clip(confidence, _EDGE, 1 - _EDGE))
    away = x - np.average(x, weights=count)
    worth: NDArray[np.float64] = (away / max(float(np.sqrt(np.average(away**2, weights=count))), 1e-9))[items]
    return worth
