"""What can be guaranteed at every look, given how the labels were asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewlabels.errors import Argument, Call, SpecError
from fewlabels.policies import UniformItems
from fewlabels.wording import counted

_ANYTIME = Argument("guarantee", "anytime")

if TYPE_CHECKING:
    from fewlabels.labelling.ledger import Ledger
    from fewlabels.labelling.subject import Subject
    from fewlabels.metrics import Metric
    from fewlabels.partition import Partition


def check_promise(subject: Subject, ledger: Ledger, metric: Metric, groups: Partition) -> None:
    """Raise SpecError, with the reason, if no guarantee is possible for a metric in these groups.

    A guarantee needs a metric that is a single share, and labels that are a random sample within each group.
    """
    if not metric.marginal:
        raise SpecError(
            _ANYTIME,
            f" needs a metric that is a single share, such as accuracy. For the {metric.name}, leave the "
            "guarantee out.",
        )
    if others := len(ledger.drawn.elsewhere):
        raise SpecError(
            _ANYTIME,
            f" cannot be given: {counted(others, 'item')} of other assessments of this pool count here, and the "
            "guarantee needs items that this assessment drew itself. Leave the guarantee out, or begin another "
            "assessment with ",
            Call("Stop", (Argument("width", 0.2), _ANYTIME)),
            ": it draws its own, and asks nobody about items that have a label.",
        )
    if adopted := ledger.adopted:
        raise SpecError(
            _ANYTIME,
            f" cannot be given: {counted(adopted, 'label')} came from elsewhere, for items that were not asked for, "
            "and the guarantee needs items drawn at random. Leave the guarantee out, or withdraw those labels.",
        )
    if subject.spec.strips:
        raise SpecError(
            _ANYTIME,
            " cannot be given: items were asked for in strips of confidence, and the guarantee needs items drawn at "
            "random from all. Leave the guarantee out, or begin with ",
            Argument("policy", UniformItems()),
            ".",
        )
    if not np.array_equal(groups.group, subject.groups.group) and not subject.is_random_sample(ledger):
        raise SpecError(
            _ANYTIME,
            f" holds in the groups in which items were asked for ({subject.groups.words}). In other groups it needs "
            "an assessment that asks at random over the pool, with ",
            Argument("policy", UniformItems()),
            ".",
        )
