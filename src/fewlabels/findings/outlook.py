"""What more labels would change: progress towards the stopping rules, and how many more it will probably take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fewlabels.planning import Forecast, forecast

if TYPE_CHECKING:
    from collections.abc import Callable

    from fewlabels.assessment import Assessment
    from fewlabels.stopping import Standing

_SHORTER = "With four times as many labels a range is about half as long."


@dataclass(frozen=True)
class More:
    """Where the assessment stands, and a forecast; None where it was not wanted or needed, or without labels."""

    standing: Standing
    forecast: Forecast | None

    def sentences(self) -> tuple[str, ...]:
        """Both in words."""
        ahead = () if self.forecast is None else (_words(self.forecast),)
        return (self.standing.words, *ahead, _SHORTER)

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "words": list(self.sentences()),
            "standing": self.standing.to_json(),
            "forecast": None if self.forecast is None else self.forecast.to_json(),
        }


def more_labels(
    audit: Assessment, draws: int, *, foresee: bool, progress: Callable[[int, int], None] | None = None
) -> More:
    """Read the standing, and play the assessment on to see how many more labels it will probably take."""
    standing = audit.standing(draws=draws)
    wanted = foresee and bool(audit.labels())
    return More(standing, foreseen(audit, standing, progress) if wanted else None)


def foreseen(
    audit: Assessment, standing: Standing, progress: Callable[[int, int], None] | None = None
) -> Forecast | None:
    """How many more labels it will probably take; where the budget is used up before the goal, how many beyond it.

    None where it is enough.
    """
    if standing.reached and not standing.is_spent:
        return None
    goal = replace(audit.spec.stop, labels=None) if standing.is_spent else None
    return forecast(audit, stop=goal, progress=progress)


def outlook(audit: Assessment) -> str:
    """The forecast in words, to follow those of the standing; empty where it is enough."""
    ahead = foreseen(audit, audit.standing())
    return "" if ahead is None else _words(ahead)


def _words(ahead: Forecast) -> str:
    """What a forecast says beyond the standing: that no rule is set is said there."""
    return ahead.sentence
