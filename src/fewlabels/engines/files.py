"""Files, patterns of files, folders and object stores, as DuckDB reads them."""

from __future__ import annotations

import glob
import hashlib
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fewlabels.engines.dialects import literal
from fewlabels.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_READERS = {
    ".parquet": "read_parquet({}, union_by_name = true)",
    ".pq": "read_parquet({}, union_by_name = true)",
    # Every column is text, as in read_pool: a reader that looks for numbers makes 7 of "007".
    ".csv": "read_csv({}, all_varchar = true, union_by_name = true)",
    ".tsv": "read_csv({}, all_varchar = true, union_by_name = true)",
    ".json": "read_json({}, union_by_name = true)",
    ".jsonl": "read_json({}, format = 'newline_delimited', union_by_name = true)",
    ".ndjson": "read_json({}, format = 'newline_delimited', union_by_name = true)",
}
_PACKED = (".gz", ".zst")
_MARKS = "*?["  # of a pattern
_MOST = 2_000  # files that are named one by one in every query; of more, the pattern is
_ICEBERG = ".metadata.json"
_MAGIC, _MAGIC_AT = b"DUCK", 8  # what is in a database of DuckDB, and where
_REMOTE = re.compile(r"^(s3|s3a|s3n|gs|gcs|r2|az|azure|abfss|hf|http|https)://", re.IGNORECASE)


@dataclass(frozen=True)
class Files:
    """Files as they stand after FROM, whether they say which columns are numbers, and which ones were left out.

    Of files that are read by a pattern there are the function of DuckDB that reads them, and the pattern; of those in a
    folder also their names.
    """

    source: str
    untyped: bool = False
    left_out: tuple[str, ...] = ()
    reader: str = ""
    pattern: str = ""
    names: tuple[str, ...] = ()

    def listed(self, names: Sequence[str]) -> Files:
        """These files by their names, so that others which match the pattern one day do not change the table.

        >>> find_files("a/*.csv", lambda pattern: []).listed(["a/1.csv", "a/2.csv"]).source
        "read_csv(['a/1.csv', 'a/2.csv'], all_varchar = true, union_by_name = true)"
        """
        return replace(self, source=self.reader.format(f"[{', '.join(map(literal, names))}]"))

    def read_with(self, options: str) -> Files:
        """These files, read with further options.

        >>> find_files("a.csv", lambda pattern: []).read_with("delim = ';'").source
        "read_csv('a.csv', all_varchar = true, union_by_name = true, delim = ';')"
        """
        return replace(self, source=f"{self.source.removesuffix(')')}, {options})")


def is_remote(address: str) -> bool:
    """Whether an address is in an object store or on a web server.

    >>> is_remote("s3://bucket/predictions/*.parquet"), is_remote("predictions.parquet")
    (True, False)
    """
    return _REMOTE.match(address) is not None


def find_files(address: str, matching: Callable[[str], list[str]]) -> Files:
    """How DuckDB reads a file, a pattern such as 'predictions/*.parquet', or a folder.

    A folder is a Delta or an Iceberg table if it has the metadata of one, and otherwise all files in it, of the first
    format that occurs. A pattern without an ending is read as the files that it matches. `matching` gives the files
    that match a pattern.

    >>> find_files("a/*.parquet", lambda pattern: []).source
    "read_parquet('a/*.parquet', union_by_name = true)"
    """
    if address.endswith(_ICEBERG):
        return Files(f"iceberg_scan({literal(address)})")
    if reader := _reader(address):
        return _read_by(reader, address)
    if any(mark in address for mark in _MARKS) and (files := matching(address)):
        return _of_one_format(address, files)
    folder = address.rstrip("/")
    return _lake(folder, matching) or _in_folder(folder, matching)


def _lake(folder: str, matching: Callable[[str], list[str]]) -> Files | None:
    """How to read a Delta or Iceberg table; None if the folder has no metadata of one."""
    if matching(f"{folder}/_delta_log/*"):
        return Files(f"delta_scan({literal(folder)})")
    if versions := matching(f"{folder}/metadata/*{_ICEBERG}"):
        if matching(f"{folder}/metadata/version-hint.text"):
            return Files(f"iceberg_scan({literal(folder)}, allow_moved_paths = true)")
        return Files(f"iceberg_scan({literal(_only_version(folder, versions))})")
    return None


