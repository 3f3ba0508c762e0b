"""Calibration: what is known about the calibration error of the whole pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from fewlabels.findings.prior_pull import lacks_say, score_bins_of
from fewlabels.metrics import Accuracy, CalibrationError
from fewlabels.partition import whole
from fewlabels.plots.drawing.densities import curve_panel, density
from fewlabels.plots.drawing.picture import Picture
from fewlabels.plots.plot import Plot, lacks_confidence
from fewlabels.wording import Style, chosen, counted

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment
    from fewlabels.findings.reading import Reading

_STYLE = Style(share=True)


@dataclass(frozen=True)
class Calibration(Plot):
    """The density of the calibration error of the whole pool, its mean and its interval.

    Parameters
    ----------
    level
        The probability of the interval.
    labels
        The number of labels behind it.
    mean, low, high
        The estimate and its interval, as in `estimates()`.
    density
        Points (value, density); none if the value is known exactly.
    """

    name: ClassVar[str] = "calibration"
    title: ClassVar[str] = "Calibration error"
    about: ClassVar = (Accuracy, CalibrationError)

    level: float
    labels: int
    mean: float
    low: float
    high: float
    density: tuple[tuple[float, float], ...]

    @classmethod
    def obstacle(cls, audit: Assessment) -> str:
        """Explain why the plot does not suit: there are no confidences, or the prior would outweigh the labels."""
        return lacks_confidence(audit) or lacks_say(audit)

    @classmethod
    def read(cls, reading: Reading) -> Self:
        """Read draws of the calibration error of all items, with the task's bins, or ten if it has none."""
        audit = reading.audit
        error = CalibrationError(*score_bins_of(audit))
        draws = reading.thrifty(len(audit.groups) * error.bins)
        everything = whole(audit.pool)
        values = audit.draws(draws, metric=error, groups=everything)[:, 0]
        # They are made from the same draws.
        row = next(audit.estimates(level=reading.level, metric=error, groups=everything, draws=draws).rows())
        numbers = {name: row[name] for name in ("mean", "low", "high")}
        return cls(reading.level, audit.labelled, density=density(values, (0, 1)), **numbers)

    def caption(self) -> str:
        """Explain how to read the plot."""
        return (
            "The calibration error is the average distance between confidence and accuracy: 0 is perfect. The higher "
            f"the curve, the more probable the value, given {counted(self.labels, 'label')}. The shaded part contains "
            f"the true value with probability {chosen(self.level)}. "
            "With few labels, the error looks larger than it is."
        )

    def finding(self) -> str:
        """The error with its interval."""
        return f"Calibration error {_STYLE.spread(self.mean, self.low, self.high)}"

    def picture(self) -> Picture:
        """Draw the density."""
        spread = (self.mean, self.low, self.high)
        mean, low, high = (_STYLE.value(value, self.low, self.high) for value in spread)
        tip = f"calibration error {mean}, {chosen(self.level)} interval {low} to {high}"
        return Picture((curve_panel(self.density, spread, tip, "calibration error", within=(0.0, 1.0)),))
