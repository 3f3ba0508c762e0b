"""How many of the unlabelled items of a cell are right, where the items of each strip have a chance of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

# Counts that vary by less than this (Σ n p (1 − p)) are drawn strip by strip.
_VARIED = 2.0


def right_counts(
    rng: np.random.Generator,
    chance: NDArray[np.float64],
    left: NDArray[np.int64],
    cell: NDArray[np.int64],
    by_cell: Callable[[NDArray[Any]], NDArray[Any]],
) -> NDArray[np.int64]:
    """Draws of Σ_s Binomial(n_s, p_s) over the strips of each cell, shape (draws, cells).

    A sum of binomials whose chances differ is, next to exactly, one binomial with its mean and variance: with
    M = Σ n p and Q = Σ n p², of M²/Q items with the chance Q/M. A fraction of an item is one or none, at random. Strips
    that are mostly right are counted by their wrong items, and apart from the others. So it takes two draws for each
    cell, and not one for each strip, of which there may be twenty. Where next to nothing is open, each strip is drawn.

    Parameters
    ----------
    chance
        P(right) in each strip, shape (draws, strips).
    left, cell
        Items of each strip, and its cell, two of shape (strips,).
    by_cell
        Sums over the strips of each cell: (..., strips) to (..., cells).
    """
    usual = chance.mean(axis=0)
    varied = by_cell(left * (usual - (chance**2).mean(axis=0))) >= _VARIED
    found = np.zeros((len(chance), len(varied)), dtype=np.int64)
    for turned in (False, True):
        items = left * ((usual > 0.5) == turned)
        rare = 1 - chance if turned else chance
        mean, squares = by_cell(items * rare), by_cell(items * rare**2)
        most = by_cell(items)
        of = np.minimum(np.floor(mean**2 / np.maximum(squares, 1e-300) + rng.random(mean.shape)), most).astype(np.int64)
        drawn = rng.binomial(of, np.minimum(mean / np.maximum(of, 1), 1.0))
        found += most - drawn if turned else drawn
    if not varied.all():
        some = np.flatnonzero(~varied[cell])
        each = np.zeros(chance.shape, dtype=np.int64)
        each[:, some] = rng.binomial(left[some], chance[:, some])
        found = np.where(varied, found, by_cell(each))
    return found
