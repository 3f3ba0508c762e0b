"""The belief about several models: how often each is right, all of them together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.learned.items.believed import LearnedBelief, Summary, strength
from fewlabels.learned.models.record import Margin, Record
from fewlabels.learned.models.rival import Rival, doubt
from fewlabels.learned.models.voices import chances, draw_parameters, most_parameters
from fewlabels.wording import percent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.learned.models.panel import Learning

# The generator of the draws behind means, variances and the worth of items: the same labels give the same numbers.
_SEED = 0x6D6F64656C73
_LEAST_VARIANCE, _LEAST_CHANCE = 1e-2, 1e-12
# A rival that is less probably the best than this is not asked about; at most this many are.
_UNLIKELY, _RIVALS = 0.002, 12
# So many labels drawn at random where two models differ say more about these two than all others do.
_ENOUGH = 20


@dataclass(frozen=True, eq=False)
class Look:
    """Some draws from the belief, for the open items and the models.

    Parameters
    ----------
    chance
        P(each option) of the open items, the mean of the draws, shape (open, options + none).
    expected
        The right answers in the pool, expected, shape (groups, models).
    right
        The right answers in the pool, drawn, shape (draws, groups, models).
    """

    chance: NDArray[np.float64]
    expected: NDArray[np.float64]
    right: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ModelsBelief(LearnedBelief):
    """The joint belief about the accuracy of several models, in each group.

    A row is a group and a model, as in `ModelCells`. In a draw the true class of every unlabelled item is drawn once
    for all models, so items on which two models agree cancel in their difference. For the population, the pool is one
    sample of it: shares then vary by Σ/n more, Σ being the covariance between models of being right.

    It is right about which model is best; `LevelsBelief` is about how often each is right.

    Parameters
    ----------
    learning
        What the labels say about all items.
    anchors
        Labelled items that were drawn at random from all, shape (anchors,).
    """

    learning: Learning = field(kw_only=True)
    anchors: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64), kw_only=True)

    @property
    def plain(self) -> ModelsBelief:
        """The belief that says which model is best: this one, unless it is about how often each is right."""
        return self

    @cached_property
    def levels(self) -> ModelsBelief:
        """The belief about how often each model is right; made once, so that its draws are made once."""
        from fewlabels.learned.models.levels import LevelsBelief

        return LevelsBelief.of(self.plain)

    def from_lot(self, by_lot: NDArray[np.bool_]) -> ModelsBelief:
        """The belief of a comparison, if only these labels were drawn at random where its two models differ, (items,).

        Labels that went where it was open which of several models is the best are harder than the others on which the
        two differ, so they speak for themselves only. With few others, the belief about all models knows more.
        """
        learning = self.learning
        panel = learning.panel
        if not panel.focus or panel.answers.models == 2:
            return self
        option, heard = panel.answers.option[learning.asked], by_lot[learning.asked]
        a, b = panel.focus
        differ = option[:, a] != option[:, b]
        if heard[differ].all():
            return self
        if heard[differ].sum() >= _ENOUGH:
            return replace(self, learning=learning.focused(panel.focus, heard))
        return replace(self, learning=learning.focused(())).levels

    @property
    def numbers(self) -> int:
        """The number of values in one draw."""
        features = self.learning.features
        return max(features.barred.size, self.counts.size)

    @property
    def labels(self) -> int:
        """The number of labelled items: each counts in one row of every model."""
        return int(np.rint(self.counts.sum() / self.learning.panel.answers.models))

    @property
    def contested_labels(self) -> NDArray[np.int64]:
        """Labels of items on which models differ, shape (groups,)."""
        panel = self.learning.panel
        return np.bincount(panel.group[self.learning.asked], minlength=panel.groups)

    @cached_property
    def look(self) -> Look:
        """Draws for means, variances and the worth of items, always the same for the same labels."""
        learning = self.learning
        mine = learning.panel.noise.uniform[learning.is_open]
        return self._looked(learning.normals, 0.5, lambda rows: mine[rows], np.random.default_rng(_SEED))

    def _looked(
        self,
        normals: NDArray[np.float64],
        start: float,
        uniform: Callable[[slice], NDArray[np.floating]],
        rng: np.random.Generator,
    ) -> Look:
        """Draw the truth of every open item, piece by piece: it takes little memory however many items there are."""
        learning, n = self.learning, len(normals)
        features, drawn = learning.features, draw_parameters(learning.points, start, normals)
        mean = np.empty(features.barred.shape)
        expected, right = self._agreed(rng, n)
        places, changed = np.arange(features.width + 1, dtype=np.int16), self.changing(rng, n)
        for rows in features.pieces(n + right.shape[2]):
            chance = changed(chances(features, drawn, rows), rows)
            mean[rows] = chance.mean(axis=2, dtype=float)
            shown = _shown(chance, uniform(rows))
            says, group = features.says(rows).astype(np.float32), features.group[rows]
            for g in np.unique(group).tolist():
                first, last = np.searchsorted(group, [g, g + 1])  # open items are sorted by group
                voices = says[first:last].reshape(-1, right.shape[2])
                is_shown = (shown[first:last, None] == places[:, None]).astype(np.float32)
                expected[g] += mean[rows][first:last].reshape(-1) @ voices
                right[:, g] += is_shown.reshape(-1, n).T @ voices
        return Look(mean, expected, right)

    def changing(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[NDArray[np.floating], slice], NDArray[np.floating]]:
        """What is done to the chances of some open items, (items, options + none, n), in n draws: nothing here."""
        return lambda chance, rows: chance  # noqa: ARG005  (those of `LevelsBelief` are about these rows)

    def _draw(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of the shares right in the pool, shape (n, groups, models)."""
        normals = rng.standard_normal((n, most_parameters(self.learning.points)))
        option = self.learning.features.option
        look = self._looked(normals, rng.random(), lambda rows: rng.random((len(option[rows]), n)), rng)
        return look.right / self._per

    def _agreed(self, rng: np.random.Generator, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The right answers that are known or agreed: expected, shape (groups, models), and n draws of them."""
        learning = self.learning
        expected = learning.known.astype(float)
        drawn = np.repeat(expected[None], n, axis=0)
        if learning.trust is not None:
            homes, trust = learning.panel.homes, learning.trust
            chance = trust.draws(rng, n)
            by_home = trust.strips.by_cell
            expected[homes] += by_home(chance * learning.free).mean(axis=0)[:, None]
            drawn[:, homes] += by_home(rng.binomial(learning.free, chance))[..., None]
        return expected, drawn

    # --- as a belief about rows

    def awaiting(self, pending: NDArray[np.int64]) -> Belief:
        """The belief itself: pending items are not asked again, and each was chosen for what it settles itself."""
        return self

    def counting(self, labels: NDArray[np.float64]) -> Belief:
        """The belief itself: a label settles its own item, and what it says about others waits for the next fit."""
        return self

    @cached_property
    def left(self) -> NDArray[np.int64]:
        """Contested items without a label in each row, shape (rows,)."""
        panel = self.learning.panel
        count = np.bincount(panel.group[self.learning.open], minlength=panel.groups)
        return np.repeat(count, panel.answers.models)

    @property
    def _per(self) -> NDArray[np.float64]:
        return self.size.reshape(self.learning.panel.groups, -1).astype(float)

    def mean(self) -> NDArray[np.float64]:
        """E θ, shape (rows, outcomes)."""
        right = (self.look.expected / self._per).reshape(-1)
        return np.column_stack([right, 1 - right])

    def variance(self) -> NDArray[np.float64]:
        """Var θ, shape (rows, outcomes)."""
        variance = (self.look.right / self._per).var(axis=0)
        if self.target == "population":
            variance += np.stack([np.diag(c) for c in self._sampling])
        return np.repeat(variance.reshape(-1, 1), 2, axis=1)

    @cached_property
    def alpha(self) -> NDArray[np.float64]:
        """Counts of the Beta with the mean and variance of each row."""
        mean = np.clip(self.mean()[:, 0], 1e-6, 1 - 1e-6)
        return strength(mean, self.variance()[:, 0])[:, None] * np.column_stack([mean, 1 - mean])

    def shares(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n draws of the shares in the population, shape (n, rows, outcomes)."""
        right = self._draw(rng, n)
        for g, covariance in enumerate(self._sampling):
            right[:, g] += rng.standard_normal((n, len(covariance))) @ _root(covariance).T
        right = np.clip(right.reshape(n, -1), 0, 1)
        return np.stack([right, 1 - right], axis=-1)

    def draws(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """n joint draws of θ, shape (n, rows, outcomes)."""
        if self.target == "population":
            return self.shares(rng, n)
        right = self._draw(rng, n).reshape(n, -1)
        return np.stack([right, 1 - right], axis=-1)

    @cached_property
    def _sampling(self) -> NDArray[np.float64]:
        """How far the shares of a pool of this size differ from the population's: (groups, models, models).

        Σ/(n + 1), Σ being the covariance over items of the vector of who is right.
        """
        learning, panel = self.learning, self.learning.panel
        models = panel.answers.models
        both = np.zeros((panel.groups, models, models))
        # Agreed items: all are right together.
        if learning.trust is not None:
            expected, _ = self._agreed(np.random.default_rng(_SEED), len(self.look.right))
            both[panel.homes] += (expected - learning.known)[panel.homes][:, :1, None]
        right = panel.answers.said[learning.asked] == self._truth[:, None]
        for g in range(panel.groups):
            here = right[panel.group[learning.asked] == g].astype(float)
            both[g] += here.T @ here
        features, chance = learning.features, self.look.chance
        for rows in features.pieces(models):
            root = features.says(rows) * np.sqrt(chance[rows])[..., None]
            for g in np.unique(features.group[rows]).tolist():
                mine = root[features.group[rows] == g].reshape(-1, models)
                both[g] += mine.T @ mine
        both += self._known_agreed
        mean = both / self._per[:, :1, None]
        share = np.diagonal(mean, axis1=1, axis2=2)
        covariance = mean - share[:, :, None] * share[:, None, :]
        return covariance / (self._per[:, :1, None] + 1)

    @cached_property
    def _truth(self) -> NDArray[np.int64]:
        """The true class of each labelled contested item, or −2 where no model names it."""
        learning = self.learning
        answers = learning.panel.answers
        hit = answers.option[learning.asked] == learning.place[:, None]
        answer = np.take_along_axis(answers.said[learning.asked], hit.argmax(axis=1)[:, None], axis=1)[:, 0]
        return np.where(hit.any(axis=1), answer, -2)

    @property
    def _known_agreed(self) -> NDArray[np.float64]:
        """The right answers among labelled items that are agreed, shape (groups, 1, 1)."""
        learning, panel = self.learning, self.learning.panel
        contested = np.zeros((panel.groups, panel.answers.models))
        np.add.at(contested, panel.group[learning.asked], panel.answers.said[learning.asked] == self._truth[:, None])
        return np.asarray((learning.known - contested)[:, :1, None], dtype=float)

    def unbeaten(self) -> NDArray[np.float64]:
        """The largest P(best) that the leader's record against each rival allows: the least of them, shape (groups,).

        The belief learns from all labels who is right where two differ, and can be sure of it without having been tried
        on those items that decide between these two.
        """
        records = self._records(self.look.expected.argmax(axis=1).tolist())
        ahead = [record.is_ahead() if self.target == "population" else record.stays_ahead() for record in records]
        return np.array([each.min() for each in ahead])

    def apart(self, group: int, a: int, b: int) -> tuple[NDArray[np.float64], float]:
        """Draws of the difference of two models in the pool, shape (draws,), and its sd as that of the population.

        The sd is that of a difference which is known exactly for the pool: one sample of the population.
        """
        right, covariance = self.look.right[:, group] / self._per[group], self._sampling[group]
        variance = covariance[a, a] + covariance[b, b] - 2 * covariance[a, b]
        return right[:, a] - right[:, b], float(np.sqrt(max(variance, 0.0)))

    def margins(self, a: int, b: int) -> list[Margin]:
        """How far model a is ahead of model b by their record alone: over all, and in each group."""
        groups = [record.against(b) for record in self._records([a] * self.learning.panel.groups)]
        return [Margin.together(groups), *groups]

    def _records(self, leads: Sequence[int]) -> list[Record]:
        """The record of a leader of each group against every model."""
        kept, learning = self._kept_records, self.learning
        for g, lead in enumerate(leads):
            if (g, lead) not in kept:
                kept[g, lead] = Record.of(learning.heard, learning.place, learning.features, g, lead)
        return [kept[key] for key in enumerate(leads)]

    @cached_property
    def _kept_records(self) -> dict[tuple[int, int], Record]:
        return {}

    # --- the worth of a label

    def chances(self, group: int) -> NDArray[np.float64]:
        """P(best) of each model in a group; ties are shared evenly. Shape (models,)."""
        right = self.look.right[:, group]
        first = right >= right.max(axis=1, keepdims=True) - 1e-9
        return np.asarray((first / first.sum(axis=1, keepdims=True)).mean(axis=0))

    def rivals(self, group: int) -> tuple[int, list[Rival]]:
        """The leader of a group, with the highest mean, and the models that may still be better."""
        expected, right = self.look.expected[group], self.look.right[:, group]
        lead = int(expected.argmax())
        chance = self.chances(group)
        order = [r for r in np.argsort(-chance, kind="stable")[: _RIVALS + 1].tolist() if r != lead]
        likely = [r for r in order if chance[r] > _UNLIKELY] or [int(np.argsort(-expected, kind="stable")[1])]
        apart = {r: max(float((right[:, lead] - right[:, r]).var()), _LEAST_VARIANCE) for r in likely[:_RIVALS]}
        return lead, [Rival(r, max(float(chance[r]), _UNLIKELY), variance) for r, variance in apart.items()]

    def contest(self, group: int) -> NDArray[np.float64]:
        """The worth of a label for the best model of a group: Σ_r P(r is best)·doubt(leader, r)/Var(leader − r).

        Shape (items,).
        """
        learning = self.learning
        lead, rivals = self.rivals(group)
        out = np.zeros(len(learning.panel.group))
        for rival in rivals:
            out[learning.open] += rival.weight * doubt(learning.features.option, self.look.chance, lead, rival.model)
        return np.where(learning.panel.group == group, out, 0.0)

    def by_lot(self, group: int) -> NDArray[np.float64]:
        """P(each item) if a rival is drawn by P(r is best), then an item at random on which it and the leader differ.

        Shape (items,): of items of the group without a label; all 0 if there are none.
        """
        learning = self.learning
        lead, rivals = self.rivals(group)
        option, here = learning.features.option, learning.features.group == group
        out = np.zeros(len(learning.panel.group))
        for rival in rivals:
            apart = learning.open[here & (option[:, lead] != option[:, rival.model])]
            out[apart] += rival.chance / max(len(apart), 1)
        return out / max(out.sum(), _LEAST_CHANCE)

    def summary(self) -> Summary:
        """A summary of what was learned about where the models agree and differ."""
        panel = self.learning.panel
        items = len(panel.group)
        apart, labels = len(panel.contested), len(self.learning.asked)
        numbers = {"labels": float(self.labels), "contested": apart / max(items, 1), "contested_labels": float(labels)}
        words = (
            f"The models differ on {percent(apart / max(items, 1))} of the items ({apart:,} of {items:,}); {labels:,} "
            f"of {self.labels:,} labels are of such items. Where all say the same, a label does not show which "
            "is better."
        )
        return Summary(words, numbers)


def _shown(chance: NDArray[np.floating], uniform: NDArray[np.floating]) -> NDArray[np.int16]:
    """The option that each draw shows: (items, options + none, draws) and (items, draws) to (items, draws)."""
    shown, below = np.zeros(uniform.shape, dtype=np.int16), np.zeros(uniform.shape, dtype=chance.dtype)
    for option in range(chance.shape[1] - 1):  # one after the other takes half the time of all at once
        below += chance[:, option]
        shown += uniform > below
    return shown


def _root(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """A matrix R with R Rᵀ = the covariance, also if it is singular."""
    value, vector = np.linalg.eigh(covariance)
    return np.asarray(vector * np.sqrt(np.maximum(value, 0)))
