"""The library's own loop of asking and telling in memory: any task, metric, prior and policy, without a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.tasks import Rewards

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.simulation.methods import Method
    from fewlabels.simulation.truth import Truth


def ask_and_tell(truth: Truth, method: Method, rng: np.random.Generator, labels: int) -> NDArray[np.int64]:
    """The items that a method asks for, in order, each answered before the next step; shape (at most labels,).

    A step of an assessment: belief from prior and labels, rewards from the belief, groups from the policy, an
    item of each group at random. A step about several groups takes the best first if the labels run out.
    It is slow and obvious; the kernels must agree with it in distribution.

    >>> import fewlabels as fl
    >>> from fewlabels.simulation.methods import method
    >>> from fewlabels.simulation.truth import truth
    >>> pool, one = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]), method("uniform+thompson")
    >>> case = truth(pool, [0, 1, 1], fl.by_predicted(pool), fl.Estimate(fl.Accuracy()), [one])
    >>> sorted(ask_and_tell(case, one, np.random.default_rng(1), 3).tolist())
    [0, 1, 2]
    """
    cells, task = truth.cells, truth.task
    order = np.argsort(cells.partition.group, kind="stable")
    start = np.concatenate([[0], np.cumsum(cells.partition.sizes)])
    room, taken = truth.room.copy(), np.zeros(len(truth.room), dtype=np.int64)
    counts = np.zeros_like(truth.counts)
    asked: list[int] = []
    while len(asked) < labels:
        items = np.array(asked, dtype=np.int64)
        told = items, truth.outcome[items].astype(np.int64)
        belief = method.prior.belief(cells, counts.copy(), method.target, told)
        groups = method.policy.choose(Rewards(task, cells, belief), room, task.plays, rng)
        if not len(groups):
            break
        for g in groups[: labels - len(asked)].tolist():
            # Of the group's items the first ones in its part of the order have been asked about.
            here = start[g] + taken[g]
            other = here + rng.integers(room[g])
            order[[here, other]] = order[[other, here]]
            item = int(order[here])
            counts[cells.cell[item], truth.outcome[item]] += 1
            room[g] -= 1
            taken[g] += 1
            asked.append(item)
    return np.array(asked, dtype=np.int64)
