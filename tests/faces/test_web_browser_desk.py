"""Reading, looking closely and looking back in a real browser: guidelines, formatted texts, pictures, one's answers."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

import fewlabels as fl
from fewlabels.store.guides import Guides
from tests.support.browser import PICTURE, all_saved, has_done
from tests.support.web import SCRIPT, pool_of_texts

if TYPE_CHECKING:
    from tests.support.browser import House

LINKS = "[terms](https://example.com/a) [bad](javascript:alert(1))"
TEXT = f"# Order\n\nIt came **late**. {SCRIPT} {LINKS}\n\n```\nx < 1\n```\n\n"


@pytest.mark.slow
def test_guidelines_formatted_texts_and_looking_back(house: House) -> None:
    site = house.site("desk", pool_of_texts(4, 3, [TEXT + "A long text. " * 900] * 4))
    Guides(site.store).write("desk", guidelines=f"Read *all*. {SCRIPT}", descriptions={"class 1": f"One {SCRIPT}"})
    page = house.label(site, site.ann)
    assert page.inner_text("#guide em") == "all"
    assert page.inner_text("#item h3") == "Order"
    assert page.get_attribute("#item a", "rel") == "noopener noreferrer nofollow"
    assert page.locator("#item a").count() == 1  # the other is no address of the web
    assert SCRIPT in page.inner_text("#item")
    assert page.evaluate("window.hacked") is None
    page.keyboard.press("g")
    assert not page.locator("#guide em").is_visible()
    page.mouse.wheel(0, 3000)
    page.wait_for_function("() => scrollY > 1000")
    for button in page.locator(".choices button, #undo, #skip").all():  # beside the long text
        box = button.bounding_box()
        assert box is not None
        assert 0 <= box["y"] <= 720 - box["height"]
    page.keyboard.press("r")
    assert page.inner_text("#item").startswith("# Order")
    page.keyboard.press("1")
    has_done(page, 1)
    all_saved(page)
    page.keyboard.press("l")
    page.wait_for_selector("h1:text-is('My last answers')")
    page.click("text=Change this answer")
    page.click(".case button[value='class 2']")
    page.wait_for_selector("text=Changed to class 2.")
    all_saved_here = "() => document.getElementById('saved').textContent === 'all saved'"
    page.wait_for_function(all_saved_here)
    assert list(site.audit().labels().values()) == ["class 2"]
    page.click("text=Go on labelling")
    page.wait_for_selector("#item >> visible=true")
    assert not page.locator("#guide em").is_visible()  # read, and not changed since
    Guides(site.store).write("desk", guidelines="Read it twice.")
    page.reload()
    page.wait_for_selector("text=changed since you last read them")
    assert page.evaluate("window.hacked") is None


@pytest.mark.slow
def test_a_picture_is_enlarged_by_keyboard_and_a_guide_is_written(house: House) -> None:
    table = {"id": ["a", "b"], "predicted": ["cat", "dog"], "photo": [PICTURE] * 2}
    site = house.site("zoom", fl.read_pool(table, columns=["photo"], content="photo"))
    page = house.come(site.owner, f"/guide/{quote(site.name)}")
    page.fill("#guidelines", "Look **closely**.")
    page.fill("#class-0", "It purrs")
    page.click("text=Save")
    page.wait_for_selector("text=Saved.")
    page.click("nav >> text=Label")
    page.wait_for_function("() => document.querySelector('#item img')?.naturalWidth === 1")
    assert page.inner_text(".choices button >> nth=0").split("\n")[-1] == "It purrs"
    wide = "() => document.querySelector('#zoomed img')?.getBoundingClientRect().width ?? 0"
    page.keyboard.press("z")
    page.wait_for_selector("#zoom >> visible=true")
    before = page.evaluate(wide)
    page.keyboard.press("+")
    assert page.evaluate(wide) > 1.3 * before > 0
    page.keyboard.press("0")
    assert page.evaluate(wide) == pytest.approx(before, abs=1)
    page.keyboard.press("1")  # not an answer: the picture is in front
    page.keyboard.press("Escape")
    page.wait_for_selector("#zoom", state="hidden")
    page.keyboard.press("1")
    has_done(page, 1)
    all_saved(page)
