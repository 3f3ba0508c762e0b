"""The labelling page in a real browser, against a real server: what annotators do all day."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fewlabels as fl
from tests.support.browser import all_saved, answer, has_done, item_shown
from tests.support.web import events_of, pool_of_texts

if TYPE_CHECKING:
    from tests.support.browser import House
    from tests.support.web import Site

FIFTEEN = [
    "Billing",
    "Login/Password",
    "Delivery and shipping",
    "Refund",
    "Warranty",
    "Technical problem",
    "Cancellation",
    "Address change",
    "Newsletter",
    "Praise",
    "Complaint",
    "Bundesausbildungsförderung",
    "Spam",
    "Other language",
    "none of these",
]


@pytest.mark.slow
def test_twenty_items_by_keyboard(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    assert site.ann not in page.url
    assert "#" not in page.url
    said = {}
    for i in range(20):
        item = answer(page, str(1 + i % 4), i + 1)
        assert item not in said  # never the same again
        said[item] = f"class {i % 4}"
    all_saved(page)
    assert site.audit().labels() == said
    assert {who for kind, _, _, who in events_of(site) if kind == "label"} == {"ann"}
    shown = page.content()
    assert "predicted" not in shown
    assert "undisclosed" not in shown


def test_undo_skip_and_note(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    first = answer(page, "1", 1)
    page.keyboard.press("u")
    has_done(page, 0)
    assert item_shown(page) == first
    assert "class 0" in page.inner_text(".choices .chosen")
    page.keyboard.press("n")
    page.keyboard.type("looks like two")
    page.keyboard.press("Escape")
    answer(page, "2", 1)
    second = item_shown(page)
    page.keyboard.press("s")
    page.keyboard.press("2")
    has_done(page, 2)
    third = item_shown(page)
    assert len({first, second, third}) == 3
    page.keyboard.press("s")
    page.fill("#other", "it is empty")
    page.keyboard.press("Enter")
    has_done(page, 3)
    all_saved(page)
    assert site.audit().labels() == {first: "class 1"}
    notes = {(event.kind, event.item): event.note for event in site.store.events(site.name)}
    assert notes["label", first] == "looks like two"
    assert notes["skip", second] == "not in the list"
    assert notes["skip", third] == "it is empty"
    page.keyboard.down("Backspace")  # takes back the last skip,
    page.keyboard.down("Backspace")  # and a key held down is one undo
    page.keyboard.up("Backspace")
    has_done(page, 2)
    all_saved(page)
    assert item_shown(page) == third
    assert {one.id for one in site.audit().disputed()} == {second}


def test_undo_reaches_behind_a_reload(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    first, second = answer(page, "1", 1), answer(page, "2", 2)
    all_saved(page)
    page.reload()
    for item, said in ((second, "class 1"), (first, "class 0")):
        page.wait_for_selector("#item >> visible=true")
        page.keyboard.press("u")
        page.wait_for_selector(f"#heard:text('{said}')", state="attached")
        assert item_shown(page) == item
        all_saved(page)
    assert site.audit().labels() == {}
    page.keyboard.press("u")
    page.wait_for_selector("#heard:text('nothing to take back')", state="attached")


@pytest.mark.parametrize("site", [{"pool": pool_of_texts(20, 1000), "name": "thousand"}], indirect=True)
def test_search_among_a_thousand_classes(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    item = item_shown(page)
    page.keyboard.type("class 77")  # class 77, class 770, ...
    page.wait_for_selector("[role=option]")
    options = page.locator("[role=option]").all_inner_texts()
    assert options[0] == "class 77"
    assert "class 770" in options
    assert page.inner_text("#matches") == "19 classes match"  # class 177 too
    page.keyboard.press("ArrowDown")
    chosen = page.inner_text("[aria-selected=true]")
    page.keyboard.press("Enter")
    has_done(page, 1)
    other = item_shown(page)
    page.keyboard.type("999")
    page.keyboard.press("Enter")
    has_done(page, 2)
    page.keyboard.type("class")
    page.wait_for_selector("text=1,000 classes match, the first 50 are shown")
    page.keyboard.type(" no such thing")
    page.wait_for_selector("text=No class matches")
    page.keyboard.press("Escape")  # clears
    page.keyboard.press("Escape")  # leaves, so that keys are keys
    page.keyboard.press("s")
    page.keyboard.press("2")
    has_done(page, 3)
    all_saved(page)
    assert site.audit().labels() == {item: chosen, other: "class 999"}
    assert len(site.audit().disputed()) == 1


@pytest.mark.parametrize("site", [{"pool": pool_of_texts(20, 40), "name": "forty"}], indirect=True)
def test_forty_classes_are_listed_in_their_order(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    item = item_shown(page)
    listed = [f"class {k}" for k in range(40)]
    assert page.locator("[role=option]").all_inner_texts() == listed  # nothing tells what the model said
    page.keyboard.press("Enter")  # nothing was chosen yet
    assert page.inner_text("#done") == "0 answered"
    page.keyboard.press("ArrowUp")
    assert page.inner_text("[aria-selected=true]") == "class 39"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    has_done(page, 1)
    other = item_shown(page)
    page.click("[role=option]:has-text('class 17')")
    has_done(page, 2)
    all_saved(page)
    assert site.audit().labels() == {item: "class 0", other: "class 17"}
    page.reload()
    page.wait_for_selector("text=2 answers of yours")


# For each class: whether a box around it cuts it off, how far down the page it ends, and the lines of each word in it.
CLASSES_SHOWN = r"""() => [...document.querySelectorAll(".choices button")].map((button) => {
    const box = button.getBoundingClientRect(), text = button.lastChild.firstChild, cut = [];
    for (let around = button.parentElement; around !== document.documentElement; around = around.parentElement) {
        const [edge, style] = [around.getBoundingClientRect(), getComputedStyle(around)];
        if (style.overflowY !== "visible" && (box.bottom > edge.bottom || box.top < edge.top)) cut.push(around.id);
    }
    const lines = [...text.data.matchAll(/\S+/g)].map((word) => {
        const range = document.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        return range.getClientRects().length;
    });
    return { name: button.textContent, cut, end: box.bottom + scrollY, lines: Math.max(...lines) };
})"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 320])
def test_all_classes_are_there_on_a_phone(house: House, width: int) -> None:
    table = {"id": ["a", "b"], "predicted": ["Billing", "Refund"], "text": ["I was charged twice. " * 40] * 2}
    site = house.site(f"phone of {width}", fl.read_pool(table, classes=FIFTEEN, columns=["text"], content="text"))
    page = house.label(site, site.ann, viewport={"width": width, "height": 700}, has_touch=True, is_mobile=True)
    shown = page.evaluate(CLASSES_SHOWN)
    height, across = page.evaluate("[document.documentElement.scrollHeight, document.documentElement.scrollWidth]")
    assert across <= width
    assert [one["name"].removeprefix(key) for one, key in zip(shown, "123456789abcdef", strict=True)] == FIFTEEN
    for one in shown:
        assert not one["cut"], one
        assert one["end"] <= height, one
        assert one["lines"] == 1, one  # no word is broken
    page.tap("#to-classes")  # a long text is before them, and they are one touch away
    page.wait_for_selector("#to-classes", state="hidden")
    for box in (page.locator(".choices button").nth(i).bounding_box() for i in range(15)):
        assert box is not None
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 700
    page.tap("button:has-text('none of these')")
    has_done(page, 1)
    assert page.evaluate("scrollY") == 0  # the next item from its beginning
    all_saved(page)
    assert list(site.audit().labels().values()) == ["none of these"]


