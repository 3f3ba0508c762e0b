"""Pools of several models: files joined by id, a wide file, arrays; what one model lacks, and what cannot be joined."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import fewlabels as fl
from fewlabels.errors import InputError, LabelError
from fewlabels.io import read_pool
from fewlabels.pool import NO_ANSWER
from fewlabels.store.archive import pack_pool, unpack_pool

if TYPE_CHECKING:
    from pathlib import Path

OLD = "id,text,predicted,confidence\na,Hi,yes,0.9\nb,Bye,no,0.6\nc,Yo,yes,0.7\n"
NEW = "id,predicted,confidence\nc,no,0.8\na,yes,0.5\nd,maybe,0.4\n"


def files(folder, **texts):
    for name, text in texts.items():
        (folder / f"{name}.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    return {name: folder / f"{name}.csv" for name in texts}


def test_two_files_are_joined_by_id_whatever_their_order(tmp_path):
    pool = read_pool(files(tmp_path, old=OLD, new=NEW), content="text")
    assert pool.ids.to_pylist() == ["a", "b", "c", "d"]
    assert pool.models == ("old", "new")
    assert pool.choices == ("maybe", "no", "yes")
    assert pool.answers.tolist() == [[2, 2], [1, -1], [2, 1], [-1, 0]]
    assert pool.answers.dtype == np.int32
    np.testing.assert_array_equal(pool.confidences, [[0.9, 0.5], [0.6, np.nan], [0.7, 0.8], [np.nan, 0.4]])
    assert pool.column("text").to_pylist() == ["Hi", "Bye", "Yo", None]
    assert repr(pool).startswith("<Pool: 4 items, 2 models, 3 classes, confidence, from ")


def test_the_pool_of_one_model_is_an_ordinary_pool(tmp_path):
    pool = read_pool(files(tmp_path, old=OLD, new=NEW))
    new = pool.of("new")
    assert new.models == ()
    assert new.classes == ("maybe", "no", "yes", NO_ANSWER)
    assert [new.classes[k] for k in new.predicted] == ["yes", NO_ANSWER, "no", "maybe"]
    assert new.confidence.tolist() == [0.5, 0, 0.8, 0.4]
    assert new.answers.tolist() == [[2], [-1], [1], [0]]
    assert pool.predicted.tolist() == pool.of("old").predicted.tolist()  # where one is needed, the first is meant
    with pytest.raises(InputError, match=r"no model 'nwe'. Did you mean 'new'\? It has 'old', 'new'"):
        pool.of("nwe")
    with pytest.raises(InputError, match="one model without a name"):
        new.of("new")


def test_one_model_alone_has_answers_too():
    pool = read_pool({"predicted": ["a", "b"], "confidence": [0.5, 1]})
    assert (pool.models, pool.answers.tolist(), pool.confidences.tolist()) == ((), [[0], [1]], [[0.5], [1]])
    assert read_pool({"predicted": ["a", "b"]}).confidences is None


def test_nobody_can_choose_no_answer_as_a_label(tmp_path):
    pool = read_pool(files(tmp_path, old=OLD, new=NEW))
    with pytest.raises(LabelError, match=r"unknown class '\(no answer\)'.*A label says what the item is"):
        pool.class_positions([NO_ANSWER])
    audit = fl.create(None, "old", pool.of("old"))
    with pytest.raises(LabelError, match="no answer"):
        audit.tell({"d": NO_ANSWER}, adopt=True)
    audit.tell({"d": "maybe", "a": "yes"}, adopt=True)
    by_class = dict(zip(audit.groups.names, audit.estimates()["labelled"], strict=True))
    assert by_class == {"maybe": 0, "no": 0, "yes": 1, NO_ANSWER: 1}


def test_confidences_of_one_model_only(tmp_path):
    pool = read_pool(files(tmp_path, old=OLD, new="id,predicted\na,yes\nb,yes\nc,no\n"))
    np.testing.assert_array_equal(pool.confidences, [[0.9, np.nan], [0.6, np.nan], [0.7, np.nan]])
    assert pool.of("new").confidence is None
    assert not pool.unanswered
    assert pool.classes == ("no", "yes")


def test_scores_are_moved_to_the_union_of_the_classes():
    one = {"id": ["a", "b"], "p_cat": [0.75, 0.25], "p_dog": [0.25, 0.75]}
    two = {"id": ["b", "c"], "p_dog": [0.5, 0.25], "p_eel": [0.5, 0.75]}
    pool = read_pool({"one": one, "two": two})
    assert pool.classes == ("cat", "dog", "eel", NO_ANSWER)
    assert pool.answers.tolist() == [[0, -1], [1, 1], [-1, 2]]
    second = pool.of("two")
    assert second.score_sums[1].tolist() == [0, 0.5, 0.5, 0]
    np.testing.assert_allclose(
        second.profile, [[1 / 3, 1 / 3, 1 / 3, 0], [0, 0.5, 0.5, 0], [0, 0.25, 0.75, 0], [1 / 3] * 3 + [0]]
    )


def test_a_profile_never_expects_no_answer():
    arrays = {"predicted": [["a", "b"], ["b", None]], "confidence": [[0.8, 0.6], [0.7, None]], "models": ["x", "y"]}
    pool = read_pool(arrays, classes=["a", "b", "c"])
    np.testing.assert_allclose(
        pool.of("y").profile, [[1 / 3] * 3 + [0], [0.2, 0.6, 0.2, 0], [1 / 3] * 3 + [0], [1 / 3] * 3 + [0]]
    )


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "pandas", "arrow", "mapping"])
def test_a_wide_source_of_any_kind(tmp_path, kind):
    columns: dict[str, Any] = {
        "ID": ["1", "2", "3"],
        "question": ["Is it far?", "Is it near?", "Is it?"],
        "gpt_a": ["yes", "no", "yes"],
        "GPT_A confidence": [0.9, 0.5, 0.7],
        "gpt_b": ["yes", None, "no"],
        "label": ["yes", "no", "yes"],
    }
    frame = pd.DataFrame(columns)
    path: Path = tmp_path / f"wide.{kind}"
    source = {"pandas": frame, "arrow": pa.table(columns), "mapping": columns}.get(kind, path)
    if kind == "csv":
        frame.to_csv(path, index=False)
    if kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    if kind == "parquet":
        parquet.write_table(pa.table(columns), path)
    pool = read_pool(source, models=["gpt_a", "gpt_b"], content="question")
    assert pool.answers.tolist() == [[1, 1], [0, -1], [1, 0]]
    np.testing.assert_array_equal(pool.confidences, [[0.9, np.nan], [0.5, np.nan], [0.7, np.nan]])
    assert pool.columns.column_names == ["question"]
    same = read_pool(pa.table(columns), models=["gpt_a", "gpt_b"], content="question")
    assert pool.fingerprint == same.fingerprint


@pytest.mark.parametrize(
    ("answers", "confidences"),
    [
        (("a_predicted", "b_predicted"), ("a_conf", "b_conf")),
        (("predicted_a", "predicted_b"), ("confidence_a", "confidence_b")),
        (("a answer", "b answer"), ("a score", "b score")),
        (("a", "b"), ("A-Probability", "B-Probability")),
    ],
)
def test_names_of_wide_columns(answers, confidences):
    columns = {answers[0]: ["x", "y"], answers[1]: ["y", "y"], confidences[0]: [0.5, 1], confidences[1]: [0.25, 0]}
    pool = read_pool(columns, models=["a", "b"])
    assert pool.answers.tolist() == [[0, 1], [1, 1]]
    assert pool.confidences.tolist() == [[0.5, 0.25], [1, 0]]
    assert pool.columns is None


def test_a_wide_file_with_ids_needs_neither_content_nor_confidences():
    columns = {"key": ["1", "2"], "a": ["x", "y"], "a_confidence": [0.5, 1], "b": ["y", "y"]}
    pool = read_pool(columns, models=["a", "b"], id="key")
    assert pool.answers.tolist() == [[0, 1], [1, 1]]
    assert pool.ids.to_pylist() == ["1", "2"]


def test_wide_scores():
    columns = {"a_p_x": [0.75], "a_p_y": [0.25], "b_p_x": [0.5], "b_p_y": [0.5], "n": [3]}
    pool = read_pool(columns, models=["a", "b"])
    assert pool.of("a").score_sums.tolist() == [[0.75, 0.25], [0, 0]]
    assert pool.confidences.tolist() == [[0.75, 0.5]]
    assert pool.columns.column_names == ["n"]


def test_arrays_of_items_and_models_are_read_as_npz_files_are(tmp_path):
    predicted = np.array([[0, 1], [2, -1], [1, 1]], np.int16)
    confidence = np.array([[0.5, 0.25], [0.75, np.nan], [1, 0.5]], np.float16)
    named: dict[str, Any] = {
        "predicted": predicted,
        "confidence": confidence,
        "models": ["a", "b"],
        "classes": ["x", "y", "z"],
    }
    np.savez(tmp_path / "both.npz", **named, labels=np.array([0, 1, 2]))
    pool = read_pool(tmp_path / "both.npz")
    assert pool.models == ("a", "b")
    assert pool.answers.tolist() == predicted.tolist()
    np.testing.assert_array_equal(pool.confidences, confidence)
    assert pool.columns is None
    assert pool.fingerprint == read_pool(named).fingerprint
    answers = read_pool(predicted, models=["a", "b"], classes=["x", "y", "z"])
    assert answers.answers.tolist() == predicted.tolist()
    assert answers.confidences is None
    text = np.array([["x", "y"], ["z", None], ["y", "y"]], object)
    assert read_pool(text, models=["a", "b"]).fingerprint == answers.fingerprint
    assert read_pool(text.tolist(), models=["a", "b"]).fingerprint == answers.fingerprint


def test_a_row_for_each_item_and_model(tmp_path):
    rows = ["1,old,yes,0.9,en", "1,new,no,0.8,en", "2,new,yes,0.7,de", "2,old,yes,0.6,de", "3,old,no,0.5,fr"]
    text = "\n".join(["item,model,predicted,confidence,lang", *rows, ""])
    path = files(tmp_path, long=text)["long"]
    pool = read_pool(path, models="model", id="item")
    assert (pool.models, pool.ids.to_pylist()) == (("old", "new"), ["1", "2", "3"])
    assert pool.answers.tolist() == [[1, 0], [1, 1], [0, -1]]
    assert pool.columns.to_pydict() == {"lang": ["en", "de", "fr"]}
    path.write_text(text.replace("2,old", "1,old"))
    with pytest.raises(InputError, match=r"row 2 \(line 5\), column 'item': the id '1' is already that of row 1"):
        read_pool(path, models="model", id="item")


def test_objects_by_model_in_json_lines(tmp_path):
    rows = [{"id": "1", "predicted": {"a": "x", "b": "y"}}, {"id": "2", "predicted": {"a": "y"}}]
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, rows)))
    pool = read_pool(tmp_path / "p.jsonl")
    assert (pool.models, pool.answers.tolist()) == (("a", "b"), [[0, 1], [1, -1]])


def test_pools_that_were_read_before_are_joined():
    one = read_pool({"ticket": ["1", "2"], "said": ["x", "y"]}, id="ticket", predicted="said")
    two = read_pool({"id": [2, 1], "scores": [[0.25, 0.75], [1.0, 0.0]]}, classes=["x", "y"])
    pool = read_pool({"one": one, "two": two})
    assert pool.answers.tolist() == [[0, 0], [1, 1]]
    with pytest.raises(InputError, match=r"several models already. Take one of them with .of"):
        read_pool({"both": pool, "one": one})


def test_columns_are_kept_once_where_files_agree_and_apart_where_they_do_not(tmp_path):
    old = "id,predicted,lang,note\n1,x,en,good\n2,y,de,bad\n"
    new = "id,predicted,lang,note,cost\n2,y,de,fine\n3,x,fr,odd\n"
    pool = read_pool(files(tmp_path, old=old, new=new.replace("fine", "fine,3").replace("odd", "odd,4")))
    assert pool.columns.to_pydict() == {
        "lang": ["en", "de", "fr"],
        "old_note": ["good", "bad", None],
        "new_note": [None, "fine", "odd"],
        "cost": [None, 3, 4],
    }


def test_a_column_that_is_called_like_that_of_a_model_is_kept_beside_it():
    old = {"id": ["1", "2"], "predicted": ["x", "y"], "note": ["good", "bad"], "old_note": ["mine", "too"]}
    new = {"id": ["1", "2"], "predicted": ["y", "y"], "note": ["fine", "bad"]}
    assert read_pool({"old": old, "new": new}).columns.to_pydict() == {
        "old_note'": ["good", "bad"],
        "new_note": ["fine", "bad"],
        "old_note": ["mine", "too"],
    }


def test_one_id_must_mean_one_item(tmp_path):
    old, new = "id,text,predicted\n1,Hi,x\n2,Bye,y\n", "id,text,predicted\n1,Hi,x\n2,Hello,y\n"
    with pytest.raises(
        InputError, match="'text' of item '2' is 'Bye' for 'old' and 'Hello' for 'new'; they differ for 1 of 2"
    ):
        read_pool(files(tmp_path, old=old, new=new), content="text")


def test_ids_that_became_floats_are_the_same_ids(tmp_path):
    pool = read_pool(files(tmp_path, old="id,predicted\n1,x\n2,y\n3,y\n", new="id,predicted\n3.0,x\n1.0,y\n"))
    assert pool.ids.to_pylist() == ["1", "2", "3"]
    assert pool.answers.tolist() == [[0, 1], [1, -1], [1, 0]]


def test_ids_that_would_become_one_stay_apart(tmp_path):
    pool = read_pool(files(tmp_path, old="id,predicted\n7.0,x\n7.00,y\n8.0,y\n", new="id,predicted\n7,x\n8.0,y\n"))
    assert pool.ids.to_pylist() == ["7.0", "7.00", "8.0", "7"]
    assert pool.answers.tolist() == [[0, -1], [1, -1], [1, 1], [-1, 0]]


def test_an_accent_in_an_id_may_be_a_character_of_its_own(tmp_path):
    """Names of files that a Mac has written, for example: the items are the same, and both models have answered."""
    composed, apart = "caf\u00e9", "cafe\u0301"
    old, new = f"id,predicted\n{composed},x\nb,y\n", f"id,predicted\nb,y\n{apart},y\n"
    pool = read_pool(files(tmp_path, old=old, new=new))
    assert pool.ids.to_pylist() == [composed, "b"]
    assert pool.answers.tolist() == [[0, 1], [1, 1]]
    assert not pool.unanswered
    both = f"id,predicted\n{apart},x\n{composed},y\nb,y\n"  # two items, if one file has both
    assert read_pool(files(tmp_path, old=both, new=old)).answers.tolist() == [[0, -1], [1, 0], [1, 1]]
    assert read_pool(files(tmp_path, old=old, new=both)).answers.tolist() == [[0, 1], [1, 1], [-1, 0]]


def test_messy_files(tmp_path):
    old = "\ufeffid;predicted;confidence\nm1;ja;90%\nm2;nein;50%\nm3;ja;70%\n"
    new = "id,extra,predicted\nm3,1,nein\nm1,2,\nm2,3,(no answer)\n"
    pool = read_pool(files(tmp_path, old=old, new=new))
    assert pool.answers.tolist() == [[0, -1], [1, -1], [0, 1]]
    assert pool.confidences[:, 0].tolist() == [0.9, 0.5, 0.7]
    assert pool.column("extra").to_pylist() == [2, 3, 1]


def test_a_model_that_always_says_the_same_is_fine_beside_another(tmp_path):
    pool = read_pool(files(tmp_path, old="id,predicted\n1,x\n2,y\n", new="id,predicted\n1,x\n2,x\n"))
    assert pool.answers.tolist() == [[0, 0], [1, 0]]


def test_text_answers_outside_the_list_are_refused_or_wrong(tmp_path):
    both = files(tmp_path, old="id,predicted\n1,yes\n2,I cannot say\n", new="id,predicted\n1,no\n2,maybe\n")
    with pytest.raises(InputError, match=r"'I cannot say' is not one of the classes 'yes', 'no'.*unlisted='wrong'"):
        read_pool(both, classes=["yes", "no"])
    pool = read_pool(both, classes=["yes", "no"], unlisted="wrong")
    assert pool.choices == ("yes", "no")
    assert pool.answers.tolist() == [[0, 1], [-1, -1]]
    alone = read_pool(both["old"], classes=["yes", "no"], unlisted="wrong")
    assert (alone.classes, alone.answers.tolist()) == (("yes", "no", NO_ANSWER), [[0], [-1]])
    with pytest.raises(InputError, match="there is no list"):
        read_pool(both, unlisted="wrong")
    with pytest.raises(InputError, match="'refuse' or 'wrong'"):
        read_pool(both, unlisted="drop")  # type: ignore[arg-type]


WRONG = {
    "no common id": ({"id": ["a", "b"]}, {"id": ["x", "y"]}, {}, "'one' and 'two' have no id in common: 'a' and 'x'"),
    "ids in one only": ({"id": ["a", "b"]}, {}, {}, "has no column of ids, and arrays has: it is not known which rows"),
    "same id twice": ({"id": ["a", "b"]}, {"id": ["a", "a"]}, {}, "'a' is already that of row 1"),
    "alike": (
        {"id": ["a", "b"]},
        {"id": ["a", "b"], "predicted": ["Yes", "no"]},
        {},
        "'two' answers 'Yes'.*only in case",
    ),
    "models twice": ({"id": ["a", "b"]}, {"id": ["a", "b"]}, {"models": ["x"]}, "have their names already"),
}


@pytest.mark.parametrize(("one", "two", "more", "words"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_joined_is_explained(one, two, more, words):
    answers = {"predicted": ["yes", "no"]}
    with pytest.raises(InputError, match=words):
        read_pool({"one": answers | one, "two": answers | two}, **more)


def test_files_without_ids_are_joined_by_their_rows_only_if_they_have_as_many():
    one, two = {"predicted": ["x", "y"]}, {"predicted": ["y", "y"]}
    assert read_pool({"one": one, "two": two}).answers.tolist() == [[0, 1], [1, 1]]
    with pytest.raises(InputError, match="2 and 3 rows: it is not known which rows belong together"):
        read_pool({"one": one, "two": {"predicted": ["x", "y", "x"]}})


@pytest.mark.parametrize(
    ("source", "more", "words"),
    [
        ({"a": ["x", "y"], "c": ["x", "y"]}, {"models": ["a", "b"]}, "no column with the answers of 'b'"),
        ({"a": ["x", "y"], "b": ["x", "y"]}, {"models": ["a", "a"]}, "names a model twice"),
        ({"a": ["x", "y"], "b": ["x", "y"]}, {"models": "ab"}, "no column 'ab', named by models="),
        ({"m": ["x", None], "predicted": ["x", "y"]}, {"models": "m"}, "row 2, column 'm': the model is missing"),
        ({"a": ["x", "y"], "b": ["x", "y"]}, {"models": []}, "there are no models"),
        ({"a": ["x", "y"], "b": ["x", "y"]}, {"models": ["a", "b"], "confidence": "a"}, "every model has its own"),
        ({"a": ["x", "y"], "b": ["x", "y"]}, {"models": ["a", "b"], "content": "b"}, "is not blind"),
        ({"a": ["x", "x"], "b": ["x", "x"]}, {"models": ["a", "b"]}, "all models answer 'x'"),
        ({"predicted": [["x", "y"], ["x"]]}, {"models": ["a", "b"]}, "row 2, column 'predicted': 1 values"),
        ({"predicted": [["x", "y"]], "models": ["a", "b", "c"]}, {}, "2 values, and there are 3 models"),
        (
            {"a": ["x", "y"], "b": ["x", "y"], "a_confidence": [0.5, None]},
            {"models": ["a", "b"]},
            "confidence is missing",
        ),
        ({"a": "a.csv", "b": [0, 1]}, {}, "'b' is one array, and others are whole files"),
    ],
)
def test_what_cannot_be_read_as_several_models_is_explained(source, more, words):
    with pytest.raises(InputError, match=words):
        read_pool(source, **more)


def test_the_fingerprint_covers_every_model_and_differences_name_them():
    base = {"predicted": np.array([[0, 1], [1, 1]]), "models": ["a", "b"], "classes": ["x", "y"]}
    pool = read_pool(base)
    assert pool.differences(read_pool(base)) == ""
    other = read_pool(base | {"predicted": np.array([[0, 1], [1, 0]])})
    assert pool.fingerprint != other.fingerprint
    assert pool.differences(other) == "1 of 2 predictions of 'b' changed"
    renamed = read_pool(base | {"models": ["a", "c"]})
    assert pool.differences(renamed) == "the models were 'a', 'b' and are 'a', 'c'"
    alone = read_pool({"predicted": ["x", "y"]})
    assert pool.differences(alone) == "the models were 'a', 'b' and are one without a name"
    assert len({pool.fingerprint, other.fingerprint, renamed.fingerprint, alone.fingerprint}) == 4
    sure = read_pool(base | {"confidence": np.array([[0.5, 0.5], [0.5, 0.5]])})
    assert pool.differences(sure) == "confidences of 'a' changed; confidences of 'b' changed"


def test_a_packed_pool_of_several_models_is_the_same_pool(tmp_path):
    one = {"id": ["a", "b"], "p_cat": [0.75, 0.25], "p_dog": [0.25, 0.75], "text": ["Hi", "Bye"]}
    two = {"id": ["b", "c"], "predicted": ["dog", "eel"]}
    three = {"id": ["c", "a"], "predicted": ["cat", "eel"], "confidence": [0.5, 0.25]}
    pool = read_pool({"one": one, "two": two, "three": three}, content="text")
    again = unpack_pool(pack_pool(pool))
    assert again.fingerprint == pool.fingerprint
    assert (again.models, again.classes, again.choices) == (pool.models, pool.classes, pool.choices)
    np.testing.assert_array_equal(again.answers, pool.answers)
    np.testing.assert_array_equal(again.confidences, pool.confidences)
    for name in pool.models:
        assert again.of(name).fingerprint == pool.of(name).fingerprint
    assert again.columns.equals(pool.columns)
    fl.create(tmp_path / "a.db", "a", pool, model="two").close()
    assert fl.load(tmp_path / "a.db", "a").whole.fingerprint == pool.fingerprint


def test_any_spelling_reaches_across_files():
    one = {"id": list("abcde"), "predicted": ["Yes", "Yes", "Yes", "no", "no"]}
    two = {"id": list("abcde"), "predicted": ["yes.", "NO", "yes.", "No", "No"]}
    pool = fl.read_pool({"one": one, "two": two}, any_spelling=True)
    assert pool.classes == ("No", "Yes")
    assert pool.answers.tolist() == [[1, 1], [1, 0], [1, 1], [0, 0], [0, 0]]
    with pytest.raises(fl.InputError, match="only in case"):
        fl.read_pool({"one": one, "two": two})


def test_a_class_that_is_spelt_like_a_missing_answer_stays_a_class() -> None:
    """It became "(no answer)", the class of items that a model did not answer, and could not be right any more."""
    says = {"id": list("1234"), "predicted": ["yes", "no answer", "no", "No answer"]}
    silent = {"id": list("1234"), "predicted": ["yes", None, None, None]}
    pool = fl.read_pool({"says": says, "silent": silent}, any_spelling=True)
    assert pool.choices == ("no", "no answer", "yes")
    assert pool.answers.tolist() == [[2, 2], [1, -1], [0, -1], [1, -1]]
