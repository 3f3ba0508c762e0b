"""Rows to a CSV or JSON lines file, all or nothing."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

from fewlabels.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Style = Literal["csv", "tsv", "jsonl"]


def write_rows(
    rows: Sequence[Mapping[str, object]],
    target: str | Path | TextIO,
    *,
    columns: Sequence[str] | None = None,
    style: Style | None = None,
) -> None:
    """Write rows as UTF-8 CSV, TSV or JSON lines. A file is written beside its place and then moved there.

    So a reader never sees half a file, and an error leaves an older file as it was.

    Parameters
    ----------
    rows
        One mapping per row.
    target
        A path that ends in .csv, .tsv, .jsonl or .ndjson, or an open text file.
    columns
        The columns and their order; by default every key, in the order of first appearance.
    style
        For an open file, or against the ending of the path; by default CSV.

    Examples
    --------
    >>> import sys
    >>> from fewlabels.io import write_rows
    >>> write_rows([{"id": "a", "text": "x, y"}], sys.stdout)
    id,text
    a,"x, y"
    """
    names = list(columns if columns is not None else dict.fromkeys(key for row in rows for key in row))
    if not isinstance(target, (str, Path)):
        return _write(rows, names, target, style or "csv")
    path = Path(target).expanduser()
    how = style or _style(path, str(target))
    # Not tempfile: its files are for the owner only, and a batch is often for others.
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("w", encoding="utf-8", newline="") as stream:
            _write(rows, names, stream, how)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    except FileNotFoundError:
        raise InputError(f"cannot write {target}: there is no such directory. Make it first.") from None
    except (PermissionError, IsADirectoryError) as error:
        raise InputError(f"cannot write {target}: {error.strerror}. Choose another path.") from None
    finally:
        beside.unlink(missing_ok=True)
    return None


def _style(path: Path, name: str) -> Style:
    styles: dict[str, Style] = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
    if path.suffix.lower() not in styles:
        raise InputError(f"cannot tell how to write {name}. End the name in {', '.join(styles)}.")
    return styles[path.suffix.lower()]


def _write(rows: Sequence[Mapping[str, object]], names: list[str], stream: TextIO, style: Style) -> None:
    if style == "jsonl":
        stream.writelines(
            json.dumps({name: row.get(name) for name in names}, ensure_ascii=False, default=str) + "\n" for row in rows
        )
        return
    gap = "\t" if style == "tsv" else ","
    plain = csv.writer(stream, delimiter=gap, lineterminator="\n")
    quoted = csv.writer(stream, delimiter=gap, lineterminator="\n", quoting=csv.QUOTE_ALL)
    plain.writerow(names)
    for row in rows:
        values = ["" if row.get(name) is None else str(row[name]) for name in names]
        # Before Python 3.13 a lone carriage return is not quoted of itself, and would end the row.
        (quoted if any("\r" in value for value in values) else plain).writerow(values)
