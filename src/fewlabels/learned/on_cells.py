"""The learned prior on the cells of a metric: what items differ by, their strips and rows, and the belief."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fewlabels.cells import cell_means
from fewlabels.errors import InputError
from fewlabels.learned.classes import ClassBelief
from fewlabels.learned.items import Factors, ItemBelief, LearnedBelief, learn, learn_once, strips
from fewlabels.learned.mistakes import doubted, expected
from fewlabels.partition import numbered
from fewlabels.recipes import by_columns_alone
from fewlabels.reserve import items_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fewlabels.belief import Belief, Target
    from fewlabels.cells import Cells, ModelCells
    from fewlabels.learned.items import Strips
    from fewlabels.learned.mistakes import Expected, Known
    from fewlabels.learned.models import Panel
    from fewlabels.outcomes import Outcomes
    from fewlabels.partition import Partition


def factors(cells: Cells, *asked: Partition | None) -> Factors:
    """What items differ by beyond their confidences.

    These are the groups of asking, the groups of the cells, and what else a cell stands for (a predicted class, or a
    bin of confidence). What can be put together from the levels of an earlier factor has no effects of its own, so the
    same quantity is the same number by every route.
    """
    groupings = [groups for groups in (*asked, cells.partition) if groups is not None]
    candidates: list[tuple[NDArray[Any], bool]] = [(made.group, made.recipe["by"] == "score") for made in groupings]
    # Where labels show right and wrong, groups are split only by bins of confidence.
    candidates.append((cells.key[cells.cell], cells.right is None))
    coded: list[NDArray[np.int64]] = []
    bins: list[bool] = []
    for levels, is_bins in candidates:
        codes = numbered(levels.astype(np.int64))[1]
        is_new = codes.any() and not any(_is_coarser(codes, earlier) for earlier in coded)
        if is_new:
            coded.append(codes)
            bins.append(is_bins)
    named = [made.recipe for made in groupings if made.recipe["by"] != "whole"]
    columns = bool(named) and by_columns_alone(named[0])
    # The last candidate is the verdict of a judge, if it is one of two and nothing else is known about it.
    verdicts = bool(is_new) and cells.right is not None and len(cells.outcomes) == 2 and cells.scores is None
    # Without groups, what a cell stands for is a predicted class where labels show classes.
    classes = named[0]["by"] == "predicted" if named else cells.right is not None
    return Factors(coded or [np.zeros(len(cells.cell), dtype=np.int64)], bins or [False], columns, verdicts, classes)


def _is_coarser(levels: NDArray[np.int64], fine: NDArray[np.int64]) -> bool:
    """Whether items with the same level of the fine factor always have the same level, as in equal factors."""
    count = int(levels.max()) + 1
    return len(numbered(fine * count + levels)[0]) == int(fine.max()) + 1


def answered_strips(cells: Cells, factors: Factors) -> Strips:
    """The items of cells sorted by confidence, without those that were not answered; their strip is -1.

    In a cell without answers all items are kept: a cell needs a strip, and its share right is set to 0 afterwards.
    """
    if cells.answered is None:
        return strips(cells.scores, cells.cell, factors, cells.evidence, cells.partition.count)
    some = np.bincount(cells.cell, cells.answered, minlength=len(cells)) > 0
    kept = cells.answered | ~some[cells.cell]
    scores, evidence = (None if column is None else column[kept] for column in (cells.scores, cells.evidence))
    count = None if cells.partition.count is None else cells.partition.count[kept]
    made = strips(scores, cells.cell[kept], factors.of(kept), evidence, count)
    strip = np.full(len(kept), -1, dtype=np.int64)
    strip[kept & cells.answered] = made.strip[cells.answered[kept]]
    return replace(made, strip=strip)


class _Seen(NamedTuple):
    """Right answers, labels that tell something, and labels, in each strip; three of shape (strips,)."""

    right: NDArray[np.float64]
    informative: NDArray[np.float64]
    seen: NDArray[np.int64]


def _fitted(
    cells: Cells, strips: Strips, each: Sequence[Outcomes], telling: NDArray[np.bool_] | None = None
) -> list[dict[str, Any]]:
    """Fit the model of items: the posterior, the unlabelled items of each strip, and the share that was answered.

    Once for each of several outcomes. `telling` says for each item whether its label tells something, shape (items,);
    None if all do.
    """
    by_strip = [_in_strips(strips, outcomes, telling) for outcomes in each]
    informative = by_strip[0].informative
    if len(each) > 1 and all(np.array_equal(labels.informative, informative) for labels in by_strip):
        models = learn_once(strips, np.array([labels.right for labels in by_strip]), informative)
    else:
        models = [learn(strips, labels.right, labels.informative) for labels in by_strip]
    share = None
    if cells.answered is not None:
        share = cell_means(cells.answered.astype(float), cells.cell, len(cells), cells.partition.count)
    fitted = []
    for labels, model in zip(by_strip, models, strict=True):
        free = strips.size - labels.seen
        free = free if share is None else np.where(share[strips.cell] > 0, free, 0)
        fitted.append({"model": model.pruned(), "free": free, "answered": share})
    return fitted


def _in_strips(strips: Strips, outcomes: Outcomes, telling: NDArray[np.bool_] | None) -> _Seen:
    if len(outcomes.items) != outcomes.labels:
        raise InputError(
            "Learned() needs the labelled items, not only their counts. Use Outcomes.of(cells, items, shown)."
        )
    strip = strips.strip[outcomes.items]
    known = strip >= 0  # a label of an item without an answer tells nothing: it is wrong
    seen = np.bincount(strip[known], minlength=len(strips.size))
    if telling is not None:
        known = known & telling[outcomes.items]
    right = np.bincount(strip[known], outcomes.right[known], minlength=len(strips.size))
    informative = np.bincount(strip[known], minlength=len(strips.size))
    return _Seen(right.astype(float), informative.astype(float), seen)


def believe_right(cells: Cells, target: Target, strips: Strips, each: Sequence[Outcomes]) -> list[Belief]:
    """The beliefs where labels show right and wrong, after each of several outcomes."""
    fitted = _fitted(cells, strips, each)
    nothing = np.zeros((len(cells.size), 2))
    return [
        ItemBelief(nothing, outcomes.counts, cells.size, target, **parts)
        for outcomes, parts in zip(each, fitted, strict=True)
    ]


class Rows(NamedTuple):
    """The rows of cells whose outcomes are classes: one for each predicted class of a cell.

    A cell may have several predicted classes (recall of one class merges all others), and each has mistakes of its own.

    Parameters
    ----------
    row
        The row of each item, shape (items,).
    cell, right, size
        The cell of each row, the outcome that a right prediction shows there, and its items, three of shape (rows,).
    strips
        The items of the rows sorted by confidence.
    mistaken
        What is expected of mistakes in each row.
    answered
        1 where the classifier answered and 0 in the rows where it did not, shape (rows,); None if it answered all.
    """

    row: NDArray[np.int64]
    cell: NDArray[np.int64]
    right: NDArray[np.int64]
    size: NDArray[np.int64]
    strips: Strips
    mistaken: Expected
    answered: NDArray[np.float64] | None = None


def rows_of(cells: Cells, factors: Factors) -> Rows:
    """Make the rows of cells whose outcomes are classes."""
    assert cells.right is not None
    assert cells.merged is not None
    assert cells.predicted is not None
    classes = len(cells.merged)
    used, row = numbered(cells.cell.astype(np.int64) * classes + cells.predicted)
    cell, predicted = used // classes, used % classes
    made = strips(cells.scores, row.astype(np.int32), factors, cells.evidence, cells.partition.count)
    known: Known = "scores"
    shares = cells.mistaken
    if shares is None:
        known = "predictions" if cells.scores is None else "confidences"
        shares = doubted(cells.predicted, cells.scores, cells.partition.count, classes)
    possible = classes if cells.silent is None else cells.silent
    mistaken = expected(shares, cells.merged, len(cells.outcomes), predicted, possible=possible, known=known)
    answered = None if cells.silent is None else (predicted != cells.silent).astype(float)
    items = items_of(row, len(cell), cells.partition.count)
    return Rows(row, cell, cells.right[cell], items, made, mistaken, answered)


def believe_classes(cells: Cells, target: Target, rows: Rows, each: Sequence[Outcomes]) -> list[Belief]:
    """The beliefs where labels show classes, after each of several outcomes."""
    telling = None if rows.answered is None else (rows.answered > 0)[rows.row]
    beliefs: list[Belief] = []
    for outcomes, parts in zip(each, _fitted(cells, rows.strips, each, telling), strict=True):
        mistakes = np.zeros((len(rows.cell), outcomes.counts.shape[1]))
        wrong = ~outcomes.right
        np.add.at(mistakes, (rows.row[outcomes.items[wrong]], outcomes.shown[wrong]), 1)
        fitted = parts | {"answered": rows.answered, "mistakes": rows.mistaken.learn(mistakes)}
        made = {"cell": rows.cell, "right": rows.right, "rows_size": rows.size, **fitted}
        beliefs.append(ClassBelief(np.zeros_like(outcomes.counts), outcomes.counts, cells.size, target, **made))
    return beliefs


def believe_models(cells: ModelCells, target: Target, panel: Panel, outcomes: Outcomes) -> LearnedBelief:
    """Fit the model of several models' answers."""
    from fewlabels.learned.models import ModelsBelief  # takes as long to import as the whole model of items

    learning = panel.learn(outcomes.items, outcomes.shown.astype(np.int32))
    nothing = np.zeros_like(outcomes.counts)
    return ModelsBelief(nothing, outcomes.counts, cells.size, target, learning=learning)
