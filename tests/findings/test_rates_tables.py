"""The classification report and the fairness table: the numbers of the single metrics, and the truth in the end."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

import fewlabels as fl
from fewlabels import plots
from fewlabels.cli.main import cli
from fewlabels.findings.classes import readable_classes
from fewlabels.findings.doubts import of_labels
from fewlabels.findings.fairness import _by_labels, _gap_words
from fewlabels.findings.finding import find
from fewlabels.findings.labels import tally

CLASSES = ["no", "yes", "maybe"]


def made(n: int = 600, classes: int = 3, seed: int = 0) -> tuple[fl.Pool, dict[str, str]]:
    rng = np.random.default_rng(seed)
    true = rng.integers(classes, size=n)
    sex = rng.choice(["f", "m"], size=n)
    right = rng.random(n) < np.where(sex == "f", 0.9, 0.6)
    predicted = np.where(right, true, (true + 1) % classes)
    names = np.array(CLASSES[:classes])
    race = rng.choice(["a", "b"], size=n)
    ids = [f"i{i}" for i in range(n)]
    confidence = np.where(right, rng.uniform(0.6, 1, n), rng.uniform(0.4, 0.9, n))
    data = {"id": ids, "predicted": names[predicted], "confidence": confidence, "sex": sex, "race": race}
    pool = fl.read_pool(data, classes=CLASSES[:classes])
    return pool, dict(zip(ids, names[true].tolist(), strict=True))


def labelled(pool: fl.Pool, truth: dict[str, str], n: int, **more: object) -> fl.Assessment:
    audit = fl.create(None, "a", pool, **more)  # type: ignore[arg-type]
    audit.tell({item: truth[item] for item in audit.ask(n).ids})
    return audit


def scores(pool: fl.Pool, truth: dict[str, str], positive: str) -> tuple[float, float, float]:
    """Precision, recall and F1 counted one item at a time."""
    said = [pool.classes[k] for k in pool.predicted]
    pairs = [(a, truth[item]) for item, a in zip(pool.ids.to_pylist(), said, strict=True)]
    hits = sum(a == b == positive for a, b in pairs)
    called, true = sum(a == positive for a, _ in pairs), sum(b == positive for _, b in pairs)
    return hits / called, hits / true, 2 * hits / (called + true)


def test_when_everything_is_labelled_the_report_is_the_counted_one() -> None:
    pool, truth = made(200)
    report = labelled(pool, truth, 200, target="pool").classes()
    for row in report.classes.rows():
        counted = scores(pool, truth, row["class"])
        assert (row["precision"], row["recall"], row["f1"]) == pytest.approx(counted)
        assert (row["recall_low"], row["recall_high"]) == pytest.approx((counted[1], counted[1]))
    by_class = [scores(pool, truth, name) for name in CLASSES]
    macro = np.mean(by_class, axis=0)
    assert [report.averages[name][0] for name in ("precision", "recall", "f1")] == pytest.approx(macro)
    accuracy = np.mean([truth[i] == pool.classes[k] for i, k in zip(pool.ids.to_pylist(), pool.predicted, strict=True)])
    assert report.averages["recall"][1:] == pytest.approx([accuracy] * 2)


def test_the_report_agrees_with_each_metric_read_alone() -> None:
    pool, truth = made()
    audit = labelled(pool, truth, 90)
    report = audit.classes(draws=8_000)
    for name, metric in (("precision", fl.Precision), ("recall", fl.Recall), ("f1", fl.F1)):
        for row in report.classes.rows():
            alone = next(audit.estimates(metric=metric(row["class"]), groups=fl.whole(pool), draws=8_000).rows())
            # Two Monte Carlo means of 8,000 draws each; the spread is a quarter of the interval.
            spread = (alone["high"] - alone["low"]) / 4
            assert abs(row[name] - alone["mean"]) < 5 * spread * np.sqrt(2 / 8_000)
        macro = next(audit.estimates(metric=metric(), groups=fl.whole(pool), draws=8_000).rows())
        assert report.averages[name][0] == pytest.approx(macro["mean"], abs=0.01)


def test_labels_are_counted_beside_the_ratios() -> None:
    pool, truth = made()
    audit = labelled(pool, truth, 60)
    rows = {row["class"]: row for row in audit.classes().classes.rows()}
    told = audit.labels()
    said = dict(zip(pool.ids.to_pylist(), (pool.classes[k] for k in pool.predicted), strict=True))
    for name, row in rows.items():
        assert row["labelled"] == sum(said[item] == name for item in told)
        assert row["right"] == row["found"] == sum(said[item] == name == label for item, label in told.items())
        assert row["true_labelled"] == sum(label == name for label in told.values())


def test_a_class_that_is_never_predicted_has_no_precision() -> None:
    pool = fl.read_pool({"predicted": ["a", "b"] * 30}, classes=["a", "b", "c"])
    row = fl.create(None, "x", pool).classes().classes.where(**{"class": "c"})
    assert row["precision"] == [None]
    assert row["n"] == [0]


def test_without_labels_nothing_is_said_about_the_worst_class() -> None:
    pool, truth = made()
    assert fl.create(None, "x", pool).classes().words == ()
    assert len(labelled(pool, truth, 120).classes().words) == 3


def test_fairness_when_everything_is_labelled() -> None:
    pool, truth = made(300, classes=2)
    sex = fl.by_column(pool, "sex")
    found = labelled(pool, truth, 300, target="pool").fairness(sex, positive="yes", reference="m")
    ids, said = pool.ids.to_pylist(), np.array(pool.classes)[pool.predicted]
    true, women = np.array([truth[item] for item in ids]), sex.group == sex.position("f")
    for measure, counted in {
        "accuracy": lambda of: (said == true)[of].mean(),
        "true positive rate": lambda of: (said == "yes")[of & (true == "yes")].mean(),
        "false positive rate": lambda of: (said == "yes")[of & (true == "no")].mean(),
        "precision": lambda of: (true == "yes")[of & (said == "yes")].mean(),
        "selection rate": lambda of: (said == "yes")[of].mean(),
    }.items():
        row = next(found.groups.where(measure=measure, group="f").rows())
        assert row["value"] == pytest.approx(counted(women))
        assert row["difference"] == pytest.approx(counted(women) - counted(~women))
        assert row["ratio"] == pytest.approx(counted(women) / counted(~women))
    assert found.groups.where(measure="accuracy", group="m")["difference"] == [None]


def test_against_the_rest_two_groups_mirror_each_other() -> None:
    pool, truth = made(classes=2)
    groups = labelled(pool, truth, 150).fairness(fl.by_column(pool, "sex")).groups
    for measure in ("accuracy", "true positive rate", "false positive rate"):
        f, m = groups.where(measure=measure)["difference"]
        assert f == pytest.approx(-m)
    assert groups.settings["positive"] == "yes"


def test_a_group_with_hardly_a_label_is_not_compared() -> None:
    data = {"predicted": ["yes", "no"] * 100, "town": ["big"] * 150 + ["old"] * 48 + ["tiny"] * 2}
    pool = fl.read_pool(data)
    audit = fl.create(None, "x", pool, fl.by_column(pool, "town"))
    audit.tell(dict.fromkeys(audit.ask(80).ids, "yes"))
    rows = {row["group"]: row for row in audit.fairness().groups.where(measure="accuracy").rows()}
    assert (rows["tiny"]["difference"], rows["tiny"]["lower"]) == (None, None)
    assert rows["tiny"]["note"]
    assert rows["big"]["difference"] is not None
    assert not any("tiny" in line for line in audit.fairness().words if "counted" not in line)


def test_one_group_cannot_be_compared() -> None:
    pool, _ = made()
    with pytest.raises(fl.SpecError, match="at least two groups"):
        fl.create(None, "x", pool).fairness(fl.whole(pool))


def test_both_commands(tmp_path: object) -> None:
    pool, truth = made(classes=2)
    address = f"{tmp_path}/audit.db"
    audit = fl.create(address, "loans", pool)
    audit.tell({item: truth[item] for item in audit.ask(120).ids})
    audit.close()
    shown = CliRunner().invoke(cli, ["classes", address, "--sort", "recall"])
    assert shown.exit_code == 0
    assert "mean over classes (macro)" in shown.output
    as_json = json.loads(CliRunner().invoke(cli, ["classes", address, "--json"]).stdout)
    assert [row["class"] for row in as_json["classes"]] == ["no", "yes"]
    crossed = ["fairness", address, "--groups", "column:sex,column:race", "--reference", "m x a"]
    shown = CliRunner().invoke(cli, crossed)
    assert shown.exit_code == 0
    assert "minus m × a" in shown.output
    found = json.loads(CliRunner().invoke(cli, [*crossed, "--json"]).stdout)
    assert {row["group"] for row in found["groups"]} == {"f × a", "f × b", "m × a", "m × b"}
    wrong = CliRunner().invoke(cli, ["fairness", address, "--groups", "column:sex", "--reference", "w"])
    assert wrong.exit_code == 2
    assert "there is no group 'w'" in wrong.output


def test_headings_of_pictures_claim_nothing_about_groups_without_labels() -> None:
    pool, truth = made()
    blank = fl.create(None, "x", pool)
    nothing = ("No class has enough labels yet", "Too few labels to ", "No label shows a mix-up")
    for plot in plots.read_all(blank).values():
        assert plot.finding().startswith((plot.title, *nothing)) or plot.name == "calibration"
    audit = labelled(pool, truth, 150, task=fl.Identify(fl.Accuracy(), lowest=1))
    found = plots.read_all(audit)
    forest = found["forest"]
    assert forest.finding().startswith(("Best guesses of accuracy run from ", "In the "))
    assert all(
        f"({name})" not in forest.finding() or n >= 5
        for name, n in zip(audit.groups.names, audit.by_group()["labelled"], strict=True)
    )
    assert "has the lowest accuracy with a probability of" in found["chances"].finding()


def test_fewer_draws_of_hits_than_of_accuracy(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a thousand classes fewer draws of hits are afforded than of accuracy: here that is so with three."""
    monkeypatch.setattr("fewlabels.estimates._IN_ALL", 5_000)
    pool, truth = made()
    report = labelled(pool, truth, 60).classes()
    assert report.classes.settings["draws"] < 4_000
    assert all(0 < row["precision"] < 1 for row in report.averages.rows())


