"""The paper's tables by name, as text beside the printed numbers, and as files."""

from __future__ import annotations

import csv
import time
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any

from fewlabels.paper.comparing import comparison
from fewlabels.paper.estimating import accuracy, bins, confusion, ece
from fewlabels.paper.identifying import cost, least_accurate, least_calibrated
from fewlabels.paper.provenance import note
from fewlabels.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from fewlabels.paper.plan import PaperPlan, Result, Row


def _timed(table: Callable[[PaperPlan], Result]) -> Callable[[PaperPlan], Result]:
    """The table, with the time that it took."""

    @wraps(table)
    def run(plan: PaperPlan) -> Result:
        began = time.process_time()
        result = table(plan)
        return replace(result, cpu_seconds=time.process_time() - began)

    return run


TABLES: dict[str, Callable[[PaperPlan], Result]] = {
    "accuracy": _timed(accuracy),
    "confusion": _timed(confusion),
    "ece": _timed(ece),
    "bins": _timed(bins),
    "least-accurate": _timed(least_accurate),
    "least-calibrated": _timed(least_calibrated),
    "comparison": _timed(comparison),
    "cost": _timed(cost),
}
"""Every table of the paper and its supplement that has numbers."""

COLUMNS = ("dataset", "method", "budget", "score", "mean", "se", "paper", "runs", "best")


def side_by_side(rows: Iterable[Row]) -> str:
    """The rows as a table with a column for each method: ours ± standard error, and [the paper's] where it has one.

    A star marks the best by mean and those not significantly worse (Wilcoxon signed-rank test, 0.05), as the paper's
    bold type does.

    >>> one = dict(dataset="SVHN", method="UPrior", budget=20, score="rmse", mean=13.41, se=0.2, paper=13.7, best=True)
    >>> print(side_by_side([one | {"runs": 100}]))
    dataset  labels  score  runs  UPrior
    SVHN     20      rmse   100   13.41±0.20* [13.7]
    """
    lines: dict[tuple[Any, ...], dict[str, str]] = {}
    methods: list[str] = []
    for row in rows:
        budget = "" if row["budget"] is None else f"{row['budget']:,}"
        lines.setdefault((row["dataset"], budget, row["score"], f"{row['runs']:,}"), {})[row["method"]] = _cell(row)
        if row["method"] not in methods:
            methods.append(row["method"])
    names = ("dataset", "labels", "score", "runs")
    columns = {name: [line[i] for line in lines] for i, name in enumerate(names)}
    columns |= {method: [cells.get(method, "") for cells in lines.values()] for method in methods}
    return Table(columns).text(most=len(lines))


def _cell(row: Row) -> str:
    mean, se = row["mean"], row["se"]
    if mean is None:
        ours = "never"
    else:
        digits = 0 if abs(mean) >= 1000 else 1 if abs(mean) >= 100 else 2 if abs(mean) >= 1 else 3
        ours = f"{mean:.{digits}f}" + ("" if se is None else f"±{se:.{digits}f}") + "*" * bool(row["best"])
    return ours if row["paper"] is None else f"{ours} [{row['paper']:g}]"


def write_csv(result: Result, path: Path) -> None:
    """The rows of a table as CSV, one number to a line; how it was made goes to the folder's `made.json`."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in result.rows:
            writer.writerow({name: _short(row[name]) for name in COLUMNS})
    if result.cpu_seconds is not None:
        note(path, {"name": result.name, **result.settings}, result.cpu_seconds)


def read_csv(path: Path) -> list[Row]:
    """The rows of a table that `write_csv` wrote."""
    numbers: dict[str, Callable[[str], Any]] = {"budget": int, "mean": float, "se": float, "paper": float, "runs": int}
    numbers["best"] = "True".__eq__
    with path.open(encoding="utf-8") as file:
        return [
            {name: (numbers.get(name, str)(text) if text else None) for name, text in row.items()}
            for row in csv.DictReader(file)
        ]


def _short(value: object) -> object:
    """Six digits are plenty for a mean over runs, and keep the files readable."""
    return f"{value:.6g}" if isinstance(value, float) else value
