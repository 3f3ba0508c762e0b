"""The driver for comparing the accuracy of two groups, and when a run had the right answer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.kernels.choose import CHANCE, EPSILON, THOMPSON, pick
from fewlabels.simulation.kernels.draws import draw_upcoming
from fewlabels.simulation.kernels.formulas import beta_drops
from fewlabels.simulation.kernels.jit import formula, kernel
from fewlabels.simulation.kernels.rope import pool_regions, rope_flow, rope_regions
from fewlabels.simulation.kernels.run import Run, beta, last_label, record, room, take

if TYPE_CHECKING:
    from numpy.typing import NDArray

CONFIDENCE, INFORMATION, NEYMAN = range(3)
REWARDS = {"confidence": CONFIDENCE, "information": INFORMATION, "neyman": NEYMAN}
_FRESH = 64  # labels after which μ is computed from scratch, so that rounding errors do not add up
_LEAST = 1e-12  # least μ now: a region that goes from 0 to 1e-16 by rounding is not infinite information


@formula
def _regions(run: Run, first: int, rope: float, out: NDArray[np.float64]) -> None:
    """μ = (P(Δ < −ε), P(|Δ| ≤ ε), P(Δ > ε)) into `out`, Δ = the first group's accuracy minus the other's."""
    pair = np.array([first, 1 - first])
    (a, b), (c, d) = beta(run, pair[0]), beta(run, pair[1])
    if run.pool:
        counts, size = run.counts[pair], run.size[pair]
        left = size - (counts[:, 0] + counts[:, 1]).astype(np.int64)
        out[0], out[1], out[2] = pool_regions(np.array([[a, b], [c, d]]), counts[:, 0], left, size, rope)
    else:
        out[0], out[1], out[2] = rope_regions(a, b, c, d, rope)


@formula
def _set_moves(run: Run, first: int, rope: float, g: int, moves: NDArray[np.float64]) -> None:
    """How P(Δ < −ε) and P(Δ > ε) move with a right and a wrong label in group g, into `moves`, shape (2, 2).

    Rows are right and wrong. For the population only: the pool's own shares have no such rule.
    """
    (a, b), (c, d) = beta(run, g), beta(run, 1 - g)
    for side in range(2):
        if (g == first) == (side == 0):
            flow = rope_flow(a, b, c, d, rope)
            moves[0, side], moves[1, side] = -flow / a, flow / b
        else:
            flow = rope_flow(b, a, d, c, rope)  # the same, seen from 1
            moves[0, side], moves[1, side] = flow / a, -flow / b


@formula
def _move(mu: NDArray[np.float64], by: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """μ once its ends have moved, into `out`, which may be μ itself."""
    out[0], out[2] = min(max(mu[0] + by[0], 0.0), 1.0), min(max(mu[2] + by[1], 0.0), 1.0)
    out[1] = max(0.0, 1.0 - out[0] - out[2])


@formula
def _worth(now: NDArray[np.float64], after: NDArray[np.float64], by: int) -> float:
    """λ after the label, or the relative entropy from μ now to μ after."""
    if by == CONFIDENCE:
        return float(after.max())
    total = 0.0
    for i in range(3):
        if after[i] > 0.0:
            total += after[i] * math.log(after[i] / max(now[i], _LEAST))
    return total


@formula
def _set_worths(
    run: Run,
    first: int,
    rope: float,
    by: int,
    now: NDArray[np.float64],
    moves: NDArray[np.float64],
    worth: NDArray[np.float64],
) -> None:
    """The worth of a right and a wrong label in each group, into `worth` of shape (2 groups, 2 outcomes).

    now: μ, shape (3,); moves: where `_set_moves` writes, shape (2 groups, 2 outcomes, 2).
    """
    after = np.empty(3)
    for g in range(2):
        left = room(run, g)
        if left == 0:
            continue
        if by == NEYMAN:
            a, b = beta(run, g)
            worth[g, 1], worth[g, 0] = beta_drops(a, b, run.size[g], left, run.pool)
            continue
        if not run.pool:
            _set_moves(run, first, rope, g, moves[g])
        for j in range(2):
            if run.pool:
                run.counts[g, j] += 1.0
                _regions(run, first, rope, after)
                run.counts[g, j] -= 1.0
            else:
                _move(now, moves[g, j], after)
            worth[g, j] = _worth(now, after, by)


@kernel
def ask_compare(rng: np.random.Generator, run: Run, first: int, rope: float, by: int, policy: int, until: int) -> None:
    """Ask in whichever of two groups a label is worth more, on average over what it may show.

    By CONFIDENCE (the paper's E λ), INFORMATION (relative entropy of the regions) or NEYMAN (fall in variance).
    Thompson sampling averages under a draw of the accuracies, greedy and epsilon-greedy at their mean.

    Parameters
    ----------
    first
        Which of the two groups is the first in the difference, 0 or 1.
    rope
        ε, the half-width of the region of practical equivalence.
    """
    worth, reward, flat = np.zeros((2, 2)), np.zeros(2), np.zeros(2)
    alpha, theta, chosen = np.empty(2), np.empty(2), np.empty(1, dtype=np.int64)
    now, moves, age = np.empty(3), np.zeros((2, 2, 2)), 0
    until = last_label(run, until)
    while run.done[0] < until:
        if by != NEYMAN and (run.pool or age % _FRESH == 0):
            _regions(run, first, rope, now)
        _set_worths(run, first, rope, by, now, moves, worth)
        for g in range(2):
            left = room(run, g)
            if left == 0:
                continue
            alpha[0], alpha[1] = beta(run, g)
            if policy == THOMPSON:
                draw_upcoming(rng, alpha, left, run.pool, theta)
            else:
                theta[0] = alpha[0] / (alpha[0] + alpha[1])
                theta[1] = 1.0 - theta[0]
            reward[g] = theta[0] * worth[g, 0] + theta[1] * worth[g, 1]
        explore = policy == EPSILON and rng.random() < CHANCE
        pick(rng, run, flat if explore else reward, chosen)
        place = take(rng, run, chosen[0])
        if by != NEYMAN and not run.pool:
            _move(now, moves[chosen[0], run.outcome[place]], now)
            age += 1


@kernel
def regions_curve(
    run: Run, asked: NDArray[np.int64], first: int, rope: float, begin: int, labels: int
) -> NDArray[np.float64]:
    """μ after `begin`, `begin` + 1, ... `labels` labels, shape (labels − begin + 1, 3).

    The run starts before its first label and follows the places asked, shape (places,); the rest is as in
    `ask_compare`.
    """
    out, moves = np.empty((labels - begin + 1, 3)), np.empty((2, 2))
    for done in range(labels + 1):
        now = max(done - begin, 0)
        if done >= begin and (run.pool or now % _FRESH == 0):
            _regions(run, first, rope, out[now])
        if done == labels or done >= len(asked) or asked[done] < 0:
            out[now:] = out[now]
            break
        if done >= begin and not run.pool:
            _set_moves(run, first, rope, run.group[asked[done]], moves)
            _move(out[now], moves[run.outcome[asked[done]]], out[now + 1])
        record(run, asked[done])
    return out


def first_success(mu: NDArray[np.float64], truth: NDArray[np.float64], tolerance: float = 0.05) -> int:
    """The first label count with the right region and |λ − λ*| / λ* below the tolerance; −1 if there is none.

    Parameters
    ----------
    mu
        The regions after 0, 1, ... labels, shape (labels + 1, 3).
    truth
        What they should be, shape (3,).

    >>> import numpy as np
    >>> first_success(np.array([[0.4, 0.5, 0.1], [0.9, 0.1, 0.0]]), np.array([0.92, 0.08, 0.0]))
    1
    """
    right = mu.argmax(axis=1) == truth.argmax()
    close = np.abs(mu.max(axis=1) - truth.max()) < tolerance * truth.max()
    places = np.flatnonzero(right & close)
    return int(places[0]) if len(places) else -1
