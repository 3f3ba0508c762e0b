"""Making an assessment in the browser: the routes, what they refuse, and that nothing is kept of what was given up."""

from __future__ import annotations

import csv
import gzip
import io
import re
import tempfile
import threading
from contextlib import contextmanager
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli.main import cli
from fewlabels.errors import InputError
from fewlabels.io.limits import Limits
from fewlabels.store import Store
from fewlabels.store.people import People
from fewlabels.web import drafts, forms
from tests.support.web import Site, bearer, client_of, make_site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from httpx2 import Response
    from starlette.testclient import TestClient

ROWS = [
    {"ticket": f"t{i}", "text": f"text {i}", "pred": "ab"[i % 2], "conf": 0.6 + i % 4 / 10, "region": "NSW"[i % 3]}
    for i in range(60)
]


def table(rows: list[dict[str, Any]] = ROWS) -> bytes:
    """Rows as CSV."""
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where uploaded files go in this test."""
    place = tmp_path / "uploads"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


@contextmanager
def desk(who: str = "owner", **settings: Any) -> Iterator[tuple[TestClient, Site]]:
    """A browser in which somebody has signed in, at a server with one assessment."""
    site = make_site()
    with client_of(site, **settings) as client:
        client.post("/sign-in", json={"token": getattr(site, who)})
        yield client, site


def csrf(client: TestClient) -> str:
    """The token of a page."""
    found = re.search(r'name="csrf" content="(\w+)"', client.get("/").text)
    assert found
    return found[1]


def upload(client: TestClient, data: bytes | None = None, name: str = "tickets.csv", **fields: str) -> Response:
    """Send a file as a browser does."""
    return upload_all(client, {name: table() if data is None else data}, **fields)


def upload_all(client: TestClient, data: dict[str, bytes], **fields: str) -> Response:
    """Send several files as a browser does."""
    sent = [("file", (name, one)) for name, one in data.items()]
    return client.post("/new/upload", data={"csrf": csrf(client)} | fields, files=sent)


def submit(client: TestClient, path: str, **fields: Any) -> Response:
    """Send a form of our own page."""
    return client.post(path, data={"csrf": csrf(client)} | fields)


def words(answer: Response) -> str:
    """What a page says, without its markup."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


QUESTION = {"task": "estimate", "metric": "accuracy", "groups": "predicted", "target": "population", "name": "tickets"}


def test_from_a_file_to_the_dashboard(folder: Path) -> None:
    with desk() as (client, site):
        here = upload(client)
        assert here.status_code == 200
        assert "60 items, 2 classes: a, b" in words(here)
        for found in ("column 'ticket'", "column 'pred'", "column 'conf', probabilities"):
            assert f"found: {found}" in words(here)
        assert re.search(r'value="text" checked', here.text)
        assert len(files(folder)) == 1
        path = here.url.path
        assert submit(client, path, do="next", **{"content-chosen": "1"}, content=["text", "region"]).url.path == (
            f"{path}/question"
        )
        asked = QUESTION | {"task": "lowest", "lowest": "2", "groups": "column:region", "sure": "90%", "labels": "40"}
        look = submit(client, f"{path}/question", do="look", **asked)
        assert "Which two" in words(look)
        assert "3 groups by column 'region', with 20 items each" in words(look), words(look)
        made = submit(client, f"{path}/question", do="make", **asked | {"target": "pool", "overlap": "2"})
        assert made.url.path == "/dashboard/tickets"
        audit = fl.load(site.store, "tickets")
    assert audit.spec.task == fl.Identify(fl.Accuracy(), lowest=2)
    assert audit.spec.stop == fl.Stop(labels=40, probability=0.9)
    assert (audit.spec.target, audit.spec.overlap, audit.spec.groups["by"]) == ("pool", 2, "column")
    shown = audit.item("t0", columns=None)
    assert shown == {"text": "text 0", "region": "N"}
    assert files(folder) == []


def test_the_same_file_makes_the_same_assessment_as_the_command_line(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "tickets.csv").write_bytes(table())
    typed = ["new", str(tmp_path / "a.db"), str(tmp_path / "tickets.csv"), "--groups", "whole"]
    typed += ["--certify", "recall:a >= 0.8", "--sure", "0.9"]
    said = CliRunner().invoke(cli, [*typed, "--stop-probability", "0.9"])
    assert said.exit_code == 0, said.output
    with desk() as (client, site):
        path = upload(client).url.path
        asked = QUESTION | {
            "task": "certify",
            "line": "80",
            "metric": "recall",
            "positive": "a",
            "sure": "90",
            "groups": "whole",
        }
        submit(client, f"{path}/question", do="make", **asked)
        here, there = fl.load(site.store, "tickets"), fl.load(tmp_path / "a.db")
        assert here.spec == there.spec
        assert here.pool.fingerprint == there.pool.fingerprint
        there.close()


