"""Which class is the true one where the classifier is wrong: a model of mistakes, learned from those that labels show.

Given that the prediction is wrong, the outcome shares of row c are q_c ~ Dirichlet(κ m_c), m_cj ∝ w_j e_cj^b, where e_c
are the shares that are expected among its mistakes there, and w_j ~ Gamma(1/σ², 1/σ²) says how much more often class j
is missed than expected. A row is wild with a small probability: it may have a habit of its own, and then its κ is at
most 2. The posterior of (b, κ, σ) is a weight for each point of a small grid; given a point, the w are
nearly independent Gammas, and given these every row is a mixture of two conjugate ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from fewlabels.belief import dirichlet_draws, gamma_draws, with_rest
from fewlabels.learned.missed import COLUMNS, KAPPAS, WILD, WILD_KAPPA, Columns, Habits, Shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

# How sharply mistakes follow what is expected, and how probable each κ is. Fitted to all labels with scores, b is 1 to
# 1.2 and κ 60 to 300 on four of six pools; b is 1.5 to 2 on newsgroups; and 0.2 with κ = 8 on the built-in digits,
# whose scores say next to nothing about mistakes.
POWERS = np.array([0.0, 0.3, 0.65, 1.0, 1.35, 1.8])
# Without scores it is not known which class is mistaken for which: with `doubted`, b is 0 to 1.1 on most of twenty
# pools, and κ is 2 to 16. σ is mostly 0 to 0.25, and 0.7 where scores say nothing; without confidences 0.4 to 0.9.
Known = Literal["scores", "confidences", "predictions"]
POWER_PRIOR = {
    "scores": np.array([0.05, 0.1, 0.2, 0.35, 0.2, 0.1]),
    "confidences": np.array([0.1, 0.25, 0.3, 0.25, 0.07, 0.03]),
    "predictions": np.array([0.1, 0.25, 0.3, 0.25, 0.07, 0.03]),
}
KAPPA_PRIOR = {
    "scores": np.array([0.05, 0.1, 0.2, 0.25, 0.25, 0.15]),
    "confidences": np.array([0.05, 0.25, 0.42, 0.22, 0.05, 0.01]),
    "predictions": np.array([0.05, 0.25, 0.42, 0.22, 0.05, 0.01]),
}
COLUMN_PRIOR = {
    "scores": np.array([0.4, 0.4, 0.2]),
    "confidences": np.array([0.4, 0.4, 0.2]),
    "predictions": np.array([0.1, 0.3, 0.6]),
}
# An expected share of 0 does not make an outcome impossible.
_FLOOR = 1e-3
# A class that is never predicted may still be the true one: without scores it is expected like one with this part of
# the mean doubt.
_NEVER = 0.1
# Points with less weight than this are left out.
_NEGLIGIBLE = 1e-3
# The log evidence of a power may be this far from that of the best one, if all classes were missed as often as
# expected.
_FAR = 15.0


@dataclass(frozen=True, eq=False)
class Expected:
    """The outcome shares that are expected among mistakes, before any label.

    Parameters
    ----------
    log_share
        Logarithm of e for each predicted class (row) and true class (column), −inf where a mistake cannot show a class,
        shape (classes, classes).
    merged
        The outcome that each true class is, for each predicted class, shape (classes, classes).
    outcomes
        How many outcomes there are.
    predicted
        The predicted class of each row, shape (rows,).
    known
        What is known about the items besides their classes: the scores of all classes, a confidence, or neither.
    """

    log_share: NDArray[np.float64]
    merged: NDArray[np.int64]
    outcomes: int
    predicted: NDArray[np.int64]
    known: Known
    _at_powers: dict[float, tuple[NDArray[np.float64], NDArray[np.float64]]] = field(default_factory=dict)

    def powered(self, b: float) -> NDArray[np.float64]:
        """m with all w = 1, of each predicted class: e^b, combined into outcomes, shape (classes, outcomes)."""
        return self._at(b)[0]

    def alike(self, b: float) -> NDArray[np.float64]:
        """How much an outcome moves with the w of its classes, shape (outcomes,): 1 if it is one class.

        The w of n equal classes together has a variance of σ²/n. In general it is σ² Σ_j e_j^2b / (Σ_j e_j^b)² over the
        classes of an outcome, here the mean over rows.
        """
        return self._at(b)[1]

    def _at(self, b: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if b not in self._at_powers:
            possible = np.isfinite(self.log_share)
            power = np.exp(b * np.where(possible, self.log_share, 0.0)) * possible
            power /= np.maximum(power.sum(axis=1, keepdims=True), 1e-300)
            together, squares = self._merge(power), self._merge(power**2)
            here = together > 0
            part = np.divide(squares, together**2, out=np.zeros_like(squares), where=here)
            self._at_powers[b] = (
                together,
                np.where(here.any(axis=0), part.sum(axis=0) / np.maximum(here.sum(axis=0), 1), 1.0),
            )
        return self._at_powers[b]

    def _merge(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums over the classes of each outcome: (classes, classes) to (classes, outcomes)."""
        if self.outcomes == len(rows) and (self.merged == np.arange(self.outcomes)).all():
            return rows
        place = np.arange(len(rows))[:, None] * self.outcomes + self.merged
        sums = np.bincount(place.ravel(), rows.ravel(), minlength=len(rows) * self.outcomes)
        return sums.astype(np.float64, copy=False).reshape(len(rows), self.outcomes)

    def _log_prior(self) -> NDArray[np.float64]:
        """The log prior of each κ and power, shape (κs, powers)."""
        return np.log(KAPPA_PRIOR[self.known])[:, None] + np.log(POWER_PRIOR[self.known])

    def learn(self, counts: NDArray[np.float64]) -> Mistakes:
        """The posterior after mistakes that showed these outcomes, shape (rows, outcomes).

        The evidence of a point is that of Dirichlet-multinomial counts, Γ(κ)/Γ(κ + n) Π_j Γ(κ m_j + n_j)/Γ(κ m_j), at
        the mode of w, times what w adds (Laplace).
        """
        seen = np.flatnonzero(counts.any(axis=1))
        shown, rows = Shown.of(counts[seen]), self.predicted[seen]
        own = np.stack([self.powered(b)[rows[shown.row], shown.outcome] for b in POWERS.tolist()])
        habits, log_prior = Habits.of(shown, own), self._log_prior()
        plain = shown.fits(own) + habits.added + log_prior
        wild = np.full((*plain.shape, len(COLUMNS), len(counts)), WILD)
        wild[:, :, 0, seen] = habits.wild
        log_weight = np.full((*plain.shape, len(COLUMNS)), -np.inf)
        log_weight[..., 0] = plain
        # A power that is far off otherwise is not saved by which classes are missed more often.
        some = np.flatnonzero(plain.max(axis=0) > plain.max() - _FAR)
        powers = POWERS[some].tolist()
        alike = np.stack([self.alike(b) for b in powers])[:, None]
        columns = Columns(
            np.stack([self.powered(b)[rows] for b in powers]), shown, 1 / (COLUMNS[1:, None] ** 2 * alike)
        )
        # The κ that fits best is too small as long as classes that stand out have their w at 1; so it is chosen twice.
        best = plain[:, some].argmax(axis=0)
        columns.learn(KAPPAS[best][:, None], habits.wild[best, some][:, None])
        # What habits explain is not explained by the w once more: so both are held against the labels together.
        habits, log_prior = Habits.of(shown, columns.at()), log_prior[:, some, None]
        best = (columns.fits() + habits.added + log_prior).argmax(axis=0)
        columns.learn(KAPPAS[best], np.take_along_axis(habits.wild, best[None, ..., None], axis=0)[0])
        habits = Habits.of(shown, columns.at())
        log_weight[:, some, 1:] = columns.fits() + habits.added + columns.added() + log_prior
        wild[:, some[:, None, None], np.arange(1, len(COLUMNS))[:, None], seen] = habits.wild
        log_weight += np.log(COLUMN_PRIOR[self.known])
        weight = np.exp(log_weight - log_weight.max())
        weight[weight < _NEGLIGIBLE] = 0.0
        shape, w = (np.ones((len(POWERS), *columns.w.shape[1:])) for _ in range(2))
        shape[some], w[some] = columns.shape, columns.w
        return Mistakes(self, counts, weight / weight.sum(), shape, shape / w, wild)


