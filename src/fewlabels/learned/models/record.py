"""What the record of two models against each other says by itself: how often each was right where they differ.

Labels are steered, so those of items on which two models differ are not drawn at random: where one of them stands alone
against the others, many may be asked about, and where the other does, none; and a model that is alone is right more or
less often than with the crowd. So the record has three parts: items on which fewer models say what the first says than
what the second says, as many, and more. The labels of each part represent only the items of this part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.special import betaln, gammaln

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.learned.models.voices import Features

# Wins and losses that each part of a record begins with. There are more losses: whoever leads was lucky, and the record
# is looked at after every label.
BEFORE = (3.0, 5.0)
# With more items left than this, what they add up to is as good as normal; and so far ahead, it does not matter.
_MANY, _FAR = 400, 0.9995
_PARTS = np.arange(3)[:, None, None]


@dataclass(frozen=True, eq=False)
class Record:
    """The record of a leader against every model, in three parts, each of shape (parts, models).

    Parameters
    ----------
    wins, losses
        Labels of items on which the two differ that show the leader to be right, or the other.
    left
        Items without a label on which they differ.
    size
        All items on which they differ.
    """

    wins: NDArray[np.int64]
    losses: NDArray[np.int64]
    left: NDArray[np.int64]
    size: NDArray[np.int64]

    @classmethod
    def of(cls, heard: Features, shown: NDArray[np.int64], rest: Features, group: int, lead: int) -> Record:
        """The record in a group: items that have a label, with the option that it showed, and items without one."""
        here = heard.group == group
        right = (heard.option[here] == shown[here][:, None]).astype(np.int64)
        apart = right[:, [lead]] - right
        asked, left = _parts(heard, here, lead), _parts(rest, rest.group == group, lead).sum(axis=1)
        wins, losses = (asked & (apart > 0)).sum(axis=1), (asked & (apart < 0)).sum(axis=1)
        return cls(wins, losses, left, left + asked.sum(axis=1))

    def stays_ahead(self) -> NDArray[np.float64]:
        """P(the leader ends at least level with each model), from the items that are left, shape (models,).

        In each part the share of wins is Beta(wins + 3, losses + 5), so of those left a beta-binomial number W goes to
        the leader, which needs Σ (wins − losses + 2W − left) ≥ 0. An item that both have wrong counts as neither.
        """
        a, b = self.wins + BEFORE[0], self.losses + BEFORE[1]
        ahead, left = (self.wins - self.losses).sum(axis=0), self.left.sum(axis=0)
        share = a / (a + b)
        mean = ahead + (self.left * (2 * share - 1)).sum(axis=0)
        spread = 4 * self.left * share * (1 - share) * (1 + np.maximum(self.left - 1, 0) / (a + b + 1))
        found = _normal(mean, spread.sum(axis=0))
        for h in np.flatnonzero((left <= _MANY) & (left > 0) & (found < _FAR)).tolist():
            chance = np.ones(1)
            for part in range(len(a)):
                chance = np.convolve(chance, _beta_binomial(a[part, h], b[part, h], int(self.left[part, h])))
            found[h] = chance[max(-((ahead[h] - left[h]) // 2), 0) :].sum()
        return np.clip(found, 0, 1)

    def is_ahead(self) -> NDArray[np.float64]:
        """P(the leader is at least as good as each model among items like these), shape (models,).

        Σ size·(2p − 1) ≥ 0 with p ~ Beta(wins + 3, losses + 5) in each part, treated as normal: the items that have a
        label are only a sample too. 1 for models that always say the same.
        """
        a, b = self.wins + BEFORE[0], self.losses + BEFORE[1]
        mean = (self.size * (a - b) / (a + b)).sum(axis=0)
        return _normal(mean, (4 * self.size**2 * a * b / (a + b) ** 2 / (a + b + 1)).sum(axis=0))


def _parts(features: Features, rows: NDArray[np.bool_], lead: int) -> NDArray[np.bool_]:
    """Which items are in each part of the leader's record against each model, shape (parts, items, models)."""
    option = features.option[rows]
    # A model without an answer, −1, has the support of "none of them", which is 0.
    support = np.take_along_axis(features.base[rows][:, :, 0], option.astype(np.int64), axis=1)
    part = np.sign(np.rint((support[:, [lead]] - support) * option.shape[1])) + 1
    return np.asarray((part == _PARTS) & (option != option[:, [lead]]))


def _beta_binomial(a: float, b: float, n: int) -> NDArray[np.float64]:
    """P(each number of n), shape (n + 1,)."""
    k = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.asarray(np.exp(ways + betaln(k + a, n - k + b) - betaln(a, b)))


def _normal(mean: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(x ≥ 0) for normal x, elementwise; certain without variance."""
    where = zip(mean.tolist(), variance.tolist(), strict=True)
    return np.array([math.erfc(-m / math.sqrt(2 * v)) / 2 if v > 0 else float(m >= 0) for m, v in where])
