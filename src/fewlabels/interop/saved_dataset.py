"""Datasets that Hugging Face's library `datasets` has saved to disk: tried with version 5.2.0.

A saved dataset is a folder with dataset_info.json (the features), state.json (the files) and files of Arrow. A saved
dictionary is a folder with dataset_dict.json and a folder for each split.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import compute as pc

from fewlabels.errors import InputError
from fewlabels.interop.shapes import a_name, an_object, objects
from fewlabels.io.finder.names import PREDICTED, TRUTH, bare, says_predicted
from fewlabels.io.jsons import read_json
from fewlabels.io.source import Source
from fewlabels.wording import counted, some_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from fewlabels.io.limits import Limits

_FIX = "Save the dataset again with save_to_disk."


def is_saved(path: Path) -> bool:
    """Whether a path is a folder of a saved dataset."""
    return (path / "state.json").is_file() or (path / "dataset_dict.json").is_file()


def from_folder(path: Path, name: str, within: Limits) -> Source:
    """Open a saved dataset as a source; classes that are numbers get their names."""
    from fewlabels.io.files import open_file

    if not is_saved(path):
        raise InputError(f"{name} is a directory. Name one file in it, or a folder that datasets has saved to disk.")
    if not (path / "state.json").is_file():
        path, name = _split(path, name)
    state = _read(path, "state.json", name)
    files = objects(state.get("_data_files"), f"the files in state.json of {name}", _FIX)
    names = [a_name(file.get("filename"), f"state.json of {name}", _FIX) for file in files]
    if not names or any("/" in file or "\\" in file for file in names):
        raise InputError(f"state.json of {name} names no files of Arrow in the folder. {_FIX}")
    parts = [open_file(path / file, f"{name}/{file}", within) for file in names if file.endswith(".arrow")]
    if len(parts) < len(names) or any(not part.schema.equals(parts[0].schema) for part in parts):
        raise InputError(f"the files of {name} do not have the same columns. {_FIX}")
    coded = _coded(path, name, parts[0].schema)
    kinds = [pa.field(field.name, pa.string()) if field.name in coded else field for field in parts[0].schema]
    told = f"dataset that the library datasets saved to disk, in {counted(len(names), 'file')}"
    # The classes of predictions and of labels are the same ones, and some of them may never be predicted.
    classes = next(
        (coded[column] for column in coded if bare(column) in (*PREDICTED, *TRUTH) or says_predicted(column)), None
    )
    return Source(name, pa.schema(kinds), _batches(parts, coded, name), classes=classes, told=told)


def _split(path: Path, name: str) -> tuple[Path, str]:
    """The only split of a saved dictionary; an error names them if there are several."""
    splits = _read(path, "dataset_dict.json", name).get("splits")
    if not isinstance(splits, list) or not splits or not all(isinstance(split, str) for split in splits):
        raise InputError(f"dataset_dict.json of {name} has no list of splits. {_FIX}")
    if len(splits) > 1:
        raise InputError(f"{name} has the splits {some_of(splits)}. Name one of them, such as {name}/{splits[-1]}.")
    if not (path / splits[0] / "state.json").is_file() or "/" in splits[0]:
        raise InputError(f"{name} has no saved dataset in its split {splits[0]!r}. {_FIX}")
    return path / splits[0], f"{name}/{splits[0]}"


def _read(path: Path, file: str, name: str) -> dict[str, Any]:
    return an_object(read_json(path / file, f"{name}/{file}")[0], f"{name}/{file}", _FIX)


def _coded(path: Path, name: str, schema: pa.Schema) -> dict[str, tuple[str, ...]]:
    """The columns of whole numbers that stand for classes, with the names of these."""
    if not (path / "dataset_info.json").is_file():
        return {}
    features = _read(path, "dataset_info.json", name).get("features")
    coded: dict[str, tuple[str, ...]] = {}
    for column, feature in an_object(features, f"the features of {name}", _FIX).items():
        if column not in schema.names or not isinstance(feature, dict) or feature.get("_type") != "ClassLabel":
            continue
        names = feature.get("names")
        if not isinstance(names, list) or not names or not all(isinstance(text, str) for text in names):
            raise InputError(f"the feature {column!r} of {name} has no names of classes. {_FIX}")
        if not pa.types.is_integer(schema.field(column).type):
            raise InputError(f"the feature {column!r} of {name} is a class, but its values are not numbers. {_FIX}")
        coded[column] = tuple(names)
    return coded


def _batches(parts: Sequence[Source], coded: Mapping[str, tuple[str, ...]], name: str) -> Any:
    def batches(columns: list[str], numbers: bool) -> Iterator[pa.RecordBatch]:
        for part in parts:
            for batch in part.reader(columns, numbers):
                yield _named(batch, coded, name)

    return batches


def _named(batch: pa.RecordBatch, coded: Mapping[str, tuple[str, ...]], name: str) -> pa.RecordBatch:
    """A batch with the names of the classes; -1, which stands for an unknown class, is missing."""
    columns: list[pa.Array[Any]] = []
    for column, values in zip(batch.schema.names, batch.columns, strict=True):
        if column not in coded:
            columns.append(values)
            continue
        known: Any = pc.if_else(pc.equal(values, pa.scalar(-1, values.type)), None, values)
        lowest, highest = pc.min(known).as_py(), pc.max(known).as_py()
        if lowest is not None and not 0 <= lowest <= highest < len(coded[column]):
            raise InputError(f"the column {column!r} of {name} has a number that stands for no class. {_FIX}")
        columns.append(pa.array(coded[column], pa.string()).take(known))
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
