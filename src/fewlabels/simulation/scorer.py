"""The scores of a method in one run, from the order in which it asked: those of the paper."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fewlabels.estimates import value_draws
from fewlabels.metrics import Accuracy, Confusion
from fewlabels.priors import Informed, Uniform
from fewlabels.sample import Sample, Strips
from fewlabels.simulation.kernels.compare import regions_curve
from fewlabels.simulation.kernels.replay import mrr_curve
from fewlabels.simulation.layout import layout
from fewlabels.simulation.methods import method as method_named
from fewlabels.tasks import Compare, Estimate, Identify, Task
from fewlabels.tasks.snapshot import Snapshot, held
from fewlabels.undefined import averaged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fewlabels.belief import Belief
    from fewlabels.priors import Prepared
    from fewlabels.simulation.methods import Method
    from fewlabels.simulation.truth import Truth

    Items = NDArray[np.int64]
    Flags = NDArray[np.bool_]

Better = Literal["low", "high", "near"]
"""Which scores are good: low ones, high ones, or those near a promised value, among which none is the best."""

_LOOKS = 200  # looks at the MRR of a run whose beliefs are fitted
# How close λ must be to its value with all labels, relative to it (the paper's supplement, on success).
_TOLERANCE = 0.05
_DRAWS = 2_000
_FEW_DRAWS = 500  # for an interval that has no formula: its length is then right to within a few percent


@dataclass(frozen=True, eq=False)
class Verdict:
    """The scores of one run.

    Parameters
    ----------
    scores
        Each score at each budget, shape (budgets,).
    curve
        The MRR after 0, 1, ... labels, shape (labels + 1,), if the curve averaged over runs is wanted.
    labels
        The number of labels after which the run had the right answer, where that is the question.
    """

    scores: Mapping[str, NDArray[np.float64]]
    curve: NDArray[np.float64] | None = None
    labels: float | None = None


class Scorer(ABC):
    """Scores the orders of asking on one labelled pool."""

    better: Mapping[str, Better]
    """The scores at a budget, and whether low or high ones are good."""
    counted: str | None = None
    """The name of the label count that is scored, if there is one."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth
        self._prepared: tuple[Method, Prepared] | None = None

    @abstractmethod
    def verdict(
        self, method: Method, order: Items, budgets: Items, rng: np.random.Generator, anchor: Flags | None = None
    ) -> Verdict:
        """The scores of a run that asked for items in this order, of shape (labels,), at budgets in increasing order.

        `anchor` says which of them were drawn at random from all items; none were if it is not given.
        """

    def belief(self, method: Method, items: Items) -> Belief:
        """The belief of the method after the labels of these items, about the groups in which it asks."""
        asking = self.truth.asking(method)
        if self._prepared is None or self._prepared[0] is not method:  # nearly always the same as in the last call
            self._prepared = method, method.prior.on(asking.cells, method.target)
        return self._prepared[1].belief(asking.outcomes(items))


def scorer_of(truth: Truth) -> Scorer:
    """The scorer of a task: the paper's if it has one, else by right answers, or by errors if no answer is right."""
    kind = _SCORERS.get(type(truth.task)) or (AnswerScorer if truth.task.conclusive else EstimateScorer)
    return kind(truth)


