"""A small pool with known labels, questions about it, and its truth for the simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import fewlabels as fl
from fewlabels.simulation.truth import truth

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.simulation.methods import Method

CLASSES = ("ant", "bee", "cat", "dog")
COST = [[0, 1, 5, 1], [1, 0, 1, 1], [2, 1, 0, 1], [9, 1, 1, 0]]

# Differences of means from independent runs: a normal quantile that a right program passes 150,000 times in a row.
Z = 4.5


def make_pool(n: int = 160, seed: int = 3) -> tuple[fl.Pool, list[str]]:
    """A pool with scores and a column, and its labels: a classifier that is right less often than it says."""
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet([0.4] * 4, size=n)
    predicted = scores.argmax(axis=1)
    right = rng.random(n) < np.array([0.9, 0.75, 0.6, 0.4])[predicted]
    labels = np.where(right, predicted, (predicted + rng.integers(1, 4, n)) % 4)
    sex = rng.choice(["f", "m"], n)
    tribe = rng.permutation(np.arange(n) % 70)
    pool = fl.read_pool({"scores": scores, "sex": sex, "tribe": tribe}, classes=CLASSES)
    return pool, [CLASSES[k] for k in labels]


POOL, LABELS = make_pool()
GROUPS = {
    "predicted": fl.by_predicted(POOL),
    "bins": fl.by_score(POOL, 4, "weight"),
    "sex": fl.by_column(POOL, "sex"),
    "tribe": fl.by_column(POOL, "tribe"),
}
TASKS: dict[str, tuple[Any, str]] = {
    "accuracy": (fl.Estimate(fl.Accuracy()), "predicted"),
    "bins": (fl.Estimate(fl.Accuracy()), "bins"),
    "many": (fl.Estimate(fl.Accuracy()), "tribe"),
    "confusion": (fl.Estimate(fl.Confusion()), "predicted"),
    "lowest": (fl.Identify(fl.Accuracy(), lowest=1), "predicted"),
    "lowest-2": (fl.Identify(fl.Accuracy(), lowest=2), "predicted"),
    "lowest-many": (fl.Identify(fl.Accuracy(), lowest=1), "tribe"),
    "highest": (fl.Identify(fl.Accuracy(), highest=1), "predicted"),
    "calibration": (fl.Identify(fl.CalibrationError(3), highest=1), "predicted"),
    "calibrated": (fl.Identify(fl.CalibrationError(3), lowest=1), "predicted"),
    "cost": (fl.Identify(fl.Cost(COST), highest=2), "predicted"),
    "compare": (fl.Compare(fl.Accuracy(), "cat", "ant"), "predicted"),
    "information": (fl.Compare(fl.Accuracy(), "bee", "cat", by="information"), "predicted"),
    "confidence": (fl.Compare(fl.Accuracy(), "bee", "cat", by="confidence"), "predicted"),
    "f1": (fl.Estimate(fl.F1()), "sex"),
    "recall": (fl.Identify(fl.Recall("cat"), lowest=1), "sex"),
    "compare-f1": (fl.Compare(fl.F1(), "f", "m"), "sex"),
    "ece": (fl.Estimate(fl.CalibrationError(4)), "sex"),
    "money": (fl.Estimate(fl.Cost(COST)), "sex"),
}


def truth_of(name: str, *methods: Method) -> Any:  # whose task is of the question's own kind
    """What is true of the pool for one of the questions."""
    task, groups = TASKS[name]
    return truth(POOL, LABELS, GROUPS[groups], task, methods)


def everything(case: Any) -> NDArray[np.int64]:
    """The items that can be asked about."""
    return np.flatnonzero(case.room[case.cells.partition.group])
