"""Columns as arrays, taken as they lie in memory, against Arrow's own slow way."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from fewlabels.arrow import column_of, missing_in, numbers_of, texts_at, texts_of

WORDS = ["", "a", "Zoë", "犬が好き", None, "\U0001f600!", "x" * 300, None, "ß"]


@pytest.mark.parametrize("part", [slice(None), slice(2, 8), slice(4, 5), slice(3, 3)], ids=str)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
@pytest.mark.parametrize("gaps", [True, False])
def test_texts(part, kind, gaps) -> None:
    array = pa.array(WORDS if gaps else [word or "" for word in WORDS], kind)[part]
    words = array.to_pylist()
    for column in (array, pa.chunked_array([array[:1], array[1:]], kind)):
        lengths, joined = texts_of(column)
        assert lengths.tolist() == [len(word or "") for word in words]
        assert joined.decode() == "".join(word or "" for word in words)
        assert missing_in(column).tolist() == [word is None for word in words]
    if not gaps:
        rows = np.arange(len(array))[::-1].copy()
        assert texts_at(array, rows) == words[::-1]


@pytest.mark.parametrize("kind", ["int8", "int32", "int64", "uint16", "float32", "float64"])
@pytest.mark.parametrize("part", [slice(None), slice(9, 20), slice(5, 5)], ids=str)
def test_numbers(kind, part) -> None:
    some = [None if i % 7 == 3 else i for i in range(40)]
    array = pa.array(some, getattr(pa, kind)())[part]
    assert missing_in(array).tolist() == [value is None for value in some[part]]
    found = numbers_of(pa.chunked_array([array[:2], array[2:]]))
    assert found.dtype == kind
    assert found.flags.writeable
    assert found.tolist() == [value or 0 for value in some[part]]
    again = column_of(found[::2])  # an array with gaps in memory
    assert again.type == array.type
    assert again.to_pylist() == found[::2].tolist()


def test_a_column_of_nothing_is_all_missing() -> None:
    assert missing_in(pa.nulls(3)).tolist() == [True] * 3
