"""Plots, the numbers half: what is drawn is what estimates(), answer() and reliability() say, and nothing is drawn that
the labels do not show.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fewlabels as fl
from fewlabels import plots
from fewlabels.findings.finding import find
from fewlabels.findings.measures import Measure
from fewlabels.findings.prior_pull import swayed
from fewlabels.findings.reading import Row
from fewlabels.plots.drawing import picture
from fewlabels.plots.forest import Forest
from tests.support.pools import Known, by_kind, zoo

if TYPE_CHECKING:
    from fewlabels.belief import Target

DRAWS = 500


def labelled(
    known: Known,
    groups: fl.Partition | None = None,
    labels: int = 14,
    **more: Any,
) -> fl.Assessment:
    """An assessment with some labels told, in two batches."""
    usual: dict[str, Any] = {"seed": 5, "prior": fl.Uniform()}
    audit = fl.create(None, "audit", known.pool, groups, **usual | more)
    for part in (labels // 2, labels - labels // 2):
        if part:
            audit.tell(known.labels(audit.ask(part).ids))
    return audit


def read(audit: fl.Assessment, kind: str, **more: Any) -> Any:
    return plots.PLOTS[kind].of(audit, draws=DRAWS, **more)


TASKS = {
    "estimate": fl.Estimate(fl.Accuracy()),
    "lowest": fl.Identify(fl.Accuracy(), lowest=2),
    "highest": fl.Identify(fl.CalibrationError(bins=2), highest=1),
    "cost": fl.Estimate(fl.Cost(np.ones((6, 6)) - np.eye(6))),
    "confusion": fl.Estimate(fl.Confusion()),
    "recall": fl.Estimate(fl.Recall("cat")),
    "compare": fl.Compare(fl.Accuracy(), "ant", "cow"),
    "compare-f1": fl.Compare(fl.F1(), "insects", "mammals"),
}
ORDERED = {"forest", "ranking", "chances", "confusion", "scatter", "allocation", "curve"}
SUITS = {
    "estimate": ORDERED,
    "lowest": ORDERED,
    "highest": ORDERED,
    "cost": ORDERED,
    "confusion": {"confusion", "scatter", "allocation", "curve"},
    "recall": ORDERED,
    "compare": {"forest", "rope", "allocation", "curve"},
    "compare-f1": {"forest", "rope", "allocation", "curve"},
}


def assessment(task: str, **more: Any) -> fl.Assessment:
    known = zoo()
    rates = isinstance(TASKS[task].metric, (fl.Recall, fl.F1))
    return labelled(known, by_kind(known.pool) if rates else None, task=TASKS[task], **more)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("target", ["population", "pool"])
def test_every_plot_runs_where_it_suits_and_is_refused_elsewhere(task: str, target: str) -> None:
    audit = assessment(task, target=target)
    # Six groups of five items are too many for score bins to be told by so few labels.
    assert set(plots.suited(audit)) == SUITS[task]
    found = plots.read_all(audit, draws=DRAWS)
    assert list(found) == [name for name in plots.PLOTS if name in SUITS[task]]
    for name, numbers in found.items():
        data = json.loads(json.dumps(numbers.to_json(), allow_nan=False))
        assert data["plot"] == name
        assert numbers.caption().endswith(".")
        assert numbers.picture().panels
    for name in plots.PLOTS.keys() - found.keys():
        with pytest.raises(fl.SpecError, match=f"'{name}' does not suit this assessment: "):
            read(audit, name)


def test_an_unknown_plot_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(fl.InputError, match=r"there is no plot 'pie'. The plots are verdicts, forest"):
        plots.read_all(assessment("estimate"), kinds=["pie"])


def found_in(audit: fl.Assessment) -> tuple[str, ...]:
    """The groups of the answer that belong there more probably than not, by five labels of their own."""
    rows = {row["group"]: row for row in audit.answer(draws=DRAWS).table}
    named = (rows[name] for name in audit.answer(draws=DRAWS).groups)
    return tuple(r["group"] for r in named if r["chance"] >= 0.5 and r["labelled"] >= 5)


@pytest.mark.parametrize("task", ["estimate", "lowest", "highest", "cost", "compare"])
def test_forest_has_the_estimates(task: str) -> None:
    audit = assessment(task)
    forest = read(audit, "forest", level=0.9)
    rows = {row["group"]: row for row in audit.estimates(level=0.9, draws=DRAWS).rows()}
    assert {row.group for row in forest.rows} == ({"ant", "cow"} if task == "compare" else set(rows))
    for row in forest.rows:
        assert (row.n, row.labelled, row.mean, row.low, row.high) == tuple(
            rows[row.group][name] for name in ("n", "labelled", "mean", "low", "high")
        )
    means = [row.mean for row in forest.rows if row.mean is not None]
    assert means == sorted(means, reverse=task in ("highest", "cost"))
    assert forest.named == (found_in(audit) if task in ("lowest", "highest") else ())
    if task != "compare":
        assert forest.rows[-1].group == "fox"  # without items, and so without a value
        assert forest.rows[-1].mean is None


def test_the_average_of_the_forest_is_the_answer_and_left_out_where_the_prior_sways_it() -> None:
    known = zoo()
    audit = labelled(known, fl.whole(known.pool), labels=20)
    assert read(audit, "forest").average == pytest.approx(audit.answer().table["mean"][0], abs=1e-12)
    assert read(places(2), "forest").average is None
    many = places(60, 4)
    assert read(many, "forest").average == pytest.approx(many.answer().table["mean"][0], abs=1e-12)


def test_the_forest_has_no_average_where_the_finding_has_none() -> None:
    """A search that ends early: most items are in classes with hardly any labels, and few labels speak for all."""
    fashion = fl.load_fashion()
    pool = fl.read_pool({"id": fashion.ids, "scores": fashion.scores}, classes=fashion.classes)
    truth = dict(zip(fashion.ids, fashion.labels, strict=True))
    audit = fl.create(None, "worst", pool, task=fl.Identify(fl.Accuracy(), lowest=1), seed=0)
    for _ in range(7):
        audit.tell({item: truth[item] for item in audit.ask(10).ids})
    assert not find(audit).overall.enough  # else this test shows nothing
    assert read(audit, "forest").average is None


@pytest.mark.parametrize("task", ["lowest", "highest"])
def test_ranking_and_chances_have_the_answer(task: str) -> None:
    audit = assessment(task)
    table = {row["group"]: row for row in audit.answer(draws=DRAWS).table.rows()}
    ranking, chances = read(audit, "ranking"), read(audit, "chances")
    assert {row.group: (row.rank, row.low, row.high) for row in ranking.rows} == {
        group: (row["rank"], row["rank_low"], row["rank_high"]) for group, row in table.items()
    }
    assert len(chances.sides) == 1
    assert {row.group: row.chance for row in chances.sides[0].rows} == {g: row["chance"] for g, row in table.items()}
    assert ranking.named == chances.named == found_in(audit)


def test_ranking_and_chances_of_an_estimate_are_counted_from_the_draws() -> None:
    audit = assessment("estimate")
    there = [g for g, n in enumerate(audit.groups.sizes) if n]
    values = audit.draws(DRAWS)[:, there]
    place = values.argsort(axis=1).argsort(axis=1) + 1
    ranking, chances = read(audit, "ranking"), read(audit, "chances")
    by_name = {row.group: row for row in ranking.rows}
    for column, g in enumerate(there):
        assert by_name[audit.groups.names[g]].rank == pytest.approx(place[:, column].mean())
    lowest, highest = ({row.group: row.chance for row in side.rows} for side in chances.sides)
    for column, g in enumerate(there):
        assert lowest[audit.groups.names[g]] == pytest.approx((place[:, column] == 1).mean())
        assert highest[audit.groups.names[g]] == pytest.approx((place[:, column] == len(there)).mean())
    assert sum(lowest.values()) == pytest.approx(1)


@pytest.mark.parametrize("metric", [fl.Accuracy(), fl.CalibrationError(bins=4, equal="weight")])
def test_reliability_and_calibration_have_the_assessments_numbers(metric: fl.metrics.Metric) -> None:
    known = zoo()
    audit = labelled(known, fl.whole(known.pool), labels=20, task=fl.Estimate(metric))
    given = metric if isinstance(metric, fl.CalibrationError) else fl.CalibrationError()
    bins, equal = given.bins, given.equal
    table = audit.reliability(bins, equal=equal, draws=DRAWS)
    found = read(audit, "reliability").bins
    assert [(b.bin, b.n, b.labelled, b.mean, b.low, b.high, b.confidence) for b in found] == [
        tuple(row[name] for name in ("group", "n", "labelled", "mean", "low", "high", "confidence"))
        for row in table.rows()
    ]
    error = fl.CalibrationError(bins, equal)
    row = next(audit.estimates(metric=error, groups=fl.whole(known.pool), draws=DRAWS).rows())
    shown = read(audit, "calibration")
    assert (shown.mean, shown.low, shown.high) == pytest.approx((row["mean"], row["low"], row["high"]), abs=1e-12)
    assert shown.labels == 20


def test_scatter_has_both_estimates() -> None:
    audit = assessment("estimate")
    found = {row.group: row for row in read(audit, "scatter").rows}
    for metric, name in ((fl.Accuracy(), "accuracy"), (fl.CalibrationError(), "error")):
        for row in audit.estimates(metric=metric, draws=DRAWS).rows():
            if row["n"]:
                assert getattr(found[row["group"]], name) == (row["mean"], row["low"], row["high"])
    assert "fox" not in found


def test_confusion_has_the_estimates_and_the_largest_mistakes() -> None:
    audit = assessment("estimate")
    table = audit.estimates(metric=fl.Confusion(), draws=DRAWS)
    shown = read(audit, "confusion")
    cells = {(row["group"], row["true"]): row for row in table.rows()}
    right = {row["group"]: row for row in audit.estimates(draws=DRAWS).rows()}  # one number for one thing
    for row in shown.rows:
        for j, true in enumerate(shown.classes):
            cell = right[true] if true == row.predicted else cells[row.predicted, true]
            assert cell["mean"] == (None if row.mean is None else row.mean[j])
            assert cell["high"] == (None if row.high is None else row.high[j])
    seen = {(pair.predicted, pair.true): pair.seen for pair in shown.pairs}
    assert all(pair.mean == pytest.approx(cells[pair.predicted, pair.true]["mean"]) for pair in shown.pairs)
    wrong = [(said, true) for said, true in told_pairs(audit) if said != true]
    assert all(seen[pair] == wrong.count(pair) for pair in wrong)
    items = [(pair.seen == 0, -pair.mean * pair.n) for pair in shown.pairs]
    assert items == sorted(items)


def told_pairs(audit: fl.Assessment) -> list[tuple[str, str]]:
    """What the classifier says and what is true, for each label."""
    items, true = audit.labelled_items()
    names = audit.pool.classes
    return [(names[said], names[at]) for said, at in zip(audit.pool.predicted[items], true, strict=True)]


@pytest.mark.parametrize("task", ["compare", "compare-f1"])
def test_rope_has_the_answer(task: str) -> None:
    audit = assessment(task)
    row = next(audit.answer(draws=DRAWS).table.rows())
    shown = read(audit, "rope")
    for name in ("less", "equal", "more", "mean", "low", "high"):
        assert getattr(shown, name) == row[name]


def test_allocation_counts_labels_and_what_chance_would_have_put_there() -> None:
    audit = assessment("lowest")
    shown = read(audit, "allocation")
    counts = dict(zip(audit.groups.names, audit.estimates(draws=DRAWS)["labelled"], strict=True))
    assert {row.group: row.labelled for row in shown.rows} == counts
    for row in shown.rows:
        assert row.expected == pytest.approx(14 * row.n / 30)
    assert [row.labelled for row in shown.rows] == sorted(counts.values(), reverse=True)


def test_the_curve_is_what_was_known_after_fewer_labels() -> None:
    """Read from the log of a whole assessment as from one that has only its first labels; a withdrawal counts."""
    known, task = zoo(), TASKS["compare"]
    audit = labelled(known, labels=9, task=task)
    audit.withdraw([next(iter(audit.labels()))])
    curve = read(audit, "curve")
    chance = curve.charts[0].traces[0]
    assert chance.labels[0] == 0
    assert len(set(chance.labels)) == len(chance.labels)
    final = dict(zip(chance.labels, chance.mean, strict=True))[8]
    assert final == pytest.approx(audit.answer().probability, abs=1e-12)  # by quadrature, so without noise
    told = [row for row in audit.log().rows() if row["kind"] == "label"]
    for count in (0, 3, 6):
        fresh = fl.create(None, "fresh", known.pool, task=task, prior=fl.Uniform())
        fresh.tell({row["item"]: row["label"] for row in told[:count]}, adopt=True)
        at = chance.labels.index(count)
        assert chance.mean[at] == pytest.approx(fresh.answer().probability, abs=1e-12)


def test_the_curves_error_is_the_spread_of_the_belief() -> None:
    audit = assessment("estimate")
    error = read(audit, "curve").charts[-1].traces[0]
    variance = audit.belief().variance()[:, 0]
    shares = audit.groups.shares[audit.groups.sizes > 0]
    assert error.mean[-1] == pytest.approx(np.sqrt(shares @ variance))
    assert error.labels[-1] == 14
    assert error.mean[0] == pytest.approx(np.sqrt(1 / 12))  # of a uniform prior


def test_a_long_log_is_read_in_few_parts() -> None:
    known = zoo()
    audit = labelled(known, fl.whole(known.pool), labels=0)
    for _ in range(45):
        item = audit.ask(1).ids
        audit.tell(known.labels(item))
        if len(audit.labels()) == 30:
            audit.withdraw([*audit.labels()][:20])
    assert len(read(audit, "curve").charts[0].traces[0].labels) <= 33


# --- what must not look as if it were known


def places(each: int, number: int = 40, **more: object) -> fl.Assessment:
    """Some groups with so many labels each; 13 of 16 items are right, and all confidences are above 0.9."""
    rng = np.random.default_rng(2)
    data = {
        "id": [f"i{i}" for i in range(1600)],
        "confidence": rng.uniform(0.9, 1, 1600),
        "predicted": ["yes"] * 1600,
        "place": [f"p{i % number:02d}" for i in range(1600)],
    }
    true = np.where(rng.permutation(1600) < 1300, 1, 0).astype(np.int32)
    known = Known(fl.read_pool(data, classes=["no", "yes"]), true)
    more = {"policy": fl.UniformGroups()} | more
    return labelled(known, fl.by_column(known.pool, "place"), labels=number * each, **more)


def test_score_bins_are_not_put_together_from_priors() -> None:
    """Two labels in each of forty groups: averaged, their priors give a sharp accuracy that is far off."""
    audit = places(2)
    top = list(audit.reliability(draws=2000).rows())[-1]
    assert top["high"] < 1300 / 1600 - 0.03
    assert swayed(audit).tolist() == [True]
    assert {"reliability", "calibration"}.isdisjoint(plots.suited(audit))
    with pytest.raises(fl.SpecError, match="from 40 groups, and these have too few labels: the prior would"):
        read(audit, "reliability")
    # With many labels a group, in a random sample, or with a model of all labels it is shown.
    for good in (places(60, 4), places(2, policy=fl.UniformItems()), places(2, prior=fl.Learned())):
        assert {"reliability", "calibration"} < set(plots.suited(good))


@pytest.mark.slow
@pytest.mark.parametrize("target", ["population", "pool"])
@pytest.mark.parametrize("prior", [fl.Uniform(), fl.Informed(5)])
def test_the_sway_is_how_far_the_answer_is_from_one_without_prior(target: Target, prior: fl.priors.Prior) -> None:
    """Against the library's own answers: with the prior, and with one that counts for nearly nothing."""
    for each, number in ((1, 40), (8, 40), (8, 4), (40, 4), (100, 4)):
        audit = places(each, number, prior=prior, target=target)
        bare = fl.create(None, "bare", audit.pool, audit.groups, prior=fl.Uniform(1e-9), target=target)
        bare.tell(audit.labels(), adopt=True)
        row, other = (next(one.answer(draws=4000).table.rows()) for one in (audit, bare))
        shift, sd = abs(row["mean"] - other["mean"]), (row["high"] - row["low"]) / 3.92
        if abs(shift / sd - 1) > 0.1:  # the interval is from draws: its ends are not exact
            assert swayed(audit)[0] == (shift > sd)


