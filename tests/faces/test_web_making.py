"""Making an assessment in the browser: the routes, what they refuse, and that nothing is kept of what was given up."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli.main import cli
from fewlabels.store import Store
from fewlabels.store.people import People
from tests.support.web import Site, client_of

if TYPE_CHECKING:
    from pathlib import Path

from tests.support.making import QUESTION, desk, files, submit, table, upload, words


def test_from_a_file_to_the_dashboard(uploads: Path) -> None:
    with desk() as (client, site):
        here = upload(client)
        assert here.status_code == 200
        assert "60 items, 2 classes: a, b" in words(here)
        for found in ("column 'ticket'", "column 'pred'", "column 'conf', probabilities"):
            assert f"found: {found}" in words(here)
        assert re.search(r'value="text" checked', here.text)
        assert len(files(uploads)) == 1
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
    assert files(uploads) == []


def test_the_same_file_makes_the_same_assessment_as_the_command_line(tmp_path: Path, uploads: Path) -> None:
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
    uploads: Path, task: str, fields: dict[str, str], made: tuple[fl.Task, fl.Stop]
) -> None:
    with desk() as (client, site):
        path = upload(client).url.path
        answer = submit(client, f"{path}/question", do="make", **QUESTION | {"task": task} | fields)
        assert answer.url.path == "/dashboard/tickets", words(answer)
        spec = fl.load(site.store, "tickets").spec
    assert (spec.task, spec.stop) == made


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


def test_which_classes_are_mixed_up_is_a_question_too(uploads: Path) -> None:
    """It could be asked on the command line only; where it makes no sense, the form says so at the measure."""
    with desk() as (client, site):
        path = upload(client).url.path
        submit(client, path, do="next")
        asked = QUESTION | {"metric": "confusion", "overall": "10"}
        look = submit(client, f"{path}/question", do="look", **asked)
        assert "Which classes does the classifier mix up" in words(look)
        for other in ({"groups": "column:region"}, {"task": "lowest", "lowest": "1"}):
            refused = submit(client, f"{path}/question", do="look", **asked | other)
            assert 'class="wrong"' in refused.text
            assert "Which classes does the classifier mix up" not in words(refused).split("In which groups?")[0]
        made = submit(client, f"{path}/question", do="make", **asked)
        assert made.url.path == "/dashboard/tickets"
        audit = fl.load(site.store, "tickets")
        audit.tell({item: "ab"[i % 3 == 0] for i, item in enumerate(audit.ask(30).ids)})
        page = client.get("/part/live/tickets").text
    assert audit.spec.task == fl.Estimate(fl.Confusion())
    assert "fl-confusion" in page
