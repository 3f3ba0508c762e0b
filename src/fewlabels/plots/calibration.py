"""Calibration: what is known of the calibration error of the whole pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from fewlabels.estimates import holding, interval
from fewlabels.findings.prior_pull import lacks_say, score_bins_of
from fewlabels.metrics import CalibrationError
from fewlabels.partition import whole
from fewlabels.plots.drawing.densities import curve_panel, density
from fewlabels.plots.drawing.picture import Picture
from fewlabels.plots.plot import Plot, lacks_confidence
from fewlabels.wording import chosen, counted, percent

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment
    from fewlabels.findings.reading import Reading


@dataclass(frozen=True)
class Calibration(Plot):
    """The density of the calibration error of the whole pool, its mean and its interval.

    Parameters
    ----------
    level
        The probability of the interval.
    labels
        How many labels it is from.
    mean, low, high
        As `estimates()` has them.
    density
        Points (value, density); none where it is known exactly.
    """

    name: ClassVar[str] = "calibration"
    title: ClassVar[str] = "Calibration error"

    level: float
    labels: int
    mean: float
    low: float
    high: float
    density: tuple[tuple[float, float], ...]

    @classmethod
    def obstacle(cls, audit: Assessment) -> str:
        """Where there are no confidences, or the prior would speak louder than the labels."""
        return lacks_confidence(audit) or lacks_say(audit)

    @classmethod
    def read(cls, reading: Reading) -> Self:
        """From `draws()` of the calibration error of all items; ten bins unless the task says."""
        audit = reading.audit
        error = CalibrationError(*score_bins_of(audit))
        draws = reading.thrifty(len(audit.groups) * error.bins)
        values = audit.draws(draws, metric=error, groups=whole(audit.pool))[:, 0]
        # The same draws as those of estimates(), so the same numbers.
        mean, ends = values.mean(), interval(values, reading.level)
        low, high = holding(mean, *ends)
        return cls(reading.level, len(audit.labels()), float(mean), float(low), float(high), density(values, (0, 1)))

    def caption(self) -> str:
        """How to read it."""
        return (
            "How far confidence is from accuracy, on average over the items: 0 is perfect. The higher the curve, the "
            f"more probable the value, given {counted(self.labels, 'label')}; the shaded part contains it with "
            f"probability {chosen(self.level)}. "
            "Few labels make it look larger than it is."
        )

    def picture(self) -> Picture:
        """A density."""
        spread = (self.mean, self.low, self.high)
        mean, low, high = map(percent, spread)
        tip = f"calibration error {mean}, {chosen(self.level)} interval {low} to {high}"
        return Picture((curve_panel(self.density, spread, tip, "calibration error", within=(0.0, 1.0)),))
