"""The largest mistakes: only the cells of the matrix that are named are drawn, and they are those of the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fewlabels as fl
from tests.support.pools import by_kind, zoo
from tests.support.reports import pool, told

DRAWS = 4_000


def judged(seed: int = 2, items: int = 600, classes: int = 60) -> tuple[fl.Pool, dict[str, str]]:
    """Predictions of many classes with confidences; every class is mixed up with its neighbour."""
    rng = np.random.default_rng(seed)
    said = rng.integers(0, classes, items)
    true = np.where(rng.random(items) < 0.7, said, (said + 1) % classes)
    names = [f"c{i}" for i in range(classes)]
    made = fl.read_pool(
        {"predicted": [names[i] for i in said], "confidence": rng.uniform(0.5, 1, items)}, classes=names
    )
    return made, {str(i): names[at] for i, at in enumerate(true)}


@pytest.mark.parametrize("target", ["population", "pool"])
@pytest.mark.parametrize("prior", [fl.Uniform(), fl.Informed(), fl.Learned()])
def test_the_ends_are_those_of_the_whole_matrix(prior: Any, target: Any) -> None:
    audit = told(120, prior=prior, target=target)
    whole = {(row["group"], row["true"]): row for row in audit.estimates(metric=fl.Confusion(), draws=DRAWS)}
    table = audit.confusions(6, draws=DRAWS)
    assert len(table) == 6
    for row in table:
        other = whole[row["group"], row["true"]]
        assert row["mean"] == pytest.approx(other["mean"], abs=1e-9)
        assert row["labelled"] == other["labelled"]
        # A quantile at 2.5% of n draws is off by sqrt(.025 * .975 / n) / density, and the density of a share with
        # this standard deviation is there at least 0.05 / sd. Both sides are drawn; four standard errors.
        sd = (other["high"] - other["low"]) / 4
        error = 4 * np.sqrt(2 * 0.025 * 0.975 / DRAWS) * sd / 0.05 + (0.011 if target == "pool" else 1e-9)
        assert row["low"] == pytest.approx(other["low"], abs=error)
        assert row["high"] == pytest.approx(other["high"], abs=error)


def test_mistakes_that_were_seen_come_first_however_many_classes_there_are() -> None:
    made, truth = judged()
    audit = fl.create(None, "many", made, seed=1)
    audit.tell({item: truth[item] for item in audit.ask(80).ids})
    items, true = audit.labelled_items()
    wrong = {(made.classes[s], made.classes[t]) for s, t in zip(made.predicted[items], true, strict=True) if s != t}
    table = audit.confusions(len(wrong) + 3, draws=500)
    first = [(row["group"], row["true"]) for row in table][: len(wrong)]
    assert set(first) == wrong
    assert all(row["seen"] > 0 and row["high"] * row["n"] > 0.5 for row in table.head(len(wrong)))
    assert [row["seen"] for row in table][len(wrong) :] == [0, 0, 0]


def test_labels_asked_by_other_groups_and_noisy_ones_are_read_as_well() -> None:
    known = zoo()
    audit = fl.create(None, "kinds", known.pool, by_kind(known.pool), prior=fl.Uniform(), seed=4)
    audit.tell(known.labels(audit.ask(12).ids))
    assert all(row["low"] <= row["mean"] <= row["high"] for row in audit.confusions(5, draws=300))
    items, truth = pool()
    noisy = fl.create(None, "noisy", items, noisy=True, seed=4)
    noisy.tell({item: truth[item] for item in noisy.ask(40).ids}, annotator="ann")
    assert all(row["low"] <= row["mean"] <= row["high"] for row in noisy.confusions(5, draws=300))


def test_narrowed_beliefs_are_the_same_shares() -> None:
    audit = told(120, prior=fl.Learned())
    cells = fl.Confusion().cells(audit.pool, audit.groups)
    outcomes = fl.Confusion().outcomes(audit.pool, cells, *audit.labelled_items())
    belief = fl.Learned().on(cells, "population").belief(outcomes)
    part = belief.narrowed(np.array([2, 0]))
    assert part.mean()[:, :2] == pytest.approx(belief.mean()[:, [2, 0]], abs=1e-9)
    assert part.mean().sum(axis=1) == pytest.approx(1)
    full, few = (each.draws(np.random.default_rng(1), DRAWS) for each in (belief, part))
    error = 5 * np.sqrt(2 * belief.variance()[:, [2, 0]].max() / DRAWS)
    assert few[..., :2].mean(axis=0) == pytest.approx(full[..., [2, 0]].mean(axis=0), abs=error)
