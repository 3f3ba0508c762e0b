"""Bins of columns: even and round, named so that nobody wonders where a value is, and the same for ever."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fewlabels as fl
from fewlabels.bins import Bins, bins_from, values_of, worth_bins
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


@given(st.lists(st.integers(-2, 5), min_size=1, max_size=60), st.integers(2, 6), st.sampled_from(["whole", "date"]))
@law(100)
def test_no_bin_is_empty_whatever_is_equal(values: list[int], count: int, kind: Any) -> None:
    known = np.array([0] * 30 + values, dtype=float)
    bins = bins_from("x", count, known, kind)
    assert 1 <= len(bins.names) <= count
    assert np.bincount(bins.of(known), minlength=len(bins.names)).min() > 0
    assert (len(bins.names) == 1) == (len(np.unique(known)) == 1)


@pytest.mark.parametrize(
    ("values", "bins", "names"),
    [
        (np.arange(18, 78), 3, ("v under 40", "v 40–59", "v 60 or more")),
        ([0] * 90 + list(range(10)), 4, ("v under 1", "v 1 or more")),  # ties stay together
        (np.linspace(-1, 1, 200), 2, ("v under 0", "v 0 or more")),
        (np.geomspace(1, 1e6, 400), 3, ("v under 100", "v 100 to under 10000", "v 10000 or more")),
        (np.arange(18, 78), [40, 41, 60], ("v under 40", "v 40", "v 41–59", "v 60 or more")),
        (np.arange(18, 78), [40.5], ("v under 40.5", "v 40.5 or more")),
        ([0] * 60 + list(range(1, 41)), 2, ("v under 1", "v 1 or more")),  # the lowest value is a bin
        ([7] * 6, 3, ("any v",)),
        ([7] * 6, 2, ("any v",)),
        (np.arange(18, 78), "40/", ("v under 40", "v 40 or more")),  # 40 alone would be so many bins
        (["2024-01-01"] * 10 + ["9999-12-31"] * 10, 2, ("v before 9999-12-31", "v from 9999-12-31")),
        (2**60 + 10**6 * np.arange(40), 2, ("v under 1152921504630000128", "v 1152921504630000128 or more")),
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
        ([1, 2], "9/3", "Name where they begin, in increasing order"),
        (["2024-01-01", "2024-02-01"], "x/y", "'x' is not a date"),
        ([True, False], "2", "holds bool"),
        (["1_000", "2"], "2", "holds text such as '1_000'"),  # Python reads it, and others do not
        (["١٢", "2"], "2", "holds text such as '١٢'"),
        (["2024-01-01", "soon"], "2", "holds text such as 'soon'"),
        (["2024-01-01", "2024-02-30"], "2", "holds text such as '2024-02-30'"),
        (["2024-01-01", "7"], "2", "holds both numbers and dates"),
    ],
)
def test_what_has_no_bins_is_refused(values: Any, bins: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        groups_from(f"column:v:{bins}", _pool("v", values))


@pytest.mark.parametrize("bins", [3.0, 1, date(2024, 1, 1), True])
def test_what_says_neither_how_many_nor_where_is_refused(bins: Any) -> None:
    with pytest.raises(InputError, match="must be a whole number of at least 2"):
        fl.by_column(_pool("v", [1, 2]), "v", bins)


@pytest.mark.parametrize(
    ("values", "worth"),
    [
        ([2**60 + n for n in range(20)], True),
        (pa.array([2**63 + n for n in range(20)], pa.uint64()), True),
        ([f"{n}_0" for n in range(20)], False),
        ([f"text {n}" for n in range(20)], False),
        (pa.array([f"{n}" for n in range(20)], pa.string_view()), True),
        ([1, 2] * 10, False),
        ([None] * 20, False),
    ],
)
def test_bins_are_proposed_where_they_can_be_made(values: Any, worth: bool) -> None:
    assert worth_bins("v", pa.chunked_array([values])) is worth


def test_a_time_with_a_zone_has_the_day_of_utc() -> None:
    late = datetime(2024, 1, 1, 22, tzinfo=timezone(timedelta(hours=-3)))
    for zone in ("UTC", "America/New_York"):
        held = pa.chunked_array([pa.array([late], pa.timestamp("us", zone))])
        assert values_of("v", held)[0].tolist() == [19_724]


def test_numbers_that_are_not_finite_have_no_bin() -> None:
    values, kind = values_of("v", pa.chunked_array([[1.0, float("nan"), None]]))
    assert kind == "whole"
    assert np.isnan(values).tolist() == [False, True, True]
    assert Bins.from_json("v", json.loads(json.dumps(Bins("v", (1, 2.5), "number").to_json()))).edges == (1, 2.5)


@pytest.mark.parametrize("text", ["05.06.2026", "5/6/26", "12-31-2024 10:00"])
def test_a_date_as_countries_write_it_is_not_guessed(text: str) -> None:
    with pytest.raises(InputError, match=r"holds text such as .*into bins\. Write dates as 2024-12-31\. Group by its"):
        values_of("sent", pa.chunked_array([[text, None]]))
