"""Outcomes that are alike are taken together without changing what a label is worth."""

from __future__ import annotations

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.alike import Alike, alike
from fewlabels.belief import Belief


def belief_of(target, spread, cells=30, outcomes=200):
    """Counts of which most are the same in a cell, or nearly; the right outcome has most, and some have labels."""
    rng = np.random.default_rng(4)
    prior = rng.uniform(0.01, 0.02, (cells, 1)) * rng.uniform(1 - spread, 1 + spread, (cells, outcomes))
    prior[np.arange(cells), np.arange(cells)] += rng.uniform(3, 9, cells)
    counts = rng.multinomial(rng.integers(0, 6, cells), prior / prior.sum(axis=1, keepdims=True)).astype(float)
    return Belief(prior, counts, np.full(cells, 60), target)


def mean_drop(belief, waiting, n=4_000):
    """The mean and the spread over draws of what a label is worth, two of shape (cells,)."""
    ahead = belief.awaiting(waiting)
    drawn = ahead.total_drop(ahead.draws(np.random.default_rng(1), n))
    return drawn.mean(axis=0), drawn.std(axis=0)


@pytest.mark.parametrize("target", ["population", "pool"])
@pytest.mark.parametrize("spread", [0.0, 0.04])
def test_a_label_is_worth_the_same_in_distribution(target, spread):
    whole = belief_of(target, spread)
    few = alike(whole)
    assert isinstance(few, Alike)
    assert few.alpha.shape[1] < whole.alpha.shape[1] / 2
    assert few.strength == pytest.approx(whole.strength)
    waiting = np.arange(30) % 4
    n = 4_000
    mean, spread_of = mean_drop(whole, waiting, n)
    ours, our_spread = mean_drop(few, waiting, n)
    scale = spread_of.max()
    assert scale > 0
    assert np.abs(mean - ours).max() < 4.5 * scale * np.sqrt(2 / n)
    # The deviation of n draws is itself known to sqrt((k − 1)/4n), k their kurtosis: up to some 20 here.
    assert our_spread == pytest.approx(spread_of, rel=5 * np.sqrt(2 * 19 / (4 * n)))
    at_mean = whole.total_drop(whole.mean())
    assert few.total_drop(few.mean()) == pytest.approx(at_mean, rel=1e-9 if target == "population" else 0.02)


def test_counts_that_all_differ_are_left_alone():
    belief = Belief(np.geomspace(0.01, 1e4, 60)[None], np.zeros((1, 60)), np.array([100]))
    assert alike(belief) is belief


def test_asking_about_a_matrix_takes_outcomes_together(monkeypatch):
    import fewlabels.labelling.next_items as place

    rng, seen = np.random.default_rng(0), []
    said = [f"c{i:03d}" for i in rng.integers(120, size=600)]
    pool = fl.read_pool({"predicted": said, "confidence": rng.uniform(0.5, 1, 600)})
    audit = fl.create(None, "matrix", pool, task=fl.Estimate(fl.Confusion()), seed=1)

    def noted(belief):
        seen.append(alike(belief))
        return seen[-1]

    monkeypatch.setattr(place, "alike", noted)
    assert len(set(audit.ask(40).ids)) == 40
    (few,) = seen
    assert isinstance(few, Alike)
    assert few.numbers < audit.belief().numbers / 2
