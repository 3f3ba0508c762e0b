"""Classes whose shares are not those that the classifier learned from (label shift).

By Bayes' rule, the log-odds of a predicted class then move by how much more frequent the class is than it was in
training, relative to the other classes. A classifier that learned from equally many items of two classes, and meets
one of them once in fifty, is nearly always right about the frequent class, mostly wrong about the rare one, and
equally sure of both. With many classes the labels show this by themselves. With few there are two more kinds of
classifiers, which differ from ordinary ones in a and h: those that learned from equal shares, for which the
confidences of all items show the shares they meet (Saerens, Latinne and Decaestecker, 2002), and those that learned
from any other shares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The probabilities that a classifier of two classes learned from equal shares and meets others, and that it learned
# from any other shares. With G classes they are 2/G of these, and with more than this many classes 0.
_EQUAL, _ANY, _MOST = 0.08, 0.06, 6
# Mean and sd of the part of the shift from equal shares that took place: what it learned from may have been in between.
_PART = np.array([0.8, 0.4])
# Sds of a and h after a shift from any shares.
_ANY_SDS = np.array([0.7, 1.5])
# The sd of h that is left where equal shares were learned and met.
_LEAST = 0.3
# Log-odds move by no more than this: from one half to one in fifty.
_FURTHEST = 4.0
# The most steps of EM, and a change small enough to stop.
_STEPS, _NEAR = 200, 1e-6


def with_shifts(
    kinds: NDArray[np.float64],
    s: NDArray[np.float64],
    group: NDArray[np.int64],
    items: NDArray[np.int64],
    larger: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The kinds of classifiers, followed by the two for which shares have changed, shape (kinds + 2, 9).

    Confidence, predicted class, items and how much larger the class is are those of each strip, all of shape (strips,).
    With one class, or many, nothing is added.
    """
    classes = int(group.max()) + 1
    if not 1 < classes <= _MOST:
        return kinds
    moves = moved(s, group, items)[group]
    doubt = items * s * (1 - s)
    # `larger` has the mean 0 by doubt, so h·larger moves nothing overall, and a is the rest.
    h = float((doubt * larger) @ moves / ((doubt * larger) @ larger))
    a = float(doubt @ moves / doubt.sum())
    equal, unknown = kinds[0].copy(), kinds[0].copy()
    equal[0], unknown[0] = 2 / classes * _EQUAL, 2 / classes * _ANY
    equal[1] += _PART[0] * a
    equal[2] = np.hypot(equal[2], _PART[1] * a)
    equal[7:] = _PART[0] * h, np.hypot(_LEAST, _PART[1] * h)
    unknown[[2, 8]] = _ANY_SDS
    kept = kinds.copy()
    kept[:, 0] *= 1 - equal[0] - unknown[0]
    return np.vstack([kept, equal, unknown])


def moved(s: NDArray[np.float64], group: NDArray[np.int64], items: NDArray[np.int64]) -> NDArray[np.float64]:
    """By how much the log-odds of each class move if the classifier learned from equal shares, shape (classes,).

    The shares that it meets are the most likely ones given the confidences, by EM; what is not the predicted class may
    be any other. Below, the second pool has the items of the first in other shares: nine of one class for each of the
    other, so that log 9 is added to the log-odds of the one and taken from those of the other.

    >>> s, group = np.array([0.9, 0.6, 0.6, 0.9]), np.array([0, 0, 1, 1])
    >>> moved(s, group, np.array([400, 100, 100, 400])).round(2) + 0.0
    array([0., 0.])
    >>> moved(s, group, np.array([656, 116, 84, 144])).round(1)
    array([ 2.2, -2.2])
    """
    classes = int(group.max()) + 1
    likely = np.repeat((1 - s)[:, None] / (classes - 1), classes, axis=1)
    likely[np.arange(len(s)), group] = s
    share = np.full(classes, 1 / classes)
    for _ in range(_STEPS):
        belongs = likely * share
        # One more item of each class, so that none has the share 0.
        new = (items / belongs.sum(axis=1) @ belongs + 1) / (items.sum() + classes)
        done = np.abs(new - share).max() < _NEAR
        share = new
        if done:
            break
    others = (share.sum() - share) / (classes - 1)
    moves: NDArray[np.float64] = np.clip(np.log(share / others), -_FURTHEST, _FURTHEST)
    return moves
