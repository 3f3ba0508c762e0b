"""What is known about every item besides its confidence: the verdicts of judges, other scores, lengths.

An evidence column z_k adds b_k·z_k to the log-odds of being right, b_k ~ N(0, s²). One s for all columns is mixed over
a small grid by what the labels say: so uninformative columns cost next to nothing, informative ones count for a lot,
and judges that repeat each other do not count twice, since it is one regression and not a product of likelihoods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.special import expit

if TYPE_CHECKING:
    from numpy.typing import NDArray

# How much evidence says, as the standard deviation of b, and how probable that is beforehand. A judge that is right
# about nine in ten answers, whatever they are, has b = 2.2.
SCALES = np.array([0.05, 0.5, 2.0])
SCALE_PRIOR = np.array([0.8, 0.1, 0.1])
# Up to this many patterns of evidence are told apart: all verdicts of four judges, or as many steps of one score.
_PATTERNS = 16


def patterns(
    values: NDArray[np.float64], count: NDArray[np.float64] | None = None, most: int = _PATTERNS
) -> NDArray[np.int64]:
    """The pattern of each item, so that items of one pattern have nearly the same values; shape (items,).

    values has shape (items, columns), and `count` is how many items each row stands for. The pattern with the largest
    sum of squares around its mean, in one column, is divided there at the mean, until there are enough. Verdicts fall
    into their own patterns.

    >>> patterns(np.array([[1.0, 0.1], [-1.0, 0.1], [1.0, 0.1], [-1.0, 0.9]]))
    array([0, 2, 0, 1])
    """
    pattern = np.zeros(len(values), dtype=np.int64)
    n = np.ones(len(values)) if count is None else count
    spread = [_spread(values, n)]
    while len(spread) < most:
        widest = int(np.argmax([part.max(initial=0.0) for part in spread]))
        column = int(np.argmax(spread[widest])) if values.shape[1] else 0
        if spread[widest].max(initial=0.0) <= 1e-9:
            break
        inside = np.flatnonzero(pattern == widest)
        own = values[inside, column]
        low = own <= np.average(own, weights=n[inside])
        pattern[inside[low]] = len(spread)
        spread.append(_spread(values[inside[low]], n[inside[low]]))
        spread[widest] = _spread(values[inside[~low]], n[inside[~low]])
    return pattern


def by_group(
    values: NDArray[np.float64], group: NDArray[np.int64], count: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """What the evidence of a whole group says about each of its items, shape (items, columns that differ by group).

    A group whose answers a judge likes less is worse than its items' verdicts say one by one: the verdicts err, and
    their mean shows how often. It is twice the group's mean, less the pool's, shrunk by how reliable the mean is: the
    variance between groups over that variance plus the one that chance alone would give a group of its size. Columns
    that differ between groups only by chance say nothing.

    >>> values, group = np.array([[1.0], [1.0], [-1.0], [-1.0]]), np.array([0, 0, 1, 1])
    >>> by_group(values, group).ravel()
    array([ 2.,  2., -2., -2.])
    """
    n = np.ones(len(values)) if count is None else count
    size = np.bincount(group, n)
    columns = []
    for column in values.T:
        centred = column - np.average(column, weights=n)
        means = np.bincount(group, centred * n) / np.maximum(size, 1)
        within = n @ (centred - means[group]) ** 2 / max(n.sum() - int((size > 0).sum()), 1)
        chance = within / np.maximum(size, 1)
        between = float(size @ (means**2 - chance) / n.sum())
        if between > 0:
            columns.append((2 * means * between / (between + chance))[group])
    return np.array(columns).reshape(len(columns), len(values)).T


def _spread(values: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of squares around the mean of each column, shape (columns,)."""
    around = values - np.average(values, axis=0, weights=n) if n.sum() > 0 else 0 * values
    squares: NDArray[np.float64] = n @ around**2
    return squares


def lifts(
    rest: NDArray[np.float64], values: NDArray[np.float64], size: NDArray[np.int64], goal: NDArray[np.float64]
) -> NDArray[np.float64]:
    """For each kind and each s the a at which evidence alone changes nothing overall, shape (kinds, scales).

    With b ~ N(0, s²) the log-odds of an item spread by s|z| around a + rest, and E σ is nearer to one half: about
    σ((a + rest)/√(1 + π s²z²/8)). The a is the one at which the mean over all items is the goal of the kind.

    Parameters
    ----------
    rest
        bx + gz in each strip at the means of each kind, shape (kinds, strips).
    values, size
        The evidence of each strip, shape (columns, strips), and its items, shape (strips,).
    goal
        The share right that is expected of each kind, shape (kinds,).
    """
    flat = np.sqrt(1 + np.pi / 8 * SCALES[:, None] ** 2 * (values**2).sum(axis=0))
    low, high = (np.full((len(rest), len(SCALES)), end) for end in (-60.0, 60.0))
    for _ in range(30):
        a = (low + high) / 2
        under = expit((a[..., None] + rest[:, None]) / flat) @ size < goal[:, None] * size.sum()
        low, high = np.where(under, a, low), np.where(under, high, a)
    return (low + high) / 2
