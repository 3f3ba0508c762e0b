"""What groups differ by as a whole: how sure they are, and how large.

Both have a slope of their own in the model of items, since they say more about a group than the confidences of its
items do: g by how much surer a group is than the pool, h by how much larger.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The sd of h, for each standard deviation of log n_g. Classes that are rare are often worse: the first number times the
# square of that standard deviation, which counts up to 1, so it matters only where sizes differ by a factor of two and
# more; and in proportion if there are fewer groups than the second number. Classes that are predicted too often are
# worse too, whatever the sizes: the third number times the root of the number of groups, up to the fourth, since many
# groups soon show their slope, and with few it would be noise. The larger of the two counts.
_RARE, _FEW, _OFTEN, _MOST = 0.4, 8, 0.03, 0.25
# How many times as much it is for kinds of classifiers whose confidences may mean nothing, and for groups by columns.
IF_OPEN, _IF_COLUMNS = 1.5, 0.35
# Standard deviations of log n_g below this are next to none.
_EQUAL = 0.05


def surer(
    y: NDArray[np.float64],
    x: NDArray[np.float64],
    group: NDArray[np.int64],
    doubt: NDArray[np.float64],
    n: NDArray[np.float64],
) -> NDArray[np.float64]:
    """How much surer each group is than the pool: z = w·(mean y of the group − mean y of the pool), shape (groups,).

    y, x and doubt are those of each row and n the items it stands for, all of shape (items,). The pool's mean is
    weighted by doubt, as x0 is, so that a change of g alone hardly changes the overall accuracy. w is the share of the
    variance of x that lies within groups: nearly 1 for classes, and nearly 0 for bins of confidence, whose means say no
    more than their items do.
    """
    means = np.bincount(group, y * n) / np.maximum(np.bincount(group, n), 1)
    return _within(x, group, n) * (means - doubt @ means[group] / doubt.sum())


def _within(x: NDArray[np.float64], group: NDArray[np.int64], n: NDArray[np.float64]) -> float:
    """The share of the variance of x that lies within groups; x, group and items of each row, shape (items,)."""
    means = np.bincount(group, x * n) / np.maximum(np.bincount(group, n), 1)
    around, whole = x - means[group], x - np.average(x, weights=n)
    return float((n * around) @ around / max(float((n * whole) @ whole), 1e-12))


def larger(
    group: NDArray[np.int64], doubt: NDArray[np.float64], n: NDArray[np.float64], *, columns: bool = False
) -> tuple[NDArray[np.float64], float]:
    """How much larger each group is than the others, shape (groups,), and the sd of the slope h by it.

    It is (log n_g − mean)/√(v + 0.05²): v is the variance of log n_g over groups, and the mean is over items, weighted
    by doubt, so that a change of h alone hardly changes the overall accuracy. group, doubt and n, the items it stands
    for, are those of each row, all of shape (items,). `columns` says whether the groups come from columns of the pool.

    >>> size, sd = larger(np.array([0, 1, 1, 1]), np.ones(4), np.ones(4))
    >>> size.round(1), round(sd, 2)
    (array([-1.5,  0.5]), 0.04)
    """
    size = np.log(np.maximum(np.bincount(group, n), 1))
    spread, groups = float(size.std()), len(size)
    rare = _RARE * min(1.0, spread) ** 2 * min(1.0, groups / _FEW)
    sd = max(rare, min(_MOST, _OFTEN * groups**0.5)) * (_IF_COLUMNS if columns else 1.0)
    return (size - doubt @ size[group] / doubt.sum()) / np.hypot(spread, _EQUAL), sd
