"""Curve: how the answer became more certain, or the error smaller, with every label."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

from fewlabels.plots.drawing.picture import (
    Area,
    Key,
    Line,
    Panel,
    Picture,
    Point,
    counting,
    in_points,
    number,
    precision,
    scale,
)
from fewlabels.plots.drawing.style import LINES
from fewlabels.plots.plot import Plot
from fewlabels.plots.replay import Moment, replay
from fewlabels.wording import Style, chosen, counted, percent, probability, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fewlabels.assessment import Assessment
    from fewlabels.findings.reading import Reading
    from fewlabels.plots.drawing.picture import Mark
    from fewlabels.plots.drawing.style import Tone
    from fewlabels.table import Table

_SCORES = {
    "rmse": "error (RMSE{unit})",
    "ece-error": "error of the calibration error (percent)",
    "overall-error": "error of the number over all items{unit}",
    "coverage": "intervals of groups that contain the truth (percent; 95 is promised)",
    "overall-coverage": "runs whose overall interval contains the truth (percent; 95 is promised)",
    "mrr": "mean reciprocal rank",
    "success": "share of runs with the right answer",
}
_RIGHT = "the answer is right"


@dataclass(frozen=True)
class Trace:
    """One line: values at label counts, and the band around them, if there is one."""

    name: str
    labels: tuple[int, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Chart:
    """Lines on one pair of axes; `share` shows the values in percent, `full` makes the axis go from 0 to 1.

    `points` shows differences between shares, which are not percent, in points.
    """

    label: str
    share: bool
    full: bool
    traces: tuple[Trace, ...]
    points: bool = False


@dataclass(frozen=True)
class Curve(Plot):
    """What was known after each number of labels, or the scores of a simulation.

    Parameters
    ----------
    charts
        The charts, one below the other.
    words
        The caption.
    """

    name: ClassVar[str] = "curve"
    title: ClassVar[str] = "What the labels bought"

    charts: tuple[Chart, ...]
    words: str

    @classmethod
    def obstacle(cls, audit: Assessment) -> str:
        """Explain why the plot does not suit: there are fewer than two labels."""
        return "" if audit.labelled > 1 else "it has fewer than two labels"

    @classmethod
    def read(cls, reading: Reading) -> Self:
        """Read the log again in up to 32 parts."""
        moments = list(replay(reading))
        if moments and moments[-1].probability is not None and reading.answer.probability is not None:
            # The log is read with fewer draws; its end is the answer itself, to the last digit.
            moments[-1] = replace(moments[-1], probability=reading.answer.probability)
        words = (
            "What was known after each number of labels, from the log. Where a line is flat, more labels bought little."
        )
        charts = tuple(_charts(reading, moments))
        if any(trace.low for chart in charts for trace in chart.traces):
            words += f" A band is the {chosen(reading.level)} range."
        return cls(charts, words)

    @classmethod
    def of_simulation(cls, table: Table) -> Self:
        """Turn the table of `simulate` into curves: charts by score, lines by method, bands of two standard errors."""
        lines_of: dict[str, dict[str, list[tuple[int, float, float]]]] = {}
        for row in table.rows():
            if not row["score"].startswith("labels-to"):
                points = lines_of.setdefault(row["score"], {}).setdefault(row["method"], [])
                points.append((row["budget"], row["mean"], row["se"] or 0.0))
        charts = []
        for score, lines in lines_of.items():
            full = score in ("mrr", "success")
            traces = tuple(_simulated(method, points) for method, points in lines.items())
            label = _SCORES.get(score, score).format(unit=_unit(table))
            charts.append(Chart(label, share=score == "success", full=full, traces=traces))
        runs = f"{table.settings['runs']:,}" if "runs" in table.settings else "all"
        words = f"The mean of {runs} runs after each number of labels, with a band of two standard errors."
        return cls(tuple(charts), words)

    def caption(self) -> str:
        """Explain how to read the plot."""
        return self.words

    def finding(self) -> str:
        """The last value of the first chart, if it is about one line, or about the answer."""
        first = self.charts[0] if self.charts else None
        if first is None or not first.traces or not first.traces[0].labels:
            return self.title
        trace, words = first.traces[0], first.label.partition(",")[0].partition(":")[0]
        if len(first.traces) > 1:
            if trace.name != _RIGHT:
                return self.title
            words = f"probability that {_RIGHT}"
        digits = precision(trace.mean, share=False)
        plain = lambda value: number(value, share=False, digits=digits)
        write = probability if first.full else percent if first.share else plain
        begin, end = (write(value) for value in (trace.mean[0], trace.mean[-1]))
        return f"{words[0].upper()}{words[1:]}: {end} after {counted(trace.labels[-1], 'label')}, {begin} at first"

    def picture(self) -> Picture:
        """Draw a panel for each chart."""
        last = len(self.charts) - 1
        return Picture(tuple(_panel(chart, "labels" if i == last else "") for i, chart in enumerate(self.charts)))


def _charts(reading: Reading, moments: Sequence[Moment]) -> Iterator[Chart]:
    labels = tuple(moment.labels for moment in moments)
    name, share = reading.measure.name, reading.measure.share
    chances = [
        Trace(words, labels, tuple(values))
        for words, values in (
            (_RIGHT, [m.probability for m in moments if m.probability is not None]),
            ("share of the named groups that is right", [m.share for m in moments if m.share is not None]),
        )
        if len(values) == len(labels)
    ]
    if len(chances) == 2 and reading.audit.spec.task.plays == 1:
        chances.pop()  # with one named group, both are the same
    if chances:
        words = "probability" if len(chances) > 1 else "probability of the answer"
        yield Chart(words, share=True, full=True, traces=tuple(chances))
    compares = reading.pair is not None
    complete = all(m.mean is not None and m.low is not None and m.high is not None for m in moments)
    if complete and (compares or reading.is_grounded):
        what = "difference" if compares else "average"
        mean, low, high = zip(*((m.mean or 0.0, m.low or 0.0, m.high or 0.0) for m in moments), strict=True)
        points = compares and share
        unit = " in points" if points else ""
        words = f"{what}{unit}, with its {chosen(reading.level)} range" if compares else f"average {name}"
        yield Chart(words, share=share, full=False, traces=(Trace(what, labels, mean, low, high),), points=points)
    if not compares:
        error = Trace("error", labels, tuple(m.error for m in moments))
        what = "row" if reading.audit.spec.task.metric.vector else reading.noun
        words = f"expected error of a {what}, weighted by size"
        yield Chart(words, share=share, full=False, traces=(error,))


def _unit(table: Table) -> str:
    """Return the unit of a simulation's error."""
    metric = table.settings.get("task", {}).get("metric", {}).get("kind")
    return {"Confusion": " ÷ that of the informed prior without labels", "Cost": ", cost"}.get(metric, ", percent")


