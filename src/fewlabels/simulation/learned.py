"""Runs of a prior that is fitted, such as the learned one: they are compiled between fits, which get rarer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.priors import Prepared
    from fewlabels.simulation.kernels.run import Run
    from fewlabels.simulation.layout import Layout
    from fewlabels.simulation.truth import Truth

    Kernel = Callable[[np.random.Generator, Run, int], None]

# The prior is fitted again when the labels have grown by this share since the last fit.
_GROWTH = 0.05


def next_fit(labels: int, plays: int = 1) -> int:
    """The number of labels at which to fit again after a fit with `labels`, in whole steps of `plays` labels.

    At first it is fitted after every step, and later whenever the labels have grown by a twentieth.

    >>> next_fit(0), next_fit(39), next_fit(1000), next_fit(1000, plays=3)
    (1, 40, 1050, 1051)
    """
    ahead = max(1, int(_GROWTH * labels))
    return labels + plays * -(-ahead // plays)


def ask_between_fits(
    truth: Truth, prior: Prepared, view: Layout, kernel: Kernel, plays: int, rng: np.random.Generator, labels: int
) -> NDArray[np.int64]:
    """The items that a method asks for, in order, shape (at most labels,).

    An assessment fits before every request. Here a kernel handles the next few labels. It uses independent cells with
    the same mean and variance as the fit, and counts each label in its own cell; what the labels say about other cells
    has to wait for the next fit. The tests compare it with the assessment's own loop.

    Parameters
    ----------
    prior
        The method's prior, prepared for the cells and the target.
    kernel
        The kernel that asks as the method does, from the prior counts of a run.
    plays
        How many labels a step asks for.
    """

    def fitted(items: NDArray[np.int64]) -> Belief:
        return prior.belief(truth.outcomes(items)).matched()

    labels = min(labels, len(view.known.items))
    run = view.start(fitted(view.known.items[:0]))
    while True:
        kernel(rng, run, min(labels, next_fit(len(run.order), plays)))
        if len(run.order) >= labels:
            return run.order
        run = run._replace(prior=fitted(run.order).prior[view.cells])
