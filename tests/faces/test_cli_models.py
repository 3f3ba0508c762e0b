"""Several models on the command line: files, wide files, messy files, and one log for all of them."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli.main import cli

CLASSES = ("billing", "delivery", "other")


def run(*words, code=0, typed=None):
    result = CliRunner().invoke(cli, [str(word) for word in words], input=typed)
    assert result.exit_code == code, f"{result.output}\n{result.exception!r}"
    return result


def write(path, head, rows, **style):
    with path.open("w", newline="", encoding=style.pop("encoding", "utf-8")) as stream:
        writer = csv.writer(stream, **style)
        writer.writerow(head)
        writer.writerows(rows)
    return path


@pytest.fixture
def two(tmp_path, monkeypatch):
    """Files old.csv and new.csv with answers to the same 300 messages, new.csv in another order; and the labels."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    true = rng.integers(0, 3, 300)
    old, new = (np.where(rng.random(300) < share, true, (true + 1) % 3) for share in (0.75, 0.9))
    ids = [f"m{i:03}" for i in range(300)]
    text = [f"Message {i}: please help me with my order" for i in range(300)]
    write(tmp_path / "old.csv", ["id", "message", "answer"], zip(ids, text, np.take(CLASSES, old), strict=True))
    rows = [(ids[i], CLASSES[new[i]]) for i in rng.permutation(300) if i != 7]
    write(tmp_path / "new.csv", ["id", "answer"], rows)
    return dict(zip(ids, np.take(CLASSES, true).tolist(), strict=True))


def test_two_files_are_two_models(two):
    said = run("new", "audit.db", "old.csv", "new.csv", "--model", "new").output
    for line in (
        "old.csv, new.csv: 300 items",
        "models      2: 'old', 'new'",
        "predicted   column 'answer'",
        "'new' has no answer for 1 item; it counts as wrong: 1 not in the file",
        "content     column 'message'",
        "(the model new)",
        "'old-new' is in audit.db",
    ):
        assert line in said
    with_name = run("new", "audit.db", "mine", "old.csv", "new.csv", "--models", "a,b", "--model", "b", "--json")
    assert json.loads(with_name.stdout)["name"] == "mine"
    assert fl.load("audit.db", "mine").whole.models == ("a", "b")


def test_labels_of_the_same_items_are_offered_when_a_model_is_added(two, tmp_path):
    """A new model makes a new pool, and nothing said what became of the labels."""
    run("new", "audit.db", "old.csv", "new.csv", "--best")
    batch = run("ask", "audit.db", "-n", "30").stdout
    labels = [(row["id"], two[row["id"]]) for row in csv.DictReader(batch.splitlines())]
    run("tell", "audit.db", write(tmp_path / "labels.csv", ["id", "label"], labels))
    write(tmp_path / "third.csv", ["id", "answer"], [(item, "other") for item in two])
    said = run("new", "audit.db", "three", "old.csv", "new.csv", "third.csv", "--best").output
    assert "'old-new' has 30 labels of items with the same ids, in a pool with other answers." in said
    typed = [line.split() for line in said.splitlines() if line.startswith(("  fewlabels export", "  fewlabels tell"))]
    for _, *words in typed:
        run(*words)
    assert json.loads(run("show", "audit.db", "three", "--json", "--no-forecast").stdout)["labels"] == 30
    again = run("new", "audit.db", "again", "old.csv", "new.csv", "third.csv", "--best").output
    assert "This pool has 30 labels already, from three." in again
    assert "the same ids" not in again
    write(tmp_path / "else.csv", ["id", "answer"], [(f"x{k}", CLASSES[k % 3]) for k in range(20)])
    write(tmp_path / "more.csv", ["id", "answer"], [(f"x{k}", CLASSES[k % 2]) for k in range(20)])
    assert "the same ids" not in run("new", "audit.db", "others", "else.csv", "more.csv", "--best").output


