"""`fewlabels new` on the files that people have: what it understands, or what it tells them to do."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import fewlabels as fl
from fewlabels.cli.main import cli
from fewlabels.io.finder import Guess, guess

SHARES = [(0.7, 0.2), (0.1, 0.8), (0.3, 0.3), (0.25, 0.25), (0.5, 0.1)] * 4
EXCEL = "\ufeffID;Text;cat;dog;bird\r\n" + "".join(
    f'{i};"Größe; ""{i}"" é";{a:.2f};{b:.2f};{1 - a - b:.2f}\r\n'.replace(".", ",") for i, (a, b) in enumerate(SHARES)
)
PERCENT = "id,p_cat,p_dog\n" + "".join(f"{i},{a},{100 - a}\n" for i, a in enumerate([90, 20, 55, 60.5] * 5))
PHOTOS = ",filename,cat,dog,truth\n" + "".join(f"{i},i{i}.png,0.{i:02},{1 - i / 100:.2f},cat\n" for i in range(10, 20))
CHAT = "question_id,question,model_answer,confidence\n" + "".join(
    f"q{i},Which colour has item number {i}?,{'red' if i % 2 else 'blue'},{('high', 'medium', 'low')[i % 3]}\n"
    for i in range(12)
)


def new(folder, name: str, data: str | bytes, *options: str):
    """What the command says about a file, and the assessment if it made one."""
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    result = CliRunner().invoke(cli, ["new", str(folder / "audit.db"), "it", str(folder / name), *options])
    return result, fl.load(folder / "audit.db", "it") if result.exit_code == 0 else None


def test_excel_with_mark_semicolons_and_decimal_commas(tmp_path) -> None:
    result, audit = new(tmp_path, "excel.csv", EXCEL)
    assert audit is not None, result.stderr
    assert (audit.pool.classes, audit.pool.content) == (("cat", "dog", "bird"), "Text")
    np.testing.assert_allclose(audit.pool.confidence[:3], [0.7, 0.8, 0.4])
    assert audit.pool.column("Text")[3].as_py() == 'Größe; "3" é'
    assert "column 'ID'" in result.stderr
    assert "--scores" in result.stderr


@pytest.mark.parametrize(("name", "data"), [("p.csv", PERCENT.encode()), ("p.csv.gz", gzip.compress(PERCENT.encode()))])
def test_percentages_are_recognised(tmp_path, name: str, data: bytes) -> None:
    result, audit = new(tmp_path, name, data)
    assert audit is not None, result.stderr
    np.testing.assert_allclose(audit.pool.confidence[:4], [0.9, 0.8, 0.55, 0.605])
    assert "percentages" in result.stderr


def test_confidence_in_percent_is_recognised(tmp_path) -> None:
    text = "id,prediction,conf\n" + "".join(f"{i},{'ab'[i % 2]},{50 + i}\n" for i in range(8))
    _, audit = new(tmp_path, "p.csv", text)
    assert audit is not None
    np.testing.assert_allclose(audit.pool.confidence, [(50 + i) / 100 for i in range(8)])


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("id,prediction,confidence\n1,a,74.6%\n2,b, 9 %\n3,a,100%\n", [0.746, 0.09, 1]),
        ("id,prediction,confidence\n1,a,0.5%\n2,b,0.75%\n", [0.005, 0.0075]),
        ("id;prediction;confidence\n1;a;74,6%\n2;b;9%\n", [0.746, 0.09]),
        ("id,p_a,p_b\n1,90%,10%\n2,20%,80%\n", [0.9, 0.8]),
        ("Nr;Ja;Nein\n1;7,9 %;92,1 %\n2;9,5 %;90,5 %\n", [0.921, 0.905]),
    ],
)
def test_a_column_with_percent_signs_is_read(tmp_path, text: str, shares: list[float]) -> None:
    result, audit = new(tmp_path, "p.csv", text)
    assert audit is not None, result.stderr
    np.testing.assert_allclose(audit.pool.confidence, shares, rtol=1e-12)
    assert "percentages" in result.stderr
    scores = "Ja,Nein" if "Ja" in text else "p_*" if "p_a" in text else None
    how = ["--normalize", *(["--scores", scores] if scores else ["--predicted", "prediction"])]
    again = CliRunner().invoke(cli, ["new", str(tmp_path / "again.db"), "it", str(tmp_path / "p.csv"), *how])
    assert again.exit_code == 0, again.stderr  # it is not divided twice
    np.testing.assert_allclose(fl.load(tmp_path / "again.db", "it").pool.confidence, shares, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("Confidence (%)", "confidence"),
        ("Confidence %", "confidence"),
        ("Confidence [%]", "confidence"),
        ("confidence_pct", "confidence"),
        ("Confidence (0 - 1)", "confidence"),
        ("Score in percent", "confidence"),
        ("Ticket ID", "id"),
        ("TICKET ID", "id"),
        ("ticket_id", "id"),
        ("ticketId", "id"),
    ],
)
def test_columns_by_the_names_that_spreadsheets_have(name: str, role: str) -> None:
    assert getattr(guess({"predicted": ["a", "b"], name: [1, 0]}), role) == name


def test_a_probability_of_one_class_is_no_confidence() -> None:
    assert guess({"predicted": ["a", "b"], "p(a)": [0.9, 0.4], "p(b)": [0.1, 0.6]}).scores == "p(*)"
    assert guess({"predicted": ["a", "b"], "prob (a)": [0.9, 0.4]}).confidence is None


def test_it_says_what_it_does_not_use_and_why(tmp_path) -> None:
    rows = "".join(f"T-{i % 9},{'ab'[i % 2]},en,x{i}\n" for i in range(10))
    result, audit = new(tmp_path, "p.csv", f"Ticket ID,predicted,lang,who\n{rows}", "--groups", "column:lang")
    assert audit is not None, result.stderr
    assert "'Ticket ID' would be the id, but T-0 occurs twice" in result.stderr
    assert "not used    'Ticket ID', 'who' " in result.stderr
    gaps = guess({"ticket_id": ["1", None], "predicted": ["a", "b"]})
    assert (gaps.id, gaps.not_id) == (None, "'ticket_id' would be the id, but it is empty in some rows")
    assert guess({"id": ["1", "2"], "customer_id": ["7", "7"], "predicted": ["a", "b"]}).not_id is None
    numbers = [f"T{i:05}" for i in [*range(99), 7]]
    twice = guess({"predicted": ["a", "b"] * 50, "Ticket Nr.": numbers})
    assert (twice.id, twice.not_id) == (None, "'Ticket Nr.' would be the id, but T00007 occurs twice")


def test_classes_are_listed_and_wrapped_between_names(tmp_path) -> None:
    names = [f"a class of things {k}" for k in range(31)]
    result, _ = new(tmp_path, "p.csv", "id,predicted\n" + "".join(f"{k},{name}\n" for k, name in enumerate(names)))
    for name in sorted(names)[:10]:
        assert any(f"'{name}'" in line for line in result.stderr.splitlines())
    assert "and 21 more" in result.stderr
    assert f"'{max(names)}'" not in result.stderr
    assert all(len(line) < 80 for line in result.stderr.splitlines() if line.startswith(" " * 14))


def test_small_groups_are_mentioned_where_groups_are_looked_for(tmp_path) -> None:
    text = "id,predicted\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(20)) + "20,c\n"
    result, _ = new(tmp_path, "p.csv", text, "--lowest", "1")
    assert "1 group with fewer than 5 items: 'c' (1)." in result.stderr
    assert "fewer than 5" not in new(tmp_path, "p.csv", text, "--dry-run")[0].stderr
    few = "id,predicted\n1,a\n2,b\n"
    assert "typos" in result.stderr
    assert "typos" not in new(tmp_path, "q.csv", few, "--lowest", "1", "--dry-run")[0].stderr
    assert "fewer than 5" not in new(tmp_path, "q.csv", few, "--lowest", "1", "--groups", "whole")[0].stderr


def test_a_class_without_a_column_of_scores_is_named(tmp_path) -> None:
    result, _ = new(tmp_path, "p.csv", "id,p_a,p_b\n1,0.5,0.5\n2,0.6,0.4\n", "--classes", "a,b,praise")
    assert result.exit_code == 2
    assert "no column has the scores of the class 'praise', which is in --classes" in result.stderr
    assert "beside 'p_a', 'p_b', with 0 in every row" in result.stderr


def test_a_confidence_can_be_refused(tmp_path) -> None:
    _, audit = new(tmp_path, "p.csv", "id,predicted,confidence\n1,a,0.5\n2,b,0.7\n", "--confidence", "none")
    assert audit is not None
    assert audit.pool.confidence is None


def test_scores_without_names_that_say_so(tmp_path) -> None:
    """Neighbouring columns whose rows sum to 1 are scores; row numbers of pandas and true labels are not."""
    result, audit = new(tmp_path, "photos.csv", PHOTOS)
    assert audit is not None, result.stderr
    assert audit.pool.classes == ("cat", "dog")
    assert audit.pool.ids[0] == "i10.png"
    assert audit.pool.content == "filename"
    assert "'truth' looks like labels: not used" in result.stderr
    assert "tell FILE --adopt --id filename --label truth" in result.stderr
    told = ["tell", str(tmp_path / "audit.db"), str(tmp_path / "photos.csv"), "--adopt", "--id", "filename"]
    assert "10 labels taken" in CliRunner().invoke(cli, [*told, "--label", "truth"]).stderr
    assert "truth" not in audit.pool.columns.column_names


@pytest.mark.parametrize("name", ["label-studio.json", "argilla.json", "prodigy.jsonl", "doccano.jsonl"])
def test_an_export_of_labels_is_not_taken_for_predictions(tmp_path, name: str) -> None:
    file = Path(__file__).parents[1] / "fixtures" / "bridges" / name
    done = CliRunner().invoke(cli, ["new", str(tmp_path / "a.db"), str(file)])
    assert done.exit_code == 2
    assert "it has people's labels, and predictions are needed here" in done.stderr
    assert f"fewlabels tell DATABASE {file}" in done.stderr
    assert not (tmp_path / "a.db").exists()


def test_labels_of_a_file_without_ids_need_them(tmp_path) -> None:
    """`tell` finds items by id, so it is not named where there are none."""
    text = "text,prediction,actual\n" + "".join(f"review {i},{'ab'[i % 2]},a\n" for i in range(9))
    said = new(tmp_path, "p.csv", text)[0].stderr
    assert "'actual' looks like labels: not used" in said
    assert "to use them, add a column of ids to the file" in said
    assert "tell FILE" not in said


def test_an_llm_with_confidence_in_words(tmp_path) -> None:
    result, audit = new(tmp_path, "chat.csv", CHAT, "--groups", "column:confidence")
    assert audit is not None, result.stderr
    assert audit.groups.names == ("high", "low", "medium")
    assert audit.pool.confidence is None
    assert "in words" in result.stderr
    assert "name all classes with --classes" in result.stderr
    assert audit.pool.content == "question"


@pytest.mark.slow
def test_a_thousand_classes(tmp_path) -> None:
    rng = np.random.default_rng(3)
    rows = rng.dirichlet(np.full(1000, 0.05), size=40)
    head = "id," + ",".join(f"p_class {k}" for k in range(1000))
    text = head + "\n" + "".join(f"i{i}," + ",".join(f"{v:.7f}" for v in row) + "\n" for i, row in enumerate(rows))
    result, audit = new(tmp_path, "wide.csv", text, "--lowest", "3")
    assert audit is not None, result.stderr
    assert len(audit.groups) == 1000
    assert "without items" in result.stderr


def test_unicode_names_windows_line_ends_and_newlines_in_text(tmp_path) -> None:
    names = ["Größe", "日本語", "naïve café"]
    rows = "".join(f'{i},"erste Zeile\r\nzweite ""Zeile"", {i}",{names[i % 3]}\r\n' for i in range(9))
    result, audit = new(tmp_path, "u.csv", f"id,text,predicted\r\n{rows}")
    assert audit is not None, result.stderr
    assert set(audit.pool.classes) == set(names)
    batch = CliRunner().invoke(cli, ["ask", str(tmp_path / "audit.db"), "-n", "9", "-o", str(tmp_path / "b.csv")])
    assert batch.exit_code == 0, batch.stderr
    blank = (tmp_path / "b.csv").read_bytes().decode()
    assert blank.count(',""\n') == 9
    (tmp_path / "b.csv").write_bytes(blank.replace(',""\n', ",日本語\r\n").encode())
    told = CliRunner().invoke(cli, ["tell", str(tmp_path / "audit.db"), str(tmp_path / "b.csv")])
    assert "9 labels taken" in told.stderr


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("rows.json", json.dumps([{"id": i, "predicted": "ab"[i % 2]} for i in range(6)])),
        ("columns.json", json.dumps({"id": [1, 2], "predicted": ["a", "b"]})),
        ("printed.json", json.dumps({"rows": [{"id": 1, "predicted": "a"}, {"id": 2, "predicted": "b"}]})),
        ("lines.json", '{"id": 1, "predicted": "a"}\n{"id": 2, "predicted": "b"}\n'),
        ("lines.jsonl", '{"id": 1, "predicted": "a"}\n{"id": 2, "predicted": "b"}\n'),
        ("one.csv", "predicted\na\nb\n"),
        ("tab.tsv", "id\tpredicted\tconfidence\n1\ta\t0.5\n2\tb\t0.25\n"),
        ("spaces.csv", "id , predicted class,confidence\n1, New York,0.5\n2, Los Angeles ,0.25\n"),
        ("told.csv", "sep=;\nid;predicted;confidence\n1;a;0,5\n2;b;0,25\n"),
        ("logits.csv", "id,logit_a,logit_b\n1,-3.5,2\n2,4,2\n3,1,0\n"),
        ("both.csv", "id,predicted,confidence,p_a,p_b\n1,a,0.7,0.4,0.6\n2,b,0.7,0.6,0.4\n"),
    ],
)
def test_it_works(tmp_path, name: str, data: str) -> None:
    result, audit = new(tmp_path, name, data)
    assert audit is not None, result.stderr
    assert len(audit.pool.classes) == 2
    assert "Next:" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("sign.csv", "id,p_a,p_b\n1,90%,10%\n2,0.9,0.1\n", "row 2 (line 3), column 'p_a': '0.9' has no percent sign"),
        ("missing.csv", "id,p_a,p_b\n1,0.5,0.5\n2,,0.4\n", "row 2 (line 3), column 'p_a': the score is missing"),
        ("na.csv", "id,p_a,p_b\n1,0.5,0.5\n2,NA,0.4\n", "row 2 (line 3), column 'p_a': 'NA' seems to stand for a mis"),
        ("twice.csv", "id,predicted\n1,a\n2,b\n1,b\n", "row 3 (line 4), column 'id': the id '1' is already that of"),
        ("empty.csv", "", "is empty (0 bytes)"),
        ("header.csv", "id,predicted\n", "has columns but no rows. Check how it was written."),
        ("text.csv", "text\nhello\nworld\n", "Use --predicted NAME"),
        ("labels.csv", "id,label\n1,a\n2,b\n", "if it is the predicted class, add --predicted 'label'"),
        ("binary.csv", "id,score\n1,0.3\n2,0.7\n", "name that class with --positive CLASS"),
        ("constant.csv", "id,predicted\n1,yes\n2,yes\n", "Pass --classes with the names of all classes"),
        ("utf16.csv", "id,predicted\n1,a\n2,b\n".encode("utf-16"), "Save it as UTF-8"),
        ("latin.csv", "id,predicted\n1,Größe\n2,b\n".encode("latin-1"), "line 2: not UTF-8 text near '1,Größe'"),
        ("ragged.csv", "id,predicted\n1,a\n2,b,c\n", "row 2 (line 3): 3 fields, but the header has 2 columns"),
        ("sheet.xls", "PK", "Save it as .xlsx or CSV"),
        ("broken.json", '[{"id": 1', "not JSON"),
        ("odd.json", "[1, 2]", "not a list of objects"),
        ("sum.csv", "id,p_a,p_b\n1,0.5,0.3\n2,0.5,0.2\n", "Pass --normalize to divide each row by its sum"),
    ],
)
def test_it_says_exactly_what_to_do(tmp_path, name: str, data: str | bytes, said: str) -> None:
    result, _ = new(tmp_path, name, data)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "audit.db").exists()


def test_what_is_given_is_not_guessed() -> None:
    columns = {"a": ["1", "2"], "predicted": ["x", "y"], "x": [0.1, 0.9], "y": [0.9, 0.1], "text": ["long", "text"]}
    assert guess(columns) == Guess(id="a", scores=["x", "y"], predicted="predicted", content="text")
    assert guess(columns, id="a", predicted="text", confidence="x").scores is None
    assert guess(columns, not_content=["text"]).content is None
    assert guess({"id": ["a", "a"], "predicted": ["x", "y"]}).id == "id"  # refused by read_pool, not passed over
    assert guess({"image": ["a", "a"], "predicted": ["x", "y"]}).id is None


def test_what_gives_the_answer_away_is_not_shown() -> None:
    texts = ["a rather long text about colours", "another long text about the colours"]
    assert guess({"predicted": ["x", "y"], "model_reasoning": texts}).content is None
    assert guess({"predicted": ["x", "y"], "model_reasoning": texts, "notice": texts}).content == "notice"
    assert guess({"predicted": ["x", "y"], "key": [0.5, 0.7]}).id is None


def test_a_batch_that_excel_has_saved_again(tmp_path) -> None:
    _, audit = new(tmp_path, "excel.csv", EXCEL)
    assert audit is not None
    items = audit.ask(3).ids
    batch = "\ufeffid;content;label\r\n" + "".join(f'{item};"Größe; x";CAT \r\n' for item in items)
    told = CliRunner().invoke(cli, ["tell", str(tmp_path / "audit.db"), "-"], input=batch.encode())
    assert "3 labels were read in the pool's spelling: 'CAT ' as 'cat' (3 times)." in told.stderr
    assert audit.labels() == dict.fromkeys(items, "cat")


def test_ids_that_lost_their_zeros(tmp_path) -> None:
    _, audit = new(tmp_path, "p.csv", "id,predicted\n001,a\n002,b\n")
    assert audit is not None
    audit.ask(2)
    told = CliRunner().invoke(cli, ["tell", str(tmp_path / "audit.db"), "1=a"])
    assert "The pool has '001': did a spreadsheet drop the zeros? Batches in .xlsx keep them." in told.stderr


NAMES = st.sampled_from(
    [
        "id",
        "ID",
        "image",
        "text",
        "predicted",
        "confidence",
        "score",
        "p_a",
        "p_b",
        "logit_a",
        "logit_b",
        "a",
        "b",
        "label",
    ]
)
VALUES = st.sampled_from(
    ["", "0.5", "0,5", "50%", "1", "0", "-3.2", "100", "nan", "NA", "inf", "a", "b", "high", "é 日"]
)


@given(st.lists(NAMES, min_size=1, max_size=6, unique=True), st.data(), st.sampled_from(",;\t"))
def test_any_table_is_read_or_refused_in_words(tmp_path_factory, names: list[str], data, gap: str) -> None:
    """Whatever stands in a table, the end is an assessment, or code 2 and one line."""
    rows = data.draw(st.lists(st.lists(VALUES, min_size=len(names), max_size=len(names)), max_size=5))
    text = "\n".join(gap.join(f'"{value}"' for value in row) for row in [names, *rows])
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_text(text + "\n", encoding="utf-8")
    result = CliRunner().invoke(cli, ["new", "none.db", str(path), "--dry-run"])
    assert result.exit_code in (0, 2), (text, result.exception)
    if result.exit_code:
        assert result.stderr.count("\n") == 1


def test_one_item_in_each_group_is_one(tmp_path):
    assert "with 1 item each" in new(tmp_path, "p.csv", "id,predicted\na,cat\nb,dog\n")[0].stderr


# Older versions of Arrow sort the keys of objects: these are in that order.
ORDERS = [{"id": f"o{i}", "order": {"of": ["é"], "sum": i}, "pred": "no" if i % 3 else "yes"} for i in range(12)]
WIDE = [{"id": row["id"], "order": row["order"], "gpt_a": row["pred"], "gpt_b": "no"} for row in ORDERS]


@pytest.mark.parametrize(("rows", "models"), [(ORDERS, ()), (WIDE, ("--models", "gpt_a,gpt_b"))])
@pytest.mark.parametrize(
    ("content", "shown"), [("order", '{"of": ["é"], "sum": 0}'), ("id,order", 'id: o0\norder: {"of": ["é"], "sum": 0}')]
)
def test_annotators_see_objects_as_json_and_ids_if_these_are_content(
    tmp_path, rows: list[dict[str, object]], models: tuple[str, ...], content: str, shown: str
) -> None:
    lines = "\n".join(json.dumps(row) for row in rows)
    result, audit = new(tmp_path, "orders.jsonl", lines, "--content", content, *models)
    assert audit is not None, result.stderr
    assert audit.pool.column(audit.pool.content)[0].as_py() == shown


def test_objects_with_bytes_in_them_are_refused_as_content(tmp_path) -> None:
    """A data set's pictures are such objects: as JSON, annotators would read the code of the bytes."""
    pictures = [{"bytes": b"\x89PNG", "path": f"{i}.png"} for i in range(4)]
    columns: dict[str, list[Any]] = {
        "id": list("abcd"),
        "image": pictures,
        "views": [[one] for one in pictures],
        "pred": list("xyxy"),
    }
    parquet.write_table(pa.table(columns), tmp_path / "p.parquet")
    for column in ("image", "views"):
        options = ["new", str(tmp_path / "audit.db"), str(tmp_path / "p.parquet"), "--content", column]
        result = CliRunner().invoke(cli, options)
        assert result.exit_code == 2
        assert "bytes: binary" in result.stderr
        assert "a pool keeps only text, numbers and dates" in result.stderr


