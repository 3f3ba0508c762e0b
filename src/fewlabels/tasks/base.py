"""What a task is: a reward for asking in each group, and an answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import betaincinv

from fewlabels.errors import SpecError
from fewlabels.estimates import affordable
from fewlabels.parts import Family, Part

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.metrics.base import Metric
    from fewlabels.table import Table
    from fewlabels.tasks.grounds import Ahead, Grounds
    from fewlabels.tasks.snapshot import Snapshot

# Draws behind a quantile that has no formula, and numbers of θ held at a time: a draw of a confusion matrix of 1,000
# classes has a million.
_DRAWS = 1_000
_AT_ONCE = 2**23
_LEAST = 1e-12
_WEAKEST = 1e-6
Direction = Literal["lowest", "highest"]
LIKELY = 0.5
"""From this probability on an answer is given as one; below it is a guess."""


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
    in_plain_words
        What makes the headline of the assessment that was answered.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], classes=["cat", "dog"])
    >>> audit = fl.create(None, "pets", pool, fl.whole(pool), prior=fl.Uniform())
    >>> _ = audit.tell({item: "cat" for item in audit.ask(3).ids})
    >>> print(audit.answer().words)
    The accuracy, averaged over the pool's groups, is 60%; with probability 95% it lies between ...% and ...%.
    """

    words: str
    probability: float | None
    table: Table
    groups: tuple[str, ...] = ()
    in_plain_words: Callable[[], str] | None = None

    def __repr__(self) -> str:
        return f"{self.headline}\n\n{self.table}"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return f"<p>{escape(self.headline)}</p>{self.table._repr_html_()}"

    def __getstate__(self) -> dict[str, Any]:
        """What is copied and sent to other processes: not the way back to the assessment."""
        return {**vars(self), "in_plain_words": None}

    @property
    def headline(self) -> str:
        """The answer in plain words that also go by what it rests on; its own words where there are no others."""
        return self.words if self.in_plain_words is None else self.in_plain_words()

    @property
    def settings(self) -> Mapping[str, Any]:
        """Level, draws, target and so on: what the numbers depend on."""
        return self.table.settings


@dataclass(frozen=True, eq=False)
class Conclusion:
    """An answer as whole numbers of shape (k,), and the probability that it is right: for those who keep the score."""

    named: NDArray[np.int64]
    probability: float


