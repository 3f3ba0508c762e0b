"""Make the pictures of README.md and docs/plots.md with the current code.

Those of the README show the report and the page for labelling, of the built-in clothes; those of docs/plots.md are the
plots of the gallery.

    python -m scripts.pictures [--out docs/pictures]

Needs an installed Chromium, or the one that FEWLABELS_BROWSER names. The pictures are small enough to be kept with the
source: run it again after a change to the report or to the page.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import fewlabels as fl
from fewlabels.store import Store
from fewlabels.store.people import People
from scripts.site import drawings
from tests.support.browser import QUIET, browser_of_this_machine, running

_WIDE, _HIGH = 1000, 915


def clothes(address: Path) -> tuple[fl.Assessment, str]:
    """An assessment of the built-in clothes with 160 labels, and the token of somebody who labels."""
    data = fl.load_fashion()
    columns = {"id": data.ids, "scores": data.scores, "picture": data.addresses()}
    pool = fl.read_pool(columns, classes=data.classes, content="picture")
    truth = dict(zip(data.ids, data.labels, strict=True))
    store = Store(address)
    token = People(store).invite("ann", "annotator")
    task = fl.Identify(fl.Accuracy(), lowest=1)
    audit = fl.create(store, "clothes", pool, task=task, stop=fl.Stop(probability=0.95), seed=3)
    for _ in range(16):
        audit.tell({item: truth[item] for item in audit.ask(10).ids})
    return audit, token


def take(out: Path) -> None:
    """Draw both pages in a browser and keep what is seen first."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as play:
        folder = Path(name)
        audit, token = clothes(folder / "clothes.db")
        audit.report(folder / "report.html")
        browser = play.chromium.launch(executable_path=browser_of_this_machine(), args=QUIET)
        page = browser.new_page(viewport={"width": _WIDE, "height": _HIGH})
        page.goto((folder / "report.html").as_uri())
        page.screenshot(path=out / "report.png")
        with running(folder / "clothes.db") as server:
            page.goto(f"{server.address}/sign-in#{token}")
            page.get_by_role("button", name="Shirt", exact=True).wait_for()
            page.wait_for_load_state("networkidle")
            page.screenshot(path=out / "label.png", clip={"x": 0, "y": 0, "width": _WIDE, "height": _HIGH - 290})
        browser.close()
        audit.close()


def draw(out: Path) -> None:
    """Draw the plots that the documentation shows."""
    for kind, drawn, _ in drawings():
        if (out / f"{kind}.svg").exists():
            drawn.save(out / f"{kind}.svg")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the pictures of README.md and docs/plots.md.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "pictures")
    folder = parser.parse_args().out
    take(folder)
    draw(folder)
