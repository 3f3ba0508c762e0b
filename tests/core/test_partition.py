"""Partitions: every item in one group, empty and missing ones explicit, and remade exactly from their recipe."""

from __future__ import annotations

import json
import time
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fewlabels as fl
from fewlabels.errors import InputError, SpecError
from fewlabels.partition import partition_from_recipe
from fewlabels.score_bins import score_bins
from tests.support.contracts import GROUPINGS
from tests.support.pools import Known, known_pools, law, zoo

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _scored(confidence: list[float] | NDArray[np.float64]) -> fl.Pool:
    return fl.read_pool({"predicted": ["a"] * len(confidence), "confidence": confidence}, classes=["a", "b"])


def _names(partition: fl.Partition) -> list[str]:
    """The group of each item."""
    return [partition.names[g] for g in partition.group]


@given(known_pools(most=30))
@law(40)
def test_every_item_is_in_one_group_that_its_recipe_makes_again(known: Known) -> None:
    pool = known.pool
    place = fl.by_column(pool, "place")
    half = {name: "even" if i % 2 == 0 else "odd" for i, name in enumerate(pool.classes)}
    for partition in (
        fl.whole(pool),
        fl.by_predicted(pool),
        fl.by_score(pool, 4),
        fl.by_score(pool, 3, "weight"),
        place,
        fl.by_map(pool, half),
        fl.cross(place, fl.by_score(pool, 2), fl.by_predicted(pool)),
    ):
        assert partition.group.shape == (len(pool),)
        assert partition.sizes.sum() == len(pool)
        assert partition.shares.sum() == pytest.approx(1)
        assert len(set(partition.names)) == len(partition) == len(partition.sizes)
        again = partition_from_recipe(pool, json.loads(json.dumps(partition.recipe)))
        assert again.names == partition.names
        np.testing.assert_array_equal(again.group, partition.group)


def test_a_class_never_predicted_stays_as_an_empty_group() -> None:
    groups = fl.by_predicted(zoo().pool)
    assert groups.names[-1] == "fox"
    assert groups.sizes.tolist() == [9, 7, 7, 6, 1, 0]
    assert repr(groups) == "<Partition: 6 groups by predicted class, 1 of them empty>"


@given(st.lists(st.integers(0, 60).map(lambda x: x / 60), min_size=1, max_size=40), st.integers(1, 20))
@law(100)
def test_bins_of_equal_width_hold_what_their_edges_say(confidence: list[float], bins: int) -> None:
    groups = fl.by_score(_scored(confidence), bins)
    assert len(groups) == bins
    for score, b in zip(confidence, groups.group, strict=True):
        assert b / bins <= score
        assert score < (b + 1) / bins or (score == 1 and b == bins - 1)


@given(st.lists(st.integers(0, 8).map(lambda x: x / 8), min_size=1, max_size=40), st.integers(1, 10))
@law(100)
def test_bins_of_equal_weight_are_in_order_keep_ties_and_are_never_empty(confidence: list[float], bins: int) -> None:
    groups = fl.by_score(_scored(confidence), bins, "weight")
    assert (groups.sizes > 0).all()
    assert len(groups) <= bins
    order = np.argsort(confidence, kind="stable")
    assert (np.diff(groups.group[order]) >= 0).all()
    for score in set(confidence):
        assert len(set(groups.group[np.array(confidence) == score])) == 1


@law(60)
@given(
    st.lists(st.sampled_from(np.linspace(0, 1, 9).tolist()) | st.floats(0, 1), min_size=1, max_size=40),
    st.integers(1, 12),
)
def test_a_bin_of_equal_weight_goes_from_its_lowest_to_its_highest_score(confidence: list[float], bins: int) -> None:
    pool = _scored(confidence)
    group, edges = score_bins(pool, bins, "weight")
    for b, (low, high) in enumerate(edges.tolist()):
        assert (low, high) == (pool.confidence[group == b].min(), pool.confidence[group == b].max())


