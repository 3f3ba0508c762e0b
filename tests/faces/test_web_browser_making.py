"""From an uploaded file to the dashboard in a real browser, on a phone and without any script."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fewlabels as fl
from tests.support.browser import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.support.browser import House

ROWS = "".join(f"t{i},A text about matter {i},{'abc'[i % 3]},0.{50 + i % 50},{'NS'[i % 2]}\n" for i in range(90))


def fits(page: Page) -> None:
    """Nobody has to move the page sideways."""
    widest = page.locator("main").evaluate("main => Math.max(main.scrollWidth, document.body.scrollWidth)")
    assert page.viewport_size is not None
    assert widest <= page.viewport_size["width"]


@pytest.mark.slow
def test_from_a_file_to_the_dashboard_on_a_phone_without_scripts(house: House, tmp_path: Path) -> None:
    file = tmp_path / "phone tickets.csv"
    file.write_text(f"ticket,text,pred,conf,region\n{ROWS}")
    signed_in = house.come(house.tokens["boss"]).context.storage_state()
    context = house.browser.new_context(
        storage_state=signed_in, java_script_enabled=False, viewport={"width": 390, "height": 800}
    )
    house.opened.append(context)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(f"{house.server.address}/")
    page.get_by_role("link", name="New assessment").click()
    page.get_by_label("File of predictions").set_input_files(file)
    page.get_by_role("button", name="Upload and look at it").click()
    assert "90 items" in page.inner_text(".lead")
    assert page.get_by_label("Predicted class").input_value() == ""  # as it was found
    assert page.get_by_role("checkbox", name="text").is_checked()
    fits(page)
    page.get_by_role("button", name="Next: the question").click()
    page.get_by_label("Which groups does it get wrong most often?").check()
    page.get_by_label("Groups", exact=True).select_option(label="by region (2 groups)")
    page.get_by_label("Find this many").fill("5")
    page.get_by_role("button", name="Make the assessment").last.click()
    assert "all of them" in page.inner_text("#lowest-wrong")
    assert page.get_by_label("Groups", exact=True).input_value() == "column:region"
    page.get_by_label("Find this many").fill("1")
    page.get_by_label("Name", exact=True).fill("phone")
    fits(page)
    page.get_by_role("button", name="Make the assessment").last.click()
    page.wait_for_url("**/dashboard/phone?whole=1")  # without scripts, the page comes whole
    assert "Nobody has labelled yet" in page.inner_text("main")
    fits(page)
    audit = fl.load(house.store, "phone")
    for item in audit.ask(9, annotator="ann").ids:  # one after another: a file would be nobody at work
        audit.tell({item: "a"}, annotator="ann")
    page.reload()
    assert "Labelling now: ann" in page.inner_text("main")
    fits(page)
