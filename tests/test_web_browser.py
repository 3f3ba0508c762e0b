"""The pages in a real browser, against a real server: what an annotator and an owner do, and what may go wrong."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from typing import TYPE_CHECKING

import pytest

import fewlabels as fl
from tests.web import SCRIPT, Site, events_of, make_site, pool_of_texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(
    BROWSER is None and not os.environ.get("FEWLABELS_BROWSER"), reason="there is no Chromium on this machine"
)
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
QUIET += ["--disable-sync", "--no-first-run", "--disable-quic"]
PATIENCE = 20_000  # milliseconds


class Server:
    """`fewlabels serve` in a process of its own, which can be killed and started again."""

    def __init__(self, database: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._database = database
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, "-m", "fewlabels", "serve", str(self._database), "--port", str(self.port)]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{self.address}/healthz", timeout=1).close()
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise AssertionError("the server did not start")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=BROWSER, args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture
def site(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    made = make_site(tmp_path / "audit.db", **getattr(request, "param", {}))
    yield made
    made.store.close()


@pytest.fixture
def server(site: Site, tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path / "audit.db")
    running.start()
    yield running
    running.kill()


def open_page(browser: Browser, server: Server, token: str, **options: object) -> Page:
    """Follow a personal link in a browser of one's own; every error of a script fails the test."""
    page = browser.new_context(**options).new_page()
    page.set_default_timeout(PATIENCE)
    page.on("pageerror", lambda error: pytest.fail(f"an error on the page: {error}"))
    page.goto(f"{server.address}/#{token}")
    return page


def labelling(browser: Browser, server: Server, token: str, **options: object) -> Page:
    page = open_page(browser, server, token, **options)
    page.wait_for_url("**/label/**")
    page.wait_for_selector("#item >> visible=true")
    return page


def all_saved(page: Page) -> None:
    page.wait_for_selector('#saved[data-waiting="0"]')


def item_shown(page: Page) -> str:
    """The id of the item on the page, by its text; on a busy machine the next may take a moment."""
    page.wait_for_selector("#item >> visible=true")
    number = int(page.inner_text("#item").split()[-1])
    return f"item-{number:03}"


def test_twenty_items_by_keyboard(browser: Browser, site: Site, server: Server) -> None:
    page = labelling(browser, server, site.ann)
    assert site.ann not in page.url
    assert "#" not in page.url
    said = {}
    for i in range(20):
        item = item_shown(page)
        assert item not in said  # never the same again
        said[item] = f"class {i % 4}"
        page.keyboard.press(str(1 + i % 4))
        page.wait_for_function("n => document.getElementById('done').textContent.startsWith(n)", arg=str(i + 1))
    all_saved(page)
    assert site.audit().labels() == said
    assert {who for kind, _, _, who in events_of(site) if kind == "label"} == {"ann"}
    shown = page.content()
    assert "predicted" not in shown
    assert "undisclosed" not in shown


def test_undo_skip_and_note(browser: Browser, site: Site, server: Server) -> None:
    page = labelling(browser, server, site.ann)
    first = item_shown(page)
    page.keyboard.press("1")
    page.wait_for_function("() => document.getElementById('done').textContent.startsWith('1')")
    page.keyboard.press("u")
    assert item_shown(page) == first
    assert page.inner_text(".choices .chosen") == "1\nclass 0" or "class 0" in page.inner_text(".choices .chosen")
    page.keyboard.press("n")
    page.keyboard.type("looks like two")
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    second = item_shown(page)
    page.keyboard.press("s")
    page.keyboard.press("2")
    third = item_shown(page)
    assert len({first, second, third}) == 3
    page.keyboard.press("s")
    page.fill("#other", "it is empty")
    page.keyboard.press("Enter")
    all_saved(page)
    assert site.audit().labels() == {first: "class 1"}
    notes = {(event.kind, event.item): event.note for event in site.store.events("audit")}
    assert notes["label", first] == "looks like two"
    assert notes["skip", second] == "not in the list"
    assert notes["skip", third] == "it is empty"
    page.keyboard.press("Backspace")  # takes back the last skip
    all_saved(page)
    assert item_shown(page) == third
    assert {one.id for one in site.audit().disputed()} == {second}


@pytest.mark.parametrize("site", [{"pool": pool_of_texts(20, 1000)}], indirect=True)
def test_search_among_a_thousand_classes(browser: Browser, site: Site, server: Server) -> None:
    page = labelling(browser, server, site.ann)
    item = item_shown(page)
    page.keyboard.type("class 77")  # class 77, class 770, ...
    page.wait_for_selector("[role=option]")
    options = page.locator("[role=option]").all_inner_texts()
    assert options[0] == "class 77"
    assert "class 770" in options
    page.keyboard.press("ArrowDown")
    chosen = page.inner_text("[aria-selected=true]")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.getElementById('done').textContent.startsWith('1')")
    other = item_shown(page)
    page.keyboard.type("999")
    page.keyboard.press("Enter")
    page.keyboard.type("no such thing")
    page.wait_for_selector("text=No class has that in its name")
    all_saved(page)
    assert site.audit().labels() == {item: chosen, other: "class 999"}


def test_two_annotators_at_once_never_get_the_same_item(browser: Browser, site: Site, server: Server) -> None:
    pages = [labelling(browser, server, token) for token in (site.ann, site.bob)]
    for _ in range(6):
        assert item_shown(pages[0]) != item_shown(pages[1])
        for page in pages:
            page.keyboard.press("1")
            page.wait_for_timeout(30)
    for page in pages:
        all_saved(page)
    people = {row["annotator"]: row["labels"] for row in site.audit().by_person().rows()}
    assert people == {"ann": 6, "bob": 6}
    assert len(site.audit().labels()) == 12


