"""Plots as SVG for reports, pages and files, without scripts and style attributes; tooltips are title elements."""

from __future__ import annotations

import math
import re
from html import escape
from typing import TYPE_CHECKING

from fewlabels.plots.drawing.layout import FONT, TURNED, Frame, fitted, frames, text_width, turned_room
from fewlabels.plots.drawing.picture import CORNERS, Area, Box, Cloud, Note, Point, Sheaf
from fewlabels.plots.drawing.style import LIGHT, stylesheet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fewlabels.plots.drawing.picture import Key, Mark, Range, Tick
    from fewlabels.plots.drawing.style import Tone
    from fewlabels.plots.plot import Plot

NARROW = 380
"""The width of drawings for phones."""
# The colours of marks whose class says them too.
_COLOURS = re.compile('(?<= )(?:fill|stroke)="#[0-9a-f]{6}" ?')
_TIP = re.compile("<title>([^<]*)</title>")
_RIM = ' stroke-width="3" stroke-linejoin="round" paint-order="stroke"'
# Characters that XML cannot contain even when escaped.
_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def svg(numbers: Plot, width: int = 720, *, kind: str = "") -> str:
    """Return a plot as an `<svg>` element for a page that has `stylesheet()`. `kind` is a further class.

    Without the stylesheet, the plot has the light colours.

    >>> import fewlabels as fl
    >>> from fewlabels import plots
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], classes=["cat", "dog"])
    >>> plots.svg(plots.PLOTS["forest"].of(fl.create(None, "pets", pool)))
    '<svg class="fl-plot fl-forest" role="img" aria-label="No class has enough labels yet. Each line is ...
    """
    height, inside = _body(numbers, width)
    return f"{_opening(numbers, width, height, kind)}{inside}</svg>"


def figure(numbers: Plot) -> str:
    """Return a plot for pages of any width: two drawings, and the stylesheet shows the one that fits the window.

    The tips, which are most of a drawing of many long names, are written once: those of the narrow drawing are numbers
    of tips of the wide one, and `script()` puts the words there.
    """
    wide, narrow = svg(numbers, kind="fl-wide"), svg(numbers, NARROW, kind="fl-narrow")
    places: dict[str, int] = {}
    for place, tip in enumerate(_TIP.findall(wide)):
        places.setdefault(tip, place)
    refer = lambda tip: f'<title data-tip="{places[tip[1]]}"></title>' if tip[1] in places else tip[0]
    # The stylesheet has the colours.
    return f'<div class="fl-figure">{_COLOURS.sub("", wide + _TIP.sub(refer, narrow))}</div>'


def standalone(numbers: Plot, width: int = 720) -> str:
    """Return a whole .svg file: the title, the plot and the caption on a background that is light or dark."""
    # Bold letters of 16 pixels, and those of a title that is longer than two lines are cut.
    room = (width - 8) * FONT / 16 / 1.05
    heads = [fitted(line, room) for line in wrapped(numbers.finding(), room)]
    heads = heads if len(heads) < 3 else [heads[0], fitted(" ".join(heads[1:]), room)]
    height, inside = _body(numbers, width, 14 + 20.0 * len(heads))
    lines = wrapped(numbers.caption(), width - 16)
    look, tip = ' font-size="16" font-weight="600"', numbers.finding()
    words = [_text(2, 20 + 20 * i, line, tip=tip, extra=look) for i, line in enumerate(heads)]
    words += [_text(2, height + 14 + 18 * i, line, "muted") for i, line in enumerate(lines)]
    height += 18 * len(lines) + 6
    paper = f'<rect x="-12" y="-6" width="{width + 24}" height="{_n(height + 12)}" {_fill("paper")}/>'
    opening = _opening(numbers, width, height, "", xmlns=True)
    return f"{opening}<style>{stylesheet()}</style>{paper}{''.join(words)}{inside}</svg>\n"


