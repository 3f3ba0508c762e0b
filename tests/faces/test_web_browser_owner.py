"""The pages of an owner in a real browser: dashboard, decisions and people."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

import fewlabels as fl
from tests.support.browser import PATIENCE, all_saved, answer

if TYPE_CHECKING:
    from tests.support.browser import House
    from tests.support.web import Site


@pytest.mark.slow
@pytest.mark.parametrize("site", [{"task": fl.Identify(fl.Accuracy(), lowest=1), "name": "live view"}], indirect=True)
def test_the_dashboard_updates_by_itself(house: House, site: Site) -> None:
    page = house.come(site.owner, f"/dashboard/{quote(site.name)}")
    page.wait_for_selector(".tile >> text=labels")
    assert page.inner_text(".tile b >> nth=0") == "0"
    assert page.locator("svg[role=img]").count() == 0  # guesses are not drawn as results
    page.wait_for_selector("text=Nobody has labelled yet")
    audit = site.audit()
    for item in audit.ask(7, annotator="ann").ids:  # one after another: a file would be nobody at work
        audit.tell({item: "class 0"}, annotator="ann")
    page.wait_for_function("() => document.querySelector('.tile b').textContent === '7'")
    page.wait_for_selector("text=Labelling now: ann")
    assert page.locator("svg[role=img]:visible").count() >= 3
    assert page.locator(".events li").count() == 7
    page.locator(".fl-plot").first.focus()
    page.keyboard.press("ArrowDown")  # what the first mark means
    assert "%" in page.inner_text(".fl-tip")
    page.wait_for_selector("[data-part=forecast] p", timeout=3 * PATIENCE)  # the first one may have to compile


@pytest.mark.slow
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


@pytest.mark.slow
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
    other.wait_for_selector("#sign-in button:enabled")
    other.fill("#token", "wrong")
    other.keyboard.press("Enter")
    other.wait_for_selector("#said:not(:empty)")
    assert "not valid" in other.inner_text("#said")
    other.fill("#token", link)  # whoever pastes the whole link means its token
    other.keyboard.press("Enter")
    other.wait_for_selector("header .right")


@pytest.mark.slow
def test_an_open_dashboard_does_not_keep_the_server_from_ending(house: House, site: Site) -> None:
    page = house.come(site.owner, f"/dashboard/{site.name}")
    page.wait_for_selector(".tile")
    try:
        house.server.ends()
    finally:
        house.server.kill()
        house.server.start()
    site.audit().ask(3)
    page.wait_for_function("() => document.querySelectorAll('.tile b')[1]?.textContent === '3'")  # and it comes back


@pytest.mark.slow
@pytest.mark.parametrize("site", [{"overlap": 2, "name": "thumbs"}], indirect=True)
def test_what_a_thumb_presses_is_large_enough(house: House, site: Site) -> None:
    """On a phone, the links at the top of each page were 24 pixels high, and what unfolds 36."""
    audit = site.audit()
    for who, other in (("ann", "class 0"), ("bob", "class 1")):
        ids = audit.ask(6, annotator=who).ids
        audit.tell(dict.fromkeys(ids, "class 2") | dict.fromkeys(ids[:2], other), annotator=who)
    page = house.come(site.owner, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    for path in ("dashboard", "decide", "answers", "guide", "label"):
        page.goto(f"{house.server.address}/{path}/{quote(site.name)}")
        page.wait_for_selector({"dashboard": "summary", "label": "#item >> visible=true"}.get(path, "main h1"))
        small = page.evaluate(
            """() => [...document.querySelectorAll("a, button, input, select, summary, textarea")].filter((one) => {
                const { height, left } = one.getBoundingClientRect();
                return height && left > -100 && height < 43.5 && getComputedStyle(one).display !== "inline";
            }).map((one) => one.outerHTML)"""
        )
        assert not small
        assert page.evaluate("document.documentElement.scrollWidth") == 390
