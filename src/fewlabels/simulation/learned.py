"""Runs of a prior that is a fit, such as the learned one: compiled between fits, and not fitted at every label."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.simulation.known import start

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.simulation.known import Progress
    from fewlabels.simulation.layout import Layout
    from fewlabels.simulation.methods import Method
    from fewlabels.simulation.truth import Truth

    Kernel = Callable[[np.random.Generator, Progress, int], None]

# A fit is made when the labels have grown by this share of what the last one had.
_GROWTH = 0.05


def next_fit(labels: int, plays: int = 1) -> int:
    """The number of labels at which to fit again after a fit with so many, in whole steps of `plays` labels.

    After every step at first, then whenever the labels grew by a twentieth.

    >>> next_fit(0), next_fit(39), next_fit(1000), next_fit(1000, plays=3)
    (1, 40, 1050, 1051)
    """
    ahead = max(1, int(_GROWTH * labels))
    return labels + plays * -(-ahead // plays)


def ask_between_fits(
    truth: Truth,
    method: Method,
    view: Layout,
    kernel_of: Callable[[Belief], Kernel],
    plays: int,
    rng: np.random.Generator,
    labels: int,
) -> NDArray[np.int64]:
    """The items that a method asks for, in order, shape (at most labels,).

    An assessment fits before every request. Here a fit's independent match, with the same mean and variance in each
    cell, takes the next few labels as its own counts, in a kernel; what they say about other cells waits for the next
    fit. The tests hold it against the assessment's own loop.

    Parameters
    ----------
    kernel_of
        The kernel that asks as the method does under a belief of independent cells.
    plays
        How many labels a step asks for.
    """
    progress, known = start(view.known), view.known
    labels = min(labels, len(known.items))
    while progress.done[0] < labels:
        items = known.items[progress.asked[: progress.done[0]]]
        told = items, truth.outcome[items].astype(np.int64)
        fitted = method.prior.belief(truth.cells, truth.count(items), method.target, told)
        kernel_of(fitted.matched())(rng, progress, min(labels, next_fit(int(progress.done[0]), plays)))
    return known.items[progress.asked[:labels]]
