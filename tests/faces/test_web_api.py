"""The HTTP API: who may do what, and that it does what the assessment does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

import fewlabels as fl
from fewlabels.findings.finding import find
from fewlabels.labelling.journal import Journal
from fewlabels.report import outlook
from fewlabels.stopping import Stop
from fewlabels.store.people import People
from fewlabels.web.guard import csrf_token
from fewlabels.web.pages import ONLY_THESE
from tests.support.web import SCRIPT, bearer, client_of, events_of, make_site, pool_of_texts, streams

if TYPE_CHECKING:
    from pathlib import Path

ONE = "/api/v1/assessments/audit"


def saying(verb: str, item: str) -> dict[str, object]:
    """The body of an answer about an item."""
    return {"labels": [{"id": item, "label": "class 1"}]} if verb == "tell" else {"ids": [item], "reason": "unclear"}


def test_ask_and_tell_are_those_of_the_assessment() -> None:
    site, twin = make_site(seed=3), fl.create(None, "audit", pool_of_texts(), seed=3)
    with client_of(site) as client:
        for _ in range(5):
            asked = client.post(f"{ONE}/ask", json={"n": 3}, headers=bearer(site.ann)).json()["requests"]
            ids = [request["id"] for request in asked]
            assert ids == twin.ask(3, annotator="ann").ids
            labels = [{"id": item, "label": "class 1"} for item in ids]
            answer = client.post(f"{ONE}/tell", json={"labels": labels}, headers=bearer(site.ann))
            assert answer.json() == {"taken": 3, "requests": []}
            twin.tell(dict.fromkeys(ids, "class 1"), annotator="ann")
        shown = client.get(f"{ONE}/estimates", headers=bearer(site.owner)).json()
        said = client.get(f"{ONE}/answer", params={"level": 0.8}, headers=bearer(site.owner)).json()
    assert shown["rows"] == list(find(twin).estimates.rows())
    assert said["headline"] == find(twin, 0.8).headline
    assert said["words"] == twin.answer(level=0.8).words
    assert site.audit().labels() == twin.labels()


@pytest.mark.slow
def test_open_requests_come_again_before_new_ones() -> None:
    site = make_site()
    with client_of(site) as client:
        first = client.post(f"{ONE}/ask", json={"n": 2}, headers=bearer(site.ann)).json()["requests"]
        again = client.post(f"{ONE}/ask", json={"n": 3}, headers=bearer(site.ann)).json()["requests"]
        other = client.post(f"{ONE}/ask", json={"n": 2}, headers=bearer(site.bob)).json()["requests"]
    assert again[:2] == first
    assert not {one["id"] for one in other} & {one["id"] for one in again}


def test_a_lease_that_ran_out_goes_to_the_next_person() -> None:
    site = make_site()
    with client_of(site, lease=1e-6) as client:
        first = client.post(f"{ONE}/ask", json={"n": 2}, headers=bearer(site.ann)).json()["requests"]
        other = client.post(f"{ONE}/ask", json={"n": 2}, headers=bearer(site.bob)).json()["requests"]
        late = {"labels": [{"id": first[0]["id"], "label": "class 0"}]}
        assert client.post(f"{ONE}/tell", json=late, headers=bearer(site.ann)).status_code == 200
    assert {one["id"] for one in other} == {one["id"] for one in first}
    assert site.audit().labels() == {first[0]["id"]: "class 0"}  # a label that somebody typed is never lost


def test_the_same_answer_sent_twice_counts_once() -> None:
    site = make_site()
    with client_of(site) as client:
        item = client.post(f"{ONE}/ask", json={}, headers=bearer(site.ann)).json()["requests"][0]["id"]
        body = {"labels": [{"id": item, "label": "class 2"}], "key": "0123456789abcdef"}
        for _ in range(3):
            assert client.post(f"{ONE}/tell", json=body, headers=bearer(site.ann)).json() == {
                "taken": 1,
                "requests": [],
            }
        other = {"labels": [{"id": item, "label": "class 3"}], "key": "0123456789abcdef"}
        assert client.post(f"{ONE}/tell", json=other, headers=bearer(site.ann)).status_code == 409
    assert [kind for kind, *_ in events_of(site)] == ["request", "label"]


def test_undo_skip_and_the_owners_word() -> None:
    site = make_site()
    with client_of(site) as client:
        asked = client.post(f"{ONE}/ask", json={"n": 2}, headers=bearer(site.ann)).json()["requests"]
        a, b = (one["id"] for one in asked)
        client.post(f"{ONE}/tell", json={"labels": [{"id": a, "label": "class 0"}]}, headers=bearer(site.ann))
        assert client.post(f"{ONE}/retract", json={"ids": [a]}, headers=bearer(site.ann)).status_code == 200
        assert site.audit().labels() == {}
        client.post(f"{ONE}/skip", json={"ids": [b], "reason": "not in the list"}, headers=bearer(site.ann))
        waiting = client.get(f"{ONE}/disputed", headers=bearer(site.owner)).json()
        assert [(one["id"], one["skips"]) for one in waiting] == [(b, {"ann": "not in the list"})]
        decided = {"labels": [{"id": b, "label": "class 3"}]}
        assert client.post(f"{ONE}/decide", json=decided, headers=bearer(site.ann)).status_code == 403
        assert client.post(f"{ONE}/decide", json=decided, headers=bearer(site.owner)).status_code == 200
        assert client.post(f"{ONE}/withdraw", json={"ids": [a]}, headers=bearer(site.owner)).json() == {"taken": 1}
    assert site.audit().labels() == {b: "class 3"}


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["tell", "skip"])
def test_only_who_was_handed_an_item_may_answer_it(verb: str) -> None:
    site = make_site()
    with client_of(site) as client:
        item = client.post(f"{ONE}/ask", json={}, headers=bearer(site.ann)).json()["requests"][0]["id"]
        body = saying(verb, item)
        strange = client.post(f"{ONE}/{verb}", json=body, headers=bearer(site.bob))
        assert (strange.status_code, strange.json()["error"]["message"]) == (
            409,
            f"cannot {verb} {item!r}: it was not handed to bob. Nothing was changed.",
        )
        assert client.post(f"{ONE}/{verb}", json=body, headers=bearer(site.ann)).status_code == 200
        assert client.post(f"{ONE}/{verb}", json=body, headers=bearer(site.bob)).status_code == 409
    assert [who for *_, who in events_of(site)] == ["ann", "ann"]


def test_what_was_withdrawn_stays_withdrawn_and_is_said() -> None:
    site = make_site()
    with client_of(site) as client:
        asked = client.post(f"{ONE}/ask", json={"n": 2}, headers=bearer(site.ann)).json()["requests"]
        held, told = (one["id"] for one in asked)
        sent = saying("tell", told) | {"key": "0123456789abcdef"}
        assert client.post(f"{ONE}/tell", json=sent, headers=bearer(site.ann)).status_code == 200
        client.post(f"{ONE}/withdraw", json={"ids": [held, told]}, headers=bearer(site.owner))
        for item in (held, told):
            for verb in ("tell", "skip"):
                late = client.post(f"{ONE}/{verb}", json=saying(verb, item), headers=bearer(site.ann))
                assert late.status_code == 409
                words = f"cannot {verb} {item!r}: it was withdrawn after ann got it, so it needs no answer now."
                assert late.json()["error"]["message"] == f"{words} Nothing was changed."
        back = client.post(f"{ONE}/retract", json={"ids": [told]}, headers=bearer(site.ann)).json()
        assert "it was withdrawn" in back["error"]["message"]
        # What arrived before and is sent again, its yes having been lost, is no new answer.
        assert client.post(f"{ONE}/tell", json=sent, headers=bearer(site.ann)).json() == {"taken": 1, "requests": []}
        assert site.audit().labels() == {}
        everything = client.post(f"{ONE}/ask", json={"n": 60}, headers=bearer(site.bob)).json()["requests"]
        assert len(everything) == 60
        assert client.post(f"{ONE}/tell", json=saying("tell", held), headers=bearer(site.bob)).status_code == 200
        assert client.post(f"{ONE}/tell", json=saying("tell", held), headers=bearer(site.ann)).status_code == 409
    assert site.audit().labels() == {held: "class 1"}


def test_what_somebody_said_earlier_is_theirs_to_correct() -> None:
    """In the browser before the server was started anew, or in a file under their name."""
    site = make_site()
    with client_of(site) as client:
        item = client.post(f"{ONE}/ask", json={}, headers=bearer(site.ann)).json()["requests"][0]["id"]
        client.post(f"{ONE}/tell", json=saying("tell", item), headers=bearer(site.ann))
    other = "item-001" if item != "item-001" else "item-002"
    site.audit().tell({other: "class 0"}, annotator="ann", adopt=True)
    with client_of(site) as client:
        for one in (item, other):
            again = {"labels": [{"id": one, "label": "class 3"}]}
            assert client.post(f"{ONE}/tell", json=again, headers=bearer(site.ann)).status_code == 200
    assert site.audit().labels() == {item: "class 3", other: "class 3"}


def test_one_person_who_asks_eight_times_at_once_holds_what_they_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, writing, all_here = make_site(tmp_path / "audit.db"), Journal.writing, Barrier(8, timeout=60)

    def together(journal: Journal) -> object:
        all_here.wait()  # each has seen by now that nothing is held yet
        return writing(journal)

    monkeypatch.setattr(Journal, "writing", together)
    with client_of(site) as client, ThreadPoolExecutor(8) as threads:
        answers = threads.map(
            lambda _: client.post(f"{ONE}/ask", json={"n": 2}, headers=bearer(site.ann)).json()["requests"], range(8)
        )
        got = [[one["id"] for one in requests] for requests in answers]
    assert all(ids == got[0] for ids in got)
    assert site.audit().held("ann").ids == got[0]
    assert len(got[0]) == 2
    site.store.close()


def test_several_people_about_the_same_items() -> None:
    site = make_site(overlap=2)
    with client_of(site) as client:
        for who, label in ((site.ann, "class 0"), (site.bob, "class 1")):
            asked = client.post(f"{ONE}/ask", json={"n": 4}, headers=bearer(who)).json()["requests"]
            labels = [{"id": one["id"], "label": "class 0" if i else label} for i, one in enumerate(asked)]
            told = client.post(f"{ONE}/tell", json={"labels": labels}, headers=bearer(who))
            assert told.json() == {"taken": 4, "requests": []}
        agreed = client.get(f"{ONE}/agreement", headers=bearer(site.owner)).json()
        waiting = client.get(f"{ONE}/disputed", headers=bearer(site.owner)).json()
        people = client.get(f"{ONE}/by-person", headers=bearer(site.owner)).json()["rows"]
    assert agreed["settings"]["raw"] == 0.75
    assert [one["votes"] for one in waiting] == [{"ann": "class 0", "bob": "class 1"}]
    assert [(row["annotator"], row["labels"]) for row in people] == [("ann", 4), ("bob", 4)]


@pytest.mark.parametrize("verb", ["estimates", "answer", "standing", "agreement", "by-person", "by-group", "disputed"])
def test_results_are_the_owners(verb: str) -> None:
    site = make_site(stop=Stop(labels=5))
    with client_of(site) as client:
        assert client.get(f"{ONE}/{verb}", headers=bearer(site.owner)).status_code == 200
        refused = client.get(f"{ONE}/{verb}", headers=bearer(site.ann))
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")


def test_annotators_see_content_and_nothing_of_the_model() -> None:
    site = make_site()
    with client_of(site) as client:
        text = client.post(f"{ONE}/ask", json={"n": 5}, headers=bearer(site.ann)).text
    for word in ("undisclosed", "predicted", "confidence", "score", "group", "class "):
        assert word not in text
    site = make_site()
    with client_of(site, show=("predicted", "group")) as client:
        hints = client.post(f"{ONE}/ask", json={}, headers=bearer(site.ann)).json()["requests"][0]["hints"]
    assert set(hints) == {"predicted", "group"}


@pytest.mark.parametrize(
    ("call", "body", "status", "code"),
    [
        ("nothing/ask", {"n": 1}, 404, "not-found"),
        ("audit/ask", {"n": 0}, 422, "invalid"),
        ("audit/ask", {"n": True}, 422, "invalid"),
        ("audit/ask", {"n": 1, "m": 2}, 422, "invalid"),
        ("audit/tell", {"labels": []}, 422, "invalid"),
        ("audit/tell", {"labels": [{"id": "item-001", "label": "class 9"}]}, 409, "conflict"),
        ("audit/tell", {"labels": [{"id": "item-001", "label": "class 0"}]}, 409, "conflict"),
        ("audit/tell", {"labels": [{"id": "nobody", "label": "class 0"}]}, 409, "conflict"),
        ("audit/tell", {"labels": [{"id": "a\0", "label": "class 0"}]}, 422, "invalid"),
        ("audit/retract", {"ids": ["item-001"]}, 409, "conflict"),
        ("audit/nothing", {}, 404, "not-found"),
    ],
)
def test_errors_have_one_shape(call: str, body: object, status: int, code: str) -> None:
    site = make_site()
    with client_of(site) as client:
        answer = client.post(f"/api/v1/assessments/{call}", json=body, headers=bearer(site.ann))
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code)
    assert error["message"]
    assert events_of(site) == []


def test_pages_escape_what_the_pool_says() -> None:
    pool = fl.read_pool(
        {"id": [SCRIPT, "b"], "scores": [[0.9, 0.1], [0.2, 0.8]], "text": [SCRIPT, SCRIPT]},
        classes=[SCRIPT, "other"],
        columns=["text"],
        content="text",
    )
    site = make_site(pool=pool, name=SCRIPT, overlap=1)
    audit = site.audit()
    audit.skip(audit.ask(2, annotator=SCRIPT).ids, reason=SCRIPT, annotator=SCRIPT)
    path = quote(SCRIPT, safe="")
    audit.decide({SCRIPT: SCRIPT}, annotator="boss", note=SCRIPT)
    pages = [f"/{page}/{path}" for page in ("label", "decide", "dashboard", "part/live", "part/work", "groups")]
    with client_of(site) as client:
        for page in [*pages, f"/dashboard/{path}?whole=1"]:
            answer = client.get(page, headers=bearer(site.owner))
            assert answer.status_code == 200, page
            assert SCRIPT not in answer.text
            assert "<img src=x" not in answer.text
            assert "&lt;script&gt;" in answer.text


@pytest.mark.slow
def test_the_dashboard_says_what_the_assessment_says() -> None:
    site = make_site(task=fl.Identify(fl.Accuracy(), lowest=1), stop=Stop(probability=0.9))
    audit = site.audit()
    audit.tell(dict.fromkeys(audit.ask(6).ids, "class 0"))
    with client_of(site) as client:
        live = client.get("/part/live/audit", headers=bearer(site.owner)).text
        forecast = client.get("/part/forecast/audit", headers=bearer(site.owner)).text
        labels = client.get("/download/labels/audit", headers=bearer(site.owner))
        report = client.get("/download/report/audit", headers=bearer(site.owner))
        log = client.get("/download/log/audit", headers=bearer(site.owner)).text
    assert find(audit).headline in live  # the same words as in the report and on the command line
    assert audit.standing().words in live
    assert audit.standing().words not in forecast  # said once
    assert "<h2>Too few labels to say which class has the lowest accuracy</h2>" in live
    assert live.count("<figure") == 3
    assert f"<p>{outlook(audit, ONLY_THESE)}</p>" in forecast  # as the forms of the browser call it
    assert labels.content.decode("utf-8-sig").splitlines()[0] == "id,label"
    assert len(labels.text.splitlines()) == 7
    assert "attachment" in report.headers["content-disposition"]
    assert len(log.splitlines()) == 1 + len(events_of(site))


@streams
def test_live_tells_when_the_log_has_grown() -> None:
    site = make_site()
    with (
        client_of(site) as client,
        client.stream("GET", f"{ONE}/live", headers=bearer(site.owner)) as stream,
    ):
        lines = stream.iter_lines()
        assert [next(lines), next(lines)] == ["event: change", 'data: {"seq": 0}']
        next(lines)
        site.audit().ask(1)
        assert [next(lines), next(lines)] == ["event: change", 'data: {"seq": 1}']


def test_invite_and_revoke_over_http() -> None:
    site = make_site()
    with client_of(site) as client:
        made = client.post("/api/v1/people", json={"name": "eve"}, headers=bearer(site.owner))
        assert made.status_code == 201
        token = made.json()["token"]
        assert client.get("/api/v1/me", headers=bearer(token)).json() == {"name": "eve", "role": "annotator"}
        assert client.post("/api/v1/people", json={"name": "zoe"}, headers=bearer(token)).status_code == 403
        assert client.post("/api/v1/people/revoke", json={"name": "eve"}, headers=bearer(site.owner)).status_code == 200
        assert client.get("/api/v1/me", headers=bearer(token)).status_code == 401
        assert (
            client.post("/api/v1/people/revoke", json={"name": "boss"}, headers=bearer(site.owner)).status_code == 409
        )
        listed = client.get("/api/v1/people", headers=bearer(site.owner)).text
    assert token not in listed


def test_owners_cannot_lock_themselves_out_however_their_accents_are_written() -> None:
    site = make_site()
    token = People(site.store).invite("Jos\u00e9", "owner")
    with client_of(site) as client:
        apart = {"name": "Jose\u0301"}
        assert client.post("/api/v1/people/revoke", json=apart, headers=bearer(token)).status_code == 409
        assert client.get("/api/v1/me", headers=bearer(token)).status_code == 200
        client.post("/sign-in/form", data={"token": token})
        csrf = csrf_token(next(iter(client.cookies.values())))
        again = client.post("/api/v1/people/again", json=apart, headers={"x-csrf-token": csrf})
        assert again.status_code == 200
        assert client.get("/api/v1/me").status_code == 200, "they stay signed in"


def test_estimates_of_another_model_come_from_the_same_labels() -> None:
    old = ["class 0", "class 1"] * 30
    pool = fl.read_pool(
        {"text": ["Hi"] * 60, "old": old, "new": ["class 1"] * 60}, models=["old", "new"], content="text"
    )
    site = make_site(pool=pool, model="new")
    audit = site.audit()
    with client_of(site) as client:
        asked = client.post(f"{ONE}/ask", json={"n": 4}, headers=bearer(site.ann)).json()["requests"]
        assert "new" not in str(asked)
        labels = [{"id": one["id"], "label": "class 1"} for one in asked]
        client.post(f"{ONE}/tell", json={"labels": labels}, headers=bearer(site.ann))
        other = client.get(f"{ONE}/estimates", params={"model": "old"}, headers=bearer(site.owner)).json()
        own = client.get(f"{ONE}/estimates", params={"model": "new"}, headers=bearer(site.owner)).json()
        plain = client.get(f"{ONE}/estimates", headers=bearer(site.owner)).json()
        wrong = client.get(f"{ONE}/estimates", params={"model": "nwe"}, headers=bearer(site.owner))
        classes = client.get(f"{ONE}/classes", headers=bearer(site.ann)).json()["classes"]
    assert [row["group"] for row in other["rows"]] == ["class 0", "class 1"]
    assert [row["mean"] for row in other["rows"]] == audit.estimates(model="old")["mean"]
    assert own == plain
    assert wrong.status_code == 400
    assert "no model 'nwe'" in wrong.json()["error"]["message"]
    assert classes == ["class 0", "class 1"]
