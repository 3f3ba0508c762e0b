"""Telling the confidence of the answer from the probability of one of two classes, by the values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_ENOUGH = 20  # rows from which the values show it


def looks_like_one_class(p: Sequence[float] | NDArray[np.float64], answers: Sequence[str]) -> str | None:
    """The class that p seems to be the probability of, if it cannot be the confidence of the answer.

    With two classes the answer has at least half of the probability. A p that is below one half for all answers of one
    class, and above for the other, is the probability of the other.

    >>> looks_like_one_class([0.9, 0.2, 0.7, 0.1] * 5, ["spam", "ham", "spam", "ham"] * 5)
    'spam'
    >>> looks_like_one_class([0.9, 0.8, 0.7, 0.6] * 5, ["spam", "ham", "spam", "ham"] * 5)
    """
    values, answered = np.asarray(p, dtype=float), np.asarray(answers, dtype=object)
    names = sorted(set(answers))
    known = np.isfinite(values)
    if len(names) != 2 or known.sum() < _ENOUGH or not (values[known] < 0.5).any():
        return None
    of = [values[known & (answered == name)] for name in names]
    if min(map(len, of)) == 0:
        return None
    for low, high, positive in ((of[0], of[1], names[1]), (of[1], of[0], names[0])):
        if low.max() <= high.min() and low.min() < 0.5:
            return positive
    return None
