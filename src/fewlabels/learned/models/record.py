"""What the record of two models against each other says by itself: how often each was right where they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.special import betaln, gammaln

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Wins and losses that every record begins with: of two good models, neither is far better.
BEFORE = 4.0
# A record so many standard deviations ahead is as good as certain.
_AHEAD = 6.0


def stays_ahead(wins: NDArray[np.int64], losses: NDArray[np.int64], left: NDArray[np.int64]) -> NDArray[np.float64]:
    """P(one model ends at least level with another), from their record and the items that are left, elementwise.

    The share of wins is Beta(wins + 4, losses + 4), so what is left is beta-binomial: W of the `left` items go to the
    first model, and it needs wins + W ≥ losses + left − W. An item that both have wrong counts as neither.

    >>> import numpy as np
    >>> found = stays_ahead(np.array([7, 12, 3]), np.array([6, 2, 1]), np.array([8, 8, 2]))
    >>> [round(p, 3) for p in found.tolist()]
    [0.661, 1.0, 1.0]
    """
    a, b = wins + BEFORE, losses + BEFORE
    need = np.maximum(-((wins - losses - left) // 2), 0)
    share = a / (a + b)
    spread = np.sqrt(left * share * (1 - share) * (1 + np.maximum(left - 1, 0) / (a + b + 1)))
    found = np.ones(np.shape(wins))
    for k in np.flatnonzero((need > 0) & (left * share - need < _AHEAD * spread)).tolist():
        more = np.arange(need[k], left[k] + 1)
        ways = gammaln(left[k] + 1) - gammaln(more + 1) - gammaln(left[k] - more + 1)
        found[k] = np.exp(ways + betaln(more + a[k], left[k] - more + b[k]) - betaln(a[k], b[k])).sum()
    return np.minimum(found, 1.0)
