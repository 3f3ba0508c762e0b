"""The definition of an assessment, and its form in JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from fewlabels import metrics, parts, policies, priors, tasks
from fewlabels.belief import Target
from fewlabels.checks import number_field, of_kind, whole_field
from fewlabels.errors import Argument, SpecError
from fewlabels.partition import Partition, by_score, partition_from_recipe
from fewlabels.stopping import Stop, bare_groups
from fewlabels.wording import some_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fewlabels.cells import Cells
    from fewlabels.errors import Piece
    from fewlabels.pool import Pool


@dataclass(frozen=True)
class Spec:
    """The question, the groups, the prior, and how to ask.

    Parameters
    ----------
    task
        The question, and the metric it is about.
    groups
        The recipe of the partition, as in `Partition.recipe`.
    prior
        The belief before the first label.
    policy
        The choice of groups to ask in.
    target
        "population": the classifier on items like these. "pool": on exactly these items.
    seed
        The generator of step i is `numpy.random.default_rng([seed, i])`.
    stop
        When to stop; `Stop()` has no rule.
    overlap
        How many different people are asked about each item.
    anchor
        The share of steps that take items at random from the whole pool, whatever the policy says: see
        `policies.anchors`.
    strips
        Where all items are one group: ask in this many strips of confidence, and not in the group as a whole. 0: no.
    model
        The model of the pool that the task is about, if the pool has several and the task is not about all of them.
    noisy
        Whether labels may be wrong: the belief then knows how often people err; see `noise/`.
    labels_right
        How often labels are right, as the owner states it; None if nothing is stated.
    gold
        The classes of some items that the owner knows, id to class, by which people are checked; None for none.
    gold_rate
        The share of requests that hand out a gold item.
    """

    task: tasks.Task
    groups: Mapping[str, Any]
    prior: priors.Prior
    policy: policies.Policy
    target: Target = "population"
    seed: int = 0
    stop: Stop = field(default_factory=Stop)
    overlap: int = 1
    anchor: float = field(default=0.0, metadata={"newer": True})
    strips: int = field(default=0, metadata={"newer": True})
    model: str | None = field(default=None, metadata={"newer": True})
    noisy: bool = field(default=False, metadata={"newer": True})
    labels_right: float | None = field(default=None, metadata={"newer": True})
    gold: Mapping[str, str] | None = field(default=None, metadata={"newer": True})
    gold_rate: float = field(default=0.1, metadata={"newer": True})

    def __post_init__(self) -> None:
        of_kind(self.task, tasks.Task, "The 'task'", error=SpecError)
        of_kind(self.prior, priors.Prior, "The 'prior'", error=SpecError)
        of_kind(self.policy, policies.Policy, "The 'policy'", error=SpecError)
        of_kind(self.task.metric, metrics.Metric, "The metric of a task", error=SpecError)
        if self.target not in get_args(Target):
            raise SpecError(f"The 'target' must be 'population' or 'pool'. Got {self.target!r} instead.")
        whole_field(self, "seed", "The 'seed'", least=0)
        of_kind(self.stop, Stop, "The 'stop'", error=SpecError)
        self.stop.check(self.task)
        whole_field(self, "overlap", "The 'overlap'")
        number_field(self, "anchor", "The 'anchor'", high=1, ends=True)
        whole_field(self, "strips", "The 'strips'", least=0)
        if self.strips and self.groups.get("by") != "whole":
            raise SpecError(
                "'strips' of confidence are used only when all items are one group. Use groups=whole(pool)."
            )

        self._check_noise()

    def _check_noise(self) -> None:
        """SpecError if labels that may be wrong do not go together with the rest."""
        if self.labels_right is not None:
            number_field(self, "labels_right", "The 'labels_right'", high=1)
            if self.labels_right <= 0.5:
                raise SpecError(
                    f"The 'labels_right' must be between 0.5 and 1, such as 0.97. Got {self.labels_right} instead."
                )
        number_field(self, "gold_rate", "The 'gold_rate'", high=1, ends=True)
        if not self.noisy:
            if self.gold or self.labels_right is not None:
                what = "'gold' and 'labels_right' are about labels that may be wrong. Add "
                raise SpecError(what, Argument("noisy", value=True), ".")
            return
        if self.promises:
            raise SpecError(
                "a guarantee needs labels that are true, so it cannot be given where they may be wrong. Leave out the "
                "guarantee, or ",
                Argument("noisy", value=True),
                ".",
            )
        if self.task.of_models:
            raise SpecError(
                f"{type(self.task).__name__} takes labels as true. So far, only questions about one model can allow "
                "for labels that may be wrong."
            )

    def of(self, pool: Pool) -> Pool:
        """The pool that the task is about: that of one model, or the whole."""
        if self.model is not None:
            return pool.of(self.model)
        check_one_model(pool, self.task, "Say which, with ", Argument("model"))
        return pool

    def partition(self, pool: Pool) -> Partition:
        """The groups, made from the pool."""
        return partition_from_recipe(pool, self.groups)

    def asking(self, pool: Pool, partition: Partition) -> Partition:
        """The groups in which items are asked for: those of the question, or strips of confidence in place of one."""
        return by_score(pool, self.strips, "weight") if self.strips else partition

    def in_strips(self, strips: int) -> Spec:
        """Return the same definition, asking in that many strips of confidence by Neyman's rule.

        With no strips it stays as it is, and so it does if something is guaranteed.
        """
        if not strips or self.stop.guarantee:
            return self
        return replace(self, strips=strips, policy=policies.Neyman())

    def cells(self, pool: Pool, partition: Partition) -> Cells:
        """The cells of the metric. Parts that do not go together are a SpecError."""
        cells = self.task.cells(pool, partition)
        self.task.check(cells)
        self.prior.check(cells)
        return cells

    def asked_first(self, cells: Cells, labels: NDArray[Any]) -> NDArray[np.bool_] | None:
        """The groups in which a policy that steers asks first: those that a stopping rule needs labels of.

        Otherwise groups with answers come before groups of refusals, which are known to be wrong: a draw in which all
        others are perfect would ask there too. `labels` are those of each cell, there or waited for, shape (cells,).
        None if no group comes first.
        """
        if self.strips or not self.policy.uses_belief:
            return None
        needed = None if self.stop.width is None else bare_groups(self.stop, self.task, cells, cells.total(labels))
        return cells.may_be_right if needed is None or not needed.any() else needed

    @property
    def promises(self) -> bool:
        """Whether something is guaranteed at every look, whatever the truth: that needs items of its own drawing."""
        return self.stop.guarantee is not None or self.task.unguaranteed() != self.task

    def to_json(self) -> dict[str, Any]:
        """Convert the spec to plain JSON values."""
        return {f.name: to_json(getattr(self, f.name)) for f in _said(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Spec:
        """Make the spec that `to_json` wrote."""
        known = {field.name for field in fields(cls)}
        parts = {name: from_json(value) if name not in ("groups", "gold") else value for name, value in data.items()}
        if unknown := parts.keys() - known:
            raise SpecError(
                f"this assessment has settings that this version of fewlabels does not know: {sorted(unknown)}. "
                "Use the version it was made with, or a newer one."
            )
        return cls(**parts)


def to_json(value: object) -> Any:
    """Convert to plain JSON values: a dataclass becomes an object whose "kind" is its name.

    A part of another package also has its module in "from", which no setting can have as its name.

    >>> import fewlabels as fl
    >>> to_json(fl.Identify(fl.Accuracy(), lowest=3))
    {'kind': 'Identify', 'metric': {'kind': 'Accuracy'}, 'lowest': 3, 'highest': None}
    """
    if is_dataclass(value):
        part = type(value)
        data = {"kind": part.__name__}
        if issubclass(part, parts.Part) and not parts.is_own(part):
            data["from"] = parts.origin(part)
        return data | {f.name: to_json(getattr(value, f.name)) for f in _said(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    return value


def _said(value: Any) -> list[Field[Any]]:
    """The settings to write: one that is newer is left out while it has its default, so that older versions read on."""
    return [f for f in fields(value) if not (f.metadata.get("newer") and getattr(value, f.name) == f.default)]


def from_json(data: Any) -> Any:
    """Make the value that `to_json` wrote.

    >>> from_json({"kind": "Estimate", "metric": {"kind": "Accuracy"}})
    Estimate(metric=Accuracy())
    """
    if not isinstance(data, Mapping):
        return data
    if "kind" not in data:
        return {name: from_json(value) for name, value in data.items()}
    settings = {name: from_json(value) for name, value in data.items() if name not in ("kind", "from")}
    kind: Any = Stop if data["kind"] == "Stop" else parts.kind(data["kind"])
    if kind is None:
        raise SpecError(_missing(data))
    if unknown := settings.keys() - {field.name for field in fields(kind)}:
        raise SpecError(
            f"{kind.__name__} has settings that this version of it does not know: {sorted(unknown)}. "
            "Use the version the assessment was made with, or a newer one."
        )
    return kind(**settings)


def _missing(data: Mapping[str, Any]) -> str:
    """The message about a part that an assessment needs and that is not registered."""
    kind, origin = data["kind"], data.get("from")
    if origin is None:
        begin = (
            f"unknown kind {kind!r}: this version of fewlabels does not have it. Use the version the assessment was "
            "made with, or a newer one. If the part is your own, import the module that registers it first"
        )
    else:
        begin = (
            f"this assessment needs the part {kind!r} from {origin}, which is not registered here. Import the module "
            "that registers it before load()"
        )
    broken = "".join(f" The entry point {point} could not be loaded ({why})." for point, why in parts.broken().items())
    file = origin if origin and origin != "__main__" else "FILE"
    return (
        f"{begin}, or on the command line: fewlabels --import {file} ...{broken} Its labels and log are safe: "
        "`fewlabels export` writes them without any part, as Store(address).labels(name) and .log(name) do."
    )


def check_one_model(pool: Pool, task: tasks.Task, *advice: Piece) -> None:
    """Raise SpecError for a pool of several models and a task about one; the advice is how to say which."""
    if pool.models and not task.of_models:
        what = f"the pool has {len(pool.models):,} models, and {type(task).__name__} is about one. "
        raise SpecError(what, *advice, f": {some_of(pool.models)}.")


def check_saved(spec: Spec) -> None:
    """Raise SpecError if an assessment could not be loaded again, because one of its parts is not found by its name."""
    for part in (spec.task, spec.task.metric, spec.policy, spec.prior):
        _check_registered(part)
    try:
        again = Spec.from_json(json.loads(json.dumps(spec.to_json(), allow_nan=False)))
        same = bool(again == spec)
    except (TypeError, ValueError) as error:
        raise SpecError(f"this assessment could not be loaded again: {error}. {_PLAIN}") from error
    if not same:
        names = ("task", "policy", "prior", "stop")
        pairs = [(getattr(spec, name), getattr(again, name)) for name in names]
        was, now = next((pair for pair in pairs if pair[0] != pair[1]), (spec.groups, again.groups))
        raise SpecError(f"{was!r} could not be loaded again: it would come back as {now!r}. {_PLAIN}")


_PLAIN = (
    "The settings of a part must be numbers, texts, lists or other parts. If you take a tuple or an array, "
    "convert it to one form in __post_init__, as Cost does."
)


def _check_registered(part: parts.Part) -> None:
    """Raise SpecError if a part, or a part among its settings, is not registered."""
    kind = type(part)
    name, other = kind.__name__, parts.kind(kind.__name__)
    if other is None:
        raise SpecError(
            f"{name}() could not be loaded again, nor could its labels: the class is not registered. Call "
            f"fl.register({name}) after the class, or put @fl.register above it."
        )
    if other is not kind:
        raise SpecError(
            f"{name}() could not be loaded again: the name {name!r} now belongs to another class, of "
            f"{parts.origin(other)}. If you have redefined the class, make {name}() again; otherwise give the class "
            "another name and register it."
        )
    for setting in fields(part):  # type: ignore[arg-type]  # every part is a dataclass
        if isinstance(value := getattr(part, setting.name), parts.Part):
            _check_registered(value)
