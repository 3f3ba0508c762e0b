"""From a file of predictions to an answer by commands: each says what it did, and what to type next."""

from __future__ import annotations

import csv
import io
import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli.main import cli
from fewlabels.findings.finding import find
from fewlabels.report import read as read_report

CLASSES = ("ant", "bee", "cat")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with predictions, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(8)
    scores = rng.dirichlet([0.5] * 3, size=90)
    rows = [f"i{i},{','.join(f'{v:.6f}' for v in row)},Größe {i}\n" for i, row in enumerate(scores)]
    (tmp_path / "predictions.csv").write_text("id,p_ant,p_bee,p_cat,text\n" + "".join(rows), encoding="utf-8")
    return tmp_path


def run(*arguments: object, stdin: str | None = None, code: int = 0):
    result = CliRunner().invoke(cli, [str(one) for one in arguments], input=stdin)
    assert result.exit_code == code, result.output
    return result


def truth(item: str) -> str:
    return CLASSES[int(item[1:]) * 7 % 3]


def filled(text: str, fill=truth) -> str:
    """A batch with its labels filled in."""
    rows = list(csv.DictReader(io.StringIO(text)))
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0].keys())
    writer.writeheader()
    writer.writerows(row | {"label": fill(row["id"])} for row in rows)
    return out.getvalue()


@pytest.fixture
def audit(folder):
    """An assessment with 40 labels and 5 pending items."""
    run("new", "audit.db", "worst", "predictions.csv", "--lowest", 1, "--seed", 3)
    run("tell", "audit.db", "-", stdin=filled(run("ask", "audit.db", "-n", 40).stdout))
    run("ask", "audit.db", "-n", 5)
    return fl.load("audit.db", "worst")


def test_from_a_file_to_an_answer(folder) -> None:
    said = run("new", "audit.db", "predictions.csv").output
    assert "fewlabels ask audit.db predictions -n 20 > batch.csv" in said
    assert "column 'text'" in said
    batch = run("ask", "audit.db", "-n", 20)
    assert batch.stdout.splitlines()[0] == "id,content,label"
    assert "fewlabels tell audit.db predictions batch.csv" in batch.output
    for blind in ("p_", "0.", *CLASSES):
        assert blind not in batch.stdout
    (folder / "batch.csv").write_text(filled(batch.stdout), encoding="utf-8")
    told = run("tell", "audit.db", "batch.csv")
    assert "20 labels taken. 20 so far, 0 pending. Next: fewlabels show audit.db predictions" in told.output
    shown = run("show", "audit.db")
    assert "20 labels so far" in shown.output
    heads = [line.split()[:7] for line in shown.stdout.splitlines()]
    assert ["group", "n", "labelled", "right", "mean", "low", "high"] in heads
    answer = run("answer", "audit.db").stdout
    assert answer.startswith("The classifier is right for ")


def test_the_commands_do_what_python_does(folder) -> None:
    run("new", "audit.db", "worst", "predictions.csv", "--lowest", 1, "--seed", 3, "--prior", "informed:4")
    by_command = run("ask", "audit.db", "-n", 10).stdout
    pool = fl.read_pool("predictions.csv", content="text")
    task = fl.Identify(fl.Accuracy(), lowest=1)
    audit = fl.create(None, "worst", pool, task=task, prior=fl.Informed(4), seed=3)
    assert [row["id"] for row in csv.DictReader(io.StringIO(by_command))] == audit.ask(10).ids
    run("tell", "audit.db", "-", stdin=filled(by_command))
    audit.tell({item: truth(item) for item in audit.pending()})
    printed = json.loads(run("show", "audit.db", "--sort", "group", "--json").stdout)
    finding = find(audit)
    assert printed["rows"] == list(finding.estimates.rows())
    assert [row | own for row, own in zip(printed["rows"], audit.estimates().rows(), strict=True)] == printed["rows"]
    printed = json.loads(run("answer", "audit.db", "--json").stdout)
    assert printed["rows"] == list(finding.answer_table.rows())
    assert printed["words"] == audit.answer().words


