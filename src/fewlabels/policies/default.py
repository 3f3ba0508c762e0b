"""The policy that is used if none is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewlabels.parts import registered
from fewlabels.policies.boundary import Boundary
from fewlabels.policies.thompson import Thompson
from fewlabels.priors import Learned
from fewlabels.tasks import Task

if TYPE_CHECKING:
    from fewlabels.policies.base import Policy
    from fewlabels.priors import Prior


def default_policy(task: Task, prior: Prior) -> Policy:
    """The default: `Boundary()` to find groups by one share, such as accuracy, with a learned prior; else `Thompson()`.

    In this case Boundary needed fewer labels than Thompson on five of six pools, and as many on one
    (docs/learned-prior-measured.md): Thompson keeps asking in groups that are certainly among the worst. Without a
    learned prior, asking at the boundary settles on early mistakes. For other metrics it was not measured.

    One number over all items is asked for in strips of confidence by `Neyman()` (`Spec.in_strips`). A task may say
    which policy it wants: `Certify` takes the fewest labels with `Greedy()` (docs/gate-measured.md).

    >>> import fewlabels as fl
    >>> default_policy(fl.Certify(fl.Accuracy(), at_least=0.9), fl.Learned())
    Greedy()
    >>> default_policy(fl.Identify(fl.Accuracy(), lowest=3), fl.Learned())
    Boundary()
    >>> default_policy(fl.Identify(fl.Accuracy(), lowest=3), fl.Uniform())
    Thompson(plays=None)
    """
    # What is not a task at all is refused later, by Spec.
    if isinstance(task, Task) and task.wants:
        wanted: Policy = registered("policy")[task.wants]()
        return wanted
    finds = isinstance(task, Task) and task.sought is not None and isinstance(prior, Learned) and task.metric.marginal
    return Boundary() if finds else Thompson()
