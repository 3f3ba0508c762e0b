"""The region of practical equivalence in compiled code: by quadrature, or by exact sums for a pool's own items."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.kernels.jit import formula
from fewlabels.simulation.kernels.special import betaln, log_kernel, tails

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LOST = math.log(1e-15)  # of the mass of a Beta outside the range of integration
_NEAR = 1e-15  # to 0 or 1: from here on powers of the distance describe a Beta
_LAST_NODE = 3.2  # where the weights of the double exponential rule reach 1e-15
_STRIDE = 32  # of the nodes, at most
_STEP = 0.08 / _STRIDE
_GRID = _STEP * np.arange(-int(3.1 / _STEP), int(3.1 / _STEP) + 1)
_NODE = 1.0 + np.tanh(0.5 * np.pi * np.sinh(_GRID))  # the double exponential rule on (0, 2)
_WEIGHT = _STEP * 0.5 * np.pi * np.cosh(_GRID) / np.cosh(0.5 * np.pi * np.sinh(_GRID)) ** 2
_EDGE = 1e-12  # a difference of exactly ε counts as equal, also after rounding


@formula
def _tail_start(a: float, b: float) -> float:
    """A distance from 0 below which Beta(a, b) has almost no mass, or that is too small to matter."""
    mean = a / (a + b)
    spread = mean - math.sqrt(-0.5 * _LOST / (a + b + 1.0))  # Beta is sub-Gaussian with variance 1/(4(a+b+1))
    power = math.exp(min((_LOST + math.log(a) + betaln(a, b)) / a, 0.0)) if b >= 1.0 else 0.0
    return max(spread, power, _NEAR)


@formula
def _variance(a: float, b: float) -> float:
    return a * b / ((a + b) * (a + b) * (a + b + 1.0))


@formula
def _less(a: float, b: float, c: float, d: float, rope: float) -> float:
    """P(x < y − ε) = ∫ f(y) F(y − ε) dy for x ~ Beta(a, b) and y ~ Beta(c, d), the narrower one.

    The double exponential rule in z = log(y/(1−y)), from the kink at y = ε or the tail to the other tail.
    """
    near = _tail_start(c, d)
    low, far = max(near, rope), _tail_start(d, c)
    if low >= 1.0 - far:
        return 0.0 if low == rope else tails(a, b, low - rope, 1.0 - low + rope)[0]
    start, end = math.log(low / (1.0 - low)), math.log((1.0 - far) / far)
    half = 0.5 * (end - start)
    # Half the width of the narrower of density and distribution function, in z, where the nodes are widest apart.
    width = math.sqrt(_variance(a, b))
    centre = min(max(a / (a + b) + rope, width), 1.0 - width)
    finest = min(math.sqrt(1.0 / c + 1.0 / d), width / (centre * (1.0 - centre)), 1.0)
    step = max(min(0.06, finest / (math.pi * half)), 0.0005)
    total, n = 0.0, int(_LAST_NODE / step)
    for k in range(-n, n + 1):
        u = 0.5 * math.pi * math.sinh(k * step)
        z = start + half * (1.0 + math.tanh(u))
        y, yc = 1.0 / (1.0 + math.exp(-z)), 1.0 / (1.0 + math.exp(z))
        weight = half * 0.5 * math.pi * math.cosh(k * step) / math.cosh(u) ** 2
        weight *= math.exp(log_kernel(c, d, y, yc))
        if weight > 1e-15:
            total += weight * tails(a, b, y - rope, yc + rope)[0]
    beyond = tails(c, d, 1.0 - far, far)[1]
    if rope > 0.0:
        rest = beyond * tails(a, b, 1.0 - far - rope, far + rope)[0]
    else:
        # Near 0 and 1 both are powers of the distance, so the chance that x is the nearer one is exact.
        above = tails(a, b, 1.0 - far, far)[1]
        below = tails(a, b, low, 1.0 - low)[0] * tails(c, d, low, 1.0 - low)[0]
        rest = beyond * (1.0 - above * d / (b + d)) + below * c / (a + c)
    return min(max(total * step + rest, 0.0), 1.0)


@formula
def rope_less(a: float, b: float, c: float, d: float, rope: float) -> float:
    """P(x < y − ε) for x ~ Beta(a, b) and y ~ Beta(c, d), to about 1e-10."""
    if rope >= 1.0:
        return 0.0
    if _variance(a, b) < _variance(c, d):
        # Seen from 1, x and y change places: 1 − y < (1 − x) − ε.
        return _less(d, c, b, a, rope)
    return _less(a, b, c, d, rope)


@formula
def rope_flow(a: float, b: float, c: float, d: float, rope: float) -> float:
    """∫ D(y − ε) f(y) dy, with D(x) = x^a (1−x)^b / B(a, b) and f the density of Beta(c, d); by what a label moves μ.

    For x ~ Beta(a, b) and y ~ Beta(c, d) the chance of x < y − ε falls by this ÷ a if a label of x is right, and grows
    by this ÷ b if it is wrong, because I_x(a+1, b) = I_x(a, b) − D/a and I_x(a, b+1) = I_x(a, b) + D/b.
    By the double exponential rule of `_less`, over what both have in common.
    """
    near, far = _tail_start(c, d), _tail_start(d, c)
    # D counts as long as it contributes to either of the two changes.
    low, high = max(near, rope + _tail_start(a, b + 1.0) - _NEAR), min(1.0 - far, 1.0 + rope - _tail_start(b, a + 1.0))
    if rope >= 1.0 or low >= high:
        return 0.0
    start, end = (
        math.log(low / (1.0 - low)),
        math.log(high / (1.0 - high)) if high < 1.0 - far else math.log((1.0 - far) / far),
    )
    half = 0.5 * (end - start)
    width = math.sqrt(_variance(a, b))
    centre = min(max(a / (a + b) + rope, width), 1.0 - width)
    finest = min(math.sqrt(1.0 / c + 1.0 / d), width / (centre * (1.0 - centre)), 1.0)
    stride = _STRIDE
    while stride > 1 and stride * _STEP * math.pi * half > finest:
        stride //= 2
    log_scale = -betaln(a, b) - betaln(c, d)
    total, n = 0.0, len(_NODE) // 2
    for k in range(n % stride, len(_NODE), stride):
        z = start + half * _NODE[k]
        grown = math.exp(-abs(z))
        y, yc = (
            (1.0 / (1.0 + grown), grown / (1.0 + grown)) if z > 0.0 else (grown / (1.0 + grown), 1.0 / (1.0 + grown))
        )
        x = y - rope
        if x > 0.0:
            log_y = -math.log1p(grown) + min(z, 0.0)
            power = c * log_y + d * (log_y - z) + a * math.log(x) + b * math.log(yc + rope) + log_scale
            total += math.exp(power) * _WEIGHT[k]
    total *= half * stride
    if rope > 0.0:
        beyond = tails(c, d, 1.0 - far, far)[1] if high >= 1.0 - far else 0.0
        return total + beyond * math.exp(log_kernel(a, b, 1.0 - far - rope, far + rope))
    # Near 0 and 1 both are powers of the distance.
    ends = math.exp(log_kernel(a, b, low, 1.0 - low) + log_kernel(c, d, low, 1.0 - low)) / (a + c)
    return total + ends + math.exp(log_kernel(a, b, 1.0 - far, far) + log_kernel(c, d, 1.0 - far, far)) / (b + d)


@formula
def rope_regions(a: float, b: float, c: float, d: float, rope: float) -> tuple[float, float, float]:
    """μ = (P(Δ < −ε), P(|Δ| ≤ ε), P(Δ > ε)) for Δ = x − y, x ~ Beta(a, b), y ~ Beta(c, d).

    >>> less, equal, more = rope_regions(280.0, 203.0, 351.0, 162.0, 0.05)  # people and trees
    >>> round(less, 3), round(equal, 3), round(more, 3)
    (0.963, 0.037, 0.0)
    """
    less, more = rope_less(a, b, c, d, rope), rope_less(c, d, a, b, rope)
    return less, max(0.0, 1.0 - less - more), more


@formula
def _mass(a: float, b: float, left: int) -> NDArray[np.float64]:
    """P(k of `left` items are right), k = 0 ... left, for a beta-binomial; shape (left + 1,)."""
    mass = np.empty(left + 1)
    top = min(max(int(left * a / (a + b)), 0), left)
    mass[top] = 1.0
    for k in range(top, left):
        mass[k + 1] = mass[k] * (left - k) * (a + k) / ((k + 1.0) * (b + left - k - 1.0))
    for k in range(top, 0, -1):
        mass[k - 1] = mass[k] * k * (b + left - k) / ((left - k + 1.0) * (a + k - 1.0))
    return mass / mass.sum()


@formula
def _pool_less(
    mass: NDArray[np.float64],
    right: float,
    size: int,
    other: NDArray[np.float64],
    other_right: float,
    other_size: int,
    rope: float,
) -> float:
    """P(share < other share − ε) for the shares right of two groups of a pool."""
    total, below, k = 0.0, 0.0, 0
    for i in range(len(other)):
        limit = (other_right + i) / other_size - rope - _EDGE
        while k < len(mass) and (right + k) / size < limit:
            below += mass[k]
            k += 1
        total += other[i] * below
    return min(total, 1.0)


@formula
def pool_regions(
    alpha: NDArray[np.float64],
    right: NDArray[np.float64],
    left: NDArray[np.int64],
    size: NDArray[np.int64],
    rope: float,
) -> tuple[float, float, float]:
    """μ for the shares right among the pool's own items of two groups.

    alpha: counts (right, wrong) of the beliefs, shape (2, 2); right, left, size: items known to be right, unlabelled,
    and all, shape (2,).
    """
    first, second = _mass(alpha[0, 0], alpha[0, 1], left[0]), _mass(alpha[1, 0], alpha[1, 1], left[1])
    less = _pool_less(first, right[0], size[0], second, right[1], size[1], rope)
    more = _pool_less(second, right[1], size[1], first, right[0], size[0], rope)
    return less, max(0.0, 1.0 - less - more), more
