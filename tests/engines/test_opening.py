"""Tables are opened by address, pattern, folder, connection or engine; errors are one sentence; no password is kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from fewlabels.engines import Columns, Step
from fewlabels.engines.dbapi import DbapiTable
from fewlabels.engines.duckdb import DuckDBTable
from fewlabels.engines.opening import open_again, open_table
from fewlabels.errors import InputError, StoreError
from tests.engines.test_engines import check, many
from tests.support import tables
from tests.support.tables import BY_REGION, PLAIN, Row, arrow, in_duckdb, in_postgres, listed

if TYPE_CHECKING:
    from pathlib import Path

ROWS = many(60)


def put(folder: Path) -> None:
    """Parquet files of the rows, in two folders."""
    for part, rows in (("a", ROWS[:30]), ("b/c", ROWS[30:])):
        (folder / part).mkdir(parents=True)
        parquet.write_table(arrow(rows), folder / part / "part.parquet")


@pytest.mark.parametrize("pattern", ["", "/", "/**/*.parquet", "/*/**/part.parquet"])
def test_folders_and_patterns(tmp_path: Path, pattern: str) -> None:
    put(tmp_path)
    with open_table(f"{tmp_path}{pattern}") as table:
        check(table, ROWS)


def test_a_pattern_is_found_again_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path)
    monkeypatch.chdir(tmp_path / "a")
    with open_table("../**/*.parquet") as table:
        described = table.describe()
    monkeypatch.chdir(tmp_path / "b")
    with open_again(described) as table:
        check(table, ROWS)


def test_a_file_of_text_keeps_its_ids(tmp_path: Path) -> None:
    """In a CSV file "007" is not 7, whatever a reader that looks for numbers would make of it."""
    rows = [Row("007", "1", 0.25, "north"), Row("7", "01", 1.0, "south"), Row("1e3", "1", 0.5, "None")]
    csv.write_csv(arrow(rows), tmp_path / "predictions.csv")
    with open_table(tmp_path / "predictions.csv") as table:
        check(table, rows)
    (tmp_path / "bad.csv").write_text("id,predicted,confidence\na,cat,0.5\nb,cat,high\n", encoding="utf-8")
    with (
        open_table(tmp_path / "bad.csv") as table,
        pytest.raises(InputError, match=r"the item 'b' \(missing or not a number\)"),
    ):
        table.summary(PLAIN)


def test_json_lines(tmp_path: Path) -> None:
    lines = [json.dumps({"id": r.id, "predicted": r.predicted, "confidence": r.confidence, "region": r.region})
             for r in ROWS]  # fmt: skip
    (tmp_path / "predictions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with open_table(str(tmp_path / "predictions.jsonl")) as table:
        check(table, ROWS)


def test_types_become_the_words_of_read_pool(tmp_path: Path) -> None:
    data = pa.table(
        {
            "id": pa.array([1, 2, 3], pa.int32()),
            "predicted": [True, False, True],
            "confidence": pa.array([0.1, 0.2, 1], pa.float32()),
            "whole": [7.0, None, 8.0],
            "day": pa.array([0, 1, None], pa.date32()),
            "half": [0.5, 1.0, 1.5],
            "when": pa.array([0, 1, 2], pa.timestamp("s")),
        }
    )
    columns = Columns("id", "predicted", "confidence", keep=("whole", "day"))
    with in_duckdb(data, tmp_path) as table:
        summary = table.summary(columns)
        assert listed(summary.select(["predicted", "keep.whole", "keep.day"])) == [
            ("False", None, "1970-01-02"), ("True", "7", "1970-01-01"), ("True", "8", None),
        ]  # fmt: skip
        assert table.lookup(columns, ["3", "03", "x", "1"])["id"].to_pylist() == ["3", "1"]
        with pytest.raises(InputError, match=r"2 values of the column 'half' are neither text nor a whole number"):
            table.summary(Columns("id", "half"))
        with pytest.raises(InputError, match=r"'when' holds timestamp.*cannot be used as groups"):
            table.summary(Columns("id", "predicted", keep=("when",)))


def test_a_table_of_a_connection_to_duckdb(tmp_path: Path) -> None:
    import duckdb

    hostile = 'x"; DROP TABLE other; --'
    with duckdb.connect() as connection:
        connection.register("rows", arrow(ROWS))
        name = hostile.replace('"', '""')
        connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM rows')
        with open_table(connection, table=f'"{name}"') as table:
            check(table, ROWS)
            described = table.describe()
        with pytest.raises(StoreError, match=r"was read through your own connection.*load\(\.\.\., pool=pool\)"):
            open_again(described)
        with pytest.raises(InputError, match="needs the name of a table"):
            open_table(connection)


def test_hostile_names_are_quoted(tmp_path: Path, postgres_url: str) -> None:
    odd = ['"; DROP TABLE x; --', "50% %s off", "a 'b' \\ `c`", "fl_id", "ünïcode"]
    data = arrow(ROWS).rename_columns(odd[:4]).append_column(odd[4], pa.array(range(60)))
    columns = Columns(odd[0], odd[1], odd[2], keep=(odd[3],), carried=(odd[4],))
    with in_duckdb(data, tmp_path) as table:
        expected = table.summary(columns)
        assert listed(expected) == tables.summary(BY_REGION, ROWS)
        assert table.lookup(columns, [ROWS[5].id])[f"carried.{odd[4]}"].to_pylist() == [5]
    in_postgres(ROWS, postgres_url, table='my "table"; %s').close()
    with open_table(postgres_url, table='"my ""table""; %s"') as table:
        check(table, ROWS)


def test_progress_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fewlabels.engines.duckdb._EVERY", 0.001)
    told: list[Step] = []
    with in_duckdb(pa.table({"id": range(300_000), "predicted": [0] * 300_000}), tmp_path) as table:
        table.progress = told.append
        table.summary(Columns("id", "predicted"))
        table.check_ids(Columns("id", "predicted"))
    assert {"summary", "ids"} <= {step.name for step in told}
    assert all(0 < step.share <= 1 and step.rows <= 300_000 for step in told if step.share is not None)


def test_no_password_is_kept_or_shown(postgres_url: str) -> None:
    import sqlalchemy as sa

    secret = sa.make_url(postgres_url).set(password="hunter2").render_as_string(hide_password=False)
    with in_postgres(ROWS, postgres_url) as table:
        table.close()
    with open_table(secret, table="predictions") as table:
        assert "hunter2" not in table.name + table.describe()
        described = table.describe()
    with open_again(described) as table:  # the driver finds the password, if one is needed
        check(table, ROWS)
    # Older versions of SQLAlchemy take another driver than ours for the usual one.
    engine = sa.create_engine(sa.make_url(secret).set(drivername="postgresql+psycopg"))
    with open_table(engine, table="predictions") as table:
        assert table.lookup(PLAIN, [ROWS[0].id]).num_rows == 1


def test_a_connection_of_the_user_is_left_alone(postgres_url: str) -> None:
    import psycopg

    in_postgres(ROWS, postgres_url).close()
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TEMP TABLE mine (x int)")
        with open_table(connection, table="predictions") as table:
            check(table, ROWS)
        assert connection.execute("SELECT count(*) FROM mine").fetchone() == (0,)  # not rolled back, not closed


def test_all_is_read_from_one_state(postgres_url: str) -> None:
    import psycopg

    with in_postgres(ROWS, postgres_url) as table:
        summary = table.summary(PLAIN)
        with psycopg.connect(postgres_url, autocommit=True) as other:
            other.execute("DELETE FROM predictions")
        assert listed(table.reserve(PLAIN, summary, 7, 5)) == tables.reserve(PLAIN, ROWS, 7, 5)
        assert table.lookup(PLAIN, [ROWS[0].id]).num_rows == 1
        assert table.lookup(PLAIN, [ROWS[0].id]).num_rows == 0  # the old state is let go of


def test_a_lost_connection_is_one_error_and_then_another_is_opened(postgres_url: str) -> None:
    import psycopg

    with in_postgres(ROWS, postgres_url) as table:
        assert isinstance(table, DbapiTable)
        table.summary(PLAIN)
        pid = table._connection.info.backend_pid
        with psycopg.connect(postgres_url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", [pid])
        with pytest.raises(StoreError, match=r"the table \"predictions\" of postgresql.* cannot be reached"):
            table.summary(PLAIN)
        check(table, ROWS)


def test_a_server_that_is_not_there() -> None:
    with (
        open_table("postgresql://someone:secret@127.0.0.1:1/db", table="t") as table,
        pytest.raises(StoreError, match="cannot be reached") as caught,
    ):
        table.summary(PLAIN)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "table", "said"),
    [
        ("missing.parquet", None, "no file matches missing.parquet. Check the pattern, and the folder"),
        ("gone/*.parquet", None, "no file matches gone/*.parquet. Check the pattern, and the folder"),
        ("gone.duckdb", "t", "there is no file gone.duckdb. Check the path."),
        ("nothing/", None, "there are no predictions. Name a file, a folder or a pattern that ends in .parquet"),
        ("postgresql://host/db", None, "postgresql://... needs the name of a table"),
        ("mssql+pyodbc://host/db", "t", "tables in the dialect 'tsql' cannot be used"),
        ("mysql://host/db", "t", "its texts ignore case"),
        ("sc://host", None, "sc://... needs the name of a table"),
    ],
)
def test_addresses_that_cannot_be_used(
    address: str, table: str | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        open_table(address, table=table).summary(PLAIN)
    assert said in str(caught.value)


def test_a_table_that_is_not_there(postgres_url: str) -> None:
    with (
        open_table(postgres_url, table="ml.nothing") as table,
        pytest.raises(InputError, match=r'cannot be read: relation "ml.nothing" does not exist'),
    ):
        table.summary(PLAIN)


def test_a_dropped_column_is_noticed(postgres_url: str) -> None:
    import psycopg

    with in_postgres(ROWS, postgres_url) as table:
        summary = table.summary(PLAIN)
        table.close()
        with psycopg.connect(postgres_url, autocommit=True) as other:
            other.execute("ALTER TABLE predictions DROP COLUMN predicted")
        with pytest.raises(InputError, match='column "predicted" does not exist'):
            table.reserve(PLAIN, summary, 1, 5)


def test_a_file_that_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 nothing")
    with open_table(tmp_path / "bad.parquet") as table, pytest.raises(InputError, match=r"bad.parquet cannot be read"):
        table.summary(PLAIN)


@pytest.mark.parametrize("error", [RuntimeError("Query interrupted"), duckdb.InterruptException("Interrupted!")])
def test_ctrl_c_is_ctrl_c(error: Exception) -> None:
    """Python's interruption, and not the errors that DuckDB makes of the signal."""
    table = open_table(duckdb.sql("FROM range(3) t(i)"))
    assert isinstance(table, DuckDBTable)
    with table, pytest.raises(KeyboardInterrupt), table._plain_errors():
        raise error
    with pytest.raises(RuntimeError, match="another"), table._plain_errors():
        raise RuntimeError("another one")


