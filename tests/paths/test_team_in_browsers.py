"""The same team in real browsers: the owner makes it all on pages, one labels on a desktop and one on a phone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

import fewlabels as fl
from fewlabels.store import Store
from fewlabels.store.people import People
from tests.support.browser import PATIENCE, QUIET, all_saved, browser_of_this_machine, has_done, running
from tests.support.paths import read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

CLASSES = ("fine", "spam", "toxic")
ITEMS, EACH, STRANGE = 60, 8, 3  # items, answers of each person, and which of them bob gets wrong


@pytest.fixture
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api")
    path = browser_of_this_machine()
    if path is None:
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=QUIET)
        yield browser
        browser.close()


def truth(text: str) -> str:
    """What a post is, by its number."""
    found = re.search(r"post (\d+)", text)
    assert found
    return CLASSES[int(found[1]) % 3]


def come(browser: Browser, link: str, **device: object) -> Page:
    context = browser.new_context(**device)  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.on("pageerror", lambda error: pytest.fail(f"an error on the page: {error}"))
    page.goto(link)
    page.wait_for_selector("header .right")
    return page


@pytest.mark.slow
def test_a_team_in_two_browsers(browser: Browser, tmp_path: Path) -> None:
    rows = "".join(f"p{i},The text of post {i},{CLASSES[i % 3 if i % 4 else 0]}\n" for i in range(ITEMS))
    store = Store(tmp_path / "team.db")
    token = People(store).invite("boss", "owner")
    store.close()
    with running(tmp_path / "team.db") as server:
        boss = come(browser, f"{server.address}/sign-in#{token}", viewport={"width": 1280, "height": 800})
        boss.click("text=Make the first assessment")
        (tmp_path / "posts.csv").write_text(f"post_id,text,prediction\n{rows}", encoding="utf-8")
        boss.set_input_files("#file", tmp_path / "posts.csv")
        boss.click("text=Upload and look at it")
        boss.wait_for_selector("text=What was understood in posts.csv")
        boss.click('button:has-text("Next: the question")')
        boss.check("[value=estimate]")
        boss.fill("[name=overlap]", "2")
        boss.click('button.primary:has-text("Make the assessment")')
        boss.wait_for_url("**/dashboard/posts")

        boss.goto(f"{server.address}/guide/posts")
        boss.fill("#guidelines", "Judge **the post alone**.")
        boss.click("button:has-text('Save')")
        boss.wait_for_selector("text=Saved.")

        boss.goto(f"{server.address}/people")
        links = {}
        for who in ("ann", "bob"):
            boss.fill("[name=name]", who)
            boss.click('button:has-text("Invite")')
            boss.wait_for_selector(f"#whose:has-text('{who}')")
            links[who] = boss.input_value("#link")
            # What can be changed about somebody new is there at once.
            boss.wait_for_selector(f"button[aria-label='Lock out {who}']")

        ann = come(browser, links["ann"], viewport={"width": 1280, "height": 800})
        phone = {"width": 390, "height": 844}
        bob = come(browser, links["bob"], viewport=phone, is_mobile=True, has_touch=True, color_scheme="dark")
        for page, is_bob in ((ann, False), (bob, True)):
            page.goto(f"{server.address}/label/posts")
            page.wait_for_selector("#item >> visible=true")
            assert page.inner_text("#guide strong") == "the post alone"
            for n in range(EACH):
                page.wait_for_selector("#item >> visible=true")
                label = truth(page.inner_text("#item"))
                if is_bob and n == STRANGE:
                    label = CLASSES[(CLASSES.index(label) + 1) % 3]
                if is_bob:
                    page.get_by_role("button", name=label, exact=True).tap()
                else:
                    page.keyboard.press(str(CLASSES.index(label) + 1))
                has_done(page, n + 1)
            all_saved(page)
            # On a phone the guidelines make room for the items, on a desk they stay.
            assert page.locator("#guide strong").is_visible() is not is_bob
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

        boss.goto(f"{server.address}/decide/posts")
        (case,) = boss.locator("li.case").all()
        assert {"ann", "bob"} <= set(case.inner_text().split())
        right = truth(case.inner_text())
        case.locator(f"button[name=vote][value={right}]").click()
        boss.wait_for_selector(f"text=Decided: {right}.")
        boss.goto(f"{server.address}/dashboard/{quote('posts')}")
        boss.wait_for_selector("main svg")
        headline = boss.inner_text("main .answer, main .headline, main .lead")
        with boss.expect_download() as report:
            boss.click("text=Report")
        assert headline in re.sub(r"\s+", " ", report.value.path().read_text(encoding="utf-8"))

    with fl.load(tmp_path / "team.db") as audit:
        labels = audit.labels()
    assert len(labels) == EACH
    assert all(label == CLASSES[int(item[1:]) % 3] for item, label in labels.items())
    assert read("show", str(tmp_path / "team.db"))["headline"] == headline
