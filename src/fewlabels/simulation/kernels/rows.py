"""Rows of numbers, one for each draw, and vectorised operations on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.kernels.jit import formula, loose_formula

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST = np.float32(80.0)  # larger exponents make no difference
_LOG2E, _LN2_HIGH, _LN2_LOW = np.float32(1.44269504), np.float32(0.693359375), np.float32(-2.12194440e-4)
# Added to a number below 2^22, this leaves the nearest whole number in the last bits.
_ROUND, _BIAS, _PLACES = np.float32(12582912.0), np.int32(127), np.int32(23)
_ONE, *_TERMS = (np.float32(1 / factorial) for factorial in (1, 2, 6, 24, 120, 720))
_HALF, _THIRD, _FOURTH, _FIFTH, _SIXTH = _TERMS


@loose_formula
def sum_of(rows: NDArray[np.float32], row: int) -> np.float32:
    """The sum of a row, in any order."""
    total = np.float32(0.0)
    for m in range(rows.shape[1]):
        total += rows[row, m]
    return total


@formula
def exponentials(rows: NDArray[np.float32], row: int, scratch: NDArray[np.float32]) -> None:
    """Turn each x of a row into exp x, to a part in 10^6, with x held within ±80; `scratch` is as long as the row.

    x = k ln 2 + r with |r| ≤ ln 2 / 2, so exp x = 2^k exp r: a polynomial, and k put among the bits of the exponent.
    A call of the library's exp for each number would take several times as long.
    """
    bits = scratch.view(np.int32)
    for m in range(len(scratch)):
        x = min(max(rows[row, m], -_MOST), _MOST)
        whole = x * _LOG2E + _ROUND
        scratch[m] = whole
        k = whole - _ROUND
        r = (x - k * _LN2_HIGH) - k * _LN2_LOW
        rows[row, m] = _ONE + r * (_ONE + r * (_HALF + r * (_THIRD + r * (_FOURTH + r * (_FIFTH + r * _SIXTH)))))
    for m in range(len(scratch)):
        bits[m] = (bits[m] + _BIAS) << _PLACES
    for m in range(len(scratch)):
        rows[row, m] *= scratch[m]
