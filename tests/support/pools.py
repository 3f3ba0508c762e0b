"""Small pools whose true classes are known, for the tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

import fewlabels as fl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

CLASSES = ("ant", "bee", "cat", "cow", "eel", "fox")
KINDS_OF = {"ant": "insects", "bee": "insects", "cat": "mammals", "cow": "mammals", "eel": "fish", "fox": "none"}


@dataclass(frozen=True)
class Known:
    """A pool, and the true class of each of its items: position in `classes`, shape (items,)."""

    pool: fl.Pool
    true: NDArray[np.int32]

    @property
    def truth(self) -> dict[str, str]:
        """Every id with its true class."""
        return {item: self.pool.classes[t] for item, t in zip(self.pool.ids.to_pylist(), self.true, strict=True)}

    def labels(self, ids: Iterable[str]) -> dict[str, str]:
        """The true classes of some items."""
        truth = self.truth
        return {item: truth[item] for item in ids}


def law(examples: int) -> settings:
    """Settings of Hypothesis for a law: the same examples in every run, and no time limit on a busy machine."""
    return settings(max_examples=examples, deadline=None, derandomize=True, database=None)


def zoo(*, scores: bool = True, seed: int = 3) -> Known:
    """30 items of six classes in two places: "fox" is never predicted (an empty group), "eel" once (a group of one)."""
    rng = np.random.default_rng(seed)
    predicted = np.repeat(np.arange(6), [9, 7, 7, 6, 1, 0])
    true = np.where(rng.random(30) < 0.6, predicted, rng.integers(0, 6, 30)).astype(np.int32)
    data: dict[str, object] = {
        "id": [f"z{i:02d}" for i in range(30)],
        "place": rng.choice(["north", "south"], 30).tolist(),
        "text": [f"animal number {i}" for i in range(30)],
    }
    if scores:
        top = rng.uniform(0.4, 0.97, 30)
        rest = rng.dirichlet(np.ones(6), 30)
        rest[np.arange(30), predicted] = 0
        # Less than 0.4 goes to any one of the others, so that the largest score is the predicted class's.
        rest = np.minimum(rest / rest.sum(axis=1, keepdims=True) * (1 - top)[:, None], 0.35)
        rest[np.arange(30), predicted] = 1 - rest.sum(axis=1)
        data["scores"] = rest
    else:
        data["predicted"] = [CLASSES[k] for k in predicted]
    return Known(fl.read_pool(data, classes=CLASSES, content="text"), true)


def by_kind(pool: fl.Pool) -> fl.Partition:
    """Groups for the rates: two with several predicted classes, one of a single item, one empty."""
    return fl.by_map(pool, KINDS_OF)


def pool_of(
    predicted: Iterable[int], true: Iterable[int], confidence: Iterable[float], places: Iterable[str], classes: int
) -> Known:
    """A pool from plain columns; the classes are called c0, c1, ... ."""
    predicted, names = list(predicted), [f"c{k}" for k in range(classes)]
    data = {
        "id": [f"i{i}" for i in range(len(predicted))],
        "predicted": [names[k] for k in predicted],
        "confidence": list(confidence),
        "place": list(places),
    }
    return Known(fl.read_pool(data, classes=names), np.array(list(true), dtype=np.int32))


@st.composite
def known_pools(draw: st.DrawFn, classes: int | None = None, most: int = 14) -> Known:
    """Any small pool with classes, confidences and places, and its truth."""
    k = classes or draw(st.integers(2, 4))
    kind = st.integers(0, k - 1)
    row = st.tuples(kind, kind, st.integers(0, 100).map(lambda x: x / 100), st.sampled_from(["here", "there"]))
    rows = draw(st.lists(row, min_size=1, max_size=most))
    predicted, true, confidence, places = zip(*rows, strict=True)
    return pool_of(predicted, true, confidence, places, k)
