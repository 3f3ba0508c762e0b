"""The largest mistakes: only the cells of the matrix that are named are drawn, and they are those of the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import beta

import fewlabels as fl
from fewlabels.estimates import _parts, _share_intervals
from fewlabels.findings.confusions import items_affected
from fewlabels.findings.finding import find
from fewlabels.metrics.rates import Hits
from fewlabels.plots.confusion import Confusions
from fewlabels.standing import widest_share
from fewlabels.web.views import dashboard
from tests.support.pools import by_kind, zoo
from tests.support.reports import CLASSES, pool, told, told_exactly

if TYPE_CHECKING:
    from fewlabels.belief import Target

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


@pytest.mark.parametrize("target", ["population", "pool"])
def test_single_shares_are_those_of_the_whole_matrix(target: Target) -> None:
    audit = told(120, prior=fl.Learned())
    cells = fl.Confusion().cells(audit.pool, audit.groups)
    outcomes = fl.Confusion().outcomes(audit.pool, cells, *audit.labelled_items())
    belief = fl.Learned().on(cells, target).belief(outcomes)
    cell, outcome = np.array([2, 0, 2, 1]), np.array([0, 0, 1, 2])
    pairs = belief.single(cell, outcome)
    assert pairs.mean()[:, 0] == pytest.approx(belief.mean()[cell, outcome], abs=1e-9)
    assert pairs.mean().sum(axis=1) == pytest.approx(1)
    full, few = (each.draws(np.random.default_rng(1), DRAWS) for each in (belief, pairs))
    error = 5 * np.sqrt(2 * belief.variance()[cell, outcome].max() / DRAWS)
    assert few[..., 0].mean(axis=0) == pytest.approx(full[:, cell, outcome].mean(axis=0), abs=error)
    assert few[..., 0].std(axis=0) == pytest.approx(full[:, cell, outcome].std(axis=0), rel=5 * 2 / np.sqrt(DRAWS))


@pytest.mark.parametrize("target", ["population", "pool"])
@pytest.mark.parametrize("options", [{"prior": fl.Uniform()}, {"prior": fl.Learned()}, {"noisy": True}])
def test_averages_are_those_of_draws_of_every_cell(options: dict[str, Any], target: Target) -> None:
    """The quick way, of many classes, beside the slow one: means, spreads, and where the ends of intervals lie."""
    items, truth = judged(classes=12)
    audit = fl.create(None, "mixed", items, task=fl.Estimate(fl.Confusion()), target=target, seed=3, **options)
    audit.tell({item: truth[item] for item in audit.ask(150).ids}, annotator="ann")
    belief = audit.belief()
    weight = belief.size / belief.size.sum()
    slow = np.concatenate([weight @ belief.draws(np.random.default_rng(seed), DRAWS // 8) for seed in range(8)])
    quick = belief.averages(np.random.default_rng(9), DRAWS)
    sd = slow.std(axis=0)
    assert quick.mean(axis=0) == pytest.approx(slow.mean(axis=0), abs=5 * np.sqrt(2 / DRAWS) * sd.max())
    assert quick.std(axis=0) == pytest.approx(sd, rel=5 * 2 / np.sqrt(DRAWS))
    tail, ends = 0.025, np.quantile(quick, [0.025, 0.975], axis=0)
    off = 5 * np.sqrt(2 * tail * (1 - tail) / DRAWS)
    for end, side in ((ends[0], 1), (ends[1], -1)):  # whole items of a pool may lie on an end
        beyond, with_end = ((side * slow < side * end).mean(axis=0), (side * slow <= side * end).mean(axis=0))
        assert (beyond < tail + off).all()
        assert (with_end > tail - off).all()


@pytest.mark.parametrize("target", ["population", "pool"])
def test_the_longest_interval_is_that_of_the_whole_matrix(target: Target) -> None:
    items, truth = judged(classes=20)
    audit = fl.create(None, "mixed", items, task=fl.Estimate(fl.Confusion()), target=target, seed=3)
    audit.tell({item: truth[item] for item in audit.ask(150).ids})
    whole = audit.estimates(draws=DRAWS)
    longest = max(high - low for low, high in zip(whole["low"], whole["high"], strict=True))
    found = widest_share(audit.spec.task, audit.belief(), audit.cells, np.random.default_rng(5), DRAWS)
    # An end of an interval, a quantile at 0.025, has a standard error of about 2.7 sd/√draws; there are four of them.
    sd = np.sqrt(audit.belief().variance().max())
    assert found == pytest.approx(longest, abs=5 * 2 * 2.7 * sd / np.sqrt(DRAWS))


@pytest.mark.slow
def test_a_large_matrix_is_not_computed_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    items, truth = judged(items=900, classes=120)
    audit = fl.create(None, "large", items, task=fl.Estimate(fl.Confusion()), seed=3)
    audit.tell({str(item): truth[str(item)] for item in range(300)}, adopt=True)
    drawn: list[int] = []

    def counted(belief: Any, *rest: Any) -> Any:
        drawn.append(belief.numbers)
        return _share_intervals(belief, *rest)

    monkeypatch.setattr("fewlabels.estimates._share_intervals", counted)
    finding = find(audit)
    assert len(finding.table) == 20
    assert max(finding.table["seen"]) > 0
    assert finding.table["seen"] == sorted(finding.table["seen"], key=lambda seen: seen == 0)
    assert len(finding.answer.table) == 120
    page = dashboard(audit)
    assert (page.rows, page.rows_title) == (20, "The largest mistakes")
    assert next(column for column in page.groups if column.title == "Seen").cells[0] == "5 of 5"
    assert max(drawn) < 120 * 120
    assert len(finding.estimates) == 120 * 120
    assert max(drawn) >= 120 * 120


def test_headline_picture_and_table_say_the_same_of_a_mistake() -> None:
    audit = told(200, task=fl.Estimate(fl.Confusion()))
    finding = find(audit)
    drawn = {(pair.predicted, pair.true): (pair.mean, pair.low, pair.high) for pair in Confusions.of(audit).pairs}
    said = {(pair.group, pair.true): (pair.mean, pair.low, pair.high) for pair in finding.confusions}
    shared = drawn.keys() & said.keys()
    assert shared
    assert {pair: drawn[pair] for pair in shared} == {pair: said[pair] for pair in shared}


def test_what_labels_showed_is_never_less_in_the_pool() -> None:
    """2,000 worlds of 40 items: the range of the items that a mistake affects holds as often as it says."""
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(2_000):
        share = rng.beta(2, 10)
        wrong = rng.random(40) < share
        seen = int(wrong[:12].sum())
        a, b = 2 + seen, 10 + 12 - seen  # the exact posterior
        low, high = (float(beta.ppf(end, a, b)) for end in (0.025, 0.975))
        row = {"n": 40, "labelled": 12, "seen": seen, "mean": a / (a + b), "low": low, "high": high}
        best, first, last = items_affected(row, "population", 0.95)
        assert seen <= first <= best <= last <= seen + 28
        held += first <= wrong.sum() <= last
    # Whole numbers hold a little more often than promised; four standard errors below it.
    assert held / 2_000 > 0.95 - 4 * (0.95 * 0.05 / 2_000) ** 0.5


@pytest.mark.parametrize("target", ["population", "pool"])
def test_a_class_that_is_labelled_throughout_is_counted(target: Target) -> None:
    audit = told(400, target=target)
    for pair in Confusions.of(audit, draws=200).pairs:
        assert pair.items == pytest.approx((pair.seen,) * 3)


def test_no_mix_up_is_named_that_no_label_shows() -> None:
    audit = told_exactly(dict.fromkeys(CLASSES, (12, 0)), task=fl.Estimate(fl.Confusion()))
    headline = find(audit).headline
    assert "no label shows a mix-up" in headline
    assert "where it says" not in headline
    drawn = Confusions.of(audit, draws=200)
    assert drawn.finding() == "No label shows a mix-up"
    seen = told_exactly(dict.fromkeys(CLASSES, (12, 3)), task=fl.Estimate(fl.Confusion()))
    assert "The largest mix-up seen so far: where it says" in find(seen).headline
    assert Confusions.of(seen, draws=200).finding().endswith(": 3 of 15 labels")
    assert all(pair.seen or pair.items[0] >= 1 for pair in find(seen).confusions)


@pytest.mark.parametrize("target", ["population", "pool"])
def test_recalls_of_many_classes_are_those_of_draws_of_every_share(target: Target) -> None:
    """The quick way beside the slow one, with a row that a Gamma does not fit: a fifteenth of the items is refused.

    Drawn with the others, that row made intervals of recall up to 1.6 times too long.
    """
    rng = np.random.default_rng(3)
    names = [f"c{k}" for k in range(30)]
    predicted = rng.choice(30, 3_000, p=rng.dirichlet(np.full(30, 2.0)))
    right = rng.random(3_000) < rng.beta(5, 2, 30)[predicted]
    true = np.where(right, predicted, (predicted + rng.choice([1, 2, 7], 3_000)) % 30)
    answers = [None if i % 15 == 0 else names[k] for i, k in enumerate(predicted)]
    pool = fl.read_pool({"predicted": answers, "confidence": 0.3 + 0.6 * right}, classes=names, unlisted="wrong")
    audit = fl.create(None, "many", pool, target=target, seed=3)
    audit.tell({item: names[true[int(item)]] for item in audit.ask(300).ids})
    cells = Hits().cells(pool, fl.whole(pool))
    belief = fl.Learned().on(cells, target).belief(Hits().outcomes(pool, cells, *audit.labelled_items()))
    slow = np.concatenate(list(_parts(Hits(), belief, cells, np.random.default_rng(1), DRAWS)))[:, 0]
    quick = Hits().at_once(belief, cells, np.random.default_rng(2), DRAWS)
    assert quick is not None
    hit, total = np.moveaxis(quick[:, 0], 1, 0)
    assert hit.mean(axis=0) == pytest.approx(slow[:, 0].mean(axis=0), abs=5 * slow[:, 0].std() * np.sqrt(2 / DRAWS))
    recalls = [slow[:, 0] / slow[:, 1], hit / total]
    (mean, spread), (quick_mean, quick_spread) = ((each.mean(axis=0), each.std(axis=0)) for each in recalls)
    error = 5 * np.sqrt(2 / DRAWS)
    assert (np.abs(quick_mean - mean) < (0.1 + error) * spread).all()
    assert np.abs(quick_spread / spread - 1).max() < 0.15 + error
