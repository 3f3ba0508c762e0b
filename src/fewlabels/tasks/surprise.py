"""How surprising labels are for a group that only just misses a line: an exact test of one group by its own labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.special import betainc, gammaln

if TYPE_CHECKING:
    from numpy.typing import NDArray


def surprise(
    line: float,
    right: NDArray[np.int64],
    wrong: NDArray[np.int64],
    size: NDArray[np.int64] | None = None,
    *,
    beyond: bool = False,
) -> NDArray[np.float64]:
    """The probability of at least r right labels of n in a group that does not reach the line; shape (groups,).

    In a population the worst such group has the share `line`: P(Bin(n, line) ≥ r), which is the regularised incomplete
    beta function I_line(r, n − r + 1). With `size` items, of which K are right, it is the hypergeometric tail for the
    largest K that does not reach the line: below it, or with `beyond` up to it.

    >>> surprise(0.9, np.array([29, 28]), np.array([0, 0])).round(3)
    array([0.047, 0.052])
    """
    if size is None:
        tail = betainc(np.maximum(right, 1), wrong + 1, line)
        return np.where(right > 0, tail, 1.0)
    most = np.floor(line * size + 1e-9) if beyond else np.ceil(line * size - 1e-9) - 1
    groups = zip(most.astype(np.int64), right, wrong, size, strict=True)
    return np.array([_tail(int(k), int(r), int(w), int(n)) for k, r, w, n in groups])


def _tail(most: int, right: int, wrong: int, size: int) -> float:
    """P(at least `right` right ones among right + wrong items drawn from `size`, of which `most` are right)."""
    if most < right:
        return 0.0
    if right == 0:
        return 1.0
    drawn = right + wrong
    ends = np.arange(right, min(drawn, most) + 1)
    ends = ends[drawn - ends <= size - most]
    ways = _choose(most, ends) + _choose(size - most, drawn - ends) - _choose(size, np.array([drawn]))
    return float(np.exp(ways).sum())


def _choose(n: int, k: NDArray[np.int64]) -> NDArray[np.float64]:
    """log of the number of ways to choose k of n."""
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
