"""What labels do not show is marked in a report, and never told as if it were known."""

from __future__ import annotations

import pytest

import fewlabels as fl
from fewlabels.report import read
from fewlabels.wording import percent
from tests.support.reports import many, pool, told, told_exactly


@pytest.mark.parametrize(
    ("labels", "spec", "evidence"),
    [
        ((0, 0), {}, "few"),
        ((4, 0), {}, "few"),  # fewer than five
        ((5, 0), {}, "enough"),  # Beta(6, 1): 0.46 of 0.95
        ((3, 2), {}, "few"),  # Beta(4, 3): 0.66
        ((50, 50), {}, "enough"),
        ((5, 0), {"prior": fl.Informed()}, "enough"),
        ((1, 0), {"prior": fl.Informed()}, "few"),  # narrow by the classifier's own word
        ((1, 0), {"prior": fl.Learned()}, "few"),  # nothing was learned from so few labels
    ],
)
def test_a_group_without_enough_labels_is_marked(labels, spec, evidence) -> None:
    report = read(told_exactly({"coat": labels}, **spec), foresee=False, draws=500)
    assert {row.group: row.evidence for row in report.groups}["coat"] == evidence


def test_a_learned_number_without_labels_is_marked_as_such() -> None:
    items = many(60)
    audit = fl.create(None, "many", items, prior=fl.Learned())
    labels = {str(i): f"class number {i % 60}" for i in range(180) if i % 60}  # all right; none in the first group
    audit.tell(labels, adopt=True)
    evidence = {row.group: row.evidence for row in read(audit, foresee=False, draws=500).groups}
    assert evidence["class number 0"] == "others"  # the pool has no scores
    audit.withdraw(list(labels)[:150])
    assert {row.evidence for row in read(audit, foresee=False, draws=500).groups} == {"few"}  # 27 labels in all


def test_a_report_of_a_few_labels_shows_that_they_are_few_and_nothing_else() -> None:
    """After one label it had the precision, recall and F1 of every class, and eight pictures without a finding."""
    few, more = (read(told(labels), foresee=False, draws=500) for labels in (4, 40))
    assert list(few.plots) == [few.main_plot]
    assert few.classes is None
    assert few.learned == ()
    assert more.classes is not None
    assert len(more.plots) > 3


def test_more_labels_help_only_where_there_are_more_items() -> None:
    """With all items labelled, a report said what four times as many labels would give; here are 400 items."""
    said = [read(told(labels), foresee=False, draws=500).more.sentences() for labels in (0, 20, 120)]
    assert ["four times" in sentences[-1] for sentences in said] == [False, True, False]


def test_a_column_without_any_place_is_left_out() -> None:
    question = fl.Identify(fl.Accuracy(), lowest=1)
    early = read(told_exactly(dict.fromkeys(("shirt", "coat", "bag", "boot"), (4, 4)), task=question), draws=2_000)
    late = read(told_exactly({"shirt": (1, 39), "coat": (40, 0)}, task=question), draws=2_000)
    assert [">place<" in report.html() for report in (early, late)] == [False, True]
    assert ["| place |" in report.markdown() for report in (early, late)] == [False, True]


def test_groups_outside_the_question_are_marked() -> None:
    audit = told(40, task=fl.Compare(fl.Accuracy(), "bag", "boot"))
    rows = read(audit, foresee=False, draws=500).groups
    assert {row.group for row in rows if row.evidence == "unasked"} == {"shirt", "coat"}
    assert {row.group for row in rows[2:]} == {"shirt", "coat"}


def test_the_unknown_is_never_ranked_with_the_known() -> None:
    audit = told_exactly({"shirt": (30, 10), "coat": (1, 2)}, task=fl.Identify(fl.Accuracy(), lowest=1))
    report = read(audit, foresee=False, draws=2_000)
    assert [row.evidence for row in report.groups] == ["enough", "few", "few", "few"]
    assert "Not enough labels to say: 3 classes" in report.html()
    row = next(line for line in report.markdown().splitlines() if line.startswith("| coat"))
    assert "too few labels" in row
    mean = next(row.mean for row in report.groups if row.group == "coat")
    assert f"| {percent(mean)} |" not in row
    assert "coat (" not in report.headline  # it may be named, but without a number


def test_the_average_is_not_told_where_the_prior_would_decide_it() -> None:
    """Many groups with a label in some: the average leans to 0.5, and its interval does not hold the truth, 1."""
    items = many(200)
    for policy, enough in ((fl.UniformGroups(), False), (fl.UniformItems(), True)):
        audit = fl.create(None, "many", items, prior=fl.Uniform(), policy=policy)
        audit.tell({item: f"class number {int(item) % 200}" for item in audit.ask(60).ids})
        overall = read(audit, foresee=False, draws=200).overall
        assert overall.enough == enough
        assert (overall.high > 0.98) == enough


def test_the_average_is_not_told_by_analogy() -> None:
    """Labels in one group of many, because it was looked for: the learned prior speaks of the rest by analogy only."""
    items = many(60)
    labels = {str(i): f"class number {i % 60}" for i in range(180) if i % 60 < 20}
    for task, policy, enough in (
        (fl.Identify(fl.Accuracy(), lowest=1), fl.Boundary(), False),
        (fl.Estimate(fl.Accuracy()), fl.Thompson(), False),
        (fl.Estimate(fl.Accuracy()), fl.UniformItems(), True),
    ):
        audit = fl.create(None, "many", items, task=task, prior=fl.Learned(), policy=policy)
        audit.tell(labels, adopt=True)
        overall = read(audit, foresee=False, draws=200).overall
        assert overall.enough == enough
        assert ("hardly any labels" in overall.words) != enough


def test_doubts_tell_of_labels_from_elsewhere_and_of_items_taken_back() -> None:
    audit = told(30)
    audit.withdraw(list(audit.labels())[:2])
    free = [item for item in pool()[1] if item not in set(audit.log()["item"])][:3]
    audit.tell(dict.fromkeys(free, "coat"), adopt=True)
    audit.ask(4)
    report = read(audit, foresee=False, draws=200)
    assert (report.labels.labelled, report.labels.pending) == (31, 4)
    assert (report.labels.withdrawn, report.labels.adopted) == (2, 3)
    doubts = " ".join(report.doubts)
    assert "3 labels came from elsewhere" in doubts
    assert "2 items were taken back" in doubts
    assert "4 items are out for labelling" in " ".join(report.chosen)


def test_skipped_and_disputed_items_are_told() -> None:
    items, truth = pool()
    audit = fl.create(None, "two", items, overlap=2, seed=1)
    for name in ("ann", "bob"):
        ids = audit.ask(20, annotator=name).ids
        labels = {item: truth[item] if name == "ann" or item != ids[0] else "bag" for item in ids}
        audit.tell(labels, annotator=name)
    report = read(audit, foresee=False, draws=200)
    assert report.labels.unresolved == len(audit.disputed()) > 0
    assert report.labels.people == 2
    assert "skipped or disputed" in " ".join(report.doubts)
    assert "agree" in " ".join(report.chosen)
