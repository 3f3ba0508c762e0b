"""The drawing of the figures that show beliefs; their numbers are computed in beliefs.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.paper.figures.style import BLUE, DARK, GOLD, GREY, RED, frames, label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from fewlabels.paper.figures.beliefs import Difference, EceBias, EcePosterior, Ranks, Reliability, Scatter

_TOP = 10  # classes at each end that are shown


def draw_scatter(panels: Sequence[Scatter]) -> Figure:
    """Accuracy against ECE of each class with 95% intervals; the least accurate m red, the most accurate m blue."""
    figure, axes = frames(1, len(panels), 3.1, 3.0)
    for axis, panel in zip(axes[0], panels, strict=True):
        for side, colour, order in ((0, GREY, 1), (1, BLUE, 3), (-1, RED, 2)):
            here = panel.side == side
            x, y = panel.accuracy[:, here], panel.ece[:, here]
            # Hundreds of grey crosses would hide the rest.
            thin = 0.25 if side == 0 and here.sum() > 200 else 0.7
            axis.errorbar(
                x[0], y[0], xerr=_arms(x), yerr=_arms(y), fmt="o", color=colour, ms=2.5, lw=thin, zorder=order,
                alpha=0.35 if thin < 0.5 else 0.9, label={-1: "least accurate", 1: "most accurate", 0: "others"}[side],
            )  # fmt: skip
        label(axis, "accuracy", "ECE" if axis is axes[0, 0] else None, panel.dataset)
    axes[0, 0].legend(fontsize=7, frameon=False)
    return figure


def draw_reliability(rows: Sequence[Sequence[Reliability]]) -> Figure:
    """Reliability diagrams: a row for each number of labels, a column for each pool."""
    figure, axes = frames(len(rows), len(rows[0]), sharex=True, sharey=True)
    for i, row in enumerate(rows):
        for axis, panel in zip(axes[i], row, strict=True):
            _reliability(axis, panel)
            label(axis, "score" if i == len(rows) - 1 else None, title=f"{panel.dataset}, N = {panel.labels:,}")
        label(axes[i, 0], y="accuracy")
    return figure


def _reliability(axis: Axes, panel: Reliability) -> None:
    mean = panel.accuracy[0]
    axis.bar(panel.centre, panel.share, 0.1, color=BLUE, alpha=0.25, zorder=0)
    axis.bar(
        panel.centre, panel.confidence - mean, 0.1, bottom=mean, color=GREY, alpha=0.35, zorder=1
    )  # the estimated calibration error
    axis.plot([0, 1], [0, 1], color=DARK, lw=0.8, ls="--", zorder=2)
    axis.errorbar(panel.centre, mean, yerr=_arms(panel.accuracy), fmt="o-", color=RED, ms=3, lw=1, capsize=2, zorder=3)
    axis.set(xlim=(0, 1), ylim=(0, 1))


def draw_ece_posterior(diagrams: Sequence[Reliability], posteriors: Sequence[EcePosterior]) -> Figure:
    """Reliability diagrams above, and below the density of the ECE, its true value and the frequentist estimate."""
    figure, axes = frames(2, len(diagrams), 3.1, 2.6)
    right = max(max(np.quantile(posterior.draws, 0.999), posterior.frequentist) for posterior in posteriors) * 1.05
    for top, bottom, diagram, posterior in zip(axes[0], axes[1], diagrams, posteriors, strict=True):
        _reliability(top, diagram)
        label(top, "score", "accuracy" if top is axes[0, 0] else None, f"{diagram.dataset}, N = {diagram.labels:,}")
        bottom.hist(posterior.draws, bins=60, density=True, color=RED, alpha=0.45, label="posterior")
        bottom.axvline(posterior.truth, color=DARK, lw=1.4, label="all labels")
        bottom.axvline(posterior.frequentist, color=RED, lw=1.4, ls="--", label="frequentist")
        bottom.set(xlim=(0, right), yticks=[])
        label(bottom, "ECE", "density" if bottom is axes[1, 0] else None)
    axes[1, 0].legend(fontsize=7, frameon=False)
    return figure


def draw_ece_bias(panels: Sequence[EceBias]) -> Figure:
    """How far the mean estimate of the ECE is off, in percent, against the number of labels."""
    figure, axes = frames(1, len(panels), 2.7, 2.5)
    for axis, panel in zip(axes[0], panels, strict=True):
        axis.axhline(0, color=DARK, lw=0.8, ls="--")
        axis.plot(panel.labels, panel.bayesian, "o-", color=RED, ms=3, lw=1.2, label="Bayesian")
        axis.plot(panel.labels, panel.frequentist, "s-", color=BLUE, ms=3, lw=1.2, label="frequentist")
        axis.set_xscale("log")
        label(axis, "labels", "error of the ECE, %" if axis is axes[0, 0] else None, panel.dataset)
    axes[0, 0].legend(fontsize=8, frameon=False)
    return figure


def draw_differences(panels: Sequence[Difference]) -> Figure:
    """The density of the difference of two accuracies, and the region of practical equivalence."""
    figure, axes = frames(1, len(panels), 4.0, 2.8)
    for axis, panel in zip(axes[0], panels, strict=True):
        axis.plot(panel.grid, panel.density, color=BLUE, lw=1.4)
        axis.fill_between(panel.grid, panel.density, color=BLUE, alpha=0.15)
        axis.axvspan(-panel.rope, panel.rope, color=GOLD, alpha=0.12)
        for edge in (-panel.rope, panel.rope):
            axis.axvline(edge, color=GOLD, lw=1.4)
        axis.axvline(panel.frequentist, color=RED, lw=1.2, ls="--")
        less, equal, more = panel.regions
        e = f"{panel.rope:g}"
        words = f"P(Δ < −{e}) = {less:.2f}\nP(|Δ| ≤ {e}) = {equal:.2f}\nP(Δ > {e}) = {more:.2f}"
        axis.text(0.98, 0.97, words, transform=axis.transAxes, ha="right", va="top", fontsize=8)
        axis.set(ylim=(0, None), yticks=[])
        low, high = axis.get_xlim()
        axis.set_xlim(low, max(high, panel.rope + 0.6 * (panel.rope - low)))  # room for the words
        label(axis, f"Δ = accuracy of {panel.a} − {panel.b}", "density" if axis is axes[0, 0] else None)
    return figure


def draw_ranks(panel: Ranks) -> Figure:
    """The mean rank of the most and the least accurate classes, with 95% intervals."""
    shown = np.r_[0:_TOP, len(panel.names) - _TOP : len(panel.names)]
    figure, axes = frames(1, 1, 4.6, 5.0)
    axis, y = axes[0, 0], np.arange(len(shown))
    for part, colour in ((slice(0, _TOP), BLUE), (slice(_TOP, None), RED)):
        rank = panel.rank[:, shown[part]]
        axis.errorbar(rank[0], y[part], xerr=_arms(rank), fmt="o", color=colour, ms=4, lw=1.3, capsize=2)
    axis.axhline(_TOP - 0.5, color=GREY, lw=0.8, ls=":")
    axis.set_yticks(y, [panel.names[i].replace("_", " ") for i in shown])
    axis.invert_yaxis()
    label(axis, "rank by accuracy, 1 the most accurate")
    return figure


def draw_extremes(panel: Ranks) -> Figure:
    """How probably each class is the most, and the least, accurate one."""
    figure, axes = frames(2, 1, 4.6, 2.4)
    for axis, chance, colour, words in (
        (axes[0, 0], panel.most, BLUE, "P(most accurate)"),
        (axes[1, 0], panel.least, RED, "P(least accurate)"),
    ):
        order = np.argsort(-chance, kind="stable")[:_TOP]
        axis.bar(np.arange(len(order)), chance[order], color=colour, alpha=0.8)
        axis.set_xticks(
            np.arange(len(order)), [panel.names[i].replace("_", " ") for i in order], rotation=40, ha="right"
        )
        label(axis, y=words)
    return figure


def draw_costs(matrices: Mapping[str, NDArray[np.float64]]) -> Figure:
    """The cost matrices: the price of an error by true and predicted class."""
    figure, axes = frames(1, len(matrices), 3.6, 3.4)
    for axis, (name, costs) in zip(axes[0], matrices.items(), strict=True):
        axis.spines[["top", "right"]].set_visible(True)
        shown = axis.imshow(costs, cmap="Blues", vmin=0, vmax=10, interpolation="nearest")
        label(axis, "predicted class", "true class" if axis is axes[0, 0] else None, name)
    figure.colorbar(shown, ax=axes.ravel().tolist(), label="cost", shrink=0.8, ticks=[0, 1, 5, 10])
    return figure


def _arms(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows mean, low, high to the lengths of error bars; a mean may lie outside a narrow interval."""
    return np.maximum(np.array([numbers[0] - numbers[1], numbers[2] - numbers[0]]), 0)
