"""The gate: rules in words, verdicts from labels, and what is refused."""

from __future__ import annotations

import json
import time
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.gate import Rule, junit, read_rules, worst
from fewlabels.gate.rules import split
from tests.support import reports
from tests.support.reports import CLASSES, pool, told

GOOD = dict.fromkeys(CLASSES, (60, 2))
BAD = {**GOOD, "coat": (20, 30)}
OPEN = {**GOOD, "coat": (9, 2)}


def told_exactly(counts: dict[str, tuple[int, int]], *, asked: bool = True, **spec: Any) -> fl.Assessment:
    """An assessment with so many right and wrong labels in each class, of items that were asked for if not said."""
    return reports.told_exactly(counts, asked=asked, **spec)


# --- rules


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("accuracy >= 0.9", ("accuracy", "at_least", 0.9)),
        ("accuracy>=90%", ("accuracy", "at_least", 0.9)),
        ("recall:a >= b ≥ 80 %", ("recall:a >= b", "at_least", 0.8)),
        ("cost:prices.csv <= 2.5", ("cost:prices.csv", "at_most", 2.5)),
    ],
)
def test_a_rule_is_a_metric_a_side_and_a_number(text: str, parts: tuple[str, str, float]) -> None:
    assert split(text) == parts


@pytest.mark.parametrize("text", ["accuracy", "accuracy > 0.9", "accuracy >= ", ">= 0.9", "accuracy >= 0.9.1", "", 7])
def test_what_is_not_a_rule_is_refused(text) -> None:
    with pytest.raises(fl.SpecError, match="is not a rule"):
        Rule(text)


def test_a_long_text_that_is_no_rule_is_refused_at_once() -> None:
    start = time.perf_counter()
    for text in (" " * 5_000, "a" + " " * 5_000, "a >" * 2_000):
        with pytest.raises(fl.SpecError, match="is not a rule"):
            split(text)
    assert time.perf_counter() - start < 5


def test_a_line_that_was_meant_in_percent_is_refused() -> None:
    with pytest.raises(fl.SpecError, match=r"Write 0\.9, or 90%"):
        told_exactly(GOOD).check("accuracy >= 90")


@pytest.mark.parametrize(
    "setting",
    [
        {"sure": 0.9999},
        {"sure": 0.95},
        {"overall": True},
        {"only": ["bag"]},
        {"groups": "whole"},
        {"guarantee": "anytime"},
    ],
)
def test_what_a_rule_says_itself_is_refused_beside_it(setting: dict[str, Any]) -> None:
    audit = told(20, task=fl.Certify(fl.Accuracy(), at_least=0.5))
    with pytest.raises(fl.SpecError, match="a Rule already sets it"):
        audit.check(Rule("accuracy >= 0.5"), **setting)
    with pytest.raises(fl.SpecError, match="own rule already sets it"):
        audit.check(**setting)
    assert audit.check("accuracy >= 0.5", **setting).rule.line == "accuracy >= 0.5"


def test_a_number_is_no_rule() -> None:
    with pytest.raises(fl.SpecError, match="is not a rule"):
        told(20).check(0.9)  # type: ignore[arg-type]


