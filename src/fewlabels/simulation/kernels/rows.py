"""Rows of numbers, one for each draw: what is done to all of them, several at a time by one processor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.kernels.jit import formula, loose_formula

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST = 600.0  # larger exponents say nothing more
_LOG2E, _LN2_HIGH, _LN2_LOW = 1.4426950408889634, 6.93145751953125e-1, 1.42860682030941723212e-6
# Added to a number below 2^51, this leaves the nearest whole number in the last bits.
_ROUND, _BIAS, _PLACES = 6755399441055744.0, 1023, 52


@loose_formula
def sum_of(rows: NDArray[np.float64], row: int) -> float:
    """The sum of a row, in any order."""
    total = 0.0
    for m in range(rows.shape[1]):
        total += rows[row, m]
    return total


@formula
def exponentials(rows: NDArray[np.float64], row: int, scratch: NDArray[np.float64]) -> None:
    """Turn each x of a row into exp x, to a part in 10^12, with x held within ±600; `scratch` is as long as the row.

    x = k ln 2 + r with |r| ≤ ln 2 / 2, so exp x = 2^k exp r: a polynomial, and k put among the bits of the exponent.
    A call of the library's exp for each number would take several times as long.
    """
    bits = scratch.view(np.int64)
    for m in range(len(scratch)):
        x = min(max(rows[row, m], -_MOST), _MOST)
        whole = x * _LOG2E + _ROUND
        scratch[m] = whole
        k = whole - _ROUND
        r = (x - k * _LN2_HIGH) - k * _LN2_LOW
        low = 1 + r * (1 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r / 720)))))
        rows[row, m] = low + r**7 * (1 / 5040 + r * (1 / 40320 + r * (1 / 362880 + r / 3628800)))
    for m in range(len(scratch)):
        bits[m] = (bits[m] + _BIAS) << _PLACES
    for m in range(len(scratch)):
        rows[row, m] *= scratch[m]
