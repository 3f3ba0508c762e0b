"""Evidence columns: what is known about every item besides the classifier's scores, as numbers that a model can use.

The verdict of a judge, a retrieval score, the length of a text. A number is standardised. Two values, such as the
verdicts pass and fail, become 2·(1 − its share) and −2·its share: 2 apart, and 0 on average. Several words become one
such column each. A column of class names says whether it agrees with the prediction. A missing value is 0, and a
further column says that it is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

MOST_WORDS = 20
"""A column with more different texts than this is not evidence."""
_FAR = 3.0  # standard deviations from the mean, beyond which a number tells nothing more


def coded(
    columns: Mapping[str, pa.ChunkedArray[Any]],
    predicted: NDArray[np.int32],
    choices: Sequence[str],
    count: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """The evidence of each item, shape (items, numbers); a column that cannot be evidence is an InputError.

    Where there are two classes, a column may say which class is the true one rather than whether the prediction is
    right: then its meaning turns with the prediction, so each number is there a second time, with the other sign where
    the second class is predicted. `count` is how many items each row stands for, shape (items,), if not one.

    >>> import pyarrow as pa
    >>> judge = pa.chunked_array([["good", "good", "bad", None]])
    >>> coded({"judge": judge}, np.zeros(4, dtype=np.int32), ["a", "b", "c"]).round(2)
    array([[ 0.67, -0.5 ],
           [ 0.67, -0.5 ],
           [-1.33, -0.5 ],
           [ 0.  ,  1.5 ]])
    """
    n = np.ones(len(predicted)) if count is None else count.astype(float)
    numbers = [values for name, column in columns.items() for values in _numbers(name, column, predicted, choices, n)]
    if len(choices) == 2:
        side = np.where(predicted == 1, -1.0, 1.0)
        turned = [values * side for values in numbers]
        numbers += [values - np.average(values, weights=n) for values in turned if np.ptp(values) > 0]
    return np.column_stack(numbers) if numbers else np.empty((len(predicted), 0))


def middles(column: pa.ChunkedArray[Any], low: float, width: float) -> pa.ChunkedArray[Any]:
    """Numbers that a table has as texts: the middles low + (k + ½)·width of steps k, or with the width 0 the k itself.

    >>> import pyarrow as pa
    >>> middles(pa.chunked_array([["0", None, "3"]]), 10.0, 2.0).to_pylist()
    [11.0, None, 17.0]
    """
    import pyarrow as pa

    known = column.cast(pa.float64())
    missing = known.is_null().to_numpy()
    values = known.to_numpy()
    return pa.chunked_array([pa.array(low + (values + 0.5) * width if width else values, mask=missing)])


def verdicts(column: pa.ChunkedArray[Any], choices: Sequence[str]) -> NDArray[np.int64] | None:
    """The positions of a column's values in a list of classes, −1 where it has none; None if it holds other values.

    Letter case and spaces around a value do not matter. Numbers are class names only where there are two classes: among
    more, they could be counts or positions.

    >>> import pyarrow as pa
    >>> verdicts(pa.chunked_array([["Pass", "fail", None]]), ["fail", "pass"])
    array([ 1,  0, -1])
    """
    import pyarrow as pa

    kind = column.type
    if pa.types.is_temporal(kind) or pa.types.is_floating(kind) or (pa.types.is_integer(kind) and len(choices) != 2):
        return None
    place = {name.strip().casefold(): k for k, name in enumerate(choices)}
    encoded = column.cast(pa.string()).combine_chunks().dictionary_encode()
    known = [place.get(str(word).strip().casefold()) for word in encoded.dictionary.to_pylist()]
    if not known or any(k is None for k in known) or len(place) < len(choices):
        return None
    code = encoded.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
    return np.array([*known, -1], dtype=np.int64)[code]


def tells_nothing(column: pa.ChunkedArray[Any]) -> bool:
    """Whether all items have the same value, or none: a column with which no model can tell items apart.

    >>> import pyarrow as pa
    >>> [tells_nothing(pa.chunked_array([column])) for column in (["a", "a"], ["a", "b"], ["a", None], [None, None])]
    [True, False, False, True]
    """
    return len(column.unique()) <= 1


def _numbers(
    name: str,
    column: pa.ChunkedArray[Any],
    predicted: NDArray[np.int32],
    choices: Sequence[str],
    n: NDArray[np.float64],
) -> list[NDArray[np.float64]]:
    """One column as numbers, each of shape (items,); none if it says the same of every item."""
    import pyarrow as pa

    missing = column.is_null().to_numpy()
    gaps = [_apart(missing, np.ones_like(missing), n)] if 0 < missing.sum() < len(missing) else []
    answers = verdicts(column, choices)
    if answers is not None:
        return [*_some(_apart(answers == predicted, ~missing, n)), *gaps]
    if pa.types.is_temporal(column.type):
        raise InputError(
            f"the column {name!r} holds times, and evidence must be numbers or words. Turn them into numbers."
        )
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        values = column.cast(pa.float64(), safe=False).to_numpy()
        missing = missing | ~np.isfinite(values)
        if len(distinct := np.unique(values[~missing])) > 2:
            return [_standardised(values, ~missing, n), *gaps]
        return [*_some(_apart(values == distinct.max(initial=np.nan), ~missing, n)), *gaps]
    encoded = column.cast(pa.string()).combine_chunks().dictionary_encode()
    words = [str(word).strip().casefold() for word in encoded.dictionary.to_pylist()]
    levels = sorted(set(words))
    if len(levels) > MOST_WORDS:
        raise InputError(
            f"the column {name!r} has {len(levels):,} different texts, and evidence must be numbers or up to "
            f"{MOST_WORDS} different words, such as pass and fail. Name another column."
        )
    place = np.array([*(levels.index(word) for word in words), -1])
    said_so = place[encoded.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)]
    first = 1 if len(levels) == 2 else 0  # of two words, the one says what the other does
    return [
        *(column for level in range(first, len(levels)) for column in _some(_apart(said_so == level, ~missing, n))),
        *gaps,
    ]


def _apart(yes: NDArray[np.bool_], known: NDArray[np.bool_], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """2·(yes − its share) where it is known, else 0; shape (items,)."""
    share = n[known & yes].sum() / max(float(n[known].sum()), 1.0)
    return np.where(known, 2 * (yes - share), 0.0)


def _some(values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """The values, unless all are equal."""
    return [values] if np.ptp(values) > 0 else []


def _standardised(values: NDArray[np.float64], known: NDArray[np.bool_], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers in standard deviations from their mean, at most three; 0 where unknown."""
    own, weight = values[known], n[known]
    mean = np.average(own, weights=weight)
    scaled = (values - mean) / max(float(np.sqrt(np.average((own - mean) ** 2, weights=weight))), 1e-300)
    return np.clip(np.where(known, scaled, 0.0), -_FAR, _FAR)
