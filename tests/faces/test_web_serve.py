"""`fewlabels serve` and `invite`: what is said before anybody connects."""

from __future__ import annotations

import json
import re
import socket
from datetime import datetime
from typing import TYPE_CHECKING

import pytest
import uvicorn
from click.testing import CliRunner

from fewlabels.cli.main import cli
from fewlabels.store import Store
from fewlabels.store.people import People
from tests.support.web import make_site

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


@pytest.fixture
def database(tmp_path: Path) -> Path:
    site = make_site(tmp_path / "audit.db")
    People(site.store).revoke("boss")
    site.store.close()
    return tmp_path / "audit.db"


def serve(database: Path, *options: str) -> tuple[int, str]:
    """Run `serve` with a server that ends at once; its exit code and what it said."""

    def end(_server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        for one in sockets:
            one.close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uvicorn.Server, "run", end)
        result = CliRunner().invoke(cli, ["serve", str(database), *options])
    return result.exit_code, result.output


def run(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, [str(one) for one in arguments])
    assert result.exit_code == code, result.output
    return result


def test_the_link_has_the_port_that_was_found_and_is_shown_once(database: Path) -> None:
    code, said = serve(database, "--port", "0")
    link = re.search(r"http://localhost:(\d+)/sign-in#(\S{43})", said)
    assert code == 0
    assert link is not None
    assert int(link[1]) > 0
    assert People(Store(database)).who(link[2]) is not None
    _, again = serve(database, "--port", "0")
    assert "sign-in#" not in again
    assert "invite" in again


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1"])
def test_where_it_runs_in_a_container_localhost_is_said(database: Path, host: str) -> None:
    """The link has a name or address of the machine, which nobody outside of a container knows."""
    code, said = serve(database, "--port", "0", "--host", host)
    link = re.search(r"http://([^:/]+):\d+/sign-in#", said)
    assert code == 0
    assert link is not None
    assert (f"in a container, write localhost for {link[1]}" in said) == (host == "0.0.0.0")


def test_a_port_in_use_is_said_before_a_link_is_made(database: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = serve(database, "--port", str(port))
    assert code == 2
    assert f"port {port}" in said
    assert "#" not in said
    assert not any(one.role == "owner" and one.revoked_at is None for one in People(Store(database)).list())


def test_columns_that_are_not_there_are_said_at_once(database: Path) -> None:
    code, said = serve(database, "--port", "0", "--columns", "nowhere")
    assert code == 2
    assert "nowhere" in said
    assert serve(database, "--port", "0", "--columns", "text,secret")[0] == 0


def test_a_link_again_replaces_the_old_one(database: Path) -> None:
    result = CliRunner().invoke(cli, ["invite", str(database), "ann", "--again", "--address", "https://x.example/"])
    assert result.stdout.startswith("https://x.example/sign-in#")
    people = People(Store(database))
    assert people.who(result.stdout.strip().partition("#")[2]).name == "ann"


def test_again_with_owner_makes_an_owner(database: Path) -> None:
    said = json.loads(run("invite", database, "ann", "--again", "--owner", "--json").stdout)
    assert said["role"] == "owner"
    assert People(Store(database)).who(said["token"]).role == "owner"
    assert "(owner)" in run("invite", database, "ann", "--again").stderr


def test_people_as_json_are_like_every_other_table(database: Path) -> None:
    said = json.loads(run("people", database, "--json").stdout)
    known = {one.name: one for one in People(Store(database)).list()}
    assert said["settings"] == {}
    assert {row["name"]: datetime.fromisoformat(row["invited_at"]) for row in said["rows"]} == {
        name: one.invited_at for name, one in known.items()
    }
    assert "T" in said["rows"][0]["revoked_at"]
    assert said["rows"][1]["revoked_at"] is None


def test_serve_begins_a_database_that_is_not_there_and_says_so(tmp_path: Path) -> None:
    code, said = serve(tmp_path / "none.db", "--port", "0")
    assert code == 0
    assert "none.db is new. Make the first assessment in the browser." in said
    assert "/sign-in#" in said
    assert Store(tmp_path / "none.db", existing=True).names() == []
    assert "is new" not in serve(tmp_path / "none.db", "--port", "0")[1]


@pytest.mark.parametrize("command", [["invite", "ann"], ["people"], ["revoke", "ann"], ["show"], ["list"]])
def test_a_database_that_is_not_there_says_how_to_begin(tmp_path: Path, command: list[str]) -> None:
    missing = tmp_path / "none.db"
    said = run(command[0], missing, *command[1:], code=2).stderr
    assert said == f"fewlabels: there is no file {missing}. Begin with: fewlabels new {missing} predictions.csv\n"
    assert not missing.exists()


def test_answers_do_not_wait_for_acknowledgements() -> None:
    """Answers go out as two packets; without this option the second waits 40 ms on every call."""
    from fewlabels.cli.serve import _listen

    with _listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
