"""What somebody reads in the first hour: slips are answered in words that help, and tables say what they are."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import fewlabels as fl
from fewlabels.cli.common import program
from fewlabels.cli.demo import next_steps
from fewlabels.cli.main import cli
from fewlabels.findings import phrases
from fewlabels.findings.finding import find

CLASSES = ("billing", "refund", "spam")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with predictions of tickets, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    rows = [
        f"T-{i:03},{CLASSES[i % 3]},{v:.3f},{'de' if i % 2 else 'en'}\n" for i, v in enumerate(rng.uniform(0.4, 1, 60))
    ]
    (tmp_path / "tickets.csv").write_text("id,predicted,confidence,lang\n" + "".join(rows) + "T-060,spam,0.5,pl\n")
    return tmp_path


def run(*arguments: object, code: int = 0):
    result = CliRunner().invoke(cli, [str(one) for one in arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def audit(folder):
    """An assessment with 30 labels."""
    run("new", "audit.db", "tickets.csv", "--lowest", 1)
    audit = fl.load("audit.db", "tickets")
    audit.tell({item: CLASSES[int(item[2:]) % 3 if int(item[2:]) % 4 else 0] for item in audit.ask(30).ids})
    return audit


def test_an_unknown_item_is_not_answered_with_classes(audit) -> None:
    said = run("tell", "audit.db", "T-999=billing", code=2).output
    assert "unknown item 'T-999'" in said
    assert "It could be" not in said
    assert "unknown class 'bill'. Nothing was changed. Did you mean 'billing'?" in (
        run("tell", "audit.db", "T-001=bill", code=2).output
    )
    assert "exactly" not in run("tell", "audit.db", "T-001=bill", code=2).output
    run("ask", "audit.db", "-n", 1)
    (item,) = audit.pending()
    Path("labels.csv").write_text(f"id,label\n{item}, REFUND \n")
    assert "' REFUND ' as 'refund' (once)" in run("tell", "audit.db", "labels.csv").output


def test_all_bad_rows_are_named_at_once(audit) -> None:
    items = run("ask", "audit.db", "-n", 14).stdout.split()[1:]
    ids = [line.split(",")[0] for line in items]
    slips = dict(zip(ids, ["billings", "dont know", "spam", "billings", "warranty"], strict=False))
    Path("labels.csv").write_text("id,label\n" + "".join(f"{i},{label}\n" for i, label in slips.items()) + "9,spam\n")
    said = run("tell", "audit.db", "labels.csv", code=2).output
    assert said.startswith(
        "fewlabels: 5 labels cannot be taken. Nothing was changed. "
        "labels.csv, rows 1, 4 (lines 2, 5): unknown class 'billings' (did you mean 'billing'?); "
        "row 2 (line 3): unknown class 'dont know'; row 5 (line 6): unknown class 'warranty'; "
        "row 6 (line 7): unknown item '9': not in the pool (use the pool's own ids, such as 'T-000'). "
        "The classes are 'billing', 'refund', 'spam'. "
    )
    with pytest.raises(fl.LabelError, match=r"labels\.csv, rows 1, 4 .*row 2 .*row 5 .*row 6 "):
        audit.tell("labels.csv")
    with pytest.raises(fl.LabelError, match=r"rows 1, 4: .*'billings' .*; row 2: "):
        audit.tell({"id": list(slips), "label": list(slips.values())})
    with pytest.raises(fl.LabelError) as caught:
        audit.tell({item: f"no {i}" for i, item in enumerate(ids)})
    assert str(caught.value).count("unknown class") == 10
    assert "; and 4 more. The classes" in str(caught.value)
    with pytest.raises(fl.LabelError, match=r"cannot tell ('.*', ){9}'.*' and 7 more: they were never asked for"):
        audit.tell(dict.fromkeys(audit.pool.ids.to_pylist(), "spam"))
    assert len(audit.labels()) == 30


def test_two_classes_that_a_label_may_mean_are_named(folder) -> None:
    (folder / "letters.csv").write_text("id,predicted\n1,ä b\n2,Ä B\n")
    run("new", "audit.db", "letters.csv", "--classes", "ä b,Ä B")
    run("ask", "audit.db", "-n", 2)
    assert "It could be 'ä b' or 'Ä B': write it exactly like that." in run("tell", "audit.db", "1=Ä b", code=2).output


@pytest.mark.parametrize("scores", [False, True])
def test_a_missing_class_is_added_under_another_name(folder, scores: bool) -> None:
    """As the tutorial says: by --classes, or with scores by a column of zeros."""
    ids = [f"t{i}" for i in range(12)]
    rows = [("0.8", "0.2", "a") if i % 3 else ("0.1", "0.9", "b") for i in range(12)]
    lines = [f"{item},{row[0]},{row[1]}" if scores else f"{item},{row[2]}" for item, row in zip(ids, rows, strict=True)]
    Path("p.csv").write_text("\n".join(["id,p_a,p_b" if scores else "id,predicted", *lines]))
    run("new", "audit.db", "old", "p.csv")
    asked = [line.partition(",")[0] for line in run("ask", "audit.db", "-n", 6).stdout.splitlines()[1:]]
    run("tell", "audit.db", *(f"{item}=a" for item in asked[:5]), f"{asked[5]}=(skip: not in the list)")
    for name, parts in (("labels.csv", ["audit.db", "old"]), ("waiting.csv", ["audit.db", "old", "disputed"])):
        Path(name).write_text(run("export", *parts).stdout)
    Path("waiting.csv").write_text(Path("waiting.csv").read_text().replace(",,", ",c,", 1))
    if scores:
        Path("p.csv").write_text("\n".join(["id,p_a,p_b,p_c", *(f"{line},0" for line in lines)]))
    run("new", "audit.db", "more", "p.csv", *([] if scores else ["--classes", "a,b,c"]))
    said = run("tell", "audit.db", "more", "labels.csv", "waiting.csv", "--adopt").output
    assert "6 labels taken. 6 so far, 0 pending." in said
    assert fl.load("audit.db", "more").labels() == dict.fromkeys(asked[:5], "a") | {asked[5]: "c"}


def test_asking_names_the_classes_and_knows_the_budget(folder) -> None:
    run("new", "audit.db", "tickets.csv", "--stop-labels", 20)
    asked = run("ask", "audit.db", "-n", 15)
    assert asked.stderr.splitlines()[-1] == "The classes to choose from: 'billing', 'refund', 'spam'"
    assert "budget" not in asked.output
    said = run("ask", "audit.db", "-n", 10).output
    assert "The budget of 20 labels has room for 20 more, and 15 items were handed out before: this batch" in said
    run("new", "small.db", "tickets.csv", "--stop-labels", 2)
    run("ask", "small.db", "-n", 1)
    assert "and 1 item was handed out before:" in run("ask", "small.db", "-n", 5).output


@pytest.mark.parametrize("words", [["new", "tickets.csv", "audit.db"], ["show", "tickets.csv"], ["ask", "tickets.csv"]])
def test_a_file_in_place_of_the_database_is_said(folder, words: list[str]) -> None:
    said = run(*words, code=2).output
    assert "tickets.csv is not a fewlabels database. The database comes first" in said
    assert "sqlite:///" not in said


@pytest.mark.parametrize("command", [["new", "b.db", "tickets.csv"], ["show", "audit.db"]])
def test_a_mistyped_class_of_a_metric_is_said_without_python(audit, command: list[str]) -> None:
    said = run(*command, "--groups", "whole", "--metric", "recall:refnd", code=2).output
    assert "--metric recall:refnd: there is no class 'refnd'. Did you mean recall:refund?" in said
    assert "()" not in said


def test_an_assessment_that_was_a_mistake_can_be_removed_until_somebody_is_asked(folder) -> None:
    run("new", "audit.db", "tickets.csv", "--predicted", "lang")
    assert "fewlabels remove audit.db tickets" in run("new", "audit.db", "tickets.csv", code=2).output
    assert "removed" in run("remove", "audit.db", "tickets").output
    run("new", "audit.db", "tickets.csv")
    run("ask", "audit.db", "-n", 1, "-o", "batch.csv")
    assert "never deleted" in run("remove", "audit.db", "tickets", code=2).output


def test_a_table_says_what_it_is_about(audit) -> None:
    own, headline = run("show", "audit.db").output, find(audit).headline
    assert "Accuracy by predicted class; 100% is best." in own
    assert headline in own
    other = run("show", "audit.db", "--metric", "calibration", "--groups", "whole")
    assert "Calibration error (the whole pool); 0% is best." in other.output
    assert "with a probability of 95%." in other.output
    assert len(other.stdout.splitlines()) == 6  # the question, how far it is, a blank line, the title and the table
    assert not other.stderr
    assert headline not in other.output


@pytest.mark.parametrize(
    ("options", "title"),
    [
        ("--lowest 1", "Accuracy by predicted class"),
        ("--groups whole --metric f1", "Mean F1 (the whole pool)"),
        ("--groups column:lang --metric recall:spam --highest 1", "Recall of spam by column 'lang'"),
        ("--groups column:lang --compare de,en", "Accuracy by column 'lang'"),
    ],
)
def test_question_and_metric_are_called_what_the_report_calls_them(folder, options: str, title: str) -> None:
    said = run("new", "audit.db", "tickets.csv", *options.split()).output
    with closing(fl.load("audit.db", "tickets")) as audit:
        question = phrases.question(audit)
        assert title.lower().startswith(audit.spec.task.metric.name.lower())
    for text in (said, run("list", "audit.db").stdout):
        assert question in " ".join(text.split())
    said = run("show", "audit.db").output
    assert f"tickets: {question} (61 items" in said
    assert f"\n{title}; 100% is best." in said


def test_numbers_from_few_labels_are_marked(audit) -> None:
    lines = run("show", "audit.db", "--groups", "column:lang").stdout.splitlines()
    assert any(line.startswith("group ") and line.endswith(" note") for line in lines)
    assert [line.split()[0] for line in lines[1:] if line.endswith("too few labels")] == ["pl"]
    audit.tell({item: "spam" for item in audit.pool.ids.to_pylist() if item not in audit.labels()}, adopt=True)
    assert " note\n" not in run("show", "audit.db").stdout
    run("new", "audit.db", "fresh", "tickets.csv")
    assert " note\n" not in run("show", "audit.db", "fresh").stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--lowest 3 --highest 2", "fewlabels: --lowest does not go with --highest. Leave out one."),
        ("--groups column:lang --compare x,y", "there is no group 'x'. The groups are 'de', 'en', 'pl'."),
        ("--compare billing,spma", "there is no group 'spma'. Did you mean 'spam'? The groups are"),
        ("--compare DE,en", "there is no group 'DE'. These are values of the column 'lang': add --groups column:lang."),
        ("--groups column:lang --compare spam,refund", "no group 'spam'. These are classes: add --groups predicted."),
    ],
)
def test_a_question_that_cannot_be_asked_is_answered_in_words(folder, options: str, said: str) -> None:
    assert said in run("new", "audit.db", "tickets.csv", *options.split(), code=2).output
    assert not Path("audit.db").exists()


def test_groups_are_compared_whatever_their_case(folder) -> None:
    run("new", "audit.db", "tickets.csv", "--groups", "column:lang", "--compare", "DE, En")
    with closing(fl.load("audit.db", "tickets")) as audit:
        task = audit.spec.task
        assert isinstance(task, fl.Compare)
        assert (task.a, task.b) == ("de", "en")


def test_one_row_is_one_row(folder) -> None:
    run("new", "audit.db", "tickets.csv")
    run("ask", "audit.db", "-n", 1, "-o", "batch.csv")
    assert "No label was taken: the only row is blank." in run("tell", "audit.db", "batch.csv").output
    assert "1 row written to again.csv." in run("export", "audit.db", "batch", "-o", "again.csv").output


def test_a_comparison_explains_its_columns(folder) -> None:
    run("new", "audit.db", "tickets.csv", "--groups", "column:lang", "--compare", "de,en")
    item = json.loads(run("ask", "audit.db", "-n", "1", "--format", "json").stdout)[0]["id"]
    run("tell", "audit.db", f"{item}=billing")
    said = run("answer", "audit.db").output
    assert "less, equal, more: the chances that the accuracy of de is lower than that of en, about the same" in said
    assert "(within 5 points), or higher." in said


def test_the_demo_says_what_to_type_where_the_environment_is_not_active(tmp_path, monkeypatch) -> None:
    programs = tmp_path / "my env" / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "fewlabels"):
        (programs / name).touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(programs / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program() == f"'{programs}/fewlabels'"
    monkeypatch.chdir(tmp_path)
    assert program() == "'my env/bin/fewlabels'"
    assert next_steps(None, program())[1].startswith("  'my env/bin/fewlabels' new audit.db")
    monkeypatch.setenv("PATH", str(programs))
    assert program() == "fewlabels"
    (programs / "fewlabels").unlink()
    assert program() == "'my env/bin/python' -m fewlabels"


def test_another_question_says_nothing_without_labels(folder) -> None:
    run("new", "audit.db", "tickets.csv")
    said = run("answer", "audit.db", "--groups", "column:lang").stdout
    assert "Nothing can be said yet: no item has a label so far." in said
    assert "%" not in said


def test_labels_that_are_told_twice_are_nothing_new(audit) -> None:
    run("export", "audit.db", "-o", "labels.csv")
    assert "Nothing new: 30 labels known before." in run("tell", "audit.db", "labels.csv").output


def test_a_rule_in_place_of_a_name_is_said(audit) -> None:
    said = run("check", "audit.db", "accuracy >= 0.9", code=2).output
    assert '--overall "accuracy >= 0.9" or --every' in said


def test_short_answers_that_all_differ_are_no_classes(folder) -> None:
    rows = "".join(f"a{i},Q{i}?,Answer {i},{'pass' if i % 3 else 'fail'}\n" for i in range(400))
    (folder / "judge.csv").write_text(f"id,question,response,verdict\n{rows}")
    assert "add --verdict 'verdict'" in run("new", "judge.db", "judge.csv", code=2).output
    # A thousand classes in a row are classes all the same.
    rows = "".join(f"a{i},sku {i % 1000}\n" for i in range(3000))
    (folder / "shop.csv").write_text(f"id,response\n{rows}")
    assert "1,000 by predicted class" in " ".join(run("new", "shop.db", "shop.csv").output.split())


def test_the_table_of_classes_does_not_deny_labels(folder) -> None:
    run("new", "audit.db", "tickets.csv")
    with closing(fl.load("audit.db")) as audit:
        audit.tell(dict.fromkeys(audit.ask(3).ids, "spam"))
    assert "No class has enough labels" in run("classes", "audit.db").output


CROSSED = ("--groups", "column:lang,predicted")


def test_crossed_groups_can_be_typed_with_x(folder) -> None:
    run("new", "audit.db", "pair", "tickets.csv", *CROSSED, "--compare", "spam x DE,en x spam")
    with closing(fl.load("audit.db", "pair")) as audit:
        assert isinstance(audit.spec.task, fl.Compare)
        assert (audit.spec.task.a, audit.spec.task.b) == ("de × spam", "en × spam")
    rule = ("--certify", "accuracy >= 0.5", "--group", "en x spam")
    run("new", "audit.db", "rule", "tickets.csv", *CROSSED, *rule)
    with closing(fl.load("audit.db", "rule")) as audit:
        assert isinstance(audit.spec.task, fl.Certify)
        assert audit.spec.task.only == ("en × spam",)
        audit.tell(dict.fromkeys(audit.ask(3).ids, "spam"))
        assert audit.check("accuracy >= 0.5", only=["EN x spam"]).table["group"] == ["en × spam"]
    said = run("check", "audit.db", "pair", "--every", "accuracy >= 0.5", "--group", "en x spma", code=2).output
    assert "there is no group 'en x spma' to certify." in said


def test_another_question_is_about_the_groups_of_the_assessment(folder) -> None:
    run("new", "audit.db", "tickets.csv", "--groups", "column:lang")
    run("tell", "audit.db", f"{run('ask', 'audit.db', '-n', 1).stdout.split()[1].split(',')[0]}=spam")
    said = run("answer", "audit.db", "--compare", "de,EN").output
    assert "Is the accuracy lower, about equal (within 5 points) or higher for de than for en?" in said
    assert "there is no group 'spam'." in run("answer", "audit.db", "--compare", "spam,de", code=2).output


@pytest.mark.parametrize("command", ["new audit.db", "plan"])
def test_a_rope_that_hides_every_difference_is_refused(folder, command: str) -> None:
    compared = (*command.split(), "tickets.csv", "--compare", "spam,refund")
    said = run(*compared, "--rope", 5, code=2).output
    assert "with --rope 5 every difference in accuracy counts as none. For 5 points, write --rope 0.05." in said
    run(*compared, "--rope", 0.99)


def test_an_option_of_another_command_is_found_there(audit) -> None:
    words = run("show", "audit.db", "--lowest", 1, code=2).output
    assert "fewlabels show has no option '--lowest'. These commands have it: plan, new, answer and simulate." in words


@pytest.mark.parametrize(
    "command",
    [
        *("show audit.db other --groups column:lang", "show audit.db other --metric f1 --groups whole"),
        *("answer audit.db other --lowest 1", "classes audit.db other", "fairness audit.db other --groups column:lang"),
    ],
)
def test_every_table_says_where_labels_come_from(audit, command: str) -> None:
    """Tables about other groups and metrics rest on the same labels as the first."""
    run("export", "audit.db", "-o", "labels.csv")
    run("new", "audit.db", "other", "tickets.csv", "--classes", ",".join([*CLASSES, "praise"]))
    run("tell", "audit.db", "other", "labels.csv", "--adopt")
    assert "30 labels came from elsewhere, for items that were not asked for." in run(*command.split()).output


def test_a_plan_without_confidences_names_the_option_for_a_guess(folder) -> None:
    Path("bare.csv").write_text("predicted\n" + "a\nb\n" * 40)
    said = run("plan", "bare.csv", "--stop-labels", 10).output
    assert "give the accuracy you expect (--expect 0.9)." in said
    assert "(expect=0.9)" in fl.plan(fl.read_pool("bare.csv"), budgets=[5], runs=2).words


def test_a_missing_file_of_classes_is_said(folder) -> None:
    said = run("new", "audit.db", "tickets.csv", "--classes", "names.txt", code=2).output
    assert "there is no file 'names.txt', and one class is not enough." in said
