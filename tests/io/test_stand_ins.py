"""A plan of a table reads its summary alone, and stand-ins take the place of its items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fewlabels.engines.columns import Columns
from fewlabels.engines.opening import open_table
from fewlabels.engines.table import RemoteTable
from fewlabels.errors import InputError
from fewlabels.io import tables
from fewlabels.io.stand_ins import drawn
from fewlabels.io.tables import read_table
from fewlabels.planning import plan
from fewlabels.stopping import Stop

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("duckdb")


def test_as_many_of_each_unit_as_a_random_part_has() -> None:
    rng = np.random.default_rng(3)
    size, stratum = np.array([40, 1, 0, 9, 30, 20, 2 * 10**9, 10**9]), np.array([1, 1, 1, 1, 0, 0, 2, 2])
    runs = np.array([drawn(size, stratum, 12, rng) for _ in range(2_000)])
    assert (np.stack([runs[:, stratum == one].sum(axis=1) for one in range(3)]) == 12).all()
    assert (runs <= size).all()
    total = np.bincount(stratum, size)[stratum]
    share = size / total
    mean, variance = 12 * share, 12 * share * (1 - share) * (total - 12) / (total - 1)
    assert (np.abs(runs.mean(axis=0) - mean) <= 5 * np.sqrt(variance / len(runs))).all()
    np.testing.assert_allclose(runs.var(axis=0), variance, rtol=0.2)


@pytest.fixture
def table(tmp_path: Path) -> RemoteTable:
    rng = np.random.default_rng(1)
    predicted, confidence = rng.choice(["a", "b"], 3_000).tolist(), rng.random(3_000).tolist()
    said = pa.table({"id": list(range(3_000)), "predicted": predicted, "confidence": confidence})
    pq.write_table(said, tmp_path / "a.parquet")
    return open_table(f"{tmp_path}/*.parquet")


COLUMNS = Columns("id", "predicted", "confidence")


def test_a_plan_reads_no_items(table: RemoteTable, monkeypatch: pytest.MonkeyPatch) -> None:
    as_begun = read_table(table, COLUMNS, named=500)
    monkeypatch.delattr(RemoteTable, "reserve")
    pool = read_table(table, COLUMNS, named=500, to_ask=False)
    assert pool.reserve is not None
    assert as_begun.reserve is not None
    assert pool.units == as_begun.units
    np.testing.assert_array_equal(pool.count, as_begun.count)
    named, begun = (np.bincount(one.predicted[one.units :]) for one in (pool, as_begun))
    np.testing.assert_array_equal(named, begun)
    assert plan(pool, budgets=[30], stop=Stop(labels=30), runs=2).table["overall"][0] < 0.5


def test_an_engine_with_another_hash_is_refused(table: RemoteTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "keys_from", lambda written: np.arange(len(written), dtype=np.uint64))
    with pytest.raises(InputError, match="an unusual MD5"):
        read_table(table, COLUMNS)
