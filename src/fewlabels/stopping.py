"""When to stop asking: at a budget, at a probability of being right, or at intervals of a width."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from fewlabels.checks import check_guarantee, number_field, whole_field
from fewlabels.errors import Argument, Call, SpecError
from fewlabels.parts import cli_name
from fewlabels.tasks.backing import FEW

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.tasks import Task

_ANYTIME = Argument("guarantee", "anytime")


@dataclass(frozen=True)
class Stop:
    """Stopping rules: asking can stop when the first of them is met. Without any rule, the user decides.

    Only the budget is met by a count alone: a probability needs five labels in each group that the answer is about, a
    width five in every group that can be asked about, and the average ten labels drawn at random from all items, or
    five in each of enough groups to cover half the items. (All items are enough if the target is the pool itself.)

    Parameters
    ----------
    labels
        The budget: at most this many labels. Labels from other assessments of the pool count as well.
    probability
        The answer is right with at least this probability; for `Identify` and `Compare`.
    width
        The 95% interval of every group that can be asked about is at most this wide.
    overall
        The 95% interval of the average over the pool is at most this wide.
    guarantee
        "anytime": `width` and `probability` use intervals that hold at every look, whatever the truth, so you may stop
        whenever you like; see `anytime`. It takes more labels. Each group's interval holds with probability 95%. None:
        by the posterior.

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
        called = f"the task {cli_name(type(task))!r}"
        if self.guarantee:
            self._check_guarantee(task, called)
        if self.probability is not None and not task.conclusive:
            raise SpecError(
                f"{called} has no answer that is right or wrong, so it cannot stop at a probability. Use a width (",
                Call("Stop", (Argument("overall", 0.1),)),
                ", or for every group ",
                Call("Stop", (Argument("width", 0.2),)),
                ") or a budget (",
                Call("Stop", (Argument("labels", 500),)),
                ").",
            )
        if self.overall is not None and task.pair is not None:
            raise SpecError(
                f"{called} asks in two groups only, so it cannot stop at the interval of the mean over the pool. Use ",
                Call("Stop", (Argument("probability", 0.95),)),
                ", or for the two groups ",
                Call("Stop", (Argument("width", 0.2),)),
                ".",
            )
        for name in ("width", "overall"):
            value = getattr(self, name)
            if value is not None and value > 1 and task.metric.in_unit_interval:
                raise SpecError(
                    Call("Stop", (Argument(name, value),)),
                    f" is too wide: the {task.metric.name} lies between 0 and 1, and 0.1 is ten percentage points.",
                )

    def _check_guarantee(self, task: Task, called: str) -> None:
        """SpecError if the rules cannot be guaranteed for the task."""
        if self.overall is not None:
            raise SpecError(
                Call("Stop", (Argument("overall", self.overall), _ANYTIME)),
                " is not possible: labels are a random sample within groups, not over all. Use one group, ",
                Argument("groups", "whole"),
                ", with ",
                Call("Stop", (Argument("width", 0.1), _ANYTIME)),
                ".",
            )
        if self.width is None and self.probability is None:
            raise SpecError(
                _ANYTIME,
                " is about a width or a probability. Set one, as in ",
                Call("Stop", (Argument("width", 0.2), _ANYTIME)),
                ".",
            )
        if not task.metric.marginal:
            raise SpecError(
                _ANYTIME,
                f" needs a metric that is a single share, such as accuracy. For the {task.metric.name}, leave the "
                "guarantee out.",
            )
        if self.probability is not None and not task.can_assure:
            raise SpecError(
                f"{called} has no answer that can be guaranteed at every look. Use ",
                Call("Stop", (Argument("width", 0.2), _ANYTIME)),
                ", or a probability without the guarantee. Comparing two groups, finding the worst and certifying have "
                "an answer that can be guaranteed.",
            )


def is_reached(rule: str, now: float, wanted: float) -> bool:
    """Whether a rule is met: enough labels or probability, or an interval that is narrow enough.

    >>> is_reached("probability", 0.96, 0.95), is_reached("width", 0.3, 0.2)
    (True, False)
    """
    return now >= wanted if rule in ("labels", "probability") else now <= wanted


def bare_groups(stop: Stop, task: Task, cells: Cells, labelled: NDArray[np.float64]) -> NDArray[np.bool_] | None:
    """The groups without which the rule about widths cannot be met: they lack labels of their own, shape (groups,).

    Each of these labels is needed whatever it says, so asking begins with them. `labelled` are the labels of each group
    that are there or waited for. None if there is no such rule, or if it is met by intervals that need no backing.

    >>> import numpy as np, fewlabels as fl
    >>> pool = fl.read_pool({"predicted": ["a"] * 9 + ["b"] * 9})
    >>> cells = fl.Accuracy().cells(pool, fl.by_predicted(pool))
    >>> bare_groups(Stop(width=0.3), fl.Estimate(fl.Accuracy()), cells, np.array([7.0, 4.0]))
    array([False,  True])
    """
    if stop.width is None or stop.guarantee or task.of_models:
        return None
    return task.askable(cells) & (labelled < FEW)


def wanted_by(stop: Stop, task: Task, name: str) -> float | None:
    """The number that a rule wants: never a probability at which the task gives no answer; None if it is not set."""
    wanted = stop.rules.get(name)
    return max(wanted, task.surety) if name == "probability" and wanted is not None else wanted
