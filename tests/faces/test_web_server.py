"""The server and its people: greedy ones, odd names and ids, and who is looked up how often."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

import fewlabels as fl
from fewlabels.errors import InputError, LabelError
from fewlabels.store.people import People
from tests.support.web import bearer, client_of, make_site, pool_of_texts

if TYPE_CHECKING:
    from pathlib import Path

ONE = "/api/v1/assessments/audit"


# --- one item, two labels; long ids; formulas


def test_two_labels_of_one_item_are_refused_and_the_same_twice_is_fine() -> None:
    site = make_site()
    with client_of(site) as client:
        item = client.post(f"{ONE}/ask", json={}, headers=bearer(site.ann)).json()["requests"][0]["id"]
        two = [{"id": item, "label": "class 0"}, {"id": item, "label": "class 1"}]
        for verb, who in (("tell", site.ann), ("decide", site.owner)):
            answer = client.post(f"{ONE}/{verb}", json={"labels": two}, headers=bearer(who))
            assert answer.status_code == 422
            assert "has two labels here, 'class 0' and 'class 1'" in answer.json()["error"]["message"]
        assert site.audit().labels() == {}
        assert client.post(f"{ONE}/tell", json={"labels": two[:1] * 2}, headers=bearer(site.ann)).status_code == 200


def test_ids_of_any_length_can_be_answered() -> None:
    ids = ["a" * 5000, "b" * 1001]
    pool = fl.read_pool({"id": ids, "predicted": ["x", "y"], "text": ["1", "2"]}, content="text")
    site = make_site(pool=pool)
    with client_of(site) as client:
        for one in client.post(f"{ONE}/ask", json={"n": 2}, headers=bearer(site.ann)).json()["requests"]:
            body = {"labels": [{"id": one["id"], "label": "x"}]}
            assert client.post(f"{ONE}/tell", json=body, headers=bearer(site.ann)).status_code == 200
    assert set(site.audit().labels()) == set(ids)


def test_formulas_in_ids_are_harmless_in_downloads_and_are_read_back(tmp_path: Path) -> None:
    ids, classes = ["=1+1", "@x", "plain", "'=1+2", "'tis"], ["-a", "b"]
    pool = fl.read_pool({"id": ids, "predicted": classes * 2 + classes[:1]}, classes=classes)
    site = make_site(pool=pool)
    audit = site.audit()
    audit.tell(dict.fromkeys(audit.ask(5, annotator="ann").ids, "-a"), annotator="ann")
    with client_of(site) as client:
        for what in ("labels", "log"):
            text = client.get(f"/download/{what}/audit", headers=bearer(site.owner)).text
            cells = [cell for line in text.removeprefix("\ufeff").splitlines() for cell in line.split(",")]
            assert not any(cell.startswith(("=", "@", "-a")) for cell in cells)
            if what == "labels":
                (tmp_path / "labels.csv").write_text(text)
    other = fl.create(None, "audit", pool)
    assert other.tell(tmp_path / "labels.csv", adopt=True) == 5
    assert other.labels() == audit.labels()
    both = fl.create(None, "audit", fl.read_pool({"id": ["=1", "'=1"], "predicted": ["a", "b"]}))
    with pytest.raises(LabelError, match="shows them alike"):
        both.tell({"'=1": "a"}, adopt=True)


# --- names


@pytest.mark.parametrize("name", [".", ".."])
def test_names_that_an_address_cannot_hold_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="cannot be the name of an assessment"):
        fl.create(None, name, pool_of_texts())


# --- greedy people


def test_nobody_holds_more_than_their_share() -> None:
    site = make_site()
    with client_of(site, held=5) as client:
        for _ in range(3):
            asked = client.post(f"{ONE}/ask", json={"n": 50}, headers=bearer(site.ann)).json()["requests"]
            assert len(asked) == 5
    assert len(site.audit().held("ann").ids) == 5


def test_one_person_cannot_skip_everything() -> None:
    site = make_site(pool=pool_of_texts(300))
    with client_of(site) as client:
        codes = []
        for _ in range(4):
            asked = client.post(f"{ONE}/ask", json={"n": 60}, headers=bearer(site.ann)).json()["requests"]
            for one in asked:
                body = {"ids": [one["id"]], "reason": "unclear"}
                codes.append(client.post(f"{ONE}/skip", json=body, headers=bearer(site.ann)).status_code)
        assert codes[:100] == [200] * 100
        assert set(codes[100:]) == {409}
        waiting = [item.id for item in site.audit().disputed()]
        assert len(waiting) == 100
        # Labels are taken all the same, and the owner's decisions make room.
        held = site.audit().held("ann").ids[0]
        said = {"labels": [{"id": held, "label": "class 0"}]}
        assert client.post(f"{ONE}/tell", json=said, headers=bearer(site.ann)).status_code == 200
        site.audit().decide(dict.fromkeys(waiting[:1], "class 1"), annotator="boss")
        body = {"ids": [site.audit().held("ann").ids[0]], "reason": "unclear"}
        assert client.post(f"{ONE}/skip", json=body, headers=bearer(site.ann)).status_code == 200


def test_the_owner_can_take_back_everything_of_one_person() -> None:
    site = make_site(overlap=2)
    audit = site.audit()
    for who in ("ann", "bob"):
        audit.tell(dict.fromkeys(audit.ask(4, annotator=who).ids, "class 0"), annotator=who)
    mine = audit.ask(3, annotator="ann").ids
    audit.skip(mine[:1], annotator="ann")
    assert len(audit.labels()) == 4
    with client_of(site) as client:
        body = {"name": "ann", "note": "pressed one key"}
        assert client.post(f"{ONE}/withdraw-person", json=body, headers=bearer(site.bob)).status_code == 403
        answer = client.post(f"{ONE}/withdraw-person", json=body, headers=bearer(site.owner))
        assert answer.json() == {"taken": 7}
        nothing = client.post(f"{ONE}/withdraw-person", json=body, headers=bearer(site.owner))
        assert nothing.status_code == 409
    audit = site.audit()
    assert audit.labels() == {}
    assert audit.held("ann").ids == []
    assert len(audit.answers("bob").columns["id"]) == 4  # nothing of anybody else
    assert set(audit.ask(7, annotator="cat").ids) >= set(mine)  # asked of others before any new item
    notes = [event.note for event in site.store.events("audit") if event.kind == "retract"]
    assert notes == ["taken back by boss: pressed one key"] * 5
    with pytest.raises(LabelError, match="no answers"):
        audit.withdraw_person("nobody")


# --- looking people up


def test_a_request_looks_up_one_person_and_the_next_none(monkeypatch: pytest.MonkeyPatch) -> None:
    site = make_site()
    looked: list[str] = []
    whole = People.who

    def counted(people: People, token: str) -> Any:
        looked.append(token)
        return whole(people, token)

    monkeypatch.setattr(People, "who", counted)
    monkeypatch.setattr(People, "list", lambda _: pytest.fail("reads everybody"))
    with client_of(site, remember=60.0) as client:
        for _ in range(5):
            assert client.get(f"{ONE}/classes", headers=bearer(site.ann)).status_code == 200
        assert looked == [site.ann]
        for _ in range(3):  # strangers are looked up each time: only who is known is remembered
            assert client.get("/api/v1/me", headers=bearer("wrong")).status_code == 401
        assert looked == [site.ann, *["wrong"] * 3]


@pytest.mark.slow
def test_who_is_locked_out_on_the_page_is_out_at_once_and_elsewhere_within_a_second() -> None:
    site = make_site()
    with client_of(site, remember=1.0) as client:
        assert client.get("/api/v1/me", headers=bearer(site.ann)).status_code == 200
        client.post("/api/v1/people/revoke", json={"name": "ann"}, headers=bearer(site.owner))
        assert client.get("/api/v1/me", headers=bearer(site.ann)).status_code == 401
        assert client.get("/api/v1/me", headers=bearer(site.bob)).status_code == 200
        People(site.store).revoke("bob")  # another process
        time.sleep(1.1)
        assert client.get("/api/v1/me", headers=bearer(site.bob)).status_code == 401
