"""The pool: fingerprint, differences, positions and profile."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewlabels.errors import InputError, LabelError
from fewlabels.io import read_pool
from fewlabels.pool import Pool


def example() -> Pool:
    return Pool(
        id_column=pa.array(["a", "b", "c"]),
        predicted=np.array([0, 1, 1], np.int32),
        classes=("cat", "dog", "eel"),
        confidence=np.array([0.75, 0.5, 0.625]),
        score_sums=np.array([[0.75, 0.25, 0], [0.5, 1.125, 0.375], [0, 0, 0]]),
        columns=pa.table({"n": [1, None, 3], "text": ["x", "", None], "path": ["1.png", "2.png", "3.png"]}),
        content="path",
        source="an example",
    )


def with_column(name, values):
    columns = example().columns
    return columns.set_column(columns.column_names.index(name), name, values)


CHANGES = {
    "id_column": (pa.array(["a", "b", "d"]), "1 items gone and 1 new"),
    "id_column order": (pa.array(["b", "a", "c"]), "the same items in another order"),
    "predicted": (np.array([0, 1, 2], np.int32), "1 of 3 predictions changed"),
    "classes": (("cat", "eel", "dog"), "3 classes before, 3 now, or other names or another order"),
    "confidence": (np.array([0.75, 0.5, 0.6]), "confidences changed"),
    "confidence none": (None, "confidences changed"),
    "score_sums": (np.eye(3), "scores changed"),
    "score_sums none": (None, "scores changed"),
    "columns value": (with_column("n", [[2, None, 3]]), "the further columns changed"),
    "columns missing": (with_column("n", [[1, 0, 3]]), "the further columns changed"),
    "columns boundary": (with_column("text", [["", "x", None]]), "the further columns changed"),
    "columns empty": (with_column("text", [["x", None, None]]), "the further columns changed"),
    "columns kind": (with_column("n", [["1", None, "3"]]), "the further columns changed"),
    "columns name": (example().columns.rename_columns(["m", "text", "path"]), "the further columns changed"),
    "columns none": (None, "the further columns changed"),
    "content": ("text", "the further columns changed"),
}


@pytest.mark.parametrize(("field", "change"), CHANGES.items(), ids=CHANGES.keys())
def test_every_change_changes_the_fingerprint_and_is_put_in_words(field, change):
    pool, (value, words) = example(), change
    other = dataclasses.replace(pool, **{field.split()[0]: value})
    assert pool.fingerprint != other.fingerprint
    assert pool.differences(other) == words
    assert pool.differences(example()) == ""


def test_the_fingerprint_is_the_same_in_every_version():
    """A stored assessment must still know its pool after an upgrade: change this number only on purpose."""
    assert example().fingerprint == "76d33f0e096aa833ce0ad07a0460e30a32b3af28648e573c76c3ffde190cdadc"


def test_the_source_is_no_part_of_the_fingerprint():
    assert dataclasses.replace(example(), source="elsewhere").fingerprint == example().fingerprint


@settings(max_examples=50, deadline=None)
@given(cuts=st.lists(st.integers(0, 40), max_size=4), seed=st.integers(0, 2**32 - 1))
def test_the_fingerprint_does_not_depend_on_chunks_or_layout(cuts, seed):
    rng = np.random.default_rng(seed)
    words = [None if rng.random() < 0.2 else "wörd"[: rng.integers(5)] for _ in range(40)]
    numbers = pa.array(rng.integers(-9, 9, 40), mask=rng.random(40) < 0.2)
    shares = pa.array(rng.random(40), mask=rng.random(40) < 0.2)  # what lies under a mask must not matter
    whole = pa.table({"w": words, "n": numbers, "s": shares, "f": pa.array(rng.random(40) < 0.5)})
    edges = sorted({0, *cuts, 40})
    parts = [whole.slice(a, b - a) for a, b in pairwise(edges)]
    plain = pa.table({name: whole[name].to_pylist() for name in whole.column_names})
    other = plain.set_column(0, "w", plain["w"].cast(pa.large_string()))
    pool = dataclasses.replace(example(), content=None)
    prints = {
        dataclasses.replace(pool, columns=columns).fingerprint
        for columns in (whole, pa.concat_tables(parts), plain, other, whole.select(["s", "f", "w", "n"]))
    }
    assert len(prints) == 1
    sliced = pa.array(["zero", "a", "b", "c"])[1:]
    assert dataclasses.replace(example(), id_column=sliced).fingerprint == example().fingerprint


def test_positions_and_what_they_refuse():
    pool = example()
    assert pool.positions(["c", "a", "c"]).tolist() == [2, 0, 2]
    assert pool.class_positions(["eel", "cat"]).tolist() == [2, 0]
    assert pool.positions([]).dtype == np.int64
    with pytest.raises(LabelError, match=r"unknown item 'z': .*an example.*such as 'a'"):
        pool.positions(["a", "z"])
    with pytest.raises(LabelError, match=r"unknown items 'y', 'z'"):
        pool.positions(["y", "z"])
    with pytest.raises(LabelError, match=r"unknown class 'Cat'.*'cat', 'dog', 'eel'\."):
        pool.class_positions(["Cat"])
    with pytest.raises(LabelError, match=r"2 more"):
        pool.class_positions([str(k) for k in range(10)])


def test_columns_by_name():
    assert example().column("n").to_pylist() == [1, None, 3]
    with pytest.raises(InputError, match=r"an example.*no column 'sex'.*'n', 'text', 'path'"):
        example().column("sex")
    with pytest.raises(InputError, match=r"no further columns"):
        dataclasses.replace(example(), columns=None).column("sex")


def test_profile_from_scores_confidence_or_nothing():
    pool = example()
    expected = [[0.75, 0.25, 0], [0.25, 0.5625, 0.1875], [1 / 3, 1 / 3, 1 / 3]]
    np.testing.assert_allclose(pool.profile, expected, rtol=1e-15)
    by_confidence = dataclasses.replace(pool, score_sums=None)
    expected = [[0.75, 0.125, 0.125], [0.21875, 0.5625, 0.21875], [1 / 3, 1 / 3, 1 / 3]]
    np.testing.assert_allclose(by_confidence.profile, expected, rtol=1e-15)
    assert dataclasses.replace(by_confidence, confidence=None).profile is None


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 9), digits=st.integers(3, 8))
def test_profile_rows_sum_to_one_even_if_scores_are_rounded(seed, k, digits):
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.ones(k), 20).round(digits)
    predicted = matrix.argmax(axis=1).astype(np.int32)
    sums = np.array([matrix[predicted == j].sum(axis=0) for j in range(k)])
    names = tuple(f"c{j}" for j in range(k))
    ids = pa.array([str(i) for i in range(20)])
    for pool in (Pool(ids, predicted, names, None, sums), Pool(ids, predicted, names, matrix.max(axis=1))):
        np.testing.assert_allclose(pool.profile.sum(axis=1), 1, rtol=1e-14)
        assert (pool.profile >= 0).all()


@pytest.mark.parametrize(
    ("parts", "words"),
    [({}, "scores"), ({"score_sums": None}, "confidence"), ({"score_sums": None, "confidence": None}, "predictions")],
)
def test_it_prints_what_it_has(parts, words):
    pool = dataclasses.replace(example(), **parts)
    assert repr(pool) == f"<Pool: 3 items, 3 classes, {words}, from an example>"
    assert len(pool) == 3


def test_unknown_labels_get_a_hint():
    pool = read_pool({"id": ["007", "012"], "predicted": ["seven", "two"]})
    with pytest.raises(LabelError, match=r"'7'.*Nothing was changed.*'007': did a spreadsheet drop the zeros"):
        pool.positions(["7"])
    with pytest.raises(LabelError, match=r"Nothing was changed.*Did you mean 'seven'.*classes="):
        pool.class_positions(["sevn"])


def test_ids_are_texts() -> None:
    """A dict of ids is what people make first; the values of an Arrow column would be found in none."""
    pool = read_pool({"id": [7, 8, 9], "predicted": ["cat", "dog", "cat"]})
    labels = dict(zip(pool.ids, ["dog", "dog", "cat"], strict=True))
    assert (labels["8"], pool.ids[-1], pool.ids[np.int64(1)], "7" in pool.ids) == ("dog", "9", "8", True)
    assert list(pool.ids[1:]) == pool.ids[1:].to_pylist() == ["8", "9"]
    assert repr(pool.ids) == "<Ids: 3 items: '7', '8', '9'>"
