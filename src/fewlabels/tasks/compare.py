"""Compare: does the classifier treat two groups alike?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from fewlabels.anytime import Bets, evidence_apart
from fewlabels.belief import Belief
from fewlabels.checks import number_field
from fewlabels.errors import SpecError
from fewlabels.estimates import affordable, expected_right, holding, interval, value_draws
from fewlabels.parts import register
from fewlabels.special import rel_entr
from fewlabels.table import Table
from fewlabels.tasks import compare_words
from fewlabels.tasks.backing import backed_groups
from fewlabels.tasks.base import LIKELY, Answer, Conclusion, Task
from fewlabels.tasks.estimate import variance_drop
from fewlabels.tasks.grounds import SAFE
from fewlabels.tasks.rope import check_rope, pool_rope_probabilities, rope_probabilities
from fewlabels.undefined import MOST, has_number, mean_of
from fewlabels.wording import Style, probability

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.metrics.base import Metric
    from fewlabels.tasks.grounds import Ahead, Grounds
    from fewlabels.tasks.snapshot import Snapshot

REGIONS = ("less", "equal", "more")
RewardName = Literal["neyman", "information", "confidence"]
_LEAST = 1e-12
_WAYS = slice(None), slice(None, None, -1)  # a against b, and b against a


@register
@dataclass(frozen=True)
class Compare(Task):
    """Is group a below b, about equal to it, or above it? Δ = θ_a − θ_b against the rope [−ε, ε].

    μ = (P(Δ < −ε), P(|Δ| ≤ ε), P(Δ > ε)); the answer is the region with the largest, λ = max μ.

    Parameters
    ----------
    a, b
        The names of the two groups.
    rope
        ε: a difference of at most this size does not matter in practice.
    by
        The worth of a label. "neyman": the expected fall in the variance of Δ, which asks where sd/√n is larger.
        "information": the expected relative entropy from μ to what it will be, which for the belief's mean is
        the mutual information of label and region. "confidence": E λ after the label, the paper's reward, which
        is equal for both groups unless one label can change the largest region. The last two need Accuracy.

    >>> import fewlabels as fl
    >>> fl.Compare(fl.Accuracy(), "woman", "man")
    Compare(metric=Accuracy(), a='woman', b='man', rope=0.05, by='neyman')
    """

    conclusive: ClassVar[bool] = True
    shared_out: ClassVar[str] = "bets on both groups are counted together"

    a: str = ""
    b: str = ""
    rope: float = 0.05
    by: RewardName = "neyman"

    def __post_init__(self) -> None:
        if self.a == self.b:
            raise SpecError(f"Compare() needs two different groups. Got {self.a!r} twice.")
        number_field(self, "rope", "The 'rope' of Compare()", ends=True, hint="such as 0.05")
        if self.by not in ("neyman", "information", "confidence"):
            raise SpecError(
                f"The 'by' of Compare() must be 'neyman', 'information' or 'confidence'. Got {self.by!r} instead."
            )

    @classmethod
    def examples(cls, metric: Metric, groups: Sequence[str]) -> tuple[Self, ...]:
        """The first two groups, by each of the three rewards."""
        a, b, *_ = groups
        return (
            cls(metric, a, b),
            cls(metric, a, b, rope=0, by="information"),
            cls(metric, a, b, rope=0.1, by="confidence"),
        )

    @property
    def pair(self) -> tuple[str, str]:
        """The two groups compared."""
        return self.a, self.b

    def check(self, cells: Cells) -> None:
        """Raise SpecError if a group is missing or empty, or the metric has no single number or no such reward."""
        if self.metric.vector:
            raise SpecError(
                f"Compare() compares one number of two groups, but {type(self.metric).__name__}() has one for each "
                "class. Use Cost(), Accuracy() or Recall()."
            )
        if unknown := [name for name in (self.a, self.b) if name not in cells.partition.names]:
            known = ", ".join(map(repr, cells.partition.names[:8])) + (", ..." if len(cells.partition) > 8 else "")
            meant = cells.partition.called(unknown[0])
            hint = f"Did you mean {meant!r}? " if meant else ""
            raise SpecError(f"Compare() cannot find the group {unknown[0]!r}. {hint}Use two of the groups: {known}.")
        for g in self._pair(cells):
            if not cells.partition.sizes[g]:
                raise SpecError(
                    f"Compare() cannot compare with {cells.partition.names[g]!r}: it has no items. "
                    "Use two groups that have some."
                )
        if self.by != "neyman" and not self.metric.marginal:
            raise SpecError(
                f"Compare(by={self.by!r}) needs a metric that is a single share, such as Accuracy(). "
                f"With {type(self.metric).__name__}() use by='neyman'."
            )

    def check_new(self, cells: Cells) -> None:
        """Refuse a rope that is wider than any difference."""
        check_rope(self.rope, self.metric)

    @property
    def can_assure(self) -> bool:
        """Whether `assurance` has a number."""
        return self.metric.marginal

    def assurance(self, belief: Belief, cells: Cells) -> float | None:
        """The largest p at which bets on both groups leave one region for Δ; 0 if they leave more than one.

        None for a metric that is not a single share. Each region is concluded by the wealth won against the two others,
        which ever reaches 1/(1 − p) with a probability of at most 1 − p if one of them is true; see `evidence_apart`.
        """
        if not self.metric.marginal:
            return None
        rows = np.searchsorted(cells.group, self._pair(cells))
        right, wrong = (np.rint(belief.counts[rows, outcome]).astype(np.int64) for outcome in (0, 1))
        bets = Bets.on(expected_right(cells)[rows])
        size = cells.size[rows] if belief.target == "pool" else None

        def against(least: float, way: slice, *, touching: bool) -> float:
            """The log wealth won by bets against one share being above the other by at least `least`."""
            turned = Bets(bets.a[way], bets.b[way], bets.share)
            items = None if size is None else size[way]
            return evidence_apart(least, right[way], wrong[way], turned, items, touching=touching)

        less, more = (against(-self.rope, way, touching=True) for way in _WAYS)
        equal = min(against(self.rope, way, touching=False) for way in _WAYS)
        return float(max(1 - np.exp(-max(less, more, equal)), 0.0))

    def askable(self, cells: Cells) -> NDArray[np.bool_]:
        """Only the two groups, shape (groups,)."""
        return np.isin(np.arange(len(cells.partition)), self._pair(cells))

    def reward(self, belief: Belief, cells: Cells, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """The reward that `by` names, and 0 for the other groups: (..., cells, outcomes) to (..., groups)."""
        if self.by == "neyman":
            return variance_drop(self, belief, cells, theta) * self.askable(cells)
        pair = self._pair(cells)
        worth = self._worth(belief, cells)
        out = np.zeros((*theta.shape[:-2], len(cells.partition)))
        shown = belief.upcoming(theta)[..., np.searchsorted(cells.group, pair), :]
        out[..., pair] = (shown * worth).sum(axis=-1)
        return out

    def _worth(self, belief: Belief, cells: Cells) -> NDArray[np.float64]:
        """The worth of a label that shows right or wrong in a or b, shape (2 groups, 2 outcomes).

        It is 0 in a group that is fully labelled.
        """
        # A region can have the probability 0 to the last digit now and one of 1e-16 after the label: not infinite news.
        belief = belief.matched()
        now = np.maximum(self.probabilities(belief, cells), _LEAST)
        worth = np.zeros((2, 2))
        for i, g in enumerate(self._pair(cells)):
            row = int(np.searchsorted(cells.group, g))
            if not belief.left[row]:
                continue
            for outcome in range(2):
                counts = belief.counts.copy()
                counts[row, outcome] += 1
                after = self.probabilities(Belief(belief.prior, counts, belief.size, belief.target), cells)
                worth[i, outcome] = after.max() if self.by == "confidence" else rel_entr(after, now).sum()
        return worth

    def probabilities(self, belief: Belief, cells: Cells) -> NDArray[np.float64]:
        """μ by quadrature, or by exact sums under target "pool"; for metrics that are a single share. Shape (3,)."""
        a, b = np.searchsorted(cells.group, self._pair(cells))
        if belief.target == "population":
            return rope_probabilities(belief.alpha[a], belief.alpha[b], self.rope)
        right, left = np.rint(belief.counts[:, 0]).astype(int), belief.left
        sides = [(belief.alpha[g], int(right[g]), int(left[g]), int(belief.size[g])) for g in (a, b)]
        return pool_rope_probabilities(sides[0], sides[1], self.rope)

    def regions(self, belief: Belief, cells: Cells, values: Callable[[], NDArray[np.float64]]) -> NDArray[np.float64]:
        """μ without Monte Carlo where that is possible, else from draws of shape (draws, groups). Shape (3,)."""
        if self.metric.marginal and belief.conjugate:
            return self.probabilities(belief, cells)
        made = values()
        known = ~np.isnan(self._difference(made, cells))
        if known.mean() < 1 - MOST:
            return np.full(3, 1 / 3)
        return np.bincount(self._region(made[known], cells), minlength=3) / known.sum()

    def right(self, values: NDArray[np.float64], cells: Cells, rng: np.random.Generator) -> NDArray[np.int64]:
        """0 where a is below b, 1 where they are about equal, 2 where a is above: (n, groups) to (n, 1)."""
        return self._region(values, cells)[:, None]

    def conclude(self, snapshot: Snapshot) -> Conclusion:
        """The most probable region, and its probability."""
        mu = self.regions(snapshot.belief, snapshot.cells, lambda: snapshot.values)
        return Conclusion(np.array([mu.argmax()]), float(mu.max()), self._backed(snapshot.belief, snapshot.cells))

    def _difference(self, values: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        a, b = self._pair(cells)
        return np.asarray(values[:, a] - values[:, b])

    def _region(self, values: NDArray[np.float64], cells: Cells) -> NDArray[np.int64]:
        difference = self._difference(values, cells)
        edge = self.rope + 1e-12  # a difference of exactly ε counts as equal; it must not be lost to rounding
        return np.where(difference < -edge, 0, np.where(difference > edge, 2, 1))

    def answer(self, belief: Belief, cells: Cells, rng: np.random.Generator, *, level: float, draws: int) -> Answer:
        """The most probable region, λ, and Δ with its interval."""
        used = affordable(draws, belief)
        values = value_draws(self.metric, belief, cells, rng, used)
        a, b = self._pair(cells)
        difference = self._difference(values, cells)
        mu = self.regions(belief, cells, lambda: values)
        low, high = interval(difference, level)
        best = int(mu.argmax())
        chance = float(mu[best])
        kind = ("below", "about", "above")[best]
        backed = self._backed(belief, cells)
        sure = "may be" if chance < LIKELY or not backed else "is" if chance >= SAFE else "is probably"
        how_sure = f"with probability {probability(chance)}" if backed else "but labels are too few to be sure"
        apart = Style(self.metric.in_percent).within(self.rope)
        words = f"The {self.metric.name} of {self.a} {sure} {kind} that of {self.b} (rope ±{apart}), {how_sure}."
        columns: dict[str, Any] = {"a": [self.a], "b": [self.b]} | {
            r: [float(p)] for r, p in zip(REGIONS, mu, strict=True)
        }
        exact = self.metric.value(belief.mean(), cells)
        mean = exact[a] - exact[b] if self.metric.linear else mean_of(difference)
        low, high = holding(mean, low, high)
        is_known = bool(has_number(difference))
        ends = {"mean": mean, "low": low, "high": high}
        columns |= {name: [float(end) if is_known else None] for name, end in ends.items()}
        if not is_known:
            words, backed = self._unknown(has_number(values), cells), False
        settings = {"level": level, "target": belief.target, "draws": used, "rope": self.rope}
        return Answer(words, chance, Table(columns, settings), (self.a, self.b), backed=backed)

    def _unknown(self, known: NDArray[np.bool_], cells: Cells) -> str:
        """Why there is no difference, if not both groups have a number."""
        lacking = [name for name, g in zip((self.a, self.b), self._pair(cells), strict=True) if not known[g]]
        where = " and ".join(lacking or (self.a, self.b))
        return f"There is nothing to compare: no {self.metric.name} for {where}, as {self.metric.without_number}."

    # --- in words

    @property
    def main_plot(self) -> str:
        """The name of the plot of the difference and the rope."""
        return "rope"

    def question(self, noun: str, groups: int) -> str:
        """The task as a question: is the metric lower, about equal or higher for a than for b?"""
        return compare_words.question(self)

    def headline(self, grounds: Grounds) -> str:
        """A sentence on whether they differ, or that it is too early to say."""
        return compare_words.headline(self, grounds)

    def next_steps(self, grounds: Grounds, ahead: Ahead) -> tuple[str, ...]:
        """A sentence on whether the comparison is settled enough to act on."""
        return compare_words.next_steps(grounds, ahead)

    def overall_doubt(self, nouns: str, leans_on: str, *, steered: bool, everywhere: bool, borrows: bool) -> str:
        """A note that only the two groups were labelled, unless there are no others."""
        doubt = f"only the two {nouns} compared were labelled; elsewhere this number depends on {leans_on}"
        return "" if everywhere else doubt

    def legend(self) -> str:
        """The meaning of the columns less, equal and more."""
        return compare_words.legend(self)

    def _backed(self, belief: Belief, cells: Cells) -> bool:
        """Whether both groups have labels of their own."""
        return bool(backed_groups(self.metric, belief, cells)[self._pair(cells)].all())

    def _pair(self, cells: Cells) -> list[int]:
        return [cells.partition.position(self.a), cells.partition.position(self.b)]
