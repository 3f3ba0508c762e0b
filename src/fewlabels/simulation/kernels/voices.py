"""The compiled model of several models' answers: guesses at which models are voices, fitted to labels.

All formulas are those of `learned/models/voices.py`, item by item; tests compare the two. Items on which all models
agree cancel in every difference, so they are left out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fewlabels.simulation.kernels.jit import formula

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ENOUGH, _NEGLIGIBLE = 1e-9, 1e-3  # as in learned/models/voices.py


class Field(NamedTuple):
    """The contested items of a run, and the guesses at who the voices are.

    option: the option that each model chooses, −1 for none, shape (items, models).
    options, others: the number of options, and whether none of them can be true, shape (items,).
    main: the option that most models choose, shape (items,).
    start, apart: the models that do not choose it, item by item; those of item i are start[i] to start[i + 1].
    base: the features of the crowd, shape (items, options + none, 2 or 3).
    x: the confidences in logits, shape (items, models); (0, 0) without.
    true: the option that a label shows, shape (items,).
    uniform, normals: the randomness of looks, shapes (items, draws) and (draws, parameters).
    spreads: the prior sd of the weights of each guess at all models, shape (guesses,); the first guesses.
    alone: the prior mean and sd of the weight of a voice alone; the last guesses are one for each model, if sd > 0.
    log_prior: of each guess, shape (guesses,).
    before: prior mean and sd of the crowd's parameters, and of a voice's slope, shape (4, 2).
    wider: how much wider the likelihood of the labels is made than Laplace's method says.
    """

    option: NDArray[np.int16]
    options: NDArray[np.int64]
    others: NDArray[np.bool_]
    main: NDArray[np.int64]
    start: NDArray[np.int64]
    apart: NDArray[np.int64]
    base: NDArray[np.float64]
    x: NDArray[np.float64]
    true: NDArray[np.int64]
    uniform: NDArray[np.float32]
    normals: NDArray[np.float64]
    spreads: NDArray[np.float64]
    alone: NDArray[np.float64]
    log_prior: NDArray[np.float64]
    before: NDArray[np.float64]
    wider: float


@formula
def voices_of(field: Field, guess: int) -> tuple[int, int]:
    """The voices of a guess, as a range of models: all of them, or one."""
    if guess < len(field.spreads):
        return 0, field.option.shape[1]
    alone = guess - len(field.spreads)
    return alone, alone + 1


@formula
def prior_of(field: Field, guess: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Prior mean and precision of the parameters of a guess."""
    first, last = voices_of(field, guess)
    b, k = field.base.shape[2], last - first
    size = b + (2 * k if b == 3 else k)
    mean, precision = np.empty(size), np.empty(size)
    for d in range(size):
        if d < b:
            mean[d], sd = field.before[d, 0], field.before[d, 1]
        elif d >= b + k:
            mean[d], sd = field.before[3, 0], field.before[3, 1]
        elif guess < len(field.spreads):
            mean[d], sd = 0.0, field.spreads[guess]
        else:
            mean[d], sd = field.alone[0], field.alone[1]
        precision[d] = 1.0 / sd**2
    return mean, precision


@formula
def _features(field: Field, i: int, first: int, last: int, f: NDArray[np.float64]) -> None:
    """The features of an item's options into f, shape (options + none, parameters)."""
    b, k = field.base.shape[2], last - first
    for j in range(len(f)):
        for d in range(f.shape[1]):
            f[j, d] = field.base[i, j, d] if d < b else 0.0
    for v in range(k):
        o = field.option[i, first + v]
        if o >= 0:
            f[o, b + v] = 1.0
            if b == 3:
                f[o, b + k + v] = field.x[i, first + v]


@formula
def _option_chances(
    field: Field, i: int, f: NDArray[np.float64], theta: NDArray[np.float64], p: NDArray[np.float64]
) -> float:
    """P(each option) of an item into p; the log of the chance of the true one."""
    width = len(p) - 1
    top = -np.inf
    for j in range(width + 1):
        p[j] = -np.inf
        if j < field.options[i] or (j == width and field.others[i]):
            eta = 0.0
            for d in range(len(theta)):
                eta += f[j, d] * theta[d]
            p[j] = eta
            top = max(top, eta)
    shown = p[field.true[i]] - top
    total = 0.0
    for j in range(width + 1):
        p[j] = math.exp(p[j] - top) if p[j] > -np.inf else 0.0
        total += p[j]
    for j in range(width + 1):
        p[j] /= total
    return shown - math.log(total)