def test_rules_are_read_from_a_file(tmp_path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(
        '[[rule]]\nevery = "accuracy >= 0.8"\nname = "classes"\nonly = "coat"\nsure = 0.9\n'
        '[[rule]]\noverall = "accuracy >= 90%"\nguarantee = "anytime"\n'
    )
    assert read_rules(file) == [
        Rule("accuracy >= 0.8", name="classes", only=("coat",), sure=0.9),
        Rule("accuracy >= 90%", overall=True, guarantee="anytime"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no rules"),
        ("rule = 3", "has no rules"),
        ("[[rule]", "is not TOML"),
        ('[[rule]]\nname = "x"', "either every or overall"),
        ('[[rule]]\nevery = "accuracy >= 0.8"\noverall = "accuracy >= 0.8"', "either every or overall"),
        ('[[rule]]\nevery = "accuracy >= 0.8"\nfoo = 1', "'foo', which is not known"),
        ('[[rule]]\nevery = "accuracy"', "rule 1 of .*is not a rule"),
        ('[[rule]]\nevery = "accuracy >= 0.8"\nsure = 2', "'sure' of a rule"),
        ('[[rule]]\nevery = "accuracy >= 0.8"\nguarantee = "x"', "'guarantee' of a rule"),
        ('[[rule]]\noverall = "accuracy >= 0.8"\nonly = ["coat"]', "all items together"),
    ],
)
def test_a_wrong_file_of_rules_is_refused(tmp_path, text: str, said: str) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(text)
    with pytest.raises(fl.FewlabelsError, match=said):
        read_rules(file)
    with pytest.raises(fl.InputError, match="cannot read the rules"):
        read_rules(tmp_path / "none.toml")


# --- verdicts


@pytest.mark.parametrize("guarantee", [None, "anytime"])
def test_the_verdict_names_the_groups_that_decide_it(guarantee) -> None:
    checks = [told_exactly(one, asked=True).check("accuracy >= 80%", guarantee=guarantee) for one in (GOOD, BAD, OPEN)]
    assert [one.verdict for one in checks] == ["pass", "fail", "open"]
    assert [bool(one) for one in checks] == [True, False, False]
    passed, failed, unsure = (one.words for one in checks)
    assert passed.startswith("Pass: each of the 4 classes has an accuracy of at least 80%")
    assert passed.endswith("(60 of 62 right).")
    assert failed.endswith("Below it: coat (20 of 50 right).")
    assert "1 class may or may not" in unsure
    assert unsure.endswith("Undecided: coat (9 of 11 right).")
    assert "<table" in checks[0]._repr_html_()
    assert checks[1].table["right"][0] == 20
    json.dumps(checks[1].to_json(), allow_nan=False)


def test_the_worst_verdict_counts() -> None:
    passed, failed, unsure = (told_exactly(one).check("accuracy >= 0.8") for one in (GOOD, BAD, OPEN))
    assert worst([passed]) == "pass"
    assert worst([passed, unsure]) == "open"
    assert worst([unsure, failed, passed]) == "fail"


def test_a_group_without_labels_never_passes() -> None:
    audit = told_exactly({**GOOD, "coat": (0, 0)}, prior=fl.Learned(), policy=fl.Thompson())
    every, overall = audit.check("accuracy >= 0.1"), audit.check("accuracy >= 0.1", overall=True)
    assert every.verdict == overall.verdict == "open"
    assert "coat (no label)" in every.words
    assert overall.words == "Not enough evidence: 1 of 4 classes has no label, and counts towards the whole."
    assert overall.table["verdict"] == ["open"]


def test_named_groups_other_groups_other_metrics_and_all_items() -> None:
    audit = told_exactly(BAD, asked=True)
    assert audit.check("accuracy >= 0.8", only=["bag"]).verdict == "pass"
    assert audit.check("accuracy <= 0.7", only=["coat"]).verdict == "pass"
    assert audit.check("accuracy >= 0.6", overall=True).verdict == "pass"
    assert set(audit.check("accuracy >= 0.6", groups="column:place").table["group"]) == {"north", "south"}
    assert "right" not in audit.check("recall:bag >= 0.1", overall=True).table.columns
    with pytest.raises(fl.SpecError, match="there is no group 'sock' to certify"):
        audit.check("accuracy >= 0.8", only=["sock"])


def test_the_labels_that_are_named_are_those_that_the_number_rests_on() -> None:
    audit = told_exactly({**GOOD, "shirt": (20, 27)}, asked=True, target="pool")
    true = dict(zip(audit.pool.ids, (audit.pool.classes[k] for k in audit.pool.predicted), strict=True))
    labels = audit.labels()
    truly = [item for item, label in labels.items() if label == "coat"]
    found = sum(true[item] == "coat" for item in truly)
    assert 0 < found < len(truly) < len(labels)
    rest = f"{found} of {len(truly)} found"
    check = audit.check("recall:coat >= 0.99", overall=True)
    assert f"Labels: {rest}." in check.words
    (row,) = check.table.rows()
    assert (row["labelled"], row["counted"], row["of_these"]) == (len(labels), len(truly), found)
    assert rest in junit([check], "audit")
    every = audit.check("recall:coat >= 0.99", groups="column:place")
    undecided = [row for row in every.table.rows() if row["verdict"] == every.verdict]
    shown = {row["group"]: f"{row['of_these']} of {row['counted']} found" for row in undecided}
    assert sum(every.table["counted"]) == len(truly)
    assert all(f"{name} ({words})" in every.words for name, words in shown.items())
    cases = ET.fromstring(junit([every], "audit")).iter("testcase")
    said = {case.get("name"): case[0].get("message") for case in cases}
    assert all(said[name].endswith(f"{words}.") for name, words in shown.items())


def test_a_verdict_that_is_counted_has_no_probability() -> None:
    every = dict.fromkeys(CLASSES, (80, 20))
    whole, larger = (told_exactly(every, asked=True, target=target) for target in ("pool", "population"))
    for line, said in (("accuracy >= 0.7", "Pass"), ("accuracy >= 0.9", "Fail")):
        for more in ({}, {"overall": True}, {"guarantee": "anytime"}):
            words = whole.check(line, **more).words
            assert words.startswith(f"{said}: ")
            assert "(counted, not estimated)." in words
            assert "probability" not in words
            assert "guaranteed" not in words
            assert "counted" not in larger.check(line, **more).words
    # One item is open, and a group of which all items are labelled may be beside one that is not.
    nearly = told_exactly({**every, "coat": (79, 20), "boot": (20, 80)}, asked=True, target="pool")
    assert "with probability over 99%" in nearly.check("accuracy >= 0.5", only=["coat"]).words
    assert "with probability" in nearly.check("accuracy >= 0.5", only=["coat", "bag"]).words
    assert "(counted, not estimated)" in nearly.check("accuracy >= 0.5").words
    own = told_exactly(every, asked=True, target="pool", task=fl.Certify(fl.Accuracy(), at_least=0.9))
    assert "(counted, not estimated)." in own.answer().headline


def test_a_forecast_says_how_many_more_labels_it_will_take() -> None:
    audit = told_exactly({**GOOD, "coat": (3, 0)}, prior=fl.Learned())
    check = audit.check("accuracy >= 0.3", foresee=True)
    assert check.verdict == "open"
    assert "more label" in check.forecast
    # One label is never said to be enough where a group lacks five.
    assert not check.forecast.startswith("Probably 1 more label")
    assert audit.check("accuracy >= 0.3").forecast == ""


def test_junit_has_a_case_for_each_rule_and_group() -> None:
    checks = [told_exactly(one, asked=True).check("accuracy >= 0.8") for one in (BAD, OPEN)]
    bad, unsure = ET.fromstring(junit(checks, 'an <"audit">\x07')).findall("testsuite")
    assert next(case.get("name") for case in bad) == "every: accuracy >= 0.8"
    assert {case.get("name") for case in bad} == {*CLASSES, "every: accuracy >= 0.8"}
    assert (bad.get("failures"), bad.get("skipped")) == ("2", "0")
    assert (unsure.get("failures"), unsure.get("skipped")) == ("0", "2")
    message = bad.find("testcase/failure").get("message")
    assert message is not None
    assert "coat (20 of 50 right)" in message


# --- labels that came from elsewhere, and labels that are missing


def test_labels_that_somebody_picked_are_no_ground_for_a_verdict() -> None:
    asked, picked = (told_exactly(BAD, asked=asked) for asked in (True, False))
    good = told_exactly(GOOD, asked=False)
    assert asked.check("accuracy >= 0.8").verdict == "fail"
    for audit in (picked, good):
        for check in (audit.check("accuracy >= 0.8"), audit.check("accuracy >= 0.5", overall=True)):
            assert check.verdict == "open"
            assert "labels came from elsewhere, for items that were not asked for" in check.words
            assert "steered" not in check.words
            assert "came from elsewhere" in junit([check], "audit")
    task = fl.Certify(fl.Accuracy(), at_least=0.8)
    own = told_exactly(GOOD, asked=False, task=task, stop=fl.Stop(probability=0.95))
    assert not own.standing().reached
    assert "came from elsewhere" in own.answer().headline
    assert told_exactly(GOOD, task=task, stop=fl.Stop(probability=0.95)).standing().reached


def test_a_picked_label_spoils_the_verdict_of_its_own_group_only() -> None:
    audit = told_exactly(BAD, task=fl.Certify(fl.Accuracy(), at_least=0.8, only=("coat", "bag")))
    items, _ = pool()
    boot = f"i{np.flatnonzero(items.predicted == CLASSES.index('boot'))[0]}"
    audit.tell({boot: "boot"}, adopt=True)
    verdicts = audit.check("accuracy >= 0.8").table
    shown = dict(zip(verdicts["group"], verdicts["verdict"], strict=True))
    assert (shown["coat"], shown["bag"], shown["boot"]) == ("fail", "pass", "open")


def test_all_items_are_known_wherever_their_labels_came_from() -> None:
    audit = told_exactly(dict.fromkeys(CLASSES, (95, 5)), asked=False, target="pool")
    assert audit.check("accuracy >= 0.9").verdict == "pass"


def test_a_pass_must_hold_without_the_labels_that_were_taken_back() -> None:
    audit = told_exactly({**GOOD, "coat": (60, 15)})
    before = audit.check("accuracy >= 0.8")
    assert before.verdict == "open"
    items, _ = pool()
    taken, true = audit.labelled_items()
    wrong = [f"i{i}" for i, t in zip(taken, true, strict=True) if items.predicted[i] == 1 and t != 1]
    audit.withdraw(wrong)
    after = audit.check("accuracy >= 0.8")
    assert after.verdict == "open"
    assert "15 items were taken back, skipped or disputed, and a pass must hold even if they are on the wrong side" in (
        after.words
    )
    still = audit.check("accuracy >= 0.5")
    assert still.verdict == "pass"
    assert "15 items were taken back. If these are the hard ones" in still.words
    assert "15 items were taken back" in junit([still], "audit")
    assert "15 items were taken back" in still.to_json()["words"]


@pytest.mark.parametrize("target", ["population", "pool"])
def test_guaranteed_intervals_allow_for_labels_that_were_taken_back(target) -> None:
    audit = told_exactly(BAD, target=target)
    before = audit.estimates(guarantee="anytime")
    wrong = _items(audit, "coat", right=False)[:10]
    audit.withdraw(wrong)
    after = audit.estimates(guarantee="anytime")
    assert "missing" not in before.settings
    assert after.settings["missing"] == len(wrong) == 10
    coat = before["group"].index("coat")
    # Without its hard items the group would look better: the low end stays where it was, as if all were wrong.
    assert after["low"][coat] == pytest.approx(before["low"][coat])
    assert after["high"][coat] > before["high"][coat]
    assert all(after["low"][g] == low for g, low in enumerate(before["low"]) if g != coat)


def test_a_guaranteed_comparison_does_not_stop_while_labels_are_missing() -> None:
    task, stop = fl.Compare(fl.Accuracy(), "coat", "bag"), fl.Stop(probability=0.95, guarantee="anytime")
    audit = told_exactly(BAD, asked=True, task=task, stop=stop)
    assert audit.standing().reached
    audit.withdraw(_items(audit, "coat", right=True)[:1])
    standing = audit.standing()
    assert not standing.reached
    assert "1 item was taken back, skipped or disputed" in standing.words


def _items(audit: fl.Assessment, group: str, *, right: bool) -> list[str]:
    """The labelled items of a predicted class that are right, or those that are not."""
    names = [audit.pool.classes[k] for k in audit.pool.predicted]
    own = {str(name): given for name, given in zip(audit.pool.ids, names, strict=True) if given == group}
    return [item for item, label in audit.labels().items() if item in own and (label == group) is right]
