"""A ratio that is 0/0 has no value: no number, no verdict, and no part in a mean over classes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fewlabels as fl
import fewlabels.report

if TYPE_CHECKING:
    from fewlabels.belief import Target

TARGETS: tuple[Target, ...] = ("pool", "population")


def _asked(target: Target, *, never_true: bool = True) -> fl.Assessment:
    """Classes a and b, right for 85%, and zzz, which is never predicted; without confidences."""
    rng = np.random.default_rng(0)
    said = rng.choice(["a", "b"], 600)
    true = np.where(rng.random(600) < 0.85, said, np.where(said == "a", "b", "a")).astype(object)
    if not never_true:
        true[rng.random(600) < 0.2] = "zzz"
    pool = fl.read_pool({"predicted": said.tolist()}, classes=["a", "b", "zzz"])
    audit = fl.create(None, "classes", pool, fl.whole(pool), target=target)
    for _ in range(5):
        audit.tell({item: str(true[int(item)]) for item in audit.ask(40).ids})
    return audit


@pytest.mark.parametrize("target", TARGETS)
def test_a_class_without_prediction_and_label_has_no_number_and_no_verdict(target: Target) -> None:
    audit = _asked(target)
    for metric in (fl.Recall("zzz"), fl.Precision("zzz"), fl.F1("zzz")):
        row = next(audit.estimates(metric=metric).rows())
        assert (row["mean"], row["low"], row["high"], row["median"]) == (None,) * 4
        answer = audit.answer(fl.Estimate(metric))
        assert answer.words.startswith(f"There is no {metric.name}: no ")
    for rule in ("recall:zzz >= 0.5", "recall:zzz <= 0.5", "precision:zzz >= 0.5", "f1:zzz <= 0.5"):
        checked = audit.check(rule, overall=True)
        assert checked.verdict == "open"
        assert checked.table["reaches"] == [None]
        assert "zzz" in checked.words
        assert "Ask about another class." in checked.words
    # Nothing is predicted as it, so nothing is wrongly predicted as it.
    assert next(audit.estimates(metric=fl.FalsePositiveRate("zzz")).rows())["high"] == 0


@pytest.mark.parametrize("target", TARGETS)
def test_a_mean_over_classes_leaves_out_what_nothing_shows(target: Target) -> None:
    audit = _asked(target)
    each = {metric: [audit.draws(metric=metric(name))[:, 0] for name in "ab"] for metric in (fl.Recall, fl.F1)}
    averages = audit.classes().averages
    for metric, name in ((fl.Recall, "recall"), (fl.F1, "f1")):
        table = audit.estimates(metric=metric())
        expected = np.mean(each[metric])
        assert table["mean"][0] == pytest.approx(expected, abs=0.02)
        assert averages[name][0] == pytest.approx(expected, abs=0.02)
        assert table.settings["classes_left_out"] == 1
    checked = audit.check("recall >= 0.6", overall=True)
    assert checked.verdict == "pass"
    left_out = "The mean over classes leaves out 1 class that is neither predicted nor among the labels."
    assert left_out in checked.words
    assert left_out in audit.classes().words
    assert left_out in audit.answer(fl.Estimate(fl.Recall())).words
    # Its number of items stays in doubt: that none was seen does not show that there are none.
    assert audit.classes().classes["true_high"][2] >= 0


@pytest.mark.parametrize("target", TARGETS)
def test_a_class_that_labels_show_counts_with_a_recall_of_zero(target: Target) -> None:
    audit = _asked(target, never_true=False)
    assert next(audit.estimates(metric=fl.Recall("zzz")).rows())["high"] == 0
    assert audit.check("recall:zzz >= 0.5", overall=True).verdict == "fail"
    assert audit.estimates(metric=fl.Precision("zzz"))["mean"] == [None]
    assert audit.check("precision:zzz <= 0.5", overall=True).verdict == "open"
    table = audit.estimates(metric=fl.Recall())
    assert "classes_left_out" not in table.settings
    assert table["high"][0] < 0.7


def _by_site(target: Target, task: fl.Task | None = None) -> fl.Assessment:
    """Two sites; at the second nothing is spam, and nothing is predicted so."""
    rng = np.random.default_rng(1)
    site = np.repeat(["x", "y", "z"], 150)
    true = np.where((site != "y") & (rng.random(450) < 0.4), "spam", "ham")
    said = np.where((site != "y") & (rng.random(450) < 0.2), np.where(true == "spam", "ham", "spam"), true)
    pool = fl.read_pool({"predicted": said.tolist(), "site": site.tolist()}, classes=["ham", "spam"])
    audit = fl.create(None, "sites", pool, fl.by_column(pool, "site"), task=task, target=target)
    for _ in range(6):
        audit.tell({item: str(true[int(item)]) for item in audit.ask(30).ids})
    return audit


@pytest.mark.parametrize("target", TARGETS)
def test_a_group_without_the_class_has_no_recall_and_is_open(target: Target) -> None:
    audit = _by_site(target)
    mean = dict(zip("xyz", audit.estimates(metric=fl.Recall("spam"))["mean"], strict=True))
    assert mean["y"] is None
    assert min(mean["x"], mean["z"]) > 0.5
    over_all = audit.answer(fl.Estimate(fl.Recall("spam")))
    assert "1 group has no number, and is left out." in over_all.words
    assert over_all.table["mean"][0] == pytest.approx((mean["x"] + mean["z"]) / 2, abs=0.02)
    for rule in ("recall:spam >= 0.3", "recall:spam <= 0.99"):
        verdicts = dict(zip(*(audit.check(rule).table[name] for name in ("group", "verdict")), strict=True))
        assert verdicts == {"x": "pass", "y": "open", "z": "pass"}
        words = audit.check(rule).words
        assert "In 1 group there is no recall of spam, as no label shows spam so far." in words
    worst = audit.answer(fl.Identify(fl.Recall("spam"), lowest=1))
    assert worst.groups[0] in "xz"
    assert worst.table["mean"][2] is None
    apart = audit.answer(fl.Compare(fl.Recall("spam"), "x", "y"))
    assert not apart.backed
    assert apart.table["mean"] == [None]
    assert apart.words.startswith("There is nothing to compare: no recall of spam for y, as")


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "task",
    [
        fl.Estimate(fl.Recall("spam")),
        fl.Certify(fl.Precision("spam"), at_least=0.6),
        fl.Identify(fl.Precision("spam"), lowest=1),
        fl.Compare(fl.Recall("spam"), "x", "y", by="neyman"),
    ],
    ids=lambda task: type(task).__name__,
)
def test_policies_and_pages_meet_no_nan(task: fl.Task, target: Target) -> None:
    audit = _by_site(target, task)
    belief, cells = audit.belief(), task.cells(audit.pool, audit.groups)
    theta = belief.draws(np.random.default_rng(0), 50)
    assert np.isfinite(task.reward(belief, cells, theta)).all()
    report = fewlabels.report.read(audit, foresee=False)
    html = re.sub(r"(?s)<(script|style).*?</\1>", "", report.html())
    assert not re.search(r"\b(nan|None)\b", html + report.markdown())
    assert next(row for row in report.groups if row.group == "y").evidence in ("undefined", "unasked")
    progress = audit.standing(stop=fl.Stop(width=0.1, overall=0.1))
    assert all(np.isfinite(rule.now) for rule in progress.rules)


@pytest.mark.slow
def test_a_truth_that_is_undefined_is_not_scored() -> None:
    """At one site no item is spam: its recall is 0/0, and errors and coverage are over the others."""
    audit = _by_site("pool")
    truth = {str(i): name for i, name in enumerate(np.where(np.arange(450) % 2, "spam", "ham").tolist())}
    truth |= {str(i): "ham" for i in range(150, 300)}
    task, methods = fl.Estimate(fl.Recall("spam")), "uniform+items,uniform+thompson+pool"
    study = fl.simulate(audit.pool, truth, audit.groups, task=task, methods=methods, runs=2, budgets=[60, "100%"])
    for name in ("rmse", "coverage", "overall-error"):
        numbers = [row["mean"] for row in study.rows() if row["score"] == name]
        assert numbers
        assert np.isfinite(numbers).all()
