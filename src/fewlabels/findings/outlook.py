"""What more labels would change: progress towards the stopping rules, and how many more it will probably take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from fewlabels.assessment import Assessment
    from fewlabels.planning import Forecast
    from fewlabels.standing import Standing

# Not so where labels go to items on which models differ: these run out, and say little about how often each is right.
# Nor where fewer than four times as many items are there to be labelled.
_SHORTER = "With four times as many labels, a range is about half as long."


@dataclass(frozen=True)
class More:
    """Progress towards the stopping rules, and a forecast; None if it is not wanted or needed, or without labels."""

    standing: Standing
    forecast: Forecast | None
    is_shorter: bool = True

    def sentences(self) -> tuple[str, ...]:
        """Return the progress and the forecast in words."""
        ahead = () if self.forecast is None else (self.forecast.advised(),)
        return (self.standing.words, *ahead, *((_SHORTER,) if self.is_shorter else ()))

    def to_json(self) -> dict[str, Any]:
        """Return the progress and the forecast as plain JSON values."""
        return {
            "words": list(self.sentences()),
            "standing": self.standing.to_json(),
            "forecast": None if self.forecast is None else self.forecast.to_json(),
        }


def more_labels(
    audit: Assessment, draws: int, *, foresee: bool, progress: Callable[[int, int], None] | None = None
) -> More:
    """Read the progress, and simulate the rest of the assessment to forecast how many more labels it will take."""
    standing = audit.standing(draws=draws)
    wanted = foresee and audit.labelled > 0
    forecast = foreseen(audit, standing, progress) if wanted else None
    is_shorter = not audit.spec.task.of_models and 0 < 4 * audit.labelled <= len(audit.pool)
    return More(standing, forecast, is_shorter)


def foreseen(
    audit: Assessment, standing: Standing, progress: Callable[[int, int], None] | None = None
) -> Forecast | None:
    """Forecast how many more labels it will take; None if there are enough, or if that would take minutes.

    If the budget is used up before the goal is reached, the forecast is of the labels beyond the budget.
    """
    from fewlabels.planning import forecast

    if (standing.reached and not standing.is_spent) or not is_quick(audit):
        return None
    goal = replace(audit.spec.stop, labels=None) if standing.is_spent else None
    return forecast(audit, stop=goal, progress=progress)


def is_quick(audit: Assessment) -> bool:
    """Whether a forecast takes seconds: with thousands of labels of several models, a single world takes that long."""
    from fewlabels.planning.subsampled import fitting, has_room

    if not audit.spec.task.of_models:
        return True
    answers = audit.pool.answers
    contested = int((answers != answers[:, :1]).any(axis=1).sum())
    if audit.spec.noisy:
        return contested <= fitting(answers.shape[1])
    asks = int(audit.spec.task.asks(audit.cells).sum())
    return has_room(contested, asks, answers.shape[1], audit.labelled)


def outlook(audit: Assessment, how: str) -> str:
    """Return the forecast in words, to follow the words of the progress; empty if there are enough labels.

    It does not mention that no rule is set, because the progress already says so. `how` is how to ask about exactly
    these items.
    """
    ahead = foreseen(audit, audit.standing())
    return "" if ahead is None else ahead.advised(how)
