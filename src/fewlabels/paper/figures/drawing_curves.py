"""The drawing of the MRR curves; they are computed in curves.py."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fewlabels.paper.figures.style import CYCLE, frames, label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from fewlabels.paper.figures.curves import Panel


def draw_curves(panels: Sequence[Panel]) -> Figure:
    """Mean MRR against the percentage of labels: a column for each pool or cost, a row for m = 1 and one for more.

    Around each curve two standard errors to each side are shaded.
    """
    titles = list(dict.fromkeys(panel.title for panel in panels))
    columns = [[panel for panel in panels if panel.title == title] for title in titles]
    rows = max(len(column) for column in columns)
    figure, axes = frames(rows, len(titles), 2.7, 2.4, sharey=True)
    for j, column in enumerate(columns):
        for i, panel in enumerate(column):
            axis = axes[i, j]
            for colour, (name, line) in zip(CYCLE, panel.lines.items(), strict=False):
                axis.plot(panel.percent, line, color=colour, lw=1.3, label=name)
                about = 2 * panel.errors[name]  # a range of two standard errors on each side
                axis.fill_between(panel.percent, line - about, line + about, color=colour, alpha=0.18, lw=0)
            axis.set(xlim=(0, 100), ylim=(0, 1.02))
            last = i == len(column) - 1
            words = f"{panel.title}, top {panel.top}" + (f" ({_counted(panel.runs)})" if panel.runs < 20 else "")
            label(axis, "labels, % of the pool" if last else None, "mean MRR" if j == 0 else None, words)
    handles, names = axes[0, 0].get_legend_handles_labels()
    inches = sum(0.065 * len(name) + 0.5 for name in names)  # of all names in one line
    lines = math.ceil(inches / figure.get_figwidth())
    columns_of_names = math.ceil(len(names) / lines)
    figure.legend(handles, names, loc="outside lower center", ncols=columns_of_names, fontsize=8, frameon=False)
    return figure


def _counted(runs: int) -> str:
    return "1 run" if runs == 1 else f"{runs} runs"