def test_a_label_that_nobody_asked_for_ends_the_random_sample() -> None:
    audit = places(2, policy=fl.UniformItems())
    assert "reliability" in plots.suited(audit)
    item = next(i for i in audit.pool.ids.to_pylist() if i not in audit.labels())
    audit.tell({item: "yes"}, adopt=True)
    assert "reliability" not in plots.suited(audit)


def test_one_group_is_not_swayed() -> None:
    known = zoo()
    assert not swayed(fl.create(None, "a", known.pool, fl.whole(known.pool), prior=fl.Uniform()))[0]
    assert swayed(fl.create(None, "b", known.pool, prior=fl.Uniform()))[0]  # five groups without a label
    assert not swayed(fl.create(None, "c", known.pool, prior=fl.Learned()))[0]


def test_a_group_with_few_labels_is_hollow() -> None:
    rng = np.random.default_rng(4)
    data = {"id": [f"i{i}" for i in range(60)], "predicted": ["few"] * 20 + ["some"] * 20 + ["all"] * 20}
    known = Known(fl.read_pool(data, classes=["few", "some", "all"]), rng.integers(0, 3, 60).astype(np.int32))
    told = known.labels([f"i{i}" for i in (*range(4), *range(20, 26), *range(40, 60))])
    audit = fl.create(None, "a", known.pool, prior=fl.Uniform())
    audit.tell(told, adopt=True)
    hollow = {row.group: row.thin for row in read(audit, "forest").rows}
    assert hollow == {"few": True, "some": True, "all": False}  # six labels leave an interval of more than a half
    points = {m.y: m.hollow for m in read(audit, "forest").picture().panels[0].marks if isinstance(m, picture.Point)}
    assert sorted(points.values()) == [False, True, True]


