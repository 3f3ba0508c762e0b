"""The layout of a drawing of a given width: room for words, the frame of each panel, and the pixels of values."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.plots.drawing.picture import Axis, Key, Panel, Picture, Tick

FONT = 13.0
_LINE = 18.0
ARROW = " → "
"""Between two names that are one row."""
TURNED = 150.0
"""The most room for a turned word, in pixels."""
_COLUMN = 22.0
_NAME = 120.0  # room that names keep, in pixels, where there are words at the right edge too
_NARROW = ".,:;!|ijltfrI()[]/ -'"


def text_width(text: str) -> float:
    """Estimate how many pixels words take, rather a little too many than too few.

    >>> text_width("") , text_width("ill") < text_width("www")
    (0.0, True)
    """
    return FONT * sum(_ems(letter) for letter in text)


def _ems(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    if letter in _NARROW:
        return 0.38
    if letter in "mwMW@%—…":
        return 0.95
    return 0.72 if letter.isupper() else 0.63


def fitted(text: str, room: float) -> str:
    """Return the words, or as many of their letters as there is room for, with … at the end.

    >>> fitted("golden retriever", 70)
    'golden r…'
    """
    text = " ".join(text.split())
    if text_width(text) <= room:
        return text
    room -= text_width("…")
    for end, letter in enumerate(text):
        room -= FONT * _ems(letter)
        if room < 0:
            return text[:end].rstrip() + "…"
    return text


@dataclass(frozen=True)
class Frame:
    """The place of one panel: its plotting area in pixels, and the words around it."""

    panel: Panel
    left: float
    top: float
    width: float
    height: float
    ticks_y: tuple[tuple[Tick, str], ...]
    """The ticks on the left, with as much of their words as fits."""
    aside: tuple[Tick, ...]
    keys: tuple[tuple[float, float, Key], ...]
    """The legend: the left edge and the middle of each entry."""
    bottom: float
    """The y coordinate where the next panel may begin."""

    def x(self, value: float) -> float:
        """Return the pixel of a value along x."""
        return self.left + self.width * _part(self.panel.x, value)

    def y(self, value: float) -> float:
        """Return the pixel of a value along y."""
        return self.top + self.height * (1 - _part(self.panel.y, value))


def frames(picture: Picture, width: float, top: float = 0.0) -> list[Frame]:
    """Place the panels of a picture one below the other, with the same left and right edges."""
    edges = [_edges(panel, width) for panel in picture.panels]
    left, right = (max(edge[side] for edge in edges) for side in (0, 1))
    placed = []
    for panel in picture.panels:
        placed.append(_frame(panel, top, width, left, right))
        top = placed[-1].bottom
    return placed


def _edges(panel: Panel, width: float) -> tuple[float, float]:
    """Return the room that words take to the left and right of a panel."""
    # Words that can be turned take no room to the sides.
    turned = panel.x.turned or not panel.x.ticks
    ends = [0.0, 0.0] if turned else [text_width(panel.x.ticks[i].text) / 2 + 2 for i in (0, -1)]
    aside, room = _sides(panel, width)
    words = max((text_width(_left_words(tick, room)) + 12 for tick in panel.y.ticks), default=0.0)
    left = max(words, ends[0] if panel.x.ticks and panel.x.ticks[0].at <= panel.x.low else 0.0, 12.0)
    return left, _widest(aside) + 20 if aside else max(ends[1], 8.0)


def _sides(panel: Panel, width: float) -> tuple[tuple[Tick, ...], float]:
    """Return the words at the right edge, and the room for names at the left, which long names share with them."""
    most = max(0.42 * width - 10, 40)
    least = min(_NAME, most)
    names = max((min(text_width(tick.text), most) for tick in panel.y.ticks), default=0.0)
    wanted = (panel.widest or 0.0) if panel.x.turned else 0.34 * width
    for aside in (panel.aside, tuple(replace(tick, text=tick.short) for tick in panel.aside)):
        if not any(tick.text for tick in aside):
            continue
        free = width - _widest(aside) - 34
        # Beside a matrix the words go before its columns are too narrow to tell apart.
        needed = _COLUMN * len(panel.x.ticks) if panel.x.turned else wanted
        if free - min(names, least) > needed:
            return aside, min(most, max(free - wanted, least))
    return (), most


def _widest(ticks: Sequence[Tick]) -> float:
    return max((text_width(tick.text) for tick in ticks), default=0.0)


def _left_words(tick: Tick, room: float) -> str:
    first, arrow, second = tick.text.partition(ARROW)
    if not arrow or text_width(tick.text) <= room:
        return fitted(tick.text, room)
    # Something of both names must be left; what the shorter one does not need is for the longer one.
    room -= text_width(arrow)
    shorter = min(text_width(first), text_width(second), room / 2)
    return arrow.join(fitted(name, max(room - shorter, room / 2)) for name in (first, second))


def _frame(panel: Panel, top: float, width: float, left: float, right: float) -> Frame:
    aside, room = _sides(panel, width)
    ticks_y = tuple((tick, _left_words(tick, room)) for tick in panel.y.ticks)
    keys, top = _keys(panel.keys, top, width)
    top += (_LINE + 6 if panel.y.label else 0) + 8
    inside = width - left - right
    inside = inside if panel.widest is None else min(inside, panel.widest)
    height = panel.height
    if panel.x.turned and panel.widest is not None:  # the cells of a matrix keep their shape, as far as words allow
        height = min(height, max(height * inside / panel.widest, (_LINE + 2) * len(panel.y.ticks)))
    below = turned_room(panel, inside) or (_LINE if panel.x.ticks else 4)
    bottom = top + height + below + (_LINE if panel.x.label else 0) + 10
    return Frame(panel, left, top, inside, height, ticks_y, aside, keys, bottom)


def turned_room(panel: Panel, width: float) -> float:
    """Return the height of the words below a panel if they are turned; 0 if they have room as they are."""
    if not panel.x.turned or not panel.x.ticks:
        return 0.0
    words = [text_width(fitted(tick.text, TURNED)) for tick in panel.x.ticks]
    return max(words) + 10 if max(words) + 6 > width / len(words) else 0.0


def _keys(keys: tuple[Key, ...], top: float, width: float) -> tuple[tuple[tuple[float, float, Key], ...], float]:
    """Place the entries of a legend from left to right, in as many lines as it takes."""
    placed = []
    x, y = 2.0, top + _LINE / 2 + 2
    for key in keys:
        wide = (0 if key.sign == "none" else 24) + text_width(key.text) + 16
        if x > 2 and x + wide > width:
            x, y = 2.0, y + _LINE
        placed.append((x, y, key))
        x += wide
    return tuple(placed), y + _LINE / 2 + 2 if keys else top


def _part(axis: Axis, value: float) -> float:
    return (value - axis.low) / (axis.high - axis.low)