def test_files_of_several_models_show_objects_and_ids(tmp_path) -> None:
    for name, rows in {"a": ORDERS, "b": [{**row, "pred": "no"} for row in ORDERS]}.items():
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    files = [str(tmp_path / f"{name}.jsonl") for name in ("a", "b")]
    result = CliRunner().invoke(cli, ["new", str(tmp_path / "audit.db"), "it", *files, "--content", "id,order"])
    assert result.exit_code == 0, result.stderr
    pool = fl.load(tmp_path / "audit.db", "it").pool
    assert pool.column(pool.content)[5].as_py() == 'id: o5\norder: {"of": ["é"], "sum": 5}'


def test_a_decision_beside_the_probability_of_a_class_is_mentioned(tmp_path) -> None:
    """Its threshold need not be one half: then the class with the larger probability is not what was decided."""
    rows = "".join(f"A{i},{i / 40},{'hire' if i > 12 else 'reject'}\n" for i in range(40))
    result, audit = new(tmp_path, "p.csv", f"applicant,y_prob,decision\n{rows}", "--positive", "hire")
    assert audit is not None
    assert "'decision' is 'reject' or 'hire': if the classifier says so, name it" in result.stderr
    assert "--predicted decision" in result.stderr
    others = f"applicant,y_prob,decision\n{rows.replace('hire', 'yes')}"
    assert "name it" not in new(tmp_path, "q.csv", others, "--positive", "hire")[0].stderr


def test_two_columns_that_say_the_same_are_not_two_models(tmp_path) -> None:
    ways = ["chat", "mail", "mail", "mail"] * 15
    rows = "".join(f"{i},{'red' if i % 3 else 'blue'},{way},{way}\n" for i, way in enumerate(ways))
    said = new(tmp_path, "p.csv", f"no,Farbe,Kanal,Kanal2\n{rows}", "--lowest", "1")[0].stderr
    assert "none is clearly the classifier's answer" in said
    assert "Use --predicted NAME" in said
    models = rows.replace("mail,mail", "mail,chat", 1)
    said = new(tmp_path, "p.csv", f"no,Farbe,Kanal,Kanal2\n{models}", "--lowest", "1")[0].stderr
    assert "is about one model, and there are 2" in said
    assert "If they are not models, name the column of predicted classes with --predicted NAME." in said