def test_answers_in_free_text_are_noticed(tmp_path, monkeypatch):
    """Two prompts with free texts were taken for models with 415 classes, which nobody can choose from."""
    monkeypatch.chdir(tmp_path)
    rows = [(f"q{k}", f"How many is {k}?", f"{k / 10:.1f} days", f"about {k / 10:.0f} days") for k in range(600)]
    write(tmp_path / "texts.csv", ["id", "question", "a", "b"], rows)
    said = run("new", "audit.db", "texts.csv", "--best", "--models", "a,b").output
    assert re.search(r"There are \d+ classes for 600 items\. If these are free texts", said)
    assert "with --verdict" in said
    rows = [(f"q{k}", f"t{k}", f"c{k % 60}", f"c{k % 59}") for k in range(600)]
    write(tmp_path / "classes.csv", ["id", "question", "a", "b"], rows)
    assert "free texts" not in run("new", "audit.db", "classes.csv", "--best", "--models", "a,b").output


def test_grades_of_each_models_own_answer_are_noticed(tmp_path, monkeypatch):
    """An answer of one model can be right where that of the other is wrong: no label is true of both."""
    monkeypatch.chdir(tmp_path)
    rows = [(f"q{k}", f"How many is {k}?", k % 5 > 0, k % 7 == 0) for k in range(60)]
    for file, (good, bad), warns in (("graded", ("right", "wrong"), True), ("said", ("yes", "no"), False)):
        cells = [(*row[:2], *(good if passes else bad for passes in row[2:])) for row in rows]
        write(tmp_path / f"{file}.csv", ["id", "question", "gpt_verdict", "llama_verdict"], cells)
        output = run("new", "audit.db", f"{file}.csv", "--best").output
        assert ("grades each model's own answer" in output) == warns


def test_a_table_about_one_model_asks_which(two):
    """`fairness` ended in a traceback, where `classes` said what to do."""
    run("new", "audit.db", "old.csv", "new.csv", "--best")
    for command in (("classes",), ("fairness", "--groups", "predicted")):
        assert "Name it, with --model." in run(command[0], "audit.db", *command[1:], code=2).output


def test_one_log_serves_both_models(two, tmp_path):
    run("new", "audit.db", "old.csv", "new.csv", "--model", "new", "--groups", "whole")
    batch = run("ask", "audit.db", "-n", "100").stdout
    labels = [(row["id"], two[row["id"]]) for row in csv.DictReader(batch.splitlines())]
    assert "answer" not in batch.splitlines()[0]
    run("tell", "audit.db", write(tmp_path / "labels.csv", ["id", "label"], labels))
    found = {}
    for model in ("old", "new"):
        (row,) = json.loads(run("show", "audit.db", "--model", model, "--json").stdout)["rows"]
        assert row["labelled"] == 100
        found[model] = row["mean"]
    assert found["old"] + 0.05 < found["new"]
    assert "Accuracy of old" in run("show", "audit.db", "--model", "old").output
    assert run("answer", "audit.db", "--model", "old").stdout.startswith("old: The accuracy")
    assert json.loads(run("answer", "audit.db", "--model", "old", "--json").stdout)["model"] == "old"
    assert "no model 'older'. Did you mean 'old'?" in run("show", "audit.db", "--model", "older", code=2).output


def test_a_wide_file_is_recognised(two, tmp_path):
    rows = [(i, f"A question that is long enough {i}", "yn"[i % 2], "ynn"[i % 3], 90 - i % 9) for i in range(60)]
    head = ["nr", "question", "gpt_a", "gpt_b", "gpt_b_confidence"]
    write(tmp_path / "wide.csv", head, rows)
    said = run("new", "audit.db", "wide.csv", "--model", "gpt_b").output
    assert "models      2: 'gpt_a', 'gpt_b'" in said
    assert "confidence  'gpt_b_confidence'" in said
    assert "question    Which model is right most often?" in run("new", "audit.db", "best", "wide.csv").output
    pool = fl.load("audit.db", "wide").whole
    assert pool.content == "question"
    assert pool.confidences[:2, 1].tolist() == [0.9, 0.89]


def test_a_row_for_each_item_and_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(i, model, "yn"[(i + k) % 3 % 2]) for i in range(30) for k, model in enumerate(["old", "new"])]
    write(tmp_path / "long.csv", ["item", "model", "predicted"], rows)
    said = run("new", "audit.db", "long.csv", "--models", "model", "--id", "item", "--model", "new").output
    assert "models      2: 'old', 'new'" in said
    assert len(fl.load("audit.db", "long").pool) == 30


