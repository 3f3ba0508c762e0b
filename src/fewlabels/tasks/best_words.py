"""Best in words: the model to choose, what a wrong choice costs, and which models are as good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewlabels.tasks.grounds import LONGEST, SAFE
from fewlabels.tasks.models import SURE
from fewlabels.wording import Style, is_exact, listed, probability, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from fewlabels.tasks.best import Best
    from fewlabels.tasks.grounds import Ahead, Grounds

_NAMED = 4  # the most models that are listed as good as the best
_GROUPS = 8  # the most groups whose best model is named in the sentence
_LIKELY = 2 / 3
_HARDLY = 0.0005  # less accuracy than this is written as 0 points
_SAME = 1e-6  # draws of models that gave the same answers differ by their rounding
_HELD_BACK = 0.1  # so much of the probability goes to no model, because the labels that tell two of them apart are few
LEGEND = (
    "right: of these labels, which went where the models differ, so the better of two may have fewer. mean, low, high: "
    "how often it is right; this is known far less well than which is better. chance: the probability that no other "
    "model is right more often, but never more than the labels of items on which two models differ allow, so these can "
    "add up to less than 100%. behind: how much less often it is right than the first. regret: the average loss from "
    "choosing it. as_good: it may be as good as the first, as far as the labels show."
)


def is_likely(sure: float) -> bool:
    """Whether a model is probably the best: twice as probably as not.

    Of two models, the first always has at least half of the probability, which says nothing.

    >>> is_likely(0.56), is_likely(0.7)
    (False, True)
    """
    return sure >= _LIKELY


def question(groups: int) -> str:
    """The task as a question."""
    return f"Which model is right most often{', in each group' if groups > 1 else ''}?"


def headline(task: Best, grounds: Grounds) -> str:
    """A sentence with the best model, or that it is too early to name it."""
    if len(grounds.answer.groups) > 1:
        return _by_group(grounds)
    first, others = _contest(grounds)
    style, sure = Style(task.metric.in_percent), grounds.answer.probability or 0.0
    equal = [row for row in others if max(abs(row["behind_low"]), abs(row["behind_high"])) <= _SAME]
    others = [row for row in others if row not in equal]
    if not is_likely(sure):
        return _too_early(style, sure, first, equal, others)
    names = [_short(row) for row in (first, *equal)]
    probably = "" if sure >= SURE else " probably"
    if not others:
        return f"{listed(names)} are equally good: {_why_equal(grounds, len(names))}."
    none = "no other is" if len(others) != 1 or equal else f"{_short(others[0])} is not"
    best = f"The best models are{probably}" if equal else f"The best model is{probably}"
    lead = f"{best} {listed(names)}: we are {probability(sure)} sure that {none} right more often."
    if equal:
        lead += f" They are equally good: {_why_equal(grounds, len(names))}."
    rival = max(others, key=lambda row: (round(row["chance"], 2), -row["behind"]))
    behind = style.change(rival["behind"], rival["behind_low"], rival["behind_high"])
    closest = ", the closest rival," if len(others) > 1 else ""
    apart = f"{_short(rival)}{closest} is behind by {behind} ({_between(style, rival)})."
    return f"{lead} {apart}{_held_back(first, others)}{_alike(others) if sure < SURE else ''}"


def next_steps(task: Best, grounds: Grounds, ahead: Ahead) -> tuple[str, ...]:
    """A sentence on whether the choice is settled enough to act on."""
    first, _ = _contest(grounds)
    if (grounds.answer.probability or 0.0) >= SURE:
        return ("The choice is settled enough to act on.",)
    if len(grounds.answer.groups) > 1:
        return _next_by_group(task, grounds, ahead)
    if not is_likely(grounds.answer.probability or 0.0):  # the headline says what the best guess costs
        return (f"Naming the best model will probably take {ahead.labels}.",)
    return (f"Taking {_short(first)} now {_cost(task, first)}. Being surer will probably take {ahead.labels}.",)


def _too_early(
    style: Style, sure: float, first: Mapping[str, Any], equal: list[Mapping[str, Any]], others: list[Mapping[str, Any]]
) -> str:
    """A sentence with the best guess, and what choosing it costs."""
    regret = style.change(first["regret"])
    cost = f" Choosing it now costs {regret} on average." if first["regret"] >= _HARDLY else ""
    return (
        f"It is too early to name the best model. The best guess so far is {_short(first)} "
        f"(chance {probability(sure)}).{cost}{_rather(style, first, others)}{_held_back(first, others)}"
        f"{_alike([*equal, *others])}"
    )


def _why_equal(grounds: Grounds, models: int) -> str:
    """Why models have exactly the same share: among items like these, only the same answers can make it certain."""
    if grounds.target == "population":
        return "they gave the same answers"
    return f"{'both' if models == 2 else 'all'} are right for the same number of these items"


def _by_group(grounds: Grounds) -> str:
    rows = {row["group"]: row for row in grounds.answer.table.rows()}
    named = [rows[name] for name in grounds.answer.groups]
    clear = [row for row in named if row["chance"] >= SAFE]
    unclear = [row for row in named if row["chance"] < SAFE]
    parts = []
    if clear:
        parts.append(f"The best model of each group: {_with_chances(clear)}.")
    if unclear:
        where = "In these groups" if clear else "In no group"
        clearly = "it is not clear yet" if clear else "is the best model clear yet"
        parts.append(f"{where} {clearly}; the best guesses are {_with_chances(unclear)}.")
    sure = probability(grounds.answer.probability or 0.0)
    return " ".join([*parts, f"All of this is right with a probability of {sure}."])


def _with_chances(rows: Sequence[Mapping[str, Any]]) -> str:
    """Models of groups, each with its probability."""
    shown = [f"{_short(row)} ({probability(row['chance'])})" for row in rows[:_GROUPS]]
    return listed([*shown, *([f"{len(rows) - _GROUPS:,} more"] if len(rows) > _GROUPS else [])])


def _next_by_group(task: Best, grounds: Grounds, ahead: Ahead) -> tuple[str, ...]:
    """A sentence on the group in which most is lost on average by taking the model that is named."""
    rows = {row["group"]: row for row in grounds.answer.table.rows()}
    dear = max((rows[name] for name in grounds.answer.groups), key=lambda row: row["regret"])
    least = f"The riskiest of these choices is {_short(dear)}: it {_cost(task, dear)}."
    return (f"{least} Being surer will probably take {ahead.labels}.",)


def _cost(task: Best, row: Mapping[str, Any]) -> str:
    """What is lost on average by choosing a model."""
    if row["regret"] < _HARDLY:
        return "probably costs next to nothing"
    return f"costs {Style(task.metric.in_percent).change(row['regret'])} on average"


def _contest(grounds: Grounds) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    rows: list[Mapping[str, Any]] = list(grounds.answer.table.rows())
    return rows[0], rows[1:]


def _alike(others: list[Mapping[str, Any]]) -> str:
    """A sentence on the models that may be as good, of several; of one, its difference says so."""
    names = [_short(row) for row in others if row["as_good"]] if len(others) > 1 else []
    if not names:
        return ""
    shown = [*names[:_NAMED], *([f"{len(names) - _NAMED:,} more"] if len(names) > _NAMED else [])]
    return f" By these labels, {listed(shown)} may be as good."


def _held_back(first: Mapping[str, Any], others: list[Mapping[str, Any]]) -> str:
    """A sentence on why the first has no greater chance, though no other has one."""
    if 1 - first["chance"] - sum(row["chance"] for row in others) < _HELD_BACK:
        return ""
    return " The labels of items on which it and its rivals differ do not show more yet."


def _rather(style: Style, first: Mapping[str, Any], others: list[Mapping[str, Any]]) -> str:
    """A sentence on a model that is the best more probably than the one that is named, but costs more if it is not."""
    rival = max(others, key=lambda row: row["chance"], default=None)
    if rival is None or probability(rival["chance"]) == probability(first["chance"]):
        return ""
    if rival["chance"] <= first["chance"] or rival["regret"] <= first["regret"]:
        return ""
    if style.change(rival["regret"]) == style.change(first["regret"]):
        return ""
    return f" {_short(rival)} has a chance of {probability(rival['chance'])}, but costs more on average."


def _between(style: Style, row: Mapping[str, Any]) -> str:
    """By how much it is behind, without signs unless it may be ahead."""
    if is_exact(row["behind_low"], row["behind_high"]):
        return "counted, not estimated"
    ends = style.apart(row["behind_low"], row["behind_high"])
    return ends if "−" in ends else ends.replace("+", "")


def _short(row: Mapping[str, Any]) -> str:
    return shortened(str(row["group"]), LONGEST)
