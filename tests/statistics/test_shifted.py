"""Of few classes it is allowed for that they come in other shares than the classifier learned from."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import fewlabels as fl
from fewlabels.learned import items as trust
from fewlabels.learned.items import differing, shifted
from fewlabels.learned.on_cells import factors
from fewlabels.outcomes import Outcomes

SIZES = np.array([400, 90])
GROUP = np.repeat([0, 1], SIZES)


@pytest.mark.parametrize("share", [0.5, 0.2, 0.03])
def test_the_shares_that_a_classifier_meets_are_told_by_its_confidences(share):
    """Where two classes were learned in equal shares, Bayes' rule says how many items have each score."""
    first = np.random.default_rng(4).uniform(0.05, 0.95, 12)
    first = np.sort(np.append(first, 1 - first))  # as many items either way: the shares that were learned are equal
    among = np.stack([first, 1 - first]) / first.sum()
    items = 1e7 * np.array([1 - share, share]) @ among
    moves = shifted.moved(np.maximum(first, 1 - first), (first < 0.5).astype(np.int64), items)
    assert moves == pytest.approx(np.log((1 - share) / share) * np.array([1, -1]), abs=0.01)


def strips_of_classes(sizes, *, classes=True, confidence=True):
    group = np.repeat(np.arange(len(sizes)), sizes)
    s = np.random.default_rng(5).uniform(0.5, 0.99, len(group)) if confidence else None
    return trust.strips(s, group.astype(np.int32), trust.Factors([group], classes=classes))


def test_only_few_classes_with_confidences_may_be_shifted():
    usual = strips_of_classes([300, 40], classes=False).kinds
    both = strips_of_classes([300, 40]).kinds
    assert len(both) == len(usual) + 2
    assert both[:, 0].sum() == pytest.approx(1)
    assert both[:-2, 1:] == pytest.approx(usual[:, 1:])
    assert both[-2, 7] > 0.5  # if equal shares were learned, the class that is predicted oftener is better
    assert len(strips_of_classes([90] * 6 + [100]).kinds) == len(usual)
    assert strips_of_classes([300, 40], confidence=False).kinds[:, 0].sum() == pytest.approx(1)
    assert len(strips_of_classes([300, 40], confidence=False).kinds) == 3


@pytest.fixture(scope="module")
def pool():
    """Two classes, of which one is predicted seldom."""
    confidence = np.random.default_rng(6).uniform(0.55, 0.98, len(GROUP))
    return fl.read_pool({"predicted": [f"c{k}" for k in GROUP], "confidence": confidence})


def test_the_first_factor_is_classes_by_every_route(pool):
    classes, whole = fl.by_predicted(pool), fl.whole(pool)
    precision = fl.Precision(positive=pool.classes[0]).cells(pool, whole)
    assert factors(fl.Accuracy().cells(pool, classes)).classes
    assert factors(precision, classes).classes
    assert factors(precision).classes
    assert not factors(fl.Accuracy().cells(pool, whole)).classes


def ranks(pool, runs, monkeypatch, *, most):
    """Where the true gap between the two classes lies among its draws, in worlds of which four in five are shifted."""
    cells = fl.Accuracy().cells(pool, fl.by_predicted(pool))
    monkeypatch.setattr(shifted, "_EQUAL", 0.5)
    monkeypatch.setattr(shifted, "_ANY", 0.3)
    blank = fl.Learned().on(cells, "pool").blank()
    assert isinstance(blank, trust.TrustBelief)
    strips = blank.model.strips
    monkeypatch.setattr(shifted, "_MOST", most)
    prepared, found = fl.Learned().on(cells, "pool"), []
    for run in range(runs):
        rng = np.random.default_rng([42, run])
        kind = rng.choice(len(strips.kinds), p=strips.kinds[:, 0])
        tau = np.full(2, rng.choice(differing.TAUS, p=differing.tau_prior(strips, crossed=False)[kind]))
        u = rng.normal(0, np.where(rng.random(2) < differing.wild_shares(strips), np.maximum(tau, 2.0), tau))
        shared = rng.normal(strips.kinds[kind, 1::2], strips.kinds[kind, 2::2])
        right = rng.random(len(GROUP)) < expit(shared @ strips.design + u[strips.effect])[strips.strip]
        items = rng.permutation(len(GROUP))[: int(rng.choice([5, 20]))]
        belief = prepared.belief(Outcomes.of(cells, items, (~right[items]).astype(np.int64)))
        gap = np.array([1, -1])
        found.append((belief.draws(rng, 199)[..., 0] @ gap < gap @ (np.bincount(GROUP, right) / SIZES)).mean())
    return np.array(found)


@pytest.mark.slow
def test_the_gap_between_shifted_classes_is_calibrated(pool, monkeypatch):
    """Simulation-based calibration; if no class may be shifted the intervals are too short, so this test has teeth."""
    runs = 60
    found = ranks(pool, runs, monkeypatch, most=6)
    assert abs(found.mean() - 0.5) < 4.5 * np.sqrt(1 / 12 / runs)
    for level in (0.5, 0.8, 0.95):
        inside = (np.abs(found - 0.5) < level / 2).mean()
        assert abs(inside - level) < 4.5 * np.sqrt(level * (1 - level) / runs)
    blind = ranks(pool, runs, monkeypatch, most=0)
    assert (np.abs(blind - 0.5) < 0.4).mean() < 0.8 - 4.5 * np.sqrt(0.8 * 0.2 / runs)
