"""Identify: which groups are the worst, or the best?"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from fewlabels import wording
from fewlabels.anytime import surest
from fewlabels.checks import of_kind, whole_field
from fewlabels.errors import SpecError
from fewlabels.estimates import affordable, estimate, interval, sequences, value_draws
from fewlabels.metrics.base import Metric
from fewlabels.parts import register
from fewlabels.table import Table
from fewlabels.tasks import identify_words
from fewlabels.tasks.backing import backed_groups
from fewlabels.tasks.base import LIKELY, Answer, Conclusion, Direction, Task
from fewlabels.tasks.grounds import SAFE
from fewlabels.undefined import has_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.tasks.grounds import Ahead, Grounds
    from fewlabels.tasks.snapshot import Snapshot


@register
@dataclass(frozen=True)
class Identify(Task):
    """Find the m groups with the lowest, or the highest, value of a metric.

    Without either, find the worst one: the lowest, or the highest if high values are bad, such as a cost. The reward of
    a label in g is the drawn value itself, with its sign turned for the lowest (the paper's −θ~_g).

    >>> import fewlabels as fl
    >>> fl.Identify(fl.Accuracy(), lowest=10)
    Identify(metric=Accuracy(), lowest=10, highest=None)
    >>> fl.Identify(fl.CalibrationError()).highest
    1
    """

    conclusive: ClassVar[bool] = True
    shared_out: ClassVar[str] = "the risk is shared out evenly between all groups"

    lowest: int | None = None
    highest: int | None = None

    def __post_init__(self) -> None:
        of_kind(self.metric, Metric, "The metric of a task", error=SpecError)
        if self.lowest is not None and self.highest is not None:
            raise SpecError("Identify() takes either lowest=m or highest=m, such as Identify(Accuracy(), lowest=1).")
        if self.lowest is None and self.highest is None:
            object.__setattr__(self, "highest" if self.metric.high_is_bad else "lowest", 1)
        end = "lowest" if self.highest is None else "highest"
        whole_field(self, end, f"The '{end}' of Identify()")

    @classmethod
    def examples(cls, metric: Metric, groups: Sequence[str]) -> tuple[Self, ...]:
        """The two lowest groups, and the highest."""
        return (cls(metric, lowest=2), cls(metric, highest=1))

    @property
    def sought(self) -> Direction:
        """The lowest or the highest groups."""
        return "lowest" if self.lowest else "highest"

    @property
    def plays(self) -> int:
        """m: one step asks in each of the top m groups of a draw (multiple play)."""
        return self.lowest or self.highest or 1

    def check(self, cells: Cells) -> None:
        """Raise SpecError for a metric without one number for each group, or m not below the number of groups."""
        if self.metric.vector:
            raise SpecError(
                f"Identify() ranks groups by one number, but {type(self.metric).__name__}() has one for each class. "
                "Use Cost() or Accuracy()."
            )
        filled = int(np.count_nonzero(cells.partition.sizes))
        if self.plays >= filled:
            raise SpecError(
                f"Identify() cannot pick {self.plays} of {filled} groups with items: all would be the answer. "
                "Choose fewer, or use Estimate()."
            )

    def reward(self, belief: Belief, cells: Cells, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """The value of each group under θ, or minus it: (..., cells, outcomes) to (..., groups)."""
        return -last(self._sign * self.metric.value(theta, cells))

    @property
    def can_assure(self) -> bool:
        """Whether `assurance` has a number."""
        return self.metric.marginal

    def assurance(self, belief: Belief, cells: Cells) -> float | None:
        """The largest p at which the intervals of the m groups lie beyond those of all others; 0 if none does.

        It is None for a metric that is not a single share. Each of the G groups has a sequence of level 1 − (1 − p)/G:
        all of them hold at every look with probability p, and then no other group is more extreme. The m groups are
        those with the most extreme means.
        """
        if not self.metric.marginal:
            return None
        filled = np.flatnonzero(self.askable(cells))
        means = self._sign * self.metric.value(belief.mean(), cells)[filled]
        named = filled[np.argsort(means, kind="stable")[: self.plays]]
        others = np.setdiff1d(filled, named)

        def apart(level: float) -> bool:
            low, high = sequences(self.metric, belief, cells, level, together=True)
            low, high = (low, high) if self.lowest else (-high, -low)
            return bool(high[named].max() <= low[others].min())

        return surest(apart)

    def answer(self, belief: Belief, cells: Cells, rng: np.random.Generator, *, level: float, draws: int) -> Answer:
        """The m most probable groups, P(g among the m), and each group's rank with its interval.

        Rank 1 is the most extreme group. `probability` is that of the named set being exactly right. Groups
        without items are not ranked.
        """
        # Intervals and ranks are of the same draws.
        estimates = estimate(self.metric, belief, cells, deepcopy(rng), level=level, draws=draws)
        used = affordable(draws, belief)
        filled = np.flatnonzero(cells.partition.sizes)
        values = value_draws(self.metric, belief, cells, rng, used)[:, filled]
        ranks = ranked(self._sign * values, rng)
        within = ranks <= self.plays
        chance, rank = within.mean(axis=0), ranks.mean(axis=0)
        rank_low, rank_high = interval(ranks, level)
        order = np.lexsort((rank, -chance))
        # Below the named groups, chances under 1% are written alike, and their groups stand by rank.
        rest = order[self.plays :]
        order[self.plays :] = rest[np.lexsort((rank[rest], -np.where(chance[rest] < wording.SMALL, 0, chance[rest])))]
        probability = float(within[:, order[: self.plays]].all(axis=1).mean())
        numbers = {"chance": chance, "rank": rank, "rank_low": rank_low, "rank_high": rank_high}
        columns = {name: [column[g] for g in filled[order]] for name, column in estimates.columns.items()}
        columns |= {name: column[order].tolist() for name, column in numbers.items()}
        shown = ("group", "n", "labelled", *numbers, "mean", "low", "high")
        settings = {"level": level, "target": belief.target, "draws": used}
        names = columns["group"]
        table = Table({name: columns[name] for name in shown}, settings)
        named = order[: self.plays]
        backed = bool((backed_groups(self.metric, belief, cells)[filled[named]] & has_number(values)[named]).all())
        words = self._words(names, probability, backed)
        return Answer(words, probability, table, tuple(names[: self.plays]), backed=backed)

    def right(self, values: NDArray[np.float64], cells: Cells, rng: np.random.Generator) -> NDArray[np.int64]:
        """The m most extreme groups of each draw, equal ones in random order: (n, groups) to (n, m)."""
        present = np.flatnonzero(self.askable(cells))
        signed = last(self._sign * values[:, present])
        # Shares of a pool are often equal; the order among them must not favour the first groups.
        signed = signed + 1e-13 * (np.abs(signed).max() or 1.0) * rng.random(signed.shape)
        return present[np.argpartition(signed, self.plays - 1, axis=1)[:, : self.plays]]

    def conclude(self, snapshot: Snapshot) -> Conclusion:
        """The m groups that are most often among the most extreme; equally frequent ones by their mean."""
        chosen = self.right(snapshot.values, snapshot.cells, snapshot.rng)
        times = np.bincount(chosen.ravel(), minlength=len(snapshot.cells.partition))
        named = np.lexsort((last(self._sign * snapshot.mean), -times))[: self.plays]
        backed = backed_groups(self.metric, snapshot.belief, snapshot.cells) & has_number(snapshot.values)
        return Conclusion(named, float(np.isin(chosen, named).all(axis=1).mean()), bool(backed[named].all()))

    def is_right(
        self, named: NDArray[np.int64], truth: NDArray[np.float64], cells: Cells, rng: np.random.Generator
    ) -> bool:
        """Whether no other group is more extreme than those named; among equal groups, any may be named."""
        others = np.setdiff1d(np.flatnonzero(self.askable(cells)), named)
        signed = last(self._sign * truth)
        return bool(signed[named].max() <= signed[others].min() + 1e-12)

    @property
    def _sign(self) -> int:
        """The sign that makes the groups looked for the lowest ones."""
        return 1 if self.lowest else -1

    def _words(self, names: list[str], probability: float, backed: bool) -> str:
        """The named set in words; an answer only if it is likely right and its groups have labels of their own."""
        kind = f"{'lowest' if self.lowest else 'highest'} {self.metric.name}"
        several, be = ("group", "is") if self.plays == 1 else (f"{self.plays} groups", "are")
        listed, sure = ", ".join(names[: self.plays]), wording.probability(probability)
        if probability >= LIKELY and backed:
            be += "" if probability >= SAFE else " probably"
            return f"The {several} with the {kind} {be} {listed}, with probability {sure}."
        return (
            f"It is not clear yet which {several} {'has' if self.plays == 1 else 'have'} the {kind}. "
            f"The best guess is {listed}, {f'right with probability {sure}' if backed else 'without enough labels'}."
        )

    # --- in words

    def question(self, noun: str, groups: int) -> str:
        """The task as a question, such as: which groups does the classifier get wrong most often?"""
        return identify_words.question(self, noun)

    def headline(self, grounds: Grounds) -> str:
        """A sentence with the groups that are found, or that it is too early to name them."""
        return identify_words.headline(self, grounds)

    def next_steps(self, grounds: Grounds, ahead: Ahead) -> tuple[str, ...]:
        """Sentences on which groups are settled enough to act on, and which need more labels."""
        return identify_words.next_steps(grounds, ahead)

    def overall_doubt(self, nouns: str, leans_on: str, *, steered: bool, everywhere: bool, borrows: bool) -> str:
        """A note that labels were steered to the groups looked for."""
        return identify_words.overall_doubt(self, nouns, leans_on) if steered else ""


def last(signed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values of which the lowest are looked for, with those that are 0/0 above all others: they are never named first.

    >>> last(np.array([0.5, np.nan, 0.75]))
    array([0.5 , 1.75, 0.75])
    """
    missing = np.isnan(signed)
    if not missing.any():
        return signed
    return np.where(missing, np.max(signed, axis=-1, keepdims=True, initial=-1.0, where=~missing) + 1.0, signed)


def ranked(values: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """The rank of each group in each draw, 1 for the lowest, ties in random order; shape (draws, groups).

    Ties are common under target "pool", where values are shares of few items; a fixed order among them would favour
    the groups that happen to come first. Shares of groups of up to a million items differ by more than the jitter,
    which goes with the size of the values: costs can be thousands. Values that are 0/0 come last.
    """
    values = last(values)
    jitter = 1e-13 * (np.abs(values).max() or 1.0)
    order = np.argsort(values + jitter * rng.random(values.shape), axis=-1)
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, np.arange(1.0, values.shape[1] + 1)[None, :], axis=1)
    return ranks
