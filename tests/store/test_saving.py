"""Files reach the disk in one way: whole or not at all, links and pipes stay what they are, refusals in words."""

from __future__ import annotations

import csv
import io
import os
import stat
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli.main import cli
from fewlabels.errors import InputError
from fewlabels.interop.label_studio import write_label_studio
from fewlabels.io import read_labels, write_rows
from fewlabels.io.saving import save
from fewlabels.io.writing import without_apostrophe, write_columns
from tests.support.web import bearer, client_of, make_site

if TYPE_CHECKING:
    from pathlib import Path

POOL = {"id": ["-5", "b", "c"], "predicted": ["-1", "1", "1"], "text": ["=1+1", "-3", "@home"]}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """An assessment with two labels and one item that is pending; its classes and one id are negative numbers."""
    file = tmp_path / "audit.db"
    audit = fl.create(file, "numbers", fl.read_pool(POOL, content="text"))
    audit.tell(dict.fromkeys(audit.ask(3).ids[:2], "-1"))
    audit.close()
    return file


def run(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(cli, [str(one) for one in arguments])
    assert result.exit_code == code, result.output
    return result.output


def through_pipe(pipe: Path, *arguments: object) -> bytes:
    """What a command writes into a pipe that somebody reads."""
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    run(*arguments, "-o", pipe)
    # If the command did not write into the pipe, let the reader go all the same.
    os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))
    reader.join(20)
    assert stat.S_ISFIFO(pipe.stat().st_mode), "the pipe is still one"
    return read[0]


def test_links_stay_links_and_rights_stay_as_they_were(tmp_path: Path) -> None:
    real, link, dangling = tmp_path / "real.csv", tmp_path / "link.csv", tmp_path / "dangling.csv"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    dangling.symlink_to(tmp_path / "new.csv")
    for place in (link, dangling):
        assert save("new", place) == place
        assert place.is_symlink()
        assert place.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert {one.name for one in tmp_path.iterdir()} == {"real.csv", "link.csv", "dangling.csv", "new.csv"}


@pytest.mark.parametrize("command", [["export"], ["plot"], ["report", "--no-forecast"], ["ask", "-n", "1"]])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_no_command_destroys_links_or_pipes(database: Path, tmp_path: Path, command: list[str], kind: str) -> None:
    ending = {"plot": "svg", "report": "html"}.get(command[0], "csv")
    if command[0] == "ask":
        run("withdraw", database, *fl.load(database, "numbers").pending())
    begins = {"svg": b"<svg", "html": b"<!doctype html>", "csv": b"id,"}[ending]
    if kind == "pipe":
        written = through_pipe(tmp_path / f"pipe.{ending}", command[0], database, *command[1:])
    else:
        real, link = tmp_path / "real", tmp_path / f"link.{ending}"
        real.write_text("old")
        link.symlink_to(real)
        run(command[0], database, *command[1:], *["--overwrite"] * (command[0] == "ask"), "-o", link)
        assert link.is_symlink()
        written = real.read_bytes()
    assert written.lstrip().startswith(begins)


@pytest.mark.parametrize("command", ["export --format csv", "export --format parquet", "report --format md"])
def test_no_output_takes_the_place_of_a_database(database: Path, tmp_path: Path, command: str) -> None:
    other = tmp_path / "other.db"
    other.symlink_to(database)
    before = database.read_bytes()
    name, *rest = command.split()
    assert "it is a database" in run(name, database, *rest, "-o", other, code=2)
    assert database.read_bytes() == before
    assert len(fl.load(database, "numbers").labels()) == 2


def test_parquet_and_pictures_are_whole_in_a_pipe_too(database: Path, tmp_path: Path) -> None:
    data = through_pipe(tmp_path / "a.parquet", "export", database, "log")
    assert pq.read_table(io.BytesIO(data)).num_rows == 5
    assert through_pipe(tmp_path / "a.png", "plot", database).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("export", "x.csv"),
        ("export", "x.parquet"),
        ("plot", "x.svg"),
        ("plot", "x.png"),
        ("report", "x.html"),
        ("plot", "x/"),
    ],
)
def test_what_cannot_be_written_is_said_in_words(database: Path, command: str, file: str) -> None:
    """Nobody can make a file in /proc, not even who may write everywhere."""
    said = run(command, database, *["--no-forecast"] * (command == "report"), "-o", f"/proc/{file}", code=2)
    assert said.startswith("fewlabels: cannot ")
    assert "/proc/x" in said
    assert "Traceback" not in said