class Point(NamedTuple):
    """A point of the grid: its weight, its κ, and how probably each row is wild; m, and the Gammas of w.

    Shapes: wild (rows,), m (classes, outcomes), shape and rate (outcomes,), or None where all w are 1.
    """

    weight: float
    kappa: float
    wild: NDArray[np.float64]
    m: NDArray[np.float64]
    shape: NDArray[np.float64] | None
    rate: NDArray[np.float64] | None

    @property
    def kappas(self) -> tuple[tuple[NDArray[np.float64], float], ...]:
        """The κ of rows, usual ones and wild ones, each with the probability that it is that of a row."""
        return (1 - self.wild, self.kappa), (self.wild, min(self.kappa, WILD_KAPPA))


@dataclass(frozen=True, eq=False)
class Mistakes:
    """The posterior of the outcome shares among mistakes: a mixture of Dirichlets.

    Parameters
    ----------
    expected
        What is expected.
    counts
        The mistakes that labels showed, shape (rows, outcomes).
    weight
        The probability of each point, shape (κs, powers, σs).
    shape, rate
        Of the Gammas of w, two of shape (powers, σs > 0, outcomes).
    wild
        How probably each row is wild, shape (κs, powers, σs, rows).
    named
        The one outcome of each row that is kept apart from all others, shape (rows,); None if all are kept apart. A
        Dirichlet whose outcomes are merged is a Dirichlet again, but expected shares are raised to their power before
        that.
    """

    expected: Expected
    counts: NDArray[np.float64]
    weight: NDArray[np.float64]
    shape: NDArray[np.float64]
    rate: NDArray[np.float64]
    wild: NDArray[np.float64]
    named: NDArray[np.intp] | None = None

    def _points(self) -> Iterator[list[Point]]:
        """The points with some weight, those with the same power and σ together."""
        for k, b in enumerate(POWERS.tolist()):
            for i in range(len(COLUMNS)):
                gammas = (None, None) if i == 0 else (self.shape[k, i - 1], self.rate[k, i - 1])
                each = zip(self.weight[:, k, i].tolist(), KAPPAS.tolist(), self.wild[:, k, i], strict=True)
                if points := [point for point in each if point[0]]:
                    yield [Point(*point, self.expected.powered(b), *gammas) for point in points]

    def _shares(self, point: Point, w: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """m of each row with these w, (..., outcomes) to (..., rows, outcomes)."""
        m = point.m[self.expected.predicted]
        if w is None:
            return m if self.named is None else with_rest(m, self.named)
        total = w @ m.T
        if self.named is None:
            return w[..., None, :] * m / total[..., None]
        share = w[..., self.named] * m[np.arange(len(m)), self.named] / total
        return np.stack([share, 1 - share], axis=-1)

    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """E q, shape (rows, outcomes), and E Σ_j q_j², shape (rows,)."""
        total = self.counts.sum(axis=1)
        own, square, counts2 = np.zeros(len(total)), np.zeros(len(total)), (self.counts**2).sum(axis=1)
        mean = np.zeros_like(self.counts)
        for points in self._points():
            # E q = (κm + n)/s: the sums over outcomes are needed once for each m.
            m, moved = self._mode(points[0])
            m2, mn, times = (m**2).sum(axis=1), (m * self.counts).sum(axis=1), np.zeros(len(total))
            for share, kappa in ((p.weight * share, kappa) for p in points for share, kappa in p.kappas):
                s = kappa + total
                times += share * kappa / s
                own += share / s
                squares = (kappa**2 * (m2 + moved) + 2 * kappa * mn + counts2) / s**2
                square += share * (squares + (1 - squares) / (s + 1))
            mean += times[:, None] * m
        return mean + own[:, None] * self.counts, square

    def _mode(self, point: Point) -> tuple[NDArray[np.float64], NDArray[np.float64] | float]:
        """m at the mode of w, shape (rows, outcomes), and Σ_j Var m_j, shape (rows,), by the slope of log w."""
        if point.shape is None or point.rate is None:
            return self._shares(point, None), 0.0
        w, each = point.shape / point.rate, point.m[self.expected.predicted]
        each = each * w
        each /= each.sum(axis=1, keepdims=True)
        variance = each**2 * ((1 - 2 * each) / point.shape + (each**2 / point.shape).sum(axis=1, keepdims=True))
        if self.named is None:
            return each, variance.sum(axis=1)
        return with_rest(each, self.named), 2 * variance[np.arange(len(each)), self.named]

    def rows(self, rows: slice | NDArray[np.intp]) -> Mistakes:
        """The posterior of some rows, with the weights that all of them gave to the points."""
        part = replace(self.expected, predicted=self.expected.predicted[rows])
        named = None if self.named is None else self.named[rows]
        return replace(self, expected=part, counts=self.counts[rows], wild=self.wild[..., rows], named=named)

    def single(self, outcomes: NDArray[np.intp]) -> Mistakes:
        """The posterior of one outcome of each row, with all the others as one more after it."""
        return replace(self, counts=with_rest(self.counts, outcomes), named=outcomes)

    def sums(self, rng: np.random.Generator, items: NDArray[np.float64]) -> NDArray[np.float64]:
        """Draws of Σ_c items_c q_cj for each outcome j by itself: (n, rows) to (n, outcomes).

        Given a point and w, rows are independent and the sum has the mean Σ items·E q and the variance Σ items²·Var q.
        It is drawn from the Gamma that has them: a sum of Gammas is nearly one, and a Dirichlet is Gammas over their
        sum.
        """
        drawn = np.empty((len(items), self.counts.shape[1]))
        for some, point in self._chosen(rng, len(items)):
            mean, variance, _ = self._summed(rng, point, items[some])
            drawn[some] = gamma_draws(rng, mean, items[some] ** 2 @ variance)
        return drawn

    def tallies(self, rng: np.random.Generator, items: NDArray[np.int64]) -> NDArray[np.float64]:
        """Draws of how many of these items of each row show each outcome: (n, rows) to (n, outcomes).

        As `sums`, but of whole items: for k of them the variance is k² Var q + k E q(1 − q). What it has beyond that of
        Poisson counts is that of their mean.
        """
        drawn = np.empty((len(items), self.counts.shape[1]))
        for some, point in self._chosen(rng, len(items)):
            k = items[some].astype(float)
            mean, variance, inner = self._summed(rng, point, k)
            beyond = k**2 @ variance + k @ inner - mean
            drawn[some] = rng.poisson(gamma_draws(rng, mean, np.maximum(beyond, 0.0)))
        return drawn

    def _chosen(self, rng: np.random.Generator, n: int) -> Iterator[tuple[NDArray[np.intp], Point]]:
        """The points of n draws, and the draws of each."""
        points = [point for together in self._points() for point in together]
        chosen = rng.choice(len(points), size=n, p=[point.weight for point in points])
        for k in np.unique(chosen).tolist():
            yield np.flatnonzero(chosen == k), points[k]

    def _summed(
        self, rng: np.random.Generator, point: Point, items: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Σ_c items_c E q_cj with w drawn for each of (n, rows) items; Var q and E q(1 − q) at the mode of w."""
        total, (mode, _) = self.counts.sum(axis=1), self._mode(point)
        q, square = np.zeros_like(mode), np.zeros_like(mode)
        own, times = np.zeros(len(total)), np.zeros(len(total))
        for share, kappa in point.kappas:
            s = kappa + total
            each = (kappa * mode + self.counts) / s[:, None]
            q += share[:, None] * each
            square += share[:, None] * (each**2 + each * (1 - each) / (s + 1)[:, None])
            own, times = own + share / s, times + share * kappa / s
        variance, inner = square - q**2, q - square
        w = self._weights(rng, point, len(items))
        if w is None:
            return items @ q, variance, inner
        m = point.m[self.expected.predicted]
        mean = (items * own) @ self.counts + w * ((items * times / (w @ m.T)) @ m)
        return mean, variance, inner

    def _weights(self, rng: np.random.Generator, point: Point, n: int) -> NDArray[np.float64] | None:
        """n draws of w at a point, shape (n, outcomes); None where all are 1."""
        if point.shape is None or point.rate is None:
            return None
        drawn: NDArray[np.float64] = rng.standard_gamma(point.shape, size=(n, len(point.shape))) / point.rate
        return drawn

    def draws(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of q, shape (n, rows, outcomes)."""
        drawn = np.empty((n, *self.counts.shape))
        for some, point in self._chosen(rng, n):
            kappa = np.where(rng.random((len(some), len(self.counts))) < point.wild, point.kappas[1][1], point.kappa)
            alpha = kappa[..., None] * self._shares(point, self._weights(rng, point, len(some))) + self.counts
            drawn[some] = dirichlet_draws(rng, alpha.reshape(-1, alpha.shape[-1]), 1)[0].reshape(alpha.shape)
        return drawn


def expected(
    shares: NDArray[np.float64],
    merged: NDArray[np.int64],
    outcomes: int,
    predicted: NDArray[np.int64],
    *,
    possible: int,
    known: Known,
) -> Expected:
    """Make the expectation from shares of true classes among the mistakes of each predicted class.

    Those have shape (classes, classes) and need not add up to 1; `possible` is how many of the classes can be true.
    """
    classes = len(shares)
    can = (np.arange(classes) < possible) & ~np.eye(classes, dtype=bool)
    even = can / np.maximum(can.sum(axis=1, keepdims=True), 1)
    own = np.where(can, shares, 0.0)
    total = own.sum(axis=1, keepdims=True)
    own = np.where(total > 0, own / np.maximum(total, 1e-300), even)
    with np.errstate(divide="ignore"):
        log_share = np.log(np.where(can, (1 - _FLOOR) * own + _FLOOR * even, 0.0))
    return Expected(log_share, merged, outcomes, predicted, known)


def doubted(
    predicted: NDArray[np.int32], confidence: NDArray[np.float64] | None, count: NDArray[np.int64] | None, classes: int
) -> NDArray[np.float64]:
    """What to expect of mistakes without scores: shape (classes, classes), all rows alike.

    Confusions mostly go both ways, so a class is missed where it is often predicted in doubt: its share is that of
    Σ (1 − s) over the items that are predicted as it, or without confidences that of these items.

    >>> doubted(np.array([0, 1, 1], np.int32), np.array([0.9, 0.8, 0.9]), None, 2).round(3).tolist()
    [[0.12, 0.32], [0.12, 0.32]]
    """
    doubt = np.ones(len(predicted)) if confidence is None else 1 - confidence
    sums = np.bincount(predicted, doubt if count is None else doubt * count, minlength=classes)
    return np.tile(sums + _NEVER * max(float(sums.mean()), 1e-9), (classes, 1))
