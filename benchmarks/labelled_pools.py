"""Pools whose labels are all known, for benchmarks: how far a belief from some of them is from the truth of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import fewlabels as fl
from fewlabels.outcomes import Outcomes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from fewlabels.belief import Belief, Target
    from fewlabels.cells import Cells
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool
    from fewlabels.priors import Prior

LEVEL = 0.95


def read(folder: Path, name: str) -> tuple[Pool, Partition, list[int]]:
    """A pool, its groups (sex × race where there are such columns, else predicted classes) and its labels."""
    path = folder / f"{name}.npz"
    if not path.exists():
        raise SystemExit(f"there is no {path}. Name the folder with the NPZ files by --data.")
    pool = fl.read_pool(path)
    fair = pool.columns is not None and {"sex", "race"} <= set(pool.columns.column_names)
    groups = fl.cross(fl.by_column(pool, "sex"), fl.by_column(pool, "race")) if fair else fl.by_predicted(pool)
    with np.load(path, allow_pickle=False) as file:
        return pool, groups, file["labels"].tolist()


@dataclass(frozen=True, eq=False)
class Labelled:
    """Cells of right and wrong whose labels are all known."""

    cells: Cells
    outcome: NDArray[np.int64]

    @property
    def truth(self) -> NDArray[np.float64]:
        """The share right in each cell, shape (cells,)."""
        right: NDArray[np.float64] = 1 - np.bincount(self.cells.cell, self.outcome) / self.cells.size
        return right

    @property
    def weight(self) -> NDArray[np.float64]:
        """The share of the items in each cell, shape (cells,)."""
        return self.cells.size / self.cells.size.sum()

    @property
    def said(self) -> NDArray[np.float64]:
        """The mean confidence in each cell, shape (cells,)."""
        assert self.cells.confidence is not None
        return self.cells.confidence

    def believe(self, prior: Prior, target: Target, items: NDArray[np.int64]) -> Belief:
        """The belief once some items are labelled."""
        return prior.on(self.cells, target).belief(Outcomes.of(self.cells, items, self.outcome[items]))

    def rmse(self, belief: Belief) -> float:
        """Σ_g p_g (θ^_g − θ_g)², its root, × 100."""
        return float(100 * np.sqrt(self.weight @ (belief.mean()[:, 0] - self.truth) ** 2))


def labelled(pool: Pool, groups: Partition, labels: Sequence[int]) -> Labelled:
    """The cells of accuracy with all labels."""
    metric = fl.Accuracy()
    every = metric.outcome(pool, np.arange(len(pool)), np.array(labels, dtype=np.int32))
    return Labelled(metric.cells(pool, groups), every)


def say(what: str, name: str, who: str, runs: int, at: object, numbers: Sequence[float], digits: int = 2) -> None:
    """One line of a table."""
    row = " ".join(f"{number:7.{digits}f}" for number in numbers)
    print(f"{what:9s} {name:13s} {who:24s} runs {runs:5d}  at {at}: {row}", flush=True)


def inside(draws: NDArray[np.float64], true: NDArray[np.float64] | float) -> float:
    """The share of values that lie in their equal-tailed interval of draws, along the first axis."""
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return float(np.mean((low <= true + 1e-9) & (true <= high + 1e-9)))
