"""Laws of reading: the same predictions are the same pool whatever they came in, in batches of any size."""

from __future__ import annotations

import csv
import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from pyarrow import feather, parquet

from fewlabels.io import read_pool, scores
from fewlabels.io.source import Source, table_source

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n", exclude_categories=["Cs"]), min_size=1)


@st.composite
def predictions(draw):
    """Columns of plain Python values: id, p_..., a text and two numbers, with some of them missing."""
    n, k = draw(st.integers(1, 12)), draw(st.integers(2, 5))
    weight = draw(npst.arrays(np.float64, (n, k), elements=st.floats(0.01, 1)))
    rows = st.lists
    some = {
        "text": draw(rows(st.one_of(st.none(), TEXT.map(lambda s: "t" + s)), min_size=n, max_size=n)),
        "count": draw(rows(st.one_of(st.none(), st.integers(-(2**53), 2**53)), min_size=n, max_size=n)),
        "size": draw(rows(st.one_of(st.none(), st.just(0.5), st.floats(-1e9, 1e9)), min_size=n, max_size=n)),
    }
    some["size"][0] = 0.5  # so that text can show that it is a column of fractions
    ids = draw(rows(TEXT, min_size=n, max_size=n, unique=True))
    share = weight / weight.sum(axis=1, keepdims=True)
    return {"id": ids, **{f"p_{j}.x": share[:, j].tolist() for j in range(k)}, **some}


def every_source(columns, folder):
    table = pa.table(columns)
    with (folder / "p.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    parquet.write_table(table, folder / "p.parquet", row_group_size=5)
    feather.write_feather(table, folder / "p.feather", chunksize=3)
    yield from (folder / "p.csv", folder / "p.parquet", folder / "p.feather", table)
    yield pl.DataFrame(columns, strict=False)
    yield pd.DataFrame({name: pd.Series(values) for name, values in columns.items()}).astype(
        {"count": "Int64", "size": "float64"}
    )
    yield columns


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(columns=predictions())
def test_every_source_gives_the_same_fingerprint(columns, tmp_path_factory):
    pools = [read_pool(source) for source in every_source(columns, tmp_path_factory.mktemp("p"))]
    assert len({pool.source for pool in pools}) == len(pools)
    assert {pool.differences(pools[0]) for pool in pools} == {""}
    assert len({pool.fingerprint for pool in pools}) == 1


@settings(max_examples=40, deadline=None)
@given(columns=predictions())
def test_an_array_and_a_mapping_of_it_are_the_same_pool(columns):
    matrix = np.array([values for name, values in columns.items() if name.startswith("p_")]).T
    pools = [read_pool(source) for source in (matrix, np.asfortranarray(matrix), matrix.tolist(), {"scores": matrix})]
    pools.append(read_pool({f"p_{k}": column for k, column in enumerate(matrix.T)}))
    assert len({pool.fingerprint for pool in pools}) == 1


@pytest.mark.parametrize("options", [{}, {"normalize": True}, {"logits": True}], ids=["as is", "normalize", "logits"])
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60), k=st.integers(2, 40), size=st.integers(1, 70))
def test_batches_of_any_size_give_the_same_pool(options, seed, n, k, size):
    matrix = np.random.default_rng(seed).dirichlet(np.full(k, 0.3), n)
    table = pa.table({f"p_{j}": pa.array(matrix[:, j]) for j in range(k)})
    pieces = pa.Table.from_batches(table.to_batches(max_chunksize=size))
    assert read_pool(pieces, **options).fingerprint == read_pool(table, **options).fingerprint
    assert read_pool(table, **options).fingerprint == read_pool(matrix, **options).fingerprint


def test_blocks_of_any_size_give_the_same_pool(monkeypatch):
    matrix = np.random.default_rng(3).dirichlet(np.ones(5), 3000)
    expected = read_pool(matrix)
    for block in (1, 5 * 700, 5 * 2999):
        monkeypatch.setattr(scores, "BLOCK", block)
        assert read_pool(matrix).fingerprint == expected.fingerprint


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 50), k=st.integers(2, 8))
def test_the_summary_is_what_the_textbook_says(seed, n, k):
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.full(k, 0.5), n)
    pool = read_pool(matrix)
    assert np.array_equal(pool.predicted, matrix.argmax(axis=1))
    assert np.array_equal(pool.confidence, matrix.max(axis=1))
    sums = np.array([matrix[matrix.argmax(axis=1) == j].sum(axis=0) for j in range(k)])
    # each score is rounded to the nearest multiple of 2^-32
    np.testing.assert_allclose(pool.score_sums, sums, rtol=0, atol=n * 2.0**-33 + 1e-12)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 50), k=st.integers(2, 8))
def test_permuting_classes_permutes_the_pool(seed, n, k):
    rng = np.random.default_rng(seed)
    matrix, order = rng.dirichlet(np.full(k, 0.5), n), rng.permutation(k)
    names = [f"c{j}" for j in range(k)]
    pool = read_pool(matrix, classes=names)
    other = read_pool(matrix[:, order], classes=[names[j] for j in order])
    assert [pool.classes[j] for j in pool.predicted] == [other.classes[j] for j in other.predicted]
    assert np.array_equal(pool.confidence, other.confidence)
    assert np.array_equal(pool.score_sums[np.ix_(order, order)], other.score_sums)


def test_rows_in_another_order_give_the_same_sums():
    rng = np.random.default_rng(5)
    matrix = rng.dirichlet(np.ones(7), 1000)
    assert np.array_equal(read_pool(matrix).score_sums, read_pool(rng.permutation(matrix)).score_sums)


def test_scores_are_never_read_whole(monkeypatch):
    """Reading 400,000 × 5 scores in blocks: no batch of scores is larger than a block."""
    matrix = np.full((400_000, 5), 0.2, dtype=np.float32)
    table = pa.table({f"p_{j}": pa.array(matrix[:, j]) for j in range(5)})
    monkeypatch.setattr(scores, "BLOCK", 100_000)
    sizes = []
    original = Source.batches

    def recorded(self, *given, **named):
        for batch in original(self, *given, **named):
            sizes.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(Source, "batches", recorded)
    monkeypatch.setattr(Source, "table", None)
    assert len(read_pool(table)) == sum(sizes)
    assert max(sizes) == 20_000


def test_a_source_that_changes_between_passes_is_noticed(monkeypatch):
    source = table_source("p.parquet", pa.table({"id": ["a", "b"], "p_a": [1.0, 0.0], "p_b": [0.0, 1.0]}))
    reads = iter([2, 1])

    def shrinking(columns, numbers):
        return [batch.slice(0, next(reads)) for batch in source.reader(columns, numbers)]

    monkeypatch.setattr(
        "fewlabels.io.predictions.open_source", lambda _, **__: dataclasses.replace(source, reader=shrinking)
    )
    with pytest.raises(ValueError, match=r"p.parquet changed while it was being read"):
        read_pool("p.parquet")
