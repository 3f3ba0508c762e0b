"""Making an assessment in the browser: who may, files that cannot be taken, and what is typed and cannot be used."""

from __future__ import annotations

import gzip
import io
import re
from html import unescape
from typing import TYPE_CHECKING

import pytest

from fewlabels.io.limits import Limits
from fewlabels.store.people import People
from fewlabels.web import drafts, fields, forms
from tests.support.web import bearer

if TYPE_CHECKING:
    from pathlib import Path

from tests.support.making import QUESTION, ROWS, csrf, desk, files, submit, table, upload, words

POSTS = ("/new/upload", "/new/example", "/new/{draft}", "/new/{draft}/question")


@pytest.mark.parametrize("path", ["/new", *POSTS])
def test_only_owners_make_assessments(uploads: Path, path: str) -> None:
    with desk("ann") as (client, site):
        service = client.app.state.service  # type: ignore[attr-defined]
        draft = service.drafts.begin("boss", (io.BytesIO(table()), "tickets.csv"))
        here = path.format(draft=draft.id)
        for answer in (client.get(here), client.post(here, data={"csrf": csrf(client), "do": "make"})):
            assert answer.status_code in (403, 405)
            assert "tickets.csv" not in answer.text
        client.cookies.clear()
        assert client.post(here, data={"csrf": "x"}).status_code == 401
        assert client.get(here, follow_redirects=False).status_code == 303  # to the sign-in page
        assert client.post(here, headers=bearer(site.ann)).status_code in (403, 405)
        assert service.drafts.of("boss", draft.id) is draft
        assert site.store.names() == ["audit"]


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("token", ["", "wrong", None])
def test_every_form_needs_the_token_of_its_page(uploads: Path, path: str, token: str | None) -> None:
    with desk() as (client, site):
        draft = upload(client).url.path.rpartition("/")[2]
        here, before = path.format(draft=draft), files(uploads)
        fields = QUESTION | {"do": "make"} | ({} if token is None else {"csrf": token})
        sent = {"files": {"file": ("other.csv", table())}} if path.endswith("upload") else {}
        answer = client.post(here, data=fields, **sent)  # type: ignore[arg-type]
        assert answer.status_code == 403
        assert client.post(here, json={"do": "make"}).status_code == 403
        elsewhere = client.post(here, data={"csrf": csrf(client)}, headers={"sec-fetch-site": "cross-site"})
        assert elsewhere.status_code == 403
        assert site.store.names() == ["audit"]
        assert files(uploads) == before


def test_a_draft_is_its_owners_alone(uploads: Path) -> None:
    with desk() as (client, site):
        path = upload(client).url.path
        other = People(site.store).invite("chief", "owner")
        for verb in ("get", "post"):
            answer = getattr(client, verb)(path, headers=bearer(other))
            assert answer.status_code == 404
        # With a token in a header there is no cookie that another page could make use of.
        assert client.post("/new/example", headers=bearer(other), follow_redirects=False).status_code == 303


# --- files that cannot be taken


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("tickets.parquet", b"PAR1 nonsense", "tickets.parquet is not a complete .parquet file"),
        ("tickets.xlsx", b"PK\x03\x04", "tickets.xlsx"),
        ("tickets.csv", b"", "is empty (0 bytes)"),
        ("tickets.csv", b"a,b\n", "no rows"),
        ("tickets.pkl", b"\x80\x04", "cannot be read"),
        ("../../etc/passwd", b"root", "'passwd' cannot be read"),
        ("a.npy", b"\x93NUMPY\x01\x00", "a.npy"),
        ("", b"a,b\n1,2", "Choose a file first"),
    ],
)
def test_a_damaged_file_is_refused_beside_its_field_and_not_kept(
    uploads: Path, name: str, data: bytes, said: str
) -> None:
    with desk() as (client, _):
        answer = upload(client, data, name)
        assert answer.status_code in (400, 422)
        assert said in words(answer) or (not name and answer.status_code == 400)
        assert "Traceback" not in answer.text
        assert str(uploads) not in answer.text
        assert files(uploads) == []


@pytest.mark.parametrize("has_length", [True, False])
def test_a_file_that_is_too_large_is_refused_on_the_page(uploads: Path, has_length: bool) -> None:
    with desk(upload=2_000_000) as (client, _):
        border = "x" * 20
        body = f'--{border}\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n{csrf(client)}\r\n--{border}\r\n'
        body += 'Content-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nid,predicted\r\n'
        whole = body.encode() + b"1,a\r\n" * 500_000 + f"--{border}--\r\n".encode()
        sent = whole if has_length else iter([whole[i : i + 100_000] for i in range(0, len(whole), 100_000)])
        kind = {"content-type": f"multipart/form-data; boundary={border}"}
        answer = client.post("/new/upload", content=sent, headers=kind)
        assert answer.status_code == 413
        assert "too large: at most 2 MB" in words(answer)
        assert '<input id="file"' in answer.text
        assert files(uploads) == []
        assert client.post("/new/upload", content=b"", headers=kind | {"content-length": str(10**9)}).status_code == 413


