"""What a group's own labels say about a line: bets on them, an exact test, and what one more label is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.anytime import Bets, evidence_above
from fewlabels.estimates import expected_right
from fewlabels.special import rel_entr
from fewlabels.tasks.surprise import surprise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.belief import Target
    from fewlabels.cells import Cells

_TINY, _FAR = 1e-9, 1e9


@dataclass(frozen=True)
class Line:
    """A line that groups must reach, and the probability with which that must be shown.

    Parameters
    ----------
    at
        The value on the line.
    is_least
        Whether groups must be at or above it; otherwise at or below.
    sure
        The probability with which a verdict is given.
    """

    at: float
    is_least: bool
    sure: float

    def reached(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether each value is on the right side of the line, which itself counts as reached.

        >>> Line(0.9, True, 0.95).reached(np.array([0.89, 0.9]))
        array([False,  True])
        """
        return values >= self.at - 1e-12 if self.is_least else values <= self.at + 1e-12

    def thresholds(self, groups: int) -> tuple[float, float]:
        """The log wealth that bets on one of k groups must win: to pass, and to fail.

        A failure names one group out of k, so its bets must win k times as much. Without the guarantee they decide no
        failure, but say where to ask; whoever has won as much has met the exact test too, which is as strict.
        """
        return float(np.log(1 / (1 - self.sure))), float(np.log(max(groups, 1) / (1 - self.sure)))

    def wealth(
        self, counts: NDArray[np.float64], target: Target, cells: Cells
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """log of the wealth won by bets on each group reaching the line, and on missing it; two of shape (groups,)."""
        right, wrong, line = self._sides(counts)
        expected = expected_right(cells) if self.is_least else 1 - expected_right(cells)
        size = cells.size if target == "pool" else None
        out = np.full((2, len(cells.partition)), -np.inf)
        out[0, cells.group] = evidence_above(line, right, wrong, Bets.on(expected), size, touching=True)
        out[1, cells.group] = evidence_above(1 - line, wrong, right, Bets.on(1 - expected), size)
        return out[0], out[1]

    def missed(self, counts: NDArray[np.float64], target: Target, cells: Cells, groups: int) -> NDArray[np.bool_]:
        """Whether a group on the line would rarely have so few right predictions, shape (groups,): an exact test.

        A fail names one group out of many, and among many that lie on the line one looks bad by chance; so the
        probability must be at most (1 − sure) divided by how many they are.
        """
        right, wrong, line = self._sides(counts)
        out = np.zeros(len(cells.partition), dtype=bool)
        rarely = surprise(1 - line, wrong, right, cells.size if target == "pool" else None, beyond=True)
        out[cells.group] = rarely <= (1 - self.sure) / max(groups, 1)
        return out

    def worth(
        self,
        values: NDArray[np.float64],
        wealth: tuple[NDArray[np.float64], NDArray[np.float64]],
        asked: NDArray[np.bool_],
        backed: NDArray[np.bool_],
    ) -> NDArray[np.float64]:
        """What a label is worth where bets can be placed, for drawn values of groups: (..., groups) to the same.

        If some group misses the line, the one whose bets on that are won soonest, after n = log(wealth missing) ÷
        KL(value, line) labels, ends the matter: 1/(1 + n). Otherwise every group whose bets on reaching it are not won
        yet needs labels of its own, whichever comes first: 1.
        """
        (reach, miss), (to_pass, to_fail) = wealth, self.thresholds(int(asked.sum()))
        missing = asked & ~self.reached(values) & (miss < to_fail)
        line = float(np.clip(self.at, _TINY, 1 - _TINY))
        speed = np.maximum(rel_entr(values, line) + rel_entr(1 - values, 1 - line), _TINY)
        soon = missing / (1 + np.where(missing, to_fail - np.maximum(miss, -_FAR), 0) / speed)
        lacking = asked & ((reach < to_pass) | ~backed)
        return np.where(missing.any(axis=-1, keepdims=True), soon, lacking.astype(float))

    def _sides(self, counts: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64], float]:
        """Labels on the right side and on the wrong one, and the line: at most p right is at least 1 − p wrong."""
        right, wrong = (np.rint(counts[:, outcome]).astype(np.int64) for outcome in (0, 1))
        return (right, wrong, self.at) if self.is_least else (wrong, right, 1 - self.at)
