"""A run over a labelled pool, as the kernels see it: the prior counts, and the progress of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fewlabels.simulation.kernels.draws import draw_below
from fewlabels.simulation.kernels.jit import formula

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.simulation.kernels.known import Known


class Run(NamedTuple):
    """A run; the kernels write into the arrays from `queue` on.

    Compiled code updates the reference count of every array in a tuple that it passes on or unpacks. So the fields of
    the pool are spread out in this tuple, and a function that is called for every label unpacks what it needs before it
    branches or loops: the compiler can then remove the counting.

    items, starts, group, cell, outcome, size, first, outcomes: the pool, as in `Known`.
    prior: prior counts, shape (cells, outcomes).
    pool: whether the pool's own items are the target, rather than the population behind them.
    queue: the places in the order of asking, by group (or over all, for uniform items), shape (places,).
    taken: labels in each group, shape (groups,).
    counts: labels in each cell by outcome, shape (cells, outcomes).
    asked: the places asked so far, shape (places,).
    done: how many have been asked, shape (1,).
    """

    items: NDArray[np.int64]
    starts: NDArray[np.int64]
    group: NDArray[np.int64]
    cell: NDArray[np.int64]
    outcome: NDArray[np.int64]
    size: NDArray[np.int64]
    first: NDArray[np.int64]
    outcomes: int
    prior: NDArray[np.float64]
    pool: bool
    queue: NDArray[np.int64]
    taken: NDArray[np.int64]
    counts: NDArray[np.float64]
    asked: NDArray[np.int64]
    done: NDArray[np.int64]

    @property
    def order(self) -> NDArray[np.int64]:
        """The items asked for so far, in order, shape (labels,)."""
        return self.items[self.asked[: self.done[0]]]


def start(known: Known, prior: NDArray[np.float64], *, pool: bool) -> Run:
    """A run before its first label."""
    places = len(known.items)
    return Run(
        *known,
        prior=prior,
        pool=pool,
        queue=np.arange(places),
        taken=np.zeros(len(known.starts) - 1, dtype=np.int64),
        counts=np.zeros((len(known.size), known.outcomes)),
        asked=np.full(places, -1),
        done=np.zeros(1, dtype=np.int64),
    )


@formula
def last_label(run: Run, until: int) -> int:
    """The number of labels to stop at, counted from the start of the run: `until`, but at most all items."""
    return min(until, len(run.items))


@formula
def room(run: Run, g: int) -> int:
    """Items of group g without a label."""
    return run.starts[g + 1] - run.starts[g] - run.taken[g]


@formula
def record(run: Run, place: int) -> None:
    """Record the label at a place."""
    run.taken[run.group[place]] += 1
    run.counts[run.cell[place], run.outcome[place]] += 1.0
    run.asked[run.done[0]] = place
    run.done[0] += 1


@formula
def take(rng: np.random.Generator, run: Run, g: int) -> int:
    """Label one item of group g, any of the unlabelled ones with equal chance; its place."""
    here = run.starts[g] + run.taken[g]
    other = here + draw_below(rng, room(run, g))
    queue = run.queue
    queue[here], queue[other] = queue[other], queue[here]
    record(run, queue[here])
    return int(queue[here])


@formula
def beta(run: Run, g: int) -> tuple[float, float]:
    """The belief in the accuracy of group g, which is one cell: a and b of its Beta(a, b)."""
    return run.prior[g, 0] + run.counts[g, 0], run.prior[g, 1] + run.counts[g, 1]
