"""Forest: the value of each group with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from fewlabels.findings.measures import HOLLOW
from fewlabels.plots.drawing.picture import Key, Picture, scale
from fewlabels.plots.drawing.row_panel import Entry, rows_panel
from fewlabels.plots.plot import Plot, lacks_values
from fewlabels.wording import Style, chosen, counted, listed, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.assessment import Assessment
    from fewlabels.findings.measures import Measure
    from fewlabels.findings.reading import Reading, Row
    from fewlabels.plots.drawing.style import Tone

_NAMED = 3  # groups that a heading names


@dataclass(frozen=True)
class Forest(Plot):
    """The estimates of all groups, the worst first.

    Parameters
    ----------
    measure, end
        The metric, and the end of it that comes first, such as "lowest accuracy".
    level
        The probability of each interval.
    rows
        The groups, the worst value first, and those without items at the end.
    named, means
        The groups that were found, and what the mark on them means.
    average
        Σ_g p_g mean_g, the average weighted by size; for one share, the number over all items. It is None for a
        comparison, which asks in only two groups, and if the prior decides it.
    """

    name: ClassVar[str] = "forest"
    title: ClassVar[str] = "Groups with intervals"

    measure: Measure
    end: str
    level: float
    rows: tuple[Row, ...]
    named: tuple[str, ...]
    means: str
    average: float | None

    @classmethod
    def obstacle(cls, audit: Assessment) -> str:
        """Explain why the plot does not suit: the metric is not one number per group, or another plot shows them."""
        shown = audit.spec.task.main_plot == "verdicts"
        return "the plot 'verdicts' shows the same with the line" if shown else lacks_values(audit)

    @classmethod
    def read(cls, reading: Reading) -> Self:
        """Read the estimates, and the groups that were found."""
        rows = reading.rows(reading.estimates)
        shares = reading.audit.groups.shares.tolist()
        average = None
        task = reading.audit.spec.task
        if reading.pair is None and reading.is_grounded:
            valued = [(p, row.mean) for p, row in zip(shares, rows, strict=True) if row.mean is not None]
            average = sum(p * mean for p, mean in valued) / (sum(p for p, _ in valued) or 1.0) if valued else None
            if task.metric.marginal:  # the number over all items that every other place shows, or leaves out
                average = reading.overall.mean if reading.overall.enough else None
        named = reading.found
        first = ordered(rows, named, highest=task.leading == "highest")
        end = f"{task.leading} {reading.measure.name}"
        means = reading.found_words
        return cls(reading.measure, end, reading.level, first, named, means, average, noun=reading.noun)

    def caption(self) -> str:
        """Explain how to read the plot."""
        thin = sum(row.thin and row.mean is not None for row in self.rows)
        empty = sum(not row.n for row in self.rows)
        undefined = sum(row.mean is None for row in self.rows) - empty
        line = f"Each line is the {chosen(self.level)} range of a {self.noun}" if len(self.rows) > 1 else ""
        words = f"{line or f'The line is the {chosen(self.level)} range'}; the dot is the best guess."
        if thin:
            which = f"s: the {counted(thin, self.noun)} with hardly any labels of their own."
            words += f" Hollow dot{which if thin > 1 else f': a {self.noun} with hardly any labels of its own.'}"
        words += f" The dashed line is the average of the {self.nouns}, weighted by size." if self._has_average else ""
        words += f" {counted(undefined, self.noun)} without a number." if undefined else ""
        return words + (f" {counted(empty, self.noun)} without items." if empty else "")

    def finding(self) -> str:
        """The groups that were found; otherwise the lowest and the highest best guess, of groups with labels."""
        if named := [row for row in self.rows if row.group in self.named and row.mean is not None]:
            return self._found(named)
        known = sorted((row.mean, row.group) for row in self.rows if row.mean is not None and not row.thin)
        if len(self.rows) == 1 and known:
            row, name = self.rows[0], self.measure.name
            return f"{name[0].upper()}{name[1:]}: {self._style.spread(row.mean, row.low, row.high)}"
        if len(known) < 2:
            return self._unknown(known)
        style, ((low, first), *_, (high, last)) = self._style, known
        begin = f"Best guesses of {self.measure.name} run"
        if len(known) < sum(row.mean is not None for row in self.rows):
            begin = f"In the {counted(len(known), self.noun)} with enough labels, {self.measure.name} runs"
        ends = f"from {style.value(low)} ({shortened(first, 40)}) to {style.value(high)} ({shortened(last, 40)})"
        return f"{begin} {ends}"

    def _unknown(self, known: Sequence[tuple[float, str]]) -> str:
        """Say that labels are too few to compare groups, and which group has enough."""
        if len(self.rows) == 1:
            return f"Too few labels to know the {self.measure.name}"
        if not known:
            return f"No {self.noun} has enough labels yet"
        ((mean, group),) = known
        return f"Only {shortened(group, 40)} has enough labels: {self.measure.name} {self._style.value(mean)}"

    def _found(self, named: Sequence[Row]) -> str:
        """The groups that were found with their best guesses, beside the average."""
        # Of a group with too few labels for a number, the sentence gives none either.
        values = [self._style.value(row.mean) if row.known else "few labels" for row in named[:_NAMED]]
        each = [f"{shortened(row.group, 30)} ({value})" for row, value in zip(named, values, strict=False)]
        each += [f"{len(named) - _NAMED:,} more"] if len(named) > _NAMED else []
        how = {"probably the answer": "probably the ", "probably among those looked for": "probably of the "}
        begin = f"{how.get(self.means, '')}{self.end}"
        words = f"{begin[0].upper()}{begin[1:]}: {listed(each)}"
        return words if self.average is None else f"{words}; average {self._style.value(self.average)}"

    def picture(self) -> Picture:
        """Draw a row for each group."""
        present = [row for row in self.rows if row.mean is not None]
        ends = [end for row in present for end in (row.low, row.high) if end is not None]
        x = scale(min(ends, default=0), max(ends, default=1), share=self.measure.share, label=self.measure.name)
        entries = [self._entry(row) for row in self.rows]
        rules = []
        if self.average is not None and self._has_average:
            rules.append((self.average, f"average, weighted by size: {self._style.value(self.average)}"))
        return Picture((rows_panel(entries, x, keys=self._keys(), rules=rules),))

    @property
    def _has_average(self) -> bool:
        """Whether a line marks the average: one group is its own."""
        return self.average is not None and sum(row.mean is not None for row in self.rows) > 1

    @property
    def _style(self) -> Style:
        return Style(self.measure.share).fitting((row.low, row.high) for row in self.rows if not row.thin)

    def _entry(self, row: Row) -> Entry:
        tone: Tone = "accent" if row.group in self.named else "main"
        tip = row_tip(row, self.measure, self.level)
        aside = short = ""
        if row.mean is not None:
            # As in tables: where labels are too few for a best guess, the range is all that is said.
            spread = self._style.spread(row.mean, row.low, row.high) if row.known else ""
            aside = f"{spread or self._style.range(row.low, row.high)}, {row.labels}"
            short = self._style.value(row.mean, row.low, row.high) if row.known else ""
        return Entry(row.group, row.mean, row.low, row.high, tip, tone, row.thin, aside, short)

    def _keys(self) -> tuple[Key, ...]:
        named = len(self.named)
        keys = [Key(self.means, "accent")] if named else []
        keys += [Key(f"other {self.nouns}")] if named else []
        keys += [Key(HOLLOW, "muted", "hollow")] if any(row.thin for row in self.rows) else []
        keys += [Key("average", "muted", "dash")] if self._has_average else []
        return tuple(keys)


def ordered(rows: Sequence[Row], named: Sequence[str], *, highest: bool) -> tuple[Row, ...]:
    """Sort rows by mean, lowest or highest first; ties put named, then better known groups first; empty ones last."""
    sign, first = (-1 if highest else 1), set(named)
    key = lambda row: (row.mean is None, sign * (row.mean or 0), row.group not in first, -row.labelled)
    return tuple(sorted(rows, key=key))


def row_tip(row: Row, measure: Measure, level: float) -> str:
    """Describe a group in words, for a tooltip."""
    name = shortened(row.group)
    if row.mean is None:
        return f"{name}: no number" if row.n else f"{name}: no items"
    style = Style(measure.share)
    mean, low, high = (style.value(value, row.low, row.high) for value in (row.mean, row.low, row.high))
    known = f"{counted(row.labelled, 'label')} of {counted(row.n, 'item')}"
    known += f", {row.right:,} right" if row.right is not None and row.labelled else ""
    known += f", {row.shown}" if row.shown else ""
    value = f"{measure.name} {mean}" if row.known else f"too few labels for the {measure.name}"
    return f"{name}: {value}, {chosen(level)} interval {low} to {high}; {known}"
