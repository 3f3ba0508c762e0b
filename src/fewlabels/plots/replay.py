"""Replays of the log, a part at a time: what the answer was after each number of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.estimates import value_draws
from fewlabels.undefined import averaged, over_draws

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.findings.reading import Reading
    from fewlabels.labelling.ledger import Ledger

POINTS = 32
"""The largest number of label counts to look at; half as many if each of them needs a model of its own.

Where labels may be wrong, each needs many, and there are a fifth as many."""
_NUMBERS = 2**24  # drawn in all
_FEWEST = 400


@dataclass(frozen=True)
class Moment:
    """What was known after some of the labels.

    Parameters
    ----------
    labels
        The number of labels that counted.
    probability
        The probability of the answer, if it has one.
    share
        The share of the named groups that is expected to be right; None if the answer names none.
    mean, low, high
        The average or difference and its interval, if the answer is one.
    error
        √(Σ_g p_g Var θ_g): the expected error of a group, weighted by size; for classes, of a row.
    """

    labels: int
    probability: float | None
    share: float | None
    mean: float | None
    low: float | None
    high: float | None
    error: float


def replay(reading: Reading) -> tuple[Moment, ...]:
    """Return what was known at evenly spaced places of the log, from no label to all of them."""
    audit = reading.audit
    points = POINTS // 5 if audit.spec.noisy else POINTS // 2 if audit.spec.prior.uses_items else POINTS
    cells = audit.spec.cells(audit.pool, audit.groups)
    moments: dict[int, Moment] = {}
    for ledger, belief in audit.replay(points - 1, cells):
        draws = min(reading.draws, max(_FEWEST, _NUMBERS // (points * belief.numbers)))
        moments[ledger.labelled] = _moment(reading, cells, belief, ledger, draws)
    return tuple(moments[labels] for labels in sorted(moments))


def _moment(reading: Reading, cells: Cells, belief: Belief, ledger: Ledger, draws: int) -> Moment:
    task, shares, labels = reading.audit.spec.task, cells.partition.shares, ledger.labelled
    rng = np.random.default_rng([reading.audit.spec.seed, labels])
    if task.metric.vector:
        variance = cells.total(belief.variance().sum(axis=-1))
        return Moment(labels, None, None, None, None, None, float(np.sqrt(shares @ variance)))
    # The number over all items is that of the headline, not the average of the groups.
    answering = reading.audit.over_all(ledger) or (belief, cells)
    answer = task.answer(*answering, rng, level=reading.level, draws=draws)
    if task.metric.marginal:
        variance = cells.total(belief.variance()[:, 0])
    else:
        values = value_draws(task.metric, belief, cells, rng, draws)
        variance = over_draws(lambda kept: kept.var(axis=0), values)
    rows: list[Mapping[str, Any]] = list(answer.table.rows())
    named = [row["chance"] for row in rows[: len(answer.groups)]] if "chance" in answer.table.columns else []
    only = rows[0] if len(rows) == 1 and not named else {}
    mean, low, high = (only.get(name) for name in ("mean", "low", "high"))
    share = float(np.mean(named)) if named else None
    return Moment(labels, answer.probability, share, mean, low, high, float(np.sqrt(averaged(variance, shares))))
