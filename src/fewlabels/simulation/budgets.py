"""Budgets of a simulation: numbers of labels, or percentages of the items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.checks import several
from fewlabels.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


def label_counts(given: Iterable[int | str], most: int, *, least: int = 0, capped: bool = False) -> NDArray[np.int64]:
    """The label counts in increasing order, each once, shape (budgets,); none, or a wrong one, is a SpecError.

    One of more labels than there are items is wrong too, but means all of them where budgets are `capped`.

    >>> label_counts([20, "10%"], 50), label_counts([20, 80], 50, capped=True)
    (array([ 5, 20]), array([20, 50]))
    """
    given = several(given, "The budgets of a simulation", error=SpecError)
    counts = sorted({_label_count(budget, most, least) for budget in given})
    if not counts:
        raise SpecError("no budget was named. Give a number of labels, such as 200 or 10%.")
    if counts[-1] > most and not capped:
        raise SpecError(
            f"a budget of {counts[-1]:,} labels is more than the {most:,} items that can be asked about. "
            "Use fewer, or a percentage such as 50%."
        )
    return np.array(sorted({min(count, most) for count in counts}), dtype=np.int64)


def _label_count(given: int | str, most: int, least: int) -> int:
    text = str(given).strip()
    try:
        if text.endswith("%") and 0 <= float(text[:-1]) <= 100:
            return max(round(float(text[:-1]) / 100 * most), least)
        if int(text) >= least and not isinstance(given, bool):
            return int(text)
    except ValueError:
        pass
    raise SpecError(f"The budgets must be numbers of labels, such as 200, or percentages, such as 10%. Got {given!r}.")
