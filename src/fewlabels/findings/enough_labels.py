"""The test of whether a group has enough labels of its own for its number to be shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.estimates import estimate
from fewlabels.metrics import Accuracy
from fewlabels.priors import Uniform
from fewlabels.tasks.backing import is_thin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fewlabels.assessment import Assessment
    from fewlabels.table import Table

NARROWED = 0.5
"""A useful interval is at most this share of its length under a uniform prior without labels."""


def too_long(audit: Assessment, estimates: Table, level: float) -> list[bool]:
    """Return for each group whether its interval is more than half as long as under a uniform prior without labels.

    The estimates are of the assessment's metric, or of accuracy if the metric has a value for each class.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1]] * 40 + [[0.2, 0.8]] * 40, classes=["cat", "dog"])
    >>> audit = fl.create(None, "pets", pool, prior=fl.Uniform())
    >>> _ = audit.tell({str(item): "cat" for item in range(20)}, adopt=True)
    >>> too_long(audit, audit.estimates(), 0.95)
    [False, True]
    """
    metric = Accuracy() if audit.spec.task.metric.vector else audit.spec.task.metric
    cells = metric.cells(audit.pool, audit.groups)
    belief = Uniform().on(cells, "population").blank()
    ignorant = estimate(metric, belief, cells, np.random.default_rng(audit.spec.seed), level=level, draws=1_000)
    pairs = zip(estimates.rows(), ignorant.rows(), strict=True)
    return [_length(row, 0.0) > NARROWED * _length(longest, metric.span) for row, longest in pairs]


def _length(row: Mapping[str, Any], otherwise: float) -> float:
    """Return the length of an interval; what else it is where there is none."""
    return otherwise if row["low"] is None else float(row["high"] - row["low"])


def is_vague(labelled: int, n: int, target: str, ends: tuple[float, float], level: float) -> bool:
    """Return whether an accuracy is vague: too few labels, or an interval longer than half that of Beta(1, 1).

    The interval of Beta(1, 1) is as long as its level.

    >>> is_vague(20, 400, "population", (0.7, 0.95), 0.95), is_vague(6, 400, "population", (0.3, 0.9), 0.95)
    (False, True)
    """
    return is_thin(labelled, n, target) or ends[1] - ends[0] > NARROWED * level
