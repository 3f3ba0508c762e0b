"""What the command line says when something cannot be: words, its own options, and no command to the terminal."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli.main import as_options, cli
from fewlabels.cli.output import write
from fewlabels.errors import Argument, Call, InputError


def test_messages_of_python_become_options() -> None:
    error = InputError("pass ", Argument("normalize", value=True), ", or ", Argument("id"), ", not 'id='.")
    assert str(error) == "pass normalize=True, or id=, not 'id='."
    assert error.spelt(as_options) == "pass --normalize, or --id, not 'id='."
    error = InputError("ask() needs a name: ", Call("ask", (Argument("annotator", "Ann B"),)), ".")
    assert str(error) == "ask() needs a name: ask(..., annotator='Ann B')."
    assert error.spelt(as_options) == "ask() needs a name: --annotator 'Ann B'."
    assert [argument.name for argument in error.arguments] == ["annotator"]


@pytest.mark.parametrize(
    "call",
    [
        *(f"{command} LONG.db" for command in ("show", "verify", "serve", "list", "report", "backup")),
        *("copy LONG.db b.db", "tell LONG.db a.csv", "new LONG.db SMALL.csv", "new HERE.db LONG.csv"),
        *("tell HERE.db LONG.csv", "backup HERE.db LONG.db", "copy HERE.db LONG.db"),
    ],
)
def test_a_name_that_no_disk_can_have_is_said_in_words(tmp_path, call):
    database, long = tmp_path / "audit.db", tmp_path / f"{'x' * 300}.db"
    fl.create(database, "pets", fl.read_pool([[0.9, 0.1], [0.2, 0.8]])).close()
    (tmp_path / "small.csv").write_text("id,predicted\n1,a\n2,b\n")
    places = {"LONG.db": long, "LONG.csv": long.with_suffix(".csv"), "HERE.db": database}
    places |= {"SMALL.csv": tmp_path / "small.csv"}
    said = CliRunner().invoke(cli, [str(places.get(word, word)) for word in call.split()])
    assert said.exit_code == 2
    assert re.search("(?i)file name too long|unable to open", said.stderr), said.output
    with pytest.raises(fl.StoreError, match="too long"):
        fl.Store(long, existing=True)
    with pytest.raises(InputError, match="too long"):
        fl.read_pool(str(long.with_suffix(".csv")))
    store = fl.Store(database)
    with pytest.raises(fl.StoreError, match="too long"):
        store.backup(long)
    store.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no file that is always full")
@pytest.mark.parametrize("call", ["list", "export labels", "export log --format json"])
def test_an_output_for_which_there_is_no_room_is_said_in_words(tmp_path, call):
    database = tmp_path / "audit.db"
    audit = fl.create(database, "pets", fl.read_pool([[0.9, 0.1], [0.2, 0.8]]))
    audit.tell(dict.fromkeys(audit.ask(2).ids, "0"))
    audit.close()
    command, *rest = call.split()
    with Path("/dev/full").open("w") as full:
        run = [sys.executable, "-m", "fewlabels", command, str(database), *rest]
        ended = subprocess.run(run, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    words = "fewlabels: cannot write the output: No space left on device. Make room, or write it elsewhere.\n"
    assert (ended.returncode, ended.stderr) == (2, words)


# --- what people typed cannot command the terminal


def test_escapes_in_names_never_reach_the_terminal(tmp_path):
    bad = "a\x1b[2J\x9b31m\u202eb"
    pool = fl.read_pool({"id": [bad, "c"], "predicted": [f"x{bad}", "y"], "text": [bad, "t"]}, content="text")
    database = tmp_path / "audit.db"
    audit = fl.create(database, "odd", pool)
    audit.tell(dict.fromkeys(audit.ask(2, annotator=bad).ids, f"x{bad}"), annotator=bad, note=bad)
    audit.close()
    calls = [["show"], ["show", "--json"], ["answer"], ["tell", f"nobody=x{bad}"], ["list"]]
    calls += [["people"], ["show", bad], ["tell", f"{bad}=z{bad}"]]
    for command, *rest in calls:
        said = CliRunner().invoke(cli, [command, str(database), *rest])
        assert not isinstance(said.exception, Exception) or isinstance(said.exception, SystemExit), said.exception
        for text in (said.stdout, said.stderr):
            assert not set(text) & {"\x1b", "\x9b", "\u202e"}, (command, rest, text)
    # A file and a pipe get the data as they are; a terminal does not.
    raw = CliRunner().invoke(cli, ["export", str(database), "log"]).stdout
    assert bad in raw
    with pytest.MonkeyPatch.context() as patch:
        shown = _Terminal()
        patch.setattr(sys, "stdout", shown)
        write({"id": [bad]}, None, "csv")
    assert shown.getvalue() == "id\na\\x1b[2J\\x9b31m\\u202eb\n"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("error", "words"), [
    (OSError(28, "No space left on device", 7), "cannot use 7: No space left on device."),
    (PermissionError(13, None, b"a.csv"), "cannot use a.csv: PermissionError."),
])  # fmt: skip
def test_an_error_of_the_system_ends_in_words(monkeypatch, error, words):
    def fail(*_args, **_more):
        raise error

    monkeypatch.setattr("click.Group.main", fail)
    assert words in CliRunner().invoke(cli, ["list", "a.db"]).stderr
