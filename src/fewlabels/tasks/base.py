"""The base of tasks: a reward for asking in each group, and an answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from fewlabels.errors import SpecError
from fewlabels.estimates import affordable
from fewlabels.parts import Family, Part
from fewlabels.special import betaincinv

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.metrics.base import Metric
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
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
"""An answer with at least this probability is stated as an answer; below it, as a guess."""


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """The conclusion of a task from the labels so far.

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
        A function that makes the headline and the table as the pages of the assessment show them.
    backed
        Whether the groups it is about have enough labels of their own to back it. If not, it meets no rule.
    reach
        The probability that it would be 95% sure if all items had labels; None where that is not known.

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
    in_plain_words: Callable[[], tuple[str, Table]] | None = None
    backed: bool = True
    reach: float | None = None

    def __repr__(self) -> str:
        return f"{self.headline}\n\n{self.table}"

    def _repr_html_(self) -> str:
        """The headline and the table as pages show them, for notebooks."""
        words, table = self._plainly()
        return f"<p>{escape(words)}</p>{table._repr_html_()}"

    def __getstate__(self) -> dict[str, Any]:
        """The state for copies and other processes, without the link to the assessment."""
        return {**vars(self), "in_plain_words": None}

    @property
    def headline(self) -> str:
        """The answer in plain words that take its evidence into account; `words` if it has no assessment."""
        return self._plainly()[0]

    def _plainly(self) -> tuple[str, Table]:
        return (self.words, self.table) if self.in_plain_words is None else self.in_plain_words()

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that the numbers depend on: level, draws, target and so on."""
        return self.table.settings


@dataclass(frozen=True, eq=False)
class Conclusion:
    """An answer as whole numbers of shape (k,), and the probability that it is right; for planning and simulation.

    `backed` says whether the groups it is about have enough labels of their own to back it.
    """

    named: NDArray[np.int64]
    probability: float
    backed: bool = True


@dataclass(frozen=True)
class Task(Part, ABC):
    """A question about a metric of the groups.

    Two methods make a task: `reward` and `answer`. The other methods, which describe the task, have defaults, so that
    no other module needs to distinguish tasks.

    >>> import fewlabels as fl
    >>> task: fl.Task = fl.Identify(fl.Accuracy(), lowest=3)
    >>> task.metric, task.sought
    (Accuracy(), 'lowest')
    """

    family: ClassVar[Family] = "task"
    conclusive: ClassVar[bool] = False
    """Whether its answer is right or wrong, and so has a probability. Then `right` says which answer is right."""

    averages: ClassVar[bool] = False
    """Whether it is about all groups, and its answer is their average: the number over all items."""

    aim: ClassVar[str] = "the answer is right with probability {}"
    """What a stop at a probability waits for, in words with a place for the probability."""

    shared_out: ClassVar[str] = ""
    """How the risk of an answer that is guaranteed at every look is shared out between groups, in words."""

    wants: ClassVar[str] = ""
    """The policy that suits it best if none is named, by its name on the command line; empty: no preference."""

    of_models: ClassVar[bool] = False
    """Whether it is about all models of a pool that has several; otherwise it is about one of them."""

    metric: Metric

    @classmethod
    def examples(cls, metric: Metric, groups: Sequence[str]) -> tuple[Self, ...]:
        """Tasks of this kind on which `fewlabels.testing` and the contract tests can be run, for these groups."""
        return (cls(metric),)

    @property
    def sought(self) -> Direction | None:
        """The end of the order of groups that it looks for; None if it does not rank them."""
        return None

    @property
    def pair(self) -> tuple[str, str] | None:
        """The two groups that it is about; None if it is about all of them."""
        return None

    @property
    def plays(self) -> int:
        """The number of groups in one step of asking: m if the task looks for the m worst."""
        return 1

    def cells(self, pool: Pool, partition: Partition) -> Cells:
        """The cells that beliefs are about: those of the metric. Raises SpecError if the parts do not fit together."""
        self.metric.check(pool, partition)
        return self.metric.cells(pool, partition)

    def asks(self, cells: Cells) -> NDArray[np.bool_]:
        """Whether it asks in each of the groups of asking (those of `cells.asking`), as booleans of shape (groups,)."""
        return self.askable(cells)

    def check(self, cells: Cells) -> None:
        """Raise SpecError if the question makes no sense on these cells."""

    def check_new(self, cells: Cells) -> None:
        """Refuse a question that no label could answer. One that is in a database already is not refused."""

    def askable(self, cells: Cells) -> NDArray[np.bool_]:
        """The groups that can affect the answer, as booleans of shape (groups,)."""
        return cells.partition.sizes > 0

    @abstractmethod
    def reward(self, belief: Belief, cells: Cells, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """The worth of a label in each group if θ is true: (..., cells, outcomes) to (..., groups)."""

    @abstractmethod
    def answer(self, belief: Belief, cells: Cells, rng: np.random.Generator, *, level: float, draws: int) -> Answer:
        """The conclusion, with intervals of the given level from that many draws."""

    def doubted(self, answer: Answer, belief: Belief, cells: Cells, progress: Table) -> Answer:
        """The answer, with a weaker claim if labels came from elsewhere or are missing; here it stays as it is.

        `progress` has a row for each group with the columns adopted, withdrawn and unresolved.
        """
        return answer

    @property
    def surety(self) -> float:
        """The probability below which it gives no answer; 0 if it always has a best guess."""
        return 0.0

    def progress(self, now: float) -> str:
        """How sure the answer is now, in words with the places {now} and {of}, for the number now and that wanted."""
        return "the answer is right with probability {now}{of}"

    def unguaranteed(self) -> Task:
        """Drop a promise that needs items drawn at random; a task that makes none stays as it is."""
        return self

    @property
    def promises(self) -> bool:
        """Whether its answer is promised for every look."""
        return self.unguaranteed() != self

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
        raise SpecError(
            f"{name}() cannot be simulated: it does not say which answer is right. Write its method right()."
        )

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

    # --- the task in words, for findings, pages and plots, which decide nothing

    @property
    def leading(self) -> Direction:
        """The end of the order of groups that tables and plots show first: the one looked for, or else the bad one."""
        return self.sought or ("highest" if self.metric.high_is_bad else "lowest")

    @property
    def main_plot(self) -> str:
        """The name of the plot that shows its answer."""
        return "confusion" if self.metric.vector else "forest"

    def question(self, noun: str, groups: int) -> str:
        """The task as a question about a number of groups, with the noun for a group."""
        each = f", in each {noun}" if groups > 1 else ""
        return f"{type(self).__name__}: what can be said about the classifier's {self.metric.name}{each}?"

    def headline(self, grounds: Grounds) -> str:
        """The answer in a sentence or two of plain words, or a sentence that it is too early for one."""
        return grounds.answer.words

    def next_steps(self, grounds: Grounds, ahead: Ahead) -> tuple[str, ...]:
        """The next steps, in a sentence or two; empty if there are none."""
        return ()

    def overall_doubt(self, nouns: str, leans_on: str, *, steered: bool, everywhere: bool, borrows: bool) -> str:
        """The reason to doubt accuracy over all items even if its interval is short; empty if there is none.

        Labels were `steered` if the policy used the belief, and went `everywhere` if no group was left out. The prior
        `borrows` if it judges a group by the labels of others too. Then labels from the groups about which least is
        known, which are often the worst, affect the others (`benchmarks/honest.py` has the numbers).
        """
        doubt = f"labels were steered to some {nouns}; this number depends on {leans_on} and tends to be too low"
        return doubt if steered and borrows else ""

    def certainty(self, answer: Answer) -> tuple[str, str, str] | None:
        """How sure the answer is, as a name, a value and a remark, where it is not a probability of being right."""
        return None

    def legend(self) -> str:
        """The meaning of the columns of its answer whose names do not explain themselves."""
        return ""


@dataclass(frozen=True, eq=False)
class Rewards:
    """All that a policy may know about a task: its rewards, drawn, at the mean or at a quantile.

    A step of asking has rewards of its own, and then `kept` is None. In a plan many steps have the same ones: there a
    policy may keep what it has computed for them, and allow for what it has asked for.
    """

    task: Task
    cells: Cells
    belief: Belief
    kept: dict[object, Any] | None = field(default=None, kw_only=True)

    def draw(self, rng: np.random.Generator, n: int = 1) -> NDArray[np.float64]:
        """The rewards under n draws from the belief, shape (n, groups)."""
        return self.task.reward(self.belief, self.cells, self.belief.draws(rng, n))

    def mean(self) -> NDArray[np.float64]:
        """The rewards at the belief's mean, shape (groups,)."""
        return self.task.reward(self.belief, self.cells, self.belief.mean())

    def quantile(self, rng: np.random.Generator, q: float) -> NDArray[np.float64]:
        """The q-quantile of each group's reward, shape (groups,); no draws are needed if a group is a single share."""
        task, cells, belief = self.task, self.cells, self.belief
        if task.metric.marginal:
            # The reward rises or falls with the one share of its group, so its quantile is that at a quantile of the
            # share: at the q-quantile if it rises, and at the (1 − q)-quantile if it falls.
            mean, variance = belief.mean()[:, 0], belief.variance()[:, 0]
            # One item, right or wrong, has the strength 0: a Beta that is all at its two ends.
            strength = np.maximum(mean * (1 - mean) / np.maximum(variance, _LEAST) - 1, _WEAKEST)
            ends = (betaincinv(mean * strength, (1 - mean) * strength, p) for p in (q, 1 - q))
            shares = [np.where(variance > 0, end, mean) for end in ends]
            rising, falling = (task.reward(belief, cells, np.stack([share, 1 - share], axis=-1)) for share in shares)
            return np.maximum(rising, falling) if q >= 0.5 else np.minimum(rising, falling)
        draws, step = affordable(_DRAWS, belief), max(1, _AT_ONCE // max(belief.numbers, 1))
        parts = [self.draw(rng, min(step, draws - first)) for first in range(0, draws, step)]
        return np.quantile(np.concatenate(parts), q, axis=0)