def test_batches_in_every_format(folder) -> None:
    run("new", "audit.db", "predictions.csv")
    for name in ("a.csv", "a.tsv", "a.json", "a.jsonl"):
        run("ask", "audit.db", "-n", 3, "-o", name)
        assert len(fl.read_labels(name)) == 0  # nobody has labelled anything yet
    rows = json.loads(run("ask", "audit.db", "-n", 2, "--json").stdout)["rows"]
    assert [set(row) for row in rows] == [{"id", "content", "label"}] * 2
    told = {row["id"]: truth(row["id"]) for row in rows}
    assert "2 labels taken" in run("tell", "audit.db", "-", stdin=json.dumps(told)).output
    owner = run("ask", "audit.db", "-n", 2, "--with-group", "--format", "jsonl").stdout.splitlines()
    assert json.loads(owner[0]).keys() == {"id", "content", "label", "group", "why"}
    run("ask", "audit.db", "-n", 2, "--excel", "-o", "excel.csv")
    assert (folder / "excel.csv").read_bytes().startswith(b"\xef\xbb\xbfid,")
    assert fl.load("audit.db", "predictions").pending() != []


def test_a_batch_is_not_written_over_another(folder) -> None:
    run("new", "audit.db", "predictions.csv")
    run("ask", "audit.db", "-o", "batch.csv")
    assert "batch.csv already exists" in run("ask", "audit.db", "-o", "batch.csv", code=2).output
    assert len(fl.load("audit.db", "predictions").pending()) == 10
    for what in ("batch", "disputed"):
        assert "batch.csv already exists" in run("export", "audit.db", what, "-o", "batch.csv", code=2).output
    run("ask", "audit.db", "-o", "batch.csv", "--overwrite")
    assert len(fl.load("audit.db", "predictions").pending()) == 20
    run("export", "audit.db", "batch", "-o", "batch.csv", "--overwrite")
    assert len((folder / "batch.csv").read_text().splitlines()) == 21
    run("export", "audit.db", "log", "-o", "batch.csv")  # it can be made again, so it is replaced as any output


def test_nothing_is_asked_when_the_batch_cannot_be_written(folder) -> None:
    run("new", "audit.db", "predictions.csv")
    for name, said in (("no/batch.csv", "no directory"), ("batch.xyz", "is not a known format"), (".", "directory")):
        assert said in run("ask", "audit.db", "-o", name, code=2).output
    assert fl.load("audit.db", "predictions").pending() == []


def test_when_nothing_is_left(folder) -> None:
    run("new", "audit.db", "predictions.csv")
    batch = run("ask", "audit.db", "-n", 100)
    assert "(you wanted 100, but no more are left)" in batch.output
    again = run("ask", "audit.db")
    assert again.stdout == "id,content,label\n"
    assert "90 are pending: fewlabels export audit.db predictions batch" in again.output
    assert run("export", "audit.db", "batch").stdout.count("\n") == 91
    run("tell", "audit.db", "-", stdin=filled(batch.stdout))
    assert run("ask", "audit.db").stderr.strip().endswith("handed out.")


