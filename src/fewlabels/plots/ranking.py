"""Ranking: the rank of each group among all groups, with its interval."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from fewlabels.estimates import interval
from fewlabels.findings.measures import HOLLOW
from fewlabels.plots.drawing.picture import Key, Picture, Tick, counting
from fewlabels.plots.drawing.row_panel import Entry, rows_panel
from fewlabels.plots.plot import Plot, lacks_order
from fewlabels.tasks.identify import ranked
from fewlabels.wording import chosen, counted, shortened

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment
    from fewlabels.findings.reading import Reading
    from fewlabels.plots.drawing.style import Tone


@dataclass(frozen=True)
class Rank:
    """One group: its mean rank with an interval; rank 1 is the most extreme."""

    group: str
    n: int
    labelled: int
    rank: float
    low: float
    high: float
    thin: bool


@dataclass(frozen=True)
class Ranking(Plot):
    """The ranks of the groups with items, the most extreme first.

    Parameters
    ----------
    end
        What rank 1 means, such as "lowest accuracy".
    level
        The probability of each interval.
    rows
        The groups with items, the lowest mean rank first.
    named, means
        The groups that were found, and what the mark on them means.
    """

    name: ClassVar[str] = "ranking"
    title: ClassVar[str] = "Ranking with intervals"

    end: str
    level: float
    rows: tuple[Rank, ...]
    named: tuple[str, ...]
    means: str

    @classmethod
    def obstacle(cls, audit: Assessment) -> str:
        """Explain why the plot does not suit: there are no two groups to put in order, or the task compares two."""
        return lacks_order(audit)

    @classmethod
    def read(cls, reading: Reading) -> Self:
        """Read the ranks from the answer if the task is to identify groups, and otherwise from each draw."""
        task = reading.audit.spec.task
        named = reading.found
        if task.sought and reading.ranked:
            rows = [
                Rank(name, r["n"], r["labelled"], r["rank"], r["rank_low"], r["rank_high"], reading.too_few[name])
                for name, r in reading.ranked.items()
            ]
        else:
            rows = _ranks(reading, highest=task.leading == "highest")
        end = f"{task.leading} {reading.measure.name}"
        first = set(named)
        rows.sort(key=lambda row: (row.rank, row.group not in first))
        return cls(end, reading.level, tuple(rows), named, reading.found_words, noun=reading.noun)

    def caption(self) -> str:
        """Explain how to read the plot."""
        return (
            f"Rank 1 has the {self.end}. Each line is the {chosen(self.level)} range of a {self.noun}. "
            f"{self.nouns.capitalize()} whose lines overlap cannot be told apart yet."
        )

    def finding(self) -> str:
        """The place of the group that is most extreme, if it has labels."""
        first = next((row for row in self.rows if not row.thin), None)
        if first is None or first is not self.rows[0]:
            return f"Too few labels to say which {self.noun} has the {self.end}"
        low, high = round(first.low), round(first.high)
        place = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        return f"{shortened(first.group, 40)} has rank {place} of {len(self.rows):,}, where 1 is the {self.end}"

    def picture(self) -> Picture:
        """Draw a row for each group."""
        axis = counting(len(self.rows), f"rank (1 is the {self.end})")
        step = axis.ticks[1].at - axis.ticks[0].at
        ticks = (Tick(1, "1"), *(tick for tick in axis.ticks if 1 + 0.4 * step < tick.at <= len(self.rows)))
        x = replace(axis, low=0.5, high=len(self.rows) + 0.5, ticks=ticks)
        entries = [self._entry(row) for row in self.rows]
        keys = [Key(self.means, "accent")] if self.named else []
        keys += [Key(f"other {self.nouns}")] if self.named else []
        keys += [Key(HOLLOW, "muted", "hollow")] if any(row.thin for row in self.rows) else []
        return Picture((rows_panel(entries, x, keys=tuple(keys)),))

    def _entry(self, row: Rank) -> Entry:
        tone: Tone = "accent" if row.group in self.named else "main"
        ends = f"{row.low:,.0f} to {row.high:,.0f}" if round(row.low) < round(row.high) else f"{row.low:,.0f}"
        tip = (
            f"{shortened(row.group)}: mean rank {row.rank:,.1f}, {chosen(self.level)} interval {ends} "
            f"of {len(self.rows):,}; {counted(row.labelled, 'label')}"
        )
        # The mean is inside all but the narrowest intervals of a skewed rank.
        low, high = min(row.low, row.rank), max(row.high, row.rank)
        return Entry(row.group, row.rank, low, high, tip, tone, row.thin, aside=ends)


def _ranks(reading: Reading, *, highest: bool) -> list[Rank]:
    groups = reading.audit.groups
    present = np.flatnonzero(groups.sizes)
    values = reading.values[:, present]
    # The generator only breaks ties.
    ranks = ranked(-values if highest else values, np.random.default_rng(0))
    low, high = interval(ranks, reading.level)
    labelled = reading.estimates["labelled"]
    return [
        Rank(groups.names[g], int(groups.sizes[g]), labelled[g], float(mean), float(a), float(b),
             reading.too_few[groups.names[g]])
        for g, mean, a, b in zip(present.tolist(), ranks.mean(axis=0), low, high, strict=True)
    ]  # fmt: skip
