"""Small pools whose true classes are known, for the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

import fewlabels as fl
from fewlabels.testing.zoo import CLASSES, Known, by_kind, zoo

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CLASSES", "Known", "by_kind", "known_pools", "law", "pool_of", "zoo"]


def law(examples: int) -> settings:
    """Settings of Hypothesis for a law: the same examples in every run, and no time limit on a busy machine."""
    return settings(max_examples=examples, deadline=None, derandomize=True, database=None)


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
