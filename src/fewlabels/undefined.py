"""Ratios that are 0/0: they have no value, in a draw NaN, and what is 0/0 in most draws has no number at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

MOST = 0.5
"""A ratio that is 0/0 in more of the draws than this has no number."""


def divided(top: NDArray[np.float64], bottom: NDArray[np.float64], least: float = 0.0) -> NDArray[np.float64]:
    """The ratio, NaN where the denominator is not above `least`.

    >>> divided(np.array([1.0, 0.0]), np.array([4.0, 0.0]))
    array([0.25,  nan])
    """
    return np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=bottom > least)


def has_number(draws: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether at least half of the draws have a value: (draws, ...) to (...)."""
    return np.asarray(np.isnan(draws).mean(axis=0) <= MOST)


def over_draws(function: Callable[[NDArray[np.float64]], Any], draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """A function along the first axis, of the draws that have a value; NaN where most have none.

    >>> over_draws(lambda kept: kept.mean(axis=0), np.array([[1.0, np.nan], [2.0, np.nan], [np.nan, 3.0]]))
    array([1.5, nan])
    """
    missing = np.isnan(draws)
    if not missing.any():
        return np.asarray(function(draws))
    columns = zip(draws.reshape(len(draws), -1).T, missing.reshape(len(draws), -1).T, strict=True)
    none = np.full(np.shape(function(np.zeros(1))), np.nan)
    made = [function(column[~lost]) if lost.mean() <= MOST else none for column, lost in columns]
    return np.stack(made, axis=-1).reshape((*none.shape, *draws.shape[1:]))


def mean_of(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of the draws that have a value."""
    return over_draws(lambda kept: kept.mean(axis=0), draws)


def averaged(values: NDArray[np.float64], shares: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
    """Σ p_g v_g ÷ Σ p_g over the groups g that have a value, along an axis; NaN if none has one.

    >>> averaged(np.array([[0.5, 1.0], [0.5, np.nan]]), np.array([0.25, 0.75]))
    array([0.875, 0.5  ])
    """
    missing = np.isnan(values)
    if not missing.any():
        return np.asarray(np.tensordot(values, shares, axes=(axis, 0)))
    total = np.tensordot(np.where(missing, 0.0, values), shares, axes=(axis, 0))
    return divided(np.asarray(total), np.asarray(np.tensordot(~missing, shares, axes=(axis, 0))))


def left_out_words(classes: int) -> str:
    """How many classes a mean over classes leaves out, in a sentence; empty if none.

    >>> left_out_words(2)
    'The mean over classes leaves out 2 classes that are neither predicted nor among the labels.'
    """
    if not classes:
        return ""
    which = f"{counted(classes, 'class')} that {'is' if classes == 1 else 'are'}"
    return f"The mean over classes leaves out {which} neither predicted nor among the labels."