def test_nothing_is_lost_when_the_server_is_killed(browser: Browser, site: Site, server: Server) -> None:
    page = labelling(browser, server, site.ann)
    said = {}
    for i in range(6):
        if i == 2:
            server.kill()
        if not page.is_visible("#item"):
            break  # what was fetched ahead is used up
        said[item_shown(page)] = "class 2"
        page.keyboard.press("3")
        page.wait_for_timeout(50)
    assert len(said) >= 4  # two before, and those that were there already
    assert int(page.get_attribute("#saved", "data-waiting") or 0) >= 2
    assert len(site.audit().labels()) == 2
    page.once("dialog", lambda dialog: dialog.accept())
    server.start()
    page.reload()  # what waits survives that as well
    page.wait_for_selector("#item >> visible=true")
    all_saved(page)
    labels = [(item, label) for kind, item, label, _ in events_of(site) if kind == "label"]
    assert sorted(labels) == sorted(said.items())  # each once
    assert item_shown(page) not in said


def test_an_answer_whose_yes_was_lost_is_not_counted_twice(browser: Browser, site: Site, server: Server) -> None:
    page = labelling(browser, server, site.ann)
    lost = []

    def swallow(route: object) -> None:
        if lost:
            route.continue_()  # type: ignore[attr-defined]
        else:
            lost.append(route.fetch())  # type: ignore[attr-defined]
            route.abort()  # type: ignore[attr-defined]

    page.route("**/tell", swallow)
    page.keyboard.press("1")
    all_saved(page)
    assert lost[0].status == 200
    assert [kind for kind, *_ in events_of(site)].count("label") == 1


def test_what_the_server_refuses_is_shown_not_dropped(browser: Browser, site: Site, server: Server) -> None:
    page = labelling(browser, server, site.ann)
    item = item_shown(page)

    def refuse(route: object) -> None:
        route.fulfill(status=409, json={"error": {"code": "conflict", "message": "gone"}})  # type: ignore[attr-defined]

    page.route("**/tell", refuse, times=1)
    page.keyboard.press("2")
    page.wait_for_selector("#refused >> visible=true")
    assert f"{item}: class 1 (gone)" in page.inner_text("#refused-list")
    page.reload()
    page.wait_for_selector("#refused >> visible=true")
    page.click("#forget")
    assert not page.is_visible("#refused")


@pytest.mark.parametrize("site", [{"task": fl.Identify(fl.Accuracy(), lowest=1)}], indirect=True)
def test_the_dashboard_updates_by_itself(browser: Browser, site: Site, server: Server) -> None:
    page = open_page(browser, server, site.owner)
    page.click("text=Dashboard")
    page.wait_for_selector(".tile >> text=labels")
    assert page.inner_text(".tile b >> nth=0") == "0"
    assert page.locator("svg[role=img]").count() >= 2
    page.wait_for_selector("[data-part=forecast] p")
    audit = site.audit()
    audit.tell(dict.fromkeys(audit.ask(7).ids, "class 0"))
    page.wait_for_function("() => document.querySelector('.tile b').textContent === '7'")
    skipped = audit.ask(1, annotator="ann").ids
    audit.skip(skipped, annotator="ann")
    page.click('a:has-text("wait for you")')
    page.click('button:has-text("class 3")')
    page.wait_for_selector("text=Decided: class 3.")
    assert site.audit().labels()[skipped[0]] == "class 3"


def test_owner_invites_and_the_link_works(browser: Browser, site: Site, server: Server) -> None:
    page = open_page(browser, server, site.owner)
    page.click("text=People")
    page.fill("[name=name]", "zoë")
    page.click('button:has-text("Invite")')
    page.wait_for_selector("#invited >> visible=true")
    link = page.input_value("#link")
    assert link.startswith(f"{server.address}/#")
    other = labelling(browser, server, link.split("#")[1])
    other.keyboard.press("1")
    all_saved(other)
    assert site.audit().by_person()["annotator"] == ["zoë"]
    other.click("text=Sign out")
    other.wait_for_selector("#sign-in")
    other.fill("#token", "wrong")
    other.keyboard.press("Enter")
    other.wait_for_selector("#said:not(:empty)")
    assert "not valid" in other.inner_text("#said")


@pytest.mark.parametrize("site", [{"pool": pool_of_texts(4, 3, [SCRIPT] * 4), "overlap": 2}], indirect=True)
def test_a_pool_with_scripts_in_it_runs_none(browser: Browser, site: Site, server: Server) -> None:
    page = labelling(browser, server, site.ann)
    assert SCRIPT in page.inner_text("#item")
    assert page.evaluate("window.hacked") is None
    audit = site.audit()
    audit.skip(audit.held("ann").ids, reason=SCRIPT, annotator="ann")
    audit.skip(audit.ask(4, annotator="bob").ids, reason=SCRIPT, annotator="bob")
    boss = open_page(browser, server, site.owner)
    for path in ("decide/audit", "dashboard/audit"):
        boss.goto(f"{server.address}/{path}")
        boss.wait_for_timeout(500)
        assert boss.evaluate("window.hacked") is None


def test_a_phone_can_be_used_by_touch(browser: Browser, site: Site, server: Server) -> None:
    page = labelling(
        browser, server, site.ann, viewport={"width": 390, "height": 800}, has_touch=True, color_scheme="dark"
    )
    item = item_shown(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    for button in page.locator(".choices button").all():
        box = button.bounding_box()
        assert box is not None
        assert box["height"] >= 44  # a finger
    page.tap('button:has-text("class 2")')
    all_saved(page)
    assert site.audit().labels() == {item: "class 2"}
