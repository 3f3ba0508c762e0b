"""The region of practical equivalence: P(a < b), P(about equal) and P(a > b), without Monte Carlo."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.errors import Argument, SpecError
from fewlabels.special import betainc, betaincc, betaincinv, betaln, expit, gammaln, logit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.metrics.base import Metric

# Where the panels of the quadrature end: at these quantiles of both Betas, from either side ...
_QUANTILES = np.array([1e-14, 1e-9, 1e-6, 1e-4, 1e-3, 0.01, 0.05, 0.2, 0.5])
# ... and at even steps of the log-odds, as far as e^−75 from the two ends.
_FARTHEST = 75.0
_STEPS = np.linspace(-_FARTHEST, _FARTHEST, 61)
# Masses below e to this power do not reach the sixteenth digit of the sum.
_NOTHING = -45.0
# From here on Stirling's series is exact to the last digit.
_STIRLING = 20.0


def check_rope(rope: float, metric: Metric) -> None:
    """SpecError if no difference between two values of a metric is larger than the rope.

    >>> import fewlabels as fl
    >>> check_rope(5, fl.Accuracy())
    Traceback (most recent call last):
    fewlabels.errors.SpecError: with rope=5 every difference in accuracy counts as none. For 5 points, write rope=0.05.
    """
    if rope < metric.span:
        return
    points = rope < 100 and metric.in_percent
    hint = (f"For {rope:g} points, write ", Argument("rope", rope / 100)) if points else ("Use a smaller one",)
    wide = int(rope) if rope == int(rope) else rope
    raise SpecError("with ", Argument("rope", wide), f" every difference in {metric.name} counts as none. ", *hint, ".")


def rope_probabilities(a: NDArray[np.float64], b: NDArray[np.float64], rope: float) -> NDArray[np.float64]:
    """μ = (P(Δ < −ε), P(|Δ| ≤ ε), P(Δ > ε)) for Δ = θ_a − θ_b of two independent Betas, to about 1e-10.

    P(Δ < −ε) = ∫ f_b(y) F_a(y − ε) dy by Gauss-Legendre in the log-odds of y, on panels that end at quantiles of both.

    Parameters
    ----------
    a, b
        The counts (right, wrong) of the two groups, shape (2,).
    rope
        ε, the half-width of the region.

    >>> import numpy as np
    >>> people, trees = np.array([280.0, 203.0]), np.array([351.0, 162.0])  # the paper's supplement
    >>> rope_probabilities(people, trees, 0.05).round(3)
    array([0.963, 0.037, 0.   ])
    """
    less, more = _below(a, b, rope), _below(b, a, rope)
    return np.array([less, max(0.0, 1 - less - more), more])


def pool_rope_probabilities(
    a: tuple[NDArray[np.float64], int, int, int], b: tuple[NDArray[np.float64], int, int, int], rope: float
) -> NDArray[np.float64]:
    """μ for the shares right among the pool's own items of two groups: exact sums over two beta-binomials.

    Parameters
    ----------
    a, b
        For each group its counts α of shape (2,), the items known to be right, the unlabelled items, and all items.
    rope
        ε, the half-width of the region.

    >>> import numpy as np
    >>> known = (np.array([7.0, 5.0]), 6, 0, 10)  # all labelled: 6 of 10 right
    >>> pool_rope_probabilities(known, (np.array([9.0, 3.0]), 8, 0, 10), 0.05)
    array([1., 0., 0.])
    """
    (share_a, mass_a), (share_b, mass_b) = _shares(*a), _shares(*b)
    # A difference of exactly ε counts as equal; shares are fractions, so it must not be lost to rounding.
    edge = rope + 1e-12
    below = np.append(0.0, np.cumsum(mass_b))
    more = float(mass_a @ below[np.searchsorted(share_b, share_a - edge, side="left")])
    less = float(mass_a @ (below[-1] - below[np.searchsorted(share_b, share_a + edge, side="right")]))
    return np.array([less, max(0.0, 1 - less - more), more])


def _shares(
    alpha: NDArray[np.float64], right: int, left: int, size: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The possible shares right in a group, in increasing order, and their probabilities; two of shape (left + 1,)."""
    x = np.arange(left + 1)
    log_mass = gammaln(left + 1) - gammaln(x + 1) - gammaln(left - x + 1)
    log_mass += betaln(alpha[0] + x, alpha[1] + left - x) - betaln(alpha[0], alpha[1])
    mass = np.exp(log_mass)
    return (right + x) / size, mass / mass.sum()


