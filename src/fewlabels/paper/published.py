"""The numbers that the paper prints in its tables, as printed."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Cell(NamedTuple):
    """The subject of a number in a table; `budget` is None if the number itself counts labels."""

    dataset: str
    method: str
    budget: int | None
    score: str


@dataclass(frozen=True)
class Printed:
    """A number of the paper: its value and the LaTeX label of its table."""

    value: float
    label: str


@cache
def _all() -> dict[str, dict[Cell, Printed]]:
    tables: dict[str, dict[Cell, Printed]] = {}
    with files("fewlabels.paper").joinpath("published.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            budget = int(row["budget"]) if row["budget"] else None
            cell = Cell(row["dataset"], row["method"], budget, row["score"])
            tables.setdefault(row["table"], {})[cell] = Printed(float(row["paper"]), row["label"])
    return tables


def published(table: str) -> dict[Cell, Printed]:
    """The printed numbers of one table, by its name here ("accuracy", "cost", ...).

    >>> published("accuracy")[Cell("CIFAR-100", "IPrior+TS", 200, "rmse")]
    Printed(value=15.3, label='tab:classwise_acc_estimate')
    """
    return dict(_all()[table])
