"""Scatter: accuracy against calibration error, a point for each group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from fewlabels.findings.measures import HOLLOW
from fewlabels.findings.prior_pull import score_bins_of
from fewlabels.findings.vagueness import is_vague
from fewlabels.metrics import Accuracy, CalibrationError
from fewlabels.plots.drawing.picture import Axis, Cloud, Key, Note, Panel, Picture, Point, scale
from fewlabels.plots.plot import Plot, lacks_confidence
from fewlabels.wording import Style, chosen, counted, percent, shortened

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment
    from fewlabels.findings.reading import Reading
    from fewlabels.plots.drawing.picture import Mark

_CROWD = 60  # with more groups, intervals are drawn only for the worst


@dataclass(frozen=True)
class Both:
    """One group: accuracy and calibration error, each as mean, low, high."""

    group: str
    n: int
    labelled: int
    accuracy: tuple[float, float, float]
    error: tuple[float, float, float]
    thin: bool


@dataclass(frozen=True)
class Scatter(Plot):
    """Accuracy and calibration error of each group with items, the least accurate first.

    Parameters
    ----------
    level
        The probability of each interval.
    rows
        The groups.
    """

    name: ClassVar[str] = "scatter"
    title: ClassVar[str] = "Accuracy against calibration error"
    about: ClassVar = (Accuracy, CalibrationError)

    level: float
    rows: tuple[Both, ...]

    @classmethod
    def obstacle(cls, audit: Assessment) -> str:
        """Explain why the plot does not suit: there are no confidences, or no two groups."""
        several = int(np.count_nonzero(audit.groups.sizes)) > 1
        return lacks_confidence(audit) or ("" if several else "it has only one group")

    @classmethod
    def read(cls, reading: Reading) -> Self:
        """Read the estimates of both metrics by the assessment's groups."""
        audit = reading.audit
        error = CalibrationError(*score_bins_of(audit))
        draws = reading.thrifty(len(audit.groups) * error.bins)
        tables = [audit.estimates(level=reading.level, metric=metric, draws=draws) for metric in (Accuracy(), error)]
        rows = []
        for right, wrong in zip(tables[0].rows(), tables[1].rows(), strict=True):
            if right["mean"] is not None:
                first, second = ((row["mean"], row["low"], row["high"]) for row in (right, wrong))
                ends = (right["low"], right["high"])
                thin = is_vague(right["labelled"], right["n"], audit.spec.target, ends, reading.level)
                rows.append(Both(right["group"], right["n"], right["labelled"], first, second, thin))
        rows.sort(key=lambda row: row.accuracy[0])
        return cls(reading.level, tuple(rows), noun=reading.noun)

    def caption(self) -> str:
        """Explain how to read the plot."""
        return (
            f"Each point is a {self.noun}. Points further right are more accurate, and points further up have "
            "confidences that are less reliable. The lines through a point contain each value with probability "
            f"{chosen(self.level)}. The least accurate {self.nouns} are orange."
        )

    def finding(self) -> str:
        """The group that is right least often, of those with labels, and how far its confidence is off."""
        known = next((row for row in self.rows if not row.thin), None)
        if known is None:
            return self.title
        off = Style(share=True).change(known.error[0])
        return f"{shortened(known.group, 40)} is right in {percent(known.accuracy[0])}; its confidence is off by {off}"

    def picture(self) -> Picture:
        """Draw a cross for each group; if there are many, a cloud of most and crosses for the worst few."""
        worst = self.rows[: max(1, min(5, len(self.rows) // 4))]
        crowd = len(self.rows) > _CROWD
        full = worst if crowd else self.rows
        xs = [v for row in full for v in row.accuracy] + [row.accuracy[0] for row in self.rows]
        ys = [v for row in full for v in row.error] + [row.error[0] for row in self.rows]
        x = scale(min(xs), max(xs), share=True, label="accuracy")
        y = scale(0, max(ys), share=True, most=5, label="calibration error")
        others = self.rows[len(worst) :]
        marks: list[Mark] = [self._point(row) for row in reversed(others)]
        if crowd:
            dots = tuple((row.accuracy[0], row.error[0]) for row in others)
            marks = [Cloud(dots, f"{counted(len(others), f'other {self.noun}')}, each at its best guess")]
        marks += [self._point(row, worst=True) for row in worst]
        marks += self._names(worst, y)
        keys = [Key(f"least accurate {self.nouns}", "accent"), Key("others")]
        keys += [Key(HOLLOW, "muted", "hollow")] if any(row.thin for row in full) else []
        return Picture((Panel(x, y, tuple(marks), height=360, keys=tuple(keys)),))

    def _point(self, row: Both, *, worst: bool = False) -> Point:
        (accuracy, a, b), (error, c, d) = row.accuracy, row.error
        style = Style(share=True)
        tip = (
            f"{shortened(row.group)}: accuracy {style.spread(accuracy, a, b)}, calibration error "
            f"{style.spread(error, c, d)}; {counted(row.labelled, 'label')}"
        )
        return Point(accuracy, error, tip, (a, b), (c, d), "accent" if worst else "main", row.thin, faint=not worst)

    @staticmethod
    def _names(worst: tuple[Both, ...], y: Axis) -> list[Mark]:
        """Write the names of the worst groups that are not too close to one another."""
        notes: list[Mark] = []
        taken: list[float] = []
        for row in worst:
            height = row.error[0] / (y.high - y.low)
            if all(abs(height - other) > 0.07 for other in taken):
                taken.append(height)
                notes.append(Note(row.accuracy[0], row.error[0], row.group, "corner", tip=row.group))
        return notes
