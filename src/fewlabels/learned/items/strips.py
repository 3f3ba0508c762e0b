"""The items of a pool, sorted into strips of nearly equal confidence."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fewlabels.learned.items.between import IF_OPEN, larger, surer
from fewlabels.learned.items.evidence_terms import by_group, lifts, patterns
from fewlabels.learned.items.kinds import NO_CONFIDENCE, SURE, intercepts, is_open, kinds_of
from fewlabels.learned.items.shifted import with_shifts
from fewlabels.learned.items.sums import RowSums, Sums
from fewlabels.partition import numbered
from fewlabels.special import expit, logit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# Confidences nearer to 0 or 1 than this say nothing more.
_EDGE = 1e-4
# Strips into which the confidences of the pool are sorted.
_STRIPS = 16
# Factors with up to this many levels together may interact: a group can be bad at one class and not at the others.
# Beyond that it would take seconds.
_INTERACT = 80
# Bins of confidence differ less from a smooth curve than groups do from each other: by this much.
_SMOOTH = 0.25
# How often a judge is right differs more between what it passes and what it fails than between groups: if most items
# are good, nearly all that it passes are, and of what it fails perhaps half.
_VERDICTS = 3.0
# By Bayes' rule, a verdict that a group gets more often is more often right there: with a judge that is equally good
# everywhere, its log-odds of being right move with those of the group's true rate, and these differ by more than those
# of its verdicts, since it errs. Mean and sd of g. How much more than by chance the shares of verdicts differ is found
# as if there were so many more groups whose shares are so far apart, since a few groups do not show it.
_OFTENER = np.array([1.2, 0.5])
_MORE, _APART = 2, 0.05
# Sizes of groups that differ by less than this are equal.
_EQUAL = 1e-12
# The least confidence of a classifier is the one that this share of its items are below.
_LEAST = 0.01
_ALL = slice(None)


class Factors(NamedTuple):
    """What items differ by beyond their confidences, such as groups and predicted classes.

    Each factor has levels, and each level has an effect on the log-odds of being right.

    Parameters
    ----------
    levels
        The level of each item, shape (items,) each. The first factor is the groups whose confidences are compared.
    bins
        For each factor whether it is bins of confidence, which differ less from a smooth curve than groups do from each
        other; none is if this is empty.
    columns
        Whether the first factor comes from columns of the pool alone.
    verdicts
        Whether the last factor is the two classes that are predicted, about which nothing else is known.
    classes
        Whether the first factor is the predicted classes.
    """

    levels: Sequence[NDArray[np.int64]]
    bins: Sequence[bool] = ()
    columns: bool = False
    verdicts: bool = False
    classes: bool = False

    def of(self, kept: slice | NDArray[np.bool_] | NDArray[np.intp]) -> Factors:
        """The factors of some items."""
        return self._replace(levels=[levels[kept] for levels in self.levels])


@dataclass(frozen=True, eq=False)
class Strips:
    """The items of the cells, sorted into strips: same cell, same group and other factors, nearly equal confidence.

    Parameters
    ----------
    strip
        The strip of each item, shape (items,).
    cell
        The cell of each strip, shape (strips,).
    effect
        The level of the first factor in each strip, which has an effect u, in increasing order, shape (strips,).
    crossed
        The levels of the other factors in each strip, whose effects v are fitted beside a, b and g: shape (factors,
        strips).
    x
        Mean of logit s − x0 in each strip, shape (strips,); all 0 without confidences.
    between
        z of each strip's group: how much surer the group is than the pool, shape (strips,); all 0 for one group.
    size
        Items in each strip, shape (strips,).
    kinds
        The prior of (a, b, g, h), shape (kinds, 9): weight, then mean and sd of each; (kinds, 7) without h, if no group
        is larger than another.
    scale
        How much the levels of each factor differ compared with groups, the first one's first, shape (1 + factors,).
    said
        The mean confidence of all items, or None without confidences.
    columns
        Whether the first factor comes from columns of the pool alone, and not from predicted classes.
    evidence
        The mean of each evidence column in each strip, shape (columns, strips).
    larger
        How much larger each strip's group is than the others, shape (1, strips); (0, 0) if all are equal.
    lift
        What is added to the mean of a at each kind and each s of the evidence, shape (kinds, scales).
    """

    strip: NDArray[np.int64]
    cell: NDArray[np.int64]
    effect: NDArray[np.int64]
    crossed: NDArray[np.int64]
    x: NDArray[np.float64]
    between: NDArray[np.float64]
    size: NDArray[np.int64]
    kinds: NDArray[np.float64]
    scale: NDArray[np.float64]
    said: float | None = None
    columns: bool = False
    evidence: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    lift: NDArray[np.float64] = field(default_factory=lambda: np.zeros((1, 1)))
    larger: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))

    @cached_property
    def by_cell(self) -> Sums:
        """Sums over the strips of each cell."""
        return Sums(self.cell)

    @cached_property
    def by_row(self) -> RowSums:
        """Sums over the strips of each cell, of rows that are made in its order."""
        return RowSums(self.cell)

    @cached_property
    def pieces(self) -> tuple[NDArray[np.int64], Sums, Sums]:
        """Pieces of one cell with one effect: their effects, the sums over their strips, and over those of a cell."""
        effects = int(self.effect.max(initial=0)) + 1
        used, piece = np.unique(self.cell * effects + self.effect, return_inverse=True)
        return used % effects, Sums(piece), Sums(used // effects)

    @cached_property
    def design(self) -> NDArray[np.float64]:
        """What the shared effects are multiplied by in each strip, shape (own + effects, strips).

        The log-odds of being right are a + b·x + g·between + h·larger + Σ b_e·evidence_e + Σ v of its levels, and the u
        of its level of the first factor on top.
        """
        ones = [levels == np.arange(int(levels.max()) + 1)[:, None] for levels in self.crossed]
        first = [np.ones_like(self.x), self.x, self.between, *self.larger, *self.evidence]
        return np.concatenate([first, *ones]).astype(float)

    @property
    def own(self) -> int:
        """How many shared effects are not those of a crossed factor: a, b, g, h, and one for each evidence column."""
        return 3 + len(self.larger) + len(self.evidence)


def strips(
    confidence: NDArray[np.float64] | None,
    cell: NDArray[np.int32],
    factors: Factors,
    evidence: NDArray[np.float64] | None = None,
    count: NDArray[np.int64] | None = None,
) -> Strips:
    """Sort the items of cells by confidence, and by what else is known about them.

    x0 is the mean of logit s weighted by s(1−s), so that a change of b alone hardly changes the overall accuracy; and
    evidence is measured from such a mean too.

    Parameters
    ----------
    confidence, cell
        Of each item, shape (items,).
    factors
        What has effects of its own.
    evidence
        What else is known about each item, shape (items, columns).
    count
        How many items each row stands for, shape (items,); None if every row is an item.

    >>> import numpy as np
    >>> cell = np.array([0, 0, 1], dtype=np.int32)
    >>> found = strips(np.array([0.6, 0.9, 0.9]), cell, Factors([cell]))
    >>> found.cell, found.size
    (array([0, 0, 1]), array([1, 1, 1]))
    """
    ordered, scale = _ordered(factors)
    groups, columns = factors.levels[0], factors.columns
    levels: list[NDArray[np.integer[Any]]] = [*ordered, cell]
    n = np.ones(len(cell)) if count is None else count.astype(float)
    alike = [] if evidence is None else [patterns(evidence, n)]
    if confidence is None:
        strip, first = _pieces([*levels, *alike])
        nothing = np.zeros(len(first))
        size = np.bincount(strip, count).astype(np.int64)
        between, kinds = nothing, NO_CONFIDENCE
        if factors.verdicts and len(factors.levels) > 1:
            between, kinds = oftener(groups, factors.levels[-1], n)[first], NO_CONFIDENCE.copy()
            kinds[:, 5:] = _OFTENER
        made = Strips(strip, *_at(levels, first), nothing, between, size, kinds, scale, columns=columns)
        made = _sized(made, factors, n, n)
        return _beside(made, evidence, groups, n, n, expit(NO_CONFIDENCE[:, 1]))
    # Rows that stand for no item are like rows that do, and only need their strip.
    rows = slice(None) if count is None else np.flatnonzero(count)
    s, n, own = np.clip(confidence[rows], _EDGE, 1 - _EDGE), n[rows], groups[rows]
    x, doubt = logit(s), s * (1 - s) * n
    x0 = doubt @ x / doubt.sum()
    x -= x0
    # Half by number and half by doubt: where nearly all items are sure, the few others must not share one strip.
    order = np.argsort(s)
    mass = np.cumsum(0.5 * n[order] / n.sum() + 0.5 * doubt[order] / doubt.sum())
    edges = s[order][np.searchsorted(mass, np.arange(1, _STRIPS) / _STRIPS)]
    # They are in order already. And with `np.unique` NumPy imports its masked arrays, a tenth of a command.
    edges = edges[np.diff(edges, prepend=-np.inf) > 0]
    place = np.searchsorted(edges, np.clip(confidence, _EDGE, 1 - _EDGE), side="right")
    strip, first = _pieces([*levels, place, *alike])
    size = np.bincount(strip[rows], n).astype(np.int64)
    middle = np.bincount(strip[rows], x * n) / size
    between = surer(np.clip(logit(s), -SURE, SURE), x, own, doubt, n)[groups[first]]
    mean = float(np.average(s, weights=n))
    least = float(s[order][np.searchsorted(np.cumsum(n[order]), _LEAST * n.sum())])
    kinds = kinds_of(mean, least, columns=columns)
    kinds[:, 1] += intercepts(kinds[:, [3, 5]] @ np.stack([middle, between]), size, mean)
    level = float(np.average(confidence[rows], weights=n))
    made = Strips(strip, *_at(levels, first), middle, between, size, kinds, scale, level, columns)
    made = _sized(made, factors.of(rows), n, doubt, expit(middle + x0), rows)
    evidence = None if evidence is None else evidence[rows]
    return _beside(made, evidence, own, n, doubt, np.full(len(made.kinds), mean), rows)


def oftener(groups: NDArray[np.int64], verdict: NDArray[np.int64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much more often the group of each item gets its verdict than all items do, in log-odds; shape (items,).

    The shares of groups are shrunk by how reliable they are, so that groups that differ by chance alone do not differ.

    >>> groups, verdict = np.repeat([0, 1], 45), np.repeat([1, 0, 1], [30, 45, 15])
    >>> oftener(groups, verdict, np.ones(90)).round(2)[[0, 30, 89]]
    array([ 0.49, -0.49, -0.49])
    """
    size, every = np.maximum(np.bincount(groups, n), 1), float(np.average(verdict, weights=n))
    apart, chance = np.bincount(groups, (verdict - every) * n) / size, every * (1 - every) / size
    # The variance between groups beyond what chance alone would make of groups of these sizes.
    variance = ((apart**2).sum() + _MORE * _APART**2) / (len(size) - 1 + _MORE)
    differ = max(variance - float(chance.mean()), 0.0)
    share = every + apart * differ / (differ + chance + _EDGE**2)
    own, usual = (logit(np.clip(part, _EDGE, 1 - _EDGE)) for part in (share, every))
    return np.where(verdict == 1, 1, -1) * (own - usual)[groups]


