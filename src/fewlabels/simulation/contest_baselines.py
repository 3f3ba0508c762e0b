"""Methods for several models that have no belief: random items, contested items, and Model Selector's rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from fewlabels.errors import SpecError
from fewlabels.learned.models import compare_answers
from fewlabels.simulation.contest_case import Contest, Scores, region_shares
from fewlabels.simulation.kernels.selector import selector_run
from fewlabels.tasks import CompareModels

if TYPE_CHECKING:
    from numpy.typing import NDArray

BASELINES = ("random", "disagreements", "selector")
"""Methods without a belief: they ask about any item, about contested items, or by Model Selector's rule."""

_ERROR = 0.1  # ε of Model Selector's rule


def plain_run(case: Contest, name: str, at: NDArray[np.int64], rng: np.random.Generator) -> dict[str, list[float]]:
    """Play one run of a baseline."""
    if isinstance(case.task, CompareModels):
        if name == "selector":
            raise SpecError("selector finds the best model; it does not compare two. Use random or disagreements.")
        return _paired(case, name, at, rng)
    right, scores = case.right, Scores(case, judges=False)
    if name == "selector":
        order, lead = selector(case.cells.said, case.true, rng, int(at.max()))
    else:
        pool = np.flatnonzero(case.task.asks(case.cells)) if name == "disagreements" else np.arange(len(case.true))
        order = rng.permutation(pool)[: int(at.max())]
        total = np.cumsum(right[order], axis=0)
        lead = (total + 1e-6 * rng.random(total.shape)).argmax(axis=1)
    for budget in at.tolist():
        step = min(budget, len(order)) - 1
        scores.chosen(int(lead[step]) if step >= 0 else int(rng.integers(right.shape[1])), 0.0)
        scores.note()
    return scores.found


def selector(
    said: NDArray[np.int32], true: NDArray[np.int32], rng: np.random.Generator, most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Model Selector's rule (Okanovic et al. 2024): returns the items asked for, and the model that leads after each.

    It assumes that one model is the best and gives the true class with probability 1 − ε, and that the others add
    nothing to it. So the weight of a model grows by (1 − ε)/ε with each right answer. The next item is the one
    whose label leaves the least entropy over models, on average over the classes, weighted by the models that name
    them.
    """
    answers = compare_answers(said, int(max(said.max(initial=0), true.max(initial=0))) + 1)
    shown = answers.shown(np.arange(len(said)), true)
    return selector_run(
        rng, answers.option, answers.options, shown, min(most, len(said)), np.log((1 - _ERROR) / _ERROR)
    )


def _paired(case: Contest, name: str, at: NDArray[np.int64], rng: np.random.Generator) -> dict[str, list[float]]:
    """Estimate the difference of two models from random labels, of all items or of those on which they differ."""
    task = case.task
    assert isinstance(task, CompareModels)
    a, b = (case.cells.models.index(model) for model in (task.a, task.b))
    z = case.right[:, a].astype(float) - case.right[:, b]
    pool = np.flatnonzero(case.task.asks(case.cells)) if name == "disagreements" else np.arange(len(z))
    order, scores = rng.permutation(pool), Scores(case)
    share = len(pool) / len(z)
    for budget in at.tolist():
        seen = z[order[:budget]]
        n = max(len(seen), 1)
        finite = 1 - len(seen) / max(len(pool), 1)
        mean = share * float(seen.mean()) if len(seen) else 0.0
        sd = share * float(np.sqrt(seen.var() / max(n - 1, 1) * finite)) if len(seen) > 1 else share
        half = -ndtri(0.025) * sd
        draws = rng.normal(mean, max(sd, 1e-9), 2_000)
        scores.compared(task, mean, sd, mean - half, mean + half, region_shares(task, draws))
        scores.note()
    return scores.found
