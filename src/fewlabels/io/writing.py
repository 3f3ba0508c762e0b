"""Writing rows as CSV, TSV, JSON or JSON lines, to a path or to an open file."""

from __future__ import annotations

import csv
import io
import json
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

from fewlabels.checks import number_of
from fewlabels.errors import InputError
from fewlabels.io.saving import save

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Style = Literal["csv", "tsv", "jsonl", "json"]

# A spreadsheet takes a text that begins like this for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def write_rows(
    rows: Sequence[Mapping[str, object]],
    target: str | Path | TextIO,
    *,
    columns: Sequence[str] | None = None,
    style: Style | None = None,
    excel: bool = False,
) -> None:
    """Write rows as UTF-8 CSV, TSV, JSON or JSON lines. A file is written whole or not at all.

    Parameters
    ----------
    rows
        One mapping per row.
    target
        A path that ends in .csv, .tsv, .json, .jsonl or .ndjson, or an open text file.
    columns
        The columns and their order; by default every key, in the order of first appearance.
    style
        The format, for an open file or to override the ending of the path; by default CSV.
    excel
        A CSV or TSV that people open in a spreadsheet: it begins with the mark by which Excel recognises UTF-8, and
        texts that would be run as formulas get an apostrophe before them. Numbers do not. `tell` knows ids and labels
        with this apostrophe.

    Examples
    --------
    >>> import sys
    >>> from fewlabels.io import write_rows
    >>> write_rows([{"id": "a", "text": "x, y"}], sys.stdout)
    id,text
    a,"x, y"
    """
    names = list(columns if columns is not None else dict.fromkeys(key for row in rows for key in row))
    write_columns({name: [row.get(name) for row in rows] for name in names}, target, style=style, excel=excel)


def write_columns(
    columns: Mapping[str, Sequence[object]], target: str | Path | TextIO, *, style: Style | None, excel: bool = False
) -> None:
    """Write columns of equal length as `write_rows` writes rows."""
    if not isinstance(target, (str, Path)):
        return _write(columns, target, style or "csv", excel=excel)
    how = style or _style(Path(target), str(target))
    text = io.StringIO(newline="")
    _write(columns, text, how, excel=excel)
    save(text.getvalue(), target)
    return None


def _style(path: Path, name: str) -> Style:
    styles: dict[str, Style] = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json"}
    if path.suffix.lower() not in styles:
        raise InputError(f"the ending of {name} is not a known format. End the name in {', '.join(styles)}.")
    return styles[path.suffix.lower()]


def _write(columns: Mapping[str, Sequence[object]], stream: TextIO, style: Style, *, excel: bool) -> None:
    if style in ("json", "jsonl"):
        rows = (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))
        lines = (json.dumps(row, ensure_ascii=False, default=_as_text) for row in rows)
        if style == "jsonl":
            stream.writelines(f"{line}\n" for line in lines)
        else:
            stream.write("[" + ",\n ".join(lines) + "]\n")
        return
    stream.write("\ufeff" if excel else "")
    gap = "\t" if style == "tsv" else ","
    plain = csv.writer(stream, delimiter=gap, lineterminator="\n")
    quoted = csv.writer(stream, delimiter=gap, lineterminator="\n", quoting=csv.QUOTE_ALL)
    plain.writerow([_harmless(name) for name in columns] if excel else list(columns))
    texts = [_as_texts(column) for column in columns.values()]
    if excel:
        texts = [[_harmless(text) for text in column] for column in texts]
    # Before Python 3.13, a lone carriage return is not quoted automatically, and would end the row.
    if not any("\r" in "".join(column) for column in texts):
        plain.writerows(zip(*texts, strict=True))
        return
    for values in zip(*texts, strict=True):
        (quoted if any("\r" in value for value in values) else plain).writerow(values)


def _as_texts(column: Sequence[object]) -> list[str]:
    """All values of a column as texts. A column of one kind, as in a long log, is written in one go."""
    kinds = set(map(type, column))
    if kinds == {str}:
        return column if isinstance(column, list) else list(column)  # type: ignore[arg-type]
    if kinds == {int}:
        return list(map(str, column))
    return list(map(_as_text, column))


def _as_text(value: object) -> str:
    """A value as text, none as an empty one; times in ISO 8601, which every other program reads."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return value.isoformat() if isinstance(value, (datetime, date)) else str(value)


def _harmless(text: str) -> str:
    """Change a text so that no spreadsheet runs it as a formula.

    >>> [_harmless(text) for text in ("=1+1", "@SUM(A1)", "-1", "+2e3", "a=b")]
    ["'=1+1", "'@SUM(A1)", '-1', '+2e3', 'a=b']
    """
    return f"'{text}" if text.startswith(_FORMULA) and number_of(text) is None else text


def without_apostrophe(text: str) -> str | None:
    """The text that was made harmless for a spreadsheet; None if this one was not.

    >>> without_apostrophe("'=1+1"), without_apostrophe("'tis"), without_apostrophe("=1+1")
    ('=1+1', None, None)
    """
    return text[1:] if text.startswith("'") and _harmless(text[1:]) == text else None
