"""The command line on tables that stay where they are: patterns of files, folders, and a database."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from fewlabels.cli.main import cli
from fewlabels.io import tables
from fewlabels.store import Store

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("duckdb")


def table(items: int = 3_000, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "id": [f"item {n}" for n in range(items)],
            "predicted": [["ant", "bee", "cat"][k] for k in rng.choice(3, items, p=[0.6, 0.3, 0.1])],
            "confidence": rng.beta(4, 1, items).tolist(),
            "floor": rng.choice([2, 9, 10], items).tolist(),
            "text": [f"about {n}" for n in range(items)],
        }
    )


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """A folder of two files."""
    folder = tmp_path / "predictions"
    folder.mkdir()
    whole = table()
    pq.write_table(whole.slice(0, 1_800), folder / "a.parquet")
    pq.write_table(whole.slice(1_800), folder / "b.parquet")
    return folder


def run(*arguments: object, text: str | None = None) -> Any:
    done = CliRunner().invoke(cli, [str(one) for one in arguments], input=text)
    assert done.exit_code == 0, done.output
    return done


def refused(*arguments: object) -> str:
    done = CliRunner().invoke(cli, [str(one) for one in arguments])
    assert done.exit_code
    return " ".join(done.output.split())


def filled(batch: str) -> str:
    rows = list(csv.DictReader(io.StringIO(batch)))
    return "id,label\n" + "".join(f"{row['id']},{'ant' if i % 3 else 'bee'}\n" for i, row in enumerate(rows))


@pytest.mark.parametrize("source", ["*.parquet", "a.parquet"])
def test_groups_of_one_item(parts: Path, tmp_path: Path, source: str) -> None:
    database = tmp_path / "audit.db"
    said = refused("new", database, parts / source, "--groups", "column:text")
    assert "groups by column 'text', fewer than two items in each on average. A label of one group says little" in said
    assert "Or take all items together, with --groups whole." in said
    assert not database.exists()
    pq.write_table(table().slice(0, 60), parts / "few.parquet")
    (parts / "a.parquet").unlink()
    (parts / "b.parquet").unlink()
    done = run("new", database, parts / source.replace("a.", "few."), "--groups", "column:text")
    assert "60 of 60 groups have fewer than 5 items." in " ".join(done.output.split())


@pytest.mark.slow
def test_from_a_pattern_to_an_answer(parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = tmp_path / "audit.db"
    monkeypatch.chdir(parts.parent)
    told = run("new", database, "predictions/*.parquet", "--groups", "column:floor").output
    assert "predictions/*.parquet: 3,000 items" in told
    assert "column 'text'" in told
    monkeypatch.chdir(tmp_path.parent)  # the files are found from any folder
    batch = run("ask", database, "-n", 20).stdout
    assert "about " in batch
    run("tell", database, "-", text=filled(batch))
    shown = run("show", database).stdout
    rows = shown[shown.index("\ngroup ") :].split("\n")[2:5]
    assert [row.split()[0] for row in rows] == ["2", "9", "10"]
    assert "labels" in run("answer", database).output
    found = json.loads(run("show", database, "--json").stdout)
    assert found["items"] == 3_000
    report = tmp_path / "report.html"
    run("report", database, "predictions", "-o", report)
    assert "about " in report.read_text()
    assert "item " in run("export", database).stdout
    assert database.stat().st_size < 3_000_000


def test_a_folder_is_asked_the_same_items_as_its_files_in_a_database(
    parts: Path, tmp_path: Path, postgres_url: str
) -> None:
    import sqlalchemy as sa

    engine = sa.create_engine(postgres_url.replace("postgresql://", "postgresql+psycopg://"))
    rows = table().to_pylist()
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE SCHEMA IF NOT EXISTS ml"))
        connection.execute(sa.text("DROP TABLE IF EXISTS ml.answers"))
        connection.execute(
            sa.text("CREATE TABLE ml.answers (id text, predicted text, confidence float8, floor int, text text)")
        )
        connection.execute(sa.text("INSERT INTO ml.answers VALUES (:id, :predicted, :confidence, :floor, :text)"), rows)
    engine.dispose()
    asked = []
    for name, words in (("files", [parts]), ("server", [postgres_url, "--table", "ml.answers"])):
        run("new", tmp_path / f"{name}.db", name, *words, "--lowest", 1)
        asked.append(run("ask", tmp_path / f"{name}.db", name, "-n", 30).stdout)
    assert asked[0] == asked[1]
    assert json.loads(run("list", tmp_path / "files.db", "--json").stdout)


def test_evidence_of_a_table(parts: Path, tmp_path: Path) -> None:
    database = tmp_path / "audit.db"
    words = run("new", database, "known", parts / "*.parquet", "--evidence", "floor").output
    assert "evidence    'floor'" in words
    batch = list(csv.DictReader(io.StringIO(run("ask", database, "known", "-n", 12).stdout)))
    told = "".join(f"{row['id']},ant\n" for row in batch)
    run("tell", database, "known", "-", text=f"id,label\n{told}")
    assert "floor, known for all 3,000 items" in run("show", database, "known").output
    assert "more than 20 different texts" in refused("new", database, "x", parts / "*.parquet", "--evidence", "text")


def test_a_sample_of_a_table_can_do_what_a_file_can(parts: Path, tmp_path: Path) -> None:
    pattern, database = parts / "*.parquet", tmp_path / "audit.db"
    words = run("new", database, "two", pattern, "--models", "predicted,floor", "--sample", 40).output
    assert "40 of 3,000 rows, drawn at random by 'id'" in words
    assert "--sample N" in words
    run("ask", database, "two", "-n", 3)
    found = run(
        "simulate", pattern, "--labels", "predicted", "--runs", 2, "--methods", "uniform+items", "--budgets", 20,
        "--sample", 500, "--json",
    )  # fmt: skip
    assert json.loads(found.stdout)["settings"]["items"] == 500
    assert "500 of 3,000 rows" in found.output


def test_a_table_that_cannot_be_used(parts: Path, tmp_path: Path) -> None:
    database = tmp_path / "audit.db"
    pattern = parts / "*.parquet"
    assert "no column 'flor'. Did you mean 'floor'?" in refused("new", database, pattern, "--groups", "column:flor")
    assert "--scores" in refused("new", database, pattern, "--scores", "p_*")
    assert "--models" in refused("new", database, pattern, "--models", "a,b")
    assert "--sample 100000" in refused("new", database, pattern, "--models", "a,b")
    assert "one column" in refused("new", database, pattern, "--content", "text,floor")
    pq.write_table(table().slice(0, 5), parts / "c.parquet")
    assert "'item " in refused("new", database, pattern), "an id that occurs twice"
    pq.write_table(table().append_column("sex", pa.nulls(3_000, pa.string())).drop_columns("id"), parts / "c.parquet")
    assert "needs a column of ids" in refused("new", database, parts / "c*.parquet")
    worse = table(10).set_column(2, "confidence", [[0.5] * 9 + [float("nan")]])
    pq.write_table(worse, parts / "c.parquet")
    assert "confidence" in refused("new", database, parts / "c*.parquet")
    (parts / "c.parquet").unlink()
    assert not database.exists(), "nothing was made"


@pytest.mark.slow
def test_a_table_that_changed_is_explained(parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_MOST", 20)
    database = tmp_path / "audit.db"
    run("new", database, "blind", parts / "*.parquet", "--content", "none")
    run("new", database, "seen", parts / "*.parquet")
    batch = run("ask", database, "seen", "-n", 10).stdout
    run("tell", database, "seen", "-", text=filled(batch))
    rest = pq.read_table(parts / "b.parquet").slice(100)
    pq.write_table(rest, parts / "b.parquet")
    for name in ("blind", "seen"):
        changed = refused("ask", database, name, "-n", 10)
        assert "has changed since it was read: 3,000 items before, 2,900 now" in changed
    (parts / "b.parquet").unlink()
    for name in ("blind", "seen"):
        gone = refused("ask", database, name, "-n", 10)
        assert "it cannot be read now" in gone
        assert "b.parquet" in gone
    (parts / "a.parquet").unlink()
    assert len(run("ask", database, "blind", "-n", 10).stdout.splitlines()) == 11, "named items can be asked for"
    assert "it cannot be read now" in refused("ask", database, "blind", "-n", 200)
    assert "10 labels" in run("show", database, "seen").output
    run("report", database, "seen", "-o", tmp_path / "report.html")


def test_labels_of_items_that_nobody_asked_for(parts: Path, tmp_path: Path) -> None:
    database = tmp_path / "audit.db"
    run("new", database, parts / "*.parquet", "--lowest", 1)
    run("tell", database, "item 7=bee", "--adopt")
    assert "nobody asked for it" in refused("tell", database, "item 99999=bee")
    store = Store(database)
    assert store.labels("predictions") == {"item 7": "bee"}
    store.close()


@pytest.mark.slow
def test_a_report_of_a_table_ends_without_complaints(parts: Path, tmp_path: Path) -> None:
    """DuckDB's library complains of leaks on stderr if the process ends before its objects are let go."""
    database = tmp_path / "audit.db"
    run("new", database, parts / "*.parquet")
    run("tell", database, "-", text=filled(run("ask", database, "-n", 30).stdout))
    command = [sys.executable, "-m", "fewlabels", "report", str(database), "-o", str(tmp_path / "report.html")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert "about " in (tmp_path / "report.html").read_text()
    assert "leak" not in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_an_interrupted_beginning_leaves_nothing(tmp_path: Path) -> None:
    import duckdb

    file = tmp_path / "many.parquet"
    rows = "SELECT i::VARCHAR AS id, (i % 7)::VARCHAR AS predicted, 0.5 AS confidence FROM range(20000000) t(i)"
    duckdb.sql(f"COPY ({rows}) TO '{file}'")
    command = [sys.executable, "-m", "fewlabels", "new", str(tmp_path / "audit.db"), str(tmp_path / "*.parquet")]
    for pause in (1.5, 2.5):
        run = subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ})
        time.sleep(pause)
        run.send_signal(signal.SIGINT)
        said = run.communicate(timeout=60)[1].decode()
        assert run.returncode == 130
        assert said.endswith("fewlabels: stopped.\n")
        assert "Traceback" not in said
        assert not (tmp_path / "audit.db").exists()
