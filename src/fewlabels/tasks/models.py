"""The base of tasks about several models of one pool: their rows, and the items that can distinguish them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fewlabels.cells import ModelCells, model_cells
from fewlabels.errors import Argument, InputError, SpecError
from fewlabels.estimates import affordable, value_draws
from fewlabels.tasks.base import Task

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.cells import Cells
    from fewlabels.learned.models import Margin, ModelsBelief
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool

ALL = "all items"
"""The name of the whole pool in a table that also has groups."""
TIE = 1e-9
"""Shares that differ by less are equal: all models with the highest share are best."""
_CLEAR = 1.645  # so many standard deviations above 0, a normal difference is positive with a probability of 95%
# A difference that varies less is as good as certain.
_LEAST_SD = 1e-9
# The generator of the differences among items like those of a group in which two models never differ.
_SEED = 0x73616D65
SURE = 0.95
"""An answer that is less probable is called probable, and is not called settled: this is the goal if none is set."""


@dataclass(frozen=True)
class ModelsTask(Task):
    """A question about several models: labels are asked for items on which they differ, and count for all of them."""

    of_models: ClassVar[bool] = True
    conclusive: ClassVar[bool] = True
    wants: ClassVar[str] = "lottery"

    def cells(self, pool: Pool, partition: Partition) -> Cells:
        """A row for each model in each group."""
        name = type(self).__name__
        if len(pool.models) < 2:
            raise SpecError(
                f"{name}() needs a pool of several models, such as read_pool({{'old': 'old.csv', 'new': 'new.csv'}}). "
                f"This pool (from {pool.source}) has one."
            )
        if not self.metric.marginal or self.metric.high_is_bad:
            raise SpecError(
                f"{name}() compares how often models are right: use Accuracy(). Got {type(self.metric).__name__}()."
            )
        if not len(pool):
            raise SpecError(f"{name}() needs items, but the pool (from {pool.source}) has none.")
        return model_cells(pool, partition)

    def asks(self, cells: Cells) -> NDArray[np.bool_]:
        """The items on which models differ, shape (items,): others do not show which is better."""
        answers = rows_of(cells).said
        return np.asarray((answers != answers[:, :1]).any(axis=1))

    def check_new(self, cells: Cells) -> None:
        """Refuse a question about models that never differ."""
        if self.asks(cells).any():
            return
        answers = rows_of(cells).said
        if (answers == answers[:, :1]).all():
            fault = "all models give the same answer to every item, so none is better than another"
        else:
            fault = "the two models give the same answer to every item, so neither is better than the other"
        raise InputError(
            f"{fault}. Compare other models, or ask how good one of them is, with ",
            Argument("model"),
            ".",
        )

    def drawn(
        self, belief: Belief, cells: Cells, rng: np.random.Generator, draws: int
    ) -> tuple[NDArray[np.float64], int]:
        """Joint draws of the shares right, shape (draws, groups, models), and how many."""
        used = affordable(draws, belief)
        values = value_draws(self.metric, belief, cells, rng, used)
        return self.split(values, cells), used

    def split(self, values: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
        """Values of rows as (..., groups, models)."""
        models = len(rows_of(cells).models)
        return values.reshape(*values.shape[:-1], -1, models)

    def overall_doubt(self, nouns: str, leans_on: str, *, steered: bool, everywhere: bool, borrows: bool) -> str:
        """A note that labels went to items on which models differ."""
        return "labels went to items on which the models differ"

    @property
    def main_plot(self) -> str:
        """The name of the plot of the models."""
        return "models"


def surest(belief: Belief, asks: NDArray[np.bool_]) -> float:
    """The largest probability stated after k labels of informative items: (k + 1)/(k + 2), by Laplace's rule.

    A model that never failed in k labels can still fail in the next. Without this, somebody who looks after every label
    would stop at the first streak: half of all pairs that are equal begin with two wins, one in sixteen with five. It
    is 1 once all such items have a label, if the question is about these items only. `asks` are the informative items,
    shape (items,).
    """
    learning = joint(belief).learning
    known = int(asks[learning.asked].sum())
    is_open = belief.target == "population" or asks[learning.open].any()
    return (known + 1) / (known + 2) if is_open else 1.0


def surest_best(belief: Belief, asks: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the largest probability that the leader of each group is stated to be the best with, shape (groups,).

    It is not more than `surest`, and not more than the leader's record against each rival allows: the belief about
    items learns from all labels who is right where two differ, and early on it can be sure of that too soon. A short
    record is no reason to prefer the rival, so 1/2 is always allowed. In a group of a pool without open items of that
    kind, the best is known.
    """
    learning = joint(belief).learning
    record = np.maximum(joint(belief).plain.unbeaten(), 0.5)
    is_open = np.bincount(learning.features.group[asks[learning.open]], minlength=len(record)) > 0
    return np.where(is_open | (belief.target == "population"), np.minimum(record, surest(belief, asks)), record)


