"""Reading 1,000,000 × 100 float32 scores from Parquet: seconds, peak memory, and the ratio to a bare read."""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

BLOCK = 50_000


def write(path: Path, items: int, classes: int) -> None:
    """Random softmax scores, written in pieces so that writing needs little memory too."""
    rng = np.random.default_rng(7)
    names = ["id", *(f"p_{k}" for k in range(classes))]
    writer = None
    for start in range(0, items, BLOCK):
        n = min(BLOCK, items - start)
        weight = rng.standard_gamma(0.3, (n, classes)) + 1e-6
        scores = (weight / weight.sum(axis=1, keepdims=True)).astype(np.float32)
        table = pa.table([pa.array([f"item-{i}" for i in range(start, start + n)]), *scores.T.copy()], names)
        writer = writer or parquet.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    assert writer is not None
    writer.close()


def bare(path: Path) -> float:
    """Seconds to read the same batches and look at nothing."""
    begin = time.perf_counter()
    with parquet.ParquetFile(path, pre_buffer=False) as file:
        rows = sum(batch.num_rows for batch in file.iter_batches(batch_size=41_943))
    assert rows
    return time.perf_counter() - begin


def child(path: Path) -> None:
    """Measure the bare read, then read_pool, in a fresh process; the peak of memory is that of the larger."""
    from fewlabels.io import read_pool

    plain = min(bare(path) for _ in range(3))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    pool = read_pool(path, scores="p_*")
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    assert pool.fingerprint
    hashing = time.perf_counter() - begin
    print(json.dumps([len(pool), plain, seconds, before / 1024, peak / 1024, hashing]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, default=100)
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read:
        child(given.read)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.parquet"
        write(path, given.items, given.classes)
        size = path.stat().st_size / 2**20
        done = subprocess.run(
            [sys.executable, __file__, "--read", str(path)], check=True, capture_output=True, text=True
        )
    items, plain, seconds, before, peak, hashing = json.loads(done.stdout)
    print(f"{items:,} items × {given.classes:,} classes, {size:,.0f} MB of Parquet")
    print(f"read_pool {seconds:.2f} s, bare pyarrow read {plain:.2f} s, ratio {seconds / plain:.2f}")
    print(f"peak memory {peak:,.0f} MB ({before:,.0f} MB after the bare read); fingerprint {hashing:.2f} s")


if __name__ == "__main__":
    main()
