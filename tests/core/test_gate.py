"""The gate: rules in words, verdicts from labels, intervals and stops that hold at every look, and what is refused."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.gate import Rule, junit, read_rules, worst
from fewlabels.gate.rules import split
from fewlabels.outcomes import Outcomes
from fewlabels.spec import Spec, from_json, to_json
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


# --- what is promised for every look


@pytest.mark.parametrize("target", ["population", "pool"])
def test_guaranteed_intervals_are_longer_and_hold_the_mean(target) -> None:
    audit = told_exactly(BAD, asked=True, target=target)
    usual, each = audit.estimates(), audit.estimates(guarantee="anytime")
    all_at_once = audit.estimates(guarantee="anytime", together=True)
    widths = [np.subtract(table["high"], table["low"]) for table in (usual, each, all_at_once)]
    assert (widths[0] < widths[1]).all()
    assert (widths[1] < widths[2]).all()
    for low, mean, high in zip(each["low"], each["mean"], each["high"], strict=True):
        assert low <= mean <= high
    assert "guarantee" not in usual.settings
    assert (each.settings["guarantee"], each.settings["holds"]) == ("anytime", "each group")
    assert all_at_once.settings["holds"] == "all groups together"


def test_a_guarantee_is_refused_where_it_would_not_hold() -> None:
    asked = told_exactly(BAD, asked=True)
    place = fl.by_column(asked.pool, "place")
    for message, audit, more in (
        ("a single share", asked, {"metric": fl.CalibrationError()}),
        ("groups in which items were asked", asked, {"groups": place}),
        ("218 labels came from elsewhere", told_exactly({**GOOD, "coat": (30, 2)}, asked=False), {}),
    ):
        with pytest.raises(fl.SpecError, match=message):
            audit.estimates(guarantee="anytime", **more)
    with pytest.raises(fl.SpecError, match="came from elsewhere"):
        told_exactly(GOOD, asked=False).check("accuracy >= 0.8", guarantee="anytime")
    with pytest.raises(fl.SpecError, match="groups in which items were asked"):
        asked.check("accuracy >= 0.8", guarantee="anytime", overall=True)
    with pytest.raises(fl.SpecError, match="together=True"):
        asked.estimates(together=True)
    with pytest.raises(fl.SpecError, match="must be 'anytime' or None"):
        asked.estimates(guarantee="always")  # type: ignore[arg-type]


def test_at_random_over_the_pool_a_guarantee_holds_in_any_groups() -> None:
    audit = told(100, policy=fl.UniformItems())
    table = audit.estimates(guarantee="anytime", groups=fl.by_column(audit.pool, "place"))
    assert table["group"] == ["north", "south"]
    assert audit.check("accuracy >= 0.1", guarantee="anytime", overall=True).verdict == "pass"


def test_a_stop_with_a_guarantee_waits_for_the_longer_intervals() -> None:
    table = told_exactly(GOOD).estimates()
    width = max(np.subtract(table["high"], table["low"]))
    task = fl.Estimate(fl.Accuracy())
    plain, sure = (
        told_exactly(GOOD, asked=True, task=task, stop=fl.Stop(width=width + 0.01, guarantee=guarantee)).standing()
        for guarantee in (None, "anytime")
    )
    assert plain.reached
    assert "guarantee" not in plain.to_json()
    assert not sure.reached
    assert sure.words.endswith("This holds however often you look.")
    assert sure.to_json()["guarantee"] == "anytime"
    widest = fl.Stop(width=0.9, guarantee="anytime")
    assert told_exactly(GOOD, asked=True, task=task, stop=widest).standing().reached
    adopted = told_exactly(GOOD, asked=False, task=task, stop=widest).standing()
    assert not adopted.reached
    assert "came from elsewhere" in adopted.words


def test_a_comparison_is_guaranteed_by_two_sequences() -> None:
    task, stop = fl.Compare(fl.Accuracy(), "coat", "bag"), fl.Stop(probability=0.95, guarantee="anytime")
    clear = told_exactly(BAD, asked=True, task=task, stop=stop).standing()
    close = told_exactly({**GOOD, "coat": (50, 12)}, asked=True, task=task, stop=stop).standing()
    assert clear.reached
    assert not close.reached
    # By the posterior it would be enough.
    assert told_exactly({**GOOD, "coat": (47, 15)}, task=task, stop=fl.Stop(probability=0.95)).standing().reached


@pytest.mark.slow
@pytest.mark.long  # test_anytime_stops.py has a shorter one
def test_two_groups_that_are_alike_are_told_apart_as_rarely_as_promised() -> None:
    """Both at 0.8, no rope, a look after every fourth label, 100 runs: a wrong region at some look."""
    items, _ = pool()
    task = fl.Compare(fl.Accuracy(), "shirt", "coat", rope=0.0)
    cells = task.metric.cells(items, fl.by_predicted(items))
    rng, prior, wrong = np.random.default_rng(8), fl.Uniform().on(cells, "population"), 0
    for _ in range(100):
        right = np.cumsum(rng.random((80, 2)) < 0.8, axis=0)
        for n in range(4, 80, 4):
            counts = np.zeros((4, 2))
            counts[:2, 0], counts[:2, 1] = right[n - 1], n - right[n - 1]
            if (task.assurance(prior.belief(Outcomes(counts)), cells) or 0) >= 0.8:
                wrong += 1
                break
    assert wrong / 100 <= 0.2 + 4.5 * np.sqrt(0.2 * 0.8 / 100)


def test_a_stop_that_cannot_be_guaranteed_is_refused() -> None:
    accuracy = fl.Accuracy()
    for stop, task, message in (
        (fl.Stop(overall=0.1, guarantee="anytime"), fl.Estimate(accuracy), "is not possible"),
        (fl.Stop(labels=10, guarantee="anytime"), fl.Estimate(accuracy), "a width or a probability"),
        (fl.Stop(width=0.1, guarantee="anytime"), fl.Estimate(fl.CalibrationError()), "a single share"),
        (fl.Stop(probability=0.9, guarantee="anytime"), fl.Identify(fl.Recall(), lowest=1), "a single share"),
        (fl.Stop(probability=0.9, guarantee="anytime"), fl.Certify(accuracy, at_least=0.5), "guaranteed at every"),
    ):
        with pytest.raises(fl.SpecError, match=message):
            stop.check(task)


def test_older_versions_read_stops_without_a_guarantee_and_old_stops_load() -> None:
    assert "guarantee" not in to_json(fl.Stop(labels=5))
    assert from_json({"kind": "Stop", "labels": 5, "probability": None, "width": None, "overall": None}) == fl.Stop(5)
    promised = fl.Stop(width=0.2, guarantee="anytime")
    assert from_json(to_json(promised)) == promised
    audit = told_exactly(GOOD, stop=promised)
    assert Spec.from_json(audit.spec.to_json()).stop == promised


def test_a_forecast_goes_by_the_guarantee() -> None:
    few = dict.fromkeys(CLASSES, (9, 1))
    plain, sure = (
        fl.forecast(told_exactly(few, stop=fl.Stop(width=0.3, guarantee=guarantee), asked=False), runs=9)
        for guarantee in (None, "anytime")
    )
    assert plain.more is not None
    assert sure.more is None or sure.more > plain.more


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
