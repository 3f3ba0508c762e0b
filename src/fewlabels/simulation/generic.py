"""The library's own loop of asking and telling in memory: any task, metric, prior and policy, without a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.policies.step import Queue, ask_step
from fewlabels.tasks import Rewards

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.simulation.methods import Method
    from fewlabels.simulation.truth import Truth


def ask_and_tell(
    truth: Truth, method: Method, rng: np.random.Generator, labels: int, anchors: list[int] | None = None
) -> NDArray[np.int64]:
    """The items that a method asks for, in order, each answered before the next step; shape (at most labels,).

    One step is that of an assessment: it computes the belief from prior and labels and the rewards from the belief,
    lets the policy choose groups, and takes a random item of each. If the budget ends within a step, the best groups
    come first. This loop is slow and obvious; the kernels must agree with it in distribution. The positions of anchors
    in that order are appended to `anchors`.

    >>> import fewlabels as fl
    >>> from fewlabels.simulation.methods import method
    >>> from fewlabels.simulation.truth import truth
    >>> pool, one = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]), method("uniform+thompson")
    >>> case = truth(pool, [0, 1, 1], fl.by_predicted(pool), fl.Estimate(fl.Accuracy()), [one])
    >>> sorted(ask_and_tell(case, one, np.random.default_rng(1), 3).tolist())
    [0, 1, 2]
    """
    prior = method.prior.on(truth.cells, method.target)
    free = Queue.of(truth.cells.partition, truth.room > 0)
    asked: list[int] = []
    while len(asked) < labels:
        belief = prior.belief(truth.outcomes(np.array(asked, dtype=np.int64)))
        rewards = Rewards(truth.task, truth.cells, belief)
        anchor = method.anchor > 0 and rng.random() < method.anchor
        items = ask_step(method.policy, rewards, free, rng, labels - len(asked), best_first=True, anchor=anchor)
        if not items:
            break
        if anchor and anchors is not None:
            anchors.extend(range(len(asked), len(asked) + len(items)))
        asked += items
    return np.array(asked, dtype=np.int64)
