"""The pages in a real browser, against a real server: what an annotator and an owner do, and what may go wrong."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

import fewlabels as fl
from fewlabels.people import People
from fewlabels.store import Store
from tests.web import SCRIPT, Site, events_of, pool_of_texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page, Route

BROWSER = (
    os.environ.get("FEWLABELS_BROWSER")
    or shutil.which("chromium")
    or shutil.which("chromium-browser")
    or shutil.which("google-chrome")
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on this machine")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
QUIET += ["--disable-sync", "--no-first-run", "--disable-quic"]
PATIENCE = 60_000  # milliseconds: on a busy machine a page takes its time
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d4944415478da63fccfc0500f00048401803d2b6e8b0000000049454e44ae426082"
)


class Server:
    """`fewlabels serve` in a process of its own, which can be killed and started again."""

    def __init__(self, database: Path, content: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._command = [sys.executable, "-m", "fewlabels", "serve", str(database), "--content", str(content)]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._process = subprocess.Popen([*self._command, "--port", str(self.port)], stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{self.address}/healthz", timeout=5).close()
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

    def ends(self) -> int:
        """Ask it to end, as Ctrl-C and every service manager do; how it ended."""
        assert self._process is not None
        self._process.terminate()
        code = self._process.wait(timeout=60)  # with a live view that kept it up, ten minutes
        self._process = None
        return code


@dataclass
class House:
    """One server for all tests, over a database in which each test makes an assessment of its own."""

    store: Store
    server: Server
    browser: Browser
    tokens: dict[str, str]
    opened: list[BrowserContext] = field(default_factory=list)

    def link(self, token: str) -> str:
        return f"{self.server.address}/sign-in#{token}"

    def come(self, token: str, path: str = "/", **options: Any) -> Page:
        """Follow a personal link in a browser of one's own; every error of a script fails the test."""
        context = self.browser.new_context(**options)
        context.set_default_timeout(PATIENCE)
        self.opened.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: pytest.fail(f"an error on the page: {error}"))
        page.goto(self.link(token))
        page.wait_for_selector("header .right")
        page.goto(self.server.address + path)
        return page

    def label(self, site: Site, token: str, **options: Any) -> Page:
        """The labelling page of somebody, with an item on it."""
        page = self.come(token, f"/label/{quote(site.name, safe='')}", **options)
        page.wait_for_selector("#item >> visible=true")
        return page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=BROWSER, args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def built(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("web")
    (folder / "content").mkdir()
    (folder / "content" / "a b#%.png").write_bytes(PNG)
    store = Store(folder / "audit.db")
    people = People(store)
    tokens = {name: people.invite(name, "owner" if name == "boss" else "annotator") for name in ("boss", "ann", "bob")}
    fl.create(store, "another", pool_of_texts(4, 2))  # so that "/" is always the list
    server = Server(folder / "audit.db", folder / "content")
    server.start()
    yield House(store, server, browser, tokens)
    server.kill()
    store.close()


@pytest.fixture
def house(built: House) -> Iterator[House]:
    yield built
    for context in built.opened:
        context.close()
    built.opened.clear()


@pytest.fixture
def site(house: House, request: pytest.FixtureRequest) -> Site:
    """An assessment of the test's own, named after it."""
    spec = dict(getattr(request, "param", {}))
    name = spec.pop("name", request.node.name)
    fl.create(house.store, name, spec.pop("pool", None) or pool_of_texts(), **spec)
    return Site(house.store, name, house.tokens["boss"], house.tokens["ann"], house.tokens["bob"])


def all_saved(page: Page) -> None:
    page.wait_for_selector('#saved[data-waiting="0"]')


def has_done(page: Page, n: int) -> None:
    page.wait_for_function("n => document.getElementById('done').textContent === `${n} answered`", arg=n)


def item_shown(page: Page) -> str:
    """The id of the item on the page, by its text; on a busy machine the next may take a moment."""
    page.wait_for_selector("#item >> visible=true")
    number = int(page.inner_text("#item").split()[-1])
    return f"item-{number:03}"


def answer(page: Page, key: str, n: int) -> str:
    """Answer the item shown by a key, as the n-th on this page; which item it was."""
    item = item_shown(page)
    page.keyboard.press(key)
    has_done(page, n)
    return item


def test_twenty_items_by_keyboard(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    assert site.ann not in page.url
    assert "#" not in page.url
    said = {}
    for i in range(20):
        item = answer(page, str(1 + i % 4), i + 1)
        assert item not in said  # never the same again
        said[item] = f"class {i % 4}"
    all_saved(page)
    assert site.audit().labels() == said
    assert {who for kind, _, _, who in events_of(site) if kind == "label"} == {"ann"}
    shown = page.content()
    assert "predicted" not in shown
    assert "undisclosed" not in shown


def test_undo_skip_and_note(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    first = answer(page, "1", 1)
    page.keyboard.press("u")
    has_done(page, 0)
    assert item_shown(page) == first
    assert "class 0" in page.inner_text(".choices .chosen")
    page.keyboard.press("n")
    page.keyboard.type("looks like two")
    page.keyboard.press("Escape")
    answer(page, "2", 1)
    second = item_shown(page)
    page.keyboard.press("s")
    page.keyboard.press("2")
    has_done(page, 2)
    third = item_shown(page)
    assert len({first, second, third}) == 3
    page.keyboard.press("s")
    page.fill("#other", "it is empty")
    page.keyboard.press("Enter")
    has_done(page, 3)
    all_saved(page)
    assert site.audit().labels() == {first: "class 1"}
    notes = {(event.kind, event.item): event.note for event in site.store.events(site.name)}
    assert notes["label", first] == "looks like two"
    assert notes["skip", second] == "not in the list"
    assert notes["skip", third] == "it is empty"
    page.keyboard.down("Backspace")  # takes back the last skip,
    page.keyboard.down("Backspace")  # and a key held down is one undo
    page.keyboard.up("Backspace")
    has_done(page, 2)
    all_saved(page)
    assert item_shown(page) == third
    assert {one.id for one in site.audit().disputed()} == {second}


def test_undo_reaches_behind_a_reload(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    first, second = answer(page, "1", 1), answer(page, "2", 2)
    all_saved(page)
    page.reload()
    for item, said in ((second, "class 1"), (first, "class 0")):
        page.wait_for_selector("#item >> visible=true")
        page.keyboard.press("u")
        page.wait_for_selector(f"#heard:text('{said}')", state="attached")
        assert item_shown(page) == item
        all_saved(page)
    assert site.audit().labels() == {}
    page.keyboard.press("u")
    page.wait_for_selector("#heard:text('nothing to take back')", state="attached")


@pytest.mark.parametrize("site", [{"pool": pool_of_texts(20, 1000), "name": "thousand"}], indirect=True)
def test_search_among_a_thousand_classes(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    item = item_shown(page)
    page.keyboard.type("class 77")  # class 77, class 770, ...
    page.wait_for_selector("[role=option]")
    options = page.locator("[role=option]").all_inner_texts()
    assert options[0] == "class 77"
    assert "class 770" in options
    page.keyboard.press("ArrowDown")
    chosen = page.inner_text("[aria-selected=true]")
    page.keyboard.press("Enter")
    has_done(page, 1)
    other = item_shown(page)
    page.keyboard.type("999")
    page.keyboard.press("Enter")
    has_done(page, 2)
    page.keyboard.type("no such thing")
    page.wait_for_selector("text=No class has that in its name")
    page.keyboard.press("Escape")  # clears
    page.keyboard.press("Escape")  # leaves, so that keys are keys
    page.keyboard.press("s")
    page.keyboard.press("2")
    has_done(page, 3)
    all_saved(page)
    assert site.audit().labels() == {item: chosen, other: "class 999"}
    assert len(site.audit().disputed()) == 1


def test_two_annotators_at_once_never_get_the_same_item(house: House, site: Site) -> None:
    pages = [house.label(site, token) for token in (site.ann, site.bob)]
    seen = [answer(page, "1", n) for n in range(1, 7) for page in pages]
    for page in pages:
        all_saved(page)
    assert len(set(seen)) == 12
    people = {row["annotator"]: row["labels"] for row in site.audit().by_person().rows()}
    assert people == {"ann": 6, "bob": 6}
    assert len(site.audit().labels()) == 12


def test_two_tabs_of_one_person_share_the_work(house: House, site: Site) -> None:
    one = house.label(site, site.ann)
    other = one.context.new_page()
    other.goto(one.url)
    assert item_shown(other) == item_shown(one)  # what is open comes first, in each tab
    seen = [answer(one, "1", 1)]
    other.wait_for_function(
        "text => document.getElementById('item').innerText !== text", arg=f"The text of item {int(seen[0][-3:])}"
    )
    seen += [answer(other, "2", 1), answer(one, "3", 2), answer(other, "4", 2)]
    all_saved(one)
    all_saved(other)
    assert len(set(seen)) == 4
    assert site.audit().labels() == {item: f"class {k}" for k, item in enumerate(seen)}


def test_nothing_is_lost_when_the_server_is_killed(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    said = [answer(page, "3", n) for n in (1, 2)]
    all_saved(page)
    house.server.kill()
    try:
        n = 2
        while page.is_visible("#item") and n < 6:
            n += 1
            said.append(answer(page, "3", n))
        assert n >= 4  # those that were there already
        page.wait_for_selector(f'#saved.warn[data-waiting="{n - 2}"]')
        assert len(site.audit().labels()) == 2
    finally:
        house.server.start()
    page.once("dialog", lambda dialog: dialog.accept())
    page.reload()  # what waits survives that as well
    page.wait_for_selector("#item >> visible=true")
    all_saved(page)
    labels = [(item, label) for kind, item, label, _ in events_of(site) if kind == "label"]
    assert sorted(labels) == sorted((item, "class 2") for item in said)  # each once
    assert item_shown(page) not in said


def test_without_a_network_the_page_waits_and_goes_on_by_itself(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    calls: list[str] = []
    page.on("request", lambda request: calls.append(request.url))
    page.context.set_offline(offline=True)
    n = 0
    while page.is_visible("#item"):
        n += 1
        answer(page, "1", n)
    page.wait_for_selector("#trouble >> visible=true")
    before = len(calls)
    page.wait_for_timeout(2500)
    assert len(calls) - before <= 6  # it tries now and then, and no more
    page.context.set_offline(offline=False)
    page.wait_for_selector("#item >> visible=true")
    all_saved(page)
    assert len(site.audit().labels()) == n >= 3


def test_an_answer_whose_yes_was_lost_counts_once_and_can_be_taken_back(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    lost = []

    def swallow(route: Route) -> None:
        lost.append(route.fetch())
        route.abort()

    page.route("**/tell", swallow, times=1)
    first = answer(page, "1", 1)
    all_saved(page)
    assert lost[0].status == 200
    assert [kind for kind, *_ in events_of(site)].count("label") == 1
    page.route("**/tell", swallow, times=1)
    answer(page, "2", 2)
    page.wait_for_selector("#saved.warn")
    page.keyboard.press("u")  # the server has it, and the page does not know
    has_done(page, 1)
    all_saved(page)
    assert site.audit().labels() == {first: "class 0"}


def test_what_the_server_refuses_is_shown_not_dropped(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    refusal = {"error": {"code": "conflict", "message": "gone"}}
    page.route("**/tell", lambda route: route.fulfill(status=409, json=refusal), times=1)
    item = answer(page, "2", 1)
    page.wait_for_selector("#refused >> visible=true")
    assert f"{item}: class 1 (gone)" in page.inner_text("#refused-list")
    page.reload()
    page.wait_for_selector("#refused >> visible=true")
    page.click("#forget")
    page.wait_for_selector("#refused", state="hidden")


def test_unsent_answers_stay_their_owners(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    page.route("**/tell", lambda route: route.abort())
    mine = answer(page, "1", 1)
    page.on("dialog", lambda dialog: dialog.accept())  # "leave the page?"
    page.click("text=Sign out")
    page.wait_for_selector("#sign-in")
    page.unroute("**/tell")
    page.goto(house.link(site.bob))
    page.wait_for_selector("header .right")
    page.goto(f"{house.server.address}/label/{site.name}")
    theirs = answer(page, "2", 1)
    all_saved(page)
    assert site.audit().labels() == {theirs: "class 1"}
    page.goto(house.link(site.ann))
    page.wait_for_selector("header .right")
    page.goto(f"{house.server.address}/label/{site.name}")
    page.wait_for_selector("#item >> visible=true")
    all_saved(page)
    said = {(item, label, who) for kind, item, label, who in events_of(site) if kind == "label"}
    assert said == {(theirs, "class 1", "bob"), (mine, "class 0", "ann")}


def test_a_link_is_its_persons_whoever_was_signed_in(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    other = page.context.new_page()
    other.goto(house.link(site.bob))
    other.wait_for_selector("header .right")
    assert site.bob not in other.url
    assert other.inner_text("header .right").startswith("bob")
    answer(page, "1", 1)  # on the page that is still ann's
    page.wait_for_selector("#saved:text('You were signed out')")
    assert [event for event in events_of(site) if event[0] == "label"] == []


def test_locked_out_in_the_middle_and_back_with_a_new_link(house: House, site: Site) -> None:
    people = People(house.store)
    page = house.label(site, people.invite("eve"))
    people.revoke("eve")
    item = answer(page, "1", 1)
    page.wait_for_selector("#saved:text('You were signed out')")
    assert site.audit().labels() == {}
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto(house.link(people.invite("eve")))
    page.wait_for_selector("header .right")
    page.goto(f"{house.server.address}/label/{site.name}")
    page.wait_for_selector("#item >> visible=true")
    all_saved(page)
    assert site.audit().labels() == {item: "class 0"}


@pytest.mark.parametrize("site", [{"pool": pool_of_texts(3, 3), "name": "small"}], indirect=True)
def test_an_empty_pool_is_said_and_looked_at_now_and_then(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    for n in (1, 2, 3):
        answer(page, "1", n)
    page.wait_for_selector("#empty >> visible=true")
    all_saved(page)
    calls: list[str] = []
    page.on("request", lambda request: calls.append(request.url))
    page.wait_for_timeout(2000)
    assert len(calls) <= 2
    page.keyboard.press("u")  # the last answer can be taken back all the same
    has_done(page, 2)
    assert page.is_visible("#item")


def test_who_was_away_for_longer_than_a_lease_gets_other_items(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    page.clock.install()
    audit = site.audit()
    gone = set(audit.held("ann").ids)
    audit.expire(0)
    assert set(audit.ask(len(gone), annotator="bob").ids) == gone  # they went to bob
    page.clock.set_fixed_time(time.time() + 2 * 900)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # ann is back
    page.wait_for_function(
        "gone => !gone.includes(Number(document.getElementById('item').innerText.split(' ').at(-1)))",
        arg=[int(item[-3:]) for item in gone],
    )
    assert item_shown(page) not in gone


ODD = 'a b/ü#%25?&"</live'


@pytest.mark.parametrize(
    "site",
    [
        {
            "name": ODD,
            "pool": fl.read_pool(
                {"id": [f"{k} %/#?&é'\"<b>" for k in range(3)], "scores": [[0.9, 0.1]] * 3, "file": ["a b#%.png"] * 3},
                columns=["file"],
                content="file",
            ),
        }
    ],
    indirect=True,
)
def test_odd_names_odd_ids_and_images(house: House, site: Site) -> None:
    page = house.label(site, site.owner)  # an owner can label too
    page.wait_for_function("() => document.querySelector('#item img')?.naturalWidth === 1")
    page.keyboard.press("1")
    has_done(page, 1)
    page.keyboard.press("s")
    page.keyboard.press("1")
    has_done(page, 2)
    all_saved(page)
    page.click("text=Dashboard")
    page.wait_for_selector(".tile b:text-is('1')")
    with page.expect_download() as download:
        page.click("a:text-is('Labels')")
    (line,) = download.value.path().read_text().splitlines()[1:]
    assert line.endswith(",0")
    page.click("a:text('wait for you')")
    page.wait_for_function("() => document.querySelector('form img')?.naturalWidth === 1")
    page.click("form >> button:text-is('1')")
    page.wait_for_selector("text=Decided: 1.")
    assert sorted(site.audit().labels().values()) == ["0", "1"]


@pytest.mark.parametrize("site", [{"task": fl.Identify(fl.Accuracy(), lowest=1), "name": "live view"}], indirect=True)
def test_the_dashboard_updates_by_itself(house: House, site: Site) -> None:
    page = house.come(site.owner, f"/dashboard/{quote(site.name)}")
    page.wait_for_selector(".tile >> text=labels")
    assert page.inner_text(".tile b >> nth=0") == "0"
    assert page.locator("svg[role=img]").count() >= 2
    audit = site.audit()
    audit.tell(dict.fromkeys(audit.ask(7).ids, "class 0"))
    page.wait_for_function("() => document.querySelector('.tile b').textContent === '7'")
    page.wait_for_selector("[data-part=forecast] p", timeout=3 * PATIENCE)  # the first one may have to compile


@pytest.mark.parametrize("site", [{"overlap": 2, "name": "two votes"}], indirect=True)
def test_the_owner_decides_by_keyboard_and_may_think_again(house: House, site: Site) -> None:
    audit = site.audit()
    for who, label in (("ann", "class 0"), ("bob", "class 1")):
        audit.tell(dict.fromkeys(audit.ask(2, annotator=who).ids, label), annotator=who)
    page = house.come(site.owner, f"/decide/{quote(site.name)}")
    first, second = (one.id for one in audit.disputed())
    assert page.inner_text("#left") == "2"
    page.get_by_role("form", name=first).get_by_role("button", name="class 2").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Decided: class 2.")
    assert page.inner_text("#left") == "1"
    page.keyboard.press("Enter")  # the next item has the focus, on its first class
    page.wait_for_selector("text=Decided: class 0.")
    page.get_by_role("form", name=first).get_by_role("button", name="class 3").click()
    page.wait_for_selector("text=Decided: class 3.")
    assert page.inner_text("#left") == "0"
    assert site.audit().labels() == {first: "class 3", second: "class 0"}


def test_owner_invites_and_the_link_works(house: House, site: Site) -> None:
    page = house.come(site.owner, "/people")
    page.fill("[name=name]", "zoë")
    page.click('button:has-text("Invite")')
    page.wait_for_selector("#invited >> visible=true")
    link = page.input_value("#link")
    assert link.startswith(house.link(""))
    other = house.label(site, link.split("#")[1])
    answer(other, "1", 1)
    all_saved(other)
    assert site.audit().by_person()["annotator"] == ["zoë"]
    other.click("text=Sign out")
    other.wait_for_selector("#sign-in")
    other.fill("#token", "wrong")
    other.keyboard.press("Enter")
    other.wait_for_selector("#said:not(:empty)")
    assert "not valid" in other.inner_text("#said")
    other.fill("#token", link)  # whoever pastes the whole link means its token
    other.keyboard.press("Enter")
    other.wait_for_selector("header .right")


@pytest.mark.parametrize(
    "site", [{"pool": pool_of_texts(4, 3, [SCRIPT] * 4), "overlap": 2, "name": SCRIPT}], indirect=True
)
def test_a_pool_with_scripts_in_it_runs_none(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    assert SCRIPT in page.inner_text("#item")
    assert page.evaluate("window.hacked") is None
    audit = site.audit()
    audit.skip(audit.held("ann").ids, reason=SCRIPT, annotator="ann")
    audit.skip(audit.ask(4, annotator="bob").ids, reason=SCRIPT, annotator="bob")
    boss = house.come(site.owner)
    for path, there in (("decide", "form >> text=skipped"), ("dashboard", ".tile")):
        boss.goto(f"{house.server.address}/{path}/{quote(site.name, safe='')}")
        boss.wait_for_selector(there)
        assert boss.evaluate("window.hacked") is None


def test_a_phone_can_be_used_by_touch(house: House, site: Site) -> None:
    page = house.label(site, site.ann, viewport={"width": 360, "height": 740}, has_touch=True, color_scheme="dark")
    item = item_shown(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    for button in page.locator(".choices button").all():
        box = button.bounding_box()
        assert box is not None
        assert box["height"] >= 44  # a finger
        assert box["y"] + box["height"] <= 740  # in reach without scrolling
    page.tap('button:has-text("class 2")')
    has_done(page, 1)
    all_saved(page)
    assert site.audit().labels() == {item: "class 2"}


def test_a_screen_reader_finds_its_way(house: House, site: Site) -> None:
    page = house.label(site, site.ann, reduced_motion="reduce")
    assert page.get_by_role("region", name="Item", exact=True).get_attribute("aria-live") == "polite"
    classes = page.get_by_role("group", name="Classes").get_by_role("button")
    assert classes.count() == 4
    for name in ("class 0", "Undo", "Skip", "Note", "Keys", "Sign out"):
        assert page.get_by_role("button", name=name, exact=True).is_visible()
    page.keyboard.press("s")
    dialog = page.get_by_role("dialog", name="Why skip this item?")
    assert dialog.get_by_role("button", name="It is unclear", exact=True).is_visible()
    assert page.evaluate("document.activeElement.closest('dialog')?.id") == "why"
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    assert page.get_by_role("navigation", name="Pages").is_visible()
    moving = "() => document.getAnimations().length"
    assert page.evaluate(moving) == 0


def test_an_open_dashboard_does_not_keep_the_server_from_ending(house: House, site: Site) -> None:
    page = house.come(site.owner, f"/dashboard/{site.name}")
    page.wait_for_selector(".tile")
    try:
        house.server.ends()
    finally:
        house.server.kill()
        house.server.start()
    site.audit().ask(3)
    page.wait_for_function("() => document.querySelectorAll('.tile b')[1].textContent === '3'")  # and it comes back