@pytest.mark.parametrize(
    ("task", "fields", "made"),
    [
        ("estimate", {"overall": "10"}, (fl.Estimate(fl.Accuracy()), fl.Stop(overall=0.1))),
        ("compare", {"a": "N", "b": "S", "rope": "2", "groups": "column:region", "sure": ""},
         (fl.Compare(fl.Accuracy(), "N", "S", 0.02), fl.Stop())),
        ("certify", {"line": "10", "side": "<=", "metric": "fpr", "positive": "a", "sure": "99", "groups": "whole"},
         (fl.Certify(fl.FalsePositiveRate("a"), at_most=0.1, sure=0.99), fl.Stop(probability=0.99))),
        ("lowest", {"lowest": "1", "metric": "f1", "positive": "b", "groups": "column:region", "also": "score:10"},
         (fl.Identify(fl.F1("b"), lowest=1), fl.Stop())),
    ],
)  # fmt: skip
def test_every_question_of_the_form_becomes_its_task(
    folder: Path, task: str, fields: dict[str, str], made: tuple[fl.Task, fl.Stop]
) -> None:
    with desk() as (client, site):
        path = upload(client).url.path
        answer = submit(client, f"{path}/question", do="make", **QUESTION | {"task": task} | fields)
        assert answer.url.path == "/dashboard/tickets", words(answer)
        spec = fl.load(site.store, "tickets").spec
    assert (spec.task, spec.stop) == made


def test_several_models_in_one_file(folder: Path) -> None:
    rows = [{"id": row["ticket"], "text": row["text"], "old": row["pred"], "new": "a"} for row in ROWS]
    with desk() as (client, site):
        path = upload(client, table(rows), "models.csv").url.path
        here = submit(client, path, do="again", models="old,new")
        assert "models differ on 30 of 60 items" in words(here)
        asked = QUESTION | {"task": "compare-models", "groups": "whole", "a": "new", "b": "old", "rope": "1"}
        assert submit(client, f"{path}/question", do="make", **asked).url.path == "/dashboard/tickets"
        assert fl.load(site.store, "tickets").spec.task == fl.CompareModels(fl.Accuracy(), "new", "old", rope=0.01)


def answers_of(model: str) -> bytes:
    """The answers of one of two models, which differ on every second item."""
    rows = [{"id": row["ticket"], "text": row["text"], "pred": row["pred"] if model == "old" else "a"} for row in ROWS]
    return table(rows if model == "old" else rows[::-1])


def test_two_files_are_two_models_as_on_the_command_line(tmp_path: Path, folder: Path) -> None:
    for model in ("old", "new"):
        (tmp_path / f"{model}.csv").write_bytes(answers_of(model))
    typed = [
        "new",
        tmp_path / "a.db",
        "tickets",
        tmp_path / "old.csv",
        tmp_path / "new.csv",
        "--stop-probability",
        0.95,
    ]
    said = CliRunner().invoke(cli, [*map(str, typed), "--compare-models", "new,old", "--rope", "0.01"])
    assert said.exit_code == 0, said.output
    with desk() as (client, site):
        here = upload_all(client, {f"{model}.csv": answers_of(model) for model in ("old", "new")})
        assert "What was understood in old.csv and new.csv" in words(here)
        assert "60 items, 2 classes" in words(here)
        assert "models differ on 30 of 60 items" in words(here)
        assert "Found: old, new." in words(here)
        assert len(files(folder)) == 2
        path = here.url.path
        few = submit(client, path, do="next", models="only one")
        assert few.status_code == 422
        assert "“Names of the models” has 1 name for 2 files" in words(few)
        assert submit(client, path, do="next", models="").url.path == f"{path}/question"
        form = client.get(f"{path}/question")
        assert re.search(r'value="compare-models" checked', form.text)  # of two, the question is which is better
        assert re.findall(r'name="[ab]" value="(\w+)"', form.text) == ["new", "old"]
        assert 'name="name" value="old-new"' in form.text
        asked = QUESTION | {"task": "compare-models", "groups": "whole", "a": "new", "b": "old", "rope": "1"}
        made = submit(client, f"{path}/question", do="make", **asked | {"sure": "95"})
        assert made.url.path == "/dashboard/tickets", words(made)
        ours, theirs = fl.load(site.store, "tickets"), fl.load(tmp_path / "a.db")
        assert ours.spec == theirs.spec
        assert ours.pool.fingerprint == theirs.pool.fingerprint
        theirs.close()
    assert files(folder) == []


