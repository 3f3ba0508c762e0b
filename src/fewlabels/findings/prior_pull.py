"""How far the prior moves a number that combines many groups, which decides whether it may be shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from fewlabels.cells import cell_means
from fewlabels.metrics import CalibrationError
from fewlabels.partition import Partition, by_score, whole
from fewlabels.priors import Counts, Informed
from fewlabels.reserve import items_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fewlabels.assessment import Assessment

_RIGHT_OR_WRONG = 2.0  # the strength of a prior that does not say it, where labels show right or wrong
_POINT = 0.01  # a smaller shift does not matter
_MOST = 0.1  # the largest share of items in bins that the prior decides


def swayed(audit: Assessment, bins: Partition | None = None) -> NDArray[np.bool_]:
    """Return whether the prior moves each bin's accuracy by more than a quarter of its interval and more than a point.

    The result has the shape (bins,). In plots and in the report, this is what "the prior decides it" means.

    A bin (all items, if no bins are given) is combined from its pieces f, one for each group of asking, by their
    shares w_f. Each piece has a prior of its own, of strength s and mean μ_f, and n_f labels. Together the priors move
    the bin by Σ_f w_f · s/(s + n_f) · (μ_f − m), where m is the share right among the labels. The interval is about
    4 sd long, with sd² = Σ_f w_f² Var_f: it gets shorter with every piece, but the shift stays. So the average of
    many barely labelled pieces is sharp and wrong: if it is moved by sd, a 95% interval contains the true value in
    only 83% of cases; if it is moved by 2 sd, in half of them. A bin of a single piece never counts as moved, since
    its interval allows for the prior. Nor does any bin with a learned prior, which learns from the labels of all
    pieces.

    >>> import fewlabels as fl
    >>> pool = fl.read_pool({"predicted": ["yes", "no"] * 200, "place": [str(i // 10) for i in range(400)]})
    >>> places = fl.by_column(pool, "place")
    >>> audit = fl.create(None, "places", pool, places, prior=fl.Uniform(), policy=fl.UniformGroups())
    >>> ids = audit.ask(80).ids  # two in each place, and all predictions are right
    >>> _ = audit.tell({item: pool.classes[k] for item, k in zip(ids, pool.predicted[pool.positions(ids)])})
    >>> audit.answer().table["high"][0] < 0.85, swayed(audit)
    (True, array([ True]))
    """
    prior, pool = audit.spec.prior, audit.pool
    bins = whole(pool) if bins is None else bins
    if not isinstance(prior, Counts):
        return np.zeros(len(bins), dtype=bool)
    code = bins.group.astype(np.int64) * len(audit.groups) + audit.groups.group
    used, piece = np.unique(code, return_inverse=True)
    where = used // len(audit.groups)
    # Where labels may be wrong, a label counts by how probably it shows a right prediction.
    items, each = audit.possible_labels()
    is_right = np.mean([pool.predicted[items] == true for true in each], axis=0)
    size, n = items_of(piece, len(used), pool.count).astype(float), np.bincount(piece[items], minlength=len(used))
    right = np.bincount(piece[items], is_right, minlength=len(used)).astype(np.float64)
    believed = np.full(len(used), 0.5)
    if isinstance(prior, Informed) and pool.confidence is not None:
        believed = cell_means(pool.confidence, piece.astype(np.int32), len(used), pool.count)
    strength = prior.strength or _RIGHT_OR_WRONG
    shift, sd = _shift_and_sd(where, len(bins), size, n.astype(float), right, believed, strength, audit.spec.target)
    return (np.bincount(where, minlength=len(bins)) > 1) & (shift > np.maximum(sd, _POINT))


def _shift_and_sd(
    where: NDArray[np.int64],
    bins: int,
    size: NDArray[np.float64],
    n: NDArray[np.float64],
    right: NDArray[np.float64],
    believed: NDArray[np.float64],
    s: float,
    target: str,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the shift of each bin by the priors (∞ without any label) and its standard deviation, both (bins,)."""

    def total(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(where, values, minlength=bins).astype(np.float64)

    weight = size / np.maximum(total(size), 1)[where]
    # If the target is the pool itself, only the unlabelled items are left to the prior.
    left = np.maximum(size - n, 0) if target == "pool" else size
    seen = n > 0
    known = total(np.where(seen, weight, 0))
    share = total(weight * right / np.maximum(n, 1))[where] / np.where(known > 0, known, np.nan)[where]
    mean = (s * believed + right) / (s + n)
    spread = left * (s + n + left) / size**2 / (s + n + 1) if target == "pool" else 1 / (s + n + 1)
    shift = np.abs(total(weight * left / size * s / (s + n) * (believed - share)))
    return np.where(known > 0, shift, np.inf), np.sqrt(total(weight**2 * mean * (1 - mean) * spread))


def score_bins_of(audit: Assessment) -> tuple[int, Literal["width", "weight"]]:
    """Return the number and kind of the metric's score bins, or ten of equal width if it has none."""
    metric = audit.spec.task.metric
    return (metric.bins, metric.equal) if isinstance(metric, CalibrationError) else (10, "width")


def swayed_bins(audit: Assessment) -> tuple[Partition, NDArray[np.bool_]]:
    """Return the score bins, and which of them the prior decides, shape (bins,).

    The prior decides no bin if every item was equally likely to be asked: the labels of a bin are then simply
    counted. Otherwise a bin is combined from the groups of asking.
    """
    bins = by_score(audit.pool, *score_bins_of(audit))
    return bins, np.zeros(len(bins), dtype=bool) if audit.is_random_sample() else swayed(audit, bins)


def asks_everywhere(audit: Assessment) -> bool:
    """Return whether the task asks in every group that has items."""
    askable = audit.spec.task.askable(audit.cells)
    return bool(askable[audit.groups.sizes > 0].all())


def lacks_say(audit: Assessment) -> str:
    """Explain why score bins would show the prior and not the labels; "" if they show the labels.

    At most a tenth of the items may be in bins that the prior decides.
    """
    bins, is_swayed = swayed_bins(audit)
    if float(bins.shares[is_swayed].sum()) <= _MOST:
        return ""
    return (
        f"it combines each score bin from {len(audit.groups):,} groups, and these have too few labels: the prior would "
        "decide. Add more labels, or begin another assessment with the learned prior"
    )