def test_a_gap_that_is_none_is_not_called_one() -> None:
    gap = {"measure": "accuracy", "lowest": "m", "highest": "f", "gap": 0.001, "low": -0.2, "high": 0.2}
    gap |= {"probability": 0.5, "by_labels": 0.9, "ends": (0.54, 0.54), "compared": 2, "left_out": 0}
    none = "The labels show no gap in accuracy between m (54%) and f (54%): the difference is 0 points (−20 to +20)."
    assert _gap_words(gap) == none
    assert "in accuracy: the most probable one, between m (54%) and" in _gap_words(gap | {"compared": 3})
    assert "than for f (54%) with a probability of 50%, by 3 points (" in _gap_words(gap | {"gap": 0.03})
    unclear = _gap_words(gap | {"gap": 0.03})
    assert unclear.startswith("It is too early to name a gap in accuracy: it is lower for m (54%)")
    assert "is probably lower for" in _gap_words(gap | {"gap": 0.03, "probability": 0.9})
    assert "is lower for m (54%) than" in _gap_words(gap | {"gap": 0.03, "probability": 0.99})
    assert _gap_words(gap | {"gap": 0.03, "left_out": 2}).endswith("five labels that count are left out.")


def test_a_gap_that_labels_alone_do_not_show_says_what_it_rests_on() -> None:
    """No false positive in 32 labels against one in 7."""
    gap = {"measure": "false positive rate", "lowest": "a", "highest": "b", "gap": 0.03, "low": 0.01, "high": 0.09}
    gap |= {"probability": 0.995, "by_labels": 0.62, "ends": (0.002, 0.03), "compared": 2, "left_out": 0}
    assert "learned from other groups: " in _gap_words(gap, "")
    assert _gap_words(gap, "scores").endswith("the labels of these two groups alone give it a probability of 62%.")
    assert "alone" not in _gap_words(gap | {"by_labels": 0.97})
    assert "alone" not in _gap_words(gap | {"probability": 0.6})
    assert "alone" not in _gap_words(gap | {"by_labels": None})


