"""The state of a run after each number of labels, from the places it asked in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.kernels.jit import formula, kernel
from fewlabels.simulation.kernels.run import Run, record
from fewlabels.simulation.kernels.value import mean_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.simulation.truth import Gauge


@formula
def _standing(value: NDArray[np.float64], rival: NDArray[np.bool_], i: int) -> tuple[int, int]:
    """How many rivals are above group i, and how many equal it."""
    above, equal = 0, 0
    for g in range(len(value)):
        if rival[g]:
            above += value[g] > value[i]
            equal += value[g] == value[i]
    return above, equal


@kernel
def mrr_curve(
    run: Run, asked: NDArray[np.int64], gauge: Gauge, members: NDArray[np.int64], labels: int
) -> NDArray[np.float64]:
    """MRR = (1/m) Σ 1/rank_i of the true m groups after 0, 1, ... labels, shape (labels + 1,).

    A group's value is Σ_c Σ_j weight_cj |E θ_cj − centre_cj| over its cells, and rank 1 has the largest. Other members
    are ignored in the rank (as the paper does), and equal values are ranked in random order: the result is the
    expectation over that. Only what a label changes is computed again.

    Parameters
    ----------
    run
        A run before its first label, to which the labels are added.
    asked
        The places in the order of asking, shape (places,).
    members
        The true m groups, shape (m,).
    """
    groups, m = len(run.first) - 1, len(members)
    harmonic = np.zeros(groups + 2)
    for i in range(1, groups + 2):
        harmonic[i] = harmonic[i - 1] + 1.0 / i
    value = np.empty(groups)
    rival = np.empty(groups, dtype=np.bool_)
    for g in range(groups):
        rival[g] = run.starts[g + 1] > run.starts[g]
        value[g] = mean_value(run, g, gauge)
    rival[members] = False
    above, equal = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
    for i in range(m):
        above[i], equal[i] = _standing(value, rival, members[i])
    out = np.empty(labels + 1)
    for done in range(labels + 1):
        total = 0.0
        for i in range(m):
            total += (harmonic[above[i] + equal[i] + 1] - harmonic[above[i]]) / (equal[i] + 1)
        out[done] = total / m
        if done >= len(asked) or asked[done] < 0 or done == labels:
            out[done:] = out[done]
            break
        place = asked[done]
        g, old = run.group[place], value[run.group[place]]
        record(run, place)
        value[g] = mean_value(run, g, gauge)
        for i in range(m):
            if rival[g]:
                own = value[members[i]]
                above[i] += int(value[g] > own) - int(old > own)
                equal[i] += int(value[g] == own) - int(old == own)
            elif members[i] == g:
                above[i], equal[i] = _standing(value, rival, g)
    return out