def differences(values: NDArray[np.float64], cells: Cells, a: int, b: int) -> NDArray[np.float64]:
    """How much more often model a is right than b, over all items and in each group.

    Values of shape (draws, groups, models) become differences of shape (draws, 1 or 1 + groups).
    """
    gaps = values[..., a] - values[..., b]
    if gaps.shape[1] == 1:
        return gaps
    sizes = rows_of(cells).size.reshape(gaps.shape[1], -1)[:, 0]
    return np.column_stack([gaps @ (sizes / sizes.sum()), gaps])


def margins(belief: Belief, cells: Cells, a: int, b: int) -> list[tuple[Margin, int]]:
    """The margin of a over b with the number of items: over all, and in each group if there are several."""
    rows = rows_of(cells)
    sizes = rows.size.reshape(-1, len(rows.models))[:, 0].tolist()
    pairs = list(zip(joint(belief).plain.margins(a, b), [sum(sizes), *sizes], strict=True))
    return pairs if len(sizes) > 1 else pairs[:1]


def apart(values: NDArray[np.float64], belief: Belief, cells: Cells, a: int, b: int) -> NDArray[np.float64]:
    """Draws of the difference of two models, over all and in each group: as `differences`, and wide enough.

    They are spread no less than the record of the two alone would be, if it began at their mean, and if its variance
    were the share that the belief about single items leaves unexplained among the labels. Where two never differ on n
    items, other items like these can differ: by 1/(n + 1), as a standard deviation.
    """
    gaps = differences(values, cells, a, b)
    population = belief.target == "population"
    share = joint(belief).learning.unexplained(a, b)
    mean, sd = gaps.mean(axis=0), gaps.std(axis=0)
    for row, (margin, size) in enumerate(margins(belief, cells, a, b)):
        _, variance = margin.moments(mean[row] * size / max(margin.size.sum(), 1), population=population)
        wider = max((share * variance) ** 0.5 / size / max(sd[row], _LEAST_SD), 1.0)
        ends = (-1.0, 1.0) if population else (end / size for end in margin.ends(population=False))
        if population and not margin.size.any():
            gaps[:, row] = np.random.default_rng(_SEED).standard_normal(len(gaps)) / (size + 1)
        elif wider > 1:
            gaps[:, row] = np.clip(mean[row] + wider * (gaps[:, row] - mean[row]), *ends)
    return gaps


def is_clear(gap: NDArray[np.float64], sd: float) -> NDArray[np.bool_]:
    """Whether gaps that are known for all items of the pool are clear enough for 95% about items like these."""
    return np.asarray(gap > _CLEAR * sd + TIE)


def rows_of(cells: Cells) -> ModelCells:
    """The cells of a question about several models; cells of one are a SpecError."""
    if not isinstance(cells, ModelCells):
        raise SpecError("this question is about several models, and these cells are about one. Use model_cells(pool).")
    return cells


def joint(belief: Belief) -> ModelsBelief:
    """The joint belief about several models, which only the learned prior has."""
    from fewlabels.learned.models import ModelsBelief

    if not isinstance(belief, ModelsBelief):
        raise SpecError("several models are judged together by the learned prior. Use prior=Learned().")
    return belief