def test_models_with_commas_in_their_names_are_compared_by_how_often_they_are_right(folder: Path) -> None:
    with desk() as (client, site):
        sent = {"v1, old.csv": answers_of("old"), "v2, new.csv": answers_of("new")}
        path = f"{upload_all(client, sent).url.path}/question"
        asked = QUESTION | {"task": "compare-models", "groups": "whole", "a": "v2, new", "b": "v1, old", "rope": "1"}
        refused = submit(client, path, do="make", **asked | {"metric": "f1"})
        assert refused.status_code == 422
        assert "Models are compared by how often they are right. Choose accuracy." in words(refused)
        made = submit(client, path, do="make", **asked)
        assert made.url.path == "/dashboard/tickets", words(made)
        assert (task := fl.load(site.store, "tickets").spec.task).a == "v2, new"
        assert task.b == "v1, old"


def test_questions_about_one_of_several_models(folder: Path) -> None:
    with desk() as (client, site):
        path = upload_all(client, {f"{model}.csv": answers_of(model) for model in ("old", "new")}).url.path
        asked = QUESTION | {"task": "lowest", "lowest": "1", "model": "old"}
        for fields, field in (
            ({"groups": "whole"}, "groups"),  # of one group, none is the worst
            ({"model": "new"}, "groups"),  # which predicts one class only
            ({"task": "best", "noisy": "yes"}, "noisy"),
        ):
            refused = submit(client, f"{path}/question", do="make", **asked | {"groups": "predicted"} | fields)
            assert re.findall(r'id="(\w+)-wrong"', refused.text) == [field], words(refused)
            assert "()" not in words(refused)
        assert '<option value="predicted"' in client.get(f"{path}/question").text
        made = submit(client, f"{path}/question", do="make", **asked | {"groups": "predicted"})
        assert made.url.path == "/dashboard/tickets", words(made)
        spec = fl.load(site.store, "tickets").spec
    assert (spec.task, spec.model) == (fl.Identify(fl.Accuracy(), lowest=1), "old")


def test_files_of_one_name_are_told_apart(folder: Path) -> None:
    with desk() as (client, _):
        sent = [("file", ("answers.csv", answers_of(model))) for model in ("old", "new")]
        here = client.post("/new/upload", data={"csrf": csrf(client)}, files=[*sent, ("file", ("", b""))])
        assert "Found: answers, answers-2." in words(here)
        named = submit(client, here.url.path, do="again", models="old, new")
        assert "2 models: old, new." in words(named)


def test_files_of_which_one_cannot_be_read_or_of_other_items(folder: Path) -> None:
    with desk() as (client, _):
        answer = upload_all(client, {"old.csv": answers_of("old"), "new.parquet": b"PAR1"})
        assert answer.status_code == 422
        assert "new.parquet" in words(answer)
        assert files(folder) == []
        other = table([{"id": f"x{i}", "pred": "a"} for i in range(60)])
        here = upload_all(client, {"old.csv": answers_of("old"), "new.csv": other})
        assert "--" not in words(here)
        assert 'class="wrong"' in here.text


def test_twenty_files_are_taken_beside_an_empty_field(folder: Path) -> None:
    def sent(count: int) -> list[tuple[str, tuple[str, bytes]]]:
        return [("file", (f"m{i}.csv", answers_of("old"))) for i in range(count)] + [("file", ("", b""))]

    with desk() as (client, _):
        many = client.post("/new/upload", data={"csrf": csrf(client)}, files=sent(21))
        assert many.status_code == 422
        assert re.search(r'id="file-wrong" class="wrong" role="alert">Choose at most 20 files', many.text)
        assert client.post("/new/upload", data={"csrf": csrf(client)}, files=sent(101)).status_code == 400
        assert files(folder) == []
        taken = client.post("/new/upload", data={"csrf": csrf(client)}, files=sent(20))
        assert "20 models: m0, m1" in words(taken)


VERDICTS = [
    {
        "id": row["ticket"],
        "question": row["text"],
        "answer": "Yes.",
        "verdict": ("pass", "fail")[i % 3 == 0],
        "b": i % 2,
    }
    for i, row in enumerate(ROWS)
]