def test_a_gap_between_groups_that_are_wholly_labelled_rests_on_nothing_else() -> None:
    pool = fl.read_pool({"predicted": ["yes", "no"] * 10, "sex": ["f"] * 10 + ["m"] * 10})
    made = fl.create(None, "all", pool, "column:sex", target="pool")
    made.tell({item: "no" if item == "0" else ["yes", "no"][int(item) % 2] for item in made.ask(20).ids})
    assert not [words for words in made.fairness("column:sex", positive="yes").words if "alone" in words]


def test_no_class_is_called_the_worst_by_mistakes_that_no_label_shows() -> None:
    """A class of which all 78 labels were found was said to have the lowest recall, by what others had shown."""
    pool = fl.read_pool({"predicted": ["a"] * 200 + ["b"] * 200}, classes=["a", "b"])
    audit = fl.create(None, "x", pool, prior=fl.Uniform())
    audit.tell({str(i): "a" for i in range(150)} | {str(i): "b" for i in range(200, 206)}, adopt=True)
    precision, *_ = audit.classes().words
    assert precision.startswith("It is too early to say which class has the lowest precision. The most likely is b")
    assert precision.endswith("but no label shows such a mistake.")
    audit.tell({"206": "a"}, adopt=True)
    precision, *_ = audit.classes().words
    assert precision.startswith("Lowest precision: b")