def test_a_row_for_each_item_and_model_whose_answers_have_a_doubtful_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(i, model, "yn"[(i + k) % 3 % 2]) for i in range(30) for k, model in enumerate(["old", "new"])]
    write(tmp_path / "long.csv", ["item", "model", "answer"], rows)
    refused = run("new", "audit.db", "long.csv", "--best", code=2).output
    assert "If there is a row for each item and model, and 'model' says which model it is" in refused
    said = run("new", "audit.db", "long.csv", "--models", "model", "--id", "item", "--best").output
    assert "models      2: 'old', 'new'" in said
    assert len(fl.load("audit.db", "long").pool) == 30


def test_confidences_of_a_wide_file_can_be_left_out(tmp_path, monkeypatch):
    """A missing confidence is refused with the option that leaves them out, and then that must work."""
    monkeypatch.chdir(tmp_path)
    rows = [(i, "yn"[i % 2], "ynn"[i % 3], 0.9, "" if i % 5 else 0.8) for i in range(60)]
    write(tmp_path / "wide.csv", ["id", "gpt", "llama", "gpt_confidence", "llama_confidence"], rows)
    wide = ("wide.csv", "--models", "gpt,llama", "--best")
    refused = run("new", "audit.db", *wide, code=2).output
    assert "read without that column, with --confidence none" in refused
    assert "class of its own" not in refused
    assert "confidence  none" in run("new", "audit.db", *wide, "--confidence", "none").output
    assert fl.load("audit.db", "wide").whole.confidences is None


def test_a_group_with_few_labels_rests_on_other_groups_and_not_on_other_models(two, tmp_path):
    """Every model has the same labels, so a number with few of its own comes from other groups."""
    rows = [(i, "n" if k < 40 else "y", "b" if k < 100 else "a") for k, i in enumerate(two)]
    write(tmp_path / "first.csv", ["id", "answer", "site"], rows)
    write(tmp_path / "second.csv", ["id", "answer"], [(i, "ny"[k % 2]) for k, i in enumerate(two)])
    run("new", "audit.db", "first.csv", "second.csv", "--best", "--groups", "column:site")
    labels = [(i, "ny"[k % 2]) for k, i in enumerate(two) if k >= 200]
    run("tell", "audit.db", write(tmp_path / "labels.csv", ["id", "label"], labels), "--adopt")
    said = [line for line in run("answer", "audit.db").stdout.splitlines() if line.startswith("b: ")]
    assert [line.rpartition("  ")[2] for line in said] == ["mostly from other groups"] * 2


def test_a_packed_file_needs_no_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("both.npz", predicted=np.array([[0, 1], [1, 1], [0, 0]]), models=["a", "b"], classes=["x", "y"])
    run("new", "audit.db", "both.npz", "--model", "b")
    assert fl.load("audit.db", "both").whole.models == ("a", "b")