def test_telling_by_hand_with_other_case_and_blanks(audit) -> None:
    first, second, third, *_ = audit.pending()
    said = run("tell", "audit.db", "worst", f"{first}= ANT", f"{second}=bee").output
    assert "1 label was read in the pool's spelling: 'ANT' as 'ant' (once)." in said
    assert audit.labels()[first] == "ant"
    assert "Nothing new: 1 label known before." in run("tell", "audit.db", "worst", f"{first}=ant").output
    batch = f"id,label\n{third},\n{second},cat\n"
    said = run("tell", "audit.db", "-", "--annotator", "ann", "--note", "again", stdin=batch).output
    assert "1 label taken (1 replaced an earlier one; left out 1 row without a label)" in said
    event = list(audit.log().rows())[-1]
    assert (event["item"], event["label"], event["annotator"], event["note"]) == (second, "cat", "ann", "again")
    assert "all 2 rows are blank" in run("tell", "audit.db", "-", stdin=f"id,label\n{third},\n{first},\n").output


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("id,label\n{0},ant\n{1},bea\n", [], "row 2 (line 3): unknown class 'bea'. Nothing was changed. Did you mean"),
        ("id,label\n{0},ant\nx9,bee\n", [], "row 2 (line 3): unknown item 'x9'"),
        ("id,label\n{0},ant\n{0},bee\n", [], "row 2 (line 3): '{0}' is labelled 'bee' here and 'ant' before"),
        ("id,label\n{0},ant\n{free},bee\n", [], "row 2 (line 3): cannot tell '{free}': it was never asked for"),
        ("id,label\n,ant\n", [], "row 1 (line 2), column 'id': the id is missing"),
        (
            "item,label\n{0},ant\n",
            [],
            "has no column 'id'. Name the column of ids with --id. The columns are 'item', 'label'.",
        ),
        ("id,answer\n{0},ant\n", [], "has no column 'label'. Name the column of labels with --label."),
        ("", [], "is empty"),
        (
            "id,label\nx1,ant\nx2,bea\nx3,ant\nx4,ant\n",
            [],
            "none of the 4 ids is in this pool, such as 'x1'. Nothing was changed. Is it another file, or are",
        ),
    ],
)
def test_a_wrong_label_is_named_by_its_row(audit, text: str, options: list[str], said: str) -> None:
    pending = audit.pending()
    before = audit.labels()
    free = next(item for item in audit.pool.ids.to_pylist() if item not in before and item not in pending)
    stdin = text.format(*pending, free=free)
    result = run("tell", "audit.db", "-", *options, stdin=stdin, code=2)
    assert said.format(*pending, free=free) in result.output
    assert result.output.count("\n") == 1
    assert audit.labels() == before


def test_many_words_look_at_all_ids_a_few_times(audit, monkeypatch) -> None:
    """Each look at all ids takes a part of a second of a pool of millions: after some of them there is an index."""
    import fewlabels.cli.common as common
    from fewlabels import index

    looks, scanned = [], index.Index._scanned

    def counted(self, wanted):
        looks.append(wanted)
        return scanned(self, wanted)

    monkeypatch.setattr(index, "_LARGE", 0)
    monkeypatch.setattr(index.Index, "_scanned", counted)
    monkeypatch.setattr(common, "open_assessment", lambda *_: audit)
    audit.pool.__dict__.pop("_index", None)
    run("tell", "audit.db", *(f"i{i}=cat" for i in range(30)), "--adopt")
    assert len(looks) == index._SCANS


def test_labels_collected_elsewhere_are_adopted(audit) -> None:
    free = next(item for item in audit.pool.ids.to_pylist() if item not in {*audit.labels(), *audit.pending()})
    run("tell", "audit.db", f"{free}=cat", "--adopt")
    assert audit.labels()[free] == "cat"


def test_withdrawing(audit) -> None:
    item = next(iter(audit.labels()))
    assert "1 item withdrawn. 39 labels, 5 pending." in run("withdraw", "audit.db", item, "--note", "wrong").output
    assert item not in audit.labels()
    assert json.loads(run("withdraw", "audit.db", "worst", "--pending", "--json").stdout)["pending"] == 0
    assert "neither pending nor labelled" in run("withdraw", "audit.db", item, code=2).output
    assert "no items were named" in run("withdraw", "audit.db", code=2).output


def test_skipped_items_wait_for_the_owner(audit) -> None:
    item = audit.pending()[0]
    audit.skip([item], reason="blurry")
    assert "fewlabels export audit.db worst disputed" in run("show", "audit.db").output
    row = next(csv.DictReader(io.StringIO(run("export", "audit.db", "disputed").stdout)))
    assert (row["id"], row["label"], row["skips"]) == (item, "", "(no name): blurry")
    run("tell", "audit.db", f"{item}=ant", "--decide")
    assert audit.labels()[item] == "ant"