class EstimateScorer(Scorer):
    """RMSE = sqrt(Σ_g p_g (θ^_g − θ_g)²), and for score bins the relative error of the ECE computed from them.

    Shares are in percent and costs in their own unit. For a confusion matrix the squares are summed over its true
    classes, and the RMSE is relative to that of the informed prior before any label (the paper's θ_0). ECE^ = Σ_b p_b
    |θ^_b − s_b|, its error |ECE^ − ECE| / ECE in percent. If cells learn from each other, ECE^ is the posterior's
    median instead, which is a better guess there (docs/learned-prior-measured.md).

    If each group has one number, there are also the error of the average over the pool, |Σ_g p_g (θ^_g − θ_g)|, and how
    often 95% intervals contain the true value, in percent: coverage is the share of groups, overall-coverage that of
    runs. The intervals are those of `Snapshot`.
    """

    def __init__(self, truth: Truth) -> None:
        super().__init__(truth)
        self.better = {"rmse": "low"}
        binned = truth.cells.partition.recipe["by"] == "score" and isinstance(truth.task.metric, Accuracy)
        self._ece = float(self._gap(truth.value)) if binned else 0.0
        if self._ece > 0:
            self.better = {"rmse": "low", "ece-error": "low"}
        if not truth.task.metric.vector:
            self.better = {**self.better, "overall-error": "low", "coverage": "near", "overall-coverage": "near"}
        self._unit = 100.0 if truth.task.metric.in_percent else 1.0
        if isinstance(truth.task.metric, Confusion):
            prior = Informed() if truth.cells.expected is not None else Uniform()
            blank = prior.on(truth.cells, "population").blank()
            self._unit = 1 / (self._rmse(truth.task.metric.value(blank.mean(), truth.cells)) or 1.0)

    def verdict(
        self, method: Method, order: Items, budgets: Items, rng: np.random.Generator, anchor: Flags | None = None
    ) -> Verdict:
        """The errors at the budgets."""
        metric = self.truth.task.metric
        beliefs = [self.belief(method, order[:n]) for n in budgets.tolist()]
        anchor = np.zeros(len(order), dtype=bool) if anchor is None else anchor
        asked = [(order[:n], anchor[:n]) for n in budgets.tolist()]
        shots = [self._snapshot(method, belief, *each, rng) for belief, each in zip(beliefs, asked, strict=True)]
        values = [metric.value(shot.belief.mean(), shot.cells) for shot in shots]
        scores = {"rmse": self._unit * np.array([self._rmse(value) for value in values])}
        if "ece-error" in self.better:
            guesses = np.array([self._guess(belief, rng) for belief in beliefs])
            scores["ece-error"] = 100 * np.abs(guesses - self._ece) / self._ece
        if "coverage" in self.better:
            truth = self.truth.value
            scores["overall-error"] = self._unit * np.array([shot.off(truth) for shot in shots])
            scores["coverage"] = 100 * np.array([shot.honesty("width", truth, counted=True) for shot in shots])
            scores["overall-coverage"] = 100 * np.array([shot.honesty("overall", truth) for shot in shots])
        return Verdict(scores)

    def _snapshot(
        self, method: Method, belief: Belief, order: Items, anchor: Flags, rng: np.random.Generator
    ) -> Snapshot:
        """What an assessment would show after these labels: the number over all items is corrected by the anchors."""
        truth, asking = self.truth, self.truth.asking(method)
        steers = method.policy.uses_belief and int((asking.cells.partition.sizes > 0).sum()) > 1
        if not (steers and method.prior.uses_items and truth.everything is not None):
            return Snapshot(truth.task, truth.cells, belief, rng, _FEW_DRAWS)
        in_strips = asking is not truth
        strips = Strips.of(asking.cells.partition, order) if in_strips else None
        sample = Sample(order, truth.right[order].astype(float), anchor, strips)
        shown = (truth.task, asking.cells, belief, sample, truth.everything)
        return held(*shown, rng, _FEW_DRAWS, in_strips=in_strips)

    def _guess(self, belief: Belief, rng: np.random.Generator) -> float:
        """ECE^: the value at the mean, or the median where the mean is not good enough."""
        metric, cells = self.truth.task.metric, self.truth.cells
        if belief.conjugate:
            return float(self._gap(metric.value(belief.mean(), cells)))
        return float(np.median(self._gap(value_draws(metric, belief, cells, rng, _DRAWS))))

    def _rmse(self, value: NDArray[np.float64]) -> float:
        square = (value - self.truth.value) ** 2
        square = square.sum(axis=-1) if square.ndim == 2 else square
        return float(np.sqrt(averaged(square, self.truth.cells.partition.shares)))

    def _gap(self, value: NDArray[np.float64]) -> Any:
        """Σ_b p_b |θ_b − s_b|, from values of shape (..., groups)."""
        cells = self.truth.cells
        assert cells.confidence is not None
        return np.abs(value[..., cells.group] - cells.confidence) @ cells.size / cells.size.sum()