@formula
def _add_item(
    f: NDArray[np.float64],
    p: NDArray[np.float64],
    true: int,
    middle: NDArray[np.float64],
    slope: NDArray[np.float64],
    curve: NDArray[np.float64],
) -> None:
    """Add what a label says to the slope and the lower half of the curvature; `middle` is room for the mean of f."""
    size = len(slope)
    for d in range(size):
        middle[d] = 0.0
    for j in range(len(p)):
        if p[j] > 0.0:
            for d in range(size):
                middle[d] += p[j] * f[j, d]
    for d in range(size):
        slope[d] += f[true, d] - middle[d]
    for j in range(len(p)):
        for d in range(size if p[j] > 0.0 else 0):
            pull = p[j] * (f[j, d] - middle[d])
            if pull != 0.0:
                for e in range(d + 1):
                    curve[d, e] += pull * (f[j, e] - middle[e])


@formula
def _climbed(
    field: Field,
    asked: NDArray[np.int64],
    guess: int,
    theta: NDArray[np.float64],
    slope: NDArray[np.float64],
    curve: NDArray[np.float64],
) -> float:
    """The log posterior of a guess, with its slope and the negative of its curvature."""
    first, last = voices_of(field, guess)
    mean, precision = prior_of(field, guess)
    size, width = len(theta), field.base.shape[1] - 1
    f, p, middle = np.empty((width + 1, size)), np.empty(width + 1), np.empty(size)
    curve[:] = 0.0
    value = 0.0
    for d in range(size):
        curve[d, d] = precision[d]
        slope[d] = -precision[d] * (theta[d] - mean[d])
        value -= precision[d] * (theta[d] - mean[d]) ** 2 / 2
    for i in asked:
        _features(field, i, first, last, f)
        value += _option_chances(field, i, f, theta, p)
        _add_item(f, p, field.true[i], middle, slope, curve)
    for d in range(size):
        for e in range(d):
            curve[e, d] = curve[d, e]
    return value


@formula
def fit(field: Field, asked: NDArray[np.int64], guess: int, theta: NDArray[np.float64]) -> tuple[NDArray[Any], float]:
    """Move theta to the mode of a guess; returns a factor of the softened precision, and the log evidence."""
    size = len(theta)
    slope, curve = np.empty(size), np.empty((size, size))
    value = _climbed(field, asked, guess, theta, slope, curve)
    for _ in range(100):
        step = np.linalg.solve(curve, slope)
        if (slope * step).sum() < _ENOUGH:
            break
        scale, start = 1.0, theta.copy()
        for _ in range(40):
            theta[:] = start + scale * step
            new = _climbed(field, asked, guess, theta, slope, curve)
            if new >= value - 1e-9:
                break
            scale /= 2
        value = new
    lower = np.linalg.cholesky(curve)
    evidence = value
    precision = prior_of(field, guess)[1]
    less = 1 / field.wider**2
    curve *= less
    for d in range(size):
        evidence += math.log(precision[d]) / 2 - math.log(lower[d, d])
        curve[d, d] += precision[d] * (1 - less)
    return np.linalg.cholesky(curve), evidence


@formula
def weigh(
    field: Field, asked: NDArray[np.int64], thetas: NDArray[np.float64], lowers: list[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Fit all guesses from their last modes in thetas, (guesses, parameters); returns their weights, (guesses,)."""
    count = len(field.log_prior)
    evidence = np.empty(count)
    for k in range(count):
        size = len(prior_of(field, k)[0])
        lowers[k], evidence[k] = fit(field, asked, k, thetas[k, :size])
        evidence[k] += field.log_prior[k]
    weight = np.exp(evidence - evidence.max())
    weight = np.where(weight > _NEGLIGIBLE, weight, 0.0)
    return weight / weight.sum()