def _sized(
    made: Strips,
    factors: Factors,
    n: NDArray[np.float64],
    doubt: NDArray[np.float64],
    s: NDArray[np.float64] | None = None,
    rows: slice | NDArray[np.intp] = _ALL,
) -> Strips:
    """Strips with the sizes of their groups, and the prior of h; as they are if all sizes are equal, or for bins.

    `s` is the confidence of each strip, shape (strips,); None without confidences. The factors are those of `rows`.
    """
    group = factors.levels[0]
    size, sd = larger(group, doubt, n, columns=factors.columns)
    if np.ptp(size) < _EQUAL or any(factors.bins[:1]):
        return made
    of = np.empty(len(made.x), dtype=np.int64)
    of[made.strip[rows]] = group
    sds = sd * np.where(is_open(made.kinds), IF_OPEN, 1.0)
    kinds = np.column_stack([made.kinds, 0 * sds, sds])
    if factors.classes and s is not None:
        kinds = with_shifts(kinds, s, of, made.size, size[of])
    return replace(made, larger=size[of][None], kinds=kinds)


def _beside(
    made: Strips,
    evidence: NDArray[np.float64] | None,
    group: NDArray[np.int64],
    n: NDArray[np.float64],
    doubt: NDArray[np.float64],
    goal: NDArray[np.float64],
    rows: slice | NDArray[np.intp] = _ALL,
) -> Strips:
    """Strips with the evidence of their items and groups; `goal` is the share right expected of each kind, (kinds,).

    Evidence, groups, n and doubt are those of `rows`.
    """
    if evidence is None:
        return made
    evidence = np.column_stack([evidence, by_group(evidence, group, n)])
    centred = evidence - doubt @ evidence / doubt.sum()
    values = np.array([np.bincount(made.strip[rows], column * n) / made.size for column in centred.T])
    rest = made.kinds[:, [3, 5]] @ np.stack([made.x, made.between])
    flat = lifts(rest, values, made.size, goal)
    return replace(made, evidence=values, lift=flat - lifts(rest, 0 * values, made.size, goal)[:, :1])


