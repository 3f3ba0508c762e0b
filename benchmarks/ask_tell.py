"""How long ask(1) and tell take on a large pool with SQLite, beside a bare insert and commit on the same disk."""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import fewlabels as fl

if TYPE_CHECKING:
    from collections.abc import Callable

TARGET = 20.0  # milliseconds


def large_pool(items: int, groups: int) -> fl.Pool:
    """Items with a group column and two classes; the scores are random."""
    rng = np.random.default_rng(0)
    right = rng.uniform(0.5, 1, items)
    return fl.read_pool(
        {
            "id": [f"item_{i:07d}" for i in range(items)],
            "right": right,
            "wrong": 1 - right,
            "group": [f"group_{i:04d}" for i in rng.integers(0, groups, items)],
        },
        id="id",
        scores=["right", "wrong"],
    )


def bare_pair(folder: Path) -> Callable[[], None]:
    """Two inserts with a commit each, by Python's sqlite3 alone, with the store's durability."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, kind TEXT, item TEXT, label TEXT)")

    def pair() -> None:
        for kind in ("request", "label"):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO events (kind, item, label) VALUES (?, 'item_0000001', 'right')", [kind])
            connection.execute("COMMIT")

    return pair


def milliseconds(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--folder", help="where to put the files; the disk is part of the result")
    options = parser.parse_args()
    pool = large_pool(options.items, options.groups)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        began = time.perf_counter()
        audit = fl.create(
            folder / "audit.db",
            "bench",
            pool,
            fl.by_column(pool, "group"),
            task=fl.Identify(fl.Accuracy(), lowest=10),
        )
        created = time.perf_counter() - began

        def ask_and_tell() -> None:
            audit.tell(dict.fromkeys(audit.ask(1).ids, "right"))

        first = milliseconds(ask_and_tell)  # builds the index of ids, once per process
        bare = bare_pair(folder)
        # Turn and turn about, so that whatever else the machine does hits both alike.
        times = np.array([(milliseconds(ask_and_tell), milliseconds(bare)) for _ in range(options.rounds)])
        audit.close()
        began = time.perf_counter()
        fl.load(folder / "audit.db", "bench").close()
        loaded = time.perf_counter() - began
    ours, theirs = np.median(times, axis=0)
    print(f"{options.items:,} items, {options.groups:,} groups, {options.rounds} rounds")
    print(f"create {created:.2f} s, load {loaded:.2f} s, first ask(1) + tell {first:.0f} ms")
    print(f"ask(1) + tell        median {ours:6.2f} ms   p95 {np.percentile(times[:, 0], 95):6.2f} ms")
    print(f"bare insert, commit  median {theirs:6.2f} ms   p95 {np.percentile(times[:, 1], 95):6.2f} ms   (pair)")
    print(f"ratio of medians {ours / theirs:.1f}; target below {TARGET:.0f} ms: {'met' if ours < TARGET else 'MISSED'}")


if __name__ == "__main__":
    main()
