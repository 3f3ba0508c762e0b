"""Allocation: where the labels went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from fewlabels.plots.drawing.picture import Key, Picture, counting
from fewlabels.plots.drawing.row_panel import Entry, rows_panel
from fewlabels.plots.plot import Plot
from fewlabels.wording import counted, shortened

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment
    from fewlabels.findings.reading import Reading


@dataclass(frozen=True)
class Share:
    """One group: its items, its labels, and the labels it would have in a random sample of the same size."""

    group: str
    n: int
    labelled: int
    expected: float


@dataclass(frozen=True)
class Allocation(Plot):
    """The number of labels in each group, largest first.

    Parameters
    ----------
    labels
        The number of labels in all.
    rows
        The groups, the one with the most labels first.
    """

    name: ClassVar[str] = "allocation"
    title: ClassVar[str] = "Where the labels went"

    labels: int
    rows: tuple[Share, ...]

    @classmethod
    def obstacle(cls, audit: Assessment) -> str:
        """Explain why the plot does not suit: the pool is empty, or all items are one group."""
        if not len(audit.pool):
            return "the pool has no items"
        return "" if len(audit.groups) > 1 else "all items are one group"

    @classmethod
    def read(cls, reading: Reading) -> Self:
        """Count the current labels, and work out the expected ones from the sizes of the groups."""
        groups = reading.audit.groups
        items, _ = reading.audit.labelled_items()
        labelled = np.bincount(groups.group[items], minlength=len(groups)).tolist()
        total = sum(labelled)
        rows = [
            Share(name, n, k, total * p)
            for name, n, k, p in zip(groups.names, groups.sizes.tolist(), labelled, groups.shares.tolist(), strict=True)
        ]
        # A comparison never asks in other groups.
        rows = [row for row in rows if reading.pair is None or row.group in reading.pair or row.labelled]
        rows.sort(key=lambda row: (-row.labelled, -row.n))
        return cls(total, tuple(rows), noun=reading.noun)

    def caption(self) -> str:
        """Explain how to read the plot."""
        asked = sum(row.labelled > 0 for row in self.rows)
        return (
            f"{counted(self.labels, 'label')} in {asked:,} of {counted(len(self.rows), self.noun)}. The stroke marks "
            "the average for a random sample of that size. Where a bar goes beyond it, labels were worth more to the "
            "question."
        )

    def finding(self) -> str:
        """The group with most labels, and how many a random sample would give it."""
        if len(self.rows) < 2 or not self.labels:
            return self.title
        first = self.rows[0]
        few = first.expected < 0.5
        usual = f"a random sample would give it {'hardly any' if few else f'about {first.expected:,.0f}'}"
        return f"{shortened(first.group, 40)} has {first.labelled:,} of {self.labels:,} labels; {usual}"

    def picture(self) -> Picture:
        """Draw a bar for each group."""
        longest = max((max(row.labelled, row.expected) for row in self.rows), default=1)
        entries = [self._entry(row) for row in self.rows]
        keys = (Key("labels", sign="box"), Key("random sample", "ink", "line"))
        return Picture((rows_panel(entries, counting(longest, "labels"), depth=6, keys=keys),))

    def _entry(self, row: Share) -> Entry:
        name = shortened(row.group)
        if not row.n:
            return Entry(row.group, None, None, None, f"{name}: no items")
        tip = (
            f"{name}: {counted(row.labelled, 'label')} of {counted(row.n, 'item')}; "
            f"a random sample would have about {row.expected:,.1f}"
        )
        aside = f"{row.labelled:,} of {row.n:,}"
        return Entry(row.group, float(row.labelled), None, None, tip, aside=aside, beside=row.expected)