def test_what_is_counted_has_no_probability() -> None:
    """With every item labelled, it said "Lowest precision: no, 0% (0% – 0%) (probability over 99%)"."""
    pool = fl.read_pool({"predicted": ["yes", "no"] * 20})
    audit = fl.create(None, "x", pool, target="pool")
    audit.tell({item: "no" if item in ("38", "39") else "yes" for item in audit.ask(40).ids})
    report = audit.classes()
    assert report.words[0] == "Lowest precision: no, 5.0% (counted, not estimated)."
    assert "probability" not in " ".join(report.words)
    assert set(report.classes["note"]) == {""}
    assert readable_classes(report.classes)["precision"] == ["5.0%", "95.0%"]


def test_of_two_classes_that_are_alike_none_is_probably_the_lowest() -> None:
    """Of two classes, one is always more probable than not: "probably the lowest", it said, with 56%."""
    pool = fl.read_pool({"predicted": ["a"] * 100 + ["b"] * 100}, classes=["a", "b", "c"])
    for right, words in (
        (16, "It is too early to say which class has the lowest precision."),
        (10, "Lowest precision"),
    ):
        audit = fl.create(None, "x", pool, prior=fl.Uniform())
        audit.tell({str(i): "a" if i < 17 else "c" for i in range(20)}, adopt=True)
        audit.tell({str(100 + i): "b" if i < right else "c" for i in range(20)}, adopt=True)
        assert audit.classes().words[0].startswith(words)


