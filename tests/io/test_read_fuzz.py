"""Damaged and random files: a pool or an InputError, and never any other exception."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import feather, parquet

from fewlabels.errors import InputError
from fewlabels.io import read_pool
from fewlabels.pool import Pool

# Text that is nearly a file of predictions: the pieces that such files are made of, in any order.
WORDS = [
    "id",
    "predicted",
    "p_a",
    "p_b",
    "label",
    "0.5",
    "1",
    "0",
    "-1",
    "a",
    "b",
    "NA",
    "nan",
    "007",
    "0,5",
    "1e9",
    "é",
]
MARKS = st.sampled_from([*",;\t\n\r\"' \ufeff", "\r\n", '""'])
PIECES = st.one_of(st.sampled_from(WORDS), st.sampled_from(",\n"), MARKS)
BODY = st.lists(PIECES, max_size=40).map("".join)
HEADER = st.sampled_from(["", "predicted\n", "id,predicted\n", "id,p_a,p_b\n", "predicted;confidence\n", "p_a\tp_b\n"])


def read_or_refuse(path):
    try:
        pool = read_pool(path)
    except InputError as error:
        refusal = str(error)
    else:
        check(pool)
        return
    assert path.name in refusal


def check(pool):
    assert isinstance(pool, Pool)
    assert len(pool.fingerprint) == 64
    assert len(pool.ids) == len(set(pool.ids.to_pylist())) == len(pool.predicted) > 0
    assert pool.predicted.min() >= 0
    assert pool.predicted.max() < len(pool.classes)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(header=HEADER, body=BODY, encoding=st.sampled_from(["utf-8", "utf-8-sig", "latin-1", "utf-16"]))
@example(header='id,"pre', body="dicted", encoding="utf-8")
def test_text_that_is_nearly_csv(header, body, encoding, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    path.write_bytes((header + body).encode(encoding, errors="replace"))
    read_or_refuse(path)


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=60), suffix=st.sampled_from(["csv", "tsv", "jsonl", "npy", "npz", "parquet", "arrow"]))
def test_random_bytes(data, suffix, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / f"fuzz.{suffix}"
    path.write_bytes(data)
    read_or_refuse(path)


@pytest.fixture(scope="module")
def whole_files(tmp_path_factory):
    """The bytes of a sound file of each kind."""
    folder = tmp_path_factory.mktemp("whole")
    table = pa.table({"id": ["a", "b"], "p_a": [0.5, 1.0], "p_b": [0.5, 0.0], "n": [1, None]})
    parquet.write_table(table, folder / "p.parquet")
    feather.write_feather(table, folder / "p.feather")
    np.save(folder / "p.npy", np.full((3, 2), 0.5))
    np.savez(folder / "p.npz", scores=np.full((3, 2), 0.5))
    np.savez_compressed(folder / "q.npz", scores=np.full((3, 2), 0.5))
    (folder / "p.csv.gz").write_bytes(gzip.compress(b"id,p_a,p_b\n1,0.5,0.5\n2,1,0\n" * 1))
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["p.parquet", "p.feather", "p.npy", "p.npz", "q.npz", "p.csv.gz"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_files_cut_short(name, data, whole_files, tmp_path_factory):
    sound = whole_files[name]
    path = tmp_path_factory.getbasetemp() / f"short-{name}"
    path.write_bytes(sound)
    check(read_pool(path))
    path.write_bytes(sound[: data.draw(st.integers(0, len(sound) - 1))])
    with pytest.raises(InputError, match=path.name):
        read_pool(path)
