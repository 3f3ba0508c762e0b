"""How good judges are against people: known answers, coverage, and the words."""

from __future__ import annotations

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.findings.finding import find
from fewlabels.findings.judge_words import in_words, judge_rows, judge_sheet
from fewlabels.findings.judges import PREDICTED, held_to
from fewlabels.findings.key_figures import key_figures
from fewlabels.opposites import passing
from fewlabels.web.views import dashboard

NAMES = np.array(["fail", "pass"])


def world(seed, items=800):
    """Answers of two systems, with two judges that err together, one of them silent on some; and the truth."""
    rng = np.random.default_rng(seed)
    system = rng.choice(["a", "b"], items)
    good = rng.random(items) < np.where(system == "a", 0.65, 0.8)
    first = np.where(good, rng.random(items) < 0.92, rng.random(items) < 0.3)
    second = np.where(rng.random(items) < 0.4, first, np.where(good, rng.random(items) < 0.85, rng.random(items) < 0.3))
    silent = rng.random(items) < 0.05
    columns = {
        "judge": NAMES[first.astype(int)],
        "other": [None if no else bool(yes) for yes, no in zip(second, silent, strict=True)],
        "system": system,
    }
    return good, first, second, silent, columns


def audit_of(columns, **settings):
    pool = fl.read_pool(columns, predicted="judge", evidence=["other"])
    return fl.create(None, "x", pool, fl.whole(pool), task=fl.Estimate(fl.Prevalence("pass")), **settings)


def label(audit, good, n):
    audit.tell({item: NAMES[int(good[int(item)])] for item in audit.ask(n).ids})


def real(good, verdict, here):
    """The measures with all labels."""
    good, verdict = good[here], verdict[here]
    rate, said, agreed = good.mean(), verdict.mean(), (good == verdict).mean()
    chance = rate * said + (1 - rate) * (1 - said)
    return {
        "says pass": said,
        "true pass rate": rate,
        "agreement": agreed,
        "TPR": verdict[good].mean(),
        "TNR": (~verdict[~good]).mean(),
        "kappa": (agreed - chance) / (1 - chance),
    }


def test_with_all_labels_the_measures_are_known():
    good, first, second, silent, columns = world(1, items=150)
    audit = audit_of(columns, target="pool")
    label(audit, good, 150)
    found = {(row["judge"], row["group"], row["measure"]): row for row in audit.judges().rows()}
    groups = audit.judges(groups=fl.by_column(audit.pool, "system"))
    found |= {(row["judge"], row["group"], row["measure"]): row for row in groups.rows()}
    system = np.array(columns["system"])
    for name, verdict, spoken in ((PREDICTED, first, np.ones(150, bool)), ("other", second, ~silent)):
        for group, here in (("all", spoken), ("a", spoken & (system == "a")), ("b", spoken & (system == "b"))):
            for measure, value in real(good, verdict, here).items():
                row = found[name, group, measure]
                assert row["mean"] == pytest.approx(value, abs=1e-9), (name, group, measure)
                if row["of"]:
                    assert row["k"] / row["of"] == pytest.approx(value)


@pytest.mark.slow
def test_intervals_contain_the_true_measures():
    """Two judges, five measures, 20 pools: not less than 95% by 4.5 standard errors, and not by being endless.

    Measures of one pool are not independent, so a pool counts once. It is 98% in 40 pools: they err on the safe side.
    """
    runs, inside, wide = 20, [], []
    for run in range(runs):
        good, first, second, silent, columns = world([run, 3])
        audit = audit_of(columns, target="pool", seed=run)
        label(audit, good, 100)
        truth = {PREDICTED: real(good, first, np.ones(800, bool)), "other": real(good, second, ~silent)}
        rows = [row for row in audit.judges().rows() if row["measure"] != "says pass"]
        inside.append([row["low"] <= truth[row["judge"]][row["measure"]] <= row["high"] for row in rows])
        wide.append([row["high"] - row["low"] for row in rows if row["measure"] == "agreement"])
    each = np.array(inside).mean(axis=1)
    assert each.mean() > 0.95 - 4.5 * max(each.std(), 0.05) / np.sqrt(runs)
    # An interval from the 100 labels alone is 1.96·2·√(0.86·0.14/100) = 0.136 long.
    assert np.mean(wide) < 0.14


