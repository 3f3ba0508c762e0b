"""`fewlabels.testing` has teeth: each law finds the part that breaks it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.belief import Belief
from fewlabels.priors import Prepared
from fewlabels.testing import check_metric, check_policy, check_prior, check_task

pytestmark = pytest.mark.usefixtures("registry")


def broken(base: type, name: str = "Broken", **attributes: Any) -> Any:
    """A registered part that differs from one of ours in what is given."""
    return fl.register(dataclass(frozen=True)(type(name, (base,), {"__module__": __name__, **attributes})))


def _prior_of(change: Any) -> Any:
    """A prior whose belief is changed."""

    def on(self: Any, cells: Any, target: Any) -> Prepared:
        prepared = fl.Uniform().on(cells, target)
        return Prepared(cells, lambda outcomes: change(prepared.belief(outcomes)))

    return on


@pytest.mark.parametrize(
    ("attributes", "law"),
    [
        ({"gradient": lambda self, theta, cells: np.tile([0.0, 1.0], (len(cells), 1))}, "gradient must be the slope"),
        ({"value": lambda self, theta, cells: cells.total(theta[..., 0] ** 2)}, "says that it is linear"),
        ({"value": lambda self, theta, cells: cells.total(theta[..., 1])}, "says that its value is the first share"),
        ({"value": lambda self, theta, cells: 2 * cells.total(theta[..., 0])}, "value must lie from 0.0 to 1.0"),
        ({"value": lambda self, theta, cells: 2 * cells.total(theta[..., 0]), "in_unit_interval": False},
         "span is 1.0: values lie farther apart"),
        ({"value": lambda self, theta, cells: theta[..., 0]}, "value must have the shape"),
        ({"value": lambda self, theta, cells: (cells.total(theta[..., 0]) + 1e-9) / (cells.partition.sizes > 0)},
         "must be finite, or NaN where it is 0/0"),
        ({"outcome": lambda self, pool, items, true: true.astype(np.int64)}, "must give positions in cells.outcomes"),
        ({"outcome": lambda self, pool, items, true: np.arange(len(items)) % 2}, "depend on the item and its label"),
        ({"drop": lambda self, belief, theta, cells: -np.ones(len(cells))}, "must not be expected to raise"),
        ({"phrase": "of {group}"}, "may have {noun} and {nouns} only"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_metric_that_breaks_a_law_is_found(attributes: dict[str, Any], law: str) -> None:
    with pytest.raises(AssertionError, match=law):
        check_metric(broken(fl.Accuracy, **attributes)())


def test_a_posterior_that_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = Belief.draws

    def too_sure(self: Belief, rng: np.random.Generator, n: int) -> Any:
        theta = draws(self, rng, n)
        return 0.7 * theta + 0.3 * theta.mean(axis=0)

    monkeypatch.setattr(Belief, "draws", too_sure)
    with pytest.raises(AssertionError, match="every rank among its draws equally often"):
        check_metric(fl.Accuracy())


def test_what_is_not_registered_or_does_not_come_back_is_found() -> None:
    kind: Any = dataclass(frozen=True)(type("Loose", (fl.Accuracy,), {"__module__": __name__}))
    with pytest.raises(AssertionError, match="Loose must be registered"):
        check_metric(kind())
    pair = broken(fl.Accuracy, "Pair", pair=(1, 2), __annotations__={"pair": tuple})
    with pytest.raises(AssertionError, match=r"must come back from JSON as it was, not as Pair\(pair=\[1, 2\]\)"):
        check_metric(pair())
    with pytest.raises(AssertionError, match="must be a Policy"):
        check_policy(fl.Accuracy())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("attributes", "law"),
    [
        ({"choose": lambda self, rewards, room, plays, rng: np.array([0])}, "groups that have room"),
        ({"choose": lambda self, rewards, room, plays, rng: np.flatnonzero(room)}, "at most"),
        ({"choose": lambda self, rewards, room, plays, rng: np.repeat(np.flatnonzero(room)[:1], plays)}, "once"),
        ({"choose": lambda self, rewards, room, plays, rng: np.flatnonzero(room > 2)[:1]}, "as long as one has room"),
        ({"choose": lambda self, rewards, room, plays, rng: np.random.permutation(np.flatnonzero(room))[:1]},  # noqa: NPY002
         "the same with the same generator"),
        ({"uses_belief": False}, "must not use the rewards"),
        ({"ignorable": True, "uses_belief": False,
          "choose": lambda self, rewards, room, plays, rng: rng.permutation(np.flatnonzero(room))[:1]},
         "in proportion to their room"),
    ],
)  # fmt: skip
def test_a_policy_that_breaks_a_law_is_found(attributes: dict[str, Any], law: str) -> None:
    with pytest.raises(AssertionError, match=law):
        check_policy(broken(fl.Greedy, **attributes)())


@pytest.mark.parametrize(
    ("change", "law"),
    [
        (lambda belief: replace(belief, counts=0.5 * belief.counts), "the shares of a cell must sum to 1"),
        (lambda belief: belief.to("population"), "leave no doubt"),
        (lambda belief: _Skewed(belief.prior, belief.counts, belief.size, belief.target), "must be that of the draws"),
    ],
)
def test_a_prior_that_breaks_a_law_is_found(change: Any, law: str) -> None:
    with pytest.raises(AssertionError, match=law):
        check_prior(broken(fl.Learned, on=_prior_of(change))())


class _Skewed(Belief):
    """A belief whose mean is not that of its draws."""

    def mean(self) -> Any:
        return super().mean()[:, ::-1]


@pytest.mark.parametrize(
    ("attributes", "law"),
    [
        ({"reward": lambda self, belief, cells, theta: theta[..., 0] * np.nan}, "reward must be finite|one number"),
        ({"reward": lambda self, belief, cells, theta: np.zeros(len(cells.partition))}, "work on many θ at once"),
        ({"conclusive": True}, "its answer must have a probability"),
        ({"askable": lambda self, cells: cells.partition.sizes < 0}, "must have a group to ask in"),
        ({"answer": lambda self, *_, **__: fl.Answer("", None, fl.Table({"mean": [1.0]}, {}))}, "must have words"),
        ({"answer": lambda self, *_, **__: fl.Answer("So.", None, fl.Table({"mean": [np.inf]}, {}))}, "finite"),
        ({"answer": lambda self, *_, **__: fl.Answer("So.", None, fl.Table({"a": [1.0]}, {}), ("yak",))}, "that exist"),
    ],
)
def test_a_task_that_breaks_a_law_is_found(attributes: dict[str, Any], law: str) -> None:
    with pytest.raises(AssertionError, match=law):
        check_task(broken(fl.Estimate, **attributes)(fl.Accuracy()))


def test_what_refuses_everything_is_found() -> None:
    def refuse(*_: object) -> None:
        raise fl.SpecError("no")

    for check, part in (
        (check_metric, broken(fl.Accuracy, "A", check=refuse)()),
        (check_prior, broken(fl.Uniform, "B", check=refuse)()),
        (check_task, broken(fl.Estimate, "C", check=refuse)(fl.Accuracy())),
    ):
        with pytest.raises(AssertionError, match="refuses all"):
            check(part)
