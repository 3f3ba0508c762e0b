"""The laws of a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.metrics import Accuracy, Confusion
from fewlabels.partition import by_predicted
from fewlabels.policies import Policy
from fewlabels.priors import Uniform
from fewlabels.tasks import Estimate, Rewards
from fewlabels.testing.laws import check_part, must, must_be_even, must_equal
from fewlabels.testing.metrics import tasks_about
from fewlabels.testing.runs import check_reproducible, run
from fewlabels.testing.zoo import TARGETS, Known, stages, zoo

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.partition import Partition
    from fewlabels.tasks import Task

_CHOICES = 2_000


class _Hidden:
    """Rewards that must not be used."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError("a policy with uses_belief = False must not use the rewards")


def check_policy(policy: Policy) -> None:
    """Check the laws of a policy on a small pool, or raise an AssertionError that names the law that it breaks.

    It survives JSON; it chooses different groups that have room, some as long as there is room, and the same
    ones with the same generator; it leaves its arguments alone; where it says so, it never uses the rewards, or
    asks for every item with the same probability; and with every task it asks until nothing is left.

    >>> import fewlabels as fl
    >>> check_policy(fl.Greedy())
    """
    check_part(policy, Policy)
    known = zoo()
    groups = by_predicted(known.pool)
    cells = Accuracy().cells(known.pool, groups)
    tasks = [*tasks_about(Accuracy(), groups, cells), Estimate(Confusion())]
    for i, task in enumerate(tasks):
        _check_choices(policy, task, known, groups)
        run(known, groups, task=task, prior=Uniform(), policy=policy, target=TARGETS[i % 2])
        check_reproducible(known, groups, task=task, prior=Uniform(), policy=policy, target=TARGETS[i % 2])
    if policy.ignorable:
        _check_even(policy)


def _check_choices(policy: Policy, task: Task, known: Known, groups: Partition) -> None:
    cells = task.metric.cells(known.pool, groups)
    rng = np.random.default_rng(3)
    for belief in stages(Uniform(), task.metric, cells, known, "population"):
        rewards: Any = Rewards(task, cells, belief) if policy.uses_belief else _Hidden()
        for plays in (1, 2, task.plays):
            room = np.minimum(cells.partition.sizes, rng.integers(0, 4, len(groups)))
            before = room.copy()
            first, again = (policy.choose(rewards, room, plays, np.random.default_rng(8)) for _ in range(2))
            must_equal(first, again, f"{policy!r} must choose the same with the same generator")
            must_equal(room, before, f"{policy!r} must not change the room")
            _check_groups(policy, first, room, plays)


def _check_groups(policy: Policy, chosen: NDArray[np.int64], room: NDArray[np.int64], plays: int) -> None:
    must(np.issubdtype(chosen.dtype, np.integer), f"{policy!r} must choose positions of groups")
    must(len(chosen) > 0 or not room.any(), f"{policy!r} must choose a group as long as one has room")
    must(bool((room[chosen] > 0).all()), f"{policy!r} must choose groups that have room")
    must(len(np.unique(chosen)) == len(chosen), f"{policy!r} must choose each group once")
    # A policy may have a number of its own, as Thompson(plays=3) has.
    most = max(plays, getattr(policy, "plays", None) or 0)
    must(len(chosen) <= most, f"{policy!r} must choose at most {most} groups")


def _check_even(policy: Policy) -> None:
    room, rng = np.array([7, 0, 1, 20, 4]), np.random.default_rng(12)
    counts = np.zeros(len(room), dtype=np.int64)
    for _ in range(_CHOICES):
        rewards: Any = _Hidden()
        counts[policy.choose(rewards, room, 1, rng)] += 1
    law = f"{policy!r} says that it is ignorable, so it must ask in groups in proportion to their room"
    must_be_even(counts, room / room.sum(), law)
