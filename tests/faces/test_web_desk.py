"""Labelling, looking back, deciding, inviting and guiding: what the pages say, also to browsers without scripts."""

from __future__ import annotations

import re
from contextlib import contextmanager
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
import segno

import fewlabels as fl
from fewlabels.io.cards import with_card
from fewlabels.store.guides import Guides
from fewlabels.store.people import People
from fewlabels.web import Settings, create_app
from fewlabels.web.invitations import link_of
from tests.faces.test_web_rich import PAYLOADS
from tests.support.web import SCRIPT, Site, bearer, client_of, events_of, make_site, pool_of_texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.testclient import TestClient

ONE = "/api/v1/assessments/audit"


@contextmanager
def browser(site: Site, token: str, **settings: Any) -> Iterator[TestClient]:
    """A browser without scripts: cookies, pages and forms."""
    with client_of(site, **settings) as client:
        client.post("/sign-in", json={"token": token})
        client.headers["accept"] = "text/html"
        yield client


def fields(text: str, action: str) -> dict[str, str]:
    """The hidden fields of the first form with this action."""
    form = re.search(rf'<form[^>]*action="{re.escape(action)}".*?</form>', text, re.DOTALL)
    assert form is not None, action
    found = re.findall(r'<input type="hidden" name="([a-z]+)" value="([^"]*)">', form[0])
    return {name: unescape(value) for name, value in found}


def disputed_site(**spec: Any) -> Site:
    site = make_site(overlap=2, **spec)
    audit = site.audit()
    for who, label, note in (("ann", "class 0", None), ("bob", "class 1", "look at <b>it</b>")):
        audit.tell(dict.fromkeys(audit.ask(1, annotator=who).ids, label), annotator=who, note=note)
    return site


# --- forms


FORMS = {
    "/form/label/audit": {},
    "/form/answer/audit": {"id": "item-000", "label": "class 0"},
    "/form/decide/audit": {"id": "item-000", "label": "class 0"},
    "/form/guide/audit": {"guidelines": "x"},
    "/form/invite": {"name": "eve", "role": "owner"},
    "/form/invite-again": {"name": "ann"},
    "/form/revoke": {"name": "ann"},
}


@pytest.mark.parametrize("path", FORMS)
def test_a_form_of_another_site_is_refused(path: str) -> None:
    site = make_site()
    with browser(site, site.owner) as client:
        for csrf in ({}, {"csrf": ""}, {"csrf": "wrong"}):
            assert client.post(path, data={**FORMS[path], **csrf}).status_code == 403
            assert client.post(path, files={"a": b"b"}, data={**FORMS[path], **csrf}).status_code == 403
        assert client.post(path, json=FORMS[path]).status_code == 403  # neither a form nor with the header
        good = fields(client.get("/people").text, "/form/invite")
        foreign = {"sec-fetch-site": "cross-site"}
        assert client.post(path, data={**FORMS[path], **good}, headers=foreign).status_code == 403
    assert events_of(site) == []
    assert [person.name for person in People(site.store).list()] == ["boss", "ann", "bob"]
    assert Guides(site.store).of("audit").version == 0


@pytest.mark.parametrize("path", [path for path in FORMS if not path.startswith(("/form/label", "/form/answer"))])
def test_a_form_of_the_owner_is_not_for_annotators(path: str) -> None:
    site = make_site()
    with browser(site, site.ann) as client:
        csrf = fields(client.get("/label/audit").text, "/form/label/audit")
        assert client.post(path, data={**FORMS[path], **csrf}).status_code == 403
        assert client.get("/guide/audit").status_code == 403
    assert Guides(site.store).of("audit").version == 0


