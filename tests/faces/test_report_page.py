"""The report in a real browser: it sorts, folds and searches, loads nothing, and fits a phone."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

import fewlabels as fl
from fewlabels.report import read, write
from tests.support.reports import told_exactly

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports on four classes, one of which has too few labels, on two hundred groups, and on all items as one."""
    folder = tmp_path_factory.mktemp("reports")
    counts = {"shirt": (20, 10), "coat": (18, 2), "bag": (8, 0), "boot": (1, 0)}
    few = told_exactly(counts, task=fl.Identify(fl.Accuracy(), lowest=1))
    names = [f"group {i % 200}" for i in range(1000)]
    items = fl.read_pool({"id": [str(i) for i in range(1000)], "predicted": names})
    many = fl.create(None, "many", items, task=fl.Identify(fl.Accuracy(), lowest=3))
    many.tell(dict.fromkeys(many.ask(150).ids, "group 7"))
    one = fl.create(None, "one", few.pool, fl.whole(few.pool))
    one.tell(dict.fromkeys(one.ask(20).ids, "shirt"))
    reports = {"few": few, "many": many, "one": one}
    return {name: write(read(a, foresee=False, draws=300), folder / f"{name}.html") for name, a in reports.items()}


def opened(browser: Browser, file: Path, **context) -> tuple[Page, list[str]]:
    """The page, and what it complained about or tried to load."""
    page = browser.new_context(**context).new_page()
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: wrong.append(request.url) if request.url != file.as_uri() else None)
    page.goto(file.as_uri())
    return page, wrong


def column(page: Page, place: int, body: int) -> list[str]:
    rows = page.locator("#table tbody").nth(body).locator("tr:not(.divider):visible")
    return rows.locator(f":scope > :nth-child({place})").all_inner_texts()


@pytest.mark.slow
def test_columns_sort_by_click_and_key_and_known_stays_above_unknown(browser, files) -> None:
    page, wrong = opened(browser, files["few"], viewport={"width": 1280, "height": 900})
    bodies = page.locator("#table tbody").count()
    assert [len(column(page, 1, body)) for body in range(bodies)] == [3, 1]
    names = {body: sorted(column(page, 1, body)) for body in range(bodies)}
    labels = page.locator("#table thead th").nth(2)
    labels.locator("button").click()
    assert labels.get_attribute("aria-sort") == "descending"
    counts = [int(text.split()[-2]) if "of" in text else int(text) for text in column(page, 3, 0)]
    assert counts == sorted(counts, reverse=True)
    page.keyboard.press("Enter")  # the button has the focus
    assert labels.get_attribute("aria-sort") == "ascending"
    assert [int(text.split()[-2]) if "of" in text else int(text) for text in column(page, 3, 0)] == sorted(counts)
    assert page.locator("#table thead [aria-sort]").count() == 1
    page.locator("#table thead button").first.focus()
    page.keyboard.press("Space")
    for body in range(bodies):
        assert column(page, 1, body) == names[body]
    assert wrong == []


@pytest.mark.slow
def test_a_long_table_folds_searches_and_prints_whole(browser, files) -> None:
    page, wrong = opened(browser, files["many"], viewport={"width": 1280, "height": 900})
    rows = page.locator("#table tbody tr:not(.divider):visible")
    assert rows.count() == 25
    page.get_by_label("Find a class").fill("group 19")
    assert rows.count() == 11  # 19, and 190 to 199
    page.get_by_label("Find a class").fill("")
    page.emulate_media(media="print")
    assert rows.count() == 200
    page.emulate_media(media="screen")
    page.get_by_role("button", name="Show all 200").click()
    assert rows.count() == 200
    assert wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["few", "many"])
@pytest.mark.slow
def test_it_fits_a_phone_in_both_themes(browser, files, name, scheme) -> None:
    page, wrong = opened(browser, files[name], viewport={"width": 390, "height": 800}, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((part) => part.setAttribute('open', ''))")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    # No table has to be pushed sideways either.
    wide = "[...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth).length"
    assert page.evaluate(wide) == 0
    ink, paper = page.evaluate(
        "[getComputedStyle(document.documentElement).color, getComputedStyle(document.documentElement).backgroundColor]"
    )
    assert brightness(ink) > brightness(paper) if scheme == "dark" else brightness(ink) < brightness(paper)
    assert wrong == []


def brightness(colour: str) -> float:
    return sum(float(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(","))


def test_without_script_everything_is_there(browser, files) -> None:
    page, _ = opened(browser, files["many"], java_script_enabled=False)
    assert page.locator("#table tbody tr:not(.divider):visible").count() == 200


@pytest.mark.slow
def test_what_a_mark_means_is_shown_by_touch_and_by_keys(browser, files) -> None:
    page, wrong = opened(browser, files["few"], viewport={"width": 390, "height": 800}, has_touch=True)
    tip, plot = page.locator(".fl-tip"), page.locator(".fl-plot.fl-narrow").first
    assert not tip.is_visible()
    plot.locator(".fl-hit").first.tap()
    assert tip.inner_text().startswith("shirt: accuracy ")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.touchscreen.tap(5, 5)
    assert not tip.is_visible()
    plot.focus()
    seen = set()
    for _ in range(4):
        page.keyboard.press("ArrowDown")
        seen.add(tip.inner_text())
    assert len(seen) == 4
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    assert wrong == []


@pytest.mark.slow
def test_pictures_and_tables_can_be_taken_along(browser, files) -> None:
    page, wrong = opened(browser, files["few"], viewport={"width": 1280, "height": 900}, color_scheme="light")
    saved = {}
    for kind in ("SVG", "PNG"):
        with page.expect_download() as download:
            page.locator(".take button", has_text=f"Save as {kind}").first.click()
        saved[kind] = download.value
    heading = page.locator("main h2").first.inner_text()
    assert saved["SVG"].suggested_filename.endswith(".svg")
    drawn = ET.parse(saved["SVG"].path()).getroot()
    texts = ["".join(node.itertext()) for node in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == heading
    assert any(text.endswith("shirt") for text in texts)
    # Its colours do not depend on a stylesheet that it has not got.
    circles = [node.get("fill") for node in drawn.iter("{http://www.w3.org/2000/svg}circle")]
    assert circles
    assert all(colour.startswith("rgb") for colour in circles if colour != "none")
    assert saved["PNG"].path().read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    page.evaluate("navigator.clipboard.writeText = (text) => { window.taken = text; return Promise.resolve(); }")
    page.locator("[aria-labelledby=groups] + .take button").click()
    rows = [line.split("\t") for line in page.evaluate("window.taken").splitlines()]
    assert rows[0][:4] == ["class", "items", "labels", "accuracy"]
    assert rows[1][:3] == ["shirt", "100", "20 of 30 right"]
    assert wrong == []


@pytest.mark.slow
def test_a_report_about_one_group_has_tips_and_prints_what_is_folded(browser, files) -> None:
    page, wrong = opened(browser, files["one"], viewport={"width": 1280, "height": 900})
    assert page.locator("details[open]").count() == 1  # the classes, which are few
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details").count() == page.locator("details[open]").count() > 0
    page.locator(".fl-plot.fl-wide .fl-hit").first.click()
    assert page.locator(".fl-tip").inner_text().startswith("all: accuracy ")
    assert wrong == []
