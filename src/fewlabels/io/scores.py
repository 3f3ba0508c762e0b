"""Score vectors, read block by block, checked, and reduced to what the method needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from fewlabels.errors import Argument, InputError, Piece
from fewlabels.io.columns import is_number, shown
from fewlabels.io.source import NO_ANSWER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fewlabels.io.finder import Roles
    from fewlabels.io.source import Source

BLOCK = 1 << 21  # scores held at a time: 16 MB
SLACK = 0.01  # how far from 1 a row may sum: float16 and a few hundred scores rounded to 4 digits stay within
EDGE = 1e-6  # how far outside 0..1 a score may be by rounding
GRAIN = 2.0**32  # scores are summed as whole multiples of 1 / GRAIN
_NORMALIZE, _LOGITS = Argument("normalize", value=True), Argument("logits", value=True)


@dataclass(frozen=True)
class ScoreSummary:
    """What is kept of the scores: predicted and confidence of shape (items,), sums of shape (classes, classes)."""

    predicted: NDArray[np.int32]
    confidence: NDArray[np.float64]
    sums: NDArray[np.float64]


@dataclass(frozen=True)
class _Block:
    """Scores of shape (classes, rows): a class's scores are neighbours, as in the columns they come from."""

    scores: NDArray[np.float64]
    first: int  # rows before this block
    names: tuple[str, ...]
    source: Source

    def wrong(self, row: int, k: int, *words: Piece) -> InputError:
        return InputError(*words, at=self.source.at(self.first + row + 1, self.names[k]))

    def wrong_row(self, row: int, *words: Piece) -> InputError:
        return InputError(*words, at=self.source.at(self.first + row + 1, self.names))


def summarise(
    source: Source, roles: Roles, predicted: NDArray[np.int32] | None, *, normalize: bool, logits: bool
) -> ScoreSummary:
    """Reduce the scores to what is kept, in one pass.

    The sums are taken over whole multiples of 2^-32, as integers: they are exact, so neither the
    batches of a file nor the order of its rows can change them (nor the fingerprint of the pool).
    """
    winners: list[NDArray[np.int32]] = []
    confidences: list[NDArray[np.float64]] = []
    total: NDArray[np.int64] | None = None
    for block in _blocks(source, roles):
        k, n = block.scores.shape
        _check_and_scale(block, normalize=normalize, logits=logits)
        if predicted is None:
            winner, confidence = _largest(block.scores)
        else:
            winner = predicted[block.first : block.first + n]
            confidence = block.scores[winner, np.arange(len(winner))]
        if total is None:
            total = np.zeros((k, k), np.int64)
        np.rint(np.multiply(block.scores, GRAIN, out=block.scores), out=block.scores)
        for column, scores in enumerate(block.scores):
            total[column] += np.bincount(winner, scores, minlength=k).astype(np.int64)
        winners.append(winner)
        confidences.append(confidence)
    if total is None:
        raise InputError(f"{source.name} has no rows. A pool needs at least one item.")
    return ScoreSummary(np.concatenate(winners), np.concatenate(confidences), total.T / GRAIN)


