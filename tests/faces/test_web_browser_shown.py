"""What the pages show in a real browser: texts, pictures and cards, odd ones too, to a phone and to a screen reader."""

from __future__ import annotations

import base64
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np
import pytest

import fewlabels as fl
from tests.support.browser import PICTURE, PNG, all_saved, has_done, item_shown
from tests.support.paths import run
from tests.support.web import SCRIPT, pool_of_texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import Message
    from pathlib import Path

    from tests.support.browser import House
    from tests.support.web import Site


ODD = 'a b/ü#%25?&"</live'


@pytest.mark.slow
@pytest.mark.parametrize(
    "site",
    [
        {
            "name": ODD,
            "pool": fl.read_pool(
                {"id": [f"{k} %/#?&é'\"<b>" for k in range(3)], "scores": [[0.9, 0.1]] * 3, "file": [PICTURE] * 3},
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
    page.click("a:text('to decide')")
    page.wait_for_function("() => document.querySelector('form img')?.naturalWidth === 1")
    page.wait_for_load_state()  # before its script is there, a click sends the form, and the next page says less
    page.click("form >> .choices button :text-is('1')")
    page.wait_for_selector("text=Decided: 1.")
    assert sorted(site.audit().labels().values()) == ["0", "1"]


CARDS = {
    "id": ["x", "y"],
    "predicted": ["cat", "dog"],
    "text": ["It <b>purrs</b>", "It barks"],
    "place": ["the roof", ""],
    "photo": [PICTURE, PICTURE],
    "secret": ["undisclosed", "undisclosed"],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "site",
    [{"name": "cards", "pool": fl.read_pool(CARDS, columns=["text", "place", "photo", "secret"], content="text")}],
    indirect=True,
)
def test_columns_are_shown_as_a_card(house: House, site: Site) -> None:
    cards = {}
    with house.serving("--columns", "place,text,photo", "--content", str(house.content)) as served:
        page = served.label(site, site.ann)
        for n in (1, 2):
            page.wait_for_function("() => document.querySelector('#item dd img')?.naturalWidth > 0")
            names, values = (page.locator(f"#item dl > {tag}").all_inner_texts() for tag in ("dt", "dd"))
            cards[values[-2]] = list(zip(names, values, strict=True))
            assert page.locator("#item dt:text-is('photo') + dd img").is_visible()
            assert "undisclosed" not in page.content()
            page.keyboard.press("1")
            has_done(page, n)
        all_saved(page)
    assert cards == {
        "It <b>purrs</b>": [("place", "the roof"), ("text", "It <b>purrs</b>"), ("photo", "")],
        "It barks": [("text", "It barks"), ("photo", "")],  # nothing is said of a place that is not known
    }
    assert site.audit().labels() == {"x": "cat", "y": "cat"}


@contextmanager
def pictures() -> Iterator[tuple[int, list[Message]]]:
    """A server with one picture, /here.png: its port, and the headers of every request it got."""
    asked: list[Message] = []

    class Pictures(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.headers)
            self.send_response(200 if self.path == "/here.png" else 404)
            self.send_header("content-type", "image/png")
            self.end_headers()
            if self.path == "/here.png":
                self.wfile.write(PNG)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Pictures) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port, asked
        finally:
            server.shutdown()
            thread.join()


# What is on the page, once a picture on it has been loaded or given up.
SEEN = """() => {
    const [image, link] = ["img", "a"].map((tag) => document.querySelector(`#item ${tag}`));
    if (image) return image.naturalWidth > 0 && `image ${image.src}`;
    return link ? `link ${link.href}` : document.getElementById("item").innerText;
}"""


@pytest.mark.slow
def test_pictures_by_address_are_shown_from_the_hosts_that_the_owner_named(house: House) -> None:
    with pictures() as (port, asked):
        allowed, other = f"http://127.0.0.1:{port}", f"http://localhost:{port}"
        inline = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
        addresses = [f"{allowed}/here.png", f"{allowed}/gone.png", f"{other}/here.png", inline]
        table = {"id": list("abcd"), "predicted": ["cat", "dog"] * 2, "picture": addresses}
        site = house.site("pictures", fl.read_pool(table, columns=["picture"], content="picture"))
        seen = set()
        with house.serving("--image-host", allowed) as served:
            page = served.label(site, site.ann)
            for n in range(1, 5):
                page.wait_for_selector("#item >> visible=true")
                seen.add(page.wait_for_function(SEEN).json_value())
                page.keyboard.press("1")
                has_done(page, n)
            all_saved(page)
    assert seen == {
        f"image {allowed}/here.png",
        "This image could not be loaded. Skip the item and tell the owner.",
        f"link {other}/here.png",
        f"image {inline}",
    }
    assert {headers["host"] for headers in asked} == {f"127.0.0.1:{port}"}  # the other was not even asked,
    assert {headers["referer"] for headers in asked} == {None}  # and nobody learns where the picture is shown


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


@pytest.mark.slow
def test_the_report_of_the_demo_is_small_and_shows_its_answer_at_once(house: House, tmp_path: Path) -> None:
    run("demo", "--runs", 1, "-o", tmp_path / "demo.html")
    assert (tmp_path / "demo.html").stat().st_size < 300_000
    for width, height in ((1280, 800), (390, 844)):
        page = house.browser.new_page(viewport={"width": width, "height": height})
        page.goto((tmp_path / "demo.html").as_uri())
        for seen in (".answer", "main > .plot:first-child h2", "main > .plot:first-child svg >> visible=true"):
            box = page.locator(seen).bounding_box()
            assert box is not None
            assert box["y"] + box["height"] < height, (width, seen, box)
        page.close()


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_long_names_stay_inside_buttons_tables_and_pages(house: House, width: int) -> None:
    """A name without spaces ran out of its button, and the columns of numbers out of sight."""
    classes = [f"requests_about_personal_data_under_the_general_data_protection_regulation_{i}" for i in range(10)]
    scores = np.random.default_rng(4).dirichlet(np.ones(10), 60)
    table = {"id": [f"i{i}" for i in range(60)], "scores": scores, "text": ["a text"] * 60}
    pool = fl.read_pool(table, classes=classes, content="text")
    site = house.site(f"long names, {width}", pool, overlap=2)
    audit = site.audit()
    for who, label in (("ann", classes[0]), ("bob", classes[1])):
        audit.tell(dict.fromkeys(audit.ask(3, annotator=who).ids, label), annotator=who)
        audit.tell(dict.fromkeys(audit.ask(9, annotator=who).ids, classes[2]), annotator=who)
    page = house.label(site, site.ann, viewport={"width": width, "height": 800})
    pages = {"label": ".choices button", "decide": ".cases button", "dashboard": ".scroll", "groups": ".scroll"}
    for path, inside in pages.items():
        if path == "decide":
            page = house.come(site.owner, viewport={"width": width, "height": 800})
        page.goto(f"{house.server.address}/{path}/{quote(site.name)}")
        page.wait_for_selector(f"main {inside} >> visible=true")
        assert page.evaluate("document.documentElement.scrollWidth") == width, path
        over = f"[...document.querySelectorAll('main {inside}')].filter((box) => box.scrollWidth > box.clientWidth)"
        assert page.evaluate(f"{over}.length") == 0, path
