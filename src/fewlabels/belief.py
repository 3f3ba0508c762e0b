"""Beliefs about the cells: Dirichlet counts, which are Beta counts where there are two outcomes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Target = Literal["population", "pool"]
_DRAWN = 3  # cells of an outcome that are drawn in an average
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Belief:
    """θ_c ~ Dirichlet(prior_c + counts_c) for each cell c: the share of each outcome in the cell.

    With `target="population"`, θ is the share in the population behind the pool. With `target="pool"` it is
    the share among the pool's own items: the labelled ones are known, the others are drawn from θ, so a
    fully labelled cell has no uncertainty left.

    Parameters
    ----------
    prior
        Prior counts, shape (cells, outcomes).
    counts
        Label counts, shape (cells, outcomes).
    size
        Items of the pool in each cell, shape (cells,).
    target
        Whether the shares are those of the population or of the pool.

    Examples
    --------
    >>> import numpy as np
    >>> belief = Belief(np.array([[1.0, 1.0]]), np.array([[6.0, 2.0]]), np.array([10]))
    >>> belief.mean()
    array([[0.7, 0.3]])
    >>> belief.to("pool").mean()  # 6 known right, and 0.7 of the 2 unlabelled
    array([[0.74, 0.26]])
    """

    prior: NDArray[np.float64]
    counts: NDArray[np.float64]
    size: NDArray[np.int64]
    target: Target = "population"

    conjugate: ClassVar[bool] = True
    """Whether the cells are independent and Dirichlet, so that there are exact formulas."""

    averaging: ClassVar[bool] = True
    """Whether there is `averages`, which is much quicker than draws of every cell."""

    @cached_property
    def alpha(self) -> NDArray[np.float64]:
        """Prior counts plus label counts, shape (cells, outcomes)."""
        return self.prior + self.counts

    @cached_property
    def strength(self) -> NDArray[np.float64]:
        """s = Σ α, shape (cells,)."""
        return self.alpha.sum(axis=-1)

    @property
    def each(self) -> NDArray[np.float64]:
        """α of single outcomes, shape (cells, outcomes): α, unless an outcome stands for several (`alike.py`)."""
        return self.alpha

    @property
    def numbers(self) -> int:
        """The number of values in one draw."""
        return self.alpha.size

    @property
    def labels(self) -> int:
        """The number of labels."""
        return int(np.rint(self.counts.sum()))

    @cached_property
    def left(self) -> NDArray[np.int64]:
        """Items without a label in each cell, shape (cells,)."""
        return np.maximum(self.size - np.rint(self.counts.sum(axis=-1)).astype(np.int64), 0)

    def matched(self) -> Belief:
        """Independent Dirichlets with the same means and variances; the belief itself if it already has this form."""
        return self

    def to(self, target: Target) -> Belief:
        """The belief for another target."""
        return replace(self, target=target)

    def rows(self, cells: slice | NDArray[np.intp]) -> Belief:
        """The belief about some of the cells; for a learned belief, its independent match."""
        plain = self.matched()
        return Belief(plain.prior[cells], plain.counts[cells], plain.size[cells], plain.target)

    def single(self, cells: NDArray[np.intp], outcomes: NDArray[np.intp]) -> Belief:
        """The belief about single shares: an outcome of a cell and the sum of the rest, for each of several pairs."""
        plain = self.rows(cells)
        prior, counts = (with_rest(part, outcomes) for part in (plain.prior, plain.counts))
        return Belief(prior, counts, plain.size, plain.target)

    def awaiting(self, pending: NDArray[np.int64]) -> Belief:
        """The belief if the pending requests, shape (cells,), were answered as expected: counts + pending · α/s.

        The means stay and the variances shrink, so that a batch is not asked all in one place.
        """
        if not pending.any():
            return self
        plain = self.matched()
        return replace(plain, counts=plain.counts + pending[:, None] * plain.alpha / plain.strength[:, None])

    def counting(self, labels: NDArray[np.float64]) -> Belief:
        """The belief after further labels, shape (cells, outcomes), each of which counts for its own cell only.

        Exact where the cells are independent. A learned belief becomes its independent match: what the labels say about
        other cells waits until it is computed again.

        >>> belief = Belief(np.array([[1.0, 1.0]]), np.array([[6.0, 2.0]]), np.array([10]))
        >>> belief.counting(np.array([[2.0, 0.0]])).mean()
        array([[0.75, 0.25]])
        """
        if not labels.any():
            return self
        plain = self.matched()
        return replace(plain, counts=plain.counts + labels)

    def mean(self) -> NDArray[np.float64]:
        """E θ, shape (cells, outcomes)."""
        mean = self.alpha / self.strength[:, None]
        if self.target == "population":
            return mean
        return (self.counts + self.left[:, None] * mean) / self.size[:, None]

    def variance(self) -> NDArray[np.float64]:
        """Var θ, shape (cells, outcomes): m(1−m)/(s+1), times the finite-pool factor of `_spread`."""
        mean = self.alpha / self.strength[:, None]
        return mean * (1 - mean) * self._spread(self.left, self.strength)[:, None]

    def shares(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n independent draws of the shares in the population, shape (n, cells, outcomes)."""
        if self.alpha.shape[1] == 2 and (self.alpha > 0).all():
            first = rng.beta(self.alpha[:, 0], self.alpha[:, 1], size=(n, len(self.size)))
            return np.stack([first, 1 - first], axis=-1)
        return dirichlet_draws(rng, self.alpha, n)

    def draws(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n independent draws of θ, shape (n, cells, outcomes)."""
        theta = self.shares(rng, n)
        if self.target == "population":
            return theta
        unlabelled: NDArray[np.int64]
        if theta.shape[2] == 2:
            right = rng.binomial(self.left, theta[..., 0])
            unlabelled = np.stack([right, self.left - right], axis=-1)
        else:
            unlabelled = rng.multinomial(self.left, theta)
        return (self.counts + unlabelled) / self.size[:, None]

    def mixed(self, rng: np.random.Generator, n: int, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """n draws of Σ_c w_c θ_c, with weights of shape (cells,) that add up to 1; shape (n, outcomes)."""
        return weight @ self.draws(rng, n)

    def averages(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of the share of each outcome among all items, each by itself, shape (n, outcomes).

        It is Σ_c w_c θ_c with the cells' shares w of the items. The few cells that add most to the variance of an
        outcome are drawn. The sum over the others is drawn from the Gamma with its mean and variance.
        """
        weight = self.size / self.size.sum()
        mean, variance = weight[:, None] * self.mean(), weight[:, None] ** 2 * self.variance()
        first = np.argsort(-variance, axis=0)[:_DRAWN]
        at = np.arange(mean.shape[1])
        total = np.zeros((n, len(at)))
        for cell in first:
            shown, left = self.counts[cell, at], self.left[cell]
            alpha, rest = self.alpha[cell, at], self.strength[cell] - self.alpha[cell, at]
            share = np.where(rest > 0, rng.beta(np.maximum(alpha, _TINY), np.maximum(rest, _TINY), (n, len(at))), 1.0)
            if self.target == "pool":
                share = (shown + rng.binomial(left, share)) / self.size[cell]
            total += weight[cell] * share
            mean[cell, at] = variance[cell, at] = 0.0
        return np.minimum(total + gamma_draws(rng, np.tile(mean.sum(axis=0), (n, 1)), variance.sum(axis=0)), 1.0)

    def upcoming(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """The outcome shares among the unlabelled items, from which the next label comes; the shape is that of θ.

        For the population this is θ itself. For the pool, where θ counts the labelled items too, it is
        (nθ − counts)/u with u of n items unlabelled, and θ if all are labelled.
        """
        if self.target == "population":
            return theta
        left = self.left[:, None]
        share = (self.size[:, None] * theta - self.counts) / np.maximum(left, 1)
        return np.where(left > 0, np.clip(share, 0, 1), theta)

    def drop(self, gradient: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """The expected fall in the variance of g·θ by one more label, in each cell.

        With A = Σ_j α_j g_j², B = Σ_j α_j g_j and outcomes drawn from θ~ (Q = Σ_j θ~_j g_j², L = Σ_j θ~_j g_j):
        σ² = A/s − (B/s)² now, and (A+Q)/(s+1) − (B² + 2BL + Q)/(s+1)² after one label, on average.
        The variance is σ²/(s+1) for the population; see `_spread` for the pool. For accuracy, g = (1, 0),
        this is the paper's Var(θ|L) − E Var(θ|L, z).

        Parameters
        ----------
        gradient
            g, shape (..., cells, outcomes).
        theta
            θ~, shape (..., cells, outcomes); the next outcome comes from its `upcoming` part.

        Returns
        -------
        Shape (..., cells).
        """
        s = self.strength
        gradient_2 = gradient**2
        square, linear = _dot(self.alpha, gradient_2), _dot(self.alpha, gradient)
        theta = self.upcoming(theta)
        q, ell = _dot(theta, gradient_2), _dot(theta, gradient)
        now = square / s - (linear / s) ** 2
        after = (square + q) / (s + 1) - (linear**2 + 2 * linear * ell + q) / (s + 1) ** 2
        return self._change(now, after)

    def total_drop(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """The expected fall in Σ_j Var θ_j by one more label, in each cell; shapes as in `drop`.

        Σ_j Var_j = (s² − q)/(s²(s+1)) with q = Σ α², and ((s+1)² − q − 1 − 2 θ~·α)/((s+1)²(s+2)) after one label.
        """
        theta = self.upcoming(theta)
        s, q = self.strength, _dot(self.alpha, self.each)
        now = 1 - q / s**2
        after = 1 - (q + 1 + 2 * _dot(theta, self.each)) / (s + 1) ** 2
        return self._change(now, after)

    def _change(self, now: NDArray[np.float64], after: NDArray[np.float64]) -> NDArray[np.float64]:
        later = np.maximum(self.left - 1, 0)
        return now * self._spread(self.left, self.strength) - after * self._spread(later, self.strength + 1)

    def _spread(self, left: NDArray[np.int64], s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Var of a share ÷ σ² of one outcome: 1/(s+1), or u(s+u)/(n²(s+1)) with u of n items unlabelled."""
        if self.target == "population":
            return 1 / (s + 1)
        return left * (s + left) / (self.size.astype(float) ** 2 * (s + 1))


@dataclass(frozen=True, eq=False)
class Strata:
    """A belief about cells put together from finer ones: θ_c = Σ_f w_f θ_f over the strata f of c.

    It is needed when labels were asked by one partition and are read by another: they are a random sample within the
    groups of asking but not across them, so each stratum counts by its share of the pool.

    Parameters
    ----------
    fine
        The belief about the strata.
    cell
        The cell of each stratum, shape (strata,).
    size
        Items of the pool in each cell, shape (cells,).
    """

    fine: Belief
    cell: NDArray[np.int64]
    size: NDArray[np.int64]

    conjugate: ClassVar[bool] = False

    @property
    def target(self) -> Target:
        """Whether the shares are those of the population or of the pool."""
        return self.fine.target

    @property
    def numbers(self) -> int:
        """The number of values in one draw."""
        return self.fine.numbers

    @cached_property
    def counts(self) -> NDArray[np.float64]:
        """Label counts, shape (cells, outcomes)."""
        return np.add.reduceat(self.fine.counts[self._order], self._starts, axis=0)

    @property
    def left(self) -> NDArray[np.int64]:
        """Items without a label in each cell, shape (cells,)."""
        return np.maximum(self.size - np.rint(self.counts.sum(axis=-1)).astype(np.int64), 0)

    def mean(self) -> NDArray[np.float64]:
        """E θ, shape (cells, outcomes)."""
        return self._mixed(self.fine.mean())

    def variance(self) -> NDArray[np.float64]:
        """Var θ, shape (cells, outcomes)."""
        variance = self.fine.variance() * self._weight[:, None] ** 2
        return np.add.reduceat(variance[self._order], self._starts, axis=0)

    def draws(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n independent draws of θ, shape (n, cells, outcomes)."""
        if len(self.size) == 1:
            return self.fine.mixed(rng, n, self._weight)[:, None]
        return self._mixed(self.fine.draws(rng, n))

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.searchsorted(self.cell[self._order], np.arange(len(self.size)))

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        return np.argsort(self.cell, kind="stable")

    @cached_property
    def _weight(self) -> NDArray[np.float64]:
        return self.fine.size / self.size[self.cell]

    def _mixed(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        weighted = theta * self._weight[:, None]
        return np.add.reduceat(weighted[..., self._order, :], self._starts, axis=-2)


def _dot(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of products over outcomes, where NumPy is slow to add up two of them; (..., outcomes) to (...)."""
    if left.shape[-1] == 2:
        return left[..., 0] * right[..., 0] + left[..., 1] * right[..., 1]
    total: NDArray[np.float64] = np.einsum("...o,...o->...", left, right)
    return total


def with_rest(shares: NDArray[np.float64], outcomes: NDArray[np.intp]) -> NDArray[np.float64]:
    """One of the outcomes of each cell, and the sum of its others: (cells, outcomes) to (cells, 2).

    >>> with_rest(np.array([[5.0, 1.0, 2.0], [0.0, 1.0, 3.0]]), np.array([2, 1])).tolist()
    [[2.0, 6.0], [1.0, 3.0]]
    """
    place = np.arange(len(shares)), outcomes
    rest = shares.copy()
    rest[place] = 0.0
    return np.column_stack([shares[place], rest.sum(axis=-1)])


def dirichlet_draws(rng: np.random.Generator, alpha: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """n Dirichlet draws for each row of α, shape (n, rows, outcomes), also for very small α."""
    theta = rng.standard_gamma(alpha, size=(n, *alpha.shape))
    total = theta.sum(axis=-1, keepdims=True)
    lost = total[..., 0] == 0
    if lost.any():
        # All gammas underflowed, which happens when Σ α is tiny; the draw is then a corner of the simplex.
        rows = np.nonzero(lost)[1]
        edge = np.cumsum(alpha[rows], axis=1)
        corner = (edge < rng.random(len(rows))[:, None] * edge[:, -1:]).sum(axis=1)
        theta[lost] = np.eye(alpha.shape[1])[corner]
        total[lost] = 1
    theta /= total
    return theta


def gamma_draws(
    rng: np.random.Generator, mean: NDArray[np.float64], variance: NDArray[np.float64]
) -> NDArray[np.float64]:
    """A draw of a Gamma with each mean and variance, or the mean itself where there is no variance."""
    some = (mean > 0) & (variance > 0)
    m, v = np.where(some, mean, 1.0), np.where(some, variance, 1.0)
    return np.where(some, rng.standard_gamma(m**2 / v) * v / m, mean)
