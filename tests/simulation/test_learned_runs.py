"""Simulated runs of the learned prior: fitted now and then, they must ask as with a fit before every request."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fewlabels as fl
from fewlabels.policies import Boundary, Policy, Thompson
from fewlabels.priors import Prepared
from fewlabels.simulation.generic import ask_and_tell
from fewlabels.simulation.kernels import choose
from fewlabels.simulation.kernels.boundary import ask_lowest_boundary
from fewlabels.simulation.kernels.identify import ask_lowest
from fewlabels.simulation.layout import layout
from fewlabels.simulation.learned import ask_between_fits, next_fit
from fewlabels.simulation.methods import Method
from fewlabels.simulation.parallel import run_generator
from fewlabels.simulation.scorer import scorer_of
from fewlabels.simulation.truth import Truth, truth
from tests.support.pools import law, pool_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


Z = 4.5
M = 2


def _case() -> Truth:
    """Eight groups of 25 items, some close to each other, of a classifier that is too sure of itself."""
    rng = np.random.default_rng(11)
    predicted = np.repeat(np.arange(8), 25)
    confidence = rng.uniform(0.4, 0.99, 200)
    chance = np.clip(confidence - 0.15 - 0.04 * (predicted % 4), 0, 1)
    true = np.where(rng.random(200) < chance, predicted, (predicted + 1) % 8)
    known = pool_of(predicted, true, confidence, ["here"] * 200, 8)
    groups = fl.by_predicted(known.pool)
    return truth(known.pool, known.truth, groups, fl.Identify(fl.Accuracy(), lowest=M), [])


CASE = _case()
VIEW = layout(CASE)


def _method(policy: Policy) -> Method:
    return Method("one", fl.Learned(), policy, "pool")


def _kernel(policy: Policy):
    """What asks from the prior counts of a run."""
    if isinstance(policy, Boundary):
        return lambda rng, run, until: ask_lowest_boundary(rng, run, M, until)
    return lambda rng, run, until: ask_lowest(rng, run, M, choose.THOMPSON, until)


def _now_and_then(policy: Policy) -> Callable[[np.random.Generator, int], NDArray[np.int64]]:
    plays, prior = (
        M if isinstance(policy, Thompson) else 1,
        _method(policy).prior.on(CASE.cells, _method(policy).target),
    )
    return partial(ask_between_fits, CASE, prior, VIEW, _kernel(policy), plays)


@pytest.mark.slow
@pytest.mark.parametrize("policy", [Thompson(), Boundary()], ids=repr)
def test_runs_with_few_fits_ask_as_an_assessment_does(policy: Policy) -> None:
    """Means over runs of the labels in each group, half way and at the end, and of being right, in standard errors."""
    one, runs, labels = _method(policy), 16, 50
    group = CASE.cells.partition.group
    found = []
    askers: tuple[Callable[[np.random.Generator, int], NDArray[np.int64]], ...] = (
        _now_and_then(policy),
        partial(ask_and_tell, CASE, one),
    )
    for seed, ask in enumerate(askers):
        rows = []
        for run in range(runs):
            order = ask(run_generator(seed, run), labels)
            taken = [np.bincount(group[order[:n]], minlength=8) for n in (labels // 2, labels)]
            mean = scorer_of(CASE).belief(one, order).mean()[:, 0]
            right = np.isin(CASE.members, np.argsort(mean)[:M])
            rows.append(np.concatenate([*taken, right]))
        found.append(np.array(rows, dtype=float))
    gap = np.abs(found[0].mean(axis=0) - found[1].mean(axis=0))
    se = np.sqrt((found[0].var(axis=0, ddof=1) + found[1].var(axis=0, ddof=1)) / runs)
    assert (gap <= Z * se + 1e-12).all()


@pytest.mark.slow
def test_the_fits_are_those_of_the_schedule_and_every_item_is_asked_once() -> None:
    fits: list[int] = []
    prior = fl.Learned().on(CASE.cells, "pool")

    def watched(outcomes):
        fits.append(outcomes.labels)
        return prior.belief(outcomes)

    order = ask_between_fits(
        CASE, Prepared(CASE.cells, watched), VIEW, _kernel(Boundary()), 1, np.random.default_rng(3), 10**6
    )
    assert sorted(order.tolist()) == list(range(200))
    assert fits[0] == 0
    assert [next_fit(labels) for labels in fits[:-1]] == fits[1:]
    assert next_fit(fits[-1]) >= 200


@law(200)
@given(labels=st.integers(0, 10**6), plays=st.integers(1, 50))
def test_the_next_fit_comes_after_whole_steps_and_at_most_a_twentieth_more_labels(labels: int, plays: int) -> None:
    ahead = next_fit(labels, plays) - labels
    assert ahead % plays == 0
    assert plays <= ahead < labels / 20 + plays + 1
