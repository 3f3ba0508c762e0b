"""What a table costs that stays where it is: CPU seconds and peak memory of each query, on DuckDB.

    python benchmarks/engines.py                     # 10⁴, 10⁶ and 10⁷ rows in 500 groups
    python benchmarks/engines.py --large             # and 10⁸, whose file has 1.9 GB
    python benchmarks/engines.py --rows 2e7 --threads 1

The table is made by DuckDB. Each query runs in a process of its own, measured by `resource`; the memory of Python and
its libraries, about 100 MB, is part of it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewlabels.engines import Columns
from fewlabels.engines.duckdb import DuckDBTable

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

ROWS = (1e4, 1e6, 1e7)
COLUMNS = Columns("id", "predicted", "confidence")
WANTED = 200  # items of each group in the reserve
_MAKE = """
SELECT 'item-' || i AS id, 'class ' || (hash(i) % {groups}) AS predicted,
       (hash(i * 7 + 1) % 1000000) / 1e6 AS confidence, 'the text of ' || i AS text
FROM range({rows}) t(i)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=float, nargs="+", default=list(ROWS))
    parser.add_argument("--large", action="store_true", help="also 10⁸ rows")
    parser.add_argument("--groups", type=int, default=500)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    print("| rows | query | CPU s | peak MB | rows of the answer |\n|---|---|---|---|---|")
    for rows in [*given.rows, *([1e8] if given.large else [])]:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder) / "predictions.parquet", int(rows), given.groups, given.threads)


def measure(file: Path, rows: int, groups: int, threads: int) -> None:
    """All queries about one table."""
    import duckdb

    duckdb.sql(f"COPY ({_MAKE.format(rows=rows, groups=groups)}) TO '{file}' (FORMAT parquet)")
    summary = None
    for name in QUERIES:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            cpu, memory, answer = pool.submit(timed, name, str(file), threads, summary).result()
        summary = answer if name == "summary" else summary
        count = 0 if answer is None else answer.num_rows
        print(f"| {rows:,} | {name} | {cpu:.2f} | {memory:,.0f} | {count:,} |", flush=True)


def timed(name: str, file: str, threads: int, summary: pa.Table | None) -> tuple[float, float, pa.Table | None]:
    """CPU seconds, peak memory and answer of one query; for a fresh process."""
    with DuckDBTable(file) as table:
        table._connection.execute(f"SET threads = {threads}")  # noqa: SLF001
        before = time.process_time()
        answer = QUERIES[name](table, summary)
        cpu = time.process_time() - before
    return cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, answer


def _summary(table: DuckDBTable, _: Any) -> pa.Table:
    return table.summary(COLUMNS)


def _reserve(table: DuckDBTable, summary: Any) -> pa.Table:
    return table.reserve(COLUMNS, summary, 7, WANTED)


def _ids(table: DuckDBTable, _: Any) -> None:
    table.check_ids(COLUMNS)


def _lookup(table: DuckDBTable, summary: Any) -> pa.Table:
    count = sum(summary["count"].to_pylist())
    return table.lookup(COLUMNS, [f"item-{i * (count // 20)}" for i in range(20)])


def _content(table: DuckDBTable, summary: Any) -> pa.Table:
    count = sum(summary["count"].to_pylist())
    return table.content(COLUMNS, [f"item-{i * (count // 20)}" for i in range(20)], ["text"])


QUERIES: dict[str, Callable[[DuckDBTable, Any], pa.Table | None]] = {
    "summary": _summary,
    "reserve": _reserve,
    "ids": _ids,
    "lookup": _lookup,
    "content": _content,
}


if __name__ == "__main__":
    main()
