"""A password in the address of a database is printed by no command, whatever it says and however it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
import uvicorn
from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli.common import shown
from fewlabels.cli.demo import next_steps
from fewlabels.cli.main import COMMANDS, cli
from fewlabels.store import database
from tests.support.web import pool_of_texts

if TYPE_CHECKING:
    from pathlib import Path

ADDRESS = "postgresql://ann:hush-1@db.example.com/data?sslpassword=hush-2"
SHOWN = "'postgresql://ann:***@db.example.com/data?sslpassword=%2A%2A%2A'"
# What each command that takes a database is run with: as it should be, and with something wrong.
RUNS: dict[str, list[list[str]]] = {
    "new": [["other", "predictions.csv"], ["audit", "predictions.csv"], ["a", "b", "c"]],
    "label": [[], ["nobody"]],
    "ask": [[], ["-n", "2", "-o", "batch.csv"], ["nobody"], ["-n", "9", "--label-studio", "-o", "tasks.json"]],
    "tell": [["labels.csv", "--adopt"], ["item-001=none of them"], ["nobody", "labels.csv"]],
    "withdraw": [["item-000"], ["nobody"]],
    "guide": [[], ["nobody"]],
    "serve": [["--port", "0"], ["--port", "0"], ["--port", "0", "--columns", "nowhere"]],
    "invite": [["eve"], ["eve", "--again"], ["eve"], ["nobody", "--again"]],
    "people": [[]],
    "revoke": [["eve"], ["nobody"]],
    "show": [[], ["nobody"]],
    "answer": [[], ["nobody"]],
    "classes": [[], ["nobody"]],
    "fairness": [[], ["nobody"]],
    "check": [["--every", "accuracy >= 0.5"], ["nobody", "--every", "accuracy >= 0.5"]],
    "report": [["--no-forecast", "-o", "report.html"], ["nobody"]],
    "plot": [["-o", "plot.svg"], ["nobody"]],
    "list": [[]],
    "remove": [["audit"], ["nobody"]],
    "relocate": [["nowhere/*.parquet"], [ADDRESS, "--table", "t"], ["audit", "a", "b"]],
    "export": [[], ["nobody"], ["audit", "nothing"]],
    "backup": [["saved.db"], ["saved.db"]],
    "copy": [["second.db"], [ADDRESS]],
    "verify": [[], ["--head", "nothing"]],
}
NO_DATABASE = {"demo", "plan", "simulate", "paper", "completion"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which that address leads to a file, so that everything but the server is real."""
    monkeypatch.chdir(tmp_path)
    made, file = database._engine, sa.URL.create("sqlite", database=str(tmp_path / "audit.db"))
    monkeypatch.setattr(database, "_engine", lambda _url, in_memory: made(file, in_memory))
    monkeypatch.setattr(uvicorn.Server, "run", lambda _, sockets: [one.close() for one in sockets])
    fl.create(ADDRESS, "audit", pool_of_texts()).close()
    (tmp_path / "predictions.csv").write_text("id,predicted,text\na,cat,x\nb,dog,y\n")
    (tmp_path / "labels.csv").write_text("id,label\nitem-000,class 1\n")
    return tmp_path


def test_every_command_is_tried() -> None:
    assert RUNS.keys() | NO_DATABASE == {name for section in COMMANDS.values() for name in section}


@pytest.mark.parametrize("command", RUNS)
def test_no_command_prints_a_password(folder: Path, command: str) -> None:
    said = ""
    for words in RUNS[command]:
        result = CliRunner().invoke(cli, [command, ADDRESS, *words], input="q")
        # A check that fails, or has too little evidence, says so by its exit code.
        assert result.exit_code in ({0, 2, 3, 4} if command == "check" else {0, 2}), result.output
        said += result.output
    written = "".join(path.read_text() for path in folder.glob("*.[chjsx]*"))
    assert "hush" not in said + written
    if command in {"new", "ask", "tell", "serve", "show", "export"}:
        assert SHOWN in said, "what to type next"


def test_an_address_is_shown_without_its_passwords_and_as_the_shell_needs_it() -> None:
    assert shown(ADDRESS) == SHOWN
    assert shown("my audit.db") == "'my audit.db'"
    assert shown("sqlite:///audit.db?timeout=3") == "'sqlite:///audit.db?timeout=3'"
    assert next_steps(ADDRESS)[-1].count(SHOWN) == 2  # of the demo, which takes too long to be run here
    with pytest.raises(fl.StoreError, match="cannot be understood") as refused:
        shown("postgresql://ann:hush@host:port/data")
    assert "hush" not in str(refused.value)