def test_verdicts_of_a_judge_as_on_the_command_line(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "tickets.csv").write_bytes(table(VERDICTS))
    typed = ["new", tmp_path / "a.db", tmp_path / "tickets.csv", "--verdict", "verdict", "--evidence", "b"]
    said = CliRunner().invoke(cli, [*map(str, typed), "--stop-overall", "0.1"])
    assert said.exit_code == 0, said.output
    with desk() as (client, site):
        here = upload(client, table(VERDICTS))
        assert here.status_code == 200
        assert re.search(r'value="verdict" selected', here.text)  # there is no other answer in the file
        assert re.findall(r'name="content" value="(\w+)" checked', here.text) == ["question", "answer"]
        path = here.url.path
        assert submit(client, path, do="next", verdict="verdict", evidence=["b"]).url.path == f"{path}/question"
        form = client.get(f"{path}/question")
        assert "How many would people pass" in words(form)
        asked = QUESTION | {"metric": "prevalence", "groups": "whole", "overall": "10"}
        made = submit(client, f"{path}/question", do="make", **asked)
        assert made.url.path == "/dashboard/tickets", words(made)
        ours, theirs = fl.load(site.store, "tickets"), fl.load(tmp_path / "a.db")
        assert ours.spec == theirs.spec
        assert ours.spec.task == fl.Estimate(fl.Prevalence("pass"))
        assert ours.pool.fingerprint == theirs.pool.fingerprint
        assert ours.pool.evidence == ("b",)
        theirs.close()


def test_several_judges_are_not_several_models(folder: Path) -> None:
    rows = [row | {"judge_b": ("pass", "fail")[i % 2], "b": 0} for i, row in enumerate(VERDICTS)]
    with desk() as (client, _):
        here = upload(client, table(rows))
        assert re.search(r'value="verdict" selected', here.text)
        assert re.findall(r'name="evidence" value="(\w+)" checked', here.text) == ["judge_b"]
        assert "models" not in words(here).partition("The columns")[0]


def test_a_gate_about_verdicts_and_words_that_do_not_say_which_passes(folder: Path) -> None:
    rows = [row | {"verdict": "blue" if row["verdict"] == "pass" else "green"} for row in VERDICTS]
    with desk() as (client, site):
        path = upload(client, table(rows)).url.path
        unclear = submit(client, path, do="next", verdict="verdict")
        assert unclear.status_code == 422
        assert 'id="positive-wrong"' in unclear.text
        assert "means pass" in words(unclear)
        submit(client, path, do="next", verdict="verdict", positive="blue")
        asked = QUESTION | {"task": "certify", "line": "60", "sure": "90", "metric": "prevalence", "groups": "whole"}
        made = submit(client, f"{path}/question", do="make", **asked)
        assert made.url.path == "/dashboard/tickets", words(made)
        task = fl.load(site.store, "tickets").spec.task
    assert task == fl.Certify(fl.Prevalence("blue"), at_least=0.6, sure=0.9)


def test_labels_that_may_be_wrong(folder: Path) -> None:
    with desk() as (client, site):
        path = upload(client).url.path
        asked = QUESTION | {"overlap": "2", "labels_right": "97", "gold": "t1, a\nt2\tb\n"}
        refused = submit(client, f"{path}/question", do="make", **asked)
        assert 'id="noisy-wrong"' in refused.text
        for gold, said in (
            ("t1 a", "is not an id, a comma"),
            ("t999,a", "t999"),
            ("t1,zebra", "“All classes”"),
            ("t1,a\nt2,b\nt1,a\nt1,b", "is there as"),
        ):
            answer = submit(client, f"{path}/question", do="make", **asked | {"noisy": "yes", "gold": gold})
            found = re.search(r'id="gold-wrong" class="wrong" role="alert">([^<]*)<', answer.text)
            assert found, words(answer)
            assert said in found[1]
            assert "Nothing was changed" not in found[1]
        coin = submit(client, f"{path}/question", do="make", **asked | {"noisy": "yes", "labels_right": "50"})
        assert 'id="labels_right-wrong"' in coin.text
        assert (
            submit(client, f"{path}/question", do="make", **asked | {"noisy": "yes"}).url.path == "/dashboard/tickets"
        )
        spec = fl.load(site.store, "tickets").spec
    assert (spec.noisy, spec.labels_right, spec.overlap) == (True, 0.97, 2)
    assert dict(spec.gold) == {"t1": "a", "t2": "b"}


