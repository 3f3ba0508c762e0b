"""What more labels would change: how it stands with the stopping rules, and how many more it will probably take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fewlabels.planning import Forecast, forecast

if TYPE_CHECKING:
    from collections.abc import Callable

    from fewlabels.assessment import Assessment
    from fewlabels.stopping import Standing

_SHORTER = "With four times as many labels a range is about half as long."


@dataclass(frozen=True)
class More:
    """Where the assessment stands, and a forecast; None where it was not wanted or there is no label yet."""

    standing: Standing
    forecast: Forecast | None

    def sentences(self) -> tuple[str, ...]:
        """Both in words."""
        found = [self.standing.words]
        if self.forecast is not None and not self.standing.reached:
            # That no rule is set was said already.
            found.append(self.forecast.words.removeprefix("No stopping rule is set. "))
        return (*found, _SHORTER)

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
    wanted = foresee and not standing.reached and bool(audit.labels())
    return More(standing, forecast(audit, progress=progress) if wanted else None)
