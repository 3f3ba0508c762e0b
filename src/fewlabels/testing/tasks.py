"""The laws of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.errors import SpecError
from fewlabels.partition import by_column, whole
from fewlabels.policies import Greedy, Thompson
from fewlabels.priors import Learned, Uniform
from fewlabels.tasks import Rewards, Task
from fewlabels.testing.laws import check_part, must, must_equal
from fewlabels.testing.runs import check_reproducible, run
from fewlabels.testing.zoo import TARGETS, sensible, stages, zoo, zoo_of_models

if TYPE_CHECKING:
    from fewlabels.belief import Belief
    from fewlabels.cells import Cells


def check_task(task: Task) -> None:
    """Check the laws of a task on a small pool, or raise an AssertionError that names the law that it breaks.

    It survives JSON; a label in each group has a finite reward, under one θ as under many; its answer has
    words, a probability if it can be right or wrong, and numbers that are finite; and it asks until nothing is left
    that affects it. A task that names groups is asked about those of `testing.zoo()` by predicted class: ant, bee,
    cat, cow and eel. A task about several models is asked about ant, bee and cat of `zoo_of_models()`.

    >>> import fewlabels as fl
    >>> check_task(fl.Compare(fl.Accuracy(), "ant", "bee"))
    """
    check_part(task, Task)
    if task.of_models:
        _check_of_models(task)
        return
    known = zoo()
    accepted = 0
    for partition, cells in sensible(task.metric, known.pool).values():
        try:
            task.check(cells)
        except SpecError:
            continue
        accepted += 1
        askable = task.askable(cells)
        must(askable.shape == (len(partition),), f"{task!r}.askable must have one value for each group")
        must(bool(askable[partition.sizes > 0].any()), f"{task!r} must have a group to ask in")
        must(1 <= task.plays <= len(partition), f"{task!r}.plays must be a number of groups")
        for target in TARGETS:
            for belief in stages(Uniform(), task.metric, cells, known, target):
                check_rewards(task, cells, belief)
        if accepted == 1:
            for policy, target in zip((Thompson(), Greedy()), TARGETS, strict=True):
                run(known, partition, task=task, prior=Uniform(), policy=policy, target=target)
                check_reproducible(known, partition, task=task, prior=Uniform(), policy=policy, target=target)
    must(accepted > 0, f"{task!r} must accept one of the ways to group the zoo, but it refuses all")


def _check_of_models(task: Task) -> None:
    """Check the laws of a task about several models: its rewards are of items, and it asks for all that tell."""
    known = zoo_of_models()
    for partition in (whole(known.pool), by_column(known.pool, "place")):
        cells = task.cells(known.pool, partition)
        task.check(cells)
        asks, items = task.asks(cells), len(known.pool)
        must(asks.shape == (items,), f"{task!r}.asks must have one value for each item")
        must(bool(asks.any()), f"{task!r} must have an item to ask for")
        for target in TARGETS:
            for belief in stages(Learned(), task.metric, cells, known, target):
                reward = Rewards(task, cells, belief).mean()
                must(reward.shape == (items,), f"{task!r}.reward must have one number for each item")
                must(bool(np.isfinite(reward).all()), f"{task!r}.reward must be finite")
                must(not reward[~asks].any(), f"{task!r}.reward must be 0 for uninformative items")
    for policy, target in zip((Thompson(), Greedy()), TARGETS, strict=True):
        run(known, whole(known.pool), task=task, prior=Learned(), policy=policy, target=target)
        check_reproducible(known, whole(known.pool), task=task, prior=Learned(), policy=policy, target=target)


def check_rewards(task: Task, cells: Cells, belief: Belief) -> None:
    """Check that the reward of a label is a finite number for each group, under one θ as under many."""
    rewards, groups = Rewards(task, cells, belief), len(cells.partition)
    mean, drawn = rewards.mean(), rewards.draw(np.random.default_rng(5), 7)
    must(mean.shape == (groups,), f"{task!r}.reward must have one number for each group")
    must(drawn.shape == (7, groups), f"{task!r}.reward must work on many θ at once")
    must(bool(np.isfinite(mean).all() and np.isfinite(drawn).all()), f"{task!r}.reward must be finite")
    theta = belief.draws(np.random.default_rng(5), 7)
    must_equal(task.reward(belief, cells, theta[0]), drawn[0], f"{task!r}.reward must be the same for one θ and many")
