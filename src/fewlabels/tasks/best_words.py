"""Best in words: the model to choose, what a wrong choice costs, and which models are as good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewlabels.tasks.base import LIKELY
from fewlabels.tasks.grounds import LONGEST, SAFE
from fewlabels.tasks.models import TIE
from fewlabels.wording import Style, listed, probability, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from fewlabels.tasks.best import Best
    from fewlabels.tasks.grounds import Ahead, Grounds

_NAMED = 4  # the most models that are listed as good as the best
LEGEND = (
    "right: of these labels, which went where the models differ, so the better of two may have fewer. mean, low, high: "
    "how often it is right; this is known far less well than which is better. chance: the probability that no other "
    "model is right more often, but never more than the labels of items on which two models differ allow, so these can "
    "add up to less than 100%. behind: how much less often it is right than the first. regret: the average loss from "
    "choosing it. as_good: the labels do not show that it is worse than the first."
)


def is_likely(sure: float, others: Sequence[float]) -> bool:
    """Whether a model is probably the best: above one half, and at least twice as probable as any other.

    With two models, the first always has at least half of the probability, which says nothing.

    >>> is_likely(0.56, [0.44]), is_likely(0.7, [0.3])
    (False, True)
    """
    return sure >= LIKELY and sure >= 2 * max(others, default=0.0)


def question(groups: int) -> str:
    """The task as a question."""
    return f"Which model is right most often{', in each group' if groups > 1 else ''}?"


def headline(task: Best, grounds: Grounds) -> str:
    """A sentence with the best model, or that it is too early to name it."""
    first, others = _contest(grounds)
    style, sure = Style(task.metric.in_percent), grounds.answer.probability or 0.0
    if len(grounds.answer.groups) > 1:
        return _by_group(grounds, sure)
    name = _short(first)
    regret = style.change(first["regret"])
    alike = _alike(others)
    if not is_likely(sure, [row["chance"] for row in others]):
        return (
            f"It is too early to name the best model. The best guess so far is {name} (chance {probability(sure)}); "
            f"choosing it costs {regret} on average.{_rather(sure, others)}{alike}"
        )
    probably = "" if sure >= SAFE else " probably"
    none = "no other is" if len(others) != 1 else f"{_short(others[0])} is not"
    lead = f"The best model is{probably} {name}: we are {probability(sure)} sure that {none} right more often"
    if not others:
        return f"{lead}."
    rival = max(others, key=lambda row: (row["chance"], row["mean"]))
    if max(abs(rival["behind_low"]), abs(rival["behind_high"])) <= TIE:
        why = "it is right exactly as often" if rival["labelled"] >= rival["n"] else "it gave the same answers"
        return f"{lead}. {_short(rival)} is as good: {why}.{_alike([row for row in others if row is not rival])}"
    behind = style.change(rival["behind"], rival["behind_low"], rival["behind_high"])
    closest = ", its closest rival," if len(others) > 1 else ""
    apart = f"{_short(rival)}{closest} is behind by {behind}"
    return f"{lead}. {apart} ({_between(style, rival)}).{alike}"


def next_steps(task: Best, grounds: Grounds, ahead: Ahead) -> tuple[str, ...]:
    """A sentence on whether the choice is settled enough to act on."""
    first, _ = _contest(grounds)
    if (grounds.answer.probability or 0.0) >= SAFE:
        return ("The choice is settled enough to act on.",)
    if len(grounds.answer.groups) > 1:
        return _next_by_group(task, grounds, ahead)
    regret = Style(task.metric.in_percent).change(first["regret"])
    return (f"Taking {_short(first)} now costs {regret} on average. If that matters, the choice needs {ahead.labels}.",)


def _by_group(grounds: Grounds, sure: float) -> str:
    rows = {row["group"]: row for row in grounds.answer.table.rows()}
    named = [rows[name] for name in grounds.answer.groups]
    clear = [shortened(row["group"], LONGEST) for row in named if row["chance"] >= SAFE]
    unclear = [shortened(row["group"], LONGEST) for row in named if row["chance"] < SAFE]
    parts = [f"Best by group: {listed(clear)}." if clear else "In no group is the best model clear yet."]
    if unclear and clear:
        parts.append(f"Not clear yet: {listed(unclear)}.")
    return " ".join([*parts, f"The chance that all of these are right is {probability(sure)}."])


def _next_by_group(task: Best, grounds: Grounds, ahead: Ahead) -> tuple[str, ...]:
    """A sentence on the group in which most is lost on average by taking the model that is named."""
    rows = {row["group"]: row for row in grounds.answer.table.rows()}
    dear = max((rows[name] for name in grounds.answer.groups), key=lambda row: row["regret"])
    regret = Style(task.metric.in_percent).change(dear["regret"])
    least = f"Of these choices, {_short(dear)} is the riskiest: it costs {regret} on average."
    return (f"{least} If that matters, they need {ahead.labels}.",)


def _contest(grounds: Grounds) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    rows: list[Mapping[str, Any]] = list(grounds.answer.table.rows())
    return rows[0], rows[1:]


def _alike(others: list[Mapping[str, Any]]) -> str:
    """A sentence on the models that the labels do not show to be worse."""
    names = [_short(row) for row in others if row["as_good"]]
    if not names:
        return ""
    shown = [*names[:_NAMED], *([f"{len(names) - _NAMED:,} more"] if len(names) > _NAMED else [])]
    return f" The labels do not show that {listed(shown)} {'is' if len(names) == 1 else 'are'} worse."


def _rather(sure: float, others: list[Mapping[str, Any]]) -> str:
    """A sentence on a model that is the best more probably than the one that is named, but costs more if it is not."""
    rival = max(others, key=lambda row: row["chance"], default=None)
    if rival is None or probability(rival["chance"]) == probability(sure) or rival["chance"] <= sure:
        return ""
    return f" {_short(rival)} has a chance of {probability(rival['chance'])}, but costs more on average."


def _between(style: Style, row: Mapping[str, Any]) -> str:
    """By how much it is behind, without signs if both ends say that it is."""
    ends = style.apart(row["behind_low"], row["behind_high"])
    return ends.replace("+", "") if row["behind_low"] >= 0 else ends


def _short(row: Mapping[str, Any]) -> str:
    return shortened(str(row["group"]), LONGEST)
