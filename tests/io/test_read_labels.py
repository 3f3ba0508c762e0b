"""read_labels and write_rows: there and back, and what they refuse."""

from __future__ import annotations

import io
import json
from unicodedata import normalize

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import fewlabels as fl
from fewlabels.errors import InputError
from fewlabels.io import read_labels, write_rows

LABELS = {"007": "cat", "b": "dog", "ç, d": "NA"}


def test_every_source_of_labels(tmp_path):
    columns = {"id": ["007", "b", "x", "ç, d"], "label": ["cat", "dog", None, "NA"]}
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    for name in ("l.csv", "l.tsv", "l.jsonl"):
        write_rows(rows, tmp_path / name)
        assert read_labels(tmp_path / name) == LABELS, name
    parquet.write_table(pa.table(columns), tmp_path / "l.parquet")
    for source in (str(tmp_path / "l.parquet"), pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        assert read_labels(source) == LABELS
    assert read_labels(columns) == read_labels({**LABELS, "x": None, "y": "", "z": float("nan")}) == LABELS


def test_other_column_names_and_whole_numbers(tmp_path):
    frame = pd.DataFrame({"item": [1, 2, 3], "truth": [4, None, 5.0], "label": ["a", "b", "c"]})
    assert read_labels(frame, id="item", label="truth") == {"1": "4", "3": "5"}


def test_a_mapping_from_a_frame_with_gaps_is_read_as_the_frame():
    frame = pd.DataFrame({"id": [1.0, 2.0, 3.0], "label": [4, None, 5]})
    assert read_labels(frame.set_index("id")["label"].to_dict()) == read_labels(frame) == {"1": "4", "3": "5"}
    words = pd.Series(["cat", None], index=["a", "b"], dtype="string")
    assert read_labels(words.to_dict()) == {"a": "cat"}
    assert read_labels({"a": "cat", "b": pd.NA, "c": pd.NaT}) == {"a": "cat"}


def test_nothing_is_stripped(tmp_path):
    (tmp_path / "l.csv").write_text("id,label\n a ,cat \n")
    assert read_labels(tmp_path / "l.csv") == {" a ": "cat "}


def test_the_same_label_twice_is_fine():
    assert read_labels({"id": ["a", "a"], "label": ["x", "x"]}) == {"a": "x"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,label\na,x\nb,y\na,z\n", ["l.csv, row 3 (line 4)", "'label'", "'a'", "'z'", "'x'", "row 1", "Keep one"]),
        ("id,label\n,x\n", ["l.csv, row 1 (line 2)", "'id'", "'x'", "Fill it in"]),
        ("id,labl\na,x\n", ["l.csv", "'label'", "Did you mean 'labl'"]),
        ("item,label\na,x\n", ["l.csv", "no column 'id'", "'item', 'label'"]),
    ],
)
def test_bad_labels(tmp_path, text, words):
    (tmp_path / "l.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        read_labels(tmp_path / "l.csv")
    for word in words:
        assert word in str(caught.value)


def test_a_mapping_that_is_neither_columns_nor_labels():
    with pytest.raises(InputError, match=r"item 'ids': .*not a class name"):
        read_labels({"ids": ["a"], "label": ["x"]})


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1),
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1),
        min_size=1,
        max_size=8,
    )
)
def test_labels_survive_a_round_trip(tmp_path_factory, labels):
    folder = tmp_path_factory.mktemp("l")
    for name in ("l.csv", "l.tsv", "l.jsonl"):
        write_rows([{"id": item, "label": label} for item, label in labels.items()], folder / name)
        assert read_labels(folder / name) == labels, name


def test_rows_have_all_columns_in_the_order_of_appearance(tmp_path):
    rows: list[dict[str, object]] = [{"id": "a", "group": 1}, {"id": "b", "text": 'say "hi",\nplease'}]
    stream = io.StringIO()
    write_rows(rows, stream)
    assert stream.getvalue() == 'id,group,text\na,1,\nb,,"say ""hi"",\nplease"\n'
    stream = io.StringIO()
    write_rows(rows, stream, columns=["id", "text"], style="jsonl")
    assert [json.loads(line) for line in stream.getvalue().splitlines()] == [
        {"id": "a", "text": None},
        {"id": "b", "text": rows[1]["text"]},
    ]
    write_rows([], tmp_path / "none.csv", columns=["id", "label"])
    assert (tmp_path / "none.csv").read_text() == "id,label\n"


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    class Broken:
        def __str__(self):
            raise RuntimeError("no text")

    path = tmp_path / "batch.csv"
    write_rows([{"id": "a"}], path)
    with pytest.raises(RuntimeError):
        write_rows([{"id": "b"}, {"id": Broken()}], path)
    assert path.read_text() == "id\na\n"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "words"), [("b.xlsx", "End the name in .csv"), ("no/b.csv", "no such directory"), ("d.csv", "directory")]
)
def test_targets_that_cannot_be_written(tmp_path, name, words):
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(InputError, match=words):
        write_rows([{"id": "a"}], tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == ["d.csv"]


@pytest.mark.parametrize(("pool_has", "typed"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_accents_are_the_same_however_they_are_written(pool_has, typed):
    """Programs write é as one character or as two, and change that on the way: it is the same text to everybody."""
    ids, classes = ["café 1.png", "naïve.png", "plain.png"], ["Zürich", "Ålesund"]
    columns = {
        "id": [normalize(pool_has, item) for item in ids],
        "predicted": [normalize(pool_has, classes[i % 2]) for i in range(3)],
    }
    audit = fl.create(None, "places", fl.read_pool(columns))
    told = {normalize(typed, item): normalize(typed, classes[1].upper()) for item in ids}
    assert audit.tell(told, adopt=True) == 3
    assert audit.labels() == dict.fromkeys(columns["id"], normalize(pool_has, classes[1]))


def test_two_items_that_differ_only_in_how_accents_are_written_stay_two():
    both = [normalize("NFC", "café"), normalize("NFD", "café")]
    audit = fl.create(None, "places", fl.read_pool({"id": both, "predicted": ["a", "b"]}))
    audit.tell(dict(zip(both, "ab", strict=True)), adopt=True)
    assert audit.labels() == dict(zip(both, "ab", strict=True))


def test_two_labels_under_ids_that_are_one_text_are_refused():
    """Neither is the one that is meant."""
    assert fl.read_labels({"7": "cat", 7: "cat"}) == {"7": "cat"}
    with pytest.raises(fl.InputError, match="'7' is labelled 'dog' and 'cat', under ids that are the same as text"):
        fl.read_labels({"7": "cat", 7.0: "dog"})
