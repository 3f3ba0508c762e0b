"""Intervals that hold at every look: confidence sequences for the share right in a group, and evidence for a line.

A 95% credible interval may be read once. A person who looks after every label and stops when they like the result needs
an interval that contains the true value at all looks together with probability 0.95, whatever the truth. Such intervals
come from bets: somebody who bets on each label at fair odds under θ turns 1 into

    M_n(θ) = Π_i q_i(y_i) / (θ^r (1 − θ)^w)        after r right and w wrong labels,

where q_i is any forecast made before label i. If θ is true, M is a martingale, so it ever reaches 1/α with a
probability of at most α (Ville 1939). The values that are not yet refuted, {θ: M_n(θ) < 1/α}, are the interval. The
forecasts are those of Beta mixtures, Π q_i = Σ_k c_k B(a_k + r, b_k + w)/B(a_k, b_k): a good one makes the interval
short, a bad one only makes it long. For the pool's own items, which are asked without replacement, the odds under R
right items of N are (R − r)/(N − n) instead of θ (Waudby-Smith and Ramdas 2020).

Two groups are compared by both bets at once: M_a(θ_a) · M_b(θ_b) is a martingale too, whichever group is asked about
next, so that pairs (θ_a, θ_b) with a product of 1/α are refuted together. That is sharper than two intervals that share
the α out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.beta_binomial import log_tail
from fewlabels.special import betaincc, betaln, expit, gammaln, xlog1py, xlogy

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_FARTHEST = 40.0  # log-odds: beyond e^−40 of 0 or 1 an end is 0 or 1
_HALVINGS = 60
_MANY, _SOME = 5_000, 1_001  # numbers of right items that are all tried, and how many are tried of more
_NONE = 1e-300  # in place of no label, whose logarithm is not a number


@dataclass(frozen=True, eq=False)
class Bets:
    """Forecasts of right and wrong for each group, made before its first label: a mixture of Betas.

    Parameters
    ----------
    a, b
        The counts of each Beta, shape (groups, betas).
    share
        What part of the stake each has, shape (betas,), summing to 1.

    >>> bets = Bets.on(np.array([0.9, 0.5]))
    >>> np.exp(bets.log_wealth(np.array([2, 0]), np.array([0, 1]))).round(3)
    array([0.597, 0.5  ])
    """

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    share: NDArray[np.float64]

    @classmethod
    def on(cls, expected: NDArray[np.float64], strength: float = 10.0) -> Bets:
        """Half on Beta(½, ½), half on a Beta of this strength around what is expected of each group, shape (groups,).

        The first half makes sure that a wrong expectation costs a factor of 2 in the wealth and no more.
        """
        middle = np.clip(expected, 0.01, 0.99)
        a = np.stack([np.full_like(middle, 0.5), strength * middle], axis=-1)
        b = np.stack([np.full_like(middle, 0.5), strength * (1 - middle)], axis=-1)
        return cls(a, b, np.array([0.5, 0.5]))

    def log_wealth(self, right: NDArray[np.int64], wrong: NDArray[np.int64]) -> NDArray[np.float64]:
        """log Π q_i, the probability that the forecasts gave to the labels in their order; shape (groups,)."""
        parts = betaln(self.a + right[:, None], self.b + wrong[:, None]) - betaln(self.a, self.b)
        return np.asarray(np.logaddexp.reduce(parts + np.log(self.share), axis=-1))


def population_sequence(
    right: NDArray[np.int64], wrong: NDArray[np.int64], bets: Bets, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Low and high of θ in each group at this look, two of shape (groups,).

    log M is convex in θ with its minimum at the share right, so that each end is found by halving on its side of it.

    >>> low, high = population_sequence(np.array([45]), np.array([5]), Bets.on(np.array([0.9])), 0.95)
    >>> low.round(2), high.round(2)
    (array([0.73]), array([0.98]))
    """
    room = bets.log_wealth(right, wrong) + np.log(1 - level)
    # Ends are looked for in the log-odds z, where those near 0 and 1 are as far apart as others.
    best = np.clip(np.log(np.maximum(right, _NONE)) - np.log(np.maximum(wrong, _NONE)), -_FARTHEST, _FARTHEST)

    def refuted(z: NDArray[np.float64]) -> NDArray[np.bool_]:
        # r log θ + w log(1 − θ), where log(1 − θ) is log θ − z.
        return room >= -(right + wrong) * np.logaddexp(0.0, -z) - wrong * z

    # Both ends at once: two rows of the same groups.
    low, high = _edge(refuted, np.repeat([[-_FARTHEST], [_FARTHEST]], len(right), axis=1), np.stack([best, best]))
    return np.where(right > 0, expit(low), 0.0), np.where(wrong > 0, expit(high), 1.0)


