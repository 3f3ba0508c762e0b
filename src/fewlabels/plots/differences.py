"""Differences: how much more often one model is right than another, over all items and in each group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

from fewlabels.plots.drawing.picture import Box, Key, Picture, in_points, scale
from fewlabels.plots.drawing.row_panel import Entry, rows_panel
from fewlabels.plots.plot import Plot
from fewlabels.plots.rope import LONG
from fewlabels.tasks.compare import REGIONS
from fewlabels.tasks.grounds import SAFE
from fewlabels.tasks.models import ALL
from fewlabels.wording import Style, chosen, counted, probability, shortened

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment
    from fewlabels.findings.reading import Reading
    from fewlabels.plots.drawing.style import Tone

_STYLE = Style(share=True)


@dataclass(frozen=True)
class Difference:
    """Δ over all items or in one group, with its interval and the probability of each region."""

    where: str
    mean: float
    low: float
    high: float
    less: float
    equal: float
    more: float

    @property
    def region(self) -> tuple[str, float]:
        """The most probable region, and its probability."""
        return max(((name, float(getattr(self, name))) for name in REGIONS), key=lambda region: region[1])


@dataclass(frozen=True)
class Differences(Plot):
    """The differences between two models as rows: all items, then the groups.

    Parameters
    ----------
    a, b
        The two models; a difference is the share that a has right less the share that b has right.
    rope
        ε: a difference of at most this size does not matter in practice.
    level
        The probability of each interval.
    rows
        All items, then each group.
    """

    name: ClassVar[str] = "differences"
    title: ClassVar[str] = "Difference between the two models"
    of_models: ClassVar[bool] = True

    a: str
    b: str
    rope: float
    level: float
    rows: tuple[Difference, ...]

    @classmethod
    def obstacle(cls, audit: Assessment) -> str:
        """Explain why the plot does not suit: the question is not how two models differ."""
        return "" if audit.spec.task.main_plot == cls.name else "it does not compare two models"

    @classmethod
    def read(cls, reading: Reading) -> Self:
        """Read the answer."""
        table = list(reading.answer.table.rows())
        names = ("mean", "low", "high", *REGIONS)
        rows = tuple(Difference(row.get("where", ALL), *(row[name] for name in names)) for row in table)
        return cls(table[0]["a"], table[0]["b"], reading.answer.settings["rope"], reading.level, rows)

    def caption(self) -> str:
        """Explain how to read the plot."""
        a, b = shortened(self.a, 60), shortened(self.b, 60)
        band = f"Differences within the grey band, up to {_STYLE.within(self.rope)}, do not matter in practice. "
        return (
            f"Each line contains, with probability {chosen(self.level)}, how much more often {a} is right than {b}; "
            f"the dot is its mean. Right of 0, {a} is better. {band if self.rope else ''}The words beside it are the "
            "most probable of worse, about equal and better, with its probability."
        )

    def finding(self) -> str:
        """In how many groups one of them is better; the difference over all items if there are no groups."""
        groups = self.rows[1:]
        if not groups:
            first = self.rows[0]
            by = _STYLE.moved(first.mean, first.low, first.high)
            return f"{shortened(self.a, 40)} minus {shortened(self.b, 40)}: {by}"
        parts = []
        for name, model in (("more", self.a), ("less", self.b)):
            if count := sum(row.region[0] == name and row.region[1] >= SAFE for row in groups):
                parts.append(f"{shortened(model, 40)} is better in {count:,}")
        return f"Of {counted(len(groups), 'group')}: {', '.join(parts) or 'no clear difference in any'}"

    def picture(self) -> Picture:
        """Draw a row for all items and for each group, over the rope."""
        ends = [end for row in self.rows for end in (row.low, row.high)]
        low, high = min(*ends, -1.4 * self.rope, 0.0), max(*ends, 1.4 * self.rope, 0.0)
        label = f"share right: {self.a} − {self.b}, points"
        if len(label) > LONG:
            label = "difference in share right, points"
        x = in_points(scale(low, high, share=True, label=label, within=(-1.0, 1.0)))
        entries = [self._entry(row) for row in self.rows]
        keys = [Key(f"{shortened(self.a, 24)} is better", "accent"), Key("not clear, or no difference", "muted")]
        keys.append(Key(f"{shortened(self.b, 24)} is better"))
        # The words beside a single row say what its colour means.
        shown = tuple(keys) if len(entries) > 1 else ()
        panel = rows_panel(entries, x, keys=shown, rules=[(0.0, "no difference")])
        if self.rope:
            words = f"at most {_STYLE.within(self.rope)}, no difference in practice"
            band = Box((-self.rope, self.rope), (0, panel.y.low), words, "muted", 0.25)
            panel = replace(panel, marks=(band, *panel.marks))
        return Picture((panel,))

    def _entry(self, row: Difference) -> Entry:
        region, sure = row.region
        word = {"less": "worse", "equal": "about equal", "more": "better"}[region]
        tones: dict[str, Tone] = {"less": "main", "equal": "muted", "more": "accent"}
        chances = (f"worse {probability(row.less)}", f"about equal {probability(row.equal)}")
        tip = (
            f"{shortened(row.where)}: {_STYLE.moved(row.mean, row.low, row.high)}; {shortened(self.a, 40)} is "
            f"{', '.join(chances)}, better {probability(row.more)}"
        )
        tone = tones[region] if sure >= SAFE else "muted"
        low, high = min(row.low, row.mean), max(row.high, row.mean)
        return Entry(row.where, row.mean, low, high, tip, tone, aside=f"{word}: {probability(sure)}")
