"""Best: which of several models is right most often?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fewlabels.estimates import holding, interval
from fewlabels.parts import register
from fewlabels.table import Table
from fewlabels.tasks import best_words
from fewlabels.tasks.base import Answer, Conclusion
from fewlabels.tasks.models import TIE, ModelsTask, apart, is_clear, joint, rows_of, surest_best
from fewlabels.wording import probability

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.learned.models import ModelsBelief
    from fewlabels.tasks.base import Direction
    from fewlabels.tasks.grounds import Ahead, Grounds
    from fewlabels.tasks.snapshot import Snapshot


# Models that differ on few items are told apart by asking about all of these, and by lot the last of them would come
# late. So with more labels than this those that are worth most are preferred the more, up to this power.
_SHARP, _SHARPEST = 10, 5.0
# The share of labels that are drawn at random where the leader and a rival differ. The belief prefers items of which it
# is unsure; where it is sure and wrong, nothing else would tell. It grows to that until there are so many labels.
BY_LOT, _GROWN = 0.25, 50


@register
@dataclass(frozen=True)
class Best(ModelsTask):
    """Which model is right most often, over the pool or in each group?

    The answer is the model with the highest mean; its probability is that no other is better. Models whose difference
    from it has an interval that contains 0 may be as good, as far as the labels show. A label of an item is worth Σ_r
    P(r is best) · (the expected fall in the variance of leader − r, as a share of it), which is 0 where models agree.
    This is relative to the best label, and the more labels there are, the more the best items are preferred: with k
    labels it is raised to the power k/10, but at least 1 and at most 5. A share of the labels, which grows to a quarter
    by the 50th label, is drawn differently: first a rival, by P(r is best), then any item on which it and the leader
    differ. `Lottery` draws by the squares of rewards, so the reward is the root of these probabilities, mixed.

    >>> import fewlabels as fl
    >>> fl.Best(fl.Accuracy())
    Best(metric=Accuracy())
    """

    phrase: ClassVar[str] = "which of the models is right most often"

    @property
    def sought(self) -> Direction:
        """The end of the order that it looks for."""
        return "highest"

    def reward(self, belief: Belief, cells: Cells, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """The worth of a label of each item, at the belief's mean: (..., rows, outcomes) to (..., items)."""
        models = joint(belief)
        worth = np.zeros(len(cells.cell))
        for g, labels in enumerate(models.contested_labels.tolist()):
            here = models.contest(g)
            steered = (here / max(float(here.max()), TIE)) ** (2 * min(max(labels / _SHARP, 1.0), _SHARPEST))
            share = BY_LOT * min(labels / _GROWN, 1.0)
            mixed = (1 - share) * steered / max(steered.sum(), TIE) + share * models.by_lot(g)
            # The best label of a group is worth the probability that its leader is not the best.
            unsure = 1 - models.chances(g).max() + 1 / len(models.look.right)
            worth += np.sqrt(mixed / max(float(mixed.max()), TIE)) * unsure
        return np.broadcast_to(worth, (*theta.shape[:-2], len(worth)))

    def answer(self, belief: Belief, cells: Cells, rng: np.random.Generator, *, level: float, draws: int) -> Answer:
        """P(best) of each model, its share right, and how far it is behind the leader, in each group."""
        rows, belief = rows_of(cells), joint(belief).plain
        # How often each is right, and how far those are behind that are hardly the best, takes more than the contest.
        levels = belief.levels
        values, used = self.drawn(levels, cells, rng, draws)
        means = self.split(self.metric.value(levels.mean(), cells), cells)
        lead, contest = self._contest(belief, cells, rng, draws)
        chance, sure = _certainty(contest, lead, surest_best(belief, self.asks(cells)))
        regret = (contest.max(axis=2, keepdims=True) - contest).mean(axis=0)
        labelled = np.rint(belief.counts.sum(axis=1)).astype(int).reshape(means.shape)
        columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        for g, first in enumerate(lead.tolist()):
            gaps = {h: self._behind(values, levels, cells, g, first, h) for h in range(len(rows.models)) if h != first}
            order = sorted(range(len(rows.models)), key=lambda h: (-round(chance[g, h], 2), -means[g, h]))
            order.insert(0, order.pop(order.index(first)))
            for h in order:
                columns["group"].append(cells.partition.names[g * len(rows.models) + h])
                columns["n"].append(int(rows.size[g * len(rows.models) + h]))
                columns["labelled"].append(int(labelled[g, h]))
                own = {"chance": float(chance[g, h]), "regret": float(regret[g, h])}
                for name, value in (own | _numbers(values[:, g, h], means[g], gaps.get(h), h, first, level)).items():
                    columns[name].append(value)
        names = [cells.partition.names[g * len(rows.models) + h] for g, h in enumerate(lead.tolist())]
        settings = {"level": level, "target": belief.target, "draws": used}
        words, table = _words(rows.models, lead, sure, rows.filled), Table(columns, settings)
        return Answer(words, sure, table, tuple(names), reach=_reach(joint(belief), lead))

    def _behind(
        self, values: NDArray[np.float64], belief: Belief, cells: Cells, group: int, lead: int, h: int
    ) -> NDArray[np.float64]:
        """Draws of how far a model is behind the leader of a group, shape (draws,): those of a comparison of the two.

        Models that gave the same answers are equal.
        """
        rows = rows_of(cells)
        if np.array_equal(rows.said[:, lead], rows.said[:, h]):
            return np.zeros(len(values))
        return apart(values, belief, cells, lead, h)[:, group - values.shape[1]]

    def right(self, values: NDArray[np.float64], cells: Cells, rng: np.random.Generator) -> NDArray[np.int64]:
        """The best model of each group: (n, rows) to (n, groups); the first of several that are equal."""
        return self.split(values, cells).argmax(axis=-1)

    def conclude(self, snapshot: Snapshot) -> Conclusion:
        """The model with the highest mean in each group, and the probability that none is better."""
        belief, cells = joint(snapshot.belief).plain, snapshot.cells
        lead, drawn = self._contest(belief, cells, snapshot.rng, snapshot.draws)
        return Conclusion(lead, _certainty(drawn, lead, surest_best(belief, self.asks(cells)))[1])

    def _contest(
        self, belief: Belief, cells: Cells, rng: np.random.Generator, draws: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The leader of each group, and joint draws of the shares right, from a generator of their own."""
        lead = self.split(self.metric.value(belief.mean(), cells), cells).argmax(axis=1)
        return lead, self.drawn(belief, cells, rng.spawn(1)[0], draws)[0]

    def is_right(
        self, named: NDArray[np.int64], truth: NDArray[np.float64], cells: Cells, rng: np.random.Generator
    ) -> bool:
        """Whether no model is better than the one that is named, in any group."""
        values = self.split(truth, cells)
        return bool((values[np.arange(len(named)), named] >= values.max(axis=1) - TIE).all())

    # --- in words

    def question(self, noun: str, groups: int) -> str:
        """The task as a question."""
        return best_words.question(groups)

    def headline(self, grounds: Grounds) -> str:
        """A sentence with the best model, or that it is too early to name it."""
        return best_words.headline(self, grounds)

    def next_steps(self, grounds: Grounds, ahead: Ahead) -> tuple[str, ...]:
        """A sentence on whether the choice is settled enough to act on."""
        return best_words.next_steps(self, grounds, ahead)

    def legend(self) -> str:
        """The meaning of the columns of the answer."""
        return best_words.LEGEND


_COLUMNS = (
    *("group", "n", "labelled", "mean", "low", "high", "chance"),
    *("behind", "behind_low", "behind_high", "regret", "as_good"),
)


def _certainty(
    values: NDArray[np.float64], lead: NDArray[np.int64], most: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """P(best) of each model, shape (groups, models), and P(the named are best in all groups); ties count for each.

    None is more than the `most` of its group, shape (groups,).
    """
    best = values >= values.max(axis=2, keepdims=True) - TIE
    sure = float(best[:, np.arange(len(lead)), lead].all(axis=1).mean())
    return np.minimum(best.mean(axis=0), most[:, None]), min(sure, float(most.min()))


def _numbers(
    values: NDArray[np.float64],
    means: NDArray[np.float64],
    gaps: NDArray[np.float64] | None,
    h: int,
    lead: int,
    level: float,
) -> dict[str, Any]:
    """The numbers of model h in one group, from draws of how often it is right, and of how far it is behind, if it is.

    Both have the shape (draws,).
    """
    low, high = holding(means[h], *interval(values, level))
    behind_low, behind_high = (0.0, 0.0) if gaps is None else interval(gaps, level)
    return {
        "mean": float(means[h]),
        "low": float(low),
        "high": float(high),
        "behind": float(means[lead] - means[h]),
        "behind_low": float(min(behind_low, means[lead] - means[h])),
        "behind_high": float(max(behind_high, means[lead] - means[h])),
        "as_good": bool(h == lead or behind_low <= TIE),
    }


def _reach(belief: ModelsBelief, lead: NDArray[np.int64]) -> float | None:
    """The share of draws in which the labels of all items would make it clear which model is the best of each group."""
    if belief.target == "pool":
        return None
    clear = np.ones(len(belief.look.right), dtype=np.bool_)
    for g, first in enumerate(lead.tolist()):
        _, rivals = belief.rivals(g)
        rival = max(rivals, key=lambda each: each.chance).model
        gap, sd = belief.apart(g, first, rival)
        clear &= is_clear(np.abs(gap), sd)
    return float(clear.mean())


def _words(models: tuple[str, ...], lead: NDArray[np.int64], sure: float, groups: tuple[str, ...]) -> str:
    verb = "is" if best_words.is_likely(sure) else "may be"
    if len(lead) == 1:
        return f"The best model {verb} {models[lead[0]]}, with probability {probability(sure)}."
    each = "; ".join(f"{name}: {models[h]}" for name, h in zip(groups, lead.tolist(), strict=True))
    return f"The best model in each group {verb}: {each}. All of this is right with probability {probability(sure)}."