def test_many_bins_of_equal_weight_take_no_longer_than_few() -> None:
    pool = _scored(np.random.default_rng(1).random(100_000))

    def seconds(bins: int) -> float:
        start = time.process_time()
        score_bins(pool, bins, "weight")
        return time.process_time() - start

    few, many = (min(seconds(bins) for _ in range(3)) for bins in (2, 2_000))
    assert many < 3 * few


@pytest.mark.parametrize(("items", "bins"), [(10, 5), (100, 10), (101, 10), (7, 3)])
def test_bins_of_equal_weight_without_ties_differ_by_one_item_at_most(items: int, bins: int) -> None:
    groups = fl.by_score(
        _scored(np.random.default_rng(1).permutation(items).tolist() / np.float64(items)), bins, "weight"
    )
    assert len(groups) == bins
    assert np.ptp(groups.sizes) <= 1


def test_the_most_confident_item_is_in_the_last_bin() -> None:
    """The authors' code drops it into the first."""
    for equal in ("width", "weight"):
        groups = fl.by_score(_scored([0.1, 0.4, 0.6, 1.0]), 2, equal)
        assert groups.group[-1] == len(groups) - 1


def test_bins_that_look_alike_get_more_digits() -> None:
    groups = fl.by_score(_scored([0.99991, 0.99992, 0.99993, 0.99994]), 2, "weight")
    assert groups.names == ("0.99991-0.99992", "0.99993-0.99994")


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["m", "f", None], ["f", "m", "(missing)"]),
        ([10, 9, 100], ["9", "10", "100"]),
        ([2.5, None, -1.0], ["-1.0", "2.5", "(missing)"]),
        ([True, False, True], ["False", "True"]),
        ([Decimal("2.5"), Decimal("10.0"), None], ["2.5", "10.0", "(missing)"]),
        ([2**53 + 1, 2**53, 2**53 + 1], [str(2**53), str(2**53 + 1)]),
        (pd.Categorical(["z", "a", "z"], categories=["z", "a", "unused"]), ["a", "z"]),
        (pa.array(["b", None, "a"]).dictionary_encode(), ["a", "b", "(missing)"]),
        (pd.to_datetime(["2024-03-01", "2023-01-02", "2024-03-01"]), ["2023-01-02 00:00:00", "2024-03-01 00:00:00"]),
    ],
    ids=[
        "text",
        "integers",
        "floats",
        "booleans",
        "decimals",
        "beyond floats",
        "categories",
        "Arrow dictionary",
        "dates",
    ],
)
def test_by_column_sorts_the_values_and_names_the_missing(values, names: list[str]) -> None:
    pool = fl.read_pool({"predicted": ["a", "b", "a"], "kind": values})
    groups = fl.by_column(pool, "kind")
    assert list(groups.names) == names
    shown = [str(v) if v is not None else "(missing)" for v in pool.column("kind").to_pylist()]
    assert _names(groups) == shown


def test_superclasses_follow_the_map_and_keep_empty_ones() -> None:
    pool = fl.read_pool({"predicted": ["oak", "man", "oak"]}, classes=["oak", "pine", "man", "shark"])
    groups = fl.by_map(pool, {"pine": "trees", "oak": "trees", "man": "people", "shark": "fish"})
    assert groups.names == ("trees", "people", "fish")
    assert groups.sizes.tolist() == [2, 1, 0]
    with pytest.raises(InputError, match=r"no group for the class 'man' and 1 more.*Every class needs one"):
        fl.by_map(pool, {"pine": "trees", "oak": "trees"})


