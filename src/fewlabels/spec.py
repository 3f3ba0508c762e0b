"""Everything that defines an assessment, to JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, get_args

from fewlabels import metrics, policies, priors, tasks
from fewlabels.belief import Target
from fewlabels.checks import whole_field
from fewlabels.errors import SpecError
from fewlabels.partition import Partition, partition_from_recipe
from fewlabels.stopping import Stop

if TYPE_CHECKING:
    from fewlabels.cells import Cells
    from fewlabels.pool import Pool

# The plain classes that may stand in a spec, by name.
KINDS: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        metrics.Accuracy,
        metrics.CalibrationError,
        metrics.Confusion,
        metrics.Cost,
        metrics.F1,
        metrics.FalsePositiveRate,
        metrics.Precision,
        metrics.Recall,
        tasks.Compare,
        tasks.Estimate,
        tasks.Identify,
        policies.Boundary,
        policies.EpsilonGreedy,
        policies.Greedy,
        policies.Thompson,
        policies.TopTwo,
        policies.UCB,
        policies.UniformGroups,
        policies.UniformItems,
        priors.Informed,
        priors.Learned,
        priors.Uniform,
        Stop,
    )
}


@dataclass(frozen=True)
class Spec:
    """The question, the groups, what is believed beforehand, and how to ask.

    Parameters
    ----------
    task
        What is asked of which metric.
    groups
        The recipe of the partition, as in `Partition.recipe`.
    prior
        What is believed before the first label.
    policy
        In which groups to ask.
    target
        "population": the classifier on items like these. "pool": on exactly these items.
    seed
        The generator of step i is `numpy.random.default_rng([seed, i])`.
    stop
        When it is enough; `Stop()` has no rule.
    overlap
        How many different people are asked about each item.
    """

    task: tasks.Task
    groups: Mapping[str, Any]
    prior: priors.Prior
    policy: policies.Policy
    target: Target = "population"
    seed: int = 0
    stop: Stop = field(default_factory=Stop)
    overlap: int = 1

    def __post_init__(self) -> None:
        for value, kind, example in (
            (self.task, tasks.Task, "Estimate(Accuracy())"),
            (self.prior, priors.Prior, "Uniform()"),
            (self.policy, policies.Policy, "Thompson()"),
        ):
            if not isinstance(value, kind):
                raise SpecError(f"The '{kind.__name__.lower()}' must be one such as {example}. Got {value!r} instead.")
        if not isinstance(self.task.metric, metrics.Metric):
            raise SpecError(f"The metric of a task must be one such as Accuracy(). Got {self.task.metric!r} instead.")
        if self.target not in get_args(Target):
            raise SpecError(f"The 'target' must be 'population' or 'pool'. Got {self.target!r} instead.")
        whole_field(self, "seed", "The 'seed'", least=0)
        if not isinstance(self.stop, Stop):
            raise SpecError(f"The 'stop' must be one such as Stop(labels=500). Got {self.stop!r} instead.")
        self.stop.check(self.task)
        whole_field(self, "overlap", "The 'overlap'")

    def partition(self, pool: Pool) -> Partition:
        """The groups, made from the pool."""
        return partition_from_recipe(pool, self.groups)

    def cells(self, pool: Pool, partition: Partition) -> Cells:
        """The cells of the metric; SpecError if the parts do not go together."""
        self.task.metric.check(pool, partition)
        cells = self.task.metric.cells(pool, partition)
        self.task.check(cells)
        self.prior.check(cells)
        return cells

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {field.name: to_json(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Spec:
        """The spec that `to_json` wrote."""
        known = {field.name for field in fields(cls)}
        parts = {name: from_json(value) if name != "groups" else value for name, value in data.items()}
        if unknown := parts.keys() - known:
            raise SpecError(
                f"this assessment has settings that this version of fewlabels does not know: {sorted(unknown)}. "
                "Use the version it was made with, or a newer one."
            )
        return cls(**parts)


def to_json(value: object) -> Any:
    """Plain JSON values: a dataclass becomes an object whose "kind" is its name.

    >>> import fewlabels as fl
    >>> to_json(fl.Identify(fl.Accuracy(), lowest=3))
    {'kind': 'Identify', 'metric': {'kind': 'Accuracy'}, 'lowest': 3, 'highest': None}
    """
    if is_dataclass(value):
        return {"kind": type(value).__name__} | {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    return value


def from_json(data: Any) -> Any:
    """The opposite of `to_json`.

    >>> from_json({"kind": "Estimate", "metric": {"kind": "Accuracy"}})
    Estimate(metric=Accuracy())
    """
    if not isinstance(data, Mapping):
        return data
    fields_ = {name: from_json(value) for name, value in data.items() if name != "kind"}
    if data.get("kind") not in KINDS:
        raise SpecError(
            f"unknown kind {data.get('kind')!r}: this version of fewlabels does not have it. "
            "Use the version the assessment was made with, or a newer one."
        )
    kind = KINDS[data["kind"]]
    if unknown := fields_.keys() - {field.name for field in fields(kind)}:
        raise SpecError(
            f"{kind.__name__} has settings that this version of fewlabels does not know: {sorted(unknown)}. "
            "Use the version the assessment was made with, or a newer one."
        )
    return kind(**fields_)
