"""Draws from a part of a Beta distribution: below a cut, or not below it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fewlabels.simulation.kernels.draws import draw_beta
from fewlabels.simulation.kernels.jit import formula
from fewlabels.simulation.kernels.special import betaln, log_kernel, tails

if TYPE_CHECKING:
    import numpy as np

_OFTEN = 0.1  # above this chance, drawing until it happens is the quickest way
_NEAR_ONE = 0.9


@formula
def draw_above(rng: np.random.Generator, a: float, b: float, cut: float) -> float:
    """φ ~ Beta(a, b) given φ ≥ cut, which must not be rare."""
    while True:
        phi = draw_beta(rng, a, b)
        if phi >= cut:
            return phi


@formula
def draw_below_cut(rng: np.random.Generator, a: float, b: float, cut: float, chance: float) -> float:
    """φ ~ Beta(a, b) given φ < cut, which has the given chance, however small."""
    if chance >= _OFTEN:
        while True:
            phi = draw_beta(rng, a, b)
            if phi < cut:
                return phi
    slope = (a - 1.0) / cut - (b - 1.0) / (1.0 - cut)
    if a >= 1.0 and b >= 1.0 and slope > 0.0:
        return _below_by_tangent(rng, a, b, cut, slope)
    if cut < _NEAR_ONE:
        return _below_by_power(rng, a, b, cut)
    return _below_by_halving(rng, a, b, cut, chance)


@formula
def _below_by_tangent(rng: np.random.Generator, a: float, b: float, cut: float, slope: float) -> float:
    """Rejection from the tangent to the log density at the cut; the density is log-concave."""
    while True:
        gap = -math.log(1.0 - rng.random()) / slope
        phi = cut - gap
        if phi > 0.0:
            shape = (a - 1.0) * math.log(phi / cut) + (b - 1.0) * math.log1p(gap / (1.0 - cut))
            if math.log(1.0 - rng.random()) <= shape + slope * gap:
                return phi


@formula
def _below_by_power(rng: np.random.Generator, a: float, b: float, cut: float) -> float:
    """Rejection from the density ∝ φ^(a−1), which lacks only the factor (1−φ)^(b−1)."""
    most = 0.0 if b >= 1.0 else (b - 1.0) * math.log1p(-cut)
    while True:
        phi = cut * math.exp(math.log(1.0 - rng.random()) / a)
        if math.log(1.0 - rng.random()) <= (b - 1.0) * math.log1p(-phi) - most:
            return phi


@formula
def _below_by_halving(rng: np.random.Generator, a: float, b: float, cut: float, chance: float) -> float:
    """The quantile at a uniform level below the cut's."""
    level = (1.0 - rng.random()) * chance
    low, high = 0.0, cut
    for _ in range(60):
        middle = 0.5 * (low + high)
        if tails(a, b, middle, 1.0 - middle)[0] < level:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@formula
def rare_cut(a: float, b: float, level: float, z: float) -> float:
    """A cut that Beta(a, b) falls below with about the chance `level`; z is the normal quantile to it.

    The larger of mean − z·sd and (level·a·B(a, b))^(1/a), and one step of Newton's method on log F against log φ.
    """
    s = a + b
    normal = a / s - z * math.sqrt(a * b / (s + 1.0)) / s
    power = (math.log(level * a) + betaln(a, b)) / a
    cut = max(normal, math.exp(power) if power < 0.0 else 0.0)
    if not 1e-200 < cut < 1.0:
        return 0.0
    low = tails(a, b, cut, 1.0 - cut)[0]
    if low <= 0.0:
        return cut
    slope = math.exp(log_kernel(a, b, cut, 1.0 - cut)) / ((1.0 - cut) * low)
    better = cut * math.exp(min((math.log(level) - math.log(low)) / slope, 1.0))
    return better if better < 1.0 else cut


@formula
def draw_between(rng: np.random.Generator, a: float, b: float, low: float, high: float) -> float:
    """φ ~ Beta(a, b) given low ≤ φ ≤ high, which may be rare."""
    if low <= 0.0 and high >= 1.0:
        return draw_beta(rng, a, b)
    if low <= 0.0 and a < 1.0:
        return _below_by_power(rng, a, b, high)
    if high >= 1.0 and b < 1.0:
        return 1.0 - _below_by_power(rng, b, a, 1.0 - low)
    # The highest density is at an end, or at the mode if that is between them.
    top = low if _log_density(a, b, low) >= _log_density(a, b, high) else high
    if a > 1.0 and b > 1.0 and low < (a - 1.0) / (a + b - 2.0) < high:
        top = (a - 1.0) / (a + b - 2.0)
    most, width, rate = _log_density(a, b, top), high - low, 0.0
    if a >= 1.0 and b >= 1.0 and top in (low, high):
        # The tangent there, as the density is log-concave; at 0 or 1 it is highest only if that side is flat.
        rate = abs(((a - 1.0) / top if a > 1.0 else 0.0) - ((b - 1.0) / (1.0 - top) if b > 1.0 else 0.0))
    steep = rate * width > 1.0
    while True:
        phi, bound = low + width * rng.random(), most
        if steep:
            gap = -math.log1p(rng.random() * math.expm1(-rate * width)) / rate
            phi = low + gap if top == low else high - gap
            bound -= rate * gap
        if math.log(1.0 - rng.random()) <= _log_density(a, b, phi) - bound:
            return phi


@formula
def _log_density(a: float, b: float, x: float) -> float:
    """(a−1) log x + (b−1) log(1−x), which at 0 and 1 may be −∞."""
    left = (a - 1.0) * math.log(x) if x > 0.0 else (0.0 if a == 1.0 else -math.inf)
    right = (b - 1.0) * math.log1p(-x) if x < 1.0 else (0.0 if b == 1.0 else -math.inf)
    return left + right
