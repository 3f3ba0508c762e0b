"""The policy that is taken if none is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewlabels.parts import registered
from fewlabels.policies.boundary import Boundary
from fewlabels.policies.thompson import Thompson
from fewlabels.priors import Learned

if TYPE_CHECKING:
    from fewlabels.policies.base import Policy
    from fewlabels.priors import Prior
    from fewlabels.tasks import Task


def default_policy(task: Task, prior: Prior) -> Policy:
    """`Boundary()` to find groups by one share, such as accuracy, with a learned prior; else `Thompson()`.

    There Boundary needed fewer labels than Thompson on five of six pools, and as many on one (docs/learned-prior.md):
    Thompson goes on asking in groups that are among the worst for certain. Without a learned prior, where nothing is
    known, asking at the boundary settles on early mistakes, and for other metrics it was not measured.

    A task may say which policy it wants: `Certify` is done with the fewest labels by `Greedy()` (docs/gate.md).

    >>> import fewlabels as fl
    >>> default_policy(fl.Certify(fl.Accuracy(), at_least=0.9), fl.Learned())
    Greedy()
    >>> default_policy(fl.Identify(fl.Accuracy(), lowest=3), fl.Learned())
    Boundary()
    >>> default_policy(fl.Identify(fl.Accuracy(), lowest=3), fl.Uniform())
    Thompson(plays=None)
    """
    if task.wants:
        wanted: Policy = registered("policy")[task.wants]()
        return wanted
    finds = task.sought is not None and isinstance(prior, Learned) and task.metric.marginal
    return Boundary() if finds else Thompson()
