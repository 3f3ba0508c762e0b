"""Panels on matplotlib axes, with the same marks as the SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fewlabels.plots.drawing.layout import TURNED, fitted, text_width
from fewlabels.plots.drawing.picture import CORNERS, Area, Box, Cloud, Line, Note, Point, Sheaf
from fewlabels.plots.drawing.style import LIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from fewlabels.plots.drawing.picture import Axis, Key, Mark, Panel
    from fewlabels.plots.drawing.style import Tone

_SMALL = 8.5
_ROOM = 230.0  # for the words of a row, in the pixels of the SVG
# Fonts with letters that matplotlib's own font lacks; those that are installed are used.
_FONTS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "WenQuanYi Zen Hei",
    "Hiragino Sans",
    "PingFang SC",
    "Microsoft YaHei",
    "Yu Gothic",
    "Arial Unicode MS",
    "Noto Sans Arabic",
    "Noto Sans Devanagari",
)


def draw(panel: Panel, ax: Axes) -> None:
    """Draw a panel on axes."""
    fonts = _fonts()
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_color(LIGHT["muted"])
    ax.set_axisbelow(True)
    _axis(panel.x, ax, fonts, across=True)
    _axis(panel.y, ax, fonts, across=False)
    for order, mark in enumerate(panel.marks):
        if not isinstance(mark, Point):
            _mark(mark, panel, ax, 2 + order / (len(panel.marks) + 1), fonts)
    _points([mark for mark in panel.marks if isinstance(mark, Point)], ax)
    beside = ax.get_yaxis_transform()
    for tick in panel.aside:
        words: Any = {"va": "center", "ha": "left", "fontsize": _SMALL - 1, "color": LIGHT["muted"]}
        ax.text(1.015, tick.at, _plain(tick.text), transform=beside, **words)
    if panel.keys:
        _legend(panel, ax, fonts)


def _legend(panel: Panel, ax: Axes, fonts: list[str]) -> None:
    """Put the legend above the panel, and above the label of its y axis."""
    from matplotlib.transforms import ScaledTranslation

    figure = ax.get_figure(root=True)
    assert figure is not None
    above = ScaledTranslation(0, 0.21 if panel.y.label else 0, figure.dpi_scale_trans)
    ax.legend(
        handles=[_handle(key) for key in panel.keys],
        loc="lower left",
        bbox_to_anchor=(0, 1),
        bbox_transform=ax.transAxes + above,
        ncols=3,
        frameon=False,
        borderaxespad=0.2,
        handletextpad=0.5,
        labelcolor=LIGHT["muted"],
        prop={"family": fonts, "size": _SMALL - 0.5},
    )


def _axis(axis: Axis, ax: Axes, fonts: list[str], *, across: bool) -> None:
    where: Any = ax.xaxis if across else ax.yaxis
    (ax.set_xlim if across else ax.set_ylim)(axis.low, axis.high)
    room = _ROOM if not across else TURNED if axis.turned else float("inf")
    words = [_plain(fitted(tick.text, room)) for tick in axis.ticks]
    # A panel is about 560 pixels wide.
    turned = axis.turned and max(map(text_width, words), default=0) + 6 > 560 / max(len(words), 1)
    where.set_ticks([tick.at for tick in axis.ticks], words, fontfamily=fonts, rotation=90 if turned else 0)
    ax.tick_params(axis="x" if across else "y", length=0, labelsize=_SMALL, labelcolor=LIGHT["ink"], pad=4)
    if axis.grid:
        ax.grid(visible=True, axis="x" if across else "y", color=LIGHT["grid"], linewidth=0.8)
    small: Any = {"fontsize": _SMALL, "color": LIGHT["muted"], "fontfamily": fonts}
    if across:
        ax.set_xlabel(_plain(axis.label), **small)
    else:
        ax.set_title(_plain(axis.label), loc="left", **small)


def _mark(mark: Mark, panel: Panel, ax: Axes, order: float, fonts: list[str]) -> None:
    if isinstance(mark, Note):
        # A panel is about 560 pixels wide; the room is measured as in the SVG.
        if mark.room is None or mark.room / abs(panel.x.high - panel.x.low) * 560 > text_width(mark.text):
            _note(mark, ax, fonts)
    elif isinstance(mark, Box):
        if mark.shade:
            (a, b), (c, d) = mark.xs, mark.ys
            ax.fill([a, b, b, a], [c, c, d, d], color=LIGHT[mark.tone], alpha=mark.shade, linewidth=0, zorder=order)
    elif isinstance(mark, Sheaf):
        starts, ends, at = zip(*mark.rows, strict=True)
        # Lines are as wide as the gaps between them: overlapping lines would add up to a solid block.
        wide = min(0.75 * panel.height * (at[-1] - at[0]) / len(at) / abs(panel.y.low - panel.y.high), 1.6)
        ax.hlines(at, starts, ends, color=LIGHT[mark.tone], linewidth=wide, alpha=0.45, zorder=order)
    elif isinstance(mark, Cloud):
        xs, ys = zip(*mark.points, strict=True)
        ax.scatter(xs, ys, s=10, color=LIGHT[mark.tone], alpha=0.35, linewidths=0, zorder=order)
    elif isinstance(mark, Area):
        xs, ys = zip(*mark.points, strict=True)
        ax.fill(xs, ys, color=LIGHT[mark.tone], alpha=mark.shade, linewidth=0, zorder=order)
    elif isinstance(mark, Line):
        xs, ys = zip(*mark.points, strict=True)
        style = (0, (4, 3)) if mark.dashed else "solid"
        ax.plot(xs, ys, color=LIGHT[mark.tone], linewidth=mark.width * 0.8, linestyle=style, zorder=order)


def _points(points: Sequence[Point], ax: Axes) -> None:
    """Draw all points of the same appearance at once: a thousand single points take long to draw."""
    alike: dict[tuple[Tone, bool, bool, bool], list[Point]] = {}
    for point in points:
        alike.setdefault((point.tone, point.hollow, point.faint, point.diamond), []).append(point)
    for order, ((tone, hollow, faint, diamond), same) in enumerate(alike.items()):
        colour, layer = LIGHT[tone], 3.5 + order / 10
        line: Any = {
            "color": colour,
            "linewidth": 0.7 if faint else 1.6,
            "alpha": 0.35 if faint else 1,
            "zorder": layer,
        }
        flat, upright = [p for p in same if p.xs], [p for p in same if p.ys]
        if flat:
            ax.hlines([p.y for p in flat], [p.xs[0] for p in flat if p.xs], [p.xs[1] for p in flat if p.xs], **line)
        if upright:
            ax.vlines(
                [p.x for p in upright], [p.ys[0] for p in upright if p.ys], [p.ys[1] for p in upright if p.ys], **line
            )
        ax.scatter(
            [p.x for p in same],
            [p.y for p in same],
            s=10 if faint else 24,
            marker="D" if diamond else "o",
            facecolors=LIGHT["paper"] if hollow else colour,
            edgecolors=colour,
            linewidths=(0.9 if faint else 1.3) * hollow,
            zorder=layer + 0.05,
            clip_on=False,
        )


def _note(mark: Note, ax: Axes, fonts: list[str]) -> None:
    from matplotlib.patheffects import withStroke

    dx, dy = CORNERS.get(mark.side) or {"right": (7, 0), "left": (-7, 0), "on": (0, 0)}[mark.side]
    right, up, ha = 0.7 * dx, -0.7 * dy, "left" if dx > 0 else "right" if dx else "center"
    text = ax.annotate(
        _plain(fitted(mark.text, _ROOM)),
        (mark.x, mark.y),
        xytext=(right, up),
        textcoords="offset points",
        ha=ha,
        va="center",
        fontsize=_SMALL - 0.5,
        color=LIGHT[mark.tone],
        fontfamily=fonts,
        zorder=6,
    )
    if mark.side != "on":
        text.set_path_effects([withStroke(linewidth=2.5, foreground=LIGHT["paper"])])


def _handle(key: Key) -> Any:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    colour, words = LIGHT[key.tone], _plain(fitted(key.text, 300))
    if key.sign == "box":
        return Patch(color=colour, label=words)
    if key.sign in ("line", "dash"):
        return Line2D([], [], color=colour, linestyle="dashed" if key.sign == "dash" else "solid", label=words)
    inside = LIGHT["paper"] if key.sign == "hollow" else colour
    mark = {"none": "none", "diamond": "D"}.get(key.sign, "o")
    return Line2D([], [], color="none", marker=mark, markersize=5, mfc=inside, mec=colour, label=words)


def _plain(text: str) -> str:
    """Return words without the signs that would begin a formula."""
    return text.replace("$", r"\$")


def _fonts() -> list[str]:
    from matplotlib import rcParams
    from matplotlib.font_manager import get_font_names

    installed = set(get_font_names())
    return [*rcParams["font.family"], *(name for name in _FONTS if name in installed)]
