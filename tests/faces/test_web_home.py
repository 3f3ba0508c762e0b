"""The start page with no, a few and many assessments, the name on every page, and what is said where nothing is."""

from __future__ import annotations

import re

import pytest

import fewlabels as fl
from tests.support.web import bearer, client_of, make_site, pool_of_texts


def names(html: str) -> list[str]:
    """The assessments of a start page, from the top down."""
    return re.findall(r'<h2><a href="[^"]*">([^<]*)</a>', html)


def test_the_newest_assessment_is_first_and_a_few_are_cards() -> None:
    site = make_site()
    fl.create(site.store, "later", pool_of_texts(8))
    with client_of(site) as client:
        home = client.get("/", headers=bearer(site.owner)).text
    assert names(home) == ["later", "audit"]
    assert 'class="cards"' in home
    assert 'type="search"' not in home


def test_many_assessments_are_found_by_a_part_of_their_name() -> None:
    site = make_site()
    for week in range(13):
        fl.create(site.store, f"Queue, week {week}", pool_of_texts(4))
    with client_of(site) as client:
        owner = bearer(site.owner)
        home = client.get("/", headers=owner).text
        assert len(names(home)) == 14
        assert 'class="cards many"' in home
        found = client.get("/", params={"find": " WEEK 1"}, headers=owner).text
        assert names(found) == ["Queue, week 12", "Queue, week 11", "Queue, week 10", "Queue, week 1"]
        assert "4 of 14 assessments" in found
        none = client.get("/", params={"find": '"><b>'}, headers=owner).text
        assert "0 of 14 assessments" in none
        assert "<b>" not in none.split('name="find"')[1].split(">")[0]
        assert "How good is your classifier?" not in none
        annotator = client.get("/", params={"find": "week 7"}, headers=bearer(site.ann)).text
        assert re.findall("<h2>([^<]*)</h2>", annotator) == ["Queue, week 7"]


@pytest.mark.parametrize("path", ["decide", "answers", "guide", "label", "dashboard"])
def test_every_page_of_an_assessment_says_which_it_is(path: str) -> None:
    site = make_site(name="shoes & boots")
    with client_of(site) as client:
        page = client.get(f"/{path}/shoes & boots", headers=bearer(site.owner)).text
    assert "shoes &amp; boots" in page.split("<main")[1]


def test_an_address_without_a_page_says_so_in_a_sentence() -> None:
    site = make_site()
    with client_of(site) as client:
        page = client.get("/nowhere", headers=bearer(site.owner) | {"accept": "text/html"})
        assert page.status_code == 404
        assert "There is nothing at this address." in page.text
        assert "Not Found" not in page.text
        api = client.get("/api/v1/nowhere", headers=bearer(site.owner))
    assert api.json()["error"]["code"] == "not-found"
    assert "nothing at this address" in api.json()["error"]["message"]