def _edge(
    refuted: Callable[[NDArray[np.float64]], NDArray[np.bool_]],
    outside: NDArray[np.float64],
    inside: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The point between `outside` and `inside` from which values are not refuted, rounded outwards."""
    for _ in range(_HALVINGS):
        middle = (outside + inside) / 2
        out = refuted(middle)
        outside, inside = np.where(out, middle, outside), np.where(out, inside, middle)
    return outside


def pool_sequence(
    right: NDArray[np.int64], wrong: NDArray[np.int64], size: NDArray[np.int64], bets: Bets, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Low and high of the share right among the N items of each group, two of shape (groups,).

    >>> everything = pool_sequence(np.array([7]), np.array([3]), np.array([10]), Bets.on(np.array([0.9])), 0.95)
    >>> everything
    (array([0.7]), array([0.7]))
    """
    room = bets.log_wealth(right, wrong) + np.log(1 - level)

    def refuted(total: NDArray[np.int64]) -> NDArray[np.bool_]:
        return room >= _log_sequence(total, right, wrong, size)

    # The likelihood of R rises to its maximum and falls from there. The forecasts are a mixture over R too, so they
    # cannot beat the maximum, which is never refuted.
    labelled = np.maximum(right + wrong, 1)
    best = np.clip((size + 1) * right // labelled, right, size - wrong)
    best = np.where(right + wrong > 0, best, right)
    low, high = _whole_edge(refuted, right - 1, best), _whole_edge(refuted, size - wrong + 1, best)
    return low / np.maximum(size, 1), high / np.maximum(size, 1)


def _whole_edge(
    refuted: Callable[[NDArray[np.int64]], NDArray[np.bool_]], beyond: NDArray[np.int64], inside: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The outermost whole number between `inside`, which is not refuted, and `beyond`, which is impossible."""
    far, near = beyond, inside
    while (open_ := np.abs(far - near) > 1).any():
        middle = np.where(open_, (far + near) // 2, near)
        out = refuted(middle) & open_
        far, near = np.where(out, middle, np.where(open_, far, near)), np.where(out, near, middle)
    return near


def _log_sequence(
    total: NDArray[np.int64] | NDArray[np.float64],
    right: NDArray[np.int64],
    wrong: NDArray[np.int64],
    size: NDArray[np.int64],
) -> NDArray[np.float64]:
    """log of [R]_r [N − R]_w / [N]_(r+w): the probability of the labels in their order if R of N items are right."""
    rest = size - total
    falling = gammaln(total + 1) - gammaln(total - right + 1) + gammaln(rest + 1) - gammaln(rest - wrong + 1)
    return falling - gammaln(size + 1) + gammaln(size - right - wrong + 1)


def evidence_above(
    line: float,
    right: NDArray[np.int64],
    wrong: NDArray[np.int64],
    bets: Bets,
    size: NDArray[np.int64] | None = None,
    *,
    touching: bool = False,
) -> NDArray[np.float64]:
    """log of the wealth won against "the share right is at most `line`" by bets on more; shape (groups,).

    If the share is at most the line, it ever reaches 1/α with a probability of at most α. The bets are the
    mixture's, cut off below the line. With `size` the share is that of the group's own items, asked without
    replacement; it can be exactly the line, and `touching` says whether that counts as above it. For a share below a
    line, turn right and wrong, the bets and the line around. No share is above 1: bets on that win nothing, −inf.

    >>> np.exp(evidence_above(0.8, np.array([45]), np.array([1]), Bets.on(np.array([0.9])))).round()
    array([378.])
    """
    if size is not None:
        most = np.ceil(line * size - 1e-9) - 1 if touching else np.floor(line * size + 1e-9)
        return _pool_evidence(most.astype(np.int64), right, wrong, bets, size)
    if line >= 1:
        return np.full(len(right), -np.inf)
    r, w = right[:, None], wrong[:, None]
    with np.errstate(divide="ignore"):
        above = np.log(betaincc(bets.a + r, bets.b + w, line)) - np.log(betaincc(bets.a, bets.b, line))
    parts = above + betaln(bets.a + r, bets.b + w) - betaln(bets.a, bets.b)
    return _log_mixed(parts, bets.share) - xlogy(right, line) - xlog1py(wrong, -line)


def _log_mixed(parts: NDArray[np.float64], share: NDArray[np.float64]) -> NDArray[np.float64]:
    """log Σ share·exp(parts) over the last axis. SciPy's checks take ten times as long, and forecasts make thousands.

    >>> _log_mixed(np.array([[-1000.0, -1001.0]]), np.array([1.0, 0.0]))
    array([-1000.])
    """
    top = parts.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        mixed: NDArray[np.float64] = np.log((share * np.exp(parts - top)).sum(axis=-1)) + top[..., 0]
    return mixed


def _pool_evidence(
    most: NDArray[np.int64], right: NDArray[np.int64], wrong: NDArray[np.int64], bets: Bets, size: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Bets on each total R above the largest one that is not above the line, weighed by the mixture.

    Before the labels R is beta-binomial under each Beta, and so is the number of right items among the rest after them.
    So the wealth is Σ_k c_k B(a_k + r, b_k + w)/B(a_k, b_k) P_k(R > K | labels) ÷ Σ_k c_k P_k(R > K), against the
    probability of the labels under K.
    """
    out = np.empty(len(right))
    for g, (r, w, n, k) in enumerate(zip(right.tolist(), wrong.tolist(), size.tolist(), most.tolist(), strict=True)):
        if r > k or n - w <= k:
            out[g] = np.inf if r > k else -np.inf
            continue
        a, b = bets.a[g], bets.b[g]
        before = log_tail(k + 1, n, a, b)
        after = betaln(a + r, b + w) - betaln(a, b) + log_tail(k + 1 - r, n - r - w, a + r, b + w)
        won = _log_mixed(np.stack([after, before]), bets.share)
        out[g] = won[0] - won[1] - _log_sequence(np.array(k), np.array(r), np.array(w), np.array(n))
    return out


def surest(holds: Callable[[float], bool]) -> float:
    """The largest probability p at which something still holds that holds at all smaller ones; 0 if at none.

    >>> round(surest(lambda p: p <= 0.3), 6)
    0.3
    """
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS // 2):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def evidence_apart(
    least: float,
    right: NDArray[np.int64],
    wrong: NDArray[np.int64],
    bets: Bets,
    size: NDArray[np.int64] | None = None,
    *,
    touching: bool = True,
) -> float:
    """log of the wealth won against "the first share is at least the second plus `least`"; arrays of shape (2,).

    It is the least wealth over all such pairs of shares. If one of them is true, it ever reaches 1/α with a probability
    of at most α. With `touching` a difference of exactly `least` is one of those that the bets are against.

    >>> both = np.array([20, 45]), np.array([30, 5])
    >>> round(float(np.exp(evidence_apart(-0.1, *both, Bets.on(np.array([0.5, 0.9]))))))
    1037
    """
    wealth = float(bets.log_wealth(right, wrong).sum())
    if size is not None:
        return wealth - _likeliest_pool(least, right, wrong, size, touching=touching)
    return wealth - _likeliest(least, right, wrong)


def _likeliest(least: float, right: NDArray[np.int64], wrong: NDArray[np.int64]) -> float:
    """The largest log-likelihood of two shares that are at least `least` apart.

    It is that of the shares right if they are; otherwise it is on the edge, along which it is concave.
    """
    labelled = np.maximum(right + wrong, 1)
    free = np.where(right + wrong > 0, right / labelled, [1.0, 0.0])
    if free[0] - free[1] >= least:
        return float((xlogy(right, free) + xlog1py(wrong, -free)).sum())
    low, high = max(0.0, -least), min(1.0, 1.0 - least)
    if low > high:  # no two shares are that far apart
        return -np.inf

    def slope(second: float) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.array([second + least, second])
            parts = np.where(right > 0, right / share, 0.0) - np.where(wrong > 0, wrong / (1 - share), 0.0)
        return float(parts.sum())

    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    share = np.clip([low + least, low], 0.0, 1.0)
    return float((xlogy(right, share) + xlog1py(wrong, -share)).sum())


def _likeliest_pool(
    least: float, right: NDArray[np.int64], wrong: NDArray[np.int64], size: NDArray[np.int64], *, touching: bool
) -> float:
    """The largest log-likelihood of two numbers of right items whose shares are at least `least` apart.

    For each number in the first group it is that of the likeliest number in the second. Among many numbers the second
    may be a fraction: then the likelihood is concave in the first, so it is enough to go on between the neighbours of
    the best of some, and it is never below that of whole numbers, so the evidence is never too large.
    """
    low, high = int(right[0]), int(size[0] - wrong[0])
    are_many = high - low > _MANY

    def likelihoods(first: NDArray[np.int64]) -> NDArray[np.float64]:
        most = size[1] * (first / max(size[0], 1) - least)
        if not are_many:
            most = np.floor(most + 1e-9) if touching else np.ceil(most - 1e-9) - 1
        second = np.minimum(np.clip(best, right[1], size[1] - wrong[1]), most)
        both = np.full(len(first), -np.inf)
        possible = second >= right[1]
        both[possible] = _log_sequence(first[possible], right[0], wrong[0], size[0])
        both[possible] += _log_sequence(second[possible], right[1], wrong[1], size[1])
        return both

    labelled = right[1] + wrong[1]
    best = (size[1] + 1) * right[1] // labelled if labelled else size[1]
    while high - low > _MANY:
        some = np.linspace(low, high, _SOME).astype(np.int64)
        place = int(likelihoods(some).argmax())
        low, high = int(some[max(place - 1, 0)]), int(some[min(place + 1, _SOME - 1)])
    return float(likelihoods(np.arange(low, high + 1)).max())
