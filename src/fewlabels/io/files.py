"""Files, opened as sources by their endings. A broken file becomes one clear error."""

from __future__ import annotations

import lzma
import math
import zipfile
import zlib
from contextlib import contextmanager
from tokenize import TokenError
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from fewlabels.errors import FewlabelsError, InputError, one_line
from fewlabels.io.arrays import from_arrays, matrix
from fewlabels.io.arrow_sizes import unpacked_size
from fewlabels.io.csvs import open_csv
from fewlabels.io.excel import open_excel
from fewlabels.io.foreign import open_archive, open_folder
from fewlabels.io.jsons import open_json, open_json_lines
from fewlabels.io.limits import Counter, depth_of_types, within_memory
from fewlabels.io.source import Source, check_names, no_rows, table_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fewlabels.io.limits import Limits

# What the libraries raise about a damaged file. NumPy evaluates headers as Python literals, hence the unusual ones.
_BROKEN = (
    *(pa.ArrowException, OSError, EOFError, ValueError, OverflowError, RecursionError, NotImplementedError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, TokenError, SyntaxError, TypeError, KeyError),
)
_HEADER = 10_000  # bytes of the header of an array, which NumPy evaluates
ENDINGS = (
    ".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".feather", ".arrow",
    ".jsonl", ".ndjson", ".json", ".npz", ".npy", ".xlsx", ".eval",
)  # fmt: skip
"""How the names of files that can be read end."""


def open_file(path: Path, name: str, within: Limits) -> Source:
    """Open a file as a source, in the format that its ending names."""
    ways: dict[str, Callable[[Path, str, Limits], Source]] = {
        ".csv": open_csv,
        ".tsv": open_csv,
        ".parquet": _open_parquet,
        ".feather": _open_arrow,
        ".arrow": _open_arrow,
        ".jsonl": open_json_lines,
        ".ndjson": open_json_lines,
        ".json": open_json,
        ".npz": _open_npz,
        ".npy": _open_npy,
        ".xlsx": open_excel,
        ".eval": open_archive,
    }
    packed = path.suffix.lower() == ".gz"
    suffix = (path.with_suffix("") if packed else path).suffix.lower()
    try:
        is_folder, is_there = path.is_dir(), path.exists()
    except OSError as error:  # a name that is too long, or a folder without read permission
        raise InputError(f"cannot open {name}: {error.strerror}. Check the path.") from None
    if is_folder:
        return open_folder(path, name, within)
    if not is_there:
        raise InputError(f"there is no file {name}. Check the path.")
    if suffix not in ways or (packed and ways[suffix] is not open_csv):
        sheet = "Save it as .xlsx or CSV. " if suffix in {".xls", ".xlsb", ".ods"} else ""
        raise InputError(
            f"{name}: files that end in {path.suffix!r} cannot be read. {sheet}Use {', '.join(ways)} or .csv.gz."
        )
    if path.stat().st_size == 0:
        raise InputError(f"{name} is empty (0 bytes). Check how it was written.")
    with _readable(name, suffix):
        return ways[suffix](path, name, within)


@contextmanager
def _readable(name: str, suffix: str) -> Iterator[None]:
    """Turn the libraries' messages about a broken file into an error that names the file."""
    try:
        with within_memory(name):
            yield
    except FewlabelsError:
        raise
    except PermissionError:
        raise InputError(f"{name} cannot be read: permission denied. Change its permissions.") from None
    except _BROKEN as error:
        raise InputError(
            f"{name} is not a complete {suffix} file: {one_line(error)}. Write it again, or correct its name."
        ) from None