@dataclass(frozen=True)
class Task(Part, ABC):
    """A question about the groups: which metric, and what for.

    Two methods make a task: `reward` and `answer`. What else it says about itself has a default, so that no other
    module needs to know which task it has before it.
    """

    family: ClassVar[Family] = "task"
    conclusive: ClassVar[bool] = False
    """Whether its answer is right or wrong, and so has a probability. Then `right` says which answer is right."""

    wants: ClassVar[str] = ""
    """The policy it does best with if none is named, by its name on the command line; empty: no wish of its own."""

    metric: Metric

    @classmethod
    def examples(cls, metric: Metric, groups: Sequence[str]) -> tuple[Self, ...]:
        """Tasks of this kind on which `fewlabels.testing` and the contract tests can be run, for these groups."""
        return (cls(metric),)

    @property
    def sought(self) -> Direction | None:
        """Which end of the order of groups it looks for; None if it does not rank them."""
        return None

    @property
    def pair(self) -> tuple[str, str] | None:
        """The two groups that it is about; None if it is about all of them."""
        return None

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

    def unguaranteed(self) -> Task:
        """Drop a promise that needs items drawn at random; a task that makes none stays as it is."""
        return self

    @property
    def can_assure(self) -> bool:
        """Whether its conclusion can be guaranteed at every look: whether `assurance` has a number."""
        return False

    def assurance(self, belief: Belief, cells: Cells) -> float | None:
        """The largest probability with which its conclusion is guaranteed at every look; None if it never is."""
        return None

    # --- for planning and simulation, which know the truth

    def right(self, values: NDArray[np.float64], cells: Cells, rng: np.random.Generator) -> NDArray[np.int64]:
        """The right answer if these are the values of the groups: (n, groups) to whole numbers of shape (n, k)."""
        name = type(self).__name__
        raise SpecError(f"{name}() cannot be played through: it does not say which answer is right. Give it right().")

    def conclude(self, snapshot: Snapshot) -> Conclusion:
        """The answer that most draws agree on, and the share of draws that do."""
        answers, times = np.unique(
            self.right(snapshot.values, snapshot.cells, snapshot.rng), axis=0, return_counts=True
        )
        return Conclusion(answers[times.argmax()], float(times.max() / times.sum()))

    def is_right(
        self, named: NDArray[np.int64], truth: NDArray[np.float64], cells: Cells, rng: np.random.Generator
    ) -> bool:
        """Whether an answer, shape (k,), is right if these are the true values, shape (groups,)."""
        return bool(np.array_equal(named, self.right(truth[None], cells, rng)[0]))

    # --- what it says about itself in words: findings, pages and plots ask these and decide nothing

    @property
    def leading(self) -> Direction:
        """The end of the order of groups that comes first in tables and plots: the one looked for, else the bad one."""
        return self.sought or ("highest" if self.metric.high_is_bad else "lowest")

    @property
    def main_plot(self) -> str:
        """The name of the plot that shows its answer."""
        return "confusion" if self.metric.vector else "forest"

    def question(self, noun: str, groups: int) -> str:
        """The task as a question, about so many groups that are called by this noun."""
        each = f", in each {noun}" if groups > 1 else ""
        return f"{type(self).__name__}: what can be said of the classifier's {self.metric.name}{each}?"

    def headline(self, grounds: Grounds) -> str:
        """The answer in a sentence or two of plain words, or that it is too early for one."""
        return grounds.answer.words

    def next_steps(self, grounds: Grounds, ahead: Ahead) -> tuple[str, ...]:
        """What to do next, in a sentence or two; empty where there is nothing to say."""
        return ()

    def overall_doubt(self, nouns: str, leans_on: str, *, steered: bool, everywhere: bool) -> str:
        """Why accuracy over all items is doubtful though its interval may be short; empty if it is not.

        Labels were `steered` if the policy went by what is believed, and went `everywhere` if no group was left out.
        """
        return ""

    def legend(self) -> str:
        """What the columns of its answer mean, where their names do not say it."""
        return ""


@dataclass(frozen=True, eq=False)
class Rewards:
    """All that a policy may know of a task: its rewards, drawn, at the mean or at a quantile."""

    task: Task
    cells: Cells
    belief: Belief

    def draw(self, rng: np.random.Generator, n: int = 1) -> NDArray[np.float64]:
        """The rewards under n draws from the belief, shape (n, groups)."""
        return self.task.reward(self.belief, self.cells, self.belief.draws(rng, n))

    def mean(self) -> NDArray[np.float64]:
        """The rewards at the belief's mean, shape (groups,)."""
        return self.task.reward(self.belief, self.cells, self.belief.mean())

    def quantile(self, rng: np.random.Generator, q: float) -> NDArray[np.float64]:
        """The q-quantile of each group's reward, shape (groups,); without draws where a group is one share."""
        task, cells, belief = self.task, self.cells, self.belief
        if task.metric.marginal:
            # The reward rises or falls with the one share of its group: its quantile is at a quantile of the share.
            mean, variance = belief.mean()[:, 0], belief.variance()[:, 0]
            # One item, right or wrong, has the strength 0: a Beta that is all at its two ends.
            strength = np.maximum(mean * (1 - mean) / np.maximum(variance, _LEAST) - 1, _WEAKEST)
            ends = (betaincinv(mean * strength, (1 - mean) * strength, p) for p in (q, 1 - q))
            shares = [np.where(variance > 0, end, mean) for end in ends]
            one, other = (task.reward(belief, cells, np.stack([share, 1 - share], axis=-1)) for share in shares)
            return np.maximum(one, other) if q >= 0.5 else np.minimum(one, other)
        draws, step = affordable(_DRAWS, belief), max(1, _AT_ONCE // max(belief.numbers, 1))
        parts = [self.draw(rng, min(step, draws - first)) for first in range(0, draws, step)]
        return np.quantile(np.concatenate(parts), q, axis=0)
