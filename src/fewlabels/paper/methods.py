"""The methods that the paper's tables compare, under its names."""

from __future__ import annotations

from fewlabels.paper.quirks import NO_PRIOR
from fewlabels.policies import Policy, Thompson, UniformGroups, UniformItems
from fewlabels.priors import Informed, Uniform
from fewlabels.simulation.methods import Method


def estimating(*, as_published: bool, informed: float | None = None) -> tuple[Method, ...]:
    """UPrior, IPrior, IPrior+TS and, which the paper leaves out, UPrior+TS, with the text's prior strengths.

    As published, UPrior is nearly no prior at all; `informed` is then another strength of the informed one.

    >>> [way.name for way in estimating(as_published=False)]
    ['UPrior', 'IPrior', 'IPrior+TS', 'UPrior+TS']
    """
    nothing = Uniform(NO_PRIOR) if as_published else Uniform()
    return (
        Method("UPrior", nothing, UniformItems()),
        Method("IPrior", Informed(informed), UniformItems()),
        Method("IPrior+TS", Informed(informed), Thompson()),
        Method("UPrior+TS", Uniform(), Thompson()),
    )


def identifying(passive: Policy | None = None) -> tuple[Method, ...]:
    """These four methods with the text's prior strengths; `passive` is what the first two do, uniform over items."""
    rest = UniformItems() if passive is None else passive
    return (
        Method("UPrior", Uniform(), rest),
        Method("IPrior", Informed(), rest),
        Method("IPrior+TS", Informed(), Thompson()),
        Method("UPrior+TS", Uniform(), Thompson()),
    )


def by_group(*, as_published: bool) -> Policy:
    """How non-active methods asked in the supplement's calibration and cost tables: uniformly over groups."""
    return UniformGroups() if as_published else UniformItems()