def test_a_cross_has_the_combinations_that_occur() -> None:
    pool = fl.read_pool({"predicted": ["a", "b", "a"], "sex": ["f", "m", "m"]}, classes=["a", "b", "c"])
    sex, predicted = fl.by_column(pool, "sex"), fl.by_predicted(pool)
    assert _names(fl.cross(sex, predicted)) == ["f × a", "m × b", "m × a"]
    assert (fl.cross(sex, predicted).sizes > 0).all()
    assert fl.cross(sex, fl.by_column(pool, "sex")).words == "by columns 'sex' × 'sex'"
    assert repr(fl.cross(sex, predicted)) == "<Partition: 3 groups by column 'sex' × by predicted class>"
    with pytest.raises(InputError, match="two partitions or more"):
        fl.cross(sex)
    with pytest.raises(InputError, match="different numbers of items"):
        fl.cross(sex, fl.whole(zoo().pool))


def test_a_cross_of_many_columns_with_many_values_keeps_them_apart() -> None:
    rng = np.random.default_rng(5)
    values = {f"c{k}": rng.integers(0, 256, 600) for k in range(9)}  # 256⁹ combinations are more than 64 bits
    pool = fl.read_pool({"predicted": ["a", "b"] * 300, **values})
    crossed = fl.cross(*(fl.by_column(pool, name) for name in values))
    rows = zip(*(column.tolist() for column in values.values()), strict=True)
    assert _names(crossed) == [" × ".join(map(str, row)) for row in rows]
    assert list(crossed.names) == [" × ".join(map(str, row)) for row in sorted(zip(*values.values(), strict=True))]


def test_two_groups_of_one_name_are_found_quickly_among_many() -> None:
    start = time.perf_counter()
    with pytest.raises(InputError, match="two groups have the name 'again'"):
        fl.Partition((*map(str, range(50_000)), "again", "again"), np.zeros(1, np.int32), {"by": "whole"})
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("score:999999999999", "The 'bins' of by_score.. must be at most 1,000,000. Got 999999999999 instead."),
        ("weight:1000001", "must be at most 1,000,000"),
        ("score:" + "9" * 5000, "needs a whole number, as in groups='score:10'"),
        ("column:age:" + "9" * 5000, "does not say which bins of 'age' to make"),
    ],
    ids=["score", "weight", "digits", "column"],
)
def test_more_bins_than_can_be_are_refused_before_memory_is_taken(name: str, why: str) -> None:
    pool = fl.read_pool({"predicted": ["a", "b"], "confidence": [0.8, 0.9], "age": [3, 4]})
    with pytest.raises((InputError, SpecError), match=why):
        fl.create(None, "x", pool, name)


def test_more_bins_than_values_are_one_for_each_value() -> None:
    pool = fl.read_pool({"predicted": ["a", "b"] * 2, "age": [3, 4, 4, 9]})
    most = fl.by_column(pool, "age", 10**15)
    assert most.names == fl.by_column(pool, "age", 4).names
    assert most.sizes.tolist() == [1, 2, 1]


def test_what_cannot_be_grouped_is_refused() -> None:
    pool, bare = zoo().pool, zoo(scores=False).pool
    for bins in (0, -1, 2.5, True):
        with pytest.raises(InputError, match="whole number of at least 1"):
            fl.by_score(pool, bins)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'width' or 'weight'"):
        fl.by_score(pool, 5, "luck")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"no confidence.*Read it with scores= or confidence="):
        fl.by_score(bare)
    with pytest.raises(InputError, match=r"by_map\(\) takes a mapping from class to group\. Got \['a'\] instead"):
        fl.by_map(pool, ["a"])  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"no column 'age'\. It has 'place', 'text'"):
        fl.by_column(pool, "age")
    twice = fl.read_pool({"predicted": ["a", "b"], "kind": ["(missing)", None]})
    with pytest.raises(InputError, match=r"two groups have the name '\(missing\)'"):
        fl.by_column(twice, "kind")


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_a_group_is_found_by_its_name(grouping: str) -> None:
    groups = GROUPINGS[grouping](zoo().pool)
    assert [groups.position(name) for name in groups.names] == list(range(len(groups)))
    with pytest.raises(InputError, match=r"there is no group 'yak'\. The groups are "):
        groups.position("yak")
