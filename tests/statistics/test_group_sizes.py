"""Groups that are larger or smaller than the others may be worse: the slope h by their size is learned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

import fewlabels as fl
from fewlabels.learned import items as trust
from fewlabels.learned.items import between, differing
from fewlabels.outcomes import Outcomes
from tests.support.learned import sorted_items, strips_of

SIZES = np.array([16, 16, 30, 30, 40, 50, 60, 70, 80, 100, 140, 200])
GROUP = np.repeat(np.arange(12), SIZES)


def test_how_much_larger_a_cell_is():
    """(log n − its mean over items, by doubt) over its standard deviation over cells, a little held back."""
    confidence = np.random.default_rng(1).beta(3, 1.5, len(GROUP))
    log, doubt = np.log(SIZES), confidence * (1 - confidence)
    expected = (log - np.average(log[GROUP], weights=doubt)) / np.hypot(log.std(), 0.05)
    found = sorted_items(confidence, GROUP)
    assert found.larger[0] == pytest.approx(expected[found.cell])
    assert found.kinds[:, 7:] == pytest.approx(np.array([[0, 1], [0, 1], [0, 1], [0, 1.5], [0, 1.5]]) * 0.4 * log.var())
    assert sorted_items(confidence, GROUP, columns=True).kinds[0, 8] == pytest.approx(0.35 * 0.4 * log.var())


def test_rows_that_stand_for_several_items_count_as_these():
    cell, count = np.arange(3), np.array([5, 20, 75])
    rows = trust.strips(None, cell.astype(np.int32), trust.Factors([cell]), count=count)
    items = sorted_items(None, np.repeat(cell, count))
    assert rows.larger == pytest.approx(items.larger)
    assert rows.kinds == pytest.approx(items.kinds)


@pytest.mark.parametrize("cell", [np.zeros(40, int), np.repeat(np.arange(4), 10)], ids=["one cell", "equal cells"])
@pytest.mark.parametrize("confidence", [None, np.linspace(0.4, 0.99, 40)], ids=["no confidences", "confidences"])
def test_sizes_say_nothing_where_none_is_larger(cell, confidence):
    found = sorted_items(confidence, cell)
    assert (found.own, len(found.design), found.kinds.shape[1]) == (3, 3, 7)


def test_sizes_of_bins_say_nothing():
    cell = np.repeat([0, 1], [10, 30])
    bins = trust.strips(np.linspace(0.4, 0.9, 40), cell.astype(np.int32), trust.Factors([cell], bins=[True]))
    assert len(bins.larger) == 0


def test_the_slope_by_size_is_learned_as_that_by_confidence():
    """g agrees with brute force elsewhere: with the columns and priors of g and h exchanged, so are what is learned."""
    rng = np.random.default_rng(2)
    cell, z = np.repeat(np.arange(12), 2), rng.normal(0, 0.7, 12)
    kinds = np.array([[1.0, 0.8, 0.6, 0.8, 0.25, 0.3, 0.25, 0.0, 0.4]])
    x, log = rng.normal(0, 1.5, 24), np.linspace(-1.5, 1.5, 12)
    one = replace(strips_of(cell, x, z, np.full(24, 10), kinds), larger=log[cell][None])
    other = replace(
        strips_of(cell, x, log, np.full(24, 10), kinds[:, [0, 1, 2, 3, 4, 7, 8, 5, 6]]), larger=z[cell][None]
    )
    labels = np.full(24, 5.0)
    right = rng.binomial(5, expit(0.5 + 0.8 * x + 1.2 * log[cell])).astype(float)
    by_size, by_confidence = (trust.learn(strips, right, labels) for strips in (one, other))
    assert by_size.weight @ by_size.mode[:, 3] > 0.5
    assert by_size.mode == pytest.approx(by_confidence.mode[:, [0, 1, 3, 2]], abs=1e-6)
    assert by_size.moments(one.size)[1] == pytest.approx(by_confidence.moments(other.size)[1], rel=1e-6)


def ranks(runs: int, monkeypatch: pytest.MonkeyPatch, *, believed: float) -> np.ndarray:
    """Where the true gap between the larger and the smaller classes lies among its draws, in worlds from the prior.

    In these worlds sizes say three times as much as is usual.
    """
    confidence = np.random.default_rng(40).beta(4, 1.5, len(GROUP))
    pool = fl.read_pool({"predicted": [f"c{k:02d}" for k in GROUP], "confidence": confidence})
    cells = fl.Accuracy().cells(pool, fl.by_predicted(pool))
    monkeypatch.setattr(between, "_RARE", 1.2)
    blank = fl.Learned().on(cells, "pool").blank()
    assert isinstance(blank, trust.TrustBelief)
    strips = blank.model.strips
    monkeypatch.setattr(between, "_RARE", believed)
    prepared = fl.Learned().on(cells, "pool")
    gap, found = np.where(np.arange(12) < 6, -1, 1) / 6, []
    for run in range(runs):
        rng = np.random.default_rng([41, run])
        kind = rng.choice(len(strips.kinds), p=strips.kinds[:, 0])
        tau = np.full(12, rng.choice(differing.TAUS, p=differing.tau_prior(strips, crossed=False)[kind]))
        u = rng.normal(0, np.where(rng.random(12) < differing.wild_shares(strips), np.maximum(tau, 2.0), tau))
        shared = rng.normal(strips.kinds[kind, 1::2], strips.kinds[kind, 2::2])
        right = rng.random(len(GROUP)) < expit(shared @ strips.design + u[strips.effect])[strips.strip]
        items = rng.permutation(len(GROUP))[: int(rng.choice([15, 60]))]
        belief = prepared.belief(Outcomes.of(cells, items, (~right[items]).astype(np.int64)))
        found.append((belief.draws(rng, 199)[..., 0] @ gap < gap @ (np.bincount(GROUP, right) / SIZES)).mean())
    return np.array(found)


@pytest.mark.slow
def test_the_gap_between_large_and_small_groups_is_calibrated(monkeypatch):
    """Simulation-based calibration; without h the intervals are too short, so this test has teeth."""
    runs = 60
    found = ranks(runs, monkeypatch, believed=1.2)
    assert abs(found.mean() - 0.5) < 4.5 * np.sqrt(1 / 12 / runs)
    for level in (0.5, 0.8, 0.95):
        inside = (np.abs(found - 0.5) < level / 2).mean()
        assert abs(inside - level) < 4.5 * np.sqrt(level * (1 - level) / runs)
    blind = ranks(runs, monkeypatch, believed=1e-3)
    assert (np.abs(blind - 0.5) < 0.4).mean() < 0.8 - 4.5 * np.sqrt(0.8 * 0.2 / runs)


def test_small_groups_that_are_worse_are_found_out_together():
    """Two labels a group, mostly wrong in small groups: small groups without labels are expected so too."""
    cell = np.repeat(np.arange(24), np.tile([20, 400], 12))
    strips = sorted_items(np.full(len(cell), 0.8), cell)
    seen = np.arange(24) < 20
    labels = np.where(seen, 2.0, 0.0)
    right = np.where(np.arange(24) % 2, 1.0, 0.25) * labels
    mean = trust.learn(strips, right, labels).moments(strips.size)[0]
    assert mean[[20, 22]].max() < 0.7
    assert mean[[21, 23]].min() > 0.8
