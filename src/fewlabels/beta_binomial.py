"""The upper tail of the beta-binomial distribution, at a cost that does not grow with the number of items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.special import betainc, betaln, expit, gammaln, logsumexp

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FEW = 500  # items up to which the terms of the tail are summed
_FAR, _NODES = 50.0, 401  # standard deviations on each side of the mode, and points there


def log_tail(least: int, items: int, a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """log P(X ≥ least), where X of the items are right, each with the chance θ ~ Beta(a, b); shape (betas,).

    X ≥ least if θ exceeds the `least`-th smallest of as many uniform numbers, which is U ~ Beta(least, items − least +
    1). So for many items P(U < θ) is an integral over the narrower of the two, by the trapezoidal rule in its log-odds.

    >>> log_tail(1, 2, np.array([1.0]), np.array([1.0])).round(4)  # of 0, 1 and 2, each as likely
    array([-0.4055])
    >>> log_tail(900_001, 1_000_000, np.array([1.0]), np.array([1.0])).round(4)
    array([-2.3026])
    """
    if least <= 0:
        return np.zeros(len(a))
    if least > items:
        return np.full(len(a), -np.inf)
    if items <= _FEW:
        return _summed(least, items, a, b)
    tails = [
        _integral(float(least), float(items - least + 1), *beta) for beta in zip(a.tolist(), b.tolist(), strict=True)
    ]
    with np.errstate(divide="ignore"):
        return np.log(tails)


def _summed(least: int, items: int, a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """The tail as the sum of its terms, C(N, x) B(a + x, b + N − x) / B(a, b)."""
    x = np.arange(least, items + 1)[:, None]
    ways = gammaln(items + 1) - gammaln(x + 1) - gammaln(items - x + 1)
    tail: NDArray[np.float64] = logsumexp(ways + betaln(a + x, b + items - x), axis=0) - betaln(a, b)
    return tail


def _integral(p: float, q: float, a: float, b: float) -> float:
    """P(U < θ) for U ~ Beta(p, q) and θ ~ Beta(a, b)."""
    if p + q >= a + b:
        z, weight = _nodes(p, q)
        return float(weight @ betainc(b, a, expit(-z)))  # θ above U
    z, weight = _nodes(a, b)
    return float(weight @ betainc(p, q, expit(z)))  # U below θ


def _nodes(p: float, q: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log-odds, and how much of Beta(p, q) lies at each of them; two of shape (nodes,).

    Weights are computed as ratios to the one at the mode: the terms of their logarithms nearly cancel.
    """
    away = np.linspace(-_FAR, _FAR, _NODES) * np.sqrt((p + q) / (p * q))
    weight = np.exp(p * away - (p + q) * np.log1p(p / (p + q) * np.expm1(away)))
    return np.log(p / q) + away, weight / weight.sum()
