"""`fewlabels guide`, and the files of a guide at `fewlabels new`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from fewlabels.cli.main import cli
from fewlabels.errors import InputError
from fewlabels.io.guides import as_lines, descriptions_in, read_descriptions
from fewlabels.store import Store
from fewlabels.store.guides import Guides

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

CLASSES = ["password_reset", "refund"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rows = [f"t{i},Ticket number {i},{CLASSES[i % 2]},0.{6 + i % 3}" for i in range(12)]
    (tmp_path / "tickets.csv").write_text("\n".join(["id,text,predicted,confidence", *rows]))
    (tmp_path / "guide.md").write_text("\ufeff# How to label\n\nRead **all** of it.")
    (tmp_path / "classes.csv").write_text('class,description\nPassword Reset,"Cannot sign in, or forgot it"\nrefund,\n')
    return tmp_path


def run(*words: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words], prog_name="fewlabels", catch_exceptions=False)


def test_a_guide_from_the_start_and_later(files: Path) -> None:
    database = files / "audit.db"
    options = ("--guidelines", files / "guide.md", "--class-descriptions", files / "classes.csv")
    assert run("new", database, files / "tickets.csv", *options, "--dry-run").exit_code == 0
    assert not database.exists()
    assert run("new", database, files / "tickets.csv", *options).exit_code == 0
    shown = run("guide", database)
    assert shown.stdout == "# How to label\n\nRead **all** of it.\n\npassword_reset: Cannot sign in, or forgot it\n"
    (files / "guide.md").write_text("Read none of it.")
    changed = run("guide", database, "--guidelines", files / "guide.md", "--annotator", "boss")
    assert "Annotators now see version 2: guidelines of 16 characters, 1 description." in changed.stderr
    told = json.loads(run("guide", database, "--json").stdout)
    assert (told["version"], told["guidelines"]) == (2, "Read none of it.")
    assert [row["by"] for row in json.loads(run("guide", database, "--versions", "--json").stdout)["rows"]] == [
        None,
        "boss",
    ]


def test_a_wrong_file_makes_no_assessment(files: Path) -> None:
    (files / "classes.csv").write_text("class,description\nrefunds,Money back\n")
    made = run("new", files / "audit.db", files / "tickets.csv", "--class-descriptions", files / "classes.csv")
    assert made.exit_code == 2
    assert "describes 'refunds', which is not a class of the pool. Did you mean 'refund'?" in made.stderr
    assert not (files / "audit.db").exists() or Store(files / "audit.db").names() == []


def test_without_a_guide_it_says_how_to_write_one(files: Path) -> None:
    run("new", files / "audit.db", files / "tickets.csv")
    assert "Write it with --guidelines FILE.md" in run("guide", files / "audit.db").stderr
    store = Store(files / "audit.db")
    assert Guides(store).versions("tickets") == []
    store.close()


def test_descriptions_as_people_write_them(tmp_path: Path) -> None:
    assert descriptions_in("Class,Description\nrefund,Money, back\n\n", CLASSES) == {"refund": "Money, back"}
    odd = {"password_reset": 'He said "no", twice', "refund": "=1+1"}
    assert descriptions_in(as_lines(odd, CLASSES), CLASSES) == odd
    with pytest.raises(InputError, match="describes 'refund' twice"):
        descriptions_in("refund,a\nrefund,b", CLASSES)
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="needs the columns class and description"):
        read_descriptions(tmp_path / "other.csv", CLASSES)