def test_items_without_an_answer_are_mentioned_where_they_count() -> None:
    pool, truth = made(200, 2)
    said = [None if i % 10 == 0 else pool.classes[k] for i, k in enumerate(pool.predicted)]
    gaps = fl.read_pool(
        {"id": pool.ids, "predicted": said, "sex": pool.column("sex").to_pylist()},
        classes=CLASSES[:2],
        unlisted="wrong",
    )
    audit = labelled(gaps, truth, 80)
    words = "The classifier gave no answer, or one that can never be right, on 20 of 200 items. Here they count as "
    assert words in audit.classes().words[-1]
    assert words in audit.fairness("column:sex", positive="yes").words[-1]
    assert "gave no" not in " ".join(labelled(pool, truth, 80).classes().words)


def test_the_least_accurate_class_is_said_to_be_so_when_it_is_predicted() -> None:
    """Of a class, "right in 45% of the cases" could be its recall."""
    pool, truth = made()
    truth |= {item: "no" for item, k in zip(pool.ids.to_pylist(), pool.predicted, strict=True) if k == 2}
    of_classes = labelled(pool, truth, 200, task=fl.Identify(fl.Accuracy(), lowest=1))
    assert " (when it says so, it is right in " in find(of_classes).headline
    of_people = labelled(pool, truth, 200, groups="column:sex", task=fl.Identify(fl.Accuracy(), lowest=1))
    assert " (right in " in find(of_people).headline


def test_every_table_says_that_labels_came_from_elsewhere() -> None:
    """Tables of other groups, metrics and models did not, and their ranges rest on the same labels."""
    pool, truth = made(200, 2)
    store = fl.Store(None)
    audit = fl.create(store, "a", pool)
    asked = audit.ask(3).ids
    audit.tell({item: truth[item] for item in list(truth)[:60] if item not in asked}, adopt=True)
    audit.skip(asked[:1])
    words = of_labels(tally(audit))
    assert [" came from elsewhere, " in words[0], " skipped or disputed, " in words[1]] == [True, True]
    assert find(audit).doubts[-2:] == words
    whole = fl.create(None, "all", pool, target="pool")
    whole.tell(truth, adopt=True)
    assert "elsewhere" not in " ".join(find(whole).doubts)  # what is counted cannot be wrong


def test_no_class_is_the_worst_where_all_are_known_to_be_alike() -> None:
    """With every label right, it was too early to say which is worst, and that was "a" with "over 99%"."""
    pool = fl.read_pool({"predicted": ["a", "b", "c"] * 20, "site": ["x", "y"] * 30})
    audit = fl.create(None, "x", pool, "column:site", target="pool")
    classes = dict(zip(pool.ids.to_pylist(), ["a", "b", "c"] * 20, strict=True))
    audit.tell({item: classes[item] for item in audit.ask(60).ids})
    assert audit.classes().words[0] == "No class has a lower precision than another: 100% (counted, not estimated)."
    assert "lowest" not in find(audit).headline


def test_classes_that_are_known_to_be_equally_bad_are_all_named() -> None:
    pool = fl.read_pool({"predicted": ["a", "b", "c"] * 20})
    audit = fl.create(None, "x", pool, target="pool")
    said = {str(i): "abc"[i % 3] for i in range(60)} | {"0": "c", "1": "c"}
    audit.tell({item: said[item] for item in audit.ask(60).ids})
    assert audit.classes().words[0] == "Lowest precision: a and b, 95.0% (counted, not estimated)."


def test_what_the_labels_of_two_groups_alone_say_is_that_of_two_betas() -> None:
    """Beta(k + 1, n − k + 1) of each: against the integral of one density times the other tail."""
    x = np.linspace(0, 1, 20_001)
    for k, n in (([0, 1], [32, 7]), ([0, 5], [5, 5]), ([2, 2], [5, 5]), ([7, 30], [20, 40]), ([1, 9], [3, 40])):
        low, high = (stats.beta(a + 1, b - a + 1) for a, b in zip(k, n, strict=True))
        wanted = np.trapezoid(low.pdf(x) * high.sf(x), x)
        assert _by_labels(np.array(k), np.array(n), 0, 1) == pytest.approx(wanted, abs=4.5 * 0.5 / np.sqrt(40_000))
