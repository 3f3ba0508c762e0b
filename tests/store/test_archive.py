"""A packed pool is the same pool, and a damaged one is noticed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewlabels.errors import PoolChangedError
from fewlabels.pool import Pool
from fewlabels.store.archive import pack_pool, unpack_pool

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@st.composite
def pools(draw: st.DrawFn) -> Pool:
    ids = draw(st.lists(TEXT, unique=True, max_size=12))
    classes = draw(st.lists(TEXT, unique=True, min_size=2, max_size=4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, k = len(ids), len(classes)
    further: dict[str, Any] = {
        # Names of columns may be anything, those used inside the archive among them.
        "id": pa.array(rng.integers(0, 3, n)),
        "predicted": pa.array([None if i % 3 else f"é{i}" for i in range(n)], pa.string()),
        "kind": pa.array([["x", "y"][i % 2] for i in range(n)], pa.string()).dictionary_encode(),
    }
    scores = draw(st.booleans())
    return Pool(
        id_column=pa.array(ids, pa.string()),
        predicted=rng.integers(0, k, n).astype(np.int32),
        classes=tuple(classes),
        confidence=rng.random(n) if scores or draw(st.booleans()) else None,
        score_sums=rng.random((k, k)) if scores else None,
        columns=pa.table(further) if draw(st.booleans()) else None,
        content=draw(st.sampled_from([None, "kind"])),
        source=draw(TEXT),
    )


@given(pools())
def test_a_packed_pool_is_the_same_pool(pool: Pool) -> None:
    again = unpack_pool(pack_pool(pool))
    assert again.fingerprint == pool.fingerprint
    assert again.id_column.equals(pool.id_column)
    assert (again.classes, again.content, again.source) == (pool.classes, pool.content, pool.source)
    assert (again.columns is None) == (pool.columns is None)
    if pool.columns is not None and again.columns is not None:
        assert again.columns.equals(pool.columns)
    for name in ("predicted", "confidence", "score_sums"):
        before, after = getattr(pool, name), getattr(again, name)
        np.testing.assert_array_equal(after, before)
        assert after is None or (after.dtype == before.dtype and after.flags.writeable)


def test_pieces_of_a_table_are_put_together() -> None:
    whole = pa.table({"sex": ["f", "m", "f"]})
    pieces = pa.concat_tables([whole.slice(0, 1), whole.slice(1)])
    pool = Pool(pa.array(["a", "b", "c"]), np.zeros(3, np.int32), ("x", "y"), columns=pieces)
    assert unpack_pool(pack_pool(pool)).fingerprint == pool.fingerprint


@pytest.mark.parametrize("position", [0, 20, 60, 200, -1])
def test_one_wrong_byte_is_noticed(position: int) -> None:
    data = bytearray(pack_pool(Pool(pa.array(["a", "b"]), np.zeros(2, np.int32), ("x", "y"))))
    data[position] ^= 1
    with pytest.raises(PoolChangedError, match=r"damaged.*backup"):
        unpack_pool(bytes(data))


@pytest.mark.parametrize("kept", [0, 10, 40, 400])
def test_missing_bytes_are_noticed(kept: int) -> None:
    data = pack_pool(Pool(pa.array(["a", "b"]), np.zeros(2, np.int32), ("x", "y")))
    with pytest.raises(PoolChangedError, match="damaged"):
        unpack_pool(data[:kept])
