"""The style of every figure: its colours, its frames, and its file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.errors import FewlabelsError, needs

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RED, BLUE, GREY, GOLD, GREEN, DARK = "#c4352b", "#2f6db3", "#9a9a9a", "#c99700", "#3a8f5c", "#303030"
CYCLE = (RED, BLUE, GREEN, GOLD, "#7a5195", DARK)


def frames(rows: int, columns: int, width: float = 2.6, height: float = 2.4, **more: Any) -> tuple[Figure, Any]:
    """A figure of `rows` × `columns` frames, and the frames as an array of that shape."""
    try:
        from matplotlib.figure import Figure as Made
    except ModuleNotFoundError:
        raise FewlabelsError(needs("drawing", "matplotlib", "plots")) from None
    # Without pyplot: no window, no global state.
    figure = Made(figsize=(width * columns, height * rows), layout="constrained")
    axes = np.asarray(figure.subplots(rows, columns, squeeze=False, **more))
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8)
        axis.title.set_fontsize(10)
    return figure, axes


def label(axis: Axes, x: str | None = None, y: str | None = None, title: str | None = None) -> None:
    """The words at a frame, all of one size."""
    if x is not None:
        axis.set_xlabel(x, fontsize=9)
    if y is not None:
        axis.set_ylabel(y, fontsize=9)
    if title is not None:
        axis.set_title(title, fontsize=10)


def save(figure: Figure, path: Path) -> Path:
    """Write a figure as PNG."""
    figure.savefig(path, dpi=150)
    return path