def _open_parquet(path: Path, name: str, within: Limits) -> Source:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        about = file.metadata
        within.check_columns(name, about.num_columns)
        within.check_bytes(path, name, sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups)))
        schema, rows = file.schema_arrow, about.num_rows
    check_names(name, schema.names)
    within.check_depth(name, depth_of_types(schema))
    if rows == 0:
        raise no_rows(name)

    def batches(columns: list[str], numbers: bool) -> Iterator[pa.RecordBatch]:
        size = max(256, (1 << 22) // max(len(columns), 1))
        # A short text can stand for millions of long ones: texts are read as references to the distinct ones, counted,
        # and only then written out.
        texts = [column for column in columns if _is_text(schema.field(column).type)]
        counter = Counter(path, name, within)
        with (
            _readable(name, ".parquet"),
            # Read-ahead of whole row groups (pre_buffer) would hold most of the file in memory.
            parquet.ParquetFile(path, pre_buffer=False, read_dictionary=texts, page_checksum_verification=True) as file,
        ):
            for batch in file.iter_batches(batch_size=size, columns=columns):
                batch.validate(full=True)
                yield _written_out(batch, counter)

    return Source(name, schema, batches)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _written_out(batch: pa.RecordBatch, counter: Counter) -> pa.RecordBatch:
    """The batch with its texts in full, after the counter has counted how many bytes that takes."""
    columns: list[pa.Array[Any]] = []
    for column in batch.columns:
        if isinstance(column, pa.DictionaryArray) and _is_text(column.type.value_type):
            lengths = pc.binary_length(cast("pa.StringArray", column.dictionary)).take(column.indices)
            counter.add(4 * len(column) + (pc.sum(lengths).as_py() or 0))
            columns.append(column.dictionary_decode())
        else:
            counter.add(column.nbytes)
            columns.append(column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _open_arrow(path: Path, name: str, within: Limits) -> Source:
    """Open a Feather file, or another Arrow IPC file or stream."""

    def reader(file: pa.NativeFile, columns: list[int] | None) -> Any:
        options = pa.ipc.IpcReadOptions(included_fields=columns)
        try:
            return pa.ipc.open_file(file, options=options)
        except pa.ArrowInvalid:
            file.seek(0)
            return pa.ipc.open_stream(file, options=options)

    def batches(columns: list[str], numbers: bool) -> Iterator[pa.RecordBatch]:
        counter = Counter(path, name, within)
        with _readable(name, path.suffix), pa.OSFile(str(path), "rb") as file:
            opened = reader(file, [schema.get_field_index(column) for column in columns])
            if isinstance(opened, pa.ipc.RecordBatchFileReader):
                read = (opened.get_batch(i) for i in range(opened.num_record_batches))
            else:
                read = iter(opened)
            for batch in read:
                batch.validate(full=True)  # Arrow trusts its own files: a damaged offset would crash the process
                counter.add(batch.nbytes)
                yield batch

    within.check_bytes(path, name, unpacked_size(path))
    with pa.OSFile(str(path), "rb") as file:
        schema = reader(file, None).schema
    check_names(name, schema.names)
    within.check_columns(name, len(schema))
    within.check_depth(name, depth_of_types(schema))
    if not any(batch.num_rows for batch in batches(schema.names[:1], numbers=False)):
        raise no_rows(name)
    return Source(name, schema, batches)


def _open_npz(path: Path, name: str, within: Limits) -> Source:
    with path.open("rb") as file, _no_objects(path, name):
        if zipfile.is_zipfile(file):
            _check_members(path, name, within)
        file.seek(0)
        opened = np.load(file, allow_pickle=False)
        if isinstance(opened, np.ndarray):
            raise InputError(f"{name} holds one array without a name. Rename it to end in .npy.")
        return from_arrays(name, {key: opened[key] for key in opened.files}, strict=False)


def _check_members(path: Path, name: str, within: Limits) -> None:
    """Refuse an archive whose arrays are not as long as their headers say, before memory is allocated for them."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        within.check_columns(name, len(members))
        within.check_bytes(path, name, sum(member.file_size for member in members))
        if len({member.filename for member in members}) < len(members):
            raise InputError(f"{name} has two arrays of the same name. Write it again.")
        for member in members:
            if member.flag_bits & 1:
                raise InputError(f"{name} is encrypted. Write it again without a password.")
            with archive.open(member) as stream:
                header = _array_header(stream)
                if header is None or header[1].hasobject:
                    continue
                shape, kind = header
                if math.prod(shape) * kind.itemsize != member.file_size - stream.tell():
                    raise InputError(f"{name}: the array {member.filename} is not as long as it says. "
                                     "Write it again.")  # fmt: skip


def _open_npy(path: Path, name: str, within: Limits) -> Source:
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
            headers = [_array_header(archive.open(member)) for member in archive.namelist()]
        return any(header is not None and header[1].hasobject for header in headers)
    with path.open("rb") as stream:
        header = _array_header(stream)
    return header is None or header[1].hasobject


def _array_header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
    """Return the shape and type in the header of an array in NumPy's format; None if the stream has no such header."""
    try:
        version = np.lib.format.read_magic(stream)
    except ValueError:
        return None
    old = version == (1, 0)
    header = np.lib.format.read_array_header_1_0 if old else np.lib.format.read_array_header_2_0
    shape, _, kind = header(stream, max_header_size=_HEADER)
    return shape, kind
