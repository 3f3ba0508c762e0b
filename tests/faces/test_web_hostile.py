"""A second attack on the server: forms that no page sends, files that cannot be kept, one damaged assessment."""

from __future__ import annotations

import io
import os
import re
import sqlite3
import tempfile
import time
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv, parquet
from starlette.requests import Request

import fewlabels as fl
from fewlabels.cli import serve
from fewlabels.cli.main import cli
from fewlabels.errors import InputError
from fewlabels.io.guides import descriptions_in
from fewlabels.store.guides import Guides
from fewlabels.understanding import predictions
from fewlabels.web import Settings, content, create_app, drafts
from tests.support.making import desk, submit, table, upload, words
from tests.support.web import PNG_FILE, Site, bearer, client_of, make_site, pool_of_texts

if TYPE_CHECKING:
    from httpx2 import Response
    from starlette.testclient import TestClient


def as_sent(text: str) -> str:
    """A text as browsers send it in a form: every line break is two characters."""
    return re.sub("\r\n|\r|\n", "\r\n", text)


def field(page: Response, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page.text)
    assert found, words(page)
    return unescape(found[1])


# --- forms


@pytest.mark.parametrize("over", ["9" * 5000, "²", "-1", "one"])
def test_a_guide_is_written_over_no_version_but_the_present(over: str) -> None:
    with desk() as (client, site):
        answer = submit(client, "/form/guide/audit", over=over, guidelines="Mine.")
        assert answer.status_code == 400
        assert "Mine." in answer.text  # nothing that was typed is lost
        assert Guides(site.store).of("audit").version == 0


def test_a_list_of_meanings_that_is_no_table_is_refused_with_words() -> None:
    endless = 'class 0,"' + "x" * 200_000
    with pytest.raises(InputError, match="a line for each class"):
        descriptions_in(endless, ["class 0"])
    with desk() as (client, _):
        answer = submit(client, "/form/guide/audit", over="0", lines=endless)
        assert (answer.status_code, "cannot be read" in words(answer)) == (400, True)


@pytest.mark.parametrize("charset", ["unicode_escape", "punycode", "undefined", "utf-16"])
@pytest.mark.parametrize("path", ["/form/guide/audit", "/form/label/audit", "/new/example", "/new/upload"])
def test_a_form_in_another_encoding_is_refused(path: str, charset: str) -> None:
    part = '--x\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'
    body = part.format("guidelines", r"a\ud800b") + part.format("note", r"\ud800") + "--x--\r\n"
    kind = {"content-type": f"multipart/form-data; boundary=x; charset={charset}"}
    with client_of(site := make_site()) as client:
        answer = client.post(path, content=body, headers=bearer(site.owner) | kind)
        assert (answer.status_code, "UTF-8" in answer.text) == (400, True)


def test_a_form_that_names_its_encoding_utf_8_is_fine() -> None:
    kind = {"content-type": "application/x-www-form-urlencoded; charset=UTF-8"}
    with client_of(site := make_site()) as client:
        assert client.post("/form/label/audit", content="", headers=bearer(site.ann) | kind).status_code == 200


@pytest.mark.parametrize("host", ["x" * 5000, "[::1", "a b"])
@pytest.mark.parametrize("path", ["/form/invite", "/form/invite-again"])
def test_a_host_that_is_none_makes_no_trouble(path: str, host: str) -> None:
    with client_of(site := make_site()) as client:
        who = {"name": "zoe", "role": "annotator"} if path == "/form/invite" else {"name": "ann"}
        answer = client.post(path, data=who, headers=bearer(site.owner) | {"host": host})
        assert (answer.status_code, "/sign-in#" in answer.text) == (200, True)
        assert host not in answer.text


# --- what people label


def test_ids_with_line_breaks_can_be_answered_without_scripts() -> None:
    """The form sends an id back; an item whose id came back changed would be handed out for ever."""
    ids = ["a\nb", "c\rd", "e\r\nf", " g "]
    columns = {"id": ids, "predicted": ["x\ny", "z", "z", "z"], "text": list("abcd")}
    site = make_site(pool=fl.read_pool(columns, columns=["text"], content="text"))
    with client_of(site) as client:
        client.post("/sign-in", json={"token": site.ann})
        token = re.search(r'name="csrf" content="(\w+)"', client.get("/label/audit").text)
        assert token
        page = client.post("/form/label/audit", data={"csrf": token[1]})
        for _ in ids:
            said = {"csrf": token[1], "id": as_sent(field(page, "id")), "key": field(page, "key")}
            page = client.post("/form/label/audit", data=said | {"answer": as_sent("x\ny")})
            assert 'role="alert"' not in page.text, words(page)
        assert site.audit().labels() == dict.fromkeys(ids, "x\ny")
        page = client.post("/form/answer/audit", data={"csrf": token[1], "id": as_sent("c\rd"), "label": "z"})
        assert site.audit().labels()["c\rd"] == "z"
        decided = client.post(
            "/form/decide/audit", data={"id": as_sent("a\nb"), "label": "z"}, headers=bearer(site.owner)
        )
        assert (decided.status_code, site.audit().labels()["a\nb"]) == (200, "z")


