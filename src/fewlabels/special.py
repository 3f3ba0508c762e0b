"""The functions of `scipy.special` that are used here; it is imported when the first of them is called.

Its import takes longer than most commands do, and many of them call none of its functions. The three that nearly every
command needs are short in NumPy.
"""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np

__all__ = [
    "betainc",
    "betaincc",
    "betaincinv",
    "betaln",
    "chdtrc",
    "expit",
    "gammaln",
    "logit",
    "logsumexp",
    "ndtr",
    "ndtri",
    "psi",
    "rel_entr",
    "student",
    "warm_up",
    "xlog1py",
    "xlogy",
]


def expit(x: Any) -> Any:
    """σ(x) = 1 / (1 + e⁻ˣ), of a number or of each of an array, without overflow.

    >>> expit([-800.0, 0.0, 800.0])
    array([0. , 0.5, 1. ])
    """
    small = np.exp(-np.abs(x))
    return np.where(np.greater_equal(x, 0), 1.0, small) / (1.0 + small)


def logit(p: Any) -> Any:
    """log(p / (1 − p)), of a number or of each of an array; −∞ at 0 and ∞ at 1.

    >>> logit([0.0, 0.5, 1.0])
    array([-inf,   0.,  inf])
    """
    with np.errstate(divide="ignore"):
        return np.log(p) - np.log1p(np.negative(p))


def student(degrees: int) -> float:
    """The t with P(|T| < t) = 0.95, for T of Student's distribution with a whole number of degrees of freedom.

    By Newton's method on the finite series of Abramowitz and Stegun, 26.7.3 and 26.7.4.

    >>> round(student(4), 6), round(student(10_000), 6)
    (2.776445, 1.960201)
    """
    odd = degrees % 2
    k = np.arange(1, (degrees - odd) // 2)
    terms = np.cumprod(2 * k / (2 * k + 1) if odd else (2 * k - 1) / (2 * k))
    log_height = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2) - math.log(degrees * math.pi) / 2
    t, step = 1.9599, 1.0
    while step > 1e-12 * t:  # from below, where the steps of a concave function never go too far
        angle = math.atan(t / math.sqrt(degrees))
        series = 1 + float(terms @ (math.cos(angle) ** 2) ** k)
        inside = math.sin(angle) * series
        if odd:
            inside = 2 / math.pi * (angle + (inside * math.cos(angle) if degrees > 1 else 0))
        height = 2 * math.exp(log_height - (degrees + 1) / 2 * math.log1p(t * t / degrees))
        step = (0.95 - inside) / height
        t += step
    return t


def warm_up() -> None:
    """Import `scipy.special` now, where the first call should not wait for it."""
    importlib.import_module("scipy.special")


if TYPE_CHECKING:
    from scipy.special import (
        betainc,
        betaincc,
        betaincinv,
        betaln,
        chdtrc,
        gammaln,
        logsumexp,
        ndtr,
        ndtri,
        psi,
        rel_entr,
        xlog1py,
        xlogy,
    )
else:

    class _Function:
        """A function by its name, until it is called."""

        def __init__(self, name: str) -> None:
            self._name = name
            self._function = None

        def __call__(self, *arguments: Any, **settings: Any) -> Any:
            if self._function is None:
                self._function = getattr(importlib.import_module("scipy.special"), self._name)
            return self._function(*arguments, **settings)

    def __getattr__(name: str) -> _Function:
        if name in __all__:
            return _Function(name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
