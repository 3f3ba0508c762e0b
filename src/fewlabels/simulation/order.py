"""The order in which a method asks for items: from a compiled kernel if there is one, or from the library's loop."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fewlabels.metrics import Accuracy, CalibrationError, Confusion, Cost, Metric
from fewlabels.policies import (
    UCB,
    Boundary,
    EpsilonGreedy,
    Greedy,
    Policy,
    Thompson,
    TopTwo,
    UniformGroups,
    UniformItems,
)
from fewlabels.policies.anchors import default_anchor
from fewlabels.priors import Informed, Uniform
from fewlabels.simulation.generic import ask_and_tell
from fewlabels.simulation.kernels import choose
from fewlabels.simulation.kernels.boundary import ask_lowest_boundary
from fewlabels.simulation.kernels.compare import REWARDS, ask_compare
from fewlabels.simulation.kernels.confusion import ask_confusion
from fewlabels.simulation.kernels.estimate import ask_estimate, ask_estimate_contest
from fewlabels.simulation.kernels.identify import ask_lowest, ask_lowest_contest
from fewlabels.simulation.kernels.value import ask_linear_contest, ask_value, ask_value_contest
from fewlabels.simulation.layout import layout
from fewlabels.simulation.learned import ask_between_fits
from fewlabels.tasks import Compare, Estimate, Identify, Task

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fewlabels.simulation.kernels.run import Run
    from fewlabels.simulation.layout import Layout
    from fewlabels.simulation.learned import Kernel
    from fewlabels.simulation.methods import Method
    from fewlabels.simulation.truth import Truth

    Asked = tuple[NDArray[np.int64], NDArray[np.bool_]]

# Below this many groups (for each one looked for, in identification), it is quicker to draw all of them.
_FEW = 16
_MANY = 64
_FEW_VALUES = 32
# Costs are found without drawing all groups if no outcome has a prior count below this: with the tiny counts of an
# informed prior over a hundred classes, the bounds of that draw are so loose that it takes minutes.
_TRIED = 0.02
# The kernels implement the policies with their default settings.
_CODES: dict[Policy, int] = {
    UniformItems(): choose.ITEMS,
    UniformGroups(): choose.GROUPS,
    Thompson(): choose.THOMPSON,
    TopTwo(): choose.TOPTWO,
    Greedy(): choose.GREEDY,
    EpsilonGreedy(): choose.EPSILON,
    UCB(): choose.UCB,
    Boundary(): choose.BOUNDARY,
}


@dataclass(frozen=True, eq=False)
class Case:
    """The case that a kernel is made for: the pool, and how to ask."""

    truth: Truth
    view: Layout
    policy: int
    plays: int
    pool: bool


def asker(truth: Truth, method: Method) -> Callable[[np.random.Generator, int], NDArray[np.int64]]:
    """A function of a generator and a number of labels: the items that a method asks for, in order.

    >>> import fewlabels as fl, numpy as np
    >>> from fewlabels.simulation.methods import method
    >>> from fewlabels.simulation.truth import truth
    >>> pool, one = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]), method("uniform+thompson")
    >>> ask = asker(truth(pool, [0, 1, 1], fl.by_predicted(pool), fl.Estimate(fl.Accuracy()), [one]), one)
    >>> sorted(ask(np.random.default_rng(1), 3).tolist())
    [0, 1, 2]
    """
    ask = asker_with_anchors(truth, method)
    return lambda rng, labels: ask(rng, labels)[0]


def asker_with_anchors(truth: Truth, method: Method) -> Callable[[np.random.Generator, int], Asked]:
    """A function as that of `asker`, whose second array says which of the items were anchors, shape (labels,)."""
    view = layout(truth)
    kernel = _kernel(truth, method, view)
    plays = _plays(truth, method.policy)
    prepared = method.prior.on(truth.cells, method.target)
    # Policies that ask anywhere need no belief.
    blank = (prepared if method.policy.uses_belief else Uniform().on(truth.cells, method.target)).blank()

    share = method.anchor
    if method.usual and not share:
        share = default_anchor(truth.task, method.prior, method.policy, truth.cells)
    mixes = share > 0 and not method.policy.ignorable  # with that policy every item is an anchor anyway

    def ask(rng: np.random.Generator, labels: int) -> Asked:
        places: list[int] = []
        if kernel is None:
            items = ask_and_tell(truth, replace(method, anchor=share), rng, labels, places)
        else:
            mixed = with_anchors(kernel, share, plays, places) if mixes else kernel
            if _is_fitted(method):
                items = ask_between_fits(truth, prepared, view, mixed, plays, rng, labels)
            else:
                run = view.start(blank)
                mixed(rng, run, labels)
                items = run.order
        is_anchor = np.full(len(items), method.policy.ignorable)
        is_anchor[places] = True
        return items, is_anchor

    return ask


def with_anchors(kernel: Kernel, share: float, plays: int, places: list[int]) -> Kernel:
    """A kernel whose steps, of `plays` labels each, are anchors with this probability; it records which they are."""

    def ask(rng: np.random.Generator, run: Run, until: int) -> None:
        until = min(until, len(run.items))
        while (done := int(run.done[0])) < until:
            steered = int(rng.geometric(share)) - 1
            kernel(rng, run, min(until, done + plays * steered))
            first = int(run.done[0])
            choose.ask_anchors(rng, run, min(until, first + plays))
            places.extend(range(first, int(run.done[0])))

    return ask


def is_compiled(truth: Truth, method: Method) -> bool:
    """Whether there is a kernel for everything that a method does."""
    return not _is_fitted(method) and _kernel(truth, method, layout(truth)) is not None


def _is_fitted(method: Method) -> bool:
    """Whether a method asks by a belief that is fitted."""
    return method.prior.uses_items and method.policy.uses_belief


def _plays(truth: Truth, policy: Policy) -> int:
    """The number of labels that a step of a policy asks for."""
    if isinstance(policy, (TopTwo, Boundary)):
        return 1
    return (policy.plays if isinstance(policy, Thompson) else None) or truth.task.plays


def _kernel(truth: Truth, method: Method, view: Layout) -> Kernel | None:
    """The kernel that asks as a method does, from the prior counts of a run."""
    policy, plays = method.policy, truth.task.plays
    if isinstance(policy, Thompson):
        policy, plays = Thompson(), policy.plays or plays
    if isinstance(policy, Boundary) and truth.task.sought is None:
        policy = Greedy()
    uniform = isinstance(policy, (UniformItems, UniformGroups))
    known = uniform or method.prior.uses_items or isinstance(method.prior, (Uniform, Informed))
    if policy not in _CODES or not known:
        return None
    case = Case(truth, view, _CODES[policy], plays, method.target == "pool")
    if case.policy == choose.ITEMS:
        return choose.ask_items
    if case.policy == choose.GROUPS:
        return lambda rng, run, until: choose.ask_groups(rng, run, plays, until)
    maker = _MAKERS.get((type(truth.task), type(truth.task.metric)))
    return None if maker is None else maker(case)


def _estimate_accuracy(case: Case) -> Kernel | None:
    policy = case.policy
    if policy == choose.TOPTWO or (policy == choose.UCB and case.pool):
        return None
    if policy == choose.THOMPSON and not case.pool and len(case.view.groups) >= _FEW:
        return ask_estimate_contest
    return lambda rng, run, until: ask_estimate(rng, run, policy, until)


def _estimate_confusion(case: Case) -> Kernel | None:
    policy = case.policy
    if policy not in (choose.THOMPSON, choose.GREEDY, choose.EPSILON):
        return None
    return lambda rng, run, until: ask_confusion(rng, run, policy, until)


def _identify_accuracy(case: Case) -> Kernel | None:
    policy, m = case.policy, case.plays
    if policy == choose.UCB and case.pool:
        return None
    ask: Kernel = lambda rng, run, until: ask_lowest(rng, run, m, policy, until)
    if policy == choose.BOUNDARY:
        ask = lambda rng, run, until: ask_lowest_boundary(rng, run, m, until)
    elif policy == choose.THOMPSON and not case.pool and len(case.view.groups) >= m * _MANY:
        ask = lambda rng, run, until: ask_lowest_contest(rng, run, m, until)
    if case.truth.task.sought == "lowest":
        return ask
    # The most accurate groups are those that are wrong the least.
    wrong = 1 - case.view.known.outcome
    return lambda rng, run, until: ask(rng, run._replace(outcome=wrong, prior=run.prior[:, ::-1].copy()), until)


def _identify_value(case: Case) -> Kernel | None:
    policy, m, known = case.policy, case.plays, case.view.known
    if policy in (choose.UCB, choose.BOUNDARY) or case.truth.gauge is None:
        return None
    gauge = case.truth.gauge.of(case.view.cells)
    weight = gauge.weight
    one_sided = ((weight == 0).any(axis=1) & (weight >= 0).all(axis=1)).all() and weight.any()
    by_contest, groups = policy == choose.THOMPSON and not case.pool, len(known.first) - 1
    by_sums = by_contest and known.outcomes == 2 and one_sided and groups >= m * _FEW_VALUES
    by_prices = by_contest and not gauge.centre.any() and groups >= m * _MANY

    def ask(rng: np.random.Generator, run: Run, until: int) -> None:
        if by_sums and (run.prior > 0).all():
            ask_value_contest(rng, run, gauge, m, until)
        elif by_prices and (run.prior[run.prior > 0] >= _TRIED).all():
            ask_linear_contest(rng, run, gauge.weight, m, until)
        else:
            ask_value(rng, run, gauge, m, policy, until)

    return ask


def _compare_accuracy(case: Case) -> Kernel | None:
    policy, task = case.policy, case.truth.task
    if policy not in (choose.THOMPSON, choose.GREEDY, choose.EPSILON) or not isinstance(task, Compare):
        return None
    first, rope, by = case.truth.first, task.rope, REWARDS[task.by]
    return lambda rng, run, until: ask_compare(rng, run, first, rope, by, policy, until)


_MAKERS: dict[tuple[type[Task], type[Metric]], Callable[[Case], Kernel | None]] = {
    (Estimate, Accuracy): _estimate_accuracy,
    (Estimate, Confusion): _estimate_confusion,
    (Identify, Accuracy): _identify_accuracy,
    (Identify, CalibrationError): _identify_value,
    (Identify, Cost): _identify_value,
    (Compare, Accuracy): _compare_accuracy,
}
