"""The items of a pool sorted by confidence, and what is expected of confidences before any label."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Confidences nearer to 0 or 1 than this tell nothing more.
_EDGE = 1e-4
# Strips into which the confidences of the pool are sorted.
_STRIPS = 16
# When cells are compared, a confidence counts up to these log-odds (0.982): beyond them all items are equally easy.
_SURE = 4.0
# Four kinds of classifiers. Columns: weight, then mean and sd of the gap (log-odds of being right overall, beyond what
# the classifier says), of the slope b within cells and of what the slope g between cells adds to it. Ordinary is what a
# survey of some fifty public classifiers found; shifted ones have the usual slopes and any gap; odd ones are as likely
# better as worse than they say, and few have confidences that mean nothing or the opposite; lost ones are always sure
# and often wrong, as language models can be: for them a gap of −6 is nothing special.
KINDS = np.array(
    [
        [0.80, -0.4, 0.4, 0.8, 0.2, 0.25, 0.25],
        [0.05, -0.1, 0.9, 0.8, 0.2, 0.25, 0.25],
        [0.14, 0.0, 1.5, 1.0, 0.7, 0.25, 0.5],
        [0.01, -3.0, 3.0, 1.0, 0.7, 0.25, 0.5],
    ]
)
# Without confidences there is only an overall rate.
_NO_CONFIDENCE = np.array([[1.0, 1.0, 1.5, 0.0, 1.0, 0.0, 1.0]])


@dataclass(frozen=True, eq=False)
class Strips:
    """The items of the cells, sorted into strips of nearly equal confidence.

    Parameters
    ----------
    strip
        The strip of each item, shape (items,).
    cell
        The cell of each strip, ascending, shape (strips,).
    x
        Mean of logit s − x0 in each strip, shape (strips,); all 0 without confidences.
    between
        z of each strip's cell: how much surer the cell is than the pool, shape (strips,); all 0 for one cell.
    size
        Items in each strip, shape (strips,).
    kinds
        The prior of (a, b, g), shape (kinds, 7): weight, then mean and sd of a, of b and of g.
    said
        The mean confidence of all items, or None without confidences.
    """

    strip: NDArray[np.int64]
    cell: NDArray[np.int64]
    x: NDArray[np.float64]
    between: NDArray[np.float64]
    size: NDArray[np.int64]
    kinds: NDArray[np.float64]
    said: float | None = None

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """Where the strips of each cell begin, shape (cells,)."""
        return np.flatnonzero(np.diff(self.cell, prepend=-1))

    @cached_property
    def design(self) -> NDArray[np.float64]:
        """What a, b and g are multiplied by in each strip: 1, x and z; shape (3, strips)."""
        return np.stack([np.ones_like(self.x), self.x, self.between])


def strips(confidence: NDArray[np.float64] | None, cell: NDArray[np.int32], size: NDArray[np.int64]) -> Strips:
    """Sort the items of cells by confidence; confidence and cell of each item, shape (items,).

    x0 is the mean of logit s weighted by s(1−s), so that a change of b alone hardly changes the overall accuracy.

    >>> import numpy as np
    >>> found = strips(np.array([0.6, 0.9, 0.9]), np.array([0, 0, 1], dtype=np.int32), np.array([2, 1]))
    >>> found.cell, found.size
    (array([0, 0, 1]), array([1, 1, 1]))
    """
    if confidence is None:
        nothing = np.zeros(len(size))
        return Strips(cell.astype(np.int64), np.arange(len(size)), nothing, nothing, size, _NO_CONFIDENCE)
    s = np.clip(confidence, _EDGE, 1 - _EDGE)
    x, doubt = logit(s), s * (1 - s)
    x -= doubt @ x / doubt.sum()
    # Half by number and half by doubt: where nearly all items are sure, the few others must not share one strip.
    order = np.argsort(x, kind="stable")
    mass = np.cumsum(0.5 / len(x) + 0.5 * doubt[order] / doubt.sum())
    edges = np.unique(x[order][np.searchsorted(mass, np.arange(1, _STRIPS) / _STRIPS)])
    code = cell.astype(np.int64) * (len(edges) + 1) + np.searchsorted(edges, x, side="right")
    used, strip = np.unique(code, return_inverse=True)
    size = np.bincount(strip)
    middle = np.bincount(strip, x) / size
    where = used // (len(edges) + 1)
    between = surer(np.clip(logit(s), -_SURE, _SURE), x, cell, doubt)[where]
    kinds = KINDS.copy()
    kinds[:, 1] += intercepts(kinds[:, [3, 5]] @ np.stack([middle, between]), size, float(s.mean()))
    return Strips(strip, where, middle, between, size, kinds, float(confidence.mean()))


def surer(
    y: NDArray[np.float64], x: NDArray[np.float64], cell: NDArray[np.int32], doubt: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How much surer each cell is than the pool: z_c = w·(mean y of the cell − mean y of the pool), shape (cells,).

    y, x and doubt are those of each item, shape (items,). The pool's mean is weighted by doubt, as x0 is, so that a
    change of g alone hardly changes the overall accuracy. w is the share of the variance of x that lies within cells:
    nearly 1 for classes, and nearly 0 for bins of confidence, whose means say no more than their items do.
    """
    count = np.bincount(cell)
    around, whole = x - (np.bincount(cell, x) / count)[cell], x - x.mean()
    within = around @ around / max(whole @ whole, 1e-12)
    means = np.bincount(cell, y) / count
    return within * (means - doubt @ means[cell] / doubt.sum())


def intercepts(rest: NDArray[np.float64], size: NDArray[np.int64], goal: float) -> NDArray[np.float64]:
    """For each kind the a at which the items are right as often as the classifier says: mean σ(a + rest) = goal.

    `rest` is bx + gz in each strip, shape (kinds, strips). So b and g alone, whatever they are, do not claim that the
    classifier is better or worse than it says.
    """
    low, high = np.full(len(rest), -60.0), np.full(len(rest), 60.0)
    for _ in range(60):
        a = (low + high) / 2
        under = expit(a[:, None] + rest) @ size < goal * size.sum()
        low, high = np.where(under, a, low), np.where(under, high, a)
    return (low + high) / 2
