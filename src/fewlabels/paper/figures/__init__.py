"""Every figure of the paper: the numbers are computed once, then drawn and written as PNG."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.paper.figures import beliefs, curves, drawing
from fewlabels.paper.figures.drawing_curves import draw_curves
from fewlabels.paper.figures.style import save
from fewlabels.paper.plan import settings
from fewlabels.paper.pools import SCORED, SOURCES
from fewlabels.paper.provenance import note
from fewlabels.paper.superclasses import SUPERCLASS, human_costs, superclass_costs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from matplotlib.figure import Figure

    from fewlabels.paper.plan import PaperPlan
    from fewlabels.paper.pools import PaperPool


def draw_all(plan: PaperPlan, out: Path) -> list[Path]:
    """Draw the figures that the chosen data sets allow into a folder; their files."""
    began = time.process_time()
    files = [save(figure, out / f"{name}.png") for part in _PARTS for name, figure in part(plan)]
    note(out / "*.png", {"name": "figures", **settings(plan)}, time.process_time() - began)
    return files


def _of_beliefs(plan: PaperPlan) -> Iterator[tuple[str, Figure]]:
    """Scatter, reliability diagrams, and the error of the ECE, of every pool."""
    _say(plan, "figures: beliefs")
    pools = plan.pools(SOURCES)
    rng = np.random.default_rng([plan.seed, 1])
    yield "scatter", drawing.draw_scatter([beliefs.scatter(pool, rng) for pool in pools])
    samples = [[beliefs.sample(pool, labels, rng) for pool in pools] for labels in (100, 1_000, 10**9)]
    for strength in (2, 10, 100):
        rows = [
            [beliefs.reliability(pool, items, strength, rng) for pool, items in zip(pools, row, strict=True)]
            for row in samples
        ]
        yield f"reliability-strength-{strength}", drawing.draw_reliability(rows)
    bias = [beliefs.ece_bias(pool, plan.runs, rng) for pool in pools]
    yield "ece-error", drawing.draw_ece_bias(bias)


def _of_cifar(plan: PaperPlan) -> Iterator[tuple[str, Figure]]:
    """ECE posterior, ranking, extremes, differences and cost matrices: those of CIFAR-100 only."""
    pool = _cifar(plan)
    if pool is None:
        return
    rng = np.random.default_rng([plan.seed, 2])
    samples = [beliefs.sample(pool, labels, rng) for labels in (100, 1_000, 10_000)]
    diagrams = [beliefs.reliability(pool, items, 2, rng) for items in samples]
    posteriors = [beliefs.ece_posterior(pool, items, rng, beliefs.DRAWS) for items in samples]
    yield "ece-posterior", drawing.draw_ece_posterior(diagrams, posteriors)
    ranks = beliefs.ranks(pool, rng)
    yield "ranking", drawing.draw_ranks(ranks)
    yield "most-and-least-accurate", drawing.draw_extremes(ranks)
    yield "difference", drawing.draw_differences(beliefs.differences(pool))
    # In the order of superclasses the blocks can be seen.
    classes = sorted(pool.pool.classes, key=list(SUPERCLASS).index)
    matrices = {"human": human_costs(classes), "superclass": superclass_costs(classes)}
    yield "cost-matrices", drawing.draw_costs(matrices)


def _of_accuracy(plan: PaperPlan) -> Iterator[tuple[str, Figure]]:
    """MRR curves of the least accurate classes: by policy, by prior, and by strength of the prior."""
    panels = curves.accuracy_panels(plan)
    ways = [way.name for way in curves.ACCURACY_METHODS]
    thompson, top_two, greedy, ucb, random, informed, stronger, strongest = ways
    figures = {
        "mrr-top-two": (thompson, top_two),
        "mrr-policies": (thompson, greedy, ucb),
        "mrr-priors": (informed, thompson),
        "mrr-strength-accuracy": (informed, stronger, strongest, random),
    }
    for name, lines in figures.items():
        shown = [panel for panel in panels if panel.top == 1 or name != "mrr-top-two"]
        yield name, draw_curves([panel.only(*lines) for panel in shown])


def _of_calibration(plan: PaperPlan) -> Iterator[tuple[str, Figure]]:
    """MRR curves of the least calibrated classes, by strength of the prior."""
    yield "mrr-strength-calibration", draw_curves(curves.calibration_panels(plan))


def _of_cost(plan: PaperPlan) -> Iterator[tuple[str, Figure]]:
    """MRR curves of the classes of highest cost, by cost matrix."""
    if _cifar(plan) is not None:
        yield "mrr-cost", draw_curves(curves.cost_panels(plan))


_PARTS = (_of_beliefs, _of_cifar, _of_accuracy, _of_calibration, _of_cost)


def _cifar(plan: PaperPlan) -> PaperPool | None:
    """The pool of CIFAR-100, or None if it was not asked for."""
    return next((pool for pool in plan.pools(SOURCES) if pool.source.dataset == SCORED.dataset), None)


def _say(plan: PaperPlan, words: str) -> None:
    if plan.say is not None:
        plan.say(words)
