"""Slow, obvious twins of what an engine computes, with Python's hashlib, and the engines to compare."""

from __future__ import annotations

import hashlib
import math
import uuid
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet

from fewlabels.engines import Columns
from fewlabels.engines.dbapi import DbapiTable
from fewlabels.engines.duckdb import DuckDBTable
from fewlabels.engines.spark import SparkTable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from fewlabels.engines import RemoteTable


@dataclass(frozen=True)
class Row:
    """One row: an id, a predicted class, a confidence and a region."""

    id: str | None
    predicted: str | None
    confidence: float | None = 0.5
    region: str | None = None


PLAIN = Columns("id", "predicted", "confidence")
BY_REGION = replace(PLAIN, keep=("region",))


def arrow(rows: Iterable[Row]) -> pa.Table:
    """Rows as an Arrow table."""
    rows = list(rows)
    return pa.table(
        {
            "id": pa.array([row.id for row in rows], pa.string()),
            "predicted": pa.array([row.predicted for row in rows], pa.string()),
            "confidence": pa.array([row.confidence for row in rows], pa.float64()),
            "region": pa.array([row.region for row in rows], pa.string()),
        }
    )


def stratum(columns: Columns, row: Row) -> tuple[str | None, ...]:
    return (row.predicted, row.region) if columns.keep else (row.predicted,)


def in_order(values: Iterable[tuple[str | None, ...]]) -> list[tuple[str | None, ...]]:
    """Strata by their bytes, missing values last."""
    return sorted(values, key=lambda one: [(text is None, (text or "").encode()) for text in one])


def bin_of(score: float) -> int:
    return math.floor(240 * score) if 240 * score < 239 else min(254, 239 + math.floor(16 * (240 * score - 239)))


def summary(columns: Columns, rows: Iterable[Row]) -> list[tuple[object, ...]]:
    """The rows of `Columns.summary`."""
    cells: dict[tuple[str | None, ...], dict[int, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0, 0]))
    for row in rows:
        score = 0.0 if columns.confidence is None else float(row.confidence)
        scaled = math.floor(score * 2**32 + 0.5)
        digits = hashlib.md5(row.id.encode()).hexdigest()[:8]
        cell = cells[stratum(columns, row)][bin_of(score)]
        cell[0] += 1
        cell[1] += scaled
        cell[2] += int(digits, 16) if scaled % 4096 < 256 else 0
    return [(*one, place, *cells[one][place]) for one in in_order(cells) for place in sorted(cells[one])]


def key(seed: int, item: str) -> str:
    return hashlib.md5(f"{seed}|{item}".encode()).hexdigest()


def reserve(columns: Columns, rows: Iterable[Row], seed: int, wanted: int) -> list[tuple[object, ...]]:
    """Id, stratum, confidence and key of the first items of each stratum."""
    queues: dict[tuple[str | None, ...], list[Row]] = defaultdict(list)
    for row in rows:
        queues[stratum(columns, row)].append(row)
    first = []
    for one in in_order(queues):
        queue = sorted(queues[one], key=lambda row: (key(seed, row.id), row.id.encode()))
        first += [(row.id, *one, row.confidence, key(seed, row.id)) for row in queue[:wanted]]
    return first


def sizes(columns: Columns, rows: Iterable[Row]) -> Counter[tuple[str | None, ...]]:
    return Counter(stratum(columns, row) for row in rows)


def listed(table: pa.Table) -> list[tuple[object, ...]]:
    """The rows of an Arrow table."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def in_duckdb(rows: Iterable[Row] | pa.Table, folder: Path) -> RemoteTable:
    """The rows as a Parquet file that DuckDB reads."""
    path = folder / "predictions.parquet"
    parquet.write_table(rows if isinstance(rows, pa.Table) else arrow(rows), path)
    return DuckDBTable(str(path))


def in_spark(rows: Iterable[Row], session: Any, folder: Path) -> RemoteTable:
    """The rows as a view of a Spark session."""
    path = folder / f"{uuid.uuid4().hex}.parquet"
    parquet.write_table(arrow(rows), path)
    session.read.parquet(str(path)).createOrReplaceTempView("my predictions")
    return SparkTable("my predictions", session=session)


def in_postgres(rows: Iterable[Row], url: str, table: str = "predictions", connection: Any = None) -> RemoteTable:
    """The rows as a new table in PostgreSQL, read with a connection of the user's or with one of its own."""
    import psycopg

    quoted = table.replace('"', '""')
    with psycopg.connect(url) as own, own.cursor() as cursor:
        cursor.execute(f'DROP TABLE IF EXISTS "{quoted}"')
        cursor.execute(f'CREATE TABLE "{quoted}" (id text, predicted text, confidence double precision, region text)')
        with cursor.copy(f'COPY "{quoted}" FROM STDIN') as copy:
            for row in rows:
                copy.write_row((row.id, row.predicted, row.confidence, row.region))
    return DbapiTable(f'"{quoted}"', url=None if connection else url, connection=connection)


def in_clickhouse(rows: Iterable[Row], connection: Any) -> RemoteTable:
    """The rows as a new table in ClickHouse."""
    connection.command("DROP TABLE IF EXISTS predictions")
    kinds = "id Nullable(String), predicted Nullable(String), confidence Nullable(Float64), region Nullable(String)"
    connection.command(f"CREATE TABLE predictions ({kinds}) ENGINE = MergeTree ORDER BY tuple()")
    told = [(row.id, row.predicted, row.confidence, row.region) for row in rows]
    if told:
        connection.client.insert("predictions", told)
    return DbapiTable("predictions", connection=connection)
