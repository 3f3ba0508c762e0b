"""Kinds of classifiers: what confidences may mean before any label, as a prior with a row for each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.special import expit, logit

if TYPE_CHECKING:
    from numpy.typing import NDArray

# When groups are compared, a confidence counts up to these log-odds (0.982): beyond them all items are equally easy.
SURE = 4.0
# Five kinds of classifiers. Columns: weight, then mean and sd of the gap (log-odds of being right overall, beyond what
# the classifier says), of the slope b within groups and of what the slope g between groups adds to it. Ordinary is what
# a survey of some fifty public classifiers found. True ones mean about what they say. Modest ones are better than they
# say. Odd ones are as likely better as worse, and few have confidences that mean nothing or the opposite. Lost ones are
# always sure and often wrong, as language models can be: for them a gap of −6 is nothing special. A classifier that is
# hardly ever in doubt cannot be modest, and one that often is may well be, above all if its confidences go far down:
# the weight of these is times ((1 − mean s)·(1 − least s))². Ordinary has the rest.
KINDS = np.array(
    [
        [np.nan, -0.4, 0.4, 0.8, 0.2, 0.3, 0.25],
        [0.15, 0.0, 0.25, 0.85, 0.2, 0.3, 0.25],
        [8.0, 1.5, 1.0, 1.4, 0.4, 0.3, 0.25],
        [0.14, 0.0, 1.5, 1.0, 0.7, 0.3, 0.5],
        [0.01, -3.0, 3.0, 1.0, 0.7, 0.3, 0.5],
    ]
)
# Where b has at least this sd, it is unclear what confidences mean.
_OPEN = 0.5
# However much a classifier is in doubt, it is not certain to be a modest one.
_MOST_MODEST = 0.5
# Nobody is right in 9,999 of 10,000 cases because confidences say so: they may be rounded, or mean nothing. Of the
# log-odds of the mean confidence beyond `SURE`, this part is expected not to be true, with this sd.
_UNTRUE = np.array([0.3, 0.45])
_ORDINARY, _MODEST = 0, 2
# Groups by columns of the pool have less of a slope between them: mean and sd of g as parts of those for classes.
_COLUMNS = np.array([1 / 3, 0.8])
# Without confidences there is only an overall rate: that of fair, of good and of nearly perfect classifiers.
NO_CONFIDENCE = np.array(
    [
        [0.55, 1.0, 1.5, 0.0, 1.0, 0.0, 1.0],
        [0.30, 3.0, 1.2, 0.0, 1.0, 0.0, 1.0],
        [0.15, 5.0, 1.5, 0.0, 1.0, 0.0, 1.0],
    ]
)
# Newton's steps at most, and a step so short that the next would change nothing.
_NEWTON, _NEAR = 100, 1e-12


def kinds_of(mean: float, least: float, *, columns: bool = False) -> NDArray[np.float64]:
    """What a classifier may be like if its confidences have this mean and go down to `least`; shape (kinds, 7).

    See `KINDS`. `columns` says whether the groups that are compared come from columns of the pool alone.

    >>> kinds_of(0.9, 0.5)[:, 0].round(2)
    array([0.68, 0.15, 0.02, 0.14, 0.01])
    >>> kinds_of(0.7, 0.1)[:, 0].round(2)
    array([0.2 , 0.15, 0.5 , 0.14, 0.01])
    """
    kinds = KINDS.copy()
    kinds[_MODEST, 0] = min(kinds[_MODEST, 0] * ((1 - mean) * (1 - least)) ** 2, _MOST_MODEST)
    kinds[_ORDINARY, 0] = 1 - np.delete(kinds[:, 0], _ORDINARY).sum()
    beyond = max(float(logit(mean)) - SURE, 0.0)
    kinds[:, 1] -= _UNTRUE[0] * beyond
    kinds[:, 2] = np.hypot(kinds[:, 2], _UNTRUE[1] * beyond)
    if columns:
        kinds[:, 5:] *= _COLUMNS
    return kinds


def is_open(kinds: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether it is unclear what confidences mean, or there are none, for each kind of classifier; shape (kinds,)."""
    return kinds[:, 4] >= _OPEN


def intercepts(rest: NDArray[np.float64], size: NDArray[np.int64], goal: float) -> NDArray[np.float64]:
    """For each kind the a at which the items are right as often as the classifier says: mean σ(a + rest) = goal.

    `rest` is bx + gz in each strip, shape (kinds, strips). So b and g alone, whatever they are, do not claim that the
    classifier is better or worse than it says.
    """
    low, high = np.full(len(rest), -60.0), np.full(len(rest), 60.0)
    share = size / size.sum()
    a = logit(goal) - rest @ share
    for _ in range(_NEWTON):
        chance = expit(a[:, None] + rest)
        over, slope = chance @ share - goal, (chance * (1 - chance)) @ share
        low, high = np.where(over < 0, a, low), np.where(over < 0, high, a)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = a - over / slope
        # A step that leaves the bracket, as on the flat parts of σ, is a bisection instead.
        step = np.where((step > low) & (step < high), step, (low + high) / 2)
        if (np.abs(step - a) < _NEAR).all():
            return step
        a = step
    return a
