"""Pictures: panels of marks in the units of the data, which can be drawn as SVG or with matplotlib."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.plots.drawing.style import Tone

Range = tuple[float, float]


@dataclass(frozen=True)
class Tick:
    """A place on an axis with its words; `tip` is the full text, in case the words are cut.

    `short` are fewer words, for a drawing without room for `text`.
    """

    at: float
    text: str
    tip: str = ""
    short: str = ""


@dataclass(frozen=True)
class Axis:
    """An axis from `low` (left or bottom) to `high` (right or top); rows go from the top down, with low > high."""

    low: float
    high: float
    ticks: tuple[Tick, ...] = ()
    label: str = ""
    grid: bool = True
    turned: bool = False
    """Whether long words along x are written upwards, one beside the other, so that all of them have room."""


@dataclass(frozen=True)
class Point:
    """A dot with an interval through it along x, y, or both. A hollow dot means little evidence.

    A diamond stands out from dots for readers who do not see its colour.
    """

    x: float
    y: float
    tip: str
    xs: Range | None = None
    ys: Range | None = None
    tone: Tone = "main"
    hollow: bool = False
    faint: bool = False
    diamond: bool = False


@dataclass(frozen=True)
class Box:
    """A filled rectangle; `shade` is its opacity, and 0 makes it an invisible place to point at."""

    xs: Range
    ys: Range
    tip: str
    tone: Tone = "main"
    shade: float = 1.0
    around: tuple[Range, Range] | None = None
    """A larger place to point at, as xs and ys."""


@dataclass(frozen=True)
class Line:
    """A line through points (x, y)."""

    points: tuple[Range, ...]
    tip: str
    tone: Tone = "main"
    dashed: bool = False
    width: float = 2.0


@dataclass(frozen=True)
class Area:
    """The area inside a line of points."""

    points: tuple[Range, ...]
    tip: str
    tone: Tone = "main"
    shade: float = 0.2


@dataclass(frozen=True)
class Sheaf:
    """Many thin lines from (x0, y) to (x1, y), for groups that are too many to draw one by one."""

    rows: tuple[tuple[float, float, float], ...]
    tip: str
    tone: Tone = "main"


@dataclass(frozen=True)
class Cloud:
    """Many faint dots, for groups that are too many to point at one by one."""

    points: tuple[Range, ...]
    tip: str
    tone: Tone = "main"


CORNERS = {"above right": (7, -11), "below right": (7, 11), "above left": (-7, -11), "below left": (-7, 11)}
"""The corners of a point at which words can stand: how far away, in pixels to the right and down."""


@dataclass(frozen=True)
class Note:
    """Words beside a point; `side` is the side of the point on which they stand, or one of `CORNERS`.

    They are left out if they are wider than `room`, in units of x.
    """

    x: float
    y: float
    text: str
    side: str = "right"
    tone: Tone = "ink"
    tip: str = ""
    room: float | None = None


Mark = Point | Box | Line | Area | Sheaf | Cloud | Note


@dataclass(frozen=True)
class Key:
    """One entry of the legend: a sign and its meaning."""

    text: str
    tone: Tone = "main"
    sign: str = "dot"
    """dot, hollow, diamond, line, dash, box, or none."""


@dataclass(frozen=True)
class Panel:
    """One pair of axes and the marks in it, drawn in order.

    `height` and `widest` are in pixels. `aside` are words at the right edge of rows, or their `short` form if
    there is no room, or nothing.
    """

    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    height: float = 220
    widest: float | None = None
    aside: tuple[Tick, ...] = ()
    keys: tuple[Key, ...] = ()


@dataclass(frozen=True)
class Picture:
    """Panels, one below the other."""

    panels: tuple[Panel, ...]


def scale(low: float, high: float, *, share: bool, most: int = 6, label: str = "", within: Range | None = None) -> Axis:
    """Make an axis that contains low and high and begins and ends at round numbers; for a share, in percent.

    Shares stay within 0 and 1, everything else within `within`.

    >>> [tick.text for tick in scale(0.31, 0.88, share=True).ticks]
    ['30%', '40%', '50%', '60%', '70%', '80%', '90%']
    """
    floor, ceiling = within or ((0.0, 1.0) if share else (-math.inf, math.inf))
    if not high - low > 1e-12 * max(abs(low), abs(high), 1e-300):
        wide = 0.05 if share else max(abs(low), 1.0) * 0.1
        low, high = max(low - wide, floor), min(high + wide, ceiling)
    step = _step((high - low) / most)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    places = [i * step for i in range(first, last + 1)]
    places = [p for p in places if floor - 1e-9 <= p <= ceiling + 1e-9]
    digits = decimals(step * 100 if share else step)
    ticks = tuple(Tick(p, number(p, share=share, digits=digits)) for p in places)
    return Axis(min(places[0], low), max(places[-1], high), ticks, label)


def in_points(axis: Axis) -> Axis:
    """Return an axis of differences between shares: its ticks are points, not percent.

    >>> [tick.text for tick in in_points(scale(-0.1, 0.2, share=True, within=(-1, 1), most=3)).ticks]
    ['−10', '0', '10', '20']
    """
    return replace(axis, ticks=tuple(replace(tick, text=tick.text.removesuffix("%")) for tick in axis.ticks))


def counting(most: float, label: str = "") -> Axis:
    """Make an axis for counts: it begins at 0 and has ticks at round whole numbers."""
    step = max(1, round(_step(max(most, 1) / 6)))
    last = max(1, math.ceil(most / step))
    return Axis(0, last * step, tuple(Tick(i * step, f"{i * step:,}") for i in range(last + 1)), label)


def number(value: float, *, share: bool, digits: int = 0) -> str:
    """Write a value with the given number of decimals; a share is written in percent.

    >>> number(0.714, share=True), number(1234.5, share=False, digits=1)
    ('71%', '1,234.5')
    """
    text = f"{value * 100:,.{digits}f}%" if share else f"{value:,.{digits}f}"
    return text.removeprefix("-") if not any(c in "123456789" for c in text) else text.replace("-", "−")


def decimals(step: float) -> int:
    """Return how many decimals are needed to distinguish numbers that differ by `step`."""
    for digits in range(9):
        if abs(round(step * 10**digits) - step * 10**digits) < 1e-6 * step * 10**digits:
            return digits
    return 9


def precision(values: Sequence[float], *, share: bool) -> int:
    """Return how many decimals are needed to distinguish about a hundred steps within the range of the values."""
    span = (max(values) - min(values) if values else 1.0) * (100 if share else 1)
    return min(max(0, math.ceil(-math.log10(max(span, 1e-9) / 100) - 0.35)), 4)


def _step(rough: float) -> float:
    """Return the next of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(float(f * power) for f in (1, 2, 5, 10) if f * power >= rough * (1 - 1e-9))
