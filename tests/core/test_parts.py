"""Parts that other people write: registered, saved and loaded again; or refused before a label is lost."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fewlabels as fl
from fewlabels import parts
from fewlabels.metrics import Metric
from fewlabels.named import metric_from, policy_from, prior_from
from fewlabels.simulation.methods import method
from fewlabels.spec import Spec, from_json, to_json
from fewlabels.testing.zoo import zoo
from fewlabels.understanding.options import QuestionOptions
from fewlabels.understanding.tasks import task_from

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("registry")
POOL = zoo().pool


def make(name: str = "Halved", base: type = fl.Accuracy, **attributes: Any) -> Any:
    """A new part, made from one of ours; annotated attributes become settings."""
    return dataclass(frozen=True)(type(name, (base,), {"__module__": __name__, **attributes}))


def with_setting(name: str = "setting") -> Any:
    settings: dict[str, Any] = {name: None, "__annotations__": {name: object}}
    return make("WithSetting", **settings)


# --- registering


def test_a_registered_part_is_found_by_its_name() -> None:
    kind = fl.register(make())
    assert parts.kind("Halved") is kind
    assert parts.registered("metric")["halved"] is kind
    assert list(parts.registered("metric"))[-1] == "halved", "ours come first"
    assert "Halved" not in fl.__all__


@pytest.mark.parametrize(
    ("make_part", "said"),
    [
        (fl.Accuracy, "takes a class that is a Metric, Task, Policy or Prior"),
        (lambda: int, "takes a class that is a Metric, Task, Policy or Prior"),
        (lambda: dataclass(frozen=True)(type("Odd", (parts.Part,), {})), "neither a Metric, Task, Policy nor Prior"),
        (lambda: dataclass(frozen=True)(type("Half", (Metric,), {})), "has no cells, gradient, outcome, value"),
        (lambda: type("Bare", (fl.Accuracy,), {}), r"put @dataclass\(frozen=True\) directly above the class"),
        (lambda: make("Stop"), "'Stop' has a meaning of its own when saved"),
        (lambda: with_setting("kind"), "a setting called 'kind' has a meaning of its own"),
        (lambda: make(cli_name="my metric"), "its cli_name 'my metric' must be made of lower-case letters"),
        (lambda: make(cli_name="a+b"), "must be made of lower-case letters"),
        (lambda: make(takes="BINS"), "'takes' must be one of CLASS, COUNT, FILE, NUMBER, TEXT. Got 'BINS'"),
    ],
)  # fmt: skip
def test_what_cannot_be_registered_is_refused(make_part: Callable[[], Any], said: str) -> None:
    with pytest.raises(fl.SpecError, match=said):
        fl.register(make_part())


def test_two_classes_cannot_have_the_same_name() -> None:
    fl.register(make())
    with pytest.raises(fl.SpecError, match="the name 'Halved' belongs to Halved of tests"):
        fl.register(make(__module__="elsewhere"))
    with pytest.raises(fl.SpecError, match=r"Recall of elsewhere: the name 'Recall' belongs to Recall of fewlabels"):
        fl.register(make("Recall", __module__="elsewhere"))
    with pytest.raises(fl.SpecError, match="the command-line name 'halved' belongs to Halved"):
        fl.register(make("Other", cli_name="halved"))
    assert parts.kind("Recall") is fl.Recall
    # Names on the command line are of a family.
    fl.register(make("HalvedPolicy", fl.Greedy, cli_name="halved"))


def test_a_class_that_is_defined_again_takes_the_place_of_the_first() -> None:
    first, second = fl.register(make()), fl.register(make())
    assert first is not second
    assert parts.kind("Halved") is second
    with pytest.raises(fl.SpecError, match=r"If you have redefined the class, make Halved\(\) again"):
        fl.create(None, "a", POOL, task=fl.Estimate(first()))
    again: Any = second()
    fl.create(None, "a", POOL, task=fl.Estimate(again))


def test_share_is_refused_with_its_two_successors() -> None:
    with pytest.raises(fl.SpecError, match=r"Money.share has become two: in_unit_interval .* in_percent"):
        make("Money", share=False)
    make("Shared", share=0.5, __annotations__={"share": float})  # a setting may have that name


# --- create and load


@pytest.mark.parametrize(
    "settings",
    [
        {"task": fl.Estimate(make()())},
        {"task": make("Guess", fl.Estimate)(fl.Accuracy())},
        {"policy": make("Careful", fl.Greedy)()},
        {"prior": make("Sceptical", fl.Uniform)()},
    ],
    ids=["metric", "task", "policy", "prior"],
)  # fmt: skip
def test_what_could_not_be_loaded_again_is_refused_before_anything_is_written(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "audit.db"
    with pytest.raises(fl.SpecError, match=r"not registered. Call fl.register\(\w+\) after the class, or put"):
        fl.create(file, "a", POOL, **settings)
    assert not file.exists()


def test_a_part_inside_a_part_is_checked_too() -> None:
    inner = make()
    fl.register(outer := with_setting())
    with pytest.raises(fl.SpecError, match=r"Call fl.register\(Halved\)"):
        fl.create(None, "a", POOL, task=fl.Estimate(outer(inner())))
    fl.register(inner)
    fl.create(None, "a", POOL, task=fl.Estimate(outer(inner())))


@pytest.mark.parametrize("setting", [(1, 2), np.arange(3), float("nan"), {1, 2}, {"kind": "Accuracy"}], ids=repr)
def test_settings_that_do_not_come_back_are_refused(setting: object) -> None:
    fl.register(kind := with_setting())
    with pytest.raises(fl.SpecError, match=r"could not be loaded again.*__post_init__, as Cost does"):
        fl.create(None, "a", POOL, task=fl.Estimate(kind(setting)))


@pytest.mark.parametrize("setting", [1, None, "text", [1, [2.5]], {"a": {"b": [1]}}, fl.Accuracy()], ids=repr)
def test_settings_that_come_back_are_taken(setting: object) -> None:
    fl.register(kind := with_setting())
    store = fl.Store(None)
    fl.create(store, "a", POOL, task=fl.Estimate(kind(setting)))
    assert fl.load(store, "a").spec.task.metric.setting == setting  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "groups",
    [fl.whole, fl.by_predicted, lambda pool: fl.by_score(pool, 3), lambda pool: fl.by_score(pool, 3, "weight"),
     lambda pool: fl.by_column(pool, "place"), lambda pool: fl.cross(fl.by_column(pool, "place"), fl.whole(pool))],
)  # fmt: skip
def test_every_way_to_group_can_be_loaded_again(groups: Callable[[fl.Pool], fl.Partition]) -> None:
    store = fl.Store(None)
    audit = fl.create(store, "a", POOL, groups(POOL))
    assert fl.load(store, "a").spec == audit.spec


def test_a_missing_part_is_named_with_where_it_came_from() -> None:
    store = fl.Store(None)
    kind = fl.register(make())
    audit = fl.create(store, "a", POOL, task=fl.Estimate(kind()))
    audit.tell(zoo().labels(audit.ask(4).ids))
    assert store.open("a").spec["task"]["metric"] == {"kind": "Halved", "from": __name__}
    parts.unregister(kind)
    with pytest.raises(
        fl.SpecError, match=f"needs the part 'Halved' from {__name__}, which is not registered"
    ) as error:
        fl.load(store, "a")
    assert f"fewlabels --import {__name__} ..." in str(error.value)
    assert "fewlabels export" in str(error.value)
    assert store.labels("a") == audit.labels()
    assert store.log("a").columns == audit.log().columns
    assert store.log("a", after=4)["kind"] == ["label"] * 4


def test_labels_of_several_people_are_settled_without_any_part() -> None:
    store, names = fl.Store(None), ("ann", "bob", "cy")
    audit = fl.create(store, "a", POOL, overlap=2)
    for i, name in enumerate(names):
        batch = audit.ask(6, annotator=name)
        audit.tell({item: POOL.classes[(j * i) % 3] for j, item in enumerate(batch.ids)}, annotator=name)
    audit.decide({item.id: "ant" for item in audit.disputed()[:1]})
    audit.withdraw(list(audit.labels())[:1])
    assert 0 < len(audit.labels()) < 9
    assert store.labels("a") == audit.labels()


def test_the_module_is_written_for_parts_of_others_only() -> None:
    kind = fl.register(make("Halved", fl.Recall))
    assert json.loads(json.dumps(to_json(fl.Estimate(kind("ant"))))) == {
        "kind": "Estimate", "metric": {"kind": "Halved", "from": __name__, "positive": "ant"}
    }  # fmt: skip
    assert from_json(to_json(fl.Estimate(kind("ant")))) == fl.Estimate(kind("ant"))
    assert "from" not in json.dumps(Spec(fl.Estimate(fl.Accuracy()), {}, fl.Learned(), fl.Greedy()).to_json())


# --- the command line


def test_parts_of_others_are_named_on_the_command_line() -> None:
    halved = fl.register(make(takes="NUMBER", scale=0.5, __annotations__={"scale": float}))
    rate = fl.register(make("Missed", fl.Recall))
    policy = fl.register(make("Careful", fl.Greedy))
    prior = fl.register(make("Sceptical", fl.Uniform))
    task = fl.register(make("Guess", fl.Estimate))
    assert metric_from("halved:0.25", POOL) == halved(0.25)
    assert metric_from("halved", POOL) == halved()
    assert metric_from("missed:ant", POOL) == rate("ant")
    assert policy_from("careful") == policy()
    assert prior_from("sceptical:3") == prior(3.0)
    spec = fl.create(None, "named", POOL, prior="sceptical:3", policy="careful").spec
    assert (spec.prior, spec.policy) == (prior(3.0), policy())
    assert (method("sceptical:3+careful").prior, method("uniform+careful").policy) == (prior(3.0), policy())
    assert task_from(QuestionOptions("guess"), fl.Accuracy(), fl.whole(POOL)) == task(fl.Accuracy())
    with pytest.raises(fl.SpecError, match=r"--task 'wonder' is not known. Use one of .*identify, guess"):
        task_from(QuestionOptions("wonder"), fl.Accuracy(), fl.whole(POOL))
    with pytest.raises(fl.SpecError, match=r"metric='halve' is not known. Did you mean 'halved'.*fpr, halved, missed"):
        metric_from("halve", POOL)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("halved:half", "metric='halved:half': halved:half needs a number, as in halved:10"),
        ("calibration:2.5", "metric='calibration:2.5': calibration:2.5 needs a whole number, as in calibration:10"),
        ("accuracy:ant", "metric='accuracy:ant': accuracy takes no value. Write accuracy, without ':ant'"),
        ("cost", "metric='cost': cost needs a value, as in cost:FILE"),
        ("recall:ent", "metric='recall:ent': there is no class 'ent'. Did you mean recall:ant"),
        ("calibration:0", "The 'bins' of CalibrationError.. must be a whole number of at least 1"),
    ],
)
def test_values_on_the_command_line_are_checked(name: str, said: str) -> None:
    fl.register(make(takes="NUMBER", scale=0.5, __annotations__={"scale": float}))
    with pytest.raises(fl.SpecError, match=said):
        metric_from(name, POOL)
