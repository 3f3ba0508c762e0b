"""What a task is: a reward for asking in each group, and an answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.metrics.base import Metric
    from fewlabels.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """What a task concludes from the labels so far.

    Parameters
    ----------
    words
        The answer in a sentence.
    probability
        The probability that it is right, or None where the task has no single right answer.
    table
        The numbers behind it.
    groups
        The groups that the answer names.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], classes=["cat", "dog"])
    >>> audit = fl.create(None, "pets", pool, fl.whole(pool), prior=fl.Uniform())
    >>> _ = audit.tell({item: "cat" for item in audit.ask(3).ids})
    >>> print(audit.answer().words)
    Accuracy, averaged over the pool's groups, is 0.600; with probability 95% it lies between 0.1... and 0.9...
    """

    words: str
    probability: float | None
    table: Table
    groups: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"{self.words}\n\n{self.table}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Level, draws, target and so on: what the numbers depend on."""
        return self.table.settings


@dataclass(frozen=True)
class Task(ABC):
    """A question about the groups: which metric, and what for."""

    metric: Metric

    @property
    def plays(self) -> int:
        """How many groups one step of asking is about: m where the m worst are looked for."""
        return 1

    def check(self, cells: Cells) -> None:
        """SpecError if the question makes no sense on these cells."""

    def askable(self, cells: Cells) -> NDArray[np.bool_]:
        """Which groups can bear on the answer, shape (groups,)."""
        return cells.partition.sizes > 0

    @abstractmethod
    def reward(self, belief: Belief, cells: Cells, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """What a label in each group is worth if θ is true: (..., cells, outcomes) to (..., groups)."""

    @abstractmethod
    def answer(self, belief: Belief, cells: Cells, rng: np.random.Generator, *, level: float, draws: int) -> Answer:
        """What is concluded, with intervals of the given level from that many draws."""


@dataclass(frozen=True, eq=False)
class Rewards:
    """All that a policy may know of a task: its rewards, drawn or at the mean."""

    task: Task
    cells: Cells
    belief: Belief

    def draw(self, rng: np.random.Generator, n: int = 1) -> NDArray[np.float64]:
        """The rewards under n draws from the belief, shape (n, groups)."""
        return self.task.reward(self.belief, self.cells, self.belief.draws(rng, n))

    def mean(self) -> NDArray[np.float64]:
        """The rewards at the belief's mean, shape (groups,)."""
        return self.task.reward(self.belief, self.cells, self.belief.mean())
