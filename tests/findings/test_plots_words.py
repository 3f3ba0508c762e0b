"""Plots say what they show: titles by what is looked for, one number for one thing, and grey where labels are few."""

from __future__ import annotations

from typing import Any

import pytest

import fewlabels as fl
from fewlabels import plots
from fewlabels.plots.curve import Curve
from fewlabels.plots.drawing.layout import frames
from fewlabels.plots.drawing.picture import Box, Note
from fewlabels.wording import probability
from tests.support.reports import CLASSES, told_exactly

COUNTS = {"shirt": (12, 12), "coat": (15, 9), "bag": (22, 2), "boot": (2, 1)}


@pytest.mark.parametrize(
    ("task", "title"),
    [
        (fl.Identify(fl.Accuracy(), lowest=1), "Chance of having the lowest accuracy"),
        (fl.Identify(fl.Accuracy(), highest=3), "Chance of being among the three with the highest accuracy"),
        (fl.Estimate(fl.Accuracy()), "Chance of being the lowest or the highest"),
    ],
)
def test_chances_are_of_what_is_looked_for(task: fl.Task, title: str) -> None:
    shown = plots.PLOTS["chances"].of(told_exactly(COUNTS, task=task), draws=200)
    assert shown.title == shown.to_json()["title"] == title
    assert f"<title>{shown.finding()}</title>" in plots.standalone(shown)


@pytest.mark.parametrize("prior", [fl.Uniform(), fl.Learned()])
def test_the_share_that_is_right_is_the_accuracy(prior: fl.priors.Prior) -> None:
    audit = told_exactly(COUNTS, prior=prior)
    shown: Any = plots.PLOTS["confusion"].of(audit, draws=300)
    known = {row["group"]: row for row in audit.estimates(metric=fl.Accuracy(), draws=300).rows()}
    for i, row in enumerate(shown.rows):
        assert (row.mean[i], row.low[i], row.high[i]) == tuple(
            known[row.predicted][end] for end in ("mean", "low", "high")
        )
    (panel,) = shown.picture().panels
    written = {(mark.x, mark.y): mark.text for mark in panel.marks if isinstance(mark, Note)}
    for i, name in enumerate(CLASSES[:3]):
        assert written[i + 0.5, i + 0.5] == f"{known[name]['mean']:.0%}"
    assert [tick.text for tick in panel.aside] == [f"{known[name]['labelled']} labels" for name in CLASSES]
    assert [tick.text for tick in panel.x.ticks] == list(CLASSES)


def test_a_share_too_small_to_matter_leaves_its_place_empty() -> None:
    shown: Any = plots.PLOTS["confusion"].of(told_exactly({"boot": (95, 0), "shirt": (50, 30)}), draws=200)
    (panel,) = shown.picture().panels
    boot = [mark for mark in panel.marks if isinstance(mark, Box) and mark.ys[0] // 1 == 3]
    assert sorted(mark.shade > 0 for mark in boot) == [False, False, False, True]
    assert all(mark.tip for mark in boot)  # an empty place still says how small the share is


def test_a_row_with_few_labels_is_grey_and_has_no_numbers() -> None:
    shown = plots.PLOTS["confusion"].of(told_exactly(COUNTS), draws=200)
    (panel,) = shown.picture().panels
    tones = {(mark.ys[0] // 1, mark.tone) for mark in panel.marks if isinstance(mark, Box)}
    assert {tone for row, tone in tones if row == 3} == {"muted"}
    assert {tone for row, tone in tones if row < 3} <= {"main", "accent", "ink"}
    assert all(mark.y < 3 for mark in panel.marks if isinstance(mark, Note))
    assert [key.text for key in panel.keys] == ["right", "confused", "few labels"]
    assert "A grey row has fewer than 5 labels." in shown.caption()
    full = plots.PLOTS["confusion"].of(told_exactly(COUNTS | {"boot": (20, 1)}), draws=200)
    assert "grey" not in full.caption()


@pytest.mark.parametrize(
    ("kind", "score", "label", "share"),
    [
        ("Accuracy", "rmse", "error (RMSE, percent)", False),
        ("Cost", "rmse", "error (RMSE, cost)", False),
        ("Confusion", "rmse", "error (RMSE ÷ that of the informed prior without labels)", False),
        ("Accuracy", "mrr", "mean reciprocal rank", False),
        ("Accuracy", "success", "share of runs with the right answer", True),
    ],
)
def test_the_curve_of_a_simulation(kind: str, score: str, label: str, share: bool) -> None:
    rows: dict[str, list[Any]] = {
        "method": ["a", "a", "b", "b", "a"],
        "budget": [20, 10, 10, 20, 20],
        "score": [score] * 4 + ["labels-to-identify"],
        "mean": [0.2, 0.3, 0.4, 0.35, 17.0],
        "se": [0.01, 0.02, None, 0.03, 0.1],
    }
    curve = Curve.of_simulation(fl.Table(rows, {"runs": 1000, "task": {"metric": {"kind": kind}}}))
    assert [(chart.label, chart.share) for chart in curve.charts] == [(label, share)]
    first, second = curve.charts[0].traces
    assert (first.name, first.labels, first.mean) == ("a", (10, 20), (0.3, 0.2))
    assert first.low == pytest.approx((0.26, 0.18))
    assert (second.low or ())[0] == 0.4
    drawn = plots.standalone(curve)
    assert "The mean of 1,000 runs" in drawn
    assert ("20%" in drawn) == share


def test_the_curve_ends_with_the_answer_and_axes_say_which_chance() -> None:
    audit = told_exactly(COUNTS, task=fl.Identify(fl.Accuracy(), lowest=2))
    curve: Any = plots.PLOTS["curve"].of(audit, draws=200)
    sure = audit.answer(draws=200).probability
    assert curve.charts[0].traces[0].mean[-1] == sure  # one number, in the sentence and in the picture
    assert curve.finding().startswith(f"Probability that the answer is right: {probability(sure)} after ")
    assert "A band is" not in curve.caption()  # there is none
    (one,) = plots.PLOTS["chances"].of(audit, draws=200).picture().panels
    assert one.x.label == "probability"  # short enough for a phone; the title says of what
    two = plots.PLOTS["chances"].of(told_exactly(COUNTS), draws=200).picture().panels
    assert [panel.x.label for panel in two] == ["probability"] * 2
    assert [panel.y.label for panel in two] == ["lowest accuracy", "highest accuracy"]
    place = plots.PLOTS["ranking"].of(audit, draws=200).finding()
    assert place.startswith("shirt has rank 1 ")
    assert place.endswith(" of 4, where 1 is the lowest accuracy")


def test_a_matrix_keeps_its_shape_on_a_phone() -> None:
    names = tuple(f"a longer category {k}" for k in range(9))
    pool = fl.read_pool({"id": [str(i) for i in range(90)], "predicted": [names[i % 9] for i in range(90)]})
    audit = fl.create(None, "nine", pool, seed=1)
    audit.tell({item: names[int(item) % 9] for item in audit.ask(54).ids})
    picture = plots.PLOTS["confusion"].of(audit, draws=100).picture()
    (wide,), (narrow,) = frames(picture, 720), frames(picture, 366)
    assert wide.aside
    assert not narrow.aside  # the columns need the room
    for frame in (wide, narrow):
        assert 0.5 < frame.height / frame.width < 1.1
    assert narrow.width / 9 >= 22
