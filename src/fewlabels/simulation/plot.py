"""The table of a simulation as a picture: each score against the number of labels, a line for each method."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from fewlabels.errors import FewlabelsError, needs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fewlabels.table import Table

# Colours that differ for colour-blind eyes and in grey (Okabe and Ito), with markers that differ as well.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = "osD^vPX"
_AXES = {
    "rmse": "RMSE (percent)",
    "ece-error": "error of the ECE (percent)",
    "mrr": "mean reciprocal rank",
    "success": "share of runs with the right answer",
}


def curves(table: Table) -> dict[str, dict[str, list[tuple[int, float, float]]]]:
    """Score to method to points (budget, mean, standard error): the numbers of the picture.

    >>> from fewlabels.table import Table
    >>> row = {"method": ["a"], "budget": [10], "score": ["rmse"], "mean": [3.0], "se": [0.1]}
    >>> curves(Table(row))
    {'rmse': {'a': [(10, 3.0, 0.1)]}}
    """
    found: dict[str, dict[str, list[tuple[int, float, float]]]] = {}
    for row in table.rows():
        if not row["score"].startswith("labels-to"):
            points = found.setdefault(row["score"], {}).setdefault(row["method"], [])
            points.append((row["budget"], row["mean"], row["se"] or 0.0))
    return found


def draw(table: Table) -> Figure:
    """The table of `simulate` as a figure: a panel for each score, bands of two standard errors."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  (an extra, and slow to import)
    except ModuleNotFoundError:
        raise FewlabelsError(needs("drawing", "matplotlib", "plots")) from None
    panels = curves(table)
    figure = Figure(figsize=(1 + 5 * len(panels), 4), dpi=150, layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for panel, (score, lines) in zip(axes, panels.items(), strict=True):
        for i, (method, points) in enumerate(lines.items()):
            _line(panel, i, method, points)
        panel.set_xlabel("labels")
        panel.set_ylabel(_axis(score, table))
        panel.set_ylim(bottom=0, top=1.02 if score in ("mrr", "success") else None)
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False)
    name = PurePath(str(table.settings.get("pool", ""))).name
    figure.suptitle(f"{name}, {table.settings.get('runs', 0):,} runs, ± 2 standard errors", fontsize="medium")
    return figure


def _line(panel: Any, i: int, method: str, points: list[tuple[int, float, float]]) -> None:  # noqa: ANN401
    colour, marker = _COLOURS[i % len(_COLOURS)], _MARKERS[i % len(_MARKERS)]
    budget, mean, se = zip(*points, strict=True)
    panel.plot(budget, mean, color=colour, marker=marker if len(points) < 30 else None, markersize=4, label=method)
    low, high = [m - 2 * s for m, s in zip(mean, se, strict=True)], [m + 2 * s for m, s in zip(mean, se, strict=True)]
    panel.fill_between(budget, low, high, color=colour, alpha=0.2, linewidth=0)


def _axis(score: str, table: Table) -> str:
    metric = table.settings.get("task", {}).get("metric", {}).get("kind")
    if score == "rmse" and metric == "Confusion":
        return "RMSE ÷ that of the informed prior without labels"
    return "RMSE (cost)" if score == "rmse" and metric == "Cost" else _AXES.get(score, score)
