"""The choice of the best methods: Wilcoxon's signed-rank test against the best by mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fewlabels.simulation.scorer import Better

_LEVEL = 0.05


def against_best(scores: Mapping[str, NDArray[np.float64]], better: Better) -> dict[str, dict[str, Any]]:
    """The p-value of each method and whether it counts among the best, from scores of shape (runs,), run by run.

    The best by mean has no p. A method is among the best if it is that one or not significantly different at 0.05, as
    in the paper's tables.

    >>> import numpy as np
    >>> a = np.random.default_rng(1).random(30)
    >>> {name: row["best"] for name, row in against_best({"a": a, "b": a + 0.1}, "low").items()}
    {'a': True, 'b': False}
    """
    sign = 1.0 if better == "low" else -1.0
    first = min(scores, key=lambda name: sign * float(scores[name].mean()))
    rows: dict[str, dict[str, Any]] = {}
    for name, values in scores.items():
        p = None if name == first else signed_rank_p(values, scores[first])
        rows[name] = {"p": p, "best": p is None or p >= _LEVEL}
    return rows


def signed_rank_p(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """The two-sided p of the signed-rank test for paired values; 1 if all pairs are equal."""
    from scipy.stats import wilcoxon

    if np.array_equal(a, b):
        return 1.0
    # Below ten pairs the normal approximation is poor, but then nothing is significant anyway.
    return float(wilcoxon(a, b, method="auto").pvalue)
