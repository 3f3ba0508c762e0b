"""Compare in words: whether two groups differ by more than matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewlabels.tasks.grounds import LONGEST, SAFE
from fewlabels.wording import Style, probability, shortened

if TYPE_CHECKING:
    from fewlabels.tasks.compare import Compare
    from fewlabels.tasks.grounds import Ahead, Grounds

_CERTAIN = 0.95  # below this, a statement says "probably"


def question(task: Compare) -> str:
    """The task as a question."""
    apart = Style(task.metric.in_percent).within(task.rope)
    return f"Is the {task.metric.name} lower, about equal (within {apart}) or higher for {task.a} than for {task.b}?"


def headline(task: Compare, grounds: Grounds) -> str:
    """A sentence on whether they differ, or that it is too early to say."""
    style, row = Style(task.metric.in_percent), next(grounds.answer.table.rows())
    if row["mean"] is None:
        return grounds.answer.words
    region = max(("less", "equal", "more"), key=lambda name: row[name])
    a, b = shortened(task.a, LONGEST), shortened(task.b, LONGEST)
    name, apart, sure = task.metric.name, style.within(task.rope), probability(row[region])
    first, second = grounds.named
    values = " against ".join(
        f"{style.value(side.mean, side.low, side.high)} ({side.labels})" for side in (first, second)
    )
    bare = not (first.backed and second.backed)
    if row[region] < SAFE or bare:
        likely = {"less": f"lower for {a}", "equal": "about equal", "more": f"higher for {a}"}[region]
        most = f"Most probable is that it is {likely}" if bare else f"Most probable ({sure}) is that it is {likely}"
        return (
            f"It is too early to say whether the {name} differs between {a} and {b} by more than {apart}: so far it is "
            f"{values}. {most}."
        )
    perhaps = "" if row[region] >= _CERTAIN else "probably "
    if region == "equal":
        return (
            f"The {name} is {perhaps}about the same for {a} and {b}: {values}. "
            f"We are {sure} sure that they differ by at most {apart}."
        )
    word = "lower" if region == "less" else "higher"
    return (
        f"The {name} is {perhaps}{word} for {a} than for {b}: {values}. "
        f"We are {sure} sure that the difference is more than {apart}."
    )


def next_steps(grounds: Grounds, ahead: Ahead) -> tuple[str, ...]:
    """A sentence on whether the comparison is settled enough to act on."""
    if (grounds.answer.probability or 0.0) >= SAFE and all(row.backed for row in grounds.named):
        return ("The comparison is settled enough to act on.",)
    return (f"Settling the comparison will probably take {ahead.labels}.",)


def legend(task: Compare) -> str:
    """The meaning of the columns of the answer."""
    return (
        f"less, equal, more: the chances that the {task.metric.name} of {task.a} is lower than that of {task.b}, "
        f"about the same (within {Style(task.metric.in_percent).within(task.rope)}), or higher."
    )