def test_classes_of_any_length_can_be_answered() -> None:
    long = "L" * 5000
    pool = fl.read_pool(
        {"id": ["1", "2"], "predicted": [long, "z"], "text": ["q", "r"]}, columns=["text"], content="text"
    )
    with client_of(site := make_site(pool=pool)) as client:
        first, second = (one["id"] for one in _ask(client, site, 2))
        body = {"labels": [{"id": first, "label": long}]}
        assert client.post("/api/v1/assessments/audit/tell", json=body, headers=bearer(site.ann)).status_code == 200
        form = {"id": second, "answer": long}
        assert client.post("/form/label/audit", data=form, headers=bearer(site.ann)).status_code == 200
        assert site.audit().labels() == {first: long, second: long}


def _ask(client: TestClient, site: Site, n: int) -> list[dict[str, Any]]:
    answer = client.post("/api/v1/assessments/audit/ask", json={"n": n}, headers=bearer(site.ann))
    assert answer.status_code == 200, answer.text
    asked: list[dict[str, Any]] = answer.json()["requests"]
    return asked


def test_a_text_file_that_cannot_be_read_keeps_nobody_from_the_next_item(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Who may not read one file of the folder still gets the item, and can skip it."""
    (tmp_path / "one.txt").write_text("one")
    opened = Path.open

    def refuse(path: Path, *args: Any, **more: Any) -> Any:
        if path.suffix == ".txt":
            raise PermissionError(13, "Permission denied")
        return opened(path, *args, **more)

    monkeypatch.setattr(Path, "open", refuse)
    site = make_site(pool=pool_of_texts(2, texts=["one.txt", "other.txt"]))
    with client_of(site, content=tmp_path) as client:
        shown = {one["parts"][0]["value"] for one in _ask(client, site, 2)}
    assert shown == {"one.txt", "other.txt"}
    assert "Permission denied" in caplog.text
    assert content._text_in(tmp_path / "one.txt") is None


def test_a_picture_is_found_however_its_name_is_written(tmp_path: Path) -> None:
    """A Mac writes é in the names of files as two characters, and the table that names them has one, or the reverse."""
    written = "caf\N{LATIN SMALL LETTER E WITH ACUTE}.png", "the\N{LATIN SMALL LETTER E}\N{COMBINING ACUTE ACCENT}.png"
    other = (normalize("NFD", written[0]), normalize("NFC", written[1]))
    for name in other:
        (tmp_path / name).write_bytes(PNG_FILE)
    with client_of(site := make_site(pool=pool_of_texts(2, texts=list(written))), content=tmp_path) as client:
        for one in _ask(client, site, 2):
            (part,) = one["parts"]
            assert part["kind"] == "image"
            assert client.get(part["value"], headers=bearer(site.ann)).content == PNG_FILE


# --- one assessment of several that cannot be opened


def damaged_beside_a_sound_one(file: Path) -> Site:
    site = make_site(file)
    fl.create(site.store, "second", pool_of_texts(8))
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE assessments SET spec = replace(spec, 'Accuracy', 'Accurace') WHERE name = 'second'")
    connection.close()
    return site


def test_one_damaged_assessment_does_not_hide_the_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    site = damaged_beside_a_sound_one(tmp_path / "a.db")
    with client_of(site) as client:
        for token in (site.owner, site.ann):
            home = client.get("/", headers=bearer(token))
            assert home.status_code == 200
            assert "/label/audit" in home.text
            assert "/label/second" not in home.text
            assert "It cannot be opened at the moment" in words(home)
            assert str(tmp_path) not in home.text
        first, second = client.get("/api/v1/assessments", headers=bearer(site.ann)).json()
        assert (first["items"], first["problem"]) == (60, None)
        assert (second["labels"], "cannot be opened" in second["problem"]) == (None, True)
        assert client.get("/dashboard/second", headers=bearer(site.owner)).status_code == 503
        assert client.get("/dashboard/audit", headers=bearer(site.owner)).status_code == 200
    assert "the definition of 'second' is not what was written" in caplog.text


def test_one_damaged_assessment_does_not_keep_the_server_from_starting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = damaged_beside_a_sound_one(tmp_path / "a.db")
    app = create_app(site.store, Settings())
    serve._check_shown(app.state.service)
    assert "'second' cannot be opened, and is left out" in capsys.readouterr().err
    said = CliRunner().invoke(cli, ["list", str(tmp_path / "a.db")])
    assert said.exit_code == 0, said.output
    assert "audit" in said.output
    assert "'second' is not what was written" in said.output


# --- uploads


def test_a_full_disk_is_said_on_the_page_of_the_upload(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "/somewhere/predictions.csv")

    with desk() as (client, _):
        with monkeypatch.context() as patch:
            patch.setattr("shutil.copyfileobj", full)
            answer = upload(client)
        assert (answer.status_code, "cannot keep the file" in words(answer)) == (503, True)
        assert '<input id="file"' in answer.text
        assert "/somewhere" not in answer.text
        assert "No space left on device" in caplog.text
        assert upload(client).status_code == 200


def test_who_goes_away_during_a_request_is_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser that is closed during an upload: the test client raises whatever the server would print."""
    from starlette.requests import ClientDisconnect

    async def gone(_request: Request) -> Any:
        raise ClientDisconnect
        yield b""

    with client_of(site := make_site()) as client:
        monkeypatch.setattr(Request, "stream", gone)
        kind = {"content-type": "multipart/form-data; boundary=x"}
        for path in ("/new/upload", "/form/guide/audit", "/new/example"):
            assert client.post(path, content=b"--x", headers=bearer(site.owner) | kind).status_code == 400


@pytest.mark.parametrize(
    "when",
    [
        pa.array([2**31 - 1] * 60, pa.int32()).cast(pa.date32()),
        pa.array([-(2**62)] * 60).cast(pa.timestamp("us")),
        pa.array([3] * 60).cast(pa.timestamp("s", "Nowhere/None")),
        pa.array([2**62] * 60).cast(pa.duration("s")),  # a length of time needs no calendar
    ],
    ids=["dates", "times", "zones", "durations"],
)
def test_times_that_no_calendar_has_are_said_and_no_crash(when: pa.Array[Any]) -> None:
    columns: dict[str, Any] = {"id": [f"i{k}" for k in range(60)], "predicted": ["a", "b"] * 30, "when": when}
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file)
    with desk() as (client, _):
        answer = upload(client, file.getvalue(), "times.parquet")
        assert answer.status_code in (200, 422)
        assert ("times outside the years 1 to 9999" in words(answer)) != pa.types.is_duration(when.type)


