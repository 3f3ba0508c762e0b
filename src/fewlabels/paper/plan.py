"""The plan of one command, its rows, and the common part of the tables: loading, running, lining up with the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.errors import InputError
from fewlabels.paper.pools import Dataset, PaperPool, chosen, load
from fewlabels.paper.published import Cell, published
from fewlabels.simulation.parallel import chunks, gather
from fewlabels.simulation.significance import against_best

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from fewlabels.simulation.methods import Method
    from fewlabels.simulation.scorer import Better

# A run of this table takes 6 seconds there, and a run of all curves 15: with all of them the whole paper takes many
# hours on two processors.
SHARE_OF_RUNS = {("least-calibrated", "ImageNet"): 0.5, ("figures", "ImageNet"): 0.1}

Row = dict[str, Any]
Part = Callable[["Method", range], Any]


class NoPoolError(InputError):
    """The table has none of the data sets that were asked for."""


@dataclass(frozen=True)
class PaperPlan:
    """The settings of one command: what to run.

    Parameters
    ----------
    folder
        The folder with the pools.
    runs
        Runs of each method on each pool.
    all_runs
        Whether the slowest table and figures get all of them too, instead of the share in `SHARE_OF_RUNS`. Each row of
        a table says how many.
    datasets
        The data sets of the paper to run on; None for all.
    as_published
        Whether to do what the authors' program did where it differs from the text.
    jobs
        How many threads; None for as many as there are processors.
    seed
        Another seed gives other runs. The result does not depend on `jobs`.
    say, progress
        Called with what begins now, and with the pieces of it that are done and all of them.
    """

    folder: Path
    runs: int = 1000
    all_runs: bool = False
    datasets: tuple[str, ...] | None = None
    as_published: bool = False
    jobs: int | None = None
    seed: int = 0
    say: Callable[[str], None] | None = None
    progress: Callable[[int, int], None] | None = None

    def pools(self, sources: Iterable[Dataset]) -> list[PaperPool]:
        """The pools of a table that are asked for. If there are none, that is a NoPoolError."""
        sources = list(sources)
        names = {source.dataset for source in chosen(self.datasets)}
        wanted = [source for source in sources if source.dataset in names]
        if not wanted:
            have = ", ".join(source.dataset for source in sources)
            raise NoPoolError(f"this table has none of the data sets that were asked for. It has {have}.")
        return [load(source, self.folder) for source in wanted]

    def runs_of(self, table: str, source: Dataset) -> int:
        """The number of runs that a table gets on a pool."""
        share = 1.0 if self.all_runs else SHARE_OF_RUNS.get((table, source.dataset), 1.0)
        return max(round(share * self.runs), min(self.runs, 2))

    def run(self, words: str, methods: Sequence[Method], part: Part, runs: int) -> dict[str, list[Any]]:
        """What `part(method, range of runs)` gives for each method, in pieces that do not depend on `jobs`."""
        if self.say is not None:
            self.say(f"{words}, {runs:,} runs")
        pieces = chunks(runs)
        work = [partial(part, method, piece) for method in methods for piece in pieces]
        done = gather(work, jobs=self.jobs, progress=self.progress)
        return {method.name: done[i * len(pieces) : (i + 1) * len(pieces)] for i, method in enumerate(methods)}


@dataclass(frozen=True, eq=False)
class Result:
    """A table of the paper as it came out here: tidy rows, notes on them, and how they were made.

    `cpu_seconds` is the time of all processors together, None if it was not measured.
    """

    name: str
    rows: Sequence[Row]
    footnotes: Sequence[str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    cpu_seconds: float | None = None


def settings(plan: PaperPlan) -> dict[str, Any]:
    """The settings of a plan that its numbers depend on."""
    some = {} if plan.datasets is None else {"datasets": list(plan.datasets)}
    return {"runs": plan.runs, "all_runs": plan.all_runs, "as_published": plan.as_published, "seed": plan.seed} | some


def row(table: str, cell: Cell, values: Mapping[str, Any]) -> Row:
    """A tidy row: what it is about, mean, standard error and runs, and the number that the paper prints."""
    printed = published(table).get(cell)
    empty: Row = {"mean": None, "se": None, "paper": printed.value if printed else None, "runs": None, "best": None}
    return cell._asdict() | empty | dict(values)


def summary(values: NDArray[np.float64]) -> dict[str, Any]:
    """Mean, standard error and number of runs of values of shape (runs,)."""
    se = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    return {"mean": float(values.mean()), "se": se, "runs": len(values)}


def scored(
    table: str, dataset: str, scores: Mapping[str, NDArray[np.float64]], budget: int | None, score: str, better: Better
) -> list[Row]:
    """A row for each method from its scores of shape (runs,), the best marked by Wilcoxon's test as in the paper."""
    test = against_best(scores, better)
    return [
        row(table, Cell(dataset, name, budget, score), summary(values) | {"best": test[name]["best"]})
        for name, values in scores.items()
    ]
