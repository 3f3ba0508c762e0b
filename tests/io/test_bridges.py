"""Files that other programs wrote, recorded with the versions in tests/fixtures/bridges/README.md: 50 items each."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fewlabels as fl
from fewlabels.errors import InputError
from fewlabels.interop.samples import Evaluation, Sample
from fewlabels.io.opening import open_source
from tests.support.bridges import COUNT, TEAMS, is_sum_wrong, language, said, sum_asked, sum_said, team, ticket
from tests.support.damage import damaged

FIXTURES = Path(__file__).parents[1] / "fixtures" / "bridges"
OF_CLASSES = {  # the file, and the id of ticket i in it
    "inspect.eval": "t{}",
    "inspect.json": "t{}",
    "lm-eval-tickets.jsonl": "{}",
    "saved-dataset": "t{}",
    "mlflow-table.json": None,
}
OF_VERDICTS = {  # the file, the id of sum i in it, and the words for right and wrong
    "inspect-sums.eval": ("{}", "correct", "incorrect"),
    "lm-eval-sums.jsonl": ("{}", "correct", "incorrect"),
    "deepeval.json": ("sum-{}", "pass", "fail"),
}


@pytest.mark.parametrize("file", OF_CLASSES)
def test_answers_that_are_classes_are_predictions_and_targets_are_labels(file: str) -> None:
    pool = fl.read_pool(FIXTURES / file)
    ids = [(OF_CLASSES[file] or "{}").format(i if OF_CLASSES[file] else i + 1) for i in range(COUNT)]
    assert sorted(pool.ids.to_pylist()) == sorted(ids)
    predicted = dict(zip(pool.ids.to_pylist(), [pool.classes[k] for k in pool.predicted.tolist()], strict=True))
    assert predicted == {item: said(i) for i, item in enumerate(ids)}
    assert set(TEAMS) <= set(pool.classes)
    labels = fl.read_labels(FIXTURES / file)
    assert labels == {item: team(i) for i, item in enumerate(ids)}
    # There and back: what the program knew is what the assessment finds.
    audit = fl.create(None, "audit", pool)
    audit.tell(labels, adopt=True)
    right = sum(said(i) == team(i) for i in range(COUNT))
    assert len(audit.labels()) == COUNT
    assert sum(predicted[item] == label for item, label in audit.labels().items()) == right == 40


@pytest.mark.parametrize("file", [file for file in OF_CLASSES if file != "mlflow-table.json"])
def test_further_columns_can_be_grouped_by_and_hold_no_labels(file: str) -> None:
    pool = fl.read_pool(FIXTURES / file)
    assert pool.columns is not None
    place = {item: int(item.lstrip("t")) for item in pool.ids.to_pylist()}
    assert pool.column("language").to_pylist() == [language(i) for i in place.values()]
    text = "text" if file == "saved-dataset" else "input"
    assert pool.column(text).to_pylist() == [ticket(i) for i in place.values()]
    for column in pool.columns.column_names:
        told = {(value, team(i)) for value, i in zip(pool.column(column).to_pylist(), place.values(), strict=True)}
        assert column == text or len({value for value, _ in told}) < len(told)  # no column says what the label is
    assert not {"choice", "acc", "label"} & set(pool.columns.column_names)


@pytest.mark.parametrize("file", OF_VERDICTS)
def test_verdicts_about_free_text_are_predictions(file: str) -> None:
    form, yes, no = OF_VERDICTS[file]
    pool = fl.read_pool(FIXTURES / file, content="content")
    found = dict(zip(pool.ids.to_pylist(), [pool.classes[k] for k in pool.predicted.tolist()], strict=True))
    assert found == {form.format(i): no if is_sum_wrong(i) else yes for i in range(COUNT)}
    shown = dict(zip(pool.ids.to_pylist(), pool.column("content").to_pylist(), strict=True))
    assert shown[form.format(1)] == f"Question: {sum_asked(1)}\n\nAnswer: {sum_said(1)}\n\nReference: 8"


def test_traces_of_mlflow_bring_the_verdicts_of_a_judge_and_the_labels_of_people() -> None:
    pool = fl.read_pool(FIXTURES / "mlflow-traces.jsonl")
    found = [pool.classes[k] for k in pool.predicted.tolist()]
    assert found == ["yes" if i % 6 == 0 or not is_sum_wrong(i) else "no" for i in range(COUNT)]
    labels = fl.read_labels(FIXTURES / "mlflow-traces.jsonl")
    ids = pool.ids.to_pylist()
    assert labels == {ids[i]: "no" if is_sum_wrong(i) else "yes" for i in range(0, COUNT, 2)}
    assert pool.column("content").to_pylist()[3] == f"Question: {sum_asked(3)}\n\nAnswer: {sum_said(3)}"
    assert pool.column("language").to_pylist() == [language(i) for i in range(COUNT)]


def test_promptfoo_has_a_model_for_each_provider() -> None:
    pool = fl.read_pool(FIXTURES / "promptfoo.json")
    assert pool.models == ("small", "large")
    ids = [int(item) for item in pool.ids.to_pylist()]
    assert sorted(ids) == list(range(COUNT))
    for model, every in {"small": 5, "large": 9}.items():
        one = pool.of(model)
        assert [one.classes[k] for k in one.predicted.tolist()] == [said(i, every) for i in ids]
    assert fl.read_labels(FIXTURES / "promptfoo.json") == {str(i): team(i) for i in range(COUNT)}


def test_likelihoods_become_probabilities() -> None:
    pool = fl.read_pool(FIXTURES / "lm-eval-tickets.jsonl")
    i = np.array([int(item) for item in pool.ids.to_pylist()])
    expected = np.exp(-0.5) / (np.exp(-0.5) + 2 * np.exp(-2.0 - i / 100))
    np.testing.assert_allclose(pool.confidence, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("inspect.eval", "Inspect log, version 2, inspect_ai 0.3.285 (task 'tickets', model 'mockllm/model')"),
        ("lm-eval-sums.jsonl", "filter 'strict'; not read: 'flexible'"),
        ("promptfoo.json", "results of promptfoo, version 3, promptfoo 0.123.1"),
        ("deepeval.json", "test run of DeepEval: the verdicts of 'Correctness' are the predictions"),
        ("mlflow-traces.jsonl", "traces of MLflow: the verdicts of 'is_right'"),
        ("saved-dataset", "dataset that the library datasets saved to disk, in 2 files"),
    ],
)
def test_a_source_says_what_it_is(file: str, words: str) -> None:
    assert words in open_source(FIXTURES / file).told


# --- the rules for answers, verdicts and models


def evaluation(answers: list[str | None], **more: list[Any]) -> Evaluation:
    rows = [dict(zip(more, values, strict=True)) for values in zip(*more.values(), strict=True)] or [{}] * len(answers)
    return Evaluation(
        "log", [Sample(f"s{i}", "?", one, **row) for i, (one, row) in enumerate(zip(answers, rows, strict=True))]
    )


def test_few_short_answers_are_classes_and_others_need_verdicts() -> None:
    assert "predicted" in evaluation(["yes", "no", "yes", "yes", "no"]).source("f").columns
    with pytest.raises(InputError, match="free text, and no scorer that says right or wrong"):
        evaluation(["a", "b", "c", "d", "e"]).source("f")
    with pytest.raises(InputError, match="scores 'close' are numbers between the two"):
        evaluation(["a", "b", "c"], verdicts=[{"close": 0.2}, {"close": 0.5}, {"close": 0.9}]).source("f")


def test_a_person_can_say_what_the_scorer_never_said() -> None:
    found = evaluation(["a b", "c d", "e f"], verdicts=[{"ok": "pass"}] * 3).source("f")
    pool = fl.read_pool(found)
    assert pool.choices == ("fail", "pass")
    assert pool.predicted.tolist() == [1, 1, 1]


def test_a_table_in_split_form_is_read_as_any_table(tmp_path: Path) -> None:
    """MLflow logs every table so; this one has scores, and nothing of an evaluation."""
    data = {"columns": ["id", "p_cat", "p_dog"], "data": [["a", 0.9, 0.1], ["b", 0.2, 0.8]]}
    (tmp_path / "t.json").write_text(json.dumps(data))
    assert fl.read_pool(tmp_path / "t.json").classes == ("cat", "dog")
    (tmp_path / "t.json").write_text(json.dumps({**data, "data": [["a", 0.9]]}))
    with pytest.raises(InputError, match="rows that are not as long as its list of columns"):
        fl.read_pool(tmp_path / "t.json")


def test_samples_without_a_verdict_are_left_out_and_counted() -> None:
    found = evaluation(["a", "b", None], verdicts=[{"ok": "pass"}, {"ok": "fail"}, {}]).source("f")
    assert found.told.endswith("; 1 sample without a verdict left out")
    assert found.table(["id"])["id"].to_pylist() == ["s0", "s1"]


def test_verdicts_about_several_models_are_about_each_answer() -> None:
    samples = [
        Sample("s", "?", text, model=model, verdicts={"ok": word})
        for model, text, word in [("a", "long one", "pass"), ("b", "long two", "fail"), ("c", "three", "pass")]
    ]
    table = Evaluation("log", samples).source("f").table(["id", "predicted", "model"])
    assert table["id"].to_pylist() == ["s a", "s b", "s c"]
    assert table["model"].to_pylist() == ["a", "b", "c"]


def test_columns_of_several_types_and_names_that_are_taken() -> None:
    others = [{"n": 1, "id": "x", "big": 10**30, "in": [1]}, {"n": "two", "id": "y", "big": 1}, {"n": None}]
    table = evaluation(["no", "no", "yes"], others=others).source("f").table(["n", "sample_id", "big"])
    assert table["n"].to_pylist() == ["1", "two", None]
    assert table["sample_id"].to_pylist() == ["x", "y", None]


def test_a_sample_that_is_there_twice_is_refused() -> None:
    with pytest.raises(InputError, match=r"f has the sample 's' twice"):
        Evaluation("log", [Sample("s", "?", "yes"), Sample("s", "?", "yes")]).source("f")


def test_epochs_of_inspect_are_items_of_their_own(tmp_path: Path) -> None:
    log = json.loads((FIXTURES / "inspect.json").read_text())
    log["samples"] = [*log["samples"][:2], {**log["samples"][0], "epoch": 2}]
    (tmp_path / "log.json").write_text(json.dumps(log))
    assert fl.read_pool(tmp_path / "log.json").ids.to_pylist() == ["t0", "t1", "t0 (epoch 2)"]


def test_choices_that_differ_are_letters_and_are_shown(tmp_path: Path) -> None:
    log = json.loads((FIXTURES / "inspect.json").read_text())
    log["samples"][0]["choices"] = ["north", "south"]
    (tmp_path / "log.json").write_text(json.dumps(log))
    pool = fl.read_pool(tmp_path / "log.json")
    assert pool.classes == ("A", "B", "C")
    assert pool.column("input").to_pylist()[0] == f"{ticket(0)}\nA) north\nB) south"


# --- damage


def test_a_log_that_was_cut_short_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """Inspect writes the header last: a run that was killed has only its beginning and some samples."""
    path = tmp_path / "log.eval"
    log = json.loads((FIXTURES / "inspect.json").read_text())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", json.dumps({"version": 2, "eval": log["eval"]}))
        for sample in log["samples"][:7]:
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    assert len(fl.read_pool(path)) == 7


def test_other_archives_and_folders_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        archive.writestr("a.txt", "x")
    with pytest.raises(InputError, match=r"not a log of Inspect: it has no header\.json"):
        fl.read_pool(tmp_path / "log.eval")
    (tmp_path / "text.eval").write_text("predicted\ncat\n")
    with pytest.raises(InputError, match=r"text\.eval is not a complete \.eval file"):
        fl.read_pool(tmp_path / "text.eval")
    with pytest.raises(InputError, match="there are no predictions"):
        fl.read_pool(tmp_path)


def test_an_archive_that_unpacks_to_more_than_it_says_is_stopped(tmp_path: Path) -> None:
    """A member of 100 MB of zeros, packed with Zstandard, whose entry says that it has 10 bytes."""
    path = tmp_path / "log.eval"
    packed = pa.compress(bytes(10**8), codec="zstd", asbytes=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", packed)
    data = bytearray(path.read_bytes())
    start = data.index(b"PK\x01\x02")
    for at in (8, start + 10):  # the method of compression, in both headers
        data[at : at + 2] = (93).to_bytes(2, "little")
    for at in (22, start + 24):  # the size
        data[at : at + 4] = (10).to_bytes(4, "little")
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match="its checksum is wrong"):
        fl.read_pool(path)


def test_a_saved_dataset_is_checked(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    shutil.copytree(FIXTURES / "saved-dataset", folder)
    test = folder / "test"
    state, info = json.loads((test / "state.json").read_text()), json.loads((test / "dataset_info.json").read_text())
    (test / "dataset_info.json").write_text(json.dumps(info).replace(', "returns", "nobody"', ""))
    with pytest.raises(
        InputError, match=r"the column 'predicted' of .*saved/test has a number that stands for no class"
    ):
        fl.read_pool(folder)
    (test / "dataset_info.json").write_text(json.dumps(info))
    (test / "state.json").write_text(json.dumps({**state, "_data_files": [{"filename": "../../../x.arrow"}]}))
    with pytest.raises(InputError, match="names no files of Arrow in the folder"):
        fl.read_pool(folder)
    (folder / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    with pytest.raises(InputError, match=r"has the splits 'train', 'test'\. Name one of them, such as .*saved/test"):
        fl.read_pool(folder)
    (test / "state.json").write_text(json.dumps(state))
    assert len(fl.read_pool(test)) == COUNT


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_folder_is_read_or_refused(tmp_path: Path, seed: int) -> None:
    folder = tmp_path / "saved"
    shutil.copytree(FIXTURES / "saved-dataset", folder)
    rng = np.random.default_rng(seed)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = files[int(rng.integers(len(files)))]
    path.write_bytes(damaged(path.read_bytes(), rng))
    try:
        fl.read_pool(folder)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017
