"""Anchors: items drawn at random from the whole pool, whatever the policy says, so that some labels represent all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.policies.first_draws import first_draws

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.policies.base import Policy
    from fewlabels.priors import Prior
    from fewlabels.tasks import Task

ANCHOR, ESTIMATE, ESTIMATE_MANY = 0.1, 0.2, 0.8
"""The share of steps that draw anchors if neither a policy nor a share is named: where the question is about some of
the groups, where it is about all of them, and where these are many."""
_MANY = 30
STRIPS = 10
"""The number of strips of confidence in which to ask where the question is about all items together."""
_LEAST = 100  # items: in a smaller pool a strip would have fewer than ten
# The generators of anchors are apart from those of the steps, [seed, step], and of the results.
_ANCHORS = 0x616E63


def is_anchor(seed: int, step: int, share: float) -> bool:
    """Whether a step of an assessment draws its items at random over the whole pool.

    It depends on the seed and on the number of the step, which is in the log, and on nothing else: so the log tells how
    each label was drawn, and no label can change it.

    >>> [step for step in range(1, 60) if is_anchor(7, step, 0.1)]
    [2, 26, 27, 32, 34, 41, 46, 58]
    """
    return share > 0 and step > 0 and bool(np.random.default_rng([seed, step, _ANCHORS]).random() < share)


def are_anchors(seed: int, steps: NDArray[np.int64], share: float) -> NDArray[np.bool_]:
    """`is_anchor` of each of many steps, shape (steps,).

    >>> steps = np.arange(60)
    >>> np.flatnonzero(are_anchors(7, steps, 0.1)).tolist()
    [2, 26, 27, 32, 34, 41, 46, 58]
    """
    return (steps > 0) & (first_draws(seed, steps, _ANCHORS) < share)


def default_anchor(task: Task, prior: Prior, policy: Policy, cells: Cells) -> float:
    """The share of anchors where nobody named one.

    `cells` are those in which items are asked for. Where groups are looked for or certified, a tenth of the steps.
    Where every group is to be estimated, a fifth, or four fifths if there are more than thirty groups: then each has
    few labels, and learns most from those of all the others (docs/learned-prior-measured.md). None where a policy does
    not steer, where only some of the groups can be asked in, and under priors that let no group learn from the others:
    these use anchors for nothing.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool({"predicted": ["a", "b"]})
    >>> cells = fl.Accuracy().cells(pool, fl.by_predicted(pool))
    >>> tasks = fl.Estimate(fl.Accuracy()), fl.Identify(fl.Accuracy(), lowest=1)
    >>> [default_anchor(task, fl.Learned(), fl.Thompson(), cells) for task in tasks]
    [0.2, 0.1]
    """
    some = cells.partition.sizes > 0
    # Items without an answer are known to be wrong: a label there would be wasted.
    steered = policy.uses_belief and prior.uses_items and int(some.sum()) > 1 and cells.answered is None
    if not (steered and task.askable(cells)[some].all()):
        return 0.0
    if not task.averages:
        return ANCHOR
    return ESTIMATE_MANY if int(some.sum()) > _MANY else ESTIMATE


def default_strips(task: Task, prior: Prior, cells: Cells) -> int:
    """The strips of confidence to ask in where nobody named a policy: ten if the question is one share of all items.

    Labels then go to strips that are large and uncertain (nearly Neyman's allocation), which the learned prior allows.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool({"predicted": ["a", "b"] * 50, "confidence": [0.6, 0.9] * 50})
    >>> metric = fl.Accuracy()
    >>> default_strips(fl.Estimate(metric), fl.Learned(), metric.cells(pool, fl.whole(pool)))
    10
    """
    overall = cells.partition.recipe.get("by") == "whole" and task.averages and task.metric.marginal
    scored = cells.scores is not None and prior.uses_items and cells.right is None and cells.answered is None
    return STRIPS if overall and scored and int(cells.partition.sizes.sum()) >= _LEAST else 0
