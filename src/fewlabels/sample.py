"""The items that were asked for, in the order of asking, and whether each label shows a right prediction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from fewlabels.special import expit, logit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.partition import Partition

EDGE = 1e-4
"""The distance from 0 or 1 at which a confidence is cut off."""
_BIN = 1 / 200  # how wide a bin of log-odds is


@dataclass(frozen=True, eq=False)
class Strips:
    """Parts of the pool within which items were drawn at random, although some parts were asked about more than others.

    Parameters
    ----------
    sizes
        The number of items in each strip, shape (strips,).
    strip
        The strip of each item that was asked for, shape (asked,).
    counts
        Whether the item was drawn at random from all free ones of its strip, shape (asked,).
    """

    sizes: NDArray[np.int64]
    strip: NDArray[np.int64]
    counts: NDArray[np.bool_]

    @classmethod
    def of(cls, asking: Partition, items: NDArray[np.int64], counts: NDArray[np.bool_] | None = None) -> Self:
        """The groups of asking as strips; if `counts` is not given, all of these items were drawn within them."""
        drawn = np.ones(len(items), dtype=bool) if counts is None else counts
        return cls(asking.sizes, asking.group[items].astype(np.int64), drawn)


@dataclass(frozen=True, eq=False)
class Sample:
    """The items that were asked for, in the order of the steps, with what their labels show.

    Parameters
    ----------
    items
        Items that have a label or are pending, shape (asked,).
    right
        1 where the label shows a right prediction, 0 where a wrong one, NaN where there is none, shape (asked,).
    anchor
        Whether the item was drawn at random from all that were free, shape (asked,).
    strips
        The strips in which items were asked for, if the question is one number over all of them.
    """

    items: NDArray[np.int64]
    right: NDArray[np.float64]
    anchor: NDArray[np.bool_]
    strips: Strips | None = None

    @classmethod
    def none(cls) -> Sample:
        """Nothing has been asked for yet."""
        return cls(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0, dtype=bool))

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which of them have a label, shape (asked,)."""
        return ~np.isnan(self.right)

    @property
    def anchors(self) -> int:
        """How many labels were drawn at random from all items."""
        return int((self.anchor & self.labelled).sum())

    @property
    def in_all_strips(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]] | None:
        """Sizes of strips, strip of each item, and whether its label speaks for it; None if a strip has no label."""
        if self.strips is None:
            return None
        sizes, strip, counts = self.strips.sizes, self.strips.strip, self.strips.counts & self.labelled
        missing = np.bincount(strip[counts], minlength=len(sizes)) == 0
        return None if missing[sizes > 0].any() else (sizes, strip, counts)

    def relabelled(self, items: NDArray[np.int64], right: NDArray[np.bool_]) -> Sample:
        """Give the items other labels: whether the predictions of these are right, and none for the others."""
        shown = np.full(int(max(self.items.max(initial=0), items.max(initial=0))) + 1, np.nan)
        shown[items] = right
        return replace(self, right=shown[self.items])


@dataclass(frozen=True, eq=False)
class Binned:
    """All items in fine bins of confidence, for plans, which ask for the number over all of them again and again.

    A bin is h = 1/200 of log-odds wide and has the mean log-odds of its items. So the mean of f = σ(a + b·logit s) over
    all items, where |f''| ≤ 0.1 b², is right to 0.1 b² h²/8 < 1e-6 for every b below 1.7.

    Parameters
    ----------
    scores
        The confidence of each row, shape (rows,).
    confidence, count
        Confidence and number of items of each bin, two of shape (bins,).
    """

    scores: NDArray[np.float64]
    confidence: NDArray[np.float64]
    count: NDArray[np.int64]

    @classmethod
    def of(cls, scores: NDArray[np.float64], count: NDArray[np.int64] | None) -> Binned:
        """Put items into bins; `count` is how many each row stands for, as in `Pool.count`."""
        odds = logit(np.clip(scores, EDGE, 1 - EDGE))
        many = np.ones(len(odds), dtype=np.int64) if count is None else count
        place = np.floor((odds - odds.min(initial=0)) / _BIN).astype(np.int64)
        items, total = np.bincount(place, many), np.bincount(place, many * odds)
        some = items > 0
        return cls(scores, expit(total[some] / items[some]), items[some].astype(np.int64))

    def with_sample(self, sample: Sample) -> tuple[NDArray[np.float64], Sample, NDArray[np.int64]]:
        """Confidences, sample and counts for `rectified`: bins, and then the sample's items, which count 0."""
        bins, asked = len(self.confidence), len(sample.items)
        confidence = np.concatenate([self.confidence, self.scores[sample.items]])
        rows = replace(sample, items=bins + np.arange(asked))
        return confidence, rows, np.concatenate([self.count, np.zeros(asked, dtype=np.int64)])
