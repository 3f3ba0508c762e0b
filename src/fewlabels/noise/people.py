"""How often people are wrong: logit ε_r = m + d_r + c_y, learned from votes whose truth is given.

People differ (d_r ~ N(0, σ²)) and so do classes, a little (c_y ~ N(0, 0.5²)): some are harder to tell. m is how often
people err in general. Everything is on small grids, so a draw is exact and takes microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Log-odds of being wrong, from 1 in 1,000 to 3 in 4.
_GRID = np.linspace(-7.0, 1.1, 82)
# What people differ by, and how probable that is beforehand.
_SIGMAS = np.array([0.15, 0.4, 0.8])
_SIGMA_PRIOR = np.array([0.3, 0.4, 0.3])
# Before anything is known, people err in about a twentieth of their labels: 95% of the prior is from 1.2% to 18%. Where
# the owner has said how often labels are right, it is that, up to a factor of about 1.6 in the odds.
_USUAL, _USUAL_SD, _STATED_SD = 0.05, 0.75, 0.25
# Classes differ by this much.
_CLASS_SD = 0.5
_CLASS_GRID = np.linspace(-1.5, 1.5, 13)


@dataclass(frozen=True)
class Usual:
    """How often labels are right before any is compared with another: as surveyed, or as the owner has stated."""

    right: float | None = None

    @property
    def log_prior(self) -> NDArray[np.float64]:
        """The log prior of m on the grid, shape (grid,)."""
        middle, sd = (_USUAL, _USUAL_SD) if self.right is None else (1 - self.right, _STATED_SD)
        return -((_GRID - logit(middle)) ** 2) / (2 * sd**2)


@dataclass(frozen=True, eq=False)
class Errors:
    """One draw of how often people are wrong.

    Parameters
    ----------
    general
        m, the log-odds that somebody who is like the others is wrong.
    person
        m + d_r, shape (people,).
    by_class
        c_y, shape (classes,).
    """

    general: float
    person: NDArray[np.float64]
    by_class: NDArray[np.float64]

    @classmethod
    def start(cls, usual: Usual, people: int, classes: int) -> Errors:
        """What is expected before any vote."""
        general = float(_GRID[int(usual.log_prior.argmax())])
        return cls(general, np.full(people, general), np.zeros(classes))

    def log_odds(self, person: NDArray[np.int64]) -> NDArray[np.float64]:
        """The log-odds that each vote is wrong if its item is of each class, shape (votes, classes)."""
        return self.person[person][:, None] + self.by_class

    @property
    def wrong(self) -> NDArray[np.float64]:
        """ε_r: how often each person is wrong where classes are as hard as usual, shape (people,)."""
        wrong: NDArray[np.float64] = expit(self.person)
        return wrong

    def drawn(
        self, rng: np.random.Generator, wrong: NDArray[np.float64], votes: NDArray[np.float64], usual: Usual
    ) -> Errors:
        """Draw anew, given how many votes each person gave on items of each class, and how many were wrong.

        Both have shape (people, classes). First (m, σ) with the people integrated out, then each person given those,
        then each class given the people.
        """
        odds = _GRID[:, None] + self.by_class  # (grid, classes)
        right_log, wrong_log = -np.logaddexp(0, odds), -np.logaddexp(0, -odds)
        fits = wrong @ wrong_log.T + (votes - wrong) @ right_log.T  # (people, grid)
        log_people = _people_prior()  # (grid of m, sigmas, grid)
        top = fits.max(axis=1, keepdims=True)
        each = np.log(np.exp(fits - top) @ np.exp(log_people).reshape(-1, len(_GRID)).T)
        both = each.sum(axis=0).reshape(len(_GRID), -1) + usual.log_prior[:, None] + np.log(_SIGMA_PRIOR)
        m, s = np.unravel_index(pick(rng, _from_log(both.reshape(1, -1)))[0], both.shape)
        person = _GRID[pick(rng, _from_log(fits + log_people[m, s]))]
        odds = person[:, None] + _CLASS_GRID[:, None, None]  # (class grid, people, 1)
        by_grid = (wrong * -np.logaddexp(0, -odds) + (votes - wrong) * -np.logaddexp(0, odds)).sum(axis=1)
        by_grid += -((_CLASS_GRID[:, None] / _CLASS_SD) ** 2) / 2
        by_class = _CLASS_GRID[pick(rng, _from_log(by_grid.T))]
        return Errors(float(_GRID[m]), person, by_class)


def _people_prior() -> NDArray[np.float64]:
    """log N(log-odds of a person | m, σ²) on the grid, shape (grid of m, sigmas, grid)."""
    gap = (_GRID - _GRID[:, None, None]) / _SIGMAS[:, None]
    weight = np.exp(-(gap**2) / 2)
    log: NDArray[np.float64] = np.log(np.maximum(weight / weight.sum(axis=-1, keepdims=True), 1e-300))
    return log


def _from_log(log_weight: NDArray[np.float64]) -> NDArray[np.float64]:
    weight: NDArray[np.float64] = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    return weight


def pick(rng: np.random.Generator, weight: NDArray[np.float64]) -> NDArray[np.int64]:
    """A place in each row, drawn with these weights; shape (rows, places) to (rows,)."""
    edges = np.cumsum(weight, axis=1)
    drawn: NDArray[np.int64] = (edges < rng.random((len(edges), 1)) * edges[:, -1:]).sum(axis=1)
    return drawn
