"""Numbers from a belief: draws of a metric, and means with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from fewlabels.anytime import Bets, pool_sequence, population_sequence
from fewlabels.belief import Belief
from fewlabels.checks import number_in, whole_number
from fewlabels.special import betaincinv
from fewlabels.table import Table
from fewlabels.undefined import averaged, mean_of, over_draws

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from fewlabels.belief import Strata
    from fewlabels.cells import Cells
    from fewlabels.metrics.base import Metric
    from fewlabels.rectified import Rectified

    Believed = Belief | Strata | Rectified

# Numbers held at a time, and drawn in all: 10,000 draws of a confusion matrix of 1,000 classes would take an hour.
_AT_ONCE = 2**23
_IN_ALL = 2**26
_KEEP = 2**23  # values that are kept for the next reader, 64 MB: those of any number of groups, as few as are drawn
_FEWEST = 200
_AVERAGED = 2**30  # numbers of which averages over all cells are made: they are not drawn one by one


def affordable(draws: int, belief: Believed) -> int:
    """The number of draws asked for, or fewer (at least 200) where one draw has a hundred thousand numbers."""
    draws = whole_number(draws, "The number of draws")
    return min(draws, max(_IN_ALL // max(belief.numbers, 1), _FEWEST))


def averageable(draws: int, belief: Believed) -> int:
    """The number of draws asked for, or fewer, of what is not drawn share by share (`Metric.at_once`)."""
    return min(draws, max(_AVERAGED // max(belief.numbers, 1), _FEWEST))


def value_draws(
    metric: Metric, belief: Believed, cells: Cells, rng: np.random.Generator, draws: int
) -> NDArray[np.float64]:
    """Draws of the metric from its posterior, shape (draws, groups), a bounded part of θ at a time.

    The last ones of each belief are kept: estimates, answer and standing of an assessment begin with equal generators,
    and would draw the same numbers one after the other.
    """
    before, kept = rng.bit_generator.state, _KEPT.get(belief)
    if kept is not None and kept.is_for(metric, cells, draws, before):
        rng.bit_generator.state = kept.after
        return kept.values
    values = np.concatenate(list(_parts(metric, belief, cells, rng, draws)))
    if values.size <= _KEEP and isinstance(rng.bit_generator, np.random.PCG64):  # whose states can be compared
        values.flags.writeable = False
        _KEPT[belief] = _Drawn(metric, cells, draws, before, rng.bit_generator.state, values)
    return values


class _Drawn(NamedTuple):
    """Draws, and what they are of: the generator before and after them as well."""

    metric: Metric
    cells: Cells
    draws: int
    before: Any
    after: Any
    values: NDArray[np.float64]

    def is_for(self, metric: Metric, cells: Cells, draws: int, before: Any) -> bool:
        """Whether these are the draws that would be made."""
        return cells is self.cells and draws == self.draws and before == self.before and metric == self.metric


_KEPT: WeakKeyDictionary[Any, _Drawn] = WeakKeyDictionary()


def average_draws(
    metric: Metric, belief: Believed, cells: Cells, rng: np.random.Generator, draws: int
) -> NDArray[np.float64]:
    """Draws of Σ_g p_g θ_g, shape (draws,), or (draws, outcomes) for a metric with a value for each outcome.

    There are as many as are asked for, or as are `affordable`. Where every share of a confusion matrix cannot be drawn
    so often, the averages themselves are drawn (`Belief.averages`).
    """
    asked, draws = draws, affordable(draws, belief)
    axis = -2 if metric.vector else -1
    shares = cells.partition.shares
    if metric.vector and draws < asked and isinstance(belief, Belief) and belief.averaging:
        return belief.averages(rng, averageable(asked, belief))
    if not metric.vector and draws * len(shares) <= _KEEP:
        return averaged(value_draws(metric, belief, cells, rng, draws), shares)
    return np.concatenate([averaged(part, shares, axis) for part in _parts(metric, belief, cells, rng, draws)])


def _parts(
    metric: Metric, belief: Believed, cells: Cells, rng: np.random.Generator, draws: int
) -> Iterator[NDArray[np.float64]]:
    step = max(1, _AT_ONCE // max(belief.numbers, 1))
    for start in range(0, draws, step):
        theta = belief.draws(rng, min(step, draws - start))
        yield metric.value(metric.evident(theta, belief.counts, cells), cells)


def check_level(level: float) -> float:
    """Return the level as Python's number if it lies between 0 and 1; otherwise raise an InputError."""
    return number_in(level, "The 'level'", high=1, hint="such as 0.95")


