"""Files, opened as sources by their endings. A broken file becomes one clear error."""

from __future__ import annotations

import json
import zipfile
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from fewlabels.errors import InputError, Place
from fewlabels.io.arrays import from_arrays, matrix
from fewlabels.io.csvs import check_encoding, check_start, open_csv
from fewlabels.io.source import Source, check_names, no_rows, table_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


ENDINGS = (
    ".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".feather", ".arrow",
    ".jsonl", ".ndjson", ".json", ".npz", ".npy",
)  # fmt: skip
"""How the names of files that can be read end."""


def open_file(path: Path, name: str) -> Source:
    """Open a file as a source, in the format that its ending names."""
    ways: dict[str, Callable[[Path, str], Source]] = {
        ".csv": open_csv,
        ".tsv": open_csv,
        ".parquet": _open_parquet,
        ".feather": _open_arrow,
        ".arrow": _open_arrow,
        ".jsonl": _open_json_lines,
        ".ndjson": _open_json_lines,
        ".json": _open_json,
        ".npz": _open_npz,
        ".npy": _open_npy,
    }
    packed = path.suffix.lower() == ".gz"
    suffix = (path.with_suffix("") if packed else path).suffix.lower()
    if path.is_dir():
        raise InputError(f"{name} is a directory. Name one file in it.")
    if not path.exists():
        raise InputError(f"there is no file {name}. Check the path.")
    if suffix not in ways or (packed and ways[suffix] is not open_csv):
        sheet = "Save it as CSV in UTF-8. " if suffix in {".xlsx", ".xls", ".ods"} else ""
        raise InputError(
            f"{name}: files that end in {path.suffix!r} cannot be read. {sheet}Use {', '.join(ways)} or .csv.gz."
        )
    if path.stat().st_size == 0:
        raise InputError(f"{name} is empty (0 bytes). Check how it was written.")
    with _readable(name, suffix):
        return ways[suffix](path, name)