class IdentifyScorer(Scorer):
    """MRR = (1/m) Σ 1/rank over the true m groups, the other members ignored in each rank.

    Groups are ranked by the metric at the belief's mean, equal ones in random order (its expectation).
    """

    counted = "labels-to-identify"

    def __init__(self, truth: Truth) -> None:
        super().__init__(truth)
        self.better = {"mrr": "high"}
        self._sign = -1.0 if truth.task.sought == "lowest" else 1.0
        self._layout = layout(truth)

    def verdict(
        self, method: Method, order: Items, budgets: Items, rng: np.random.Generator, anchor: Flags | None = None
    ) -> Verdict:
        """The MRR at the budgets, and after every label (or at about 200 label counts, if each belief is fitted)."""
        gauge = self.truth.gauge
        if method.prior.uses_items:
            some = np.unique(np.append(np.linspace(0, len(order), _LOOKS).astype(int), budgets))
            sampled = np.array([self._mrr(method, order[:n]) for n in some.tolist()])
            curve = sampled[np.searchsorted(some, np.arange(len(order) + 1), side="right") - 1]
        elif gauge is None:
            curve = np.array([self._mrr(method, order[:n]) for n in range(len(order) + 1)])
        else:
            view = self._layout
            run, members = view.start(self.belief(method, order[:0])), view.positions(self.truth.members)
            curve = mrr_curve(run, view.places(order), gauge.of(view.cells), members, len(order))
        return Verdict({"mrr": curve[budgets]}, curve)

    def ceiling(self, method: Method) -> float:
        """The MRR when every item is labelled, which a strong prior can keep below 1."""
        return self._mrr(method, np.arange(len(self.truth.outcome)))

    def _mrr(self, method: Method, items: Items) -> float:
        truth = self.truth
        value = self._sign * truth.task.metric.value(self.belief(method, items).mean(), truth.cells)
        rivals = np.delete(value, np.union1d(truth.members, np.flatnonzero(truth.room == 0)))
        own = value[truth.members][:, None]
        above, equal = (rivals > own).sum(axis=1), (rivals == own).sum(axis=1)
        ranks = [np.arange(a + 1, a + e + 2) for a, e in zip(above, equal, strict=True)]
        return float(np.mean([(1 / rank).mean() for rank in ranks]))


class CompareScorer(Scorer):
    """Success: the most probable region η is the right one and its probability λ within 5% of its value.

    The right region is the uniform prior's conclusion from all labels; for the pool's own items it is then certain.
    """

    counted = "labels-to-decide"

    def __init__(self, truth: Truth) -> None:
        super().__init__(truth)
        self.better = {"success": "high"}
        assert isinstance(truth.task, Compare)
        self._task = truth.task
        self._layout = layout(truth)
        everything, rng = np.arange(len(truth.outcome)), np.random.default_rng(0)
        known = method_named("uniform+items"), method_named("uniform+items+pool")
        self._right = {candidate.target: self._regions(candidate, everything, rng) for candidate in known}

    def verdict(
        self, method: Method, order: Items, budgets: Items, rng: np.random.Generator, anchor: Flags | None = None
    ) -> Verdict:
        """Whether the run had the right answer at the budgets, and when it first did.

        Probabilities that need Monte Carlo are computed at the budgets only. A run that was never right counts with all
        its labels.
        """
        if self.truth.task.metric.marginal and not method.prior.uses_items:
            steps, mu = np.arange(len(order) + 1), self._curve(method, order)
        else:
            steps, mu = budgets, np.array([self._regions(method, order[:n], rng) for n in budgets.tolist()])
        right, best = self._right[method.target], mu.argmax(axis=1)
        success = (best == right.argmax()) & (np.abs(mu.max(axis=1) - right.max()) < _TOLERANCE * right.max())
        first = float(steps[success.argmax()]) if success.any() else float(len(order))
        return Verdict({"success": success[np.searchsorted(steps, budgets)].astype(float)}, labels=first)

    def _curve(self, method: Method, order: Items) -> NDArray[np.float64]:
        """μ after 0, 1, ... labels, shape (labels + 1, 3)."""
        truth, view = self.truth, self._layout
        run = view.start(self.belief(method, order[:0]))
        return regions_curve(run, view.places(order), truth.first, self._task.rope, 0, len(order))

    def _regions(self, method: Method, items: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
        """μ = (P(Δ < −ε), P(|Δ| ≤ ε), P(Δ > ε)), shape (3,)."""
        task, cells = self._task, self.truth.cells
        belief = self.belief(method, items)
        return task.regions(belief, cells, lambda: value_draws(task.metric, belief, cells, rng, _DRAWS))


class AnswerScorer(Scorer):
    """Right: the share of runs, in percent, whose most probable answer is the one that all labels would give."""

    def __init__(self, truth: Truth) -> None:
        super().__init__(truth)
        self.better = {"right": "high"}

    def verdict(
        self, method: Method, order: Items, budgets: Items, rng: np.random.Generator, anchor: Flags | None = None
    ) -> Verdict:
        """Whether the run had the right answer at the budgets."""
        task, cells = self.truth.task, self.truth.cells
        beliefs = (self.belief(method, order[:n]) for n in budgets.tolist())
        snapshots = (Snapshot(task, cells, belief, rng, _DRAWS) for belief in beliefs)
        return Verdict({"right": 100.0 * np.array([shot.is_right(self.truth.value) for shot in snapshots])})


# The tasks of the paper have scores of their own.
_SCORERS: dict[type[Task], type[Scorer]] = {Estimate: EstimateScorer, Identify: IdentifyScorer, Compare: CompareScorer}
