"""The labelling page when something goes wrong: the server, the network, who is signed in; no answer is lost."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from fewlabels.store.people import People
from tests.support.browser import all_saved, answer, has_done, item_shown
from tests.support.web import events_of

if TYPE_CHECKING:
    from playwright.sync_api import Route

    from tests.support.browser import House
    from tests.support.web import Site


@pytest.mark.slow
def test_nothing_is_lost_when_the_server_is_killed(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    said = [answer(page, "3", n) for n in (1, 2)]
    all_saved(page)
    house.server.kill()
    try:
        n = 2
        while page.is_visible("#item") and n < 6:
            n += 1
            said.append(answer(page, "3", n))
        assert n >= 4  # those that were there already
        page.wait_for_selector(f'#saved.warn[data-waiting="{n - 2}"]')
        assert len(site.audit().labels()) == 2
    finally:
        house.server.start()
    page.once("dialog", lambda dialog: dialog.accept())
    page.reload()  # what waits survives that as well
    page.wait_for_selector("#item >> visible=true")
    all_saved(page)
    labels = [(item, label) for kind, item, label, _ in events_of(site) if kind == "label"]
    assert sorted(labels) == sorted((item, "class 2") for item in said)  # each once
    assert item_shown(page) not in said


@pytest.mark.slow
def test_without_a_network_the_page_waits_and_goes_on_by_itself(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    calls: list[str] = []
    page.on("request", lambda request: calls.append(request.url))
    page.context.set_offline(offline=True)
    n = 0
    while page.is_visible("#item") and n < 20:
        n += 1
        answer(page, "1", n)
    page.wait_for_selector("#trouble >> visible=true")
    before = len(calls)
    page.wait_for_timeout(2500)
    assert len(calls) - before <= 6  # it tries now and then, and no more
    page.context.set_offline(offline=False)
    page.wait_for_selector("#item >> visible=true")
    all_saved(page)
    assert len(site.audit().labels()) == n >= 3


@pytest.mark.slow
def test_an_answer_whose_yes_was_lost_counts_once_and_can_be_taken_back(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    lost = []

    def swallow(route: Route) -> None:
        lost.append(route.fetch())
        route.abort()

    page.route("**/tell", swallow, times=1)
    first = answer(page, "1", 1)
    all_saved(page)
    assert lost[0].status == 200
    assert [kind for kind, *_ in events_of(site)].count("label") == 1
    page.route("**/tell", swallow, times=1)
    answer(page, "2", 2)
    page.wait_for_selector("#saved.warn")
    page.keyboard.press("u")  # the server has it, and the page does not know
    has_done(page, 1)
    all_saved(page)
    assert site.audit().labels() == {first: "class 0"}


@pytest.mark.slow
def test_what_the_server_refuses_is_shown_not_dropped(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    refusal = {"error": {"code": "conflict", "message": "gone"}}
    page.route("**/tell", lambda route: route.fulfill(status=409, json=refusal), times=1)
    item = answer(page, "2", 1)
    page.wait_for_selector("#refused >> visible=true")
    assert f"{item}: class 1 (gone)" in page.inner_text("#refused-list")
    page.reload()
    page.wait_for_selector("#refused >> visible=true")
    page.click("#forget")
    page.wait_for_selector("#refused", state="hidden")


@pytest.mark.slow
def test_an_item_withdrawn_meanwhile_is_said_and_the_answer_is_kept_on_the_page(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    page.wait_for_selector("#item >> visible=true")
    audit = site.audit()
    held = audit.held("ann").ids
    audit.withdraw(held, annotator="boss")
    item = answer(page, "2", 1)
    page.wait_for_selector("#refused >> visible=true")
    said = page.inner_text("#refused-list")
    assert f"{item}: class 1" in said
    assert "it was withdrawn after ann got it, so it needs no answer now" in said
    assert site.audit().labels() == {}


@pytest.mark.slow
def test_unsent_answers_stay_their_owners(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    page.route("**/tell", lambda route: route.abort())
    mine = answer(page, "1", 1)
    page.on("dialog", lambda dialog: dialog.accept())  # "leave the page?"
    page.click("text=Sign out")
    page.wait_for_selector("#sign-in")
    page.unroute("**/tell")
    page.goto(house.link(site.bob))
    page.wait_for_selector("header .right")
    page.goto(f"{house.server.address}/label/{site.name}")
    theirs = answer(page, "2", 1)
    all_saved(page)
    assert site.audit().labels() == {theirs: "class 1"}
    page.goto(house.link(site.ann))
    page.wait_for_selector("header .right")
    page.goto(f"{house.server.address}/label/{site.name}")
    page.wait_for_selector("#item >> visible=true")
    all_saved(page)
    said = {(item, label, who) for kind, item, label, who in events_of(site) if kind == "label"}
    assert said == {(theirs, "class 1", "bob"), (mine, "class 0", "ann")}


@pytest.mark.slow
def test_a_link_is_its_persons_whoever_was_signed_in(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    other = page.context.new_page()
    other.goto(house.link(site.bob))
    other.wait_for_selector("header .right")
    assert site.bob not in other.url
    assert other.inner_text("header .right").startswith("bob")
    answer(page, "1", 1)  # on the page that is still ann's
    page.wait_for_selector("#saved:text('You were signed out')")
    assert [event for event in events_of(site) if event[0] == "label"] == []


@pytest.mark.slow
def test_locked_out_in_the_middle_and_back_with_a_new_link(house: House, site: Site) -> None:
    people = People(house.store)
    page = house.label(site, people.invite("eve"))
    people.revoke("eve")
    time.sleep(1.5)  # a sign-in is remembered for a second
    item = answer(page, "1", 1)
    page.wait_for_selector("#saved:text('You were signed out')")
    assert site.audit().labels() == {}
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto(house.link(people.invite("eve")))
    page.wait_for_selector("header .right")
    page.goto(f"{house.server.address}/label/{site.name}")
    page.wait_for_selector("#item >> visible=true")
    all_saved(page)
    assert site.audit().labels() == {item: "class 0"}


@pytest.mark.slow
def test_who_was_away_for_longer_than_a_lease_gets_other_items(house: House, site: Site) -> None:
    page = house.label(site, site.ann)
    page.clock.install()
    audit = site.audit()
    gone = set(audit.held("ann").ids)
    audit.expire(0)
    assert set(audit.ask(len(gone), annotator="bob").ids) == gone  # they went to bob
    page.clock.set_fixed_time(time.time() + 2 * 900)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # ann is back
    page.wait_for_function(
        "gone => !gone.includes(Number(document.getElementById('item').innerText.split(' ').at(-1)))",
        arg=[int(item[-3:]) for item in gone],
    )
    assert item_shown(page) not in gone
