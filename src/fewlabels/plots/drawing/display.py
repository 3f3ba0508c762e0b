"""Plots with matplotlib, for notebooks and print: a display holds the numbers, and can draw them repeatedly."""

from __future__ import annotations

from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, Self

from fewlabels.errors import FewlabelsError, InputError, needs
from fewlabels.io.saving import save
from fewlabels.plots.drawing.markup import standalone

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fewlabels.plots.plot import Plot

_INCH = 96.0  # pixels
_AROUND = 62.0  # pixels around a panel, for its words
_TITLE = 78  # letters in a line of the title
SUFFIXES = (".svg", ".png", ".pdf")


class Display:
    """A computed plot, which `plot` draws, `save` writes, and a notebook shows with tooltips.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], classes=["cat", "dog"])
    >>> shown = fl.create(None, "pets", pool).plot("forest")
    >>> shown
    <Display of forest: Groups with intervals>
    >>> [label.get_text() for label in shown.plot().ax_.get_yticklabels()]
    ['cat', 'dog']
    """

    def __init__(self, plot: Plot) -> None:
        self.numbers = plot
        """The numbers that are drawn."""
        self.figure_: Any = None
        """The figure, once drawn."""
        self.ax_: Any = None
        """The axes, once drawn: those given, or the first of the figure."""

    def __repr__(self) -> str:
        return f"<Display of {self.numbers.name}: {self.numbers.title}>"

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on the axes given, or on a new figure."""
        figure = ax.get_figure(root=True) if ax is not None else _figure(self.numbers)
        self.figure_ = figure
        axes = _draw(self.numbers, figure, ax)
        self.ax_ = axes[0] if ax is None else ax
        return self

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the plot: .svg (with tooltips, and without matplotlib), .png or .pdf."""
        file = Path(path)
        suffix = file.suffix.lower()
        if suffix not in SUFFIXES:
            raise InputError(f"cannot draw {file}: the name of a plot must end in {', '.join(SUFFIXES)}.")
        if suffix == ".svg":
            return save(standalone(self.numbers), file)
        figure = _figure(self.numbers)
        _draw(self.numbers, figure, None)
        return save(_image(figure, suffix[1:], 150), file)

    def _repr_html_(self) -> str | None:
        """Return what a notebook shows: the drawing with tooltips, or nothing if matplotlib has drawn it already."""
        return standalone(self.numbers) if self.figure_ is None else None

    def _repr_png_(self) -> bytes | None:
        """Return what a notebook shows once matplotlib has drawn the plot."""
        return None if self.figure_ is None else _image(self.figure_, "png", 110)


def _image(figure: Figure, form: str, dpi: int) -> bytes:
    out = BytesIO()
    figure.savefig(out, format=form, dpi=dpi)
    return out.getvalue()


def check_drawing() -> None:
    """Raise FewlabelsError if matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        message = needs("drawing", "matplotlib", "plots")
        raise FewlabelsError(f"{message}. Or write an .svg, which does not need it.")


def _figure(plot: Plot) -> Figure:
    """Make a figure with room for the panels, without pyplot: it opens no window and has no global state."""
    check_drawing()
    from matplotlib.figure import Figure as Made

    height = sum(panel.height + _AROUND for panel in plot.picture().panels) + 30
    figure = Made(figsize=(7.5, height / _INCH), layout="constrained")
    figure.suptitle(fill(plot.finding(), _TITLE), fontsize=11, x=0.01, ha="left", fontweight="bold")
    return figure


def _draw(plot: Plot, figure: Any, ax: Axes | None) -> list[Axes]:
    """Draw the panels as rows of the figure or, if axes are given, on these axes (several panels as insets)."""
    from fewlabels.plots.drawing.canvas import draw

    panels = plot.picture().panels
    heights = [panel.height + _AROUND for panel in panels]
    if ax is None:
        axes = list(figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0])
    elif len(panels) == 1:
        axes = [ax]
    else:
        ax.set_axis_off()
        axes, top = [], 1.0
        for height in heights:
            part = height / sum(heights)
            inside = 1 - _AROUND / height
            axes.append(ax.inset_axes((0, top - part * (0.5 + inside / 2), 1, part * inside)))
            top -= part
    for panel, place in zip(panels, axes, strict=True):
        draw(panel, place)
    return axes


def display(plot: Plot) -> Display:
    """Return the display of a plot that is already computed."""
    return Display(plot)
