"""JSON files: a table as a list of objects, as lists by column, or as one object on each line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fewlabels.errors import InputError, Place
from fewlabels.io.arrays import from_arrays
from fewlabels.io.csvs import check_encoding, check_start
from fewlabels.io.foreign import foreign
from fewlabels.io.limits import LIMITS, depth_of_json
from fewlabels.io.source import Source, no_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fewlabels.io.limits import Limits


class _TwiceError(ValueError):
    """An object has the same key twice; other readers would silently take the last value."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _TwiceError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} occurs twice in one object")
    return members


_DECODER = json.JSONDecoder(object_pairs_hook=_once)


def read_json(path: Path, name: str, within: Limits = LIMITS) -> tuple[Any, bool]:
    """The first value of a JSON file, and whether there is more text behind it."""
    check_start(path, name, within)
    check_encoding(path, name, within)
    return parsed(path.read_text(encoding="utf-8-sig"), name, within)


def parsed(text: str, name: str, within: Limits = LIMITS) -> tuple[Any, bool]:
    """The first value of a JSON text, and whether there is more text behind it."""
    try:
        data, end = _DECODER.raw_decode(text, len(text) - len(text.lstrip()))
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON ({error.msg}). Write it again.", at=Place(name, lines=(error.lineno,))) from None
    except RecursionError:
        raise InputError(f"{name} is not a table but lists within lists. Write a list of objects.") from None
    except ValueError as error:  # a number with thousands of digits, or a key twice
        raise InputError(f"{name}: {_why(error)}. Write it again.") from None
    within.check_depth(name, depth_of_json(data))
    return data, end < len(text.rstrip())


def _why(error: Exception) -> str:
    """What is wrong with a text that is not JSON. Python's own words about long numbers name one of its settings."""
    is_ours = isinstance(error, (json.JSONDecodeError, _TwiceError, RecursionError))
    return str(error) if is_ours else "a number has thousands of digits"


def read_values(path: Path, name: str) -> Any:
    """The value of a JSON file; of a file with a value on each line, the list of them."""
    try:
        value, is_more = read_json(path, name, LIMITS)
        if not is_more and path.suffix.lower() not in (".jsonl", ".ndjson"):
            return value
        with path.open(encoding="utf-8-sig") as stream:
            return [_row(text, Place(name, lines=(n,)), LIMITS) for n, text in enumerate(stream, 1) if text.strip()]
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror}. Check the path.") from None


def open_json(path: Path, name: str, within: Limits) -> Source:
    """Read a list of objects, alone or as "rows" (as `--json` prints it), lists by column, or labels by id."""
    data, is_more = read_json(path, name, within)
    if is_more:  # more than one value: one on each line
        return open_json_lines(path, name, within)
    if (source := foreign(data, name)) is not None:
        return source
    rows = data.get("rows", data) if isinstance(data, dict) else data
    if isinstance(rows, dict) and all(isinstance(column, list) for column in rows.values()):
        within.check_columns(name, len(rows))
        return from_arrays(name, rows, strict=True)
    if isinstance(rows, dict) and rows and not any(isinstance(value, (list, dict)) for value in rows.values()):
        return from_arrays(name, {"id": list(rows), "label": list(rows.values())}, strict=True)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f'{name} is not a list of objects. It must look like [{{"id": ..., "predicted": ...}}, ...].')
    return _from_rows(path, name, rows, within)


def open_json_lines(path: Path, name: str, within: Limits) -> Source:
    """Read one object from each line; lines without text are left out."""
    check_start(path, name, within)
    check_encoding(path, name, within)
    rows, lines = [], []
    with path.open(encoding="utf-8-sig") as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                rows.append(_row(line, Place(name, lines=(number,)), within))
                lines.append(number)
    if (source := foreign(rows, name)) is not None:
        return source
    opened = _from_rows(path, name, rows, within)
    return Source(name, opened.schema, opened.reader, lambda row: lines[row - 1])


def _row(line: str, at: Place, within: Limits) -> dict[str, object]:
    try:
        row = _DECODER.decode(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON ({_why(error)}). Every line must be one JSON object.", at=at) from None
    if not isinstance(row, dict):
        raise InputError('not a JSON object. Every line must look like {"id": ..., "predicted": ...}.', at=at)
    if any(isinstance(value, (list, dict)) for value in row.values()):
        within.check_depth(str(at), depth_of_json(row))
    return row


def _from_rows(path: Path, name: str, rows: Sequence[dict[str, object]], within: Limits) -> Source:
    """A source of objects: a column for each key. Every row has a cell for every key, even if most cells are empty."""
    if not rows:
        raise no_rows(name)
    names = dict.fromkeys(key for row in rows for key in row)
    within.check_columns(name, len(names))
    within.check_bytes(path, name, 8 * len(rows) * len(names))
    columns = {key: [row.get(key) for row in rows] for key in names}
    return from_arrays(name, columns, strict=True, classes=False)
