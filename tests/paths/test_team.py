"""A team: two people on two devices, a sheet for each as well, what they dispute, and the owner who decides."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.store import Store
from fewlabels.store.people import People
from tests.support.paths import fill, misses, read, run
from tests.support.web import Site, bearer, client_of

if TYPE_CHECKING:
    from pathlib import Path

CLASSES = ("fine", "spam", "toxic")
ONE = "/api/v1/assessments/posts"
DESKTOP, PHONE = {"user-agent": "Mozilla/5.0 (X11; Linux)"}, {"user-agent": "Mozilla/5.0 (iPhone)"}


@pytest.fixture
def posts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, str], float]:
    """The file in the present folder; what each post is, and how often the classifier is right."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(8)
    true = rng.choice(3, 120, p=[0.6, 0.2, 0.2])
    said = np.where(rng.random(120) < 0.75, true, rng.integers(0, 3, 120))
    with (tmp_path / "posts.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["post_id", "text", "prediction"])
        writer.writerows([f"p{i}", f"The text of post {i}", CLASSES[k]] for i, k in enumerate(said))
    return {f"p{i}": CLASSES[k] for i, k in enumerate(true)}, float((true == said).mean())


@pytest.mark.slow
def test_a_team_on_two_devices(posts: tuple[dict[str, str], float], tmp_path: Path) -> None:
    truth, accuracy = posts
    begun = run("new", "team.db", "posts.csv", "--groups", "whole", "--overlap", 2, "--target", "pool").stderr
    assert "--annotator ann > ann.csv" in begun
    # A sheet for each: the words after `ask` are those that `tell` needs.
    for who in ("ann", "bob"):
        asked = run("ask", "team.db", "-n", 10, "--annotator", who, "-o", f"{who}.csv").stderr
        assert f"fewlabels tell team.db posts {who}.csv --annotator {who}" in asked
        fill(tmp_path / f"{who}.csv", truth)
    assert "--annotator ann" in run("tell", "team.db", "ann.csv", code=2).stderr
    run("tell", "team.db", "ann.csv", "--annotator", "ann")
    assert "10 so far, with the votes of enough people" in (
        run("tell", "team.db", "bob.csv", "--annotator", "bob").stderr
    )

    store = Store(tmp_path / "team.db")
    people = People(store)
    site = Site(store, "posts", people.invite("boss", "owner"), people.invite("ann"), people.invite("bob"))
    strange: list[str] = []
    with client_of(site) as client:
        for _ in range(5):
            for token, device in ((site.ann, DESKTOP), (site.bob, PHONE)):
                asked = client.post(f"{ONE}/ask", json={"n": 6}, headers=bearer(token) | device).json()["requests"]
                labels = [{"id": one["id"], "label": truth[one["id"]]} for one in asked]
                assert all("predicted" not in one for one in asked)  # nobody sees what the classifier said
                if token == site.bob and not strange:
                    strange = [one["id"] for one in asked[:2]]
                    for one in labels[:2]:
                        one["label"] = next(name for name in CLASSES if name != one["label"])
                told = client.post(f"{ONE}/tell", json={"labels": labels}, headers=bearer(token) | device)
                assert told.json()["taken"] == 6
        waiting = client.get(f"{ONE}/disputed", headers=bearer(site.owner)).json()
        assert {one["id"] for one in waiting} == set(strange)
        assert client.get(f"{ONE}/disputed", headers=bearer(site.ann)).status_code == 403
        decided = [{"id": item, "label": truth[item]} for item in strange]
        client.post(f"{ONE}/decide", json={"labels": decided}, headers=bearer(site.owner))
        assert client.get(f"{ONE}/disputed", headers=bearer(site.owner)).json() == []
        page = client.get("/dashboard/posts", headers=bearer(site.owner))
        assert page.status_code == 200
        answer = client.get(f"{ONE}/answer", headers=bearer(site.owner)).json()
        report = client.get("/download/report/posts", headers=bearer(site.owner)).text
    assert answer["headline"].split(" (")[0] in report

    settled = fl.load(store, "posts").labels()
    assert len(settled) == 40
    assert settled == {item: truth[item] for item in settled}
    by_person = list(fl.load(store, "posts").by_person().rows())
    assert {row["annotator"] for row in by_person} >= {"ann", "bob"}
    store.close()
    shown = read("show", "team.db")
    (row,) = shown["rows"]
    outside, _ = misses([(row["low"], accuracy, row["high"])])
    assert outside == 0
    assert shown["headline"] == answer["headline"]  # the page and the command say the same
