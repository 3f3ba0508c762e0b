"""`fewlabels backup`, `copy` and `verify`, as somebody at a terminal meets them."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli.main import cli
from tests.support.annotators import new_audit

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


@pytest.fixture
def file(tmp_path: Path) -> Path:
    audit = new_audit(1, tmp_path / "audit.db")
    audit.tell(dict.fromkeys(audit.ask(5).ids, "ant"))
    audit.close()
    return tmp_path / "audit.db"


def run(*words: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words], prog_name="fewlabels", catch_exceptions=False)


def test_the_three_commands(file: Path, tmp_path: Path) -> None:
    made = run("backup", file, tmp_path / "monday.db")
    assert (made.exit_code, made.stdout) == (0, "")
    assert "monday.db is complete and checked. It has 1 assessment." in made.stderr
    again = run("backup", file, tmp_path / "monday.db")
    assert again.exit_code == 2
    assert "exists already" in again.stderr
    assert json.loads(run("backup", file, "--json").stdout)["assessments"] == 1
    copied = run("copy", file, tmp_path / "second.db", "--json")
    assert json.loads(copied.stdout) == {"assessments": 1, "events": 10, "left_out": []}
    for path in (file, tmp_path / "monday.db", tmp_path / "second.db"):
        found = run("verify", path)
        assert found.exit_code == 0
        said, head = found.stdout.splitlines()
        assert said == "audit: 10 events with 5 labels: all as they were written."
        assert head.startswith("  head of audit: 10:")
        checked = run("verify", path, "--head", head.split()[-1])
        assert checked.exit_code == 0
        assert "nothing before it was changed" in checked.stderr
    assert run("verify", file, "--head", f"10:{'0' * 64}").exit_code == 1
    assert run("verify", file, "--head", "soon").exit_code == 2
    assert run("verify", tmp_path / "absent.db").exit_code == 2


def test_damage_at_the_terminal(file: Path, tmp_path: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TRIGGER events_no_delete")
        connection.execute("DELETE FROM events WHERE seq BETWEEN 6 AND 7")
    connection.close()
    shown = run("show", file)
    assert shown.exit_code == 2
    assert "events 6 to 7 are missing in the log of 'audit'" in shown.stderr
    assert "fewlabels verify" in shown.stderr
    refused = run("backup", file)
    assert refused.stderr.startswith(f"fewlabels: {file} is damaged: events 6 to 7 are missing")
    assert not list(tmp_path.glob("*audit*-20*")), "no unfinished backup stays"
    found = run("verify", file)
    assert found.exit_code == 1
    assert "damaged: 1 event cannot be proven" in found.stdout
    assert "events 6 to 7 are missing. What can still be used: 8 events with 3 labels." in found.stdout
    assert "rescued.db --rescue" in found.stderr
    assert json.loads(run("verify", file, "--json").stdout)["ok"] is False
    assert run("copy", file, tmp_path / "rescued.db").exit_code == 2
    rescued = run("copy", file, tmp_path / "rescued.db", "--rescue")
    assert rescued.exit_code == 0
    assert "Left out: events 6 to 7 are missing in audit" in rescued.stderr
    assert len(fl.load(tmp_path / "rescued.db", "audit").labels()) == 3
