"""Fits to several versions of the same labels, kept for the next reader.

The model is the same for accuracy in groups, the calibration error and a confusion matrix: they only add up its strips
into different cells. So the plots and tables of one report need a handful of fits rather than one each.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.learned.items.fit import learn_several

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.learned.items.model import Trust
    from fewlabels.learned.items.strips import Strips

# Fits that are kept, and the most numbers in one of them: 32 MB.
_FITS, _NUMBERS = 4, 2**22
_KEPT: dict[bytes, list[Trust]] = {}


def learn_once(strips: Strips, right: NDArray[np.float64], labels: NDArray[np.float64]) -> list[Trust]:
    """What `learn_several` finds, from the last fits if one of them was to the same labels in the same strips.

    A fit does not look at what is in a cell, so the cells may differ.
    """
    key = _key(strips, right, labels)
    learned = _KEPT.get(key)
    if learned is None:
        learned = learn_several(strips, right, labels)
        if sum(trust.lean.size for trust in learned) <= _NUMBERS:
            _KEPT[key] = learned
            for oldest in [*_KEPT][:-_FITS]:
                _KEPT.pop(oldest, None)  # another thread may have been quicker
    return [replace(trust, strips=strips) for trust in learned]


def _key(strips: Strips, right: NDArray[np.float64], labels: NDArray[np.float64]) -> bytes:
    """All that a fit depends on, as a hash."""
    arrays = (strips.design, strips.effect, strips.crossed, strips.kinds, strips.scale, strips.lift, right, labels)
    made = hashlib.blake2b(repr((strips.columns, strips.own, [array.shape for array in arrays])).encode())
    for array in arrays:
        made.update(np.ascontiguousarray(array).data)
    return made.digest()