def test_a_small_file_that_unpacks_to_very_much_is_refused(uploads: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert drafts._LIMITS.bytes_from(100 * 10**6) == 10**9
    monkeypatch.setattr(drafts, "_LIMITS", Limits(unpacked=10**6, ratio=10))
    packed = gzip.compress(b"id,predicted\n" + b"1,a\n" * 500_000)
    with desk() as (client, _):
        answer = upload(client, packed, "bomb.csv.gz")
        assert answer.status_code == 422
        assert "unpacks to" in words(answer)
        assert "read it with fewlabels new --any-size" in words(answer)  # there is no field for that
        assert files(uploads) == []


def test_a_server_may_take_no_files(uploads: Path) -> None:
    with desk(upload=0) as (client, _):
        assert "takes no files" in words(client.get("/new"))
        assert upload(client).status_code == 403
        assert submit(client, "/new/example").status_code == 200


# --- what is typed


def test_a_file_that_is_not_clear_can_be_made_clear(uploads: Path) -> None:
    rows = [{"nr": f"{i % 7}", "zug": "ab"[i % 2], "wert": "xyz"[i % 3]} for i in range(30)]
    with desk() as (client, _):
        here = upload(client, table(rows), "odd.csv")
        assert "Predicted class" in words(here)
        assert "--" not in words(here)
        path = here.url.path
        refused = submit(client, path, do="next", id="nr", predicted="zug", classes="a\nb\nc")
        assert refused.status_code == 422
        assert 'id="id-wrong"' in refused.text  # two rows have one id
        assert re.search(r'value="zug" selected', refused.text)
        assert ">a\nb\nc</textarea>" in refused.text
        assert "content-chosen" not in refused.text  # no box could be ticked yet, so none is no choice
        assert "content-chosen" in submit(client, path, do="again", predicted="zug").text
        taken = submit(client, path, do="next", predicted="zug", classes="a\nb\nc")
        assert taken.url.path == f"{path}/question"
        assert submit(client, f"{path}/question", do="make", **QUESTION).url.path == "/dashboard/tickets"


@pytest.mark.parametrize(
    ("fields", "field", "said"),
    [
        ({"task": "lowest", "lowest": "many"}, "lowest", "whole number"),
        ({"task": "lowest", "lowest": "9"}, "lowest", "all of them"),
        ({"task": "compare", "a": "a", "b": ""}, "b", "both"),
        ({"task": "compare", "a": "a", "b": "zebra"}, "a", "there is no group 'zebra'"),
        ({"task": "certify", "line": "", "sure": "95"}, "line", "such as 90%"),
        ({"task": "certify", "line": "90", "sure": "101"}, "sure", "between 0 and 100"),
        ({"metric": "recall", "positive": "zebra"}, "positive", "There is no class 'zebra'"),
        ({"metric": "cost:/etc/passwd"}, "metric", "Choose one"),
        ({"groups": "map:/etc/passwd"}, "groups", "Choose one"),
        ({"groups": "column:nothing"}, "groups", "no column 'nothing'"),
        ({"labels": "-5"}, "labels", "whole number"),
        ({"name": "  "}, "name", "Write a name"),
        ({"name": "audit"}, "name", "already an assessment 'audit'"),
        ({"name": ".."}, "name", "Write a name"),
        ({"task": "best"}, "task", "Choose one"),
    ],
)
def test_what_cannot_be_used_is_said_beside_its_field_and_the_rest_is_kept(
    uploads: Path, fields: dict[str, str], field: str, said: str
) -> None:
    with desk() as (client, site):
        path = upload(client).url.path
        answer = submit(client, f"{path}/question", do="make", **QUESTION | {"labels": "77"} | fields)
        assert answer.status_code == 422
        wrong = re.search(r'id="(\w+)-wrong" class="wrong" role="alert">([^<]*)<', answer.text)
        assert wrong, words(answer)
        assert (wrong[1], said in unescape(wrong[2])) == (field, True), wrong[0]
        assert "--" not in wrong[2]
        if "labels" not in fields:
            assert 'value="77"' in answer.text
        assert site.store.names() == ["audit"]
        again = submit(client, f"{path}/question", do="make", **QUESTION)
        assert again.url.path == "/dashboard/tickets"


def test_no_word_can_name_a_file_of_the_server(uploads: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_text("a\nb\nhidden class\n")
    with desk() as (client, _):
        path = upload(client).url.path
        for name in forms.COLUMNS:
            answer = submit(client, path, do="again", **{name: "secret"}, **{"content-chosen": "1"})
            assert "hidden class" not in answer.text


def test_texts_of_a_file_are_shown_as_texts(uploads: Path) -> None:
    script = "<script>alert(1)</script>"
    rows = [row | {"text": script, script: script} for row in ROWS]
    with desk() as (client, _):
        here = upload(client, table(rows), f"{script}.csv")
        assert script not in here.text
        assert script not in client.get(f"{here.url.path}/question").text


def test_what_to_choose_is_said_in_the_words_of_the_form() -> None:
    """It was told to add “Spelling”, which is a field with three choices."""
    rows = [{"id": f"t{i}", "predicted": ["Billing", "BILLING", "Refund"][i % 3 if i < 4 else 0]} for i in range(40)]
    with desk() as (client, _):
        page = upload(client, table(rows))
        assert "To read both as one class, use “Spelling: does not matter”." in words(page)
        assert "does not matter: " in page.text.split('name="any_spelling"')[1]
        draft = page.url.path
        again = client.post(draft, data={"csrf": csrf(client), "any_spelling": "any", "do": "read"})
        assert "differs from" not in words(again)


@pytest.mark.parametrize(("typed", "number"), [("12", 12), ("1,000", 1000), ("12 000", 12_000), (" 7 ", 7), ("", None)])
def test_whole_numbers_may_be_in_groups_of_thousands(typed: str, number: int | None) -> None:
    assert fields.whole({"labels": typed}, "labels") == number


@pytest.mark.parametrize("typed", ["2,5", "2.5", "1,00", "1,0000", "0", "-3", "1e3", "two", "1,000,00"])
def test_what_is_no_whole_number_is_not_read_as_one(typed: str) -> None:
    with pytest.raises(fields.WrongFieldError, match="whole number"):
        fields.whole({"labels": typed}, "labels")