def test_the_built_in_example() -> None:
    with desk() as (client, site):
        here = submit(client, "/new/example")
        assert "3,971 items, 10 classes" in words(here)
        assert "data:image" not in words(here)
        form = client.get(f"{here.url.path}/question")
        assert re.search(r'value="lowest" checked', form.text)
        asked = QUESTION | {"task": "lowest", "lowest": "1", "name": "clothes"}
        assert submit(client, f"{here.url.path}/question", do="make", **asked).url.path == "/dashboard/clothes"
        audit = fl.load(site.store, "clothes")
        assert str(next(iter(audit.item(audit.ask(1).ids[0]).values()))).startswith("data:image/png")


# --- who may


POSTS = ("/new/upload", "/new/example", "/new/{draft}", "/new/{draft}/question")


@pytest.mark.parametrize("path", ["/new", *POSTS])
def test_only_owners_make_assessments(folder: Path, path: str) -> None:
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
def test_every_form_needs_the_token_of_its_page(folder: Path, path: str, token: str | None) -> None:
    with desk() as (client, site):
        draft = upload(client).url.path.rpartition("/")[2]
        here, before = path.format(draft=draft), files(folder)
        fields = QUESTION | {"do": "make"} | ({} if token is None else {"csrf": token})
        sent = {"files": {"file": ("other.csv", table())}} if path.endswith("upload") else {}
        answer = client.post(here, data=fields, **sent)  # type: ignore[arg-type]
        assert answer.status_code == 403
        assert client.post(here, json={"do": "make"}).status_code == 403
        elsewhere = client.post(here, data={"csrf": csrf(client)}, headers={"sec-fetch-site": "cross-site"})
        assert elsewhere.status_code == 403
        assert site.store.names() == ["audit"]
        assert files(folder) == before


def test_a_draft_is_its_owners_alone(folder: Path) -> None:
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
    folder: Path, name: str, data: bytes, said: str
) -> None:
    with desk() as (client, _):
        answer = upload(client, data, name)
        assert answer.status_code in (400, 422)
        assert said in words(answer) or (not name and answer.status_code == 400)
        assert "Traceback" not in answer.text
        assert str(folder) not in answer.text
        assert files(folder) == []


@pytest.mark.parametrize("has_length", [True, False])
def test_a_file_that_is_too_large_is_refused_on_the_page(folder: Path, has_length: bool) -> None:
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
        assert files(folder) == []
        assert client.post("/new/upload", content=b"", headers=kind | {"content-length": str(10**9)}).status_code == 413


def test_a_small_file_that_unpacks_to_very_much_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert drafts._LIMITS.bytes_from(100 * 10**6) == 10**9
    monkeypatch.setattr(drafts, "_LIMITS", Limits(unpacked=10**6, ratio=10))
    packed = gzip.compress(b"id,predicted\n" + b"1,a\n" * 500_000)
    with desk() as (client, _):
        answer = upload(client, packed, "bomb.csv.gz")
        assert answer.status_code == 422
        assert "unpacks to" in words(answer)
        assert files(folder) == []


def test_a_server_may_take_no_files(folder: Path) -> None:
    with desk(upload=0) as (client, _):
        assert "takes no files" in words(client.get("/new"))
        assert upload(client).status_code == 403
        assert submit(client, "/new/example").status_code == 200


# --- what is typed


def test_a_file_that_is_not_clear_can_be_made_clear(folder: Path) -> None:
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
    folder: Path, fields: dict[str, str], field: str, said: str
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


