"""A pool of units and named items gives the numbers of the pool of all items, however many are named."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fewlabels as fl
from fewlabels.engines.columns import Columns
from fewlabels.io.tables import first_items, read_table
from fewlabels.learned.items.strips import Factors, strips
from fewlabels.outcomes import Outcomes
from fewlabels.reserve import BINS, EDGES, bin_of, keys_of
from tests.support.memory_table import MemoryTable, bin_of_one

if TYPE_CHECKING:
    from fewlabels.partition import Partition
    from fewlabels.pool import Pool

COLUMNS = Columns("id", "predicted", "confidence", keep=("place",))


def made(seed: int, items: int = 120, *, on_grid: bool = True, confidence: bool = True) -> dict[str, list[Any]]:
    """Items of three classes and two places; on a grid, all of a bin have the same confidence."""
    rng = np.random.default_rng(seed)
    s = rng.beta(4, 1, items)
    if on_grid:
        s = (EDGES[:-1] + EDGES[1:])[bin_of(s)] / 2
    predicted = [["ant", "bee", "cat"][k] for k in rng.choice(3, items, p=[0.6, 0.3, 0.1])]
    place = [[None, "north", "south"][k] for k in rng.choice(3, items, p=[0.1, 0.5, 0.4])]
    return {
        "id": [f"i{n}" for n in range(items)],
        "predicted": predicted,
        "place": place,
        **({"confidence": s.tolist()} if confidence else {}),
    }


def both(data: dict[str, list[Any]], named: int) -> tuple[Pool, Pool]:
    """The pool of all items, and that of units and some named ones."""
    columns = COLUMNS if "confidence" in data else Columns("id", "predicted", keep=("place",))
    return fl.read_pool(data), read_table(MemoryTable(**data), columns, named=named)


def groupings(pool: Pool) -> list[Partition]:
    """Every way to make groups."""
    by_place = fl.by_column(pool, "place")
    mapped = fl.by_map(pool, {"ant": "small", "bee": "small", "cat": "large"})
    ways = [fl.whole(pool), fl.by_predicted(pool), by_place, mapped, fl.cross(by_place, fl.by_predicted(pool))]
    if pool.confidence is not None:
        ways += [fl.by_score(pool, 10), fl.by_score(pool, 12), fl.by_score(pool, 4, equal="weight")]
    return ways


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([9, 30, 600]), st.booleans())
def test_sizes_and_beliefs_are_those_of_all_items(seed: int, named: int, confidence: bool) -> None:
    full, short = both(made(seed, confidence=confidence), named)
    assert len(short) == len(full)
    assert short.mean_confidence == pytest.approx(full.mean_confidence)
    if confidence:
        assert full.profile is not None
        np.testing.assert_allclose(short.profile, full.profile, atol=1e-9)
    ids = [item for item in short.ids.to_pylist() if item is not None]
    told = np.random.default_rng(seed).permutation(ids)[:40]
    true = np.random.default_rng(seed + 1).integers(0, 3, len(told)).astype(np.int32)
    for one, other in zip(groupings(full), groupings(short), strict=True):
        assert one.names == other.names or one.recipe.get("equal") == "weight"
        np.testing.assert_array_equal(one.sizes, other.sizes)
        for metric in (fl.Accuracy(), fl.Recall("ant"), *([fl.CalibrationError()] if confidence else [])):
            a, b = metric.cells(full, one), metric.cells(short, other)
            np.testing.assert_array_equal(a.size, b.size)
            for prior in (fl.Learned(), fl.Uniform()):
                first, second = (
                    prior.on(cells, "pool").belief(metric.outcomes(pool, cells, pool.positions(told), true))
                    for pool, cells in ((full, a), (short, b))
                )
                np.testing.assert_allclose(first.mean(), second.mean(), atol=1e-7)
                np.testing.assert_allclose(first.variance(), second.variance(), atol=1e-7)
                np.testing.assert_array_equal(first.left, second.left)


def test_confidences_within_a_bin_move_a_belief_little() -> None:
    full, short = both(made(3, 2_000, on_grid=False), 200)
    cells = [fl.Accuracy().cells(pool, fl.by_predicted(pool)) for pool in (full, short)]
    ids = [item for item in short.ids.to_pylist() if item is not None][:100]
    right = np.random.default_rng(0).random(100) < 0.8
    beliefs = []
    for pool, one in zip((full, short), cells, strict=True):
        items = pool.positions(ids)
        beliefs.append(fl.Learned().on(one, "population").belief(Outcomes.of(one, items, (~right).astype(np.int64))))
    # A bin is 1/240 wide: shares move by less than that.
    np.testing.assert_allclose(beliefs[0].mean(), beliefs[1].mean(), atol=1 / 240)


def test_naming_more_items_changes_no_number() -> None:
    data = made(5, 400)
    table = MemoryTable(**data)
    few = read_table(table, COLUMNS, named=18)
    more = first_items(few, table, np.arange(few.units), 100).added_to(few)
    assert more.rows > few.rows
    assert more.id_column[: few.rows].equals(few.id_column)
    assert more.fingerprint == few.fingerprint
    for one, other in zip(groupings(few), groupings(more), strict=True):
        np.testing.assert_array_equal(one.group, other.group[: few.rows])
        a, b = (
            fl.Learned().on(fl.Accuracy().cells(pool, groups), "pool").blank()
            for pool, groups in ((few, one), (more, other))
        )
        np.testing.assert_array_equal(a.mean(), b.mean())


def test_the_model_needs_little_memory_for_named_items() -> None:
    """They are like their units, so only their strips are looked up: a few numbers for each."""
    named, unit = 100_000, np.arange(100_000) % 1_000
    rng = np.random.default_rng(0)
    said, cell = rng.random(1_000), rng.integers(10, size=1_000).astype(np.int32)
    of_row = np.concatenate([np.arange(1_000), unit])
    levels = Factors([cell[of_row].astype(np.int64)])
    count = np.concatenate([np.full(1_000, 500), np.zeros(named, dtype=np.int64)])
    given_rows = said[of_row], cell[of_row], levels, None, count
    tracemalloc.start()
    try:
        found = strips(*given_rows)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(found.strip, found.strip[:1_000][of_row])
    units_alone = strips(said, cell, levels.of(slice(1_000)), None, count[:1_000])
    np.testing.assert_array_equal(units_alone.x, found.x)
    assert most < 60 * named, most


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([9, 40, 150]))
def test_a_queue_has_the_first_items_by_key(seed: int, named: int) -> None:
    """As far as it goes, the queue of a group is the order of md5 of all its items: none is left out."""
    data = made(seed, 150)
    full, short = both(data, named)
    assert short.reserve is not None
    keys = keys_of(full.ids.to_pylist(), 0)
    for one, other in zip(groupings(full), groupings(short), strict=True):
        order, starts = short.reserve.queue(other.group, len(other))
        for g in range(len(one)):
            if (one.recipe.get("equal") == "weight") or not one.sizes[g]:
                continue
            mine = np.flatnonzero(one.group == g)
            all_ids = full.id_column.take(mine[np.argsort(keys[mine])]).to_pylist()
            queued = short.id_column.take(order[starts[g] : starts[g + 1]]).to_pylist()
            assert queued == all_ids[: len(queued)]
            assert queued or one.recipe["by"] == "score"


@given(st.floats(0, 1))
def test_bins(s: float) -> None:
    (found,) = bin_of(np.array([s])).tolist()
    assert found == bin_of_one(s)
    assert 0 <= found < BINS
    assert EDGES[found] - 1e-12 <= s <= EDGES[found + 1] + 1e-12


def test_bins_of_round_numbers_are_those_of_score_bins() -> None:
    s = np.arange(1001) / 1000
    for bins in (10, 12, 15, 20):
        exact = np.minimum(np.floor(np.arange(1001) * bins / 1000 + 1e-9), bins - 1)
        np.testing.assert_array_equal(np.minimum(bin_of(s), 239) * bins // 240, exact)