def _below(a: NDArray[np.float64], b: NDArray[np.float64], rope: float) -> float:
    """P(θ_a < θ_b − ε) = ∫ f_b(y) F_a(y − ε) dy over ε < y < 1, in the log-odds z of where y lies between the two.

    With x = y − ε and t = 1 − y both distances keep their digits, so that Betas with tiny counts, whose
    mass lies closer to 0 and 1 than any floating-point number can say, are integrated like all others.
    """
    if rope >= 1:
        return 0.0
    width = 1 - rope
    ends = _panel_ends(a, b, rope)
    node, weight = _gauss()
    half = np.diff(ends)[:, None] / 2
    z = (ends[:-1, None] + half + half * node).ravel()
    x, t = width * expit(z), width * expit(-z)
    log_mass = b[0] * np.log(rope + x) + b[1] * np.log(t) - _log_beta(b[0], b[1]) + np.log(x / (rope + x) / width)
    # Most panels serve Betas with other counts and contain no mass of this one.
    some = log_mass > _NOTHING
    z, x, t = z[some], x[some], t[some]
    below = np.where(z < 0, betainc(a[0], a[1], x), betaincc(a[1], a[0], rope + t))
    inside = (np.exp(log_mass[some]) * below * (half * weight).ravel()[some]).sum()
    return float(np.clip(inside + _outside(a, b, rope), 0, 1))


@cache
def _gauss() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    node, weight = np.polynomial.legendre.leggauss(16)
    return node, weight


def _log_beta(p: float, q: float) -> float:
    """log B(p, q) to about 1e-11 for counts up to 100,000, where a difference of log Γ loses six more digits.

    By Stirling's series log Γ(z) = (z − ½) log z − z + ½ log 2π + δ(z), the large terms combined first.
    """
    p, q = min(p, q), max(p, q)
    if q < _STIRLING:
        return float(betaln(p, q))
    total = _remainder(q) - _remainder(p + q) - (q - 0.5) * np.log1p(p / q)
    if p < _STIRLING:
        return float(total + gammaln(p) + p - p * np.log(p + q))
    rest = 0.5 * np.log(2 * np.pi / (p + q)) + _remainder(p)
    return float(total + rest - (p - 0.5) * np.log1p(q / p))


def _remainder(z: float) -> float:
    """δ(z), to 1e-16 from z = 20 on."""
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * z**2)) / z**2) / z**2) / z


def _outside(a: NDArray[np.float64], b: NDArray[np.float64], rope: float) -> float:
    """The mass beyond the first and last panel, where a Beta equals a power of the distance to the last digit."""
    near = (1 - rope) * expit(-_FARTHEST)
    last = betainc(b[1], b[0], near)
    if rope > 0:
        # F_a is constant beyond the last panel, and before the first one there is nothing.
        return float(last * betainc(a[0], a[1], 1 - rope))
    first = betainc(a[0], a[1], near) * betainc(b[0], b[1], near) * b[0] / (a[0] + b[0])
    return float(first + last * (1 - betainc(a[1], a[0], near) * b[1] / (a[1] + b[1])))


def _panel_ends(a: NDArray[np.float64], b: NDArray[np.float64], rope: float) -> NDArray[np.float64]:
    """The ends of the quadrature's panels in z, in increasing order: even steps, and the quantiles of both Betas."""
    width = 1 - rope
    # Where θ_b and θ_a + ε lie, as distances from ε and from 1; of the two, the nearer one keeps its digits.
    x = np.concatenate([betaincinv(b[0], b[1], _QUANTILES) - rope, betaincinv(a[0], a[1], _QUANTILES)])
    t = np.concatenate([betaincinv(b[1], b[0], _QUANTILES), betaincinv(a[1], a[0], _QUANTILES) - rope])
    tiny = np.finfo(float).tiny
    low, high = logit(np.clip(x / width, tiny, 1)), -logit(np.clip(t / width, tiny, 1))
    ends = np.concatenate([_STEPS, low, high])
    return np.unique(np.clip(ends, -_FARTHEST, _FARTHEST))