def _blocks(source: Source, roles: Roles) -> Iterator[_Block]:
    first = 0
    if roles.vector:
        name = roles.scores[0]
        width = len(roles.classes) if roles.classes is not None else vector_width(source, name)
        names = tuple(f"{name}[{k}]" for k in range(width))
        for batch in source.batches([name], max(256, BLOCK // width)):
            yield _Block(_unpacked(source, name, batch.column(0), width, first), first, names, source)
            first += batch.num_rows
        return
    for name in roles.scores:
        kind = source.schema.field(name).type
        if not (is_number(kind) or source.untyped):
            raise InputError(
                f"the column holds {shown(kind)}, not numbers. Convert it or name other columns.",
                at=source.at(column=name),
            )
    for batch in source.batches(roles.scores, max(256, BLOCK // len(roles.scores)), numbers=True):
        scores = np.empty((len(roles.scores), batch.num_rows))
        for k, column in enumerate(batch.columns):
            if pa.types.is_decimal(column.type):
                column = column.cast(pa.float64())  # noqa: PLW2901
            scores[k] = column.to_numpy(zero_copy_only=False)  # missing becomes NaN
        yield _Block(scores, first, roles.scores, source)
        first += batch.num_rows


def vector_width(source: Source, name: str) -> int:
    """The number of scores in the first row of a column of vectors."""
    first = next(iter(source.batches([name], 1)))
    return len(first.column(0)[0].as_py() or ())


def _unpacked(source: Source, name: str, column: pa.Array[Any], width: int, first: int) -> NDArray[np.float64]:
    """A column of vectors as scores of shape (classes, rows)."""
    length = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(length != width)
    if len(wrong):
        raise InputError(
            f"{length[wrong[0]]:,} scores, but {width:,} are needed. Every row needs one score for each class.",
            at=source.at(first + int(wrong[0]) + 1, name),
        )
    flat = pc.list_flatten(column).to_numpy(zero_copy_only=False)
    # Always a copy: the block is changed in place, and the values may be the caller's.
    return flat.reshape(-1, width).T.astype(np.float64, order="C", copy=True)


def _check_and_scale(block: _Block, *, normalize: bool, logits: bool) -> None:
    """Turn the block into probabilities in place, or say which score is wrong."""
    scores = block.scores
    total, low, high = _total_low_high(scores)
    if not np.isfinite(total).all():
        row = int(np.flatnonzero(~np.isfinite(total))[0])
        k = int(np.flatnonzero(~np.isfinite(scores[:, row]))[0])
        if np.isnan(scores[k, row]):
            at = block.source.at((np.flatnonzero(np.isnan(scores[k])) + block.first + 1).tolist(), block.names[k])
            own = "a column with 1 there and 0 elsewhere"
            raise InputError(f"the score is missing (empty or NaN). Fill it in. {NO_ANSWER} ({own}).", at=at)
        raise block.wrong(row, k, f"the score is {scores[k, row]}. Correct it; every score must be a number.")
    if logits:
        np.exp(np.subtract(scores, high, out=scores), out=scores)
        scores /= _total_low_high(scores)[0]
        return
    limit = np.inf if normalize else 1 + EDGE
    wrong = np.flatnonzero((low < -EDGE) | (high > limit))
    if len(wrong):
        raise _outside(block, int(wrong[0]), float(total[wrong[0]]), limit)
    wrong = np.flatnonzero(total <= 0) if normalize else np.flatnonzero(np.abs(total - 1) > SLACK)
    if len(wrong):
        raise _wrong_sum(block, int(wrong[0]), float(total[wrong[0]]))
    np.maximum(scores, 0, out=scores)
    if normalize:
        scores /= total
    np.minimum(scores, 1, out=scores)


def _total_low_high(
    scores: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Sum, least and largest of each row; added in the order of the classes, as NumPy's own sum is not."""
    total, low, high = scores[0].copy(), scores[0].copy(), scores[0].copy()
    with np.errstate(invalid="ignore"):  # infinity minus infinity; reported by the caller
        for column in scores[1:]:
            total += column
            np.minimum(low, column, out=low)
            np.maximum(high, column, out=high)
    return total, low, high


def _outside(block: _Block, row: int, total: float, limit: float) -> InputError:
    column = block.scores[:, row]
    k = int(np.flatnonzero((column < -EDGE) | (column > limit))[0])
    fix: tuple[Piece, ...]
    if column[k] < 0 and limit > 1 + EDGE:
        fix = (_NORMALIZE, " needs scores from 0 up; are these logits? Then pass ", _LOGITS, " instead.")
    elif abs(total - 100) <= 100 * SLACK and column.min() >= 0:
        fix = (f"The row sums to {total:.6g}, so these look like percentages: pass ", _NORMALIZE, ".")
    else:
        fix = ("Pass ", _LOGITS, " if these are logits, or ", _NORMALIZE, " if they are weights or percentages.")
    return block.wrong(row, k, f"the score is {column[k]:.6g}, and a score is a probability from 0 to 1. ", *fix)


def _wrong_sum(block: _Block, row: int, total: float) -> InputError:
    if total <= 0:
        return block.wrong_row(row, "all scores are 0, so no class is predicted. Correct the row or leave it out.")
    return block.wrong_row(
        row,
        f"the scores sum to {total:.6g}, not to 1 (within {SLACK}). Pass ",
        _NORMALIZE,
        " to divide each row by its sum, or ",
        _LOGITS,
        " if these are logits; or check that ",
        Argument("scores"),
        " has a column for every class.",
    )


def _largest(scores: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Which class has the largest score, the first of equals, and that score; each of shape (rows,)."""
    best = scores[0].copy()
    winner = np.zeros(len(best), np.int32)
    for k in range(1, len(scores)):
        winner[scores[k] > best] = k
        np.maximum(best, scores[k], out=best)
    return winner, best