def _ordered(factors: Factors) -> tuple[list[NDArray[np.int64]], NDArray[np.float64]]:
    """The factors in the order of the fit, and how much the levels of each differ compared with groups.

    The fit integrates out the first, level by level, and solves for the others. The first is the interaction of all
    factors, or, if they have many levels, the factor that has most.
    """
    scale = [_SMOOTH if is_bins else 1.0 for is_bins in factors.bins or [False] * len(factors.levels)]
    if factors.verdicts and len(scale) > 1:
        scale[-1] = _VERDICTS
    if len(scale) > 1 and sum(int(levels.max(initial=0)) + 1 for levels in factors.levels) <= _INTERACT:
        return [_pieces(factors.levels)[0], *factors.levels], np.array([min(scale), *scale])
    order = sorted(range(len(scale)), key=lambda factor: -int(factors.levels[factor].max(initial=0)))
    return [factors.levels[factor] for factor in order], np.array([scale[factor] for factor in order])


def _pieces(levels: Sequence[NDArray[np.integer[Any]]]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """The piece of each item, in which all levels are equal, and an item of each piece; in the order of the levels."""
    piece = np.zeros(len(levels[0]), dtype=np.int64)
    for level in levels:
        piece *= int(level.max(initial=0)) + 1
        piece += level
        piece = numbered(piece)[1]
    item = np.empty(int(piece.max(initial=-1)) + 1, dtype=np.intp)
    item[piece] = np.arange(len(piece))
    return piece, item


def _at(
    levels: Sequence[NDArray[np.integer[Any]]], first: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Cell, first factor and the other factors of some items, from the levels of factors and cells."""
    effect, *crossed, cell = (level[first].astype(np.int64) for level in levels)
    return cell, effect, np.array(crossed, dtype=np.int64).reshape(len(crossed), len(first))
