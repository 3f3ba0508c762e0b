"""Which items to ask for next: steps of the policy, and in each group that it names an item at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.tasks import Rewards

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.labelling.ledger import Ledger
    from fewlabels.spec import Spec


def choose(
    spec: Spec, cells: Cells, askable: NDArray[np.bool_], belief: Belief, ledger: Ledger, n: int
) -> dict[int, int]:
    """Choose up to n free items, each with the step of asking that chose it.

    The generator of step i is `default_rng([seed, i])` and nothing else is random: equal logs have equal next items.
    Items that are pending, or were chosen just now, count as if they had been answered as expected.
    `askable` says which groups the task asks in, shape (groups,).
    """
    room, waiting = ledger.room * askable, ledger.waiting.copy()
    chosen: dict[int, int] = {}
    step = ledger.step
    while len(chosen) < n:
        step += 1
        rng = np.random.default_rng([spec.seed, step])
        rewards = Rewards(spec.task, cells, belief.awaiting(waiting) if spec.policy.uses_belief else belief)
        groups = spec.policy.choose(rewards, room, spec.task.plays, rng)
        if not len(groups):
            break
        if len(groups) > n - len(chosen):
            groups = rng.permutation(groups)[: n - len(chosen)]
        for group in groups.tolist():
            item = ledger.pick(group, rng, chosen.keys())
            chosen[item] = step
            room[group] -= 1
            waiting[cells.cell[item]] += 1
    return chosen
