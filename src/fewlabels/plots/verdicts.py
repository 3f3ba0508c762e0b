"""Verdicts: the value of each group with its interval beside the line, and whether it passes, fails or is open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from fewlabels.plots.drawing.picture import Key, Picture, scale
from fewlabels.plots.drawing.row_panel import Entry, rows_panel
from fewlabels.plots.plot import Plot
from fewlabels.tasks.certify_words import SHORT, chance
from fewlabels.wording import Style, chosen, counted, listed, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fewlabels.assessment import Assessment
    from fewlabels.findings.reading import Reading
    from fewlabels.plots.drawing.style import Tone
    from fewlabels.table import Table
    from fewlabels.tasks.certify import Verdict

# Colour and shape say the same, for readers who do not see one of them.
_LOOKS: dict[Verdict, tuple[Tone, str]] = {
    "fail": ("accent", "diamond"),
    "open": ("muted", "hollow"),
    "pass": ("main", "dot"),
}
_NAMED = 3  # groups that fail which a heading names
_WORDS: dict[Verdict, str] = {"fail": "fail", "open": "open: not enough evidence", "pass": "pass"}


@dataclass(frozen=True)
class Judged:
    """One group: its items, its labels, its value with an interval, the chance that it reaches the line, its verdict.

    `labels` are those that its number rests on, in words; `backed` says whether it has labels of its own, so that a
    chance may be said.
    """

    group: str
    n: int
    labels: str
    mean: float | None
    low: float | None
    high: float | None
    reaches: float | None
    verdict: Verdict
    backed: bool

    def is_open_aside(self, line: float) -> bool:
        """Whether it is open although its interval is on one side of the line."""
        apart = self.low is not None and self.high is not None and not self.low <= line <= self.high
        return apart and self.verdict == "open"


@dataclass(frozen=True)
class Verdicts(Plot):
    """The groups that must reach a line, those least likely to first.

    Parameters
    ----------
    measure, share
        The name of the metric, and whether its values are written in percent.
    line, at_least
        The line, and whether values must lie above it.
    level, guarantee
        The probability of each interval, and "anytime" if it holds at every look.
    rows
        The groups.
    """

    name: ClassVar[str] = "verdicts"
    title: ClassVar[str] = "Groups and the line"

    measure: str
    share: bool
    line: float
    at_least: bool
    level: float
    guarantee: str | None
    rows: tuple[Judged, ...]

    @classmethod
    def obstacle(cls, audit: Assessment) -> str:
        """Explain why the plot does not suit: there is no line."""
        return "" if audit.spec.task.main_plot == cls.name else "its question is not whether groups reach a line"

    @classmethod
    def read(cls, reading: Reading) -> Self:
        """Read the answer."""
        metric = reading.audit.spec.task.metric
        labels = {row.group: row.labels for row in reading.rows(reading.measured)}
        return cls.of_table(reading.answer.table, metric.name, metric.in_percent, labels, reading.noun)

    @classmethod
    def of_table(cls, table: Table, measure: str, share: bool, labels: Mapping[str, str], noun: str = "group") -> Self:
        """Read the table of a verdict, with the labels of each group in words."""
        settings = table.settings
        return cls(
            measure,
            share,
            settings["line"],
            settings["at_least"],
            settings["level"],
            settings["guarantee"],
            tuple(_judged(row, labels[row["group"]]) for row in table.rows()),
            noun=noun,
        )

    def caption(self) -> str:
        """Explain how to read the plot."""
        side = "at least" if self.at_least else "at most"
        holds = ", valid however often you look" if self.guarantee else ""
        words = f"Each line is the {chosen(self.level)} range of a {self.noun}{holds}; the mark is the best guess. "
        words += f"The dashed line is what must be reached: {side} {self._style.stated(self.line)}. "
        if any(row.is_open_aside(self.line) for row in self.rows):
            looked = f", with all {len(self.rows):,} {self.nouns} looked at," if len(self.rows) > 1 else ""
            words += (
                f"A {self.noun} can be open although its range is on one side of the line: its own labels{looked} do "
                "not show that surely enough."
            )
        return words.rstrip()

    def finding(self) -> str:
        """Which groups fail, and how many pass, fail and are open."""
        parts: list[str] = []
        begun = False  # the noun stands once: "4 classes fail, 6 are open"
        for kind in SHORT:
            rows = [row for row in self.rows if row.verdict == kind]
            if kind == "fail" and len(self.rows) > 1 and 0 < len(rows) <= _NAMED:
                parts.append(f"{listed([shortened(row.group, 30) for row in rows])} {_verb(kind, len(rows))}")
            elif rows:
                parts.append(f"{f'{len(rows):,}' if begun else counted(len(rows), self.noun)} {_verb(kind, len(rows))}")
                begun = True
        return ", ".join(parts) or self.title

    def picture(self) -> Picture:
        """Draw a row for each group, and the line."""
        ends = [self.line, *(end for row in self.rows for end in (row.low, row.high) if end is not None)]
        x = scale(min(ends), max(ends), share=self.share, label=self.measure)
        line = (self.line, f"the line: {'at least' if self.at_least else 'at most'} {self._style.stated(self.line)}")
        shown = [kind for kind in SHORT if any(row.verdict == kind for row in self.rows)]
        keys = [Key(_WORDS[kind], *_LOOKS[kind]) for kind in shown]
        keys.append(Key("the line", "muted", "dash"))
        return Picture((rows_panel([self._entry(row) for row in self.rows], x, keys=tuple(keys), rules=[line]),))

    @property
    def _style(self) -> Style:
        return Style(self.share).fitting((row.low, row.high) for row in self.rows)

    def _entry(self, row: Judged) -> Entry:
        tone, sign = _LOOKS[row.verdict]
        mean, between = self._style.value(row.mean), self._style.range(row.low, row.high)
        tip = (
            f"{shortened(row.group)}: {SHORT[row.verdict]}; {self.measure} {mean} ({between}), {row.labels}; "
            f"{counted(row.n, 'item')}; chance that it reaches the line: {chance(row.reaches, backed=row.backed)}"
        )
        aside = f"{SHORT[row.verdict]}: {mean} ({between}), {row.labels}"
        return Entry(
            row.group, row.mean, row.low, row.high, tip, tone, sign == "hollow", aside, mean, diamond=sign == "diamond"
        )


def _judged(row: Mapping[str, Any], labels: str) -> Judged:
    names = ("group", "n", "mean", "low", "high", "reaches", "backed", "verdict")
    return Judged(**{name: row[name] for name in names}, labels=labels)


def _verb(kind: Verdict, n: int) -> str:
    """The verb after a number of groups."""
    if kind == "open":
        return "is open" if n == 1 else "are open"
    return f"{kind}{'es' if kind == 'pass' else 's'}" if n == 1 else kind
