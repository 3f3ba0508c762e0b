"""The numbers of the figures that show the mean reciprocal rank against the share of labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.metrics import Accuracy, CalibrationError, Cost
from fewlabels.paper.identifying import curves, identify_case
from fewlabels.paper.pools import SCORED, SOURCES
from fewlabels.paper.superclasses import human_costs, superclass_costs
from fewlabels.policies import UCB, EpsilonGreedy, Thompson, TopTwo, UniformItems
from fewlabels.priors import Informed, Uniform
from fewlabels.simulation.methods import Method
from fewlabels.tasks import Identify

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from fewlabels.paper.plan import PaperPlan
    from fewlabels.paper.pools import PaperPool
    from fewlabels.simulation.truth import Truth

POINTS = 200

ACCURACY_METHODS = (
    Method("uniform prior, Thompson", Uniform(), Thompson()),
    Method("uniform prior, top-two", Uniform(), TopTwo()),
    Method("uniform prior, ε-greedy", Uniform(), EpsilonGreedy()),
    Method("uniform prior, Bayesian UCB", Uniform(), UCB()),
    Method("uniform prior, random items", Uniform(), UniformItems()),
    Method("informed prior 2, Thompson", Informed(2), Thompson()),
    Method("informed prior 10, Thompson", Informed(10), Thompson()),
    Method("informed prior 100, Thompson", Informed(100), Thompson()),
)
CALIBRATION_METHODS = (
    Method("uniform prior, random items", Uniform(), UniformItems()),
    Method("informed prior 2, Thompson", Informed(2), Thompson()),
    Method("informed prior 5, Thompson", Informed(5), Thompson()),
    Method("informed prior 10, Thompson", Informed(10), Thompson()),
)
COST_METHODS = (
    Method("UPrior", Uniform(), UniformItems()),
    Method("IPrior", Informed(), UniformItems()),
    Method("IPrior+TS", Informed(), Thompson()),
)


@dataclass(frozen=True, eq=False)
class Panel:
    """Mean MRR curves in one frame: percent of the pool labelled, shape (points,), and a curve for each method.

    `errors` has the standard errors of each curve, shape (points,).
    """

    title: str
    top: int
    percent: NDArray[np.float64]
    lines: Mapping[str, NDArray[np.float64]]
    errors: Mapping[str, NDArray[np.float64]]
    runs: int

    def only(self, *names: str) -> Panel:
        """The panel with only some of its lines."""
        return replace(self, lines={name: self.lines[name] for name in names})


def accuracy_panels(plan: PaperPlan) -> list[Panel]:
    """Finding the least accurate class and the m least accurate, by every method that a figure shows."""
    panels = []
    for pool in plan.pools(SOURCES):
        for top in (1, pool.source.top):
            case = identify_case(pool, Identify(Accuracy(), lowest=top))
            # Top-two asks in one group at a time, so it is only shown for the single least accurate one.
            ways = [way for way in ACCURACY_METHODS if top == 1 or not isinstance(way.policy, TopTwo)]
            panels.append(_panel(plan, pool, case, ways))
    return panels


def calibration_panels(plan: PaperPlan) -> list[Panel]:
    """Finding the least calibrated class and the m least calibrated, by strength of the prior."""
    panels = []
    for pool in plan.pools(SOURCES):
        for top in (1, pool.source.top):
            case = identify_case(pool, Identify(CalibrationError(), highest=top))
            panels.append(_panel(plan, pool, case, CALIBRATION_METHODS))
    return panels


def cost_panels(plan: PaperPlan) -> list[Panel]:
    """Finding the predicted classes of highest cost, by cost matrix: figure fig:cost."""
    panels = []
    for pool in plan.pools([SCORED]):
        for kind, costs in (("human", human_costs), ("superclass", superclass_costs)):
            metric = Cost(costs(pool.pool.classes).tolist())
            for top in (1, pool.source.top):
                case = identify_case(pool, Identify(metric, highest=top))
                panels.append(_panel(plan, pool, case, COST_METHODS, kind))
    return panels


def _panel(plan: PaperPlan, pool: PaperPool, case: Truth, ways: Sequence[Method], title: str | None = None) -> Panel:
    items, title = len(pool.pool), title or pool.source.dataset
    kind = type(case.task.metric).__name__
    at = np.unique(np.linspace(0, items, POINTS + 1).round().astype(np.int64))
    runs = plan.runs_of("figures", pool.source)
    by_method = curves(plan, f"figures: {kind} {title} top-{case.task.plays}", case, ways, at.tolist(), runs)
    lines = {name: curve.mean[at] for name, curve in by_method.items()}
    errors = {name: curve.at.std(axis=0) / np.sqrt(max(runs - 1, 1)) for name, curve in by_method.items()}
    return Panel(title, case.task.plays, 100 * at / items, lines, errors, runs)
