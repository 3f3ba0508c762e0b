"""The laws of a prior."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.errors import SpecError
from fewlabels.metrics import Accuracy, CalibrationError, Confusion, Cost, Recall
from fewlabels.policies import Thompson
from fewlabels.priors import Prior
from fewlabels.testing.laws import check_part, must, must_equal
from fewlabels.testing.metrics import tasks_about
from fewlabels.testing.runs import check_reproducible, run
from fewlabels.testing.zoo import TARGETS, Known, believed, sensible, stages, zoo

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.belief import Belief, Target
    from fewlabels.cells import Cells
    from fewlabels.metrics import Metric

_DRAWS = 2_000
_SIGMAS = 6.0  # standard errors that a mean of draws may be off: by chance once in a thousand million times

_ROUGH = 0.2  # the error allowed in the variance of a belief that is computed from points


def check_prior(prior: Prior) -> None:
    """Check the laws of a prior on small pools, or raise an AssertionError that names the law that it breaks.

    It survives JSON; its beliefs are shares of the outcomes that are possible, before any label and after;
    means and variances are those of the draws; labels for all items leave no doubt about them; the order of labels does
    not matter; and every task can be asked with it until nothing is left.

    >>> import fewlabels as fl
    >>> check_prior(fl.Uniform(strength=4))
    """
    check_part(prior, Prior)
    accepted = 0
    for known in (zoo(), zoo(scores=False)):
        metrics = (Accuracy(), CalibrationError(3), Confusion(), Recall("ant"), Cost((1 - np.eye(6)).tolist()))
        for metric in metrics:
            for _, cells in list(sensible(metric, known.pool).values())[:1]:
                if _takes(prior, cells):
                    accepted += 1
                    _check_beliefs(prior, metric, cells, known)
    must(accepted > 0, f"{prior!r} must accept the cells of some metric, but it refuses all")
    _check_runs(prior, zoo())


def _takes(prior: Prior, cells: Cells) -> bool:
    try:
        prior.check(cells)
    except SpecError:
        return False
    return True


def _check_beliefs(prior: Prior, metric: Metric, cells: Cells, known: Known) -> None:
    everything = np.arange(len(known.true))
    some = np.random.default_rng(1).permutation(everything)[:17]
    for target in TARGETS:
        for belief in stages(prior, metric, cells, known, target):
            _check_belief(prior, belief, cells)
        forwards, other = (believed(prior, metric, cells, known, items, target).mean() for items in (some, some[::-1]))
        must_equal(forwards, other, f"{prior!r}: the order of labels must not matter", within=1e-6)
    full = believed(prior, metric, cells, known, everything, "pool")
    must_equal(full.mean(), full.counts / full.size[:, None], f"{prior!r}: labels for all items must leave no doubt")
    must_equal(full.variance(), np.zeros(full.counts.shape), f"{prior!r}: labels for all items must leave no doubt")


def _check_belief(prior: Prior, belief: Belief, cells: Cells) -> None:
    mean, variance = belief.mean(), belief.variance()
    draws = belief.draws(np.random.default_rng(9), _DRAWS)
    shape = (len(cells), len(cells.outcomes))
    must(mean.shape == variance.shape == shape, f"{prior!r}: mean and variance must have the shape {shape}")
    must(draws.shape == (_DRAWS, *shape), f"{prior!r}: draws must have the shape {(_DRAWS, *shape)}")
    for shares in (mean, draws):
        must(bool((shares >= -1e-12).all()), f"{prior!r}: shares must not be negative")
        must_equal(shares.sum(axis=-1), np.ones(shares.shape[:-1]), f"{prior!r}: the shares of a cell must sum to 1")
        must(not np.any(shares[..., cells.blank == 0] > 1e-9), f"{prior!r}: an impossible outcome must stay impossible")
    must(bool((variance >= -1e-12).all()), f"{prior!r}: a variance must not be negative")
    error = draws.std(axis=0) / np.sqrt(_DRAWS)
    _must_be_near(mean, draws.mean(axis=0), error, f"{prior!r}: the mean must be that of the draws")
    # A belief that is a mixture has the draws' total variance in each cell, and not that of each outcome.
    square = ((draws - draws.mean(axis=0)) ** 2).sum(axis=-1)
    error = square.std(axis=0) / np.sqrt(_DRAWS)
    if not belief.conjugate:
        error += _ROUGH / _SIGMAS * square.mean(axis=0)  # from a few points, where there is no formula
    law = f"{prior!r}: the variance of a cell must be that of the draws"
    _must_be_near(variance.sum(axis=-1), square.mean(axis=0), error, law)


def _must_be_near(value: NDArray[np.float64], drawn: NDArray[np.float64], error: NDArray[np.float64], law: str) -> None:
    # Draws can miss a rare outcome altogether, and then have no spread to measure themselves by.
    slack = _SIGMAS * np.maximum(error, 1 / _DRAWS)
    must(bool((np.abs(value - drawn) <= slack).all()), f"{law}: {value!r} against {drawn!r}")


def _check_runs(prior: Prior, known: Known) -> None:
    for metric in (Accuracy(), Confusion()):
        partition, cells = next(iter(sensible(metric, known.pool).values()))
        if not _takes(prior, cells):
            continue
        for i, task in enumerate(tasks_about(metric, partition, cells)):
            target: Target = TARGETS[i % 2]
            run(known, partition, task=task, prior=prior, policy=Thompson(), target=target)
            check_reproducible(known, partition, task=task, prior=prior, policy=Thompson(), target=target)