def wrapped(text: str, room: float) -> list[str]:
    """Break words into lines that fit."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if text_width(longer) > room and lines[-1]:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _opening(numbers: Plot, width: float, height: float, kind: str, *, xmlns: bool = False) -> str:
    classes = " ".join(filter(None, ["fl-plot", f"fl-{numbers.name}", kind]))
    # A drawing with its own background has a margin.
    box = f"-12 -6 {width + 24} {_n(height + 12)}" if xmlns else f"0 0 {width} {_n(height)}"
    size = f'width="{width + 24 * xmlns}" height="{_n(height + 12 * xmlns)}"'
    space = ' xmlns="http://www.w3.org/2000/svg"' if xmlns else ""
    title, words = _safe(numbers.finding()), _safe(numbers.caption())
    return (
        f'<svg class="{classes}" role="img" aria-label="{title}. {words}"{space} viewBox="{box}" {size} '
        f'font-family="system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif" font-size="{FONT:g}">'
        f"<title>{title}</title><desc>{words}</desc>"
    )


def _body(numbers: Plot, width: float, top: float = 0.0) -> tuple[float, str]:
    parts = []
    for place in frames(numbers.picture(), width, top):
        parts.append(_axes(place) + "".join(_mark(mark, place) for mark in place.panel.marks) + _legend(place))
        top = place.bottom
    return top, "".join(parts)


def _axes(place: Frame) -> str:
    panel, out = place.panel, []
    below, right = place.top + place.height, place.left + place.width
    for tick in panel.x.ticks:
        x = place.x(tick.at)
        if panel.x.grid:
            out.append(_stroke_line(x, place.top, x, below))
    for tick, words in place.ticks_y:
        y = place.y(tick.at)
        if panel.y.grid:
            out.append(_stroke_line(place.left, y, right, y))
        out.append(_text(place.left - 8, y, words, tip=tick.tip, anchor="end", middle=True))
    out.append(_stroke_line(place.left, below, right, below, "muted"))
    turned = turned_room(panel, place.width)
    if turned:
        # Where columns are narrower than words are high, some are left out; their tips stay.
        every = math.ceil(FONT * len(panel.x.ticks) / place.width)
        out += [_turned(place.x(tick.at), below + 8, tick) for tick in panel.x.ticks[::every]]
    spare = -1e9
    for tick in () if turned else panel.x.ticks:
        # Words that would run into the words before them are left out; their line stays.
        half = text_width(tick.text) / 2
        if place.x(tick.at) - half > spare:
            out.append(_text(place.x(tick.at), below + 16, tick.text, tip=tick.tip, anchor="middle"))
            spare = place.x(tick.at) + half + 4
    out += [_text(right + 11, place.y(tick.at), tick.text, "muted", middle=True) for tick in place.aside]
    if panel.x.label:
        label = fitted(panel.x.label, place.left + place.width)
        wide = text_width(label) / 2
        centre = min(max(place.left + place.width / 2, wide + 2), right - wide)
        out.append(_text(centre, below + (turned + 16 if turned else 34), label, "muted", anchor="middle"))
    if panel.y.label:
        out.append(_text(2, place.top - 14, fitted(panel.y.label, right), "muted"))
    return "".join(out)


def _turned(x: float, y: float, tick: Tick) -> str:
    """Write the words of a tick upwards, to end below its place."""
    turn = f' transform="rotate(-90 {_n(x)} {_n(y)})"'
    return _text(x, y + FONT * 0.35, fitted(tick.text, TURNED), tip=tick.tip, anchor="end", extra=turn)


def _mark(mark: Mark, place: Frame) -> str:
    if isinstance(mark, Point):
        return _point(mark, place)
    if isinstance(mark, Box):
        return _box(mark, place)
    if isinstance(mark, Note):
        return _note(mark, place)
    if isinstance(mark, Sheaf | Cloud):
        return _many(mark, place)
    tip = _title(mark.tip)
    path = _path(mark.points, place)
    if isinstance(mark, Area):
        return f'<path d="{path}Z" {_fill(mark.tone)} fill-opacity="{mark.shade:g}">{tip}</path>'
    dash = ' stroke-dasharray="5 4"' if mark.dashed else ""
    return (
        f'<path d="{path}" fill="none" {_stroke(mark.tone)} stroke-width="{_n(mark.width)}"{dash} '
        f'stroke-linejoin="round">{tip}</path>'
    )


def _many(mark: Sheaf | Cloud, place: Frame) -> str:
    """Draw many lines or dots as one path."""
    if isinstance(mark, Sheaf):
        rows = "".join(f"M{place.x(a):.0f} {_n(place.y(y))}H{place.x(b):.0f}" for a, b, y in mark.rows)
        apart = abs(place.y(mark.rows[-1][2]) - place.y(mark.rows[0][2])) / len(mark.rows)
        look = f'stroke-width="{_n(min(max(0.7 * apart, 1), 2.2))}" opacity=".45"'
    else:  # strokes without length and with round ends
        rows = "".join(f"M{place.x(x):.0f} {place.y(y):.0f}h0" for x, y in mark.points)
        look = 'stroke-width="6" stroke-linecap="round" opacity=".35"'
    return f'<path d="{rows}" {_stroke(mark.tone)} {look}>{_title(mark.tip)}</path>'


def _point(mark: Point, place: Frame) -> str:
    x, y = place.x(mark.x), place.y(mark.y)
    out = []
    wide = "1" if mark.faint else "2.2"
    dim = ' opacity=".35"' if mark.faint else ""
    for ends, across in ((mark.xs, True), (mark.ys, False)):
        if ends is not None:
            a, b = (place.x(end) if across else place.y(end) for end in ends)
            line = f"M{_n(a)} {_n(y)}H{_n(b)}" if across else f"M{_n(x)} {_n(a)}V{_n(b)}"
            out.append(f'<path d="{line}" fill="none" {_stroke(mark.tone)} stroke-width="{wide}"{dim}/>')
    radius = 3 if mark.faint else 4.2
    paint = (
        f'{_both("paper", mark.tone)} stroke-width="{1.4 if mark.faint else 2}"' if mark.hollow else _fill(mark.tone)
    )
    out.append(_diamond(x, y, radius + 1.4, paint) if mark.diamond else _dot(x, y, radius, paint))
    return f"<g>{_title(mark.tip)}{''.join(out)}</g>"


def _dot(x: float, y: float, radius: float, paint: str) -> str:
    return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" {paint}/>'


def _diamond(x: float, y: float, radius: float, paint: str) -> str:
    r = _n(radius)
    return f'<path d="M{_n(x)} {_n(y - radius)}l{r} {r}l-{r} {r}l-{r} -{r}Z" {paint}/>'


def _box(mark: Box, place: Frame) -> str:
    if not mark.shade:
        return f'<rect class="fl-hit" {_rect(mark.xs, mark.ys, place)} fill-opacity="0">{_title(mark.tip)}</rect>'
    shade = f' fill-opacity="{_n(mark.shade, 2)}"' if mark.shade < 1 else ""
    paint = f"{_rect(mark.xs, mark.ys, place)} {_fill(mark.tone)}{shade}"
    if mark.around is None:
        return f"<rect {paint}>{_title(mark.tip)}</rect>"
    around = f'<rect class="fl-hit" {_rect(*mark.around, place)} fill-opacity="0"/>'
    return f"<g>{_title(mark.tip)}<rect {paint}/>{around}</g>"


def _rect(xs: Range, ys: Range, place: Frame) -> str:
    (a, b), (c, d) = sorted(place.x(v) for v in xs), sorted(place.y(v) for v in ys)
    return f'x="{_n(a)}" y="{_n(c)}" width="{_n(b - a)}" height="{_n(d - c)}"'


def _note(mark: Note, place: Frame) -> str:
    x, y = place.x(mark.x), place.y(mark.y)
    dx, dy = CORNERS.get(mark.side) or {"right": (7, 0), "left": (-7, 0), "on": (0, 0)}[mark.side]
    anchor = "start" if dx > 0 else "end" if dx else "middle"
    words = fitted(mark.text, 0.5 * (place.left + place.width))
    if mark.room is not None and abs(place.x(mark.x + mark.room) - x) < text_width(words):
        return ""
    half = text_width(words)
    if anchor == "start" and x + dx + half > place.left + place.width + 8:
        dx, anchor = -dx, "end"
    elif anchor == "end" and x + dx - half < 0:
        dx, anchor = -dx, "start"
    # A rim in the colour of the background keeps words readable on top of lines.
    rim = mark.side != "on"
    return _text(x + dx, y + dy, words, mark.tone, tip=mark.tip, anchor=anchor, middle=True, rim=rim)


def _legend(place: Frame) -> str:
    return "".join(
        _sign(x + 8, y, key) + _text(x + (0 if key.sign == "none" else 22), y, key.text, "muted", middle=True)
        for x, y, key in place.keys
    )


def _sign(x: float, y: float, key: Key) -> str:
    if key.sign == "none":
        return ""
    if key.sign in ("line", "dash"):
        dash = ' stroke-dasharray="5 4"' if key.sign == "dash" else ""
        return f'<path d="M{_n(x - 8)} {_n(y)}h18" {_stroke(key.tone)} stroke-width="2"{dash}/>'
    if key.sign == "box":
        return f'<rect x="{_n(x - 6)}" y="{_n(y - 6)}" width="12" height="12" {_fill(key.tone)}/>'
    paint = f'{_both("paper", key.tone)} stroke-width="2"' if key.sign == "hollow" else _fill(key.tone)
    return _diamond(x, y, 5.6, paint) if key.sign == "diamond" else _dot(x, y, 4.2, paint)


def _text(
    x: float,
    y: float,
    words: str,
    tone: Tone = "ink",
    *,
    tip: str = "",
    anchor: str = "",
    middle: bool = False,
    rim: bool = False,
    extra: str = "",
) -> str:
    place = f' text-anchor="{anchor}"' if anchor else ""
    # dominant-baseline would be simpler, but many programs other than browsers do not know it.
    y += FONT * 0.35 if middle else 0
    paint = _both(tone, "paper") + _RIM if rim else _fill(tone)
    inside = f"{_title(tip)}{_safe(words)}"
    return f'<text x="{_n(x)}" y="{_n(y)}" {paint}{place}{extra}>{inside}</text>'


def _stroke_line(x0: float, y0: float, x1: float, y1: float, tone: Tone = "grid") -> str:
    return f'<path d="M{_n(x0)} {_n(y0)}L{_n(x1)} {_n(y1)}" {_stroke(tone)}/>'


def _path(points: Sequence[Range], place: Frame) -> str:
    return "M" + "L".join(f"{_n(place.x(x))} {_n(place.y(y))}" for x, y in points)


def _fill(tone: Tone) -> str:
    return f'class="fl-f-{tone}" fill="{LIGHT[tone]}"'


def _stroke(tone: Tone) -> str:
    return f'class="fl-s-{tone}" stroke="{LIGHT[tone]}"'


def _both(fill: Tone, stroke: Tone) -> str:
    return f'class="fl-f-{fill} fl-s-{stroke}" fill="{LIGHT[fill]}" stroke="{LIGHT[stroke]}"'


def _title(tip: str) -> str:
    return f"<title>{_safe(tip)}</title>" if tip else ""


def _safe(text: str) -> str:
    return escape(_UNFIT.sub("\ufffd", text))


def _n(value: float, digits: int = 1) -> str:
    """Write a number in few characters."""
    return f"{value:.{digits}f}".rstrip("0").rstrip(".").replace("-0", "0" if abs(value) < 0.05 else "-0")
