"""Sources made from arrays by name, or from one 2-D array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fewlabels.errors import Argument, InputError
from fewlabels.io.columns import ARROW_ERRORS
from fewlabels.io.source import Source, table_source
from fewlabels.io.spellings import written
from fewlabels.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


def from_arrays(name: str, arrays: Mapping[str, Any], *, strict: bool, classes: bool = True) -> Source:
    """Make a source from arrays by name. An array of another length is an error if strict; otherwise it is left out,
    as 0-D and 3-D arrays always are. "classes" and, where "predicted" has a column for each model, "models" are names.
    """
    lists = ("classes", "models") if classes and np.ndim(_first(arrays.get("predicted"))) else ("classes",) * classes
    columns = {
        str(key): column
        for key, values in arrays.items()
        if key not in lists and (column := _column(name, str(key), values)) is not None
    }
    if not columns:
        raise InputError(f"{name} has no arrays with one value per item. At least 'predicted' or 'scores' is needed.")
    first = next((key for key in ("scores", "predicted") if key in columns), next(iter(columns)))
    rows = len(columns[first])
    for key, column in list(columns.items()):
        if len(column) != rows:
            if strict or key in ("scores", "predicted", "confidence", "id"):
                raise InputError(
                    f"{name}: column {key!r} has {counted(len(column), 'row')} and {first!r} has {rows:,}. "
                    "All need one value per item."
                )
            del columns[key]
    known, models = (_names(arrays[key]) if key in lists and key in arrays else None for key in ("classes", "models"))
    return table_source(name, pa.Table.from_arrays(list(columns.values()), list(columns)), known, models)


def _first(values: Any) -> Any:
    """The first row of an array, by its place: the index of a Series need not have a 0. None if there is no row."""
    try:
        return next(iter(values), None)
    except TypeError:  # a single value
        return None


def _names(values: Any) -> tuple[str, ...]:
    return tuple(map(written, np.asarray(values).reshape(-1).tolist()))


def _column(name: str, key: str, values: Any) -> pa.Array[Any] | pa.ChunkedArray[Any] | None:
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    try:
        if hasattr(values, "__arrow_c_stream__"):
            stream: pa.ChunkedArray[Any] = pa.chunked_array(values)
            return stream
        if isinstance(values, (list, tuple)):
            return pa.chunked_array([pa.array(values)])
        array = _seen(values)
        if array.ndim == 1:
            return pa.chunked_array([pa.array(array)])
    except (*ARROW_ERRORS, ValueError, OverflowError) as error:
        raise InputError(f"{name}, column {key!r}: {error}. Give all values one type, numbers or text.") from None
    if array.ndim == 2 and array.dtype.kind in "UO" and array.shape[1]:  # the answers of several models
        return pa.chunked_array([pa.array(array.tolist())])
    return matrix(array, f"{name}, column {key!r}") if array.ndim == 2 and array.shape[1] else None


def _seen(values: Any) -> NDArray[Any]:
    """Values as an array. What a masked array hides is missing: NumPy would show it again."""
    array, mask = np.asarray(values), getattr(values, "mask", None)
    if not isinstance(mask, np.ndarray) or not mask.any():  # where nothing is hidden, it is a single False
        return array
    array = array.astype(float if array.dtype.kind in "fiu" else object)
    array[mask] = np.nan if array.dtype.kind == "f" else None
    return array


def matrix(values: Any, name: str = "an array") -> pa.Array[Any]:
    """Turn a 2-D array into a column of vectors, without copying if it is in row order."""
    try:
        array = _seen(values)
    except ValueError:
        lengths = [len(row) if hasattr(row, "__len__") else 0 for row in values]
        row = next((i for i, n in enumerate(lengths, 1) if n != lengths[0]), 1)
        raise InputError(
            f"{name}, row {row:,}: {lengths[row - 1]} scores, but row 1 has {lengths[0]}. "
            "Every item needs one score for each class."
        ) from None
    if array.size == 0:
        raise InputError(f"{name} is empty (shape {array.shape}). A pool needs at least one item.")
    if array.ndim != 2:
        raise InputError(
            f"{name} has shape {array.shape}; scores need the shape (items, classes). "
            'For predicted classes without scores, pass {"predicted": array}.'
        )
    if array.dtype.kind not in "fiu":
        raise InputError(
            f"{name} holds values of type {array.dtype}, not numbers. Convert it with .astype(float); or if its "
            "columns are the answers of several models, name these with ",
            Argument("models"),
            ".",
        )
    if array.dtype.itemsize > 8 or not array.dtype.isnative:  # Arrow has no such numbers
        array = array.astype(np.float64)
    return pa.FixedSizeListArray.from_arrays(pa.array(array.reshape(-1)), array.shape[1])