def test_more_limits_than_fit_into_one_query(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fewlabels.engines.dbapi._LONGEST", 3)
    with in_postgres(ROWS, postgres_url) as table:
        check(table, ROWS)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PySpark does not yet")
def test_spark_by_address(spark_address: str, tmp_path: Path) -> None:
    parquet.write_table(arrow(ROWS), tmp_path / "p.parquet")
    table = f"parquet.`{tmp_path / 'p.parquet'}`"
    with open_table(spark_address, table=table) as opened:
        check(opened, ROWS)
        described = opened.describe()
    with open_again(described) as opened:
        assert "token" not in opened.describe()
    with open_table(spark_address, table="nothing") as opened, pytest.raises(InputError, match="cannot be read"):
        opened.summary(PLAIN)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PySpark does not yet")
def test_a_spark_server_that_is_not_there() -> None:
    pytest.importorskip("pyspark.sql", reason="pyspark-client is not installed")
    with pytest.raises(StoreError, match="cannot be reached"):
        open_table("sc://127.0.0.1:1/;token=secret", table="t").summary(PLAIN)


@pytest.mark.parametrize("pattern", ["p*", "*", "**/*.gz"])
def test_a_pattern_without_an_ending_is_what_it_matches(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "parts").mkdir()
    for i, rows in enumerate((ROWS[:30], ROWS[30:])):
        with pa.output_stream(tmp_path / "parts" / f"part-{i}.csv.gz", compression="gzip") as file:
            csv.write_csv(arrow([Row(r.id, r.predicted, r.confidence, r.region or "none") for r in rows]), file)
    with open_table(f"{tmp_path}/parts/{pattern}") as table:
        assert sorted(table.head(1000)["id"].to_pylist()) == sorted(row.id for row in ROWS)
        assert table.untyped
    (tmp_path / "parts" / "notes.txt").write_text("of another kind")
    (tmp_path / "parts" / "p.parquet").write_bytes(b"")
    if not pattern.endswith(".gz"):
        with pytest.raises(InputError, match=r"matches files that cannot be read together, such as .*Name a pattern"):
            open_table(f"{tmp_path}/parts/{pattern}")


def test_files_of_another_format_in_a_folder_are_named(tmp_path: Path) -> None:
    put(tmp_path)
    csv.write_csv(arrow(ROWS[:5]), tmp_path / "labels.csv")
    (tmp_path / "more.csv.gz").write_bytes(b"")
    with open_table(tmp_path) as table:
        check(table, ROWS)
        assert table.left_out == (str(tmp_path / "labels.csv"), str(tmp_path / "more.csv.gz"))
    with open_table(tmp_path / "a") as table:
        assert table.left_out == ()


def test_files_that_spark_hides_are_no_part_of_a_folder(tmp_path: Path) -> None:
    """A write that was broken off leaves its parts in `_temporary`, where their ids occur a second time."""
    put(tmp_path)
    for part in ("_temporary/0", ".hidden", "b/_spark"):
        (tmp_path / part).mkdir(parents=True)
        parquet.write_table(arrow(ROWS[:30]), tmp_path / part / "part.parquet")
    (tmp_path / "_SUCCESS").write_bytes(b"")
    (tmp_path / "a" / ".part.parquet").write_bytes(b"")
    (tmp_path / "b").rename(tmp_path / "_year=2024")
    with open_table(tmp_path) as table:
        check(table, ROWS)
        described = table.describe()
    with open_again(described) as table:
        check(table, ROWS)


def test_a_table_or_view_in_a_database_of_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = arrow(ROWS)
    with duckdb.connect("ml.db") as connection:
        connection.execute("CREATE SCHEMA s; CREATE TABLE s.predictions AS SELECT * FROM given")
        connection.execute('CREATE VIEW "a view" AS SELECT * FROM s.predictions')
    del given
    for name in ("s.predictions", '"a view"'):
        with open_table("ml.db", table=name) as table:
            check(table, ROWS)
            assert table.name == f"ml.db, table {name}"
            described = table.describe()
        monkeypatch.chdir("/")
        with open_again(described) as table:
            check(table, ROWS)
        monkeypatch.chdir(tmp_path)
    before = (tmp_path / "ml.db").stat()
    with open_table("ml.db", table="s.predictions"), open_table("ml.db", table="s.predictions"):
        assert (tmp_path / "ml.db").stat() == before  # it is only read, by as many as want to
    with pytest.raises(InputError, match=r"ml\.db is a database of DuckDB, which needs the name of a table"):
        open_table("ml.db")
    with pytest.raises(InputError, match=r"ml\.db, table gone cannot be read: .*gone does not exist"):
        open_table("ml.db", table="gone").summary(PLAIN)


@pytest.mark.parametrize("name", ["p.parquet", "."])
def test_a_file_that_is_no_database_has_no_table(tmp_path: Path, name: str) -> None:
    put(tmp_path)
    parquet.write_table(arrow(ROWS), tmp_path / "p.parquet")
    with pytest.raises(InputError, match="is not a database of DuckDB, so it has no table 't'"):
        open_table(tmp_path / name, table="t")
