"""Worlds that are possible under a belief: the outcome of every item's label, and the truth behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from fewlabels.cells import ModelCells
from fewlabels.errors import Argument, SpecError
from fewlabels.learned.classes import ClassBelief
from fewlabels.learned.items import TrustBelief
from fewlabels.learned.models import ModelsBelief
from fewlabels.learned.models.voices import draw_chances
from fewlabels.noise import NoisyBelief
from fewlabels.outcomes import Outcomes
from fewlabels.special import expit, logit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.metrics.base import Metric

# How far chances of being right are kept from 0 and 1 when they are moved to an expected average.
_EDGE = 1e-9


@dataclass(frozen=True, eq=False)
class World:
    """One possible truth.

    Parameters
    ----------
    outcome
        The outcome that the label of each item shows, shape (items,).
    is_right
        Whether the prediction of each item is right, shape (items,).
    shares
        The share of each outcome in the population behind each cell, shape (cells, outcomes).
    heard
        Whether the label of each item would be informative, shape (items,); None if all are.
    chance
        How probable it was that the prediction of each item is right, shape (items,); None for several models.
    """

    outcome: NDArray[np.int64]
    is_right: NDArray[np.bool_]
    shares: NDArray[np.float64]
    heard: NDArray[np.bool_] | None = None
    chance: NDArray[np.float64] | None = None

    def outcomes(self, cells: Cells, items: NDArray[np.int64]) -> Outcomes:
        """The outcomes that the labels of some items show."""
        return Outcomes.of(cells, items, self.outcome[items], self.is_right[items])

    def value(self, metric: Metric, cells: Cells, target: str) -> NDArray[np.float64]:
        """The true metric of each group, shape (groups,) or (groups, outcomes): of the population, or of the pool."""
        if target == "population":
            return metric.value(self.shares, cells)
        count = cells.partition.count
        named = np.arange(len(self.outcome)) if count is None else np.flatnonzero(count == 0)
        counts = self.outcomes(cells, named).counts
        # Unnamed items are so many that their shares are those of the population.
        rest = np.rint(cells.size - counts.sum(axis=1))
        return metric.value((counts + rest[:, None] * self.shares) / cells.size[:, None], cells)

    def right(self, cells: Cells) -> float:
        """The share of the pool's items whose prediction is right; of several models, that of the best."""
        if isinstance(cells, ModelCells):
            return float((cells.said == self.outcome[:, None]).mean(axis=0).max())
        if cells.partition.count is None:
            return float(self.is_right.mean())
        right = self.shares[:, 0] if cells.right is None else self.shares[np.arange(len(cells)), cells.right]
        return float(np.average(right, weights=cells.size))


def draw_world(
    belief: Belief, cells: Cells, known: Outcomes, rng: np.random.Generator, expect: float | None = None
) -> World:
    """A world drawn from a belief: θ first, then the outcome of every unlabelled item.

    From a model of single items (the learned prior) each item has a chance of its own, by its confidence. With `expect`
    the log-odds of being right are moved by the same amount everywhere, until the pool's average is that.

    Parameters
    ----------
    known
        The labels so far; what they show stays as it is.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool({"predicted": ["a"] * 500 + ["b"] * 500})
    >>> cells = fl.Accuracy().cells(pool, fl.by_predicted(pool))
    >>> belief = fl.Learned().on(cells, "population").blank()
    >>> world = draw_world(belief, cells, Outcomes.none(cells), np.random.default_rng(1), expect=0.9)
    >>> round(float(cells.size @ world.shares[:, 0] / 1000), 6)
    0.9
    """
    if isinstance(belief, NoisyBelief):
        belief = cast("Belief", belief.parts[int(rng.integers(len(belief.parts)))])
    if isinstance(belief, ModelsBelief):
        return _world_of_models(belief, cast("ModelCells", cells), known, rng, expect)
    if isinstance(belief, TrustBelief):
        world = _from_items(belief, cells, rng, expect)
    else:
        shares = belief.shares(rng, 1)[0]
        if expect is not None:
            shares = _expected(shares, cells, expect)
        outcome = _outcomes(shares, cells.cell, rng)
        own = np.zeros(len(cells), dtype=np.int64) if cells.right is None else cells.right
        chance = shares[np.arange(len(cells)), own][cells.cell]
        world = World(outcome, outcome == own[cells.cell], shares, chance=chance)
    world.outcome[known.items], world.is_right[known.items] = known.shown, known.right
    return world


