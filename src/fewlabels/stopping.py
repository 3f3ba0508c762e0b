"""When to stop asking: at a budget, at a probability of being right, or at intervals of a width."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fewlabels.checks import check_guarantee, number_field, whole_field
from fewlabels.errors import SpecError
from fewlabels.estimates import affordable, estimate, share_ends
from fewlabels.table import Table
from fewlabels.tasks import Estimate, Task
from fewlabels.tasks.backing import ENOUGH, FEW, backed_groups, is_average_backed
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
class Stop:
    """Stopping rules: asking can stop when the first of them is met. Without any rule, the user decides.

    None but the budget is met by scores alone: a probability needs five labels in each group that the answer is about,
    a width five in every group that can be asked about, and the average ten labels that were drawn at random from all
    items, or five in the groups of half the items. (All items are enough if the target is the pool itself.)

    Parameters
    ----------
    labels
        The budget: at most this many labels.
    probability
        The answer is right with at least this probability; for `Identify` and `Compare`.
    width
        The 95% interval of every group that can be asked about is at most this wide.
    overall
        The 95% interval of the average over the pool is at most this wide.
    guarantee
        "anytime": `width` and `probability` use intervals that hold at every look, for every truth, so that you may
        stop when you like what you see; see `anytime`. It takes more labels. Each group's interval holds with
        probability 95%. None: by the posterior.

    >>> import fewlabels as fl
    >>> Stop(labels=500, probability=0.95).rules
    {'labels': 500, 'probability': 0.95}
    """

    labels: int | None = None
    probability: float | None = None
    width: float | None = None
    overall: float | None = None
    guarantee: Literal["anytime"] | None = field(default=None, metadata={"newer": True})

    def __post_init__(self) -> None:
        check_guarantee(self.guarantee, what="The 'guarantee' of Stop()")
        if self.labels is not None:
            whole_field(self, "labels", "The 'labels' of Stop()")
        if self.probability is not None:
            hint = "such as 0.95; no labels make an answer certain"
            number_field(self, "probability", "The 'probability' of Stop()", high=1, hint=hint)
        for name in ("width", "overall"):
            if getattr(self, name) is not None:
                number_field(self, name, f"The '{name}' of Stop()", hint="such as 0.1")

    @property
    def rules(self) -> dict[str, float]:
        """The values wanted, by the name of the rule; only rules that are set."""
        names = ("labels", "probability", "width", "overall")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def check(self, task: Task) -> None:
        """Raise SpecError if a rule makes no sense for the task."""
        if self.guarantee:
            self._check_guarantee(task)
        if self.probability is not None and not task.conclusive:
            raise SpecError(
                f"{type(task).__name__}() has no answer that is right or wrong, so it cannot stop at a probability. "
                "Use a width (overall=0.1, or width=0.2 for every group) or a budget (labels=500)."
            )
        if self.overall is not None and task.pair is not None:
            raise SpecError(
                f"{type(task).__name__}() asks in two groups only, so it cannot stop at the interval of the mean over "
                "the pool. Use probability=0.95, or width=0.2 for the two groups."
            )
        for name in ("width", "overall"):
            value = getattr(self, name)
            if value is not None and value > 1 and task.metric.in_unit_interval:
                raise SpecError(
                    f"The '{name}' of Stop() must be at most 1, since {type(task.metric).__name__}() lies between 0 "
                    f"and 1; 0.1 is ten percentage points. Got {value!r} instead."
                )

    def _check_guarantee(self, task: Task) -> None:
        """SpecError if the rules cannot be guaranteed for the task."""
        name, metric = type(task).__name__, type(task.metric).__name__
        if self.overall is not None:
            raise SpecError(
                "Stop(overall=..., guarantee='anytime') is not possible: labels are a random sample within groups, not "
                "over all. Use one group, groups=whole(pool), with width=0.1."
            )
        if self.width is None and self.probability is None:
            raise SpecError("Stop(guarantee='anytime') is about a width or a probability. Set one, as in width=0.2.")
        if not task.metric.marginal:
            raise SpecError(
                f"Stop(guarantee='anytime') needs a metric that is one share, as Accuracy() is. With {metric}() leave "
                "the guarantee out."
            )
        if self.probability is not None and not task.can_assure:
            raise SpecError(
                f"{name}() has no answer that can be guaranteed at every look. Use width=0.2 with the guarantee, or "
                "probability= without it. Compare() and Identify() have one, and Certify(..., guarantee='anytime')."
            )


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


@dataclass(frozen=True)
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

    def __str__(self) -> str:
        """The progress in a sentence."""
        return self.words

    def _repr_html_(self) -> str:
        """The sentence and the rules, as a notebook shows them."""
        return f"<p>{escape(self.words)}</p>{self.table._repr_html_()}"

    def to_json(self) -> dict[str, Any]:
        """Convert the progress to plain JSON values."""
        data = {"reached": self.reached, "words": self.words, "rules": list(self.table.rows())}
        return data | ({"guarantee": self.guarantee} if self.guarantee else {})


def is_reached(rule: str, now: float, wanted: float) -> bool:
    """Whether a rule is met: enough labels or probability, or an interval that is narrow enough.

    >>> is_reached("probability", 0.96, 0.95), is_reached("width", 0.3, 0.2)
    (True, False)
    """
    return now >= wanted if rule in ("labels", "probability") else now <= wanted


def lacks(rule: str, task: Task, belief: Belief, cells: Cells, *, backed: bool, at_random: float) -> str:
    """Why labels do not back what a rule rests on; empty if they do, and then the rule may be met.

    A width says something of every group that is asked about, so each of them needs labels of its own. An average needs
    labels that speak for all items. `backed` is whether the answer is, `at_random` how many labels were drawn at random
    from all items. Without this, scores alone would meet a rule.
    """
    if rule == "probability" and not backed:
        return f"the answer rests on fewer than {FEW} labels in a group that it names"
    if rule == "overall" and not is_average_backed(belief, cells, at_random):
        return (
            f"fewer than {ENOUGH} labels were drawn at random from all items, and most items are in groups with fewer "
            f"than {FEW} labels"
        )
    if rule != "width":
        return ""
    asked = task.askable(cells)
    bare = asked & ~backed_groups(belief, cells)
    small = int((bare & (cells.partition.sizes < FEW)).sum()) if belief.target == "population" else 0
    if not bare.any():
        return ""
    ever = f"; {small:,} of them have fewer than {FEW} items, so that only target pool knows them" if small else ""
    return (
        f"{int(bare.sum()):,} of {counted(int(asked.sum()), 'group')} have fewer than {FEW} labels of their own{ever}"
    )


def missing_labels(progress: Table | None) -> NDArray[np.int64] | None:
    """The items of each group that were asked about and lost their label: taken back, skipped or disputed.

    Shape (groups,), or None where nothing is known of it.
    """
    if progress is None or not len(progress):
        return None
    return np.array(progress["withdrawn"], dtype=np.int64) + np.array(progress["unresolved"], dtype=np.int64)


def bare_groups(stop: Stop, task: Task, cells: Cells, labelled: NDArray[np.float64]) -> NDArray[np.bool_] | None:
    """The groups without which the rule about widths cannot be met: they lack labels of their own, shape (groups,).

    Each of these labels is needed whatever it says, so asking begins with them. `labelled` are the labels of each group
    that are there or waited for. None if there is no such rule, or if it is met by intervals that need no backing.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool({"predicted": ["a"] * 9 + ["b"] * 9})
    >>> cells = fl.Accuracy().cells(pool, fl.by_predicted(pool))
    >>> bare_groups(Stop(width=0.3), fl.Estimate(fl.Accuracy()), cells, np.array([7.0, 4.0]))
    array([False,  True])
    """
    if stop.width is None or stop.guarantee or task.of_models:
        return None
    return task.askable(cells) & (labelled < FEW)


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
    usual = ("labels", "probability" if task.conclusive else "width")
    gaps = missing_labels(progress)
    rules = []
    for name in stop.rules or usual:
        about = everything if name == "overall" and everything is not None else (belief, cells)
        wanted, holds_at_every_look = wanted_by(stop, task, name), _is_promised(stop, task, name) and not adopted
        if holds_at_every_look:
            now, backed = promised(name, task, belief, cells, gaps), True
        else:
            now, backed = _now(name, task, *about, rng(), draws, progress)
        void = bool(stop.guarantee and adopted and name != "labels")
        near = wanted is not None and not void and is_reached(name, now, wanted)
        doubted = near and not holds_at_every_look
        lack = lacks(name, task, belief, cells, backed=backed, at_random=at_random) if doubted else ""
        if near and holds_at_every_look and name == "probability" and gaps is not None and gaps.any():
            # A verdict is held against them; another answer is not, and hard items may be among them.
            decided = task.promises and _now(name, task, *about, rng(), draws, progress)[0] >= task.surety
            were = f"{counted(int(gaps.sum()), 'item')} {'was' if gaps.sum() == 1 else 'were'}"
            lack = "" if decided else f"{were} taken back, skipped or disputed"
        said = _said(task, now, lack, labels=bool(belief.counts.any())) if name == "probability" else ""
        rules.append(RuleProgress(name, now, wanted, near and not lack, said, task.metric.in_percent, lack))
    met = [rule for rule in rules if rule.reached]
    words = _words(stop, rules, met, _is_exhausted(task, belief, cells))
    answered = any(rule.rule == "probability" and rule.now >= task.surety for rule in rules)
    words += _on_guarantee(stop, task, adopted, said=answered)
    return Standing(tuple(rules), bool(met), words, None if adopted else stop.guarantee)


def wanted_by(stop: Stop, task: Task, name: str) -> float | None:
    """The number that a rule wants: never a probability at which the task gives no answer; None if it is not set."""
    wanted = stop.rules.get(name)
    return max(wanted, task.surety) if name == "probability" and wanted is not None else wanted


def _is_promised(stop: Stop, task: Task, name: str) -> bool:
    """Whether a number must hold at every look."""
    return (name in ("width", "probability") and bool(stop.guarantee)) or (name == "probability" and task.promises)


def _on_guarantee(stop: Stop, task: Task, adopted: int, *, said: bool) -> str:
    """A sentence on what the guarantee means here; `said` is whether the task gives an answer."""
    if not stop.guarantee and not (task.promises and said):
        return ""
    if adopted:
        came = f"{counted(adopted, 'label')} came from elsewhere, for items that were not asked for"
        return f" The guarantee cannot be given: {came}."
    shared = f"; {task.shared_out}" if task.shared_out and stop.probability is not None else ""
    return f" This holds at every look, however often you look{shared}."


def _said(task: Task, now: float, lack: str, *, labels: bool) -> str:
    """How sure the answer is, in words with the places {now} and {of}."""
    if not labels:
        return "there is no answer without labels{of}"
    return f"{lack}{{of}}" if lack else task.progress(now)


def _now(
    name: str,
    task: Task,
    belief: Belief,
    cells: Cells,
    rng: np.random.Generator,
    draws: int,
    progress: Table | None,
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
    return f"Not yet: {listed}.{last}" if stop.rules else f"No stopping rule is set. So far: {listed}.{last}"
