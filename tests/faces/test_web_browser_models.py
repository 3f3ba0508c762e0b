"""A new user's path: two messy files of answers, five commands, a hundred labels typed in the browser, an answer."""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli.main import cli
from fewlabels.store import Store
from fewlabels.store.people import People
from tests.support.browser import House, all_saved, has_done, running

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

CLASSES = ("billing", "delivery", "other", "refund", "technical")
CUSTOMERS = ("business", "partner", "private")
WORDS = (
    "charged twice for",
    "never got parcel",
    'do you sell "blue" ones like',
    "money back for",
    "the app crashes on",
)


def two_prompts(folder: Path, items: int = 1500) -> tuple[dict[str, str], dict[str, float]]:
    """Files of two prompts as people have them; the labels by text, and how much better the new one is for whom.

    The old file is an export with a byte order mark, semicolons, quotes and lines within a cell, and some answers are
    empty; the new one has its rows in another order, without some of them. The new prompt is better for private
    customers and worse for business.
    """
    rng = np.random.default_rng(11)
    true, customer = rng.integers(0, 5, items), rng.choice(3, items, p=[0.3, 0.1, 0.6])
    text = [f"Hello, {WORDS[k]} {10_000 + i}" + "\nSent from my phone 📱" * (i % 7 == 0) for i, k in enumerate(true)]
    said, right = {}, {}
    for name, shares in (("old", (0.9, 0.8, 0.72)), ("new", (0.78, 0.8, 0.9))):
        off = rng.random(items) > np.array(shares)[customer]
        said[name] = np.where(off, (true + rng.integers(1, 5, items)) % 5, true)
    same = (rng.random(items) < 0.5) & (customer == 1)
    said["new"] = np.where(same, said["old"], said["new"])
    known = {"old": rng.random(items) > 0.02, "new": rng.random(items) > 0.015}
    with (folder / "old.csv").open("w", newline="", encoding="utf-8-sig") as stream:
        writer = csv.writer(stream, delimiter=";")
        writer.writerow(["Ticket ID", "Message", "Customer", "Answer"])
        for i in rng.permutation(items):
            answer = CLASSES[said["old"][i]] if known["old"][i] else ""
            writer.writerow([f"T-{10_000 + i}", text[i], CUSTOMERS[customer[i]], answer])
    with (folder / "new.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["Ticket ID", "Answer", "tokens"])
        rows = [i for i in rng.permutation(items) if known["new"][i]]
        writer.writerows([f"T-{10_000 + i}", CLASSES[said["new"][i]], 50 + i % 9] for i in rows)
    for name, answers in said.items():
        right[name] = (answers == true) & known[name]
    ahead = right["new"].astype(float) - right["old"]
    truth = {who: float(ahead[customer == k].mean()) for k, who in enumerate(CUSTOMERS)}
    return {" ".join(text[i].split()): CLASSES[k] for i, k in enumerate(true)}, truth | {"": float(ahead.mean())}


def run(*words: str) -> str:
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    return result.stdout


def type_labels(page: Page, labels: dict[str, str], n: int) -> None:
    """Read each message on the page, and answer it by its key."""
    for done in range(1, n + 1):
        page.wait_for_selector("#item >> visible=true")
        text = " ".join(page.inner_text("#item").split())
        page.keyboard.press(str(1 + CLASSES.index(labels[text])))
        has_done(page, done)
    all_saved(page)


@pytest.mark.slow
def test_from_two_files_to_an_answer_in_five_commands(tmp_path, monkeypatch, browser: Browser) -> None:
    monkeypatch.chdir(tmp_path)
    labels, truth = two_prompts(tmp_path)
    run("new", "audit.db", "which", "old.csv", "new.csv", "--best", "--stop-probability", "0.95")
    store = Store(tmp_path / "audit.db")
    token = People(store).invite("ann", "owner")
    with running(tmp_path / "audit.db") as server:  # fewlabels serve audit.db
        house = House(store, server, {}, browser)
        page = house.come(token, "/label/which")
        type_labels(page, labels, 100)
        assert page.locator(".choices button, .choices label, .choices li").count() >= len(CLASSES)
        assert "no answer" not in page.content()
        assert not re.search(r"\b(old|new|predicted|private|business)\b", page.inner_text("main"))
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
    assert re.match(r"The best model is( probably)? new: we are \d+% sure", answer["headline"])
    (behind,) = (row for row in answer["rows"] if row["group"] == "old")
    assert behind["behind_low"] <= truth[""] <= behind["behind_high"]
    assert json.loads(run("show", "audit.db", "--json", "--no-forecast"))["labels"] == 100
    run("report", "audit.db", "-o", "which.html")
    page_of_report = (tmp_path / "which.html").read_text(encoding="utf-8")
    assert answer["headline"] in page_of_report
    assert "<svg" in page_of_report

    # For whom? The same labels, by the customers that the old file names.
    compared = ("--compare-models", "new,old", "--groups", "column:Customer")
    run("new", "audit.db", "for-whom", "old.csv", "new.csv", *compared)
    rows = {row["where"]: row for row in json.loads(run("answer", "audit.db", "for-whom", "--json"))["rows"]}
    assert rows["private"]["more"] > 0.95
    assert rows["business"]["less"] > 0.5
    assert sum(rows[who]["low"] <= truth[who] <= rows[who]["high"] for who in CUSTOMERS) >= 2


@pytest.mark.slow
def test_on_a_phone_a_name_is_whole_and_how_far_a_model_is_behind_is_said(tmp_path, browser: Browser) -> None:
    """The dashboard wrote gpt_smal and l on two lines, and the report of a phone left out how far it is behind."""
    said = {"gpt_large": ["a", "b"] * 60, "gpt_small_of_may": ["a", "b"] * 40 + ["b", "a"] * 20, "other": ["a"] * 120}
    pool = fl.read_pool({name: {"id": [str(i) for i in range(120)], "predicted": one} for name, one in said.items()})
    store = Store(tmp_path / "audit.db")
    token = People(store).invite("ann", "owner")
    audit = fl.create(store, "which", pool, task=fl.Best(fl.Accuracy()))
    audit.tell({item: "ab"[int(item) % 2] for item in audit.ask(40).ids})
    report = audit.report(tmp_path / "which.html")
    store.close()
    with running(tmp_path / "audit.db") as server:
        house = House(store, server, {}, browser)
        page = house.come(token, "/dashboard/which", viewport={"width": 390, "height": 844})
        name = page.locator("[data-part=groups] th", has_text="gpt_small_of_may")
        name.wait_for(state="attached")
        page.evaluate("document.querySelectorAll('details').forEach((part) => part.setAttribute('open', ''))")
        lines = name.evaluate(
            "(cell) => { const all = document.createRange(); all.selectNodeContents(cell); "
            "return all.getClientRects().length }"
        )
        assert lines == 1
        titles = page.locator("[data-part=groups] thead th:visible").all_inner_texts()
        assert titles == ["Model", "Estimate", "95% range", "Chance", "Behind"]
        rights = (
            "(row) => [...row.querySelectorAll('th, td')].slice(1).map((cell) => cell.getBoundingClientRect().right)"
        )
        rows = page.locator("[data-part=groups] table tr")
        assert [rows.nth(k).evaluate(rights) for k in range(4)] == [rows.first.evaluate(rights)] * 4
        for context in house.opened:
            context.close()
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(report.as_uri())
    shown = [row.locator("[data-b]:visible").all_inner_texts() for row in page.locator("#table tbody tr").all()]
    assert shown[0] == []  # the first is behind nobody
    assert all(re.match(r"\d+ points? \(.* to .*\)$", text) for row in shown[1:] for text in row)
    assert [len(row) for row in shown] == [0, 1, 1]
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.close()
