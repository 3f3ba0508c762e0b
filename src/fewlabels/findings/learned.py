"""What the learned prior found out: how often the classifier is right at each level of confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.estimates import interval
from fewlabels.learned.items import TrustBelief

if TYPE_CHECKING:
    from fewlabels.assessment import Assessment

# The bands of confidence that a reader cares about: most classifiers are more than 90% confident most of the time.
_EDGES = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
_DRAWS = 2_000


@dataclass(frozen=True)
class Band:
    """The items in a band of confidence: their average confidence, and how often the classifier is right."""

    said_from: float
    said_to: float
    items: int
    said: float
    mean: float
    low: float
    high: float


def bands(audit: Assessment, level: float) -> tuple[Band, ...]:
    """Return what was learned about the confidences, band by band; nothing without a belief about single items."""
    belief, confidence = audit.belief(), audit.pool.confidence
    if not isinstance(belief, TrustBelief) or confidence is None or not belief.counts.any():
        return ()
    strip = belief.model.strips.strip
    draws = belief.model.draws(np.random.default_rng(audit.spec.seed), _DRAWS)
    band = np.clip(np.searchsorted(_EDGES, confidence, side="right") - 1, 0, len(_EDGES) - 2)
    band[strip < 0] = -1  # without an answer
    read = []
    count = np.ones(len(strip)) if audit.pool.count is None else audit.pool.count
    for b in np.unique(band[(band >= 0) & (count > 0)]).tolist():
        inside = band == b
        items = count[inside]
        weight = np.bincount(strip[inside], items, minlength=draws.shape[1]) / items.sum()
        right = draws @ weight
        low, high = interval(right, level)
        read.append(
            Band(
                said_from=_EDGES[b],
                said_to=_EDGES[b + 1],
                items=int(items.sum()),
                said=float(np.average(confidence[inside], weights=items)),
                mean=float(right.mean()),
                low=float(low),
                high=float(high),
            )
        )
    return tuple(read)