def test_an_evidence_column_may_judge_right_and_wrong():
    rng = np.random.default_rng(5)
    true = rng.integers(0, 3, 600)
    said = np.where(rng.random(600) < 0.75, true, (true + 1) % 3)
    right = said == true
    verdict = np.where(rng.random(600) < 0.1, ~right, right)
    classes = np.array(["a", "b", "c"])
    pool = fl.read_pool({"predicted": classes[said], "judge": verdict, "note": ["x"] * 600}, evidence=["judge"])
    audit = fl.create(None, "x", pool, target="pool")
    audit.tell({item: classes[true[int(item)]] for item in audit.ask(120).ids})
    found = {row["measure"]: row for row in audit.judges().rows() if row["group"] == "all"}
    for measure, value in real(right, verdict, np.ones(600, bool)).items():
        assert found[measure]["low"] - 0.03 <= value <= found[measure]["high"] + 0.03, measure


def test_the_words():
    good, _, _, _, columns = world(7)
    audit = audit_of(columns)
    label(audit, good, 80)
    finding = find(audit)
    assert finding.question == "How many items would people pass?"
    assert finding.headline.startswith("People would pass ")
    assert " The verdicts pass " in finding.headline
    assert finding.basis == "Based on 80 labels (55 of 80 pass), and on other, known for all 800 items."
    passed, verdicts = key_figures(finding)[:2]
    assert (passed.name, verdicts.name) == ("People would pass", "The verdicts pass")
    between = passed.about.partition("; ")[0]
    assert f"People would pass {passed.value} of all items like these ({between})." in finding.headline
    first, second = in_words(audit.judges())
    assert first.startswith("The verdict agrees with people on ")
    assert second.startswith("other agrees with people on ")
    assert "of what people fail. Kappa, which is agreement beyond chance, is 0." in first
    head, *rows = judge_rows(audit.judges())
    assert head[-1] == "kappa"
    assert [row[0] for row in rows] == ["the verdict", "other"]
    sheet = judge_sheet(audit.judges())  # two judges stand side by side on a page
    assert sheet[0] == ["measure", "the verdict", "other"]
    assert [list(column) for column in zip(*sheet[1:], strict=True)] == [head[2:], *(row[2:] for row in rows)]


def test_the_dashboard_shows_judges_with_their_ranges():
    good, _, _, _, columns = world(9)
    audit = audit_of(columns)
    assert dashboard(audit).judged is None  # without labels nothing is known
    label(audit, good, 60)
    shown = dashboard(audit).judged
    assert shown.sentences == in_words(audit.judges())
    assert [shown.head, *shown.rows] == judge_sheet(audit.judges())
    systems = fl.create(
        None, "y", audit.pool, fl.by_column(audit.pool, "system"), task=fl.Estimate(fl.Prevalence("pass"))
    )
    label(systems, good, 60)
    assert [row[1] for row in dashboard(systems).judged.rows] == ["all items", "a", "b"] * 2


def test_without_judges_there_is_nothing_to_say():
    pool = fl.read_pool({"predicted": ["a", "b", "c"], "stars": [1, 2, 3]}, evidence=["stars"])
    audit = fl.create(None, "x", pool)
    with pytest.raises(fl.SpecError, match="has no judge"):
        audit.judges()
    assert dashboard(audit).judged is None


def test_which_verdict_passes():
    assert passing(["False", "True"]) == "True"
    assert passing(["incorrect", "correct", "unsure"]) == "correct"
    assert passing(["0", "1", "2"]) is None
    assert passing(["pass"]) is None