@pytest.mark.parametrize("name", ["tickets.csv", "tickets.parquet"])
def test_a_draft_that_ends_in_another_tab_while_its_page_is_made_is_gone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = io.BytesIO(table())
    if name.endswith("parquet"):
        parquet.write_table(csv.read_csv(io.BytesIO(table())), file := io.BytesIO())
    with desk() as (client, _):
        path = upload(client, file.getvalue(), name).url.path
        service = client.app.state.service  # type: ignore[attr-defined]
        reading = predictions.understood_in

        def meanwhile(*args: Any, **more: Any) -> Any:
            service.drafts.end(path.rpartition("/")[2])
            return reading(*args, **more)

        monkeypatch.setattr(predictions, "understood_in", meanwhile)
        answer = submit(client, path, do="next", predicted="region")
        assert (answer.status_code, "this draft is gone" in answer.text) == (404, True)


def test_what_a_killed_server_left_behind_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    used = drafts.Drafts()
    used.begin("boss", (io.BytesIO(table()), "a.csv"))
    (held,) = tmp_path.iterdir()
    left, young, other = (tmp_path / f"fewlabels-draft-{name}" for name in ("left", "young", "other"))
    for folder in (left, young, tmp_path / "elsewhere"):
        folder.mkdir()
        (folder / "predictions.csv").write_bytes(table())
    other.symlink_to(tmp_path / "elsewhere")
    for folder in (held, left, tmp_path / "elsewhere"):
        os.utime(folder, (time.time() - 3600,) * 2)
    drafts.Drafts()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [held.name, "elsewhere", "fewlabels-draft-other", "fewlabels-draft-young"]
    )
    assert (tmp_path / "elsewhere" / "predictions.csv").exists()
