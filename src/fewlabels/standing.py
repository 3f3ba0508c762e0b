"""The progress of a belief towards the stopping rules: the number of each rule now, and whether labels back it."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.estimates import affordable, estimate, share_ends
from fewlabels.stopping import Stop, is_reached, wanted_by
from fewlabels.table import Table
from fewlabels.tasks import Estimate, Task
from fewlabels.tasks.backing import ENOUGH, FEW, backed_groups, is_average_backed, own_labels
from fewlabels.tasks.snapshot import LEVEL, promised
from fewlabels.wording import Style, chosen, counted, probability

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells


_SHARES = 200  # of a large confusion matrix, among which the longest interval is looked for
_WORDS = {
    "width": "the widest interval of a group is {now} wide{of}",
    "overall": "the interval of the average is {now} wide{of}",
}


@dataclass(frozen=True)
class RuleProgress:
    """One rule: its name, the number now, the number wanted (None if it is not set), and whether that is reached.

    `said` are the task's words for a probability, with the places {now} and {of}. `share` is whether the metric is
    written in percent. `lacks` is why the number does not count, if labels do not back it.
    """

    rule: str
    now: float
    wanted: float | None
    reached: bool
    said: str = ""
    share: bool = True
    lacks: str = ""

    @property
    def words(self) -> str:
        """The rule in words, without a full stop."""
        if self.rule == "labels":
            return counted(int(self.now), "label") if self.wanted is None else f"{self.now:,} of {self.wanted:,} labels"
        if self.rule == "probability":
            of = "" if self.wanted is None else f" (wanted {chosen(self.wanted)})"
            return self.said.format(now=probability(self.now), of=of)
        style = Style(self.share)
        of = "" if self.wanted is None else f" (wanted {style.width(self.wanted)})"
        words = _WORDS[self.rule].format(now=style.width(self.now), of=of)
        return f"{words}, but {self.lacks}" if self.lacks else words


@dataclass(frozen=True, repr=False)
class Standing:
    """The progress of an assessment towards its stopping rules.

    Parameters
    ----------
    rules
        One for each rule that is set; if none is set, numbers that are worth knowing.
    reached
        Whether a rule is met.
    words
        The progress in a sentence or two.
    guarantee
        "anytime" where the numbers hold at every look.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], classes=["cat", "dog"])
    >>> audit = fl.create(None, "pets", pool, stop=Stop(labels=2))
    >>> audit.standing().words
    'Not yet: 0 of 2 labels.'
    >>> _ = audit.tell({item: "cat" for item in audit.ask(2).ids})
    >>> audit.standing().words
    'The budget is used up: 2 of 2 labels.'
    """

    rules: tuple[RuleProgress, ...]
    reached: bool
    words: str
    guarantee: str | None = None

    @property
    def is_spent(self) -> bool:
        """Whether only the budget is used up, and the goal for the answer is not reached."""
        return self.reached and _is_spent(self.rules)

    @property
    def table(self) -> Table:
        """A row for each rule: columns rule, now, wanted, reached."""
        names = ("rule", "now", "wanted", "reached")
        return Table({name: [getattr(rule, name) for rule in self.rules] for name in names}, {"level": LEVEL})

    def __repr__(self) -> str:
        return self.words

    def _repr_html_(self) -> str:
        """The sentence and the rules, as a notebook shows them."""
        return f"<p>{escape(self.words)}</p>{self.table._repr_html_()}"

    def to_json(self) -> dict[str, Any]:
        """Convert the progress to plain JSON values."""
        data = {"reached": self.reached, "words": self.words, "rules": list(self.table.rows())}
        return data | ({"guarantee": self.guarantee} if self.guarantee else {})


def lacks(rule: str, task: Task, belief: Belief, cells: Cells, *, backed: bool, at_random: float) -> str:
    """Why labels do not back what a rule rests on; empty if they do, and then the rule may be met.

    A width says something of every group that is asked about, so each of them needs labels of its own. An average needs
    labels that represent all items. `backed` is whether the answer is, `at_random` how many labels were drawn at random
    from all items. Without this, scores alone would meet a rule.
    """
    if rule == "probability" and not backed:
        return f"the answer rests on fewer than {FEW} labels in a group that it names"
    if rule == "overall" and not is_average_backed(task.metric, belief, cells, at_random):
        return (
            f"fewer than {ENOUGH} labels were drawn at random from all items, and most items are in groups with fewer "
            f"than {FEW} labels"
        )
    if rule != "width":
        return ""
    asked, metric = task.askable(cells), task.metric
    bare = asked & ~backed_groups(metric, belief, cells)
    small = int((bare & (cells.partition.sizes < FEW)).sum()) if belief.target == "population" else 0
    if not bare.any():
        return ""
    ever = (
        f"; {small:,} of them have fewer than {FEW} items, which can be judged only with the target 'pool'"
        if small
        else ""
    )
    own = own_labels(metric, belief.counts, cells)
    about = " that count" if (own < cells.total(belief.counts.sum(axis=-1)).round())[bare].any() else ""
    groups = f"{int(bare.sum()):,} of {counted(int(asked.sum()), 'group')}"
    return f"{groups} have fewer than {FEW} labels of their own{about}{ever}"


def missing_labels(progress: Table | None) -> NDArray[np.int64] | None:
    """The items of each group that were asked about and lost their label: taken back, skipped or disputed.

    Shape (groups,), or None if nothing is known about it.
    """
    if progress is None or not len(progress):
        return None
    return np.array(progress["withdrawn"], dtype=np.int64) + np.array(progress["unresolved"], dtype=np.int64)


def standing(
    stop: Stop,
    task: Task,
    belief: Belief,
    cells: Cells,
    rng: Callable[[], np.random.Generator],
    *,
    draws: int = 10_000,
    adopted: int = 0,
    everything: tuple[Belief, Cells] | None = None,
    at_random: float = 0,
    progress: Table | None = None,
) -> Standing:
    """The progress of a belief towards the rules, in the numbers that answer and estimates give with this generator.

    If no rule is set, it gives the labels so far, and how sure the answer is or how wide the intervals are. With
    `adopted` labels, of items that were never asked for, no rule with a guarantee is ever met. `everything` is the
    belief about all items, where that is another than the average of the groups. `at_random` labels were drawn at
    random from all items. `progress` says where labels came from elsewhere or are missing.
    """
    look = _Look(stop, task, belief, cells, rng, draws, adopted, everything, at_random, progress)
    usual = ("labels", "probability" if task.conclusive else "width")
    rules = [look.at(name) for name in stop.rules or usual]
    met = [rule for rule in rules if rule.reached]
    words = _words(stop, rules, met, _is_exhausted(task, belief, cells))
    answered = any(rule.rule == "probability" and rule.now >= task.surety for rule in rules)
    words += _on_guarantee(stop, task, adopted, said=answered)
    return Standing(tuple(rules), bool(met), words, None if adopted else stop.guarantee)


@dataclass(frozen=True, eq=False)
class _Look:
    """What `standing` is given, from which the progress of each rule is computed."""

    stop: Stop
    task: Task
    belief: Belief
    cells: Cells
    rng: Callable[[], np.random.Generator]
    draws: int
    adopted: int
    everything: tuple[Belief, Cells] | None
    at_random: float
    progress: Table | None

    def at(self, name: str) -> RuleProgress:
        """The progress of one rule."""
        wanted = wanted_by(self.stop, self.task, name)
        now, backed = self._promised(name) if self._is_promised(name) else self._believed(name)
        void = bool(self.stop.guarantee and self.adopted and name != "labels")
        near = wanted is not None and not void and is_reached(name, now, wanted)
        # Where no rule is set, a probability that labels do not back is not shown either.
        bare = wanted is None and not backed and bool(self.belief.counts.any())
        lack = self._lack(name, backed=backed) if near or bare else ""
        said = _said(self.task, now, lack, labels=bool(self.belief.counts.any())) if name == "probability" else ""
        return RuleProgress(name, now, wanted, near and not lack, said, self.task.metric.in_percent, lack)

    def _is_promised(self, name: str) -> bool:
        """Whether a number holds at every look. With labels from elsewhere none does."""
        wanted = bool(self.stop.guarantee) and name in ("width", "probability")
        return (wanted or (name == "probability" and self.task.promises)) and not self.adopted

    def _promised(self, name: str) -> tuple[float, bool]:
        """The number of a rule that holds at every look; no scores are in it, so labels always back it."""
        return promised(name, self.task, self.belief, self.cells, missing_labels(self.progress)), True

    def _believed(self, name: str) -> tuple[float, bool]:
        """The number of a rule by the belief, and whether labels back it."""
        about = (self.belief, self.cells) if name != "overall" or self.everything is None else self.everything
        return _now(name, self.task, *about, self.rng(), self.draws, self.progress)

    def _lack(self, name: str, *, backed: bool) -> str:
        """Why a number that would meet its rule does not count; empty if it does."""
        if not self._is_promised(name):
            return lacks(name, self.task, self.belief, self.cells, backed=backed, at_random=self.at_random)
        gaps = missing_labels(self.progress)
        if name != "probability" or gaps is None or not gaps.any():
            return ""
        # A verdict is held against them; another answer is not, and hard items may be among them.
        if self.task.promises and self._believed(name)[0] >= self.task.surety:
            return ""
        were = f"{counted(int(gaps.sum()), 'item')} {'was' if gaps.sum() == 1 else 'were'}"
        return f"{were} taken back, skipped or disputed"


def _on_guarantee(stop: Stop, task: Task, adopted: int, *, said: bool) -> str:
    """A sentence on what the guarantee means here; `said` is whether the task gives an answer."""
    if not stop.guarantee and not (task.promises and said):
        return ""
    if adopted:
        came = f"{counted(adopted, 'label')} came from elsewhere, for items that were not asked for"
        return f" The guarantee cannot be given: {came}."
    shared = f"; {task.shared_out}" if task.shared_out and stop.probability is not None else ""
    return f" This holds however often you look{shared}."


def _said(task: Task, now: float, lack: str, *, labels: bool) -> str:
    """How sure the answer is, in words with the places {now} and {of}."""
    if not labels:
        return "there is no answer without labels{of}"
    return f"{lack}{{of}}" if lack else task.progress(now)


def _now(
    name: str, task: Task, belief: Belief, cells: Cells, rng: np.random.Generator, draws: int, progress: Table | None
) -> tuple[float, bool]:
    """The number of a rule now, and whether labels of their own back what an answer says of its groups."""
    if name == "labels":
        return belief.labels, True
    if name == "probability":
        answer = task.answer(belief, cells, rng, level=LEVEL, draws=draws)
        answer = answer if progress is None else task.doubted(answer, belief, cells, progress)
        return float(answer.probability or 0.0), answer.backed
    if name == "overall":
        table = Estimate(task.metric).answer(belief, cells, rng, level=LEVEL, draws=draws).table
    elif task.metric.vector and affordable(draws, belief) < draws:
        return widest_share(task, belief, cells, rng, draws), True
    else:
        table = estimate(task.metric, belief, cells, rng, level=LEVEL, draws=draws)
        asked = {cells.partition.names[g] for g in np.flatnonzero(task.askable(cells))}
        table = table.take([i for i, group in enumerate(table["group"]) if group in asked])
    ends = zip(table["low"], table["high"], strict=True)
    # What is 0/0 has no interval; where nothing has one, nothing is known.
    return float(max((high - low for low, high in ends if low is not None), default=task.metric.span)), True


def widest_share(task: Task, belief: Belief, cells: Cells, rng: np.random.Generator, draws: int) -> float:
    """The length of the longest interval of a share in a confusion matrix that is too large to draw all of it.

    It is looked for among the 200 shares with the largest variances.
    """
    variance = belief.variance() * task.askable(cells)[cells.group, None]
    first = np.argsort(-variance, axis=None, kind="stable")[:_SHARES]
    low, high, _ = share_ends(belief.single(*np.unravel_index(first, variance.shape)), LEVEL, rng, draws)
    return float((high - low)[:, 0].max())


def _is_exhausted(task: Task, belief: Belief, cells: Cells) -> bool:
    """Whether every item that could bear on the answer has a label."""
    return not (cells.total(belief.left.astype(float)) * task.askable(cells)).any()


def _is_spent(rules: Sequence[RuleProgress]) -> bool:
    met = {rule.rule for rule in rules if rule.reached}
    return met == {"labels"} and len(rules) > 1


def _words(stop: Stop, rules: list[RuleProgress], met: list[RuleProgress], exhausted: bool) -> str:
    listed = "; ".join(rule.words for rule in rules)
    last = " Every item that could be asked about has its label." if exhausted else ""
    if _is_spent(rules):
        # A budget is not a goal: using it up says nothing about the answer.
        goals = "; ".join(rule.words for rule in rules if rule.rule != "labels")
        return f"The budget is used up: {met[0].words}. The goal is not reached: {goals}.{last}"
    if {rule.rule for rule in met} == {"labels"}:
        return f"The budget is used up: {met[0].words}.{last}"
    if met:
        return f"Enough: {'; '.join(rule.words for rule in met)}."
    if stop.rules:
        return f"Not yet: {listed}.{last}"
    known = "; ".join(rule.words for rule in rules if rule.rule != "labels")  # their number is said everywhere
    return f"No stopping rule is set. {known[:1].upper()}{known[1:]}.{last}"
