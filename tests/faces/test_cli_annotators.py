"""Labels that may be wrong, from several people, on the command line."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli.main import cli

CLASSES = ["billing", "delivery", "other"]


def run(*words, stdin=None):
    result = CliRunner().invoke(cli, [str(word) for word in words], input=stdin)
    assert result.exit_code == 0, f"{result.output}\n{result.exception!r}"
    return result


@pytest.fixture
def truth(tmp_path, monkeypatch):
    """The file tickets.csv with 200 predictions, gold.csv with 30 classes that are known; and the truth."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    true = rng.integers(0, 3, 200)
    said = np.where(rng.random(200) < 0.9, true, (true + 1) % 3)
    rows = [f"t{i},ticket {i},{CLASSES[k]}\n" for i, k in enumerate(said)]
    (tmp_path / "tickets.csv").write_text("id,text,predicted\n" + "".join(rows), encoding="utf-8")
    known = [f"t{i},{CLASSES[true[i]]}\n" for i in range(170, 200)]
    (tmp_path / "gold.csv").write_text("id,label\n" + "".join(known), encoding="utf-8")
    return {f"t{i}": CLASSES[k] for i, k in enumerate(true)}


def sheet(batch, says):
    """The batch with its labels filled in."""
    rows = [(row["id"], says(row["id"])) for row in csv.DictReader(io.StringIO(batch))]
    return "id,label\n" + "".join(f"{item},{label}\n" for item, label in rows)


def test_votes_of_several_people_are_not_said_to_replace_each_other(truth):
    begun = run("new", "audit.db", "tickets.csv", "--gold", "gold.csv", "--overlap", 2).output
    assert "labels      from 2 people for each item; may be wrong; 30 gold items among them, 10% of what is" in begun
    assert "fewlabels ask audit.db tickets -n 20 --annotator ann > ann.csv" in begun
    first = sheet(run("ask", "audit.db", "-n", 20, "--annotator", "Ann Lee").stdout, truth.get)
    assert "20 labels taken. " in run("tell", "audit.db", "-", "--annotator", "Ann Lee", stdin=first).output
    second = sheet(run("ask", "audit.db", "-n", 20, "--annotator", "bob").stdout, lambda item: "other")
    run("tell", "audit.db", "-", "--annotator", "bob", stdin=second)
    again = run("tell", "audit.db", "-", "--annotator", "bob", stdin=second).output
    assert "Nothing new: 20 labels known before." in again
    third = run("tell", "audit.db", "-", "--annotator", "cyd", stdin=second).output  # the sheet was passed on
    assert "of items that somebody else had labelled)" in third
    assert "replaced" not in third


def test_a_sheet_that_is_passed_on_does_not_make_gold_items_count(truth):
    run("new", "audit.db", "tickets.csv", "--gold", "gold.csv", "--gold-rate", 0.5)
    batch = run("ask", "audit.db", "-n", 30, "--annotator", "ann").stdout
    run("tell", "audit.db", "-", "--annotator", "ann", stdin=sheet(batch, truth.get))
    audit = fl.load("audit.db", "tickets")
    counted = audit.labels()
    assert 5 <= len(counted) <= 25  # 15 ± 3.6 standard deviations
    run("tell", "audit.db", "-", "--annotator", "bob", stdin=sheet(batch, truth.get))
    assert audit.labels() == counted
    assert dict(zip(*(audit.annotators().people[name] for name in ("annotator", "votes")), strict=True)) == {
        "ann": 30,
        "bob": 30,
    }


def test_show_says_how_often_each_person_is_right(truth):
    run("new", "audit.db", "tickets.csv", "--gold", "gold.csv")
    for name, says in (("Ann Lee", truth.get), ("eve", lambda item: "other")):
        batch = run("ask", "audit.db", "-n", 30, "--annotator", name).stdout
        run("tell", "audit.db", "-", "--annotator", name, stdin=sheet(batch, says))
    assert (
        "How often each person is right: fewlabels show audit.db tickets --annotators" in run("show", "audit.db").output
    )
    shown = run("show", "audit.db", "--annotators")
    found = fl.load("audit.db", "tickets").annotators()
    assert ["annotator", "votes", "checked", "right"] in [line.split() for line in shown.stdout.splitlines()]
    assert f"Ann Lee       30{found.people['checked'][0]:9}  {found.by_name['Ann Lee']}" in shown.stdout
    assert "eve gave one class to every item" in shown.output
    as_json = json.loads(run("show", "audit.db", "--annotators", "--json").stdout)
    assert as_json["floor"] == pytest.approx(found.floor)
    assert [row["annotator"] for row in as_json["annotators"]] == ["Ann Lee", "eve"]


def test_where_labels_are_true_show_says_how_far_people_agree(truth):
    run("new", "audit.db", "tickets.csv", "--overlap", 2)
    assert "nothing can be compared" in run("show", "audit.db", "--annotators").output
    for name in ("ann", "bob"):
        batch = run("ask", "audit.db", "-n", 10, "--annotator", name).stdout
        run("tell", "audit.db", "-", "--annotator", name, stdin=sheet(batch, truth.get))
    shown = run("show", "audit.db", "--annotators")
    assert "agree 100% of the time" in shown.output
    assert [line.split()[:2] for line in shown.stdout.splitlines()[-2:]] == [["ann", "10"], ["bob", "10"]]
    assert "agree" in json.loads(run("show", "audit.db", "--annotators", "--json").stdout)["agreement"]


@pytest.mark.parametrize("about", ["--annotators", "--judges"])
@pytest.mark.parametrize(
    "option",
    [
        "--metric=accuracy",
        "--model=none",
        "--sort=mean",
        "--top=1",
        "--guarantee=anytime",
        "--together",
        "--forecast",
    ],
)
def test_options_that_change_nothing_are_refused(truth, about, option):
    run("new", "audit.db", "tickets.csv")
    refused = CliRunner().invoke(cli, ["show", "audit.db", about, option])
    assert refused.exit_code == 2
    assert f"{about} has a table of its own, which {option.split('=')[0]} does not change" in refused.output
