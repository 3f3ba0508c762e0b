"""Chances: the probability that each group is the most extreme, or one of the few that the task looks for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from fewlabels.findings.measures import HOLLOW
from fewlabels.plots.drawing.picture import Key, Picture, scale
from fewlabels.plots.drawing.row_panel import Entry, rows_panel
from fewlabels.plots.plot import Plot, lacks_order
from fewlabels.tasks.backing import FEW
from fewlabels.tasks.identify import ranked
from fewlabels.wording import SMALL, counted, probability, shortened, spelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.assessment import Assessment
    from fewlabels.findings.reading import Reading
    from fewlabels.plots.drawing.picture import Axis, Panel
    from fewlabels.plots.drawing.style import Tone

_SHOWN = 20


@dataclass(frozen=True)
class Chance:
    """One group and its probability."""

    group: str
    labelled: int
    chance: float


@dataclass(frozen=True)
class Side:
    """One question, such as "has the lowest accuracy", and the groups by their probability, the largest first."""

    end: str
    rows: tuple[Chance, ...]


@dataclass(frozen=True)
class Chances(Plot):
    """The probability of each group to be among the m lowest, or to be the lowest and to be the highest.

    Parameters
    ----------
    sides
        One if the task is to identify groups, and otherwise two.
    named
        The groups that were found.
    """

    name: ClassVar[str] = "chances"

    sides: tuple[Side, ...]
    named: tuple[str, ...]

    @property
    def title(self) -> str:  # type: ignore[override]
        """The probability that is drawn, as a heading."""
        if len(self.sides) > 1:
            return "Chance of being the lowest or the highest"
        doing = {"has": "having", "is": "being"}
        verb, rest = self.sides[0].end.split(" ", 1)
        return f"Chance of {doing[verb]} {rest}"

    @classmethod
    def obstacle(cls, audit: Assessment) -> str:
        """Explain why the plot does not suit: there are no labels, or no two groups to put in order."""
        return lacks_order(audit) or ("" if audit.labelled else "no item has a label yet")

    @classmethod
    def read(cls, reading: Reading) -> Self:
        """Read the column `chance` of `answer()`; if the task does not identify groups, count the extremes of draws."""
        task, metric = reading.audit.spec.task, reading.measure.name
        if task.sought and reading.ranked:
            rows = [Chance(name, row["labelled"], row["chance"]) for name, row in reading.ranked.items()]
            end = f"the {task.sought} {metric}"
            end = f"is among the {spelled(task.plays)} with {end}" if task.plays > 1 else f"has {end}"
            return cls((_side(end, rows),), reading.found, noun=reading.noun)
        sides = tuple(
            _side(f"has the {word} {metric}", _extreme(reading, sign))
            for word, sign in (("lowest", 1), ("highest", -1))
        )
        return cls(sides if not reading.measure.high_is_bad else sides[::-1], (), noun=reading.noun)

    def caption(self) -> str:
        """Explain how to read the plot."""
        return (
            f"The probability, given the labels so far, that a {self.noun} "
            + " or ".join(s.end for s in self.sides)
            + ". "
            "A long bar is a high chance; many short bars mean that the labels do not show it yet."
        )

    def finding(self) -> str:
        """The group that is most probably looked for, if it has labels."""
        side = self.sides[0]
        if not side.rows or side.rows[0].labelled < FEW:
            return f"Too few labels to say which {self.noun} {side.end}"
        first = side.rows[0]
        return f"{shortened(first.group, 40)} {side.end} with a probability of {probability(first.chance)}"

    def picture(self) -> Picture:
        """Draw a bar for each of the most probable groups, and one line for the others."""
        longest = max((side.rows[0].chance for side in self.sides), default=1)
        return Picture(tuple(self._panel(side, scale(0, max(longest, 0.1), share=True)) for side in self.sides))

    def _panel(self, side: Side, axis: Axis) -> Panel:
        shown = side.rows
        if len(shown) > _SHOWN + 1:
            likely = sum(row.chance >= 0.001 for row in shown)
            shown = shown[: min(max(likely, 3), _SHOWN)]
        entries = [self._entry(row, side.end) for row in shown]
        rest = side.rows[len(shown) :]
        if rest:
            total, most = sum(row.chance for row in rest), probability(rest[0].chance)
            most = most if rest[0].chance < 0.01 else f"at most {most}"
            tip = f"{counted(len(rest), f'other {self.noun}')}: {most} each, {total:.2f} of them expected"
            entries.append(Entry(f"{len(rest):,} others", 0, None, None, tip, aside=most))
        x = replace(axis, label="probability")
        few = any(entry.tone == "muted" for entry in entries)
        panel = rows_panel(entries, x, keys=(Key(HOLLOW, "muted", "box"),) if few else ())
        if len(self.sides) > 1:  # each panel says which end it is about
            panel = replace(panel, y=replace(panel.y, label=side.end.removeprefix("has the ")))
        return panel

    def _entry(self, row: Chance, end: str) -> Entry:
        # A chance without labels of its own rests on the scores or on other groups alone.
        tone: Tone = "accent" if row.group in self.named else "muted" if row.labelled < FEW else "main"
        sure = probability(row.chance)
        tip = f"{shortened(row.group)} {end} with probability {sure}; {counted(row.labelled, 'label')}"
        return Entry(row.group, row.chance, None, None, tip, tone, aside=sure)


def _side(end: str, rows: Sequence[Chance]) -> Side:
    return Side(end, tuple(sorted(rows, key=lambda row: -row.chance if row.chance >= SMALL else 0.0)))


def _extreme(reading: Reading, sign: int) -> list[Chance]:
    """Return the probability of each group with items to be first; `sign` is 1 for the lowest, −1 for the highest."""
    groups = reading.audit.groups
    present = np.flatnonzero(groups.sizes)
    first = ranked(sign * reading.values[:, present], np.random.default_rng(0)) == 1
    labelled = reading.estimates["labelled"]
    chances = zip(present.tolist(), first.mean(axis=0).tolist(), strict=True)
    return [Chance(groups.names[g], labelled[g], chance) for g, chance in chances]
