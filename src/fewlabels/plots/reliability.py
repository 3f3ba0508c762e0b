"""Reliability: accuracy against confidence, for each score bin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from fewlabels.findings.enough_labels import is_vague
from fewlabels.findings.measures import HOLLOW
from fewlabels.findings.prior_pull import lacks_say, score_bins_of, swayed_bins
from fewlabels.metrics import Accuracy, CalibrationError
from fewlabels.plots.drawing.picture import Axis, Box, Key, Line, Panel, Picture, Point, counting, scale
from fewlabels.plots.plot import Plot, lacks_confidence
from fewlabels.score_bins import score_bins
from fewlabels.wording import Style, chosen, counted, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fewlabels.assessment import Assessment
    from fewlabels.findings.reading import Reading
    from fewlabels.plots.drawing.picture import Mark


@dataclass(frozen=True)
class Bin:
    """One score bin: its ends, its items and labels, their mean confidence, and their accuracy with an interval."""

    bin: str
    start: float
    end: float
    n: int
    labelled: int
    confidence: float | None
    mean: float | None
    low: float | None
    high: float | None
    thin: bool


@dataclass(frozen=True)
class Reliability(Plot):
    """The reliability diagram and the histogram of scores.

    Parameters
    ----------
    level
        The probability of each interval.
    bins
        The bins, from the lowest scores to the highest.
    """

    name: ClassVar[str] = "reliability"
    title: ClassVar[str] = "Confidence against accuracy"
    about: ClassVar = (Accuracy, CalibrationError)

    level: float
    bins: tuple[Bin, ...]

    @classmethod
    def obstacle(cls, audit: Assessment) -> str:
        """Explain why the plot does not suit: there are no confidences, or the prior would outweigh the labels."""
        return lacks_confidence(audit) or lacks_say(audit)

    @classmethod
    def read(cls, reading: Reading) -> Self:
        """Read `reliability()` with the bins of a calibration error, or for other metrics with ten of equal width."""
        audit = reading.audit
        bins, equal = score_bins_of(audit)
        draws = reading.thrifty(len(audit.groups) * bins)
        table = audit.reliability(bins, equal=equal, level=reading.level, draws=draws)
        _, edges = score_bins(audit.pool, bins, equal)
        rows = zip(table.rows(), edges.tolist(), swayed_bins(audit)[1].tolist(), strict=True)
        read = tuple(
            Bin(r["group"], start, end, r["n"], r["labelled"], r["confidence"], r["mean"], r["low"], r["high"],
                is_swayed or _is_vague(r, reading))
            for r, (start, end), is_swayed in rows
        )  # fmt: skip
        return cls(reading.level, read)

    def caption(self) -> str:
        """Explain how to read the plot."""
        return (
            "Items are grouped by the classifier's confidence. On the diagonal, the classifier is right as often as it "
            "claims; below the diagonal, it claims too much. Each line contains the accuracy with probability "
            f"{chosen(self.level)}. The bars below count the items."
        )

    def finding(self) -> str:
        """The bin in which the claim is furthest from the truth, if its interval leaves the claim out."""
        off = [
            (abs(b.confidence - b.mean), b.confidence, b.mean, b.low, b.high)
            for b in self.bins
            if not b.thin
            and b.confidence is not None
            and b.mean is not None
            and b.low is not None
            and b.high is not None
            if not b.low <= b.confidence <= b.high
        ]
        if not off:
            known = any(b.n and not b.thin for b in self.bins)
            return (
                "No clear gap between confidence and accuracy"
                if known
                else "Too few labels to compare confidence with accuracy"
            )
        _, claimed, mean, low, high = max(off)
        return f"Where it claims {percent(claimed)}, it is right in {Style(share=True).spread(mean, low, high)}"

    def picture(self) -> Picture:
        """Draw the diagram, and the histogram below it."""
        full = scale(0, 1, share=True, most=5)
        low = min((b.start for b in self.bins if b.n), default=0)
        # The confidence of many classifiers begins at a half or higher: the empty part is not shown.
        x = scale(low if low >= 0.5 else 0, 1, share=True, most=5)
        marks: list[Mark] = [
            Line(((x.low, x.low), (1, 1)), "accuracy equals confidence", "muted", dashed=True, width=1.4)
        ]
        marks += [self._point(b) for b in self.bins if b.n]
        keys = [Key("accuracy of a bin"), Key("confidence is right", "muted", "dash")]
        keys += [Key(HOLLOW, "muted", "hollow")] if any(b.thin and b.n for b in self.bins) else []
        above = Axis(full.low, full.high, full.ticks, "accuracy")
        diagram = Panel(Axis(x.low, x.high, x.ticks), above, tuple(marks), height=300, keys=tuple(keys))
        items = counting(max((b.n for b in self.bins), default=1), "items")
        few = (items.ticks[0], items.ticks[-1])
        bars = tuple(Box((b.start, b.end), (0, b.n), self._tip(b), "muted", 0.75) for b in self.bins if b.n)
        below = Panel(Axis(x.low, x.high, x.ticks, "confidence"), Axis(0, items.high, few, "items"), bars, height=80)
        return Picture((diagram, below))

    def _point(self, b: Bin) -> Point:
        assert b.confidence is not None and b.mean is not None and b.low is not None and b.high is not None  # noqa: PT018
        return Point(b.confidence, b.mean, self._tip(b), ys=(b.low, b.high), hollow=b.thin)

    def _tip(self, b: Bin) -> str:
        words = f"confidence {percent(b.start)} to {percent(b.end)}: {counted(b.labelled, 'label')}"
        words += f" of {counted(b.n, 'item')}"
        if b.confidence is None or b.mean is None or b.low is None or b.high is None:
            return words
        return (
            f"{words}; mean confidence {percent(b.confidence)}, accuracy {percent(b.mean)}, "
            f"{chosen(self.level)} interval {percent(b.low)} to {percent(b.high)}"
        )


def _is_vague(row: Mapping[str, Any], reading: Reading) -> bool:
    ends = (row["low"] or 0.0, row["high"] or 0.0)
    return is_vague(row["labelled"], row["n"], reading.audit.spec.target, ends, reading.level)
