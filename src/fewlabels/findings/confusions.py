"""The classes that are confused: mistakes seen in labels come first, starting with those that affect the most items."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.belief import Belief
from fewlabels.estimates import affordable, holding, interval, share_ends, value_draws
from fewlabels.metrics import Confusion
from fewlabels.special import betaln, ndtri
from fewlabels.table import Table
from fewlabels.tasks.grounds import Confused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.estimates import Believed
    from fewlabels.metrics import Metric
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.tasks.grounds import GroupRow

MOST = 20
"""The largest number of pairs of classes to report."""
_WHOLE = 10_000
_EXACT = 100_000  # with more unlabelled items, chance adds nothing to the interval of the share


def is_too_large(metric: Metric, groups: Partition, pool: Pool) -> bool:
    """Return whether the metric is a matrix of more than 10,000 cells, of which people are shown the largest mistakes.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool([[0.9, 0.1], [0.2, 0.8]])
    >>> is_too_large(Confusion(), fl.by_predicted(pool), pool)
    False
    """
    return metric.vector and len(groups) * len(pool.classes) > _WHOLE


def read_confusions(
    belief: Believed, cells: Cells, rng: np.random.Generator, *, level: float = 0.95, most: int = MOST, draws: int
) -> Table:
    """Read the largest mistakes: columns group, true, n, labelled, seen, mean, low and high.

    `seen` is how many of the group's labels show that class. Mistakes that were seen come first, and among them those
    that probably affect most items, mean · n. Only the cells of the matrix that are named are drawn: the whole of it
    has a million for 1,000 classes.
    """
    metric, sizes = Confusion(), cells.partition.sizes
    mean = metric.value(belief.mean(), cells)
    counts = np.rint(metric.value(belief.counts, cells)).astype(int)
    items = mean * sizes[:, None]
    assert cells.right is not None  # outcomes are classes
    items[cells.group, cells.right] = 0
    wrong = np.flatnonzero(items)
    flat = wrong[np.lexsort((-items.ravel()[wrong], counts.ravel()[wrong] == 0))[:most]]
    group, true = np.unravel_index(flat, items.shape)
    low, high, used = _ends(belief, cells, rng, level, draws, group, true)
    low, high = holding(mean[group, true], low, high)
    columns = {
        "group": [cells.partition.names[g] for g in group],
        "true": [cells.outcomes[j] for j in true],
        "n": sizes[group].tolist(),
        "labelled": counts.sum(axis=1)[group].tolist(),
        "seen": counts[group, true].tolist(),
        "mean": mean[group, true].tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
    }
    return Table(columns, {"level": level, "target": belief.target, "draws": used, "labels": int(counts.sum())})


def _ends(
    belief: Believed,
    cells: Cells,
    rng: np.random.Generator,
    level: float,
    draws: int,
    group: NDArray[np.intp],
    true: NDArray[np.intp],
) -> tuple[NDArray[np.float64], NDArray[np.float64], int | str]:
    """Low and high of each pair, two of shape (pairs,), and the draws behind them."""
    if not isinstance(belief, Belief):  # labels that were asked by other groups
        used = affordable(draws, belief)
        values = value_draws(Confusion(), belief, cells, rng, used)
        return *interval(values[:, group, true], level), used
    # A group has one predicted class, so it is one cell.
    pairs = belief.single(np.searchsorted(cells.group, group), true)
    low, high, used = share_ends(pairs, level, rng, draws)
    return low[:, 0], high[:, 0], used or "exact"


def items_affected(row: Mapping[str, Any], target: str, level: float) -> tuple[float, float, float]:
    """Return how many items of the pool a mistake affects: the best guess, low and high.

    What labels showed is known, so it is never less. The other items are Beta-binomial, with the mean and the interval
    of the share.

    >>> row = {"n": 40, "labelled": 10, "seen": 2, "mean": 0.2, "low": 0.05, "high": 0.4}
    >>> items_affected(row, "population", 0.95), items_affected(row | {"mean": 0.25}, "pool", 0.95)
    ((8.0, 3.0, 16.0), (10.0, 2.0, 16.0))
    """
    n, seen, mean, low, high = (row[name] for name in ("n", "seen", "mean", "low", "high"))
    if target == "pool":  # the share of these items is known where they are labelled
        return n * mean, n * low, n * high
    left = max(n - row["labelled"], 0)
    sd = (high - low) / (2 * float(ndtri(0.5 + level / 2)))
    strength = mean * (1 - mean) / sd**2 - 1 if sd else math.inf
    if not 0 < strength < math.inf or left > _EXACT:
        return seen + left * mean, seen + left * low, seen + left * high
    k = np.arange(left + 1)
    a, b = mean * strength, (1 - mean) * strength
    log_chance = betaln(k + a, left - k + b) - betaln(a, b) - betaln(k + 1, left - k + 1) - math.log(left + 1)
    first, last = np.searchsorted(np.exp(log_chance).cumsum(), [0.5 - level / 2, 0.5 + level / 2]).tolist()
    mid = left * mean
    return seen + mid, float(seen + min(first, mid)), float(seen + max(min(last, left), mid))


def confused(table: Table, rows: Sequence[GroupRow]) -> tuple[Confused, ...]:
    """Return the mistakes of a table that are in groups whose number is known.

    Those that no label showed are among them if they probably affect at least one item.
    """
    known = {row.group for row in rows if row.is_known}
    names = ("group", "true", "labelled", "seen", "mean", "low", "high")
    level, target = table.settings["level"], table.settings["target"]
    pairs = (
        Confused(**{name: row[name] for name in names}, items=items_affected(row, target, level))
        for row in table
        if row["group"] in known
    )
    return tuple(pair for pair in pairs if pair.seen or pair.items[0] >= 1)
