"""The order in which a method asks for items: by a compiled kernel where there is one, else by the library's loop."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
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
from fewlabels.priors import Informed, Uniform
from fewlabels.simulation import choose
from fewlabels.simulation.boundary import ask_lowest_boundary
from fewlabels.simulation.compare import REWARDS, ask_compare
from fewlabels.simulation.confusion import ask_confusion
from fewlabels.simulation.estimate import ask_estimate_contest, ask_estimate_greedy, ask_estimate_thompson
from fewlabels.simulation.generic import ask_and_tell
from fewlabels.simulation.identify import ask_lowest_contest, ask_lowest_greedy, ask_lowest_thompson
from fewlabels.simulation.known import start
from fewlabels.simulation.layout import layout
from fewlabels.simulation.learned import ask_between_fits
from fewlabels.simulation.value import ask_value, ask_value_contest
from fewlabels.tasks import Compare, Estimate, Identify, Task

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.simulation.known import Known, Progress
    from fewlabels.simulation.layout import Layout
    from fewlabels.simulation.methods import Method
    from fewlabels.simulation.truth import Truth

    Kernel = Callable[[np.random.Generator, Progress, int], None]

# Below this many groups (for each one looked for, in identification) drawing all of them is the quicker step.
_FEW = 16
_MANY = 64
_FEW_VALUES = 32
# The kernels have the policies as they are by default.
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
    """What a kernel is made for: the pool, the prior counts of its cells, and how to ask."""

    truth: Truth
    known: Known
    cells: NDArray[np.int64]
    prior: NDArray[np.float64]
    policy: int
    plays: int
    pool: bool


def asker(truth: Truth, method: Method) -> Callable[[np.random.Generator, int], NDArray[np.int64]]:
    """A function of a generator and a number of labels: the items that a method asks for, in order.

    >>> import fewlabels as fl
    >>> from fewlabels.simulation.methods import method
    >>> from fewlabels.simulation.truth import truth
    >>> pool, one = fl.read_pool([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]), method("uniform+thompson")
    >>> ask = asker(truth(pool, [0, 1, 1], fl.by_predicted(pool), fl.Estimate(fl.Accuracy()), [one]), one)
    >>> sorted(ask(np.random.default_rng(1), 3).tolist())
    [0, 1, 2]
    """
    view = layout(truth)
    kernel = _kernel(truth, method, view)
    if kernel is None:
        return lambda rng, labels: ask_and_tell(truth, method, rng, labels)
    if _is_fitted(method):
        # The kernel's policy is kept, and its belief is that of the last fit.
        kernel_of, plays = partial(_sure_kernel, truth, method, view), _plays(truth, method.policy)
        return partial(ask_between_fits, truth, method, view, kernel_of, plays)

    def ask(rng: np.random.Generator, labels: int) -> NDArray[np.int64]:
        progress = start(view.known)
        kernel(rng, progress, labels)
        return view.known.items[progress.asked[: progress.done[0]]]

    return ask


def is_compiled(truth: Truth, method: Method) -> bool:
    """Whether there is a kernel for all that a method does."""
    return not _is_fitted(method) and _kernel(truth, method, layout(truth)) is not None


def _is_fitted(method: Method) -> bool:
    """Whether a method asks by a belief that is a fit."""
    return method.prior.looks_at_items and method.policy.looks


def _plays(truth: Truth, policy: Policy) -> int:
    """How many labels a step of a policy asks for."""
    if isinstance(policy, (TopTwo, Boundary)):
        return 1
    return (policy.plays if isinstance(policy, Thompson) else None) or truth.task.plays


def _sure_kernel(truth: Truth, method: Method, view: Layout, belief: Belief) -> Kernel:
    kernel = _kernel(truth, method, view, belief)
    assert kernel is not None  # noqa: S101  (whether there is one does not depend on the belief)
    return kernel


def _kernel(truth: Truth, method: Method, view: Layout, belief: Belief | None = None) -> Kernel | None:
    """The kernel that asks as a method does, from its prior or from a belief of independent cells."""
    policy, plays = method.policy, truth.task.plays
    if isinstance(policy, Thompson):
        policy, plays = Thompson(), policy.plays or plays
    if isinstance(policy, Boundary) and not isinstance(truth.task, Identify):
        policy = Greedy()
    uniform = isinstance(policy, (UniformItems, UniformGroups))
    known = uniform or method.prior.looks_at_items or isinstance(method.prior, (Uniform, Informed))
    if policy not in _CODES or not known:
        return None
    if belief is None:
        # The policies that ask anywhere need no belief.
        blank = Uniform() if uniform else method.prior
        belief = blank.belief(truth.cells, np.zeros_like(truth.counts), method.target).matched()
    prior, pool = belief.prior[view.cells], method.target == "pool"
    case = Case(truth, view.known, view.cells, prior, _CODES[policy], plays, pool)
    if case.policy == choose.ITEMS:
        return lambda rng, progress, until: choose.ask_items(rng, case.known, progress, until)
    if case.policy == choose.GROUPS:
        return lambda rng, progress, until: choose.ask_groups(rng, case.known, progress, case.plays, until)
    maker = _MAKERS.get((type(truth.task), type(truth.task.metric)))
    return None if maker is None else maker(case)


def _estimate_accuracy(case: Case) -> Kernel | None:
    known, prior, pool, policy = case.known, case.prior, case.pool, case.policy
    if policy == choose.TOPTWO or (policy == choose.UCB and pool):
        return None
    if policy != choose.THOMPSON:
        return lambda rng, progress, until: ask_estimate_greedy(rng, known, progress, prior, pool, policy, until)
    if pool or len(prior) < _FEW:
        return lambda rng, progress, until: ask_estimate_thompson(rng, known, progress, prior, pool, until)
    return lambda rng, progress, until: ask_estimate_contest(rng, known, progress, prior, until)


def _estimate_confusion(case: Case) -> Kernel | None:
    known, prior, pool, policy = case.known, case.prior, case.pool, case.policy
    if policy not in (choose.THOMPSON, choose.GREEDY, choose.EPSILON):
        return None
    return lambda rng, progress, until: ask_confusion(rng, known, progress, prior, pool, policy, until)


def _identify_accuracy(case: Case) -> Kernel | None:
    known, prior, m, pool, policy = case.known, case.prior, case.plays, case.pool, case.policy
    if policy == choose.UCB and pool:
        return None
    if isinstance(case.truth.task, Identify) and not case.truth.task.lowest:
        # The most accurate groups are those that are wrong the least.
        known, prior = known._replace(outcome=1 - known.outcome), prior[:, ::-1].copy()
    if policy == choose.BOUNDARY:
        return lambda rng, progress, until: ask_lowest_boundary(rng, known, progress, prior, m, pool, until)
    if policy == choose.THOMPSON and not pool and len(prior) >= m * _MANY:
        return lambda rng, progress, until: ask_lowest_contest(rng, known, progress, prior, m, until)
    ask = ask_lowest_thompson if policy in (choose.THOMPSON, choose.TOPTWO) else ask_lowest_greedy
    return lambda rng, progress, until: ask(rng, known, progress, prior, m, pool, policy, until)


def _identify_value(case: Case) -> Kernel | None:
    known, prior, m, pool, policy = case.known, case.prior, case.plays, case.pool, case.policy
    if policy in (choose.UCB, choose.BOUNDARY) or case.truth.gauge is None:
        return None
    weight, centre = (part[case.cells] for part in case.truth.gauge)
    if policy == choose.THOMPSON and not pool and known.outcomes == 2 and len(known.first) > m * _FEW_VALUES:
        one_sided = ((weight == 0).any(axis=1) & (weight >= 0).all(axis=1)).all()
        if one_sided and weight.any() and (prior > 0).all():
            return lambda rng, progress, until: ask_value_contest(rng, known, progress, prior, weight, centre, m, until)
    return lambda rng, progress, until: ask_value(rng, known, progress, prior, weight, centre, m, pool, policy, until)


def _compare_accuracy(case: Case) -> Kernel | None:
    known, prior, pool, policy, task = case.known, case.prior, case.pool, case.policy, case.truth.task
    if policy not in (choose.THOMPSON, choose.GREEDY, choose.EPSILON) or not isinstance(task, Compare):
        return None
    first, rope, by = case.truth.first, task.rope, REWARDS[task.by]
    return lambda rng, progress, until: ask_compare(rng, known, progress, prior, first, rope, by, pool, policy, until)


_MAKERS: dict[tuple[type[Task], type[Metric]], Callable[[Case], Kernel | None]] = {
    (Estimate, Accuracy): _estimate_accuracy,
    (Estimate, Confusion): _estimate_confusion,
    (Identify, Accuracy): _identify_accuracy,
    (Identify, CalibrationError): _identify_value,
    (Identify, Cost): _identify_value,
    (Compare, Accuracy): _compare_accuracy,
}