def test_a_guess_is_not_drawn_as_the_answer() -> None:
    """No mark without labels, none on a guess, a careful word from a half on, and the answer where it is sure."""
    known = zoo()
    nothing = fl.create(None, "nothing", known.pool, task=TASKS["lowest"])
    assert read(nothing, "forest").named == ()
    assert "chances" not in plots.suited(nothing)
    audit = assessment("lowest")
    reading = plots.Reading(audit, draws=DRAWS)
    given = reading.answer
    for chance, sure, found, words in (
        (0.38, 0.2, 0, "probably among those looked for"),
        (0.6, 0.4, 2, "probably among those looked for"),
        (0.95, 0.9, 2, "the answer"),
    ):
        rows = [{**row, "chance": chance, "labelled": max(row["n"], 5)} for row in given.table]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        reading = plots.Reading(audit, draws=DRAWS)
        reading.answer = replace(given, probability=sure, table=fl.Table(columns, given.table.settings))
        shown: Any = plots.PLOTS["forest"].read(reading)
        assert (len(shown.named), shown.means) == (found, words)
        keys = [key.text for key in shown.picture().panels[0].keys]
        assert (words in keys) == bool(found)


def test_a_heading_gives_no_number_of_a_group_with_too_few_labels() -> None:
    few = Row("cat", 40, 6, 0.42, 0.1, 0.8, thin=True, right=1, known=False)
    enough = Row("dog", 40, 20, 0.9, 0.8, 0.97, right=18)
    forest = Forest(Measure("accuracy", True, False), "lowest accuracy", 0.95, (few, enough), ("cat",), "likely", None)
    assert forest.finding() == "Lowest accuracy: cat (few labels)"
    drawn = plots.svg(forest)
    assert "10% – 80%, 1 of 6 right" in drawn
    assert "42%" not in drawn
    assert "90% (80% – 97%), 18 of 20 right" in drawn
