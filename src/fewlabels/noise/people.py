"""How often people are wrong: logit ε = m + d_r + c_y + h·z_i + 0.6·[the classifier is wrong], learned from votes.

People differ (d_r ~ N(0, σ²)), and so do classes, a little (c_y ~ N(0, 0.5²)). People err more often where the
classifier is unsure: z_i is its doubt about the item, in standard deviations, and h how much that matters; and where it
is wrong, since what is hard for one is hard for the other. Which votes are wrong is given here. m is how often people
err in general. Everything is on small grids, so a draw is exact and takes little time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fewlabels.special import expit, logit

if TYPE_CHECKING:
    from numpy.typing import NDArray

GRID = np.linspace(-7.0, 1.1, 82)
"""Log-odds of being wrong, from 1 in 1,000 to 3 in 4."""
# What people differ by, and how probable that is beforehand.
_SIGMAS = np.array([0.15, 0.4, 0.8])
_SIGMA_PRIOR = np.array([0.3, 0.4, 0.3])
# Before anything is known, people err in about a twentieth of their labels: 95% of the prior is from 1.2% to 18%. Where
# the owner has said how often labels are right, it is that, up to a factor of about 1.6 in the odds.
_USUAL, _USUAL_SD, _STATED_SD = 0.05, 0.75, 0.25
# Classes differ by this much.
_CLASS_SD = 0.5
_CLASS_GRID = np.linspace(-1.5, 1.5, 13)
# How much harder an item is for people if the classifier is in more doubt, by one standard deviation.
_HARDER, _HARDER_SD = 0.3, 0.3
_HARD_GRID = np.linspace(-0.8, 1.6, 13)
# What is hard for the classifier is hard for people, beyond what its doubt says. Measured on half of CIFAR-10H.
BOTH = 0.6


@dataclass(frozen=True)
class Usual:
    """How often labels are right before any is compared with another: as surveyed, or as the owner has stated."""

    right: float | None = None

    @property
    def log_prior(self) -> NDArray[np.float64]:
        """The log prior of m on the grid, shape (grid,)."""
        return self._around(0.0)

    def log_prior_of_level(self, person: NDArray[np.int64], true: NDArray[np.int64]) -> NDArray[np.float64]:
        """The log prior of the mean log-odds of some votes, shape (grid,); person and true class of each are given.

        It is wider than that of m: two people may both be worse than others, and so may a class that is most of them.
        """
        return self._around(float(_SIGMA_PRIOR @ _SIGMAS**2) * _alone(person) + _CLASS_SD**2 * _alone(true))

    def _around(self, more: float) -> NDArray[np.float64]:
        middle, sd = (_USUAL, _USUAL_SD) if self.right is None else (1 - self.right, _STATED_SD)
        return -((GRID - logit(middle)) ** 2) / (2 * (sd**2 + more))


class Votes(NamedTuple):
    """Votes of which it is given whether they are wrong, who gave them, the true class, and the doubt z.

    `missed` says whether the classifier is wrong. Five of shape (votes,).
    """

    wrong: NDArray[np.bool_]
    person: NDArray[np.int64]
    true: NDArray[np.int64]
    doubt: NDArray[np.float64]
    missed: NDArray[np.bool_]

    def fits(self, odds: NDArray[np.float64], by: NDArray[np.int64], count: int) -> NDArray[np.float64]:
        """The log likelihood for each of `count` people or classes, from the log-odds of each vote at each grid point.

        Shape (votes, grid) to (count, grid); `by` is the person or class of each vote.
        """
        odds = odds + BOTH * self.missed[:, None]
        # log ε = odds − log(1 + e^odds) and log(1 − ε) = −log(1 + e^odds); odds are small enough for e^odds.
        each = self.wrong[:, None] * odds
        np.exp(odds, out=odds)
        odds += 1
        each -= np.log(odds, out=odds)
        whose = (by == np.arange(count)[:, None]).astype(float)
        return np.asarray(whose @ each)


@dataclass(frozen=True, eq=False)
class Errors:
    """One draw of how often people are wrong.

    Parameters
    ----------
    general
        m, the log-odds that somebody who is like the others is wrong about an item like most.
    person
        m + d_r, shape (people,).
    by_class
        c_y, shape (classes,).
    harder
        h.
    """

    general: float
    person: NDArray[np.float64]
    by_class: NDArray[np.float64]
    harder: float

    @classmethod
    def start(cls, usual: Usual, people: int, classes: int) -> Errors:
        """What is expected before any vote."""
        general = float(GRID[int(usual.log_prior.argmax())])
        return cls(general, np.full(people, general), np.zeros(classes), _HARDER)

    def log_odds(self, person: NDArray[np.int64], doubt: NDArray[np.float64]) -> NDArray[np.float64]:
        """The log-odds that each vote is wrong if its item is of each class, shape (votes, classes)."""
        return (self.person[person] + self.harder * doubt)[:, None] + self.by_class

    def drawn(self, rng: np.random.Generator, votes: Votes, usual: Usual) -> Errors:
        """Draw again, given which votes are wrong.

        First (m, σ) with the people integrated out, then each person given those, then each class, then h.
        """
        rest = (self.by_class[votes.true] + self.harder * votes.doubt)[:, None]
        fits = votes.fits(GRID + rest, votes.person, len(self.person))
        prior = _people_prior()  # (grid of m, sigmas, grid)
        top = fits.max(axis=1, keepdims=True)
        each = np.log(np.exp(fits - top) @ prior.reshape(-1, len(GRID)).T)
        both = each.sum(axis=0).reshape(len(GRID), -1) + usual.log_prior[:, None] + np.log(_SIGMA_PRIOR)
        m, s = np.unravel_index(pick(rng, _from_log(both.reshape(1, -1)))[0], both.shape)
        person = GRID[pick(rng, _from_log(fits) * prior[m, s])]
        rest = (person[votes.person] + self.harder * votes.doubt)[:, None]
        fits = votes.fits(_CLASS_GRID + rest, votes.true, len(self.by_class)) - (_CLASS_GRID / _CLASS_SD) ** 2 / 2
        by_class = _CLASS_GRID[pick(rng, _from_log(fits))]
        rest = (person[votes.person] + by_class[votes.true])[:, None]
        fits = votes.fits(_HARD_GRID * votes.doubt[:, None] + rest, np.zeros_like(votes.person), 1)
        fits = fits - ((_HARD_GRID - _HARDER) / _HARDER_SD) ** 2 / 2
        return Errors(float(GRID[m]), person, by_class, float(_HARD_GRID[pick(rng, _from_log(fits))[0]]))

    def wrong(self, votes: Votes) -> NDArray[np.float64]:
        """ε of each vote, if its item is of the class given there, shape (votes,)."""
        odds = self.person[votes.person] + self.by_class[votes.true] + self.harder * votes.doubt
        chance: NDArray[np.float64] = expit(odds + BOTH * votes.missed)
        return chance


def _alone(index: NDArray[np.int64]) -> float:
    """Σ w² over the shares w that have the same index: 1 if all are the same, and little if there are many."""
    return float(((np.bincount(index) / len(index)) ** 2).sum())


@cache
def _people_prior() -> NDArray[np.float64]:
    """N(log-odds of a person | m, σ²) on the grid, shape (grid of m, sigmas, grid)."""
    gap = (GRID - GRID[:, None, None]) / _SIGMAS[:, None]
    weight: NDArray[np.float64] = np.exp(-(gap**2) / 2)
    return np.maximum(weight / weight.sum(axis=-1, keepdims=True), 1e-300)


def _from_log(log_weight: NDArray[np.float64]) -> NDArray[np.float64]:
    weight: NDArray[np.float64] = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    return weight


def pick(rng: np.random.Generator, weight: NDArray[np.float64]) -> NDArray[np.int64]:
    """A place in each row, drawn with these weights; shape (rows, places) to (rows,)."""
    edges = np.cumsum(weight, axis=1)
    drawn: NDArray[np.int64] = (edges < rng.random((len(edges), 1)) * edges[:, -1:]).sum(axis=1)
    return drawn
