"""read_pool: which columns it takes, and what it makes of them."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import fewlabels as fl
from fewlabels.errors import InputError
from fewlabels.io import read_labels, read_pool
from fewlabels.io.cards import with_card


def csv(folder, text, name="p.csv", encoding="utf-8"):
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def test_scores_by_pattern_give_predicted_confidence_and_sums(tmp_path):
    pool = read_pool(csv(tmp_path, "img,p_cat,p_dog,sex\na,0.75,0.25,f\nb,0.5,0.5,m\nc,0.25,0.75,\n"), id="img")
    assert pool.ids.to_pylist() == ["a", "b", "c"]
    assert pool.classes == ("cat", "dog")
    assert pool.predicted.tolist() == [0, 0, 1]  # of equal scores the first class
    assert pool.confidence.tolist() == [0.75, 0.5, 0.75]
    assert pool.score_sums.tolist() == [[1.25, 0.75], [0.25, 0.75]]
    assert pool.column("sex").to_pylist() == ["f", "m", None]
    assert pool.predicted.dtype == np.int32
    assert pool.source.endswith("p.csv")


def test_scores_by_list_are_named_by_their_columns_or_by_classes():
    frame = pd.DataFrame({"x": [0.9], "cat": [0.2], "dog": [0.8]})
    assert read_pool(frame, scores=["dog", "cat"]).classes == ("dog", "cat")
    named = read_pool(frame, scores=["dog", "cat"], classes=["hond", "kat"])
    assert (named.classes, named.predicted.tolist()) == (("hond", "kat"), [0])
    assert named.column("x").to_pylist() == [0.9]


@pytest.mark.parametrize(
    ("classes", "predicted"),
    [(["dog", "cat"], 0), (["cat", "dog"], 1), (None, 1)],
    ids=["other order", "same order", "not given"],
)
def test_classes_order_the_columns_of_a_pattern(classes, predicted):
    pool = read_pool({"p_cat": [0.2], "p_dog": [0.8]}, scores="p_*", classes=classes)
    assert pool.predicted.tolist() == [predicted]
    assert pool.classes[predicted] == "dog"


def test_numbered_score_columns_are_named_in_the_order_of_their_numbers():
    columns = {f"logit_{k}": [float(k == 10)] for k in (10, 9, *range(9))}
    pool = read_pool(columns, scores="logit_*", classes=[f"c{k}" for k in range(11)], logits=True)
    assert pool.classes[pool.predicted[0]] == "c10"


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float32(), 2)])
def test_a_column_of_vectors(kind, tmp_path):
    table = pa.table({"id": ["a", "b"], "probs": pa.array([[0.75, 0.25], [0.125, 0.875]], kind)})
    parquet.write_table(table, tmp_path / "v.parquet")
    for source in (table, tmp_path / "v.parquet"):
        pool = read_pool(source, scores="probs", classes=["cat", "dog"])
        assert pool.predicted.tolist() == [0, 1]
        assert pool.confidence.tolist() == [0.75, 0.875]
        assert pool.columns is None


def test_predicted_beside_scores_wins_over_the_largest_score():
    pool = read_pool({"p_a": [0.6, 0.7], "p_b": [0.4, 0.3], "out": ["b", "a"]}, scores="p_*", predicted="out")
    assert pool.predicted.tolist() == [1, 0]
    assert pool.confidence.tolist() == [0.4, 0.7]
    np.testing.assert_allclose(pool.score_sums, [[0.7, 0.3], [0.6, 0.4]], atol=1e-9)


@pytest.mark.parametrize(
    ("values", "classes", "names", "positions"),
    [
        (["b", "a"], None, ("a", "b"), [1, 0]),
        ([10, 9, 10], None, ("9", "10"), [1, 0, 1]),
        ([1, 0], ["cat", "dog"], ("cat", "dog"), [1, 0]),
        (["1", "0"], ["cat", "dog"], ("cat", "dog"), [1, 0]),
        ([1, 2], [1, 2, 3], ("1", "2", "3"), [0, 1]),
        ([2.0, 1.0], None, ("1", "2"), [1, 0]),
        ([1, 0], ["00", "01", "02"], ("00", "01", "02"), [1, 0]),
        ([True, False], None, ("False", "True"), [1, 0]),
        (["dog", "dog"], ["cat", "dog"], ("cat", "dog"), [1, 1]),
    ],
)
def test_predicted_values_are_names_or_positions(values, classes, names, positions, tmp_path):
    path = tmp_path / "p.csv"
    pd.DataFrame({"predicted": values}).to_csv(path, index=False)
    for source in ({"predicted": values}, path) if values != [2.0, 1.0] else ({"predicted": values},):
        pool = read_pool(source, classes=classes)
        assert pool.classes == names
        assert pool.predicted.tolist() == positions


def test_npz_by_its_usual_keys(tmp_path):
    path = tmp_path / "p.npz"
    np.savez(
        path,
        scores=np.array([[0.25, 0.75], [1, 0]], np.float32),
        classes=np.array(["cat", "dog"]),
        embedding=np.zeros((2, 5)),
        size=np.array([3, 4]),
        version=np.array(1),
        other=np.arange(7),
    )
    pool = read_pool(path)
    assert (pool.classes, pool.predicted.tolist()) == (("cat", "dog"), [1, 0])
    assert pool.columns.column_names == ["size"]
    np.savez(path, predicted=[1, 0], confidence=[0.5, 0.75], classes=["cat", "dog"], id=["x", "y"])
    pool = read_pool(path)
    assert (pool.ids.to_pylist(), pool.predicted.tolist(), pool.score_sums) == (["x", "y"], [1, 0], None)


def test_npy_jsonl_feather_and_gzip(tmp_path):
    scores = np.array([[0.25, 0.75], [1, 0]])
    np.save(tmp_path / "p.npy", np.asfortranarray(scores))
    table = pa.table({"p_0": pa.array(scores[:, 0]), "p_1": pa.array(scores[:, 1])})
    feather.write_feather(table, tmp_path / "p.feather")
    with pa.ipc.new_stream(str(tmp_path / "p.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=1)
    (tmp_path / "p.csv.gz").write_bytes(gzip.compress(b"p_0\tp_1\n0.25\t0.75\n1\t0\n"))
    (tmp_path / "p.jsonl").write_text('{"p_0": 0.25, "p_1": 0.75}\n\n{"p_1": 0, "p_0": 1}\n')
    expected = read_pool(scores).fingerprint
    for name in ("p.npy", "p.feather", "p.arrow", "p.csv.gz", "p.jsonl"):
        assert read_pool(tmp_path / name).fingerprint == expected, name


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("id,p_a,p_b,note\n007,0.5,0.5,x\n", "utf-8"),
        ("id;p_a;p_b;note\r\n007;0.5;0.5;x\r\n", "utf-8-sig"),
        ("id\tp_a\tp_b\tnote\n007\t 0.5\t0.5\tx\n\n", "utf-8"),
        ('"id","p_a","p_b","note"\n"007","0.5","0.5","x"', "utf-8"),
    ],
)
def test_delimiters_byte_order_mark_and_leading_zeros(tmp_path, text, encoding):
    pool = read_pool(csv(tmp_path, text, encoding=encoding))
    assert pool.ids.to_pylist() == ["007"]
    assert pool.classes == ("a", "b")
    assert pool.column("note").to_pylist() == ["x"]


def test_csv_columns_get_the_type_that_all_values_have(tmp_path):
    rows = "predicted,n,x,zip,flag,mixed,empty\na,1,1,01,True,1,\nb,,2.5,02,False,z,\n"
    columns = read_pool(csv(tmp_path, rows)).columns
    types = {name: str(columns[name].type) for name in columns.column_names}
    assert types == {
        "n": "int64", "x": "double", "zip": "string", "flag": "bool", "mixed": "string", "empty": "string",
    }  # fmt: skip
    assert columns["zip"].to_pylist() == ["01", "02"]


def test_a_number_that_is_none_is_missing_in_text_as_in_a_column_of_numbers(tmp_path):
    written = read_pool(csv(tmp_path, "predicted,x\na,0.5\nb,nan\nb,-1\n"))
    typed = read_pool({"predicted": ["a", "b", "b"], "x": np.array([0.5, np.nan, -1.0])})
    assert written.column("x").to_pylist() == typed.column("x").to_pylist() == [0.5, None, -1.0]
    assert written.fingerprint == typed.fingerprint


def test_quoted_text_with_delimiters_and_line_breaks(tmp_path):
    pool = read_pool(csv(tmp_path, 'predicted,text\na,"one, two\nthree"\nb,NA\n'), content="text")
    assert pool.column("text").to_pylist() == ["one, two\nthree", "NA"]


def test_labels_and_lists_are_not_kept_and_content_is():
    data = {"id": ["a", "b"], "predicted": ["x", "y"], "Label": ["x", "x"], "sex": ["f", "m"], "e": [[1], [2]]}
    assert read_pool(data).columns.column_names == ["sex"]
    assert read_pool(data, columns=[]).columns is None
    pool = read_pool(data, columns=[], content="id")
    assert (pool.content, pool.column("id").to_pylist()) == ("id", ["a", "b"])


def test_defaults_find_confidence_and_other_prefixes():
    assert read_pool({"predicted": ["a", "b"], "confidence": [0.5, 1]}).confidence.tolist() == [0.5, 1]
    assert read_pool({"predicted": ["a", "b"], "p_a": [0.5, 1]}).confidence is None
    assert read_pool({"prob_a": [0.5, 1], "prob_b": [0.5, 0]}).classes == ("a", "b")


@pytest.mark.parametrize("scale", [1, 100, 7])
def test_normalize_divides_by_the_sum(scale):
    scores = np.array([[0.75, 0.25], [0.5, 0.5]])
    pool = read_pool(scores * scale, normalize=True)
    np.testing.assert_allclose(pool.confidence, [0.75, 0.5], rtol=1e-15)


def test_logits_are_turned_into_probabilities_without_overflow():
    logits = np.array([[1000.0, 999.0], [-5.0, 0.0]])
    pool = read_pool(logits, logits=True)
    np.testing.assert_allclose(pool.confidence, [1 / (1 + np.exp(-1)), 1 / (1 + np.exp(-5))], rtol=1e-12)


def test_rounded_scores_are_fine_and_stay_as_they_are():
    pool = read_pool([[0.333, 0.333, 0.333], [0.9995, 0.0, 0.0]])
    assert pool.confidence.tolist() == [0.333, 0.9995]
    assert read_pool(np.array([[1.0 + 5e-7, -5e-7]])).confidence.tolist() == [1.0]


def test_class_names_with_dots_and_prefixes_of_each_other(tmp_path):
    table = pa.table({"p_a": [0.25], "p_a.b": [0.5], "p_a.b.c": [0.25]})
    parquet.write_table(table, tmp_path / "p.parquet")
    pool = read_pool(tmp_path / "p.parquet")
    assert pool.classes == ("a", "a.b", "a.b.c")
    assert pool.score_sums[1].tolist() == [0.25, 0.5, 0.25]


@pytest.mark.parametrize(
    ("frame", "ids"),
    [
        (pd.DataFrame({"predicted": ["a", "b"]}), ["0", "1"]),
        (pd.DataFrame({"predicted": ["a", "b"]}, index=["x", "y"]), ["x", "y"]),
        (pd.DataFrame({"predicted": ["a", "b"]}, index=["x", "y"]).rename_axis("ticket"), ["x", "y"]),
        (pd.DataFrame({"predicted": ["a", "b", "c"]}).iloc[1:], ["1", "2"]),
        (pd.DataFrame({"predicted": ["a", "b", "c"]})[::-1], ["2", "1", "0"]),
        (pd.DataFrame({"predicted": ["a", "b", "c"], "id": ["u", "v", "w"]}).iloc[1:], ["v", "w"]),
        (pd.DataFrame({"predicted": ["a", "b", "c"], "ticket_id": ["u", "v", "w"]}).iloc[1:], ["v", "w"]),
        (pd.DataFrame({"predicted": ["a", "b"]}, index=[7, 7]), ["0", "1"]),
        (pd.DataFrame({"predicted": ["a", "b"]}, index=[0.5, 1.5]), ["0", "1"]),
        (pd.DataFrame({"predicted": ["a", "b"], "index": [3, 3]}, index=[8, 9]), ["8", "9"]),
    ],
)
def test_the_index_of_a_pandas_frame_has_the_ids_if_it_tells_rows_apart(frame, ids):
    assert read_pool(frame).ids.to_pylist() == ids


def test_numbers_of_rows_are_no_column_even_if_they_have_a_name():
    frame = pd.DataFrame({"predicted": ["a", "b"]})
    assert read_pool(frame.rename_axis("row")).columns is None
    regions = read_pool(frame.set_axis(["north", "north"]).rename_axis("region"))
    assert regions.columns.column_names == ["region"]


@pytest.mark.parametrize("rows", [1, 2])
def test_reading_leaves_the_callers_arrays_alone(rows):
    scores = np.array([[2.0, 1.0], [0.0, 4.0]])[:rows]
    before = scores.copy()
    read_pool(scores, normalize=True)
    read_pool(scores, logits=True)
    with pytest.raises(InputError):
        read_pool(scores)
    assert np.array_equal(scores, before)


@pytest.mark.parametrize("name", ["id", "ID", "Id"])
def test_a_column_called_id_in_any_case_has_the_ids(name):
    assert read_pool({name: ["x", "y"], "predicted": ["a", "b"]}).ids.to_pylist() == ["x", "y"]
    assert read_labels(pd.DataFrame({name: ["x"], "Label": ["a"]})) == {"x": "a"}


def test_spaces_around_a_class_are_no_part_of_it():
    assert read_pool({"predicted": ["spam", " spam", "ham", "spam "]}).classes == ("ham", "spam")
    named = read_pool({"predicted": ["spam", " spam", "ham"]}, classes=["spam", "ham "])
    assert (named.classes, named.predicted.tolist()) == (("spam", "ham"), [0, 0, 1])
    with pytest.raises(InputError, match=r"the class 'spam' is in the list of classes twice"):
        read_pool({"predicted": ["spam", " spam", "ham"]}, classes=["spam", " spam", "ham"])


def test_a_column_that_is_called_an_id_has_the_ids_if_they_all_differ():
    columns = {"predicted": ["cat", "dog", "cat"], "applicant_id": [3, 1, 2], "customer_id": [7, 7, 8]}
    assert read_pool(columns).ids.to_pylist() == ["3", "1", "2"]
    del columns["applicant_id"]
    assert read_pool(columns).ids.to_pylist() == ["0", "1", "2"]


def test_a_list_of_records_is_read_by_their_names():
    records = [{"id": "a", "predicted": "cat"}, {"id": "b", "predicted": "dog", "site": "north"}]
    pool = read_pool(records)
    assert (pool.ids.to_pylist(), pool.classes) == (["a", "b"], ("cat", "dog"))
    assert pool.column("site").to_pylist() == [None, "north"]


def test_columns_may_be_divided_by_bars(tmp_path):
    path = tmp_path / "bars.csv"
    path.write_text("id|predicted|confidence\n1|a, b|0.5\n2|c|0.25\n")
    assert read_pool(path).classes == ("a, b", "c")


def test_classes_that_differ_only_in_case_are_two_if_they_are_named():
    columns = {"predicted": ["a", "A", "b"]}
    with pytest.raises(
        InputError, match=r"row 1, column 'predicted': 'a' differs|row 2, column 'predicted': 'A' differs"
    ):
        read_pool(columns)
    assert read_pool(columns, classes=["a", "A", "b"]).predicted.tolist() == [0, 1, 2]


@pytest.mark.parametrize("index", [[7, 5, 6], list("xyz")], ids=["numbers", "texts"])
def test_the_index_of_a_series_does_not_matter(index):
    answers, sure = (pd.Series(values, index=index) for values in (["a", "b", "a"], [0.9, 0.8, 0.7]))
    pool = read_pool({"predicted": answers, "confidence": sure})
    assert (pool.predicted.tolist(), pool.confidence.tolist()) == ([0, 1, 0], [0.9, 0.8, 0.7])


def test_a_single_value_is_no_column():
    with pytest.raises(InputError, match="no arrays with one value per item"):
        read_pool({"predicted": np.array("a")})


def test_columns_shown_together_are_not_called_like_another():
    pool = read_pool({"predicted": ["a", "b"], "x": ["1", "2"], "y": ["3", "4"], "x+y": ["5", "6"]})
    with pytest.raises(InputError, match=r"would be called 'x\+y', as another column is\. Rename that one"):
        with_card(pool, ["x", "y"])
    assert with_card(pool, ["y", "x"]).column("y+x").to_pylist() == ["y: 3\nx: 1", "y: 4\nx: 2"]


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["ant", "bee", "cow"])], ids=["categorical", "enum"])
def test_categories_of_polars_are_read_and_told(kind):
    """Arrow cannot decode their dictionaries, of the type string_view, by itself."""
    words = pl.Series(["bee", "ant", "bee"], dtype=kind)
    pool = read_pool(pl.DataFrame({"predicted": words, "kind": words}))
    assert pool.classes == ("ant", "bee")
    assert pool.column("kind").to_pylist() == ["bee", "ant", "bee"]
    labels = pl.DataFrame({"id": ["0", "2", "1"], "label": pl.Series(["ant", None, "bee"], dtype=kind)})
    assert fl.read_labels(labels) == {"0": "ant", "1": "bee"}


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical])
def test_a_long_frame_of_polars_has_a_row_for_each_item_and_model(tmp_path, kind):
    rows = {"id": ["x", "y"] * 2, "model": ["old", "old", "new", "new"], "predicted": ["ant", "bee", "ant", "ant"]}
    frame = pl.DataFrame(rows).with_columns(pl.col("model", "predicted").cast(kind))
    frame.write_ipc(tmp_path / "p.arrow")
    for source in (frame, tmp_path / "p.arrow"):
        pool = read_pool(source, models="model")
        assert pool.models == ("old", "new")
        assert pool.answers.tolist() == [[0, 0], [1, 0]]


def test_models_that_have_one_name_as_text_are_refused():
    rows = {"id": ["x", "y"], "predicted": ["ant", "bee"]}
    with pytest.raises(InputError, match="names that are the same as text"):
        read_pool({1: rows, "1": rows})


def test_columns_of_durations_are_left_out():
    """No group is made of them. They were taken for times outside the calendar."""
    frame = pd.DataFrame({"predicted": ["ant", "bee"], "took": pd.to_timedelta([1, 2], "s"), "site": ["a", "b"]})
    assert read_pool(frame).columns.column_names == ["site"]
    with pytest.raises(InputError, match=r"column 'took': the column holds duration.*only text, numbers and dates"):
        read_pool(frame, columns=["took"])


def test_a_sparse_frame_is_refused_in_words():
    frame = pd.DataFrame({"predicted": ["ant", "bee"], "confidence": pd.arrays.SparseArray([0.5, 0.6])})
    with pytest.raises(InputError, match=r"a pandas frame cannot be read: Sparse pandas data .* not supported\. Give"):
        read_pool(frame)


def test_classes_that_are_fractions_are_written_as_predictions_are():
    """A class 1.0 is the prediction 1.0, and not the one whose position in the list is 1."""
    numbers = np.array([0.0, 1.0, 1.0])
    pool = read_pool({"predicted": numbers}, classes=numbers[[1, 0]])
    assert pool.classes == ("1", "0")
    assert pool.predicted.tolist() == [1, 0, 0]
    assert read_pool({"predicted": numbers, "classes": numbers[[1, 0]]}).predicted.tolist() == [1, 0, 0]
    assert fl.create(None, "halves", pool).tell({"0": np.float32(1), "1": 0.0}, adopt=True) == 2


def test_texts_of_a_file_stay_as_they_are(tmp_path):
    (tmp_path / "p.csv").write_text("id,predicted\na,0.0\nb,1.0\n")
    assert read_pool(tmp_path / "p.csv", classes=[1.0, 0.0]).predicted.tolist() == [1, 0]


def test_classes_with_and_without_a_zero_are_the_same_in_all_files(tmp_path):
    """Pandas writes 1 as 1.0 where a column has a gap: models would differ on every item, and no label would fit."""
    (tmp_path / "old.csv").write_text("id,predicted\na,0.0\nb,1.0\nc,1.0\n")
    (tmp_path / "new.csv").write_text("id,predicted\na,0\nb,1\nc,0\n")
    (tmp_path / "labels.csv").write_text("id,label\na,0\nb,1.0\n")
    both = read_pool({"old": tmp_path / "old.csv", "new": tmp_path / "new.csv"})
    assert both.classes == ("0", "1")
    assert both.answers.tolist() == [[0, 0], [1, 1], [1, 0]]
    for name, classes in (("old.csv", ("0.0", "1.0")), ("new.csv", ("0", "1"))):
        audit = fl.create(None, "zeros", read_pool(tmp_path / name))
        assert audit.pool.classes == classes
        assert audit.tell(tmp_path / "labels.csv", adopt=True) == 2
        assert list(audit.labels().values()) == list(classes)


def test_two_classes_that_differ_by_a_zero_stay_two():
    pool = read_pool({"id": ["a", "b"], "predicted": ["1", "1.0"]})
    audit = fl.create(None, "zeros", pool)
    audit.tell({"a": "1.0", "b": "1"}, adopt=True)
    assert audit.labels() == {"a": "1.0", "b": "1"}


def test_what_a_masked_array_hides_is_missing():
    hidden = np.ma.masked_array([[0.5, 0.5], [0.1, 0.9]], mask=[[False, False], [True, False]])
    with pytest.raises(InputError, match=r"row 2, column 'scores.0.': the score is missing"):
        read_pool(hidden)
    words = np.ma.masked_array(["ant", "bee", "ant"], mask=[False, False, True])
    with pytest.raises(InputError, match="row 3, column 'predicted': the predicted class is missing"):
        read_pool({"predicted": words})


def test_scores_may_miss_a_sum_of_1_by_rounding_and_no_more() -> None:
    near = read_pool([[0.5, 0.509], [0.6, 0.391]])  # three digits of hundreds of classes are as far off
    assert near.confidence.tolist() == [0.509, 0.6]
    for row in ([0.5, 0.511], [0.5, 0.489]):
        with pytest.raises(InputError, match=f"the scores sum to {sum(row):.6g}, not to 1"):
            read_pool([row])


def test_a_confidence_beyond_1_by_rounding_is_1() -> None:
    pool = read_pool({"predicted": ["a", "b", "c"], "confidence": [1 + 5e-7, -5e-7, 0.5]})
    assert pool.confidence.tolist() == [1.0, 0.0, 0.5]
    with pytest.raises(InputError, match="the confidence is"):
        read_pool({"predicted": ["a", "b", "c"], "confidence": [1 + 5e-6, 0.1, 0.5]})
