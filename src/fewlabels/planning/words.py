"""Forecasts and plans in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from fewlabels.wording import Style, chosen, counted, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fewlabels.stopping import Stop
    from fewlabels.tasks import Task

End = Literal["budget", "items", "sight"]
"""The reason why a forecast looks no further: the end of the budget, of the items, or far enough."""

_AIMS = {
    "probability": "the answer is right with probability {}",
    "width": "every interval is at most {} wide",
    "overall": "the interval of the average is at most {} wide",
}
EXPECT = "expect=0.9"
"""How the accuracy that somebody expects is given, in Python; faces replace it."""
BEGIN = "begin with the target 'pool'"
"""How to ask about exactly these items; each face names its own option or field instead."""
AGAIN = "Labels may be wrong here, so this is less certain. Second votes come on top."
"""What forecasts leave out if labels may be wrong; see docs/noise.md."""
_FAR = 20  # if one end is this many times the other, nothing is known
_WORLD = "A simulated world is one way in which the true labels of all items could be."


def only_these(how: str = BEGIN) -> str:
    """What to do where all items are not enough.

    >>> print(only_these("use --target pool"))
    The numbers are about items like these. If only exactly these items matter, use --target pool: then labelling
    all of them makes every number exact.
    """
    return (
        f"The numbers are about items like these. If only exactly these items matter, {how}: then labelling all of "
        "them makes every number exact."
    )


def aim(stop: Stop, task: Task | None = None) -> str:
    """The goals of the rules about the answer, in the words of a task.

    >>> from fewlabels.stopping import Stop
    >>> aim(Stop(labels=300, width=0.2, overall=0.1))
    'every interval is at most 20 points wide or the interval of the average is at most 10 points wide'
    """
    rules = {name: wanted for name, wanted in stop.rules.items() if name in _AIMS}
    style = Style(task is None or task.metric.in_percent)
    written = {name: chosen(end) if name == "probability" else style.width(end) for name, end in rules.items()}
    sentences = _AIMS if task is None else _AIMS | {"probability": task.aim}
    return " or ".join(sentences[name].format(wanted) for name, wanted in written.items())


def rounded(count: float, *, up: bool = False) -> int:
    """A label count with two significant digits.

    >>> rounded(1234), rounded(317, up=True), rounded(42)
    (1200, 320, 42)
    """
    unit = 10 ** max(math.floor(math.log10(max(count, 1))) - 1, 0)
    return int((math.ceil(count / unit - 1e-9) if up else round(count / unit)) * unit)


def more_labels(
    low: float, more: float, high: float, share: float, stop: Stop, most: int, end: End, task: Task | None = None
) -> str:
    """The labels still needed, from the quantiles of the simulated worlds; infinite ones are beyond `most`.

    `end` is the reason why the other worlds ended.

    >>> from fewlabels.stopping import Stop
    >>> more_labels(58, 123, 244, 1.0, Stop(probability=0.95), 1000, "sight")
    'Probably 120 more labels until the answer is right with probability 95%: in most simulated worlds 58 to 240.'
    >>> more_labels(13, 13, 13, 1.0, Stop(probability=0.95), 1000, "sight")
    'Probably 13 more labels until the answer is right with probability 95%: so it is in most simulated worlds.'
    >>> more_labels(5, 5, math.inf, 0.8, Stop(probability=0.95), 1000, "sight")
    'Between 5 and more than 1,000 more labels until the answer is right with probability 95%: the labels so far do not
     show how many.'
    >>> more_labels(math.inf, math.inf, math.inf, 0.0, Stop(labels=200, probability=0.9), 1, "budget")
    'What is left of the budget (1 label) will probably not be enough: the answer is right with probability 90% by then
     in none of the simulated worlds.'
    """
    if math.isinf(more) and end == "sight":
        return (
            f"Probably more than {counted(most, 'more label')} until {aim(stop, task)}: "
            f"that many were enough in {_worlds(share)}."
        )
    if math.isinf(more):
        rest = f"of the budget ({counted(most, 'label')})" if end == "budget" else f"to ask ({counted(most, 'item')})"
        return f"What is left {rest} will probably not be enough: {aim(stop, task)} by then in {_worlds(share)}."
    last = f"more than {most:,}" if math.isinf(high) else f"{rounded(high):,}"
    if math.isinf(high) and most > _FAR * max(low, 1):
        goal = f"{aim(stop, task)}: the labels so far do not show how many."
        return f"Between {rounded(low):,} and {last} more labels until {goal}"
    count = f"Probably {counted(rounded(more), 'more label')} until {aim(stop, task)}"
    if f"{rounded(low):,}" == last:
        return f"{count}: so it is in most simulated worlds."
    return f"{count}: in most simulated worlds {rounded(low):,} to {last}."


def _worlds(share: float) -> str:
    """A share of the simulated worlds.

    >>> _worlds(0), _worlds(0.42)
    ('none of the simulated worlds', '42% of the simulated worlds')
    """
    which = percent(share) if 0 < share < 1 else "all" if share else "none"
    return f"{which} of the simulated worlds"


def recommendation(
    labels: int, enough: float, honesty: float, stopped: int, stop: Stop, task: Task | None = None
) -> str:
    """The budget that is recommended, and how far the rule can be trusted, as so many worlds that stopped by it show.

    >>> from fewlabels.stopping import Stop
    >>> recommendation(320, 0.8, 0.97, 48, Stop(probability=0.95))
    'Recommended: 320 labels. In 80% of the simulated worlds the answer is right with probability 95% by then, and
     where asking stopped by this rule it was in fact right in 97% of 48 worlds.'
    """
    return (
        f"Recommended: {labels:,} labels. In {_worlds(enough)} {aim(stop, task)} by then, "
        f"and where asking stopped by this rule {_fact(stop)} in {percent(honesty)} of "
        f"{counted(stopped, 'world')}."
    )


def never(share: float, most: int, stop: Stop, task: Task | None = None, *, all_items: bool = False) -> str:
    """A warning that none of the budgets tried is enough; not even that of `all_items`."""
    return (
        f"No budget can be recommended: with {f'all {most:,}' if all_items else f'{most:,}'} labels {aim(stop, task)} "
        f"in {_worlds(share)}. "
        "Ask for less (a lower probability, wider intervals, fewer groups), or choose by the table."
    )


def buys(labels: int, row: Mapping[str, float], sought: int, *, share: bool = True) -> str:
    """The results of a number of labels, from its row of the plan's table; `sought` is the number of groups looked for.

    `share` is whether the metric is written in percent.

    >>> buys(200, {"right": 0.3, "found": 0.61}, 3)
    'With 200 labels, about 1.8 of the 3 groups looked for would be named on average.'
    >>> buys(200, {"right": 0.74}, 1)
    'With 200 labels, the answer would be right in 74% of the simulated worlds.'
    >>> buys(1, {"overall": 0.0731, "widest": 0.4}, 1)
    'With 1 label, the interval of the average would be about 7.3 points wide, and that of a group at most 40 points.'
    """
    start = f"With {counted(labels, 'label')}, "
    if "found" in row:
        return f"{start}about {sought * row['found']:.1f} of the {sought} groups looked for would be named on average."
    if "verdict" in row:
        return f"{start}there would be a verdict in {_worlds(row['verdict'])}."
    if "right" in row:
        return f"{start}the answer would be right in {_worlds(row['right'])}."
    style = Style(share)
    words = f"{start}the interval of the average would be about {style.width(row['overall'])} wide"
    return f"{words}, and that of a group at most {style.width(row['widest'])}." if "widest" in row else f"{words}."


def several(low: float, high: float, runs: int) -> str:
    """A description of worlds of several models: what they are, and how good the best model is in most of them.

    >>> several(0.5, 0.9, 20).removeprefix(_WORLD)
    ' The 20 here go by how models usually agree and differ; in most of them the best model is right for 50% to 90% ...'
    """
    span = f"{percent(low)} to {percent(high)}"
    how = "go by how models usually agree and differ"
    return f"{_WORLD} The {runs:,} here {how}; in most of them the best model is right for {span} of the pool."


def too_soon(honesty: float, promise: float, stop: Stop, prior: str, task: Task | None = None) -> str:
    """A warning that the rule cannot be trusted in such worlds."""
    other = "" if prior == "Learned()" else " Learned() may do better."
    return (
        f"No budget can be recommended: the rule would stop too soon. Where asking stopped because {aim(stop, task)}, "
        f"{_fact(stop)} in {percent(honesty)} of the simulated worlds instead of {percent(promise)}. "
        f"The prior {prior} does not suit such worlds.{other}"
    )


def _fact(stop: Stop) -> str:
    return "it was in fact right" if stop.probability is not None else "the intervals did contain the true values"


def alike(low: float, high: float, runs: int, source: str, has_confidence: bool, expect: float | None) -> str:
    """A description of the worlds: what they are, where they come from, and the accuracies of most of them."""
    if source != "Learned()":
        how = f"drawn from {source}"
    elif has_confidence:
        how = "drawn from what confidences like these have meant for public classifiers"
    else:
        how = "of classifiers of any usual accuracy, since the pool has no confidences"
    if expect is not None:
        moved = f"moved to an accuracy of {chosen(expect)} over the pool as you expect"
        return f"{_WORLD} The {runs:,} here are {how}, {moved}."
    hint = "" if has_confidence else f" If you know better, give the accuracy you expect ({EXPECT})."
    span = f"{percent(low)} to {percent(high)}"
    return f"{_WORLD} The {runs:,} here are {how}; in most of them {span} of the pool is predicted right.{hint}"
