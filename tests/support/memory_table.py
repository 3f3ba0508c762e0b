"""A table in memory that answers as engines do, with Python's hashlib and plain loops: the twin of every engine."""

from __future__ import annotations

import hashlib
import json
import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fewlabels.engines.table import RemoteTable
from fewlabels.reserve import FINE, WIDE

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from fewlabels.engines.columns import Columns


def bin_of_one(confidence: float) -> int:
    """The fine bin of a confidence, one at a time."""
    place = confidence * WIDE
    return int(place) if place < WIDE - 1 else WIDE - 1 + min(FINE - 1, math.floor((place - (WIDE - 1)) * FINE))


class MemoryTable(RemoteTable):
    """Rows in memory; `asked` counts the calls of each kind."""

    name = "a table in memory"
    schema = pa.schema([])

    def __init__(self, **columns: Sequence[Any]) -> None:
        self.rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        self.schema = pa.table({name: list(values) for name, values in columns.items()}).schema
        self.asked: dict[str, int] = defaultdict(int)

    def head(self, rows: int = 100) -> pa.Table:
        return pa.Table.from_pylist(self.rows[:rows], self.schema)

    def summary(self, columns: Columns) -> pa.Table:
        self.asked["summary"] += 1
        found: dict[Any, list[int]] = defaultdict(lambda: [0, 0, 0])
        for row in self.rows:
            s = row[columns.confidence] if columns.confidence else 0.0
            parts = math.floor(s * 2**32 + 0.5)
            unit = found[(*self._stratum(row, columns), bin_of_one(s) if columns.confidence else 0)]
            digits = hashlib.md5(f"{row[columns.id]}".encode(), usedforsecurity=False).hexdigest()[:8]
            for i, more in enumerate((1, parts, int(digits, 16) if parts % 4096 < 256 else 0)):
                unit[i] += more
        order = sorted(
            found, key=lambda unit: (*((value is None, (value or "").encode()) for value in unit[:-1]), unit[-1])
        )
        rows = [dict(zip(columns.summary.names, (*unit, *found[unit]), strict=True)) for unit in order]
        return pa.Table.from_pylist(rows, columns.summary)

    def spread(self, columns: Columns, name: str) -> None:
        return None  # its evidence is words

    def different(self, columns: Columns, name: str, most: int) -> int:
        return min(most, len({row[name] for row in self.rows}))

    def check_ids(self, columns: Columns) -> None:
        return None

    def reserve(self, columns: Columns, summary: pa.Table, seed: int, wanted: int | pa.Table) -> pa.Table:
        self.asked["reserve"] += 1
        asked: dict[Any, list[tuple[int, int, int]]] = defaultdict(list)
        if isinstance(wanted, int):
            for row in summary.to_pylist():
                asked[tuple(row[name] for name in columns.strata)] = [(wanted, 0, 10_000)]
        else:
            for row in wanted.to_pylist():
                part = row["wanted"], row.get("low", 0), row.get("high", 10_000)
                asked[tuple(row[name] for name in columns.strata)].append(part)
        queues: dict[Any, list[Any]] = defaultdict(list)
        for row in self.rows:
            key = hashlib.md5(f"{seed}|{row[columns.id]}".encode(), usedforsecurity=False).hexdigest()
            queues[self._stratum(row, columns)].append((key, str(row[columns.id]), row))
        found = []
        for stratum, parts in asked.items():
            for k, low, high in parts:
                inside = [
                    one
                    for one in queues[stratum]
                    if columns.confidence is None or low <= bin_of_one(one[2][columns.confidence]) <= high
                ]
                found += [
                    self._item(row, columns) | {"key": key}
                    for key, _, row in sorted(inside, key=lambda one: one[:2])[:k]
                ]
        return pa.Table.from_pylist(found, self._items(columns).append(pa.field("key", pa.string())))

    def lookup(self, columns: Columns, ids: Sequence[str]) -> pa.Table:
        self.asked["lookup"] += 1
        by_id = {str(row[columns.id]): row for row in self.rows}
        found = [self._item(by_id[item], columns) for item in ids if item in by_id]
        return pa.Table.from_pylist(found, self._items(columns))

    def content(self, columns: Columns, ids: Sequence[str], names: Sequence[str]) -> pa.Table:
        self.asked["content"] += 1
        by_id = {str(row[columns.id]): row for row in self.rows}
        return pa.Table.from_pylist(
            [{"id": item} | {name: by_id[item][name] for name in names} for item in ids if item in by_id]
        )

    def _ask(self, step: str, text: str, bound: Sequence[str | int] = ()) -> pa.Table:
        raise AssertionError("it understands no SQL")

    def _sent(self, limits: pa.Table) -> Generator[str, None, None]:
        raise AssertionError("it understands no SQL")

    def describe(self) -> str:
        return json.dumps({"engine": "memory"})

    def close(self) -> None:
        return None

    def _stratum(self, row: dict[str, Any], columns: Columns) -> tuple[str | None, ...]:
        return tuple(None if row[name] is None else str(row[name]) for name in (columns.predicted, *columns.keep))

    def _item(self, row: dict[str, Any], columns: Columns) -> dict[str, Any]:
        strata = dict(zip(columns.strata, self._stratum(row, columns), strict=True))
        return {
            "id": str(row[columns.id]),
            **strata,
            "confidence": row[columns.confidence] if columns.confidence else None,
        }

    def _items(self, columns: Columns) -> pa.Schema:
        kinds: dict[str, pa.DataType] = dict.fromkeys(("id", *columns.strata), pa.string())
        return pa.schema(kinds | {"confidence": pa.float64()})