def test_signing_in_without_scripts() -> None:
    site = make_site()
    with client_of(site, attempts=3) as client:
        assert 'action="/sign-in/form"' in client.get("/").text
        wrong = client.post("/sign-in/form", data={"token": "wrong"})
        assert (wrong.status_code, "not valid" in wrong.text) == (401, True)
        foreign = {"sec-fetch-site": "cross-site"}
        assert client.post("/sign-in/form", data={"token": site.ann}, headers=foreign).status_code == 403
        answer = client.post("/sign-in/form", data={"token": f" http://x/sign-in#{site.ann} "}, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert site.ann not in answer.headers["set-cookie"]
        assert client.get("/api/v1/me").json()["name"] == "ann"
        for _ in range(4):
            last = client.post("/sign-in/form", data={"token": "wrong"})
        assert last.status_code == 429


def test_labelling_without_scripts() -> None:
    site = make_site()
    with browser(site, site.ann) as client:
        page = client.get("/label/audit").text
        first = client.post("/form/label/audit", data=fields(page, "/form/label/audit")).text
        sent = fields(first, "/form/label/audit")
        assert f"The text of item {int(sent['id'][-3:])}" in first
        wrong = client.post("/form/label/audit", data=sent | {"answer": "class 9", "note": "typed"}).text
        assert "class 9" in wrong
        assert ">typed</textarea>" in wrong  # nothing that was typed is lost
        assert fields(wrong, "/form/label/audit")["id"] == sent["id"]
        for _ in range(2):  # a browser that loads the page again sends the form again
            second = client.post("/form/label/audit", data=sent | {"answer": "class 1", "note": "hm"}).text
        skipped = fields(second, "/form/label/audit")
        assert skipped["id"] != sent["id"]
        client.post("/form/label/audit", data=skipped | {"skip": "yes", "note": "too dark"})
    assert site.audit().labels() == {sent["id"]: "class 1"}
    said = [event for event in events_of(site) if event[0] in {"label", "skip"}]
    assert said == [("label", sent["id"], "class 1", "ann"), ("skip", skipped["id"], None, "ann")]


def test_ones_own_answers_can_be_changed_and_nobody_elses_seen() -> None:
    site = make_site()
    audit = site.audit()
    for who, label in (("ann", "class 0"), ("bob", "class 3")):
        audit.tell(dict.fromkeys(audit.ask(2, annotator=who).ids, label), annotator=who, note=SCRIPT)
    mine, theirs = (audit.answers(who)["id"] for who in ("ann", "bob"))
    with browser(site, site.ann) as client:
        page = client.get("/answers/audit").text
        assert "<script>window" not in page
        assert all(item in page for item in mine)
        assert not any(item in page for item in theirs)
        sent = fields(page, "/form/answer/audit")
        assert sent["id"] == mine[0]
        changed = client.post("/form/answer/audit", data=sent | {"label": "class 2"})
        assert "Your answer was changed." in changed.text
        assert fields(changed.text, "/form/answer/audit")["note"] == SCRIPT  # a note stays with its item
        for item in (theirs[0], "item-999"):  # not theirs to answer
            assert client.post("/form/answer/audit", data=sent | {"id": item, "label": "class 2"}).status_code == 409
        site.audit().withdraw([mine[1]])
        assert client.post("/form/answer/audit", data=sent | {"id": mine[1], "label": "class 2"}).status_code == 409
    assert site.audit().labels()[mine[0]] == "class 2"


def test_deciding_shows_who_said_what_and_works_without_scripts() -> None:
    site = disputed_site()
    (item,) = [one.id for one in site.audit().disputed()]
    with browser(site, site.owner) as client:
        page = client.get("/decide/audit").text
        for label, who in (("class 0", "ann"), ("class 1", "bob")):
            said = re.search(rf'<button name="vote" value="{label}" class="disputed".*?</li>', page, re.DOTALL)
            assert said is not None
            assert f"<b>{who}</b>" in said[0]
        assert "look at &lt;b&gt;it&lt;/b&gt;" in page
        assert page.count('value="class 0"') == 1  # what is in dispute is not offered twice
        client.post("/form/decide/audit", data=fields(page, "/form/decide/audit") | {"label": "class 1"})
        assert "Nothing is waiting for you" in client.get("/decide/audit").text
        told = client.get(f"{ONE}/disputed").json()
    assert told == []
    assert site.audit().labels() == {item: "class 1"}


@pytest.mark.slow
def test_classes_that_nobody_named_fold_away_where_they_are_many() -> None:
    for classes, folded in ((8, False), (9, True)):
        site = make_site(pool=pool_of_texts(8, classes), overlap=2)
        audit = site.audit()
        for who, label in (("ann", "class 0"), ("bob", "class 1")):
            audit.tell(dict.fromkeys(audit.ask(1, annotator=who).ids, label), annotator=who)
        with browser(site, site.owner) as client:
            page = client.get("/decide/audit").text
        assert ("<summary>Another class</summary>" in page) == folded
        assert page.count('name="label" value="class') == classes - 2


def test_with_many_classes_enter_decides_what_was_typed_and_a_vote_what_was_pressed() -> None:
    site = make_site(pool=pool_of_texts(8, 30), overlap=2)
    audit = site.audit()
    for who, label in (("ann", "class 0"), ("bob", "class 1")):
        audit.tell(dict.fromkeys(audit.ask(2, annotator=who).ids, label), annotator=who)
    first, second = (one.id for one in audit.disputed())
    with browser(site, site.owner) as client:
        page = client.get("/decide/audit").text
        form = page[page.index('action="/form/decide/audit"') :]
        button = re.search(r"<button[^>]*>", form)
        assert button is not None
        assert "name=" not in button[0]  # Enter in the field presses the first button, which is no vote
        sent = fields(page, "/form/decide/audit") | {"label": ""}
        client.post("/form/decide/audit", data=sent | {"id": first, "label": "class 7"})
        client.post("/form/decide/audit", data=sent | {"id": second, "vote": "class 1"})
    assert site.audit().labels() == {first: "class 7", second: "class 1"}


# --- the guide


@pytest.mark.parametrize("classes", [4, 70])
def test_the_owner_writes_the_guide_and_annotators_see_it(classes: int) -> None:
    site = make_site(pool=pool_of_texts(8, classes))
    with browser(site, site.owner) as client:
        page = client.get("/guide/audit").text
        sent = fields(page, "/form/guide/audit")
        means = {"lines": "class 1,It is, one"} if classes > 60 else {"class-1": "It is, one"}
        saved = client.post("/form/guide/audit", data=sent | means | {"guidelines": "# Hi\r\n\r\nRead **it**."})
        assert "Saved." in saved.text
        stale = client.post("/form/guide/audit", data=sent | means | {"guidelines": "Mine & only mine"})
        assert stale.status_code == 400
        assert "boss has changed the guide" in unescape(stale.text)
        assert "Mine &amp; only mine" in stale.text  # what was typed comes back
        again = client.post("/form/guide/audit", data=fields(stale.text, "/form/guide/audit") | {"guidelines": "Mine"})
        assert again.status_code == 400  # and pressing Save again does not overwrite what somebody else wrote
    told = Guides(site.store).of("audit")
    assert (told.guidelines, told.descriptions, told.by) == ("# Hi\n\nRead **it**.", {"class 1": "It is, one"}, "boss")
    with browser(site, site.ann) as client:
        page = client.get("/label/audit").text
        assert "<h3>Hi</h3><p>Read <strong>it</strong>.</p>" in page
        found = client.get(f"{ONE}/classes").json()
        assert found["descriptions"] == {"class 1": "It is, one"}
        assert client.get(f"{ONE}/guide").json()["version"] == 1


def test_a_guide_by_the_api_is_checked() -> None:
    site = make_site()
    with client_of(site) as client:
        owner = bearer(site.owner)
        wrong = client.post(f"{ONE}/guide", json={"descriptions": {"class 9": "x"}}, headers=owner)
        assert wrong.status_code == 400
        assert "not a class of the pool" in wrong.json()["error"]["message"]
        assert client.post(f"{ONE}/guide", json={"guidelines": "x"}, headers=bearer(site.ann)).status_code == 403
        assert client.post(f"{ONE}/guide", json={"guidelines": "x", "over": 0}, headers=owner).json()["version"] == 1
        assert client.post(f"{ONE}/guide", json={"guidelines": "y", "over": 0}, headers=owner).status_code == 400
        assert client.post(f"{ONE}/guide", json={"guidelines": "x" * 100_001}, headers=owner).status_code == 422


def test_no_text_becomes_markup_on_any_page() -> None:
    """In contents, guidelines, descriptions, notes and reasons; also as Markdown, JSON and conversations."""
    site = disputed_site(pool=pool_of_texts(len(PAYLOADS), 3, PAYLOADS))
    audit = site.audit()
    audit.tell(dict.fromkeys(audit.ask(len(PAYLOADS), annotator="boss").ids, "class 1"), annotator="boss", note=SCRIPT)
    Guides(site.store).write(
        "audit", guidelines="\n\n".join(PAYLOADS), descriptions={"class 1": PAYLOADS[1], "class 2": PAYLOADS[4]}
    )
    usual = {"script": 1, "style": 0, "iframe": 0, "svg": 0, "object": 0}
    with browser(site, site.owner) as client:
        for path in ("label", "answers", "decide", "guide"):
            page = client.get(f"/{path}/audit").text
            tags = re.findall(r"<([a-z0-9]+)((?:\s[^<>]*)?)>", page)
            assert {tag: [one for one, _ in tags].count(tag) for tag in usual} == usual, path
            for _, attributes in tags:
                assert not re.search(r"\son\w+\s*=", re.sub(r'"[^"]*"', '""', attributes)), path
                for target in re.findall(r'(?:href|src|action)="([^"]*)"', attributes):
                    assert re.match(r"(/|#|https://|data:image/)", unescape(target)), (path, target)
            for link in re.findall(r'<a [^>]*href="https://[^>]*>', page):
                assert 'rel="noopener noreferrer' in link


# --- pictures


def test_a_card_shows_its_pictures_and_no_file_outside(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / "a.png").write_bytes(b"\x89PNG")
    (tmp_path / "secret.png").write_bytes(b"secret")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    paths = ["a.png", "../secret.png", str(tmp_path / "secret.png"), "link.png", "gone.png"]
    table = {
        "id": list("abcde"),
        "predicted": ["cat", "dog", "cat", "dog", "cat"],
        "image": paths,
        "caption": ["**Hm**"] * 5,
    }
    pool = with_card(fl.read_pool(table, columns=["image", "caption"]), ["image", "caption"])
    site = make_site(pool=pool)
    with client_of(site, content=folder) as client:
        asked = client.post(f"{ONE}/ask", json={"n": 5}, headers=bearer(site.ann)).json()["requests"]
        shown = {item["id"]: {part["name"]: part for part in item["parts"]} for item in asked}
        assert {item: parts["image"]["kind"] for item, parts in shown.items()} == dict.fromkeys("bcde", "text") | {
            "a": "image"
        }
        assert client.get(shown["a"]["image"]["value"], headers=bearer(site.ann)).content == b"\x89PNG"
        assert shown["a"]["image"]["alt"] == "a.png"
        assert shown["a"]["caption"]["rich"][0]["tag"] == "p"
        stolen = shown["a"]["image"]["value"].replace("id=a", "id=b")
        assert client.get(stolen, headers=bearer(site.ann)).status_code == 404
    with client_of(site, content=folder, plain=True) as client:
        parts = client.post(f"{ONE}/ask", json={"n": 1}, headers=bearer(site.ann)).json()["requests"][0]["parts"]
        assert "rich" not in parts[1]
    assert site.audit().item("a") == {"image": "a.png", "caption": "**Hm**"}


@pytest.mark.slow
def test_the_server_knows_which_pictures_nobody_would_see(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    for value, seen, unseen in (
        ("a.png", Settings(content=tmp_path), Settings()),
        ("https://x.org/a.png", Settings(image_hosts=("https://x.org",)), Settings(content=tmp_path)),
    ):
        table = {"predicted": ["x", "y"], "picture": [value] * 2}
        site = make_site(pool=fl.read_pool(table, columns=["picture"], content="picture"))
        assert create_app(site.store, seen).state.service.unseen("audit") is None
        assert create_app(site.store, unseen).state.service.unseen("audit") == value
    texts = make_site()
    assert create_app(texts.store, Settings()).state.service.unseen("audit") is None


def test_a_column_that_is_called_like_a_card_shows_its_own_text() -> None:
    table = {"predicted": ["x", "y"], "a": ["1", "2"], "b": ["3", "4"], "a+b": ["own", "a: 2\nb: 4"]}
    pool = fl.read_pool(table, columns=["a", "b", "a+b"], content="a+b")
    audit = fl.create(None, "odd", pool)
    assert audit.item("0") == {"a+b": "own"}


# --- invitations


def test_an_invitation_has_the_address_where_people_reach_the_server() -> None:
    here, near = "http://localhost:8000", "http://192.168.1.5:8000"
    named = "https://label.example.com/lab"
    assert link_of(Settings(address=named, nearby=near), "T", here, "/lab") == f"{named}/sign-in#T"
    assert link_of(Settings(nearby=near), "T", here, "") == f"{near}/sign-in#T"
    assert (
        link_of(Settings(nearby=near), "T", "https://proxy.example.com", "/x")
        == "https://proxy.example.com/x/sign-in#T"
    )
    assert link_of(Settings(), "T", here, "") == f"{here}/sign-in#T"
    for wrong in ("label.example.com", "javascript:alert(1)", "https://a b", "https://x.org/#a"):
        with pytest.raises(fl.errors.InputError, match="is not one of a server"):
            Settings(address=wrong)


def test_an_invitation_has_its_link_as_a_qr_code() -> None:
    site = make_site()
    with client_of(site) as client:
        body = {"name": "zoë", "origin": "http://testserver"}
        made = client.post("/api/v1/people", json=body, headers=bearer(site.owner)).json()
        assert made["link"] == f"http://testserver/sign-in#{made['token']}"
        assert made["qr"] == segno.make(made["link"], micro=False).svg_data_uri(
            scale=4, border=3, dark="#000", light="#fff"
        )
        for wrong in ("javascript:alert(1)", "https://x/y", "https://x#y", "ftp://x"):
            body = {"name": "eve", "origin": wrong}
            assert client.post("/api/v1/people", json=body, headers=bearer(site.owner)).status_code == 422


def test_people_without_scripts_and_a_new_link() -> None:
    site = make_site()
    with browser(site, site.owner) as client:
        page = client.get("/people").text
        csrf = fields(page, "/form/invite")
        made = client.post("/form/invite", data=csrf | {"name": "zoë", "role": "annotator"}).text
        link = re.search(r'id="link"[^>]*value="http://testserver/sign-in#([^"]+)"', made)
        assert link is not None
        assert 'src="data:image/svg+xml' in made
        assert People(site.store).who(link[1]) is not None
        twice = client.post("/form/invite", data=csrf | {"name": "zoë", "role": "owner"})
        assert (twice.status_code, "already been invited" in twice.text) == (409, True)
        again = client.post("/form/invite-again", data=csrf | {"name": "zoë"}).text
        renewed = re.search(r'id="link"[^>]*value="[^#]*#([^"]+)"', again)
        assert renewed is not None
        people = People(site.store)
        assert (people.who(link[1]), people.who(renewed[1]).name) == (None, "zoë")
        client.post("/form/revoke", data=csrf | {"name": "zoë"})
        assert people.who(renewed[1]) is None
        assert client.post("/form/invite-again", data=csrf | {"name": "nobody"}).status_code == 409
        for path in ("/form/invite-again", "/form/revoke"):
            assert client.post(path, data=csrf | {"name": "x" * 101}).status_code == 422


def test_owners_who_renew_their_own_link_stay_signed_in_here_and_nowhere_else() -> None:
    site = make_site()
    with browser(site, site.owner) as other, browser(site, site.owner) as client:
        csrf = fields(client.get("/people").text, "/form/invite")
        page = client.post("/form/invite-again", data=csrf | {"name": "boss"}).text
        assert client.get("/people").status_code == 200
        csrf = fields(page, "/form/invite")  # of the new session
        assert client.post("/form/invite", data=csrf | {"name": "zoë", "role": "annotator"}).status_code == 200
        assert other.get("/people", follow_redirects=False).status_code == 303
    assert People(site.store).who(site.owner) is None


def test_a_page_that_only_this_computer_reaches_says_so() -> None:
    site = make_site()
    here, words = bearer(site.owner) | {"host": "localhost:8000"}, "works on this computer only"
    with client_of(site) as client:
        assert words not in client.get("/people", headers=bearer(site.owner)).text
        assert words in client.get("/people", headers=here).text
    with client_of(site, nearby="http://192.168.1.5:8000") as client:
        assert words not in client.get("/people", headers=here).text


def test_the_labelling_page_says_when_the_planned_labels_are_there() -> None:
    site = make_site(stop=fl.Stop(labels=3))
    with browser(site, site.ann) as client:
        assert "planned" not in client.get("/label/audit").text
        audit = site.audit()
        audit.tell(dict.fromkeys(audit.ask(3).ids, audit.pool.classes[0]))
        assert "The goal of 3 labels is reached." in client.get("/label/audit").text


def test_disputes_are_said_to_count_where_votes_are_weighed() -> None:
    for noisy, words in ((False, "Until then they have no label."), (True, "count already")):
        site = disputed_site(noisy=noisy)
        with browser(site, site.owner) as client:
            assert words in client.get("/decide/audit").text
