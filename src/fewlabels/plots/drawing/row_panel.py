"""The shared layout of plots with a row per group: all rows, or the two ends and a band for the groups between."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fewlabels.plots.drawing.picture import Axis, Box, Line, Note, Panel, Point, Sheaf, Tick
from fewlabels.wording import counted, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.plots.drawing.picture import Key, Mark, Range
    from fewlabels.plots.drawing.style import Tone

ROW = 22.0
"""The height of a row in pixels."""
MOST = 40
"""The largest number of rows that are shown in full."""
_HEAD, _TAIL = 15, 5  # rows at the two ends, if there are more
_PLACES = 30  # places to point at in the band
_LINES = 150  # lines that can be told apart in the band


@dataclass(frozen=True)
class Entry:
    """One row: a value with its interval, or a bar from 0 without an interval; an empty group has no value."""

    name: str
    mid: float | None
    low: float | None
    high: float | None
    tip: str
    tone: Tone = "main"
    hollow: bool = False
    aside: str = ""
    short: str = ""
    """What is left of `aside` on a phone."""
    beside: float | None = None
    """A second value to compare a bar with, drawn as a stroke."""
    diamond: bool = False


def rows_panel(
    entries: Sequence[Entry],
    x: Axis,
    *,
    depth: float = 10,
    keys: tuple[Key, ...] = (),
    rules: Sequence[tuple[float, str]] = (),
) -> Panel:
    """Draw rows from the top down, in the order given.

    If there are more than 40, the first 15 and the last 5 are rows, and the others form a band of thin lines that is
    `depth` rows high; empty groups are then left out. `rules` are vertical dashed lines at values, each with its
    meaning.
    """
    if len(entries) > MOST:
        entries = [entry for entry in entries if entry.mid is not None]
    cut = len(entries) > MOST
    first, last = (entries[:_HEAD], entries[len(entries) - _TAIL :]) if cut else (entries, entries[:0])
    between = entries[_HEAD : len(entries) - _TAIL] if cut else []
    start = len(first) + 0.5
    end = start + depth
    places = [*range(len(first)), *(end + 0.5 + i for i in range(len(last)))]
    bottom = end + len(last) + 0.5 if cut else len(first)
    shown = [*first, *last]
    marks: list[Mark] = [_rule(at, words, bottom) for at, words in rules]
    ticks = [Tick(y + 0.5, entry.name, entry.tip) for y, entry in zip(places, shown, strict=True)]
    aside = [Tick(y + 0.5, entry.aside, short=entry.short) for y, entry in zip(places, shown, strict=True)]
    if between:
        marks += _band(between, x, start, end, _HEAD)
        ticks.insert(
            _HEAD, Tick((start + end) / 2, f"{len(between):,} more", counted(len(between), "group") + " between")
        )
    for y, entry in zip(places, shown, strict=True):
        marks += _row(entry, x, y)
    y_axis = Axis(max(bottom, 1), 0, tuple(ticks), grid=False)
    return Panel(x, y_axis, tuple(marks), height=max(bottom, 1) * ROW, aside=tuple(aside), keys=keys)


def _row(entry: Entry, x: Axis, y: float) -> list[Mark]:
    hit = Box((x.low, x.high), (y, y + 1), entry.tip, "ink", 0)
    if entry.mid is None:
        return [hit, Note(x.low, y + 0.5, "no items", tone="muted", tip=entry.tip)]
    if entry.low is not None and entry.high is not None:
        spread = (entry.low, entry.high)
        return [replace(_point(entry, entry.mid, y + 0.5, spread), tip=""), hit]  # the place above it has the tip
    bar: list[Mark] = [Box((max(x.low, 0), entry.mid), (y + 0.2, y + 0.8), "", entry.tone)]
    if entry.beside is not None:
        bar.append(_stroke(entry.beside, y, ""))
    return [*bar, hit]


def _point(entry: Entry, x: float, y: float, spread: Range | None, *, faint: bool = False) -> Point:
    tone, hollow, diamond = entry.tone, entry.hollow, entry.diamond
    return Point(x, y, entry.tip, xs=spread, tone=tone, hollow=hollow, faint=faint, diamond=diamond)


def _stroke(at: float, y: float, tip: str) -> Line:
    return Line(((at, y + 0.08), (at, y + 0.92)), tip, "ink", width=2)


def _rule(at: float, words: str, bottom: float) -> Line:
    return Line(((at, 0), (at, bottom)), words, "muted", dashed=True, width=1.2)


def _band(entries: Sequence[Entry], x: Axis, start: float, end: float, skipped: int) -> list[Mark]:
    """Draw the groups between the two ends: thin lines, their values, and places to point at."""
    step = (end - start) / len(entries)
    ys = [start + (i + 0.5) * step for i in range(len(entries))]
    zero = max(x.low, 0)
    drawn = list(zip(entries, ys, strict=True))[:: -(-len(entries) // _LINES)]
    lines = [
        (zero if entry.low is None else entry.low, entry.mid or 0.0 if entry.high is None else entry.high, y)
        for entry, y in drawn
    ]
    words = counted(len(entries), "group") + " between the two ends"
    marks: list[Mark] = [Sheaf(tuple(lines), words)]
    if entries[0].low is not None:
        middle = tuple((entry.mid or 0.0, y) for entry, y in drawn)
        marks.append(Line(middle, words, "main", width=1.6))
    places = min(_PLACES, len(entries))
    for i in range(places):
        part = entries[i * len(entries) // places : (i + 1) * len(entries) // places]
        top = start + (end - start) * i / places
        tip = _listed(part, skipped + i * len(entries) // places)
        marks.append(Box((x.low, x.high), (top, top + (end - start) / places), tip, "ink", 0))
    for entry, y in zip(entries, ys, strict=True):
        if entry.tone != "main" and entry.mid is not None:
            spread = None if entry.low is None or entry.high is None else (entry.low, entry.high)
            marks.append(_point(entry, entry.mid, y, spread, faint=True))
    return marks


def _listed(part: Sequence[Entry], before: int) -> str:
    """Describe one place of the band: its first group, and how many more there are."""
    ranks = f"{before + 1:,}" if len(part) == 1 else f"{before + 1:,} to {before + len(part):,}"
    more = [f"and {counted(len(part) - 1, 'more group')}"] if len(part) > 1 else []
    return "\n".join([f"from the top: {ranks}", shortened(part[0].tip, 160), *more])