def interval(
    draws: NDArray[np.float64], level: float, *, shortest: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The equal-tailed interval of draws along the first axis, or the shortest one; NaN where most have no value.

    >>> ends = interval(np.arange(101.0) ** 2, 0.9, shortest=True)
    >>> [float(end) for end in ends]
    [0.0, 8100.0]
    """
    if not shortest:
        low, high = over_draws(lambda kept: _quantiles(kept, [(1 - level) / 2, (1 + level) / 2]), draws)
        return low, high
    ordered, inside = np.sort(draws, axis=0), min(int(np.ceil(level * len(draws))), len(draws)) - 1
    first = (ordered[inside:] - ordered[: len(draws) - inside]).argmin(axis=0)[None]
    low, high = (np.take_along_axis(ordered, first + ahead, axis=0)[0] for ahead in (0, inside))
    return low, high


def _quantiles(draws: NDArray[np.float64], at: Sequence[float]) -> NDArray[np.float64]:
    """What `np.quantile` gives along the first axis; but with that NumPy imports its masked arrays, which take time.

    >>> _quantiles(np.array([4.0, 1.0, 2.0]), [0.25, 1.0])
    array([1.5, 4. ])
    """
    place = np.multiply(at, len(draws) - 1)
    before = np.floor(place).astype(np.intp)
    after = np.minimum(before + 1, len(draws) - 1)
    part = np.partition(draws, sorted({*before.tolist(), *after.tolist()}), axis=0)
    way = (place - before).reshape(-1, *[1] * (draws.ndim - 1))
    low, high = part[before], part[after]
    return np.where(way < 0.5, low + (high - low) * way, high - (high - low) * (1 - way))


def unfolded(
    draws: NDArray[np.float64], level: float, at_means: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The interval of a folded value, which doubt makes larger: the shortest one of its draws, with a lower low end.

    A draw of Σ|θ − s| is larger than the value at the means by B on average, because doubt about θ folds over. The
    means are themselves as far from the truth as draws are from them, so that the value at the means is larger than the
    truth by about B as well. The low end is moved by both, and not below 0: so a classifier that is well calibrated can
    be found to be so.

    >>> low, high = unfolded(np.abs(np.linspace(-0.1, 0.3, 401)), 0.95, np.array(0.1))
    >>> round(float(low), 3), round(float(high), 3)
    (0.0, 0.28)
    """
    low, high = interval(draws, level, shortest=True)
    return np.maximum(low - 2 * np.maximum(draws.mean(axis=0) - at_means, 0), 0), high


def holding(
    mean: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The interval, widened where it does not contain the mean.

    A share that is 0 with probability 0.99 has the interval [0, 0] and a mean above it, as happens with rare classes.
    """
    return np.minimum(low, mean), np.maximum(high, mean)


def expected_right(cells: Cells) -> NDArray[np.float64]:
    """What share of right labels to bet on in each cell before the first one, shape (cells,): its mean confidence."""
    return np.full(len(cells), 0.5) if cells.confidence is None else cells.confidence


def summed_up(drawn: NDArray[np.float64], level: float) -> tuple[list[Any], list[Any], list[Any]]:
    """Mean, low and high of each column of draws; None where more than half of them are undefined."""
    mean = mean_of(drawn)
    low, high = holding(mean, *interval(drawn, level))
    made = [[None if np.isnan(value) else value for value in ends.tolist()] for ends in (mean, low, high)]
    return made[0], made[1], made[2]


def sequences(
    metric: Metric,
    belief: Belief,
    cells: Cells,
    level: float,
    *,
    together: bool = False,
    missing: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Low and high of each group at this look, two of shape (groups,), that hold at every look; see `anytime`.

    It needs a metric that is a single share, and labels that are a random sample within each group. Each group's
    interval has the level; with `together` all of them hold at once with that probability, 1 − level being shared out
    evenly. `missing` are items of each group that were asked about and have no label, shape (groups,): they may be the
    hard ones, so the low end takes all of them for wrong, and the high end for right.
    """
    right, wrong = (np.rint(belief.counts[:, outcome]).astype(np.int64) for outcome in (0, 1))
    bets = Bets.on(expected_right(cells))
    each = 1 - (1 - level) / max(len(cells), 1) if together else level

    def ends(more_right: NDArray[np.int64], more_wrong: NDArray[np.int64]) -> tuple[NDArray[np.float64], ...]:
        if belief.target == "pool":
            return pool_sequence(right + more_right, wrong + more_wrong, cells.size, bets, each)
        return population_sequence(right + more_right, wrong + more_wrong, bets, each)

    none = np.zeros_like(right)
    low, high = ends(none, none)
    if missing is not None and missing.any():
        low, high = ends(none, missing[cells.group])[0], ends(missing[cells.group], none)[1]
    # The value is the share of the first outcome, so that the ends are the values at the ends.
    low, high = (metric.value(np.stack([end, 1 - end], axis=-1), cells) for end in (low, high))
    return low, high


def guaranteed(
    metric: Metric,
    belief: Belief,
    cells: Cells,
    table: Table,
    *,
    together: bool = False,
    missing: NDArray[np.int64] | None = None,
) -> Table:
    """A table of estimates with intervals that hold at every look; the mean stays, moved into its interval."""
    low, high = sequences(metric, belief, cells, table.settings["level"], together=together, missing=missing)
    columns = dict(table.columns)
    known = [mean is not None for mean in columns["mean"]]
    mean = np.clip([mean if ok else 0.0 for mean, ok in zip(columns["mean"], known, strict=True)], low, high)
    for name, values in (("mean", mean), ("low", low), ("high", high)):
        columns[name] = [value if ok else None for value, ok in zip(values.tolist(), known, strict=True)]
    settings: dict[str, Any] = {"guarantee": "anytime", "holds": "all groups together" if together else "each group"}
    if missing is not None and missing.any():
        settings["missing"] = int(missing.sum())
    return Table(columns, dict(table.settings) | settings)


def estimate(
    metric: Metric,
    belief: Believed,
    cells: Cells,
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    draws: int = 10_000,
) -> Table:
    """Mean and interval of the metric in each group: columns group, n, labelled, mean, low, high.

    The interval is equal-tailed, or `unfolded` where the metric is `folded`. It is exact (Beta quantiles) where
    the value is a share of one cell and the target is the population; it comes from Monte Carlo elsewhere. A confusion
    row has a line for each true class, in a column `true`. In a group without items, mean, low and high are None,
    and so are they where the value is 0/0 in most draws, as the recall of a class that does not occur.

    Where the value is not linear in θ there is a column `median` as well. For calibration error it is the better guess:
    each |θ − s| that is not settled adds to the mean, and less to the median (see docs/learned-prior-measured.md).
    """
    level = check_level(level)
    labelled = np.rint(cells.total(belief.counts.sum(axis=-1))).astype(int)
    used = affordable(draws, belief)
    if isinstance(belief, Belief) and (metric.vector or (metric.marginal and belief.conjugate)):
        # The value is a share of one cell, so its interval is that of the share.
        *ends, used = share_ends(belief, level, rng, draws)
        low, high = (metric.value(end, cells) for end in ends)
    else:
        values = value_draws(metric, belief, cells, rng, used)
        at_means = metric.value(belief.mean(), cells)
        low, high = unfolded(values, level, at_means) if metric.folded else interval(values, level)
    numbers = {"mean": metric.value(belief.mean(), cells) if metric.linear else mean_of(values)}
    numbers["low"], numbers["high"] = holding(numbers["mean"], low, high)
    if not metric.linear:
        numbers["median"] = over_draws(lambda kept: np.median(kept, axis=0), values)
    settings = {
        "level": level,
        "target": belief.target,
        "draws": used or "exact",
        "labels": int(labelled.sum()),
    }
    if left_out := metric.left_out(belief.counts, cells):
        settings["classes_left_out"] = left_out
    return _table(metric, cells, labelled, numbers, settings)


def share_ends(
    belief: Belief, level: float, rng: np.random.Generator, draws: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """The interval of each share, two of shape (cells, outcomes), and how many draws it is from: 0 if it is exact."""
    if belief.conjugate and belief.target == "population":
        return *_share_quantiles(belief, level), 0
    used = affordable(draws, belief)
    return *_share_intervals(belief, level, rng, used), used


def _share_quantiles(belief: Belief, level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The interval of each share θ_cj ~ Beta(α_cj, s_c − α_cj), two of shape (cells, outcomes)."""
    rest = belief.strength[:, None] - belief.alpha
    # An outcome that cannot occur has the share 0, and one that cannot fail to has 1.
    possible = (belief.alpha > 0) & (rest > 0)
    a, b, corner = np.where(possible, belief.alpha, 1), np.where(possible, rest, 1), (rest <= 0).astype(float)
    if ((a == 1) & (b == 1)).all():  # every share is equally likely: the quantiles are the levels
        ends: list[Any] = [(1 - level) / 2, (1 + level) / 2]
    else:
        ends = [betaincinv(a, b, q) for q in ((1 - level) / 2, (1 + level) / 2)]
    low, high = (np.where(possible, end, corner) for end in ends)
    return low, high


def _share_intervals(
    belief: Belief, level: float, rng: np.random.Generator, draws: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The interval of each share by Monte Carlo, some cells at a time; two of shape (cells, outcomes)."""
    low, high = np.empty_like(belief.alpha), np.empty_like(belief.alpha)
    step = max(1, _AT_ONCE // (draws * belief.alpha.shape[1]))
    for start in range(0, len(low), step):
        part = slice(start, start + step)
        low[part], high[part] = interval(belief.rows(part).draws(rng, draws), level)
    return low, high


def _table(
    metric: Metric,
    cells: Cells,
    labelled: NDArray[np.int64],
    numbers: Mapping[str, NDArray[np.float64]],
    settings: dict[str, Any],
) -> Table:
    partition = cells.partition
    lines = len(cells.outcomes) if metric.vector else 1
    index = np.repeat(np.arange(len(partition)), lines)
    columns: dict[str, Sequence[Any]] = {"group": [partition.names[g] for g in index]}
    if metric.vector:
        columns["true"] = list(cells.outcomes) * len(partition)
    columns["n"] = partition.sizes[index].tolist()
    columns["labelled"] = labelled[index].tolist()
    has_items = partition.sizes[index] > 0
    for name, values in numbers.items():
        flat = values.reshape(-1).tolist()
        columns[name] = [
            None if not ok or np.isnan(value) else value for value, ok in zip(flat, has_items, strict=True)
        ]
    return Table(columns, settings)
