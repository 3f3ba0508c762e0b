"""A small pool whose true classes are known, the ways to group it, and beliefs after some of its labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.errors import SpecError
from fewlabels.io import read_pool
from fewlabels.partition import Partition, by_column, by_map, by_predicted, cross, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from fewlabels.belief import Belief, Target
    from fewlabels.cells import Cells
    from fewlabels.metrics import Metric
    from fewlabels.pool import Pool
    from fewlabels.priors import Prior

CLASSES = ("ant", "bee", "cat", "cow", "eel", "fox")
KINDS_OF = {"ant": "insects", "bee": "insects", "cat": "mammals", "cow": "mammals", "eel": "fish", "fox": "none"}
TARGETS: tuple[Target, ...] = ("population", "pool")


@dataclass(frozen=True)
class Known:
    """A pool, and the true class of each of its items: position in `classes`, shape (items,)."""

    pool: Pool
    true: NDArray[np.int32]

    @property
    def truth(self) -> dict[str, str]:
        """Every id with its true class."""
        ids = self.pool.ids.to_pylist()
        return {item: self.pool.classes[t] for item, t in zip(ids, self.true, strict=True)}

    def labels(self, ids: Iterable[str]) -> dict[str, str]:
        """The true classes of some items."""
        truth = self.truth
        return {item: truth[item] for item in ids}


@cache
def zoo(*, scores: bool = True, seed: int = 3) -> Known:
    """30 items of six classes in two places: "fox" is never predicted (an empty group), "eel" once (a group of one).

    >>> zoo().pool.classes
    ('ant', 'bee', 'cat', 'cow', 'eel', 'fox')
    """
    rng = np.random.default_rng(seed)
    predicted = np.repeat(np.arange(6), [9, 7, 7, 6, 1, 0])
    true = np.where(rng.random(30) < 0.6, predicted, rng.integers(0, 6, 30)).astype(np.int32)
    data: dict[str, object] = {
        "id": [f"z{i:02d}" for i in range(30)],
        "place": rng.choice(["north", "south"], 30).tolist(),
        "text": [f"animal number {i}" for i in range(30)],
    }
    if scores:
        top = rng.uniform(0.4, 0.97, 30)
        rest = rng.dirichlet(np.ones(6), 30)
        rest[np.arange(30), predicted] = 0
        # Less than 0.4 goes to any one of the others, so that the largest score is the predicted class's.
        rest = np.minimum(rest / rest.sum(axis=1, keepdims=True) * (1 - top)[:, None], 0.35)
        rest[np.arange(30), predicted] = 1 - rest.sum(axis=1)
        data["scores"] = rest
    else:
        data["predicted"] = [CLASSES[k] for k in predicted]
    true.setflags(write=False)  # whoever calls this shares it with the others
    return Known(read_pool(data, classes=CLASSES, content="text"), true)


@cache
def zoo_of_models() -> Known:
    """The items of the zoo with the answers of three models, which are called ant, bee and cat; cat leaves some out.

    >>> zoo_of_models().pool.models
    ('ant', 'bee', 'cat')
    """
    known, rng = zoo(), np.random.default_rng(3)
    ids = known.pool.ids.to_pylist()
    place = known.pool.column("place").to_pylist()
    sources = {}
    for name, accuracy, answered in (("ant", 0.6, 30), ("bee", 0.7, 30), ("cat", 0.8, 27)):
        guess = np.where(rng.random(30) < accuracy, known.true, rng.integers(0, 6, 30))[:answered]
        rows = {"id": ids[:answered], "predicted": [CLASSES[k] for k in guess], "place": place[:answered]}
        sources[name] = rows | {"confidence": rng.uniform(0.4, 0.99, answered)}
    return Known(read_pool(sources, classes=CLASSES, columns=["place"]), known.true)


def by_kind(pool: Pool) -> Partition:
    """Groups for the rates: two with several predicted classes, one of a single item, one empty."""
    return by_map(pool, KINDS_OF)


GROUPINGS: Mapping[str, Callable[[Pool], Partition]] = {
    "by predicted": by_predicted,
    "by kind": by_kind,
    "by place": lambda pool: by_column(pool, "place"),
    "by place and predicted": lambda pool: cross(by_column(pool, "place"), by_predicted(pool)),
    "whole": whole,
}
"""Ways to group the zoo; the first two have an empty group and a group of one item."""


def group_names(partition: Partition) -> tuple[str, ...]:
    """The names of the groups for `Task.examples`: the largest, the smallest that has items, and the others.

    >>> group_names(by_predicted(zoo().pool))[:2]
    ('ant', 'eel')
    """
    order = [g for g in np.argsort(-partition.sizes, kind="stable").tolist() if partition.sizes[g]]
    order = [order[0], *reversed(order[1:])]
    # Where there is one group only, the second is a name that does not exist, for the task to refuse.
    return tuple(partition.names[g] for g in order) if len(order) > 1 else (partition.names[0], "nowhere")


def cells_of(metric: Metric, pool: Pool, partition: Partition) -> Cells | None:
    """The cells of a metric; None if it refuses this pool or these groups."""
    try:
        metric.check(pool, partition)
        return metric.cells(pool, partition)
    except SpecError:
        return None


def sensible(metric: Metric, pool: Pool) -> dict[str, tuple[Partition, Cells]]:
    """The ways to group the zoo that a metric does not refuse, with its cells."""
    groupings = {name: make(pool) for name, make in GROUPINGS.items()}
    cells = {name: cells_of(metric, pool, partition) for name, partition in groupings.items()}
    return {name: (groupings[name], some) for name, some in cells.items() if some is not None}


def believed(
    prior: Prior, metric: Metric, cells: Cells, known: Known, items: NDArray[np.int64], target: Target
) -> Belief:
    """The belief after the true classes of some items, given by their positions, shape (labels,)."""
    return prior.on(cells, target).belief(metric.outcomes(known.pool, cells, items, known.true[items]))


def stages(prior: Prior, metric: Metric, cells: Cells, known: Known, target: Target) -> list[Belief]:
    """Beliefs before the first label, with half of the labels, with all, and with half of them and some pending."""
    order = np.random.default_rng(4).permutation(len(known.true))
    beliefs = [believed(prior, metric, cells, known, order[:n], target) for n in (0, len(order) // 2, len(order))]
    return [*beliefs, beliefs[1].awaiting(np.minimum(beliefs[1].left, 2))]
