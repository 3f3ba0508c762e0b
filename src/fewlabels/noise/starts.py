"""Where the sampler begins: a level of the classifier and of people, drawn from what the votes say of the two together.

Let right_i be the chances of a classifier that is fitted to the majority of the votes, and then to classes that are
drawn so, and p_i(s) = σ(logit right_i + s) those of one that is better or worse than it looks. With m the log-odds that
a vote is wrong, summed over classes,

    P(s, m | votes) ∝ P(level of p(s)) P(m) Π_i Σ_y P(y | p_i(s)) Π_r P(vote of r | y, m),

which is computed on a grid. The prior of the level is what the model of items says before any label. Here m stands for
all who voted and for the classes that they voted about, so its prior is that of the mean over these.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.noise.likelihood import class_chances, log_of_prediction, log_of_votes, with_none
from fewlabels.noise.people import GRID, Errors, Usual, pick
from fewlabels.special import expit, logit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.noise.ballots import Ballots
    from fewlabels.noise.chain import Chance

# How much better than it looks the classifier may be, in log-odds; and every which point of the grid of people is used.
_SHIFT = np.linspace(-1.2, 3.4, 24)
_EVERY = 4
# Draws from which the prior of the classifier's level is taken, and the least that it is taken to spread.
_PRIOR_DRAWS, _LEAST_SPREAD = 40, 0.1
# The majority makes a classifier look worse where it is sure. So its chances are fitted to classes that are drawn, some
# times, and these are drawn again, in this many stages.
_STAGES, _FEW = 3, 8
# With more items than this, the votes about a random part of them say where to begin.
_MOST = 1_000
_EDGE = 1e-6


def starts(
    ballots: Ballots,
    guess: NDArray[np.int64],
    chance: Chance,
    taken_for: tuple[NDArray[np.float64], NDArray[np.float64]],
    usual: Usual,
    doubt: NDArray[np.float64],
    rng: np.random.Generator,
    times: int,
    count: NDArray[np.int64] | None = None,
) -> list[tuple[NDArray[np.int64], Errors]]:
    """Classes of the items, shape (items,), and how often people are wrong, several times.

    Parameters
    ----------
    guess, doubt
        The predicted class of each item, and how unsure the classifier is of it, two of shape (items,).
    taken_for
        Which classes the classifier, and which people, take for which: expected shares, two of shape (classes,
        classes).
    count
        How many items each row of the pool stands for, shape (pool,); None if each is one.
    """
    most, evidence = ballots.majority(), ballots.evidence
    plain = Errors.start(usual, len(ballots.people), ballots.classes)
    if not len(ballots.row):
        return [(most, plain)] * times
    spread = _level_prior(chance, rng, count)
    # Both as expected: mistakes that the majority shows would speak for the classifier's, since most votes are alone.
    taken = with_none(taken_for[0]), with_none(taken_for[1])
    begun = [(most, plain)]
    for stage in range(_STAGES):
        drawn = chance(ballots.items[evidence], np.array([true[evidence] for true, _ in begun]))
        odds = np.mean([logit(np.clip(draw(rng), _EDGE, 1 - _EDGE)) for draw in drawn], axis=0)
        many = times if stage == _STAGES - 1 else _FEW
        begun = _begun(ballots, guess, odds, spread, taken, usual, doubt, rng, many, count)
    return begun


def _begun(
    ballots: Ballots,
    guess: NDArray[np.int64],
    odds: NDArray[np.float64],
    spread: tuple[float, float],
    taken: tuple[NDArray[np.float64], NDArray[np.float64]],
    usual: Usual,
    doubt: NDArray[np.float64],
    rng: np.random.Generator,
    times: int,
    count: NDArray[np.int64] | None,
) -> list[tuple[NDArray[np.int64], Errors]]:
    """Classes and errors, several times, from log-odds of being right that may all be better or worse: (pool,)."""
    evidence, (mistakes, slips) = ballots.evidence, taken
    plain = Errors.start(usual, len(ballots.people), ballots.classes)
    grid = GRID[::_EVERY]
    own = np.where(evidence, odds[ballots.items], 0.0)
    means = [np.average(expit(odds + shift), weights=count) for shift in _SHIFT]
    level = logit(np.clip(means, _EDGE, 1 - _EDGE))
    predicted = [log_of_prediction(guess, expit(own + shift), mistakes) for shift in _SHIFT]
    heard = [log_of_votes(ballots, guess, slips, _alike(plain, m), doubt) for m in grid]
    some = rng.permutation(len(guess))[:_MOST]
    fits = _evidence_of(np.array(predicted)[:, some], np.array(heard)[:, some], evidence[some])
    fits *= len(guess) / len(some)
    fits += usual.log_prior_of_level(ballots.person, ballots.majority()[ballots.row])[::_EVERY]
    fits -= ((level - spread[0]) / spread[1])[:, None] ** 2 / 2
    begun = []
    for place in _spread_out(rng, np.exp(fits - fits.max()).ravel(), times).tolist():
        s, m = np.unravel_index(place, fits.shape)
        shift = _SHIFT[s] + (rng.random() - 0.5) * (_SHIFT[1] - _SHIFT[0])
        errors = _alike(plain, grid[m] + (rng.random() - 0.5) * (grid[1] - grid[0]))
        chances = class_chances(ballots, guess, expit(own + shift), mistakes, slips, errors, doubt)
        begun.append((pick(rng, chances), errors))
    return begun


def _spread_out(rng: np.random.Generator, weight: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Places drawn with these weights, at even distances along their sum: so they reach as far as the weights do.

    >>> sorted(_spread_out(np.random.default_rng(0), np.array([1.0, 1.0, 2.0]), 4).tolist())
    [0, 1, 2, 2]
    """
    edges = np.cumsum(weight)
    places = np.searchsorted(edges, (np.arange(count) + rng.random()) / count * edges[-1])
    return rng.permutation(np.minimum(places, len(weight) - 1))


def _level_prior(chance: Chance, rng: np.random.Generator, count: NDArray[np.int64] | None) -> tuple[float, float]:
    """Mean and standard deviation of the log-odds of the share right, before any label."""
    (draw,) = chance(np.empty(0, dtype=np.int64), np.empty((1, 0), dtype=np.int64))
    level = [np.average(draw(rng), weights=count) for _ in range(_PRIOR_DRAWS)]
    drawn = logit(np.clip(level, _EDGE, 1 - _EDGE))
    return float(drawn.mean()), max(float(drawn.std(ddof=1)), _LEAST_SPREAD)


def _alike(errors: Errors, m: float) -> Errors:
    """Everybody is wrong with the same log-odds m."""
    return replace(errors, general=float(m), person=np.full(len(errors.person), float(m)))


def _evidence_of(
    said: NDArray[np.float64], heard: NDArray[np.float64], evidence: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """log Π_i Σ_y P(y) P(votes | y) for each level of the classifier and of people, shape (shifts, errors).

    Items that say nothing about the classifier count for their votes alone. `said` has shape (shifts, items, classes),
    and `heard` (errors, items, classes).
    """
    said = np.where(evidence[:, None], said, 0.0)
    tops = said.max(axis=2), heard.max(axis=2)
    a, b = (np.exp(log - top[..., None]).swapaxes(0, 1) for log, top in zip((said, heard), tops, strict=True))
    both = np.log(np.maximum(a @ b.swapaxes(1, 2), 1e-300)).sum(axis=0)
    summed: NDArray[np.float64] = both + tops[0].sum(axis=1)[:, None] + tops[1].sum(axis=1)
    return summed