def _simulated(method: str, points: Sequence[tuple[int, float, float]]) -> Trace:
    budget, mean, se = zip(*sorted(points), strict=True)
    low = tuple(m - 2 * s for m, s in zip(mean, se, strict=True))
    high = tuple(m + 2 * s for m, s in zip(mean, se, strict=True))
    return Trace(method, budget, mean, low, high)


def _panel(chart: Chart, label: str) -> Panel:
    values = [v for trace in chart.traces for part in (trace.mean, trace.low or (), trace.high or ()) for v in part]
    most = max((labels for trace in chart.traces for labels in trace.labels), default=1)
    x = counting(most, label)
    banded = any(trace.low for trace in chart.traces) and len(chart.traces) == 1
    bottom = min(values) if banded else min(0, *values)
    within = None if chart.share and bottom >= 0 else (-1.0, 1.0) if chart.share else (min(0.0, bottom), float("inf"))
    ends = (0.0, 1.0) if chart.full else (bottom, max(values))
    y = scale(*ends, share=chart.share, most=5, label=chart.label, within=within)
    y = in_points(y) if chart.points else y
    marks = [mark for i, trace in enumerate(chart.traces) for mark in _trace(trace, chart, LINES[i % len(LINES)])]
    keys = tuple(Key(trace.name, LINES[i % len(LINES)], "line") for i, trace in enumerate(chart.traces))
    # An empty half step at the end would only make the lines shorter.
    end = min(x.high, 1.15 * most)
    shown = replace(x, high=end, ticks=tuple(tick for tick in x.ticks if tick.at <= end))
    return Panel(shown, y, tuple(marks), height=190, keys=keys if len(keys) > 1 else ())


def _trace(trace: Trace, chart: Chart, tone: Tone) -> list[Mark]:
    digits = precision((*trace.mean, *((0.0, 1.0) if chart.full else ())), share=chart.share)
    marks: list[Mark] = []
    words = shortened(trace.name)
    if trace.low is not None and trace.high is not None:
        edge = (
            *zip(trace.labels, trace.high, strict=True),
            *reversed(tuple(zip(trace.labels, trace.low, strict=True))),
        )
        marks.append(Area(edge, words, tone, 0.18))
    marks.append(Line(tuple(zip(trace.labels, trace.mean, strict=True)), words, tone))
    for i, (labels, mean) in enumerate(zip(trace.labels, trace.mean, strict=True)):
        after = f"after {counted(labels, 'label')}"
        shown = number(mean, share=chart.share, digits=digits)
        tip = f"{words}: {shown} {after}"
        if trace.low is not None and trace.high is not None:
            low, high = trace.low[i], trace.high[i]
            ends = " to ".join(number(end, share=chart.share, digits=digits) for end in (low, high))
            moved = f"{words} {after}: {Style(share=True).moved(mean, low, high)}"
            tip = moved if chart.points else f"{tip}, {ends}"
        marks.append(Point(labels, mean, tip, tone=tone, faint=True))
    return marks
