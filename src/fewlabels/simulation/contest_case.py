"""A question about several models whose true classes are known, and the scores of one run about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.errors import Argument, SpecError
from fewlabels.tasks import CompareModels
from fewlabels.tasks.models import surest_best

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.cells import ModelCells
    from fewlabels.tasks.models import ModelsTask

SURE = 0.95
"""The probability at which a run would stop."""
_DRAWS = 2_000


@dataclass(frozen=True, eq=False)
class Contest:
    """A question about several models on a pool whose true classes are known.

    Parameters
    ----------
    task
        The question.
    cells
        The rows of all items.
    true
        The true class of each item, shape (items,).
    items
        How many items each run uses, drawn at random; None for all.
    """

    task: ModelsTask
    cells: ModelCells
    true: NDArray[np.int32]
    items: int | None = None

    def drawn(self, rng: np.random.Generator) -> Contest:
        """The question on the items of one run."""
        if self.items is None or self.items >= len(self.true):
            return self
        pick = np.sort(rng.choice(len(self.true), self.items, replace=False))
        groups = self.cells.groups
        assert groups is not None
        if len(np.unique(groups.group[pick])) < (groups.sizes > 0).sum():
            raise SpecError(
                "some groups have no items among those drawn. Draw more, with ",
                Argument("items"),
                ", or use fewer groups.",
            )
        return Contest(self.task, self.cells.some(pick), self.true[pick])

    @property
    def right(self) -> NDArray[np.bool_]:
        """Which models are right about each item, shape (items, models)."""
        return self.cells.said == self.true[:, None]


class Scores:
    """Collects the scores of one run, at each budget in turn."""

    def __init__(self, case: Contest, *, judges: bool = True) -> None:
        self.case, self.judges = case, judges
        self.truth = case.right.sum(axis=0) / len(case.true)
        self.found: dict[str, list[float]] = {}
        self.now: dict[str, float] = {}
        self.sure: bool | None = None
        self.most = np.ones(3)

    def look(self, belief: Any, rng: np.random.Generator, label: int, *, ends: bool) -> None:
        """Read the belief after some labels: in full at a budget, and where a quick look is nearly sure."""
        task = self.case.task
        right = belief.look.right.sum(axis=1) / len(self.case.true)
        if not ends and (label < 2 or not self._near(right, task)):
            return
        draws = belief.draws(rng, _DRAWS)[..., 0].reshape(_DRAWS, -1, right.shape[1])
        mean = belief.look.expected.sum(axis=0) / len(self.case.true)
        if isinstance(task, CompareModels):
            self.most = task.most(belief, self.case.cells)[0]
            self._read_apart(task, task.apart(draws, belief, self.case.cells)[:, 0], mean)
        else:
            self.most = surest_best(belief, task.asks(self.case.cells))
            sizes = self.case.cells.size.reshape(draws.shape[1], -1)[:, 0]
            self._read_best(np.einsum("mgh,g->mh", draws, sizes / sizes.sum()), mean)

    def _near(self, right: NDArray[np.float64], task: ModelsTask) -> bool:
        """Whether the few draws of a quick look are sure enough to justify one with more draws."""
        if isinstance(task, CompareModels):
            a, b = (self.case.cells.models.index(name) for name in (task.a, task.b))
            region = np.bincount(region_of(task, right[:, a] - right[:, b]), minlength=3)
            return bool(region.max() / len(right) >= SURE - 0.05)
        best = right >= right.max(axis=1, keepdims=True) - 1e-9
        return bool(best.mean(axis=0).max() >= SURE - 0.05)

    def _read_apart(self, task: CompareModels, apart: NDArray[np.float64], mean: NDArray[np.float64]) -> None:
        """Read draws of the difference, shape (draws,), and the mean share right of each model."""
        a, b = (self.case.cells.models.index(name) for name in (task.a, task.b))
        low, high = np.quantile(apart, [0.025, 0.975]).tolist()
        self.compared(task, mean[a] - mean[b], float(apart.std()), low, high, region_shares(task, apart))

    def _read_best(self, values: NDArray[np.float64], mean: NDArray[np.float64]) -> None:
        """Read draws of the shares right, shape (draws, models), and their means."""
        lead = int(mean.argmax())
        self.chosen(lead, float((values[:, lead] >= values.max(axis=1) - 1e-9).mean()))

    def chosen(self, lead: int, sure: float) -> None:
        """Record that a model is named as the best, with this probability."""
        is_right = bool(self.truth[lead] >= self.truth.max() - 1e-9)
        self._stop(min(sure, float(self.most.min())), is_right)
        self.now = {"best": 100.0 * is_right, "regret": 100 * float(self.truth.max() - self.truth[lead])}

    def compared(
        self, task: CompareModels, mean: float, sd: float, low: float, high: float, regions: NDArray[np.float64]
    ) -> None:
        """Record an estimated difference, with its interval and the probability of each region."""
        a, b = (self.case.cells.models.index(name) for name in (task.a, task.b))
        true = float(self.truth[a] - self.truth[b])
        named = int(regions.argmax())
        sure = min(float(regions[named]), float(self.most[named]))
        self._stop(sure, named == int(region_of(task, np.array([true]))[0]))
        self.now = {
            "error": 100 * abs(mean - true),
            "sd": 100 * sd,
            "coverage": 100.0 * (low - 1e-9 <= true <= high + 1e-9),
        }

    def _stop(self, sure: float, is_right: bool) -> None:
        if self.sure is None and sure >= SURE:
            self.sure = is_right

    def note(self) -> None:
        """Keep the scores of this moment for the next budget."""
        stopped = self.sure is not None
        sure = 100.0 * stopped if self.judges else np.nan
        extra = {"sure": sure, "sure-right": 100.0 * bool(self.sure) if stopped else np.nan}
        for name, value in (self.now | extra).items():
            self.found.setdefault(name, []).append(value)


def region_of(task: CompareModels, apart: NDArray[np.float64]) -> NDArray[np.int64]:
    edge = task.rope + 1e-12
    return np.where(apart < -edge, 0, np.where(apart > edge, 2, 1))


def region_shares(task: CompareModels, apart: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.bincount(region_of(task, apart), minlength=3) / len(apart)