@pytest.mark.slow
def test_a_judge_of_labels_that_may_be_wrong():
    """People who are wrong in a tenth of their labels make a judge look bad: with the model, less so."""
    good, first, _, _, columns = world(11, items=600)
    rng, everything = np.random.default_rng([11, 4]), np.ones(600, bool)
    audit = audit_of(columns, target="pool", noisy=True, labels_right=0.9)
    plain = audit_of(columns, target="pool")
    for item in audit.ask(250, annotator="ann").ids:
        said = NAMES[int(good[int(item)] ^ (rng.random() < 0.1))]
        audit.tell({item: said}, annotator="ann")
        plain.tell({item: said}, adopt=True)
    found, naive = (
        {row["measure"]: row for row in each.judges().rows() if row["judge"] == PREDICTED and row["group"] == "all"}
        for each in (audit, plain)
    )
    real_ones = real(good, first, everything)
    assert naive["agreement"]["high"] < real_ones["agreement"]
    for measure in ("agreement", "TNR", "kappa"):  # these are what wrong labels hide
        off, more = (abs(each[measure]["mean"] - real_ones[measure]) for each in (found, naive))
        assert off < more, measure
        assert found[measure]["high"] > naive[measure]["high"], measure
    assert found["true pass rate"]["low"] <= real_ones["true pass rate"] <= found["true pass rate"]["high"]
    # The counts are of what votes most probably mean, so they are as near to the truth as the number beside them.
    labelled = np.array([int(item) for item in audit.labels()])
    agree = int((good[labelled] == first[labelled]).sum())
    assert abs(found["agreement"]["k"] - agree) < abs(naive["agreement"]["k"] - agree)


def test_nobody_passes_an_answer_that_is_never_right():
    """A system that always refuses: whatever a judge says of it, people pass none of its answers."""
    rng, items = np.random.default_rng(8), 600
    system, true = rng.choice(["a", "b"], items), rng.integers(0, 3, items)
    right = rng.random(items) < 0.8
    said = [
        "I'm sorry, no" if one == "b" else "xyz"[k if ok else (k + 1) % 3]
        for one, k, ok in zip(system, true, right, strict=True)
    ]
    columns = {"said": said, "judge": NAMES[(right ^ (rng.random(items) < 0.1)).astype(int)], "system": system}
    classes, refusals = ["x", "y", "z"], ["I'm sorry*"]
    pool = fl.read_pool(columns, predicted="said", classes=classes, never_right=refusals, evidence=["judge"])
    audit = fl.create(None, "refusals", pool, fl.by_column(pool, "system"), target="pool")
    audit.tell({item: "xyz"[true[int(item)]] for item in audit.ask(100).ids})
    found = {(row["group"], row["measure"]): row for row in audit.judges().rows()}
    assert found["b", "true pass rate"]["high"] < 1e-5
    whole = found["all", "true pass rate"]
    assert whole["low"] <= (right & (system == "a")).mean() <= whole["high"] < 0.6
    assert found["all", "says pass"]["mean"] == pytest.approx((columns["judge"] == "pass").mean())
    assert found["all", "TNR"]["high"] < 0.6  # the judge passes what is never right


def test_what_people_would_pass_is_one_number_whoever_judges():
    """Every judge's row has the question's own number, in each group; and each judge's measures add up to it."""
    rng = np.random.default_rng(5)
    true = rng.integers(0, 3, 600)
    said = np.where(rng.random(600) < 0.75, true, (true + 1) % 3)
    right = said == true
    first, second = (np.where(rng.random(600) < share, ~right, right) for share in (0.1, 0.25))
    silent = np.arange(600) % 10 == 0
    classes = np.array(["a", "b", "c"])
    columns = {
        "predicted": classes[said],
        "first": first,
        "second": [None if no else bool(yes) for yes, no in zip(second, silent, strict=True)],
    }
    pool = fl.read_pool(columns, evidence=["first", "second"])
    audit = fl.create(None, "x", pool, target="pool")
    audit.tell({item: classes[true[int(item)]] for item in audit.ask(80).ids})
    found = {(row["judge"], row["group"], row["measure"]): row for row in audit.judges().rows()}
    everything = audit.estimates(groups=fl.whole(pool))
    for known in [*audit.estimates().rows(), *everything.rows()]:
        row = found["first", known["group"], "true pass rate"]
        assert [row[end] for end in ("mean", "low", "high")] == [known[end] for end in ("mean", "low", "high")]
        # A tenth of the items has no verdict of the second judge, and is like the others.
        assert found["second", known["group"], "true pass rate"]["mean"] == pytest.approx(known["mean"], abs=0.04)
    # P(both pass) is TPR·rate and is also what the agreement leaves: agreement = 2·TPR·rate + 1 − says − rate.
    for judge in ("first", "second"):
        rate, agreed, says = (
            found[judge, "all", name]["mean"] for name in ("true pass rate", "agreement", "says pass")
        )
        both = found[judge, "all", "TPR"]["mean"] * rate
        assert agreed == pytest.approx(2 * both + 1 - says - rate, abs=0.005)  # means of products are not products


