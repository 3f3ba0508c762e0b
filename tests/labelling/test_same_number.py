"""One quantity is one number, whatever the groups are that it is read by and whichever call or command says it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.findings.finding import find
from tests.support.paths import read

if TYPE_CHECKING:
    from pathlib import Path

ITEMS, LABELS = 600, 90
CLASSES = np.array(["a", "b", "c"])
ENDS = ("mean", "low", "high")
OVER_ALL = (fl.Accuracy(), fl.Prevalence("a"), fl.Cost([[0, 5, 1], [1, 0, 1], [1, 1, 0]]))


def assessment(store: fl.Store | None = None, *, steered: bool = False, **spec: Any) -> fl.Assessment:
    """Labels of a pool in which one site is worse, asked for by site."""
    rng = np.random.default_rng(1)
    true, site = rng.integers(0, 3, ITEMS), rng.choice(["x", "y", "z"], ITEMS)
    right = rng.random(ITEMS) < np.where(site == "x", 0.5, 0.85)
    predicted = np.where(right, true, (true + rng.integers(1, 3, ITEMS)) % 3)
    ids = [f"i{k}" for k in range(ITEMS)]
    columns = {"site": site, "lang": rng.choice(["u", "v"], ITEMS)}
    rows = {"id": ids, "predicted": CLASSES[predicted], "confidence": rng.uniform(0.5, 1, ITEMS), **columns}
    pool = fl.read_pool(rows, columns=list(columns))
    task = fl.Identify(fl.Accuracy(), lowest=1) if steered else fl.Estimate(fl.Accuracy())
    audit = fl.create(store, "one", pool, "column:site", task=task, seed=3, **spec)
    people = dict(zip(ids, CLASSES[true].tolist(), strict=True))
    audit.tell({item: people[item] for item in audit.ask(LABELS).ids})
    return audit


def ends(row: Any) -> list[float]:
    return [row[name] for name in ENDS]


@pytest.mark.parametrize("target", ["pool", "population"])
@pytest.mark.parametrize("prior", [fl.Learned(), fl.Uniform()])
@pytest.mark.parametrize("steered", [False, True])
def test_an_average_over_groups_is_the_number_over_all_items(target: Any, prior: Any, steered: bool) -> None:
    """By another column it was 79.6% to 94% where the answer said 79.6% to 95%: two models of the same items."""
    audit = assessment(target=target, prior=prior, steered=steered)
    for metric in OVER_ALL:
        whole = next(audit.estimates(metric=metric, groups=fl.whole(audit.pool)).rows())
        for groups in ("column:site", "column:lang", "predicted", "column:site,column:lang"):
            (row,) = audit.answer(fl.Estimate(metric), groups).table.rows()
            assert ends(row) == ends(whole), (metric, groups)
    if not steered:
        (row,) = audit.answer().table.rows()
        assert ends(row) == ends(next(audit.estimates(groups=fl.whole(audit.pool)).rows()))


def test_the_answer_about_another_mean_is_the_number_over_all_items() -> None:
    audit = assessment(store := fl.Store(None))
    for metric in OVER_ALL[1:]:
        other = fl.create(store, metric.name, audit.pool, "column:site", task=fl.Estimate(metric))
        (row,) = other.answer().table.rows()
        assert ends(row) == ends(next(other.estimates(groups=fl.whole(audit.pool)).rows()))


@pytest.mark.parametrize("target", ["pool", "population"])
def test_every_route_shows_one_number_over_all_items(tmp_path: Path, target: Any) -> None:
    path = tmp_path / "one.db"
    audit = assessment(fl.Store(str(path)), target=target)
    whole = ends(next(audit.estimates(groups=fl.whole(audit.pool)).rows()))
    overall = find(audit).overall
    assert [overall.mean, overall.low, overall.high] == whole
    averages = {row["average"]: row for row in audit.classes().averages.rows()}
    accuracy = averages["accuracy (micro)"]
    assert [accuracy[f"precision{end}"] for end in ("", "_low", "_high")] == whole
    for groups in ("column:lang", "predicted"):
        (row,) = read("answer", str(path), "--groups", groups)["rows"]
        assert ends(row) == whole


def test_rates_of_groups_are_the_same_in_every_table() -> None:
    """Fairness, classes and estimates draw the same model, so they differ by chance alone: 4,000 and 10,000 draws."""
    audit = assessment()
    table = audit.fairness("column:lang", positive="a").groups
    fairness = {(row["measure"], row["group"]): row for row in table.rows()}
    rates = {"true positive rate": fl.Recall("a"), "false positive rate": fl.FalsePositiveRate("a")}
    for name, metric in {**rates, "precision": fl.Precision("a"), "accuracy": fl.Accuracy()}.items():
        for row in audit.estimates(metric=metric, groups="column:lang").rows():
            seen = fairness[name, row["group"]]
            apart = [seen[f"value{end}"] for end in ("", "_low", "_high")]
            assert apart == pytest.approx(ends(row), abs=0.25 * (row["high"] - row["low"]) / 4), (name, row["group"])
