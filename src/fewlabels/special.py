"""The functions of `scipy.special` that are used here; it is imported when the first of them is called.

Its import takes longer than most commands do, and many of them call none of its functions. The two that nearly every
command needs are short in NumPy.
"""

from __future__ import annotations

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
    "ndtri",
    "rel_entr",
    "stdtrit",
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


if TYPE_CHECKING:
    from scipy.special import (
        betainc,
        betaincc,
        betaincinv,
        betaln,
        chdtrc,
        gammaln,
        logsumexp,
        ndtri,
        rel_entr,
        stdtrit,
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
                from scipy import special

                self._function = getattr(special, self._name)
            return self._function(*arguments, **settings)

    def __getattr__(name: str) -> _Function:
        if name in __all__:
            return _Function(name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
