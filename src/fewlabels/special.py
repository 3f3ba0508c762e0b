"""The functions of `scipy.special` that are used here; it is imported when the first of them is called.

Its import takes longer than most commands do, and many of them call none of its functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from scipy.special import (
        betainc,
        betaincc,
        betaincinv,
        betaln,
        chdtrc,
        expit,
        gammaln,
        logit,
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
