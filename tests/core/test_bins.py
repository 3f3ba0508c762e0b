"""Bins of columns: even and round, named so that nobody wonders where a value is, and the same for ever."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fewlabels as fl
from fewlabels.bins import Bins, bins_from, values_of
from fewlabels.errors import InputError
from fewlabels.named import groups_from
from fewlabels.partition import partition_from_recipe
from tests.support.pools import law


def _pool(name: str, values: Any) -> fl.Pool:
    return fl.read_pool({"predicted": ["a", "b"] * (len(values) // 2), name: values})


@given(st.lists(st.floats(-1e6, 1e6), min_size=40, max_size=200), st.integers(2, 6))
@law(60)
def test_bins_of_distinct_numbers_are_even(values: list[float], count: int) -> None:
    known = np.unique(np.array(values) + np.arange(len(values)) * 1e-3)
    bins = bins_from("x", count, known, "number")
    sizes = np.bincount(bins.of(known), minlength=count)
    assert len(bins.names) == count
    assert np.abs(sizes / len(known) - 1 / count).max() <= 0.2 / count + 1 / len(known)


@pytest.mark.parametrize(
    ("values", "bins", "names"),
    [
        (np.arange(18, 78), 3, ("v under 40", "v 40–59", "v 60 or more")),
        ([0] * 90 + list(range(10)), 4, ("v under 1", "v 1 or more")),  # ties stay together
        (np.linspace(-1, 1, 200), 2, ("v under 0", "v 0 or more")),
        (np.geomspace(1, 1e6, 400), 3, ("v under 100", "v 100 to under 10000", "v 10000 or more")),
        (np.arange(18, 78), [40, 41, 60], ("v under 40", "v 40", "v 41–59", "v 60 or more")),
        (np.arange(18, 78), [40.5], ("v under 40.5", "v 40.5 or more")),
        ([7] * 6, 3, ("any v",)),
        (
            [date(2026, month, day) for month in range(1, 13) for day in (2, 15, 28)] * 2,
            4,
            ("v before 2026-04-01", "v 2026-04-01 to 2026-06-30", "v 2026-07-01 to 2026-09-30", "v from 2026-10-01"),
        ),
        ([f"{year}-05-0{day} 12:00" for year in range(2000, 2004) for day in range(1, 7)], 2,
         ("v before 2002-01-01", "v from 2002-01-01")),
    ],
)  # fmt: skip
def test_bins_have_round_edges_and_plain_names(values: Any, bins: Any, names: tuple[str, ...]) -> None:
    groups = fl.by_column(_pool("v", values), "v", bins)
    assert groups.names == names
    assert groups.sizes.min() > 0


def test_the_edges_are_kept_and_a_missing_value_has_a_group_of_its_own() -> None:
    ages = [*range(20, 80), None, None]
    groups = groups_from("column:age:2", _pool("age", ages))
    assert groups.names == ("age under 50", "age 50 or more", "(missing)")
    assert groups.words == "by column 'age' in 2 bins"
    assert groups.position("AGE 50 or more") == 1
    older = _pool("age", [*range(60, 90)])
    again = partition_from_recipe(older, json.loads(json.dumps(groups.recipe)))
    assert again.names == groups.names[:2]
    assert again.sizes.tolist() == [0, 30]


def test_a_dash_can_be_typed() -> None:
    assert groups_from("column:age:30/60", _pool("age", [*range(20, 80)])).position("age 30-59") == 1


def test_a_column_whose_name_ends_like_bins_is_itself() -> None:
    pool = fl.read_pool({"predicted": ["a", "b"], "ratio 16:9": ["x", "y"]})
    assert groups_from("column:ratio 16:9", pool).names == ("x", "y")


@pytest.mark.parametrize(
    ("values", "bins", "why"),
    [
        (
            ["x", "y"],
            "4",
            "holds text such as 'x', and only numbers or dates can be put into bins. Group by its values: column:v",
        ),
        ([1, 2], "many", "'many' does not say which bins of 'v' to make. Say how many, as in column:v:4"),
        ([1, 2], "1", "must be a whole number of at least 2"),
        ([1, 2], "9/3", "Name where they begin, ascending"),
        (["2024-01-01", "2024-02-01"], "x/y", "'x' is not a date"),
        ([True, False], "2", "holds bool"),
    ],
)
def test_what_has_no_bins_is_refused(values: Any, bins: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        groups_from(f"column:v:{bins}", _pool("v", values))


def test_numbers_that_are_not_finite_have_no_bin() -> None:
    values, kind = values_of("v", pa.chunked_array([[1.0, float("nan"), None]]))
    assert kind == "whole"
    assert np.isnan(values).tolist() == [False, True, True]
    assert Bins.from_json("v", json.loads(json.dumps(Bins("v", (1, 2.5), "number").to_json()))).edges == (1, 2.5)