@pytest.mark.slow
def test_classes_with_long_names_do_not_hide_the_item_of_a_phone(house: House) -> None:
    names = [f"A class with quite a long name, number {i}, for things that are alike" for i in range(8)]
    table = {"id": ["a", "b"], "predicted": names[:2], "text": ["I was charged twice. " * 40] * 2}
    site = house.site("long names", fl.read_pool(table, classes=names, columns=["text"], content="text"))
    page = house.label(site, site.ann, viewport={"width": 390, "height": 640}, has_touch=True, is_mobile=True)
    page.wait_for_selector("#panel.tall", state="attached")
    box, tools = page.locator("#item").bounding_box(), page.locator("#panel .tools").bounding_box()
    assert box is not None
    assert tools is not None
    assert tools["height"] < 100
    assert 640 - tools["height"] - box["y"] > 300  # so much of the item is seen
    place = page.locator("#to-classes").bounding_box()
    assert place is not None
    page.tap("#to-classes")
    page.wait_for_selector("#to-classes", state="hidden")
    first = page.locator(".choices button").first.bounding_box()
    assert first is not None
    assert -1 < first["y"] < 100  # they are taller than the window: it shows where they begin
    page.touchscreen.tap(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    page.tap(".choices button >> nth=1")
    has_done(page, 1)  # the second touch took nothing back, and chose nothing
    all_saved(page)
    assert list(site.audit().labels().values()) == [names[1]]
    few = house.site("short names", pool_of_texts(4, 2))
    page = house.label(few, few.ann, viewport={"width": 390, "height": 640}, has_touch=True, is_mobile=True)
    page.wait_for_timeout(300)
    assert page.locator("#to-classes").bounding_box() is None  # classes that are in sight need no button, and no place


def test_two_annotators_at_once_never_get_the_same_item(house: House, site: Site) -> None:
    pages = [house.label(site, token) for token in (site.ann, site.bob)]
    seen = [answer(page, "1", n) for n in range(1, 7) for page in pages]
    for page in pages:
        all_saved(page)
    assert len(set(seen)) == 12
    people = {row["annotator"]: row["labels"] for row in site.audit().by_person().rows()}
    assert people == {"ann": 6, "bob": 6}
    assert len(site.audit().labels()) == 12


def test_two_tabs_of_one_person_share_the_work(house: House, site: Site) -> None:
    one = house.label(site, site.ann)
    other = one.context.new_page()
    other.goto(one.url)
    assert item_shown(other) == item_shown(one)  # what is open comes first, in each tab
    seen: list[str] = []
    for k, (page, n) in enumerate([(one, 1), (other, 1), (one, 2), (other, 2)]):
        # A tab hears of what was answered in the other by an event, which may come later than the next key.
        page.wait_for_function(
            "texts => !texts.includes(document.getElementById('item').innerText)",
            arg=[f"The text of item {int(item[-3:])}" for item in seen],
        )
        seen.append(answer(page, str(k + 1), n))
    all_saved(one)
    all_saved(other)
    assert len(set(seen)) == 4
    assert site.audit().labels() == {item: f"class {k}" for k, item in enumerate(seen)}


@pytest.mark.slow
@pytest.mark.parametrize("site", [{"pool": pool_of_texts(3, 3), "name": "small"}], indirect=True)
def test_an_empty_pool_is_said_and_looked_at_now_and_then(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    for n in (1, 2, 3):
        answer(page, "1", n)
    page.wait_for_selector("#empty >> visible=true")
    all_saved(page)
    calls: list[str] = []
    page.on("request", lambda request: calls.append(request.url))
    page.wait_for_timeout(2000)
    assert len(calls) <= 2
    page.keyboard.press("u")  # the last answer can be taken back all the same
    has_done(page, 2)
    assert page.is_visible("#item")


@pytest.mark.slow
def test_the_last_answer_does_not_look_chosen_on_the_next_item(house: House, site: Site) -> None:
    """A tap leaves the pointer where it was: the class that was tapped had a coloured frame on the next item too."""
    page = house.label(site, site.ann, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    frames = """() => [...document.querySelectorAll(".choices button")].map((one) => {
        const look = getComputedStyle(one);
        return [look.borderColor, look.backgroundColor, look.outlineStyle].join();
    })"""
    before = page.evaluate(frames)
    assert len(set(before)) == 1
    page.locator(".choices button").nth(1).tap()
    has_done(page, 1)
    assert page.evaluate(frames) == before
