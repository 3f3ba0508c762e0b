"""Worlds drawn from a prior: pools whose true classes come from the very model that a belief assumes.

Everything here is worked out from the formulas in the documentation, on plain arrays and without the package's
beliefs, priors and metrics, so that a mistake in those shows as miscalibration.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import fewlabels as fl
from fewlabels.metrics.rates import Rate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.metrics import Metric

CLASSES = ("ant", "bee", "cat")
K = len(CLASSES)
PRICES = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 1.0], [2.0, 2.0, 0.0]])
Family = Literal["right", "classes", "positive"]


@dataclass(frozen=True)
class World:
    """A pool of scored items at some sites; `kind` is a second, finer column."""

    sites: int
    items: int
    kinds: int = 1
    seed: int = 0

    @cached_property
    def site(self) -> NDArray[np.int64]:
        """The site of each item: evenly many, shape (items,)."""
        return np.arange(self.sites * self.items) % self.sites

    @cached_property
    def kind(self) -> NDArray[np.int64]:
        return np.random.default_rng([self.seed, 1]).integers(0, self.kinds, len(self.site))

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        return np.random.default_rng([self.seed, 2]).dirichlet(np.full(K, 0.7), len(self.site))

    @cached_property
    def pool(self) -> fl.Pool:
        columns = {"site": [f"{s:03d}" for s in self.site], "kind": [f"{k:03d}" for k in self.kind]}
        return fl.read_pool({"scores": self.scores, **columns}, classes=list(CLASSES))

    @property
    def predicted(self) -> NDArray[np.int64]:
        return self.scores.argmax(axis=1)

    @property
    def confidence(self) -> NDArray[np.float64]:
        return self.scores.max(axis=1)

    def labels(self, true: NDArray[np.int64], ids: list[str]) -> dict[str, str]:
        return {i: CLASSES[true[at]] for i, at in zip(ids, self.pool.positions(ids), strict=True)}


@dataclass(frozen=True)
class Truth:
    """What a world turned out to be: true classes of the items, and the shares that they were drawn from."""

    world: World
    true: NDArray[np.int64]
    expected: NDArray[np.float64]
    """The probability of each true class for each item, shape (items, classes)."""


def nature(world: World, family: Family, cell: NDArray[np.int64], strength: float, informed: bool, seed: int) -> Truth:
    """Draw θ of each cell from the prior, and the true classes of its items from θ.

    Families: "right" has the outcomes right and wrong, "classes" the true classes (cells must fix the predicted class),
    "positive" the first class and the rest.
    """
    rng = np.random.default_rng([seed, 77])
    n, predicted = len(cell), world.predicted
    cells, cell = np.unique(cell, return_inverse=True)
    profile = np.array([world.scores[predicted == k].mean(axis=0) for k in range(K)])
    # What each item would lead one to expect, and its average over the cell.
    expected = {
        "right": np.column_stack([world.confidence, 1 - world.confidence]),
        "classes": profile[predicted],
        "positive": np.column_stack([profile[predicted, 0], 1 - profile[predicted, 0]]),
    }[family]
    blank = {"right": [1 / 2, 1 / 2], "classes": [1 / K] * K, "positive": [1 / K, 1 - 1 / K]}[family]
    mean = np.array([expected[cell == c].mean(axis=0) if informed else blank for c in range(len(cells))])
    theta = np.array([rng.dirichlet(strength * m) for m in mean])[cell]
    others = (1 - np.eye(K)) / (K - 1)
    if family == "right":
        chance = theta[:, :1] * np.eye(K)[predicted] + theta[:, 1:] * others[predicted]
    elif family == "positive":
        chance = theta[:, :1] * np.eye(K)[0] + theta[:, 1:] * others[0]
    else:
        chance = theta
    true = (rng.random(n)[:, None] > np.cumsum(chance, axis=1)[:, :-1]).sum(axis=1)
    return Truth(world, true, chance)


def true_values(metric: Metric, truth: Truth, group: NDArray[np.integer], target: str) -> NDArray[np.float64]:
    """The metric of each group as it really is: of θ for the population, of the drawn classes for the pool.

    Shape (groups,), or (groups, classes) for Confusion.
    """
    chance = truth.expected if target == "population" else np.eye(K)[truth.true]
    return np.array([_value(metric, truth.world, chance, group == g) for g in range(group.max() + 1)])


def _value(metric: Metric, world: World, chance: NDArray[np.float64], here: NDArray[np.bool_]) -> Any:
    chance, predicted, confidence = chance[here], world.predicted[here], world.confidence[here]
    right = chance[np.arange(len(chance)), predicted]
    if isinstance(metric, fl.Accuracy):
        return right.mean()
    if isinstance(metric, fl.CalibrationError):
        bins = np.minimum((confidence * metric.bins).astype(int), metric.bins - 1)
        return sum(abs((right - confidence)[bins == b].sum()) for b in range(metric.bins)) / len(right)
    if isinstance(metric, fl.Confusion):
        return chance.mean(axis=0)
    # mass[j, k]: the share of the group's items with true class j and predicted class k.
    mass = np.array([chance[predicted == k].sum(axis=0) for k in range(K)]).T / len(chance)
    if isinstance(metric, fl.Cost):
        return (mass * PRICES).sum()
    hit, called, true = np.diag(mass), mass.sum(axis=0), mass.sum(axis=1)
    assert isinstance(metric, Rate)
    top, bottom = {
        fl.Precision: (hit, called),
        fl.Recall: (hit, true),
        fl.F1: (2 * hit, called + true),
        fl.FalsePositiveRate: (called - hit, 1 - true),
    }[type(metric)]
    counted = [0] if metric.positive else range(K)
    ratios = [top[j] / bottom[j] for j in counted if bottom[j] > 1e-9]
    return np.mean(ratios) if ratios else 0.0


def rank_among(value: NDArray[np.float64], draws: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """How many draws lie below each true value, equal ones in random order: shapes (n,) and (draws, n) to (n,)."""
    value, draws = np.round(value, 9), np.round(draws, 9)
    return (draws < value).sum(axis=0) + rng.integers(0, (draws == value).sum(axis=0) + 1)
