"""Every page by axe-core, in light and dark, on a desk and on a phone: no violation of WCAG 2.2, A and AA.

A new page is a new line of PAGES: its address, and what is done there before it is looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe

import fewlabels as fl
from tests.support.browser import PATIENCE, PICTURE, answer
from tests.support.web import pool_of_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.support.browser import House
    from tests.support.web import Site

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
LOOKS: list[tuple[Literal["light", "dark"], int]] = [("light", 1280), ("light", 390), ("dark", 1280), ("dark", 390)]


def settled(page: Page) -> None:
    """The dashboard is there, with its plots, and everything that it folds away."""
    page.wait_for_selector("main svg", timeout=3 * PATIENCE)
    unfolded(page)


def unfolded(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")


def labelling(page: Page) -> None:
    """An item, one answer behind it, and a note."""
    answer(page, "1", 1)
    page.click("#add-note")


def asked_why(page: Page) -> None:
    """The question why an item is skipped."""
    page.wait_for_selector("#item >> visible=true")
    page.click("#skip")


def helped(page: Page) -> None:
    """The list of keys."""
    page.wait_for_selector("#item >> visible=true")
    page.click("#show-help")


def searching(page: Page) -> None:
    """So many classes that they are searched for."""
    page.wait_for_selector("#item >> visible=true")
    page.fill("input[type=search], #choose input", "class 1")


def enlarged(page: Page) -> None:
    """A picture over the whole page."""
    page.wait_for_function("() => document.querySelector('#item img')?.naturalWidth === 1")
    page.keyboard.press("z")
    page.wait_for_selector("#zoom >> visible=true")


def without_scripts(page: Page) -> None:
    """The page of one item that browsers without scripts get."""
    page.evaluate(
        "() => { const there = document.createElement('div');"
        " there.innerHTML = document.querySelector('noscript').textContent;"
        " document.body.append(there); there.querySelector('form').submit() }"
    )
    page.wait_for_selector("textarea[name=note]")


def unanswered(page: Page) -> None:
    """The dashboard before the first label."""
    page.wait_for_selector("text=Nobody has labelled yet")


def invited(page: Page) -> None:
    """The link of somebody new."""
    page.fill("[name=name]", f"guest {page.viewport_size}")
    page.click('button:has-text("Invite")')
    page.wait_for_selector("#invited >> visible=true")


def decided(page: Page) -> None:
    """One item decided, one open."""
    page.get_by_role("button", name="class 2").first.click()
    page.wait_for_selector("text=Decided: class 2.")


def understood(page: Page) -> None:
    """What was understood of the built-in example, with all that can be said about it."""
    page.click('button:has-text("Try the example")')
    page.wait_for_selector("text=What was understood in")
    unfolded(page)


def asking(page: Page) -> None:
    """The form of a question, with a mistake in it."""
    understood(page)
    page.click('button:has-text("Next: the question")')
    page.check("[value=compare]")
    page.fill("[name=labels]", "many")
    page.click("button.primary:visible")
    page.wait_for_selector(".wrong")


def compared(page: Page) -> None:
    """The form of a question about the models of two files, with labels that may be wrong."""
    rows = "".join(f"t{i},Text {i},{'ab'[i % 2]}\n" for i in range(20))
    for field, name in (("#file", "old.csv"), ("#other-file", "new.csv")):
        page.set_input_files(field, {"name": name, "mimeType": "text/csv", "buffer": f"id,text,pred\n{rows}".encode()})
    page.click("text=Upload and look at it")
    page.wait_for_selector("text=2 models: old, new.")
    page.click('button:has-text("Next: the question")')
    page.check("[value=estimate]")  # about one model: others take labels as true
    page.check("[name=noisy]")


def refused(page: Page) -> None:
    """A file that cannot be read."""
    page.set_input_files("#file", {"name": "tickets.csv", "mimeType": "text/csv", "buffer": b"id\n1\n1\n"})
    page.click("text=Upload and look at it")
    page.wait_for_load_state()


PAGES: dict[str, tuple[str, Callable[[Page], None] | None]] = {
    "home": ("/", None),
    "people": ("/people", invited),
    "label": ("/label/{name}", labelling),
    "label, why skip": ("/label/{name}", asked_why),
    "label, keys": ("/label/{name}", helped),
    "label, many classes": ("/label/{many}", searching),
    "label, picture enlarged": ("/label/{pictures}", enlarged),
    "label, without scripts": ("/label/{name}", without_scripts),
    "answers": ("/answers/{name}", unfolded),
    "guide": ("/guide/{name}", None),
    "decide": ("/decide/{name}", decided),
    "dashboard": ("/dashboard/{name}", settled),
    "dashboard, of a gate": ("/dashboard/{gate}", settled),
    "dashboard, no label": ("/dashboard/{many}", unanswered),
    "groups": ("/groups/{name}", None),
    "new": ("/new", None),
    "new, a file that cannot be read": ("/new", refused),
    "new, understood": ("/new", understood),
    "new, question": ("/new", asking),
    "new, two models": ("/new", compared),
    "error": ("/dashboard/nothing of this name", None),
}


def violations(page: Page, looks: Sequence[tuple[Literal["light", "dark"], int]] = LOOKS) -> list[str]:
    """What is wrong with a page at each of its looks: the rule, and the first elements."""
    found = []
    for scheme, width in looks:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        result = Axe().run(page, options={"runOnly": TAGS}).response
        assert result["passes"]  # it has looked at something
        for one in result["violations"]:
            where = "; ".join(
                f"{' '.join(map(str, node['target']))}: {node['failureSummary']}" for node in one["nodes"][:3]
            )
            found.append(f"{scheme}, {width} px: {one['id']} ({len(one['nodes'])} elements): {where}")
    return found


@pytest.fixture
def shown(house: House, site: Site) -> dict[str, str]:
    """Assessments with votes that differ, with many classes, with pictures, and a gate; their names in addresses."""
    audit = site.audit()
    for who, label in (("ann", "class 0"), ("bob", "class 1")):
        audit.tell(dict.fromkeys(audit.ask(2, annotator=who).ids, label), annotator=who)
    for who in ("ann", "bob"):
        audit.tell(dict.fromkeys(audit.ask(12, annotator=who).ids, "class 0"), annotator=who)
    many = house.site(f"{site.name} of many", pool_of_texts(60, 40))
    table = {"id": ["x", "y"], "predicted": ["cat", "dog"], "photo": [PICTURE] * 2}
    pictures = house.site(f"{site.name} of pictures", fl.read_pool(table, columns=["photo"], content="photo"))
    gate = house.site(f"{site.name} as a gate", pool_of_texts(40, 3), task=fl.Certify(fl.Accuracy(), at_least=0.8))
    checked = gate.audit()
    checked.tell(dict.fromkeys(checked.ask(12, annotator="ann").ids, "class 0"), annotator="ann")
    names = {"name": site.name, "many": many.name, "pictures": pictures.name, "gate": gate.name}
    return {kind: quote(name) for kind, name in names.items()}


@pytest.mark.slow
@pytest.mark.parametrize("site", [{"overlap": 2}], indirect=True)
@pytest.mark.parametrize("kind", PAGES)
def test_pages_are_for_everybody(house: House, site: Site, shown: dict[str, str], kind: str) -> None:
    path, prepare = PAGES[kind]
    page = house.come(site.owner, path.format(**shown))
    if prepare:
        prepare(page)
    assert violations(page) == []


@pytest.mark.slow
def test_the_sign_in_page_is_for_everybody(house: House) -> None:
    page = house.browser.new_context().new_page()
    page.goto(f"{house.server.address}/sign-in")
    page.wait_for_selector("#sign-in button:enabled")
    page.fill("#token", "wrong")
    page.keyboard.press("Enter")
    page.wait_for_selector("#said:not(:empty)")
    assert violations(page) == []
    page.context.close()


@pytest.mark.slow
def test_the_report_is_for_everybody(house: House, tmp_path: Path) -> None:
    digits = fl.load_digits()
    pool = fl.read_pool({"id": digits.ids, "scores": digits.scores}, classes=digits.classes)
    audit = fl.create(None, "digits", pool, task=fl.Identify(fl.Accuracy(), lowest=2), seed=7)
    truth = dict(zip(digits.ids, digits.labels, strict=True))
    audit.tell({item: truth[item] for item in audit.ask(120).ids})
    audit.report(tmp_path / "report.html")
    page = house.browser.new_context().new_page()
    page.goto((tmp_path / "report.html").as_uri())
    unfolded(page)
    assert violations(page, [LOOKS[0], LOOKS[-1]]) == []  # thousands of marks: each look takes seconds
    page.context.close()


@pytest.mark.slow
def test_what_is_not_for_everybody_is_found(house: House) -> None:
    page = house.browser.new_context().new_page()
    page.set_content(
        "<html lang=en><title>t</title><style>@media (prefers-color-scheme: dark) { p { color: #ddd } }</style><p>text"
    )
    (found,) = violations(page, [LOOKS[0], LOOKS[2]])
    assert found.startswith("dark, 1280 px: color-contrast (1 elements)")
    page.context.close()
