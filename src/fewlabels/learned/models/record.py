"""What the record of two models against each other says by itself: how often each was right where they differ.

Labels are steered, so those of items on which two models differ are not drawn at random: where one of them stands alone
against the others, many may be asked about, and where the other does, none; and a model that is alone is right more or
less often than with the crowd. So the record has five parts: items on which fewer models say what the first says than
what the second says, as many, and more; and items on which the second gives no answer, or the first. The labels of each
part represent only the items of this part. A model without an answer is never right, so the last two parts can only
count for the other one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.special import betaln, gammaln

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fewlabels.learned.models.voices import Features

# Wins and losses that each part of a record begins with. There are more losses: whoever leads was lucky, and the record
# is looked at after every label. Where one gives no answer, an item scores 0 or 1 instead of −1 or 1, so half as many
# labels are as cautious: some that count for the leader, and more that do not.
BEFORE = (3.0, 5.0)
# The scores of all parts together begin with this many labels, whose mean is this far on the other side of a claim.
_BEGUN, _SHIFT = sum(BEFORE), (BEFORE[1] - BEFORE[0]) / sum(BEFORE)
# With more items left than this, what they add up to is as good as normal; and so far ahead, it does not matter.
_MANY, _FAR = 400, 0.9995
# Who gives no answer in each part: nobody, the other one (1), or the leader (−1).
SILENT = np.array([0, 0, 0, 1, -1])


@dataclass(frozen=True, eq=False)
class Record:
    """The record of a leader against every model, in parts, each of shape (parts, models).

    Parameters
    ----------
    wins, losses
        Labels of items on which the two differ that show the leader to be right, or the other.
    left
        Items without a label on which they differ.
    size
        All items on which they differ.
    silent
        Who gives no answer, shape (parts,): 0 nobody, 1 the other one, −1 the leader.
    """

    wins: NDArray[np.int64]
    losses: NDArray[np.int64]
    left: NDArray[np.int64]
    size: NDArray[np.int64]
    silent: NDArray[np.int64]

    @classmethod
    def of(cls, heard: Features, shown: NDArray[np.int64], rest: Features, group: int, lead: int) -> Record:
        """The record in a group: items that have a label, with the option that it showed, and items without one."""
        here = heard.group == group
        right = (heard.option[here] == shown[here][:, None]).astype(np.int64)
        apart = right[:, [lead]] - right
        asked, left = _parts(heard, here, lead), _parts(rest, rest.group == group, lead).sum(axis=1)
        wins, losses = (asked & (apart > 0)).sum(axis=1), (asked & (apart < 0)).sum(axis=1)
        return cls(wins, losses, left, left + asked.sum(axis=1), SILENT)

    @property
    def counts(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The labels of each part that count for the leader, and that do not, with those it begins with.

        Where both answer, labels that show both to be wrong count as neither.
        """
        asked, silent = self.size - self.left, self.silent[:, None]
        good = np.where(silent < 0, asked - self.losses, self.wins)
        bad = np.where(silent > 0, asked - self.wins, self.losses)
        return good + BEFORE[0] * self.scores[1] / 2, bad + BEFORE[1] * self.scores[1] / 2

    @property
    def scores(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How an item of each part scores for the leader, shape (parts, 1): at least, and how much more if it is won.

        −1 or 1; where the other gives no answer, 0 or 1; where the leader gives none, −1 or 0.
        """
        return np.where(self.silent > 0, 0, -1)[:, None], np.where(self.silent, 1, 2)[:, None]

    def stays_ahead(self) -> NDArray[np.float64]:
        """P(the leader ends at least level with each model), from the items that are left, shape (models,).

        In each part the share of items that count for the leader is Beta(counts), so of those left a beta-binomial
        number does. An item that both have wrong scores as if one of them had it right.
        """
        (a, b), (least, more) = self.counts, self.scores
        ahead, left = (self.wins - self.losses).sum(axis=0), self.left.sum(axis=0)
        share = a / (a + b)
        mean = ahead + (self.left * (least + more * share)).sum(axis=0)
        spread = more**2 * self.left * share * (1 - share) * (1 + np.maximum(self.left - 1, 0) / (a + b + 1))
        chance_ahead = _normal(mean, spread.sum(axis=0))
        lowest = ahead + (least * self.left).sum(axis=0)
        for h in np.flatnonzero((left <= _MANY) & (left > 0) & (chance_ahead < _FAR)).tolist():
            chance = np.ones(1)
            for part, step in enumerate(more[:, 0].tolist()):
                n = int(self.left[part, h])
                own = np.zeros(step * n + 1)
                own[::step] = _beta_binomial(a[part, h], b[part, h], n)
                chance = np.convolve(chance, own)
            chance_ahead[h] = chance[max(-lowest[h], 0) :].sum()
        return np.clip(chance_ahead, 0, 1)

    def is_ahead(self) -> NDArray[np.float64]:
        """P(the leader is at least as good as each model among items like these), shape (models,).

        Σ size·score ≥ 0 with the share of items that count for the leader ~ Beta(counts) in each part, treated as
        normal: the items that have a label are only a sample too. 1 for models that always say the same.
        """
        (a, b), (least, more) = self.counts, self.scores
        mean = (self.size * (least + more * a / (a + b))).sum(axis=0)
        return _normal(mean, ((more * self.size) ** 2 * a * b / (a + b) ** 2 / (a + b + 1)).sum(axis=0))

    def against(self, model: int) -> Margin:
        """The leader's margin over one model."""
        return Margin(self.wins[:, model], self.losses[:, model], self.left[:, model], self.size[:, model], self.silent)


@dataclass(frozen=True, eq=False)
class Margin:
    """How far one model is ahead of another: scores s ∈ {−1, 0, 1} of the items on which they differ, in parts.

    Parameters
    ----------
    wins, losses, left, size, silent
        As in `Record`, shape (parts,). Other labels, which show both to be wrong, score 0.
    """

    wins: NDArray[np.int64]
    losses: NDArray[np.int64]
    left: NDArray[np.int64]
    size: NDArray[np.int64]
    silent: NDArray[np.int64]

    @classmethod
    def together(cls, margins: Sequence[Margin]) -> Margin:
        """The margin in several groups at once: each keeps its parts."""
        return cls(*(np.concatenate([getattr(each, field.name) for each in margins]) for field in fields(cls)))

    def regions(self, edge: float, *, population: bool) -> NDArray[np.float64]:
        """The largest probability that Σs < −edge, |Σs| ≤ edge and Σs > edge are each stated with, shape (3,).

        A short record is no reason to prefer another region, so 1/2 is always allowed.

        >>> even = Margin(*(np.array([count]) for count in (10, 10, 80, 100, 0)))
        >>> even.regions(30, population=False).round(2)
        array([0.5 , 0.69, 0.5 ])
        """
        other = self.reversed()
        less, more = other.at_least(edge, population=population), self.at_least(edge, population=population)
        equal = sum(each.at_least(-edge, population=population) for each in (self, other)) - 1
        return np.maximum([less, equal, more], 0.5)

    def reversed(self) -> Margin:
        """How far the other model is ahead."""
        return Margin(self.losses, self.wins, self.left, self.size, -self.silent)

    def at_least(self, edge: float, *, population: bool) -> float:
        """P(Σs ≥ edge), from a record that begins against it.

        A claim is looked at after every label, and whoever looks so often sees a lucky streak. So the record begins
        with the mean edge/Σsize − 1/4: if the edge is 0, with 3 wins and 5 losses. Σs is treated as normal.
        """
        least, most = self.ends(population=population)
        if least >= edge or most < edge:
            return float(least >= edge)
        mean, variance = self.moments(edge / self.size.sum() - _SHIFT, population=population)
        return _normal_at(mean - edge, variance)

    def ends(self, *, population: bool) -> tuple[int, int]:
        """The least and the greatest Σs that is possible, given the labels; of items like these, whatever they show."""
        ahead = 0 if population else int((self.wins - self.losses).sum())
        free = self.size if population else self.left
        return ahead - int(free[self.silent <= 0].sum()), ahead + int(free[self.silent >= 0].sum())

    def moments(self, start: float, *, population: bool) -> tuple[float, float]:
        """E Σs and Var Σs, if the record begins with 8 labels, spread over the parts by their sizes, of mean `start`.

        In each part the scores are then Dirichlet-multinomial. Where one gives no answer, its labels begin on the side
        of the other, or at 0.
        """
        here = self.size > 0
        wins, losses, left, size = (part[here] for part in (self.wins, self.losses, self.left, self.size))
        silent = self.silent[here]
        begun = _BEGUN * size / max(size.sum(), 1)
        begins = np.clip(start, np.where(silent > 0, 0, -1), np.where(silent < 0, 0, 1))
        n = size - left + begun
        mean = (wins - losses + begun * begins) / n
        spread = (wins + losses + begun * np.where(silent, np.abs(begins), 1)) / n - mean**2
        if population:
            return float(size @ mean), float(size**2 @ (spread / (n + 1)))
        more = 1 + np.maximum(left - 1, 0) / (n + 1)
        return float((wins - losses).sum() + left @ mean), float(left @ (spread * more))


def _parts(features: Features, rows: NDArray[np.bool_], lead: int) -> NDArray[np.bool_]:
    """Which items are in each part of the leader's record against each model, shape (parts, items, models)."""
    option = features.option[rows]
    support = np.take_along_axis(features.base[rows][:, :, 0], np.maximum(option, 0).astype(np.int64), axis=1)
    part = np.sign(np.rint((support[:, [lead]] - support) * option.shape[1])) + 1
    part = np.where(option < 0, 3, np.where(option[:, [lead]] < 0, 4, part))
    return np.asarray((part == np.arange(len(SILENT))[:, None, None]) & (option != option[:, [lead]]))


def _beta_binomial(a: float, b: float, n: int) -> NDArray[np.float64]:
    """P(each number of n), shape (n + 1,)."""
    k = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.asarray(np.exp(ways + betaln(k + a, n - k + b) - betaln(a, b)))


def _normal(mean: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(x ≥ 0) for normal x, elementwise; certain without variance."""
    return np.array([_normal_at(*where) for where in zip(mean.tolist(), variance.tolist(), strict=True)])


def _normal_at(mean: float, variance: float) -> float:
    return math.erfc(-mean / math.sqrt(2 * variance)) / 2 if variance > 0 else float(mean >= 0)