def test_a_mark_in_the_column_of_labels_skips(audit) -> None:
    one, other, third, *_ = audit.pending()
    batch = f"id,label\n{one}, (Skip: not in the list) \n{other},(SKIP)\n{third},ant\n"
    told = run("tell", "audit.db", "-", "--annotator", "ann", stdin=batch).output
    assert "1 label taken. 2 items skipped. 41 so far, 4 pending." in told
    skips = {item.id: dict(item.skips) for item in audit.disputed()}
    assert skips == {one: {"ann": "not in the list"}, other: {"ann": "unclear"}}
    refused = run("tell", "audit.db", f"{one}=(skipp)", code=2).output
    assert "If nobody can tell, write (skip) or (skip: reason)." in refused
    refused = run("tell", "audit.db", f"{one}=(skip)", "--decide", code=2).output
    assert "unknown class '(skip)'" in refused  # the owner's word is a class
    assert "nobody can tell" not in refused
    free = next(item for item in audit.pool.ids.to_pylist() if item not in {*audit.labels(), *audit.pending()})
    refused = run("tell", "audit.db", f"{free}=(skip)", "--adopt", code=2).output
    assert f"cannot skip '{free}': it was never asked for" in refused


def test_showing(audit) -> None:
    means = [row["mean"] for row in json.loads(run("show", "audit.db", "--json").stdout)["rows"]]
    assert means == sorted(means)  # the worst first
    rows = json.loads(run("show", "audit.db", "--sort", "-n", "--top", 2, "--json").stdout)["rows"]
    assert [row["n"] for row in rows] == sorted((int(n) for n in audit.groups.sizes), reverse=True)[:2]
    whole = json.loads(run("show", "audit.db", "--groups", "whole", "--metric", "calibration", "--json").stdout)
    assert [row["group"] for row in whole["rows"]] == ["all"]
    assert whole["settings"]["metric"] == repr(fl.CalibrationError(10))
    assert (whole["labels"], whole["pending"], whole["items"]) == (40, 5, 90)
    wide = json.loads(run("show", "audit.db", "--level", 0.99, "--json").stdout)["rows"][0]
    near = json.loads(run("show", "audit.db", "--level", 0.5, "--json").stdout)["rows"][0]
    assert wide["high"] - wide["low"] > near["high"] - near["low"]
    assert "--sort 'size' is not known" in run("show", "audit.db", "--sort", "size", code=2).output


def test_ranks_are_printed_as_places(audit) -> None:
    lines = [re.split(r"  +", line.strip()) for line in run("answer", "audit.db").stdout.splitlines()]
    head = next(i for i, line in enumerate(lines) if line[0] == "group")
    assert lines[head][:9] == ["group", "n", "labelled", "right", "chance", "rank", "mean", "low", "high"]
    rows = [line for line in lines[head + 1 :] if len(line) > 8]
    assert rows
    assert all(set(row[5]) <= set("123-") for row in rows)
    top = [re.split(r"  +", line) for line in run("answer", "audit.db", "--top", 1).stdout.splitlines()]
    assert sum(len(line) > 8 for line in top) == 2


@pytest.mark.slow
def test_the_answer_is_said_as_the_report_says_it(audit) -> None:
    report = read_report(audit, foresee=False)
    told = json.loads(run("answer", "audit.db", "--json").stdout)
    plain = [text.replace("\N{NO-BREAK SPACE}", " ") for text in (report.headline, *report.doubts)]
    assert [told["headline"], *told["doubts"]] == plain
    assert run("answer", "audit.db").stdout.startswith(f"{plain[0]}\n\n")
    shown = run("show", "audit.db").output.splitlines()
    assert shown[2 : 2 + len(plain)] == plain


