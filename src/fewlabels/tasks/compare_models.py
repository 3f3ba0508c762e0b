"""CompareModels: is one model right more often than another?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from fewlabels.cells import ModelCells
from fewlabels.checks import number_field
from fewlabels.errors import SpecError
from fewlabels.estimates import holding, interval
from fewlabels.parts import register
from fewlabels.table import Table
from fewlabels.tasks import compare_models_words
from fewlabels.tasks.base import Answer, Conclusion
from fewlabels.tasks.best_words import is_likely
from fewlabels.tasks.compare import REGIONS
from fewlabels.tasks.models import (
    ALL,
    TIE,
    ModelsTask,
    apart,
    differences,
    is_clear,
    joint,
    margins,
    rows_of,
    surest,
)
from fewlabels.tasks.rope import check_rope
from fewlabels.wording import Style, probability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.learned.models import Margin, ModelsBelief
    from fewlabels.metrics.base import Metric
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.tasks.grounds import Ahead, Grounds
    from fewlabels.tasks.snapshot import Snapshot

# What a region gets of the probability that is cut off another, even if no draw is in it.
_SOME = 0.005


@register
@dataclass(frozen=True)
class CompareModels(ModelsTask):
    """Is model a right less often than model b, about as often, or more often? Δ = θ_a − θ_b against [−ε, ε].

    A label of an item is worth 1 where the two give different answers and 0 otherwise. Drawn by lot, the labels are
    then a random sample of the items on which the two differ, so the belief's average over these items is right even if
    its model of single items is a little wrong. With groups, the same question is asked in each of them, and labels are
    worth more where less is settled.

    Parameters
    ----------
    a, b
        The names of the two models.
    rope
        ε: a difference of at most this size does not matter in practice.

    >>> import fewlabels as fl
    >>> fl.CompareModels(fl.Accuracy(), "new", "old")
    CompareModels(metric=Accuracy(), a='new', b='old', rope=0.01)
    """

    phrase: ClassVar[str] = "whether one model is right more often than another"

    a: str = ""
    b: str = ""
    rope: float = 0.01

    def __post_init__(self) -> None:
        if self.a == self.b:
            raise SpecError(f"CompareModels() needs two different models. Got {self.a!r} twice.")
        number_field(self, "rope", "The 'rope' of CompareModels()", ends=True, hint="such as 0.01")

    @classmethod
    def examples(cls, metric: Metric, groups: Sequence[str]) -> tuple[Self, ...]:
        """The first two names."""
        a, b, *_ = groups
        return (cls(metric, a, b), cls(metric, a, b, rope=0))

    def cells(self, pool: Pool, partition: Partition) -> Cells:
        """A row for each model in each group; an unknown name is a SpecError."""
        cells = super().cells(pool, partition)
        if unknown := [name for name in (self.a, self.b) if name not in pool.models]:
            known = ", ".join(map(repr, pool.models[:8])) + (", ..." if len(pool.models) > 8 else "")
            raise SpecError(f"CompareModels() cannot find the model {unknown[0]!r}. Use two of the models: {known}.")
        assert isinstance(cells, ModelCells)
        # Both are always voices of their own: a prior that they are the same would pull their difference towards 0.
        return replace(cells, focus=tuple(self._pair(cells)))

    def check_new(self, cells: Cells) -> None:
        """Refuse models that never differ, and a rope that is wider than any difference."""
        super().check_new(cells)
        check_rope(self.rope, self.metric)

    def asks(self, cells: Cells) -> NDArray[np.bool_]:
        """The items to which the two models give different answers, shape (items,)."""
        a, b = self._pair(rows_of(cells))
        answers = rows_of(cells).said
        return np.asarray(answers[:, a] != answers[:, b])

    def askable(self, cells: Cells) -> NDArray[np.bool_]:
        """The rows of the two models, shape (rows,)."""
        return np.isin(cells.key, self._pair(rows_of(cells)))

    def reward(self, belief: Belief, cells: Cells, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """1 for items without a label on which the two differ: (..., rows, outcomes) to (..., items)."""
        rows = rows_of(cells)
        models, groups = joint(belief), len(rows.filled)
        worth = np.zeros(len(cells.cell))
        worth[models.learning.open] = self.asks(cells)[models.learning.open]
        if groups > 1:
            # Each group counts alike, however large it is, and less the more it is settled.
            left = np.bincount(rows.home, worth, minlength=groups)
            share = [_open(self, models, rows, g) / max(left[g], 1) for g in range(groups)]
            worth = worth * np.array(share)[rows.home]
        return np.broadcast_to(worth, (*theta.shape[:-2], len(worth)))

    def answer(self, belief: Belief, cells: Cells, rng: np.random.Generator, *, level: float, draws: int) -> Answer:
        """The most probable region, its probability, and Δ with its interval; over all, and in each group."""
        rows = rows_of(cells)
        levels = joint(belief).levels
        values, used = self.drawn(levels, cells, rng, draws)
        a, b = self._pair(rows)
        names = (ALL, *rows.filled) if len(rows.filled) > 1 else (ALL,)
        drawn = self.apart(values, levels, cells)
        exact = differences(self.split(self.metric.value(levels.mean(), cells), cells)[None], cells, a, b)
        most = self.most(belief, cells)
        mu = _bounded(np.stack([(self._region(drawn) == r).mean(axis=0) for r in range(3)], axis=1), most)
        columns: dict[str, list[Any]] = {} if len(names) == 1 else {"where": list(names)}
        columns |= {"a": [self.a] * len(names), "b": [self.b] * len(names)}
        columns |= {region: mu[:, r].tolist() for r, region in enumerate(REGIONS)}
        low, high = holding(exact[0], *interval(drawn, level))
        columns |= {"mean": exact[0].tolist(), "low": low.tolist(), "high": high.tolist()}
        not_less, not_more = self._not_worse(belief, cells, mu)
        columns |= {"not_less": not_less.tolist(), "not_more": not_more.tolist()}
        chance = min(self._certain(drawn, mu), self._least(most, mu.argmax(axis=1)))
        settings = {"level": level, "target": belief.target, "draws": used, "rope": self.rope}
        named = tuple(cells.partition.names[h] for h in (a, b)) if len(names) == 1 else ()
        reach = self._reach(joint(belief), a, b)
        return Answer(self._words(mu, names, chance), chance, Table(columns, settings), named, reach=reach)

    def most(self, belief: Belief, cells: Cells) -> NDArray[np.float64]:
        """The largest probability each region is stated with, shape (1 or 1 + groups, 3): over all, and in each group.

        It is not more than `surest`, and not more than the record of the two allows. The belief is drawn towards equal,
        and learns who is right where the two differ from more than their record; near the edge of a region, somebody
        who looks after every label would believe it too soon. Where all items of a pool on which the two differ have a
        label, the difference is known; where there are none, no label can say more than the belief does.
        """
        population = belief.target == "population"
        margins = self._margins(belief, cells)
        allowed = np.array([each.regions(self.rope * size + TIE, population=population) for each, size in margins])
        is_known = np.array([not np.ptp(each.ends(population=population)) for each, _ in margins])
        most = np.minimum(allowed, surest(belief, self.asks(cells)))
        return np.where(is_known[:, None], allowed, most)

    def _not_worse(
        self, belief: Belief, cells: Cells, mu: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """P(a is not right less often than b, by more than the rope), and P(not more often), each of shape (rows,).

        From the probabilities of the regions, (rows, 3), and not more than the record of the two allows, or `surest`.
        """
        population = belief.target == "population"
        stated = []
        for side, region in ((1, 0), (-1, 2)):
            margins = [(each if side > 0 else each.reversed(), size) for each, size in self._margins(belief, cells)]
            allowed = [each.at_least(-self.rope * size - TIE, population=population) for each, size in margins]
            is_known = [not np.ptp(each.ends(population=population)) for each, _ in margins]
            sure = np.where(is_known, 1.0, surest(belief, self.asks(cells)))
            stated.append(np.minimum(1 - mu[:, region], np.minimum(allowed, sure)))
        return stated[0], stated[1]

    def apart(self, values: NDArray[np.float64], belief: Belief, cells: Cells) -> NDArray[np.float64]:
        """Draws of Δ over all and in each group: (draws, groups, models) to (draws, 1 or 1 + groups)."""
        return apart(values, belief, cells, *self._pair(rows_of(cells)))

    def _margins(self, belief: Belief, cells: Cells) -> list[tuple[Margin, int]]:
        """The margin of a over b with the number of items: over all, and in each group if there are several."""
        return margins(belief, cells, *self._pair(rows_of(cells)))

    def _reach(self, belief: ModelsBelief, a: int, b: int) -> float | None:
        """The share of draws in which the labels of all items would make the region of each group clear."""
        if belief.target == "pool":
            return None
        clear = np.ones(len(belief.look.right), dtype=np.bool_)
        for g in range(belief.learning.panel.groups):
            gap, sd = belief.apart(g, a, b)
            clear &= is_clear(np.abs(np.abs(gap) - self.rope) if self.rope else np.abs(gap), sd)
        return float(clear.mean())

    def right(self, values: NDArray[np.float64], cells: Cells, rng: np.random.Generator) -> NDArray[np.int64]:
        """0 where a is below b, 1 where they are about equal, 2 where a is above: (n, rows) to (n, groups)."""
        rows = rows_of(cells)
        a, b = self._pair(rows)
        split = self.split(values, cells)
        return self._region(split[..., a] - split[..., b])

    def conclude(self, snapshot: Snapshot) -> Conclusion:
        """The most probable region of each group, and the probability that all are right."""
        drawn = self._region(self.apart(self.split(snapshot.values, snapshot.cells), snapshot.belief, snapshot.cells))
        drawn = drawn[:, 1:] if drawn.shape[1] > 1 else drawn
        named = np.array([np.bincount(column, minlength=3).argmax() for column in drawn.T])
        most = self._least(self.most(snapshot.belief, snapshot.cells), named)
        return Conclusion(named, min(float((drawn == named).all(axis=1).mean()), most))

    def _region(self, difference: NDArray[np.float64]) -> NDArray[np.int64]:
        edge = self.rope + 1e-12  # a difference of exactly ε counts as equal; it must not be lost to rounding
        return np.where(difference < -edge, 0, np.where(difference > edge, 2, 1))

    def _certain(self, apart: NDArray[np.float64], mu: NDArray[np.float64]) -> float:
        """The probability that the most probable regions are right: over all, or in all groups at once."""
        groups = slice(None) if len(mu) == 1 else slice(1, None)
        return float((self._region(apart)[:, groups] == mu.argmax(axis=1)[groups]).all(axis=1).mean())

    def _least(self, most: NDArray[np.float64], named: NDArray[np.int64]) -> float:
        """The largest probability that the regions named are stated with: over all, or in all groups at once."""
        own = most[1:] if len(most) > 1 else most
        return float(np.take_along_axis(own, named[-len(own) :, None], axis=1).min())

    def _words(self, mu: NDArray[np.float64], names: tuple[str, ...], chance: float) -> str:
        rope = Style(self.metric.in_percent).within(self.rope)
        kinds = ("less often than", "about as often as", "more often than")
        verb = "is" if is_likely(chance) else "may be"
        claims = [f"{self.a} {verb} right {kinds[int(m.argmax())]} {self.b}" for m in mu]
        if len(names) == 1:
            return f"{claims[0]} (rope ±{rope}), with probability {probability(chance)}."
        each = "; ".join(f"{name}: {claim}" for name, claim in zip(names[1:], claims[1:], strict=True))
        return f"{each} (rope ±{rope}). All of this is right with probability {probability(chance)}."

    # --- in words

    def question(self, noun: str, groups: int) -> str:
        """The task as a question."""
        return compare_models_words.question(self, groups)

    def headline(self, grounds: Grounds) -> str:
        """A sentence on whether they differ, or that it is too early to say."""
        return compare_models_words.headline(self, grounds)

    def next_steps(self, grounds: Grounds, ahead: Ahead) -> tuple[str, ...]:
        """A sentence on whether the comparison is settled enough to act on."""
        return compare_models_words.next_steps(grounds, ahead)

    @property
    def main_plot(self) -> str:
        """The name of the plot of the differences."""
        return "differences"

    def legend(self) -> str:
        """The meaning of the columns less, equal and more."""
        return compare_models_words.legend(self)

    def _pair(self, rows: ModelCells) -> list[int]:
        return [rows.models.index(self.a), rows.models.index(self.b)]


def _bounded(mu: NDArray[np.float64], most: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of regions, (rows, 3), none above `most`; what is cut off goes to the other two as they stand."""
    over = np.maximum(mu - most, 0.0)
    others = np.where(over > 0, 0.0, mu + _SOME)
    return mu - over + over.sum(axis=1, keepdims=True) * others / others.sum(axis=1, keepdims=True)


def _open(task: CompareModels, models: Any, rows: ModelCells, group: int) -> float:
    """How far from settled a group is: 1 − the probability of its most probable region."""
    a, b = task._pair(rows)  # noqa: SLF001  (a helper of the class)
    size = rows.size[group * len(rows.models)]
    apart = (models.look.right[:, group, a] - models.look.right[:, group, b]) / size
    chance = np.bincount(task._region(apart), minlength=3).max() / len(apart)  # noqa: SLF001
    return float(1 - chance + 1 / len(apart))
