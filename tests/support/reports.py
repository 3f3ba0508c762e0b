"""Assessments for the tests of the report: one of each kind of question, on a small pool."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import fewlabels as fl

CLASSES = ("shirt", "coat", "bag", "boot")
RATES = (0.5, 0.7, 0.95, 0.99)
EVIL = ("<script>alert(1)</script>", "a|b *c* [d](http://e.f)", "naïve 日本語 🙂 \x07", "x" * 300 + '\' onclick="y"')


@cache
def pool(classes: tuple[str, ...] = CLASSES) -> tuple[fl.Pool, dict[str, str]]:
    """400 items in two places, and the true class of each; "boot" is nearly always right."""
    rng = np.random.default_rng(5)
    predicted = np.arange(400) % 4
    right = rng.random(400) < np.array(RATES)[predicted]
    true = np.where(right, predicted, (predicted + 1 + rng.integers(0, 3, 400)) % 4)
    scores = np.full((400, 4), 0.05)
    scores[np.arange(400), predicted] = 0.85
    data = {
        "id": [f"i{i}" for i in range(400)],
        "scores": scores,
        "place": ["north", "south"] * 200,
        "text": [f"this is {classes[0]} number {i}" for i in range(400)],
    }
    made = fl.read_pool(data, classes=list(classes), content="text")
    return made, {f"i{i}": classes[t] for i, t in enumerate(true.tolist())}


def told(n: int, classes: tuple[str, ...] = CLASSES, place: bool = False, **spec: Any) -> fl.Assessment:
    """An assessment after n labels."""
    items, truth = pool(classes)
    groups = fl.by_column(items, "place") if place else None
    usual: dict[str, Any] = {"seed": 3, "prior": fl.Uniform()}
    audit = fl.create(None, "the <b>audit</b>", items, groups, **usual | spec)
    while n:
        batch = audit.ask(min(n, 20))
        n -= audit.tell({item: truth[item] for item in batch.ids}, annotator="ann")
    return audit


def told_exactly(
    counts: dict[str, tuple[int, int]], *, asked: bool = False, where: Any = None, **spec: Any
) -> fl.Assessment:
    """An assessment with so many right and wrong labels in each class; of items that were `asked` for, or adopted."""
    items, _ = pool()
    audit = fl.create(where, "counts", items, **{"prior": fl.Uniform()} | spec)
    free = {name: np.flatnonzero(items.predicted == k).tolist() for k, name in enumerate(CLASSES)}
    labels: dict[str, str] = {}
    for name, (right, wrong) in counts.items():
        other = next(c for c in CLASSES if c != name)
        for label, n in ((name, right), (other, wrong)):
            labels |= {f"i{free[name].pop()}": label for _ in range(n)}
    if asked:
        audit.ask(len(items))  # as many as the task wants: those without a label stay pending
        wanted = set(audit.pending())
        labels = {item: label for item, label in labels.items() if item in wanted}
    if labels:
        audit.tell(labels, adopt=not asked)
    return audit


QUESTIONS = {
    "identify": lambda: told(120, task=fl.Identify(fl.Accuracy(), lowest=2)),
    "best": lambda: told(60, task=fl.Identify(fl.Accuracy(), highest=1), policy=fl.TopTwo(), target="pool"),
    "estimate": lambda: told(120),
    "learned": lambda: told(60, prior=fl.Learned()),
    "informed": lambda: told(30, prior=fl.Informed()),
    "compare": lambda: told(120, task=fl.Compare(fl.Accuracy(), "north", "south"), place=True),
    "confusion": lambda: told(120, task=fl.Estimate(fl.Confusion())),
    "calibration": lambda: told(120, task=fl.Estimate(fl.CalibrationError()), place=True),
    "cost": lambda: told(120, task=fl.Identify(fl.Cost([[0, 1, 1, 9]] * 4), highest=1)),
    "recall": lambda: told(120, task=fl.Estimate(fl.Recall()), place=True),
    "certify": lambda: told(120, task=fl.Certify(fl.Accuracy(), at_least=0.8, guarantee="anytime")),
    "random": lambda: told(60, policy=fl.UniformItems()),
    "nothing": lambda: told(0, task=fl.Identify(fl.Accuracy(), lowest=1)),
    "evil": lambda: told(80, EVIL, task=fl.Identify(fl.Accuracy(), lowest=1)),
}


def many(groups: int) -> fl.Pool:
    """Three items in each of many groups."""
    names = [f"class number {i % groups}" for i in range(3 * groups)]
    return fl.read_pool({"id": [str(i) for i in range(3 * groups)], "predicted": names})