def test_messy_files(tmp_path, monkeypatch):
    """A BOM, semicolons, decimal commas, empty answers; then floats as ids, another order and gaps; 200 classes."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    names = [f"intent {k:03}" for k in range(200)]
    rows = [
        (i + 1, f"Text; {i}", names[i % 200] if i % 50 else "", f"{70 + i % 30},5" if i % 50 else "")
        for i in range(400)
    ]
    write(
        tmp_path / "a.csv", ["Ticket ID", "Text", "Answer", "Confidence (%)"], rows, delimiter=";", encoding="utf-8-sig"
    )
    rows_b = [(0.5, f"{i + 1}.0", names[(i + 1) % 200], "why") for i in rng.permutation(400).tolist() if i % 100 != 7]
    write(tmp_path / "b.csv", ["seconds", "Ticket ID", "Answer", "reason"], rows_b)
    said = run("new", "audit.db", "a.csv", "b.csv", "--model", "a").output
    for line in (
        "400 items",
        "'a' has no answer for 8 items; these count as wrong: 8 empty",
        "'b' has no answer for 4 items; these count as wrong: 4 not in the file",
        "classes     200:",
        "'Text'",
    ):
        assert line in said
    pool = fl.load("audit.db", "a-b").whole
    assert pool.confidences[1].tolist()[0] == 0.715
    assert pool.ids.to_pylist()[:2] == ["1", "2"]
    choices = run("label", "audit.db", typed="q\n").output
    assert "(no answer)" not in choices


def test_an_item_whose_text_is_in_the_other_file_only_is_mentioned(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = [(f"m{i}", f"a long message with the number {i}", "xyz"[i % 3]) for i in range(30)]
    write(tmp_path / "old.csv", ["id", "message", "answer"], texts[2:])
    write(tmp_path / "new.csv", ["id", "answer"], [(name, answer) for name, _, answer in texts])
    said = run("new", "audit.db", "old.csv", "new.csv", "--best").output
    assert "2 items have no content: give it in each file" in said
    write(tmp_path / "new.csv", ["id", "message", "answer"], texts)
    assert "no content: give it" not in run("new", "audit.db", "both", "old.csv", "new.csv", "--best").output


WRONG = {
    "--lowest is about one model, and there are 2: 'old', 'new'. Add --model NAME": [
        "old.csv",
        "new.csv",
        "--lowest",
        1,
    ],
    "--models has 1 name for 2 files": ["old.csv", "new.csv", "--models", "a"],
    "there is no file older.csv": ["old.csv", "older.csv", "--model", "old"],
    "'x' is not a file. Give at most one name": ["name", "old.csv", "x"],
    "--best needs a pool of several models": ["old.csv", "--predicted", "answer", "--best"],
    "there is no model 'nwe'. Did you mean 'new'?": ["old.csv", "new.csv", "--compare-models", "nwe,old"],
    "does not name two models": ["old.csv", "new.csv", "--compare-models", "new"],
    "names one model twice": ["old.csv", "new.csv", "--compare-models", "new,New"],
    "--best does not go with --compare-models": ["old.csv", "new.csv", "--best", "--compare-models", "new,old"],
    "--rope is only for comparing": ["old.csv", "new.csv", "--best", "--rope", 0.1],
    "is not one of the classes 'billing', 'other'": [
        "old.csv",
        "new.csv",
        "--classes",
        "billing,other",
        "--model",
        "old",
    ],
}


@pytest.mark.parametrize(("words", "given"), WRONG.items(), ids=WRONG)
def test_what_makes_no_sense_is_refused_in_one_line(two, words, given):
    said = run("new", "audit.db", *given, code=2).output
    assert words in said
    assert said.count("\n") == 1


def test_answers_outside_the_list_count_as_wrong_if_you_say_so(two):
    said = run(
        "new", "audit.db", "old.csv", "new.csv", "--classes", "billing,other", "--unlisted", "wrong", "--model", "old"
    ).output
    assert "classes     2: 'billing', 'other'" in said
    assert fl.load("audit.db", "old-new").whole.unanswered


def test_answers_that_look_alike_are_mentioned(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.csv", ["id", "answer"], [(1, "yes"), (2, "no")])
    write(tmp_path / "b.csv", ["id", "answer"], [(1, "yes"), (2, "No.")])
    assert "'No.' and 'no' may be one answer" in run("new", "audit.db", "a.csv", "b.csv", "--model", "a").output
    # Not if somebody named both.
    for files in (["a.csv", "b.csv", "--model", "a"], ["b.csv"]):
        listed = run("new", "other.db", *files, "--predicted", "answer", "--classes", "yes,no,No.").output
        assert "classes" in listed
        assert "may be one answer" not in listed
    write(tmp_path / "b.csv", ["id", "answer"], [(1, "yes"), (2, "No")])
    assert (
        "'b' answers 'No' and 'a' answers 'no'"
        in run("new", "audit.db", "c", "a.csv", "b.csv", "--model", "a", code=2).output
    )


def test_the_best_model_and_other_groups_on_the_command_line(two, tmp_path):
    run("new", "audit.db", "old.csv", "new.csv", "--best")
    batch = run("ask", "audit.db", "-n", "60").stdout
    labels = [(row["id"], two[row["id"]]) for row in csv.DictReader(batch.splitlines())]
    run("tell", "audit.db", write(tmp_path / "labels.csv", ["id", "label"], labels))
    answer = json.loads(run("answer", "audit.db", "--json").stdout)
    assert answer["headline"].startswith("The best model is new")
    assert answer["probability"] > 0.9
    rows = json.loads(run("show", "audit.db", "--json", "--no-forecast", "--groups", "whole").stdout)["rows"]
    assert [row["group"] for row in rows] == ["new", "old"]  # the likeliest first
    (row,) = json.loads(run("show", "audit.db", "--json", "--no-forecast", "--model", "new").stdout)["rows"]
    assert row["low"] < 0.9 < row["high"]
    assert "about all models" in run("answer", "audit.db", "--model", "old", code=2).output
    run("new", "audit.db", "pair", "old.csv", "new.csv", "--compare-models", "new,old", "--rope", "0.02")
    run("tell", "audit.db", "pair", "labels.csv", "--adopt")
    answer = json.loads(run("answer", "audit.db", "pair", "--json").stdout)
    assert answer["rows"][0]["more"] > 0.9


@pytest.mark.slow
def test_two_files_are_simulated(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(6)
    true = rng.integers(0, 3, 200)
    for name, share in (("old", 0.6), ("new", 0.9)):
        said = np.where(rng.random(200) < share, true, (true + 1) % 3)
        np.savez(f"{name}.npz", predicted=said, labels=true, classes=list(CLASSES))
    words = [
        "--compare-models",
        "new,old",
        "--methods",
        "disagreements",
        "--budgets",
        "30",
        "--runs",
        "3",
        "--jobs",
        "1",
    ]
    rows = json.loads(run("simulate", "old.npz", "new.npz", *words, "--json").stdout)["rows"]
    assert {"error", "coverage"} <= {row["score"] for row in rows}


def test_words_for_a_confidence_and_an_answer_that_is_no_class_are_mentioned(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = ["billing", "delivery", "other"]
    rows = [(f"m{i}", f"Message {i}", said[i % 3], said[i % 2], ("high", "low")[i % 2]) for i in range(12)]
    rows[3] = ("m3", "Message 3", "billing", "hard to tell", "low")
    write(tmp_path / "wide.csv", ["id", "message", "gpt_a", "gpt_b", "gpt_b_confidence"], rows)
    told = run("new", "audit.db", "wide.csv", "--best").output
    assert "'gpt_b_confidence' is in words: kept for grouping" in told
    # Of two answers that one model alone gives, the commoner is named: 'other', four times, by the first.
    assert "only 'gpt_a' says 'other': 4 items; 1 more answer comes from one model only  " in told
    assert fl.load("audit.db", "wide").whole.confidences is None
    run("new", "audit.db", "sure", "wide.csv", "--best", "--groups", "column:gpt_b_confidence")
    listed = ("--classes", "billing,delivery,other", "--unlisted", "wrong")
    told = run("new", "audit.db", "named", "wide.csv", "--best", *listed).output
    assert "only" not in told
    words = "'gpt_b' has no answer from the list for 1 item; it counts as wrong: 'hard to tell' (1×) --any-spelling"
    assert words in " ".join(told.split())
    assert (
        "--any-spelling" not in run("new", "audit.db", "free", "wide.csv", "--best", *listed, "--any-spelling").output
    )


def test_models_that_give_the_same_answers_are_mentioned(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(f"m{i}", "xyz"[i % 3]) for i in range(12)]
    write(tmp_path / "old.csv", ["id", "answer"], rows)
    write(tmp_path / "copy.csv", ["id", "answer"], rows)
    write(tmp_path / "new.csv", ["id", "answer"], [("m0", "y"), *rows[1:]])
    told = run("new", "audit.db", "old.csv", "copy.csv", "new.csv", "--best").output
    assert "'old', 'copy' give the same answer to every item" in told
    run("tell", "audit.db", *[f"{item}=y" for item in fl.load("audit.db", "old-copy-new").ask(1).ids])
    assert "Based on 1 label, which counts for every model." in run("answer", "audit.db").output


def test_the_best_guess_of_every_group_is_on_the_screen(tmp_path, monkeypatch):
    """Of 3 groups of 10 models only the first 20 rows were shown, so the last group had no winner."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    said = rng.integers(0, 3, (120, 10))
    names = [f"m{h}" for h in range(10)]
    rows = [(f"i{k}", ("de", "en", "fr")[k % 3], *("xyz"[c] for c in row)) for k, row in enumerate(said)]
    write(tmp_path / "wide.csv", ["id", "language", *names], rows)
    run("new", "audit.db", "wide.csv", "--best", "--groups", "column:language")
    run("tell", "audit.db", *[f"{item}=x" for item in fl.load("audit.db").ask(12).ids])
    told = run("answer", "audit.db").output
    for group in ("de", "en", "fr"):
        assert sum(line.startswith(f"{group}: m") for line in told.splitlines()) >= 1
    assert "more models; --top 30 shows them." in told
    assert "\nmodel " in told
    assert sum(line.startswith("fr: m") for line in run("answer", "audit.db", "--top", "30").output.splitlines()) == 10
