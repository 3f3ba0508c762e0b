"""Scatter: accuracy against calibration error, a point for each group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from fewlabels.findings.enough_labels import is_vague
from fewlabels.findings.measures import HOLLOW
from fewlabels.findings.prior_pull import score_bins_of
from fewlabels.metrics import Accuracy, CalibrationError
from fewlabels.plots.drawing.layout import FONT, text_width
from fewlabels.plots.drawing.picture import CORNERS, Cloud, Key, Note, Panel, Picture, Point, scale
from fewlabels.plots.plot import Plot, lacks_confidence
from fewlabels.wording import Style, chosen, counted, percent, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fewlabels.assessment import Assessment
    from fewlabels.findings.reading import Reading
    from fewlabels.plots.drawing.picture import Axis, Mark

_CROWD = 60  # with more groups, intervals are drawn only for the worst
_WIDE, _TALL = 290.0, 360.0  # the panel in a drawing for phones, in pixels: what is free there is free everywhere
_DOT = 4.0  # the radius of a point
Box = tuple[float, float, float, float]


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
        few = 0 < sum(row.thin for row in self.rows) < len(self.rows)
        return (
            f"Each point is a {self.noun}. Points further right are more accurate, and points further up have "
            "confidences that are less reliable. The lines through a point contain each value with probability "
            f"{chosen(self.level)}. The least accurate {self.nouns}{' with enough labels' * few} are orange."
        )

    def finding(self) -> str:
        """The group that is right least often, of those with labels, and how far its confidence is off."""
        known = next((row for row in self.rows if not row.thin), None)
        if known is None:
            return f"No {self.noun} has enough labels yet"
        off = Style(share=True).change(known.error[0])
        return f"{shortened(known.group, 40)} is right in {percent(known.accuracy[0])}; its confidence is off by {off}"

    @property
    def _worst(self) -> tuple[Both, ...]:
        """The groups that stand out: the least accurate of those with labels, since others rest on scores alone."""
        known = tuple(row for row in self.rows if not row.thin) or self.rows
        return known[: max(1, min(5, len(known) // 4))]

    def picture(self) -> Picture:
        """Draw a cross for each group; if there are many, a cloud of most and crosses for the worst few."""
        worst = self._worst
        crowd = len(self.rows) > _CROWD
        full = worst if crowd else self.rows
        xs = [v for row in full for v in row.accuracy] + [row.accuracy[0] for row in self.rows]
        ys = [v for row in full for v in row.error] + [row.error[0] for row in self.rows]
        x = scale(min(xs), max(xs), share=True, label="accuracy")
        y = scale(0, max(ys), share=True, most=5, label="calibration error")
        others = [row for row in self.rows if row not in worst]
        marks: list[Mark] = [self._point(row) for row in reversed(others)]
        if crowd:
            dots = tuple((row.accuracy[0], row.error[0]) for row in others)
            marks = [Cloud(dots, f"{counted(len(others), f'other {self.noun}')}, each at its best guess")]
        marks += [self._point(row, worst=True) for row in worst]
        marks += _names(worst, others, x, y)
        keys = [Key(f"least accurate {self.nouns}", "accent"), Key("others")]
        keys += [Key(HOLLOW, "muted", "hollow")] if any(row.thin for row in full) else []
        return Picture((Panel(x, y, tuple(marks), height=_TALL, keys=tuple(keys)),))

    def _point(self, row: Both, *, worst: bool = False) -> Point:
        (accuracy, a, b), (error, c, d) = row.accuracy, row.error
        style = Style(share=True)
        tip = (
            f"{shortened(row.group)}: accuracy {style.spread(accuracy, a, b)}, calibration error "
            f"{style.spread(error, c, d)}; {counted(row.labelled, 'label')}"
        )
        return Point(accuracy, error, tip, (a, b), (c, d), "accent" if worst else "main", row.thin, faint=not worst)


def _names(worst: Sequence[Both], others: Sequence[Both], x: Axis, y: Axis) -> list[Mark]:
    """Write the names of the worst groups, each at a corner of its point that is free; without one, not at all."""
    at = np.array([(row.accuracy[0], row.error[0]) for row in (*worst, *others)])
    points = (at - [x.low, y.high]) * [_WIDE / (x.high - x.low), _TALL / (y.low - y.high)]
    notes: list[Mark] = []
    taken: list[Box] = []
    for row, point in zip(worst, points.tolist(), strict=False):
        wide = min(text_width(row.group), _WIDE / 2)
        boxes = {side: _box(point, shift, wide) for side, shift in CORNERS.items()}
        free = {side: box for side, box in boxes.items() if _is_free(box, taken, points[: len(worst)])}
        if free:
            side = min(free, key=lambda side: _covered(free[side], points))
            taken.append(free[side])
            notes.append(Note(row.accuracy[0], row.error[0], row.group, side, tip=row.group))
    return notes


def _box(at: Sequence[float], shift: tuple[int, int], wide: float) -> Box:
    """Return the place of words at a corner of a point: left, top, right, bottom, in pixels."""
    left, middle = at[0] + shift[0] - (wide if shift[0] < 0 else 0), at[1] + shift[1]
    return left, middle - FONT / 2, left + wide, middle + FONT / 2


def _is_free(box: Box, taken: Sequence[Box], points: NDArray[np.float64]) -> bool:
    """Whether words are within the panel, and cover neither other words nor the point of a worst group."""
    apart = all(box[2] < a or c < box[0] or box[3] < b or d < box[1] for a, b, c, d in taken)
    return apart and box[0] >= 0 and box[2] <= _WIDE and box[1] >= 0 and box[3] <= _TALL and not _covered(box, points)


def _covered(box: Box, points: NDArray[np.float64]) -> int:
    """Count the points under words."""
    left, top, right, bottom = box
    x, y = points.T
    return int(np.sum((x > left - _DOT) & (x < right + _DOT) & (y > top - _DOT) & (y < bottom + _DOT)))
