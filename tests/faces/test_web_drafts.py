"""Drafts of assessments: two owners at once, a database that fails, and nothing is kept of what was given up."""

from __future__ import annotations

import io
import threading
from typing import TYPE_CHECKING

import pytest

import fewlabels as fl
from fewlabels.errors import InputError
from fewlabels.store import Store
from fewlabels.store.people import People
from fewlabels.web import drafts
from tests.support.web import bearer

if TYPE_CHECKING:
    from pathlib import Path

from tests.support.making import QUESTION, csrf, desk, files, submit, table, upload, words


def test_two_owners_at_once_and_one_name(uploads: Path) -> None:
    with desk() as (client, site):
        chief = bearer(People(site.store).invite("chief", "owner"))
        first = upload(client).url.path
        second = client.post("/new/upload", files={"file": ("b.csv", table())}, headers=chief).url.path
        assert len(files(uploads)) == 2
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
        assert files(uploads) == []


def test_a_database_that_cannot_be_written_loses_nothing_that_was_typed(
    uploads: Path, monkeypatch: pytest.MonkeyPatch
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


def test_nothing_stays_of_a_draft_that_was_given_up(uploads: Path) -> None:
    with desk() as (client, _):
        path = upload(client).url.path
        assert submit(client, path, do="give-up").url.path == "/"
        assert files(uploads) == []
        gone = client.get(path, headers={"accept": "text/html"})
        assert (gone.status_code, "This draft is gone" in words(gone)) == (404, True)
        upload(client)
        upload(client)  # another file in place of the first
        assert len(files(uploads)) == 1


def test_an_abandoned_draft_ends_by_itself_and_there_are_never_many(uploads: Path) -> None:
    few = drafts.Drafts(life=0.2)
    draft = few.begin("boss", (io.BytesIO(table()), "a.csv"))
    assert few.of("boss", draft.id) is draft
    waiting = threading.Event()
    for _ in range(200):
        if not files(uploads):
            break
        waiting.wait(0.05)
    assert files(uploads) == []
    assert few.of("boss", draft.id) is None
    many = drafts.Drafts()
    kept = many.begin("in use", (io.BytesIO(table()), "a.csv"))
    for i in range(20):
        many.begin(f"owner {i}", (io.BytesIO(table()), "a.csv"))
        assert many.of("in use", kept.id) is kept  # others give way, which were left longer
    assert len(files(uploads)) == 8
    with pytest.raises(InputError):
        many.begin("boss", (io.BytesIO(b"PAR1"), "a.parquet"))
    assert len(files(uploads)) == 8
    for one in list(many._drafts):
        many.end(one)
    assert files(uploads) == []


def test_a_draft_lives_as_long_as_somebody_uses_it(uploads: Path) -> None:
    long = drafts.Drafts(life=1.0)
    draft = long.begin("boss", (io.BytesIO(table()), "a.csv"))
    draft.used += 1_000  # as if its owner came to it in a quarter of an hour
    long._end_if_left(draft)  # its first hour is over
    assert long.of("boss", draft.id) is draft
    assert len(files(uploads)) == 1
    draft.used -= 1_000
    long._end_if_left(draft)
    assert long.of("boss", draft.id) is None
    assert files(uploads) == []
