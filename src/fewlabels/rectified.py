"""The number over all items: the belief, corrected by the labels that were drawn at random from all of them.

A belief that learns from steered labels can be off for all items together, and its interval does not show it: groups
without labels are judged by those that have some. Labels drawn at random from the whole pool (anchors) are few, but
their mean is unbiased whatever the truth. `rectified` combines the two into one number. Where labels were asked for in
strips of confidence, every label speaks for its strip, so that all of them correct the number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np

from fewlabels.sample import EDGE
from fewlabels.special import expit, logit, student

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.belief import Belief, Strata, Target
    from fewlabels.sample import Sample

# How far the belief may be off for all items after steered asking, as a change of every item's log-odds: its standard
# deviation, and how probable that is beforehand. Measured: docs/learned-prior-measured.md has the table.
_OFF = np.array([0.1, 0.35])
_OFF_PRIOR = np.array([0.9, 0.1])
# From which distance on, in log-odds, labels contradict confidences; how much further off the belief may be then; and
# from how many labels on a group is known rather by its own than by those of others.
_CONTRADICTED, _FURTHER, _OWN = 1.5, 3.0, 5
# Mean confidences beyond these are not taken at their word.
_ENDS = 0.02, 0.98
# The prior of the recalibration: σ(a + b·logit s), a ~ N(0, 2²), b ~ N(1, 0.5²).
_MEAN, _PRECISION = np.array([0.0, 1.0]), np.array([0.25, 4.0])
# How many more residuals, of the variance that the recalibration expects, count beside those of the anchors.
_EXPECTED = 4.0
# Draws from which the variance of the belief is taken.
_DRAWS = 1_000


def recalibrated(confidence: NDArray[np.float64] | None, items: int, sample: Sample) -> NDArray[np.float64]:
    """f_i = σ(a + b·logit s_i): how probably each item is right, by a curve through the labels; shape (items,).

    Two numbers are fitted to all labels, so that no label has much to say about its own item. Without confidences it is
    the same share for all items.

    >>> from fewlabels.sample import Sample
    >>> sample = Sample(np.array([0, 1]), np.array([1.0, 0.0]), np.array([True, True]))
    >>> recalibrated(np.array([0.9, 0.6, 0.9]), 3, sample).round(2)
    array([0.82, 0.4 , 0.82])
    """
    s = np.full(items, 0.5) if confidence is None else np.clip(confidence, EDGE, 1 - EDGE)
    x, here = np.stack([np.ones(items), logit(s)]), sample.labelled
    design, right, ab = x[:, sample.items[here]], sample.right[here], _MEAN.copy()
    for _ in range(25):
        chance = expit(ab @ design)
        slope = design @ (right - chance) - _PRECISION * (ab - _MEAN)
        step = np.linalg.solve((design * (chance * (1 - chance))) @ design.T + np.diag(_PRECISION), slope)
        ab += np.clip(step, -1, 1)
        if np.abs(step).max() < 1e-9:
            break
    fitted: NDArray[np.float64] = expit(ab @ x)
    return fitted


class Residual(NamedTuple):
    """The mean of right_i − f_i in a part of the pool, its variance, and how many degrees of freedom that has."""

    mean: float
    variance: float
    degrees: float

    @classmethod
    def of(cls, r: NDArray[np.float64], counts: NDArray[np.bool_], items: int, usual: float) -> Self:
        """Estimate it from the residuals r of the items that were asked for, in the order of asking.

        The t-th of them, if it `counts`, is any of the F_t items that were free at that time, so

        T_t = (Σ_{asked before} r + F_t r_t) / N

        is right on average for any f that does not depend on its label, however the other items were chosen: the items
        asked before are known, and F_t r_t estimates Σ r over the rest. The T_t are averaged with weights 1/F_t², so
        that where all items are labelled no doubt is left. `usual` is the variance of r that f expects.
        """
        free = items - np.arange(len(r), dtype=float)
        each = (np.cumsum(r) - r + free * r) / items
        weight, own = 1 / free[counts] ** 2, r[counts]
        degrees = len(own) - 1 + _EXPECTED
        # Where mistakes are rare, the labels often show none, and would be too sure of it.
        variance = max((((own - own.mean()) ** 2).sum() + _EXPECTED * usual) / degrees, usual)
        total = float(weight.sum())
        return cls(float((weight * each[counts]).sum() / total), variance / total / items**2, degrees)

    @classmethod
    def together(cls, parts: list[Self], weight: NDArray[np.float64]) -> Self:
        """The weighted mean of independent ones, with the degrees of freedom of Welch and Satterthwaite."""
        mean, variance, degrees = np.array(parts).T
        variance = weight**2 * variance
        total = float(variance.sum())
        return cls(float(weight @ mean), total, total**2 / float((variance**2 / degrees).sum()))

    @property
    def sd(self) -> float:
        """Its standard deviation. A variance from few labels is itself uncertain: with this one, normal intervals are
        as long as those of Student's t.
        """
        return student(round(self.degrees)) / 1.959964 * float(np.sqrt(self.variance))


def anchored_mean(
    expected: NDArray[np.float64], sample: Sample, count: NDArray[np.int64] | None = None
) -> tuple[float, float]:
    """The share right among all items by the anchors, and its standard deviation; (0, ∞) without anchors.

    It is the mean of f, the `expected` shares, plus the mean of right − f by the anchors (`Residual`): the difference
    estimator. In strips every label speaks for its strip. So as soon as each strip has a label, the mean of right − f
    is Σ_k n_k/N · that of strip k, which has n_k of the N items (a stratified sample). `count` is how many items each
    row stands for, as in `Pool.count`.

    >>> from dataclasses import replace
    >>> from fewlabels.sample import Sample, Strips
    >>> sample = Sample(np.array([0, 2, 1]), np.array([1.0, 1.0, 0.0]), np.array([True, False, True]))
    >>> round(anchored_mean(np.full(3, 0.5), sample)[0], 3)  # T_1 = 1, T_3 = 2/3, with weights 1 to 9
    0.7
    >>> strips = Strips(np.array([1, 2]), np.array([0, 1, 1]), np.array([True, True, True]))
    >>> round(anchored_mean(np.full(3, 0.5), replace(sample, strips=strips))[0], 3)  # 1/3 · 1 + 2/3 · 0.6
    0.733
    """
    items = len(expected) if count is None else int(count.sum())
    r, doubt = np.nan_to_num(sample.right - expected[sample.items]), expected * (1 - expected)
    if sample.in_all_strips is not None:
        sizes, strip, counts = sample.in_all_strips
        parts = []
        for k in np.flatnonzero(sizes).tolist():
            here = strip == k
            usual = float(doubt[sample.items[here & counts]].mean())
            parts.append(Residual.of(r[here], counts[here], int(sizes[k]), usual))
        residual = Residual.together(parts, sizes[sizes > 0] / items)
    elif sample.anchors:
        counts = sample.anchor & sample.labelled
        residual = Residual.of(r, counts, items, float(np.average(doubt, weights=count)))
    else:
        return 0.0, np.inf
    return float(np.average(expected, weights=count)) + residual.mean, residual.sd


@dataclass(frozen=True, eq=False)
class Rectified:
    """A belief about all items, in one cell or several, and how far the share right among all is probably off.

    That share is θ + shift + N(0, spread²), in a mixture. Where the items lie in several cells, such as bins of
    confidence, the change is one of every item's log-odds, so a cell gets part_c = o_c m_c(1 − m_c) / Σ w o m(1 − m) of
    it, with m_c its mean, o_c its open share and w_c its share of the items.

    Parameters
    ----------
    belief
        The belief, about cells of all items and two outcomes.
    weight, shift, spread
        A mixture of normal corrections, three of shape (points,).
    part
        How much of a correction each cell gets, shape (cells,).
    limits
        The least and the largest values that the labels leave possible, shape (2, cells).
    anchors
        How many labels were drawn at random from all items.
    """

    belief: Belief | Strata
    weight: NDArray[np.float64]
    shift: NDArray[np.float64]
    spread: NDArray[np.float64]
    part: NDArray[np.float64]
    limits: NDArray[np.float64]
    anchors: int

    conjugate: ClassVar[bool] = False

    @property
    def target(self) -> Target:
        """Whether the share is that of the population or of the pool."""
        return self.belief.target

    @property
    def numbers(self) -> int:
        """The number of values in one draw."""
        return self.belief.numbers

    @property
    def counts(self) -> NDArray[np.float64]:
        """Label counts, shape (cells, 2)."""
        return self.belief.counts

    @property
    def size(self) -> NDArray[np.int64]:
        """The number of items, shape (cells,)."""
        return self.belief.size

    @property
    def labels(self) -> int:
        """The number of labels."""
        return int(np.rint(self.counts.sum()))

    @property
    def left(self) -> NDArray[np.int64]:
        """The number of items without a label, shape (cells,)."""
        return self.belief.left

    def mean(self) -> NDArray[np.float64]:
        """E θ, shape (cells, 2)."""
        right = np.clip(self.belief.mean()[:, 0] + self.part * (self.weight @ self.shift), *self.limits)
        return np.stack([right, 1 - right], axis=-1)

    def variance(self) -> NDArray[np.float64]:
        """Var θ, shape (cells, 2)."""
        return self.draws(np.random.default_rng(0), _DRAWS).var(axis=0)

    def draws(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of θ, shape (n, cells, 2)."""
        right = self.corrected(self.belief.draws(rng, n)[..., 0], rng)
        return np.stack([right, 1 - right], axis=-1)

    def corrected(self, right: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draws of the shares right as the belief has them, each with a draw of the correction, shape (n, cells)."""
        point = rng.choice(len(self.weight), size=len(right), p=self.weight)
        change = self.shift[point] + self.spread[point] * rng.standard_normal(len(right))
        return np.clip(right + change[:, None] * self.part, *self.limits)


def rectified(
    belief: Belief | Strata,
    confidence: NDArray[np.float64] | None,
    sample: Sample,
    rng: np.random.Generator,
    count: NDArray[np.int64] | None = None,
    drawn: NDArray[np.float64] | None = None,
    *,
    bare: float = 0.0,
) -> Rectified:
    """Hold a belief about all items, in one cell or several, against the anchors.

    Its variance is taken from draws, or from those that are given: `drawn` shares right, shape (n, cells). `bare` is
    how much of the pool lies in groups with hardly any labels (`unheard`).

    The belief says M ± s, the anchors R ± t. The belief has seen the anchors too: if it were right, it would use them
    best, and then Var(R − M) = t² − s² =: q (Hausman 1978). If it is off by b ~ N(0, σ²), then R − M ~ N(−b, q), so

    E b = −w(R − M) with w = σ²/(σ² + q), and the number over all items is M + w(R − M), its variance s² + wq.

    σ is a change of the log-odds of every item, of a size that was measured, times `contradiction`, and is mixed over
    two values by what the anchors say: so few anchors move the number little, many decide it, and without any the
    interval is that of a belief which rests on the scores.

    >>> from fewlabels.belief import Belief
    >>> from fewlabels.sample import Sample
    >>> whole = Belief(np.ones((1, 2)), np.array([[30.0, 20.0]]), np.array([1000]), "pool")
    >>> sample = Sample(np.arange(50), np.repeat([1.0, 0.0], [30, 20]), np.arange(50) % 5 == 0)
    >>> found = rectified(whole, None, sample, np.random.default_rng(0))
    >>> found.anchors, found.mean().round(3)
    (10, array([[0.596, 0.404]]))
    """
    size, items = belief.size, int(belief.size.sum())
    expected = recalibrated(confidence, items if count is None else len(count), sample)
    means, share_of = belief.mean()[:, 0], size / items
    believed = float(share_of @ means)
    drawn = belief.draws(rng, _DRAWS)[..., 0] if drawn is None else drawn
    variance = float((drawn @ share_of).var())
    anchored, sd = anchored_mean(expected, sample, count)
    limits, still = np.tile([[0.0], [1.0]], len(size)), np.ones(len(size))
    if belief.target == "pool":
        limits = np.stack([belief.counts[:, 0], size - belief.counts[:, 1]]) / size
        still = belief.left / size
    else:
        sd = np.sqrt(sd**2 + believed * (1 - believed) / items)  # the pool is itself a sample of the population
    usual = float(np.average(expected * (1 - expected), weights=count)) * float(share_of @ still)
    off = (_OFF * usual * contradiction(believed, confidence, count, bare)) ** 2
    part = _parts(means, still, share_of)
    if np.isinf(sd):
        return Rectified(belief, _OFF_PRIOR, np.zeros_like(off), np.sqrt(off), part, limits, 0)
    # The two variances are estimates, so that their difference must not come near to nothing.
    rest = max(sd**2 - variance, 0.1 * sd**2, 1e-12)
    share = off / (off + rest)
    fits = np.log(_OFF_PRIOR) - np.log(off + rest) / 2 - (anchored - believed) ** 2 / (2 * (off + rest))
    weight = np.exp(fits - fits.max())
    weight /= weight.sum()
    return Rectified(belief, weight, share * (anchored - believed), np.sqrt(share * rest), part, limits, sample.anchors)


def unheard(size: NDArray[np.int64], labels: NDArray[np.float64]) -> float:
    """How much of the pool lies in groups with hardly any labels: Σ_g p_g 5/(5 + n_g), from sizes and labels.

    >>> round(unheard(np.array([900, 100]), np.array([0.0, 45.0])), 2)
    0.91
    """
    return float(size @ (_OWN / (_OWN + labels)) / size.sum())


def contradiction(
    believed: float, confidence: NDArray[np.float64] | None, count: NDArray[np.int64] | None, bare: float
) -> float:
    """How much further the belief may be off where labels contradict the confidences: 1, and up to 4.

    It is 1 + u·min(max(d − 1.5, 0), 3), with d the distance in log-odds between the share right that is believed in and
    the mean confidence, and u = `bare` as in `unheard`. Such confidences say nothing about groups without labels, so
    that these are judged by the few to which labels were steered. Without confidences it is 1.

    >>> sure = np.full(10, 0.99)
    >>> [round(contradiction(share, sure, None, 0.5), 2) for share in (0.95, 0.8, 0.6, 0.1)]
    [1.0, 1.5, 1.99, 2.5]
    """
    if confidence is None:
        return 1.0
    d = abs(logit(np.clip(believed, *_ENDS)) - logit(np.clip(np.average(confidence, weights=count), *_ENDS)))
    return float(1 + bare * np.clip(d - _CONTRADICTED, 0, _FURTHER))


def _parts(
    means: NDArray[np.float64], still: NDArray[np.float64], share_of: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What a change of all items' log-odds that moves the share of all by 1 does to each cell, shape (cells,)."""
    moved = still * np.maximum(means * (1 - means), EDGE)
    total = float(share_of @ moved)
    return moved / total if total > 0 else np.zeros_like(moved)