def _from_items(belief: TrustBelief, cells: Cells, rng: np.random.Generator, expect: float | None) -> World:
    """A world from the model of items: right by the strip of each item, and mistakes by its cell."""
    strips = belief.model.strips
    chance = belief.model.draws(rng, 1)[0]
    if expect is not None:
        chance = _moved(chance, strips.size, expect)
    # An item without an answer is wrong.
    if belief.answered is not None:
        chance = np.where(belief.answered[strips.cell] > 0, chance, 0.0)
    of_item = np.where(strips.strip >= 0, chance[strips.strip], 0.0)
    is_right = rng.random(len(strips.strip)) < of_item
    if not isinstance(belief, ClassBelief):
        share = np.bincount(strips.cell, strips.size * chance, minlength=len(cells)) / cells.size
        shares = np.column_stack([share, 1 - share])
        return World((~is_right).astype(np.int64), is_right, shares, chance=of_item)
    # The share right and the mistakes are those of rows: the predicted classes of each cell.
    mistaken = belief.mistakes.draws(rng, 1)[0]
    row = strips.cell[strips.strip].astype(np.int32)
    outcome = np.where(is_right, belief.right[row], _outcomes(mistaken, row, rng))
    right = np.bincount(strips.cell, strips.size * chance, minlength=len(belief.cell)) / belief.rows_size
    shares = (1 - right)[:, None] * mistaken
    shares[np.arange(len(right)), belief.right] += right
    weight = (belief.rows_size / cells.size[belief.cell])[:, None]
    mixed = np.zeros((len(cells), shares.shape[1]))
    np.add.at(mixed, belief.cell, weight * shares)
    return World(outcome, is_right, mixed, chance=of_item)


def _world_of_models(
    belief: ModelsBelief, cells: ModelCells, known: Outcomes, rng: np.random.Generator, expect: float | None
) -> World:
    """A true class for every item, drawn from the joint belief about several models.

    Where models differ, it is one of their answers or a class that none of them names. Where all say the same, it is
    that or another class. The shares are those that the draw expects.
    """
    if expect is not None:
        raise SpecError(
            "an expected accuracy is about one model, and there are several here. Leave out ", Argument("expect"), "."
        )
    learning, said = belief.learning, cells.said
    chance = np.zeros(said.shape)
    true = np.array([_unnamed(row, cells.classes) for row in said])
    open_, features = learning.open, learning.features
    options = draw_chances(features, learning.points, rng, 1)[..., 0]
    drawn = (rng.random((len(open_), 1)) > options.cumsum(axis=1)).sum(axis=1)
    hit = features.option == drawn[:, None]
    says = np.take_along_axis(said[open_], hit.argmax(axis=1)[:, None], axis=1)[:, 0]
    true[open_] = np.where(hit.any(axis=1), says, true[open_])
    own = np.take_along_axis(options, np.maximum(features.option, 0).astype(np.int64), axis=1)
    chance[open_] = np.where(features.option >= 0, own, 0.0)
    if learning.trust is not None:
        agreed = learning.panel.agreed
        right = learning.trust.draws(rng, 1)[0][learning.trust.strips.strip]
        true[agreed] = np.where(rng.random(len(agreed)) < right, said[agreed, 0], true[agreed])
        chance[agreed] = right[:, None]
    true[known.items] = known.shown
    chance[known.items] = said[known.items] == known.shown[:, None]
    rows = cells.cell.astype(np.int64)[:, None] + np.arange(said.shape[1])
    share = np.bincount(rows.ravel(), chance.ravel(), minlength=len(cells)) / cells.size
    return World(true, said[:, 0] == true, np.column_stack([share, 1 - share]))


def _unnamed(row: NDArray[np.int32], classes: int) -> int:
    """The first class that no model names for an item; the first of all if they name every class."""
    return next((k for k in range(classes) if k not in row), 0)


def _outcomes(shares: NDArray[np.float64], cell: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.int64]:
    """An outcome for each item by the shares of its cell, shape (items,)."""
    outcomes = shares.shape[1]
    # The cumulated shares of cell c lie between c and c + 1, so that one search finds cell and outcome.
    edges = np.minimum(np.cumsum(shares, axis=1), 1.0)
    # An item that a rounding error puts beyond the last possible outcome shows that outcome.
    edges[edges >= edges[:, -1:]] = 1.0
    place = np.searchsorted((edges + np.arange(len(shares))[:, None]).ravel(), rng.random(len(cell)) + cell, "right")
    return np.minimum(place - outcomes * cell.astype(np.int64), outcomes - 1)


def _moved(right: NDArray[np.float64], size: NDArray[np.int64], expect: float) -> NDArray[np.float64]:
    """Chances of being right, all log-odds moved by the same amount so that the average over items is `expect`."""
    odds = logit(np.clip(right, _EDGE, 1 - _EDGE))
    low, high = -60.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if size @ expit(odds + middle) < expect * size.sum() else (low, middle)
    return expit(odds + (low + high) / 2)


def _expected(shares: NDArray[np.float64], cells: Cells, expect: float) -> NDArray[np.float64]:
    """Shares of outcomes with "right" moved to an average of `expect`; the other outcomes keep their proportions."""
    own = np.zeros(len(cells), dtype=np.int64) if cells.right is None else cells.right
    at = np.arange(len(cells))
    before = np.clip(shares[at, own], _EDGE, 1 - _EDGE)
    after = _moved(before, cells.size, expect)
    moved = shares * ((1 - after) / (1 - before))[:, None]
    moved[at, own] = after
    return moved / moved.sum(axis=1, keepdims=True)