@pytest.mark.slow
def test_stopping_rule_and_forecast(folder) -> None:
    run("new", "audit.db", "predictions.csv", "--stop-labels", 30, "--stop-overall", 0.02)
    batch = run("ask", "audit.db", "-n", 20).stdout
    assert "Enough" not in run("tell", "audit.db", "-", stdin=filled(batch)).output
    shown = run("show", "audit.db")
    assert "Not yet: 20 of 30 labels" in shown.output
    assert "What is left of the budget (10 labels) will probably not be enough" in shown.output
    batch = run("ask", "audit.db", "-n", 10).stdout
    assert "The budget is used up: 30 of 30 labels" in run("tell", "audit.db", "-", stdin=filled(batch)).output
    told = json.loads(run("show", "audit.db", "--json").stdout)
    assert told["standing"]["reached"] is True
    assert told["forecast"] is None


def test_before_the_first_label(folder) -> None:
    run("new", "audit.db", "predictions.csv")
    assert "Next: fewlabels label audit.db predictions" in run("show", "audit.db").output
    said = run("answer", "audit.db")
    # no table that looks like an answer
    assert said.stdout.splitlines() == [
        "Nothing can be said yet: no item has a label so far.",
        "Next: fewlabels label audit.db predictions",
    ]
    assert not said.stderr


def test_listing_and_names(folder) -> None:
    run("new", "audit.db", "first", "predictions.csv")
    run("new", "audit.db", "second one", "predictions.csv", "--compare", "ant,cat", "--overlap", 2)
    rows = json.loads(run("list", "audit.db", "--json").stdout)["rows"]
    assert [(row["name"], row["labels"], row["items"]) for row in rows] == [("first", 0, 90), ("second one", 0, 90)]
    assert rows[1]["question"] == "Is the accuracy lower, about equal (within 5 points) or higher for ant than for cat?"
    assert "Name one of them, as in audit.db first" in run("show", "audit.db", code=2).output
    assert "Did you mean 'first'?" in run("show", "audit.db", "frist", code=2).output
    assert "fewlabels show audit.db 'second one'" in run("new", "audit.db", "second one", "x.csv", code=2).output
    assert "--annotator ann" in run("ask", "audit.db", "second one", code=2).output
    assert "as in: fewlabels new audit.db predictions.csv" in run("new", "predictions.csv", code=2).output
    assert "The database comes first" in run("new", "predictions.csv", "audit.db", code=2).output
    assert "Begin with: fewlabels new no.db predictions.csv" in run("ask", "no.db", code=2).output


def test_exporting(audit, tmp_path) -> None:
    assert fl.read_labels(io_csv(run("export", "audit.db").stdout)) == audit.labels()
    run("export", "audit.db", "worst", "log", "-o", "log.parquet")
    import pyarrow.parquet as pq

    assert pq.read_table("log.parquet").num_rows == len(audit.log())
    assert json.loads(run("export", "audit.db", "estimates", "--format", "json").stdout) == [*audit.estimates().rows()]
    assert [row["id"] for row in csv.DictReader(io.StringIO(run("export", "audit.db", "batch").stdout))] == (
        audit.pending()
    )
    assert "neither an assessment" in run("export", "audit.db", "everything", code=2).output
    assert "name a file with -o" in run("export", "audit.db", "--format", "parquet", code=2).output


def io_csv(text: str) -> dict[str, list[str]]:
    rows = list(csv.DictReader(io.StringIO(text)))
    return {name: [row[name] for row in rows] for name in rows[0]}


def test_label_studio_and_back(folder) -> None:
    run("new", "audit.db", "predictions.csv")
    assert "-o tasks.json" in run("ask", "audit.db", "--label-studio", code=2).output
    assert fl.load("audit.db", "predictions").pending() == []
    assert "tasks.xml" in run("ask", "audit.db", "-n", 3, "--for", "label-studio", "-o", "tasks.json").output
    tasks = json.loads((folder / "tasks.json").read_text())
    for task, label in zip(tasks, ("ant", "cat", None), strict=True):
        chosen = [{"type": "choices", "value": {"choices": [label]}}] if label else []
        task["annotations"] = [{"completed_by": 7, "result": chosen, "was_cancelled": label is None}]
    (folder / "export.json").write_text(json.dumps(tasks))
    assert "2 labels taken, 1 skipped" in run("tell", "audit.db", "export.json", "--label-studio").output
    audit = fl.load("audit.db", "predictions")
    assert audit.labels() == {tasks[0]["data"]["item_id"]: "ant", tasks[1]["data"]["item_id"]: "cat"}
    assert "there is no file no.json" in run("tell", "audit.db", "no.json", "--label-studio", code=2).output


