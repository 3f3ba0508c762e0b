"""The choice of items to ask for next: steps of the policy, and a random item in each group that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.alike import alike
from fewlabels.policies.anchors import is_anchor
from fewlabels.policies.step import ask_step
from fewlabels.tasks import Rewards

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.labelling.ledger import Ledger
    from fewlabels.spec import Spec


def choose(
    spec: Spec,
    cells: Cells,
    askable: NDArray[np.bool_],
    belief: Belief,
    ledger: Ledger,
    n: int,
    unseen: NDArray[np.int64] | None = None,
) -> dict[int, int]:
    """Choose up to n free items, each with the step of asking that chose it.

    The generator of step i is `default_rng([seed, i])` and nothing else is random: equal logs have equal next items.
    Some steps, by their number alone, take anchors: items at random from the whole pool. A policy that steers begins
    with groups in which a stopping rule needs labels (`Spec.asked_first`). Items that are pending, or were chosen just
    now, count as if they had been answered as expected. `askable` says which of the groups of asking the task asks in,
    shape (groups,). `unseen` are labels of each cell that the belief does not know yet, shape (cells,): they count in
    the same way.
    """
    free = _Free(ledger, askable, widely=spec.task.of_models and spec.anchor > 0)
    waiting = ledger.waiting + (0 if unseen is None else unseen)
    chosen: dict[int, int] = {}
    step = ledger.drawn.step
    uses_belief, summed = spec.policy.uses_belief, not spec.task.metric.nameless
    while len(chosen) < n:
        step += 1
        rng = np.random.default_rng([spec.seed, step])
        if uses_belief and waiting.any() and not summed:  # there may be a million of them
            belief, summed = alike(belief), True
        rewards = Rewards(spec.task, cells, belief.awaiting(waiting) if uses_belief else belief)
        anchor = is_anchor(spec.seed, step, spec.anchor)
        first = spec.asked_first(cells, ledger.counts.sum(axis=1) + waiting)
        items = ask_step(spec.policy, rewards, free, rng, n - len(chosen), best_first=False, anchor=anchor, first=first)
        if not items:
            break
        for item in items:
            chosen[item] = step
            waiting[cells.cell[item]] += 1
    return chosen


class _Free:
    """The free items of an assessment while some are being chosen.

    They are found by trial in the ledger, since listing a million items for each request would take too long. `widely`:
    anchors are drawn outside the groups that the task asks in too.
    """

    def __init__(self, ledger: Ledger, askable: NDArray[np.bool_], *, widely: bool) -> None:
        self.room = ledger.room * askable
        self._beyond = ledger.room * (~askable if widely else False)
        self._ledger = ledger
        self._taken: set[int] = set()

    @property
    def everywhere(self) -> NDArray[np.int64]:
        """The number of free items in each group that an anchor may be, shape (groups,)."""
        return self.room + self._beyond

    def take(self, group: int, rng: np.random.Generator) -> int:
        """Take a free item of a group that has room, uniformly at random."""
        item = self._ledger.pick(group, rng, self._taken)
        self._taken.add(item)
        (self.room if self.room[group] else self._beyond)[group] -= 1
        return item