def test_no_word_can_name_a_file_of_the_server(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_text("a\nb\nhidden class\n")
    with desk() as (client, _):
        path = upload(client).url.path
        for name in forms.COLUMNS:
            answer = submit(client, path, do="again", **{name: "secret"}, **{"content-chosen": "1"})
            assert "hidden class" not in answer.text


def test_texts_of_a_file_are_shown_as_texts(folder: Path) -> None:
    script = "<script>alert(1)</script>"
    rows = [row | {"text": script, script: script} for row in ROWS]
    with desk() as (client, _):
        here = upload(client, table(rows), f"{script}.csv")
        assert script not in here.text
        assert script not in client.get(f"{here.url.path}/question").text


# --- two at once, and nobody at all


def test_two_owners_at_once_and_one_name(folder: Path) -> None:
    with desk() as (client, site):
        chief = bearer(People(site.store).invite("chief", "owner"))
        first = upload(client).url.path
        second = client.post("/new/upload", files={"file": ("b.csv", table())}, headers=chief).url.path
        assert len(files(folder)) == 2
        token, answers = csrf(client), {}

        def make(path: str, headers: dict[str, str]) -> None:
            fields = QUESTION | {"csrf": token, "do": "make"}
            answers[path] = client.post(f"{path}/question", data=fields, headers=headers, follow_redirects=False)

        both = [threading.Thread(target=make, args=args) for args in ((first, {}), (second, chief))]
        for one in both:
            one.start()
        for one in both:
            one.join()
        lost, won = sorted(answers, key=lambda path: answers[path].status_code == 303)
        assert answers[won].status_code == 303
        assert "already an assessment 'tickets'" in words(answers[lost])
        head = {} if lost == first else chief
        fields = QUESTION | {"csrf": token, "do": "make", "name": "tickets too"}
        client.post(f"{lost}/question", data=fields, headers=head)
        assert site.store.names() == ["audit", "tickets", "tickets too"]
        assert files(folder) == []


def test_a_database_that_cannot_be_written_loses_nothing_that_was_typed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise fl.StoreError("attempt to write a readonly database /somewhere/audit.db")

    with desk() as (client, site):
        path = upload(client).url.path
        with monkeypatch.context() as patch:
            patch.setattr(Store, "create", refuse)
            answer = submit(client, f"{path}/question", do="make", **QUESTION | {"labels": "77"})
        assert answer.status_code == 422
        assert "cannot use its database" in words(answer)
        assert "/somewhere" not in answer.text
        assert 'value="77"' in answer.text
        assert submit(client, f"{path}/question", do="make", **QUESTION).url.path == "/dashboard/tickets"
        assert site.store.names() == ["audit", "tickets"]


def test_nothing_stays_of_a_draft_that_was_given_up(folder: Path) -> None:
    with desk() as (client, _):
        path = upload(client).url.path
        assert submit(client, path, do="give-up").url.path == "/"
        assert files(folder) == []
        gone = client.get(path, headers={"accept": "text/html"})
        assert (gone.status_code, "This draft is gone" in words(gone)) == (404, True)
        upload(client)
        upload(client)  # another file in place of the first
        assert len(files(folder)) == 1


def test_an_abandoned_draft_ends_by_itself_and_there_are_never_many(folder: Path) -> None:
    few = drafts.Drafts(life=0.2)
    draft = few.begin("boss", (io.BytesIO(table()), "a.csv"))
    assert few.of("boss", draft.id) is draft
    waiting = threading.Event()
    for _ in range(200):
        if not files(folder):
            break
        waiting.wait(0.05)
    assert files(folder) == []
    assert few.of("boss", draft.id) is None
    many = drafts.Drafts()
    kept = many.begin("in use", (io.BytesIO(table()), "a.csv"))
    for i in range(20):
        many.begin(f"owner {i}", (io.BytesIO(table()), "a.csv"))
        assert many.of("in use", kept.id) is kept  # others give way, which were left longer
    assert len(files(folder)) == 8
    with pytest.raises(InputError):
        many.begin("boss", (io.BytesIO(b"PAR1"), "a.parquet"))
    assert len(files(folder)) == 8
    for one in list(many._drafts):
        many.end(one)
    assert files(folder) == []


def test_a_draft_lives_as_long_as_somebody_uses_it(folder: Path) -> None:
    long = drafts.Drafts(life=1.0)
    draft = long.begin("boss", (io.BytesIO(table()), "a.csv"))
    draft.used += 1_000  # as if its owner came to it in a quarter of an hour
    long._end_if_left(draft)  # its first hour is over
    assert long.of("boss", draft.id) is draft
    assert len(files(folder)) == 1
    draft.used -= 1_000
    long._end_if_left(draft)
    assert long.of("boss", draft.id) is None
    assert files(folder) == []


def test_the_first_page_of_an_empty_database_leads_to_the_first_assessment() -> None:
    store = Store(None)
    people = People(store)
    site = Site(store, "", people.invite("boss", "owner"), people.invite("ann"), "")
    with client_of(site) as client:
        client.post("/sign-in", json={"token": site.owner})
        first = client.get("/")
        assert 'href="/new"' in first.text
        assert "Make the first assessment" in words(first)
        path = submit(client, "/new/example").url.path
        assert submit(client, f"{path}/question", do="make", **QUESTION).url.path == "/dashboard/tickets"
        assert 'href="/dashboard/tickets"' in client.get("/").text
        client.post("/sign-in", json={"token": site.ann})
        assert "/new" not in client.get("/").text
