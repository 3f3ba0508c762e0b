"""What the commands cost as a pool grows: CPU seconds and peak memory of `new`, `ask`, `tell`, `show` and `answer`.

    python benchmarks/scale.py                      # 10⁴, 10⁶ and 10⁷ items
    python benchmarks/scale.py --large              # and 10⁸, whose file has 2 GB
    python benchmarks/scale.py --groups 1000 --items 1e6

Each command is a process of its own, measured by `resource`, with compiled modules, as after an installation. Of those
that change nothing it is the best of three. The table of docs/scale.md is what it prints.
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
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

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
    parser.add_argument("--groups", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as compiled:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = compiled
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), 1_000, 10, lambda _: None)  # compiles what is imported
        print("| items | command | CPU s | peak MB |\n|---|---|---|---|")
        for items in [*given.items, *([1e8] if given.large else [])]:
            with tempfile.TemporaryDirectory() as folder:
                measure(Path(folder), int(items), given.groups, partial(print, flush=True))


def measure(folder: Path, items: int, groups: int, say: Callable[[str], None]) -> None:
    """Say what each command costs on a table of this size."""
    import duckdb

    (folder / "predictions").mkdir()
    file = folder / "predictions" / "all.parquet"
    duckdb.sql(f"COPY ({_ROWS.format(groups=groups, items=items)}) TO '{file}' (FORMAT parquet)")
    database = folder / "audit.db"

    def timed(command: str, *words: object, text: str = "", times: int = 1) -> str:
        ours = [sys.executable, "-m", "fewlabels", command, database, "audit", *words]
        taken = []
        for _ in range(times):
            run = subprocess.run(
                [sys.executable, "-c", _WATCH, *map(str, ours)], input=text, capture_output=True, text=True, check=False
            )
            if run.returncode:
                raise SystemExit(run.stderr)
            taken.append([float(number) for number in run.stderr.splitlines()[-1].split()])
        cpu, memory = min(taken)
        say(f"| {items:,} | {command} | {cpu:.2f} | {memory:,.0f} |")
        return run.stdout

    timed("new", folder / "predictions" / "*.parquet", "--content", "none")
    batch = list(csv.DictReader(io.StringIO(timed("ask", "-n", 20))))
    labels = "".join(f"{row['id']},class {i % groups}\n" for i, row in enumerate(batch))
    timed("tell", "-", text=f"id,label\n{labels}")
    timed("show", times=3)
    timed("answer", times=3)
    say(f"| {items:,} | size of the database | {database.stat().st_size / 1e6:.1f} MB | |")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    assert resource is not None  # not on Windows
    main()
