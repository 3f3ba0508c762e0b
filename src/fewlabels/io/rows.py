"""Rows to a CSV or JSON lines file, all or nothing."""

from __future__ import annotations

import csv
import json
import os
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

from fewlabels.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Style = Literal["csv", "tsv", "jsonl", "json"]


def write_rows(
    rows: Sequence[Mapping[str, object]],
    target: str | Path | TextIO,
    *,
    columns: Sequence[str] | None = None,
    style: Style | None = None,
    excel: bool = False,
) -> None:
    """Write rows as UTF-8 CSV, TSV, JSON or JSON lines. A file is written beside its place and then moved there.

    So a reader never sees half a file, and an error leaves an older file as it was.

    Parameters
    ----------
    rows
        One mapping per row.
    target
        A path that ends in .csv, .tsv, .json, .jsonl or .ndjson, or an open text file.
    columns
        The columns and their order; by default every key, in the order of first appearance.
    style
        For an open file, or against the ending of the path; by default CSV.
    excel
        Begin with the mark by which Excel recognises UTF-8; without it, Excel shows other letters than ASCII wrongly.

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
        return _write(rows, names, target, style or "csv", excel=excel)
    path = Path(target).expanduser()
    how = style or _style(path, str(target))
    # Not tempfile: its files are for the owner only, and a batch is often for others.
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("w", encoding="utf-8", newline="") as stream:
            _write(rows, names, stream, how, excel=excel)
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
    styles: dict[str, Style] = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json"}
    if path.suffix.lower() not in styles:
        raise InputError(f"cannot tell how to write {name}. End the name in {', '.join(styles)}.")
    return styles[path.suffix.lower()]


def _write(
    rows: Sequence[Mapping[str, object]], names: list[str], stream: TextIO, style: Style, *, excel: bool
) -> None:
    if style in ("json", "jsonl"):
        lines = (
            json.dumps({name: row.get(name) for name in names}, ensure_ascii=False, default=_as_text) for row in rows
        )
        if style == "jsonl":
            stream.writelines(f"{line}\n" for line in lines)
        else:
            stream.write("[" + ",\n ".join(lines) + "]\n")
        return
    stream.write("\ufeff" if excel else "")
    gap = "\t" if style == "tsv" else ","
    plain = csv.writer(stream, delimiter=gap, lineterminator="\n")
    quoted = csv.writer(stream, delimiter=gap, lineterminator="\n", quoting=csv.QUOTE_ALL)
    plain.writerow(names)
    for row in rows:
        values = ["" if row.get(name) is None else _as_text(row[name]) for name in names]
        # Before Python 3.13 a lone carriage return is not quoted of itself, and would end the row.
        (quoted if any("\r" in value for value in values) else plain).writerow(values)


def _as_text(value: object) -> str:
    """A value as text; times in ISO 8601, which every other program reads."""
    return value.isoformat() if isinstance(value, (datetime, date)) else str(value)