def test_a_loop_of_links_and_a_file_as_directory_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    (tmp_path / "file").touch()
    batch = fl.Batch((fl.Request("a", group="g", why="w"),))
    for target in (tmp_path / "a", tmp_path / "file" / "x.csv"):
        with pytest.raises(InputError, match="cannot write"):
            save("x", target)
        with pytest.raises(InputError, match="cannot write"):
            write_label_studio(batch, target, ["cat"])
    assert (tmp_path / "a").is_symlink()
    with pytest.raises(InputError, match="no such directory"):
        save("x", tmp_path / "nowhere" / "x.csv")


def test_columns_of_one_kind_and_of_several_are_the_same_texts() -> None:
    day = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    values: list[object] = ["a", "", None, 7, True, 2.5, day, day.date(), "x\ry"]
    wanted = ["a", "", "", "7", "True", "2.5", "2026-01-02T03:04:05+00:00", "2026-01-02", "x\ry"]
    for column, texts in [
        (values, wanted),
        *(([value] * 2, [text] * 2) for value, text in zip(values, wanted, strict=True)),
    ]:
        out = io.StringIO(newline="")
        write_columns({"a": column, "b": range(len(column))}, out, style="csv")
        assert [row["a"] for row in csv.DictReader(io.StringIO(out.getvalue(), newline=""))] == texts


# --- for a spreadsheet


def test_for_a_spreadsheet_formulas_are_texts_and_numbers_numbers() -> None:
    texts = ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "\n=1", "-1", "+2.5e3", "a=b", "", "-"]
    out = io.StringIO()
    write_rows([{"id": text, "label": text, "note": text, "n": -1} for text in texts], out, excel=True)
    rows = list(csv.DictReader(io.StringIO(out.getvalue().removeprefix("\ufeff"), newline="")))
    assert [row["id"] for row in rows] == [row["label"] for row in rows] == [row["note"] for row in rows]
    assert [without_apostrophe(row["id"]) or row["id"] for row in rows] == texts  # `tell` reads them back
    assert [row["note"] for row in rows] == [f"'{text}" for text in texts[:7]] + texts[7:11] + ["'-"]
    assert {row["n"] for row in rows} == {"-1"}


def test_for_a_spreadsheet_the_names_of_columns_are_texts_too() -> None:
    rows, names = [{"id": "a", "=HYPERLINK(1)": "b"}], []
    for excel in (True, False):
        write_rows(rows, out := io.StringIO(), excel=excel)
        names.append(out.getvalue().removeprefix("\ufeff").splitlines()[0])
    assert names == ["id,'=HYPERLINK(1)", "id,=HYPERLINK(1)"]


@pytest.mark.parametrize("what", [["ask", "-n", "3"], ["export"]])
def test_a_batch_for_excel_is_harmless_however_it_is_written(tmp_path: Path, what: list[str]) -> None:
    audit = fl.create(tmp_path / "audit.db", "numbers", fl.read_pool(POOL, content="text"))
    if what == ["export"]:
        audit.ask(3)
    audit.close()
    rest = ["batch"] if what == ["export"] else []
    run(what[0], tmp_path / "audit.db", *rest, *what[1:], "--excel", "-o", tmp_path / "b.csv")
    with (tmp_path / "b.csv").open(encoding="utf-8-sig", newline="") as file:
        found = {row["id"]: row["content"] for row in csv.DictReader(file)}
    assert found == {"-5": "'=1+1", "b": "-3", "c": "'@home"}


def test_labels_that_were_downloaded_can_be_told_again(tmp_path: Path) -> None:
    pool = fl.read_pool(POOL, content="text")
    site = make_site(pool=pool)
    audit = site.audit()
    told = {"-5": "-1", "b": "1", "c": "-1"}
    audit.tell(told, annotator="ann", note="=HYPERLINK(1)", adopt=True)
    with client_of(site) as client:
        (tmp_path / "labels.csv").write_bytes(client.get("/download/labels/audit", headers=bearer(site.owner)).content)
        log = client.get("/download/log/audit", headers=bearer(site.owner)).text
    assert read_labels(tmp_path / "labels.csv") == told
    again = fl.create(None, "again", pool)
    again.tell(tmp_path / "labels.csv", adopt=True)
    assert again.labels() == told
    assert log.count("'=HYPERLINK(1)") == 3
