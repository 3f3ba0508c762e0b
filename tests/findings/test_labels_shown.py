"""k of n: what the labels themselves show of a share, beside every number that is one, and the least that it takes."""

from __future__ import annotations

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.findings.finding import find
from fewlabels.findings.labels import shown_by_labels
from fewlabels.findings.tables import other_table, readable
from fewlabels.named import metric_from

PREDICTED = ["pass", "pass", "pass", "fail", "pass", "fail"] * 20
TRUE = ["pass", "fail", "pass", "pass", "pass", "fail"] * 20
TOPIC = ["law"] * 60 + ["code"] * 60


def audit(labels: int, **options: object) -> fl.Assessment:
    pool = fl.read_pool({"predicted": PREDICTED, "topic": TOPIC})
    made = fl.create(None, "judge", pool, "column:topic", **options)  # type: ignore[arg-type]
    made.tell({str(i): TRUE[i] for i in range(labels)}, adopt=True)
    return made


@pytest.mark.parametrize(
    ("metric", "hits", "counted", "words"),
    [
        ("prevalence:pass", 20, 30, "20 of 30 pass"),
        ("prevalence:fail", 10, 30, "10 of 30 truly fail"),
        ("recall:pass", 15, 20, "15 of 20 found"),
        ("precision:pass", 15, 20, "15 of 20 right"),
        ("fpr:pass", 5, 10, "5 of 10 called pass"),
        ("accuracy", 20, 30, ""),
    ],
)
def test_k_of_n_of_a_share(metric: str, hits: int, counted: int, words: str) -> None:
    made = audit(30)
    asked = metric_from(metric, made.pool)
    shown = shown_by_labels(made, made.groups, asked)
    assert shown is not None
    assert (shown["law"].hits, shown["law"].counted) == (hits, counted)
    table = readable(other_table(made, asked, made.groups, 0.95), made.spec.task, asked)
    row = dict(zip(table["group"], table["these show"] if words else table["right"], strict=True))
    assert row["law"] == (words or hits)


def test_a_mean_over_classes_and_f1_have_no_k_of_n() -> None:
    made = audit(30)
    for metric in (fl.F1("pass"), fl.Recall(), fl.Kappa()):
        assert shown_by_labels(made, made.groups, metric) is None
        assert (
            "these show" not in readable(other_table(made, metric, made.groups, 0.95), made.spec.task, metric).columns
        )


def test_a_pass_rate_has_k_of_n_by_group_in_sentence_and_table() -> None:
    found = find(audit(40, task=fl.Estimate(fl.Prevalence("pass"))))
    law = next(row for row in found.groups if row.group == "law")
    assert law.support == "27 of 40 pass"
    assert found.basis == "Based on 40 labels (27 of 40 pass)."
    assert dict(zip(found.estimates["group"], found.estimates["of_these"], strict=True)) == {"law": 27, "code": 0}


def test_labels_of_another_kind_are_not_enough() -> None:
    """Thirty labels, of which none is truly of a class, say next to nothing about its recall."""
    pool = fl.read_pool({"predicted": ["no"] * 90 + ["yes"] * 10, "site": ["a", "b"] * 50})
    made = fl.create(None, "rare", pool, "column:site")
    made.tell({str(i): "no" for i in range(30)}, adopt=True)
    recall = metric_from("recall:yes", pool)
    assert set(other_table(made, recall, made.groups, 0.95)["note"]) <= {"too few labels", "no such items"}
    assert set(other_table(made, fl.Accuracy(), made.groups, 0.95)["note"]) == {""}


def test_gate_rule_and_answer_need_labels_of_the_kind_too() -> None:
    """All labels are right, and two of them are of the class: no recall passes, stops or is named on these."""
    said = ["a"] * 60 + ["b"] * 300
    pool = fl.read_pool({"predicted": said, "confidence": [0.97] * 360, "site": ["x", "y"] * 180})
    made = fl.create(None, "two", pool, "whole", task=fl.Estimate(fl.Recall("a")), policy=fl.UniformItems())
    made.ask(360)
    made.tell({str(i): said[i] for i in (0, 1, *range(60, 74))})
    assert made.check("recall:a >= 0.5", overall=True).verdict == "open"
    assert made.check("accuracy >= 0.5", overall=True).verdict == "pass"
    assert made.check("recall:a >= 0.5", overall=True).table["backed"] == [False]
    for stop in (fl.Stop(width=0.9), fl.Stop(overall=0.9)):
        assert not made.standing(stop=stop).reached
    assert (
        "1 of 1 group have fewer than 5 labels of their own that count" in made.standing(stop=fl.Stop(width=0.9)).words
    )
    assert not made.answer(fl.Identify(fl.Recall("a"), lowest=1), groups="column:site").backed
    made.tell({str(i): "a" for i in range(2, 8)})
    assert made.check("recall:a >= 0.5", overall=True).verdict == "pass"
    assert made.standing(stop=fl.Stop(width=0.9)).reached


def test_counts_agree_with_counting_by_hand() -> None:
    rng = np.random.default_rng(3)
    said, true, site = (rng.choice(list(names), 200) for names in ("abc", "abc", "xy"))
    pool = fl.read_pool({"predicted": said, "site": site}, classes=list("abc"))
    made = fl.create(None, "t", pool, "column:site")
    made.tell({str(i): true[i] for i in range(120)}, adopt=True)
    there = np.arange(200) < 120
    for name, kind, hit in (
        ("recall:b", true == "b", said == "b"),
        ("precision:b", said == "b", true == "b"),
        ("fpr:b", true != "b", said == "b"),
        ("prevalence:b", true != "", true == "b"),
    ):
        shown = shown_by_labels(made, made.groups, metric_from(name, pool))
        assert shown is not None
        for group in "xy":
            about = there & kind & (site == group)
            assert (shown[group].hits, shown[group].counted) == ((about & hit).sum(), about.sum())
