"""Bad input: one error that names the file, the row, the column and the fix."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from fewlabels.errors import InputError
from fewlabels.io import read_pool

HEAD = "id,p_a,p_b\n1,0.5,0.5\n"
PREDICTED = "id,predicted,confidence\n1,a,0.5\n2,b,0.5\n"

BAD_CSV = {
    "missing id": (HEAD + ",1,0\n", {}, ["row 2 (line 3)", "'id'", "missing", "fill it in"]),
    "duplicate id": (HEAD + "2,1,0\n1,1,0\n", {}, ["row 3 (line 4)", "'id'", "'1'", "row 1", "change one"]),
    "empty score": (HEAD + "2,,1\n", {}, ["row 2 (line 3)", "'p_a'", "missing", "Fill it in"]),
    "NaN score": (HEAD + "2,1,nan\n", {}, ["row 2 (line 3)", "'p_b'", "missing", "Fill it in"]),
    "infinite score": (HEAD + "2,1,-inf\n", {}, ["row 2 (line 3)", "'p_b'", "-inf", "must be a number"]),
    "negative score": (HEAD + "2,1.1,-0.1\n", {}, ["row 2", "'p_a'", "1.1", "logits=True"]),
    "score over 1": (HEAD + "2,0,1.5\n", {}, ["row 2", "'p_b'", "1.5", "normalize=True"]),
    "percentages": (HEAD + "2,90,10\n", {}, ["row 2", "'p_a'", "percentages", "normalize=True"]),
    "sum": (HEAD + "2,0.5,0.4\n", {}, ["row 2 (line 3)", "'p_a' to 'p_b'", "0.9", "normalize=True", "logits=True"]),
    "zero row": (HEAD + "2,0,0\n", {"normalize": True}, ["row 2", "all scores are 0", "leave it out"]),
    "negative weight": (HEAD + "2,5,-1\n", {"normalize": True}, ["row 2", "'p_b'", "-1", "logits=True"]),
    "not a number": (HEAD + "2,oops,0\n", {}, ["row 2 (line 3)", "'p_a'", "'oops' is not a number", "Correct"]),
    "one decimal comma": (
        "id;p_a;p_b\n1;0.5;0.5\n2;0,5;0,5\n", {}, ["row 2 (line 3)", "'p_a'", "'0,5'", "Write 0.5"],
    ),
    "NA": (HEAD + "2,NA,1\n", {}, ["row 2 (line 3)", "'p_a'", "'NA' seems to stand for a missing", "Fill in"]),
    "ragged, short": (HEAD + "2,1\n", {}, ["row 2 (line 3)", "2 fields", "3 columns", "'p_b'", "Correct the row"]),
    "ragged, long": (HEAD + "2,1,0,x\n", {}, ["row 2 (line 3)", "4 fields", "3 columns", "double quotes"]),
    "line of a later row": (
        'id,p_a,p_b,text\n1,1,0,"two\nlines"\n\n2,1,1,x\n', {}, ["row 2 (line 5)", "'p_a' to 'p_b'", "sum to 2"],
    ),
    "columns named otherwise": (
        "Ticket ID,pred,conf,text\n1,a,60,x\n2,b,95,y\n", {},
        ["read_pool(..., id='Ticket ID', predicted='pred', confidence='conf', content='text', normalize=True)"],
    ),
    "missing predicted": (PREDICTED + "3,,0.5\n", {}, ["row 3 (line 4)", "'predicted'", "missing", "Fill it in"]),
    "several missing predicted": (
        PREDICTED + "3,,0.5\n4,a,1\n5,,1\n", {}, ["rows 3, 5 (lines 4, 6)", "count it as wrong with never_right=['']"],
    ),
    "many missing confidences": (
        PREDICTED + "".join(f"{i},a,\n" for i in range(3, 15)), {},
        ["rows 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 (lines 4, 5, 6, 7, 8, 9, 10, 11, 12, 13) and 2 more", "'(none)'"],
    ),
    "no confidence in words": (
        PREDICTED + "3,a,n/a\n4,b,?\n", {}, ["rows 3, 4 (lines 4, 5)", "'n/a' seems to stand for", "'(none)'"],
    ),
    "several missing scores": (HEAD + "2,,1\n3,1,0\n4,,0\n", {}, ["rows 2, 4 (lines 3, 5)", "'p_a'", "'(none)'"]),
    "several scores no numbers": (HEAD + "2,NA,1\n3,NA,0\n", {}, ["rows 2, 3 (lines 3, 4)", "'p_a'", "'(none)'"]),
    "some with percent signs": (
        "id,predicted,confidence\n1,a,74.6%\n2,b,0.746\n3,a,0.9\n", {},
        ["rows 2, 3 (lines 3, 4)", "'confidence'", "'0.746' has no percent sign", "one way, as 0.746 or as 74.6%"],
    ),
    "a percent sign far below": (
        PREDICTED + "".join(f"{i},a,0.5\n" for i in range(3, 150)) + "150,a,50%\n", {},
        ["row 150 (line 151)", "'50%' has a percent sign and others in the column have none"],
    ),
    "percent sign beyond 100": ("id,predicted,confidence\n1,a,74.6%\n2,b,174%\n", {}, ["row 2", "174%", "0% to 100%"]),
    "other case and a space": (
        "id,predicted\n1,billing\n2,billing\n3,Billing \n4,refund\n", {},
        ["row 3 (line 4)", "'Billing' differs from 'billing', which occurs 2×", "case or spaces", "classes="],
    ),
    "unknown class": (
        PREDICTED + "3,catt,0.5\n", {"classes": ["cat", "a", "b"]},
        ["row 3 (line 4)", "'predicted'", "'catt'", "Did you mean 'cat'", "classes="],
    ),
    "position too large": (
        "id,predicted\n1,0\n2,7\n", {"classes": ["cat", "dog"]}, ["row 2", "'predicted'", "7", "0 to 1", "classes="],
    ),
    "names are numbers": ("id,predicted\n1,0\n", {"classes": [1, 2]}, ["row 1", "'predicted'", "'0'", "classes="]),
    "predicted not a score column": (
        "p_a,p_b,out\n1,0,c\n", {"scores": "p_*", "predicted": "out"}, ["row 1", "'out'", "'c'", "classes="],
    ),
    "confidence in percent": (PREDICTED + "3,a,95\n", {}, ["row 3 (line 4)", "'confidence'", "95", "by 100"]),
    "confidence negative": (PREDICTED + "3,a,-1\n", {}, ["row 3 (line 4)", "'confidence'", "-1", "0 to 1"]),
    "confidence missing": (PREDICTED + "3,a,\n", {}, ["row 3 (line 4)", "'confidence'", "missing", "Fill it in"]),
    "confidence in words": (PREDICTED + "3,a,high\n", {}, ["row 3 (line 4)", "'confidence'", "'high'", "Correct"]),
    "one class": ("id,predicted\n1,a\n2,a\n", {}, ["'predicted'", "'a'", "classes="]),
    "one class in the list": (PREDICTED, {"classes": ["a"]}, ["1 class", "two or more"]),
    "a class twice": (PREDICTED, {"classes": ["a", "b", "a"]}, ["'a'", "twice", "rename"]),
    "one score column": (HEAD, {"scores": "p_a*"}, ["no column matches", "p_a*", "'p_b'"]),
    "pattern with one column": ("p_a,q\n1,2\n", {"scores": "p_*"}, ["one column only", "'p_a'", "1 - p"]),
    "scores is one plain column": (HEAD, {"scores": "p_a"}, ["'p_a'", "p_*"]),
    "classes unlike the pattern": (HEAD, {"scores": "p_*", "classes": ["a", "c"]}, ["'b'", "classes="]),
    "a class without a column": (HEAD, {"scores": "p_*", "classes": ["a", "b", "c"]}, ["class 'c'", "'p_a', 'p_b'"]),
    "too many names": (HEAD, {"scores": "p_*", "classes": ["x", "y", "z"]}, ["2 score columns", "3 names"]),
    "column missing": (HEAD, {"id": "idd"}, ["'idd'", "id=", "Did you mean 'id'", "'p_a'"]),
    "content missing": (HEAD, {"content": "text"}, ["'text'", "content=", "'p_a'"]),
    "content not blind": (PREDICTED, {"content": "predicted"}, ["'predicted'", "blind"]),
    "kept column missing": (HEAD, {"columns": ["sex"]}, ["'sex'", "columns="]),
    "nothing recognised": ("x,y\n1,2\n", {}, ["'x', 'y'", "scores='p_*'", "predicted="]),
    "confidence alone": ("x,y\n1,2\n", {"confidence": "y"}, ["'x', 'y'", "predicted="]),
    "column twice": ("p_a,p_a\n1,0\n", {}, ["two columns", "'p_a'", "Rename"]),
    "no rows": ("id,p_a,p_b\n", {}, ["no rows"]),
    "blank": ("\n\n", {}, ["empty"]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "options", "words"), BAD_CSV.values(), ids=BAD_CSV.keys())
def test_bad_csv(tmp_path, text, options, words):
    path = tmp_path / "predictions.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_pool(path, **options)
    for word in ["predictions.csv" if "blind" not in words else "content", *words]:
        assert word in str(caught.value)
    assert path.read_text() == text


BAD_BYTES = {
    "0 bytes": ("p.csv", b"", ["empty (0 bytes)"]),
    "0 bytes of Parquet": ("p.parquet", b"", ["empty (0 bytes)"]),
    "UTF-16": ("p.csv", "predicted\na\n".encode("utf-16"), ["line 1", "UTF-16", "UTF-8"]),
    "Latin-1 value": ("p.csv", "id,predicted\n1,a\n2,caf\xe9\n".encode("latin-1"), ["line 3", "caf\xe9", "UTF-8"]),
    "Latin-1 header": ("p.csv", "id,predict\xe9\n1,a\n".encode("latin-1"), ["line 1", "UTF-8"]),
    "Latin-1 JSON": ("p.jsonl", '{"predicted": "\xe9"}'.encode("latin-1"), ["line 1", "UTF-8"]),
    "broken JSON": ("p.jsonl", b'{"predicted": "a"}\n{"predicted": \n', ["line 2", "JSON object"]),
    "JSON list": ("p.jsonl", b"[1, 2]\n", ["line 1", "JSON object"]),
    "no Parquet": ("p.parquet", b"id,predicted\n1,a\n", [".parquet"]),
    "no Arrow": ("p.feather", b"id,predicted\n1,a\n", [".feather"]),
    "no npz": ("p.npz", b"id,predicted\n1,a\n", ["p.npz"]),
    "half a gzip": ("p.csv.gz", gzip.compress(b"predicted\na\nb\n" * 99)[:-20], ["unpacked", "complete"]),
    "no gzip": ("p.csv.gz", b"predicted\na\nb\n", ["unpacked", "complete"]),
    "unknown suffix": ("p.xls", b"PK", ["'.xls'", ".csv", ".parquet"]),
    "gzipped Parquet": ("p.parquet.gz", b"PK", ["'.gz'", ".parquet"]),
    "quote never closed": ("p.csv", b'predicted,x\na,"b\nb,c\n', ["p.csv"]),
}


@pytest.mark.parametrize(("name", "data", "words"), BAD_BYTES.values(), ids=BAD_BYTES.keys())
def test_bad_files(tmp_path, name, data, words):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_pool(tmp_path / name)
    for word in [name, *words]:
        assert word in str(caught.value)


def test_bad_paths(tmp_path):
    with pytest.raises(InputError, match=r"no file .*nothing.csv"):
        read_pool(tmp_path / "nothing.csv")
    with pytest.raises(InputError, match="there are no predictions"):
        read_pool(str(tmp_path))


OBJECTS = {
    "unequal columns": ({"predicted": ["a", "b"], "x": [1]}, {}, ["'x'", "1 row ", "'predicted'", "2"]),
    "mixed objects": ({"predicted": ["a", 1, object()]}, {}, ["'predicted'", "one type"]),
    "complex column": ({"predicted": ["a", "b"], "x": np.array([1j, 2])}, {}, ["'x'"]),
    "complex array": (np.array([[1j, 2]]), {}, ["complex128", "astype(float)"]),
    "object array": (np.array([[None, 2]], dtype=object), {}, ["object", "astype(float)"]),
    "array of text": ([["a", "b"]], {}, ["<U1", "astype(float)"]),
    "flags": (np.array([[True, False]]), {}, ["bool", "astype(float)"]),
    "one dimension": ([0.5, 0.5], {}, ["(2,)", "(items, classes)", "predicted"]),
    "ragged list": ([[0.5, 0.5], [1.0]], {}, ["row 2", "1 scores", "has 2"]),
    "nothing": ([], {}, ["empty"]),
    "one class": ([[1.0], [1.0]], {}, ["1 scores", "2 to"]),
    "row of an array": ([[0.5, 0.5], [0.5, np.nan]], {}, ["an array, row 2", "'scores[1]'", "missing"]),
    "ragged vectors": ({"scores": [[0.5, 0.5], [1.0]]}, {}, ["row 2", "'scores'", "1 scores, but 2"]),
    "missing vector": ({"scores": [[0.5, 0.5], None]}, {}, ["row 2", "'scores'", "0 scores, but 2"]),
    "wrong number of names": ([[0.5, 0.5]], {"classes": ["a", "b", "c"]}, ["row 1", "2 scores, but 3"]),
    "text as scores": (pd.DataFrame({"p_a": ["x"], "p_b": ["y"]}), {}, ["a pandas frame", "'p_a'", "not numbers"]),
    "missing in a frame": (
        pl.DataFrame({"p_a": [1, None], "p_b": [0.0, 1]}), {}, ["a Polars frame", "row 2", "'p_a'", "missing"],
    ),
    "no rows": (pa.table({"p_a": pa.array([], pa.float64())}), {}, ["an Arrow table", "no rows"]),
    "columns of one name": (
        pd.DataFrame([[0.5, 0.5]], columns=["p_a", "p_a"]), {}, ["a pandas frame", "name of its own"],
    ),
    "lazy frame": (pl.LazyFrame({"p_a": [1.0]}), {}, ["LazyFrame", ".collect()"]),
    "a number": (7, {}, ["int", "path"]),
    "fractions as ids": ({"id": [1.5, 2], "predicted": ["a", "b"]}, {}, ["row 1", "'id'", "1.5", "text"]),
    "both": ([[1.0, 0.0]], {"normalize": True, "logits": True}, ["normalize", "logits", "Drop one"]),
    "normalize without scores": ({"predicted": ["a", "b"]}, {"normalize": True}, ["scores="]),
    "scores and confidence": (
        {"p_a": [1.0], "p_b": [0.0]}, {"scores": "p_*", "confidence": "p_a"}, ["Leave out confidence="],
    ),
    "classes as one text": ([[1.0, 0.0]], {"classes": "ab"}, ["list of names", "'ab'"]),
    "columns as one text": ({"predicted": ["a", "b"], "x": [1, 2]}, {"columns": "x"}, ["columns=['x']"]),
    "bytes kept": ({"predicted": ["a", "b"], "x": [b"1", b"2"]}, {"columns": ["x"]}, ["'x'", "binary"]),
    "a list as id": ({"id": [[1], [2]], "predicted": ["a", "b"]}, {}, ["'id'", "text or whole numbers"]),
}  # fmt: skip


@pytest.mark.parametrize(("source", "options", "words"), OBJECTS.values(), ids=OBJECTS.keys())
def test_bad_objects(source, options, words):
    with pytest.raises(InputError) as caught:
        read_pool(source, **options)
    for word in words:
        assert word in str(caught.value)


def test_python_objects_in_npz_and_npy_are_refused_unread(tmp_path):
    np.save(tmp_path / "p.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "p.npz", scores=np.array([{}], dtype=object))
    for name in ("p.npy", "p.npz"):
        with pytest.raises(InputError, match=rf"{name}.*holds Python objects"):
            read_pool(tmp_path / name)


@pytest.mark.slow
def test_a_pattern_that_matches_a_million_columns_is_refused(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"p_{i}" for i in range(1_000_000)) + "\n1\n")
    with pytest.raises(InputError, match=r"wide.csv: scores='p_\*' gives 1,000,000 columns.* narrower"):
        read_pool(path, scores="p_*", any_size=True)


def test_bad_score_deep_in_a_parquet_file_is_named_by_its_row(tmp_path):
    scores = np.full((300_000, 2), 0.5)
    scores[234_567] = [0.7, 0.7]
    table = pa.table({"p_a": pa.array(scores[:, 0]), "p_b": pa.array(scores[:, 1])})
    parquet.write_table(table, tmp_path / "p.parquet", row_group_size=70_001)
    with pytest.raises(InputError, match=r"row 234,568, columns 'p_a' to 'p_b': the scores sum to 1.4"):
        read_pool(tmp_path / "p.parquet")
