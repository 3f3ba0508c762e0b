"""The Beta distribution in compiled code: log of the beta function, both tails, and quantiles."""

from __future__ import annotations

import math

from fewlabels.simulation.kernels.jit import formula

_HALF_LOG_2PI = 0.9189385332046727
_LARGE = 10.0  # from here on Stirling's series has full precision
_TERMS = 20_000
_EPS = 1e-16
_TINY = 1e-300


@formula
def _stirling(x: float) -> float:
    """log Γ(x) − ((x − ½) log x − x + ½ log 2π), for x ≥ 10."""
    y = 1.0 / (x * x)
    series = 1.0 / 1260.0 - y * (1.0 / 1680.0 - y * (1.0 / 1188.0 - y * (691.0 / 360360.0 - y / 156.0)))
    return (1.0 / 12.0 - y * (1.0 / 360.0 - y * series)) / x


@formula
def betaln(a: float, b: float) -> float:
    """log B(a, b) without the cancellation of three large log Γ.

    >>> round(betaln(2.0, 3.0), 12) == round(math.log(1 / 12), 12)
    True
    """
    if a > b:
        a, b = b, a
    if b < _LARGE:
        return math.lgamma(a) + (math.lgamma(b) - math.lgamma(a + b))
    if a < _LARGE:
        rest = _stirling(b) - _stirling(a + b) + a - (b - 0.5) * math.log1p(a / b) - a * math.log(a + b)
        return math.lgamma(a) + rest
    corrections = _stirling(a) + _stirling(b) - _stirling(a + b)
    rest = (a - 0.5) * math.log(a / (a + b)) - b * math.log1p(a / b) - 0.5 * math.log(b)
    return _HALF_LOG_2PI + corrections + rest


@formula
def log_kernel(a: float, b: float, x: float, xc: float) -> float:
    """log x^a (1−x)^b / B(a, b), with xc = 1 − x given so that nothing is lost near 1."""
    if a < _LARGE or b < _LARGE:
        log_x = math.log(x) if x < 0.5 else math.log1p(-xc)
        log_xc = math.log(xc) if xc < 0.5 else math.log1p(-x)
        return a * log_x + b * log_xc - betaln(a, b)
    # Around the mean m the two logs nearly cancel: write them as log(x/m) and log((1−x)/(1−m)).
    s = a + b
    gap = (b * x - a * xc) / s
    near = a * _log_ratio(x, a / s, gap) + b * _log_ratio(xc, b / s, -gap)
    scale = 0.5 * (math.log(a) + math.log(b / s)) - _HALF_LOG_2PI
    return near + scale - (_stirling(a) + _stirling(b) - _stirling(s))


@formula
def _log_ratio(x: float, m: float, gap: float) -> float:
    """log(x/m) where gap = x − m."""
    if abs(gap) < 0.5 * m:
        return math.log1p(gap / m)
    return math.log(x / m)


@formula
def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method; for x below the mean."""
    s, above, below = a + b, a + 1.0, a - 1.0
    c = 1.0
    d = 1.0 - s * x / above
    d = 1.0 / (d if abs(d) > _TINY else _TINY)
    h = d
    for i in range(1, _TERMS):
        even = i * (b - i) * x / ((below + 2 * i) * (a + 2 * i))
        d = 1.0 + even * d
        c = 1.0 + even / c
        d = 1.0 / (d if abs(d) > _TINY else _TINY)
        c = c if abs(c) > _TINY else _TINY
        h *= d * c
        odd = -(a + i) * (s + i) * x / ((a + 2 * i) * (above + 2 * i))
        d = 1.0 + odd * d
        c = 1.0 + odd / c
        d = 1.0 / (d if abs(d) > _TINY else _TINY)
        c = c if abs(c) > _TINY else _TINY
        step = d * c
        h *= step
        if abs(step - 1.0) < 3 * _EPS:
            break
    return h


@formula
def tails(a: float, b: float, x: float, xc: float) -> tuple[float, float]:
    """P(θ ≤ x) and P(θ > x) for θ ~ Beta(a, b), without loss near 0 and 1; xc = 1 − x.

    >>> low, high = tails(2.0, 1.0, 0.5, 0.5)
    >>> round(low, 12), round(high, 12)
    (0.25, 0.75)
    """
    if x <= 0.0:
        return 0.0, 1.0
    if xc <= 0.0:
        return 1.0, 0.0
    front = math.exp(log_kernel(a, b, x, xc))
    if x < (a + 1.0) / (a + b + 2.0):
        low = min(front * _fraction(a, b, x) / a, 1.0)
        return low, 1.0 - low
    high = min(front * _fraction(b, a, xc) / b, 1.0)
    return 1.0 - high, high


@formula
def betainc(a: float, b: float, x: float) -> float:
    """P(θ ≤ x) for θ ~ Beta(a, b), as `scipy.special.betainc`.

    >>> round(betainc(2.0, 1.0, 0.5), 12)
    0.25
    """
    return tails(a, b, x, 1.0 - x)[0]


@formula
def quantile(a: float, b: float, level: float) -> float:
    """The x with P(θ ≤ x) = level for θ ~ Beta(a, b): Newton's method, with bisection if a step would leave the
    bracket.

    >>> round(quantile(2.0, 1.0, 0.25), 12)
    0.5
    """
    low, high, x = 0.0, 1.0, a / (a + b)
    for _ in range(200):
        below = betainc(a, b, x)
        if below < level:
            low = x
        else:
            high = x
        step = (below - level) * x * (1.0 - x) * math.exp(-log_kernel(a, b, x, 1.0 - x))
        new = x - step
        if not (low < new < high):
            new = 0.5 * (low + high)
        if abs(new - x) <= 1e-15 * x or high - low <= _TINY:
            return new
        x = new
    return x
