"""Bins of a column of a table: the engine and memory put every value into the same one."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fewlabels as fl
from fewlabels.engines.columns import Columns
from fewlabels.engines.opening import open_table
from fewlabels.errors import InputError
from fewlabels.io.table_roles import with_bins
from fewlabels.named import groups_from
from fewlabels.partition import partition_from_recipe
from tests.support.pools import law
from tests.support.table_rows import groups_of, yes_and_no

if TYPE_CHECKING:
    from pathlib import Path

duckdb = pytest.importorskip("duckdb")


def test_bins_of_a_table_are_those_of_a_frame(tmp_path: Path) -> None:
    """They begin where a sample of the table says, once; the table's own values are in the same ones."""
    rng = np.random.default_rng(2)
    days = pa.array(rng.integers(19_000, 19_900, 500).astype("int32")).cast(pa.date32())
    table = yes_and_no().append_column("amount", pa.array(rng.lognormal(3, 2, 500), mask=rng.random(500) < 0.1))
    table = table.append_column("age", pa.array(rng.integers(18, 90, 500))).append_column("day", days)
    table = table.append_column("text", pa.array([str(day) for day in days.to_pylist()]))
    pq.write_table(table, tmp_path / "a.parquet")
    wanted = ["amount:3", "age:30/60", "day:2", "text:2"]
    far = fl.read_pool(tmp_path / "*.parquet", id="img", columns=wanted)
    near = fl.read_pool(table, id="img")
    for column, bins in (name.split(":") for name in wanted):
        there, here = (groups_from(f"column:{column}:{bins}", pool) for pool in (far, near))
        assert there.names == here.names == fl.by_column(far, column).names
        np.testing.assert_array_equal(there.sizes, here.sizes)
        again = partition_from_recipe(far, json.loads(json.dumps(there.recipe)))
        np.testing.assert_array_equal(again.group, there.group)
    with pytest.raises(InputError, match="'age' was read from the table in 3 bins, which begin at 30, 60"):
        groups_from("column:age:5", far)
    with fl.create(None, "amounts", far, "column:amount:3") as audit:
        audit.tell(dict.fromkeys(audit.ask(8).ids, "yes"))
        assert sum(audit.estimates()["labelled"]) == 8


_NUMBERS = st.none() | st.sampled_from([0.0, 0.0, 1.0, 2.5, float("nan")]) | st.floats(-1e6, 1e6)
_DAYS = st.none() | st.dates(date(2023, 12, 1), date(2024, 2, 1))


@given(
    st.lists(st.tuples(st.integers(-1, 3), _NUMBERS, _DAYS), min_size=4, max_size=40),
    st.sampled_from([2, 3, 4, "0/", "-1/1.5"]),
)
@law(6)
def test_the_engine_and_memory_agree_on_the_bin_of_every_value(values: list[Any], bins: int | str) -> None:
    """Whatever is equal, missing, not a number, empty, or a text."""
    few, number, day = zip(*values, strict=True)
    columns: dict[str, Any] = {
        "few": pa.array(few),
        "number": pa.array(number, pa.float64()),
        "spelt": pa.array([("", None)[n % 2] if x is None else str(x) for n, x in enumerate(number)], pa.string()),
        "day": pa.array(day, pa.date32()),
        "written": pa.array([("", None)[n % 2] if x is None else f"{x} 10:00" for n, x in enumerate(day)], pa.string()),
    }
    ids = {"id": [f"i{n}" for n in range(len(values))], "predicted": ["a"] * len(values)}
    table = pa.table(ids | columns)
    wanted = {name: "2024-01-01" if name in ("day", "written") and "/" in str(bins) else str(bins) for name in columns}
    near = fl.read_pool(table, classes=["a", "b"])
    with duckdb.connect() as connection:
        connection.register("answers", table)
        far = open_table(connection, table="answers")
        found = with_bins(far, Columns("id", "predicted", keep=tuple(columns)), wanted, 0)
        named = dict(zip(ids["id"], far.lookup(found, ids["id"]).to_pylist(), strict=True))
    for name, said in wanted.items():
        groups = groups_from(f"column:{name}:{said}", near)
        assert list(groups.recipe["bins"]["edges"]) == list(found.bins[name]["edges"])
        places = [row[f"keep.{name}"] for row in named.values()]
        missing = len(groups.recipe["bins"]["edges"]) + 1
        assert [missing if place is None else int(place) for place in places] == groups.group.tolist()


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_bins_of_a_table_with_types_are_those_of_a_frame(zone: str) -> None:
    """Of times with a zone too, whatever zone the session has; and of numbers that are NaN, or text, or have none."""
    rng = np.random.default_rng(3)
    hours = rng.integers(473_000, 479_000, 500)
    table = yes_and_no().append_column(
        "when", pa.array(hours * 3_600, pa.timestamp("s", "UTC")).cast(pa.timestamp("us", "UTC"))
    )
    number = rng.choice([0, 0, 1.5, np.nan, 7], 500)
    table = table.append_column("number", pa.array(number))
    table = table.append_column("text", pa.array([("", "nan", None, f"{x:.0f}")[n % 4] for n, x in enumerate(hours)]))
    day = [("", None, f" {np.datetime64(int(x) // 24, 'D')}")[n % 3] for n, x in enumerate(hours)]
    table = table.append_column("day", pa.array(day)).append_column("large", pa.array(hours * 10**13 + 1))
    connection = duckdb.connect()
    connection.execute(f"SET TimeZone = '{zone}'")
    connection.register("answers", table)
    wanted = {"when": "3", "number": "4", "text": "2", "day": "2024-06-01", "large": "3"}
    far = fl.read_pool(
        connection, table="answers", id="img", columns=[f"{name}:{bins}" for name, bins in wanted.items()]
    )
    near = fl.read_pool(table, id="img")
    for column, bins in wanted.items():
        assert groups_of(far, column, bins) == groups_of(near, column, bins)
    for edges in (np.array(["2024-06-01"]), ["2024-06-01"], "2024-06-01/"):
        assert len(fl.by_column(far, "day", edges)) == 3  # with those that are missing
    connection.close()


def test_what_annotators_see_is_the_value_and_never_its_bin(tmp_path: Path) -> None:
    table = yes_and_no().append_column("age", pa.array([18 + n % 60 for n in range(500)]))
    table = table.append_column("length", pa.array([n * 0.5 for n in range(500)]))
    pq.write_table(table, tmp_path / "a.parquet")
    for content, there in (("age", lambda n: 18 + n % 60), ("length", lambda n: n * 0.5)):
        named: dict[str, Any] = {"columns": ["age:4"], "evidence": ["length"], "content": content}
        with fl.create(None, "x", fl.read_pool(tmp_path / "*.parquet", id="img", **named), "column:age:4") as audit:
            assert all(request.content == there(int(request.id) - 1_000) for request in audit.ask(5))
