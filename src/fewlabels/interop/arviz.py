"""Draws from the posterior as an xarray DataTree, which ArviZ reads. Needs the extra `arviz`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fewlabels.checks import whole_number
from fewlabels.errors import InputError, needs
from fewlabels.named import metric_from

if TYPE_CHECKING:
    import xarray as xr

    from fewlabels.assessment import Assessment
    from fewlabels.metrics.base import Metric

_CHAINS = 4  # the draws are independent; ArviZ's diagnostics want several chains


def to_datatree(audit: Assessment, draws: int = 4000, *, metric: Metric | str | None = None) -> xr.DataTree:
    """The posterior of a metric in each group: dimensions (chain, draw, group), and `true` for a confusion matrix.

    For a question about several models a group is a model, or a model in a group.

    The draws are independent, laid out as four chains, so that ArviZ's summaries, plots and diagnostics work.

    Parameters
    ----------
    audit
        The assessment.
    draws
        How many in all; a multiple of 4.
    metric
        A metric other than the assessment's own, or its name.

    Examples
    --------
    >>> import fewlabels as fl
    >>> audit = fl.create(None, "pets", fl.read_pool([[0.9, 0.1], [0.2, 0.8]], classes=["cat", "dog"]))
    >>> fl.to_datatree(audit, 400)["posterior"]["Accuracy"].dims
    ('chain', 'draw', 'group')
    """
    try:
        import xarray as xr
    except ModuleNotFoundError as error:
        raise InputError(needs("to_datatree()", "the package xarray", "arviz")) from error
    draws = whole_number(draws, "The number of draws")
    if draws % _CHAINS:
        raise InputError(f"The number of draws must be a multiple of {_CHAINS}, such as 4000. Got {draws!r} instead.")
    metric = audit.spec.task.metric if metric is None else metric_from(metric, audit.pool)
    values = audit.draws(draws, metric=metric)
    values = values[: len(values) // _CHAINS * _CHAINS]  # fewer come back where a draw is very large
    dims = ["chain", "draw", "group"]
    groups = audit.rows if audit.spec.task.of_models else audit.groups
    coordinates: dict[str, Any] = {"group": list(groups.names)}
    if metric.vector:
        dims.append("true")
        coordinates["true"] = list(audit.pool.classes)
    data = xr.Dataset(
        {type(metric).__name__: (dims, values.reshape(_CHAINS, -1, *values.shape[1:]))},
        coords=coordinates,
        attrs={"inference_library": "fewlabels", "assessment": audit.name, "target": audit.spec.target},
    )
    return xr.DataTree.from_dict({"posterior": data})