def test_cards_of_several_columns(folder) -> None:
    text = "id,predicted,title,body\n1,a,One,first\n2,b,Two,second\n"
    (folder / "cards.csv").write_text(text)
    run("new", "cards.db", "cards.csv", "--content", "title,body")
    rows = json.loads(run("ask", "cards.db", "--json").stdout)["rows"]
    assert {row["content"] for row in rows} == {"title: One\nbody: first", "title: Two\nbody: second"}
    run("new", "cards.db", "bare", "cards.csv", "--content", "none")
    assert run("ask", "cards.db", "bare").stdout.splitlines()[0] == "id,label"
    run("new", "cards.db", "piped", "-", stdin=text)
    assert fl.load("cards.db", "piped").pool.source == "standard input"


def test_a_dry_run_writes_nothing(folder) -> None:
    assert "Nothing was written" in run("new", "audit.db", "predictions.csv", "--dry-run").output
    assert not (folder / "audit.db").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--compare", "ant,eel"], "there is no group 'eel'"),
        (["--compare", "ant,cet"], "Did you mean 'cat'?"),
        (["--compare", "ant"], "does not name two groups, separated by a comma"),
        (["--groups", "column:txt"], "--groups column:txt: predictions.csv has no column 'txt'. Did you mean 'text'?"),
        (["--groups", "column:a x b"], "To cross columns: --groups column:a,column:b. The columns are"),
        (["--groups", "column:a × column:b"], "To cross columns: --groups column:a,column:b. The columns are"),
        (["--prior", "flat"], "--prior flat is not known. Use one of uniform, informed, learned"),
        (["--prior", "informed:many"], "--prior informed:many: informed:many needs a number, as in informed:10"),
        (["--prior", "learned:3"], "--prior learned:3: learned takes no value. Write learned, without"),
        (["--policy", "best"], "--policy best is not known"),
        (["--id", "nr"], "has no column 'nr', named by --id"),
        (["--scores", "q_*"], "no column matches --scores 'q_*'"),
        (["--scores", "p_ant,p_eel"], "has no column 'p_eel', named by --scores"),
        (["--predicted", "x"], "has no column 'x', named by --predicted"),
        (["--confidence", "x"], "has no column 'x', named by --confidence"),
        (["--content", "x"], "has no column 'x', named by --content"),
        (["--content", "text,x"], "has no column 'x'"),
        (["--stop-probability", "0.9"], "cannot stop at a probability. Use a width (--stop-overall 0.1, or for every"),
        (["--stop-width", "3"], "--stop-width 3.0 is too wide: the accuracy lies between 0 and 1"),
        (["--stop-width", "0"], "'--stop-width': 0.0 is not in the range x>0"),
        (
            ["--stop-width", "0.2", "--guarantee", "anytime", "--metric", "calibration"],
            "--guarantee anytime needs a metric that is a single share",
        ),
        (["--lowest", "3"], "--lowest 3 of 3 groups is all of them. Use --lowest 2 or less"),
        (["--content", "p_ant"], "not blind"),
        (["more", "words"], "Give at most one name, and then one file"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(folder, options: list[str], said: str) -> None:
    result = run("new", "audit.db", "predictions.csv", *options, code=2)
    assert said in result.output
    assert result.output.startswith("fewlabels: ")
    assert result.output.count("\n") == 1
    assert not (folder / "audit.db").exists()


def test_colour_only_where_it_is_wanted(audit, monkeypatch) -> None:
    assert "\x1b" not in run("show", "audit.db").stdout
    assert "\x1b[1m" in CliRunner().invoke(cli, ["show", "audit.db"], color=True).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in CliRunner().invoke(cli, ["show", "audit.db"], color=True).stdout
