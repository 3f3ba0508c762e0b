"""The identification tables: least accurate classes, least calibrated classes, and classes of highest cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.metrics import Accuracy, CalibrationError, Cost
from fewlabels.paper import footnotes
from fewlabels.paper.methods import by_group, identifying
from fewlabels.paper.plan import PaperPlan, Result, Row, row, scored, settings
from fewlabels.paper.pools import SCORED, SOURCES, PaperPool
from fewlabels.paper.published import Cell
from fewlabels.paper.quirks import GRID, STOP
from fewlabels.paper.superclasses import human_costs, superclass_costs
from fewlabels.partition import by_predicted
from fewlabels.simulation.study import Chunk, run_chunk
from fewlabels.simulation.truth import Truth
from fewlabels.tasks import Identify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from fewlabels.simulation.methods import Method

SHARES = (0.05, 0.1, 0.2, 0.5)
"""The shares of the pool at which the mean MRR is printed beside the paper's statistic."""

COSTS = (1.0, 2.0, 5.0, 10.0)
"""The prices of a dear mistake in the cost tables."""

REACHED = 0.99


@dataclass(frozen=True, eq=False)
class Curves:
    """The MRR of one method: sums over runs after 0, 1, ... labels by piece of work, and by run at few counts.

    Parameters
    ----------
    parts
        The number of runs of each piece, and the sum of their curves, shape (labels + 1,).
    at
        The MRR of each run at the counts that are printed, shape (runs, counts).
    """

    parts: Sequence[tuple[int, NDArray[np.float64]]]
    at: NDArray[np.float64]

    @property
    def runs(self) -> int:
        """The number of runs."""
        return sum(n for n, _ in self.parts)

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean MRR after 0, 1, ... labels, shape (labels + 1,)."""
        return np.sum([total for _, total in self.parts], axis=0) / self.runs

    def jackknife(self, statistic: Callable[[NDArray[np.float64]], float | None]) -> dict[str, Any]:
        """A statistic of the mean curve, and its standard error by leaving out one piece of work at a time."""
        total = np.sum([part for _, part in self.parts], axis=0)
        without = [statistic((total - part) / (self.runs - n)) for n, part in self.parts if n < self.runs]
        known = np.array([number for number in without if number is not None])
        se = float(np.sqrt((len(known) - 1) * known.var())) if len(known) == len(self.parts) > 1 else None
        return {"mean": statistic(total / self.runs), "se": se, "runs": self.runs}


def first_above(curve: NDArray[np.float64], every: int = 1) -> float | None:
    """The first label count at which a mean MRR exceeds min(0.99, 0.99·its maximum), looked at every so often.

    >>> first_above(np.array([0.2, 0.7, 0.995, 1.0]))
    2.0
    """
    seen = curve[::every]
    above = seen > min(REACHED, REACHED * seen.max())
    return float(above.argmax() * every) if above.any() else None


def identify_case(pool: PaperPool, task: Identify) -> Truth:
    """Finding the extreme predicted classes of a fully labelled pool."""
    outcome = task.metric.outcome(pool.pool, np.arange(len(pool.pool)), pool.labels.astype(np.int32))
    return Truth(task, task.metric.cells(pool.pool, by_predicted(pool.pool)), outcome, pool.right)


def curves(
    plan: PaperPlan, words: str, case: Truth, ways: Sequence[Method], counts: Sequence[int], runs: int
) -> dict[str, Curves]:
    """The MRR of each method up to the last of the counts, which ascend."""
    at = np.array(counts, dtype=np.int64)
    done = plan.run(words, ways, partial(_chunk, case, at, plan.seed), runs)
    return {name: _joined(parts) for name, parts in done.items()}


def _chunk(case: Truth, at: NDArray[np.int64], seed: int, method: Method, runs: range) -> Chunk:
    return run_chunk(case, method, at, seed, runs)


def _joined(parts: Sequence[Chunk]) -> Curves:
    at = np.concatenate([part.scores["mrr"] for part in parts])
    return Curves([curve for part in parts for curve in part.curves], at)


def least_accurate(plan: PaperPlan) -> Result:
    """Table tab:best-m-acc: the share of the pool to label until the least accurate classes are found."""
    rows: list[Row] = []
    for pool in plan.pools(SOURCES):
        for top in (1, pool.source.top):
            case = identify_case(pool, Identify(Accuracy(), lowest=top))
            results = _curves(plan, "least-accurate", pool, case, identifying(), 1.0)
            rows += _percent_rows("least-accurate", pool, top, results, 1)
    return Result("least-accurate", rows, footnotes.least_accurate(), settings(plan))


def least_calibrated(plan: PaperPlan) -> Result:
    """Table tab:best-m-ece: the share of the pool to label until the least calibrated classes are found."""
    rows: list[Row] = []
    ways = identifying(by_group(as_published=plan.as_published))
    for pool in plan.pools(SOURCES):
        for top in (1, pool.source.top):
            case = identify_case(pool, Identify(CalibrationError(), highest=top))
            results = _curves(plan, "least-calibrated", pool, case, ways, STOP if plan.as_published else 1.0)
            rows += _percent_rows("least-calibrated", pool, top, results, GRID if plan.as_published else 1)
    return Result("least-calibrated", rows, footnotes.least_calibrated(plan), settings(plan))


def cost(plan: PaperPlan) -> Result:
    """Tables tab:active-cost-human and -superclass: labels until the classes of highest cost are found."""
    rows: list[Row] = []
    ways, every = identifying(by_group(as_published=plan.as_published)), GRID if plan.as_published else 1
    for pool in plan.pools([SCORED]):
        for kind, costs in (("human", human_costs), ("superclass", superclass_costs)):
            for dear in COSTS:
                metric = Cost(costs(pool.pool.classes, dear).tolist())
                for top in (1, pool.source.top):
                    case = identify_case(pool, Identify(metric, highest=top))
                    results = _curves(plan, "cost", pool, case, ways, 1.0, f"{kind} {dear:g} ")
                    name = f"labels-to-identify {kind} {dear:g} top-{top}"
                    for way, curve in results.items():
                        statistic = curve.jackknife(partial(first_above, every=every))
                        rows.append(row("cost", Cell(pool.source.dataset, way, None, name), statistic))
    return Result("cost", rows, footnotes.cost(plan), settings(plan))


def _curves(
    plan: PaperPlan, table: str, pool: PaperPool, case: Truth, ways: Sequence[Method], stop: float, words: str = ""
) -> dict[str, Curves]:
    """The curves of a table on one pool, up to a share of its items."""
    items = len(pool.pool)
    counts = [round(share * items) for share in (*SHARES, stop)]
    title = f"{table}: {pool.source.dataset} {words}top-{case.task.plays}"
    return curves(plan, title, case, ways, counts, plan.runs_of(table, pool.source))


def _percent_rows(table: str, pool: PaperPool, top: int, results: Mapping[str, Curves], every: int) -> list[Row]:
    """The paper's statistic in percent of the pool, and the MRR at the shares that are printed."""
    items, dataset = len(pool.pool), pool.source.dataset

    def percent(curve: NDArray[np.float64]) -> float | None:
        first = first_above(curve, every)
        return None if first is None else 100 * first / items

    rows = [
        row(table, Cell(dataset, way, None, f"percent-to-identify top-{top}"), curve.jackknife(percent))
        for way, curve in results.items()
    ]
    for i, share in enumerate(SHARES):
        at = {way: curve.at[:, i] for way, curve in results.items()}
        rows += scored(table, dataset, at, round(share * items), f"mrr top-{top}", "high")
    return rows
