"""A spec goes to JSON and back, and everything prints as the code that makes it."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.errors import SpecError
from fewlabels.partition import partition_from_recipe
from fewlabels.spec import Spec, from_json, to_json
from tests.support.contracts import GROUPINGS, METRICS, POLICIES, PRIORS, TARGETS, TASKS
from tests.support.pools import zoo

if TYPE_CHECKING:
    from fewlabels.belief import Target

PARTS = (*METRICS, *POLICIES, *PRIORS, *(task for task, _ in TASKS))
SPEC = Spec(fl.Identify(fl.Accuracy(), lowest=2), {"by": "predicted"}, fl.Informed(3), fl.TopTwo(0.4), "pool", 2**40)


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_every_part_goes_to_json_and_back(part: object) -> None:
    written = json.dumps(to_json(part), allow_nan=False)
    again = from_json(json.loads(written))
    assert again == part
    assert type(again) is type(part)
    assert hash(again) == hash(part)
    assert json.dumps(to_json(again)) == written
    assert '"from"' not in written, "our own parts are written as they always were"


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_every_part_prints_as_the_code_that_makes_it(part: object) -> None:
    assert eval(repr(part), vars(fl) | {name: getattr(fl, name) for name in fl.__all__}) == part


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("target", TARGETS)
def test_a_spec_goes_to_json_and_back(grouping: str, target: Target) -> None:
    pool = zoo().pool
    partition = GROUPINGS[grouping](pool)
    spec = Spec(fl.Estimate(fl.Cost(np.eye(6))), partition.recipe, fl.Informed(3), fl.TopTwo(0.4), target, 2**40)
    again = Spec.from_json(json.loads(json.dumps(spec.to_json())))
    assert again == spec
    made = again.partition(pool)
    assert made.names == partition.names
    np.testing.assert_array_equal(made.group, partition.group)
    assert made.recipe == partition.recipe


def test_every_setting_of_a_spec_is_written() -> None:
    # Left out while they have their defaults, so that older versions read on.
    newer = ("anchor", "strips", "model", "noisy", "labels_right", "gold", "gold_rate")
    full = replace(SPEC, groups={"by": "whole"}, anchor=0.2, strips=4, model="new")
    full = replace(full, noisy=True, labels_right=0.97, gold={"kind": "cat"}, gold_rate=0.2)
    assert Spec.from_json(full.to_json()) == full
    assert list(full.to_json()) == [field.name for field in fields(Spec)]
    assert list(SPEC.to_json()) == [field.name for field in fields(Spec) if field.name not in newer]
    assert Spec.from_json(SPEC.to_json()) == SPEC
    assert Spec.from_json(full.to_json()) == full


def test_a_spec_of_a_newer_version_is_refused_with_the_reason() -> None:
    written = SPEC.to_json()
    for data, reason in [
        (written | {"hurry": 0.95}, r"does not know: \['hurry'\]"),
        (written | {"policy": {"kind": "KnowledgeGradient"}}, "unknown kind 'KnowledgeGradient'"),
        (written | {"policy": {"kind": "TopTwo", "beta": 0.5, "gamma": 1}}, r"TopTwo has settings .* \['gamma'\]"),
    ]:
        with pytest.raises(SpecError, match=reason) as refused:
            Spec.from_json(data)
        assert "or a newer one" in str(refused.value)
    with pytest.raises(fl.InputError, match="unknown way to make groups: 'luck'"):
        partition_from_recipe(zoo().pool, {"by": "luck"})


def test_a_cost_is_its_numbers_whatever_they_were_given_as() -> None:
    given: list[Any] = [np.eye(2), [[1, 0], [0, 1]], ((1.0, 0.0), (0.0, 1.0)), np.eye(2, dtype=np.int32)]
    assert len({fl.Cost(matrix) for matrix in given}) == 1