def _in_folder(folder: str, matching: Callable[[str], list[str]]) -> Files:
    """How to read all files of a folder that are of the first format that occurs."""
    patterns = [f"{folder}/**/*{ending}{packed}" for ending in _READERS for packed in ("", *_PACKED)]
    if inside := {pattern: files for pattern in patterns if (files := _shown(folder, matching(pattern)))}:
        first, *others = inside
        left_out = tuple(file for pattern in others for file in inside[pattern])
        return replace(_read_by(str(_reader(first)), first), left_out=left_out, names=tuple(inside[first]))
    raise InputError(
        f"{folder}: there are no predictions. Name a file, a folder or a pattern that ends in {', '.join(_READERS)}."
    )


def _shown(folder: str, files: Sequence[str]) -> list[str]:
    """The files of a folder without those that Spark and Hive hide too, such as parts of a write that was broken off.

    >>> _shown("out", ["out/_temporary/0/a.parquet", "out/_year=2024/a.parquet", "out/.a.parquet", "out/b.parquet"])
    ['out/_year=2024/a.parquet', 'out/b.parquet']
    """

    def is_hidden(part: str) -> bool:
        return part.startswith(".") or (part.startswith("_") and "=" not in part)

    return [file for file in files if not any(map(is_hidden, re.split(r"[/\\]", file[len(folder) :])))]


def is_database(address: str) -> bool:
    """Whether a file on this machine is a database of DuckDB, whatever its name.

    >>> is_database("nowhere.duckdb")
    False
    """
    try:
        with Path(address).open("rb") as file:
            return file.read(_MAGIC_AT + len(_MAGIC))[_MAGIC_AT:] == _MAGIC
    except OSError:
        return False


def _read_by(reader: str, address: str) -> Files:
    pattern = address if any(mark in address for mark in _MARKS) and not is_remote(address) else ""
    return Files(reader.format(literal(address)), "all_varchar" in reader, reader=reader, pattern=pattern)


def may_be_listed(names: Sequence[str]) -> bool:
    """Whether files are few enough to be named one by one."""
    return 0 < len(names) <= _MOST


def _of_one_format(pattern: str, files: Sequence[str]) -> Files:
    """How to read the files that match a pattern without an ending: all have to have the same one."""
    readers = {_reader(file): file for file in files}
    reader = _reader(files[0])
    if reader is not None and len(readers) == 1:
        return _read_by(reader, pattern)
    examples = " and ".join(list(readers.values())[:2])
    raise InputError(
        f"{pattern} matches files that cannot be read together, such as {examples}. Name a pattern that ends in one of "
        f"{', '.join(_READERS)}."
    )


def stamp_of(address: str, names: Sequence[str] = ()) -> str | None:
    """What changes when files are written again: their names, sizes and times. None if nothing is there, or far away.

    With `names` it is about these files, and not about others that match the address now. No engine is needed for it,
    and no file is read.

    >>> stamp_of("nowhere/*.parquet"), stamp_of("s3://bucket/predictions.parquet")
    (None, None)
    """
    if is_remote(address):
        return None
    path = Path(address)
    try:
        # A pattern may be absolute, which that of a Path may not.
        paths = path.rglob("*") if path.is_dir() else map(Path, glob.iglob(address, recursive=True))  # noqa: PTH207
        stats = {str(file): file.stat() for file in (map(Path, names) if names else paths) if file.is_file()}
    except OSError:  # one of them was removed just now, or may not be looked at
        return None
    if not stats:
        return None
    lines = (f"{name} {stats[name].st_size} {stats[name].st_mtime_ns}" for name in sorted(stats))
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _only_version(folder: str, versions: Sequence[str]) -> str:
    """The metadata of an Iceberg table that has one version: of several, only its catalog knows the present one.

    >>> _only_version("t", ["t/metadata/v9.metadata.json", "t/metadata/v10.metadata.json"])
    Traceback (most recent call last):
    fewlabels.errors.InputError: t is an Iceberg table with 2 versions, and only its catalog knows which of them
    is current. Name the metadata of that version instead of the folder. The newest is t/metadata/v10.metadata.json.
    """
    if len(versions) == 1:
        return versions[0]
    newest = max(versions, key=lambda file: [int(part) for part in re.findall(r"^v?(\d+)", file.rpartition("/")[2])])
    raise InputError(
        f"{folder} is an Iceberg table with {len(versions):,} versions, and only its catalog knows which of them "
        f"is current. Name the metadata of that version instead of the folder. The newest is {newest}."
    )


def _reader(address: str) -> str | None:
    """The function that reads files with the ending of an address; None if it has none of them."""
    bare = address.partition("?")[0].lower() if is_remote(address) else address.lower()
    for packed in _PACKED:
        bare = bare.removesuffix(packed)
    return next((reader for ending, reader in _READERS.items() if bare.endswith(ending)), None)
