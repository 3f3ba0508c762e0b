"""Warehouses by address and by connection: those that can run here do, and the others are opened as they will be."""

from __future__ import annotations

import sqlite3
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import fewlabels as fl
from fewlabels.engines import Columns
from fewlabels.engines.dbapi import DbapiTable
from fewlabels.engines.opening import open_again, open_table
from fewlabels.errors import InputError
from tests.engines.test_engines import check, many
from tests.support import tables
from tests.support.tables import in_clickhouse, listed

if TYPE_CHECKING:
    from pathlib import Path

ROWS = many(60)


class NoTransactions(sqlite3.Connection):
    """A connection that refuses to end a transaction, as that of Trino does; BigQuery's has no such method."""

    def rollback(self) -> None:
        raise RuntimeError("no transaction was started")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database of SQLite, whose SQL is that of a warehouse as far as looking at some rows goes."""
    file = tmp_path / "warehouse.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE predictions (id, predicted)")
        connection.execute("INSERT INTO predictions VALUES ('a', 'cat'), ('b', 'dog')")
    connection.close()
    return file


def test_sqlalchemy_leaves_its_connection_open(file: Path) -> None:
    with DbapiTable("predictions", url=f"sqlite:///{file}", dialect="trino") as table:
        assert listed(table.head()) == [("a", "cat"), ("b", "dog")]
        described = table.describe()
    with open_again(described) as table:
        assert (table.dialect, table.head().num_rows) == ("trino", 2)


def test_only_transactions_that_were_begun_are_ended(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fewlabels.engines.dbapi._connect", lambda _: sqlite3.connect(file, factory=NoTransactions))
    for dialect in ("trino", "bigquery", "databricks"):
        with DbapiTable("predictions", url="trino://host/db", dialect=dialect) as table:
            assert table.head().num_rows == 2


@pytest.mark.parametrize(
    ("scheme", "dialect"),
    [
        ("postgresql+psycopg", "postgres"), ("redshift+redshift_connector", "redshift"), ("snowflake", "snowflake"),
        ("bigquery", "bigquery"), ("trino", "trino"), ("databricks", "databricks"),
        ("clickhousedb", "clickhouse"), ("clickhousedb+connect", "clickhouse"), ("clickhouse+native", "clickhouse"),
    ],
)  # fmt: skip
def test_addresses_of_packages_for_sqlalchemy(scheme: str, dialect: str) -> None:
    with open_table(f"{scheme}://me@host/db", table="ml.predictions") as table:
        assert table.dialect == dialect


def test_a_driver_that_talks_to_many_databases(file: Path) -> None:
    class Connection(sqlite3.Connection):
        __module__ = "pyodbc"

    connection = sqlite3.connect(file, factory=Connection)
    with pytest.raises(InputError, match=r"a pyodbc connection is not known. Name it with dialect='postgres'"):
        fl.read_pool(connection, table="predictions")
    with pytest.raises(InputError, match=r"'tsql' cannot be used: its MD5 gives bytes"):
        fl.read_pool(connection, table="predictions", dialect="tsql")
    with pytest.raises(InputError, match=r"'tsql' cannot be used: its MD5 gives bytes"):
        fl.read_pool(connection, table="predictions", dialect="tsql", sample=2)
    with open_table(connection, table="predictions", dialect="snowflake") as table:
        assert table.head().num_rows == 2
    connection.close()


@pytest.mark.slow
def test_clickhouse_by_its_address(clickhouse: Any) -> None:
    in_clickhouse(ROWS, clickhouse).close()
    with open_table("clickhousedb://memory/default?interface=chdb", table="default.predictions") as table:
        check(table, ROWS)
        described = table.describe()
    with open_again(described) as table:
        check(table, ROWS)


@pytest.mark.slow
def test_types_of_clickhouse(clickhouse: Any) -> None:
    """Decimals, Enum, LowCardinality, UUID, Bool and dates, without Nullable."""
    clickhouse.command("DROP TABLE IF EXISTS types")
    clickhouse.command(
        "CREATE TABLE types (id UInt64, uid UUID, class LowCardinality(String), kind Enum8('a' = 1, 'b' = 2), "
        "p Decimal(5, 4), q Float32, new Bool, day Date, w Float64) ENGINE = MergeTree ORDER BY id"
    )
    clickhouse.command(
        "INSERT INTO types SELECT number, "
        "toUUID(concat('00000000-0000-0000-0000-', leftPad(toString(number), 12, '0'))), "
        "concat('class ', toString(number % 3)), if(number % 2, 'a', 'b'), toDecimal32(toString(number / 1000), 4), "
        "number / 1024, number % 5 = 0, toDate('2024-01-01') + number % 2, if(number % 7, number, nan) "
        "FROM numbers(1000)"
    )
    rows = [
        tables.Row(str(i), f"class {i % 3}", float(Decimal(i) / 1000), f"{i % 5 == 0} 2024-01-0{i % 2 + 1}")
        for i in range(1000)
    ]
    columns = Columns("id", "class", "p", keep=("new", "day"))
    with open_table(clickhouse, table="types") as table:
        assert table.schema.field("uid").type == pa.uuid()
        found = table.summary(columns)
        merged = [(a, f"{b} {c}", *rest) for a, b, c, *rest in listed(found)]
        assert merged == tables.summary(tables.BY_REGION, rows)
        assert table.lookup(columns, ["998", "x"])["confidence"].to_pylist() == [0.998]
        by_kind = table.summary(Columns("uid", "kind", "q", keep=("w",), steps=(("w", 0.0, 100.0),)))
        assert {row["keep.w"] for row in by_kind.to_pylist()} == {None, *map(str, range(10))}
        uid = "00000000-0000-0000-0000-000000000007"
        assert table.content(Columns("uid", "kind"), [uid], ["class"])["class"].to_pylist() == ["class 1"]
