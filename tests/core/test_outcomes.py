"""Outcomes: the labels as cells see them; and priors that are prepared once and then compute."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.learned import on_cells
from fewlabels.learned.items import strips
from fewlabels.outcomes import Outcomes
from fewlabels.priors import Counts, Prepared, Prior
from fewlabels.simulation.generic import ask_and_tell
from fewlabels.simulation.methods import Method
from fewlabels.simulation.scorer import scorer_of
from fewlabels.simulation.truth import truth
from tests.support.contracts import METRICS, RATES
from tests.support.pools import by_kind, zoo

KNOWN = zoo()


@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_outcomes_are_counted_cell_by_cell(metric):
    groups = by_kind(KNOWN.pool) if isinstance(metric, RATES) else fl.by_predicted(KNOWN.pool)
    cells = metric.cells(KNOWN.pool, groups)
    items = np.random.default_rng(2).permutation(30)[:17]
    outcomes = metric.outcomes(KNOWN.pool, cells, items, KNOWN.true[items])
    counts = np.zeros((len(cells), len(cells.outcomes)))
    for item, shown in zip(items, metric.outcome(KNOWN.pool, items, KNOWN.true[items]), strict=True):
        counts[cells.cell[item], shown] += 1
    np.testing.assert_array_equal(outcomes.counts, counts)
    np.testing.assert_array_equal(outcomes.items, items)
    assert outcomes.labels == 17
    nothing = Outcomes.none(cells)
    assert nothing.counts.shape == counts.shape
    assert (nothing.labels, len(nothing.items), len(nothing.shown)) == (0, 0, 0)


@dataclass(frozen=True)
class Sceptical(Counts):
    """As little as a prior of counts needs."""

    def shares(self, cells):
        return np.tile([0.1, 0.9], (len(cells), 1))


@dataclass(frozen=True)
class Pooled(Prior):
    """A prior of somebody else: it shrinks cells to the share of all labels."""

    times: list[str]

    def on(self, cells, target):
        self.times.append("prepared")

        def belief(outcomes):
            self.times.append("computed")
            total = outcomes.counts.sum(axis=0) + 1
            return fl.Belief(np.tile(2 * total / total.sum(), (len(cells), 1)), outcomes.counts, cells.size, target)

        return Prepared(cells, belief)


def _case(way):
    groups = fl.by_predicted(KNOWN.pool)
    return truth(KNOWN.pool, KNOWN.truth, groups, fl.Estimate(fl.Accuracy()), [way])


def test_a_prior_of_counts_needs_its_shares_only():
    case = _case(way := Method("sceptical", Sceptical(strength=4), fl.Thompson()))
    blank = way.prior.on(case.cells, "population").blank()
    np.testing.assert_allclose(blank.alpha, np.tile([0.4, 3.6], (len(case.cells), 1)))
    assert sorted(ask_and_tell(case, way, np.random.default_rng(1), 30)) == list(range(30))


def test_a_prior_prepares_once_for_a_run_and_once_for_its_scorer():
    times: list[str] = []
    case = _case(way := Method("pooled", Pooled(times), fl.Thompson()))
    order = ask_and_tell(case, way, np.random.default_rng(1), 12)
    assert times == ["prepared", *["computed"] * 12]
    scorer = scorer_of(case)
    scorer.verdict(way, order, np.array([3, 6, 12]), np.random.default_rng(2))
    scorer.verdict(way, order, np.array([3, 6, 12]), np.random.default_rng(2))
    assert times[13:] == ["prepared", *["computed"] * 6]


def test_an_assessment_sorts_its_items_once(monkeypatch):
    sorted_items: list[int] = []

    def counting(*given, **more):
        sorted_items.append(1)
        return strips(*given, **more)

    monkeypatch.setattr(on_cells, "strips", counting)
    audit = fl.create(None, "zoo", KNOWN.pool, prior=fl.Learned())
    assert not sorted_items
    for _ in range(3):
        audit.tell(KNOWN.labels(audit.ask(2).ids))
        audit.estimates(draws=10)
    assert len(sorted_items) == 1
