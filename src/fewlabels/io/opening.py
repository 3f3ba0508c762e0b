"""Opening the sources that read_pool and read_labels accept: a path, a frame, arrays by name, one array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from fewlabels.errors import InputError, described, one_line
from fewlabels.io.arrays import from_arrays, matrix
from fewlabels.io.columns import ARROW_ERRORS
from fewlabels.io.files import open_file
from fewlabels.io.limits import limits
from fewlabels.io.source import Source, table_source
from fewlabels.pool import Pool


def by_model(source: object) -> Mapping[str, object] | None:
    """The sources of several models by name, as in {"old": "old.csv", "new": "new.csv"}; None if it is one source.

    A mapping of names to arrays is one source.
    """
    if not isinstance(source, Mapping) or not source:
        return None
    whole = [isinstance(part, (str, Path, Mapping, Pool, Source)) or _is_frame(part) for part in source.values()]
    if not any(whole):
        return None
    if not all(whole):
        name = next(name for name, is_whole in zip(source, whole, strict=True) if not is_whole)
        raise InputError(
            f"{name!r} is one array, and others are whole files or frames. Give every model a file, a frame or arrays "
            "by name; or give arrays alone."
        )
    if len(named := {str(name): part for name, part in source.items()}) < len(source):
        raise InputError("two models have names that are the same as text. Every model needs a name of its own.")
    return named


def open_answers(source: object, *, any_size: bool = False) -> Source:
    """Open the answers of several models: as `open_source`, but a 2-D array has a column for each model."""
    is_array = hasattr(source, "__array__") and not _is_frame(source)
    if is_array or (isinstance(source, Sequence) and not isinstance(source, str)):
        return from_arrays("an array", {"predicted": source}, strict=True)
    return open_source(source, any_size=any_size)


def open_source(source: object, *, any_size: bool = False) -> Source:
    """Open anything as rows of named columns. One 2-D array is a column of vectors called "scores".

    A list of mappings has a row for each; what is missing in one of them is empty there.

    `any_size` lifts the limits on what a file may unpack to; see `limits.py`.
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, (str, Path)):
        return open_file(Path(source).expanduser(), str(source), limits(any_size))
    if isinstance(source, Mapping):
        return from_arrays("arrays", source, strict=True)
    if isinstance(source, Sequence) and source and all(isinstance(row, Mapping) for row in source):
        names = dict.fromkeys(name for row in source for name in row)
        return from_arrays("records", {name: [row.get(name) for row in source] for name in names}, strict=True)
    if is_series(source):
        raise InputError(
            f"{described(source)} is a single column without ids. Pass a frame, or the columns by name, as "
            'in {"id": ids, "predicted": series}.'
        )
    if hasattr(source, "__arrow_c_stream__") or _is_pandas(source):
        return _from_frame(source)
    if hasattr(source, "__array__") or isinstance(source, Sequence):
        return table_source("an array", pa.table({"scores": matrix(source)}))
    advice = (
        "Call .collect() first."
        if hasattr(source, "collect")
        else "Pass a path, a frame, arrays by name or a 2-D array."
    )
    raise InputError(f"cannot read {type(source).__name__} objects. {advice}")


def is_series(source: object) -> bool:
    """Whether it is one column of a frame, of pandas or Polars."""
    library = type(source).__module__.partition(".")[0]
    return library in ("pandas", "polars") and type(source).__name__ == "Series"


def _is_frame(source: object) -> bool:
    return _is_pandas(source) or (hasattr(source, "__arrow_c_stream__") and hasattr(source, "columns"))


def _is_pandas(source: object) -> bool:
    return type(source).__module__.startswith("pandas.") and hasattr(source, "columns")


def _from_frame(frame: Any) -> Source:
    library = type(frame).__module__.partition(".")[0]
    name = {"pyarrow": "an Arrow table", "pandas": "a pandas frame", "polars": "a Polars frame"}.get(library, "a frame")
    index = _index_of(frame) if library == "pandas" else None
    try:
        # A range index becomes a column only on request, whether it has a name or not.
        keep = None if index is None else True
        table = pa.Table.from_pandas(frame, preserve_index=keep) if library == "pandas" else pa.table(frame)
    except (*ARROW_ERRORS, ValueError, TypeError, OverflowError) as error:
        raise InputError(
            f"{name} cannot be read: {one_line(error)}. Give every column one type and a name of its own."
        ) from None
    # An unnamed index that is only a row number is not a column of the user's.
    if index is None or index in frame.columns:
        return table_source(name, table.select([c for c in table.column_names if not c.startswith("__index_level_")]))
    named = [index if c.startswith("__index_level_") else c for c in table.column_names]
    return replace(table_source(name, table.rename_columns(named)), index=index)


def _index_of(frame: Any) -> str | None:
    """The name of a pandas frame's index, if it identifies the rows and does not just number them.

    Frames that were filtered, shuffled or indexed by an id are labelled by that index: `labels[frame.index[i]]`.
    """
    index = frame.index
    numbered = hasattr(index, "step") and index.start == 0 and index.step == 1
    if index.nlevels > 1 or numbered or not index.is_unique or index.dtype.kind not in "iuOUT":
        return None
    return "index of the frame" if index.name is None else str(index.name)