def test_what_is_known_does_not_move():
    rng = np.random.default_rng(6)
    known, open_ = np.full(400, 0.3), rng.beta(20, 5, 400)
    rate = 0.15 + 0.5 * rng.beta(30, 8, 400)
    moved = held_to(np.array([known, open_]), np.array([0.5, 0.5]), rate)
    assert np.array_equal(moved[0], known)
    np.testing.assert_allclose(np.sort(np.array([0.5, 0.5]) @ moved), np.sort(rate), atol=1e-6)
    assert np.array_equal(held_to(np.array([known, known]), np.array([0.5, 0.5]), rate), [known, known])


def small(task, groups, truth):
    """60 items with a judge, in two teams, one of which is called "all"; all of them labelled."""
    rng = np.random.default_rng(0)
    columns = {
        "id": [f"i{i}" for i in range(60)],
        "predicted": ["pass"] * 60,
        "judge": np.where(rng.random(60) < 0.9, "pass", "fail"),
        "team": np.where(np.arange(60) % 2, "all", "some"),
    }
    pool = fl.read_pool(columns, evidence=["judge"], classes=["pass", "fail"], columns=["team"])
    audit = fl.create(None, "a", pool, groups, target="pool", task=task)
    audit.tell({item: truth(int(item[1:])) for item in audit.ask(60).ids})
    return audit


@pytest.mark.parametrize(("label", "gone", "kept"), [("pass", "TNR", "TPR"), ("fail", "TPR", "TNR")])
def test_what_is_0_of_0_has_no_number(label, gone, kept):
    """People pass everything, or nothing: nothing is known of what the judge does with the rest."""
    table = small(fl.Estimate(fl.Prevalence("pass")), "whole", lambda i: label).judges()
    found = {row["measure"]: row for row in table.rows() if row["judge"] == "judge"}
    assert (found[gone]["mean"], found[gone]["low"], found[gone]["high"]) == (None, None, None)
    assert found[kept]["mean"] == pytest.approx(found[kept]["k"] / 60)
    [sentence] = [words for words in in_words(table) if words.startswith("judge")]
    assert ("what people pass" in sentence, "what people fail" in sentence) == (label == "pass", label == "fail")
    assert "None" not in sentence
    assert "–" in [cell for row in judge_rows(table) for cell in row]


def test_where_both_pass_everything_there_is_no_kappa():
    table = small(fl.Estimate(fl.Prevalence("pass")), "whole", lambda i: "pass").judges()
    [kappa] = [row for row in table.rows() if row["measure"] == "kappa" and row["judge"] == PREDICTED]
    assert kappa["mean"] is None
    assert "Kappa" not in next(words for words in in_words(table) if words.startswith("The verdict"))


def test_a_group_called_all_is_a_group():
    audit = small(fl.Estimate(fl.Prevalence("pass")), "column:team", lambda i: "pass" if i % 2 else "fail")
    table = audit.judges()
    rates = {
        (row["whole"], row["group"]): (row["k"], row["of"], round(row["mean"], 3))
        for row in table.rows()
        if row["measure"] == "true pass rate" and row["judge"] == "judge"
    }
    assert rates == {(True, "all"): (30, 60, 0.5), (False, "all"): (30, 30, 1.0), (False, "some"): (0, 30, 0.0)}
    assert all("of 60" in words for words in in_words(table))
    assert {row[1] for row in judge_rows(table)[1:]} == {"all items", "all", "some"}
