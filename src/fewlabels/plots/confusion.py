"""Confusion: the true classes of items that are predicted as another class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from fewlabels.findings.confusions import items_affected
from fewlabels.findings.measures import HOLLOW
from fewlabels.metrics import Accuracy
from fewlabels.metrics import Confusion as Metric
from fewlabels.partition import by_predicted
from fewlabels.plots.drawing.layout import ARROW
from fewlabels.plots.drawing.picture import Axis, Box, Key, Note, Panel, Picture, Tick, scale
from fewlabels.plots.drawing.row_panel import Entry, rows_panel
from fewlabels.plots.plot import Plot
from fewlabels.tasks.backing import FEW, is_thin
from fewlabels.wording import Style, chosen, counted, percent, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fewlabels.assessment import Assessment
    from fewlabels.findings.reading import Reading
    from fewlabels.plots.drawing.picture import Mark
    from fewlabels.plots.drawing.style import Tone

_MATRIX = 30  # at most this many classes are shown as a matrix
_WRITTEN = 12  # at most this many leave room for numbers in it
_SHOWN = 0.01  # a smaller share leaves its place empty
_PALEST = 0.12  # the shade of the smallest mistake, which must be visible on a dark background too
_HALF, _STRONG = 0.5, 0.85  # from this share on, right is a strong colour, on which words can be read
_LEAST = 1.0  # a mistake that no label showed is listed if it probably affects this many items
_NUMBERS = 1_000_000  # classes² × groups of asking; beyond this, reading by other groups takes minutes


@dataclass(frozen=True)
class Predicted:
    """One predicted class: its items and labels, and the share of each true class with its interval.

    The share that is right is the accuracy of the class, the same number as everywhere else.
    """

    predicted: str
    n: int
    labelled: int
    thin: bool
    mean: tuple[float, ...] | None
    low: tuple[float, ...] | None
    high: tuple[float, ...] | None


@dataclass(frozen=True)
class Pair:
    """One mistake: the share of the n items predicted as one class that truly belong to another.

    `seen` of the `labelled` items of that predicted class show it. `items` is how many items of the pool it probably
    affects: the best guess, low and high.
    """

    predicted: str
    true: str
    n: int
    labelled: int
    seen: int
    thin: bool
    mean: float
    low: float
    high: float
    items: tuple[float, float, float]

    @property
    def matters(self) -> bool:
        """Whether it is worth a line: a label showed it, or it probably affects at least one item."""
        return self.seen > 0 or self.items[0] >= _LEAST


@dataclass(frozen=True)
class Confusions(Plot):
    """The confusion matrix, or its largest mistakes if there are too many classes to read it.

    Parameters
    ----------
    level
        The probability of each interval.
    classes
        The true classes, in the order of the shares of each row.
    rows
        The predicted classes; empty if there are more than 30 classes.
    pairs
        The mistakes that labels showed, and then others; those that probably affect most items first.
    """

    name: ClassVar[str] = "confusion"
    title: ClassVar[str] = "Which classes are confused"

    level: float
    classes: tuple[str, ...]
    rows: tuple[Predicted, ...]
    pairs: tuple[Pair, ...]

    @classmethod
    def obstacle(cls, audit: Assessment) -> str:
        """Explain why the plot does not suit: some predicted classes are not asked about, or reading takes too long."""
        if audit.spec.task.pair:
            return "it asks in only two groups"
        if not len(audit.pool):
            return "the pool has no items"
        by_class = audit.groups.recipe == {"by": "predicted"}
        small = len(audit.pool.classes) ** 2 * len(audit.groups) <= _NUMBERS
        return "" if by_class or small else "it has too many groups and classes to read together"

    @classmethod
    def read(cls, reading: Reading) -> Self:
        """Read the largest mistakes, and where it can be shown the whole matrix by predicted class."""
        audit = reading.audit
        mistakes = reading.mistakes
        pairs = [_pair(row, audit.spec.target, reading.level) for row in mistakes]
        rows = _matrix(reading) if len(audit.pool.classes) <= _MATRIX else ()
        return cls(reading.level, audit.pool.classes, rows, tuple(pair for pair in pairs if pair.matters))

    def caption(self) -> str:
        """Explain how to read the plot."""
        if self.rows:
            thin = (
                f"A grey row has fewer than {FEW} labels. " if any(row.thin and row.mean for row in self.rows) else ""
            )
            return (
                "A row is a predicted class and a column is a true class: the stronger the colour, the larger the "
                f"share of the row; below {percent(_SHOWN)} the place is empty. Blue is right, orange is confused. A "
                f"small square is uncertain: its area shrinks as the interval grows. {thin}Each share is estimated on "
                "its own, so a row need not add up to 100%."
            )
        thin = f" A hollow dot means fewer than {FEW} of them." if any(pair.thin for pair in self.pairs) else ""
        return (
            "What it says → what is true. Mistakes seen in labels come first, starting with those that "
            f"probably affect the most items. Each line is the {chosen(self.level)} range of the number of items. "
            f"At the edge: how many labels of the predicted class show it.{thin}"
        )

    def finding(self) -> str:
        """The mistake seen in labels that affects most items even at the low end, of classes with enough labels."""
        known = [pair for pair in self.pairs if pair.seen and not pair.thin]
        if not known:
            few = any(pair.seen for pair in self.pairs)
            return "Too few labels to say which classes are confused" if few else "No label shows a mix-up"
        worst = max(known, key=lambda pair: pair.items[1:])
        predicted, true = shortened(worst.predicted, 40), shortened(worst.true, 40)
        share = Style(share=True).spread(worst.mean, worst.low, worst.high)
        return f"When it says {predicted}, {share} are {true}: {worst.seen:,} of {counted(worst.labelled, 'label')}"

    def picture(self) -> Picture:
        """Draw the matrix, or rows of mistakes."""
        return Picture((self._matrix() if self.rows else self._largest(),))

    def _matrix(self) -> Panel:
        k = len(self.classes)
        marks: list[Mark] = []
        for i, row in enumerate(self.rows):
            if row.mean is None or row.low is None or row.high is None:
                marks.append(Note(0, i + 0.5, "no items", tone="muted", tip=f"{shortened(row.predicted)}: no items"))
                continue
            for j, (mean, low, high) in enumerate(zip(row.mean, row.low, row.high, strict=True)):
                marks += self._cell(i, j, row, mean, (low, high))
        across = (Tick(j + 0.5, name, name) for j, name in enumerate(self.classes))
        down = (Tick(i + 0.5, row.predicted, _row_tip(row)) for i, row in enumerate(self.rows))
        aside = tuple(Tick(i + 0.5, counted(row.labelled, "label")) for i, row in enumerate(self.rows) if row.mean)
        x = Axis(0, k, tuple(across), "true class", grid=False, turned=True)
        y = Axis(k, 0, tuple(down), "predicted class", grid=False)
        tall = 44 if k <= _WRITTEN else max(18, 528 / k)
        few = any(row.thin and row.mean for row in self.rows)
        keys = (Key("right", sign="box"), Key("confused", "accent", "box"), *[Key(HOLLOW, "muted", "box")] * few)
        return Panel(x, y, tuple(marks), height=k * tall, widest=k * 64, aside=aside, keys=keys)

    def _cell(self, i: int, j: int, row: Predicted, mean: float, ends: tuple[float, float]) -> list[Mark]:
        tip = (
            f"predicted {shortened(row.predicted)}, truly {shortened(self.classes[j])}: {percent(mean)}, "
            f"{chosen(self.level)} interval {percent(ends[0])} to {percent(ends[1])}; {counted(row.labelled, 'label')}"
        )
        # The area of the square is what the interval leaves. Small shares must be visible, so mistakes darken by the
        # square root. If the share is written on the square, it stays light enough to read.
        inset = 0.5 - 0.48 * max(1 - (ends[1] - ends[0]), 0.04) ** 0.5
        right, written = self.classes[j] == row.predicted, len(self.classes) <= _WRITTEN
        shade = _PALEST + mean**0.5 * ((0.55 if written else 1.0) - _PALEST)
        if right:  # written in the colour of the words up to a half, and in that of the background above
            shade = mean if not written else 0.5 * mean if mean < _HALF else _STRONG + (1 - _STRONG) * (2 * mean - 1)
        xs, ys = (j + inset, j + 1 - inset), (i + inset, i + 1 - inset)
        tone: Tone = "muted" if row.thin else "main" if right else "accent"
        around = ((j, j + 1), (i, i + 1))
        if mean < _SHOWN:
            return [Box(*around, tip, "ink", 0)]
        marks: list[Mark] = [Box(xs, ys, tip, tone, 0.03 + 0.97 * shade, around=around)]
        if written and not row.thin:
            words = f"{100 if mean == 1 else min(round(100 * mean), 99)}%"  # 100% is exactly that
            # Short numbers get the same room as long ones, so that all are written, or none.
            ink: Tone = "paper" if right and mean >= _HALF else "ink"
            room = (1 - 2 * inset) * len(words) / 3
            marks.append(Note(j + 0.5, i + 0.5, words, "on", ink, tip=tip, room=room))
        return marks

    def _largest(self) -> Panel:
        most = max((pair.items[2] for pair in self.pairs), default=1)
        x = scale(0, most, share=False, label="items of the pool, estimated")
        entries = [self._entry(pair) for pair in self.pairs]
        keys = (Key(HOLLOW, "muted", "hollow"),) if any(p.thin for p in self.pairs) else ()
        return rows_panel(entries, x, keys=keys)

    def _entry(self, pair: Pair) -> Entry:
        mid, low, high = pair.items
        name = f"{pair.predicted}{ARROW}{pair.true}"
        tip = (
            f"predicted {shortened(pair.predicted)}, truly {shortened(pair.true)}: {pair.seen:,} of "
            f"{counted(pair.labelled, 'label')}; about {mid:,.0f} of {counted(pair.n, 'item')} ({low:,.0f} to "
            f"{high:,.0f}), {percent(pair.mean)} ({percent(pair.low)} to {percent(pair.high)})"
        )
        return Entry(name, mid, low, high, tip, "accent", pair.thin, f"{pair.seen:,} of {pair.labelled:,}")


def _row_tip(row: Predicted) -> str:
    return f"{shortened(row.predicted)}: {counted(row.labelled, 'label')} of {counted(row.n, 'item')}"


def _pair(row: Mapping[str, Any], target: str, level: float) -> Pair:
    names = ("true", "n", "labelled", "seen", "mean", "low", "high")
    thin, items = is_thin(row["labelled"], row["n"], target), items_affected(row, target, level)
    return Pair(predicted=row["group"], thin=thin, items=items, **{name: row[name] for name in names})


def _matrix(reading: Reading) -> tuple[Predicted, ...]:
    """Read the estimates of the confusion by predicted class; the share that is right is the accuracy."""
    audit, classes = reading.audit, reading.audit.pool.classes
    options: dict[str, Any] = {"level": reading.level, "groups": by_predicted(audit.pool), "draws": reading.draws}
    k = len(classes)
    if audit.spec.task.metric.vector and audit.groups.recipe == {"by": "predicted"}:  # read once, for every view
        table, right = reading.estimates, reading.measured
    else:
        table, right = (audit.estimates(metric=metric, **options) for metric in (Metric(), Accuracy()))
    ends = [np.array(table[name], dtype=float).reshape(k, k) for name in ("mean", "low", "high")]
    for part, name in zip(ends, ("mean", "low", "high"), strict=True):
        np.fill_diagonal(part, np.array(right[name], dtype=float))
    return tuple(
        Predicted(
            classes[i], row["n"], row["labelled"], is_thin(row["labelled"], row["n"], audit.spec.target),
            *(tuple(part[i].tolist()) if row["n"] else None for part in ends),
        )
        for i, row in enumerate(right)
    )  # fmt: skip
