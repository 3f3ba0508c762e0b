"""Forecasts and plans in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fewlabels.stopping import Stop

_AIMS = {
    "probability": "the answer is right with probability {:g}",
    "width": "no group has an interval wider than {:g}",
    "overall": "the interval of the average is at most {:g} wide",
}


def aim(stop: Stop) -> str:
    """What the rules about the answer want.

    >>> from fewlabels.stopping import Stop
    >>> aim(Stop(labels=300, width=0.2, overall=0.1))
    'no group has an interval wider than 0.2 or the interval of the average is at most 0.1 wide'
    """
    return " or ".join(_AIMS[name].format(wanted) for name, wanted in stop.rules.items() if name in _AIMS)


def rounded(count: float, *, up: bool = False) -> int:
    """A label count with two digits that matter.

    >>> rounded(1234), rounded(317, up=True), rounded(42)
    (1200, 320, 42)
    """
    unit = 10 ** max(math.floor(math.log10(max(count, 1))) - 1, 0)
    return int((math.ceil(count / unit - 1e-9) if up else round(count / unit)) * unit)


def more_labels(low: float, more: float, high: float, share: float, stop: Stop, most: int) -> str:
    """How many more labels, from the quantiles of the simulated worlds; infinite ones are beyond `most`.

    >>> from fewlabels.stopping import Stop
    >>> more_labels(58, 123, 244, 1.0, Stop(probability=0.95), 1000)
    'Probably 120 more labels until the answer is right with probability 0.95 (80 %: 58 to 240).'
    """
    if math.isinf(more):
        return (
            f"Probably more than {most:,} more labels until {aim(stop)}: "
            f"so many were enough in {_percent(share)} of the simulated worlds."
        )
    end = f"to more than {most:,}" if math.isinf(high) else f"to {rounded(high):,}"
    return f"Probably {rounded(more):,} more labels until {aim(stop)} (80 %: {rounded(low):,} {end})."


def recommendation(labels: int, enough: float, honesty: float, stop: Stop) -> str:
    """The budget that is recommended, and how far the rule can be trusted.

    >>> from fewlabels.stopping import Stop
    >>> recommendation(320, 0.8, 0.97, Stop(probability=0.95))
    'Recommended: 320 labels. In 80 % of the simulated worlds the answer is right with probability 0.95 by then, and
     where asking stopped by this rule it was in fact right in 97 %.'
    """
    return (
        f"Recommended: {labels:,} labels. In {_percent(enough)} of the simulated worlds {aim(stop)} by then, and where "
        f"asking stopped by this rule {_fact(stop)} in {_percent(honesty)}."
    )


def never(share: float, most: int, stop: Stop) -> str:
    """That none of the budgets tried is enough."""
    return (
        f"No budget can be recommended: with {most:,} labels {aim(stop)} in {_percent(share)} of the simulated "
        "worlds. "
        "Ask for less (a lower probability, wider intervals, fewer groups), or choose by the table."
    )


def too_soon(honesty: float, promise: float, stop: Stop, prior: str) -> str:
    """That the rule cannot be trusted in such worlds."""
    other = "" if prior == "Learned()" else " Learned() may do better."
    return (
        f"No budget can be recommended: the rule would stop too soon. Where asking stopped because {aim(stop)}, "
        f"{_fact(stop)} in {_percent(honesty)} of the simulated worlds instead of {_percent(promise)}. "
        f"The prior {prior} does not suit such worlds.{other}"
    )


def _fact(stop: Stop) -> str:
    return "it was in fact right" if stop.probability is not None else "the intervals did hold the truth"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def alike(low: float, high: float, runs: int, source: str, has_confidence: bool, expect: float | None) -> str:
    """What the worlds are like: where they come from, and between which accuracies of the pool most of them lie."""
    if source != "Learned()":
        how = f"drawn from {source}"
    elif has_confidence:
        how = "drawn from what confidences like these have meant for public classifiers"
    else:
        how = "of classifiers of any usual accuracy, since the pool has no confidences"
    if expect is not None:
        return (
            f"The {runs:,} simulated worlds are {how}, moved to an accuracy of {expect:g} over the pool as you expect."
        )
    hint = "" if has_confidence else " If you know better, say what accuracy you expect (expect: 0.9, say)."
    span = f"{100 * low:.0f} to {_percent(high)}"
    return f"The {runs:,} simulated worlds are {how}; in most of them {span} of the pool is predicted right.{hint}"
