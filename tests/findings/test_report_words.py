"""What a report says first: the answer before the average, what is certain before what is open, and what to do next."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.findings.finding import find
from fewlabels.findings.key_figures import key_figures
from fewlabels.findings.next_steps import next_steps
from fewlabels.planning.words import only_these
from fewlabels.report import outlook, read
from fewlabels.report.settings import settings
from fewlabels.stopping import Stop
from tests.support.reports import pool, told, told_exactly

THREE = fl.Identify(fl.Accuracy(), lowest=3)
COUNTS = {"shirt": (20, 20), "coat": (24, 16), "bag": (38, 2), "boot": (39, 1)}
OVERALL = "Right overall"


def report_of(audit: fl.Assessment, **more):
    return read(audit, **{"draws": 500, "foresee": False} | more)


# --- the number over all items


@pytest.mark.parametrize(
    ("spec", "doubt"),
    [
        (
            {"task": fl.Identify(fl.Accuracy(), lowest=1)},
            "labels were steered to the worst classes; this number depends ",
        ),
        ({"task": fl.Identify(fl.Accuracy(), highest=1)}, "labels were steered to the classes looked for; this number"),
        ({"task": fl.Identify(fl.Accuracy(), lowest=1), "policy": fl.UniformItems()}, ""),
        ({"task": fl.Identify(fl.Accuracy(), lowest=1), "policy": fl.UniformGroups()}, ""),
        ({"task": fl.Compare(fl.Accuracy(), "bag", "boot")}, "only the two classes compared were labelled; elsewhere"),
        ({"task": fl.Compare(fl.Accuracy(), "north", "south"), "place": True}, ""),  # all items are in one of the two
        ({}, ""),
    ],
)
def test_an_average_of_steered_labels_never_stands_without_its_doubt(spec, doubt) -> None:
    report = report_of(told(120, **spec))
    assert report.overall.doubt.startswith(doubt)
    assert bool(report.overall.doubt) == bool(doubt)
    names = [fact.name for fact in key_figures(report)]
    if report.answer.probability is not None:
        assert names[0] != OVERALL  # the answer's own fact comes first
    fact = next(fact for fact in key_figures(report) if fact.name == OVERALL)
    assert names.index(OVERALL) == (len(names) - 2 if doubt else names[0] != OVERALL)
    if report.overall.enough:
        assert (report.overall.doubt in fact.about) or not doubt
        assert report.overall.between in fact.about
    assert report.to_json()["overall"]["doubt"] == report.overall.doubt


@pytest.mark.parametrize(
    ("prior", "on"), [(fl.Learned(), "the scores"), (fl.Uniform(), "what was assumed before any label")]
)
def test_the_doubt_says_what_the_average_leans_on(prior, on) -> None:
    overall = report_of(told_exactly(COUNTS, task=THREE, prior=prior)).overall
    assert overall.enough
    begin = f"labels were steered to the worst classes; this number depends on {on} and tends to be too low"
    rests = "; no label was drawn at random from all items" if prior.uses_items else ""
    assert overall.doubt == begin + rests


# --- what is certain, and what is open


def named(chances: tuple[float, ...], sure: float, evidence: str = "enough") -> tuple[str, tuple[str, ...]]:
    """The headline and the next steps where the three named groups have these chances."""
    audit = told_exactly(COUNTS, task=THREE)
    report = report_of(audit)
    chance = dict(zip(report.answer.groups, chances, strict=True))
    rows = tuple(replace(row, chance=chance.get(row.group, 0.1), evidence=evidence) for row in report.groups)
    grounds = replace(report.grounds, rows=rows, read_answer=lambda: replace(report.answer, probability=sure))
    return THREE.headline(grounds), next_steps(THREE, grounds, None)


def test_what_is_certain_is_told_apart_from_what_is_open() -> None:
    groups = report_of(told_exactly(COUNTS, task=THREE)).answer.groups
    words, steps = named((0.999, 0.991, 0.26), 0.28)
    first, rest = words.split(". Still open: ")
    assert first.endswith(" are nearly certain to be among the three classes it gets wrong most often")
    assert [name in first for name in groups] == [True, True, False]
    assert "(chance over 99%; when it says so, it is right in " in first
    assert rest == f"{groups[2]} (chance 26%)."
    assert "expected" not in words
    assert steps == (
        f"{groups[0]} and {groups[1]} are settled enough to act on.",
        "The third probably needs more labels.",
    )


def test_two_that_are_open_are_told_with_their_chances() -> None:
    groups = report_of(told_exactly(COUNTS, task=THREE)).answer.groups
    words, steps = named((0.95, 0.6, 0.3), 0.1)
    assert words.endswith(f" Still open: {groups[1]} (chance 60%) and {groups[2]} (chance 30%).")
    assert steps[1] == "The other two probably need more labels."


def test_groups_that_are_sure_are_named_although_their_numbers_are_vague() -> None:
    """A stopping rule at a probability is met then: the sentence must not say that it is too early."""
    words, steps = named((0.99, 0.98, 0.97), 0.96, "few")
    assert words.startswith("The three classes it gets wrong most often are ")
    assert words.count("(too few labels for a number)") == 3
    assert words.endswith("We are 96% sure that these are the right three.")
    assert "settled enough to act on" in steps[0]


def test_one_label_more_changes_a_word_and_not_the_sentence() -> None:
    """A chance just below the word, as it is written, and just above: the same groups with the same numbers."""
    below, above = (named((0.99, chance, 0.3), 0.28)[0] for chance in (0.894, 0.896))
    assert " is likely to be." in below
    assert " likely to be." not in above
    assert "(chance 89%)" in below
    assert "(chance 90%; " in above
    alone, likely = (named((chance, 0.6, 0.3), 0.1)[0] for chance in (0.89, 0.91))
    assert " is likely to be among the three classes it gets wrong most often. Still open: " in alone
    assert likely.replace("nearly certain", "likely").replace("91%", "89%") == alone


@pytest.mark.parametrize(
    ("chances", "sure", "evidence", "start", "step"),
    [
        (
            (0.99, 0.98, 0.97),
            0.95,
            "enough",
            "The three classes it gets wrong most often are ",
            "More labels would only",
        ),
        ((0.69, 0.65, 0.6), 0.3, "enough", "It is too early to name the three classes", "Nothing is settled enough"),
        ((0.94, 0.4, 0.3), 0.1, "few", "It is too early to name the three classes", "Nothing is settled enough"),
    ],
)
def test_where_there_is_nothing_to_split_it_is_not(chances, sure, evidence, start, step) -> None:
    words, steps = named(chances, sure, evidence)
    assert words.startswith(start)
    assert "open" not in words
    assert step in steps[0]


# --- budget and goal, and what to do next


@pytest.mark.slow
def test_a_budget_that_is_used_up_is_no_goal_and_the_rest_is_foreseen() -> None:
    audit = told(20, stop=Stop(labels=20, overall=0.12))
    report = report_of(audit, foresee=True)
    standing, ahead, _ = report.more.sentences()
    assert standing.startswith("The budget is used up: 20 of 20 labels. The goal is not reached: the interval of the ")
    assert report.more.forecast is not None
    assert report.more.forecast.stop == Stop(overall=0.12)  # beyond the budget
    assert ahead.startswith("Probably ")
    assert outlook(audit, "") == ahead  # the dashboard's words, beside those of the standing
    assert "more labels until the interval of the average is at most 12 points wide." in " ".join(report.next)


@pytest.mark.parametrize("stop", [Stop(labels=20), Stop(overall=0.9)])
def test_where_it_is_enough_nothing_is_foreseen(stop: Stop) -> None:
    audit = told(20, stop=stop)
    assert audit.standing().words.startswith("The budget is used up: " if stop.labels else "Enough: ")
    assert outlook(audit, "") == ""
    assert report_of(audit, foresee=True).more.forecast is None


@pytest.mark.slow
def test_next_steps_are_on_every_page_and_name_the_labels_that_are_missing() -> None:
    audit = told(40, task=fl.Compare(fl.Accuracy(), "bag", "boot", rope=0.03))
    report = report_of(audit, foresee=True)
    assert report.next[0].startswith("Settling the comparison will probably take ")
    assert "the labels of all 160 items that are left" in report.next[0]
    assert report.next[-1] == only_these()
    assert f"**Next:** {report.next[0]}" in report.markdown()
    assert f"<b>Next:</b> {report.next[0]}" in report.html()
    assert report.to_json()["next"] == list(report.next)
    assert report_of(told(0)).next == ("Label some items first.",)


# --- labels and settings


def test_only_a_label_that_differs_replaces_an_earlier_one() -> None:
    audit = told(30)
    labels = dict(list(audit.labels().items())[:12])
    audit.tell(labels, annotator="ann")
    assert report_of(audit).labels.replaced == 0
    other = {item: next(name for name in pool()[0].classes if name != label) for item, label in labels.items()}
    audit.tell(dict(list(other.items())[:3]), annotator="ann")
    assert report_of(audit).labels.replaced == 3


def test_settings_that_are_not_set_are_left_out() -> None:
    found = {line.name: line.value for line in settings(report_of(told(10, stop=Stop(labels=50))))}
    assert found["stop.labels"] == "50"
    assert "policy.plays" not in found
    assert "stop.width" not in found
    assert "not set" not in found.values()


def test_what_is_counted_is_not_called_an_estimate() -> None:
    said = ["yes", "no"] * 25
    items = fl.read_pool({"id": [f"i{k}" for k in range(50)], "predicted": said, "confidence": [0.8] * 50})
    audit = fl.create(None, "all", items, target="pool")
    audit.tell({f"i{k}": one if k > 4 else "no" for k, one in enumerate(said)}, adopt=True)
    found = find(audit, draws=200)
    assert found.headline.startswith("The classifier is right for 94.0% of these 50 items (counted, not estimated).")
    assert "between" not in found.headline
    assert found.doubts == ()
    assert found.answer.words.endswith("is 94.0%; counted, not estimated.")


def test_what_models_leave_unanswered_and_a_rough_level_are_said() -> None:
    said = [[k % 2, -1 if k < 6 else (k + 1) % 2, -1 if k == 7 else k % 2] for k in range(60)]
    items = fl.read_pool({"predicted": said, "models": ["a", "b", "c"], "classes": ["x", "y"]})
    audit = fl.create(None, "which", items, task=fl.Best(fl.Accuracy()), target="pool")
    silent = "b has no answer for 6 of 60 items and c for 1. An item without an answer counts as wrong."
    assert find(audit, draws=200).doubts == (silent,)
    audit.tell(dict.fromkeys(audit.ask(8).ids, "x"))
    found = find(audit, draws=200).doubts
    assert found[0] == silent
    assert "no label was drawn at random from all items" in found[-1]
    audit.tell({str(k): "x" for k in range(60)}, adopt=True)
    assert not any("rough guess" in doubt for doubt in find(audit, draws=200).doubts)


def test_what_is_only_likely_is_said_to_be_so() -> None:
    """It said "The accuracy is about the same" and, in the next sentence, that this was 82% sure."""
    pool = fl.read_pool({"predicted": ["a", "b"] * 200})
    audit = fl.create(None, "x", pool, task=fl.Compare(fl.Accuracy(), "a", "b", rope=0.05), prior=fl.Uniform())
    labels = {str(i): "ab"[i % 2] for i in range(400)}
    audit.tell({item: labels[item] for item in list(labels)[:80]}, adopt=True)
    likely = find(audit)
    assert likely.headline.startswith("The accuracy is probably about the same for a and b: ")
    assert likely.basis == "Based on the labels of a (40 of 40 right) and b (40 of 40 right)."
    audit.tell({item: labels[item] for item in list(labels)[80:300]}, adopt=True)
    assert find(audit).headline.startswith("The accuracy is about the same for a and b: ")


def test_it_says_why_a_few_labels_can_leave_a_group_without_a_number_beside_one_without_labels() -> None:
    rng = np.random.default_rng(4)
    sizes = {"sure": 60, "unsure": 60, "a": 200, "b": 200}
    place = [name for name, n in sizes.items() for _ in range(n)]
    confidence = np.where(np.isin(place, ["unsure"]), 0.35, 0.97)
    confidence[120:] = rng.uniform(0.3, 0.99, 400)
    data = {
        "id": [f"i{i}" for i in range(520)],
        "predicted": [f"class {i % 5}" for i in range(520)],
        "confidence": confidence,
        "place": place,
    }
    items = fl.read_pool(data)
    audit = fl.create(None, "places", items, fl.by_column(items, "place"), seed=1)
    right = [*range(60, 63), *(i for i in range(120, 220) if rng.random() < confidence[i])]
    labels = {f"i{i}": f"class {i % 5}" for i in right}
    labels |= {f"i{i}": f"class {(i + 1) % 5}" for i in range(120, 220) if i not in right}
    audit.tell(labels, adopt=True)
    report = report_of(audit)
    evidence = {row.group: (row.labelled, row.evidence) for row in report.groups}
    assert evidence["unsure"] == (3, "few")
    assert evidence["sure"] == (0, "scores")
    assert "a few labels can have no number while one without labels has one" in report.words.rule
