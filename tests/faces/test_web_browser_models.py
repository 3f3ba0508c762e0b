"""A new user's path: two files of answers, five commands, a hundred labels in the browser, an answer and a report."""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from click.testing import CliRunner

from fewlabels.cli.main import cli
from fewlabels.store import Store
from fewlabels.store.people import People
from tests.support.browser import House, all_saved, has_done, item_shown, running

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

CLASSES = ("billing", "delivery", "other")


def two_prompts(folder: Path, items: int = 1000) -> dict[str, str]:
    """Files of two prompts that are right for 78% and 86% of the same items; the labels."""
    rng = np.random.default_rng(11)
    true = rng.integers(0, 3, items)
    hard = rng.random(items)
    for name, share in (("old", 0.78), ("new", 0.86)):
        wrong = 0.8 * hard + 0.2 * rng.random(items) > share
        said = np.where(wrong, (true + rng.integers(1, 3, items)) % 3, true)
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(["id", "text", "answer"])
            writer.writerows(
                [f"item-{i:03}", f"The text of item {i}", CLASSES[said[i]]] for i in rng.permutation(items)
            )
    return {f"item-{i:03}": CLASSES[k] for i, k in enumerate(true)}


def run(*words: str) -> str:
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.slow
def test_from_two_files_to_an_answer_in_five_commands(tmp_path, monkeypatch, browser: Browser) -> None:
    monkeypatch.chdir(tmp_path)
    labels = two_prompts(tmp_path)
    run("new", "audit.db", "which", "old.csv", "new.csv", "--best", "--stop-probability", "0.95")
    store = Store(tmp_path / "audit.db")
    token = People(store).invite("ann", "owner")
    with running(tmp_path / "audit.db") as server:  # fewlabels serve audit.db
        house = House(store, server, {}, browser)
        page = house.come(token, "/label/which")
        page.wait_for_selector("#item >> visible=true")
        for n in range(1, 101):
            item = item_shown(page)
            page.keyboard.press(str(1 + CLASSES.index(labels[item])))
            has_done(page, n)
        all_saved(page)
        assert page.locator(".choices button, .choices label, .choices li").count() >= 3
        shown = page.content()
        assert "no answer" not in shown
        assert not re.search(r"\b(old|new|predicted)\b", page.inner_text("main"))
        page.goto(f"{server.address}/dashboard/which")
        page.wait_for_selector("[data-part=plots] svg")
        dashboard = page.inner_text("main")
        for width in (1280, 390):  # all columns that are shown there are in sight
            page.set_viewport_size({"width": width, "height": 900})
            wide = "[...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth).length"
            assert page.evaluate(wide) == 0, width
        for context in house.opened:
            context.close()
    store.close()
    answer = json.loads(run("answer", "audit.db", "--json"))
    assert answer["headline"] in dashboard
    assert "new" in answer["headline"]
    assert answer["probability"] > 0.9
    assert json.loads(run("show", "audit.db", "--json", "--no-forecast"))["labels"] == 100
    run("report", "audit.db", "-o", "which.html")
    page_of_report = (tmp_path / "which.html").read_text(encoding="utf-8")
    assert answer["headline"] in page_of_report
    assert "<svg" in page_of_report