@contextmanager
def _readable(name: str, suffix: str) -> Iterator[None]:
    """Turn the libraries' messages about a broken file into an error that names the file."""
    try:
        yield
    except InputError:
        raise
    except PermissionError:
        raise InputError(f"{name} cannot be read: permission denied. Change its permissions.") from None
    except (pa.ArrowException, OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(
            f"{name} is not a complete {suffix} file: {error}. Write it again, or correct its name."
        ) from None


def _open_parquet(path: Path, name: str) -> Source:
    with parquet.ParquetFile(path) as file:
        schema, rows = file.schema_arrow, file.metadata.num_rows
    check_names(name, schema.names)
    if rows == 0:
        raise no_rows(name)

    def batches(columns: list[str], numbers: bool) -> Iterator[pa.RecordBatch]:
        size = max(256, (1 << 22) // max(len(columns), 1))
        # Read-ahead of whole row groups (pre_buffer) would hold most of the file in memory.
        with _readable(name, ".parquet"), parquet.ParquetFile(path, pre_buffer=False) as file:
            yield from file.iter_batches(batch_size=size, columns=columns)

    return Source(name, schema, batches)


def _open_arrow(path: Path, name: str) -> Source:
    """Open a Feather file, or another Arrow IPC file or stream."""

    def reader(file: pa.NativeFile, columns: list[int] | None) -> Any:
        options = pa.ipc.IpcReadOptions(included_fields=columns)
        try:
            return pa.ipc.open_file(file, options=options)
        except pa.ArrowInvalid:
            file.seek(0)
            return pa.ipc.open_stream(file, options=options)

    def batches(columns: list[str], numbers: bool) -> Iterator[pa.RecordBatch]:
        with _readable(name, path.suffix), pa.OSFile(str(path), "rb") as file:
            opened = reader(file, [schema.get_field_index(column) for column in columns])
            if isinstance(opened, pa.ipc.RecordBatchFileReader):
                yield from (opened.get_batch(i) for i in range(opened.num_record_batches))
            else:
                yield from opened

    with pa.OSFile(str(path), "rb") as file:
        schema = reader(file, None).schema
    check_names(name, schema.names)
    if not any(batch.num_rows for batch in batches(schema.names[:1], numbers=False)):
        raise no_rows(name)
    return Source(name, schema, batches)


def _open_json_lines(path: Path, name: str) -> Source:
    check_start(path, name)
    check_encoding(path, name)
    rows, lines = [], []
    with path.open(encoding="utf-8-sig") as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                rows.append(_json_row(line, Place(name, lines=(number,))))
                lines.append(number)
    names = dict.fromkeys(key for row in rows for key in row)
    columns = {key: [row.get(key) for row in rows] for key in names}
    opened = from_arrays(name, columns, strict=True, classes=False)
    return Source(name, opened.schema, opened.reader, lambda row: lines[row - 1])


def _json_row(line: str, at: Place) -> dict[str, object]:
    try:
        row = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"not JSON ({error}). Every line must be one JSON object.", at=at) from None
    if not isinstance(row, dict):
        raise InputError('not a JSON object. Every line must look like {"id": ..., "predicted": ...}.', at=at)
    return row


def _open_json(path: Path, name: str) -> Source:
    """Read a list of objects, alone or as "rows" (as `--json` prints it), lists by column, or labels by id."""
    check_start(path, name)
    check_encoding(path, name)
    text = path.read_text(encoding="utf-8-sig")
    try:
        data, end = json.JSONDecoder().raw_decode(text, len(text) - len(text.lstrip()))
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON ({error.msg}). Write it again.", at=Place(name, lines=(error.lineno,))) from None
    except RecursionError:
        raise InputError(f"{name} is not a table but lists within lists. Write a list of objects.") from None
    if end < len(text.rstrip()):  # more than one value: one on each line
        return _open_json_lines(path, name)
    rows = data.get("rows", data) if isinstance(data, dict) else data
    if isinstance(rows, dict) and all(isinstance(column, list) for column in rows.values()):
        return from_arrays(name, rows, strict=True)
    if isinstance(rows, dict) and rows and not any(isinstance(value, (list, dict)) for value in rows.values()):
        return from_arrays(name, {"id": list(rows), "label": list(rows.values())}, strict=True)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f'{name} is not a list of objects. It must look like [{{"id": ..., "predicted": ...}}, ...].')
    if not rows:
        raise no_rows(name)
    names = dict.fromkeys(key for row in rows for key in row)
    columns = {key: [row.get(key) for row in rows] for key in names}
    return from_arrays(name, columns, strict=True, classes=False)


def _open_npz(path: Path, name: str) -> Source:
    with path.open("rb") as file, _no_objects(path, name):
        opened = np.load(file, allow_pickle=False)
        if isinstance(opened, np.ndarray):
            raise InputError(f"{name} holds one array without a name. Rename it to end in .npy.")
        return from_arrays(name, {key: opened[key] for key in opened.files}, strict=False)


def _open_npy(path: Path, name: str) -> Source:
    with _no_objects(path, name):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(array, np.ndarray):
        array.close()
        raise InputError(f"{name} holds several arrays. Rename it to end in .npz.")
    return table_source(name, pa.table({"scores": matrix(array, name)}))


@contextmanager
def _no_objects(path: Path, name: str) -> Iterator[None]:
    """Explain that Python objects are refused, because unpickling them could run any code."""
    try:
        yield
    except InputError:
        raise
    except ValueError:
        if not _needs_pickle(path):
            raise
        raise InputError(
            f"{name} is not a NumPy file, or it holds Python objects. Save arrays of numbers or text."
        ) from None


def _needs_pickle(path: Path) -> bool:
    """Return whether NumPy would have to unpickle something: an array of Python objects, or another kind of file."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            kinds = [_array_kind(archive.open(member)) for member in archive.namelist()]
        return any(kind is not None and kind.hasobject for kind in kinds)
    with path.open("rb") as stream:
        kind = _array_kind(stream)
    return kind is None or kind.hasobject


def _array_kind(stream: IO[bytes]) -> np.dtype[Any] | None:
    """Return the type in the header of an array in NumPy's format; None if the stream has no such header."""
    try:
        version = np.lib.format.read_magic(stream)
    except ValueError:
        return None
    old = version == (1, 0)
    header = np.lib.format.read_array_header_1_0 if old else np.lib.format.read_array_header_2_0
    kind: np.dtype[Any] = header(stream)[2]
    return kind
